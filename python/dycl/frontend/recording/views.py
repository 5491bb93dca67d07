# SPDX-License-Identifier: Apache-2.0
"""Views: how a tensor handle looks into its storage, and how a write through it goes back.

A handle's `TensorInfo` names a cell (the contents of a whole storage, per state) and a path of view
steps. `Views.value` gives the present value of a path by replaying its steps; `Views.write` puts a new
value back through the inverse of each step, innermost first. Infos are immutable but for a cache that
is checked on use, and are shared by all states.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from ..diagnostics import CaptureRefusal
from ..graph.program import TensorType, Value, dominates
from ..source import Span
from ..state.contents import Cell

aten = torch.ops.aten

BASE = type("_Base", (), {"__repr__": lambda self: "<base>"})()  # stands for the viewed tensor in a step's args


class TensorInfo:
    """What a handle stands for. `parent`/`step` are None for a whole storage."""

    __slots__ = ("cell", "parent", "step", "sizes", "dtype", "cache", "span", "type", "born", "alone", "form")

    def __init__(self, cell: Cell, sizes: tuple, dtype: torch.dtype, type: TensorType,
                 parent: "TensorInfo | None" = None, step: tuple | None = None, span: Span | None = None):
        self.cell = cell
        self.sizes = sizes
        self.dtype = dtype
        self.type = type
        self.parent = parent
        self.step = step  # (OpOverload, args with BASE, kwargs)
        self.span = span
        self.born = 0  # the native call that made the handle
        self.alone: Any = None  # the block in which an op made it, while it has one handle: no other state knows that
        self.form: Any = None  # see recording/shape_cache.py
        self.cache: tuple[Value, Value] | None = None  # (value of the storage, value of this view)

    @property
    def views(self) -> tuple:
        return tuple(info.step for info in self.path())

    def path(self) -> list["TensorInfo"]:
        """Infos from the first view of the storage to this one."""
        found, info = [], self
        while info.parent is not None:
            found.append(info)
            info = info.parent
        return found[::-1]


def step_of(func, args: tuple, kwargs: dict, index: int, output: torch.Tensor, sizes: tuple) -> tuple | None:
    """The step that makes output number `index` of a view op; None if it views the whole unchanged.
    `sizes` are the viewed tensor's."""
    packet = func.overloadpacket
    if packet in _IDENTITY:
        return None
    if packet in _SPLITS:
        return _piece(func, args, kwargs, index, output, sizes)
    if packet is aten.slice and _same(tuple(output.shape), sizes):
        step = args[4] if len(args) > 4 else kwargs.get("step", 1)
        if isinstance(step, int) and step == 1:
            return None
    return (func, (BASE, *args[1:]), kwargs)


_IDENTITY = {aten.detach, aten.alias, aten.lift_fresh, aten.lift}
_SPLITS = {aten.split, aten.split_with_sizes, aten.unbind, aten.chunk, aten.tensor_split}


def _piece(func, args, kwargs, index, output, sizes) -> tuple:
    packet = func.overloadpacket
    position = 1 if packet is aten.unbind else 2
    dim = args[position] if len(args) > position else kwargs.get("dim", 0)
    dim = dim % len(sizes)
    if packet is aten.unbind:
        return (aten.select.int, (BASE, dim, index), {})
    if packet is aten.split and not isinstance(args[1], (list, tuple)):
        start = args[1] * index
    else:
        start = sum(args[1][:index])
    return (aten.slice.Tensor, (BASE, dim, start, start + output.shape[dim]), {})


def _same(a: tuple, b: tuple) -> bool:
    if len(a) != len(b):
        return False
    return all(_same_dim(x, y) for x, y in zip(a, b))


def _same_dim(x: Any, y: Any) -> bool:
    if isinstance(x, torch.SymInt) and isinstance(y, torch.SymInt):
        return x.node.expr == y.node.expr
    return not isinstance(x, torch.SymInt) and not isinstance(y, torch.SymInt) and x == y


