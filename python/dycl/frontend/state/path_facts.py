# SPDX-License-Identifier: Apache-2.0
"""What the branches taken so far say about runtime ints.

On a path where `n > 3` held, `n > 2` holds and `n - 4 < 0` does not: such a condition is no decision, and its other arm
is never captured. That ends a recursion over a number of known range, and spares arms that no input takes.

A range is kept for a graph value as (least, greatest), either None where nothing is known, and belongs to a state:
values are in SSA form, so what held once holds on the rest of the path. A number is seen as another one and a constant
(n - 1 - 1 as n - 2), and only comparisons with constants, or of one number with itself, are looked at.
"""

from __future__ import annotations

from typing import Any

from ..graph.integer_ranges import Range, hull, inner, of_two
from ..graph.program import INT, HostNode, Value
from ..values.scalar import TURNED, RtInt, graph_number

Ranges = dict[int, Range]
_OPPOSITE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
_HOLDS = {"eq": int.__eq__, "ne": int.__ne__, "lt": int.__lt__, "le": int.__le__, "gt": int.__gt__, "ge": int.__ge__}
_LIMIT = 2**62  # beyond it numbers may wrap


class Facts:
    """The ranges of a state, read and made narrower; one per machine."""

    def __init__(self, recorder: Any):
        self.producers = recorder.producers
        self.symbols, self.by_producer = recorder.symbols, recorder.ranges
        self._given: Ranges = {}  # what holds whatever the inputs are

    def implied(self, condition: Value, ranges: Ranges) -> bool | None:
        """The truth of a condition, where the ranges tell it."""
        node = self.producers.get(condition)
        if not isinstance(node, HostNode):
            return None
        if node.op == "bool.not":
            inner = self.implied(node.operands[0], ranges)
            return None if inner is None else not inner
        if node.op in ("bool.and", "bool.or"):
            ends = node.op == "bool.or"
            parts = [self.implied(v, ranges) for v in node.operands]
            return ends if ends in parts else None if None in parts else not ends
        asked = self._comparison(node)
        if asked is None:
            return None
        op, base, bound = asked
        return _HOLDS[op](0, bound) if base is None else _truth(op, self._range(base, ranges), bound)

    def learn(self, condition: Value, answer: bool, ranges: Ranges) -> None:
        """The condition has been decided on this path."""
        node = self.producers.get(condition)
        if not isinstance(node, HostNode):
            return
        if node.op == "bool.not":
            self.learn(node.operands[0], not answer, ranges)
        elif node.op in ("bool.and", "bool.or"):
            if answer is (node.op == "bool.and"):
                for part in node.operands:
                    self.learn(part, answer, ranges)
        elif (asked := self._comparison(node)) is not None:
            op, base, bound = asked
            if base is not None:
                ranges[base.id] = _narrowed(op if answer else _OPPOSITE[op], self._range(base, ranges), bound)

    def of(self, number: Any, ranges: Ranges) -> Range:
        """Of an int, static or of the run."""
        value = graph_number(number)
        if value is number:
            return int(number), int(number)
        base, offset = self._split(value)
        return _moved((0, 0) if base is None else self._range(base, ranges), offset)

    def narrow(self, number: RtInt, low: int | None, high: int | None, ranges: Ranges) -> None:
        """The number is known to be from low to high on this path."""
        base, offset = self._split(number.value)
        if base is not None:
            ranges[base.id] = _both(self._range(base, ranges), _moved((low, high), -offset))

    def _comparison(self, node: HostNode) -> tuple[str, Value | None, int] | None:
        """(op, x, c) for a condition that says `x op c`; x is None where it says `0 op c`."""
        if node.op == "int.to_bool":
            base, offset = self._split(node.operands[0])
            return None if base is None else ("ne", base, -offset)
        kind, _, op = node.op.partition(".")
        if kind != "int" or op not in _HOLDS:
            return None
        (a, plus_a), (b, plus_b) = (self._split(v) for v in node.operands)
        if max(abs(plus_a), abs(plus_b)) > _LIMIT:
            return None
        if a is b:
            return op, None, plus_b - plus_a
        if b is None:
            return op, a, plus_b - plus_a
        if a is None:
            return TURNED.get(op, op), b, plus_a - plus_b
        return None

    def _split(self, value: Value) -> tuple[Value | None, int]:
        """A number as another one and a constant."""
        offset = 0
        while isinstance(node := self.producers.get(value), HostNode):
            if node.op == "const":
                return None, offset + int(node.attrs["value"])
            if node.op not in ("int.add", "int.sub"):
                break
            left, right = node.operands
            constant = self._constant(right)
            if constant is not None:
                value, offset = left, offset + (constant if node.op == "int.add" else -constant)
            elif node.op == "int.add" and (constant := self._constant(left)) is not None:
                value, offset = right, offset + constant
            else:
                break
        return value, offset

    def _constant(self, value: Value) -> int | None:
        node = self.producers.get(value)
        return int(node.attrs["value"]) if isinstance(node, HostNode) and node.op == "const" else None

    def _range(self, value: Value, ranges: Ranges) -> Range:
        found = self._kept(value, ranges)
        node = self.producers.get(value)
        # this path may know more of the two it is computed from
        if isinstance(node, HostNode) and node.op in ("int.min", "int.max"):
            found = _both(found, self._of_two(node, ranges))
        return found

    def _kept(self, value: Value, ranges: Ranges) -> Range:
        found = ranges.get(value.id)
        if found is None:
            found = self._given.get(value.id)
        if found is None:
            found = self._given[value.id] = self._computed(value)
        return found

    def _computed(self, value: Value) -> Range:
        """By what computes it, whatever the inputs are."""
        if value.type != INT:
            return self.by_producer.of(value)
        number = RtInt(value, None)
        return _both((self.symbols.least(number), self.symbols.greatest(number)), self.by_producer.of(value))

    def _of_two(self, node: HostNode, ranges: Ranges) -> Range:
        """The lesser or the greater of two numbers."""
        parts = map(self._split, node.operands)
        a, b = (_moved((0, 0) if base is None else self._kept(base, ranges), offset) for base, offset in parts)
        return of_two(min if node.op == "int.min" else max, a, b)

    def is_natural(self, number: Any, ranges: Ranges) -> bool:
        least, _ = self.of(number, ranges)
        return least is not None and least >= 0


