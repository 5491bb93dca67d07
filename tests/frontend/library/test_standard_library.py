# SPDX-License-Identifier: Apache-2.0
"""The standard library on values known only at run time: math, itertools, functools, enum, methods of numbers and
strings; rows of tensors as lists; modules under torch.compile."""

import collections
import enum
import functools
import itertools
import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.frontend.support.harness import Cases, I, T

case = Cases()


@case(I(4, 6), I(9, 5), I(0, -7), I(0, 0))
def divisors(x):
    a, b = x.tolist()
    g = math.gcd(a, b)
    return (g, math.lcm(a, b), math.gcd(a), math.gcd()) if g > 1 else (-g, math.lcm(a, b, 6))


@case(T(4.0, 6.0), paths=1)
def divisors_of_floats(x):
    return math.gcd(x[0].item(), 2)


@case(I(0), I(1), I(-9), I(255), I(256))
def bits(x):
    n = int(x).bit_length()
    return n * 2 if n > 3 else n


@case(I(3, 1, 3), I(5, 5, 5), I(1, 2, 7), I(7, 3, 1), by_result=True)
def found_in_deques(x):
    line = collections.deque(x.tolist(), maxlen=3)
    line.append(7)
    times, place = line.count(7), line.index(7, -2)
    try:
        place = place * 10 + line.index(3)
        line.remove(1)
    except ValueError as error:
        return times, place, str(error), list(line)
    return times, place, list(line)


@case(T(2.675, 1.005), T(-0.0004, 0.5), T(1e17, -1e-9), T(float("inf"), 2.5), T(float("nan"), -7.25), by_result=True)
def numbers_read_back(x):
    a, b = x.tolist()
    n = -3 if b > 1 else 12
    return float(f"{a:.3f}"), float("%.1f" % b), float(f" {a:+.2f}"), int(f"{n:04d}"), float(str(n))


@case(I(0), I(1), I(-9), I(255), I(2**62), I(-(2**63) + 1))
def digits(x):
    n = int(x)
    text = f"{bin(n)} {hex(n)} {oct(n)} {format(n, '06d')} {format(n)}"
    return (text, n.bit_count()) if n > 3 else (text, -n.bit_count())


@case(I(5, 2), I(0, 0), I(3, 5), I(20, 10), I(-1, 2), I(4, -1), I(21, 0), I(61, 2))
def counted(x):
    n, k = x.tolist()
    try:
        return math.comb(n, k), math.perm(n, min(k, 4)), math.factorial(min(n, 20)), math.isqrt(n)
    except ValueError as error:
        return str(error)


@case(*(I(n) for n in (0, 1, 3, 4, 2**52 + 1, (2**31 - 1) ** 2, (2**31 - 1) ** 2 - 1, 3037000499**2,
                       3037000499**2 - 1, 2**63 - 1)), by_result=True)
def whole_roots(x):
    return math.isqrt(x.item())


@case(T(4.0), T(9.5), T(float("inf")), T(float("nan")), T(-0.0), T(-2.5), T(1e30))
def whole(x):
    return x * 2 if x.item().is_integer() else x


@case(I(2, 3, 0), I(5, 1, 2), I(0, 0, 0))
def product(x):
    kept = [v for v in x.tolist() if v > 0]
    rows = x[x > 0].tolist()
    return math.prod(kept), math.prod(rows, start=2), math.prod(v + 1 for v in kept)


@case(T(8.0, 2.0), T(1.0, 3.0), T(-1.0, 2.0), T(4.0, 1.0), T(0.5, 10.0))
def logarithms(x):
    a, base = x.tolist()
    return math.log(a, base), math.degrees(a), math.radians(base)


@case(T(1, 1, 0, 2), T(0, 0, 0, 1), T(3, -3, 3, 3))
def dropped(x):
    dynamic = x[x > 0].tolist()
    return (list(itertools.filterfalse(lambda v: v > 0, x.tolist())),
            list(itertools.filterfalse(lambda v: v > 1, dynamic)), list(itertools.filterfalse(None, x.tolist())))


@case(T(1, 1, 0, 2), T(0, 0, 0, 1), T(3, 3, 3, 3))
def neighbours(x):
    a, b = itertools.tee(x.tolist())
    next(b)
    c, d, e = itertools.tee(x[x > 0].tolist(), 3)
    next(d, None)
    return sum(1 for p, q in zip(a, b) if p != q), [q - p for p, q in zip(c, d)], len(list(e))


def by_size(a, b):
    return -1 if a > b else 1 if a < b else 0