class Views:
    """Reads and writes through views, recording into the recorder's current block."""

    def __init__(self, recorder):
        self.recorder = recorder

    def value(self, info: TensorInfo) -> Value:
        base = info.cell.value
        todo = []
        while info.parent is not None:
            cached = info.cache
            if cached is not None and cached[0] is base and dominates(cached[1].block, self.recorder.block):
                value = cached[1]
                break
            todo.append(info)
            info = info.parent
        else:
            value = base
        for view in reversed(todo):
            value = self._forward(view, value)
            self.recorder.set_cache(view, (base, value))
        return value

    def _forward(self, view: TensorInfo, source: Value) -> Value:
        func, args, kwargs = view.step
        args = tuple(source if a is BASE else a for a in args)
        return self.recorder.record(func, args, kwargs, [view.type], span=view.span)[0]

    def write(self, info: TensorInfo, new: Value) -> None:
        """Makes `new` (of info's type) the contents of the view."""
        path = info.path()
        before = [info.cell.value]
        for view in path[:-1]:
            before.append(self.value(view))
        value = new
        for view, old in zip(reversed(path), reversed(before)):
            value = self._backward(view, old, value)
        self.recorder.set_cell(info.cell, value)
        # The written views' values are known: no need to read them back.
        if path:
            self.recorder.set_cache(info, (value, new))

    def _backward(self, view: TensorInfo, old: Value, new: Value) -> Value:
        """The viewed tensor's new value, `old` with `new` in the place that `view` shows."""
        func, args, kwargs = view.step
        parent = view.parent
        inverse = _INVERSES.get(func.overloadpacket)
        if inverse is None:
            raise CaptureRefusal(f"a write in place through {func} cannot be traced back to its storage",
                                 "write to a clone() of it, or assign without a view", kind="inplace.view")
        if inverse is _diagonal:
            return self._write_diagonal(view, old, new, args, kwargs)
        if inverse is _places:
            return self._write_places(view, old, new, args, kwargs)
        target, call_args, call_kwargs = inverse(view, old, new, args, kwargs)
        if target is None:
            return new
        return self.recorder.record(target, call_args, call_kwargs, [parent.type], span=self.recorder.span)[0]

    def _write_diagonal(self, view: TensorInfo, old: Value, new: Value, args: tuple, kwargs: dict) -> Value:
        """The two dims of the diagonal go last; then an index_put at (row + i, column + i)."""
        record, parent = self.recorder.record, view.parent
        offset, dim1, dim2 = _rest(args, kwargs, ["offset", "dim1", "dim2"], [0, 0, 1])
        rank = len(parent.sizes)
        dim1, dim2 = dim1 % rank, dim2 % rank
        order = [d for d in range(rank) if d not in (dim1, dim2)] + [dim1, dim2]
        moved = TensorType(parent.dtype, tuple(parent.type.shape[d] for d in order))
        length = view.sizes[-1]
        places = [self._range(max(-offset, 0), length), self._range(max(offset, 0), length)]
        value = record(aten.permute.default, (old, order), {}, [moved])[0]
        value = record(aten.index_put.default, (value, [None] * (rank - 2) + places, new), {}, [moved])[0]
        return record(aten.permute.default, (value, [order.index(d) for d in range(rank)]), {}, [parent.type])[0]

    def _write_places(self, view: TensorInfo, old: Value, new: Value, args: tuple, kwargs: dict) -> Value:
        """Which element of the viewed tensor each of the view's is, asked of torch itself; then one index_put."""
        record, parent = self.recorder.record, view.parent
        if not all(type(n) is int for n in (*parent.sizes, *view.sizes)):
            raise CaptureRefusal(f"a write in place through {view.step[0]} of a size known only at run time",
                                 "write to a clone() of it, or assign without a view", kind="inplace.view")
        count = math.prod(parent.sizes)
        with self.recorder.without_modes():
            every = torch.arange(count).reshape(parent.sizes)
            places = view.step[0](*(every if a is BASE else a for a in args), **kwargs).reshape(-1).clone()
            shared = places.unique().numel() < places.numel()
        if shared:
            raise CaptureRefusal(f"a write in place through {view.step[0]}, where several elements share memory",
                                 "clone() the tensor before", kind="inplace.view")
        index = Value(TensorType(torch.int64, (len(places),)), None)
        index.constant = places
        flat, short = TensorType(parent.dtype, (count,)), TensorType(parent.dtype, (len(places),))
        value = record(aten.view.default, (old, [-1]), {}, [flat])[0]
        part = record(aten.view.default, (new, [-1]), {}, [short])[0]
        value = record(aten.index_put.default, (value, [index], part), {}, [flat])[0]
        return record(aten.view.default, (value, list(parent.sizes)), {}, [parent.type])[0]

    def _range(self, start: int, length: Any) -> Value:
        kind = TensorType(torch.int64, (self.recorder.symbols.dim_type(length),))
        return self.recorder.record(aten.arange.start, (start, start + length), {"dtype": torch.int64}, [kind])[0]


