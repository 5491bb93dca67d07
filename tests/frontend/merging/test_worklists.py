# SPDX-License-Identifier: Apache-2.0
"""Loops that end when nothing is left to do: a list that is empty on some paths, a None for what comes next."""

import collections
import heapq

import pytest
import torch

from tests.frontend.support.harness import T, check


def stack(x):
    todo, out = [x], x.new_zeros(3)
    while todo:
        t = todo.pop()
        out = out + t
        if t.abs().max() > 1:
            todo.append(t / 2)
    return out


def queue(x):
    todo, count = collections.deque([(x, 0)]), 0
    while len(todo) > 0:
        t, depth = todo.popleft()
        count += 1
        if t.abs().max() > 1:
            todo.append((t / 2, depth + 1))
    return t, depth, count


def two_children(x):
    todo, count = [x], 0
    while todo:
        t = todo.pop()
        count += 1
        if t.abs().max() > 1:
            todo.append(t / 2)
            todo.append(-t / 3)
    return count


def left_inside(x):
    todo, count = [x], 0
    while True:
        if not todo:
            break
        t = todo.pop(0)
        count += 1
        if t.abs().max() > 1:
            todo.append(t / 2)
    return count, t


def next_or_none(x):
    now = x
    while now is not None:
        last = now
        now = now / 2 if now.abs().max() > 1 else None
    return last


class Node:
    def __init__(self, value):
        self.value = value


def objects(x):
    node, total = Node(x), x.new_zeros(())
    while node is not None:
        total = total + node.value.sum()
        node = Node(node.value / 2) if node.value.abs().max() > 1 else None
    return total


def smallest_first(x):
    todo, total = [(float(x.abs().max()), 0)], 0.0
    while todo:
        value, depth = heapq.heappop(todo)
        total += value
        if value > 1:
            heapq.heappush(todo, (value / 2, depth + 1))
    return total, depth


def all_kept(x):
    todo, done = [x], []
    while todo:
        t = todo.pop()
        done.append(t)
        if t.abs().max() > 1:
            todo.append(t / 2)
    return done


def halves(x):
    todo, leaves = [(x, 0)], []
    while todo:
        t, depth = todo.pop()
        if t.numel() > 1 and t.sum() > 0:
            middle = t.numel() // 2
            todo.append((t[:middle], depth + 1))
            todo.append((t[middle:], depth + 1))
        else:
            leaves.append(t.sum() * depth)
    return torch.stack(leaves)


class Pending(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        self.pending = []

    def forward(self, x):
        self.pending = [x]
        steps = 0
        while len(self.pending):
            h = torch.tanh(self.layer(self.pending.pop()))
            steps += 1
            if h.norm() > 0.9 and steps < 30:
                self.pending.append(h)
        return h, steps


INPUTS = [(T(3, 1, 2),), (T(0, 0, 0.5),), (T(50, -5, 5),), (T(5e4, 0, 0.5),)]


@pytest.mark.parametrize("function",
                         [stack, queue, two_children, left_inside, next_or_none, objects, smallest_first, all_kept])
def test_work_until_nothing_is_left(function):
    program = check(function, INPUTS[:3] if function is two_children else INPUTS)
    assert not program.report()["warnings"]
    assert program.report()["blocks"] < 12  # a loop, not its iterations


def test_halves_until_none_is_worth_it():
    torch.manual_seed(0)
    check(halves, [(torch.randn(8),) for _ in range(20)])


def test_pending_work_in_an_attribute():
    torch.manual_seed(0)
    inputs = [(torch.randn(3) * scale,) for scale in (0.0, 0.3, 1.0, 3.0) for _ in range(5)]
    check(Pending, inputs)
