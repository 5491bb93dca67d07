# SPDX-License-Identifier: Apache-2.0
"""Reductions, extrema, orderings and running sums.

torch's extrema treat NaN as the greatest value; ONNX Runtime's skip it. On floating tensors the
conversions therefore look for NaN themselves. Orderings are ops of our own in the domain "torch": which
of several equal elements comes first is whatever torch's algorithm leaves.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import torch

from ..registry import axis_of, converts, dim_value, reshape, squeeze, static
from ..tape import ConversionError, Sym, Tape, onnx_code
from .indexing import failing_where
from .pointwise import isnan, logaddexp, truth
from .shapes import INT64_MAX, slice_

_MOST_FACTORS = 16  # of a product of integers that is written out


def axes_of(x: Sym, dim) -> list[int]:
    """No dim, or an empty list, means all."""
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return list(range(x.rank))
    dims = [dim] if isinstance(dim, int) else list(dim)
    return sorted({axis_of(x, d) for d in dims}) if x.rank else []


def reduce(t: Tape, name: str, x: Sym, dim, keepdim: bool = False) -> Sym:
    axes = axes_of(x, dim)
    if not x.rank:
        return x
    return t.op(name, x, t.ints(axes), keepdims=int(bool(keepdim)))


def _numeric(t: Tape, x: Sym) -> Sym:
    """In the result's dtype: sums of bools and small integers are int64."""
    return t.cast(x, t.outputs[0][0])


@converts("sum", "sum.dim_IntList", bounds=True)
def sum_(t, self, dim=None, keepdim=False, dtype=None):
    if self.torch_dtype == t.outputs[0][0] == torch.int64 and (self.bits is None or self.bits > 31):
        return _exact_sum(t, self, dim, keepdim)
    return reduce(t, "ReduceSum", _numeric(t, self), dim, keepdim)


def _exact_sum(t: Tape, x: Sym, dim, keepdim) -> Sym:
    """Of any integers: ONNX Runtime adds them as doubles, which are exact for 32 bits each."""
    base = t.constant(1 << 32, torch.int64)
    low = t.op("BitwiseAnd", x, t.constant((1 << 32) - 1, torch.int64))
    high = t.op("Div", t.op("Sub", x, low), base)
    total = t.op("Mul", reduce(t, "ReduceSum", high, dim, keepdim), base)
    return t.op("Add", total, reduce(t, "ReduceSum", low, dim, keepdim))


@converts("nansum", bounds=True)
def nansum(t, self, dim=None, keepdim=False, dtype=None):
    if not self.is_float:
        return sum_(t, self, dim, keepdim, dtype)
    x = t.op("Where", isnan(t, self), t.constant(0.0, self.torch_dtype), self)
    return reduce(t, "ReduceSum", _numeric(t, x), dim, keepdim)


@converts("mean", "mean.dim")
def mean(t, self, dim=None, keepdim=False, dtype=None):
    return average(t, _numeric(t, self), dim, keepdim)


def average(t: Tape, x: Sym, dim, keepdim) -> Sym:
    """The mean; of nothing it is NaN, where ONNX Runtime's ReduceMean gives 0."""
    if _surely_some(x, dim):
        return reduce(t, "ReduceMean", x, dim, keepdim)
    return t.op("Div", reduce(t, "ReduceSum", x, dim, keepdim), _count(t, x, axes_of(x, dim)))


def _surely_some(x: Sym, dim) -> bool:
    """Every reduced extent is known and not 0."""
    return not x.rank or all(isinstance(x.dims[a], int) and x.dims[a] for a in axes_of(x, dim))


def _single(t: Tape, x: Sym) -> Sym:
    """x; halves as float32: they cannot hold their squares."""
    return t.cast(x, torch.float32) if x.torch_dtype in (torch.float16, torch.bfloat16) else x


def _count(t: Tape, x: Sym, axes: list[int]) -> Sym:
    """How many elements are reduced into one, in x's dtype."""
    if all(isinstance(x.dims[a], int) for a in axes):
        return t.constant(float(math.prod(x.dims[a] for a in axes)), x.torch_dtype)
    extents = t.op("Concat", *[t.ints([dim_value(t, x, a)]) for a in axes], axis=0)
    return t.cast(t.op("ReduceProd", extents, keepdims=0), x.torch_dtype)


