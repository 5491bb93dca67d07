# SPDX-License-Identifier: Apache-2.0
"""Mutable objects under many states at once.

Capture follows several states of one program; they share Python objects by identity, but each sees
its own contents. Every mutation is announced first: `heap.touch(obj)`. The heap then keeps the
contents that obj had (`pristine`), and when the machine goes from one state to another it puts each
touched object's contents back to what that state saw. So forking is cheap (a dict copy), identity
is kept in all states, and a merge only looks at objects whose contents differ.

Kinds of contents: list -> tuple of items; dict -> tuple of (key, value); set -> tuple; an object with
__dict__ -> its attributes; a `Cell` -> its value; anything with `dycl_contents()`/`dycl_install(c)`.
"""

from __future__ import annotations

import collections
import itertools
import operator
import sys
import types
from typing import Any

import numpy as np

from .diagnostics import CaptureRefusal


class Cell:
    """One mutable slot: a tensor's storage, a captured variable."""

    __slots__ = ("value", "note", "arrays", "__weakref__")

    def __init__(self, value: Any = None, note: Any = None):
        self.value = value
        self.note = note
        self.arrays: tuple = ()  # weak references to numpy arrays whose memory this is (torch.from_numpy, Tensor.numpy)

    def dycl_contents(self):
        return self.value

    def dycl_install(self, contents):
        self.value = contents


class ContextCell:
    """The value of a ContextVar, if it has one: a tuple of one or no item, per state."""

    __slots__ = ("value", "var", "__weakref__")

    def __init__(self, value: tuple, var: Any):
        self.value = value
        self.var = var

    def dycl_contents(self):
        return self.value

    def dycl_install(self, contents):
        self.value = contents


def unfollowed(obj: Any) -> CaptureRefusal:
    return CaptureRefusal(f"a {type(obj).__name__} is changed in a way that cannot be followed",
                          "use lists, dicts, tensors or plain objects", kind="heap")


LONG = 8  # elements: of longer containers it is looked for what need not be looked at again
_KINDS = (list, tuple, set, frozenset, collections.deque)


def held(container: Any) -> Any:
    """Its elements or values, whatever iteration means in a class of the user's."""
    if isinstance(container, dict):
        return dict.values(container)
    kind = type(container)
    return container if kind in _KINDS else next(k for k in _KINDS if isinstance(container, k)).__iter__(container)


class Items(tuple):
    """The items of an instance of a subclass of list, set or deque, and its attributes."""

    attributes: dict

    def __new__(cls, items: Any, attributes: dict):
        made = super().__new__(cls, items)
        made.attributes = attributes
        return made


def _items(obj: Any, items: Any) -> tuple:
    attributes = getattr(obj, "__dict__", None)
    return tuple(items) if attributes is None else Items(items, dict(attributes))


def contents_of(obj: Any) -> Any:
    if isinstance(obj, list):
        return tuple(obj) if type(obj) is list else _items(obj, list.__iter__(obj))
    if isinstance(obj, collections.OrderedDict):
        own = tuple(collections.OrderedDict.items(obj))
        return (own, dict(obj.__dict__)) if hasattr(obj, "__dict__") else (own, None)
    if isinstance(obj, dict):
        own = tuple(dict.items(obj))
        extra = getattr(obj, "__dict__", None)
        return (own, dict(extra) if extra is not None else None)
    if isinstance(obj, set):
        return _items(obj, set.__iter__(obj))
    if isinstance(obj, bytearray):
        return _items(obj, bytearray.__iter__(obj))
    if isinstance(obj, collections.deque):
        return _items(obj, collections.deque.__iter__(obj))
    if hasattr(type(obj), "dycl_contents"):
        return obj.dycl_contents()
    if isinstance(obj, np.ndarray) and not obj.dtype.hasobject:
        return obj.tobytes()
    if isinstance(obj, types.CellType):
        try:
            return (obj.cell_contents,)
        except ValueError:
            return ()
    slots = slot_names(type(obj))
    if hasattr(obj, "__dict__") or slots or type(obj) is object:  # of object() nothing but its identity counts
        values = dict(object.__getattribute__(obj, "__dict__")) if hasattr(obj, "__dict__") else None
        held = {name: object.__getattribute__(obj, name) for name in slots if _has_slot(obj, name)}
        return (values, held)
    raise unfollowed(obj)


def install(obj: Any, contents: Any) -> None:
    if type(contents) is Items:
        obj.__dict__.clear()
        obj.__dict__.update(contents.attributes)
    own = getattr(type(obj), "dycl_install", None)
    if own is not None:  # most: slots of tensors, iterators
        own(obj, contents)
    elif isinstance(obj, list):
        list.__setitem__(obj, slice(None), contents)
    elif isinstance(obj, dict):
        own, extra = contents
        if isinstance(obj, collections.OrderedDict):
            collections.OrderedDict.clear(obj)
            for key, value in own:
                collections.OrderedDict.__setitem__(obj, key, value)
        else:
            dict.clear(obj)
            dict.update(obj, own)
        if extra is not None:
            obj.__dict__.clear()
            obj.__dict__.update(extra)
    elif isinstance(obj, set):
        _install_set(obj, contents)
    elif isinstance(obj, bytearray):
        obj[:] = bytes(contents)
    elif isinstance(obj, collections.deque):
        collections.deque.clear(obj)
        collections.deque.extend(obj, contents)
    elif isinstance(obj, np.ndarray):
        if obj.tobytes() != contents:
            obj[...] = np.frombuffer(contents, obj.dtype).reshape(obj.shape)
    elif isinstance(obj, types.CellType):
        if contents:
            obj.cell_contents = contents[0]
        else:
            del obj.cell_contents
    else:
        values, held = contents
        if isinstance(obj, type):
            _install_class(obj, values)
        elif values is not None:
            mine = object.__getattribute__(obj, "__dict__")
            mine.clear()
            mine.update(values)
        for name in slot_names(type(obj)):
            if name in held:
                object.__setattr__(obj, name, held[name])
            elif _has_slot(obj, name):
                object.__delattr__(obj, name)


