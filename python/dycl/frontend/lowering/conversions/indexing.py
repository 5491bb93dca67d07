# SPDX-License-Identifier: Apache-2.0
"""Indexing by tensors: index, index_put, gather, scatter and their kin.

Advanced indexing becomes GatherND/ScatterND over the indexed axes, moved to the front. A boolean mask
becomes the positions where it is true (NonZero); writing a value that broadcasts through a mask
becomes Where. Indices out of range are an error of the engine at run time; where torch takes no negative
ones, `checked_index` makes them out of range.
"""

from __future__ import annotations

import torch

from .. import torchlib
from ..registry import HALVES, axis_of, converts, dim_value, reshape, squeeze, static, unsqueeze
from ..tape import ConversionError, Sym, Tape
from .pointwise import scalar_as, truth
from .shapes import INT64_MAX, range_, slice_


def positions(t: Tape, mask: Sym) -> Sym:
    """[k, n]: the coordinates of the true elements."""
    return t.op("NonZero", mask)


def long(t: Tape, index: Sym) -> Sym:
    if index.is_float or index.torch_dtype == torch.bool:
        raise ConversionError(f"an index of {index.torch_dtype}")
    return t.cast(index, torch.int64)


def checked_index(t: Tape, index: Sym) -> Sym:
    """int64, with negative indices (which ONNX would count from the end) too large for any engine to take."""
    wide = long(t, index)
    if index.nonnegative or wide.const is not None and bool((wide.const >= 0).all()):
        return wide
    return t.op("BitwiseAnd", wide, t.constant(INT64_MAX, torch.int64))


def failing_where(t: Tape, x: Sym, bad: Sym) -> Sym:
    """x, numbers; the run fails where any of `bad` holds."""
    count = t.op("ReduceSum", t.cast(bad, torch.int64), keepdims=0)
    zero = t.op("GatherElements", t.constant([0], torch.int64), unsqueeze(t, count, [0]), axis=0)
    return t.op("Add", x, t.cast(squeeze(t, zero, [0]), x.torch_dtype))


# ---- x[indices] --------------------------------------------------------------------------------


class _Plan:
    """Advanced indexing: the indexed axes in front, one coordinate list, where the result's axes go."""

    def __init__(self, t: Tape, x: Sym, indices):
        self.t = t
        given = [i for i in indices if i is not None]
        self.one_mask = len(given) == 1 and given[0].torch_dtype == torch.bool  # its lists have one length
        self.axes: list[int] = []
        self.lists: list[Sym] = []
        axis = 0
        for index in indices:
            if index is None:
                axis += 1
                continue
            if index.torch_dtype == torch.uint8:
                raise ConversionError("a mask of uint8")
            if index.torch_dtype == torch.bool:
                axis = self._mask(index, axis)
            else:
                self.axes.append(axis)
                self.lists.append(long(t, index))
                axis += 1
        self.rest = [i for i in range(x.rank) if i not in self.axes]
        self.rank = max((i.rank for i in self.lists), default=0)
        adjacent = self.axes == list(range(self.axes[0], self.axes[-1] + 1)) if self.axes else True
        self.position = self.axes[0] if adjacent and self.axes else 0

    def _mask(self, mask: Sym, axis: int) -> int:
        if mask.rank == 0:
            raise ConversionError("an index that is one bool")
        t = self.t
        rows = positions(t, mask)
        for k in range(mask.rank):
            self.axes.append(axis + k)
            self.lists.append(t.op("Gather", rows, t.constant(k, torch.int64), axis=0))
        return axis + mask.rank

    def to_front(self, x: Sym) -> Sym:
        return self.t.op("Transpose", x, perm=[*self.axes, *self.rest])

    def from_front(self, x: Sym) -> Sym:
        perm = [0] * x.rank
        for source, target in enumerate([*self.axes, *self.rest]):
            perm[target] = source
        return self.t.op("Transpose", x, perm=perm)

    def coordinates(self) -> Sym:
        """[broadcast shape of the indices..., number of indexed axes]"""
        t = self.t
        if len(self.lists) == 1:
            return unsqueeze(t, self.lists[0], [self.rank])
        lists = self.lists
        if not self.one_mask and any(i.dims != lists[0].dims or not i.known for i in lists):
            common = lists[0]
            for other in lists[1:]:  # zeros in the common shape; adding them broadcasts
                common = t.op(
                    "Add",
                    t.op("Mul", common, t.constant(0, torch.int64)),
                    t.op("Mul", other, t.constant(0, torch.int64)),
                )
            lists = [t.op("Add", i, common) for i in lists]
        return t.op("Concat", *[unsqueeze(t, i, [self.rank]) for i in lists], axis=self.rank)

    def place(self, result: Sym) -> Sym:
        """[indices..., rest...] -> the indices' axes at their place."""
        order = (
            list(range(self.rank, self.rank + self.position))
            + list(range(self.rank))
            + list(range(self.rank + self.position, result.rank))
        )
        return self.t.op("Transpose", result, perm=order)

    def unplace(self, values: Sym) -> Sym:
        """The inverse of place, for values about to be written."""
        order = (
            list(range(self.position, self.position + self.rank))
            + list(range(self.position))
            + list(range(self.position + self.rank, values.rank))
        )
        return self.t.op("Transpose", values, perm=order)


