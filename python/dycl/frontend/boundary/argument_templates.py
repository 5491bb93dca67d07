# SPDX-License-Identifier: Apache-2.0
"""Templates of the example's arguments: tensors with dtype and shape, containers with the attributes of their subclass,
objects with the names that the model asked of them (so that one which is there now and was not then is noticed).
"""

from __future__ import annotations

import array
import collections
import inspect
import itertools
import types
from typing import Any

import numpy as np
import torch

from ...calling.templates import StaticObject
from ...objects import attributes_of
from .. import torch_internals


class Entering:
    """Captured arguments (copies with handles at the leaves) as templates."""

    def __init__(self, inputs: Any):
        self.inputs = inputs
        self.handles = {id(h): k for k, h in enumerate(inputs.handles)}
        self.numbers = {id(number): number.kind for _, number in inputs.numbers}
        self.asked: dict[int, set] = {}  # id of an object -> names that the model asked of it; "*": all it has
        for key, name in inputs.m.loaded:
            self.asked.setdefault(key, set()).add(name)
        self.met: set[int] = set()
        self.containers: list = []

    def __call__(self, x: Any) -> tuple:
        if self.handles.get(id(x)) in self.met:
            return ("same", self.handles[id(x)])
        if id(x) in self.handles:
            self.met.add(self.handles[id(x)])
            example = self.inputs.examples[self.handles[id(x)]]
            shape = tuple(d if type(d) is int else None for d in x.shape)
            return ("tensor", str(example.dtype), shape)
        if id(x) in self.numbers:
            return (self.numbers[id(x)],)
        if isinstance(x, tuple):
            return ("tuple", type(x), tuple(self(y) for y in tuple.__iter__(x)), self._extra(x))
        if isinstance(x, (list, collections.deque)):
            self.containers.append(x)
            own = list if isinstance(x, list) else collections.deque
            items = tuple(self(y) for y in own.__iter__(x))
            return ("list", type(x), items, self._extra(x),
                    ("static", "NoneType" if own is list or x.maxlen is None else "int", getattr(x, "maxlen", None)))
        if isinstance(x, dict):
            self.containers.append(x)
            items = tuple((k, self(v)) for k, v in dict.items(x))
            factory = getattr(x, "default_factory", None) if isinstance(x, collections.defaultdict) else None
            return ("dict", type(x), items, self._extra(x),
                    ("static", "NoneType", None) if factory is None else ("live", StaticObject(factory)))
        if id(x) in self.inputs.objects and attributes_of(x) is not None:
            self.containers.append(x)
            names = sorted(n for n in self.asked.get(id(x), ()) if isinstance(n, str))
            return ("object", type(x), tuple((k, self(v)) for k, v in attributes_of(x).items()),
                    tuple((n, ("static", "NoneType", None)) for n in names))
        if type(x) is float:
            return ("static", "float", repr(x))
        if isinstance(x, (bool, int, str, type(None), torch.dtype, torch.device)):
            return ("static", type(x).__name__, x)
        return ("live", StaticObject(x.copy() if isinstance(x, (np.ndarray, bytearray))
                                     else x[:] if isinstance(x, array.array) else x))

    def _extra(self, x: Any) -> tuple:
        """The attributes of an instance of a subclass of a container."""
        return tuple((k, self(v)) for k, v in getattr(x, "__dict__", {}).items())


def extra_keywords(fn: Any, given: list) -> list:
    """Those of the keywords that a **kwargs of the model takes."""
    fn = fn.forward if isinstance(fn, torch.nn.Module) else fn
    try:
        parameters = inspect.signature(fn).parameters
    except (TypeError, ValueError):
        return []
    if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return []
    return [k for k in given if k not in parameters or parameters[k].kind is parameters[k].POSITIONAL_ONLY]


def by_place_or_name(fn: Any) -> list[str]:
    """The first parameters of the model, by name, if it cannot tell whether one was given by place or by name: hooks
    and wrappers can."""
    if isinstance(fn, torch.nn.Module):
        hooks = (fn._forward_pre_hooks, fn._forward_hooks, *torch_internals.global_forward_hooks())
        if type(fn).__call__ is not torch.nn.Module.__call__ or any(hooks):
            return []
        fn = fn.forward
    if not isinstance(fn, (types.FunctionType, types.MethodType)):
        return []
    parameters = inspect.signature(fn, follow_wrapped=False).parameters.values()
    return [p.name for p in itertools.takewhile(lambda p: p.kind is p.POSITIONAL_OR_KEYWORD, parameters)]


def plain_defaults(fn: Any) -> dict[str, tuple]:
    """Templates of the default values that are known whatever the model does."""
    fn = fn.forward if isinstance(fn, torch.nn.Module) else fn
    parameters = inspect.signature(fn, follow_wrapped=False).parameters.values()
    return {p.name: ("static", type(p.default).__name__, repr(p.default) if type(p.default) is float else p.default)
            for p in parameters if p.default is None or type(p.default) in (bool, int, float, str)}