@converts("prod", "prod.dim_int", index_error="RuntimeError")
def prod(t, self, dim=None, keepdim=False, dtype=None):
    x = _numeric(t, self)
    if x.torch_dtype != torch.int64 or self.torch_dtype == torch.bool or not x.rank:
        return reduce(t, "ReduceProd", x, dim, keepdim)
    axes = axes_of(x, dim)
    if len(axes) == 1 and isinstance(x.dims[axes[0]], int) and 0 < x.dims[axes[0]] <= _MOST_FACTORS:
        places = [t.constant([k] if keepdim else k, torch.int64) for k in range(x.dims[axes[0]])]
        return functools.reduce(lambda a, b: t.op("Mul", a, b), [t.op("Gather", x, k, axis=axes[0]) for k in places])
    result = reduce(t, "ReduceProd", x, dim, keepdim)
    most = t.constant((1 << 53) - 1, torch.int64)
    beyond = t.op("Or", t.op("Greater", result, most), t.op("Less", result, t.op("Neg", most)))
    return failing_where(t, result, beyond)  # ONNX Runtime multiplies integers as doubles


@converts("any", "any.dim", "any.dims")
def any_(t, self, dim=None, keepdim=False):
    return _quantified(t, "ReduceMax", truth(t, self), dim, keepdim)


@converts("all", "all.dim", "all.dims")
def all_(t, self, dim=None, keepdim=False):
    return _quantified(t, "ReduceMin", truth(t, self), dim, keepdim)


converts("_is_all_true")(lambda t, self: _quantified(t, "ReduceMin", self, None, False))
converts("_is_any_true")(lambda t, self: _quantified(t, "ReduceMax", self, None, False))


def _quantified(t, name, x: Sym, dim, keepdim) -> Sym:
    """Over bools. Of nothing, the engine's kernel for bool fails; that for i32 gives its smallest or largest."""
    if _surely_some(x, dim):
        return reduce(t, name, x, dim, keepdim)
    return t.op("Greater", reduce(t, name, t.cast(x, torch.int32), dim, keepdim), t.constant(0, torch.int32))


def _reduces_nothing(x: Sym, dim) -> bool:
    """Some reduced extent is known to be 0."""
    return any(x.dims[a] == 0 for a in axes_of(x, dim)) if x.rank else False


def _empty_reduction(t, value) -> Sym:
    return t.op("Expand", t.constant(value), t.ints(static(list(t.outputs[0][1]), "a shape")))


@converts("count_nonzero", "count_nonzero.dim_IntList")
def count_nonzero(t, self, dim=None):
    return reduce(t, "ReduceSum", t.cast(truth(t, self), torch.int64), dim)


# ---- extrema -----------------------------------------------------------------------------------


def extremum(t: Tape, x: Sym, dim, keepdim, largest: bool) -> Sym:
    """The largest or smallest; NaN if there is one."""
    name = "ReduceMax" if largest else "ReduceMin"
    if not x.rank:
        return x
    if _reduces_nothing(x, dim):
        raise ConversionError("the largest or smallest of nothing")
    if x.torch_dtype == torch.bool:
        return reduce(t, name, x, dim, keepdim)
    result = reduce(t, name, x, dim, keepdim)
    if not x.is_float:
        return result if _surely_some(x, dim) else _of_some(t, x, dim, keepdim, result, largest)
    some = reduce(t, "ReduceMax", isnan(t, x), dim, keepdim)
    return t.op("Where", some, t.constant(math.nan, x.torch_dtype), result)


def _of_some(t: Tape, x: Sym, dim, keepdim, result: Sym, largest: bool) -> Sym:
    """The result, and an error if nothing was reduced: the first element, which must exist, is compared too.
    (On floats the search for NaN fails then, as its kernel is bool's.)"""
    first = x
    axes = axes_of(x, dim)
    for axis in reversed(axes):
        first = t.op("Gather", first, t.constant([0] if keepdim else 0, torch.int64), axis=axis)
    return t.op("Max" if largest else "Min", result, first)


