# SPDX-License-Identifier: Apache-2.0
"""einx's functions of elements, whose axes have names, written out in torch where extents are known only at run time.

einx compiles a call for the extents it sees, so it needs plain numbers. Patterns of names alone need none: each
operand's axes are put in the result's order. Other patterns stay einx's, which refuses what it cannot know.
"""

from __future__ import annotations

import sys
from typing import Any, Callable

import torch

from ..semantics import registry

_FUNCTIONS: dict[str, Callable] = {
    "add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "true_divide": torch.true_divide,
    "divide": torch.true_divide, "maximum": torch.maximum, "minimum": torch.minimum, "equal": torch.eq,
    "not_equal": torch.ne, "less": torch.lt, "less_equal": torch.le, "greater": torch.gt, "greater_equal": torch.ge,
    "logical_and": torch.logical_and, "logical_or": torch.logical_or, "where": torch.where,
}


@registry.rewrites("einx")
def written_out(fn: Any, args: tuple, kwargs: dict) -> Callable | None:
    """The call as a function of nothing, or None."""
    op = _FUNCTIONS.get(fn.__name__) if fn.__module__.startswith("einx.") else None
    if op is None or kwargs or not _are_pattern_and_tensors(args, 3 if op is torch.where else 2):
        return None
    tensors, found = args[1:], _parse(args[0])
    if found is None or [len(names) for names in found[0]] != [t.dim() for t in tensors]:
        return None
    inputs, output = found

    def compute():
        extents: dict = {}
        for names, t in zip(inputs, tensors):
            for name, extent in zip(names, t.shape):
                if extents.setdefault(name, extent) != extent or extent < 1:  # einx takes no empty axis
                    raise _axis_size_error(f"Failed to determine the size of the axis {name}")
        return op(*(_aligned(t, names, output) for names, t in zip(inputs, tensors)))

    return compute


def _are_pattern_and_tensors(args: tuple, count: int) -> bool:
    return len(args) == 1 + count and isinstance(args[0], str) and all(isinstance(t, torch.Tensor) for t in args[1:])


def _axis_size_error(text: str) -> Exception:
    cls = getattr(getattr(sys.modules.get("einx"), "errors", None), "AxisSizeError", ValueError)
    return cls.__new__(cls, text)


def _parse(pattern: str) -> tuple[list[list[str]], list[str]] | None:
    left, arrow, right = pattern.partition("->")
    inputs = [part.split() for part in left.split(",")]
    everything = {name for names in inputs for name in names}
    if not all(name.isidentifier() for name in everything) or any(len(set(names)) != len(names) for names in inputs):
        return None
    if arrow:
        output = right.split()
    else:
        whole = [names for names in inputs if set(names) == everything]
        if not whole or any(names != whole[0] for names in whole):
            return None
        output = whole[0]
    return (inputs, output) if set(output) == everything and len(output) == len(everything) else None


def _aligned(t: torch.Tensor, names: list[str], output: list[str]) -> torch.Tensor:
    t = t.permute([names.index(name) for name in output if name in names])
    for k, name in enumerate(output):
        if name not in names:
            t = t.unsqueeze(k)
    return t
