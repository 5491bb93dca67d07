# SPDX-License-Identifier: Apache-2.0
"""Numbers read from tensors: item/int/float/bool/tolist/numpy, arithmetic on them, strings made of them.

PYTEST_DONT_REWRITE (the machine reads these programs as they are written).
"""

import math

import numpy as np
import torch
import torch.nn.functional as F

from tests.frontend.support.harness import Cases, I, T, check

case = Cases()
POS, NEG, MIX = T(1.0, 2.0, 3.0, 0.5), T(-1.0, -2.0, -3.0, -0.5), T(-4.0, 1.0, 2.0, -1.5)
INTS = [I(n) for n in (7, -7, 0, 3, -1)]
PAIRS = [(I(a), I(b)) for a, b in ((7, 3), (-7, 3), (7, -3), (-7, -3), (6, 2))]
FLOATS = [T(v) for v in (7.5, -7.5, 0.0, 2.5, -0.25)]
Z = [(I(7, 3, -2),), (I(-7, 1, 2),), (I(0, 5, -5),), (I(2**31, 3, 2),)]
BYTES = [(torch.tensor([250, 3, 255], dtype=torch.uint8),), (torch.tensor([0, 1, 2], dtype=torch.uint8),)]
NAN, INF = float("nan"), float("inf")
N = [(T(1, 2, 3),), (T(NAN, 2, -3),), (T(INF, 0, NAN),), (T(-INF, -0.0, 2),), (T(-0.0, 0.0, NAN),)]
V = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),)]


@case(*INTS, values=True)
def item_of_an_int(n):
    return n.item(), int(n), n.item() + 1, type(n.item()) is int


@case(*FLOATS, values=True)
def item_of_a_float(v):
    return v.item(), float(v), int(v), bool(v), type(v.item()) is float


@case(T(True), T(False), values=True)
def item_of_a_bool(b):
    return b.item(), bool(b), int(b), float(b), b.item() + 1


@case(T(0.1), T(1e30), T(-3.3e-5), values=True)
def float32_item_is_exact(v):
    return v.item(), v.item() * 3, v.double().item() == v.item()


@case(*PAIRS, values=True, paths=5)
def int_division_and_modulo(a, b):
    a, b = int(a), int(b)
    return a // b, a % b, divmod(a, b), a / b, -a // b, a // 2, a % -4, 17 // b, 17 % b


