# SPDX-License-Identifier: Apache-2.0
"""numpy arrays and numbers that attributes hold from call to call, replaced by calls or written in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ....calling import places
from ....calling.state_values import tensors_of
from ....calling.states.array import ArrayState, as_tensor
from ...diagnostics import CaptureRefusal
from ...graph.program import Value
from ...state.contents import memory_of
from ...values import list_kinds
from ...values.array import DTYPES, RtArray, is_array
from ...values.growing import taken_apart
from .. import shared_arrays
from ..tensor_states import cells_of, tensors_in
from .declared import Declared, add, fits, unique_label
from .homes import only_home, sharing_memory


class Array(Declared):
    """`first`: what the attribute holds before the first call; `made`: what the program finds there."""

    kind = "array"

    def __init__(self, label: str, owner: Any, key: Any, first: Any):
        super().__init__(label, owner, key)
        self.first, self.made = first, None

    @property
    def is_number(self) -> bool:
        return not isinstance(self.first, np.ndarray)

    def enter(self, inputs: Any) -> None:
        example = as_tensor(np.array(self.first))
        handle, value = inputs.m.recorder.input_tensor(example, self.label, None, open_axes=self.open_axes(inputs.m))
        inputs.m.recorder.real.register_attribute(None, inputs.m.recorder.real.roots[-1])
        self.made = RtArray(handle, scalar=self.is_number)
        inputs.declare(ArrayState([self.label], self.owner, self.key, value.type.dtype,
                                  None if self.is_number else len(value.type.shape)), [value])
        inputs.put(self.owner, self.key, self.made)

    def left(self, ends: Any, end: Any, number: int) -> list[Value]:
        current = places.read(self.owner, self.key)
        if not (is_array(current) and current.scalar is self.is_number
                or isinstance(current, np.generic if self.is_number else np.ndarray)):
            self._refuse_type()
        tensor = ends.m.recorder.real.lift(ends.m.arrays.tensor(current))
        value, initial = ends.value(tensor), ends.m.graph.states[number][1].type
        if not fits(value.type, initial):
            self.widen(ends.m, initial, value.type)
            self._refuse_type()
        if current is self.made:
            end.in_place.add((id(self.owner), self.key))
        if not self.is_number:
            self._refuse_second_names(ends, end, current, tensor)
        return [value]

    def _refuse_type(self) -> None:
        raise CaptureRefusal(f"the numpy array in the attribute {self.label} changes its type, dtype or number of dims "
                             "from call to call", "keep them", kind="state.type")

    def _refuse_second_names(self, ends: Any, end: Any, current: Any, tensor: torch.Tensor) -> None:
        """The next call finds an array whose memory nobody else has that it knows."""
        m, own = ends.m, self.made.tensor._dycl.cell
        mine = cells_of(tensor)
        others = {root.cell for root in m.recorder.real.roots} - {own}
        for declared in m.assumptions.states.values():
            if declared is not self:
                others |= _cells_in(m, places.read(declared.owner, declared.key))
        if any(root.cell is own for root in ends.roots):  # written in place by some call
            others = others.union(*map(cells_of, tensors_in(end.others)))
        known = not is_array(current) and id(memory_of(current)) not in m.heap.fresh_arrays or any(
            isinstance(x, np.ndarray) and np.may_share_memory(x, self.first) for x in shared_arrays.seen(m))
        if known or mine & others:
            raise CaptureRefusal(f"the numpy array in the attribute {self.label} has a second name, or is returned and "
                                 "written in place by later calls", "copy() it", kind="state.alias")


def _cells_in(m: Any, value: Any) -> set:
    """The storages in what another state is left with."""
    columns = taken_apart(m, value)
    if columns is not None:
        return {cell for x in columns.lists for cell in list_kinds.cells_of(m, x)}
    held = [value.tensor] if is_array(value) else [*tensors_of(value)]
    return set().union(*(cells_of(m.recorder.real.lift(t)) for t in held))


# ---- where one begins to be one ----------------------------------------------------------------------


def begin(m: Any, model: Any, owner: Any, key: Any, first: Any) -> bool:
    """An attribute that is read, and replaced by calls. The example's array must be in that place alone."""
    if not isinstance(first, (np.ndarray, np.generic)) or first.dtype.name not in DTYPES or key == places.CONTENTS:
        return False
    if isinstance(first, np.ndarray) and (
            only_home(m.heap, model, first) is None or sharing_memory(m.heap, model, first)):
        return False
    add(m.assumptions, Array(unique_label(owner, key, m.assumptions), owner, key, first))
    return True


def begin_written(m: Any, model: Any, first: np.ndarray) -> bool:
    """An array that is written in place."""
    found = only_home(m.heap, model, first)
    return found is not None and memory_of(first) is first and begin(m, model, *found, first)
