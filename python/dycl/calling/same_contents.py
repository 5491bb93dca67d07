# SPDX-License-Identifier: Apache-2.0
"""Whether two values hold the same: what a guard, a snapshot and a remembered choice ask.

Contents are compared, with their types: NaN is the same as NaN, -0.0 is not 0.0, True is not 1. Modules and functions
are the same only as themselves. Never fails: what cannot be compared is not the same.
"""

from __future__ import annotations

import array
import math
import types
from typing import Any, Callable

import numpy as np
import torch

_THEMSELVES = (torch.nn.Module, types.FunctionType, types.ModuleType, type)


def same(a: Any, b: Any, above: tuple = ()) -> bool:
    """`above`: the objects that hold these, which they may hold in turn."""
    if a is b:
        return True
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return _same_tensors(a, b)
    if isinstance(a, types.MethodType) and isinstance(b, types.MethodType):  # made anew wherever it is looked up
        return a.__self__ is b.__self__ and a.__func__ is b.__func__
    if type(a) is not type(b) or isinstance(a, _THEMSELVES):
        return False
    compare = next((how for kind, how in _BY_KIND if isinstance(a, kind)), None)
    if compare is not None:
        return compare(a, b, above)
    if _of_attributes(type(a)) and hasattr(a, "__dict__"):
        return any(a is x for x in above) or same(vars(a), vars(b), (*above, a))
    try:
        return bool(a == b)
    except Exception:
        return False


def _same_floats(a: float, b: float, above: tuple) -> bool:
    return a != a and b != b or a == b and math.copysign(1.0, a) == math.copysign(1.0, b)


def _same_items(a: Any, b: Any, above: tuple) -> bool:
    return len(a) == len(b) and all(same(x, y, above) for x, y in zip(a, b))


def _same_entries(a: dict, b: dict, above: tuple) -> bool:
    return list(a) == list(b) and all(same(a[k], b[k], above) for k in a)


def _same_arrays(a: np.ndarray, b: np.ndarray, above: tuple) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


_BY_KIND: tuple[tuple[Any, Callable[..., bool]], ...] = (
    (float, _same_floats), ((list, tuple), _same_items), (dict, _same_entries), (np.ndarray, _same_arrays),
    (array.array, lambda a, b, above: a.typecode == b.typecode and a.tobytes() == b.tobytes()))


def _same_tensors(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape or a.device != b.device:
        return False
    if not (a.is_floating_point() or a.is_complex()):
        return torch.equal(a, b)
    return bool(((a == b) | (a.isnan() & b.isnan())).all())


def _of_attributes(cls: type) -> bool:
    """Instances are all that their attributes are: every class above is written in Python."""
    return all(base is object or base.__flags__ & (1 << 9) and not base.__dict__.get("__slots__")
               for base in cls.__mro__)
