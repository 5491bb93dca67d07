# SPDX-License-Identifier: Apache-2.0
"""Structures of inputs and outputs: Python objects with tensors and numbers at their leaves.

`flatten` walks an object that a program returns and gives a template (nested immutable tuples, equal
for equal structures) and the leaves; `rebuild` makes the object again from computed leaves. The
template of a saved program is JSON: classes are written as module:qualname and imported again.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import importlib
import types
from typing import Any, Callable

import torch

from .heap import closed_over, slot_names
from .runtime_text import RtText
from .scalars import kind_of
from .tables import RtDict, RtSet
from .values import EXAMPLES

_PLAIN = (type(None), bool, int, float, str, bytes, complex, torch.dtype, torch.device, torch.Size, type(Ellipsis))


class Flattener:
    """`leaf(obj)` says whether obj is a leaf and of which kind ("tensor", "int", "array", ...), else None.
    `contents` reads containers, so that a captured state's view of them can be taken."""

    def __init__(self, leaf: Callable[[Any], str | None], refuse: Callable[[Any, str], None],
                 made: Callable[[Any], bool], argument: Callable[[Any], str | None] = lambda obj: None,
                 text: Callable[[RtText, Callable], tuple] | None = None):
        self.leaf = leaf
        self.argument = argument  # the path of a container among the arguments: that one is given back
        self.made = made  # was the object made or changed by the program? others are given back as they are
        self.refuse = refuse
        self.text = text  # the template of a text with numbers, given how each of them is flattened
        self.leaves: list = []
        self.seen: dict[int, int] = {}
        self.keep: list = []

    def flatten(self, obj: Any, path: str) -> tuple:
        if isinstance(obj, RtText) and obj.writable:
            return self.text(obj, lambda x: self.flatten(x, path))
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
        if type(obj) is float:
            return ("static", "float", repr(obj))
        if isinstance(obj, _PLAIN) and not isinstance(obj, float):
            if self.made(obj) and getattr(obj, "__dict__", None):
                self.refuse(obj, path)
            return ("static", type(obj).__name__, obj)
        if id(obj) in self.seen:
            return ("ref", self.seen[id(obj)])
        if type(obj) is not tuple:
            self.seen[id(obj)] = len(self.seen)
            self.keep.append(obj)
        found, own = self._container(obj, path), self.argument(obj)
        return found if own is None else ("argument", own, found)

    def _container(self, obj: Any, path: str) -> tuple:
        cls = type(obj)
        if isinstance(obj, tuple):
            cls = torch.Size if cls.__name__ == "RtSize" else cls  # its extents are numbers in a run
            return ("tuple", cls, tuple(self.flatten(x, f"{path}[{k}]") for k, x in enumerate(tuple.__iter__(obj))), *self._extra(obj, path))
        if isinstance(obj, (list, collections.deque)):
            own = list if isinstance(obj, list) else collections.deque
            items = tuple(self.flatten(x, f"{path}[{k}]") for k, x in enumerate(own.__iter__(obj)))
            greatest = (("static", "int", obj.maxlen),) if own is collections.deque and obj.maxlen is not None else ()
            return ("list", cls, items, *(self._extra(obj, path) or ((),) * len(greatest)), *greatest)
        if isinstance(obj, dict):
            items = tuple((k, self.flatten(v, f"{path}[{k!r}]")) for k, v in dict.items(obj))
            extra = tuple((k, self.flatten(v, f"{path}.{k}")) for k, v in vars(obj).items()) if hasattr(
                obj, "__dict__") else ()
            factory = getattr(obj, "default_factory", None) if isinstance(obj, collections.defaultdict) else None
            return ("dict", cls, items, extra, *(() if factory is None else (self._code(factory, path),)))
        if isinstance(obj, RtDict):  # lists of its keys and of its values
            return ("table", obj.kind, (self.flatten(obj.found_keys, path), self.flatten(obj.found_values, path)))
        if isinstance(obj, RtSet):
            return ("table", set, (self.flatten(obj.found, path),))
        if isinstance(obj, (set, frozenset)):
            own = set if isinstance(obj, set) else frozenset
            return ("set", cls, tuple(self.flatten(x, path) for x in own.__iter__(obj)), *self._extra(obj, path))
        if isinstance(obj, _HOLDING):
            return self._code(obj, path)
        if (cls.__module__ or "").startswith("dycl.frontend."):
            self.refuse(obj, path)
        if not self.made(obj):
            return self.static_object(obj, path)
        if isinstance(obj, float) and vars(obj):
            self.refuse(obj, path)
        if (cls.__module__ or "").startswith("dycl.") or isinstance(obj, torch.nn.Module):
            self.refuse(obj, path)
        if isinstance(obj, BaseException):
            names = (("args", self.flatten(obj.args, f"{path}.args")), *((k, self.flatten(v, f"{path}.{k}")) for k, v in vars(obj).items()))
            return ("exception", cls, names)
        if all_in_attributes(cls):
            names = [*(n for n in slot_names(cls) if hasattr(obj, n)), *getattr(obj, "__dict__", ())]
            return ("object", cls, tuple((k, self.flatten(getattr_static(obj, k), f"{path}.{k}")) for k in names))
        if dataclasses.is_dataclass(obj) and not isinstance(obj, type):
            return ("object", cls, tuple((f.name, self.flatten(getattr(obj, f.name), f"{path}.{f.name}"))
                                         for f in dataclasses.fields(obj)))
        return self.static_object(obj, path)

    def _extra(self, obj: Any, path: str) -> tuple:
        """The attributes of an instance of a subclass of a container, if there are any."""
        own = getattr(obj, "__dict__", None)
        return (tuple((k, self.flatten(v, f"{path}.{k}")) for k, v in own.items()),) if isinstance(own, dict) and own else ()

    def _code(self, obj: Any, path: str) -> tuple:
        """A function, method, view or the like: given back as it is, so nothing that a run computes may be in it."""
        kept = isinstance(obj, types.MethodType) and isinstance(obj.__self__, torch.nn.Module) and not path.startswith("result")
        if not kept and self._holds(obj, 0):  # what the program does to a module that keeps one of its methods is written to it
            self.refuse(obj, path)
        return self.static_object(obj, path)

    def _holds(self, obj: Any, depth: int) -> bool:
        if self.leaf(obj) is not None or depth > 6:
            return True
        if isinstance(obj, types.FunctionType):
            inside = [*closed_over(obj), *(obj.__defaults__ or ()), *(obj.__kwdefaults__ or {}).values()]
        elif isinstance(obj, functools.partial):
            inside = [obj.func, *obj.args, *obj.keywords.values()]
        elif isinstance(obj, (types.MethodType, types.BuiltinMethodType)):
            inside = [obj.__self__]
        elif isinstance(obj, slice):
            inside = [obj.start, obj.stop, obj.step]
        elif isinstance(obj, _VIEWS):
            return True
        elif isinstance(obj, (tuple, list, set, frozenset)):
            inside = list(obj)
        elif isinstance(obj, dict):
            inside = list(obj.values())
        else:
            return self.made(obj) and not isinstance(obj, (type, types.ModuleType))
        return any(self._holds(x, depth + 1) for x in inside)

    def static_object(self, obj: Any, path: str) -> tuple:
        return ("live", StaticObject(obj))


