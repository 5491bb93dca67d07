# SPDX-License-Identifier: Apache-2.0
"""What Python objects are made of: slots, attributes, closures, elements.
Facts about the user's objects, for capture and calls alike."""

from __future__ import annotations

import collections
import contextlib
import enum
import functools
import types
from typing import Any, Callable, Iterator, MutableMapping

import torch


class IdentityDict(MutableMapping):
    """Its keys are the objects that they are, whatever they equal, and live as long as they are keys."""

    def __init__(self, entries: Any = ()):
        self._entries: dict[int, tuple] = {}
        self.update(entries)

    def __getitem__(self, key: Any) -> Any:
        return self._entries[id(key)][1]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._entries[id(key)] = (key, value)

    def __delitem__(self, key: Any) -> None:
        del self._entries[id(key)]

    def __contains__(self, key: Any) -> bool:
        return id(key) in self._entries

    def __iter__(self) -> Iterator:
        return (key for key, _ in self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Any, default: Any = None) -> Any:
        found = self._entries.get(id(key))
        return default if found is None else found[1]

    def setdefault(self, key: Any, default: Any = None) -> Any:
        return self._entries.setdefault(id(key), (key, default))[1]

    def ids(self) -> Any:
        return self._entries.keys()


class IdentityPairs:
    """Its keys are pairs of objects, as those of an IdentityDict are objects."""

    def __init__(self) -> None:
        self._entries: dict[tuple[int, int], tuple] = {}

    def __setitem__(self, pair: tuple, value: Any) -> None:
        self._entries[id(pair[0]), id(pair[1])] = (*pair, value)

    def get(self, a: Any, b: Any, default: Any = None) -> Any:
        found = self._entries.get((id(a), id(b)))
        return default if found is None else found[2]


def reached(roots: Any, parts: Callable[[Any], Any]) -> IdentityDict:
    """The objects that are found from these, as keys. `parts`: what one holds; None: it does not count."""
    found, work = IdentityDict(), list(roots)
    while work:
        x = work.pop()
        inside = None if x in found else parts(x)
        if inside is not None:
            found[x] = None
            work += inside
    return found


_KINDS = (list, tuple, set, frozenset, collections.deque)
_BY_VALUE = (str, int, bool, bytes, type(None), torch.dtype, torch.device, torch.layout)
_BY_CONTENTS = (tuple, frozenset, torch.Size)


def held(container: Any) -> Any:
    """Its elements or values, whatever iteration means in a class of the user's."""
    if isinstance(container, dict):
        return dict.values(container)
    kind = type(container)
    return container if kind in _KINDS else next(k for k in _KINDS if isinstance(container, k)).__iter__(container)


def within(tree: Any, depth: int = 64, kinds: Any = (list, tuple, set, dict)) -> Iterator:
    """It, and what it holds so many containers of these kinds deep."""
    level = [tree]
    while level:
        yield from level
        level = [y for x in level if isinstance(x, kinds) for y in held(x)] if depth else []
        depth -= 1


def mapped(change: Callable[[Any], Any], tree: Any) -> Any:
    """The same lists, tuples and dicts with what `change` makes of their leaves."""
    if type(tree) in (list, tuple):
        return type(tree)(mapped(change, x) for x in tree)
    return {k: mapped(change, x) for k, x in tree.items()} if isinstance(tree, dict) else change(tree)


_slots_cache: dict[type, tuple[str, ...]] = {}


def closed_over(fn: Any) -> list:
    """What its closure holds; a variable that is not bound yet holds nothing."""
    found = []
    for cell in getattr(fn, "__closure__", None) or ():
        with contextlib.suppress(ValueError):
            found.append(cell.cell_contents)
    return found


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


def parameter_names(parameters: Any, *kinds: Any) -> list[str]:
    """Of a signature, those of these kinds (inspect.Parameter.VAR_KEYWORD, ...)."""
    return [p.name for p in parameters.values() if p.kind in kinds]


def is_slot(obj: Any, name: str) -> bool:
    """Whether the attribute is one of those that an object's contents hold."""
    return not isinstance(obj, (list, dict, set, collections.deque, bytearray)) and name in slot_names(type(obj))


def is_entry_name(key: Any) -> bool:
    """Whether an attribute or an entry of a dict under this key may be a state of its own: keys that are equal wherever
    they are made, such as names, extents and dtypes."""
    if isinstance(key, (tuple, frozenset)):
        return type(key) in _BY_CONTENTS and all(map(is_entry_name, key))
    return type(key) in _BY_VALUE or isinstance(key, (type, enum.Enum))


def has_slot(obj: Any, name: str) -> bool:
    try:
        object.__getattribute__(obj, name)
        return True
    except AttributeError:
        return False


def exotic(real: torch.Tensor) -> str:
    """What is unusual about a tensor that no program can take; "" for plain ones."""
    if type(real) is not torch.Tensor and type(real) is not torch.nn.Parameter:
        return f"a tensor subclass ({type(real).__name__})"
    if getattr(real, "is_nested", False):
        return "a nested tensor"
    if real.layout is not torch.strided:
        return f"a tensor of layout {real.layout}"
    if real.is_quantized:
        return "a quantized tensor"
    return "a tensor without data (device meta)" if real.is_meta else ""


def attributes_of(x: Any) -> dict | None:
    """All that an object holds, slots first; None of one that has no attributes of its own."""
    slots = slot_names(type(x)) if all_in_attributes(type(x)) else ()
    own = getattr(x, "__dict__", None)
    if own is None and not slots:
        return None
    return {**{name: getattr_static(x, name) for name in slots if hasattr(x, name)}, **(own or {})}


HEAP_TYPE = 1 << 9


@functools.lru_cache(maxsize=None)
def all_in_attributes(cls: type) -> bool:
    """All there is to an instance is in its attributes: the class and its bases are written in Python."""
    if (issubclass(cls, (type, torch.nn.Module, enum.Enum))
            or not all(b is object or b.__flags__ & HEAP_TYPE for b in cls.__mro__)):
        return cls is types.SimpleNamespace
    try:
        object.__new__(cls)
    except TypeError:  # a class written in C
        return False
    return True


def getattr_static(obj: Any, name: str) -> Any:
    return object.__getattribute__(obj, name) if name not in getattr(obj, "__dict__", ()) else obj.__dict__[name]


def new_instance(cls: type) -> Any:
    """Without what a class of the user's does when one is made."""
    native = next(base for base in cls.__mro__ if isinstance(vars(base).get("__new__"), types.BuiltinFunctionType))
    return native.__new__(cls)


def plain_object(x: Any) -> bool:
    """An instance of a class written in Python whose attributes are all there is to it."""
    cls = type(x)
    return bool(cls.__flags__ & (1 << 9)) and hasattr(x, "__dict__") and object in cls.__bases__ and not isinstance(
        x, (torch.nn.Module, type)) and not hasattr(cls, "__slots__")
