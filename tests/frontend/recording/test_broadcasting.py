# SPDX-License-Identifier: Apache-2.0
"""Elementwise ops on extents known only at run time, one of which may be 1."""

import pytest
import torch

import dycl
from tests.frontend.support.harness import T, check

THREE, ONE, NONE = T(1, 2, 3, -1), T(-1, 5, -1, -1), T(-1, -5, -1, -1)
PAIRS = [(THREE, THREE + 0), (THREE, ONE), (ONE, THREE), (ONE, ONE + 0), (NONE, ONE), (ONE, NONE), (NONE, NONE + 0)]


def two_lengths(x, y):
    a, b = x[x > 0], y[y > 0]
    c = a * b + a
    return c - b if c.sum() > 1 else torch.where(a > b, c, b)


def test_either_operand_is_stretched():
    check(two_lengths, PAIRS)


def of_one_length(x, y):
    a, b = x[x > 0], y[y > 0]
    c = torch.maximum(a, b)
    pair = torch.stack([c, c + a, b + c])  # of one extent, whatever a and b have
    total = torch.zeros(len(c))
    for k in range(len(c)):
        total[k] = pair[:, k].sum()
    return total if c.sum() > 4 else pair


def test_results_of_the_same_operands_have_one_length():
    check(of_one_length, PAIRS)


def three_operands(x, y):
    a, b, c = x[x > 0], y[y > 0], x[x > 2]
    d = torch.addcmul(a, b, c)
    return torch.lerp(a, b, c) if d.sum() > 30 else torch.where(a > 0, b, c)


def test_of_three_operands():
    check(three_operands, [(T(3, 4, -1), T(1, 2, -1)), (T(3, -1, -1), T(1, 2, 7)), (T(1, 2, 5), T(4, -1, -1))])


def beside_a_known_extent(x, y):
    a = x[x > 0] + y  # y has four elements
    return a * 2 if a.sum() > 20 else a + x[x > 2][:, None]


def test_beside_a_known_extent():
    check(beside_a_known_extent, [(THREE.abs(), THREE), (ONE, THREE), (ONE, THREE * 10)])


def in_place(x, y):
    a, b = x[x > 0], y[y > 0]
    a += b
    a[a > 5] = 0
    return a * b if a.sum() > 3 else a


def test_the_written_tensor_is_not_stretched():
    check(in_place, [(THREE, THREE + 0), (THREE, ONE), (ONE, ONE + 0), (NONE, ONE)])


def beside_its_first(x):
    a = x[x > 0]
    return a - a[:1] if a.sum() > 3 else a[-1:] * a


def test_beside_the_first_element():
    check(beside_its_first, [(THREE,), (ONE,), (NONE,), (T(1, 1, -1, -1),)])


def grown(x, y):
    a, b = x[x > 0], y[y > 0]
    while a.sum() < 20:
        a = a * b + 1
    return a


def test_stretched_once_in_a_loop():
    check(grown, PAIRS[:4])


@pytest.mark.parametrize("pair", [(THREE, T(1, 2, -1, -1)), (T(1, 2, -1, -1), THREE), (THREE, NONE)])
def test_extents_that_do_not_fit(pair):
    program = dycl.compile(two_lengths, PAIRS[0])
    with pytest.raises(RuntimeError):
        two_lengths(*pair)
    with pytest.raises(RuntimeError):
        program(*pair)


def test_a_written_tensor_that_would_be_stretched():
    program = dycl.compile(in_place, PAIRS[0])
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        program(ONE, THREE)


def filled(x, y):
    a, b = x[x > 0], y[y > 0]
    out = torch.zeros(4)
    out[:len(a)] = b
    return out, b.expand_as(a) + a, b.expand(2, len(a))[1]


def test_expanded_to_an_extent_of_run_time():
    check(filled, [PAIRS[0], (THREE, ONE), PAIRS[3], (NONE, ONE), PAIRS[6]], by_result=True)


def test_an_extent_that_cannot_be_expanded():
    program = dycl.compile(filled, PAIRS[0])
    for given in ((ONE, THREE), (THREE, T(1, 2, -1, -1))):
        with pytest.raises(RuntimeError):
            program(*given)
