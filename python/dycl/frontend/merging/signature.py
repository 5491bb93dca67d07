# SPDX-License-Identifier: Apache-2.0
"""What any two states that merge have in common, per frame of a state as one small number.

Comparing states in full (merging/merge.py) costs milliseconds, and of many states that meet most pairs are of different
kinds: a variable is None in one, lists have other lengths. Two states with different marks are sure to stay apart;
those with equal ones may, for reasons that are not looked at here: values of numbers, extents, attributes, aliases.

A mark says of every live variable and operand: unbound, None, the kind of a number, a tensor's dtype and rank, a text
itself, and of lists, tuples, dicts and iterators their lengths, keys, places and what is in them, a few levels deep; of
an object from before capture which one it is. Where a list of run-time length is among them (or lists may become such
ones), lists count as lists and no more: they may merge whatever is in them,
unless what is in them cannot be in such a list.
"""

from __future__ import annotations

from bisect import insort
from typing import Any

import torch

from ..state.kinds import kind_of_object
from ..state.state import NULL, UNBOUND, Frame, State
from ..values.chosen_text import is_one
from ..values.one_of import RtOneOf, is_one_of, may_be
from ..values.scalar import kind_of
from ..values.stand_in import StandIn, as_stand_in

_DEEPEST, _LONGEST = 3, 32
_SELF = {str, bytes, torch.dtype}  # equal or not: nothing between


