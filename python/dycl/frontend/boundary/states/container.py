# SPDX-License-Identifier: Apache-2.0
"""Containers that attributes hold from call to call and whose length changes: histories, windows, what is to be done,
memories under keys that only the data know.

Such a container is one made of lists of run-time length (values/growing.py) when a call begins, with a state for each
leaf of their elements. The calls may change it in place or replace it. The program knows it by one name alone: that it
has a second name is refused.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ....calling import places
from ....calling.nodes import List
from ....calling.states.container import ContainerState
from ....calling.templates import Rows, Template
from ...diagnostics import CaptureRefusal
from ...graph.program import ListType, Value
from ...state.kinds import install
from ...values.element_templates import element_template
from ...values.growing import Columns, grows, taken_apart
from ...values.guard import Guard
from ...values.list import EMPTY, RtList
from ...values.list_kinds import (
    cells_of,
    graph_lists,
    is_stored_as,
    join,
    kind_of_list,
    leaf_types,
)
from .. import shared_arrays
from . import array
from .declared import Declared, add, unique_label
from .homes import only_home


class ContainerGuard(Guard):
    """The note of a storage whose value is in such a container."""

    final = True  # a refusal of another reason says more

    def __init__(self, label: str):
        self.label = label

    def __call__(self) -> None:
        raise CaptureRefusal(f"a tensor that is in the list {self.label}, which an attribute holds from call to call, "
                             "is written in place or held by another state",
                             "put a clone() of it into the list", kind="state.alias")


# ---- where one begins to be one ----------------------------------------------------------------------


def begin(ends: Any, first: Any, *samples: Any) -> bool:
    """Begins anew with a container of the model as a state, if what it holds at first and in the samples is of one kind
    and it is in one place."""
    if not _declare(ends.m, ends.inputs.model, first, samples):
        return False
    ends.m.assumptions.states.due = f"the length of a {type(first).__name__} changes"
    return True


def begin_at_once(m: Any, model: Any, first: Any) -> None:
    """Where the program is about to put something into it that no object of Python's can hold while compiling."""
    if isinstance(first, np.ndarray) and array.begin_written(m, model, first):
        m.assumptions.states.begin_anew("a numpy array is written in place")
    if _declare(m, model, first, ()):
        m.assumptions.states.begin_anew(f"a {type(first).__name__} holds what only the run knows")


def _declare(m: Any, model: Any, first: Any, samples: tuple) -> bool:
    if not grows(first) or m.is_born(first):
        return False
    kinds = _kinds(m, taken_apart(m, as_it_was(m, first)))
    for sample in samples:
        kinds = _joined(kinds, _kinds(m, taken_apart(m, sample)))
    if not all(map(_is_storable, kinds)):
        return False
    found = only_home(m.heap, model, first)
    if found is None:
        return False
    owner, key = found
    states = m.assumptions.states
    for place in [k for k, d in states.items() if d.owner is first or d.owner is owner and d.key == key]:
        del states[place]
    label = unique_label(owner, key, m.assumptions)
    add(m.assumptions, Container(label, owner, key, first, kinds))
    m.assumptions.combinations = []
    return True


def as_it_was(m: Any, first: Any) -> Any:
    """Before the first call."""
    if id(first) not in m.heap.pristine:
        return first
    made = copy.copy(first)
    install(made, m.heap.pristine[id(first)])
    return made


def _kinds(m: Any, columns: Columns | None) -> tuple:
    """Of the elements of each."""
    return (None,) if columns is None else tuple(kind_of_list(m, x) for x in columns.lists)


def _joined(a: tuple, b: tuple) -> tuple:
    return tuple(map(join, a, b)) if len(a) == len(b) else (None,)


def _is_storable(kind: tuple | None) -> bool:
    """Elements that can be read from and written to a live container."""
    if kind is None:
        return False
    if kind[0] in ("tuple", "list", "dict", "built"):
        return all(map(_is_storable, kind[2]))
    return kind == EMPTY or kind[0] in ("tensor", "int", "float", "bool", "const")


# ---- in a capture ----------------------------------------------------------------------------------


