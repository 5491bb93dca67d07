# SPDX-License-Identifier: Apache-2.0
"""Structures of inputs and outputs: Python objects with tensors and numbers at their leaves.

`flatten` walks an object that a program returns and gives a template (nested immutable tuples, equal
for equal structures) and the leaves; `rebuild` makes the object again from computed leaves. The
template of a saved program is JSON: classes are written as module:qualname and imported again.
"""

from __future__ import annotations

import collections
import dataclasses
import importlib
from typing import Any, Callable

import torch

from .tables import RtDict, RtSet

_PLAIN = (type(None), bool, int, float, str, bytes, complex, torch.dtype, torch.device, torch.Size, type(Ellipsis))


class Flattener:
    """`leaf(obj)` says whether obj is a leaf and of which kind ("tensor", "int", "array", ...), else None.
    `contents` reads containers, so that a captured state's view of them can be taken."""

    def __init__(self, leaf: Callable[[Any], str | None], refuse: Callable[[Any, str], None],
                 made: Callable[[Any], bool]):
        self.leaf = leaf
        self.made = made  # was the object made or changed by the program? others are given back as they are
        self.refuse = refuse
        self.leaves: list = []
        self.seen: dict[int, int] = {}
        self.keep: list = []

    def flatten(self, obj: Any, path: str) -> tuple:
        kind = self.leaf(obj)
        if isinstance(kind, tuple):  # ("rows", class, template of an element): a list of run-time length
            if id(obj) in self.seen:
                return ("ref", self.seen[id(obj)])
            if kind[1] is list:
                self.seen[id(obj)] = len(self.seen)
                self.keep.append(obj)
            self.leaves.append(obj)
            return kind
        if kind is not None:
            if kind == "tensor":
                if id(obj) in self.seen:
                    return ("ref", self.seen[id(obj)])
                self.seen[id(obj)] = len(self.seen)
                self.keep.append(obj)
            self.leaves.append(obj)
            return (kind,)
        if isinstance(obj, _PLAIN):
            return ("static", type(obj).__name__, repr(obj) if isinstance(obj, float) else obj)
        if id(obj) in self.seen:
            return ("ref", self.seen[id(obj)])
        if type(obj) is not tuple:
            self.seen[id(obj)] = len(self.seen)
            self.keep.append(obj)
        return self._container(obj, path)

    def _container(self, obj: Any, path: str) -> tuple:
        cls = type(obj)
        if isinstance(obj, tuple):
            cls = torch.Size if cls.__name__ == "RtSize" else cls  # its extents are numbers in a run
            return ("tuple", cls, tuple(self.flatten(x, f"{path}[{k}]") for k, x in enumerate(obj)))
        if isinstance(obj, (list, collections.deque)):
            return ("list", cls, tuple(self.flatten(x, f"{path}[{k}]") for k, x in enumerate(obj)))
        if isinstance(obj, dict):
            items = tuple((k, self.flatten(v, f"{path}[{k!r}]")) for k, v in dict.items(obj))
            extra = tuple((k, self.flatten(v, f"{path}.{k}")) for k, v in vars(obj).items()) if hasattr(
                obj, "__dict__") else ()
            return ("dict", cls, items, extra)
        if isinstance(obj, RtDict):  # lists of its keys and of its values
            return ("table", obj.kind, (self.flatten(obj.found_keys, path), self.flatten(obj.found_values, path)))
        if isinstance(obj, RtSet):
            return ("table", set, (self.flatten(obj.found, path),))
        if isinstance(obj, (set, frozenset)):
            return ("set", cls, tuple(self.flatten(x, path) for x in obj))
        if not self.made(obj):
            return self.static_object(obj, path)
        if (cls.__module__ or "").startswith("dycl."):
            self.refuse(obj, path)
        if hasattr(obj, "__dict__") and not isinstance(obj, (type, torch.nn.Module)) and not callable(obj):
            return ("object", cls, tuple((k, self.flatten(v, f"{path}.{k}")) for k, v in vars(obj).items()))
        if dataclasses.is_dataclass(obj) and not isinstance(obj, type):
            return ("object", cls, tuple((f.name, self.flatten(getattr(obj, f.name), f"{path}.{f.name}"))
                                         for f in dataclasses.fields(obj)))
        return self.static_object(obj, path)

    def static_object(self, obj: Any, path: str) -> tuple:
        return ("live", StaticObject(obj))


