# SPDX-License-Identifier: Apache-2.0
"""Slices of tensors between numbers known only at run time, where their length is known all the same: x[j:j + 1]."""

from __future__ import annotations

from typing import Any

import torch

from .values import RtInt


def narrow(m, tensor: Any, key: Any) -> tuple[Any, Any]:
    """The tensor narrowed by such slices, and the subscript that is left. Others stay as they are."""
    keys = key if isinstance(key, tuple) else (key,)
    if not any(isinstance(k, slice) and (isinstance(k.start, RtInt) or isinstance(k.stop, RtInt)) for k in keys):
        return tensor, key
    left = list(keys)
    for axis, k in enumerate(keys):  # one subscript to a dim, up to one that is several or none
        if not isinstance(k, (slice, int, RtInt)) or isinstance(k, bool) or axis >= tensor.dim():
            break
        length = _length(m, k, tensor.shape[axis]) if isinstance(k, slice) else None
        if length is not None:
            tensor = m.recorder.call(torch.narrow, (tensor, axis, k.start, length), {})
            left[axis] = slice(None)
    return tensor, tuple(left) if isinstance(key, tuple) else left[0]


def _length(m, bounds: slice, extent: Any) -> int | None:
    """Known, and all of it inside the tensor."""
    if bounds.step not in (None, 1) or type(extent) is not int or not isinstance(bounds.start, RtInt):
        return None
    if not isinstance(bounds.stop, RtInt):
        return None
    symbols = m.recorder.symbols
    length = symbols.difference(bounds.stop, bounds.start)
    least, greatest = symbols.least(bounds.start), symbols.greatest(bounds.stop)
    if length is None or length < 0 or least is None or least < 0 or greatest is None or greatest > extent:
        return None
    return length
