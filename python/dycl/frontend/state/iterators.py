# SPDX-License-Identifier: Apache-2.0
"""Iterators as data: each state has its own position."""

from __future__ import annotations

import collections
import gc
import operator
from typing import Any

from ..diagnostics import CaptureRefusal
from ..polyfills.registry import ITERATORS
from ..values.list import RtListIter
from ..values.stand_in import StandIn
from .state import Frame

DONE = object()


class Iterator(StandIn):
    """One place in what is iterated over."""

    __slots__ = ()

    def truth(self, m: Any) -> Any:
        return True


class SeqIter(Iterator):
    """Over anything indexable by 0.. (list, tuple, str, range, torch.Size); lists may grow meanwhile."""

    __slots__ = ("sequence", "index", "__weakref__")

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


class ArrayIter(SeqIter):
    """Over the rows of a numpy array known only at run time."""

    __slots__ = ()


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

    def item(self) -> Any:
        """The item at `index`; DONE at the end."""
        owner, kind, k = self.owner, self.kind, self.index
        # not what a class of the user's makes of it
        own: Any = next(c for c in (list, dict, set, collections.deque) if isinstance(owner, c))
        if kind != "reversed" and k <= len(self.sequence) and own.__len__(owner) != len(self.sequence):
            self.index = len(self.sequence) + 1
            raise RuntimeError("dictionary changed size during iteration" if isinstance(owner, dict) else
                               "Set changed size during iteration" if isinstance(owner, set) else
                               "deque mutated during iteration")
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


def view_of(view: Any) -> tuple[Any, str] | None:
    """The dict behind keys(), values() or items(), and which of them; None for other objects."""
    if type(view) not in VIEWS:
        return None
    found = next((x for x in gc.get_referents(view) if isinstance(x, dict)), None)
    return None if found is None else (found, type(view).__name__.rsplit("_", 1)[-1])


class NativeIter(Iterator):
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

    def example(self, m: Any) -> Any:
        return self.source


class RtRangeIter(Iterator):
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


class RtTensorIter(Iterator):
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


class MGenerator(Iterator):
    """A generator of interpreted code; `frame` is its suspended frame, None when running or done."""

    __slots__ = ("_frame", "_shared", "done", "function", "__weakref__")

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


OURS = (SeqIter, NativeIter, RtRangeIter, RtTensorIter, MGenerator, RtListIter)


VIEWS = {type({}.keys()), type({}.values()), type({}.items()), type(collections.OrderedDict().keys()),
          type(collections.OrderedDict().values()), type(collections.OrderedDict().items())}
