# SPDX-License-Identifier: Apache-2.0
"""Mutable objects under many states at once.

Capture follows several states of one program; they share Python objects by identity, but each sees its own contents.
Every mutation is announced first: `heap.touch(obj)`. The heap then keeps the contents that obj had (`pristine`), and
when the machine goes from one state to another it puts each touched object's contents back to what that state saw. So
forking is cheap (a dict copy), identity is kept in all states, and a merge only looks at objects whose contents differ.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ...objects import IdentityDict
from ..diagnostics import CaptureRefusal
from .contents import DEAD, LONG, Cell, memory_of
from .kinds import contents_of, install


class Overlay:
    """What one state has written: object id -> contents. Copied when the state forks."""

    __slots__ = ("contents", "limit")

    def __init__(self, contents: dict[int, Any] | None = None, limit: int = 64):
        self.contents: dict[int, Any] = contents if contents is not None else {}
        self.limit = limit  # with more entries, look for dead ones

    def fork(self) -> "Overlay":
        return Overlay(dict(self.contents), self.limit)


class Heap:
    """All touched objects. At most one overlay is active; its newest contents live in the objects."""

    def __init__(self) -> None:
        self.objects: dict[int, Any] = {}  # id -> the object, kept alive so that ids stay unique
        self.pristine: dict[int, Any] = {}  # id -> contents before any state wrote it
        self.born: dict[int, Any] = {}  # the machine's table of objects made during capture
        self.owner_of_dict: dict[int, Any] = {}  # id of a __dict__ that was handed out -> its object
        self.active: Overlay | None = None
        self.written_at: dict[int, Any] = {}  # the user's line that first wrote an object from outside
        self.where: Any = lambda: None  # the user's line at hand
        self.before_write: Any = lambda obj: None  # told of an object from outside that is written
        self.before_change: Any = lambda obj: None  # told of an object of which copies are elsewhere
        self.fragile = IdentityDict()  # object of which copies are elsewhere -> what to call before it is changed
        self.fresh_arrays: dict[int, Any] = {}  # id -> a weak reference to a numpy array that was made during capture
        # id -> (a weak reference to a numpy array, the instruction that made it)
        self.array_places: dict[int, tuple] = {}
        # id of a numpy array -> (weak references to it, to the storage of a tensor that shares its memory)
        self.beside: dict[int, list] = {}
        self.installed = 0  # objects put in place for the states gone to, since dead ones were looked for
        self.dirty: set[int] = set()  # touched since the active overlay was last saved
        self.inert: dict[int, Any] = {}  # id -> a list or dict from before capture that holds nothing of this capture's

    def touch(self, obj: Any) -> None:
        """Must be called before obj is changed, while some overlay is active."""
        key = id(obj)
        if obj in self.fragile:
            self.refuse_fragile(obj)
        if key in self.dirty:
            return
        owner = self.owner_of_dict.get(key)
        if owner is not None:  # an object's own __dict__: its contents are the object's
            return self.touch(owner)
        if isinstance(obj, np.ndarray) and self._is_elsewhere(obj):
            return self.touch(memory_of(obj))
        if key not in self.objects:
            self.pristine[key] = contents_of(obj)
            self.objects[key] = obj
        if key not in self.born:
            self.before_write(obj)
            self.written_at.setdefault(key, self.where())
        self.dirty.add(key)

    def rewrite(self, obj: Any) -> None:
        """Must be called before a container made during capture gets another form of what it holds already:
        nobody sees that."""
        key = id(obj)
        if key not in self.dirty:
            self.pristine.setdefault(key, contents_of(obj))
            self.objects.setdefault(key, obj)
            self.dirty.add(key)

    def _is_elsewhere(self, array: np.ndarray) -> bool:
        """Whether another array owns the memory. The array must not be a tensor's;
        one made during capture is the program's."""
        if memory_of(array) is not array:
            return True
        key = id(array)
        if any(known() is array and cell() is not None for known, cell in self.beside.get(key, ())):
            raise CaptureRefusal("a write to a numpy array that shares its memory with a tensor "
                                 "(from_numpy, as_tensor, numpy)",
                                 "copy() the array first", kind="inplace.shared")
        fresh = self.fresh_arrays.get(key)
        if fresh is not None and fresh() is array:
            self.born[key] = array
        return False

    def refuse_fragile(self, obj: Any) -> None:
        self.before_change(obj)
        self.fragile[obj]()
        raise CaptureRefusal(f"a {type(obj).__name__} that is in a list whose length is known only "
                             "at run time is changed",
                             "change it before it is put there", kind="list.element")

    def touched(self, obj: Any) -> bool:
        return id(obj) in self.objects

    def is_inert(self, obj: Any) -> bool:
        """A long list or dict from before capture in which nothing made or written since was found,
        and that nobody touched."""
        return id(obj) in self.inert and id(obj) not in self.objects

    def note_inert(self, obj: Any) -> None:
        """For next time: the modules of a long nn.ModuleList need not be looked through at every meeting."""
        if type(obj) in (list, dict) and len(obj) >= LONG and id(obj) not in self.objects:
            self.inert[id(obj)] = obj

    def save(self) -> None:
        """Copies what the active state wrote since the last save from the objects into its overlay."""
        if self.active is not None:
            contents = self.active.contents
            for key in self.dirty:
                contents[key] = contents_of(self.objects[key])
        self.dirty.clear()

    def activate(self, overlay: Overlay | None) -> None:
        """Puts every object into the state that `overlay` saw (None: as before capture).

        An object that nothing but this heap refers to (no frame, no saved contents) is dead in all
        states: it is left as it is, and kept only so that its id is not used again."""
        self.save()
        if overlay is self.active:
            return
        before = self.active.contents if self.active is not None else {}
        after = overlay.contents if overlay is not None else {}
        dead: list[int] = []
        for key, contents in after.items():
            if before.get(key, _MISSING) is not contents and contents is not DEAD:
                obj = self.objects[key]
                if overlay is not None and sys.getrefcount(obj) <= 3 + (key in self.born):
                    dead.append(key)
                elif type(obj) is Cell:  # most are
                    obj.value = contents
                else:
                    install(obj, contents)
        for key in before:
            if key not in after:
                obj = self.objects[key]
                if overlay is not None and sys.getrefcount(obj) <= 3 + (key in self.born):
                    continue
                if type(obj) is Cell:
                    obj.value = self.pristine[key]
                else:
                    install(obj, self.pristine[key])
        for key in dead:
            del after[key]
        self.installed += len(before) + len(after)
        self.active = overlay

    def contents_in(self, overlay: Overlay, obj: Any) -> Any:
        """obj's contents as `overlay` sees them (call save() first if it is the active one)."""
        key = id(obj)
        found = overlay.contents.get(key, _MISSING)
        if found is not _MISSING and found is not DEAD:
            return found
        if key in self.pristine:
            return self.pristine[key]
        if key in self.owner_of_dict:
            return tuple(self.contents_in(overlay, self.owner_of_dict[key])[0].items()), None
        return contents_of(obj)

    def bury(self, overlay: Overlay, reached: set[int]) -> None:
        """Marks the objects of the active overlay that its state cannot reach; they are not put back again."""
        self.save()
        self.installed = 0
        contents = overlay.contents
        for key in contents:
            if key not in reached:
                obj = self.objects[key]
                if isinstance(obj, Cell) or key in self.born:
                    contents[key] = DEAD
        overlay.limit = len(contents) + sum(c is not DEAD for c in contents.values()) + 64


_MISSING = object()
