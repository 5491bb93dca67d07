# SPDX-License-Identifier: Apache-2.0
"""Iterators as data: each state has its own position."""

from __future__ import annotations

import collections
import operator
from typing import Any

from ..diagnostics import CaptureRefusal
from ..polyfills.itertools import enumerated, filtered, mapped, taken, zipped
from ..polyfills.registry import ITERATORS
from ..values.escape import Thrown
from ..values.iterator import RtIterator, given, raise_stop
from ..values.native_entries import natively
from ..values.stand_in import DONE, counts_off
from .signals import PUSHED
from .state import Frame


class SeqIter(RtIterator):
    """Over anything indexable by 0.. (list, tuple, str, range, torch.Size); lists may grow meanwhile."""

    __slots__ = ("sequence", "index", "__weakref__")
    keeps_objects = False

    def __init__(self, sequence: Any):
        self.sequence = sequence
        self.index = 0

    def dycl_contents(self) -> tuple:
        return (self.sequence, self.index)

    def dycl_install(self, contents: tuple) -> None:
        self.sequence, self.index = contents

    def example(self, m: Any) -> Any:
        kinds = (list, str, bytes, tuple)
        return iter(range(0) if isinstance(self.sequence, range)
                    else next(kind() for kind in kinds if isinstance(self.sequence, kind)))

    def next_item(self, m: Any, s: Any, exhausted: Any, sent: Any) -> Any:
        if self.index >= len(self.sequence):
            self._end(m)
            return DONE
        item = self.sequence[self.index]
        m.heap.touch(self)
        self.index += 1
        return item

    def counts_off(self) -> bool:
        return True

    def ends_by_itself(self) -> bool:
        return True

    def all_items(self, m: Any) -> Any:
        sequence = list(self.sequence) if isinstance(self.sequence, range) else self.sequence
        items = list(sequence[self.index:])
        m.heap.touch(self)
        self.index += len(items)
        self._end(m)
        return items

    def dycl_merged(self, union: Any, a: Any, b: Any) -> Any:
        if a[1] != b[1]:
            union.apart("iterators at different places")
        sequence = union.unify(a[0], b[0])
        if type(sequence) is not type(a[0]):  # a list of run-time length
            union.apart("an iterator over a list of different lengths")
        return a if sequence is a[0] else (sequence, a[1])

    def mark(self, likeness: Any, state: Any, depth: int) -> Any:
        sequence, place = likeness.contents(self, state)
        return type(self), place, likeness.inside(sequence, state, depth)

    def _end(self, m: Any) -> None:
        """An iterator that has ended stays so, whatever the list gets afterwards."""
        if isinstance(self.sequence, list):
            m.heap.touch(self)
            self.sequence, self.index = (), 0


class ArrayIter(SeqIter):
    """Over the rows of a numpy array known only at run time."""

    __slots__ = ()

    def next_item(self, m: Any, s: Any, exhausted: Any, sent: Any) -> Any:
        item = super().next_item(m, s, exhausted, sent)
        return item if item is DONE else m.arrays.row(item)

    def all_items(self, m: Any) -> Any:
        return [m.arrays.row(x) for x in super().all_items(m)]


_CHANGED = {dict: "dictionary changed size during iteration", set: "Set changed size during iteration",
            collections.deque: "deque mutated during iteration"}


