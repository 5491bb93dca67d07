# SPDX-License-Identifier: Apache-2.0
"""The result slots of a program: shared by results of different structure, each for values of one kind."""

from __future__ import annotations

from typing import Any

import torch

from ..graph.program import ListType, ScalarType, TensorType, Value
from ..values.scalar import EXAMPLES


class Slots:
    """Result slots shared by the variants: a slot holds values of one kind (dtype and rank, or scalar)."""

    def __init__(self) -> None:
        self.types: list = []

    def place(self, values: list[Value], before: list[int]) -> list[int]:
        used: list[int] = []
        taken: set[int] = set()
        for k, value in enumerate(values):
            if k < len(before):
                slot = before[k]
                self.types[slot] = _join(self.types[slot], value.type)
            else:
                slot = next((j for j, t in enumerate(self.types) if j not in taken and _alike(t, value.type)), None)
                if slot is None:
                    self.types.append(value.type)
                    slot = len(self.types) - 1
                self.types[slot] = _join(self.types[slot], value.type)
            used.append(slot)
            taken.add(slot)
        return used

    def filler(self, m, slot: int) -> Value:
        kind = self.types[slot]
        if isinstance(kind, ScalarType):
            return m.recorder.host("const", [], kind, value=EXAMPLES[kind.kind])
        if isinstance(kind, ListType):
            return m.recorder.host("list.new", [], kind)
        shape = tuple(d if isinstance(d, int) else 0 for d in kind.shape)
        with m.recorder.without_modes():
            zeros = torch.zeros(shape, dtype=kind.dtype)
        return m.recorder.value_of(m.recorder.real.constant_handle(zeros))


def kind_of_type(type_: Any) -> Any:
    if isinstance(type_, ListType):
        return ("list", kind_of_type(type_.element))
    return (type_.dtype, len(type_.shape)) if isinstance(type_, TensorType) else type_


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        return a.dtype == b.dtype and len(a.shape) == len(b.shape)
    if isinstance(a, ListType) and isinstance(b, ListType):
        return _alike(a.element, b.element)
    return a == b


def _join(a: Any, b: Any) -> Any:
    if isinstance(a, TensorType):
        return TensorType(a.dtype, tuple(x if x == y else None for x, y in zip(a.shape, b.shape)))
    if isinstance(a, ListType):
        return ListType(_join(a.element, b.element))
    return a