_VIEWS = (type({}.keys()), type({}.values()), type({}.items()), types.MappingProxyType)
_HOLDING = (types.FunctionType, types.MethodType, types.BuiltinMethodType, functools.partial, slice, *_VIEWS)
_HEAP_TYPE = 1 << 9


@functools.lru_cache(maxsize=None)
def all_in_attributes(cls: type) -> bool:
    """All there is to an instance is in its attributes: the class and its bases are written in Python."""
    if issubclass(cls, (type, torch.nn.Module, enum.Enum)) or not all(b is object or b.__flags__ & _HEAP_TYPE for b in cls.__mro__):
        return cls is types.SimpleNamespace
    try:
        object.__new__(cls)
    except TypeError:  # a class written in C
        return False
    return True


def getattr_static(obj: Any, name: str) -> Any:
    return object.__getattribute__(obj, name) if name not in getattr(obj, "__dict__", ()) else obj.__dict__[name]


class StaticObject:
    """An object of the user's world that a program gives back as it is."""

    __slots__ = ("obj",)

    def __init__(self, obj: Any):
        self.obj = obj

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, StaticObject) and other.obj is self.obj

    def __hash__(self) -> int:
        return id(self.obj)


class Made(list):
    """Objects made so far, in the order in which templates number them. `given`: the call's own containers, by path."""

    def __init__(self, given: dict):
        super().__init__()
        self.given = given