class Container(Declared):
    """`first`: the container of the example; `of`: the kinds of the elements of its columns; `made`: what the program
    finds in its place, and `whole` the template of that, by templates of the columns."""

    kind = "container"

    def __init__(self, label: str, owner: Any, key: Any, first: Any, of: tuple):
        super().__init__(label, owner, key)
        self.first, self.of = first, of
        self.made: Any = None
        self.whole: Any = None

    def enter(self, inputs: Any) -> None:
        m, types = inputs.m, [t for kind in self.of for t in _leaf_types(kind)]
        names = [f"{self.label}_{k}" if len(types) > 1 else self.label for k in range(len(types))]
        values = [Value(ListType(t), None, name) for t, name in zip(types, names)]
        apart, guard, left = taken_apart(m, self.first), ContainerGuard(self.label), iter(values)
        lists = tuple(m.new(RtList(tuple(next(left) for _ in _leaf_types(kind)), kind, frozenset(), guard))
                      for kind in self.of)
        template = apart.described(tuple(_column(m, kind) for kind in self.of))
        inputs.declare(ContainerState(names, self.owner, self.key, template), values)
        self.whole = apart.described(_PLACES[:len(lists)])
        self.made = lists[0] if apart.whole is None else apart.whole
        if apart.whole is not None:
            apart.whole.put_columns(lists)
        inputs.put(self.owner, self.key, self.made)

    def left(self, ends: Any, end: Any, number: int) -> list[Value]:
        current = places.read(self.owner, self.key)
        columns = self._checked(ends, end, current)
        if current is self.made:
            end.in_place.add((id(self.owner), self.key))
        recorder, found = ends.m.recorder, []
        for x, kind in zip(columns.lists, self.of):
            for column, type_ in zip(graph_lists(ends.m, x, kind) if kind != EMPTY else [], _leaf_types(kind)):
                wanted = ListType(type_)
                found.append(column if column.type == wanted else recorder.host(
                    "list.concat", [recorder.host("list.new", [], wanted), column], wanted))
        return found

    def _checked(self, ends: Any, end: Any, current: Any) -> Columns:
        """What an end leaves, taken apart."""
        m = ends.m
        columns = None if current is self.first else taken_apart(m, current)
        if columns is None or columns.described(_PLACES[:len(columns.lists)]) != self.whole:
            kind = type(self.first).__name__
            raise CaptureRefusal(f"the attribute {self.label} is a {kind} in some calls and something else in others",
                                 f"keep such a {kind}, an empty one for none", kind="state.type")
        kinds = _kinds(m, columns)
        wider = _joined(self.of, kinds)
        if not all(map(_is_storable, wider)) or not all(map(is_stored_as, kinds, wider)):
            raise CaptureRefusal(f"the {type(self.first).__name__} {self.label}, which an attribute holds from call to "
                                 "call, has elements of different kinds, or of a kind that states do not hold",
                                 "keep tensors and numbers in it, of each kind in one of their own", kind="state.type")
        if wider != self.of:
            self.of = wider
            m.assumptions.states.begin_anew(f"elements of {self.label} differ")
        self._refuse_second_names(ends, end, current, columns)
        return columns

    def _refuse_second_names(self, ends: Any, end: Any, current: Any, columns: Columns) -> None:
        m, first = ends.m, id(self.first)
        known = (first in m.heap.objects or first in end.containers or any(owner == first for owner, _ in m.loaded)
                 or any(x is self.first for x in shared_arrays.seen(m)))
        declared = [d for d in m.assumptions.states.values() if isinstance(d, Container)]
        others = [places.read(d.owner, d.key) for d in declared]
        if (known or id(current) in end.containers or sum(x is current for x in others) > 1
                or any(x is own for x in end.others for own in (current, *columns.lists))):
            kind = type(self.first).__name__
            raise CaptureRefusal(f"the {kind} {self.label}, which an attribute holds from call to call, "
                                 "is returned or has a second name: later calls change what both hold",
                                 f"return or keep a copy of it: {kind}(...)", kind="state.alias")
        for x in columns.lists:
            self._refuse_written(ends, end, x)

    def _refuse_written(self, ends: Any, end: Any, column: Any) -> None:
        cells = {*cells_of(ends.m, column)}
        end.list_cells |= cells
        written = {root.cell for root in ends.roots} | ends.buffers
        if cells & written:
            ContainerGuard(self.label)()


def _column(m: Any, kind: tuple) -> Template:
    """Of nothing at all as long as nothing is in it."""
    return List(list, ()) if kind == EMPTY else Rows(list, element_template(m, kind, typed=True))


def _leaf_types(kind: tuple) -> list:
    return [] if kind == EMPTY else leaf_types(kind)


_PLACES = tuple(List(list, (List(list, ()),) * k) for k in range(3))  # templates that differ
