# SPDX-License-Identifier: Apache-2.0
"""numpy functions over arrays known only at run time that are more than one torch function of the same arguments.

Each takes `arrays` (arrays.py), then the caller's arguments; a signature that does not fit is a refusal. Where numpy and torch
differ (NaN, ties, dtypes, what is a plain int) the result is numpy's, or the call is refused.
"""

from __future__ import annotations

from typing import Any, Callable

import torch

from .diagnostics import CaptureRefusal

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
        return arrays.m.recorder.call(torch.flatten, (t,), {}), 0
    return t, axis


def _floats(arrays, name: str, x: Any) -> torch.Tensor:
    t = arrays.tensor(x)
    if not isinstance(t, torch.Tensor) or not t.dtype.is_floating_point:
        refuse(name, "of integers")
    return t


@_named("argsort")
def argsort(arrays, x, axis=-1, kind=None):
    t, dim = _along(arrays, x, axis)
    return arrays.wrap(arrays.m.recorder.call(torch.argsort, (t,), {"dim": dim, "stable": True}))


@_named("sort")
def sort(arrays, x, axis=-1, kind=None):
    t, dim = _along(arrays, x, axis)
    return arrays.wrap(arrays.m.recorder.call(torch.sort, (t,), {"dim": dim, "stable": True})[0])


@_named("clip")
def clip(arrays, x, a_min=None, a_max=None):
    t = arrays.tensor(x)
    for bound in (a_min, a_max):
        if not (bound is None or type(bound) is int or type(bound) is float and t.dtype.is_floating_point):
            refuse("clip", "of or between other numbers")
    return arrays.wrap(arrays.m.recorder.call(torch.clamp, (t, a_min, a_max), {}))


@_named("cumsum")
def cumsum(arrays, x, axis=None):
    t, dim = _along(arrays, x, axis)
    if t.dtype in _SMALL:
        refuse("cumsum", "of small integers")
    return arrays.wrap(arrays.m.recorder.call(torch.cumsum, (t, dim), {}))


@_named("prod")
def prod(arrays, x, axis=None):
    t, dim = _along(arrays, x, axis)
    if t.dtype in _SMALL:
        refuse("prod", "of small integers")
    return arrays.wrap(arrays.m.recorder.call(torch.prod, (t, dim), {}))


@_named("std")
def std(arrays, x, axis=None, ddof=0):
    t = _floats(arrays, "std", x)
    return arrays.wrap(arrays.m.recorder.call(torch.std, (t, axis), {"correction": ddof}))


@_named("var")
def var(arrays, x, axis=None, ddof=0):
    t = _floats(arrays, "var", x)
    return arrays.wrap(arrays.m.recorder.call(torch.var, (t, axis), {"correction": ddof}))


@_named("expand_dims")
def expand_dims(arrays, x, axis):
    if type(axis) is not int:
        refuse("expand_dims", "of several axes of arrays")
    return arrays.wrap(arrays.m.recorder.call(torch.unsqueeze, (arrays.tensor(x), axis), {}))


@_named("squeeze")
def squeeze(arrays, x, axis=None):
    t = arrays.tensor(x)
    if axis is not None and (type(axis) is not int or t.shape[axis] != 1):
        refuse("squeeze", "of such axes of arrays")
    return arrays.wrap(arrays.m.recorder.call(torch.squeeze, (t,) if axis is None else (t, axis), {}))


@_named("reshape")
def reshape(arrays, x, shape):
    return arrays.wrap(arrays.m.recorder.call(torch.reshape, (arrays.tensor(x), shape if isinstance(shape, (list, tuple)) else (
        shape,)), {}))


@_named("ravel")
def ravel(arrays, x):
    return arrays.wrap(arrays.m.recorder.call(torch.flatten, (arrays.tensor(x),), {}))


@_named("transpose")
def transpose(arrays, x, axes=None):
    t = arrays.tensor(x)
    return arrays.wrap(arrays.m.recorder.call(torch.permute, (t, tuple(axes) if axes else tuple(reversed(range(t.dim())))), {}))


@_named("flip")
def flip(arrays, x, axis=None):
    t = arrays.tensor(x)
    dims = tuple(range(t.dim())) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return arrays.wrap(arrays.m.recorder.call(torch.flip, (t, dims), {}))


@_named("dot", "matmul")
def dot(arrays, a, b):
    x, y = arrays.tensor(a), arrays.tensor(b)
    if not (isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor)) or x.dtype != y.dtype or not (
            1 <= x.dim() <= 2 and 1 <= y.dim() <= 2):
        refuse("dot", "of such arrays")
    return arrays.wrap(arrays.m.recorder.call(torch.matmul, (x, y), {}))


@_named("count_nonzero")
def count_nonzero(arrays, x, axis=None):
    return arrays.wrap(arrays.m.recorder.call(torch.count_nonzero, (arrays.tensor(x), axis), {}))


@_named("nonzero")
def nonzero(arrays, x):
    return tuple(arrays.wrap(t) for t in arrays.m.recorder.call(torch.nonzero, (arrays.tensor(x),), {"as_tuple": True}))


@_named("flatnonzero")
def flatnonzero(arrays, x):
    t = arrays.m.recorder.call(torch.flatten, (arrays.tensor(x),), {})
    return arrays.wrap(arrays.m.recorder.call(torch.nonzero, (t,), {"as_tuple": True})[0])


@_named("argwhere")
def argwhere(arrays, x):
    return arrays.wrap(arrays.m.recorder.call(torch.argwhere, (arrays.tensor(x),), {}))


@_named("zeros_like")
def zeros_like(arrays, x):
    return arrays.wrap(arrays.m.recorder.call(torch.zeros_like, (arrays.tensor(x),), {}))


@_named("ones_like")
def ones_like(arrays, x):
    return arrays.wrap(arrays.m.recorder.call(torch.ones_like, (arrays.tensor(x),), {}))


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


@_named("unique")
def unique(arrays, x):
    return arrays.wrap(arrays.m.recorder.call(torch.unique, (arrays.tensor(x),), {}))


@_named("norm")
def norm(arrays, x):
    return arrays.wrap(arrays.m.recorder.call(torch.linalg.vector_norm, (_floats(arrays, "linalg.norm", x),), {}))