@converts("index.Tensor", "_unsafe_index.Tensor")
def index(t, self, indices):
    given = [i for i in indices if i is not None]
    if not given:
        return self
    if len(given) == 1 and given[0].torch_dtype not in (torch.bool, torch.uint8):
        return t.op("Gather", self, long(t, given[0]), axis=_only(indices))
    plan = _Plan(t, self, indices)
    return plan.place(t.op("GatherND", plan.to_front(self), plan.coordinates()))


def _only(indices) -> int:
    return next(i for i, x in enumerate(indices) if x is not None)


@converts("index_put", "_unsafe_index_put", "index_put_impl")
def index_put(t, self, indices, values, accumulate=False, *_):
    given = [i for i in indices if i is not None]
    if not given:
        raise ConversionError("index_put without indices")
    values = t.cast(values, self.torch_dtype)
    if len(given) == 1 and given[0].torch_dtype == torch.bool and not accumulate:
        through = _masked(t, self, given[0], _only(indices), values)
        if through is not None:
            return through
    plan = _Plan(t, self, indices)
    coordinates = plan.coordinates()
    x = plan.to_front(self)
    counts = (
        t.op(
            "Concat",
            *[
                part
                for part in (
                    t.op("Shape", coordinates, start=0, end=plan.rank) if plan.rank else None,
                    t.op("Shape", x, start=len(plan.axes)) if plan.rest else None,
                )
                if part is not None
            ],
            axis=0,
        )
        if plan.rank or plan.rest
        else t.constant([], torch.int64)
    )
    placed = _placed_shape(t, plan, counts)
    updates = plan.unplace(t.op("Expand", values, placed)) if plan.position else t.op("Expand", values, counts)
    return plan.from_front(scatter_nd(t, x, coordinates, updates, "add" if accumulate else "none"))


def _placed_shape(t, plan: _Plan, counts: Sym) -> Sym:
    """The shape of the values as torch sees them: the indices' axes at their place."""
    if not plan.position:
        return counts
    r, p = plan.rank, plan.position
    parts = [(r, r + p), (0, r), (r + p, INT64_MAX)]
    return t.op("Concat", *[slice_(t, counts, 0, a, b) for a, b in parts], axis=0)


def _masked(t, x: Sym, mask: Sym, axis: int, values: Sym) -> Sym | None:
    """Where, if the values do not depend on which element of the mask is meant."""
    rest = x.rank - axis - mask.rank
    if values.rank > rest + 1 or (values.rank == rest + 1 and values.dims[0] != 1):
        return None
    if values.rank == rest + 1:
        values = squeeze(t, values, [0])
    return t.op("Where", unsqueeze(t, mask, list(range(mask.rank, mask.rank + rest))), values, x)


def scatter_nd(t: Tape, x: Sym, coordinates: Sym, updates: Sym, reduction: str = "none") -> Sym:
    if x.torch_dtype == torch.bool and reduction != "none":
        if reduction != "add":
            raise ConversionError(f"{reduction} of bools")
        total = t.op("ScatterND", t.cast(x, torch.int32), coordinates, t.cast(updates, torch.int32), reduction="add")
        return truth(t, total)
    if reduction != "none":
        x, updates = _wide(t, x), _wide(t, updates)
    return t.op("ScatterND", x, coordinates, updates, reduction=reduction)


