# SPDX-License-Identifier: Apache-2.0
"""numpy functions over arrays known only at run time that are more than one torch function of the same arguments.

Each takes `arrays` (library/numpy/arrays.py), then the caller's arguments; a signature that does not fit is a refusal.
Where numpy and torch differ (NaN, ties, dtypes, what is a plain int) the result is numpy's, or the call is refused.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable

import numpy as np
import torch

from ...diagnostics import CaptureRefusal
from ...values.array import RtArray, promoted, torch_dtype
from ...values.scalar import kind_of
from ...values.stand_in import made_stand_in, stand_in_of
from . import indexing

_SMALL = (torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)
TABLE: dict[str, Callable] = {}


def _named(*names: str) -> Callable:
    def add(fn: Callable) -> Callable:
        TABLE.update(dict.fromkeys(names, fn))
        return fn

    return add


def refuse(name: str, why: str) -> None:
    raise CaptureRefusal(f"numpy.{name} {why} known only at run time", "use torch", kind="numpy")


def _along(arrays, x: Any, axis: Any) -> tuple[torch.Tensor, int]:
    """The tensor and the dim; without an axis all elements in a row."""
    t = arrays.tensor(x)
    if axis is None:
        return arrays.call(torch.flatten, t), 0
    return t, axis


def _wide_along(arrays, name: str, x: Any, axis: Any) -> tuple[torch.Tensor, int]:
    t, dim = _along(arrays, x, axis)
    if t.dtype in _SMALL:
        refuse(name, "of small integers")
    return t, dim


def _floats(arrays, name: str, x: Any) -> torch.Tensor:
    t = arrays.tensor(x)
    if not isinstance(t, torch.Tensor) or not t.dtype.is_floating_point:
        refuse(name, "of integers")
    return t


@_named("argsort")
def argsort(arrays, x, axis=-1, kind=None):
    t, dim = _along(arrays, x, axis)
    values, places = arrays.call(torch.sort, t, dim=dim, stable=True)
    if kind not in ("stable", "mergesort"):
        _refuse_ties(arrays, values, dim)
    return arrays.wrap(places)


def _refuse_ties(arrays, ordered: torch.Tensor, dim: int) -> None:
    """In which order numpy's other sorts leave equal elements depends on the machine:
    the run fails where there are some."""
    call = arrays.call
    if ordered.dim() == 0:
        return
    front = (slice(None),) * (dim % ordered.dim())
    before, after = (call(torch.Tensor.__getitem__, ordered, (*front, part))
                     for part in (slice(None, -1), slice(1, None)))
    alike = call(torch.eq, before, after)
    if ordered.dtype.is_floating_point:
        alike = call(torch.logical_or, alike, call(torch.isnan, before))
    apart = arrays.m.tensor_item(call(torch.logical_not, call(torch.any, alike)))
    arrays.m.recorder.check(apart.value,
                            "numpy.argsort of equal elements: their order depends on the machine; pass kind=\"stable\"",
                            "RuntimeError")


@_named("sort")
def sort(arrays, x, axis=-1, kind=None):
    t, dim = _along(arrays, x, axis)
    return arrays.wrap(arrays.call(torch.sort, t, dim=dim, stable=True)[0])


@_named("clip")
def clip(arrays, x, a_min=None, a_max=None):
    t = _value(arrays, x)
    bounds = [_bound(arrays, bound, t) for bound in (a_min, a_max)]
    if any(isinstance(bound, torch.Tensor) for bound in bounds):
        bounds = [bound if bound is None else _to(arrays, _value(arrays, bound), t.dtype) for bound in bounds]
    return arrays.wrap(arrays.call(torch.clamp, t, *bounds))


def _bound(arrays, x: Any, t: torch.Tensor) -> Any:
    """A number that goes into t's dtype, as numpy has it; one known only at run time as a tensor."""
    kind = None if x is None or arrays.m.is_array(x) else kind_of(x) or type(x).__name__
    fits = kind == "int" or kind == "float" and t.dtype.is_floating_point
    if arrays.m.is_array(x) and x.tensor.dtype == t.dtype:
        return x.tensor
    if x is not None and not (fits and t.dtype != torch.bool):
        refuse("clip", "of or between other numbers")
    _check_numbers(arrays, x, t.dtype)
    return arrays.m.scalar_tensor(x, t.dtype) if made_stand_in(x) is not None else x


