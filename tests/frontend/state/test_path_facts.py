# SPDX-License-Identifier: Apache-2.0
"""PYTEST_DONT_REWRITE. What a path says about run-time ints: recursions that end by it,
arms that no input takes, states that meet."""

import pytest
import torch

import dycl
from dycl.frontend.state import path_facts


def power(x, n):
    return x if n == 0 else power(x * 1.5, n - 1) + n


def depth_of_known_range(t):
    return power(torch.ones(2), int(t.clamp(0, 5)))


def depth_of_a_clamped_float(t):
    return power(torch.ones(2), int((t / 2).clamp(0, 4.0000000001)))


def depth_below_a_minimum(t):
    def down(n, k):
        return k if n <= 0 else down(n - 1, k + n)
    return down(min(int(t), 6), 0)


def remembered(t):
    memo = {}

    def fib(n):
        if n < 2:
            return n
        if n not in memo:
            memo[n] = fib(n - 1) + fib(n - 2)
        return memo[n]
    return fib(int(t.clamp(0, 8)))


def swaps(t):
    a, b = int(t) % 4, int(t) // 3
    items = [10, 11, 12, 13]
    items[a], items[b] = items[b], items[a]
    items.insert(b, 99)
    items.pop(a)
    items.remove(items[b])
    return items, items.index(min(items)), items[a % 3:]


def nested_comparisons(t):
    n = int(t)
    if n > 3:
        if n > 2:
            return 1 if not n - 4 < 0 else 2
        return 3
    if n == 3 or n + 1 == 4:
        return 4
    return 5 if 3 > n and n != 3 else 6


@pytest.mark.parametrize("function", [depth_of_known_range, depth_of_a_clamped_float, depth_below_a_minimum, remembered,
                                      nested_comparisons], ids=lambda f: f.__name__)
def test_every_number_gives_the_same(function):
    program = dycl.compile(function, (torch.tensor(2),))
    for n in range(-12, 13):
        want, got = function(torch.tensor(n)), program(torch.tensor(n))
        assert torch.equal(torch.as_tensor(want), torch.as_tensor(got)), n


def test_states_that_one_instruction_splits_meet_after_it():
    program = dycl.compile(swaps, (torch.tensor(2),))
    for n in range(-11, 12):
        try:
            want = swaps(torch.tensor(n))
        except IndexError:
            with pytest.raises(IndexError):
                program(torch.tensor(n))
        else:
            assert program(torch.tensor(n)) == want, n


def test_arms_that_no_input_takes_are_not_there():
    assert dycl.compile(nested_comparisons, (torch.tensor(2),)).ir_text.count("branch") == 2


def test_a_recursion_that_the_data_ends():
    def shrink(x):
        return x if x.norm() < 1 else shrink(x * 0.7) - 0.01

    with pytest.warns(dycl.CompileWarning, match="unrolled 100 times"):
        program = dycl.compile(shrink, (torch.ones(3),))
    for scale in (0.1, 1.0, 50.0, 1e6):
        assert torch.equal(program(torch.ones(3) * scale), shrink(torch.ones(3) * scale))
    with pytest.raises(RecursionError, match="recursion limit"):
        program(torch.ones(3) * 1e30)


RANGES = [(None, None), (None, 2), (-1, None), (-1, 2), (1, 1)]


@pytest.mark.parametrize("op", ["eq", "ne", "lt", "le", "gt", "ge"])
@pytest.mark.parametrize("found", RANGES, ids=str)
def test_truths_and_narrower_ranges_hold_for_every_number(op, found):
    inside = [n for n in range(-9, 10) if (found[0] is None or n >= found[0]) and (found[1] is None or n <= found[1])]
    for bound in range(-4, 5):
        holds = [path_facts._HOLDS[op](n, bound) for n in inside]
        truth = path_facts._truth(op, found, bound)
        assert truth is None or holds == [truth] * len(inside)
        low, high = path_facts._narrowed(op, found, bound)
        for n, held in zip(inside, holds):
            assert not held or (low is None or low <= n) and (high is None or n <= high)