def _install_set(obj: set, items: tuple) -> None:
    """The order in which a set gives its elements depends on how it came to hold them: the last that came may stand before one that
    has taken its place."""
    tries = itertools.chain((items, items[::-1]), itertools.permutations(items) if len(items) <= _FEW else ())
    for order in tries:
        set.clear(obj)
        set.update(obj, order)
        if all(map(operator.is_, set.__iter__(obj), items)):
            return
    if all(map(_hashes_alike, items)):
        raise CaptureRefusal("a set whose elements stand in an order that only its history explains", "use a list or a dict", kind="heap")


_FEW = 5


def _hashes_alike(x: Any) -> bool:
    """In every process, so that a program can count on the order of a set of such elements."""
    return isinstance(x, (int, float)) or isinstance(x, tuple) and all(map(_hashes_alike, x))


def _install_class(cls: type, values: dict) -> None:
    """A class's attributes can only be set one by one."""
    now = dict(vars(cls))
    for name in now:
        if name not in values:
            type.__delattr__(cls, name)
    for name, value in values.items():
        if name not in now or now[name] is not value:
            type.__setattr__(cls, name, value)


_slots_cache: dict[type, tuple[str, ...]] = {}


def closed_over(fn: Any) -> list:
    """What its closure holds; a variable that is not bound yet holds nothing."""
    return [contents[0] for contents in map(contents_of, getattr(fn, "__closure__", None) or ()) if contents]


def slot_names(cls: type) -> tuple[str, ...]:
    names = _slots_cache.get(cls)
    if names is None:
        found = []
        for base in cls.__mro__:
            if base is type:  # a metaclass: what `type` keeps of a class is no slot
                continue
            for name, attribute in vars(base).items():
                if isinstance(attribute, types.MemberDescriptorType) and name not in ("__dict__", "__weakref__"):
                    found.append(name)
        if cls.__module__ == "builtins":
            found = []
        names = _slots_cache[cls] = tuple(found)
    return names


def is_slot(obj: Any, name: str) -> bool:
    """Whether the attribute is one of those that an object's contents hold."""
    return not isinstance(obj, (list, dict, set, collections.deque, bytearray)) and name in slot_names(type(obj))


def _has_slot(obj: Any, name: str) -> bool:
    try:
        object.__getattribute__(obj, name)
        return True
    except AttributeError:
        return False


DEAD = type("_Dead", (), {"__repr__": lambda self: "<dead>"})()  # contents of an object its state cannot reach


def memory_of(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory, or the outermost one of those that look at it."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


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
        self.fragile: dict[int, tuple] = {}  # id -> (object, what to call before a change): copies of it are elsewhere
        self.fresh_arrays: dict[int, Any] = {}  # id -> a weak reference to a numpy array that was made during capture
        self.array_places: dict[int, tuple] = {}  # id -> (a weak reference to a numpy array, the instruction that made it)
        self.beside: dict[int, list] = {}  # id of a numpy array -> (weak references to it, to the storage of a tensor that shares its memory)
        self.installed = 0  # objects put in place for the states gone to, since dead ones were looked for
        self.dirty: set[int] = set()  # touched since the active overlay was last saved
        self.inert: dict[int, Any] = {}  # id -> a list or dict from before capture that holds nothing of this capture's

    def touch(self, obj: Any) -> None:
        """Must be called before obj is changed, while some overlay is active."""
        key = id(obj)
        if key in self.fragile:
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

    def _is_elsewhere(self, array: np.ndarray) -> bool:
        """Whether another array owns the memory. The array must not be a tensor's; one made during capture is the program's."""
        if memory_of(array) is not array:
            return True
        key = id(array)
        if any(known() is array and cell() is not None for known, cell in self.beside.get(key, ())):
            raise CaptureRefusal("a write to a numpy array that shares its memory with a tensor (from_numpy, as_tensor, numpy)",
                                 "copy() the array first", kind="inplace.shared")
        fresh = self.fresh_arrays.get(key)
        if fresh is not None and fresh() is array:
            self.born[key] = array
        return False

    def refuse_fragile(self, obj: Any) -> None:
        guard = self.fragile[id(obj)][1]
        if guard is not None:
            guard()
        raise CaptureRefusal(f"a {type(obj).__name__} that is in a list whose length is known only at run time is changed",
                             "change it before it is put there", kind="list.element")

    def touched(self, obj: Any) -> bool:
        return id(obj) in self.objects

    def is_inert(self, obj: Any) -> bool:
        """A long list or dict from before capture in which nothing made or written since was found, and that nobody touched."""
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
