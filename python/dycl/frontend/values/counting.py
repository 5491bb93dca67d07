# SPDX-License-Identifier: Apache-2.0
"""Iterators that count up to a number known only at run time."""

from __future__ import annotations

from typing import Any

from .iterator import RtIterator
from .scalar import RtInt
from .stand_in import DONE


class RtRangeIter(RtIterator):
    __slots__ = ("current", "stop", "step", "first", "__weakref__")

    def __init__(self, current: Any, stop: Any, step: int):
        self.current, self.stop, self.step = current, stop, step
        self.first = current

    def dycl_contents(self) -> tuple:
        return (self.current, self.stop, self.step, self.first)

    def dycl_install(self, contents: tuple) -> None:
        self.current, self.stop, self.step, self.first = contents

    def example(self, m: Any) -> Any:
        return iter(range(0))

    def ends_by_itself(self) -> bool:
        return type(self.stop) is int

    def next_item(self, m: Any, s: Any, exhausted: Any, sent: Any) -> Any:
        if not (_less(m, self.current, self.stop) if self.step > 0 else _less(m, self.stop, self.current)):
            return DONE
        item = self.current
        if isinstance(item, RtInt):
            (first, last), (low, high) = (m.facts.of(x, m.current.ranges) for x in (self.first, self.stop))
            m.facts.narrow(item, *((first, high) if self.step > 0 else (low, last)), m.current.ranges)
        following = _sum(m, item, self.step)
        m.heap.touch(self)
        self.current = following
        return item


class RtTensorIter(RtIterator):
    """Over the first axis of a tensor whose extent is known only at run time."""

    __slots__ = ("tensor", "index", "extent", "__weakref__")

    def __init__(self, tensor: Any, extent: Any):
        self.tensor, self.index, self.extent = tensor, 0, extent

    def dycl_contents(self) -> tuple:
        return (self.tensor, self.index, self.extent)

    def dycl_install(self, contents: tuple) -> None:
        self.tensor, self.index, self.extent = contents

    def example(self, m: Any) -> Any:
        return iter(())

    def next_item(self, m: Any, s: Any, exhausted: Any, sent: Any) -> Any:
        if not _less(m, self.index, self.extent):
            return DONE
        row = m.recorder.call(type(self.tensor).select, (self.tensor, 0, self.index), {})
        following = _sum(m, self.index, 1)
        m.heap.touch(self)
        self.index = following
        return row


def _less(m: Any, a: Any, b: Any) -> bool:
    """a < b; what the bounds of the two tell is no decision."""
    if not isinstance(a, RtInt) and not isinstance(b, RtInt):
        return a < b
    symbols = m.recorder.symbols
    most, least = symbols.greatest(b), symbols.least(a)
    if most is not None and least is not None and least >= most:
        return False
    return m.decide(m.scalars.compare("lt", a, b))


def _sum(m: Any, a: Any, b: int) -> Any:
    return m.scalars.binary("add", a, b) if isinstance(a, RtInt) else a + b
