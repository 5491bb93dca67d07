# SPDX-License-Identifier: Apache-2.0
"""Lists that attributes hold from call to call and whose length changes: histories, windows, what is to be done.

Such a list is a list of run-time length (values/list_kinds.py) when a call begins, with a state for each leaf of its
elements. The calls may change it in place or replace it. The program knows the list by one name alone:
that it has a second name is refused.
"""

from __future__ import annotations

from typing import Any

import torch

from ....calling import places
from ....calling.states.list import ListState
from ....objects import plain_object
from ...diagnostics import CaptureRefusal, Restart
from ...graph.program import ListType, Value
from ...state.contents import contents_of
from ...values.element_templates import element_template
from ...values.guard import Guard
from ...values.list import EMPTY, RtList
from ...values.list_kinds import (
    cells_of,
    graph_lists,
    is_stored_as,
    join,
    kind_of_items,
    kind_of_list,
    leaf_types,
)
from .declared import Declared, add, unique_label

_DEEPEST = 6  # containers in containers, from a module down to the list


class ListGuard(Guard):
    """The note of a storage whose value is in such a list."""

    final = True  # a refusal of another reason says more

    def __init__(self, label: str):
        self.label = label

    def __call__(self) -> None:
        raise CaptureRefusal(f"a tensor that is in the list {self.label}, which an attribute holds from call to call, "
                             "is written in place or held by another state",
                             "put a clone() of it into the list", kind="state.alias")


# ---- where the list is -----------------------------------------------------------------------------


def begin(ends: Any, first: Any, *samples: Any) -> bool:
    """Begins anew with a list of the model as a state, if the elements that it has at first and in the samples are of
    one kind and it is in one place."""
    m = ends.m
    if type(first) is not list or m.is_born(first):
        return False
    kind: tuple | None = kind_of_items(m, m.heap.pristine.get(id(first), tuple(first)))
    for sample in samples:
        kind = join(kind, kind_of_list(m, sample))
    found = _homes(m.heap, ends.inputs.model, first) if kind not in (None, EMPTY) and _is_storable(kind) else []
    if len(found) != 1:
        return False
    owner, key = found[0]
    states = m.assumptions.states
    for place in [k for k, d in states.items() if d.owner is first or d.owner is owner and d.key == key]:
        del states[place]
    label = unique_label(owner, key, m.assumptions)
    add(m.assumptions, RunTimeList(label, owner, key, first, kind))
    m.assumptions.combinations = []
    ends.again = f"{label} is a list whose length changes"
    return True


def _is_storable(kind: tuple) -> bool:
    """Elements that can be read from and written to a live list."""
    if kind[0] in ("tuple", "list", "dict"):
        return all(map(_is_storable, kind[2]))
    return kind[0] in ("tensor", "int", "float", "bool", "const")


def _homes(heap: Any, model: Any, wanted: list) -> list[tuple[Any, Any]]:
    """(owner, key) of the attributes, entries and elements that hold the list before the first call."""
    root = getattr(model, "__self__", model)
    found: list = []
    seen: set[int] = set()
    work = [(module, 0) for module in (root.modules() if isinstance(root, torch.nn.Module) else [root])]
    while work:
        holder, depth = work.pop()
        if id(holder) in seen or depth > _DEEPEST:
            continue
        seen.add(id(holder))
        for key, value in _entries(heap, holder):
            if value is wanted:
                found.append((holder, key))
            elif isinstance(value, (list, dict, tuple)) or plain_object(value):
                work.append((value, depth + 1))
    return found


def _entries(heap: Any, holder: Any) -> list:
    if isinstance(holder, tuple):
        return list(enumerate(holder))
    contents = heap.pristine[id(holder)] if id(holder) in heap.objects else contents_of(holder)
    if isinstance(holder, dict):
        return list(contents[0])
    if isinstance(holder, list):
        return list(enumerate(contents))
    return list((contents[0] or {}).items())


# ---- in a capture ----------------------------------------------------------------------------------


class RunTimeList(Declared):
    """`first`: the list of the example; `of`: the kind of its elements; `made`: the list as the program finds it."""

    kind = "list"

    def __init__(self, label: str, owner: Any, key: Any, first: list, of: tuple):
        super().__init__(label, owner, key)
        self.first, self.of = first, of
        self.made: Any = None

    def enter(self, inputs: Any) -> None:
        m, types = inputs.m, leaf_types(self.of)
        names = [f"{self.label}_{k}" if len(types) > 1 else self.label for k in range(len(types))]
        values = tuple(Value(ListType(t), None, name) for t, name in zip(types, names))
        element = element_template(m, self.of, typed=True)
        inputs.declare(ListState(names, self.owner, self.key, element), values)
        self.made = m.new(RtList(values, self.of, frozenset(), ListGuard(self.label)))
        inputs.put(self.owner, self.key, self.made)

    def left(self, ends: Any, end: Any, number: int) -> list[Value]:
        current = places.read(self.owner, self.key)
        self._check(ends, end, current)
        if current is self.made:
            end.lists.add((id(self.owner), self.key))
        recorder, found = ends.m.recorder, []
        for column, type_ in zip(graph_lists(ends.m, current, self.of), leaf_types(self.of)):
            wanted = ListType(type_)
            found.append(column if column.type == wanted else recorder.host(
                "list.concat", [recorder.host("list.new", [], wanted), column], wanted))
        return found

    def _check(self, ends: Any, end: Any, current: Any) -> None:
        m = ends.m
        kind = None if current is self.first else kind_of_list(m, current)
        if current is self.first or kind is None and type(current) is not list:
            raise CaptureRefusal(f"the attribute {self.label} is a list in some calls and something else in others",
                                 "keep a list, an empty one for none", kind="state.type")
        wider = join(self.of, kind)
        if wider is None or not _is_storable(wider) or not is_stored_as(kind, wider):
            raise CaptureRefusal(f"the list {self.label}, which an attribute holds from call to call, "
                                 "has elements of different kinds",
                                 "keep them in lists of their own", kind="state.type")
        if wider != self.of:
            self.of = wider
            raise Restart(f"elements of {self.label} differ")
        self._refuse_second_names(ends, end, current)

    def _refuse_second_names(self, ends: Any, end: Any, current: Any) -> None:
        m, first = ends.m, id(self.first)
        known = first in m.heap.objects or first in end.containers or any(owner == first for owner, _ in m.loaded)
        lists = [d for d in m.assumptions.states.values() if isinstance(d, RunTimeList)]
        others = [places.read(d.owner, d.key) for d in lists]
        if (known or id(current) in end.containers or sum(x is current for x in others) > 1
                or any(x is current for x in end.others)):
            raise CaptureRefusal(f"the list {self.label}, which an attribute holds from call to call, "
                                 "is returned or has a second name: later calls change what both hold",
                                 "return or keep a copy of it: list(...)", kind="state.alias")
        self._refuse_written(ends, end, current)

    def _refuse_written(self, ends: Any, end: Any, current: Any) -> None:
        cells = {id(cell) for cell in cells_of(ends.m, current)}
        end.list_cells |= cells
        written = {id(root.cell) for root in ends.roots} | ends.buffers
        if cells & written:
            ListGuard(self.label)()
