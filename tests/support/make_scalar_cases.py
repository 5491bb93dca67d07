# SPDX-License-Identifier: Apache-2.0
"""Writes scalar_cases.txt: what CPython computes for the scalar host ops.

    python tests/support/make_scalar_cases.py > tests/support/scalar_cases.txt

One case a line: op, operands, `->`, result or the exception's type. Floats are
written as float.hex() does, so that they are exact; ints beyond 64 bits are what
the IR calls OverflowError. Ops that CPython lacks (float.to_f32) go through struct.
"""
import math
import operator
import random
import struct

INF, NAN = math.inf, math.nan
INT_MIN, INT_MAX = -(2**63), 2**63 - 1
INTS = [0, 1, -1, 2, -2, 3, -3, 7, -7, 10, 63, 64, 65, 2**31, -(2**31), 2**53 + 1, 2**62, INT_MAX - 1,
        INT_MAX, INT_MIN, INT_MIN + 1]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 7.0, -7.0, 0.1, 1e-300, 5e-324, 1e16, 1e18, 9.3e18,
          -9.3e18, 1e300, 1.7e308, -1e300, 710.0, -745.2, INF, -INF, NAN]


def to_f32(x):
    try:
        return struct.unpack("f", struct.pack("f", x))[0]
    except OverflowError:
        return math.copysign(INF, x)


def refuse_negative(op):
    def run(a, b):
        if b < 0:
            raise ValueError
        if op is operator.pow and abs(a) > 1 and b > 64 or op is operator.lshift and a and b > 64:
            raise OverflowError
        return op(a, b)
    return run


def real_power(a, b):
    result = a**b
    if isinstance(result, complex):
        raise ValueError
    return result


ORDER = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
         "gt": operator.gt, "ge": operator.ge}
INT_BINARY = {"add": operator.add, "sub": operator.sub, "mul": operator.mul,
              "floordiv": operator.floordiv, "mod": operator.mod, "truediv": operator.truediv,
              "pow": refuse_negative(operator.pow), "and": operator.and_, "or": operator.or_, "xor": operator.xor,
              "shl": refuse_negative(operator.lshift), "shr": operator.rshift, "min": min, "max": max, **ORDER}
INT_UNARY = {"neg": operator.neg, "abs": abs, "not": operator.invert, "to_float": float, "to_bool": bool}
FLOAT_BINARY = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
                "floordiv": operator.floordiv, "mod": operator.mod, "pow": real_power, "min": min, "max": max,
                "atan2": math.atan2, "fmod": math.fmod, "copysign": math.copysign, "hypot": math.hypot, **ORDER}
FLOAT_UNARY = {"neg": operator.neg, "abs": abs, "to_int": int, "round": round, "floor": math.floor, "ceil": math.ceil,
               "to_bool": bool, "to_f32": to_f32,
               **{name: getattr(math, name)
                  for name in "sqrt exp log log2 log10 sin cos tan tanh asin acos atan sinh cosh expm1 log1p "
                              "erf isnan isinf isfinite".split()}}
BOOL = {"and": lambda a, b: a and b, "or": lambda a, b: a or b, "xor": operator.xor, "eq": operator.eq}


def text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if INT_MIN <= value <= INT_MAX else "OverflowError"
    return value.hex()


def case(name, function, *operands):
    try:
        result = text(function(*operands))
    except (ArithmeticError, ValueError) as error:
        result = type(error).__name__
    print(name, *map(text, operands), "->", result)


def main():
    rng = random.Random(20240501)
    wide = lambda: rng.getrandbits(rng.randint(1, 63)) * rng.choice([1, -1])
    real = lambda: rng.choice([rng.uniform(-10, 10), rng.gauss(0, 1) * 10.0 ** rng.randint(-20, 20),
                               struct.unpack("d", rng.randbytes(8))[0]])
    for name, function in INT_BINARY.items():
        pairs = ([(a, b) for a in INTS for b in INTS if rng.random() < 0.07] + [(wide(), wide()) for _ in range(12)]
                 + [(7, 0), (INT_MIN, -1)])
        for a, b in pairs:
            case("int." + name, function, a, b)
    for name, function in INT_UNARY.items():
        for a in INTS + [wide() for _ in range(10)]:
            case("int." + name, function, a)
    for name, function in FLOAT_BINARY.items():
        pairs = [(a, b) for a in FLOATS for b in FLOATS
                 if rng.random() < 0.04] + [(real(), real()) for _ in range(20)] + [(1.0, 0.0), (-8.0, 0.5)]
        for a, b in pairs:
            case("float." + name, function, a, b)
    for name, function in FLOAT_UNARY.items():
        for a in FLOATS + [real() for _ in range(12)]:
            case("float." + name, function, a)
    for name, function in BOOL.items():
        for a in (False, True):
            for b in (False, True):
                case("bool." + name, function, a, b)
    for a in (False, True):
        case("bool.not", operator.not_, a)
        case("bool.to_int", int, a)
        case("bool.to_float", float, a)
    for a in FLOATS + [real() for _ in range(100)] + [10.0**k for k in range(-8, 24)]:
        print("str", a.hex(), "->", str(a))


main()