def arg_extremum(t: Tape, x: Sym, axis: int, keepdim, largest: bool) -> Sym:
    """The first position of the extremum, or of the first NaN."""
    if x.torch_dtype == torch.bool:
        x = t.cast(x, torch.uint8)
    position = t.op("ArgMax" if largest else "ArgMin", x, axis=axis, keepdims=int(bool(keepdim)))
    if not x.is_float:
        return position
    nans = isnan(t, x)
    first = t.op("ArgMax", t.cast(nans, torch.uint8), axis=axis, keepdims=int(bool(keepdim)))
    return t.op("Where", t.op("ReduceMax", nans, t.ints([axis]), keepdims=int(bool(keepdim))), first, position)


for _name, _largest in (("amax", True), ("amin", False)):
    converts(_name)(lambda t, self, dim=(), keepdim=False, _largest=_largest: extremum(t, self, dim, keepdim, _largest))
for _name, _largest in (("max", True), ("min", False)):
    converts(_name)(lambda t, self, _largest=_largest: extremum(t, self, None, False, _largest))
    converts(f"{_name}.dim")(
        lambda t, self, dim, keepdim=False, _largest=_largest: _with_position(t, self, dim, keepdim, _largest)
    )
for _name, _largest in (("argmax", True), ("argmin", False)):
    converts(_name)(lambda t, self, dim=None, keepdim=False, _largest=_largest: _arg(t, self, dim, keepdim, _largest))


def _with_position(t, x, dim, keepdim, largest):
    if x.rank == 0:
        return [x, t.constant(0, torch.int64)]
    axis = axis_of(x, dim)
    return [extremum(t, x, axis, keepdim, largest), arg_extremum(t, x, axis, keepdim, largest)]


def _arg(t, x, dim, keepdim, largest):
    if x.rank == 0:
        return t.constant(0, torch.int64)
    if dim is None:
        position = arg_extremum(t, reshape(t, x, [-1]) if x.rank != 1 else x, 0, False, largest)
        return reshape(t, position, [1] * x.rank) if keepdim else position
    return arg_extremum(t, x, axis_of(x, dim), keepdim, largest)


@converts("aminmax")
def aminmax(t, self, dim=None, keepdim=False):
    return (
        [extremum(t, self, dim, keepdim, False), extremum(t, self, dim, keepdim, True)]
        if dim is not None or not keepdim
        else [extremum(t, self, None, True, False), extremum(t, self, None, True, True)]
    )


# ---- order -------------------------------------------------------------------------------------


def _select(t: Tape, op: str, x: Sym, *k: Any, **attrs: Any) -> list[Sym]:
    """Values and positions as torch's own kernel gives them, equal elements included."""
    if x.rank == 0:
        return [x, t.constant(0, torch.int64)]
    wide = {torch.uint16: torch.int32, torch.uint32: torch.int64}.get(x.torch_dtype)
    if x.torch_dtype == torch.uint64:
        raise ConversionError("there is no kernel that orders uint64")
    if wide:
        values, positions = _select(t, op, t.cast(x, wide), *k, **attrs)
        return [t.cast(values, x.torch_dtype), positions]
    return t.op(f"torch.{op}", x, *map(t.ints, k), n=2, elements=onnx_code(x.torch_dtype), **attrs)


@converts("topk")
def topk(t, self, k, dim=-1, largest=True, sorted=True):
    if self.rank == 0 and k == 0:
        raise ConversionError("the 0 largest of one number")
    return _select(t, "TopK", self, k, axis=axis_of(self, dim), largest=bool(largest), sorted=bool(sorted))


@converts("sort")
def sort(t, self, dim=-1, descending=False):
    return sort_stable(t, self, dim=dim, descending=descending)


@converts("sort.stable")
def sort_stable(t, self, *, stable=None, dim=-1, descending=False):
    return _select(t, "Sort", self, axis=axis_of(self, dim), descending=bool(descending), stable=bool(stable))


@converts("argsort", "argsort.stable")
def argsort(t, self, *args, stable=None, dim=-1, descending=False):
    if args:
        dim = args[0]
        descending = args[1] if len(args) > 1 else descending
    return sort_stable(t, self, stable=stable, dim=dim, descending=descending)[1]


@converts("kthvalue")
def kthvalue(t, self, k, dim=-1, keepdim=False):
    return _kth(t, self, k, axis_of(self, dim), keepdim)


def _kth(t, x, k, axis, keepdim, stable=False):
    picked = _select(t, "KthValue", x, k, axis=axis, stable=stable)
    return picked if keepdim or not x.rank else [squeeze(t, p, [axis]) for p in picked]


