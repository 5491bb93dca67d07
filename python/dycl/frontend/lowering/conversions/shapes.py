# SPDX-License-Identifier: Apache-2.0
"""Ops that move or make elements: views, joins, slices, creation."""

from __future__ import annotations

import math

import torch

from ..registry import axis_of, converts, dim_value, reshape, squeeze, static, unsqueeze
from ..tape import ConversionError, Sym, Tape
from .pointwise import convert_to, scalar_as

INT64_MAX = 2**63 - 1


def result_shape(t: Tape, sizes=None) -> Sym:
    """The (first) result's shape: what capture knows of it, else from `sizes` (ints and Syms)."""
    shape = t.outputs[0][1]
    if all(isinstance(d, int) for d in shape) or sizes is None:
        return t.ints(static(list(shape), "a shape"))
    return t.ints(list(sizes))


# ---- views -----------------------------------------------------------------------------------


@converts("view", "_unsafe_view", "reshape", "view_copy", "reshape_copy", "_unsafe_view_copy")
def view(t, self, size, *_):
    known = t.outputs[0][1]
    unknown = [i for i, d in enumerate(known) if not isinstance(d, int)]
    if len(unknown) == 0 or (len(unknown) == 1 and 0 not in known):
        return reshape(t, self, [d if isinstance(d, int) else -1 for d in known])
    return reshape(
        t, self, [d if isinstance(d, int) and not _given(size, i) else s for i, (d, s) in enumerate(zip(known, size))]
    )


def _given(size, i) -> bool:
    return isinstance(size[i], Sym)


@converts("flatten.using_ints")
def flatten(t, self, start_dim=0, end_dim=-1):
    if self.rank == 0:
        return reshape(t, self, [1])
    start, end = axis_of(self, start_dim), axis_of(self, end_dim)
    if start == end:
        return self
    known = t.outputs[0][1]
    unknown = [d for d in known if not isinstance(d, int)]
    if len(unknown) <= 1 and not (unknown and 0 in known):
        return reshape(t, self, [d if isinstance(d, int) else -1 for d in known])
    parts = [dim_value(t, self, i) for i in range(start)], [dim_value(t, self, i) for i in range(end + 1, self.rank)]
    middle = t.op("ReduceProd", t.op("Shape", self, start=start, end=end + 1), keepdims=1)
    return reshape(t, self, [*parts[0], middle, *parts[1]])


@converts("unflatten.int")
def unflatten(t, self, dim, sizes):
    axis = axis_of(self, dim)
    known = t.outputs[0][1]
    if sum(not isinstance(d, int) for d in known) <= 1:
        return view(t, self, [d if isinstance(d, int) else -1 for d in known])
    if any(isinstance(s, int) and s == -1 for s in sizes):
        raise ConversionError("unflatten to -1 of a shape known only at run time")
    return reshape(
        t,
        self,
        [
            *(dim_value(t, self, i) for i in range(axis)),
            *sizes,
            *(dim_value(t, self, i) for i in range(axis + 1, self.rank)),
        ],
    )


@converts("expand", "expand_copy", "broadcast_to")
def expand(t, self, size, implicit=False):
    sizes = [1 if isinstance(s, int) and s == -1 else s for s in size]
    sizes = [d if isinstance(s, int) and isinstance(d, int) and s != 1 else s for s, d in zip(sizes, t.outputs[0][1])]
    return t.op("Expand", self, t.ints(sizes))


@converts("permute", "permute_copy")
def permute(t, self, dims):
    return t.op("Transpose", self, perm=[axis_of(self, d) for d in dims]) if self.rank else self


@converts("transpose.int", "transpose_copy.int", "swapaxes", "swapdims")
def transpose(t, self, dim0, dim1):
    if self.rank == 0:
        return self
    perm = list(range(self.rank))
    a, b = axis_of(self, dim0), axis_of(self, dim1)
    perm[a], perm[b] = perm[b], perm[a]
    return t.op("Transpose", self, perm=perm)


@converts("t", "t_copy", "numpy_T", "mT")
def transposed(t, self):
    return self if self.rank < 2 else transpose(t, self, -2, -1)


