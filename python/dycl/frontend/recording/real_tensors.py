# SPDX-License-Identifier: Apache-2.0
"""Real tensors (inputs, parameters, buffers, globals) as handles, and which of them the program wrote.

Two real tensors that share memory share a cell. A real tensor that was never written in the present
state may be read while capturing; `static_reads` says which were, so that capture starts again with
`declare_state` if such a tensor is written later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from ...objects import IdentityDict
from ..diagnostics import CaptureRefusal
from ..graph.program import Value
from ..state.contents import Cell
from ..torch_internals import FakeTensor
from ..values import parameters
from ..values.tensor import is_handle
from .views import BASE, TensorInfo


@dataclass(eq=False)
class Root:
    """A storage from outside capture: its first seen tensor, its handle, the value it starts with."""

    real: torch.Tensor
    handle: FakeTensor
    initial: Value
    name: str = ""
    kind: str = "constant"  # "constant", "input", "state" or "attribute"

    @property
    def is_constant(self) -> bool:
        return self.kind == "constant"

    @property
    def is_input(self) -> bool:
        return self.kind == "input"

    @property
    def cell(self) -> Cell:
        return self.handle._dycl.cell

    @property
    def info(self) -> TensorInfo:
        return self.handle._dycl


def check_writable(cell: Cell) -> None:
    cell.guard()
    if cell.note == "held":
        raise CaptureRefusal("a write in place to a tensor that an attribute holds from call to call, "
                             "and that another name holds, too, at the start",
                             "give the attribute a clone() of it", kind="state.alias")
    if cell.note == "shared":
        raise CaptureRefusal("a write to a tensor whose memory another tensor shares in a way that cannot be traced",
                             "clone() one of them before compiling", kind="inplace.shared")
    if shares_array(cell):
        raise CaptureRefusal("a write to a tensor that shares its memory with a numpy array "
                             "(from_numpy, as_tensor, numpy)",
                             "clone() the tensor first", kind="inplace.shared")


def shares_array(cell: Cell) -> bool:
    return any(array() is not None for array in cell.arrays)


class RealTensors:
    """The real tensors that a recorder has met, and their handles."""

    def __init__(self, recorder: Any):
        self.recorder = recorder
        self.roots: list[Root] = []
        self.root_cells: set[Cell] = set()  # the storages of `roots`
        self.static_reads: set[int] = set()  # ids of real tensors whose contents capture looked at
        self._lifted = IdentityDict()  # real tensor -> its handle
        self._storages: dict[int, Root] = {}
        self._state_storages: dict[int, list[Root]] = {}  # of tensors that attributes hold from call to call
        # (id of the owner, name) -> what the attribute holds at the start
        self.attribute_handles: dict[tuple, FakeTensor] = {}
        self._root_of_value: dict[Value, Root] = {}

    def lift(self, real: torch.Tensor) -> FakeTensor:
        """The handle of a real tensor, or the one that it is."""
        if is_handle(real):
            return real
        found = self._lifted.get(real)
        if found is not None:
            return found
        if isinstance(real, FakeTensor):
            raise CaptureRefusal("a fake tensor that capture did not make", kind="tensor.fake")
        _refuse_exotic(real)
        handle = self._lift_into_root(real)
        parameters.note_argument(handle, real)
        self._lifted[real] = handle
        return handle

    def _lift_into_root(self, real: torch.Tensor) -> FakeTensor:
        key = real.untyped_storage()._cdata
        root = self._storages.get(key)
        if root is None:
            whole = real._base if real._is_view() and real._base is not None else real
            _refuse_exotic(whole)
            states = self._state_storages.get(key, ())
            root = self._new_root(whole, note="held" if states else None)
            for state in states:  # an attribute holds it now, and another one later
                state.cell.note = "held"
            self._storages[key] = root
        if root.real is real:
            return root.handle
        steps = steps_between(root.real, real)
        if steps is None or (steps and any(isinstance(s, torch.SymInt) for s in root.handle.shape)):
            root.cell.note = "shared"
            return self._new_root(real, note="shared").handle
        return self._apply(root.handle, steps, real)

    def _apply(self, handle: FakeTensor, steps: list[tuple], real: torch.Tensor) -> FakeTensor:
        if not steps:
            return handle
        for func, args, kwargs in steps:
            fake = self.recorder.fake(func, (handle, *args[1:]), kwargs)
            handle = self.recorder.adopt_view(fake, handle._dycl, (func, args, kwargs))
        return handle

    def _new_root(self, real: torch.Tensor, note: str | None = None) -> Root:
        fake = self.recorder.blank(tuple(real.shape), real.stride(), real.dtype, real.device)
        value = Value(self.recorder.type_of(fake), None)
        value.constant = real
        handle = self.recorder.adopt(fake, value)
        handle._dycl.cell.note = note
        return self._add_root(Root(real, handle, value))

    def handle_of(self, real: torch.Tensor) -> FakeTensor | None:
        """The handle of a real tensor, if it has been lifted."""
        return self._lifted.get(real)

    def _add_root(self, root: Root) -> Root:
        self.roots.append(root)
        self.root_cells.add(root.cell)
        self._root_of_value[root.initial] = root
        return root

    def register_input(self, example: torch.Tensor, name: str, handle: FakeTensor, value: Value) -> None:
        root = self._add_root(Root(example, handle, value, name, "input"))
        self._lifted[example] = handle
        key = example.untyped_storage()._cdata
        other = self._storages.setdefault(key, root)
        if other is not root:
            root.cell.note = other.cell.note = "shared"

    def register_attribute(self, place: tuple | None, root: Root) -> None:
        """The tensor that an attribute holds when a call begins. Whoever has the example's tensor under another name
        keeps that one: it is not what the attribute holds in later calls."""
        root.kind = "attribute"
        key = root.real.untyped_storage()._cdata
        if self._storages.get(key) is root:
            del self._storages[key]
        self._lifted.pop(root.real, None)
        for other in [*self._state_storages.get(key, ()), *([self._storages[key]] if key in self._storages else [])]:
            root.cell.note = other.cell.note = "held"
        self._state_storages.setdefault(key, []).append(root)
        if place is not None:
            self.attribute_handles[place] = root.handle

    def is_state_alone(self, tensor: torch.Tensor) -> bool:
        """A real tensor that the program knows only as what an attribute holds from call to call."""
        if isinstance(tensor, FakeTensor) or tensor.is_meta or tensor.layout is not torch.strided:
            return False
        key = tensor.untyped_storage()._cdata
        return key in self._state_storages and key not in self._storages

    def refuse_identity(self, a: torch.Tensor, b: torch.Tensor) -> None:
        """`a is b` of what an attribute holds from call to call and another tensor from outside: a run knows."""
        found = [next((r.kind for r in self.roots if r.handle is x or r.real is x),
                      "made" if isinstance(x, FakeTensor) else "outside")
                 for x in (a, b)]
        known = [[d if type(d) is int else None for d in x.shape] for x in (a, b)]
        alike = a.dtype == b.dtype and a.dim() == b.dim() and all(m == n or None in (m, n) for m, n in zip(*known))
        if "attribute" in found and "made" not in found and alike:
            raise CaptureRefusal("`is` between a tensor that an attribute holds from call to call and another one",
                                 "keep a flag beside it", kind="identity")

    def constant_handle(self, real: torch.Tensor) -> FakeTensor:
        """A fresh storage that starts as a copy of `real` (torch.tensor and the like)."""
        with self.recorder.without_modes():
            real = real.detach().clone()
        fake = self.recorder.blank(tuple(real.shape), real.stride(), real.dtype, real.device)
        value = Value(self.recorder.type_of(fake), None)
        value.constant = real
        return self.recorder.adopt(fake, value)

    def declare_state(self, real: torch.Tensor, name: str) -> tuple[FakeTensor, Value]:
        """A real tensor that the program writes: its contents become an input. Call before capture begins."""
        handle = self.lift(real)
        cell = handle._dycl.cell
        root = next(r for r in self.roots if r.cell is cell)
        if root.is_constant:
            root.kind, root.name = "state", name
            root.initial = Value(root.initial.type, None, name)
            cell.value = root.initial
        return handle, root.initial

    def note_static_read(self, value: Value) -> None:
        root = self._root_of_value.get(value)
        if root is not None:
            self.static_reads.add(id(root.real))

    def written(self) -> list[Root]:
        """The outside storages whose contents differ from the start in the present state."""
        return [root for root in self.roots if root.cell.value is not root.initial]


def _refuse_exotic(real: torch.Tensor) -> None:
    if isinstance(real, torch.nn.parameter.UninitializedTensorMixin):
        raise CaptureRefusal("a parameter that is not initialised yet", "run the model once before compiling it",
                             kind="tensor.lazy")
    if real.layout is not torch.strided or real.is_quantized or getattr(real, "is_nested", False):
        raise CaptureRefusal(f"a tensor of layout {real.layout}", "use dense tensors", kind="tensor.layout")
    if real.is_meta:
        raise CaptureRefusal("a tensor without data (device meta)", "initialise the module's parameters first",
                             kind="tensor.meta")
    if not isinstance(real, torch.nn.Parameter) and type(real) is not torch.Tensor:
        raise CaptureRefusal(f"a tensor subclass ({type(real).__name__})", "use plain tensors", kind="tensor.subclass")


aten = torch.ops.aten


def steps_between(base: torch.Tensor, view: torch.Tensor) -> list[tuple] | None:
    """Steps (op, args, kwargs) that turn `base` into `view`; both live in one storage."""
    if base.dtype != view.dtype:
        return None
    offset = view.storage_offset() - base.storage_offset()
    if offset == 0 and base.shape == view.shape and base.stride() == view.stride():
        return []
    if offset < 0:
        return None
    return _by_dims(base, view, offset) or _by_flat_range(base, view, offset)


def _by_flat_range(base: torch.Tensor, view: torch.Tensor, offset: int) -> list[tuple] | None:
    if not (base.is_contiguous() and view.is_contiguous()) or offset + view.numel() > base.numel():
        return None
    steps = [(aten.view.default, (BASE, [base.numel()]), {})]
    if view.numel() != base.numel():
        steps.append((aten.slice.Tensor, (BASE, 0, offset, offset + view.numel()), {}))
    return steps + [(aten.view.default, (BASE, list(view.shape)), {})]


def _by_dims(base: torch.Tensor, view: torch.Tensor, offset: int) -> list[tuple] | None:
    """Each dim of the view walks along one dim of the base; the other dims of the base are selected."""
    order = sorted((d for d in range(base.dim()) if base.shape[d] > 1), key=lambda d: -base.stride(d))
    if any(base.stride(d) == 0 for d in order):
        return None
    starts = _starts(base, order, offset)
    if starts is None:
        return None
    walks: dict[int, tuple[int, int]] = {}  # dim of the view -> (dim of the base, step)
    for v in range(view.dim()):
        if view.shape[v] == 1:
            continue
        found = next((d for d in order if view.stride(v) >= base.stride(d)), None)
        if found is None or view.stride(v) % base.stride(found) or found in [d for d, _ in walks.values()]:
            return None
        walks[v] = (found, view.stride(v) // base.stride(found))
        if starts[found] + (view.shape[v] - 1) * walks[v][1] >= base.shape[found]:
            return None
    return _write_steps(base, view, starts, walks)


def _starts(base: torch.Tensor, order: list[int], offset: int) -> dict[int, int] | None:
    """The index along each dim of the element at that offset; None if there is none."""
    starts, rest = {}, offset
    for d in order:
        starts[d], rest = divmod(rest, base.stride(d))
    return None if rest or any(starts[d] >= base.shape[d] for d in order) else starts


def _write_steps(base, view, starts, walks) -> list[tuple]:
    used = {d: (v, step) for v, (d, step) in walks.items()}
    steps, kept = [], []
    for d in reversed(range(base.dim())):
        if d in used:
            v, step = used[d]
            start = starts[d]
            stop = start + (view.shape[v] - 1) * step + 1
            if (start, stop, step) != (0, base.shape[d], 1):
                steps.append((aten.slice.Tensor, (BASE, d, start, stop, step), {}))
            kept.insert(0, v)
        else:
            steps.append((aten.select.int, (BASE, d, starts.get(d, 0)), {}))
    order = sorted(range(len(kept)), key=lambda i: kept[i])
    if order != list(range(len(kept))):
        steps.append((aten.permute.default, (BASE, order), {}))
    for v in range(view.dim()):
        if view.shape[v] == 1:
            steps.append((aten.unsqueeze.default, (BASE, v), {}))
    return steps
