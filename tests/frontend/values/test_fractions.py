# SPDX-License-Identifier: Apache-2.0
"""fractions.Fraction of integers known only at run time."""

from dataclasses import dataclass
from fractions import Fraction

import dycl
from tests.frontend.support.harness import Cases, T, check

case = Cases()
V = T(6, 4, 3), T(-6, 4, 3), T(0, 1, 1), T(5, -10, -3)


@case(*V, values=True)
def arithmetic(x):
    a, b = Fraction(int(x[0]), int(x[1])), Fraction(int(x[2]), 7)
    third, n = Fraction(1, 3), int(x[2])
    return (a + b, a - b, a * b, a / b, a // b, a % b, -a, +a, abs(a), a ** 2, b ** -1, a + 1, 2 - a, n * a, a / n,
            third + a, a - third, third * n, n - third, a + 0.5, 1.5 * a, third / b, bool(a), divmod(a, b))


@case(*V, values=True)
def numbers(x):
    a = Fraction(int(x[0]), int(x[1]))
    return (a.numerator, a.denominator, float(a), int(a), a.as_integer_ratio(), Fraction(a), Fraction(a, 3),
            Fraction(int(x[2])), isinstance(a, Fraction), type(a) is Fraction)


@case(*V, values=True)
def comparisons(x):
    a, b, n = Fraction(int(x[0]), int(x[1])), Fraction(int(x[2]), 2), int(x[2])
    return (a < b, a <= b, a > b, a >= b, a == b, a != b, a < 1, 1 < a, a == n, n >= a, Fraction(3, 2) == a,
            Fraction(1, 2) <= a, max(a, b, Fraction(1, 2)), sorted([a, b, Fraction(1, 5)]), a in [b, Fraction(3, 2)],
            a == "a half", Fraction(1, 2) < n)


@case(*V, values=True)
def texts(x):
    a = Fraction(int(x[0]), int(x[1]))
    return str(a), repr(a), f"{a}", f"{[a]}", "{}".format(a)


@case(T(1, 0), T(-1, 0), T(0, 0), T(3, 2), values=True)
def divisions_by_zero(x):
    n, d = int(x[0]), int(x[1])
    found = []
    for ask in (lambda: Fraction(n, d), lambda: Fraction(n, 2) / d, lambda: Fraction(n, 2) / Fraction(d),
                lambda: Fraction(n, 2) % d, lambda: Fraction(1, 3) / d):
        try:
            found.append(ask())
        except ZeroDivisionError as error:
            found.append(str(error))
    return found


@dataclass
class Named:
    share: Fraction
    name: str


@case(*V, values=True)
def in_containers(x):
    a = Fraction(int(x[0]), int(x[1]))
    kept = {"share": a, "all": [a, Fraction(1, 2)], "both": (a, a + 1)}
    kept["all"].append(kept["share"] * 2)
    first, *rest = kept["all"]
    return kept, Named(a, "a"), first, rest, [y + 1 for y in kept["both"]]


@case(*V, values=True)
def where_paths_meet(x):
    a = Fraction(1, 2) if x[0] > 0 else Fraction(2, 3)
    if x[1] > 1:
        a = a + Fraction(int(x[2]), 5)
    shares = [a, a]
    if x[2] > 0:
        shares[0] = Fraction(7)
    return a * 2, shares, a is shares[1]


def harmonic(x):
    total, k = Fraction(0), 1
    while k <= int(x):
        total = total + Fraction(1, k)
        k = k + 1
    return total, float(total)


def test_a_sum_in_a_loop_that_the_data_end():
    program = check(harmonic, [(T(n),) for n in (0, 1, 5, 12)], by_result=True)
    assert "1 loops" in program.report()["control"] if "control" in program.report() else True


def test_a_saved_program_gives_fractions(tmp_path):
    dycl.compile(arithmetic, (V[0],)).save(tmp_path / "a.dycl")
    loaded = dycl.load(tmp_path / "a.dycl")
    for x in V[:2]:
        assert loaded(x) == arithmetic(x)
        assert type(loaded(x)[0]) is Fraction

test_fractions = case.test()
