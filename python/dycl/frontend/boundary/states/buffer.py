# SPDX-License-Identifier: Apache-2.0
"""Tensors of the model that calls write in place."""

from __future__ import annotations

from typing import Any

from .... import generators
from ....calling.states import buffer
from ....calling.states.generator import Generator
from ...graph.program import Value
from .choice import open_choice
from .declared import Declared, add, unique


class Buffer(Declared):
    kind = "tensor"

    def enter(self, inputs: Any) -> None:
        _, value = inputs.m.recorder.real.declare_state(self.owner, self.label)
        made, names = generators.behind(self.owner), [self.label]
        state = buffer.Buffer(names, self.owner, None) if made is None else Generator(names, self.owner, made)
        inputs.declare(state, [value])

    def left(self, ends: Any, end: Any, number: int) -> list[Value]:
        root = next(r for r in ends.m.recorder.real.roots if r.real is self.owner)
        return [ends.m.recorder.value_of_info(root.info)]


def declare_written(ends: Any) -> None:
    """Buffers written in place must be states: begin anew if they were taken as constants."""
    assumptions = ends.m.assumptions
    for root in ends.roots:
        if root.is_constant:
            open_choice(assumptions, root.real)
            add(assumptions, Buffer(unique(root.name or "buffer", assumptions), root.real, None))
            assumptions.states.due = "a buffer is a state"
    assumptions.states.settle()