@case(T(1, 2, 0), T(0, 0, 1), T(3, 3, 3), T(3, 2, 1))
def compared(x):
    key = functools.cmp_to_key(by_size)
    return sorted(x.tolist(), key=key), min(x.tolist(), key=key), key(1) == key(1), key(2) < key(1)


class Action(enum.Enum):
    SHIFT = 0
    REDUCE = 1
    STOP = 2
    HALT = 2


class Level(enum.IntEnum):
    LOW = -1
    HIGH = 4


class Named(enum.Enum):
    FIRST = "layer1"
    SECOND = "layer2"


class Forgiving(enum.Enum):
    ONE = 1

    @classmethod
    def _missing_(cls, value):
        return cls.ONE


@case((T(1, 2), I(0)), (T(3, 1), I(1)), (T(3, 1), I(2)), (T(3, 1), I(3)))
def action(x, i):
    a = Action(i.item())
    if a == Action.SHIFT:
        return x, a
    if a is Action.REDUCE:
        return x * 2, a
    return x * 3, a.name == "STOP" and a is Action.HALT


@case(T(0, 0, 1), T(0, 1, 0), T(1, 0, 0), values=True)
def table_of_actions(x):
    return {Action.SHIFT: 1, Action.REDUCE: 2, Action.STOP: 3}[Action(int(x.argmax()))]


@case((T(1, 2), I(-1)), (T(3, 1), I(4)), (T(3, 1), I(0)))
def level(x, i):
    try:
        return x * (Level(i.item()) + 1)
    except ValueError:
        return x


@case((T(1, 2), I(1)), (T(3, 1), I(2)), (T(3, 1), I(0)))
def named(x, i):
    return x if Named(f"layer{i.item()}") is Named.FIRST else -x


@case((T(1, 2), I(1)), refuse="hash")
def forgiving(x, i):
    return x if Forgiving(i.item()) is Forgiving.ONE else -x


@case((T(1, 2), I(3)), (T(3, 1), I(7)))
def texts(x, i):
    s = f"exit_{i.item()}.weight"
    known = (s.startswith("exit"), s.startswith("exit_x"), s.endswith(".weight"), s.endswith(("bias", "x.weight")),
             s.startswith(("a", "ex")), s.startswith(""), s.endswith("t"))
    return x if s == "exit_3.weight" else x * 2, known


@case((T(1, 2), I(3)), refuse="startswith of a string")
def texts_with_digits(x, i):
    return x if f"exit_{i.item()}".startswith("exit_1") else -x


@case((T(1, 2), I(3)), refuse="endswith of a string")
def texts_that_end_with_digits(x, i):
    return x if f"exit_{i.item()}".endswith("1") else -x


@case(T(4, 2.0), T(9.5, 1), T(float("inf"), -3.0), T(float("nan"), 1.0), values=True)
def padded(x):
    low = x.min().item()
    return (F.pad(x, (1, 2), value=low), F.pad(x.reshape(1, 2), (1, -1, 0, 1), value=low),
            F.pad(x, (1, 1), "constant", x[0].item()))


@case(I(4, 2), I(-9, 1), values=True)
def padded_integers(x):
    return F.pad(x, (1, 2), value=x.min().item())


@case(T([[0, 1, 0], [0, 0, 1]]), T([[0, 0, 0], [0, 0, 1]]), T([[0, 1, 1], [0, 1, 1]]), T([[0, 0, 0], [0, 0, 0]]))
def places(a):
    out = []
    for i, j in torch.nonzero(a).tolist():
        out.append(i * 3 + j)
    pairs = a.nonzero().tolist()
    return out, pairs, len(pairs), [p[0] for p in pairs], pairs[-1] if pairs else None, a[:, a[0] > 0].tolist()


@case(T([[0, 1, 0], [0, 0, 1]]), refuse="list.*changed|in place|written")
def written_rows(a):
    pairs = a.nonzero().tolist()
    for p in pairs:
        p[0] = 7
    return pairs


@case(T([[0, 1, 0], [0, 0, 1]]), refuse="tolist")
def rows_of_unknown_width(a):
    return a[a[:, 1] > 0][:, a[0] > 0].tolist()


test_programs = case.test()


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        return self.linear(x) if x.sum() > 0 else x


def test_modules_under_torch_compile():
    import dycl

    torch.manual_seed(0)
    inner = Inner().eval()
    outer = nn.Sequential(torch.compile(inner, backend="eager"), nn.ReLU()).eval()
    program, whole = dycl.compile(outer, (T(1, 2),)), dycl.compile(torch.compile(inner, backend="eager"), (T(1, 2),))
    for x in (T(1, 2), T(-3, 1)):
        with torch.no_grad():
            torch.testing.assert_close(program(x), torch.relu(inner(x)))
            torch.testing.assert_close(whole(x), inner(x))
