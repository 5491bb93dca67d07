# SPDX-License-Identifier: Apache-2.0
"""Integers that lie in a known range because of what computes them: positions (argmax, topk, sort), remainders, clamps.

A number read from such a tensor is then bounded: `x[j:j + 1]` has one row, and a dict may be keyed by it.
"""

from __future__ import annotations

from typing import Any, cast

import torch

from .program import AtenNode, HostNode, TensorType, Value

ALONG_A_DIM = {"argmax", "argmin", "argsort"}  # their result: positions along a dim
# their second
ALONG_A_DIM_SECOND = {"topk", "sort", "max", "min", "kthvalue", "mode", "median", "nanmedian", "cummax", "cummin"}
_REARRANGED = {"select", "view", "_unsafe_view", "reshape", "squeeze", "unsqueeze", "alias", "clone",
               "expand", "slice", "index", "index_select", "gather", "flatten", "permute", "transpose", "t",
               "contiguous", "detach", "narrow", "flip", "repeat", "unbind", "split", "chunk",
               "lift_fresh", "lift_fresh_copy"}
_DEEPEST = 12


def element_range(value: Value, producers: dict[Value, Any], depth: int = 0) -> tuple[int, int] | None:
    """(least, greatest) of a tensor's elements, where that is known whatever the inputs are."""
    node = producers.get(value)
    if not isinstance(node, AtenNode) or depth > _DEEPEST or not _is_integer(value):
        return None
    name = node.target._schema.name.partition("::")[2]
    number = node.outputs.index(value)
    if name in ALONG_A_DIM or name in ALONG_A_DIM_SECOND and number == 1:
        return _along(node)
    if name in _REARRANGED:
        source = node.args[0] if node.args else None
        return element_range(source, producers, depth + 1) if isinstance(source, Value) else None
    if name == "_to_copy":
        found = element_range(node.args[0], producers, depth + 1)
        return found if found and found[1] <= torch.iinfo(cast(TensorType, value.type).dtype).max else None
    if (name == "remainder" and len(node.args) == 2 and type(node.args[1]) is int and node.args[1] > 0
            and _is_integer(node.args[0])):
        return 0, node.args[1] - 1
    if name == "clamp" and _is_integer(node.args[0]):
        low, high = (*node.args[1:], None, None)[:2]
        low, high = node.kwargs.get("min", low), node.kwargs.get("max", high)
        return (low, high) if type(low) is int and type(high) is int and low <= high else None
    return None


def clamped(number: Value, producers: dict[Value, Any]) -> tuple[int | None, int | None]:
    """The limits between which a float lies that is read from a clamped tensor, towards zero; NaN aside."""
    node = producers.get(number)
    if not isinstance(node, HostNode) or node.op != "item":
        return None, None
    node = producers.get(node.operands[0])
    if not isinstance(node, AtenNode) or node.target._schema.name != "aten::clamp":
        return None, None
    dtype = cast(TensorType, node.outputs[0].type).dtype
    low, high = (float(torch.tensor(x, dtype=dtype)) if type(x) in (int, float) else None
                 for x in (_argument(node, "min"), _argument(node, "max")))
    if low is not None and high is not None and not low <= high:
        return None, None
    least, greatest = (int(x) if x is not None and abs(x) < 2**31 else None for x in (low, high))
    return least, greatest


def _is_integer(value: Any) -> bool:
    return isinstance(value, Value) and isinstance(value.type, TensorType) and (
        value.type.dtype in (torch.int64, torch.int32))


def _along(node: AtenNode) -> tuple[int, int] | None:
    """Positions along a dim of known extent; without a dim, in the flattened tensor."""
    shape = node.args[0].type.shape
    dim = _argument(node, "dim")
    if dim is None:
        extents = shape
    elif type(dim) is int and shape:
        extents = (shape[dim],)
    else:
        return None
    count = 1
    for extent in extents:
        if type(extent) is not int:
            return None
        count *= extent
    return (0, count - 1) if count > 0 else None


def _argument(node: AtenNode, name: str) -> Any:
    for place, argument in enumerate(node.target._schema.arguments):
        if argument.name == name:
            if name in node.kwargs:
                return node.kwargs[name]
            return node.args[place] if place < len(node.args) else argument.default_value
    return None
