# SPDX-License-Identifier: Apache-2.0
"""Indexing with integers known only at run time.

torch's own indexing does the rest; here runtime integers, and 0-d integer tensors (which torch reads
as integers too), are taken out of the index first, each by a `select` of its dim. A 0-d bool tensor,
which torch would read as well, becomes a mask of one element over a new dim.
"""

from __future__ import annotations

from typing import Any

import torch

from ..diagnostics import CaptureRefusal
from . import packed_sequences


def get(recorder, tensor: torch.Tensor, index: Any) -> Any:
    if not isinstance(tensor, torch.Tensor):
        return NotImplemented
    batch = packed_sequences.first_batch_size(recorder, tensor, index)
    if batch is not NotImplemented:
        return batch
    chosen, rest = _take_integers(recorder, tensor, index)
    if chosen is None:
        return NotImplemented
    return chosen if rest is None else recorder.calls.native(torch.Tensor.__getitem__, (chosen, rest), {})


def set(recorder, tensor: torch.Tensor, index: Any, value: Any) -> Any:
    if not isinstance(tensor, torch.Tensor):
        return NotImplemented
    masks = [item for item in (index if isinstance(index, tuple) else (index,)) if isinstance(item, torch.Tensor)]
    if (len(masks) == 1 and masks[0].dtype == torch.uint8
            and (not isinstance(value, torch.Tensor) or value.shape.numel() == 1)):
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype unsigned char")
    chosen, rest = _take_integers(recorder, tensor, index)
    if chosen is None:
        return NotImplemented
    rest = (Ellipsis,) if rest is None else rest
    return recorder.calls.native(torch.Tensor.__setitem__, (chosen, rest, value), {})


def _take_integers(recorder, tensor: torch.Tensor, index: Any) -> tuple[Any, Any]:
    """(the tensor with the runtime integers selected, the index without them); (None, None): none there."""
    items = list(index) if isinstance(index, tuple) else [index]
    items = [_as_number(recorder, _as_mask(recorder, item)) for item in items]
    if any(isinstance(item, torch.SymBool) for item in items):
        raise CaptureRefusal("a bool known only at run time as an index", "use a tensor mask", kind="index.bool")
    tensor, items = _widen_masks(recorder, tensor, items)
    if not any(isinstance(item, torch.SymInt) for item in items):
        changed = any(a is not b for a, b in zip(items, index if isinstance(index, tuple) else [index]))
        return (tensor, tuple(items)) if changed else (None, None)
    dims = _dims_of(items, tensor.dim())
    chosen = tensor
    for item, dim in reversed(list(zip(items, dims))):
        if isinstance(item, torch.SymInt):
            chosen = recorder.calls.native(torch.select, (chosen, dim, item), {})
    rest = tuple(item for item in items if not isinstance(item, torch.SymInt))
    return chosen, None if all(map(_is_whole, rest)) else rest


def _is_whole(item: Any) -> bool:
    """It takes all that is there: `...` or `:`."""
    return item is Ellipsis or isinstance(item, slice) and item == slice(None)


def _widen_masks(recorder, tensor: torch.Tensor, items: list) -> tuple[torch.Tensor, list]:
    if not any(_is_flag(item) for item in items):
        return tensor, items
    items = list(items)
    for i, dim in reversed(list(enumerate(_dims_of(items, tensor.dim())))):
        if _is_flag(items[i]):
            tensor = recorder.calls.native(torch.unsqueeze, (tensor, dim), {})
            items[i] = recorder.calls.native(torch.Tensor.view, (items[i], 1), {})
    return tensor, items


def _is_flag(item: Any) -> bool:
    return isinstance(item, torch.Tensor) and item.dim() == 0 and item.dtype in (torch.bool, torch.uint8)


def _as_mask(recorder, item: Any) -> Any:
    """Bytes are masks as well. torch's rule for shapes takes neither them nor floats in its kernels' way."""
    if isinstance(item, torch.Tensor) and item.dtype == torch.uint8:
        return recorder.calls.native(torch.Tensor.bool, (item,), {})
    if isinstance(item, torch.Tensor) and item.dtype not in _INDICES:
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return item


_INDICES = (torch.int64, torch.int32, torch.uint8, torch.bool)


def _as_number(recorder, item: Any) -> Any:
    if isinstance(item, torch.Tensor) and item.dim() == 0 and not item.dtype.is_floating_point:
        if item.dtype not in (torch.bool, torch.uint8):
            number = recorder.numbers.item(item)
            return recorder.symbols.to_symbolic(number)
    return item


def _dims_of(items: list, rank: int) -> list[int | None]:
    """The dim of the tensor that each item of the index starts at."""
    used = sum(_width(item) for item in items)
    dims, dim = [], 0
    for item in items:
        dims.append(dim)
        dim += rank - used if item is Ellipsis else _width(item)
    if used > rank:
        raise IndexError(f"too many indices for tensor of dimension {rank}")
    return dims


def _width(item: Any) -> int:
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if isinstance(item, torch.Tensor) and item.dtype in (torch.bool, torch.uint8):
        return item.dim()
    return 1
