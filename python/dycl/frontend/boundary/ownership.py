# SPDX-License-Identifier: Apache-2.0
"""What belongs to a model: objects reached from it and its arguments through attributes, containers and closures.

A dict that a library fills elsewhere (an option looked up, a message made on the way to an exception) is that library's
cache, not a state of the model.
"""

from __future__ import annotations

import types
from typing import Any, Iterable

import torch

from ...objects import IdentityDict, reached
from ..state.kinds import is_fixed, kind_of_object

_LEAVES = (type(None), bool, int, float, complex, str, bytes, torch.Tensor, torch.dtype,
           torch.device, type, types.ModuleType, types.BuiltinFunctionType, types.CodeType)


def owned(roots: Iterable[Any]) -> IdentityDict:
    """The objects that belong to the roots, as keys."""
    return reached(roots, _parts)


def _parts(obj: Any) -> list | None:
    if isinstance(obj, _LEAVES):
        return None
    kind = kind_of_object(type(obj))
    parts = [*(kind.inside(obj) or ())]
    if is_fixed(obj):
        return [*parts, getattr(obj, "__func__", None)]
    own = getattr(obj, "__dict__", None)
    return [*parts, own] if isinstance(own, dict) else parts