@_named("expand_dims")
def expand_dims(arrays, x, axis):
    if type(axis) is not int:
        refuse("expand_dims", "of several axes of arrays")
    return arrays.view(x, arrays.call(torch.unsqueeze, arrays.tensor(x), axis))


@_named("squeeze")
def squeeze(arrays, x, axis=None):
    t = arrays.tensor(x)
    if axis is not None and (type(axis) is not int or t.shape[axis] != 1):
        refuse("squeeze", "of such axes of arrays")
    return arrays.view(x, arrays.call(torch.squeeze, t, *(() if axis is None else (axis,))))


@_named("reshape")
def reshape(arrays, x, shape):
    shape = tuple(_extent(arrays, n) for n in (shape if isinstance(shape, (list, tuple)) else (shape,)))
    return arrays.view(x, arrays.call(torch.reshape, arrays.tensor(x), shape))


@_named("ravel")
def ravel(arrays, x):
    t = arrays.call(torch.Tensor.contiguous, arrays.tensor(x))
    return arrays.view(x, arrays.call(torch.flatten, t))


@_named("transpose")
def transpose(arrays, x, axes=None):
    t = arrays.tensor(x)
    return arrays.view(x, arrays.call(torch.permute, t, tuple(axes) if axes else tuple(reversed(range(t.dim())))))


@_named("flip")
def flip(arrays, x, axis=None):
    t = arrays.tensor(x)
    dims = tuple(range(t.dim())) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    flipped = arrays.call(torch.flip, t, dims)
    return indexing.backwards(arrays, x, flipped) if arrays.m.is_array(x) else arrays.wrap(flipped)


@_named("dot", "matmul")
def dot(arrays, a, b):
    x, y = arrays.tensor(a), arrays.tensor(b)
    if not (isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor)) or x.dtype != y.dtype or not (
            1 <= x.dim() <= 2 and 1 <= y.dim() <= 2):
        refuse("dot", "of such arrays")
    return arrays.wrap(arrays.call(torch.matmul, x, y))


@_named("nonzero")
def nonzero(arrays, x):
    return tuple(arrays.wrap(t) for t in arrays.call(torch.nonzero, arrays.tensor(x), as_tuple=True))


@_named("flatnonzero")
def flatnonzero(arrays, x):
    t = arrays.call(torch.flatten, arrays.tensor(x))
    return arrays.wrap(arrays.call(torch.nonzero, t, as_tuple=True)[0])


def _extent(arrays, n: Any) -> Any:
    """A size as torch takes it."""
    if arrays.m.is_array(n):
        return arrays.m.tensor_item(n.tensor)
    return arrays.m.tensor_item(n) if isinstance(n, torch.Tensor) else int(n) if isinstance(n, np.integer) else n


def _filled(arrays, shape: Any, value: Any, dtype: torch.dtype) -> Any:
    shape = tuple(_extent(arrays, n) for n in (shape if isinstance(shape, (list, tuple)) else (shape,)))
    made = arrays.call(torch.zeros, shape, dtype=dtype)
    if value is not None:
        arrays.call(torch.Tensor.copy_, made, arrays.call(torch.Tensor.expand_as, value, made))
    return RtArray(made)


@_named("zeros", "empty")
def zeros(arrays, shape, dtype=float, order="C"):
    return _filled(arrays, shape, None, torch_dtype(dtype))


@_named("ones")
def ones(arrays, shape, dtype=float, order="C"):
    return _filled(arrays, shape, arrays.m.scalar_tensor(1, torch_dtype(dtype)), torch_dtype(dtype))


@_named("full")
def full(arrays, shape, fill_value, dtype=None):
    value = _value(arrays, fill_value)
    dtype = value.dtype if dtype is None else torch_dtype(dtype)
    _check_numbers(arrays, fill_value, dtype)
    return _filled(arrays, shape, _to(arrays, value, dtype), dtype)


def _value(arrays, x: Any) -> torch.Tensor:
    """A number as numpy would have it in an array."""
    return arrays.value(x)


def _check_numbers(arrays, x: Any, dtype: torch.dtype) -> None:
    """Python's integers in an array must fit its dtype."""
    for item in x if isinstance(x, (list, tuple)) else ():
        _check_numbers(arrays, item, dtype)
    arrays.check_number(x, dtype)


