# SPDX-License-Identifier: Apache-2.0
"""Lists that attributes hold from call to call, in the live module: their elements as columns, and back."""

from __future__ import annotations

from typing import Any

import torch

from .templates import Made, Template


class ListState:
    """The example's list, the kind of its elements and their template."""

    def __init__(self, first: list, kind: tuple, element: Template):
        self.first, self.kind, self.element = first, kind, element


# ---- in the live module ----------------------------------------------------------------------------


def column(state: ListState, items: Any, place: int) -> list | None:
    """The values of one leaf of all elements; None: not such a list."""
    if type(items) is not list:
        return None
    rows: list[Any] = [_leaves(x, state.kind) for x in items]
    return None if None in rows else [row[place] for row in rows]


def _leaves(x: Any, kind: tuple) -> list | None:
    if kind[0] in ("tuple", "list", "dict"):
        wanted: Any = kind[1] if kind[0] == "tuple" else dict if kind[0] == "dict" else list
        if type(x) is not wanted or len(x) != len(kind[2]) or kind[0] == "dict" and tuple(x) != kind[1]:
            return None
        parts: list[Any] = [_leaves(y, k) for y, k in zip(x.values() if kind[0] == "dict" else x, kind[2])]
        return None if None in parts else [leaf for part in parts for leaf in part]
    if kind[0] == "const":
        return [] if type(x) is type(kind[1]) and x == kind[1] else None
    if kind[0] == "tensor":
        return [x.detach()] if isinstance(x, torch.Tensor) and _fits(x, kind[1]) else None
    return [x] if type(x).__name__ == kind[0] else None


def _fits(x: torch.Tensor, type_: Any) -> bool:
    return (x.dtype == type_.dtype and x.dim() == len(type_.shape)
            and all(not isinstance(d, int) or d == n for d, n in zip(type_.shape, x.shape)))


def items(state: ListState, columns: list) -> list:
    """The elements again."""
    return [state.element.rebuild(iter(row), Made()) for row in zip(*columns)]