@converts("unsqueeze", "unsqueeze_copy")
def unsqueeze_(t, self, dim):
    return unsqueeze(t, self, [dim % (self.rank + 1)])


@converts("squeeze", "squeeze_copy")
def squeeze_all(t, self):
    return squeeze(t, self, [i for i, d in enumerate(_checked(self)) if d == 1])


def _checked(x: Sym):
    if not x.known:
        raise ConversionError("squeeze of extents known only at run time")
    return x.dims


@converts("squeeze.dim", "squeeze_copy.dim", "squeeze.dims", "squeeze_copy.dims")
def squeeze_dims(t, self, dim):
    dims = [dim] if isinstance(dim, int) else list(dim)
    axes = sorted({axis_of(self, d) for d in dims}) if self.rank else []
    removed = self.rank - len(t.outputs[0][1])
    ones = [a for a in axes if self.dims[a] == 1]
    if len(ones) != removed:  # which of the unknown extents are 1 is for capture to know
        ones = [a for a in axes if not isinstance(self.dims[a], int) or self.dims[a] == 1]
        if len(ones) != removed:
            raise ConversionError("squeeze of an extent known only at run time")
    return squeeze(t, self, ones)


# ---- joins and splits ------------------------------------------------------------------------


@converts("cat", "concat", "concatenate")
def cat(t, tensors, dim=0):
    dtype = t.outputs[0][0]
    rank = len(t.outputs[0][1])
    kept = [t.cast(x, dtype) for x in tensors if x.rank == rank]  # torch skips old-style empty tensors
    if not kept:
        return t.cast(tensors[0], dtype)
    return t.op("Concat", *kept, axis=axis_of(kept[0], dim))


@converts("stack")
def stack(t, tensors, dim=0):
    dtype = t.outputs[0][0]
    axis = static(dim, "the dimension") % (tensors[0].rank + 1)
    return t.op("Concat", *[unsqueeze(t, t.cast(x, dtype), [axis]) for x in tensors], axis=axis)


def slice_(t: Tape, x: Sym, axis: int, start, end, step=1) -> Sym:
    return t.op("Slice", x, t.ints([start]), t.ints([end]), t.ints([axis]), t.ints([step]))


def _split(t, x: Sym, sizes: list[int], axis: int) -> list[Sym]:
    if len(sizes) == 1:
        return [x]
    return t.op("Split", x, t.ints(sizes), n=len(sizes), axis=axis)


@converts("split.Tensor", "unsafe_split.Tensor", "split_copy.Tensor", "chunk", "unsafe_chunk")
def split(t, self, split_size, dim=0):
    axis, count = axis_of(self, dim), len(t.outputs)
    extents = [shape[axis] for _, shape in t.outputs]
    if all(isinstance(e, int) for e in extents):
        return _split(t, self, extents, axis)
    size = static(split_size, "the size of the parts")
    bounds = [i * size for i in range(count)] + [INT64_MAX]
    return [slice_(t, self, axis, a, b) for a, b in zip(bounds, bounds[1:])]


@converts("split_with_sizes", "split_with_sizes_copy", "split.sizes")
def split_with_sizes(t, self, split_sizes, dim=0):
    sizes = list(split_sizes)
    axis = axis_of(self, dim)
    if len(sizes) == 1:
        return [self]
    return t.op("Split", self, t.ints(sizes), n=len(sizes), axis=axis)


@converts("unbind.int", "unbind_copy.int")
def unbind(t, self, dim=0):
    axis = axis_of(self, dim)
    return [squeeze(t, part, [axis]) for part in _split(t, self, [1] * len(t.outputs), axis)]


@converts("slice.Tensor", "slice_copy.Tensor")
def slice_tensor(t, self, dim=0, start=None, end=None, step=1):
    axis = axis_of(self, dim)
    start = 0 if start is None else start
    end = INT64_MAX if end is None else end
    if (
        not isinstance(start, Sym)
        and not isinstance(end, Sym)
        and step == 1
        and t.outputs[0][1][axis] == self.dims[axis]
        and isinstance(self.dims[axis], int)
    ):
        return self
    return slice_(t, self, axis, start, end, step)


