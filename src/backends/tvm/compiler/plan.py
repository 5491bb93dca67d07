# SPDX-License-Identifier: Apache-2.0
"""What the plug-in does to run a sub-DNN: kernels on tensors, in order. src/backends/tvm/plan.h reads it.

A tensor is an operand, a result, a weight or a piece of the scratch memory, in which those that are alive at the
same time do not overlap. Results are written in place by the kernel that makes them.

A guard looks at a tensor; where it has NaNs, infinities or numbers beyond MODERATE,
another plan is run instead, from the start.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

INPUT, RESULT, WEIGHT, LOCAL = range(4)
CALL, COPY, GUARD = range(3)
MODERATE = 1e15  # as in plan.h
ALIGNMENT = 64
SIZES = {1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8, 16: 2}  # by ONNX dtype


@dataclass(eq=False)
class Value:
    kind: int
    index: int  # of the operand, result or weight; of scratch memory: its offset
    dtype: int
    shape: list[int]
    base: "Value | None" = None  # whose memory it is, seen in another shape

    @property
    def owner(self) -> "Value":
        return self.base.owner if self.base else self

    @property
    def bytes(self) -> int:
        return SIZES[self.dtype] * int(np.prod(self.shape, dtype=np.int64))


@dataclass
class Step:
    kind: int
    kernel: str
    operands: list[Value]
    results: list[Value]


@dataclass
class Plan:
    inputs: list[Value] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)
    weights: list[Value] = field(default_factory=list)
    constants: list[np.ndarray] = field(default_factory=list)  # the last of the weights
    steps: list[Step] = field(default_factory=list)
    scratch: int = 0

    def input(self, dtype, shape):
        self.inputs.append(Value(INPUT, len(self.inputs), dtype, shape))
        return self.inputs[-1]

    def weight(self, dtype, shape):
        self.weights.append(Value(WEIGHT, len(self.weights), dtype, shape))
        return self.weights[-1]

    def constant(self, array, dtype, shape):
        self.constants.append(np.ascontiguousarray(array))
        return self.weight(dtype, shape)

    def local(self, dtype, shape):
        return Value(LOCAL, -1, dtype, shape)

    def view(self, value, dtype, shape):
        return Value(value.kind, value.index, dtype, shape, base=value)

    def call(self, kernel, operands, results):
        self.steps.append(Step(CALL, kernel, operands, results))

    def guard(self, guarded: list[tuple[Step, Value]]) -> None:
        """A guard of each tensor in front of the first of the steps that wants it; nothing writes it again."""
        seen: list[Value] = []
        for step, value in guarded:
            if not any(value.owner is other for other in seen):
                seen.append(value.owner)
                self.steps.insert(next(i for i, s in enumerate(self.steps) if s is step), Step(GUARD, "", [value], []))

    def result(self, value):
        """The memory of a scratch tensor becomes the result's; anything else is copied."""
        place = Value(RESULT, len(self.results), value.dtype, value.shape)
        self.results.append(place)
        owner = value.owner
        if owner.kind == LOCAL:
            owner.kind, owner.index = RESULT, place.index
        else:
            self.steps.append(Step(COPY, "", [value], [place]))

    def place(self) -> None:
        """Offsets in scratch memory: first fit by time of birth."""
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        owners: dict[int, Value] = {}
        for at, step in enumerate(self.steps):
            for value in [*step.operands, *step.results]:
                owner = value.owner
                if owner.kind == LOCAL:
                    owners[id(owner)] = owner
                    first.setdefault(id(owner), at)
                    last[id(owner)] = at
        placed: list[Value] = []
        for owner in sorted(owners.values(), key=lambda v: (first[id(v)], -v.bytes)):
            alive = [p for p in placed if last[id(p)] >= first[id(owner)] and first[id(p)] <= last[id(owner)]]
            at = 0
            for other in sorted(alive, key=lambda v: v.index):
                if at + owner.bytes <= other.index:
                    break
                at = max(at, -(-(other.index + max(other.bytes, 1)) // ALIGNMENT) * ALIGNMENT)
            owner.index = at
            placed.append(owner)
            self.scratch = max(self.scratch, at + owner.bytes)

    def encoded(self, weights: int | None = None, first: int = 0) -> bytes:
        """`weights`: how many the artifact has, if not this plan's alone, which are those from `first` on."""
        values: dict[int, int] = {}
        table: list[bytes] = []

        def number(value: Value) -> int:
            if id(value) not in values:
                owner = value.owner
                values[id(value)] = len(table)
                index = owner.index + (first if owner.kind == WEIGHT else 0)
                table.append(struct.pack("<IIqI", owner.kind, value.dtype, index, len(value.shape)))
                table[-1] += struct.pack(f"<{len(value.shape)}q", *value.shape)
            return values[id(value)]

        steps = []
        for step in self.steps:
            operands = [number(v) for v in [*step.operands, *step.results]]
            name = step.kernel.encode()
            steps.append(struct.pack("<III", step.kind, len(name), len(operands)) + name)
            steps[-1] += struct.pack(f"<{len(operands)}I", *operands)
        all_weights = len(self.weights) if weights is None else weights
        counts = (len(self.inputs), len(self.results), all_weights, len(table), len(steps))
        return struct.pack("<5IQ", *counts, self.scratch) + b"".join(table) + b"".join(steps)