def rebuild(template: tuple, leaves: Any, made: list | None = None) -> Any:
    """`leaves`: an iterator of computed leaves in the order of flattening."""
    made = [] if made is None else made
    kind = template[0]
    if kind == "ref":
        return made[template[1]]
    if kind == "static":
        return float(template[2]) if template[1] == "float" else template[2]
    if kind == "text":
        how, parts = template[1], [rebuild(t, leaves, []) for t in template[2]]
        if isinstance(how, str):
            return how.format(*parts)
        if how[0] == "method":
            return getattr(parts[0], how[1])(*how[2:])
        return how[1 + parts[0]] if how[0] == "choice" else how[1].join(parts[0])
    if kind == "live":
        made.append(template[1].obj)
        return template[1].obj
    if kind == "argument":
        slot = len(made)
        copied = rebuild(template[2], leaves, made)  # takes its leaves; what the call wrote is put into the argument itself
        made[slot] = getattr(made, "given", {}).get(template[1], copied)
        return made[slot]
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
        elif cls.__flags__ & _HEAP_TYPE and not hasattr(cls, "n_sequence_fields"):
            result = tuple.__new__(cls, values)
            _put_extra(result, template, leaves, made)
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
    if kind == "numbers":  # in an element of a list of run-time length: a list of them as a tensor
        return cls(next(leaves).tolist())
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
        result = new_instance(cls)
        if isinstance(result, collections.deque):
            collections.deque.__init__(result, (), template[4][2] if len(template) > 4 else None)
        made.append(result)
        put = list.append if isinstance(result, list) else collections.deque.append
        for t in template[2]:
            put(result, rebuild(t, leaves, made))
        _put_extra(result, template, leaves, made)
        return result
    if kind == "dict":
        result = new_instance(cls)
        if len(template) > 4:
            result.default_factory = rebuild(template[4], leaves, [])
        made.append(result)
        put = collections.OrderedDict.__setitem__ if isinstance(result, collections.OrderedDict) else dict.__setitem__
        for key, t in template[2]:
            put(result, key, rebuild(t, leaves, made))
        for name, t in template[3]:
            result.__dict__[name] = rebuild(t, leaves, made)
        return result
    if kind == "table":
        result = new_instance(cls)
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
        values = [rebuild(t, leaves, made) for t in template[2]]
        if issubclass(cls, set):
            made[slot] = new_instance(cls)
            set.update(made[slot], values)
        else:
            made[slot] = frozenset.__new__(cls, values)
        _put_extra(made[slot], template, leaves, made)
        return made[slot]
    result = new_instance(cls)
    made.append(result)
    for name, t in template[2]:
        (BaseException if kind == "exception" else object).__setattr__(result, name, rebuild(t, leaves, made))
    return result


def new_instance(cls: type) -> Any:
    """Without what a class of the user's does when one is made."""
    return next(base for base in cls.__mro__ if isinstance(vars(base).get("__new__"), types.BuiltinFunctionType)).__new__(cls)


def _put_extra(result: Any, template: tuple, leaves: Any, made: list) -> None:
    for name, t in template[3] if len(template) > 3 else ():
        result.__dict__[name] = rebuild(t, leaves, made)


def types_of_keys(template: Any) -> tuple:
    """Of the dicts in templates: 1, 1.0 and True are equal and not the same."""
    found = [type(k) for k, _ in template[2]] if isinstance(template, tuple) and len(template) > 2 and template[0] == "dict" else []
    return (*found, *(t for part in template if isinstance(part, tuple) for t in types_of_keys(part))) if isinstance(template, tuple) else ()


def count_leaves(template: tuple) -> int:
    """Of an element of a list whose length is known only at run time."""
    if template[0] in ("tuple", "list", "text"):
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


class Number:
    """Among the values that an attribute may have: any number of this kind ("int", "float", "bool")."""

    def __init__(self, kind: str):
        self.kind = kind

    def fits(self, value: Any) -> bool:
        return kind_of(value) == self.kind

    def empty(self) -> Any:
        return EXAMPLES[self.kind]

    def joined(self, other: Any) -> "Number | None":
        return self if isinstance(other, Number) and other.kind == self.kind else None


