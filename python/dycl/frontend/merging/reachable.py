# SPDX-License-Identifier: Apache-2.0
"""What any state can still reach: storages and objects, from its variables, operands and what was there before capture.

machine/live_objects.py follows real references, which are those of the active state; here objects are followed by their
contents as a state's overlay has them, so that states which meet can be asked one beside the other.
"""

from __future__ import annotations

import collections
import functools
import gc
import itertools
import types
from typing import Any

import numpy as np
import torch

from ..semantics import opaque_objects
from ..state.contents import Cell
from ..state.kinds import kind_of_object
from ..state.state import State
from ..torch_internals import FakeTensor
from ..values.equality import LEAVES
from ..values.stand_in import StandIn

_PLAIN = LEAVES | {type}


def reachable(m, state: State) -> tuple[set[Cell], set[int]]:
    """The storages and the objects (by id) that the state can still reach."""
    found, objects = _reached_from(m, state, _roots(m, state))
    return found, objects.keys()


def _roots(m, state: State) -> list:
    work: list = []
    for frame in state.frames:
        for k, value in enumerate(frame.locals):
            if frame.info.is_live(frame.pc, k):
                work.append(value)
        work.extend(frame.stack)
        work.extend(frame.result or ())
    work += (obj for key in state.overlay.contents
             if not isinstance(obj := m.heap.objects[key], Cell) and not m.is_born(obj))
    return work


def held_elsewhere(m, x: Any) -> bool:
    """Whether the present state refers to a list by more than what the instruction at hand stores."""
    m.heap.save()
    state = m.current
    work, stack = _roots(m, state), state.frames[-1].stack
    if state.frames[-1].instr.op == "STORE_ATTR" and any(y is x for y in stack[-2:]):
        del work[next(k for k, y in enumerate(work) if y is x)]
    return any(y is x for y in work) or id(x) in _reached_from(m, state, work)[1]


def held_as_they_are(m, state: State) -> set[int]:
    """Objects that are compared and not unified, and what they hold: keys, elements of sets, what native code has."""
    found: list = []
    for obj in _reached_from(m, state, _roots(m, state))[1].values():
        if isinstance(obj, dict):
            found += (key for key, _ in m.heap.contents_in(state.overlay, obj)[0])
        elif isinstance(obj, frozenset):
            found += obj
        elif isinstance(obj, functools.partial) or opaque_objects.hides(type(obj)) and m.is_born(obj):
            found += gc.get_referents(obj)
        elif isinstance(obj, (set, np.ndarray, BaseException)) or isinstance(obj, StandIn) and obj.keeps_objects:
            found += obj.args if isinstance(obj, BaseException) else ()
            add_contents(found, set(), m.born, m.heap.contents_in(state.overlay, obj), obj)
    return set(_reached_from(m, state, found)[1])


def _reached_from(m, state: State, work: list) -> tuple[set[Cell], dict[int, Any]]:
    """The storages and the objects (by id) that are reached from these."""
    walk = _Walk(m, state, work)
    while work:
        x = work.pop()
        kind = kind_of_object(type(x))
        if kind.leaf or id(x) in walk.seen:
            continue
        if kind.numbered:
            walk.seen[id(x)] = x
        kind.reached(walk, x)
    return walk.found, walk.seen


class _Walk:
    """From object to object, by what one holds in a state."""

    def __init__(self, m, state: State, work: list):
        self.m, self.overlay, self.work = m, state.overlay, work
        self.found: set[Cell] = set()
        self.seen: dict[int, Any] = {}

    def tensor(self, x: torch.Tensor) -> None:
        info = getattr(x, "_dycl", None)
        if info is not None:
            self.found.add(info.cell)

    def items(self, x: Any) -> None:
        add_items(self.work, self.found, self.m.born, x)

    def contents_in(self, x: Any) -> Any:
        return self.m.heap.contents_in(self.overlay, x)

    def contents(self, x: Any) -> None:
        add_contents(self.work, self.found, self.m.born, self.contents_in(x), x)

    def holder(self, x: Any) -> None:
        m, heap = self.m, self.m.heap
        if id(x) in heap.owner_of_dict:  # an object's own __dict__
            self.work.append(heap.owner_of_dict[id(x)])
        elif opaque_objects.hides(type(x)) and id(x) not in heap.objects:
            self.work.extend(gc.get_referents(x) if m.is_born(x) else ())
        elif (m.is_born(x) or id(x) in heap.objects or may_hold(x)) and not heap.is_inert(x):
            cells: set[Cell] = set()
            before = len(self.work)
            add_contents(self.work, cells, m.born, heap.contents_in(self.overlay, x), x)
            self.found |= cells
            if len(self.work) == before and not cells and not m.is_born(x):
                heap.note_inert(x)


def may_hold(obj: Any) -> bool:
    """An object of unknown birth that may refer to objects made during capture."""
    if isinstance(obj, (list, dict, set, collections.deque)):
        return True
    return hasattr(obj, "__dict__") and not callable(obj) and not isinstance(obj, (
        torch.nn.Module, torch.Tensor, types.FunctionType))


def add_items(work: list, found: set[Cell], born: dict, items: Any, inner: bool = False) -> None:
    """The items of a container. Of handles, which may be many, only the storages; numbers and texts hold nothing;
    modules from before capture hold nothing new unless they were touched, and those are looked at anyway. Tuples are
    looked into at
    once."""
    kinds = set(map(type, items)) - _PLAIN
    if FakeTensor in kinds:
        kinds.remove(FakeTensor)
        handles = (getattr(x, "_dycl", None) for x in items if type(x) is FakeTensor)
        found.update(handle.cell for handle in handles if handle is not None)
    modules = {kind for kind in kinds if issubclass(kind, torch.nn.Module)}
    if modules:
        work.extend(x for x in items if type(x) in modules and id(x) in born)
        kinds -= modules
    if tuple in kinds and not inner:
        kinds.remove(tuple)
        add_items(work, found, born, tuple(itertools.chain.from_iterable(x for x in items if type(x) is tuple)),
                  inner=True)
    if kinds:
        work.extend(x for x in items if type(x) in kinds)


def add_contents(work: list, found: set[Cell], born: dict, contents: Any, obj: Any) -> None:
    """What an object with these contents refers to. A dict among its items is an object like others:
    what it holds is its state's business."""
    for items in kind_of_object(type(obj)).held(contents):
        add_items(work, found, born, items)
