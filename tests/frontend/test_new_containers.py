# SPDX-License-Identifier: Apache-2.0
"""Containers that operators make are the program's own: written on some paths, they are no state between calls."""

import collections

import torch

from tests.frontend.support.harness import T, check

INPUTS = [(T(1, 2),), (T(-1, -1),), (T(3, 1),)]


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
