# SPDX-License-Identifier: Apache-2.0
"""Where a model keeps one of its objects before the first call."""

from __future__ import annotations

from typing import Any, Iterator

import numpy as np
import torch

from ....objects import plain_object
from ...state.kinds import contents_of, is_fixed, kind_of_object

_DEEPEST = 6  # containers in containers, from a module down


def homes(heap: Any, model: Any, wanted: Any) -> list[tuple[Any, Any]]:
    """(owner, key) of the attributes, entries and elements that hold it."""
    return [(owner, key) for owner, key, value in _places(heap, model) if value is wanted]


def only_home(heap: Any, model: Any, wanted: Any) -> tuple[Any, Any] | None:
    """The only one, if calls can put something else there."""
    found = homes(heap, model, wanted)
    return found[0] if len(found) == 1 and not (isinstance(found[0][0], tuple) or is_fixed(found[0][0])) else None


def sharing_memory(heap: Any, model: Any, array: np.ndarray) -> list:
    """Other arrays and tensors of the model in the memory of an array."""
    def shares(x: Any) -> bool:
        if isinstance(x, torch.Tensor) and not x.is_meta and x.layout is torch.strided and x.device.type == "cpu":
            x = x.detach().untyped_storage()
            first = array.__array_interface__["data"][0]
            return x.data_ptr() < first + array.nbytes and first < x.data_ptr() + x.nbytes()
        return isinstance(x, np.ndarray) and x is not array and np.may_share_memory(x, array)

    return [value for _, _, value in _places(heap, model) if shares(value)]


def _places(heap: Any, model: Any) -> Iterator[tuple[Any, Any, Any]]:
    """(owner, key, value) of all attributes, entries and elements."""
    root = getattr(model, "__self__", model)
    seen: set[int] = set()
    work = [(module, 0) for module in (root.modules() if isinstance(root, torch.nn.Module) else [root])]
    while work:
        holder, depth = work.pop()
        if id(holder) in seen or depth > _DEEPEST:
            continue
        seen.add(id(holder))
        for key, value in _entries(heap, holder):
            yield holder, key, value
            if isinstance(value, (list, dict, tuple)) or is_fixed(value) or plain_object(value):
                work.append((value, depth + 1))


def _entries(heap: Any, holder: Any) -> list:
    if isinstance(holder, tuple):
        return list(enumerate(holder))
    if is_fixed(holder):
        return [(None, value) for value in kind_of_object(type(holder)).inside(holder) or ()]
    contents = heap.pristine[id(holder)] if id(holder) in heap.objects else contents_of(holder)
    if isinstance(holder, dict):
        return list(contents[0])
    if isinstance(holder, list):
        return list(enumerate(contents))
    return list((contents[0] or {}).items())
