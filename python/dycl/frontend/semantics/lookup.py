# SPDX-License-Identifier: Apache-2.0
"""Where Python finds an attribute: the dict of an object, the classes that it is of,
and which methods there are Python's."""

from __future__ import annotations

import functools
import types
from typing import Any

from ..polyfills import builtins as polyfills
from ..values.stand_in import made_stand_in
from . import interpretation

MISSING = object()


def mro_lookup(cls: type, name: str) -> Any:
    for base in cls.__mro__:
        found = base.__dict__.get(name, MISSING)
        if found is not MISSING:
            return found
    return MISSING


def by_type(table: dict, obj: Any, otherwise: Any) -> Any:
    """What a table by classes has for obj: of the first class of its MRO that is there."""
    return next((table[cls] for cls in type(obj).__mro__ if cls in table), otherwise)


def class_of(obj: Any) -> type:
    """The class that has obj's methods."""
    own = made_stand_in(obj)
    return type(obj) if own is None or own.own_class is None else own.own_class


def python_method(obj: Any, name: str) -> Any:
    """The Python function that implements a special method of obj's class, if user code does."""
    found = mro_lookup(class_of(obj), name)
    if isinstance(found, types.FunctionType) and interpretation.interpreted(found):
        return found
    return None


def truth_method(value: Any) -> Any:
    """A function without parameters, to be interpreted, that decides bool(value); None if no user code is needed."""
    if value is None or type(value) in (bool, int, float, str, list, tuple, dict):
        return None
    for name, by in (("__bool__", polyfills.truth_by), ("__len__", polyfills.length_by)):
        found = mro_lookup(class_of(value), name)
        if isinstance(found, types.FunctionType) and interpretation.interpreted(found):
            return functools.partial(by, types.MethodType(found, value))
        if found is not MISSING:
            return None
    return None


def bound_method(obj: Any, name: str) -> Any:
    """obj's special method as its class has it, bound; None if it has none."""
    found = mro_lookup(class_of(obj), name)
    if found is MISSING or found is None:
        return None
    return types.MethodType(found, obj) if isinstance(found, types.FunctionType) else found.__get__(obj, type(obj))


def getattr_dict(obj: Any) -> dict | None:
    try:
        return object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return None