class StaticObject:
    """An object of the user's world that a program gives back as it is."""

    __slots__ = ("obj",)

    def __init__(self, obj: Any):
        self.obj = obj

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, StaticObject) and other.obj is self.obj

    def __hash__(self) -> int:
        return id(self.obj)


def rebuild(template: tuple, leaves: Any, made: list | None = None) -> Any:
    """`leaves`: an iterator of computed leaves in the order of flattening."""
    made = [] if made is None else made
    kind = template[0]
    if kind == "ref":
        return made[template[1]]
    if kind == "static":
        return float(template[2]) if template[1] == "float" else template[2]
    if kind == "live":
        made.append(template[1].obj)
        return template[1].obj
    if kind == "tuple":
        cls, items = template[1], template[2]
        if cls is not tuple:
            slot = len(made)
            made.append(None)
        values = [rebuild(t, leaves, made) for t in items]
        if cls is torch.Size:
            result = torch.Size(values)
        elif cls is tuple:
            return tuple(values)
        elif hasattr(cls, "_fields"):
            result = cls(*values)
        else:  # torch.return_types and other structured tuples
            try:
                result = cls(values)
            except TypeError:
                result = tuple.__new__(cls, values)
        made[slot] = result
        return result
    return _rebuild_mutable(template, leaves, made)


def _rebuild_mutable(template: tuple, leaves: Any, made: list) -> Any:
    kind = template[0]
    if kind in ("tensor", "array", "int", "float", "bool"):
        value = next(leaves)
        if kind == "tensor":
            made.append(value)
        return value
    cls = template[1]
    if kind == "rows":
        slot = len(made)
        if cls is list:
            made.append(None)
        columns = [next(leaves) for _ in range(count_leaves(template[2]))]
        rows = [rebuild(template[2], iter(row), []) for row in zip(*columns)]
        if cls is list:
            made[slot] = rows
        return rows if cls is list else tuple(rows)
    if kind == "list":
        result = cls()
        made.append(result)
        for t in template[2]:
            result.append(rebuild(t, leaves, made))
        return result
    if kind == "dict":
        result = cls.__new__(cls)
        made.append(result)
        put = collections.OrderedDict.__setitem__ if isinstance(result, collections.OrderedDict) else dict.__setitem__
        for key, t in template[2]:
            put(result, key, rebuild(t, leaves, made))
        for name, t in template[3]:
            result.__dict__[name] = rebuild(t, leaves, made)
        return result
    if kind == "table":
        result = cls.__new__(cls)
        made.append(result)
        columns = [rebuild(t, leaves, made) for t in template[2]]
        if len(columns) == 1:
            result.update(columns[0])
        put = collections.OrderedDict.__setitem__ if isinstance(result, collections.OrderedDict) else dict.__setitem__
        for key, value in zip(*columns) if len(columns) > 1 else ():
            put(result, key, value)
        return result
    if kind == "set":
        slot = len(made)
        made.append(None)
        made[slot] = cls(rebuild(t, leaves, made) for t in template[2])
        return made[slot]
    result = object.__new__(cls)
    made.append(result)
    for name, t in template[2]:
        object.__setattr__(result, name, rebuild(t, leaves, made))
    return result


def count_leaves(template: tuple) -> int:
    """Of an element of a list whose length is known only at run time."""
    if template[0] in ("tuple", "list"):
        return sum(map(count_leaves, template[2]))
    if template[0] in ("dict", "object"):
        return sum(count_leaves(t) for _, t in template[2])
    return 0 if template[0] == "static" else 1


# ---- JSON -------------------------------------------------------------------------------------


class NotSaved(Exception):
    """A structure that cannot be written to a file."""


