# SPDX-License-Identifier: Apache-2.0
"""Ops that torch itself does not have for some dtypes: argmax of bools, topk of bools,
writes by index of another dtype.

Fake tensors let them through and an engine may well compute them; eager raises. `missing_kernel` asks torch, by
running the op once on ones of the node's types. Asked of ops on bools and integers, or on several dtypes, only: a model
in half precision may be one that this machine's eager does not run at all.
"""

from __future__ import annotations

import re
from typing import Any

import torch

from ...objects import mapped
from ..graph.program import AtenNode, TensorType, Value

_MISSING = re.compile(r"not (implemented|supported|support)[^\n]*(Bool|Long|Int|Short|Char|Byte|bool|int)"
                      r"|dtypes? match|same d?type|scalar type|Expected dtype|target dtype|expected BoolTensor|only "
                      r"support floating point|with a bool tensor")
_MOST_ELEMENTS = 1 << 16


def missing_kernel(node: AtenNode) -> str:
    """What torch says if it has no kernel for the node's dtypes; empty if it has one, or if that is not found out."""
    values = _tensors_of((node.args, node.kwargs), [])
    dtypes = {v.type.dtype for v in values}
    if (len(dtypes) < 2 and all(dtype.is_floating_point or dtype.is_complex for dtype in dtypes)
            or torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())):
        return ""
    try:
        args, kwargs = mapped(_one, node.args), mapped(_one, node.kwargs)
        with torch.no_grad():
            node.target(*args, **kwargs)
    except (RuntimeError, TypeError, IndexError) as error:  # NotImplementedError is a RuntimeError
        text = str(error).split("\n")[0]
        return text if _MISSING.search(text) else ""
    except Exception:  # the ones do not suit the op
        return ""
    return ""


class _Unsuitable(Exception):
    pass


def _tensors_of(tree: Any, found: list) -> list:
    if isinstance(tree, Value):
        if isinstance(tree.type, TensorType):
            found.append(tree)
    elif isinstance(tree, (list, tuple)):
        for x in tree:
            _tensors_of(x, found)
    elif isinstance(tree, dict):
        for x in tree.values():
            _tensors_of(x, found)
    return found


def _one(x: Any) -> Any:
    if not isinstance(x, Value):
        return x
    if not isinstance(x.type, TensorType):
        return 1
    shape = [d if isinstance(d, int) else 2 for d in x.type.shape]
    if torch.Size(shape).numel() > _MOST_ELEMENTS:
        raise _Unsuitable
    return torch.ones(shape, dtype=x.type.dtype)
