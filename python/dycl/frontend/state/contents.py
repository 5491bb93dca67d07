# SPDX-License-Identifier: Apache-2.0
"""The contents of mutable objects, by kind: immutable data that is taken, put back, followed, and merged.

list -> tuple of items; dict -> tuple of (key, value); set -> tuple; an object with __dict__ -> its attributes. A class
for each kind says how (`kind_of_object`). Objects of ours say it themselves: `dycl_contents()`,
`dycl_install(contents)` and `dycl_merged(union, a, b)`, of the contents in two states.
"""

from __future__ import annotations

import array
import collections
import functools
import itertools
import operator
import types
from typing import Any, Callable, Protocol

import numpy as np

from ...objects import has_slot, slot_names
from ..diagnostics import CaptureRefusal
from ..values.equality import same_keys
from ..values.guard import NO_GUARD, Guard


class Cell:
    """One mutable slot: a tensor's storage, a captured variable. `note`: a guard, or "held" or "shared", of which
    recording/real_tensors.py knows."""

    __slots__ = ("value", "note", "arrays", "__weakref__")

    def __init__(self, value: Any = None, note: Any = None):
        self.value = value
        self.note = note
        self.arrays: tuple = ()  # weak references to numpy arrays whose memory this is (torch.from_numpy, Tensor.numpy)

    @property
    def guard(self) -> Guard:
        return self.note if isinstance(self.note, Guard) else NO_GUARD

    def dycl_contents(self) -> Any:
        return self.value

    def dycl_install(self, contents: Any) -> None:
        self.value = contents

    def dycl_merged(self, union: Any, a: Any, b: Any) -> Any:
        union.cell(self)
        return a


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

    def dycl_merged(self, union: Any, a: tuple, b: tuple) -> tuple:
        return _merged_variable(union, a, b)


def _merged_variable(union: Any, a: tuple, b: tuple) -> tuple:
    if len(a) != len(b):
        union.apart("a variable defined in one state only")
    return union.items(a, b)


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


def _install_deque(obj: collections.deque, items: tuple) -> None:
    collections.deque.clear(obj)
    collections.deque.extend(obj, items)


def _install_typed(obj: array.array, items: tuple) -> None:
    obj[:] = array.array(obj.typecode, items)


def _install_set(obj: set, items: tuple) -> None:
    """The order in which a set gives its elements depends on how it came to hold them: the last that came may stand
    before one that has taken its place."""
    tries = itertools.chain((items, items[::-1]), itertools.permutations(items) if len(items) <= _FEW else ())
    for order in tries:
        set.clear(obj)
        set.update(obj, order)
        if all(map(operator.is_, set.__iter__(obj), items)):
            return
    if all(map(hashes_alike, items)):
        raise CaptureRefusal("a set whose elements stand in an order that only its history explains",
                             "use a list or a dict", kind="heap")


_FEW = 5


def hashes_alike(x: Any) -> bool:
    """In every process, so that a program can count on the order of a set of such elements."""
    return isinstance(x, (int, float)) or isinstance(x, tuple) and all(map(hashes_alike, x))


class Kind(Protocol):
    """What the objects of some classes are made of."""

    def contents(self, obj: Any) -> Any: ...

    def install(self, obj: Any, contents: Any) -> None: ...

    def held(self, contents: Any) -> tuple:
        """Collections of all that they refer to."""

    def merged(self, union: Any, obj: Any, a: Any, b: Any) -> Any:
        """The contents that two states have of obj, as one (merging/unify_objects.py)."""


class _Elements:
    """Items, and the attributes of an instance of a subclass."""

    def __init__(self, base: Any, fill: Callable[[Any, tuple], None]):
        self.base, self.fill = base, fill

    def contents(self, obj: Any) -> tuple:
        attributes = None if type(obj) is self.base else getattr(obj, "__dict__", None)
        items = self.base.__iter__(obj)
        return tuple(items) if attributes is None else Items(items, dict(attributes))

    def install(self, obj: Any, contents: tuple) -> None:
        if type(contents) is Items:
            obj.__dict__.clear()
            obj.__dict__.update(contents.attributes)
        self.fill(obj, contents)

    def held(self, contents: tuple) -> tuple:
        return (contents, contents.attributes.values()) if type(contents) is Items else (contents,)

    def merged(self, union: Any, obj: Any, a: Any, b: Any) -> tuple:
        items = self.merged_items(union, a, b)
        if type(a) is not Items:
            return items
        attributes = union.attributes(a.attributes, b.attributes)
        return a if items is a and attributes is a.attributes else Items(items, attributes)

    def merged_items(self, union: Any, a: tuple, b: tuple) -> tuple:
        if len(a) != len(b):
            union.apart(f"lists of {len(a)} and {len(b)} elements")
        return union.items(a, b)


class _Sets(_Elements):
    def merged_items(self, union: Any, a: tuple, b: tuple) -> tuple:
        if not same_keys(a, b):  # in another order they are other sets to a loop
            union.apart("different sets")
        return a


