# SPDX-License-Identifier: Apache-2.0
"""numpy functions that reckon with places in arrays: an index of all elements, and one for each axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .algebra import must_hold
from .functions import _named, refuse

_INDICES = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


@_named("unravel_index")
def unravel_index(arrays, indices, shape, order="C"):
    rest, sizes = _index(arrays, "unravel_index", indices), _sizes(arrays, shape)
    if order != "C":
        refuse("unravel_index", "in Fortran order, of an index")
    call, zero, places = arrays.call, arrays.m.scalar_tensor(0, torch.int64), []
    inside = rest
    for size in reversed(sizes):
        places.append(call(torch.remainder, rest, size))
        rest = call(torch.div, rest, size, rounding_mode="floor")
    fits = call(torch.logical_and, call(torch.ge, inside, zero), call(torch.eq, rest, zero))
    must_hold(arrays, call(torch.all, fits), ValueError, "index is out of bounds for array with its size")
    return tuple(arrays.wrap(t) for t in reversed(places))


@_named("ravel_multi_index")
def ravel_multi_index(arrays, multi_index, dims):
    call, sizes = arrays.call, _sizes(arrays, dims)
    parts = arrays.rows(multi_index) if arrays.m.is_array(multi_index) else multi_index
    parts = [_index(arrays, "ravel_multi_index", x) for x in parts]
    if len(parts) != len(sizes):
        raise ValueError("parameter multi_index must be a sequence of length " + str(len(sizes)))
    total, zero = arrays.m.scalar_tensor(0, torch.int64), arrays.m.scalar_tensor(0, torch.int64)
    for part, size in zip(parts, sizes):
        fits = call(torch.logical_and, call(torch.ge, part, zero), call(torch.lt, part, size))
        must_hold(arrays, call(torch.all, fits), ValueError, "invalid entry in coordinates array")
        total = call(torch.add, call(torch.mul, total, size), part)
    return arrays.wrap(total)


def _index(arrays, name: str, x: Any) -> torch.Tensor:
    t = arrays.value(x)
    if t.dtype not in _INDICES:
        refuse(name, "of such numbers")
    return arrays.call(torch.Tensor.to, t, torch.int64)


def _sizes(arrays, shape: Any) -> list[torch.Tensor]:
    shape = shape if isinstance(shape, (list, tuple)) else (shape,)
    return [arrays.call(torch.Tensor.to, arrays.value(n), torch.int64) for n in shape]


def _triangle(name: str, of: Any) -> None:
    @_named(name)
    def indices(arrays, n, k=0, m=None):
        rows, columns = (arrays.m.tensor_item(arrays.tensor(x)) if arrays.m.is_array(x)
                         else int(x) if isinstance(x, np.integer) else x for x in (n, n if m is None else m))
        if type(k) is not int:
            refuse(name, "with a diagonal")
        found = arrays.call(of, rows, columns, k)
        return tuple(arrays.wrap(t) for t in arrays.call(torch.unbind, found))


_triangle("triu_indices", torch.triu_indices)
_triangle("tril_indices", torch.tril_indices)
