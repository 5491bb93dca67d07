# SPDX-License-Identifier: Apache-2.0
"""What belongs to a model: objects reached from it and its arguments through attributes, containers and closures.

A dict that a library fills elsewhere (an option looked up, a message made on the way to an exception) is that library's
cache, not a state of the model.
"""

from __future__ import annotations

import functools
import types
from typing import Any, Iterable

import torch

from ...objects import IdentityDict, closed_over, reached

_LEAVES = (type(None), bool, int, float, complex, str, bytes, torch.Tensor, torch.dtype,
           torch.device, type, types.ModuleType, types.BuiltinFunctionType, types.CodeType)


def owned(roots: Iterable[Any]) -> IdentityDict:
    """The objects that belong to the roots, as keys."""
    return reached(roots, _parts)


def _parts(obj: Any) -> list | None:
    if isinstance(obj, _LEAVES):
        return None
    if isinstance(obj, types.MethodType):
        return [obj.__self__, obj.__func__]
    if isinstance(obj, types.FunctionType):
        cells = [x for x in closed_over(obj) if x is not None]
        return [*cells, *(obj.__defaults__ or ()), *(obj.__kwdefaults__ or {}).values()]
    if isinstance(obj, functools.partial):
        return [obj.func, *obj.args, *obj.keywords.values()]
    parts: list = []
    if isinstance(obj, dict):
        parts += dict.values(obj)
    elif isinstance(obj, (list, tuple, set, frozenset)):
        parts += list(obj)
    own = getattr(obj, "__dict__", None)
    return [*parts, own] if isinstance(own, dict) else parts
