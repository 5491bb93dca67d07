# SPDX-License-Identifier: Apache-2.0
"""What a call must pass: a call's arguments compared with the templates of the example's.

Everything that is no tensor must hold what it held while compiling.
"""

from __future__ import annotations

import array
import collections
import types
from typing import Any

import numpy as np
import torch

from ..errors import InputError
from ..objects import attributes_of, exotic
from .same_contents import same

_NUMBERS: dict[str, Any] = {"int": int, "float": float, "bool": bool}
_CHANGING = (np.ndarray, bytearray, array.array)  # constants of the program, which the caller may change in place


def sharing(containers: list) -> list:
    """For each container the number of the first that it is."""
    first: dict[int, int] = {}
    return [first.setdefault(id(x), k) for k, x in enumerate(containers)]


class Found(list):
    """The tensors of a call, in the program's order."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: list = []  # what dynamic_args declared, which comes behind the tensors


def match(value: Any, template: tuple, path: str, found: Found, given: dict) -> None:
    """Puts tensors and numbers into `found` and the containers into `given`, by their paths. Raises InputError."""
    kind = template[0]
    if kind in ("list", "dict", "object"):
        given[path] = value
    if kind == "tensor":
        _match_tensor(value, template, path)
        found.append(value)
    elif kind == "same":
        if value is not found[template[1]]:
            raise InputError(f"{path}: at compile time one tensor was passed here and before; compile again for two")
    elif kind in _NUMBERS:
        _match_number(value, kind, path)
        found.numbers.append(value)
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
    return (
        isinstance(value, types.FunctionType)
        and isinstance(known, types.FunctionType)
        and value.__code__ is known.__code__
        and not (value.__closure__ or value.__defaults__ or value.__kwdefaults__)
    )


def _match_items(value: Any, template: tuple, path: str, found: Found, given: dict) -> None:
    own = next(k for k in (tuple, list, collections.deque) if isinstance(value, k))
    items = [*own.__iter__(value)]
    if len(items) != len(template[2]):
        raise InputError(f"{path}: {len(items)} elements, compiled for {len(template[2])}")
    if own is collections.deque and value.maxlen != template[4][2]:
        raise InputError(f"{path}: maxlen is {value.maxlen}, compiled for {template[4][2]}")
    for k, (x, t) in enumerate(zip(items, template[2])):
        match(x, t, f"{path}[{k}]", found, given)
    _match_extra(value, template, path, found, given)


def _match_entries(value: Any, template: tuple, path: str, found: Found, given: dict) -> None:
    keys, known = [*dict.keys(value)], [k for k, _ in template[2]]
    if keys != known or [*map(type, keys)] != [*map(type, known)]:
        raise InputError(f"{path}: other keys than at compile time ({known})")
    for key, t in template[2]:
        match(dict.__getitem__(value, key), t, f"{path}[{key!r}]", found, given)
    _match_extra(value, template, path, found, given)
    if isinstance(value, collections.defaultdict):
        match(value.default_factory, template[4], f"{path}.default_factory", found, given)


def _match_extra(value: Any, template: tuple, path: str, found: Found, given: dict) -> None:
    """The attributes of an instance of a subclass of a container."""
    own = getattr(value, "__dict__", {})
    if list(own) != [name for name, _ in template[3]]:
        raise InputError(f"{path}: other attributes than at compile time ({[name for name, _ in template[3]]})")
    for name, t in template[3]:
        match(own[name], t, f"{path}.{name}", found, given)


def _match_object(value: Any, template: tuple, path: str, found: Found, given: dict) -> None:
    own: Any = attributes_of(value)  # of the example's class: it has some
    known = [name for name, _ in template[2]]
    asked = {name for name, _ in template[3]}
    more = [name for name in own if name not in known]
    if "*" in asked and list(own) != known or any(name in asked for name in more):
        raise InputError(f"{path}: other attributes than at compile time ({known}), and the model asks for them; "
                         "compile again for these")
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
            raise InputError(f"{path}: dim {axis} is {have}, compiled for {want}; "
                             "declare it in dynamic_dims to vary it")


def _match_number(value: Any, kind: str, path: str) -> None:
    if not isinstance(value, _NUMBERS[kind]) or kind == "int" and isinstance(value, bool):
        raise InputError(f"{path}: {value!r}, compiled for {'an' if kind == 'int' else 'a'} {kind}")
    if kind == "int" and not -(2**63) <= value < 2**63:
        raise InputError(f"{path}: {value} does not fit in 64 bits")


def _match_static(value: Any, template: tuple, path: str) -> None:
    want = float(template[2]) if template[1] == "float" else template[2]
    if type(value).__name__ != template[1] or not (same(value, want) or template[1] != "float" and value == want):
        number = f", or with dynamic_args={{{path!r}: {template[1]}}}" if template[1] in _NUMBERS else ""
        raise InputError(f"{path}: {value!r}, but the program was compiled for {want!r}; compile again for it{number}")
