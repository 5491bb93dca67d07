# SPDX-License-Identifier: Apache-2.0
"""Dataclasses and objects of the user's classes.

PYTEST_DONT_REWRITE (the machine reads these programs as they are written).
"""

import copy
import dataclasses
import enum
from typing import Optional

import torch

from tests.frontend.support.harness import Cases, T

case = Cases()
POS, NEG, MIX = T(1.0, 2.0, 3.0, 0.5), T(-1.0, -2.0, -3.0, -0.5), T(-4.0, 1.0, 2.0, -1.5)


@dataclasses.dataclass
class Rec:
    x: torch.Tensor
    k: int = 0
    notes: list = dataclasses.field(default_factory=list)
    best: Optional[torch.Tensor] = None

    def bump(self):
        self.k += 1
        return self


@case(POS, NEG)
def dataclass_changed_in_one_arm(x):
    r = Rec(x)
    if x.sum() > 0:
        r.x = x * 2
        r.notes.append(1)
        r.best = x
    else:
        r.bump().bump()
    return r


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: torch.Tensor
    k: int = 1


@case(POS, NEG)
def frozen_dataclass_replaced(x):
    r = Frozen(x)
    if x.sum() > 0:
        r = dataclasses.replace(r, k=5)
    return r, r.x * r.k


@case((POS, Rec(NEG, 3)), (NEG, Rec(POS, 3)))
def dataclass_as_input(x, r):
    if r.x.sum() > 0:
        return Rec(r.x + x, r.k + 1)
    return r


@case(POS, NEG)
def two_names_for_one_object(x):
    a = Rec(x)
    b = a
    if x.sum() > 0:
        b = Rec(x, 10)
    b.k += 1
    a.k += 100
    return a, b, a is b


@case(POS, NEG)
def object_in_two_containers(x):
    r = Rec(x)
    d, items = {"r": r}, [r]
    if x.sum() > 0:
        items[0].k = 7
        d["r"].x = x * 3
    return d["r"].k, items[0].x, r.k


class Node:
    def __init__(self, value, next=None):
        self.value, self.next = value, next


@case(POS, NEG)
def linked_list(x):
    head = None
    for i in range(4):
        if x[i] > 0:
            head = Node(x[i], head)
    total = torch.zeros(())
    node = head
    while node is not None:
        total = total * 2 + node.value
        node = node.next
    return total


@case(POS, NEG)
def cyclic_object(x):
    a = Node(x)
    a.next = a
    if x.sum() > 0:
        a.next.value = x * 2
    return a.next.next.value, a.next is a


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a, self.b = a, None


@case(POS, NEG)
def slots_and_attributes_added(x):
    s = Slots(x)
    n = Node(1)
    if x.sum() > 0:
        s.b = x + 1
        n.extra = 5
    return s.a, s.b is None, hasattr(n, "extra"), getattr(n, "extra", 0)


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@case(POS, NEG)
def enum_per_arm(x):
    c = Color.RED if x.sum() > 0 else Color.BLUE
    if c is Color.RED:
        return x, c.name
    return x * c.value, c


@case(POS, NEG)
def copies_of_objects(x):
    r = Rec(x, 1, [x])
    s, d = copy.copy(r), copy.deepcopy(r)
    if x.sum() > 0:
        r.notes.append(2)
        r.k = 9
    return len(s.notes), len(d.notes), s.k, d.k


@case(POS, NEG)
def object_replaced_by_none(x):
    r = Rec(x)
    if x.sum() > 0:
        r = None
    if r:
        return r.x
    return 0


@case(POS, NEG)
def attribute_deleted_in_one_arm(x):
    n = Node(x, 1)
    if x.sum() > 0:
        del n.next
    return hasattr(n, "next")


test_objects = case.test()