@converts("narrow", "narrow_copy")
def narrow(t, self, dim, start, length):
    axis = axis_of(self, dim)
    if isinstance(start, int) and start < 0:
        if not isinstance(self.dims[axis], int):
            raise ConversionError("narrow from the end of an extent known only at run time")
        start += self.dims[axis]
    end = (
        start + length
        if isinstance(start, int) and isinstance(length, int)
        else t.op("Add", t.ints([start]), t.ints([length]))
    )
    return slice_(t, self, axis, start, end)


@converts("select.int", "select_copy.int")
def select(t, self, dim, index):
    axis = axis_of(self, dim)
    return t.op(
        "Gather",
        self,
        t.cast(index, torch.int64) if isinstance(index, Sym) else t.constant(index, torch.int64),
        axis=axis,
    )


@converts("flip", "fliplr", "flipud")
def flip(t, self, dims):
    axes = sorted({axis_of(self, d) for d in dims})
    if not axes or not self.rank:
        return self
    n = len(axes)
    return t.op("Slice", self, t.ints([-1] * n), t.ints([-INT64_MAX - 1] * n), t.ints(axes), t.ints([-1] * n))


@converts("roll")
def roll(t, self, shifts, dims=()):
    shifts = [shifts] if isinstance(shifts, (int, Sym)) else list(shifts)
    dims = [dims] if isinstance(dims, int) else list(dims)
    if self.rank == 0:
        return self
    if not dims:
        flat = reshape(t, self, [-1] if not (self.known and 0 in self.dims) else [0])
        return reshape(t, roll(t, flat, shifts, [0]), [dim_value(t, self, i) for i in range(self.rank)])
    for shift, dim in zip(shifts, dims):
        self = _rolled(t, self, shift, axis_of(self, dim))
    return self


def _rolled(t, x: Sym, shift: int | Sym, axis: int) -> Sym:
    """x[-s:] before x[:-s]"""
    extent = x.dims[axis]
    if isinstance(extent, int) and isinstance(shift, int):
        shift = shift % extent if extent else 0
        if not shift:
            return x
        cut = extent - shift
    else:
        n = t.op("Max", t.ints([dim_value(t, x, axis)]), t.constant([1], torch.int64))
        cut = t.op("Sub", n, t.op("Mod", t.ints([shift]), n))  # in 1..n
    return t.op("Concat", slice_(t, x, axis, cut, INT64_MAX), slice_(t, x, axis, 0, cut), axis=axis)


@converts("repeat", "tile")
def repeat(t, self, repeats):
    repeats = list(repeats)
    missing = len(t.outputs[0][1]) - self.rank
    x = unsqueeze(t, self, list(range(missing))) if missing > 0 else self
    repeats = [1] * (x.rank - len(repeats)) + repeats
    return t.op("Tile", x, t.ints(repeats)) if x.rank else x


@converts("tril")
def tril(t, self, diagonal=0):
    return t.op("Trilu", self, t.cast(diagonal, torch.int64), upper=0)


@converts("triu")
def triu(t, self, diagonal=0):
    return t.op("Trilu", self, t.cast(diagonal, torch.int64), upper=1)


@converts("pixel_shuffle")
def pixel_shuffle(t, self, upscale_factor):
    return _shuffle(t, self, static(upscale_factor, "the factor"), True)


@converts("pixel_unshuffle")
def pixel_unshuffle(t, self, downscale_factor):
    return _shuffle(t, self, static(downscale_factor, "the factor"), False)


