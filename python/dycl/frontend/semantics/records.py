# SPDX-License-Identifier: Apache-2.0
"""Which classes have their objects in arenas (values/arena.py).

As long as paths are few, each object is one of the interpreter's. Where objects that the program makes keep many paths
apart, or one changes of which lists of run-time length hold copies, capture begins anew with the objects of these
classes as rows of tables, and once more without if that leads to a refusal.
"""

from __future__ import annotations

import abc
import types
import typing
from typing import Any

from ..values.arena import Arena, Home
from ..values.kept_list import ListArena
from . import interpretation


def begin(m: Any) -> None:
    """The tables of this attempt, empty."""
    for cls in m.assumptions.records.assumed:
        kept = ListArena if isinstance(cls, Home) else Arena
        m.arenas[cls] = kept(m, cls, m.assumptions.attributes.of(cls))


def can_be(cls: type) -> bool:
    """Whether all that its objects are is in their attributes."""
    return (type(cls) in (type, abc.ABCMeta) and all(base in _BASES or _is_plain(base) for base in cls.__mro__)
            and cls not in _BASES and cls.__new__ is object.__new__ and cls.__getattribute__ is object.__getattribute__
            and not hasattr(cls, "__del__"))


def _is_plain(base: type) -> bool:
    """A class of the user's: all its functions are Python's."""
    return bool(base.__flags__ & _HEAP_TYPE) and not base.__module__.startswith(_LIBRARIES) and all(
        interpretation.interpreted(f) for f in vars(base).values() if isinstance(f, types.FunctionType))


_BASES = (object, abc.ABC, typing.Generic)
_HEAP_TYPE = 1 << 9
_LIBRARIES = ("torch.", "dycl.", "collections")


def want(m: Any, x: Any) -> None:
    """The object x has to be a row."""
    records = m.assumptions.records
    if m.is_born(x) and can_be(type(x)) and type(x) not in records.refuted | records.assumed:
        records.assume(type(x))


def prefer(m: Any, states: list) -> None:
    """Paths that cannot meet are many: the objects that they hold may be the reason."""
    records = m.assumptions.records
    several = {cls for cls, count in m.constructed.items() if count > 1} - records.refuted - records.assumed
    found = {cls for cls in several if can_be(cls)}
    held = {type(m.heap.objects[key]) for state in states for key in state.overlay.contents} if found else set()
    if found & held:
        records.assume(*found & held)