@case(*[(T(a), T(b)) for a, b in ((7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (-7.5, -2.0), (1.0, 0.25))], values=True,
      paths=5)
def float_division_and_modulo(a, b):
    a, b = a.item(), b.item()
    return a // b, a % b, a / b, divmod(a, b), math.fmod(a, b), a // 1, -a % 3


@case(*PAIRS, values=True)
def powers(a, b):
    a, b = int(a), int(b)
    return a ** 2, a ** 3, 2 ** abs(b), (a * 0.5) ** 2, abs(a) ** 0.5, pow(a, 2), pow(a, 2, 5), (-2) ** (b % 4)


@case(*PAIRS, values=True)
def bit_operations(a, b):
    a, b = int(a), int(b)
    return a & b, a | b, a ^ b, ~a, a << 2, a >> 1, 1 << (b % 5), a & 1 == 0


@case(*FLOATS, values=True)
def rounding(v):
    f = v.item()
    return round(f), int(f), math.floor(f), math.ceil(f), math.trunc(f), abs(f), round(f * 2) / 2


@case(T(0.5), T(1.5), T(2.5), T(-0.5), T(-1.5), values=True)
def round_half_to_even(v):
    return round(v.item()), round(float(v)), torch.round(v)


@case(T(4.0), T(0.25), T(9.0), values=True)
def math_functions(v):
    f = v.item()
    return (math.sqrt(f), math.log(f), math.exp(-f), math.sin(f), math.hypot(f, 2), math.log2(f), math.pi * f,
            math.isclose(f, 4.0), math.isnan(f), math.tanh(f), math.pow(f, 2))


@case(*INTS, values=True)
def int_and_float_mixed(n):
    k = n.item()
    return k + 0.5, k * 1.5, k / 2, k - 2, 3 - k, -k, +k, float(k), k == 3.0, k < 0.5, int(k * 0.7)


@case(*INTS, values=True)
def bool_arithmetic(n):
    p, q = bool(n > 0), bool(n > 2)
    return p + q, p * 3, p & q, p | q, p ^ q, not p, p == q, p - 1.5, int(p), sum([p, q, True]), p and 5, q or "no"


@case(*PAIRS, values=True)
def comparisons(a, b):
    a, b = int(a), int(b)
    return a < b, a <= b, a == b, a != b, a > b, a >= b, a < 5 <= 9, min(a, b), max(a, b, 4), abs(a - b)


@case(I(0), I(2), may_refuse="", values=True)
def zero_division_raises(n):
    return 10 // int(n)


@case(T(0.0), T(2.0), may_refuse="", values=True)
def float_zero_division_raises(v):
    return 1.0 / v.item()


@case(I(3), I(62), may_refuse="", values=True)
def large_shift(n):
    return 1 << int(n)


@case(I(3), I(2 ** 62), may_refuse="")
def overflow_is_never_wrapped(n):
    k = int(n)
    if k > 100:
        k = k - 1
    return k + k // 2


@case(MIX, POS, values=True)
def tolist_of_a_vector(x):
    xs = x.tolist()
    return xs, xs[0], max(xs), len(xs), sum(xs), [v * 2 for v in xs], sorted(xs)


@case(torch.arange(4.0).view(2, 2), -torch.arange(4.0).view(2, 2), values=True)
def tolist_of_a_matrix(m):
    (a, b), (c, d) = m.tolist()
    return a + d, b * c, m.tolist()[1]


@case(I(3), I(-5), values=True)
def tolist_of_a_scalar(n):
    return n.tolist() + 1


@case(MIX, POS, NEG, values=True)
def unpacked_tensor(x):
    a, b, *rest = x
    return a + b, len(rest), rest[-1]


@case(MIX, POS, NEG)
def scalar_back_into_tensors(x):
    s = x.sum().item()
    k = int(x.argmax())
    y = torch.full((2,), s)
    z = torch.tensor([s, 1.0, k])
    if s > 0:
        return y * s, z, torch.tensor(s), torch.ones(3) * k
    return y / (k + 1), z, torch.zeros(2) + k, torch.tensor(k)


@case(I(2), I(5), values=True)
def scalar_as_a_shape(n):
    k = n.item()
    return torch.zeros(k), torch.arange(k), torch.ones(k, 2).sum(), torch.eye(k)


@case(MIX, POS, NEG, values=True)
def scalar_in_functional_arguments(x):
    s = x.max().item()
    return torch.clamp(x, max=s / 2), x.add(x, alpha=2), torch.where(x > s - 1, s, 0.0), (x > s / 2).sum().item()


@case(MIX, POS, NEG, values=True)
def numpy_of_results(x):
    return int(x.numpy().argmax()), float(x.cpu().numpy().max()), int(np.argmax(x.detach().numpy()))


@case(MIX, POS, NEG, values=True)
def np_argmax_over_a_list_of_items(x):
    scores = [x[0].item(), x[1].item(), x[2].item()]
    k = np.argmax(scores)
    return int(k), scores[k], float(np.max(scores)), float(np.mean(scores)), float(np.sum(scores))


@case(MIX, POS, NEG, values=True)
def np_argmax_over_a_list_of_tensors(x):
    confidences = [x[0], x[1], x[2]]
    k = int(np.argmax([c.item() for c in confidences]))
    return confidences[k], k


@case(MIX, POS, NEG)
def numpy_scalar_as_condition(x):
    v = x.numpy()
    if v.sum() > 0 and np.abs(v).max() < 3.5:
        return x + 1
    return x - 1


@case(MIX, POS, NEG)
def torch_equal_and_allclose(x):
    if torch.equal(x, x.abs()):
        return 1
    if torch.allclose(x, -x.abs()):
        return 2
    return 3


@case(MIX, POS, torch.zeros(4))
def is_nonzero_any_all(x):
    if torch.is_nonzero(x.sum()):
        if torch.all(x > 0):
            return x + 1
        return x + 2
    if torch.any(x):
        return x + 3
    return x + 4


@case(T(float("nan")), T(1.0), T(float("inf")), paths=3)
def nan_and_inf(v):
    if torch.isnan(v):
        return v
    if math.isinf(v.item()):
        return v.item() - 1
    return v.item() == float("inf"), v + float("inf"), v.item() < float("nan")


@case(MIX, POS, NEG, values=True)
def argmax_argmin_topk(x):
    values, index = x.topk(2)
    v, i = x.max(0)
    return int(x.argmax()), x.argmin().item(), values, index.tolist()[0], v.item(), i.item() * 10, int(x.argsort()[0])


@case((I(1), T(2.0)), (I(4), T(-1.0)), values=True)
def scalars_in_containers(n, v):
    d = {"n": n.item(), "v": [v.item(), (int(n) + 1,)]}
    return d, d["v"][1][0] * 2, tuple(d["v"])


@case(MIX, POS, NEG)
def merged_scalars(x):
    if x.sum() > 0:
        k, f, b, s = 1, 0.5, True, "p"
    else:
        k, f, b, s = 2, 1.5, False, "n"  # noqa: F841
    return k + 1, f * k, b, not b, k * x


@case(MIX, POS, NEG)
def merged_runtime_and_static(x):
    k = 3
    if x[0] > 0:
        k = int(x.argmax())
    return k * 2, [10, 20, 30, 40][k]


# ------------------------------------------------------------------------------------------------ text
@case(POS, NEG)
def f_string_of_static_values(x):
    name = f"layer_{3}_{'a'!r}_{2.5:.2f}"
    if x.sum() > 0:
        name += "_pos"
    return x, name, "%d-%s" % (3, "b"), "{}".format(4), name.upper().split("_")


@case(POS, NEG, may_refuse="string|str|format|text", values=True)
def f_string_of_a_runtime_value(x):
    s = f"sum={x.sum().item():.2f}"
    return s


@case(I(1), I(2), may_refuse="string|str|format|text", values=True)
def str_of_a_runtime_int(n):
    return str(int(n))


@case(POS, NEG, may_refuse="string|str|format|text|print|repr", paths=1)
def print_of_a_runtime_value(x):
    print("sum", x.sum().item(), x)
    return x + 1


@case(POS, NEG)
def print_in_one_arm(x):
    if x.sum() > 0:
        print("positive", 1)
    return x + 1


@case(POS, NEG)
def error_message_with_a_runtime_value(x):
    total = x.sum().item()
    if total < 0:
        raise ValueError(f"negative: {total}")
    return x


@case(I(1), I(2), values=True, may_refuse="hash")
def hash_of_a_runtime_int(n):
    return hash(int(n))


@case(I(1), I(2), values=True, may_refuse="attribute|getattr|string|str|format")
def getattr_by_runtime_name(n):
    class Holder:
        a1, a2 = 10, 20

    return getattr(Holder, f"a{int(n)}")


@case(MIX, POS, values=True)
def dtype_device_shape_are_static(x):
    return x.dtype, x.device.type, x.shape[0], x.dim(), x.numel(), len(x), x.is_floating_point(), x.size()


@case(I(3), I(12), values=True, may_refuse="bit_length|int")
def int_methods(n):
    return int(n).bit_length(), float(int(n)).is_integer()


@case(T(1.5), T(2.0), values=True, may_refuse="is_integer|float")
def float_is_integer(v):
    return v.item().is_integer()


@case(POS, NEG)
def float_of_string_and_constants(x):
    limit = float("0.5") + int("3") + round(2.567, 1)
    if x.sum() > limit:
        return x, limit
    return -x, limit


@case(*Z, paths=1)
def integers(x):
    a, b = int(x[0]), int(x[1])
    y = x.to(torch.int32)
    return (x // 3, x % 3, x // -3, x % -3, torch.fmod(x, 3), torch.div(x, -3, rounding_mode="floor"), x << 2, x >> 1,
            ~x, x & 5, a // b, a % b, -a // b, a % -b, divmod(a, -b), a / b, a >> 1, a & 3, ~a, y * 1000000,
            y.to(torch.uint8), y.to(torch.int8), x.int() + 2147483647, x.char() + 100, x.sum(), x.cumsum(0), x / 2,
            a == float(a))


@case(*BYTES, paths=1)
def bytes_(x):
    return (x + 10, x - 5, x * 2, -x, x // 3, x % 7, ~x, x >> 1, x / 3, x.sum(), x.cumsum(0), x.max(), x + 1.5,
            x + True, x * torch.tensor(300), torch.cat([x, x.int()]), x.to(torch.int8), torch.maximum(x, x.flip(0)),
            x.clamp(5, 250))


@case(*N, paths=1)
def nan_and_zero(x):
    a, b = x[0].item(), x[1].item()
    return (x.max(), x.argmin(), x.sort()[0], torch.maximum(x, x.flip(0)), x.clamp(0, 1), x == x, torch.sign(x),
            x.round(), x.trunc(), max(a, b), min(a, b), a < b, a != a, a * 0, (a > b) - (a < b), bool(x[0]), not a,
            x.softmax(0), F.gelu(x.clamp(-9, 9)), torch.where(x > 0, x.log(), x / 0), x.nansum(), torch.nan_to_num(x),
            x.any(), x.count_nonzero())


@case((T(0.5, 1.5, 2.5),), (T(-0.5, -1.5, 3.5),), paths=1)
def halves_to_even(x):
    a, b, c = x.tolist()
    return (x.round(), round(a), round(b), round(c), int(a), math.floor(b), math.ceil(c), a // 1, b % 1, divmod(c, 2),
            -a // 2)


@case(*V, paths=1)
def promotion(x):
    a = int(x[0])
    return (x.long() / 2, x.long() * 2.5, x.bool() + 1, x.int() + x.long(), x.int() * x.half(),
            torch.tensor(2.0, dtype=torch.float64) * x, a * torch.ones(2, dtype=torch.int32),
            x[0].item() * torch.ones(2, dtype=torch.int64), (x[0] > 0).item() * x, a - x, torch.tensor([a, 1.5]),
            torch.full((2,), a), torch.full((2,), bool(a)), torch.tensor(3) + x, x.half() + x.bfloat16())


@case(*V)
def chains_and_walrus(x):
    log = []

    def told(v):
        log.append(v)
        return v

    r = told(0) < told(x[0].item()) < told(2)
    first, *rest, last = x.unbind()
    return (r, len(log), (y := x.sum()), y * 2, x[0].item() or "zero", x[0].item() and "some", len(rest), first + last,
            0 < x[0] < 3)


test_scalars = case.test()


def rounded(x):
    y = float(x)
    return round(y, 2), round(y * 10, 1), round(y, 0), round(int(x), 1)


def test_round_to_digits():
    """Decimal rounding, as Python's: 0.15 is a little less than 3/20, 2.5 is a tie."""
    values = [0.15, 2.675, 1.005, -0.004, 2.5, 0.125, -1e-9, 123456.785, 0.285, 1e6 + 0.045, 5e-324]
    check(rounded, [(torch.tensor(v, dtype=torch.float64),) for v in values], paths=1)


def test_round_to_digits_beyond_the_grid():
    """Floats that lie as far apart as the decimals, or further, are themselves."""
    values = [1e17, -1e300, 2.0**51 + 0.5, 45035996273704.97, -90071992547409.925]
    check(lambda x: round(x.item(), 2), [(torch.tensor(v, dtype=torch.float64),) for v in values], paths=1)