def _shuffle(t, x, r: int, up: bool):
    if not x.known or 0 in x.dims:
        if x.rank != 4 or not up:
            raise ConversionError("pixel_shuffle of a shape known only at run time")
        return t.op("DepthToSpace", x, blocksize=r, mode="CRD")
    *batch, c, h, w = x.dims
    b = math.prod(batch)
    if up:
        x = reshape(t, x, [b, c // (r * r), r, r, h, w])
        x = t.op("Transpose", x, perm=[0, 1, 4, 2, 5, 3])
    else:
        x = reshape(t, x, [b, c, h // r, r, w // r, r])
        x = t.op("Transpose", x, perm=[0, 1, 3, 5, 2, 4])
    return reshape(t, x, list(t.outputs[0][1]))


@converts("unfold", "unfold_copy")
def unfold(t, self, dimension, size, step):
    """Windows of an axis: Gather by a table of positions; the window becomes the last axis."""
    if self.rank == 0:
        raise ConversionError("unfold of a tensor without dimensions")
    axis = axis_of(self, dimension)
    size, step = static(size, "the window"), static(step, "the step")
    count = t.outputs[0][1][axis]
    if isinstance(count, int):
        starts = t.constant(torch.arange(count) * step)
    else:
        last = t.op("Sub", squeeze(t, dim_value(t, self, axis), [0]), t.constant(size - 1, torch.int64))
        starts = t.op("Range", t.constant(0, torch.int64), last, t.constant(step, torch.int64))
    table = t.op("Add", unsqueeze(t, starts, [1]), t.constant(torch.arange(size).unsqueeze(0)))
    windows = t.op("Gather", self, table, axis=axis)  # the axis became two
    perm = [i for i in range(self.rank + 1) if i != axis + 1] + [axis + 1]
    return t.op("Transpose", windows, perm=perm)


# ---- creation --------------------------------------------------------------------------------


def fill(t: Tape, value, sizes) -> Sym:
    return t.op("Expand", scalar_as(t, value, t.outputs[0][0]), result_shape(t, sizes))


@converts("full")
def full(t, size, fill_value, **_):
    return fill(t, fill_value, size)


@converts("zeros", "empty.memory_format", "empty_strided", "new_empty_strided")
def zeros(t, size, *_, **__):
    return fill(t, 0, size)


@converts("ones")
def ones(t, size, **_):
    return fill(t, 1, size)


@converts("new_zeros", "new_empty")
def new_zeros(t, self, size, **_):
    return fill(t, 0, size)


@converts("new_ones")
def new_ones(t, self, size, **_):
    return fill(t, 1, size)


@converts("new_full")
def new_full(t, self, size, fill_value, **_):
    return fill(t, fill_value, size)


def _like(t, x, value):
    return t.op("Expand", scalar_as(t, value, t.outputs[0][0]), t.op("Shape", x))


@converts("zeros_like", "empty_like")
def zeros_like(t, self, **_):
    return _like(t, self, 0)


@converts("ones_like")
def ones_like(t, self, **_):
    return _like(t, self, 1)


@converts("full_like")
def full_like(t, self, fill_value, **_):
    return _like(t, self, fill_value)


@converts("fill.Scalar", "fill.Tensor")
def fill_(t, self, value):
    return _like(t, self, value)


@converts("zero")
def zero(t, self):
    return _like(t, self, 0)


@converts("copy")
def copy(t, self, src, non_blocking=False):
    return t.op("Expand", convert_to(t, src, self.torch_dtype), t.op("Shape", self))


@converts("scalar_tensor")
def scalar_tensor(t, s, **_):
    dtype = t.outputs[0][0]
    return convert_to(t, s, dtype) if isinstance(s, Sym) else scalar_as(t, s, dtype)


@converts("arange")
def arange(t, end, **_):
    return arange_step(t, 0, end, 1)


@converts("arange.start")
def arange_start(t, start, end, **_):
    return arange_step(t, start, end, 1)


@converts("arange.start_step")
def arange_step(t, start, end, step=1, **_):
    dtype = t.outputs[0][0]
    exact = all(isinstance(v, int) or (isinstance(v, Sym) and not v.is_float) for v in (start, end, step))
    count = t.outputs[0][1][0]
    if exact:
        a, b, s = (scalar_as(t, v, torch.int64) for v in (start, end, step))
        return t.cast(t.op("Range", a, b, s), dtype)
    a, b, s = (scalar_as(t, v, torch.float64) for v in (start, end, step))
    if isinstance(count, int):
        steps = t.constant(torch.arange(count, dtype=torch.float64))
    else:
        n = t.cast(t.op("Ceil", t.op("Div", t.op("Sub", b, a), s)), torch.int64)
        steps = t.cast(t.op("Range", t.constant(0, torch.int64), n, t.constant(1, torch.int64)), torch.float64)
    if not dtype.is_floating_point:
        raise ConversionError("arange of fractions as integers")
    return t.cast(t.op("Add", a, t.op("Mul", steps, s)), dtype)


@converts("linspace")
def linspace(t, start, end, steps, **_):
    dtype = t.outputs[0][0]
    count = t.outputs[0][1][0]
    if not dtype.is_floating_point or not isinstance(count, int):
        raise ConversionError("linspace to integers, or of a length known only at run time")
    a, b = scalar_as(t, start, torch.float64), scalar_as(t, end, torch.float64)
    if count == 1:
        return t.cast(unsqueeze(t, a, [0]), dtype)
    fraction = t.constant(torch.arange(count, dtype=torch.float64) / max(count - 1, 1))
    return t.cast(t.op("Add", a, t.op("Mul", t.op("Sub", b, a), fraction)), dtype)


@converts("eye", "eye.m")
def eye(t, n, m=None, **_):
    m = n if m is None or isinstance(m, torch.dtype) else m
    return t.cast(t.op("Equal", unsqueeze(t, range_(t, n), [1]), unsqueeze(t, range_(t, m), [0])), t.outputs[0][0])


def range_(t, n) -> Sym:
    if isinstance(n, int):
        return t.constant(torch.arange(n))
    n = t.cast(n, torch.int64)
    return t.op("Range", t.constant(0, torch.int64), squeeze(t, n, [0]) if n.rank else n, t.constant(1, torch.int64))


@converts("diag_embed")
def diag_embed(t, self, offset=0, dim1=-2, dim2=-1):
    rank = self.rank + 1
    a, b = sorted((dim1 % rank, dim2 % rank))
    if dim1 % rank > dim2 % rank:
        offset = -offset
    extent = static(self.dims[-1], "the diagonal's length") + abs(offset)
    shift = max(offset, 0), max(-offset, 0)  # of the column, of the row
    diagonal = (
        t.op("Pad", self, t.ints([0] * (self.rank - 1) + [shift[0]] + [0] * (self.rank - 1) + [shift[1]]))
        if offset
        else self
    )
    mask = torch.zeros(extent, extent, dtype=torch.bool)
    rows = torch.arange(extent - abs(offset))
    mask[rows + shift[1], rows + shift[0]] = True
    matrix = t.op("Where", t.constant(mask), unsqueeze(t, diagonal, [self.rank - 1]), t.constant(0, self.torch_dtype))
    rest = [i for i in range(rank) if i not in (a, b)]
    perm = [0] * rank
    for source, target in enumerate([*rest, a, b]):
        perm[target] = source
    return t.op("Transpose", matrix, perm=perm)


@converts("diagonal", "diagonal_copy")
def diagonal_view(t, self, offset=0, dim1=0, dim2=1):
    a, b = axis_of(self, dim1), axis_of(self, dim2)
    rows, columns = static(self.dims[a], "an extent of the matrix"), static(self.dims[b], "an extent of the matrix")
    rest = [i for i in range(self.rank) if i not in (a, b)]
    x = t.op("Transpose", self, perm=[*rest, a, b])
    shape = [dim_value(t, self, i) for i in rest]
    flat = reshape(t, x, [*shape, rows * columns])
    count = t.outputs[0][1][-1]
    start = offset if offset >= 0 else -offset * columns
    index = torch.arange(static(count, "the diagonal's length")) * (columns + 1) + start
    return t.op("Gather", flat, t.constant(index), axis=-1)


@converts("diag")
def diag(t, self, diagonal=0):
    return diag_embed(t, self, diagonal) if self.rank == 1 else diagonal_view(t, self, diagonal)


@converts("as_strided")
def as_strided(t, self, size, stride, storage_offset=None):
    """Of a tensor in the order of its memory (capture sees to that): elements by their place."""
    places = torch.tensor(static(storage_offset or 0, "the offset"))
    for n, step in zip(static(list(size), "the size"), static(list(stride), "the stride")):
        places = places.unsqueeze(-1) + torch.arange(n) * step
    return t.op("Gather", reshape(t, self, [-1]), t.constant(places.contiguous()), axis=0)
