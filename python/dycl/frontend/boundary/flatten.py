# SPDX-License-Identifier: Apache-2.0
"""Results as templates and leaves: a walk over what a program gives back.

Templates are equal for equal structures; they make the objects again from computed leaves (calling/templates.py).
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import types
from typing import Any, Callable

import torch

from ...calling.nodes import Dict, List, Object, Raising, Table, Tuple, node_of
from ...calling.templates import (
    Argument,
    Array,
    Live,
    Number,
    Reference,
    Row,
    Rows,
    Static,
    Template,
    Tensor,
)
from ...objects import all_in_attributes, closed_over
from ..polyfills.keyed_tables import RtDict, RtSet
from ..polyfills.torch import RtSize
from ..values.text import RtText
from .text_templates import element_of_texts

_PLAIN = (type(None), bool, int, float, str, bytes, complex, torch.dtype, torch.device, torch.Size, type(Ellipsis))


def _is_plain(obj: Any) -> bool:
    return type(obj) is float or isinstance(obj, _PLAIN) and not isinstance(obj, float)


class Flattener:
    """`leaf(obj)` gives the template of a leaf, else None."""

    def __init__(self, leaf: Callable[[Any], Template | None], refuse: Callable[[Any, str], None],
                 made: Callable[[Any], bool], argument: Callable[[Any], str | None] = lambda obj: None,
                 text: Callable[[RtText, Callable], Template] | None = None):
        self.leaf = leaf
        self.argument = argument  # the path of a container among the arguments: that one is given back
        self.made = made  # was the object made or changed by the program? others are given back as they are
        self.refuse = refuse
        self.text = text  # the template of a text with numbers, given how each of them is flattened
        self.leaves: list = []
        self.seen: dict[int, int] = {}
        self.keep: list = []

    def flatten(self, obj: Any, path: str) -> Template:
        if isinstance(obj, RtText) and obj.writable:
            return self.text(obj, lambda x: self.flatten(x, path))
        found = self.leaf(obj)
        if found is None and _is_plain(obj):
            if self.made(obj) and getattr(obj, "__dict__", None):
                self.refuse(obj, path)
            return Static(obj)
        if id(obj) in self.seen:
            return Reference(self.seen[id(obj)])
        if found is not None:
            if isinstance(found, Tensor) or isinstance(found, Rows) and found.cls is list:
                self._number(obj)
            self.leaves.append(obj)
            return found
        if type(obj) is not tuple:
            self._number(obj)
        node, own = self._container(obj, path), self.argument(obj)
        return node if own is None else Argument(own, node)

    def _number(self, obj: Any) -> None:
        self.seen[id(obj)] = len(self.seen)
        self.keep.append(obj)

    def _container(self, obj: Any, path: str) -> Template:
        def each(part: Any, suffix: str) -> Template:
            return self.flatten(part, path + suffix)

        if isinstance(obj, RtSize):
            return Tuple.of(obj, each, torch.Size)  # its extents are numbers in a run
        if isinstance(obj, collections.defaultdict) and obj.default_factory is not None:
            return Dict.of(obj, each, self._code(obj.default_factory, path))
        node = node_of(obj)
        if node is not None:
            return node.of(obj, each)
        if isinstance(obj, RtDict):  # lists of its keys and of its values
            return Table(obj.kind, (each(obj.found_keys, ""), each(obj.found_values, "")))
        if isinstance(obj, RtSet):
            return Table(set, (each(obj.found, ""),))
        if isinstance(obj, _HOLDING):
            return self._code(obj, path)
        return self._object(obj, path, each)

    def _object(self, obj: Any, path: str, each: Callable[[Any, str], Template]) -> Template:
        cls = type(obj)
        if _is_below(cls, _FRONT_END):
            self.refuse(obj, path)
        if not self.made(obj):
            return Live(obj)
        if isinstance(obj, float) and vars(obj) or _is_below(cls, _PACKAGE) or isinstance(obj, torch.nn.Module):
            self.refuse(obj, path)
        if isinstance(obj, BaseException):
            return Raising.of(obj, each)
        if all_in_attributes(cls) or dataclasses.is_dataclass(obj) and not isinstance(obj, type):
            return Object.of(obj, each)
        return Live(obj)

    def _code(self, obj: Any, path: str) -> Template:
        """A function, method, view or the like: given back as it is, so nothing that a run computes may be in it."""
        kept = (isinstance(obj, types.MethodType) and isinstance(obj.__self__, torch.nn.Module)
                and not path.startswith("result"))
        # what the program does to a module that keeps one of its methods is written to it
        if not kept and self._holds(obj, 0):
            self.refuse(obj, path)
        return Live(obj)

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


_PACKAGE, _FRONT_END = __name__.split(".")[0], __name__.rsplit(".", 2)[0]


def _is_below(cls: type, package: str) -> bool:
    """A class of our own."""
    return f"{cls.__module__ or ''}.".startswith(f"{package}.")


_VIEWS = (type({}.keys()), type({}.values()), type({}.items()), types.MappingProxyType)
_HOLDING = (types.FunctionType, types.MethodType, types.BuiltinMethodType, functools.partial, slice, *_VIEWS)


def row_template(m: Any, kind: tuple, typed: bool = False) -> Template:
    """The structure of an element of a list whose length is known only at run time (values/list_kinds.py). `typed`:
    with dtype and shape of its tensors."""
    if typed and kind[0] == "tensor":
        return Tensor(kind[1].dtype, tuple(d if isinstance(d, int) else None for d in kind[1].shape))
    return _OF_KINDS[kind[0]](m, kind, [row_template(m, k, typed) for k in kind[2]] if kind[0] in _HOLDERS else ())


_HOLDERS = ("tuple", "dict", "list", "object")
_OF_KINDS: dict[str, Callable[[Any, tuple, Any], Template]] = {
    "tuple": lambda m, kind, parts: Tuple(kind[1], tuple(parts)),
    "dict": lambda m, kind, parts: Dict(dict, tuple(parts), (), kind[1]),
    "list": lambda m, kind, parts: List(list, tuple(parts)),
    "object": lambda m, kind, parts: Object(kind[1][0], tuple(parts), (), kind[1][1]),
    "text": lambda m, kind, _: element_of_texts(m, kind),
    "row": lambda m, kind, _: Row(tuple if kind[2] else list),
    "const": lambda m, kind, _: Static(kind[1]),
    "tensor": lambda m, kind, _: Tensor(),
    "numpy": lambda m, kind, _: Array(),
    **dict.fromkeys(("int", "float", "bool"), lambda m, kind, _: Number(kind[0]))}
