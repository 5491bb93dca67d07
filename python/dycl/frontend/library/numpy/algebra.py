# SPDX-License-Identifier: Apache-2.0
"""More numpy functions over arrays known only at run time: products, order statistics, sets, NaN,
the methods of ufuncs.

As in library/numpy/functions.py, whose table these are added to; functions of numpy.linalg stand there as
"linalg.name", methods of ufuncs as "add.reduce".
"""

from __future__ import annotations

import math
import numbers
from typing import Any, Callable

import numpy as np
import torch

from ...state import numpy_memory
from ...values.array import RtArray
from ...values.stand_in import is_instance, made_stand_in
from .functions import TABLE, _along, _floats, _named, _parts, _to, _value, refuse


def name_of(fn: Any) -> str:
    """The name under which a function of numpy stands in the table."""
    name = getattr(fn, "__name__", "?")
    owner = getattr(fn, "__self__", None)
    if isinstance(owner, np.ufunc):
        return f"{owner.__name__}.{name}"
    if name != "norm" and (getattr(fn, "__module__", "") or "").startswith("numpy.linalg"):
        return f"linalg.{name}"
    return name


def _whole(arrays, x: Any) -> torch.Tensor:
    """Its elements in a row."""
    return arrays.call(torch.flatten, _value(arrays, x))


# ---- matrices ----------------------------------------------------------------------------------


@_named("diag")
def diag(arrays, v, k=0):
    t = _value(arrays, v)
    if t.dim() not in (1, 2) or type(k) is not int:
        refuse("diag", "of such arrays")
    if t.dim() == 2:
        return arrays.view(v, arrays.call(torch.diagonal, t, k))
    return RtArray(arrays.call(torch.diag_embed, t, k))


@_named("trace")
def trace(arrays, a, offset=0, axis1=0, axis2=1):
    t = _floats(arrays, "trace", a)
    return arrays.wrap(
        arrays.call(torch.sum, arrays.call(torch.diagonal, t, offset, axis1, axis2), -1)
    )


@_named("einsum")
def einsum(arrays, subscripts, *operands):
    parts = _parts(arrays, operands)
    if not isinstance(subscripts, str) or "->" not in subscripts or not parts[0].dtype.is_floating_point:
        refuse("einsum", "without a written result, or of integers,")
    return arrays.wrap(arrays.call(torch.einsum, subscripts, *parts))


@_named("tensordot")
def tensordot(arrays, a, b, axes=2):
    x, y = _parts(arrays, [a, b])
    if not x.dtype.is_floating_point:
        refuse("tensordot", "of integers")
    axes = axes if type(axes) is int else tuple([n] if type(n) is int else list(n) for n in axes)
    return arrays.wrap(arrays.call(torch.tensordot, x, y, dims=axes))


@_named("inner", "vdot")
def inner(arrays, a, b):
    x, y = _parts(arrays, [a, b])
    if x.dim() != 1 or y.dim() != 1:
        refuse("inner", "of arrays of several axes")
    return arrays.wrap(arrays.call(torch.matmul, x, y))


@_named("cross")
def cross(arrays, a, b):
    x, y = _parts(arrays, [a, b])
    if x.shape[-1:] != (3,) or y.shape[-1:] != (3,):
        refuse("cross", "of vectors of other than three elements")
    return RtArray(arrays.call(torch.linalg.cross, x, y))


# ---- order and averages ----------------------------------------------------------------------------


@_named("ptp")
def ptp(arrays, a, axis=None):
    t, dim = _along(arrays, a, axis)
    top, bottom = (arrays.call(fn, t, dim) for fn in (torch.amax, torch.amin))
    return arrays.wrap(arrays.call(torch.sub, top, bottom))