def _wide(t: Tape, x: Sym) -> Sym:
    """Halves in single precision: the engine reduces no others."""
    return t.cast(x, torch.float32) if x.torch_dtype in HALVES else x


@converts("masked_select")
def masked_select(t, self, mask):
    x = self
    if x.dims != mask.dims or not x.known:
        zeros = t.op("Add", _zero_of(t, x), _zero_of(t, mask))
        common = t.op("Shape", zeros)
        x, mask = t.op("Expand", x, common), t.op("Expand", mask, common)
    if x.rank == 0:
        x, mask = unsqueeze(t, x, [0]), unsqueeze(t, mask, [0])
    return t.op("GatherND", x, t.op("Transpose", positions(t, mask), perm=[1, 0]))


def _zero_of(t, x: Sym) -> Sym:
    """Zeros of x's shape."""
    return t.op("Expand", t.constant(0, torch.int64), t.op("Shape", x))


@converts("nonzero")
def nonzero(t, self):
    if self.rank == 0:
        raise ConversionError("nonzero of a tensor without dimensions")
    return t.op("Transpose", positions(t, truth(t, self)), perm=[1, 0])


@converts("nonzero_numpy")
def nonzero_numpy(t, self):
    rows = positions(t, truth(t, self))
    return [t.op("Gather", rows, t.constant(k, torch.int64), axis=0) for k in range(len(t.outputs))]


@converts("argwhere")
def argwhere(t, self):
    return nonzero(t, self)


@converts("take")
def take(t, self, index):
    flat = reshape(t, self, [-1]) if self.rank != 1 else self
    return t.op("Gather", flat, long(t, index), axis=0)


@converts("put", index_error="IndexError")
def put(t, self, index, source, accumulate=False):
    """To places of the elements row by row, whatever the shapes."""
    places = unsqueeze(t, reshape(t, long(t, index), [-1]), [1])
    updates = reshape(t, t.cast(source, self.torch_dtype), [-1])
    flat = scatter_nd(t, reshape(t, self, [-1]), places, updates, "add" if accumulate else "none")
    return t.op("Reshape", flat, t.op("Shape", self))


@converts("index_select", index_error="IndexError")
def index_select(t, self, dim, index):
    if self.rank == 0:
        rows = t.op("Gather", unsqueeze(t, self, [0]), reshape(t, checked_index(t, index), [-1]), axis=0)
        return squeeze(t, rows, [0])
    rows = unsqueeze(t, checked_index(t, index), [0]) if index.rank == 0 else checked_index(t, index)
    return t.op("Gather", self, rows, axis=axis_of(self, dim))


# ---- gather and scatter along one axis ---------------------------------------------------------


def _at_least_1d(t, x: Sym) -> Sym:
    return unsqueeze(t, x, [0]) if x.rank == 0 else x


@converts("masked_scatter")
def masked_scatter(t, self, mask, source):
    if mask.torch_dtype != torch.bool:
        raise ConversionError("torch takes bool masks alone")
    return torchlib.call(t, torch.ops.aten.masked_scatter.default, (self, mask, source), {})


@converts("gather", index_error="RuntimeError")
def gather(t, self, dim, index, sparse_grad=False):
    axis = axis_of(self, dim)
    if index.known and 0 in index.dims:
        return t.op("Expand", t.constant(0, self.torch_dtype), t.ints(index.dims))
    x, i = _at_least_1d(t, self), _at_least_1d(t, checked_index(t, index))
    if x.rank != i.rank:
        raise ConversionError("gather of a tensor and an index with different numbers of dimensions")
    result = t.op("GatherElements", x, i, axis=axis)
    return squeeze(t, result, [0]) if index.rank == 0 else result


@converts("take_along_dim", index_error="RuntimeError")
def take_along_dim(t, self, indices, dim=None):
    if dim is None:
        flat = reshape(t, indices, [-1])
        flat.bits = indices.bits
        return gather(t, reshape(t, self, [-1]), 0, flat)
    if not (self.known and indices.known):
        raise ConversionError("take_along_dim of shapes known only at run time")
    axis = axis_of(self, dim)
    shape = list(
        torch.broadcast_shapes(
            [d for i, d in enumerate(self.dims) if i != axis], [d for i, d in enumerate(indices.dims) if i != axis]
        )
    )
    a, b = shape[:axis] + [self.dims[axis]] + shape[axis:], shape[:axis] + [indices.dims[axis]] + shape[axis:]
    wide = t.op("Expand", long(t, indices), t.ints(b))
    wide.bits = indices.bits
    return gather(t, t.op("Expand", self, t.ints(a)), axis, wide)