@converts("median")
def median(t, self):
    flat = reshape(t, self, [-1]) if self.rank != 1 else self
    return _median(t, flat, 0, False)[0]


@converts("median.dim")
def median_dim(t, self, dim, keepdim=False):
    return _median(t, self, axis_of(self, dim), keepdim)


def _median(t, x, axis, keepdim):
    if x.rank == 0:
        return [x, t.constant(0, torch.int64)]
    n = dim_value(t, x, axis)
    if isinstance(n, int) and n == 0:
        raise ConversionError("the median of nothing")
    half = (n + 1) // 2 if isinstance(n, int) else t.op(
        "Div", t.op("Add", n, t.constant([1], torch.int64)), t.constant([2], torch.int64))
    values, positions = _kth(t, x, half, axis, keepdim, stable=True)
    if x.is_float:  # a NaN is the median of whatever holds it
        nans = isnan(t, x)
        some = reduce(t, "ReduceMax", nans, axis, keepdim)
        first = t.op("ArgMax", t.cast(nans, torch.uint8), axis=axis, keepdims=int(bool(keepdim)))
        values = t.op("Where", some, t.constant(math.nan, x.torch_dtype), values)
        positions = t.op("Where", some, first, positions)
    return [values, positions]


@converts("nanmedian")
def nanmedian(t, self):
    flat = reshape(t, self, [-1]) if self.rank != 1 else self
    return _nanmedian(t, flat, 0, False)[0]


@converts("nanmedian.dim")
def nanmedian_dim(t, self, dim, keepdim=False):
    return _nanmedian(t, self, axis_of(self, dim), keepdim)


def _nanmedian(t, x, axis, keepdim):
    """The median of what is no NaN, of which there are another number in each line."""
    if not x.is_float or not x.rank:
        return _median(t, x, axis, keepdim)
    count = t.cast(t.op("Not", isnan(t, x)), torch.int64)
    count = t.op("ReduceSum", count, t.ints([axis]), keepdims=1)
    half = t.op("Div", t.op("Sub", count, t.constant(1, torch.int64)), t.constant(2, torch.int64))  # truncates
    ordered = _select(t, "Sort", x, axis=axis, descending=False, stable=True)
    picked = [t.op("GatherElements", v, half, axis=axis) for v in ordered]
    return picked if keepdim else [squeeze(t, p, [axis]) for p in picked]


def _without_nan(t: Tape, x: Sym) -> Sym:
    """x; the run fails if it holds a NaN, which engines do not tell apart as torch does."""
    return failing_where(t, x, isnan(t, x)) if x.is_float else x


@converts("_unique2", index_error="RuntimeError")
def unique2(t, self, sorted=True, return_inverse=False, return_counts=False):
    x, dtype = self, self.torch_dtype
    key = t.cast(x, torch.int64) if dtype == torch.bool else _without_nan(t, x)
    values, _, inverse, counts = t.op("Unique", key, n=4, sorted=1)
    empty = t.constant(torch.empty(0, dtype=torch.int64))
    inverse = reshape(t, inverse, [dim_value(t, x, i) for i in range(x.rank)]) if return_inverse else empty
    return [t.cast(values, dtype), inverse, counts if return_counts else empty]


@converts("unique_dim", index_error="RuntimeError")
def unique_dim(t, self, dim, sorted=True, return_inverse=False, return_counts=False):
    """Distinct slices along a dim, in lexicographic order."""
    x, dtype = _without_nan(t, self), self.torch_dtype
    key = (x if dtype in (torch.float32, torch.float64, torch.int64)
           else t.cast(x, torch.float64 if x.is_float else torch.int64))
    values, _, inverse, counts = t.op("Unique", key, n=4, sorted=1, axis=axis_of(x, dim))
    empty = t.constant(torch.empty(0, dtype=torch.int64))
    return [t.cast(values, dtype), inverse if return_inverse else empty, counts if return_counts else empty]