class _Dicts:
    """Entries, and the attributes of an instance of a subclass."""

    def contents(self, obj: Any) -> tuple:
        extra = getattr(obj, "__dict__", None)
        return (tuple(self.entries(obj)), dict(extra) if extra is not None else None)

    def entries(self, obj: dict) -> Any:
        return dict.items(obj)

    def install(self, obj: Any, contents: tuple) -> None:
        own, extra = contents
        self.fill(obj, own)
        if extra is not None:
            obj.__dict__.clear()
            obj.__dict__.update(extra)

    def fill(self, obj: dict, entries: tuple) -> None:
        dict.clear(obj)
        dict.update(obj, entries)

    def held(self, contents: tuple) -> tuple:
        entries, extra = contents
        return (tuple(itertools.chain.from_iterable(entries)), (extra or {}).values())

    def merged(self, union: Any, obj: Any, a: tuple, b: tuple) -> tuple:
        entries, extra = union.entries(a[0], b[0]), union.attributes(a[1], b[1])
        return a if entries is a[0] and extra is a[1] else (entries, extra)


class _OrderedDicts(_Dicts):
    def entries(self, obj: Any) -> Any:
        return collections.OrderedDict.items(obj)

    def fill(self, obj: Any, entries: tuple) -> None:
        collections.OrderedDict.clear(obj)
        for key, value in entries:
            collections.OrderedDict.__setitem__(obj, key, value)


class _Variables:
    """Of enclosing functions: one item, or none."""

    def contents(self, obj: types.CellType) -> tuple:
        try:
            return (obj.cell_contents,)
        except ValueError:
            return ()

    def install(self, obj: types.CellType, contents: tuple) -> None:
        if contents:
            obj.cell_contents = contents[0]
        else:
            del obj.cell_contents

    def held(self, contents: tuple) -> tuple:
        return (contents,)

    def merged(self, union: Any, obj: Any, a: tuple, b: tuple) -> tuple:
        return _merged_variable(union, a, b)


class _Ours:
    def contents(self, obj: Any) -> Any:
        return obj.dycl_contents()

    def install(self, obj: Any, contents: Any) -> None:
        obj.dycl_install(contents)

    def held(self, contents: Any) -> tuple:
        return (contents if isinstance(contents, tuple) else (contents,),)

    def merged(self, union: Any, obj: Any, a: Any, b: Any) -> Any:
        return obj.dycl_merged(union, a, b)


class _Attributes:
    """In __dict__ if there is one, and in slots."""

    def contents(self, obj: Any) -> tuple:
        slots = slot_names(type(obj))
        if hasattr(obj, "__dict__") or slots or type(obj) is object:  # of object() nothing but its identity counts
            values = dict(object.__getattribute__(obj, "__dict__")) if hasattr(obj, "__dict__") else None
            held = {name: object.__getattribute__(obj, name) for name in slots if has_slot(obj, name)}
            return (values, held)
        raise unfollowed(obj)

    def install(self, obj: Any, contents: tuple) -> None:
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

    def held(self, contents: tuple) -> tuple:
        return tuple((held or {}).values() for held in contents)

    def merged(self, union: Any, obj: Any, a: tuple, b: tuple) -> tuple:
        values, held = union.attributes(a[0], b[0]), union.attributes(a[1], b[1])
        return a if values is a[0] and held is a[1] else (values, held)


class _Arrays:
    """Of numpy: bytes. Of Python objects those that have attributes alone."""

    def contents(self, obj: np.ndarray) -> Any:
        return _ATTRIBUTES.contents(obj) if obj.dtype.hasobject else obj.tobytes()

    def install(self, obj: np.ndarray, contents: Any) -> None:
        if type(contents) is not bytes:
            _ATTRIBUTES.install(obj, contents)
        elif obj.tobytes() != contents:
            obj[...] = np.frombuffer(contents, obj.dtype).reshape(obj.shape)

    def held(self, contents: Any) -> tuple:
        return () if type(contents) is bytes else _ATTRIBUTES.held(contents)

    def merged(self, union: Any, obj: Any, a: Any, b: Any) -> Any:
        if a != b:
            union.apart("numpy arrays with different contents")
        return a


_OURS, _ATTRIBUTES = _Ours(), _Attributes()
_KINDS: dict[type, Kind] = {
    list: _Elements(list, lambda obj, items: list.__setitem__(obj, slice(None), items)),
    bytearray: _Elements(bytearray, lambda obj, items: bytearray.__setitem__(obj, slice(None), bytes(items))),
    array.array: _Elements(array.array, _install_typed),
    collections.deque: _Elements(collections.deque, _install_deque), set: _Sets(set, _install_set),
    dict: _Dicts(), collections.OrderedDict: _OrderedDicts(), types.CellType: _Variables(), np.ndarray: _Arrays()}


def _kind_of_object(cls: type) -> Kind:
    if has_own_contents(cls):
        return _OURS
    return next((_KINDS[base] for base in cls.__mro__ if base in _KINDS), _ATTRIBUTES)


kind_of_object: Callable[[type], Kind] = functools.lru_cache(maxsize=4096)(_kind_of_object)


def contents_of(obj: Any) -> Any:
    return kind_of_object(type(obj)).contents(obj)


def install(obj: Any, contents: Any) -> None:
    kind_of_object(type(obj)).install(obj, contents)


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