def _scatter(t, self: Sym, dim, index: Sym, src: Sym, reduction: str) -> Sym:
    axis = axis_of(self, dim)
    if index.known and 0 in index.dims:
        return self
    x, i, s = (_at_least_1d(t, v) for v in (self, checked_index(t, index), t.cast(src, self.torch_dtype)))
    if s.dims != i.dims or not i.known:
        bounds = [dim_value(t, i, a) for a in range(i.rank)]
        s = t.op("Slice", s, t.ints([0] * i.rank), t.ints(bounds), t.ints(list(range(i.rank))))
    result = scatter_elements(t, x, i, s, axis, reduction)
    return squeeze(t, result, [0]) if self.rank == 0 else result


def scatter_elements(t, x: Sym, index: Sym, updates: Sym, axis: int, reduction: str) -> Sym:
    dtype = x.torch_dtype
    if reduction != "none" and dtype == torch.bool:
        as_ints = [t.cast(v, torch.int32) for v in (x, updates)]
        return truth(t, t.op("ScatterElements", as_ints[0], index, as_ints[1], axis=axis, reduction=reduction))
    if reduction != "none":
        x, updates = _wide(t, x), _wide(t, updates)
    return t.op("ScatterElements", x, index, updates, axis=axis, reduction=reduction)


@converts("scatter.src", index_error="RuntimeError")
def scatter_src(t, self, dim, index, src):
    return _scatter(t, self, dim, index, src, "none")


def _filled(t, self, index, value) -> Sym:
    return t.op("Expand", scalar_as(t, value, self.torch_dtype), t.op("Shape", index))


@converts("scatter.value", index_error="RuntimeError")
def scatter_value(t, self, dim, index, value):
    return _scatter(t, self, dim, index, _filled(t, self, index, value), "none")


@converts("scatter_add", index_error="RuntimeError")
def scatter_add(t, self, dim, index, src):
    return _scatter(t, self, dim, index, src, "add")


_REDUCTIONS = {"add": "add", "multiply": "mul", "sum": "add", "prod": "mul", "amax": "max", "amin": "min"}


@converts("scatter.reduce", index_error="RuntimeError")
def scatter_reduce(t, self, dim, index, src, reduce):
    return _scatter(t, self, dim, index, src, _REDUCTIONS[reduce])


@converts("scatter.value_reduce", index_error="RuntimeError")
def scatter_value_reduce(t, self, dim, index, value, reduce):
    return _scatter(t, self, dim, index, _filled(t, self, index, value), _REDUCTIONS[reduce])


@converts("scatter_reduce.two", index_error="RuntimeError")
def scatter_reduce_two(t, self, dim, index, src, reduce, include_self=True):
    if reduce == "mean":
        return _scatter_mean(t, self, dim, index, src, include_self)
    x = self
    if not include_self:
        x = _scatter(t, x, dim, index, _filled(t, x, index, _neutral(x.torch_dtype, reduce)), "none")
    result = _scatter(t, x, dim, index, src, _REDUCTIONS[reduce])
    if reduce not in ("amax", "amin") or not x.is_float:
        return result
    mine, given = (t.cast(t.op("IsNaN", v), torch.int32) for v in (x, src))  # the engine passes over a NaN
    nans = _scatter(t, mine, dim, index, given, "max")
    return t.op("Where", truth(t, nans), t.constant(float("nan"), x.torch_dtype), result)


def _scatter_mean(t, x: Sym, dim, index: Sym, src: Sym, include_self: bool) -> Sym:
    ones = _filled(t, x, index, 1)
    if not include_self:
        x = _scatter(t, x, dim, index, _filled(t, x, index, 0), "none")
    counts = t.op("Expand", t.constant(int(include_self), x.torch_dtype), t.op("Shape", x))
    counts = _scatter(t, counts, dim, index, ones, "add")
    counts = t.op("Max", counts, t.constant(1, x.torch_dtype))
    total = _scatter(t, x, dim, index, src, "add")
    quotient = t.op("Div", total, counts)
    if x.is_float:
        return quotient
    rest = t.op("Sub", total, t.op("Mul", quotient, counts))  # integers round down, ONNX's Div towards zero
    return t.op("Sub", quotient, t.cast(t.op("Less", rest, t.constant(0, x.torch_dtype)), x.torch_dtype))