class Compound:
    """Among the values that an attribute may have: a tuple, list, dict or plain object of one structure. `parts`: Slots, Numbers,
    Compounds, and values known while compiling. A list, dict or object of a state is made anew by every call."""

    def __init__(self, cls: type, keys: tuple, parts: tuple):
        self.cls, self.keys, self.parts = cls, keys, parts

    @staticmethod
    def split(value: Any) -> tuple | None:
        """(keys, parts) of what has parts; None: of what has none."""
        if isinstance(value, tuple) and (type(value) is tuple or hasattr(value, "_fields")) or type(value) is list:
            return tuple(range(len(value))), tuple(value)
        if type(value) is dict:
            return tuple(value), tuple(value.values())
        return (tuple(vars(value)), tuple(vars(value).values())) if plain_object(value) else None

    def fits(self, value: Any, equal: Any) -> bool:
        """`equal(known, value)`: whether a value is the known one."""
        if type(value) is not self.cls:
            return False
        keys, parts = self.split(value)
        return keys == self.keys and all(fits(mine, given, equal) for mine, given in zip(self.parts, parts))

    def leaves(self) -> list:
        """Slots and Numbers, in order."""
        return [leaf for part in self.parts for leaf in open_leaves(part)]

    def taken(self, value: Any) -> list:
        """The values at the leaves."""
        return [x for mine, given in zip(self.parts, self.split(value)[1]) for x in taken(mine, given)]

    def filled(self, leaves: Any, new: Any = lambda made: made) -> Any:
        """`leaves`: an iterator; `new(made)` is called with every list, dict and object."""
        parts = [filled(part, leaves, new) for part in self.parts]
        if issubclass(self.cls, tuple):
            return tuple.__new__(self.cls, parts)
        if self.cls is list:
            return new(parts)
        if self.cls is dict:
            return new(dict(zip(self.keys, parts)))
        made = object.__new__(self.cls)
        made.__dict__.update(zip(self.keys, parts))
        return new(made)

    def joined(self, other: Any, equal: Any = None) -> "Compound | None":
        """One structure for both; None if there is none."""
        if not isinstance(other, Compound) or other.cls is not self.cls or other.keys != self.keys:
            return None
        parts = []
        for a, b in zip(self.parts, other.parts):
            if isinstance(a, OPEN) and isinstance(b, OPEN):
                parts.append(a.joined(b, equal) if isinstance(a, Compound) else a.joined(b) if type(a) is type(b) else None)
            else:
                parts.append(a if not isinstance(a, OPEN) and not isinstance(b, OPEN) and equal(a, b) else None)
            if parts[-1] is None and not (a is None and b is None):
                return None
        return Compound(self.cls, self.keys, tuple(parts))

    def shapes(self) -> tuple:
        return tuple(leaf.shape if isinstance(leaf, Slot) else leaf.kind for leaf in self.leaves())


OPEN = (Slot, Number, Compound)  # what stands for values that calls compute


def fits(known: Any, value: Any, equal: Any) -> bool:
    """Whether a value is, or is one of, what is known of an attribute."""
    if isinstance(known, Compound):
        return known.fits(value, equal)
    return known.fits(value) if isinstance(known, OPEN) else equal(known, value)


def open_leaves(known: Any) -> list:
    return known.leaves() if isinstance(known, Compound) else [known] if isinstance(known, OPEN) else []


def taken(known: Any, value: Any) -> list:
    return known.taken(value) if isinstance(known, Compound) else [value] if isinstance(known, OPEN) else []


def filled(known: Any, leaves: Any, new: Any = lambda made: made) -> Any:
    return known.filled(leaves, new) if isinstance(known, Compound) else next(leaves) if isinstance(known, OPEN) else known


def opened(known: Any) -> Any:
    """A stand-in for values like a known one: any tensors and numbers in the same structure."""
    if isinstance(known, torch.Tensor):
        return Slot(known.dtype, tuple(known.shape))
    found = Compound.split(known)
    if found is None or isinstance(known, OPEN):
        return known
    return Compound(type(known), found[0], tuple(Number(type(x).__name__) if type(x) in (bool, int, float) else opened(x) for x in found[1]))


def alike(a: Any, b: Any) -> bool:
    """Stand-ins for the same values."""
    if isinstance(a, Slot) and isinstance(b, Slot):
        return (a.dtype, a.shape) == (b.dtype, b.shape)
    return isinstance(a, Compound) and isinstance(b, Compound) and (a.cls, a.keys) == (b.cls, b.keys) and all(
        alike(x, y) or isinstance(x, Number) and isinstance(y, Number) and x.kind == y.kind or x is y for x, y in zip(a.parts, b.parts))


