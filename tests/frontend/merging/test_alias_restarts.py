# SPDX-License-Identifier: Apache-2.0
"""A tensor that aliases another on some paths only, written after merges: found in a few attempts, not one each."""

from dycl.frontend import capture
from tests.frontend.support.harness import T, check


def written_behind_joins(x, z):
    y = x if x[0] > 0 else z
    a = x * 2
    if x[1] > 0:
        a = a + 1
    if x[2] > 0:
        a = a + 2
    if z[0] > 0:
        a = a + 3
    if z[1] > 0:
        a = a + 4
    if z[2] > 0:
        a = a + 5
    if a[0] > 0:
        a = a + 6
    if a[1] > 0:
        a = a + 7
    if a[2] > 0:
        a = a + 8
    y += 1
    return x * 2, z * 3, a


def test_few_attempts(monkeypatch):
    attempts = []
    attempt = capture._attempt
    monkeypatch.setattr(capture, "_attempt", lambda *args: attempts.append(1) or attempt(*args))
    check(written_behind_joins, [(T(1, 2, 3), T(-1, 0, 1)), (T(-1, 2, -3), T(1, 1, 1)), (T(0, -5, 2), T(-2, -2, -2)),
                                 (T(3, -9, -9), T(4, -4, 4))])
    assert len(attempts) <= 6, len(attempts)


def merged_twice(x, y):
    w = x.clone()
    if y.sum() > 0:
        w = x
    if y[0] > 1:
        w = y * 2
    w += 1  # in some paths this is the input itself
    return x, w


def test_an_input_written_through_a_name_merged_twice():
    inputs = [(T(1, 2), T(2, 1)), (T(1, 2), T(0.5, 1)), (T(1, 2), T(-3, 1))]
    check(merged_twice, inputs)
