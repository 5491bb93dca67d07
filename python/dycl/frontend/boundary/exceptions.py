# SPDX-License-Identifier: Apache-2.0
"""Exceptions that the captured program raises: their message as a format,
and the values known only at run time in it."""

from __future__ import annotations

import builtins
import copy
from typing import Any

from ...calling.exceptions import PLAIN, Look, Raised, Shown, Spelled, is_plain
from ...calling.templates import Reference, Static, Template
from ...calling.text_templates import pieces_of
from ..values.scalar import RtScalar
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
    if len(args) == 1 and isinstance(args[0], (RtText, RtScalar)):
        quoted = isinstance(error, KeyError) and isinstance(args[0], RtText)
        return RtText.join(["'", args[0], "'"] if quoted else ["", args[0]]).template()
    of_run_time = [isinstance(a, (RtText, RtScalar)) for a in args]
    if any(of_run_time) and all(known or isinstance(a, PLAIN) for a, known in zip(args, of_run_time)):
        pieces = [p for a in args for p in (", ", *_shown(a))]
        return RtText.join(["(", *pieces[1:], ")"]).template()
    if any(not isinstance(a, PLAIN) and _unknown(a) for a in args):
        return "a message with values known only at run time", []
    return str(error).replace("{", "{{").replace("}", "}}"), []


def _shown(a: Any) -> tuple:
    """repr(a) in pieces."""
    return ("'", a, "'") if isinstance(a, RtText) else (a,) if isinstance(a, RtScalar) else (repr(a),)


def in_short(text: str) -> str:
    """A message with dots for the values that only a run knows."""
    return "".join(before + ("" if spec is None else "...") for before, spec in pieces_of(text))


def _unknown(x: Any) -> bool:
    return (isinstance(x, (RtScalar, RtText)) or hasattr(x, "_dycl")
            or isinstance(x, (list, tuple)) and any(map(_unknown, x)))


def _arguments(error: BaseException) -> tuple[Template, ...] | None:
    """None: they cannot be told from the text."""
    found = []
    for a in error.args:
        if is_plain(a):
            found.append(Static(copy.deepcopy(a)))
        elif isinstance(a, RtScalar):
            found.append(Spelled(a.kind, "{}"))
        elif isinstance(a, RtText):
            found.append(Spelled("text", a.template()[0]))
        else:
            return None
    return tuple(found)


def _attributes(error: BaseException, text: str, values: list) -> dict[str, Template]:
    """Those that can be told again: values known while compiling,
    run-time values that are arguments or stand in the text."""
    found: dict[str, Template] = {}
    places = [spec for _, spec in pieces_of(text) if spec is not None]
    for k, v in getattr(error, "__dict__", {}).items():
        same = [i for i, a in enumerate(error.args) if a is v and isinstance(a, (RtScalar, RtText))]
        if same:
            found[k] = Reference(same[0])
        elif isinstance(v, RtScalar) and (shown := [i for i, x in enumerate(values) if x is v and not places[i]]):
            found[k] = Shown(v.kind, shown[0])
        elif k != "__notes__" and is_plain(v):
            found[k] = Static(copy.deepcopy(v))
    return found
