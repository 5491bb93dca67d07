# SPDX-License-Identifier: Apache-2.0
"""Forms of results that torch takes milliseconds to work out: layers of common kinds over contiguous float32 tensors.

A rule gives the extents of the (contiguous) result, or None where it does not plainly apply: torch then answers, and
says what is wrong with the arguments. Tensors come as (extents, strides, offset, dtype), checked to be contiguous.
"""

from __future__ import annotations

import math
from typing import Any, Callable

import torch

aten = torch.ops.aten


def contiguous_strides(shape: tuple) -> tuple:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def result_shape(func: Any, args: tuple, kwargs: dict) -> tuple | None:
    """The extents of func's one result, contiguous and float32; None: ask torch."""
    rule = _RULES.get(func)
    if rule is None or kwargs:
        return None
    try:
        return rule(*[_plain(x) for x in args])
    except _Unsure:
        return None


class _Unsure(Exception):
    pass


def _plain(x: Any) -> Any:
    """A tensor by its extents."""
    if isinstance(x, torch.Tensor):
        shape = _Shape(x.shape)
        if x.dtype is not torch.float32 or 0 in shape or x.stride() != contiguous_strides(shape):
            raise _Unsure
        return shape
    if isinstance(x, list) and x and isinstance(x[0], torch.Tensor):
        return [_plain(y) for y in x]
    return x


class _Shape(tuple):
    """Extents of a tensor."""


def _same(x: Any, *rest: Any) -> Any:
    return x if isinstance(x, _Shape) and not rest else None


def _batch_norm(x, weight, bias, mean, variance, training, momentum, eps, cudnn) -> Any:
    of_channels = [mean, variance, *(y for y in (weight, bias) if y is not None)]
    return x if len(x) > 1 and training is False and all(y == (x[1],) for y in of_channels) else None


def _convolution(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1) -> Any:
    n = len(weight) - 2
    if n < 1 or len(x) != n + 2 or isinstance(padding, str) or bias not in (None, weight[:1]):
        return None
    if groups < 1 or x[1] != weight[1] * groups or weight[0] % groups:
        return None
    stride, padding, dilation = (_spread(y, n) for y in (stride, padding, dilation))
    if min(*stride, *dilation) < 1 or min(padding) < 0:
        return None
    sizes = [(x[k + 2] + 2 * padding[k] - dilation[k] * (weight[k + 2] - 1) - 1) // stride[k] + 1 for k in range(n)]
    return (x[0], weight[0], *sizes) if min(sizes) > 0 else None


def _spread(y: Any, n: int) -> list:
    values = list(y) if isinstance(y, (list, tuple)) else [y]
    values = values * n if len(values) == 1 else values
    if len(values) != n or not all(type(v) is int for v in values):
        raise _Unsure
    return values


def _bilinear(x, size, align_corners, factors=None) -> Any:
    return _resized(x, size, factors)


def _resized(x, size, factors=None) -> Any:
    if len(x) != 4 or (size is None) == (factors is None):
        return None
    out = list(size) if factors is None else [math.trunc(extent * factor) for extent, factor in zip(x[2:], factors)]
    return (*x[:2], *out) if len(out) == 2 and all(type(extent) is int and extent > 0 for extent in out) else None


def _joined(parts, dim=0) -> Any:
    if not parts:
        return None
    first = parts[0]
    if type(dim) is not int or not -len(first) <= dim < len(first):
        return None
    dim %= len(first)
    rest = lambda shape: (shape[:dim], shape[dim + 1:])
    if any(len(p) != len(first) or rest(p) != rest(first) for p in parts):
        return None
    return (*first[:dim], sum(p[dim] for p in parts), *first[dim + 1:])


_RULES: dict[Any, Callable] = {
    aten.batch_norm.default: _batch_norm,
    **{getattr(aten, f"conv{n}d").default: _convolution for n in (1, 2)},
    aten.upsample_bilinear2d.vec: _bilinear,
    aten.upsample_nearest2d.vec: _resized,
    aten.cat.default: _joined,
    **{op: _same for op in (aten.relu.default, aten.sigmoid.default, aten.tanh.default)},
}
