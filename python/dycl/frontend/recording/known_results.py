# SPDX-License-Identifier: Apache-2.0
"""Ops whose result's shape depends on contents that are known while capturing.

nonzero of a constant mask, repeat_interleave by constant counts: evaluated at once, so that the shape
is a plain one. What was looked at is noted like every static read.
"""

from __future__ import annotations

from typing import Any

import torch

from ..graph.known_values import is_known
from ..torch_internals import tree_iter, tree_map_only
from ..values.native_entries import natively
from .schema import bind

aten = torch.ops.aten


def evaluated(recorder, func, args: tuple, kwargs: dict) -> Any:
    """The result as constants, or NotImplemented if an operand is not known."""
    tensors = [x for x in tree_iter((args, kwargs)) if isinstance(x, torch.Tensor)]
    if recorder.is_symbolic((args, kwargs)) or not all(is_known(recorder.value_of(x)) for x in tensors):
        return NotImplemented
    real_args, real_kwargs = tree_map_only(torch.Tensor, recorder.numbers.static, (args, kwargs))
    with torch.no_grad(), recorder.without_modes():
        result = natively(func, *real_args, **real_kwargs)
    return tree_map_only(torch.Tensor, recorder.real.constant_handle, result)


def with_dim_from_the_front(func, args: tuple, kwargs: dict) -> tuple:
    """Torch's rules for the shape of distinct slices take a negative dim for another."""
    if func.overloadpacket not in (aten.unique_dim, aten.unique_consecutive):
        return args, kwargs
    given = bind(func, args, kwargs)
    x, dim = given["self"], given.get("dim")
    if dim is None or not x.dim():
        return args, kwargs
    if not -x.dim() <= dim < x.dim():
        raise IndexError(f"Dimension out of range (expected to be in range of [{-x.dim()}, {x.dim() - 1}], "
                         f"but got {dim})")
    return (x,), {**{name: value for name, value in given.items() if name != "self"}, "dim": dim % x.dim()}


def without_known_masks(recorder, func, args: tuple) -> tuple:
    """x[mask] with a known mask: the mask becomes the indices of its true elements."""
    if func.overloadpacket is not aten.index:
        return args
    indices: list = []
    for index in args[1]:
        real = recorder.numbers.static(index) if _is_mask(index) and is_known(recorder.value_of(index)) else None
        if real is None:
            indices.append(index)
            continue
        with recorder.without_modes():
            places = torch.nonzero(real, as_tuple=True)
        indices += [recorder.real.constant_handle(p) for p in places]
    return (args[0], indices, *args[2:])


def _is_mask(index: Any) -> bool:
    return isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8)