def _neutral(dtype: torch.dtype, reduce: str):
    if reduce in ("sum", "prod"):
        return 0 if reduce == "sum" else 1
    if dtype == torch.bool:
        return reduce == "amin"
    if dtype.is_floating_point:
        return float("-inf") if reduce == "amax" else float("inf")
    info = torch.iinfo(dtype)
    return info.min if reduce == "amax" else info.max


# ---- rows of an axis -----------------------------------------------------------------------------


def _rows(t, x: Sym, axis: int, index: Sym, updates: Sym, reduction: str) -> Sym:
    """x with updates written (or added) at positions `index` of `axis`."""
    perm = [axis, *(i for i in range(x.rank) if i != axis)]
    back = [perm.index(i) for i in range(x.rank)]
    moved = scatter_nd(
        t, t.op("Transpose", x, perm=perm), unsqueeze(t, index, [1]), t.op("Transpose", updates, perm=perm), reduction
    )
    return t.op("Transpose", moved, perm=back)


def _row_index(t, index: Sym) -> Sym:
    return _at_least_1d(t, long(t, index))


def _checked_row_index(t, index: Sym) -> Sym:
    return _at_least_1d(t, checked_index(t, index))


@converts("index_add", index_error="RuntimeError")
def index_add(t, self, dim, index, source, alpha=1):
    if not (isinstance(alpha, (int, float)) and alpha == 1):
        source = t.op("Mul", source, scalar_as(t, alpha, source.torch_dtype))
    return _whole_rows(t, self, dim, index, source, "add")


@converts("index_copy", index_error="IndexError")
def index_copy(t, self, dim, index, source):
    return _whole_rows(t, self, dim, index, source, "none")


def _whole_rows(t, self, dim, index, source, reduction):
    axis = axis_of(self, dim)
    x, s = _at_least_1d(t, self), _at_least_1d(t, t.cast(source, self.torch_dtype))
    if s.rank < x.rank:
        raise ConversionError("index_add or index_copy of a source with fewer dimensions")
    result = _rows(t, x, axis, _checked_row_index(t, index), s, reduction)
    return squeeze(t, result, [0]) if self.rank == 0 else result


@converts("index_fill.int_Scalar", "index_fill.int_Tensor")
def index_fill(t, self, dim, index, value):
    axis = axis_of(self, dim)
    x, rows = _at_least_1d(t, self), _row_index(t, index)
    sizes = [dim_value(t, rows, 0) if i == axis else dim_value(t, x, i) for i in range(x.rank)]
    updates = t.op("Expand", scalar_as(t, value, x.torch_dtype), t.ints(sizes))
    result = _rows(t, x, axis, rows, updates, "none")
    return squeeze(t, result, [0]) if self.rank == 0 else result


@converts("slice_scatter")
def slice_scatter(t, self, src, dim=0, start=None, end=None, step=1):
    axis = axis_of(self, dim)
    src = t.cast(src, self.torch_dtype)
    step = static(step, "the step")
    first = _normal(t, self, axis, 0 if start is None else start)
    if step == 1:
        stop = (
            t.op("Add", t.ints([first]), t.ints([dim_value(t, src, axis)]))
            if isinstance(first, Sym) or not isinstance(src.dims[axis], int)
            else first + src.dims[axis]
        )
        return _replace(t, self, src, axis, first, stop)
    if isinstance(first, Sym) or not isinstance(src.dims[axis], int):
        raise ConversionError("slice_scatter with a step, at a place known only at run time")
    index = first + torch.arange(src.dims[axis]) * step
    return _rows(t, self, axis, t.constant(index), src, "none")


def _normal(t, x: Sym, axis: int, start):
    """A slice's start as a position in 0..extent: an int, or a 1-element Sym."""
    extent = x.dims[axis]
    if isinstance(start, int) and (isinstance(extent, int) or start == 0):
        return start if start == 0 else max(0, min(start + extent if start < 0 else start, extent))
    n, s = t.ints([dim_value(t, x, axis)]), t.ints([start])
    zero = t.constant([0], torch.int64)
    s = t.op("Where", t.op("Less", s, zero), t.op("Add", s, n), s)
    return t.op("Min", t.op("Max", s, zero), n)


