# SPDX-License-Identifier: Apache-2.0
"""Lists that attributes hold from call to call and whose length changes: histories, windows, what is to be done.

Such a list is a list of run-time length (values/list_kinds.py) when a call begins, with a state for each leaf of its
elements. The calls may change it in place or replace it. The program knows the list by one name alone:
that it has a second name is refused.
"""

from __future__ import annotations

from typing import Any

import torch

from ...calling import places
from ...calling.list_states import ListState
from ...objects import plain_object
from ..diagnostics import CaptureRefusal, Restart
from ..graph.program import ListType, Value
from ..state.contents import contents_of
from ..values.list import EMPTY, RtList
from ..values.list_kinds import cells_of, graph_lists, is_stored_as, join, kind_of_items, leaf_types
from .flatten import row_template

_DEEPEST = 6  # containers in containers, from a module down to the list


class ListGuard:
    """The note of a storage whose value is in such a list."""

    final = True  # a refusal of another reason says more

    def __init__(self, label: str):
        self.label = label

    def __call__(self) -> None:
        raise CaptureRefusal(f"a tensor that is in the list {self.label}, which an attribute holds from call to call, "
                             "is written in place or held by another state",
                             "put a clone() of it into the list", kind="state.alias")


# ---- where the list is -----------------------------------------------------------------------------


def declare(outputs: Any, first: Any, *samples: Any) -> bool:
    """Begins anew with a list of the model as a state, if the elements that it has at first and in the samples are of
    one kind and it is in one place."""
    m = outputs.m
    if type(first) is not list or m.is_born(first):
        return False
    kind: tuple | None = kind_of_items(m, m.heap.pristine.get(id(first), tuple(first)))
    for sample in samples:
        kind = join(kind, sample.kind if isinstance(sample, RtList)
                    else kind_of_items(m, sample) if type(sample) is list else None)
    found = _homes(m.heap, outputs.inputs.model, first) if kind not in (None, EMPTY) and _is_storable(kind) else []
    if len(found) != 1:
        return False
    owner, key = found[0]
    states = m.assumptions.states
    for entry in [e for e, (_, holder, _) in states.items() if holder is first or holder is owner and e[2] == key]:
        del states[entry]
    label = places.unique_label(owner, key, states)
    states["list", id(owner), key] = (label, owner, ListState(first, kind, row_template(m, kind)))
    m.assumptions.combinations = []
    outputs.again = f"{label} is a list whose length changes"
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


def enter(inputs: Any, label: str, owner: Any, key: Any, state: ListState) -> None:
    """The list as the program finds it."""
    m, values = inputs.m, []
    for place, type_ in enumerate(leaf_types(state.kind)):
        name = f"{label}_{place}" if len(leaf_types(state.kind)) > 1 else label
        value = Value(ListType(type_), None, name)
        inputs.states.append((name, "list", owner, (key, place)))
        m.graph.states.append((name, value))
        values.append(value)
    made = m.new(RtList(tuple(values), state.kind, frozenset(), ListGuard(label)))
    inputs.lists[id(owner), key] = (made, state, owner)
    inputs.put(owner, key, made)


def left(outputs: Any, end: Any, owner: Any, key: Any, place: int) -> Value:
    """What one state of the list is at an end."""
    m = outputs.m
    made, state, _ = outputs.inputs.lists[id(owner), key]
    current = places.read(owner, key)
    if place == 0:
        _check(outputs, end, made, state, current, m.assumptions.states["list", id(owner), key][0])
    if current is made:
        end.lists.add((id(owner), key))
    column = graph_lists(m, current, state.kind)[place]
    wanted = ListType(leaf_types(state.kind)[place])
    if column.type == wanted:
        return column
    return m.recorder.host("list.concat", [m.recorder.host("list.new", [], wanted), column], wanted)


def _check(outputs: Any, end: Any, made: RtList, state: ListState, current: Any, label: str) -> None:
    m = outputs.m
    if not (isinstance(current, RtList) and not current.frozen or type(current) is list and current is not state.first):
        raise CaptureRefusal(f"the attribute {label} is a list in some calls and something else in others",
                             "keep a list, an empty one for none", kind="state.type")
    kind = current.kind if isinstance(current, RtList) else kind_of_items(m, current)
    wider = join(state.kind, kind)
    if wider is None or not _is_storable(wider) or not is_stored_as(kind, wider):
        raise CaptureRefusal(f"the list {label}, which an attribute holds from call to call, "
                             "has elements of different kinds",
                             "keep them in lists of their own", kind="state.type")
    if wider != state.kind:
        state.kind, state.element = wider, row_template(m, wider)
        raise Restart(f"elements of {label} differ")
    _refuse_second_names(outputs, end, state, current, label)


def _refuse_second_names(outputs: Any, end: Any, state: ListState, current: Any, label: str) -> None:
    m, first = outputs.m, id(state.first)
    known = first in m.heap.objects or first in end.containers or any(owner == first for owner, _ in m.loaded)
    others = [places.read(owner, key) for (_, key), (_, _, owner) in outputs.inputs.lists.items()]
    if (known or id(current) in end.containers or sum(x is current for x in others) > 1
            or any(x is current for x in end.others)):
        raise CaptureRefusal(f"the list {label}, which an attribute holds from call to call, "
                             "is returned or has a second name: later calls change what both hold",
                             "return or keep a copy of it: list(...)", kind="state.alias")
    held = current.cells if isinstance(current, RtList) else {cell for x in current for cell in cells_of(m, x)}
    cells = {id(cell) for cell in held}
    end.list_cells |= cells
    written = {id(root.cell) for root in outputs.roots} | outputs.buffers
    if cells & written:
        ListGuard(label)()
