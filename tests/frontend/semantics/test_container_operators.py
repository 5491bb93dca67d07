# SPDX-License-Identifier: Apache-2.0
"""What container operators make is new and no state between calls; what they change is changed on that path alone."""

import array
import collections
import typing

import pytest
import torch

import dycl
from tests.frontend.support.harness import T, check

INPUTS = [(T(1, 2),), (T(-1, -1),), (T(3, 1),)]


def repeated_from_the_left(x):
    """As padding is computed: zeros first, then each is assigned."""
    out, rows = 2 * [0.0] + 2 * [1.0], [2 * [0] for _ in range(2)]
    if x[0] > 0:
        out[0] = x[0].item()
        rows[0][1] = 5
    out[1] += 1
    rows[1].append(3)
    return out, rows


def queues(x):
    q = collections.deque([1, 2], maxlen=4)
    r, twice = q + collections.deque([3]), 2 * collections.deque([1, 2])
    if x[0] > 0:
        q += [3, 4, 5]
        r.append(5)
        twice.popleft()
    q += (k for k in range(1))
    q += q
    return list(q), list(r), list(twice)


def views(x):
    keys, items = {1: 2, 3: 4}.keys() | {7}, {1: 2}.items() - {(3, 4)}
    letters = 2 * bytearray(b"ab")
    if x[0] > 0:
        keys.add(9)
        items.add((5, 6))
        letters[0] = 65
        letters += b"c"
    return sorted(keys), sorted(items), list(letters)


@pytest.mark.parametrize("f", [repeated_from_the_left, queues, views], ids=lambda f: f.__name__)
def test_each_path_has_its_own(f):
    check(f, [(T(1, 2),), (T(-1, 2),), (T(-3, -2),)])


def typed(x):
    a = array.array("d", [1.0])
    if x[0] > 0:
        a += array.array("d", [2.0])
    return list(a)


def test_what_cannot_be_followed_is_refused_or_right():
    try:
        check(typed, [(T(1, 2),), (T(-1, 2),)])
    except dycl.CompileError as error:
        assert error.kind != "verify" and "internal" not in str(error)


def cast_for_the_type_checker(x):
    found = {}
    for value in x.tolist():
        found[int(value)] = found.get(int(value), 0) + 1
    counts = typing.cast(dict[int, int], found)
    return len(counts), max(counts.values()), typing.cast("torch.Tensor", x) * 2


def test_what_a_cast_is_given_is_what_it_gives():
    check(cast_for_the_type_checker, [(T(1, 2, 1),), (T(1, 1, 1),), (T(3, 2, 1),)], by_result=True)


def test_a_number_times_a_list():
    def pads(sizes):
        out = 2 * len(sizes) * [0]
        for i in range(len(sizes)):
            out[2 * i] = sizes[i]
        return out

    def f(x):
        some = 2 * [0.0]
        some[0] = some[0] + x.sum().item()
        around = pads([1])
        if x.sum() > 0:
            around = pads([4])
            some[1] = 5.0
        return torch.nn.functional.pad(x, around), pads([1, 2]), around, some

    check(f, INPUTS)


def test_keys_without_some():
    def f(x):
        left = {"a": 1, "b": 2}.keys() - {"a"}
        if x.sum() > 0:
            left.add("c")
        return len(left), sorted(left)

    check(f, INPUTS)


def test_deques():
    def f(x):
        one, two = collections.deque([1]) + collections.deque([2]), 2 * collections.deque([1])
        if x.sum() > 0:
            one.append(7)
            two.append(x.sum().item())
        return list(one), list(two)

    check(f, INPUTS)


def test_elements_are_looked_for_among_what_the_run_knows():
    def f(x):
        n = int(x.sum())
        pair, line = (x.sum().item(), None, n, 3), collections.deque([x.sum().item(), None, n])
        try:
            place = pair[2:].index(2)
        except ValueError as error:
            place = str(error)
        return pair.count(None), pair.count(3), pair.index(None), place, None in line, 3 in line, n not in line

    check(f, INPUTS, by_result=True)
