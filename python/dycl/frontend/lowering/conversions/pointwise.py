# SPDX-License-Identifier: Apache-2.0
"""Elementwise ops: type promotion as torch does it, then mostly one ONNX op.

The dtype of the computation is the result's, except for comparisons, which compute in the promoted
dtype of their operands.
"""

from __future__ import annotations

import math

import torch

from .. import double_precision
from ..registry import CONVERSIONS, HALVES, converts, in_single_precision
from ..tape import ConversionError, Sym, Tape

_SMALL_INTS = (torch.int16, torch.int8, torch.uint8, torch.bool)


def promoted(a, b) -> torch.dtype:
    """torch.result_type over Syms (with their ranks) and Python numbers."""
    return torch.result_type(*(torch.empty((1,) * x.rank, dtype=x.torch_dtype) if isinstance(x, Sym)
                               else x for x in (a, b)))


def _number_like(x):
    """A number of the kind of x: numbers known only at run time come as tensors without dims,
    but do not promote as those do."""
    return torch.zeros((), dtype=x.torch_dtype).item() if isinstance(x, Sym) else x


def scalar_as(t: Tape, x, dtype: torch.dtype) -> Sym:
    """A Sym or Python number in `dtype`, as torch converts the operands of an elementwise op."""
    if isinstance(x, Sym):
        return t.cast(x, dtype)
    if isinstance(x, complex):
        raise ConversionError("complex numbers are not supported")
    if isinstance(x, float) and not dtype.is_floating_point and dtype != torch.bool:
        if not math.isfinite(x):
            raise ConversionError(f"the number {x} as {dtype}")
        x = int(x)
    if isinstance(x, int) and not isinstance(x, bool) and not dtype.is_floating_point and dtype != torch.bool:
        info = torch.iinfo(dtype)
        if not info.min <= x <= info.max:
            return t.constant(torch.tensor(x, dtype=torch.int64).to(dtype))
    return t.constant(x, dtype)


def _rounds(x: int | float, dtype: torch.dtype) -> bool:
    return x == x and torch.tensor(x, dtype=torch.float64).to(dtype).item() != x


def wide(dtype: torch.dtype) -> torch.dtype:
    """A dtype for integer arithmetic in several steps that holds every value of `dtype`."""
    return torch.int64 if dtype in _SMALL_INTS else dtype


def _pair(t: Tape, a, b):
    """Both in the result's dtype; half precision with a number that it cannot hold is computed in single,
    as torch does."""
    dtype = t.outputs[0][0]
    if (dtype in (torch.float16, torch.bfloat16)
            and any(isinstance(x, (int, float)) and _rounds(x, dtype) for x in (a, b))):
        dtype = torch.float32
    return scalar_as(t, a, dtype), scalar_as(t, b, dtype)


def _rounded(t: Tape, *operands) -> tuple:
    """Of halves, numbers as those kernels take them that round them first: the remainder by 0.3 is another then."""
    dtype = t.outputs[0][0]
    if dtype not in HALVES:
        return operands
    return tuple(torch.tensor(x, dtype=torch.float64).to(dtype).item() if isinstance(x, (int, float)) else
                 t.cast(x, dtype) for x in operands)


# ---- arithmetic ------------------------------------------------------------------------------


@converts("add.Tensor", "add.Scalar")
def add(t, self, other, alpha=1):
    a, b = _pair(t, self, other)
    if a.torch_dtype == torch.bool:
        return t.op("Or", a, b) if alpha in (1, True) else a
    return t.op("Add", a, _scaled(t, b, alpha))


def _scaled(t, b, alpha):
    if isinstance(alpha, (int, float)) and alpha == 1:
        return b
    return t.op("Mul", b, scalar_as(t, alpha, b.torch_dtype))


@converts("sub.Tensor", "sub.Scalar")
def sub(t, self, other, alpha=1):
    a, b = _pair(t, self, other)
    return t.op("Sub", a, _scaled(t, b, alpha))


@converts("rsub.Tensor", "rsub.Scalar")
def rsub(t, self, other, alpha=1):
    a, b = _pair(t, self, other)
    return t.op("Sub", b, _scaled(t, a, alpha))


@converts("mul.Tensor", "mul.Scalar")
def mul(t, self, other):
    a, b = _pair(t, self, other)
    return t.op("And", a, b) if a.torch_dtype == torch.bool else t.op("Mul", a, b)