@converts("unique_consecutive")
def unique_consecutive(t, self, return_inverse=False, return_counts=False, dim=None):
    """The first of each run of equal elements, along a dim of equal slices."""
    x = self
    whole = dim is None or x.rank == 1
    flat = x if x.rank == 1 or not whole else reshape(t, x, [-1])
    axis = 0 if whole else axis_of(x, dim)
    count = t.ints([dim_value(t, flat, axis)])
    before, after = slice_(t, flat, axis, 0, -1), slice_(t, flat, axis, 1, INT64_MAX)
    changed = t.op("Not", t.op("Equal", t.cast(before, torch.uint8), t.cast(after, torch.uint8))) if (
        x.torch_dtype == torch.bool) else t.op("Not", t.op("Equal", before, after))
    if not whole:  # a slice is another where any element is
        others = t.ints([k for k in range(x.rank) if k != axis])
        changed = t.cast(t.op("ReduceMax", t.cast(changed, torch.int64), others, keepdims=0), torch.bool)
    # none if there is none
    first = t.op("Expand", t.constant([True]), t.op("Min", count, t.constant([1], torch.int64)))
    starts = t.op("Concat", first, changed, axis=0)
    values = t.op("Compress", flat, starts, axis=axis)
    empty = t.constant(torch.empty(0, dtype=torch.int64))
    inverse = counts = empty
    if return_inverse:
        numbers = t.op("CumSum", t.cast(starts, torch.int64), t.constant(0, torch.int64))
        inverse = t.op("Sub", numbers, t.constant(1, torch.int64))
        inverse = (inverse if x.rank == 1 or not whole
                   else reshape(t, inverse, [dim_value(t, x, i) for i in range(x.rank)]))
    if return_counts:
        places = t.op("Range", t.constant(0, torch.int64), squeeze(t, count, [0]), t.constant(1, torch.int64))
        at = t.op("Compress", places, starts, axis=0)
        counts = t.op("Sub", slice_(t, t.op("Concat", at, count, axis=0), 0, 1, INT64_MAX), at)
    return [values, inverse, counts]


@converts("mode")
def mode(t, self, dim=-1, keepdim=False):
    """The most frequent element, the least of several."""
    axis = axis_of(self, dim)
    chosen = _select(t, "Mode", self, axis=axis)
    return chosen if keepdim or not self.rank else [squeeze(t, v, [axis]) for v in chosen]


@converts("histc")
def histc(t, self, bins=100, min=0, max=0):
    bins, x = static(bins, "the number of bins"), reshape(t, self, [-1]) if self.rank != 1 else self
    low, high = (t.constant(float(static(v, "a bound")), x.torch_dtype) for v in (min, max))
    if min == max:
        low, high = t.op("ReduceMin", x, keepdims=0), t.op("ReduceMax", x, keepdims=0)
        one = t.cast(t.op("Equal", low, high), x.torch_dtype)
        low, high = t.op("Sub", low, one), t.op("Add", high, one)
    inside = t.op("And", t.op("GreaterOrEqual", x, low), t.op("LessOrEqual", x, high))
    place = t.op("Div", t.op("Mul", t.op("Sub", x, low), t.constant(float(bins), x.torch_dtype)),
                 t.op("Sub", high, low))
    place = t.op("Where", inside, place, t.constant(0.0, x.torch_dtype))
    place = t.op("Min", t.cast(t.op("Floor", place), torch.int64), t.constant(bins - 1, torch.int64))
    zeros = t.constant(torch.zeros(bins, dtype=x.torch_dtype))
    return t.op("ScatterElements", zeros, place, t.cast(inside, x.torch_dtype), axis=0, reduction="add")


# ---- running -----------------------------------------------------------------------------------


def _kept(t: Tape, x: Sym) -> Sym:
    """As torch keeps running sums and products: in f64, so that they overflow later. (Halves it keeps in f32, one after
    the other; here products are taken in another order, which f64 makes good.)"""
    return t.cast(x, torch.float64) if x.is_float else x


@converts("cumsum")
def cumsum(t, self, dim, dtype=None):
    x = _kept(t, _numeric(t, self))
    return t.op("CumSum", x, t.constant(axis_of(x, dim), torch.int64)) if x.rank else x


