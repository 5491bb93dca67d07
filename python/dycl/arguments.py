# SPDX-License-Identifier: Apache-2.0
"""What a call must pass: templates of the example's arguments, and calls compared with them.

A template is what structure.py makes of results, with more to it: tensors with dtype and shape, containers with the attributes of
their subclass, objects with the names that the model asked of them (so that one which is there now and was not then is noticed).
Everything that is no tensor must hold what it held while compiling.
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
import torch.nn.modules.module as _modules

from .frontend.inputs import InputError, attributes_of
from .frontend.lifting import exotic
from .frontend.sameness import same
from .frontend.structure import StaticObject

_CHANGING = (np.ndarray, bytearray, array.array)  # constants of the program, which the caller may change in place


class Entering:
    """Captured arguments (copies with handles at the leaves) as templates."""

    def __init__(self, inputs: Any):
        self.inputs = inputs
        self.handles = {id(h): k for k, h in enumerate(inputs.handles)}
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
        if isinstance(x, tuple):
            return ("tuple", type(x), tuple(self(y) for y in tuple.__iter__(x)), self._extra(x))
        if isinstance(x, (list, collections.deque)):
            self.containers.append(x)
            own = list if isinstance(x, list) else collections.deque
            items = tuple(self(y) for y in own.__iter__(x))
            return ("list", type(x), items, self._extra(x), ("static", "NoneType" if own is list or x.maxlen is None else "int", getattr(x, "maxlen", None)))
        if isinstance(x, dict):
            self.containers.append(x)
            items = tuple((k, self(v)) for k, v in dict.items(x))
            factory = getattr(x, "default_factory", None) if isinstance(x, collections.defaultdict) else None
            return ("dict", type(x), items, self._extra(x), ("static", "NoneType", None) if factory is None else ("live", StaticObject(factory)))
        if id(x) in self.inputs.objects and attributes_of(x) is not None:
            self.containers.append(x)
            names = sorted(n for n in self.asked.get(id(x), ()) if isinstance(n, str))
            return ("object", type(x), tuple((k, self(v)) for k, v in attributes_of(x).items()), tuple((n, ("static", "NoneType", None)) for n in names))
        if type(x) is float:
            return ("static", "float", repr(x))
        if isinstance(x, (bool, int, str, type(None), torch.dtype, torch.device)):
            return ("static", type(x).__name__, x)
        return ("live", StaticObject(x.copy() if isinstance(x, (np.ndarray, bytearray)) else x[:] if isinstance(x, array.array) else x))

    def _extra(self, x: Any) -> tuple:
        """The attributes of an instance of a subclass of a container."""
        return tuple((k, self(v)) for k, v in getattr(x, "__dict__", {}).items())


def sharing(containers: list) -> list:
    """For each container the number of the first that it is."""
    first: dict[int, int] = {}
    return [first.setdefault(id(x), k) for k, x in enumerate(containers)]


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
    """The first parameters of the model, by name, if it cannot tell whether one was given by place or by name: hooks and wrappers can."""
    if isinstance(fn, torch.nn.Module):
        hooks = (fn._forward_pre_hooks, fn._forward_hooks, _modules._global_forward_pre_hooks, _modules._global_forward_hooks)
        if type(fn).__call__ is not torch.nn.Module.__call__ or any(hooks):
            return []
        fn = fn.forward
    if not isinstance(fn, (types.FunctionType, types.MethodType)):
        return []
    parameters = inspect.signature(fn, follow_wrapped=False).parameters.values()
    return [p.name for p in itertools.takewhile(lambda p: p.kind is p.POSITIONAL_OR_KEYWORD, parameters)]


def match(value: Any, template: tuple, path: str, found: list, given: dict) -> None:
    """Appends the tensors to `found` and puts the containers into `given`, by their paths. Raises InputError."""
    kind = template[0]
    if kind in ("list", "dict", "object"):
        given[path] = value
    if kind == "tensor":
        _match_tensor(value, template, path)
        found.append(value)
    elif kind == "same":
        if value is not found[template[1]]:
            raise InputError(f"{path}: at compile time one tensor was passed here and before; compile again for two")
    elif kind == "static":
        _match_static(value, template, path)
    elif kind == "live":
        if not _is_still(value, template[1].obj):
            raise InputError(f"{path}: another object than at compile time; compile again for it")
    elif type(value) is not template[1]:
        raise InputError(f"{path}: a {type(value).__name__}, compiled for a {template[1].__name__}")
    elif kind in ("tuple", "list"):
        _match_items(value, template, path, found, given)
    elif kind == "dict":
        _match_entries(value, template, path, found, given)
    else:
        _match_object(value, template, path, found, given)


def _is_still(value: Any, known: Any) -> bool:
    return value is known and not isinstance(known, _CHANGING) or same(value, known) or _same_code(value, known)


def _same_code(value: Any, known: Any) -> bool:
    """Two executions of one lambda or def that holds nothing."""
    return isinstance(value, types.FunctionType) and isinstance(known, types.FunctionType) and value.__code__ is known.__code__ and not (
        value.__closure__ or value.__defaults__ or value.__kwdefaults__)


def _match_items(value: Any, template: tuple, path: str, found: list, given: dict) -> None:
    own = next(k for k in (tuple, list, collections.deque) if isinstance(value, k))
    items = [*own.__iter__(value)]
    if len(items) != len(template[2]):
        raise InputError(f"{path}: {len(items)} elements, compiled for {len(template[2])}")
    if own is collections.deque and value.maxlen != template[4][2]:
        raise InputError(f"{path}: maxlen is {value.maxlen}, compiled for {template[4][2]}")
    for k, (x, t) in enumerate(zip(items, template[2])):
        match(x, t, f"{path}[{k}]", found, given)
    _match_extra(value, template, path, found, given)


def _match_entries(value: Any, template: tuple, path: str, found: list, given: dict) -> None:
    keys, known = [*dict.keys(value)], [k for k, _ in template[2]]
    if keys != known or [*map(type, keys)] != [*map(type, known)]:
        raise InputError(f"{path}: other keys than at compile time ({known})")
    for key, t in template[2]:
        match(dict.__getitem__(value, key), t, f"{path}[{key!r}]", found, given)
    _match_extra(value, template, path, found, given)
    if isinstance(value, collections.defaultdict):
        match(value.default_factory, template[4], f"{path}.default_factory", found, given)


def _match_extra(value: Any, template: tuple, path: str, found: list, given: dict) -> None:
    """The attributes of an instance of a subclass of a container."""
    own = getattr(value, "__dict__", {})
    if list(own) != [name for name, _ in template[3]]:
        raise InputError(f"{path}: other attributes than at compile time ({[name for name, _ in template[3]]})")
    for name, t in template[3]:
        match(own[name], t, f"{path}.{name}", found, given)


def _match_object(value: Any, template: tuple, path: str, found: list, given: dict) -> None:
    own, known = attributes_of(value), [name for name, _ in template[2]]
    asked = {name for name, _ in template[3]}
    more = [name for name in own if name not in known]
    if "*" in asked and list(own) != known or any(name in asked for name in more):
        raise InputError(f"{path}: other attributes than at compile time ({known}), and the model asks for them; compile again for these")
    for name, t in template[2]:
        if name not in own:
            raise InputError(f"{path}: has no attribute {name}, which it had at compile time")
        match(own[name], t, f"{path}.{name}", found, given)


def _match_tensor(value: Any, template: tuple, path: str) -> None:
    if not isinstance(value, torch.Tensor):
        raise InputError(f"{path}: a {type(value).__name__}, compiled for a tensor")
    if unusual := exotic(value):
        raise InputError(f"{path}: {unusual}; pass a plain dense tensor")
    if value.device.type != "cpu":
        raise InputError(f"{path}: a tensor on {value.device}, compiled for one in the CPU's memory")
    if str(value.dtype) != template[1]:
        raise InputError(f"{path}: dtype {value.dtype}, compiled for {template[1]}")
    if value.dim() != len(template[2]):
        raise InputError(f"{path}: {value.dim()} dims, compiled for {len(template[2])}")
    for axis, (have, want) in enumerate(zip(value.shape, template[2])):
        if want is not None and have != want:
            raise InputError(f"{path}: dim {axis} is {have}, compiled for {want}; declare it in dynamic_dims to vary it")


def _match_static(value: Any, template: tuple, path: str) -> None:
    want = float(template[2]) if template[1] == "float" else template[2]
    if type(value).__name__ != template[1] or not (same(value, want) or template[1] != "float" and value == want):
        raise InputError(f"{path}: {value!r}, but the program was compiled for {want!r}; compile again for it")

