# SPDX-License-Identifier: Apache-2.0
"""What all iterators have in common; each is beside what it iterates over, or in state/iterators.py."""

from __future__ import annotations

from typing import Any

from ..diagnostics import CaptureRefusal
from .stand_in import DONE, BoundMethod, StandIn


class RtIterator(StandIn):
    """One place in what is iterated over. `example`: an iterator of the kind that Python gives."""

    __slots__ = ()
    late = False
    keeps_objects = True

    def dycl_merged(self, union: Any, a: Any, b: Any) -> Any:
        return union.items(a, b)

    def truth(self, m: Any) -> Any:
        return True

    def iterate(self, m: Any, s: Any) -> Any:
        return self

    def attribute(self, m: Any, s: Any, name: str) -> Any:
        kind = self.type_of(m)
        if name == "__class__":
            return kind
        if not hasattr(kind, name):
            raise AttributeError(f"'{kind.__name__}' object has no attribute '{name}'")
        if not callable(getattr(kind, name)):
            raise CaptureRefusal(f"{kind.__name__}.{name}", kind="generator")
        return BoundMethod(self, name)

    def call_method(self, m: Any, s: Any, name: str, args: tuple, kwargs: dict) -> Any:
        if name == "__iter__":
            return self
        if name != "__next__":
            raise CaptureRefusal(f"{self.type_of(m).__name__}.{name}", kind="generator")
        return given(self.next_item(m, s, raise_stop, None))


def given(item: Any) -> Any:
    """What next() gives: the item, or PUSHED."""
    if item is DONE:
        raise StopIteration
    return item


def raise_stop(m: Any, s: Any, value: Any) -> None:
    raise StopIteration() if value is None else StopIteration(value)