def _moved(found: Range, offset: int) -> Range:
    low, high = found
    return None if low is None else low + offset, None if high is None else high + offset


def joined(a: Ranges, b: Ranges) -> Ranges:
    """What holds on either of two paths."""
    if a == b:
        return dict(a)
    return {k: hull(a[k], b[k]) for k in a.keys() & b.keys()}


def _both(a: Range, b: Range) -> Range:
    return inner(max, a[0], b[0]), inner(min, a[1], b[1])


def _less(found: Range, bound: int) -> bool | None:
    low, high = found
    if high is not None and high < bound:
        return True
    return False if low is not None and low >= bound else None


def _greater(found: Range, bound: int) -> bool | None:
    low, high = found
    if low is not None and low > bound:
        return True
    return False if high is not None and high <= bound else None


def _equal(found: Range, bound: int) -> bool | None:
    low, high = found
    if high is not None and high < bound or low is not None and low > bound:
        return False
    return True if low == high == bound else None


# comparison -> (what a range says of it or of its opposite, which of the two)
_SAID = {"eq": (_equal, True), "ne": (_equal, False), "lt": (_less, True), "ge": (_less, False),
         "gt": (_greater, True), "le": (_greater, False)}


def _truth(op: str, found: Range, bound: int) -> bool | None:
    if op not in _SAID:
        return None
    says, holds = _SAID[op]
    said = says(found, bound)
    return None if said is None else said is holds


def _narrowed(op: str, found: Range, bound: int) -> Range:
    low, high = found
    match op:
        case "eq":
            return bound, bound
        case "ne":
            return (bound + 1 if low == bound else low), (bound - 1 if high == bound else high)
        case "lt" | "le":
            top = bound - (op == "lt")
            return low, top if high is None else min(high, top)
        case _:
            bottom = bound + (op == "gt")
            return bottom if low is None else max(low, bottom), high
