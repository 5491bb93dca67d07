# SPDX-License-Identifier: Apache-2.0
"""Templates in a package: JSON, with classes written as module:qualname and imported again."""

from __future__ import annotations

import enum
import importlib
from typing import Any

import torch

from .templates import StaticObject

# ---- JSON -------------------------------------------------------------------------------------


class NotSaved(Exception):
    """A structure that cannot be written to a file."""


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
        name = (getattr(obj, "__qualname__", None) if not isinstance(obj, enum.Enum)
                else f"{type(obj).__qualname__}.{obj.name}")
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
        return [kind, cls, [[key_to_json(k), to_json(t)] for k, t in template[2]],
                [[k, to_json(t)] for k, t in template[3]], *map(to_json, template[4:])]
    return [kind, cls, *([[k, to_json(t)] for k, t in part] for part in template[2:])]


def whole_to_json(template: tuple) -> Any:
    """The JSON of what a program gives back, of which nothing may be lost."""
    _refuse_lost(template)
    return to_json(template)


def _refuse_lost(template: tuple) -> None:
    if (template and template[0] == "live" and isinstance(template[1], StaticObject)
            or len(template) == 3 and template[0] == "static"):
        written = to_json(template)
        if written[0] == "lost":
            raise NotSaved(f"it gives back a {written[1]} of the model's, which a file can't hold")
        return
    for part in template:
        if isinstance(part, tuple):
            _refuse_lost(part)


_WRITTEN: dict = {bytes: lambda v: list(v), complex: lambda v: [repr(v.real), repr(v.imag)],
                  torch.Size: lambda v: list(v), type(Ellipsis): lambda v: None}
_READ: dict = {"bytes": bytes, "complex": lambda v: complex(float(v[0]), float(v[1])), "Size": torch.Size,
               "ellipsis": lambda v: Ellipsis}


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


# Where packages of 0.1.0 say that errors of ours are.
_MOVED = {"dycl.frontend.inputs": "dycl", "dycl.frontend.diagnostics": "dycl"}


def imported(name: str) -> Any:
    module, _, qualname = name.partition(":")
    found: Any = importlib.import_module(_MOVED.get(module, module))
    for part in qualname.split("."):
        found = getattr(found, part)
    return found