class Likeness:
    """The marks of the states that meet at one place."""

    def __init__(self, machine: Any, widen: bool, kinds: bool = False):
        self.heap, self.born = machine.heap, machine.born
        self.kinds = kinds  # those of single values do not count (values/one_of.py)
        self.coarse = widen or bool(machine.arenas)  # lists of references merge at once
        self.texts_merge = machine.assumptions.chosen_texts.holds()
        self._numbers: dict[tuple, int] = {}
        self._marks: dict[State, tuple[int, ...]] = {}
        self._frames: list[tuple] = []  # by number: what it says of a frame

    def of(self, state: State) -> tuple[int, ...]:
        """The marks of its frames. They hold until `coarse` changes, which it does once at most."""
        coarse = self.coarse
        found = self._of(state)
        if coarse != self.coarse:  # a list of run-time length came up: what was said of lists does not hold
            self._marks.clear()
            found = self._of(state)
        return found

    def differing_frame(self, a: State, b: State) -> int | None:
        """The outermost frame that is sure to keep two states apart."""
        return next((k for k, (p, q) in enumerate(zip(self.of(a), self.of(b))) if p != q), None)

    def blame(self, a: State, b: State) -> str:
        """The variable that is sure to keep two states of different marks apart."""
        depth = self.differing_frame(a, b)
        if depth is None:
            return "call stack: different depths"
        frame = a.frames[depth]
        x, y = (self._frames[self._of(state)[depth]][2:] for state in (a, b))
        place = next((k for k, (p, q) in enumerate(zip(x, y)) if p != q), None)
        live = [name for k, name in enumerate(frame.info.local_names) if frame.info.is_live(frame.pc, k)]
        name = "<operands>" if place is None else live[place] if place < len(live) else f"<operand {place - len(live)}>"
        return f"{frame.info.code.co_name}.{name}: of different kinds"

    def _of(self, state: State) -> tuple[int, ...]:
        known = self._marks.get(state)
        if known is None:
            known = self._marks[state] = tuple(self._number(self._frame(f, state)) for f in state.frames)
        return known

    def _number(self, frame: tuple) -> int:
        number = self._numbers.setdefault(frame, len(self._frames))
        if number == len(self._frames):
            self._frames.append(frame)
        return number

    def _frame(self, frame: Frame, state: State, depth: int = 0) -> tuple:
        live = [value for k, value in enumerate(frame.locals) if frame.info.is_live(frame.pc, k)]
        return (id(frame.info), frame.pc, *(self._mark(x, state, depth) for x in (*live, *frame.stack)))

    def _mark(self, x: Any, state: State, depth: int) -> Any:
        if x is UNBOUND or x is NULL or x is None and not self.kinds:
            return id(x)
        if self.kinds and may_be(x):
            return RtOneOf
        kind = kind_of(x)
        if kind is not None:
            return kind
        cls = type(x)
        if isinstance(x, torch.Tensor):
            return torch.Tensor, x.dtype, x.dim()
        if self.texts_merge and is_one(x):
            return str
        if cls in _SELF:
            return cls, x
        if isinstance(own := as_stand_in(x), StandIn):
            return own.mark(self, state, depth)
        return kind_of_object(cls).mark(self, x, state, depth)

    def is_born(self, x: Any) -> bool:
        return id(x) in self.born

    def table(self, x: dict, state: State, depth: int) -> Any:
        entries = self.contents(x, state)[0]
        keys = tuple(key for key, _ in entries)
        if not all(type(key) is str for key in keys):
            return dict, len(keys)
        return dict, keys, self._items(dict, [value for _, value in entries], state, depth)

    def contents(self, x: Any, state: State) -> Any:
        return self.heap.contents_in(state.overlay, x)

    def inside(self, x: Any, state: State, depth: int) -> Any:
        """The mark of what another value holds."""
        return self._mark(x, state, depth + 1) if depth < _DEEPEST else None

    def frame_inside(self, frame: Frame, state: State, depth: int) -> Any:
        return self._frame(frame, state, depth + 1) if depth < _DEEPEST else None

    def sequence(self, x: Any, items: Any, state: State, depth: int) -> Any:
        return list if self.coarse and self._may_grow(items) else self._items(type(x), items, state, depth)

    def _may_grow(self, items: Any) -> bool:
        """Whether a list of run-time length might hold these elements. If not, a list that merges with this one has its
        length, and elements of the same kinds at the same places: it cannot be one of run time either."""
        kinds = set()
        for x in items:
            if is_one_of(x):
                return False
            kind = kind_of(x)
            if kind is not None:
                kinds.add(kind)
            elif isinstance(x, torch.Tensor):
                kinds.add((x.dtype, x.dim()))
            elif self.texts_merge and is_one(x):
                kinds.add(str)
            elif x is None or type(x) is str or not self._may_merge(x):
                return False
        return len(kinds) < 2

    def _may_merge(self, x: Any) -> bool:
        return isinstance(x, StandIn) or kind_of_object(type(x)).by_parts or self.is_born(x)

    def _items(self, cls: type, items: Any, state: State, depth: int) -> tuple:
        if depth >= _DEEPEST or len(items) > _LONGEST:
            return cls, len(items)
        return (cls, len(items), *(self._mark(item, state, depth + 1) for item in items))


class Alike:
    """Groups of states by their marks: a state is compared with those only that it may merge with."""

    def __init__(self, likeness: Likeness, groups: list[State]):
        self.likeness, self.groups = likeness, groups
        self.coarse = likeness.coarse
        self._marks: list[tuple[int, ...]] = []  # of each group
        self._places: dict[tuple[int, ...], list[int]] = {}

    def places(self, state: State) -> list[int]:
        """Where in `groups` they are."""
        marks = self.likeness.of(state)
        self._renew()
        return self._places.get(marks, [])

    def note(self, place: int) -> None:
        """A group was added, or another state stands for it."""
        marks = self.likeness.of(self.groups[place])
        self._renew()
        if place < len(self._marks):
            if self._marks[place] == marks:
                return
            self._places[self._marks[place]].remove(place)
            self._marks[place] = marks
        else:
            self._marks.append(marks)
        insort(self._places.setdefault(marks, []), place)

    def _renew(self) -> None:
        """What was noted before marks became coarse does not hold."""
        if self.likeness.coarse != self.coarse:
            self.coarse = self.likeness.coarse
            self._marks = [self.likeness.of(group) for group in self.groups]
            self._places.clear()
            for place, marks in enumerate(self._marks):
                self._places.setdefault(marks, []).append(place)