def tensors_of(value: Any, depth: int = 8) -> Any:
    """The dense tensors in a value, and in what it holds."""
    if isinstance(value, torch.Tensor):
        if not value.is_meta and value.layout is torch.strided:
            yield value
        return
    found = Compound.split(value) if depth and not isinstance(value, OPEN) else None
    for part in found[1] if found is not None else ():
        yield from tensors_of(part, depth - 1)


def to_json(template: tuple) -> Any:
    kind = template[0]
    if kind in ("tensor", "array", "int", "float", "bool", "ref", "same"):
        return list(template)
    if kind == "static":
        value = template[2]
        if template[1] in ("NoneType", "bool", "int", "str", "float"):
            return list(template)
        if template[1] in ("dtype", "device"):
            return ["static", template[1], str(value)]
        if isinstance(value, enum.Enum):
            return to_json(("live", StaticObject(value)))
        written = _WRITTEN.get(type(value))
        return ["written", type(value).__name__, written(value)] if written is not None else ["lost", template[1]]
    if kind == "live":
        obj = template[1].obj
        name = getattr(obj, "__qualname__", None) if not isinstance(obj, enum.Enum) else f"{type(obj).__qualname__}.{obj.name}"
        if name and getattr(obj, "__module__", None):
            where = f"{obj.__module__}:{name}"
            try:
                known = imported(where) is obj
            except (ImportError, AttributeError):
                known = False
            if known:
                return ["import", where]
        return ["lost", type(obj).__name__]
    if kind == "argument":
        return [kind, template[1], to_json(template[2])]
    if kind == "text":
        how = template[1] if isinstance(template[1], str) else list(template[1])
        return [kind, how, [to_json(t) for t in template[2]]]
    cls = f"{template[1].__module__}:{template[1].__qualname__}"
    if kind == "rows":
        return [kind, cls, to_json(template[2])]
    if kind == "numbers":
        return [kind, cls]
    if kind in ("tuple", "list", "set", "table"):
        extra = [[[k, to_json(t)] for k, t in template[3]]] if len(template) > 3 else []
        return [kind, cls, [to_json(t) for t in template[2]], *extra, *map(to_json, template[4:])]
    if kind == "dict":
        return [kind, cls, [[key_to_json(k), to_json(t)] for k, t in template[2]], [[k, to_json(t)] for k, t in template[3]],
                *map(to_json, template[4:])]
    return [kind, cls, *([[k, to_json(t)] for k, t in part] for part in template[2:])]


def whole_to_json(template: tuple) -> Any:
    """The JSON of what a program gives back, of which nothing may be lost."""
    _refuse_lost(template)
    return to_json(template)


def _refuse_lost(template: tuple) -> None:
    if template and template[0] == "live" and isinstance(template[1], StaticObject) or len(template) == 3 and template[0] == "static":
        written = to_json(template)
        if written[0] == "lost":
            raise NotSaved(f"it gives back a {written[1]} of the model's, which a file can't hold")
        return
    for part in template:
        if isinstance(part, tuple):
            _refuse_lost(part)


_WRITTEN: dict = {bytes: lambda v: list(v), complex: lambda v: [repr(v.real), repr(v.imag)], torch.Size: lambda v: list(v),
                  type(Ellipsis): lambda v: None}
_READ: dict = {"bytes": bytes, "complex": lambda v: complex(float(v[0]), float(v[1])), "Size": torch.Size, "ellipsis": lambda v: Ellipsis}


def key_to_json(key: Any) -> Any:
    if type(key) in (str, int, bool, float, type(None)):
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
    if kind == "written":
        return ("static", data[1], _READ[data[1]](data[2]))
    if kind == "argument":
        return (kind, data[1], from_json(data[2]))
    if kind == "text":
        return (kind, data[1] if isinstance(data[1], str) else tuple(data[1]), tuple(map(from_json, data[2])))
    cls = imported(data[1])
    if kind == "rows":
        return (kind, cls, from_json(data[2]))
    if kind == "numbers":
        return (kind, cls)
    more = (*(tuple((k, from_json(t)) for k, t in part) for part in data[3:4]), *map(from_json, data[4:]))
    if kind in ("tuple", "list", "set", "table"):
        return (kind, cls, tuple(from_json(t) for t in data[2]), *more)
    if kind == "dict":
        return (kind, cls, tuple((k, from_json(t)) for k, t in data[2]), *more)
    return (kind, cls, tuple((k, from_json(t)) for k, t in data[2]), *more)


def imported(name: str) -> Any:
    module, _, qualname = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found