def _replace(t, x: Sym, part: Sym, axis: int, start, stop) -> Sym:
    """x with start:stop along the axis replaced by `part`."""
    parts = [part]
    if not (isinstance(start, int) and start == 0):
        parts.insert(0, slice_(t, x, axis, 0, start))
    if not (isinstance(stop, int) and stop == x.dims[axis]):
        parts.append(slice_(t, x, axis, stop, INT64_MAX))
    return t.op("Concat", *parts, axis=axis)


@converts("select_scatter")
def select_scatter(t, self, src, dim, index):
    axis = axis_of(self, dim)
    row = unsqueeze(t, t.cast(src, self.torch_dtype), [axis])
    extent = self.dims[axis]
    if isinstance(index, int) and (isinstance(extent, int) or index >= 0):
        at = index + extent if index < 0 else index
        return _replace(t, self, row, axis, at, at + 1)
    n = t.ints([dim_value(t, self, axis)])
    places = t.op("Range", t.constant(0, torch.int64), squeeze(t, n, [0]), t.constant(1, torch.int64))
    checked = t.op("Gather", places, t.ints([index]))  # negative ones once from the end, and no others
    return _replace(t, self, row, axis, checked, t.op("Add", checked, t.constant([1], torch.int64)))


@converts("diagonal_scatter")
def diagonal_scatter(t, self, src, offset=0, dim1=0, dim2=1):
    a, b = axis_of(self, dim1), axis_of(self, dim2)
    rows, columns = static(self.dims[a], "an extent of the matrix"), static(self.dims[b], "an extent of the matrix")
    perm = [a, b, *(i for i in range(self.rank) if i not in (a, b))]
    x = t.op("Transpose", self, perm=perm)
    flat = reshape(t, x, [rows * columns, *(dim_value(t, x, i) for i in range(2, x.rank))])
    count = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    index = torch.arange(count) * (columns + 1) + (offset if offset >= 0 else -offset * columns)
    updates = t.cast(src, self.torch_dtype)
    updates = t.op("Transpose", updates, perm=[updates.rank - 1, *range(updates.rank - 1)])
    written = scatter_nd(t, flat, t.constant(index.unsqueeze(1)), updates)
    back = reshape(t, written, [rows, columns, *(dim_value(t, x, i) for i in range(2, x.rank))])
    return t.op("Transpose", back, perm=[perm.index(i) for i in range(self.rank)])


@converts("one_hot", index_error="RuntimeError")
def one_hot(t, self, num_classes=-1):
    if isinstance(num_classes, int) and num_classes < 0:
        raise ConversionError("one_hot without the number of classes")
    classes = range_(t, num_classes)
    index = checked_index(t, self)
    flat = index if self.rank == 1 else reshape(t, index, [-1])
    flat = t.op("GatherElements", classes, flat, axis=0)  # fails for a class beyond the last
    index = flat if self.rank == 1 else reshape(t, flat, [dim_value(t, index, a) for a in range(self.rank)])
    return t.cast(t.op("Equal", unsqueeze(t, index, [self.rank]), classes), torch.int64)


@converts("bincount", index_error="RuntimeError")
def bincount(t, self, weights=None, minlength=0):
    x = t.cast(self, torch.int64)
    some = t.op("Concat", x, t.constant([-1], torch.int64), axis=0)  # of nothing there are no counts
    top = t.op("Add", t.op("ReduceMax", some, keepdims=1), t.constant([1], torch.int64))
    length = t.op("Max", top, t.ints([minlength]))
    dtype = t.outputs[0][0]
    zeros = t.op("Expand", t.constant(0, dtype), length)
    amounts = t.op("Expand", t.constant(1, dtype), t.op("Shape", x)) if weights is None else t.cast(weights, dtype)
    return t.op("ScatterElements", zeros, checked_index(t, self), amounts, axis=0, reduction="add")


