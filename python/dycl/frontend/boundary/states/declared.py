# SPDX-License-Identifier: Apache-2.0
"""A state between calls that an attempt of capture found out, and that the next one declares."""

from __future__ import annotations

from typing import Any

import torch

from ....calling import places
from ...diagnostics import CaptureRefusal
from ...graph.program import TensorType, Value


class Declared:
    """`label`: its name. `kind`: of the key by which the assumptions know it, (kind, id of the owner, key)."""

    kind = ""

    def __init__(self, label: str, owner: Any, key: Any):
        self.label, self.owner, self.key = label, owner, key

    def enter(self, inputs: Any) -> None:
        """Makes values of the program of what the place holds, and puts them there."""
        raise NotImplementedError(type(self))

    def left(self, ends: Any, end: Any, number: int) -> list[Value]:
        """What an end leaves. `number`: of the first of the program's states."""
        raise NotImplementedError(type(self))

    def slots(self, ends: Any) -> dict[int, Any]:
        """Its states of the program that are tensors in attributes, by number -> where the attribute is."""
        return {}

    @property
    def place(self) -> tuple:
        return self.kind, id(self.owner), self.key

    def open_axes(self, m: Any) -> frozenset:
        """The axes of the tensor it holds whose extents change from call to call."""
        return m.assumptions.open_axes.get(self.place, frozenset())

    def widen(self, m: Any, initial: TensorType, now: Any) -> None:
        """Begins anew with extents that may change from call to call."""
        known, axes = m.assumptions.open_axes, self.open_axes(m)
        if now.dtype == initial.dtype and len(now.shape) == len(initial.shape):
            known[self.place] = axes | _changed_axes(initial, now)
            if known[self.place] != axes:
                known.begin_anew(f"{self.label} changes its shape")


def add(assumptions: Any, declared: Declared) -> None:
    assumptions.states[declared.place] = declared


def is_declared(assumptions: Any, owner: Any, key: Any, *kinds: str) -> bool:
    return any((kind, id(owner), name) in assumptions.states for kind in kinds for name in (key, places.CONTENTS))


def note_tensor(ends: Any, end: Any, number: int, current: Any) -> None:
    """What a tensor that an attribute is left with is beside that."""
    if ends.is_buffer(current):
        raise second_name()
    if isinstance(current, torch.Tensor):
        end.tensors[number] = ends.handle(current)
        argument = next((k for k, handle in enumerate(ends.inputs.handles) if handle is current), None)
        if argument is not None:
            end.held[number] = argument


def note_first(assumptions: Any, owner: Any, name: Any, initial: Any) -> None:
    """A tensor that was taken for a buffer, written in place alone, is what the attribute holds at first."""
    assumptions.first.setdefault((id(owner), name), initial)
    assumptions.states.pop(("tensor", id(initial), None), None)


def second_name() -> CaptureRefusal:
    return CaptureRefusal("a buffer that is written in place, or a view of it, is left in an attribute: "
                          "later calls change what the attribute holds", "assign a clone() of it", kind="state.alias")


def unique_label(owner: Any, key: Any, assumptions: Any) -> str:
    return unique(places.label(owner, key), assumptions)


def unique(name: str, assumptions: Any) -> str:
    """A name that no declared state has."""
    names = {declared.label for declared in assumptions.states.values()}
    clean = "".join(c if c.isalnum() or c in "_." else "_" for c in name)
    candidate, k = clean, 1
    while candidate in names:
        candidate, k = f"{clean}.{k}", k + 1
    return candidate


def _changed_axes(initial: TensorType, now: Any) -> frozenset:
    """The axes along which a tensor of the same rank has another extent, or one known only at run time."""
    return frozenset(k for k, (a, b) in enumerate(zip(initial.shape, now.shape)) if type(b) is not int or a != b)


def fits(type: TensorType, declared: TensorType) -> bool:
    return type.dtype == declared.dtype and len(type.shape) == len(declared.shape) and all(
        mine is None or mine == given for mine, given in zip(declared.shape, type.shape))