@_named("median")
def median(arrays, a, axis=None):
    call = arrays.call
    t, dim = _along(arrays, a, axis)
    count = t.shape[dim]
    if type(dim) is not int or type(count) is int and count == 0:
        refuse("median", "along axes that are")
    t = t if t.dtype.is_floating_point else _to(arrays, t, torch.float64)
    ordered = call(torch.sort, t, dim=dim)[0]
    places = [(count - 1) // 2, count // 2, count - 1]
    if type(count) is not int:  # perhaps none at all, whose median is NaN
        ordered = call(torch.nn.functional.pad, ordered, [0, 0] * (t.dim() - 1 - dim % t.dim()) + [0, 1],
                       value=math.nan)
        places = [torch.sym_max(k, 0) for k in places]
    low, high, last = (call(torch.select, ordered, dim, k) for k in places)
    middle = call(torch.div, call(torch.add, low, high), 2)
    return arrays.wrap(call(torch.where, call(torch.isnan, last), last, middle))


@_named("quantile")
def quantile(arrays, a, q, axis=None):
    t = _floats(arrays, "quantile", a)
    if not isinstance(q, (int, float)):
        refuse("quantile", "at places that are")
    return arrays.wrap(arrays.call(torch.quantile, t, float(q), axis))


@_named("percentile")
def percentile(arrays, a, q, axis=None):
    return quantile(arrays, a, q / 100 if isinstance(q, (int, float)) else q, axis)


@_named("average")
def average(arrays, a, axis=None, weights=None):
    call = arrays.call
    if weights is None:
        return TABLE["mean"](arrays, a, axis)
    x, w = _parts(arrays, [a, weights])
    if not x.dtype.is_floating_point or tuple(x.shape) != tuple(w.shape):
        refuse("average", "of integers, or with weights of another shape,")
    x, w = ((call(torch.flatten, t) for t in (x, w)) if axis is None else (x, w))
    over = 0 if axis is None else axis
    top, bottom = (call(torch.sum, t, over) for t in (call(torch.mul, x, w), w))
    must_hold(arrays, call(torch.all, call(torch.ne, bottom, 0)), ZeroDivisionError,
               "Weights sum to zero, can't be normalized")
    return arrays.wrap(call(torch.div, top, bottom))


def must_hold(arrays, truth: torch.Tensor, error: type, text: str) -> None:
    """numpy raises where torch gives a number, or gives another one."""
    holds = arrays.m.tensor_item(truth)
    if not isinstance(holds, bool):
        arrays.m.recorder.check(holds.value, text, error.__name__)
    elif not holds:
        raise error(text)


@_named("lexsort")
def lexsort(arrays, keys):
    """By the last key, then by the one before it: stable sorts, from the first on."""
    call = arrays.call
    parts = [_value(arrays, k) for k in (arrays.rows(keys) if arrays.m.is_array(keys) else keys)]
    if not parts or any(p.dim() != 1 for p in parts):
        refuse("lexsort", "by keys of several axes")
    order = None
    for key in parts:
        found = call(torch.sort, key if order is None else call(torch.gather, key, 0, order), stable=True)[1]
        order = found if order is None else call(torch.gather, order, 0, found)
    return RtArray(order)


@_named("digitize")
def digitize(arrays, x, bins, right=False):
    bins = np.asarray(bins) if isinstance(bins, (list, tuple, np.ndarray)) and not arrays.m.has_runtime(bins) else None
    if bins is None or bins.ndim != 1 or not np.all(np.diff(bins) >= 0):
        refuse("digitize", "by bins that do not rise, or that are")
    return TABLE["searchsorted"](arrays, bins, x, "left" if right else "right")


@_named("interp")
def interp(arrays, x, xp, fp):
    call = arrays.call
    at, places, values = (_to(arrays, _value(arrays, t), torch.float64) for t in (x, xp, fp))
    count = places.shape[0]
    if places.dim() != 1 or values.dim() != 1 or type(count) is not int or count < 2 or values.shape[0] != count:
        refuse("interp", "between points whose number is")
    after = call(torch.clamp, call(torch.searchsorted, places, at, side="right"), 1, count - 1)
    before = call(torch.sub, after, 1)
    x0, x1, y0, y1 = (call(torch.Tensor.__getitem__, t, (k,)) for t in (places, values) for k in (before, after))
    slope = call(torch.div, call(torch.sub, y1, y0), call(torch.sub, x1, x0))
    found = call(torch.add, y0, call(torch.mul, slope, call(torch.sub, at, x0)))
    for beyond, end in ((torch.lt, 0), (torch.gt, -1)):  # what lies outside has the value of the end; NaN stays
        edge, outer = (call(torch.Tensor.__getitem__, t, (end,)) for t in (places, values))
        found = call(torch.where, call(beyond, at, edge), outer, found)
    return arrays.wrap(found)


@_named("linspace")
def linspace(arrays, start, stop, num=50):
    call, double = arrays.call, torch.float64
    if type(num) is not int or num < 2:
        refuse("linspace", "of a number of steps")
    first, last = (_to(arrays, _value(arrays, n), double) for n in (start, stop))
    if first.dim() or last.dim():
        refuse("linspace", "between arrays")
    steps = arrays.call(torch.arange, num - 1, dtype=double)
    width = call(torch.div, call(torch.sub, last, first), num - 1)
    inner = call(torch.add, call(torch.mul, steps, width), first)
    return RtArray(call(torch.cat, [inner, call(torch.reshape, last, (1,))]))


# ---- NaN and closeness --------------------------------------------------------------------------------


@_named("nan_to_num")
def nan_to_num(arrays, x, copy=True, nan=0.0, posinf=None, neginf=None):
    t = _floats(arrays, "nan_to_num", x)
    if copy is not True or any(made_stand_in(n) is not None for n in (nan, posinf, neginf)):
        refuse("nan_to_num", "in place, or by numbers")
    return arrays.wrap(arrays.call(torch.nan_to_num, t, nan, posinf, neginf))


def _extreme_but_nan(name: str, fn: Callable, least: float) -> None:
    @_named(name)
    def extreme(arrays, a, axis=None):
        call = arrays.call
        t, dim = _along(arrays, RtArray(_floats(arrays, name, a)), axis)
        missing = call(torch.isnan, t)
        found = call(fn, call(torch.masked_fill, t, missing, least), dim)
        return arrays.wrap(call(torch.masked_fill, found, call(torch.all, missing, dim), float("nan")))


_extreme_but_nan("nanmax", torch.amax, float("-inf"))
_extreme_but_nan("nanmin", torch.amin, float("inf"))


@_named("isclose")
def isclose(arrays, a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    x, y = _parts(arrays, [a, b])
    if not x.dtype.is_floating_point:
        x, y = (_to(arrays, t, torch.float64) for t in (x, y))
    x, y = arrays.call(torch.broadcast_tensors, x, y)
    return arrays.wrap(arrays.call(torch.isclose, x, y, rtol=rtol, atol=atol, equal_nan=equal_nan))


@_named("allclose")
def allclose(arrays, a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    near = isclose(arrays, a, b, rtol, atol, equal_nan)
    return arrays.m.tensor_item(arrays.call(torch.all, near.tensor))


# ---- sets -------------------------------------------------------------------------------------------------


def _unique(arrays, t: torch.Tensor, **how: bool) -> Any:
    """numpy takes all NaN for one, torch for as many."""
    call = arrays.call
    if t.dtype.is_floating_point:
        missing = call(torch.sum, call(torch.isnan, t))
        must_hold(arrays, call(torch.le, missing, 1), RuntimeError,
                   "numpy.unique of several NaN is not compiled")
    return call(torch.unique, t, **how)


@_named("unique")
def unique(arrays, ar, return_index=False, return_inverse=False, return_counts=False):
    call, t = arrays.call, _value(arrays, ar)
    if not (return_index or return_inverse or return_counts):
        return arrays.wrap(_unique(arrays, t))
    values, inverse, counts = _unique(arrays, t, return_inverse=True, return_counts=True)
    parts = [values]
    if return_index:
        flat = call(torch.flatten, inverse)
        places = call(torch.arange, flat.shape[0])
        first = call(torch.full_like, counts, torch.iinfo(torch.int64).max)
        parts.append(call(torch.scatter_reduce, first, 0, flat, places, "amin"))
    parts += [inverse] if return_inverse else []
    parts += [counts] if return_counts else []
    return tuple(RtArray(p) for p in parts)


def _those(arrays, t: torch.Tensor, chosen: torch.Tensor) -> RtArray:
    return RtArray(arrays.call(torch.Tensor.__getitem__, t, chosen))


@_named("setdiff1d")
def setdiff1d(arrays, ar1, ar2, assume_unique=False):
    x, y = (arrays.call(torch.flatten, t) for t in _parts(arrays, [ar1, ar2]))
    x = x if assume_unique else _unique(arrays, x)
    return _those(arrays, x, arrays.call(torch.isin, x, y, invert=True))


@_named("intersect1d")
def intersect1d(arrays, ar1, ar2):
    x, y = (arrays.call(torch.flatten, t) for t in _parts(arrays, [ar1, ar2]))
    x = _unique(arrays, x)
    return _those(arrays, x, arrays.call(torch.isin, x, y))


@_named("union1d")
def union1d(arrays, ar1, ar2):
    parts = [arrays.call(torch.flatten, t) for t in _parts(arrays, [ar1, ar2])]
    return RtArray(_unique(arrays, arrays.call(torch.cat, parts)))


@_named("delete")
def delete(arrays, arr, obj, axis=None):
    call = arrays.call
    t, dim = _along(arrays, arr, axis)
    places = _value(arrays, obj) if not isinstance(obj, slice) else None
    if places is None or places.dtype not in (torch.int64, torch.int32, torch.bool) or type(dim) is not int:
        refuse("delete", "of such places, of arrays")
    count = t.shape[dim]
    left = call(torch.ones, count, dtype=torch.bool)
    if places.dtype == torch.bool:
        left = call(torch.logical_not, places)
    else:
        places = call(torch.reshape, _to(arrays, places, torch.int64), (-1,))
        call(torch.Tensor.__setitem__, left, places, False)
    kept = call(torch.nonzero, left, as_tuple=True)[0]
    return RtArray(call(torch.index_select, t, dim, kept))


@_named("extract")
def extract(arrays, condition, arr):
    chosen = _to(arrays, _whole(arrays, condition), torch.bool)
    return _those(arrays, _whole(arrays, arr), chosen)


# ---- shapes ------------------------------------------------------------------------------------------------


@_named("array_split")
def array_split(arrays, ary, indices_or_sections, axis=0):
    t = _value(arrays, ary)
    sections = indices_or_sections
    if not (type(sections) is int or isinstance(sections, (list, tuple)) and all(type(n) is int for n in sections)):
        refuse("split", "at places that are")
    parts = arrays.call(torch.tensor_split, t, sections if type(sections) is int else tuple(sections), axis)
    return arrays.m.new([arrays.view(ary, p) for p in parts])


@_named("split")
def split(arrays, ary, indices_or_sections, axis=0):
    count = _value(arrays, ary).shape[axis]
    if type(indices_or_sections) is int:
        if type(count) is not int:
            refuse("split", "of arrays whose extents are")
        if count % indices_or_sections:
            raise ValueError("array split does not result in an equal division")
    return array_split(arrays, ary, indices_or_sections, axis)


@_named("broadcast_to")
def broadcast_to(arrays, array, shape):
    shape = tuple(shape) if isinstance(shape, (list, tuple)) else (shape,)
    return arrays.view(array, arrays.call(torch.broadcast_to, _value(arrays, array), shape))


@_named("meshgrid")
def meshgrid(arrays, *xi, indexing="xy"):
    parts = [_value(arrays, x) for x in xi]
    found = None
    if len({p.dtype for p in parts}) == 1:
        found = arrays.call(torch.meshgrid, *parts, indexing=indexing)
    if found is None or any(p.dim() != 1 for p in parts):
        refuse("meshgrid", "of arrays of several dtypes or axes")
    return tuple(RtArray(arrays.call(torch.clone, t)) for t in found)


@_named("ix_")
def ix_(arrays, *args):
    made = []
    for k, x in enumerate(args):
        t = _value(arrays, x)
        if t.dim() != 1:
            raise ValueError("Cross index must be 1 dimensional")
        t = arrays.call(torch.nonzero, t, as_tuple=True)[0] if t.dtype == torch.bool else t
        made.append(
            RtArray(arrays.call(torch.reshape, t, (1,) * k + (-1,) + (1,) * (len(args) - k - 1)))
        )
    return tuple(made)


@_named("fliplr")
def fliplr(arrays, m):
    return TABLE["flip"](arrays, m, 1)


@_named("flipud")
def flipud(arrays, m):
    return TABLE["flip"](arrays, m, 0)


@_named("size")
def size(arrays, a, axis=None):
    t = _value(arrays, a)
    if axis is None:
        return arrays.call(torch.Tensor.numel, t)
    return arrays.m.recorder.attribute(t, "shape")[axis]


@_named("isscalar")
def isscalar(arrays, element):
    return is_instance(arrays.m, element, (np.generic, numbers.Number, str, bytes))


@_named("copyto")
def copyto(arrays, dst, src):
    arrays.set_item(_written(arrays, dst), Ellipsis, src)


@_named("select")
def select(arrays, condlist, choicelist, default=0):
    if len(condlist) != len(choicelist) or not condlist:
        refuse("select", "of such lists")
    found = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist)):
        found = arrays.function(np.where, (condition, choice, found), {})
    return found


# ---- methods of ufuncs ----------------------------------------------------------------------------------------


def _written(arrays, a: Any) -> RtArray:
    if isinstance(a, np.ndarray):
        numpy_memory.at_run_time(arrays.m, a)
    if not arrays.m.is_array(a) or a.scalar:
        refuse("copyto", "into something that is no array,")
    return a


@_named("add.at")
def add_at(arrays, a, indices, b):
    """Every place as often as it is named."""
    a = _written(arrays, a)
    call, places = arrays.call, indices if isinstance(indices, tuple) else (indices,)
    places = [_to(arrays, _value(arrays, p), torch.int64) if not isinstance(p, slice) else None for p in places]
    value = _value(arrays, b)
    if (any(p is None for p in places) or value.dtype != a.tensor.dtype
            and value.dtype.is_floating_point > a.tensor.dtype.is_floating_point):
        refuse("add.at", "of such places, or of floats into integers,")
    call(torch.Tensor.index_put_, a.tensor, places, _to(arrays, value, a.tensor.dtype), accumulate=True)


def _reducing(name: str, by: str) -> None:
    @_named(f"{name}.reduce")
    def reduce(arrays, array, axis=0, keepdims=False):
        return arrays.function(getattr(np, by), (array,),
                               {"axis": axis, "keepdims": keepdims} if keepdims else {"axis": axis})


for _ufunc, _by in {"add": "sum", "maximum": "max", "minimum": "min", "multiply": "prod", "logical_or": "any",
                    "logical_and": "all"}.items():
    _reducing(_ufunc, _by)


def _accumulating(name: str, fn: Callable) -> None:
    @_named(f"{name}.accumulate")
    def accumulate(arrays, array, axis=0):
        t = _value(arrays, array)
        if fn in (torch.cumsum, torch.cumprod) and not t.dtype.is_floating_point and t.dtype != torch.int64:
            refuse(f"{name}.accumulate", "of small integers")
        found = arrays.call(fn, t, axis)
        return RtArray(found if isinstance(found, torch.Tensor) else found[0])


for _ufunc, _torch in {"add": torch.cumsum, "multiply": torch.cumprod, "maximum": torch.cummax,
                       "minimum": torch.cummin}.items():
    _accumulating(_ufunc, _torch)


def _between_all(name: str) -> None:
    @_named(f"{name}.outer")
    def between_all(arrays, A, B):
        x, y = _value(arrays, A), _value(arrays, B)
        column = arrays.call(torch.reshape, x, (*x.shape, *(1,) * y.dim()))
        return arrays.function(getattr(np, name), (RtArray(column), B), {})


for _ufunc in ("add", "subtract", "multiply", "maximum", "minimum", "equal", "less", "greater"):
    _between_all(_ufunc)