def _rest(args: tuple, kwargs: dict, names: list[str], defaults: list) -> list:
    """Positional values of a view op's arguments after the tensor."""
    given = list(args[1:])
    return given + [kwargs.get(n, d) for n, d in list(zip(names, defaults))[len(given):]]


def _select(view, old, new, args, kwargs):
    return aten.select_scatter.default, (old, new, *args[1:]), {}


def _slice(view, old, new, args, kwargs):
    dim, start, end, step = _rest(args, kwargs, ["dim", "start", "end", "step"], [0, None, None, 1])
    return aten.slice_scatter.default, (old, new, dim, start, end, step), {}


def _diagonal(view, old, new, args, kwargs):
    raise AssertionError("written by Views._write_diagonal")


def _places(view, old, new, args, kwargs):
    raise AssertionError("written by Views._write_places")


def _permute(view, old, new, args, kwargs):
    rank = len(view.sizes)
    dims = [d % rank for d in args[1]]
    return aten.permute.default, (new, [dims.index(d) for d in range(rank)]), {}


def _transpose(view, old, new, args, kwargs):
    return aten.transpose.int, (new, *args[1:]), {}


def _t(view, old, new, args, kwargs):
    return aten.t.default, (new,), {}


def _unsqueeze(view, old, new, args, kwargs):
    return aten.squeeze.dim, (new, args[1] % len(view.sizes)), {}


def _reshape(view, old, new, args, kwargs):
    if isinstance(args[1] if len(args) > 1 else None, torch.dtype):
        raise CaptureRefusal("a write in place through a view of another dtype", "write to the tensor itself",
                             kind="inplace.view")
    return aten.view.default, (new, list(view.parent.sizes)), {}


def _expand(view, old, new, args, kwargs):
    if _same(view.sizes, view.parent.sizes):
        return None, (), {}
    raise CaptureRefusal("a write in place to a tensor whose elements share memory (expand), "
                         "which torch rejects or warns about",
                         "clone() the tensor before", kind="inplace.view")


def _as_real(view, old, new, args, kwargs):
    return aten.view_as_complex.default, (new,), {}


def _as_complex(view, old, new, args, kwargs):
    return aten.view_as_real.default, (new,), {}


_INVERSES = {
    aten.select: _select, aten.slice: _slice, aten.diagonal: _diagonal, aten.permute: _permute,
    aten.transpose: _transpose, aten.t: _t, aten.unsqueeze: _unsqueeze, aten.squeeze: _reshape,
    aten.view: _reshape, aten._unsafe_view: _reshape, aten.reshape: _reshape, aten._reshape_alias: _reshape,
    aten.expand: _expand, aten.view_as_real: _as_real, aten.view_as_complex: _as_complex,
    aten.as_strided: _places, aten.unfold: _places,
}
