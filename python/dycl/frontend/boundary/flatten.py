# SPDX-License-Identifier: Apache-2.0
"""Results as templates and leaves: a walk over what a program gives back.

Templates are equal for equal structures; they make the objects again from computed leaves (calling/templates.py).
"""

from __future__ import annotations

import types
from typing import Any, Callable, NoReturn

import torch

from ...calling.nodes import Each, node_of
from ...calling.templates import Argument, Live, Reference, Static, Template
from ...objects import IdentityDict
from ..diagnostics import CaptureRefusal
from ..state.kinds import kind_of_object
from ..values.stand_in import as_stand_in, stand_in_of

_PLAIN = (type(None), bool, int, float, str, bytes, complex, torch.dtype, torch.device, torch.Size, type(Ellipsis))


def _is_plain(obj: Any) -> bool:
    return type(obj) is float or isinstance(obj, _PLAIN) and not isinstance(obj, float)


class Flattener:
    def __init__(self, m: Any, made: Callable[[Any], bool], argument: Callable[[Any], str | None]):
        self.m = m
        self.made = made  # was the object made or changed by the program? others are given back as they are
        self.argument = argument  # the path of a container among the arguments: that one is given back
        self.leaves: list = []
        self.seen = IdentityDict()  # object -> its number

    def flatten(self, obj: Any, path: str) -> Template:
        own = stand_in_of(as_stand_in(obj))
        if own is not None:
            return own.flattened(self, path)
        if _is_plain(obj):
            if self.made(obj) and getattr(obj, "__dict__", None):
                self.refuse(obj, path, f"a {type(obj).__name__} with attributes", "return them beside it")
            return Static(obj)
        # not by `node`: structures are as deep as Python's stack has room for
        kind = kind_of_object(type(obj))
        return self._known(obj) or self._own(obj, kind.flattened(self, obj, path, self._each(path)))

    def leaf(self, obj: Any, template: Template, numbered: bool = False) -> Template:
        """Of a value that runs compute. `numbered`: it is the object that it is, wherever it comes up."""
        if obj in self.seen:
            return Reference(self.seen[obj])
        if numbered:
            self._number(obj)
        self.leaves.append(obj)
        return template

    def node(self, obj: Any, path: str, make: Callable[[Each], Template]) -> Template:
        """Of what holds others: `make` gets what makes the template of one, and how its path goes on."""
        return self._known(obj) or self._own(obj, make(self._each(path)))

    def _known(self, obj: Any) -> Template | None:
        """A reference to what came up before; else it gets its number."""
        if obj in self.seen:
            return Reference(self.seen[obj])
        if type(obj) is not tuple:
            self._number(obj)
        return None

    def _each(self, path: str) -> Each:
        return lambda part, suffix: self.flatten(part, path + suffix)

    def _own(self, obj: Any, node: Template) -> Template:
        own = self.argument(obj)
        return node if own is None else Argument(own, node)

    def refuse(self, obj: Any, path: str, what: str = "", remedy: str = "return tensors and numbers") -> NoReturn:
        what = what or f"an object that only exists while compiling ({type(obj).__name__})"
        raise CaptureRefusal(f"the program returns or keeps {what} ({path})", remedy, kind="output")

    def _number(self, obj: Any) -> None:
        self.seen[obj] = len(self.seen)

    def object(self, kind: Any, obj: Any, path: str, each: Each) -> Template:
        """A container, an exception, any other object that is not given back as it is."""
        node, cls = node_of(obj), type(obj)
        if node is not None:
            return node.of(obj, each)
        if _is_below(cls, _FRONT_END):
            self.refuse(obj, path)
        if not self.made(obj):
            return Live(obj)
        if isinstance(obj, float) and vars(obj) or _is_below(cls, _PACKAGE) or isinstance(obj, torch.nn.Module):
            self.refuse(obj, path)
        return kind.node(obj, each)

    def code(self, obj: Any, path: str) -> Template:
        """A function, method, view or the like: given back as it is, so nothing that a run computes may be in it."""
        kept = (isinstance(obj, types.MethodType) and isinstance(obj.__self__, torch.nn.Module)
                and not path.startswith("result"))
        # what the program does to a module that keeps one of its methods is written to it
        if not kept and self._holds(obj, 0):
            self.refuse(obj, path)
        return Live(obj)

    def _holds(self, obj: Any, depth: int) -> bool:
        kind = kind_of_object(type(obj))
        if stand_in_of(obj) is not None or depth > 6 or kind.closed:
            return True
        inside = kind.inside(obj)
        return self.made(obj) if inside is None else any(self._holds(x, depth + 1) for x in inside)


_PACKAGE, _FRONT_END = __name__.split(".")[0], __name__.rsplit(".", 2)[0]


def _is_below(cls: type, package: str) -> bool:
    """A class of our own."""
    return f"{cls.__module__ or ''}.".startswith(f"{package}.")