class LiveIter(SeqIter):
    """Over a container that may change meanwhile: `sequence` has its keys (or places) when the iteration began, the
    items are looked up as they are now. kind: "keys", "values", "items", "items of" a set,
    "places" of a deque, "reversed" list."""

    __slots__ = ("owner", "kind")

    def __init__(self, owner: Any, kind: str, sequence: Any):
        super().__init__(sequence)
        self.owner, self.kind = owner, kind

    def dycl_contents(self) -> tuple:
        return (self.sequence, self.index, self.owner, self.kind)

    def dycl_install(self, contents: tuple) -> None:
        self.sequence, self.index, self.owner, self.kind = contents

    def example(self, m: Any) -> Any:
        return _LIVE[self.kind]

    def next_item(self, m: Any, s: Any, exhausted: Any, sent: Any) -> Any:
        m.heap.touch(self)
        item = self.item()
        self.index = self.index + 1 if item is not DONE else len(self.sequence) + 1
        return item

    def all_items(self, m: Any) -> Any:
        found = []
        m.heap.touch(self)
        while (item := self.item()) is not DONE:
            found.append(item)
            self.index += 1
        self.index = len(self.sequence) + 1
        return found

    def dycl_merged(self, union: Any, a: Any, b: Any) -> Any:
        if a[1] != b[1] or a[3] != b[3] or a[0] != b[0]:
            union.apart("iterators at different places")
        if a[2] is b[2]:
            union.behind(a[2])
        elif union.unify(a[2], b[2]) is not a[2]:
            union.apart("iterators over different containers")
        return a

    def mark(self, likeness: Any, state: Any, depth: int) -> Any:
        return type(self)

    def item(self) -> Any:
        """The item at `index`; DONE at the end."""
        owner, kind, k = self.owner, self.kind, self.index
        # not what a class of the user's makes of it
        own: Any = next(c for c in (list, dict, set, collections.deque) if isinstance(owner, c))
        if kind != "reversed" and k <= len(self.sequence) and own.__len__(owner) != len(self.sequence):
            self.index = len(self.sequence) + 1
            raise RuntimeError(_CHANGED[own])
        if (isinstance(owner, dict) and k <= len(self.sequence)
                and not all(map(operator.is_, own.__iter__(owner), self.sequence))):
            raise CaptureRefusal("a dict whose keys change while it is iterated",
                                 "iterate over list(...)", kind="iterator")
        if k >= len(self.sequence):
            return DONE
        key = self.sequence[k]
        if kind == "reversed":
            return own.__getitem__(owner, key) if key < own.__len__(owner) else DONE
        if kind == "items of":
            return key
        if kind == "places":
            return own.__getitem__(owner, key)
        value = own.__getitem__(owner, key)
        return key if kind == "keys" else value if kind == "values" else (key, value)


_LIVE: dict[str, Any] = {"keys": iter({}), "values": iter({}.values()), "items": iter({}.items()),
                         "items of": iter(set()), "places": iter(collections.deque()), "reversed": reversed([])}


class NativeIter(RtIterator):
    """Over a native iterator: what it gave is kept in a buffer that all states share."""

    __slots__ = ("source", "buffer", "index", "__weakref__")

    def __init__(self, source: Any):
        self.source = source
        self.buffer: list = []
        self.index = 0

    def dycl_contents(self) -> int:
        return self.index

    def dycl_install(self, contents: int) -> None:
        self.index = contents

    def dycl_merged(self, union: Any, a: int, b: int) -> int:
        if a != b:
            union.apart("iterators at different places")
        return a

    def example(self, m: Any) -> Any:
        return self.source

    def counts_off(self) -> bool:
        return True

    def next_item(self, m: Any, s: Any, exhausted: Any, sent: Any) -> Any:
        if self.index >= len(self.buffer):
            try:
                self.buffer.append(natively(next, self.source))
            except StopIteration:
                return DONE
        m.heap.touch(self)
        self.index += 1
        return self.buffer[self.index - 1]


_ONE_BY_ONE = (enumerated, mapped, filtered, taken)  # they are one loop over what they are given


