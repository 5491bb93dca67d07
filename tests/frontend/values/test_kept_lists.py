# SPDX-License-Identifier: Apache-2.0
"""Lists in attributes of objects that are rows of a table (values/kept_list.py)."""

import dataclasses

import pytest
import torch

from dycl import CompileError
from tests.frontend.support.harness import check


def rows(*seeds):
    return [torch.randn(12, 2, generator=torch.Generator().manual_seed(s)) for s in seeds] + [-torch.ones(12, 2)]


class Path:
    def __init__(self, start):
        self.points = [start]
        self.open = True


def linked(x):
    paths = []
    for row in x:
        value = row[0].item()
        for p in paths:
            if p.open and abs(p.points[-1] - value) < 0.7:
                p.points.append(value)
                p.open = len(p.points) < 4
                break
        else:
            paths.append(Path(value))
    longest = max(paths, key=lambda p: len(p.points))
    return [len(p.points) for p in paths], longest.points, torch.tensor(longest.points).sum()


@dataclasses.dataclass
class Bag:
    name: int
    items: list = dataclasses.field(default_factory=list)


def all_methods(x):
    bags = []
    for k, row in enumerate(x):
        if row[0] > 0 or not bags:
            bags.append(Bag(k))
        bag = bags[-1]
        bag.items.append(k)
        if row[1] > 0.5:
            bag.items.insert(0, -k)
        if row[1] < -0.5:
            bag.items += [k, k + 1]
        if row[1] > 1:
            bag.items = bag.items[-3:]
        if row[0] > 1:
            bag.items[0] = 100
            bag.items.reverse()
        if row[0] < -1 and len(bag.items) > 1:
            bag.items.pop(0)
    for bag in bags:
        bag.items.sort()
    last = bags[-1]
    return ([len(b.items) for b in bags], last.items, last.items[:2], sum([sum(b.items) for b in bags]),
            [7 in b.items for b in bags], [bool(b.items) for b in bags], list(last.items), last.items + [1],
            last.items == bags[0].items, max(last.items))


def under_two_names(x):
    """What is taken out of an attribute stays the list that it is."""
    bags = []
    for k, row in enumerate(x):
        if row[0] > 0 or not bags:
            bags.append(Bag(k))
        known = bags[0].items
        bags[-1].items.append(k)
        before = len(known)
        known.append(-1)
        if row[1] > 1:
            bags[0].items = [before]
            known.append(-2)
    one = bags[0].items
    return len(one), one is bags[-1].items, known is one, known, one


def grown_while_walked(x):
    bags = []
    for k, row in enumerate(x):
        if row[0] > 0 or not bags:
            bags.append(Bag(k, [k]))
        for item in bags[-1].items:
            if item < 3 and row[1] > 0:
                bags[-1].items.append(item + 2)
    return [b.items[-1] for b in bags], [len(b.items) for b in bags]


class Node:
    def __init__(self, number):
        self.number = number
        self.next = []
        self.seen = False


def graph(x):
    nodes = [Node(k) for k in range(5)]
    for a in nodes:
        for b in nodes:
            if a is not b and (x[a.number] * x[b.number]).sum() > 0.3:
                a.next.append(b)
    todo, order = [nodes[0]], []
    nodes[0].seen = True
    while todo:
        node = todo.pop()
        order.append(node.number)
        for other in node.next:
            if not other.seen:
                other.seen = True
                todo.append(other)
    return order, [len(n.next) for n in nodes]


@pytest.mark.parametrize("f", [linked, all_methods, under_two_names, grown_while_walked, graph])
def test_same_as_eager(f):
    program = check(f, rows(0, 1, 2, 3))
    assert len(program.ir_text) < 200_000


def shared(x):
    """The list has another name, by which it is changed."""
    bags = []
    for k, row in enumerate(x):
        own = [k]
        if row[0] > 0 or not bags:
            bags.append(Bag(k, own))
        own.append(k)
    return [len(b.items) for b in bags]


def shared_by_two(x):
    bags, items = [], [0]
    for k, row in enumerate(x):
        if row[0] > 0 or not bags:
            bags.append(Bag(k, items))
        bags[-1].items.append(k)
    return len(items), [len(b.items) for b in bags]


def of_lists(x):
    bags = []
    for k, row in enumerate(x):
        if row[0] > 0 or not bags:
            bags.append(Bag(k))
        bags[-1].items.append([k])
    return [len(b.items) for b in bags]


@pytest.mark.parametrize("f", [shared, shared_by_two, of_lists])
def test_same_as_eager_or_refused(f):
    try:
        check(f, [x[:5] for x in rows(0, 1, 2, 3)])
    except CompileError as error:
        assert error.kind in ("list.element", "blow-up", "list.mixed")