def _to(arrays, t: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return t if t.dtype == dtype else arrays.call(torch.Tensor.to, t, dtype)


@_named("full_like")
def full_like(arrays, x, fill_value, dtype=None):
    made = TABLE["zeros_like"](arrays, x, dtype)
    arrays.set_item(made, Ellipsis, fill_value)
    return made


@_named("arange")
def arange(arrays, start, stop=None, step=1, dtype=None):
    start, stop = (0, start) if stop is None else (start, stop)
    parts = [arrays.m.tensor_item(arrays.tensor(n)) if arrays.m.is_array(n) or isinstance(n, torch.Tensor) else n
             for n in (start, stop, step)]
    parts = [n.item() if isinstance(n, np.generic) else n for n in parts]
    kinds = {kind_of(n) for n in parts}
    if "float" in kinds and kinds <= {"int", "float"} and dtype in (None, float, np.float64):
        return _floats_between(arrays, *parts)
    if kinds != {"int"} or type(parts[2]) is not int or dtype not in (None, int, np.int64):
        refuse("arange", "of such numbers, or with a step that is")
    return _range(arrays, parts)


def _floats_between(arrays, start: Any, stop: Any, step: Any) -> Any:
    """numpy's rule: the count is rounded up, and each number is computed from the first and the difference to the
    second."""
    call, double = arrays.call, torch.float64
    start, stop, step = (arrays.m.scalar_tensor(n, double) for n in (start, stop, step))
    count = call(torch.ceil, call(torch.div, call(torch.sub, stop, start), step))
    places = arrays.m.tensor_item(call(torch.Tensor.to, call(torch.clamp, count, min=0), torch.int64))
    apart = call(torch.sub, call(torch.add, start, step), start)
    steps = call(torch.arange, places, dtype=double)
    return RtArray(call(torch.add, start, call(torch.mul, steps, apart)))


def _range(arrays, parts: list) -> Any:
    """The numbers of a range, of which torch demands that it does not run the wrong way."""
    start, stop, step = parts
    ends = arrays.m.scalars.compare("le" if step > 0 else "ge", stop, start)
    if ends if isinstance(ends, bool) else arrays.m.decide(ends):
        return RtArray(arrays.call(torch.zeros, 0, dtype=torch.int64))
    return RtArray(arrays.call(torch.arange, start, stop, step, dtype=torch.int64))


@_named("array")
def array(arrays, x, dtype=None, copy=True):
    if arrays.m.is_array(x):
        made = RtArray(arrays.call(torch.clone, x.tensor))
    elif isinstance(x, torch.Tensor):
        made = RtArray(arrays.call(torch.clone, x))
    else:
        made = RtArray(_value(arrays, x))
        if dtype is not None:
            _check_numbers(arrays, x, torch_dtype(dtype))
    return made if dtype is None else arrays.converted(made, dtype, False)


@_named("asarray", "asanyarray")
def asarray(arrays, x, dtype=None):
    if isinstance(x, torch.Tensor):
        x = RtArray(x)
    if not arrays.m.is_array(x) or x.scalar:
        return array(arrays, x, dtype)
    return x if dtype is None else arrays.converted(x, dtype, False)


@_named("ascontiguousarray")
def ascontiguousarray(arrays, x, dtype=None):
    made = asarray(arrays, x, dtype)
    t = arrays.call(torch.Tensor.contiguous, made.tensor)
    if made.source is not None:  # a view that runs backwards is not contiguous
        return array(arrays, made)
    return made if t is made.tensor else RtArray(t)


@_named("copy")
def copied(arrays, x):
    return array(arrays, x)


def _parts(arrays, items: Any) -> list[torch.Tensor]:
    """Arrays that go into one, in the dtype that numpy gives it."""
    own = stand_in_of(items)
    items = items if own is None else own.all_items(arrays.m)
    if items is None:
        refuse("stack", "of a list of a length")
    parts = [_value(arrays, x) for x in items]
    common = parts[0].dtype
    for p in parts[1:]:
        common = promoted(common, p.dtype)
    return [_to(arrays, p, common) for p in parts]


@_named("concatenate")
def concatenate(arrays, items, axis=0):
    if arrays.m.is_array(items):
        items = arrays.rows(items)
    parts = _parts(arrays, items)
    if axis is None:
        parts = [arrays.call(torch.flatten, p) for p in parts]
    return RtArray(arrays.call(torch.cat, parts, axis or 0))


@_named("stack")
def stack(arrays, items, axis=0):
    if arrays.m.is_array(items):
        items = arrays.rows(items)
    return RtArray(arrays.call(torch.stack, _parts(arrays, items), axis))


@_named("append")
def append(arrays, x, values, axis=None):
    parts = [arrays.call(torch.flatten, p) if axis is None else p
             for p in _parts(arrays, [x, values])]
    return RtArray(arrays.call(torch.cat, parts, axis or 0))


@_named("round", "around")
def rounded(arrays, x, decimals=0):
    t, call = _floats(arrays, "round", x), arrays.call
    if decimals == 0:
        return arrays.wrap(call(torch.round, t))
    if type(decimals) is not int or abs(decimals) > 22 or t.dtype not in (torch.float32, torch.float64):
        refuse("round", "to these decimals, of numbers")
    # as numpy does it, in the numbers' own precision
    there, back = (torch.mul, torch.div) if decimals > 0 else (torch.div, torch.mul)
    unit = 10.0 ** abs(decimals)
    return arrays.wrap(call(back, call(torch.round, call(there, t, unit)), unit))


@_named("repeat")
def repeat(arrays, x, repeats, axis=None):
    t, dim = _along(arrays, x, axis)
    repeats = _as_counts(arrays, repeats)
    return RtArray(arrays.call(torch.repeat_interleave, t, repeats, dim))


def _as_counts(arrays, x: Any) -> Any:
    x = arrays.tensor(x)
    return _to(arrays, x, torch.int64) if isinstance(x, torch.Tensor) else x


@_named("tile")
def tile(arrays, x, reps):
    return RtArray(
        arrays.call(torch.tile, _value(arrays, x), tuple(reps) if isinstance(reps, (list, tuple)) else (reps,))
    )


@_named("take")
def take(arrays, x, indices, axis=None):
    t, dim = _along(arrays, x, axis)
    chosen = (slice(None),) * (dim % t.dim()) + (indices,)
    return arrays.get_item(RtArray(t), chosen)


@_named("roll")
def roll(arrays, x, shift, axis=None):
    if type(shift) is not int:
        refuse("roll", "by a number")
    return RtArray(arrays.call(torch.roll, arrays.tensor(x), shift, *(() if axis is None else (axis,))))


@_named("diff")
def diff(arrays, x, n=1, axis=-1):
    t = arrays.tensor(x)
    if t.dtype == torch.bool or type(n) is not int:
        refuse("diff", "of truth values")
    return RtArray(arrays.call(torch.diff, t, n=n, dim=axis))


@_named("searchsorted")
def searchsorted(arrays, a, v, side="left"):
    x, y = _parts(arrays, [a, v])
    return arrays.wrap(arrays.call(torch.searchsorted, x, y, side=side))


@_named("bincount")
def bincount(arrays, x, *, minlength=0):
    return RtArray(arrays.call(torch.bincount, _to(arrays, arrays.tensor(x), torch.int64), minlength=minlength))


@_named("pad")
def pad(arrays, x, pad_width, mode="constant", constant_values=0):
    t = arrays.tensor(x)
    pairs = _widths(pad_width, t.dim())
    fits = type(constant_values) is int or type(constant_values) is float and t.dtype.is_floating_point
    if mode != "constant" or len(pairs) != t.dim() or not fits or not all(type(n) is int for p in pairs for n in p):
        refuse("pad", "of such arguments, of arrays")
    widths = [n for p in reversed(pairs) for n in p]
    return RtArray(arrays.call(torch.nn.functional.pad, t, widths, value=constant_values))


def _widths(given: Any, axes: int) -> list[tuple]:
    """Before and after each axis; nothing if numpy's rules are of no use here."""
    given = (given, given) if isinstance(given, int) else given
    pairs = [tuple(p) if isinstance(p, (list, tuple)) else p for p in given] if isinstance(given, (list, tuple)) else []
    if len(pairs) == 2 and all(type(p) is int for p in pairs):
        pairs = [tuple(pairs)]
    pairs = pairs * axes if len(pairs) == 1 else pairs
    return pairs if all(isinstance(p, tuple) and len(p) == 2 for p in pairs) else []


@_named("fill_diagonal")
def fill_diagonal(arrays, x, val):
    if (not arrays.m.is_array(x) or x.tensor.dim() != 2 or x.tensor.shape[0] != x.tensor.shape[1]
            or type(x.tensor.shape[0]) is not int):
        refuse("fill_diagonal", "of arrays whose extents are")
    places = list(range(x.tensor.shape[0]))
    arrays.set_item(x, (places, places), val)


@_named("insert")
def insert(arrays, x, obj, values):
    t = arrays.tensor(x)
    if (not isinstance(t, torch.Tensor) or t.dim() != 1 or type(obj) is not int or obj < 0
            or not isinstance(values, (bool, int, float))):
        refuse("insert", "of such arguments, into arrays")
    value = arrays.call(torch.reshape, _to(arrays, _value(arrays, values), t.dtype), (1,))
    first, last = (arrays.subscripts.get_item(arrays.m, arrays.m.current, t, k)
                   for k in (slice(None, obj), slice(obj, None)))
    return RtArray(arrays.call(torch.cat, [first, value, last]))


@_named("isin", "in1d")
def isin(arrays, element, test_elements, *, invert=False):
    x, y = _parts(arrays, [element, test_elements])
    return arrays.wrap(arrays.call(torch.isin, x, y, invert=bool(invert)))


def _operation(op: str, arrays, a, b):
    return arrays.binary(op, a, b, False)


def _comparison(op: str, arrays, a, b):
    return arrays.compare(op, a, b)


TABLE.update({name: functools.partial(_operation, op) for name, op in {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "true_divide": "truediv",
    "power": "pow", "mod": "mod", "remainder": "mod", "floor_divide": "floordiv", "bitwise_and": "and",
    "bitwise_or": "or", "bitwise_xor": "xor"}.items()})
TABLE.update({name: functools.partial(_comparison, op) for name, op in {
    "equal": "eq", "not_equal": "ne", "greater": "gt", "greater_equal": "ge", "less": "lt",
    "less_equal": "le"}.items()})


@_named("negative")
def negative(arrays, x):
    return arrays.unary("neg", x) if arrays.m.is_array(x) else refuse("negative", "of such values")


@_named("array_equal")
def array_equal(arrays, a, b):
    x, y = arrays.tensor(a), arrays.tensor(b)
    if not (isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor)) or tuple(x.shape) != tuple(y.shape):
        refuse("array_equal", "of arrays whose extents are")
    same = arrays.call(torch.all, arrays.compare("eq", a, b).tensor)
    return arrays.m.tensor_item(same)


