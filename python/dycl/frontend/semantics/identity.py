# SPDX-License-Identifier: Apache-2.0
"""`is` for values that only an execution tells apart, and sizes as the program sees them."""

from __future__ import annotations

from typing import Any

from ..state.interpreter import Interpreter
from ..values.stand_in import deciding


def sizes(m: Interpreter, extents: tuple) -> tuple:
    """A torch.Size of these."""
    return m.size_type.of(extents)


def same_object(m: Interpreter, a: Any, b: Any) -> bool:
    own = deciding(a, b)
    found = own.is_same(m, a, b) if own is not None else NotImplemented
    if found is not NotImplemented:
        return found
    if a is not b and type(a) is type(b) and m.heap.fragile:
        for x in (a, b):
            if x in m.heap.fragile:
                m.heap.refuse_fragile(x)
    return a is b