@converts("repeat_interleave.Tensor", index_error="RuntimeError")
def repeat_interleave_tensor(t, repeats, output_size=None):
    """[2, 0, 1] -> [0, 0, 2]: for each place in the result, how many totals lie at or below it."""
    counts = t.cast(repeats, torch.int64)
    if not repeats.nonnegative:
        counts = failing_where(t, counts, t.op("Less", counts, t.constant(0, torch.int64)))
    totals = t.op("CumSum", counts, t.constant(0, torch.int64))
    count = t.op("ReduceSum", counts, keepdims=0)
    places = t.op("Range", t.constant(0, torch.int64), count, t.constant(1, torch.int64))
    below = t.op("LessOrEqual", unsqueeze(t, totals, [0]), unsqueeze(t, places, [1]))
    return t.op("ReduceSum", t.cast(below, torch.int64), t.ints([1]), keepdims=0)


@converts("repeat_interleave.self_Tensor", index_error="RuntimeError")
def repeat_interleave_self_tensor(t, self, repeats, dim=None, output_size=None):
    x = self
    if dim is None:
        x, dim = (reshape(t, self, [-1]) if self.rank != 1 else self), 0
    axis = axis_of(x, dim)
    if repeats.rank == 0 or repeats.dims == (1,):
        known, repeats = repeats.bits, t.op("Expand", repeats, t.ints([dim_value(t, x, axis)]))
        repeats.bits = known
    return t.op("Gather", x, repeat_interleave_tensor(t, repeats), axis=axis)


@converts("repeat_interleave.self_int")
def repeat_interleave_self_int(t, self, repeats, dim=None, output_size=None):
    x = self
    if dim is None:
        x, dim = (reshape(t, self, [-1]) if self.rank != 1 else self), 0
    axis = axis_of(x, dim)
    sizes = [dim_value(t, x, i) for i in range(x.rank)]
    wide = t.op("Expand", unsqueeze(t, x, [axis + 1]), t.ints([*sizes[: axis + 1], repeats, *sizes[axis + 1 :]]))
    known = t.outputs[0][1]
    if sum(not isinstance(d, int) for d in known) <= 1 and 0 not in known:
        return reshape(t, wide, [d if isinstance(d, int) else -1 for d in known])
    product = t.op("Mul", t.ints([sizes[axis]]), t.ints([repeats]))
    return reshape(t, wide, [*sizes[:axis], product, *sizes[axis + 1 :]])


@converts("_embedding_bag", "_embedding_bag_forward_only", index_error="RuntimeError")
def embedding_bag(
    t,
    weight,
    indices,
    offsets,
    scale_grad_by_freq=False,
    mode=0,
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=-1,
):
    """Rows gathered, then added (or their largest taken) into their bags. What only training reads is not given."""
    index, starts = checked_index(t, indices), long(t, offsets)
    if padding_idx >= 0:
        raise ConversionError("embedding_bag with a padding index")
    if include_last_offset:
        starts = slice_(t, starts, 0, 0, -1)
    dtype = weight.torch_dtype
    zero, one = t.constant(0, torch.int64), t.constant(1, torch.int64)
    places = t.op("Range", zero, squeeze(t, t.ints([dim_value(t, index, 0)]), [0]), one)
    begun = t.op("LessOrEqual", unsqueeze(t, starts, [0]), unsqueeze(t, places, [1]))
    bag = t.op("Sub", t.op("ReduceSum", t.cast(begun, torch.int64), t.ints([1]), keepdims=1), one)  # [n, 1]
    rows = t.op("Gather", weight, index, axis=0)
    if per_sample_weights is not None:
        rows = t.op("Mul", rows, unsqueeze(t, t.cast(per_sample_weights, dtype), [1]))
    bags = t.ints([dim_value(t, starts, 0)])
    shape = t.op("Concat", bags, t.ints([dim_value(t, weight, 1)]), axis=0)
    counts = scatter_nd(
        t,
        t.op("Expand", t.constant(0, dtype), bags),
        bag,
        t.op("Expand", t.constant(1, dtype), t.ints([dim_value(t, index, 0)])),
        "add",
    )
    counts = unsqueeze(t, counts, [1])
    if mode == 2:
        top = scatter_nd(t, t.op("Expand", t.constant(float("-inf"), dtype), shape), bag, rows, "max")
        result = t.op("Where", t.op("Equal", counts, t.constant(0, dtype)), t.constant(0, dtype), top)
    else:
        result = scatter_nd(t, t.op("Expand", t.constant(0, dtype), shape), bag, rows, "add")
        if mode == 1:
            result = t.op("Div", result, t.op("Max", counts, t.constant(1, dtype)))
    return [result, None, None, None]
