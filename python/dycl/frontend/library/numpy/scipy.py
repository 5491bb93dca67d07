# SPDX-License-Identifier: Apache-2.0
"""Functions of scipy over arrays known only at run time: those that filters, trackers and decoders call between layers.

As in library/numpy/functions.py. The names are looked up under the part of scipy that the function says it belongs to.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable

import numpy as np
import torch

from ....objects import within
from ...diagnostics import CaptureRefusal
from ...semantics import registry
from ...values.array import RtArray
from .functions import _parts, _to, refuse

_TABLE: dict[str, Callable] = {}


def _named(name: str) -> Callable:
    def add(fn: Callable) -> Callable:
        _TABLE[name] = fn
        return fn

    return add


@registry.finds_in("scipy.")
def find(fn: Any) -> Callable | None:
    """The handler of a function of scipy's, or None."""
    module = (getattr(fn, "__module__", None) or "").split(".")
    known = _TABLE.get(".".join((*module[1:2], getattr(fn, "__name__", "?")))) if module[0] == "scipy" else None
    return functools.partial(_call, known) if known is not None else None


def _call(known: Callable, m: Any, s: Any, args: tuple, kwargs: dict) -> Any:
    if not any(m.is_array(x) for x in within((args, tuple(kwargs.values())), kinds=(list, tuple))):
        return NotImplemented
    try:
        inspect.signature(known).bind(m.arrays, *args, **kwargs)
    except TypeError:
        refuse(known.__name__, "(of scipy) with such arguments, of arrays")
    return known(m.arrays, *args, **kwargs)


def _floats(arrays, *given: Any) -> list[torch.Tensor]:
    return [t if t.dtype in (torch.float32, torch.float64) else _to(arrays, t, torch.float64)
            for t in _parts(arrays, given)]


# ---- scipy.special ---------------------------------------------------------------------------------


def _over(t: torch.Tensor, axis: Any, name: str) -> Any:
    if axis is None:
        return tuple(range(t.dim()))
    return axis if type(axis) is int else refuse(name, "along several axes of arrays")


@_named("special.softmax")
def softmax(arrays, x, axis=None):
    return _normalised(arrays, x, axis, torch.softmax)


@_named("special.log_softmax")
def log_softmax(arrays, x, axis=None):
    return _normalised(arrays, x, axis, torch.log_softmax)


def _normalised(arrays, x: Any, axis: Any, fn: Callable) -> RtArray:
    call, (t,) = arrays.call, _floats(arrays, x)
    if axis is not None:
        return RtArray(call(fn, t, _over(t, axis, "softmax")))
    return RtArray(call(torch.reshape, call(fn, call(torch.flatten, t), 0), tuple(t.shape)))


@_named("special.logsumexp")
def logsumexp(arrays, a, axis=None, keepdims=False):
    (t,) = _floats(arrays, a)
    return arrays.wrap(arrays.call(torch.logsumexp, t, _over(t, axis, "logsumexp"), bool(keepdims)))


# ---- scipy.linalg ----------------------------------------------------------------------------------


def _finite(arrays, check: bool, *tensors: torch.Tensor) -> None:
    call = arrays.call
    if arrays.m.may_catch(ValueError, np.linalg.LinAlgError):
        raise CaptureRefusal("scipy.linalg in a `try` that would catch its failure at run time",
                             "test the matrix first", kind="try")
    for t in tensors if check else ():
        good = arrays.m.tensor_item(call(torch.all, call(torch.isfinite, t)))
        if not isinstance(good, bool):
            arrays.m.recorder.check(good.value, "array must not contain infs or NaNs", "ValueError")


def _matrix(t: torch.Tensor, name: str) -> None:
    if t.dim() != 2:
        refuse(name, "(of scipy) of batches")


@_named("linalg.solve_triangular")
def solve_triangular(arrays, a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True):
    x, y = _floats(arrays, a, b)
    _matrix(x, "solve_triangular")
    _finite(arrays, check_finite, x, y)
    call, flat = arrays.call, y.dim() == 1
    if trans not in (0, 1, "N", "T"):
        refuse("solve_triangular", "of such a kind, of arrays")
    turned = trans in (1, "T")
    x = call(torch.transpose, x, 0, 1) if turned else x
    y = call(torch.unsqueeze, y, 1) if flat else y
    found = call(torch.linalg.solve_triangular, x, y, upper=bool(lower) == turned, unitriangular=bool(unit_diagonal))
    return RtArray(call(torch.squeeze, found, 1) if flat else found)


@_named("linalg.cho_factor")
def cho_factor(arrays, a, lower=False, overwrite_a=False, check_finite=True):
    (t,) = _floats(arrays, a)
    _matrix(t, "cho_factor")
    _finite(arrays, check_finite, t)
    call = arrays.call
    own = call(torch.tril if lower else torch.triu, t)  # the other half is not looked at
    own = own if lower else call(torch.transpose, own, 0, 1)
    factor = call(torch.linalg.cholesky, _both_halves(call, own))
    factor = factor if lower else call(torch.transpose, factor, 0, 1)
    rest = call(torch.triu if lower else torch.tril, t, 1 if lower else -1)  # and stays as it was
    return RtArray(call(torch.add, factor, rest)), bool(lower)


def _both_halves(call: Callable, low: torch.Tensor) -> torch.Tensor:
    below = call(torch.tril, low, -1)
    return call(torch.add, low, call(torch.transpose, below, 0, 1))


@_named("linalg.cho_solve")
def cho_solve(arrays, c_and_lower, b, overwrite_b=False, check_finite=True):
    c, lower = c_and_lower
    lower = bool(lower)
    first = solve_triangular(arrays, c, b, 0 if lower else 1, lower, check_finite=check_finite)
    return solve_triangular(arrays, c, first, 1 if lower else 0, lower, check_finite=False)


@_named("linalg.inv")
def inv(arrays, a, overwrite_a=False, check_finite=True):
    (t,) = _floats(arrays, a)
    _finite(arrays, check_finite, t)
    return RtArray(arrays.call(torch.linalg.inv, t))


@_named("linalg.solve")
def solve(arrays, a, b, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True):
    x, y = _floats(arrays, a, b)
    _matrix(x, "solve")
    _finite(arrays, check_finite, x, y)
    return RtArray(arrays.call(torch.linalg.solve, x, y))


# ---- scipy.spatial ---------------------------------------------------------------------------------


@_named("spatial.cdist")
def cdist(arrays, XA, XB, metric="euclidean"):
    call = arrays.call
    x, y = (_to(arrays, t, torch.float64) for t in _floats(arrays, XA, XB))
    if metric == "cosine":
        x, y = (call(torch.div, t, call(torch.linalg.vector_norm, t, 2, 1, True)) for t in (x, y))
        return RtArray(call(torch.sub, 1, call(torch.matmul, x, call(torch.transpose, y, 0, 1))))
    if metric not in ("euclidean", "sqeuclidean", "cityblock"):
        refuse("cdist", "(of scipy) by such a distance, of arrays")
    apart = call(torch.sub, call(torch.unsqueeze, x, 1), call(torch.unsqueeze, y, 0))
    if metric == "cityblock":
        return RtArray(call(torch.sum, call(torch.abs, apart), 2))
    squares = call(torch.sum, call(torch.square, apart), 2)
    return RtArray(squares if metric == "sqeuclidean" else call(torch.sqrt, squares))
