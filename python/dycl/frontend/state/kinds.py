# SPDX-License-Identifier: Apache-2.0
"""The kind of an object (state/kind.py): that of the first class of its MRO that has one."""

from __future__ import annotations

import functools
from typing import Any, Callable

from . import containers, immutables
from .contents import has_own_contents
from .kind import KINDS, Kind

__all__ = ["containers", "contents_of", "held_by", "immutables", "install", "is_fixed", "kind_of_object"]

_OBJECTS, _OWN, _OWN_STAND_INS = Kind(), immutables.Own(), immutables.OwnStandIns()


def _kind_of_object(cls: type) -> Kind:
    found = next((KINDS[base] for base in cls.__mro__ if base in KINDS), _OBJECTS)
    if has_own_contents(cls) and found is _OBJECTS:  # an arena (values/arena.py)
        return _OWN
    return _OWN_STAND_INS if type(found) is immutables.StandIns and has_own_contents(cls) else found


kind_of_object: Callable[[type], Kind] = functools.lru_cache(maxsize=4096)(_kind_of_object)


def contents_of(obj: Any) -> Any:
    return kind_of_object(type(obj)).contents(obj)


def install(obj: Any, contents: Any) -> None:
    kind_of_object(type(obj)).install(obj, contents)


def held_by(obj: Any) -> list:
    """All that its contents refer to."""
    kind = kind_of_object(type(obj))
    return [x for part in kind.held(kind.contents(obj)) for x in part]


def is_fixed(obj: Any) -> bool:
    """A function, a method or the like, which holds the same objects as long as it lives."""
    return isinstance(kind_of_object(type(obj)), immutables.Fixed)
