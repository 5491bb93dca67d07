# SPDX-License-Identifier: Apache-2.0
"""The contents of a mutable object, by kind: taken, and put back.

list -> tuple of items; dict -> tuple of (key, value); set -> tuple; an object with __dict__ -> its attributes; a `Cell`
-> its value; anything with `dycl_contents()`/`dycl_install(c)`.
"""

from __future__ import annotations

import collections
import itertools
import operator
import types
from typing import Any

import numpy as np

from ...objects import has_slot, slot_names
from ..diagnostics import CaptureRefusal


class Cell:
    """One mutable slot: a tensor's storage, a captured variable."""

    __slots__ = ("value", "note", "arrays", "__weakref__")

    def __init__(self, value: Any = None, note: Any = None):
        self.value = value
        self.note = note
        self.arrays: tuple = ()  # weak references to numpy arrays whose memory this is (torch.from_numpy, Tensor.numpy)

    def dycl_contents(self) -> Any:
        return self.value

    def dycl_install(self, contents: Any) -> None:
        self.value = contents


class ContextCell:
    """The value of a ContextVar, if it has one: a tuple of one or no item, per state."""

    __slots__ = ("value", "var", "__weakref__")

    def __init__(self, value: tuple, var: Any):
        self.value = value
        self.var = var

    def dycl_contents(self) -> tuple:
        return self.value

    def dycl_install(self, contents: tuple) -> None:
        self.value = contents


def unfollowed(obj: Any) -> CaptureRefusal:
    return CaptureRefusal(f"a {type(obj).__name__} is changed in a way that cannot be followed",
                          "use lists, dicts, tensors or plain objects", kind="heap")


def has_own_contents(cls: type) -> bool:
    """One of ours, which says itself what its contents are."""
    return hasattr(cls, "dycl_contents")


LONG = 8  # elements: of longer containers it is looked for what need not be looked at again


class Items(tuple):
    """The items of an instance of a subclass of list, set or deque, and its attributes."""

    attributes: dict

    def __new__(cls, items: Any, attributes: dict) -> "Items":
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
    if has_own_contents(type(obj)):
        return obj.dycl_contents()
    if isinstance(obj, np.ndarray) and not obj.dtype.hasobject:
        return obj.tobytes()
    if isinstance(obj, types.CellType):
        try:
            return (obj.cell_contents,)
        except ValueError:
            return ()
    return _attributes(obj)


def _attributes(obj: Any) -> tuple:
    slots = slot_names(type(obj))
    if hasattr(obj, "__dict__") or slots or type(obj) is object:  # of object() nothing but its identity counts
        values = dict(object.__getattribute__(obj, "__dict__")) if hasattr(obj, "__dict__") else None
        held = {name: object.__getattribute__(obj, name) for name in slots if has_slot(obj, name)}
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
        _install_dict(obj, contents)
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
        _install_attributes(obj, contents)


def _install_dict(obj: dict, contents: tuple) -> None:
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


def _install_attributes(obj: Any, contents: tuple) -> None:
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
        elif has_slot(obj, name):
            object.__delattr__(obj, name)


def _install_set(obj: set, items: tuple) -> None:
    """The order in which a set gives its elements depends on how it came to hold them: the last that came may stand
    before one that has taken its place."""
    tries = itertools.chain((items, items[::-1]), itertools.permutations(items) if len(items) <= _FEW else ())
    for order in tries:
        set.clear(obj)
        set.update(obj, order)
        if all(map(operator.is_, set.__iter__(obj), items)):
            return
    if all(map(_hashes_alike, items)):
        raise CaptureRefusal("a set whose elements stand in an order that only its history explains",
                             "use a list or a dict", kind="heap")


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


DEAD = type("_Dead", (), {"__repr__": lambda self: "<dead>"})()  # contents of an object its state cannot reach


def memory_of(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory, or the outermost one of those that look at it."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