def running(t: Tape, xs: list[Sym], axis: int, combine, identities: list) -> list[Sym]:
    """All prefixes along an axis of known extent of an associative `combine(earlier, later)`, in log2 steps."""
    n, step = static(xs[0].dims[axis], "the extent"), 1
    while step < n:
        shifted = []
        for x, identity in zip(xs, identities):
            sizes = [step if i == axis else dim_value(t, x, i) for i in range(x.rank)]
            padding = t.op("Expand", t.constant(identity, x.torch_dtype), t.ints(sizes))
            shifted.append(t.op("Concat", padding, slice_(t, x, axis, 0, n - step), axis=axis))
        xs = combine(shifted, xs)
        step *= 2
    return xs


@converts("logcumsumexp")
def logcumsumexp(t, self, dim):
    if self.rank == 0:
        return self
    return running(t, [self], axis_of(self, dim), lambda a, b: [logaddexp(t, a[0], b[0])], [-math.inf])[0]


def _triangle(t: Tape, x: Sym, axis: int, identity) -> Sym:
    """[..., n, n, ...]: in row i the elements up to i, then the identity. For extents known only at run time."""
    n = squeeze(t, t.ints([dim_value(t, x, axis)]), [0])
    places = t.op("Range", t.constant(0, torch.int64), n, t.constant(1, torch.int64))
    row = t.op("Unsqueeze", places, t.ints(list(range(1, x.rank - axis + 1))))
    column = t.op("Unsqueeze", places, t.ints([0, *range(2, x.rank - axis + 1)]))
    upto = t.op("LessOrEqual", column, row)
    return t.op("Where", upto, t.op("Unsqueeze", x, t.ints([axis])), t.constant(identity, x.torch_dtype))


@converts("cumprod")
def cumprod(t, self, dim, dtype=None):
    """There is no running product in ONNX's opset."""
    x = _kept(t, _numeric(t, self))
    if not x.rank:
        return x
    axis = axis_of(x, dim)
    if isinstance(x.dims[axis], int):
        return running(t, [x], axis, lambda a, b: [t.op("Mul", a[0], b[0])], [1])[0]
    return t.op("ReduceProd", _triangle(t, x, axis, 1), t.ints([axis + 1]), keepdims=0)


@converts("cummax")
def cummax(t, self, dim):
    return _running_extremum(t, self, dim, True)


@converts("cummin")
def cummin(t, self, dim):
    return _running_extremum(t, self, dim, False)


def _running_extremum(t, x: Sym, dim, largest: bool) -> list[Sym]:
    """The last of equal elements counts; a NaN stays."""
    if not x.rank:
        return [x, t.constant(0, torch.int64)]
    axis, dtype = axis_of(x, dim), x.torch_dtype
    if dtype == torch.bool:
        x = t.cast(x, torch.int32)
    least = (-math.inf if largest else math.inf) if x.is_float else (
        torch.iinfo(x.torch_dtype).min if largest else torch.iinfo(x.torch_dtype).max)
    if not isinstance(x.dims[axis], int):
        return _running_extremum_dynamic(t, x, axis, largest, least)
    shape = [1] * x.rank
    shape[axis] = x.dims[axis]
    places = t.constant(torch.arange(x.dims[axis]).reshape(shape))
    places = t.op("Expand", places, t.ints([dim_value(t, x, i) for i in range(x.rank)]))

    def combine(a, b):
        take = t.op("GreaterOrEqual" if largest else "LessOrEqual", b[0], a[0])
        if x.is_float:
            take = t.op("Or", isnan(t, b[0]), t.op("And", t.op("Not", isnan(t, a[0])), take))
        return [t.op("Where", take, b[k], a[k]) for k in (0, 1)]

    return running(t, [x, places], axis, combine, [least, 0])


def _running_extremum_dynamic(t, x, axis, largest, least):
    if x.is_float:
        raise ConversionError("a running extremum over an extent known only at run time")
    rows = _triangle(t, x, axis, least)
    place = t.op("ArgMax" if largest else "ArgMin", rows, axis=axis + 1, keepdims=0, select_last_index=1)
    # the padding after the diagonal may equal the extremum: then it is the element itself
    n = squeeze(t, t.ints([dim_value(t, x, axis)]), [0])
    own = t.op("Range", t.constant(0, torch.int64), n, t.constant(1, torch.int64))
    own = t.op("Unsqueeze", own, t.ints(list(range(1, x.rank - axis)))) if x.rank - axis > 1 else own
    place = t.op("Min", place, own)
    return [t.op("GatherElements", x, place, axis=axis), place]


