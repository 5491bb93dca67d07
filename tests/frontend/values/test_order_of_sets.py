# SPDX-License-Identifier: Apache-2.0
"""The order of a set's elements known only at run time, where it is Python's."""

import pytest

import dycl
from tests.frontend.support.harness import I, check

INPUTS = [(I(3, 10, 3, 25),), (I(0, 1, 2, 3),), (I(25, 3, 25, 11),), (I(17, 33, 9, 0),)]


def left_of_known(x):
    left, order = {17, 1, 33, 25, 9, 3}, []
    for n in x.tolist():
        left.discard(n)
    for k, n in enumerate(left):
        order.append(n * 10 + k)
    return order, list(left), tuple(left)


def greedy_pairs(x):
    """As graphs are contracted: what no pair took is left in the order of the numbers."""
    left, pairs = set(range(12)), []
    for k in range(3):
        a, b = x[k].item() % 12, x[k + 1].item() % 12
        if a in left and b in left:
            left.remove(a)
            if a != b:
                left.remove(b)
            pairs.append(a * 100 + b)
    return pairs, [n for n in left]


@pytest.mark.parametrize("f", [left_of_known, greedy_pairs])
def test_what_is_left_of_a_known_set(f):
    check(f, INPUTS, by_result=True)


def small(x):
    found, order = set(), 0
    for k in range(4):
        if x[k] > 5:
            found.add((x[k] % 8).item())
    for n in found:
        order = order * 10 + n
    return order, len(found)


def test_integers_that_have_a_place_in_any_set():
    check(small, [(I(7, 30, 9, 12),), (I(1, 2, 3, 4),), (I(14, 15, 14, 6),), (I(6, 13, 12, 3),)], by_result=True)


def changed(x):
    left = {17, 1, 33, 25}
    left.discard(x[0].item())
    total = 0
    for n in left:
        total += n
        if total > 40:
            left.discard(x[1].item())
    return total


def test_changed_while_it_is_iterated():
    check(changed, [(I(0, 0),), (I(17, 1),), (I(33, 1),), (I(33, 0),), (I(25, 33),)], by_result=True)


def put_back(x):
    left = {17, 1, 33, 25}
    left.discard(x[0].item())
    left.add(x[1].item())
    return list(left)


def copied(x):
    left = {17, 1, 33, 25}
    left.discard(x[0].item())
    return list(left.copy())


def words(x):
    left = {"a1", "b", f"a{x[0].item()}"}
    return list(left)


@pytest.mark.parametrize("f", [put_back, copied, words])
def test_an_order_that_hashes_make(f):
    with pytest.raises(dycl.CompileError, match="order of a set"):
        dycl.compile(f, (I(1, 17),))


def of_another(x):
    known = {24, 8, 16, 1}
    known.discard(8)
    return (list(set(known)), list(set(list(known)))) if x[0] > 3 else list({*known, 9})


def test_a_set_of_a_set():
    check(of_another, [(I(1, 2),), (I(5, 2),)])


def taken(x):
    left = {1, 2, 3}
    try:
        for n in x.clamp(0, 3).tolist():
            left.remove(n)
    except KeyError:
        return len(left) + 10
    return len(left)


def test_an_element_that_is_not_there():
    check(taken, [(I(1, 2),), (I(1, 1),), (I(0, 2),)])