@_named("shape")
def shape(arrays, x):
    if arrays.m.is_array(x):
        return arrays.attribute(x, "shape")
    t = arrays.tensor(x)
    return arrays.m.recorder.attribute(t, "shape") if isinstance(t, torch.Tensor) else ()


@_named("ndim")
def ndim(arrays, x):
    t = arrays.tensor(x)
    return t.dim() if isinstance(t, torch.Tensor) else 0


# ---- functions that hand over to one of torch -----------------------------------------------------------


def simple(names: str, fn: Callable, takes: str, operands: Callable | None = None, gives: Callable = RtArray,
           **others: Any) -> None:
    """Rows for numpy's functions `names`, which are torch's `fn`. They take `takes`, of which `operands(arrays, name,
    ...)` makes tensors, and `others`, which torch takes as they are (...: no default). `gives` makes their result: an
    array, a number where it has no axes (`wrapped`), or an array that looks at the memory of the first (`viewed`)."""
    parts = takes.split()
    parameters = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=others.get(n, ...))
                  for n in dict.fromkeys((*parts, *others))]
    signature = inspect.Signature([p if p.default is not ... else p.replace(default=p.empty) for p in parameters])

    def row(name: str) -> Callable:
        def handler(arrays, *args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            given = [bound.arguments.pop(n) for n in parts]
            tensors = operands(arrays, name, *given) if operands is not None else map(arrays.tensor, given)
            rest = tuple(bound.arguments.values())
            found = arrays.call(fn, *tensors, *(() if rest == (None,) else rest))
            return RtArray(found) if gives is RtArray else gives(arrays, given[0], found)

        handler.__signature__ = signature.replace(parameters=[_ARRAYS, *signature.parameters.values()])
        return handler

    TABLE.update((name, row(name)) for name in names.split())


_ARRAYS = inspect.Parameter("arrays", inspect.Parameter.POSITIONAL_ONLY)


def wrapped(arrays, first: Any, found: torch.Tensor) -> Any:
    return arrays.wrap(found)


def viewed(arrays, first: Any, found: torch.Tensor) -> RtArray:
    return arrays.view(first, found)


def _values(arrays, name: str, *given: Any) -> list[torch.Tensor]:
    return [_value(arrays, x) for x in given]


def alike(arrays, name: str, *given: Any) -> list[torch.Tensor]:
    return _parts(arrays, given)


def _listed(arrays, name: str, items: Any) -> tuple[list[torch.Tensor]]:
    return (_parts(arrays, arrays.rows(items) if arrays.m.is_array(items) else items),)


def _in_rows(arrays, name: str, *given: Any) -> list[torch.Tensor]:
    return [arrays.call(torch.flatten, t) for t in _parts(arrays, given)]


def _floats_along(arrays, name: str, x: Any, axis: Any) -> tuple[torch.Tensor, int]:
    return _along(arrays, RtArray(_floats(arrays, name, x)), axis)


simple("argmax", torch.argmax, "x", gives=wrapped, axis=None)
simple("argmin", torch.argmin, "x", gives=wrapped, axis=None)
simple("triu", torch.triu, "x", k=0)
simple("tril", torch.tril, "x", k=0)
simple("argwhere", torch.argwhere, "x", gives=wrapped)
simple("count_nonzero", torch.count_nonzero, "x", gives=wrapped, axis=None)
simple("cumsum", torch.cumsum, "x axis", _wide_along, wrapped, axis=None)
simple("prod", torch.prod, "x axis", _wide_along, wrapped, axis=None)
simple("cumprod", torch.cumprod, "a axis", _floats_along, wrapped, axis=None)
simple("nansum", torch.nansum, "a axis", _floats_along, wrapped, axis=None)
simple("nanmean", torch.nanmean, "a axis", _floats_along, wrapped, axis=None)
simple("vstack", torch.vstack, "items", _listed)
simple("hstack", torch.hstack, "items", _listed)
simple("dstack", torch.dstack, "items", _listed)
simple("column_stack", torch.column_stack, "items", _listed)
simple("outer linalg.outer", torch.outer, "a b", _in_rows)
simple("kron", torch.kron, "a b", alike)
simple("swapaxes", torch.transpose, "x", gives=viewed, axis1=..., axis2=...)
simple("moveaxis", torch.movedim, "x", gives=viewed, source=..., destination=...)
simple("diagonal", torch.diagonal, "a", _values, viewed, offset=0, axis1=0, axis2=1)
simple("atleast_1d", torch.atleast_1d, "x", _values, viewed)
simple("atleast_2d", torch.atleast_2d, "x", _values, viewed)
simple("atleast_3d", torch.atleast_3d, "x", _values, viewed)


def _reduced(arrays, fn: Callable, t: torch.Tensor, axis: Any, keepdims: bool) -> Any:
    if axis is None and not keepdims:
        return arrays.wrap(arrays.call(fn, t))
    axis = tuple(range(t.dim())) if axis is None else axis
    return arrays.wrap(arrays.call(fn, t, axis, keepdim=bool(keepdims)))


@_named("mean")
def mean(arrays, x, axis=None, *, keepdims=False):
    t = arrays.tensor(x)
    t = t if t.dtype.is_floating_point else arrays.call(torch.Tensor.to, t, torch.float64)
    return _reduced(arrays, torch.mean, t, axis, keepdims)


def _extreme(names: tuple, of_all: Callable, along: Callable) -> None:
    @_named(*names)
    def extreme(arrays, x, axis=None, *, keepdims=False):
        whole = axis is None and not keepdims
        return _reduced(arrays, of_all if whole else along, arrays.tensor(x), axis, keepdims)


def _over(name: str, fn: Callable) -> None:
    @_named(name)
    def over(arrays, x, axis=None, *, keepdims=False):
        t = arrays.tensor(x)
        t = t if name == "sum" or t.dtype == torch.bool else arrays.call(torch.ne, t, 0)
        return _reduced(arrays, fn, t, axis, keepdims)


_extreme(("max", "amax"), torch.max, torch.amax)
_extreme(("min", "amin"), torch.min, torch.amin)
for _name in ("sum", "any", "all"):
    _over(_name, getattr(torch, _name))


def _spread(name: str, fn: Callable) -> None:
    @_named(name)
    def spread(arrays, x, axis=None, *, ddof=0):
        return arrays.wrap(arrays.call(fn, _floats(arrays, name, x), axis, correction=ddof))


def _like(names: tuple, fn: Callable) -> None:
    @_named(*names)
    def like(arrays, x, dtype=None):
        t = arrays.tensor(x)
        return RtArray(arrays.call(fn, t, dtype=t.dtype if dtype is None else torch_dtype(dtype)))


_spread("std", torch.std)
_spread("var", torch.var)
_like(("zeros_like", "empty_like"), torch.zeros_like)
_like(("ones_like",), torch.ones_like)
