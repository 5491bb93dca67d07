# SPDX-License-Identifier: Apache-2.0
"""Attributes that hold a number or a tensor of one kind in every call."""

from __future__ import annotations

from typing import Any

import torch

from ....calling import places
from ....calling.states import attribute
from ...diagnostics import CaptureRefusal
from ...graph.program import ScalarType, Value
from ...values.scalar import kind_of
from . import choice
from .declared import Declared, add, fits, note_first, note_tensor, unique_label


class Attribute(Declared):
    """`example`: what it holds before the first call."""

    kind = "attribute"

    def __init__(self, label: str, owner: Any, key: Any, example: Any):
        super().__init__(label, owner, key)
        self.example = example

    def _give_up(self, ends: Any, current: Any, what: str, remedy: str) -> None:
        """Of several kinds: one of a few values, or refused."""
        if choice.begin(ends, self.owner, self.key, self.example, current):
            ends.m.assumptions.states.settle()
        raise CaptureRefusal(f"the {what} from call to call", remedy, kind="state.type")

    def _changes_its_type(self, ends: Any, current: Any) -> None:
        self._give_up(ends, current, f"attribute {self.label} changes its type",
                      "keep its type, or make it an argument and a result")


class Number(Attribute):
    def enter(self, inputs: Any) -> None:
        value = Value(ScalarType(type(self.example).__name__), None, self.label)
        inputs.put(self.owner, self.key, inputs.m.scalars.wrap(value))
        inputs.declare(attribute.NumberAttribute([self.label], self.owner, self.key), [value])

    def left(self, ends: Any, end: Any, number: int) -> list[Value]:
        current = places.read(self.owner, self.key)
        note_tensor(ends, end, number, current)
        kind = type(self.example).__name__
        if kind_of(current) != kind:
            self._changes_its_type(ends, current)
        return [ends.m.scalars.value(current)]


class Tensor(Attribute):
    def enter(self, inputs: Any) -> None:
        m = inputs.m
        handle, value = m.recorder.input_tensor(self.example, self.label, None, open_axes=self.open_axes(m))
        root = m.recorder.real.roots[-1]
        m.recorder.real.register_attribute((id(self.owner), self.key), root)
        inputs.put(self.owner, self.key, handle)
        first = inputs.declare(attribute.TensorAttribute([self.label], self.owner, self.key), [value])
        inputs.state_roots[first] = root

    def left(self, ends: Any, end: Any, number: int) -> list[Value]:
        current = places.read(self.owner, self.key)
        note_tensor(ends, end, number, current)
        if not isinstance(current, torch.Tensor):
            self._changes_its_type(ends, current)
        value, initial = ends.value(current), ends.m.graph.states[number][1].type
        if not fits(value.type, initial):
            if any(type(d) is not int for d in current.shape):
                self.widen(ends.m, initial, current)
            self._give_up(ends, current, f"tensor attribute {self.label} changes its shape or dtype",
                          "keep its shape, or pass it in and return it")
        return [value]

    def slots(self, ends: Any) -> dict[int, Any]:
        return {ends.inputs.number_of(self): (id(self.owner), self.key)}


def is_plain(initial: Any) -> bool:
    return type(initial) in (bool, int, float) or isinstance(initial, torch.Tensor)


def declare(assumptions: Any, owner: Any, name: Any, initial: Any) -> str:
    """Its label."""
    label = unique_label(owner, name, assumptions)
    of = Tensor if isinstance(initial, torch.Tensor) else Number
    add(assumptions, of(label, owner, name, initial))
    note_first(assumptions, owner, name, initial)
    return label