@converts("searchsorted.Tensor", "searchsorted.Scalar")
def searchsorted(t, sorted_sequence, self, *, out_int32=False, right=False, side=None, sorter=None):
    """How many elements of the (last axis of the) sequence lie before each value; a NaN lies after all."""
    if sorter is not None:
        raise ConversionError("searchsorted with a sorter")
    right = right or side == "right"
    sequence, values = sorted_sequence, self if isinstance(self, Sym) else t.constant(self)
    dtype = torch.promote_types(sequence.torch_dtype, values.torch_dtype)
    sequence, values = _without_nan(t, t.cast(sequence, dtype)), t.cast(values, dtype)
    if sequence.rank > 1:
        sequence = t.op("Unsqueeze", sequence, t.ints([sequence.rank - 1]))
    values = t.op("Unsqueeze", values, t.ints([values.rank]))
    before = t.op("Not", t.op("Less" if right else "LessOrEqual", values, sequence))
    return reduce(t, "ReduceSum", t.cast(before, torch.int64), -1)


@converts("bucketize.Tensor", "bucketize.Scalar")
def bucketize(t, self, boundaries, *, out_int32=False, right=False):
    if boundaries.rank != 1:
        raise ConversionError("torch takes boundaries of one dim alone")
    return searchsorted(t, boundaries, self, right=right)


@converts("_convert_indices_from_coo_to_csr")
def indices_from_coo_to_csr(t, self, size, *, out_int32=False):
    """Where each row begins in a sorted list of rows, and its end (rows that are not sorted leave torch's result
    open)."""
    end = t.op("Add", squeeze(t, t.ints([size]), [0]), t.constant(1, torch.int64))
    rows = t.op("Range", t.constant(0, torch.int64), end, t.constant(1, torch.int64))
    return searchsorted(t, self, rows, out_int32=out_int32)


# ---- spread ------------------------------------------------------------------------------------


def _variance(t, x: Sym, dim, correction, keepdim) -> tuple[Sym, Sym]:
    """(variance, mean with reduced axes kept or not)."""
    x = _single(t, x)
    axes = axes_of(x, dim)
    correction = 1 if correction is None else static(correction, "the correction")
    middle = average(t, x, axes, True) if x.rank else x
    difference = t.op("Sub", x, middle)
    total = reduce(t, "ReduceSum", t.op("Mul", difference, difference), axes, keepdim)
    zero = t.constant(0.0, x.torch_dtype)
    divisor = t.op("Max", t.op("Sub", _count(t, x, axes), t.constant(float(correction), x.torch_dtype)), zero)
    return t.op("Div", total, divisor), middle if keepdim or not x.rank else squeeze(t, middle, axes)


def _running_mean(t, x: Sym, dim, keepdim, middle: Sym) -> Sym:
    """The mean as torch gets it beside the variance, from one element to the next: NaN, unless only the last element
    is infinite."""
    x = _single(t, x)
    if not x.rank:
        return middle
    axes = axes_of(x, dim)
    last = x
    for axis in axes:
        last = t.op("Slice", last, t.ints([-1]), t.ints([2**31 - 1]), t.ints([axis]))

    def nans(part):
        """How many are not finite."""
        zeros = t.op("Mul", part, t.constant(0.0, x.torch_dtype))
        return reduce(t, "ReduceSum", t.cast(isnan(t, zeros), x.torch_dtype), axes, keepdim)

    return t.op("Where", t.op("Greater", nans(x), nans(last)), t.constant(math.nan, x.torch_dtype), middle)


@converts("var.correction")
def var_correction(t, self, dim=None, *, correction=None, keepdim=False):
    return _variance(t, self, dim, correction, keepdim)[0]


@converts("std.correction")
def std_correction(t, self, dim=None, *, correction=None, keepdim=False):
    return t.op("Sqrt", _variance(t, self, dim, correction, keepdim)[0])


@converts("var_mean.correction")
def var_mean_correction(t, self, dim=None, *, correction=None, keepdim=False):
    variance, middle = _variance(t, self, dim, correction, keepdim)
    return [variance, _running_mean(t, self, dim, keepdim, middle)]


@converts("std_mean.correction")
def std_mean_correction(t, self, dim=None, *, correction=None, keepdim=False):
    variance, middle = _variance(t, self, dim, correction, keepdim)
    return [t.op("Sqrt", variance), _running_mean(t, self, dim, keepdim, middle)]