@converts("div.Tensor", "div.Scalar", "true_divide.Tensor", "true_divide.Scalar")
def div(t, self, other):
    a, b = _pair(t, self, other)
    return t.op("Div", a, b)


@converts("div.Tensor_mode", "div.Scalar_mode")
def div_mode(t, self, other, rounding_mode=None):
    if rounding_mode is None:
        return div(t, self, other)
    if rounding_mode == "floor":
        return floor_divide(t, self, other)
    a, b = _pair(t, self, other)
    if not a.is_float:
        return _quotient(t, a, b)
    return _trunc(t, t.op("Div", a, b))


def _nonzero_divisor(b):
    """Integer division by zero raises in torch and may end the process in an engine: a constant 0 is refused."""
    if b.const is not None and bool((b.const == 0).any()):
        raise ConversionError("integer division by zero")


def _safe_divisor(t, a, b) -> tuple[Sym | None, Sym]:
    """(where b is -1, b with 1 there): the least integer by -1 ends the process in an engine."""
    _nonzero_divisor(b)
    if not a.torch_dtype.is_signed or b.const is not None and not bool((b.const == -1).any()):
        return None, b
    minus = t.op("Equal", b, t.constant(-1, b.torch_dtype))
    return minus, t.op("Where", minus, t.constant(1, b.torch_dtype), b)


def _quotient(t, a, b) -> Sym:
    """Of integers, towards zero."""
    dtype = a.torch_dtype
    a, b = t.cast(a, wide(dtype)), t.cast(b, wide(dtype))
    minus, divisor = _safe_divisor(t, a, b)
    quotient = t.op("Div", a, divisor)
    return t.cast(quotient if minus is None else t.op("Where", minus, t.op("Neg", a), quotient), dtype)


@converts("floor_divide", "floor_divide.Scalar")
def floor_divide(t, self, other):
    a, b = _pair(t, self, other)
    if a.is_float:
        return _float_floor_divide(t, a, b)
    dtype = a.torch_dtype
    a, b = t.cast(a, wide(dtype)), t.cast(b, wide(dtype))
    quotient = _quotient(t, a, b)
    remainder = t.op("Sub", a, t.op("Mul", quotient, b))
    zero = t.constant(0, a.torch_dtype)
    inexact = t.op("Not", t.op("Equal", remainder, zero))
    opposite = t.op("Xor", t.op("Less", remainder, zero), t.op("Less", b, zero))
    return t.cast(t.op("Sub", quotient, t.cast(t.op("And", inexact, opposite), a.torch_dtype)), dtype)


def _float_floor_divide(t, a, b):
    """torch's: (a - fmod(a, b)) / b, adjusted to the floor; a / 0 is the plain quotient."""
    zero = t.constant(0.0, a.torch_dtype)
    remainder = _fmod(t, a, b)
    quotient = t.op("Div", t.op("Sub", a, remainder), b)
    opposite = t.op("Xor", t.op("Less", remainder, zero), t.op("Less", b, zero))
    adjust = t.op("And", t.op("Not", t.op("Equal", remainder, zero)), opposite)
    quotient = t.op("Sub", quotient, t.cast(adjust, a.torch_dtype))
    floor = t.op("Floor", quotient)
    above = t.op("Greater", t.op("Sub", quotient, floor), t.constant(0.5, a.torch_dtype))
    rounded = t.op("Add", floor, t.cast(above, a.torch_dtype))
    plain = t.op("Div", a, b)
    rounded = t.op("Where", t.op("Equal", quotient, zero), t.op("Mul", plain, zero), rounded)
    return t.op("Where", t.op("Equal", b, zero), plain, rounded)


def _fmod(t, a, b):
    return t.op("Mod", a, b, fmod=1)


@converts("fmod.Tensor", "fmod.Scalar")
def fmod(t, self, other):
    a, b = _pair(t, *_rounded(t, self, other))
    if a.is_float:
        return t.op("Mod", a, b, fmod=1)
    return t.op("Sub", a, t.op("Mul", _quotient(t, a, b), b))  # ONNX Runtime's fmod of integers goes by doubles