class MGenerator(RtIterator):
    """A generator of interpreted code; `frame` is its suspended frame, None when running or done."""

    __slots__ = ("_frame", "_shared", "done", "function", "__weakref__")
    keeps_objects = False
    suspends = True

    def __init__(self, frame: Frame):
        self.function = frame.function
        frame.generator = None  # set while it runs: a suspended frame must not keep its generator alive
        self.frame = frame
        self.done = False

    @property
    def frame(self) -> Frame | None:
        if self._shared and self._frame is not None:
            self.frame = self._frame.copy()
        return self._frame

    @frame.setter
    def frame(self, frame: Frame | None) -> None:
        self._frame = frame
        self._shared = False  # with contents that states keep: copied before anyone may write to it

    def finish(self) -> None:
        self.frame = None
        self.done = True

    def dycl_contents(self) -> tuple:
        return (self._frame if self._shared or self._frame is None else self._frame.copy(), self.done)

    def dycl_install(self, contents: tuple) -> None:
        self._frame, self.done = contents
        self._shared = self._frame is not None

    def example(self, m: Any) -> Any:
        return ITERATORS.get(self.function) or (_ for _ in list[Any]())

    def attribute(self, m: Any, s: Any, name: str) -> Any:
        own = name in ("__name__", "__qualname__") and hasattr(self.type_of(m), name)
        return getattr(self.function, name) if own else super().attribute(m, s, name)

    def next_item(self, m: Any, s: Any, exhausted: Any, sent: Any) -> Any:
        """Goes on with its frame: PUSHED, or DONE."""
        if self.done:
            return DONE
        if self.frame is None:
            raise ValueError("generator already executing")
        m.heap.touch(self)
        frame = self.frame
        self.frame = None
        frame.generator = self
        frame.on_return = exhausted
        frame.stack.append(sent)
        s.frames.append(frame)
        return PUSHED

    def call_method(self, m: Any, s: Any, name: str, args: tuple, kwargs: dict) -> Any:
        if name in ("__next__", "send"):
            sent = args[0] if args else None
            if sent is not None and self._has_not_begun():
                raise TypeError("can't send non-None value to a just-started generator")
            return given(self.next_item(m, s, raise_stop, sent))
        if name == "close":
            return self._close(m, s)
        return self._throw(m, s, args) if name == "throw" else super().call_method(m, s, name, args, kwargs)

    def dycl_merged(self, union: Any, a: tuple, b: tuple) -> tuple:
        (mine, done), (other, other_done) = a, b
        if done != other_done or (mine is None) != (other is None):
            union.apart("generators at different places")
        if mine is None:
            return a
        if mine.pc == other.pc and mine.in_another_loop(other):
            union.apart("generators that came into their loop on different paths")
        return (union.suspended(mine, other), done)

    def mark(self, likeness: Any, state: Any, depth: int) -> Any:
        frame, done = likeness.contents(self, state)
        return type(self), done, frame and likeness.frame_inside(frame, state, depth)

    def flattened(self, flattener: Any, path: str) -> Any:
        return flattener.refuse(self, path, "a generator")

    def counts_off(self) -> bool:
        """What a function of itertools or a builtin goes over."""
        frame = self.frame
        if frame is None:
            return False
        if frame.function is zipped:
            sources = frame.locals[frame.info.local_index["iterators"]]
            return type(sources) is list and any(map(counts_off, sources))
        return frame.function in _ONE_BY_ONE and len(frame.stack) > 0 and counts_off(frame.stack[0])

    def _has_not_begun(self) -> bool:
        frame = self.frame
        return frame is not None and frame.info.instrs[frame.pc - 1].op != "YIELD_VALUE"

    def _close(self, m: Any, s: Any) -> Any:
        m.heap.touch(self)
        if self.frame is not None and self.frame.info.guards(self.frame.pc):
            return m.call(s, m.polyfills.close_generator, (self,), {})
        self.finish()
        return None

    def _throw(self, m: Any, s: Any, args: tuple) -> Any:
        """The exception begins at the yield where the generator is suspended."""
        error = next((a for a in args if isinstance(a, BaseException)), None) or args[0]()
        frame = self.frame
        if frame is None or self._has_not_begun():
            m.heap.touch(self)
            self.finish()
            raise Thrown(error)
        if frame.instr.op == "RESUME" and (frame.instr.arg or 0) & 3 == 2:
            raise CaptureRefusal("an exception thrown into a generator inside `yield from`", kind="generator")
        self.next_item(m, s, raise_stop, None)
        frame.stack.pop()
        frame.pc -= 1
        raise Thrown(error)