@converts("var")
def var(t, self, unbiased=True):
    return var_correction(t, self, None, correction=int(unbiased))


@converts("var.dim")
def var_dim(t, self, dim, unbiased=True, keepdim=False):
    return var_correction(t, self, dim, correction=int(unbiased), keepdim=keepdim)


@converts("std")
def std(t, self, unbiased=True):
    return std_correction(t, self, None, correction=int(unbiased))


@converts("std.dim")
def std_dim(t, self, dim, unbiased=True, keepdim=False):
    return std_correction(t, self, dim, correction=int(unbiased), keepdim=keepdim)


@converts("logsumexp")
def logsumexp(t, self, dim, keepdim=False):
    """ln(sum(exp(x - m))) + m with m the largest; an infinite m is subtracted as 0."""
    x = _numeric(t, self)
    axes = axes_of(x, dim)
    if not x.rank:
        return x
    if _reduces_nothing(x, dim):
        return _empty_reduction(t, t.constant(-math.inf, x.torch_dtype).const)
    top = t.op("ReduceMax", x, t.ints(axes), keepdims=1)
    top = t.op("Where", t.op("IsInf", top), t.constant(0.0, x.torch_dtype), top)
    total = t.op("ReduceSum", t.op("Exp", t.op("Sub", x, top)), t.ints(axes), keepdims=int(bool(keepdim)))
    return t.op("Add", t.op("Log", total), top if keepdim else squeeze(t, top, axes))


@converts("linalg_vector_norm")
def vector_norm(t, self, ord=2, dim=None, keepdim=False, *, dtype=None):
    x = _single(t, _numeric(t, self))
    order = float(static(ord, "the order of the norm"))
    size = t.op("Abs", x)
    if order == math.inf or order == -math.inf:
        return extremum(t, size, dim, keepdim, order > 0)
    if order == 0:
        return reduce(t, "ReduceSum", t.cast(truth(t, x), x.torch_dtype), dim, keepdim)
    one = all(x.dims[a] == 1 for a in axes_of(x, dim)) and (x.rank or not isinstance(dim, int) and not dim)
    if order == 1 or one:  # of one element it is that, however great, but for a 0-dim tensor's along a dim
        return reduce(t, "ReduceSum", size, dim, keepdim)
    if order == 2:
        return t.op("Sqrt", reduce(t, "ReduceSum", t.op("Mul", x, x), dim, keepdim))
    power = reduce(t, "ReduceSum", t.op("Pow", size, t.constant(order, x.torch_dtype)), dim, keepdim)
    return t.op("Pow", power, t.constant(1.0 / order, x.torch_dtype))


@converts("_cdist_forward")
def cdist(t, x1, x2, p, compute_mode=None):
    difference = t.op("Sub", t.op("Unsqueeze", x1, t.ints([x1.rank - 1])), t.op("Unsqueeze", x2, t.ints([x2.rank - 2])))
    return _distance(t, difference, p)


def _distance(t, difference, p):
    if p != 0:
        return vector_norm(t, difference, p, -1)
    unlike = t.cast(truth(t, difference), difference.torch_dtype)  # how many differ; a NaN makes it NaN
    return reduce(t, "ReduceSum", t.op("Where", t.op("IsNaN", difference), difference, unlike), -1, False)


@converts("_pdist_forward")
def pdist(t, self, p=2.0):
    """Distances of all pairs of rows, each pair once."""
    rows, columns = torch.triu_indices(*[static(self.dims[0], "the number of rows")] * 2, offset=1)
    a, b = (t.op("Gather", self, t.constant(i.contiguous()), axis=0) for i in (rows, columns))
    return _distance(t, t.op("Sub", a, b), p)


@converts("_euclidean_dist")
def euclidean_dist(t, x1, x2):
    return cdist(t, x1, x2, 2)


@converts("norm.Scalar")
def norm(t, self, p=2):
    return vector_norm(t, self, 2 if p is None else p)


@converts("norm.ScalarOpt_dim", "norm.ScalarOpt_dim_dtype")
def norm_dim(t, self, p, dim, keepdim=False, *, dtype=None):
    return vector_norm(t, self, 2 if p is None else p, dim, keepdim)