@converts("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def remainder(t, self, other):
    return _remainder(t, *_rounded(t, self, other))


@in_single_precision
def _remainder(t, self, other):
    a, b = _pair(t, self, other)
    if not a.is_float:
        return t.op("Mod", a, _safe_divisor(t, a, b)[1], fmod=0)
    zero = t.constant(0.0, a.torch_dtype)
    rest = _fmod(t, a, b)
    opposite = t.op("Xor", t.op("Less", rest, zero), t.op("Less", b, zero))
    adjust = t.op("And", t.op("Not", t.op("Equal", rest, zero)), opposite)
    return t.op("Where", adjust, t.op("Add", rest, b), rest)


@converts("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar")
def pow_(t, self, exponent):
    a, b = _pair(t, *_rounded(t, self, exponent))
    if a.is_float:
        return _float_pow(t, a, b, exponent)
    if isinstance(exponent, int) and not isinstance(exponent, bool) and exponent < 0:
        raise ConversionError("an integer tensor to a negative power")
    return _int_pow(t, a, b)


def _float_pow(t, a, b, exponent):
    power = _POWERS.get(exponent) if isinstance(exponent, (int, float)) else None
    if power is None or abs(exponent) == 0.5 and a.torch_dtype == torch.float16:
        return t.op("Pow", a, b)
    return power(t, a)


def _of_reciprocal(power):
    return lambda t, x: t.op("Reciprocal", power(t, x))


def _cube(t, x):
    return t.op("Mul", t.op("Mul", x, x), x)


# Those for which torch does not call pow, which differs from them for -inf and -0.0 (nor do they, of f16, for roots).
_POWERS: dict = {1: lambda t, x: x, 2: lambda t, x: t.op("Mul", x, x), 3: _cube, 0.5: lambda t, x: t.op("Sqrt", x)}
_POWERS |= {-exponent: _of_reciprocal(_POWERS[exponent]) for exponent in (1, 2, 0.5)}


def _int_pow(t, a, b):
    """By squaring over the bits of the exponent, wrapping as torch does; engines compute it in floating point."""
    if b.const is None or b.const.numel() != 1:
        raise ConversionError("an integer tensor to a power that is no constant")
    dtype, n = a.torch_dtype, int(b.const)
    base = t.cast(a, wide(dtype))
    result = None
    while n:
        if n & 1:
            result = base if result is None else t.op("Mul", result, base)
        n >>= 1
        if n:
            base = t.op("Mul", base, base)
    if result is None:
        result = t.op("Add", t.op("Mul", base, t.constant(0, base.torch_dtype)), t.constant(1, base.torch_dtype))
    return t.cast(result, dtype)


@converts("square")
def square(t, self):
    return pow_(t, self, 2)


@converts("addcmul", single=True)
def addcmul(t, self, tensor1, tensor2, value=1):
    a, b = _pair(t, tensor1, tensor2)  # scaled first, as torch does: what overflows on its way is another otherwise
    return t.op("Add", t.cast(self, a.torch_dtype), t.op("Mul", _scaled(t, a, value), b))


@converts("addcdiv", single=True)
def addcdiv(t, self, tensor1, tensor2, value=1):
    a, b = _pair(t, tensor1, tensor2)
    return t.op("Add", t.cast(self, a.torch_dtype), t.op("Div", _scaled(t, a, value), b))


@converts("lerp.Tensor", "lerp.Scalar", single=True)
def lerp(t, self, end, weight):
    a, b = _pair(t, self, end)
    w = scalar_as(t, weight, a.torch_dtype)
    one = t.constant(1.0, a.torch_dtype)
    difference = t.op("Sub", b, a)
    low = t.op("Add", a, t.op("Mul", w, difference))
    high = t.op("Sub", b, t.op("Mul", difference, t.op("Sub", one, w)))
    return t.op("Where", t.op("Less", t.op("Abs", w), t.constant(0.5, a.torch_dtype)), low, high)


@converts("atan2", "arctan2", single=True)
def atan2(t, self, other):
    y, x = _pair(t, self, other)
    dtype = y.torch_dtype
    zero, pi = t.constant(0.0, dtype), t.constant(math.pi, dtype)
    both = t.op("And", t.op("IsInf", y), t.op("IsInf", x))  # inf/inf counts as 1/1
    y, x = (t.op("Where", both, t.op("Sign", v), v) for v in (y, x))
    angle = t.op("Atan", t.op("Div", y, x))
    origin = t.op("And", t.op("Equal", y, zero), t.op("Equal", x, zero))
    angle = t.op("Where", origin, y, angle)
    turn = t.op("Where", _negative(t, y), t.op("Neg", pi), pi)
    return t.op("Where", _negative(t, x), t.op("Add", angle, turn), angle)


def _negative(t, x: Sym) -> Sym:
    """Less than zero, or a zero with the sign."""
    zero = t.constant(0.0, x.torch_dtype)
    signed = t.op("And", t.op("Equal", x, zero), t.op("Less", t.op("Reciprocal", x), zero))
    return t.op("Or", t.op("Less", x, zero), signed)


@converts("copysign.Tensor", "copysign.Scalar")
def copysign(t, self, other):
    a, b = _pair(t, self, other)
    size = t.op("Abs", a)
    return t.op("Where", _negative(t, b), t.op("Neg", size), size)


def _log_of_sum(t, a, b, exp, log_of_two: float) -> Sym:
    """The larger plus the logarithm of 1 + exp of minus the distance: no step overflows where the result does not."""
    one = t.constant(1.0, a.torch_dtype)
    away = exp(t.op("Neg", t.op("Abs", t.op("Sub", a, b))))
    far = t.op("Add", t.op("Max", a, b),
               t.op("Div", t.op("Log", t.op("Add", one, away)), t.constant(log_of_two, a.torch_dtype)))
    return t.op("Where", t.op("Equal", a, b), t.op("Add", a, t.constant(math.log(2) / log_of_two, a.torch_dtype)), far)


@converts("logaddexp", single=True)
def logaddexp(t, self, other):
    return _log_of_sum(t, *_pair(t, self, other), lambda x: t.op("Exp", x), 1.0)


@converts("logaddexp2", single=True)
def logaddexp2(t, self, other):
    a, b = _pair(t, self, other)
    return _log_of_sum(t, a, b, lambda x: t.op("Exp", t.op("Mul", x, t.constant(math.log(2), a.torch_dtype))),
                       math.log(2))


@converts("xlogy.Tensor", "xlogy.Scalar_Self", "xlogy.Scalar_Other", single=True)
def xlogy(t, self, other):
    """x * ln(y); 0 where x is 0, unless y is NaN."""
    x, y = (t.cast(v, t.outputs[0][0]) for v in (self, other))
    zero = t.constant(0.0, x.torch_dtype)
    nothing = t.op("And", t.op("Equal", x, zero), t.op("Not", isnan(t, y)))
    return t.op("Where", nothing, zero, t.op("Mul", x, t.op("Log", y)))


@converts("heaviside")
def heaviside(t, self, values):
    x, at_zero = _pair(t, self, values)
    zero = t.constant(0, x.torch_dtype)
    return t.op("Where", t.op("Equal", x, zero), at_zero, t.cast(t.op("Greater", x, zero), x.torch_dtype))


@converts("signbit")
def signbit(t, self):
    if self.is_float:
        return _negative(t, self)
    return t.op("Less", t.cast(self, torch.int64), t.constant(0, torch.int64))


@converts("hypot", single=True)
def hypot(t, self, other):
    a, b = (t.op("Abs", v) for v in _pair(t, self, other))
    high, low = t.op("Max", a, b), t.op("Min", a, b)
    zero, one = t.constant(0.0, a.torch_dtype), t.constant(1.0, a.torch_dtype)
    ratio = t.op(
        "Where", t.op("Equal", low, high), one, t.op("Div", low, t.op("Where", t.op("Equal", high, zero), one, high))
    )
    result = t.op("Mul", high, t.op("Sqrt", t.op("Add", t.op("Mul", ratio, ratio), one)))
    infinite = t.op("Or", t.op("IsInf", a), t.op("IsInf", b))
    return t.op(
        "Where", infinite, t.constant(math.inf, a.torch_dtype), t.op("Where", t.op("Equal", high, zero), zero, result)
    )


# ---- comparisons and logic -------------------------------------------------------------------


def _comparison(name: str, negate: bool, with_number: bool):
    def convert(t, self, other):
        dtype = promoted(self, _number_like(other) if with_number else other)
        if (
            isinstance(other, (int, float))
            and not isinstance(other, bool)
            and not dtype.is_floating_point
            and dtype != torch.bool
        ):
            info = torch.iinfo(dtype)
            if not info.min <= other <= info.max:
                raise ConversionError(f"a comparison of {dtype} with {other}, which it cannot hold")
        a, b = scalar_as(t, self, dtype), scalar_as(t, other, dtype)
        if dtype == torch.bool and name != "Equal":
            a, b = t.cast(a, torch.int32), t.cast(b, torch.int32)
        result = t.op(name, a, b)
        return t.op("Not", result) if negate else result

    return convert


for _torch, _onnx, _negate in (
    ("eq", "Equal", False),
    ("ne", "Equal", True),
    ("lt", "Less", False),
    ("le", "LessOrEqual", False),
    ("gt", "Greater", False),
    ("ge", "GreaterOrEqual", False),
):
    converts(f"{_torch}.Tensor")(_comparison(_onnx, _negate, with_number=False))
    converts(f"{_torch}.Scalar")(_comparison(_onnx, _negate, with_number=True))


def truth(t: Tape, x: Sym) -> Sym:
    """x != 0, elementwise; a NaN is true."""
    return x if x.torch_dtype == torch.bool else t.op("Not", t.op("Equal", x, t.constant(0, x.torch_dtype)))


@converts("logical_not")
def logical_not(t, self):
    return t.op("Not", truth(t, self))


for _torch, _onnx in (("and", "And"), ("or", "Or"), ("xor", "Xor")):
    converts(f"logical_{_torch}")(lambda t, a, b, _onnx=_onnx: t.op(_onnx, truth(t, a), truth(t, b)))


def _bitwise(bool_name: str, int_name: str):
    def convert(t, self, other):
        a, b = _pair(t, self, other)
        return t.op(bool_name if a.torch_dtype == torch.bool else int_name, a, b)

    return convert


for _torch, _onnx in (("and", "And"), ("or", "Or"), ("xor", "Xor")):
    converts(
        *[f"bitwise_{_torch}.{o}" for o in ("Tensor", "Scalar", "Scalar_Tensor")],
        *[f"__{_torch}__.{o}" for o in ("Tensor", "Scalar")],
    )(_bitwise(_onnx, f"Bitwise{_onnx}"))


@converts("bitwise_not")
def bitwise_not(t, self):
    return t.op("Not" if self.torch_dtype == torch.bool else "BitwiseNot", self)


@converts("isnan")
def isnan(t, self):
    return _float_test(t, self, "IsNaN")


@converts("isinf")
def isinf(t, self):
    return _float_test(t, self, "IsInf")


@converts("isposinf")
def isposinf(t, self):
    return _float_test(t, self, "IsInf", detect_negative=0)


@converts("isneginf")
def isneginf(t, self):
    return _float_test(t, self, "IsInf", detect_positive=0)


def _float_test(t, x, name, **attrs):
    if not x.is_float:
        return t.op("Expand", t.constant(False), t.op("Shape", x))
    return t.op(name, x, **attrs)


@converts("isfinite")
def isfinite(t, self):
    return t.op("Not", t.op("Or", isnan(t, self), isinf(t, self)))


# ---- choices ---------------------------------------------------------------------------------


@converts("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def where(t, condition, self, other):
    a, b = _pair(t, self, other)
    condition = condition if condition.torch_dtype == torch.bool else truth(t, condition)
    return t.op("Where", condition, a, b)


@converts("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(t, self, mask, value):
    dtype = self.torch_dtype
    return t.op("Where", mask if mask.torch_dtype == torch.bool else truth(t, mask), scalar_as(t, value, dtype), self)


def extreme(t, name, a, b):
    """Max/Min that keeps NaN, as torch's maximum/minimum do."""
    dtype = a.torch_dtype
    if dtype == torch.bool:
        return t.op("Or" if name == "Max" else "And", a, b)
    return t.op(name, a, b)


for _torch, _onnx in (("maximum", "Max"), ("minimum", "Min"), ("max.other", "Max"), ("min.other", "Min")):
    converts(_torch)(lambda t, a, b, _onnx=_onnx: extreme(t, _onnx, *_pair(t, a, b)))


@converts("nextafter")
def nextafter(t, self, other):
    """A little more than half a unit in the last place is added: the sum rounds to the neighbour."""
    x, y = _pair(t, self, other)
    dtype = x.torch_dtype
    if dtype not in (torch.float32, torch.float64):
        raise ConversionError("nextafter of this dtype")
    info = torch.finfo(dtype)
    half = t.constant(info.eps / 2 * (1 + 2.0**-20), dtype)
    smallest = t.constant(info.smallest_normal * info.eps, dtype)
    step = t.op("Max", t.op("Mul", t.op("Abs", x), half), smallest)
    moved = t.op("Where", t.op("Less", x, y), t.op("Add", x, step), t.op("Sub", x, step))
    largest = t.op("Mul", t.op("Sign", x), t.constant(info.max, dtype))
    moved = t.op("Where", t.op("IsInf", x), largest, moved)
    result = t.op("Where", t.op("Equal", x, y), y, moved)
    return t.op("Where", isnan(t, y), y, result)


def _without_nan(name):
    def convert(t, self, other):
        a, b = _pair(t, self, other)
        result = extreme(t, name, a, b)
        if not a.is_float:
            return result
        return t.op("Where", isnan(t, a), b, t.op("Where", isnan(t, b), a, result))

    return convert


converts("fmax")(_without_nan("Max"))
converts("fmin")(_without_nan("Min"))


@converts("clamp", "clamp.Tensor", "clip", "clip.Tensor")
def clamp(t, self, min=None, max=None):
    dtype = t.outputs[0][0]
    x = t.cast(self, dtype)
    if isinstance(min, (int, float)) and isinstance(max, (int, float)) and dtype != torch.bool:
        return t.op("Clip", x, scalar_as(t, min, dtype), scalar_as(t, max, dtype))
    if min is not None:  # a Clip with one bound would bring an infinity down to the largest number
        x = extreme(t, "Max", x, scalar_as(t, min, dtype))
    if max is not None:
        x = extreme(t, "Min", x, scalar_as(t, max, dtype))
    return x


@converts("clamp_min", "clamp_min.Tensor")
def clamp_min(t, self, min):
    return clamp(t, self, min)


@converts("clamp_max", "clamp_max.Tensor")
def clamp_max(t, self, max):
    return clamp(t, self, None, max)


@converts("nan_to_num")
def nan_to_num(t, self, nan=None, posinf=None, neginf=None):
    if not self.is_float:
        return self
    info = torch.finfo(self.torch_dtype)
    nan, posinf, neginf = nan or 0.0, info.max if posinf is None else posinf, info.min if neginf is None else neginf
    x = t.op("Where", isnan(t, self), scalar_as(t, nan, self.torch_dtype), self)
    x = t.op("Where", isposinf(t, self), scalar_as(t, posinf, self.torch_dtype), x)
    return t.op("Where", isneginf(t, self), scalar_as(t, neginf, self.torch_dtype), x)


# ---- one operand -----------------------------------------------------------------------------


def _unary(name: str, **attrs):
    def convert(t, self):
        x = t.cast(self, t.outputs[0][0])
        return t.op(name, x, **attrs)

    return convert


for _name in ("neg exp log sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sigmoid reciprocal erf"
              .split()):
    converts(_name)(_unary(_name.capitalize()))
converts("special_erf")(_unary("Erf"))
converts("special_expit")(_unary("Sigmoid"))


@converts("erfc", "special_erfc")
def erfc(t, self):
    """With 64 bits whatever the dtype: 1 - erf(x) would lose all digits of what is far from 0."""
    x = t.cast(t.cast(self, t.outputs[0][0]), torch.float64)
    return t.cast(double_precision.erfc(t, x), t.outputs[0][0])


@converts("deg2rad")
def deg2rad(t, self):
    return _times(t, self, math.pi / 180)


@converts("rad2deg")
def rad2deg(t, self):
    return _times(t, self, 180 / math.pi)


def _times(t, self, factor: float):
    x = t.cast(self, t.outputs[0][0])
    return t.op("Mul", x, scalar_as(t, factor, x.torch_dtype))


def _rounding(name: str):
    def convert(t, self):
        return t.op(name, self) if self.is_float else self

    return convert


for _torch, _onnx in {"floor": "Floor", "ceil": "Ceil", "round": "Round"}.items():
    converts(_torch)(_rounding(_onnx))


@converts("trunc", "fix")
def trunc(t, self):
    return _trunc(t, self) if self.is_float else self


def _trunc(t, x):
    zero = t.constant(0.0, x.torch_dtype)
    return t.op("Where", t.op("Less", x, zero), t.op("Ceil", x), t.op("Floor", x))


@converts("frac")
def frac(t, self):
    return t.op("Sub", self, _trunc(t, self))


@converts("abs")
def abs_(t, self):
    return self if self.torch_dtype in (torch.bool, torch.uint8) else t.op("Abs", self)


@converts("sign", "sgn")
def sign(t, self):
    if self.torch_dtype == torch.bool:
        return self
    result = t.op("Sign", self)
    return t.op("Where", isnan(t, self), t.constant(0.0, self.torch_dtype), result) if self.is_float else result


def log_of_one_plus(t, x: Sym) -> Sym:
    """log(1 + x); for small x by the part of it that 1 + x keeps, which corrects the rounding of the sum."""
    one = t.constant(1.0, x.torch_dtype)
    total = t.op("Add", one, x)
    kept = t.op("Sub", total, one)
    whole = t.op("Or", t.op("Equal", kept, t.constant(0.0, x.torch_dtype)),
                 t.op("Equal", t.op("Abs", x), t.constant(math.inf, x.torch_dtype)))
    log = t.op("Log", total)
    scaled = t.op("Mul", log, t.op("Div", x, t.op("Where", whole, one, kept)))  # the product of both might overflow
    return t.op("Where", t.op("Equal", total, one), x, t.op("Where", whole, log, scaled))


@converts("log1p", single=True)
def log1p(t, self):
    return log_of_one_plus(t, t.cast(self, t.outputs[0][0]))


@converts("expm1", single=True)
def expm1(t, self):
    """exp(x) - 1; near 0 as 2 tanh(x/2) / (1 - tanh(x/2))."""
    x = t.cast(self, t.outputs[0][0])
    one, half = t.constant(1.0, x.torch_dtype), t.constant(0.5, x.torch_dtype)
    small = t.op("Less", t.op("Abs", x), half)
    tanh = t.op("Tanh", t.op("Mul", t.op("Where", small, x, t.constant(0.0, x.torch_dtype)), half))
    near = t.op("Div", t.op("Add", tanh, tanh), t.op("Sub", one, tanh))
    return t.op("Where", small, near, t.op("Sub", t.op("Exp", x), one))


@converts("rsqrt", single=True)
def rsqrt(t, self):
    x = t.cast(self, t.outputs[0][0])
    return t.op("Reciprocal", t.op("Sqrt", x))


def _scaled_log(base: float):
    def convert(t, self):
        x = t.cast(self, t.outputs[0][0])
        return t.op("Div", t.op("Log", x), t.constant(math.log(base), x.torch_dtype))

    return convert


converts("log2", single=True)(_scaled_log(2.0))
converts("log10", single=True)(_scaled_log(10.0))


@converts("logit", single=True)
def logit(t, self, eps=None):
    x = self if self.is_float else t.cast(self, torch.float32)
    if eps is not None:
        low, high = (t.constant(v, x.torch_dtype) for v in (float(eps), 1.0 - float(eps)))
        x = t.op("Where", t.op("Less", x, low), low, t.op("Where", t.op("Greater", x, high), high, x))  # keeps NaN
    return t.op("Log", t.op("Div", x, t.op("Sub", t.constant(1.0, x.torch_dtype), x)))


@converts("angle")
def angle(t, self):
    """Of real numbers: 0, pi of negative ones, NaN of NaN."""
    x = self if self.is_float else t.cast(self, torch.float32)
    zero, half_turn = (t.constant(v, x.torch_dtype) for v in (0.0, math.pi))
    turned = t.op("Where", t.op("Less", x, zero), half_turn, zero)
    return t.op("Where", isnan(t, x), x, turned) if self.is_float else turned


@converts("positive", "clone", "detach", "alias", "contiguous", "lift_fresh_copy", "lift_fresh", "lift", "detach_copy",
          "alias_copy", "conj", "resolve_conj", "resolve_neg", "_conj", "real")
def identity(t, self, **_):
    return self


@converts("_to_copy", "to.dtype", "to.dtype_layout", "to.device", "to.other", "type_as", "prims.convert_element_type")
def to_copy(t, self, *args, **kwargs):
    return convert_to(t, self, t.outputs[0][0])


def convert_to(t: Tape, x: Sym, dtype: torch.dtype) -> Sym:
    """torch's .to(dtype); to bool it is x != 0."""
    return truth(t, x) if dtype == torch.bool else t.cast(x, dtype)


_convert_element_type = getattr(getattr(torch.ops, "prims", None), "convert_element_type", None)
if _convert_element_type is not None:
    CONVERSIONS[_convert_element_type.default] = to_copy
