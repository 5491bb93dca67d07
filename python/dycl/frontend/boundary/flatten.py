# SPDX-License-Identifier: Apache-2.0
"""Results as templates and leaves: a walk over what a program gives back.

Templates are nested immutable tuples, equal for equal structures;
calling/templates.py makes the object again from computed leaves.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import types
from typing import Any, Callable

import torch

from ...calling.templates import StaticObject
from ...objects import all_in_attributes, closed_over, getattr_static, slot_names
from ..polyfills.keyed_tables import RtDict, RtSet
from ..polyfills.torch import RtSize
from ..values import chosen_text
from ..values.text import RtText

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
            cls = torch.Size if issubclass(cls, RtSize) else cls  # its extents are numbers in a run
            return ("tuple", cls, tuple(self.flatten(x, f"{path}[{k}]") for k, x in enumerate(tuple.__iter__(obj))),
                    *self._extra(obj, path))
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
        if _is_below(cls, _FRONT_END):
            self.refuse(obj, path)
        if not self.made(obj):
            return self.static_object(obj, path)
        if isinstance(obj, float) and vars(obj):
            self.refuse(obj, path)
        if _is_below(cls, _PACKAGE) or isinstance(obj, torch.nn.Module):
            self.refuse(obj, path)
        if isinstance(obj, BaseException):
            names = (("args", self.flatten(obj.args, f"{path}.args")),
                     *((k, self.flatten(v, f"{path}.{k}")) for k, v in vars(obj).items()))
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
        if not isinstance(own, dict) or not own:
            return ()
        return (tuple((k, self.flatten(v, f"{path}.{k}")) for k, v in own.items()),)

    def _code(self, obj: Any, path: str) -> tuple:
        """A function, method, view or the like: given back as it is, so nothing that a run computes may be in it."""
        kept = (isinstance(obj, types.MethodType) and isinstance(obj.__self__, torch.nn.Module)
                and not path.startswith("result"))
        # what the program does to a module that keeps one of its methods is written to it
        if not kept and self._holds(obj, 0):
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


_PACKAGE, _FRONT_END = __name__.split(".")[0], __name__.rsplit(".", 2)[0]


def _is_below(cls: type, package: str) -> bool:
    """A class of our own."""
    return f"{cls.__module__ or ''}.".startswith(f"{package}.")


_VIEWS = (type({}.keys()), type({}.values()), type({}.items()), types.MappingProxyType)
_HOLDING = (types.FunctionType, types.MethodType, types.BuiltinMethodType, functools.partial, slice, *_VIEWS)


def row_template(m: Any, kind: tuple) -> tuple:
    """The structure of an element of a list whose length is known only at run time."""
    if kind[0] == "tuple":
        return ("tuple", kind[1], tuple(row_template(m, k) for k in kind[2]))
    if kind[0] == "dict":
        return ("dict", dict, tuple((key, row_template(m, k)) for key, k in zip(kind[1], kind[2])), ())
    if kind[0] == "list":
        return ("list", list, tuple(row_template(m, k) for k in kind[2]))
    if kind[0] == "object":
        return ("object", kind[1][0], tuple((name, row_template(m, k)) for name, k in zip(kind[1][1], kind[2])))
    if kind[0] == "text":
        return chosen_text.element_template(m, kind)
    if kind[0] == "row":
        return ("numbers", tuple if kind[2] else list)
    if kind[0] == "const":
        return ("static", type(kind[1]).__name__, kind[1])
    return ("tensor",) if kind[0] == "tensor" else ("array",) if kind[0] == "numpy" else (kind[0],)
