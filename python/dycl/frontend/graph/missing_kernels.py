# SPDX-License-Identifier: Apache-2.0
"""Ops that torch itself does not have for some dtypes: argmax of bools, losses of integers,
writes by index of another dtype.

Fake tensors let them through and an engine may well compute them; eager raises. `missing_kernel` asks torch, by
running the op once on ones of the types at hand, and once more on ones of one other dtype if torch raises: what it
takes there it rejects for its dtypes, whatever it says. Masks stay masks: with them the shapes would change. Asked of
ops on bools and integers, or on several dtypes, only: a model in half precision may be one that this machine's eager
does not run at all.
"""

from __future__ import annotations

import re
from typing import Any

import torch

from ...objects import mapped
from ..torch_internals import tree_iter, without_modes
from .program import ScalarType, TensorType

_MISSING = re.compile(r"not (implemented|supported|support)[^\n]*(Bool|Long|Int|Short|Char|Byte|bool|int)"
                      r"|dtypes? match|same d?type|scalar type|Expected dtype|target dtype|expected BoolTensor|only "
                      r"support floating point|with a bool tensor")
_HALF = re.compile("Half|BFloat16")
_OTHERS = (torch.float32, torch.int64)
_OF_MASKS = {torch.bool, torch.uint8}
_MOST_ELEMENTS = 1 << 16


class _Unsuitable(Exception):
    pass


def missing_kernel(target: Any, args: tuple, kwargs: dict) -> Exception | None:
    """What torch raises if it has no kernel for those dtypes; None if it has one, or if that is not found out. Types
    stand where the op takes tensors and numbers that only the run knows."""
    dtypes = {x.dtype for x in tree_iter((args, kwargs)) if isinstance(x, TensorType)}
    if (len(dtypes) < 2 and all(dtype.is_floating_point or dtype.is_complex for dtype in dtypes)
            or torch.Tag.nondeterministic_seeded in getattr(target, "tags", ())):
        return None
    try:
        error = _raised(target, args, kwargs, {})
        if error is None or _HALF.search(str(error)):
            return None
        changed = dtypes - _OF_MASKS or dtypes
        blamed = _MISSING.search(str(error).split("\n")[0]) or any(
            _raised(target, args, kwargs, dict.fromkeys(changed, other)) is None for other in (*dtypes, *_OTHERS))
    except Exception:  # the ones do not suit the op
        return None
    return error if blamed else None


def _raised(target: Any, args: tuple, kwargs: dict, instead: dict) -> Exception | None:
    """What torch raises if the op computes on ones, of other dtypes instead of some."""
    def one(x: Any) -> Any:
        if isinstance(x, TensorType):
            return _ones(x, instead.get(x.dtype, x.dtype))
        return 1 if isinstance(x, ScalarType) else x

    with torch.no_grad(), without_modes():
        args, kwargs = mapped(one, args), mapped(one, kwargs)
        try:
            target(*args, **kwargs)
        except (RuntimeError, TypeError, IndexError) as error:  # NotImplementedError is a RuntimeError
            return error
    return None


def _ones(kind: TensorType, dtype: torch.dtype) -> torch.Tensor:
    shape = [d if isinstance(d, int) else 2 for d in kind.shape]
    if torch.Size(shape).numel() > _MOST_ELEMENTS:
        raise _Unsuitable
    return torch.ones(shape, dtype=dtype)
