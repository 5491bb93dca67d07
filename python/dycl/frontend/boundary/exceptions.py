# SPDX-License-Identifier: Apache-2.0
"""Exceptions that the captured program raises: their message as a format,
and the values known only at run time in it."""

from __future__ import annotations

import builtins
import copy
from typing import Any

from ...calling.exceptions import PLAIN, Look, Raised, Shown, is_plain
from ...calling.templates import Reference, Static, Template
from ...calling.text_templates import pieces_of
from ...objects import within
from ..values.stand_in import stand_in_of
from ..values.tensor import is_of_run_time
from ..values.text import RtText


def add(known: Raised, error: BaseException) -> tuple[str, str, list]:
    """Notes an exception of the program: (name, format of the text, run-time values in it)"""
    name, cls = type(error).__name__, type(error)
    if known.get(name, getattr(builtins, name, cls)) is not cls:  # another class has that name
        name = f"{cls.__module__}.{cls.__qualname__}"
    known[name] = cls
    text, values = message_of(error)
    arguments = _arguments(error)
    if arguments is not None:
        look = Look(name, text, arguments, _attributes(error, text, values))
        if look not in known.looks:
            known.looks.append(look)
    return name, text, values


def message_of(error: BaseException) -> tuple[str, list]:
    """str(error) as a format, and the run-time values in it."""
    args = error.args
    if any(map(is_of_run_time, args)):
        pieces = [_shown(a) for a in args]
        if len(args) == 1 and pieces[0] is not None:
            return RtText.join(["", *(pieces[0] if isinstance(error, KeyError) else args)]).pattern()
        if None not in pieces:
            told = [p for shown in pieces for p in (", ", *shown)]
            return RtText.join(["(", *told[1:], ")"]).pattern()
    if any(map(is_of_run_time, within(args, kinds=(list, tuple)))):
        return "a message with values known only at run time", []
    return str(error).replace("{", "{{").replace("}", "}}"), []


def _shown(a: Any) -> Any:
    """repr(a) in pieces; None: nobody can tell."""
    own = stand_in_of(a)
    return own.shown() if own is not None else (repr(a),) if isinstance(a, PLAIN) else None


def in_short(text: str) -> str:
    """A message with dots for the values that only a run knows."""
    return "".join(before + ("" if spec is None else "...") for before, spec in pieces_of(text))


def _arguments(error: BaseException) -> tuple[Template, ...] | None:
    """None: they cannot be told from the text."""
    found = [Static(copy.deepcopy(a)) if is_plain(a) else _spelled(a) for a in error.args]
    return None if None in found else tuple(found)


def _spelled(a: Any) -> Template | None:
    own = stand_in_of(a)
    return None if own is None else own.spelled()


def _attributes(error: BaseException, text: str, values: list) -> dict[str, Template]:
    """Those that can be told again: values known while compiling,
    run-time values that are arguments or stand in the text."""
    found: dict[str, Template] = {}
    places = [spec for _, spec in pieces_of(text) if spec is not None]
    for k, v in getattr(error, "__dict__", {}).items():
        same = [i for i, a in enumerate(error.args) if a is v and _spelled(a) is not None]
        if same:
            found[k] = Reference(same[0])
        elif shown := [i for i, x in enumerate(values) if x is v and not places[i]]:
            found[k] = Shown(v.kind, shown[0])
        elif k != "__notes__" and is_plain(v):
            found[k] = Static(copy.deepcopy(v))
    return found
