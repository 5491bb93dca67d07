# SPDX-License-Identifier: Apache-2.0
"""Objects of the user's classes: attributes, properties, descriptors, special methods, state over several calls.

PYTEST_DONT_REWRITE (the machine reads these programs as they are written).
"""

import copy
import dataclasses
import enum
from typing import Optional

import pytest
import torch
from torch import nn

import dycl
from tests.frontend.support.harness import Cases, T, check

case = Cases()
POS, NEG, MIX = T(1.0, 2.0, 3.0, 0.5), T(-1.0, -2.0, -3.0, -0.5), T(-4.0, 1.0, 2.0, -1.5)
V = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),)]
SIX = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),), (T(-4, -5, -6),), (T(2.5, -0.5, 1.5),)]


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


class Vec:
    def __init__(self, t):
        self.t = t

    def __add__(self, o):
        return Vec(self.t + (o.t if isinstance(o, Vec) else o))

    __radd__ = __add__

    def __eq__(self, o):
        return bool((self.t == o.t).all())

    def __len__(self):
        return int((self.t > 0).sum())

    def __contains__(self, v):
        return bool((self.t == v).any())

    def __iter__(self):
        return iter(self.t)

    def __lt__(self, o):
        return bool(self.t.sum() < o.t.sum())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.t = self.t * 0
        return True


@case(*V)
def special_methods(x):
    a, b = Vec(x), 3 + Vec(-x)
    with Vec(x) as v:
        if x[0] > 0:
            raise ValueError
        v.t = v.t + 1
    return len(a), 2.0 in a, a == b, [e * 2 for e in a], min([a, b]).t, sorted([a, b])[0].t, v.t, [a].index(a), bool(a)


@case(*V, *V)
class Remembers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.zeros(3))
        self.table = {"n": 0, "t": torch.zeros(3)}
        self.mode, self.last, self.calls = "a", None, 0

    def forward(self, x):
        self.calls += 1
        previous, self.last = self.last, x
        self.b += x
        if self.b.sum() > 3:
            self.b.zero_()
        if x[0] > 0:
            self.table["n"] += 1
            self.table["t"] = self.table["t"] + x
            self.mode = {"a": "b", "b": "c", "c": "a"}[self.mode]
        change = x if previous is None else x - previous
        return self.b, self.table["t"] * self.table["n"], change * ord(self.mode), self.calls


class Scaling(nn.Module):
    def scaled(self, x):
        return x * 2


@case(*V)
class CallsSuperBehindABranch(Scaling):
    """super() reads the first argument, which nothing else reads there."""

    def scaled(self, x):
        if x.sum() > 0:
            y = x + 1
        elif x[0] < 0:
            y = x - 1
        else:
            y = x * 3
        return super().scaled(y)

    def forward(self, x):
        return self.scaled(x)


@case(*V)
class Overrides(nn.Module):
    factor = 3

    def __init__(self):
        super().__init__()
        self.n, self._v = 0, 1.0

    def __getattr__(self, name):
        return 42 if name == "magic" else super().__getattr__(name)

    def __setattr__(self, name, value):
        super().__setattr__(name, int(value) if name == "n" else value)

    @property
    def v(self):
        return self._v

    @v.setter
    def v(self, value):
        self._v = value + 1

    def forward(self, x):
        if x[0] > 0:
            self.n, self.v = self.n + 1.0, x[0].item()
        else:
            self.v = self.v * 2
        return x * self.magic + self.n * self.factor, self.v


@case(*V)
class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(3))
        self.layers[1].register_forward_hook(lambda m, i, o: o * 2 if o.sum() > 0 else None)
        self.layers[1].register_forward_pre_hook(lambda m, i: (i[0] + 1,))

    def forward(self, x):
        return self.layers[int(x[0]) % 3](x), self.layers[1](x)


test_objects = case.test()


class Doubling:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        return getattr(instance, self.name)

    def __set__(self, instance, value):
        setattr(instance, self.name, value * 2)


class Described(nn.Module):
    value = Doubling()

    def __init__(self):
        super().__init__()
        self._value = 0.5

    def forward(self, x):
        if x[0] > 0:
            self.value = x[0].item()
        elif x[0] < -2:
            self.value = self.value + 1.0
        return self.value * x


def test_a_descriptor_in_python_that_sets():
    check(Described, SIX)


def deleted_property(x):
    class Holder:
        def __init__(self):
            self.log = []

        @property
        def value(self):
            return self.log[-1]

        @value.deleter
        def value(self):
            self.log.append("deleted")

    holder = Holder()
    holder.log.append("made")
    if x[0] > 0:
        del holder.value
    return holder.value, holder.log


def test_a_property_that_is_deleted():
    check(deleted_property, SIX)


class Shared:
    count = 0

    @classmethod
    def bump(cls):
        cls.count += 1


def class_written_in_a_call(x):
    if x[2] > 0:
        Shared.bump()
    return Shared.count


def test_a_class_that_a_call_changes():
    with pytest.raises(dycl.CompileError) as caught:
        dycl.compile(class_written_in_a_call, SIX[0])
    assert caught.value.kind == "class-attribute"
    assert Shared.count == 0


class Table:
    """A mapping that is no dict; its iteration gives pairs of letters, not of keys and values."""

    def __init__(self, entries):
        self.entries = entries

    def keys(self):
        return self.entries.keys()

    def __getitem__(self, key):
        return self.entries[key]

    def __iter__(self):
        return iter(self.entries)


def doubled(ab, cd=0):
    return ab * 2 + cd


def mappings(x):
    if x.sum() > 0:
        table = Table({"ab": x})
    else:
        table = Table({"ab": -x})
    updated = {"cd": x}
    updated.update(table, ef=x + 1)
    return dict(table)["ab"], dict(table, cd=x)["cd"], {**table}["ab"], doubled(**table), doubled(*(), **table), updated


def test_mappings_that_are_no_dicts():
    check(mappings, [(T(1, 2),), (T(-3, 1),)])
