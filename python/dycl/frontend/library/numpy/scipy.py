# SPDX-License-Identifier: Apache-2.0
"""Functions of scipy over arrays known only at run time: those that filters, trackers and decoders call between layers.

As in library/numpy/functions.py. The names are looked up under the part of scipy that the function says it belongs to.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable

import torch

from ....objects import within
from ...semantics import registry
from ...values.array import RtArray
from .functions import _parts, _to, refuse

_TABLE: dict[str, Callable] = {}


def named(name: str) -> Callable:
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


def floats(arrays, *given: Any) -> list[torch.Tensor]:
    return [t if t.dtype in (torch.float32, torch.float64) else _to(arrays, t, torch.float64)
            for t in _parts(arrays, given)]


# ---- scipy.special ---------------------------------------------------------------------------------


def _over(t: torch.Tensor, axis: Any, name: str) -> Any:
    if axis is None:
        return tuple(range(t.dim()))
    return axis if type(axis) is int else refuse(name, "along several axes of arrays")


@named("special.softmax")
def softmax(arrays, x, axis=None):
    return _normalised(arrays, x, axis, torch.softmax)


@named("special.log_softmax")
def log_softmax(arrays, x, axis=None):
    return _normalised(arrays, x, axis, torch.log_softmax)


def _normalised(arrays, x: Any, axis: Any, fn: Callable) -> RtArray:
    call, (t,) = arrays.call, floats(arrays, x)
    if axis is not None:
        return RtArray(call(fn, t, _over(t, axis, "softmax")))
    return RtArray(call(torch.reshape, call(fn, call(torch.flatten, t), 0), tuple(t.shape)))


@named("special.logsumexp")
def logsumexp(arrays, a, axis=None, keepdims=False):
    (t,) = floats(arrays, a)
    return arrays.wrap(arrays.call(torch.logsumexp, t, _over(t, axis, "logsumexp"), bool(keepdims)))


# ---- scipy.spatial ---------------------------------------------------------------------------------


@named("spatial.cdist")
def cdist(arrays, XA, XB, metric="euclidean"):
    call = arrays.call
    x, y = (_to(arrays, t, torch.float64) for t in floats(arrays, XA, XB))
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