def plain_object(x: Any) -> bool:
    """An instance of a class written in Python whose attributes are all there is to it."""
    cls = type(x)
    return bool(cls.__flags__ & (1 << 9)) and hasattr(x, "__dict__") and object in cls.__bases__ and not isinstance(
        x, (torch.nn.Module, type)) and not hasattr(cls, "__slots__")


class _Absent:
    """Among the values that an attribute may have: none, it is not there."""

    def __repr__(self) -> str:
        return "<absent>"

    def __copy__(self) -> "_Absent":
        return self

    def __deepcopy__(self, memo: dict) -> "_Absent":
        return self


ABSENT = _Absent()


class Slot:
    """Among the values that an attribute may have: any tensor of this dtype and shape; None stands for any extent."""

    def __init__(self, dtype: torch.dtype, shape: tuple):
        self.dtype, self.shape = dtype, tuple(shape)

    def fits(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor) and value.dtype == self.dtype and value.dim() == len(self.shape) and all(
            mine is None or type(given) is int and mine == given for mine, given in zip(self.shape, value.shape))

    def empty(self) -> torch.Tensor:
        return torch.zeros([d or 0 for d in self.shape], dtype=self.dtype)

    @property
    def open_axes(self) -> frozenset:
        return frozenset(axis for axis, extent in enumerate(self.shape) if extent is None)

    def joined(self, other: torch.Tensor | Slot) -> Slot | None:
        """A slot for both, if dtype and rank agree."""
        if other.dtype != self.dtype or len(other.shape) != len(self.shape):
            return None
        return Slot(self.dtype, tuple(a if type(b) is int and a == b else None for a, b in zip(self.shape, other.shape)))


def to_json(template: tuple) -> Any:
    kind = template[0]
    if kind in ("tensor", "array", "int", "float", "bool", "ref", "same"):
        return list(template)
    if kind == "static":
        value = template[2]
        if template[1] in ("NoneType", "bool", "int", "str", "float"):
            return list(template)
        return ["static", template[1], str(value)]
    if kind == "live":
        obj = template[1].obj
        name = getattr(obj, "__qualname__", None)
        if name and getattr(obj, "__module__", None):
            return ["import", f"{obj.__module__}:{name}"]
        return ["lost", type(obj).__name__]
    cls = f"{template[1].__module__}:{template[1].__qualname__}"
    if kind == "rows":
        return [kind, cls, to_json(template[2])]
    if kind in ("tuple", "list", "set", "table"):
        return [kind, cls, [to_json(t) for t in template[2]]]
    if kind == "dict":
        return [kind, cls, [[_key(k), to_json(t)] for k, t in template[2]], [[k, to_json(t)] for k, t in template[3]]]
    return [kind, cls, [[k, to_json(t)] for k, t in template[2]]]


def _key(key: Any) -> Any:
    if isinstance(key, (str, int, bool, float, type(None))):
        return key
    raise NotSaved(f"a dict key of type {type(key).__name__}")


def from_json(data: Any) -> tuple:
    kind = data[0]
    if kind in ("tensor", "array", "int", "float", "bool", "ref", "same"):
        return tuple(data)
    if kind == "static":
        value = data[2]
        if data[1] == "dtype":
            value = getattr(torch, value.removeprefix("torch."))
        elif data[1] == "device":
            value = torch.device(value)
        return ("static", data[1], value)
    if kind == "import":
        return ("live", StaticObject(imported(data[1])))
    if kind == "lost":
        return ("static", "NoneType", None)
    cls = imported(data[1])
    if kind == "rows":
        return (kind, cls, from_json(data[2]))
    if kind in ("tuple", "list", "set", "table"):
        return (kind, cls, tuple(from_json(t) for t in data[2]))
    if kind == "dict":
        return (kind, cls, tuple((k, from_json(t)) for k, t in data[2]), tuple((k, from_json(t)) for k, t in data[3]))
    return (kind, cls, tuple((k, from_json(t)) for k, t in data[2]))


def imported(name: str) -> Any:
    module, _, qualname = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found
