# SPDX-License-Identifier: Apache-2.0
"""Comparisons where rounding or NaN would tell: ints with floats beyond 2**53, NaN in lists of run-time floats."""

from __future__ import annotations

import pytest
import torch

from tests.frontend.support.harness import I, T, check

_NAN, _INF = float("nan"), float("inf")


def _double(x):
    return torch.tensor(x, dtype=torch.float64)


def test_ints_and_floats():
    def program(n, f):
        a, b = n.item(), f.item()
        return a == b, a < b, a > b, a <= b, a >= b, a != b, b == a, b < a, b >= a, b in [a]

    numbers = [(2**53 + 1, 2.0**53), (2**53, 2.0**53), (5, 5.5), (-(2**53) - 1, -(2.0**53)),
               (2**63 - 1, 2.0**63), (-(2**63), -(2.0**63)), (2**63 - 1024, 2.0**63 - 1024), (3, _NAN), (3, _INF),
               (3, -_INF), (0, -0.0), (2**62 + 1, 2.0**62)]
    check(program, [(I(n), _double(f)) for n, f in numbers], by_result=True, paths=4)


def test_a_chosen_nan():
    """Which of several NaNs it is cannot be known: the run says so; without NaN all is as in eager."""
    import dycl

    def program(x):
        values = x.tolist()
        return values.index(max(values)), max(values) in values

    compiled = check(program, [T(1, 2, 3), T(3, 1, 2), T(0, _NAN, 5)], by_result=True)
    with pytest.raises(RuntimeError, match="no numbers"):
        compiled(T(_NAN, 1, 2))
    own = check(lambda x: (lambda v: (v.index(v[0]), v.count(v[1]), x[0].item() in v))(x.tolist()),
                [T(1, 2, 2), T(_NAN, _NAN, 0), T(0, 0, 0)], by_result=True)
    assert own is not None and dycl is not None


def test_tuples_with_one_nan():
    def program(x):
        a, b, c = x.tolist()
        return (a, b) < (a, c), (a, b) >= (a, c), (a, b) == (a, b)

    check(program, [T(1, 2, 3), T(_NAN, 1, 2), T(_NAN, 2, 1), T(0, 1, 1)], by_result=True)


def test_texts_of_index_errors():
    def program(n):
        found = []
        for act in (lambda v, i: v.__setitem__(i, 5), lambda v, i: v.pop(i), _deleted,
                    lambda v, i: v[i], lambda v, i: [].pop(i)):
            try:
                act([1, 2, 3], int(n))
            except IndexError as error:
                found.append(str(error))
        return found

    check(program, [I(0), I(3), I(-4)], by_result=True)


def _deleted(values, i):
    del values[i]
