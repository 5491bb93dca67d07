# SPDX-License-Identifier: Apache-2.0
"""Methods of texts with integers of the run in them, `f"{k}:{n}".split(":")`: what such an integer looks like is
digits, perhaps after a minus, so that methods which look for other characters treat it as one character that they do
not know."""

from __future__ import annotations

import re
from typing import Any

from ..diagnostics import CaptureRefusal
from . import chosen_text
from .scalar import RtInt, RtScalar
from .text import Chosen, Formatted, RtText, only_number
from .text_formatting import refuse_method

_METHODS = {"split", "rsplit", "partition", "rpartition", "replace", "strip", "lstrip", "rstrip",
            "removeprefix", "removesuffix", "splitlines", "upper", "lower", "casefold", "swapcase"}
_FIRST = 0xF0000  # of the plane for private use: neither space, letter nor digit
_OF_NUMBERS = set("-0123456789")


def has_method(text: RtText, name: str) -> bool:
    return name in _METHODS and _holds_integers(text) or name == "count" and all(
        isinstance(p, (str, RtInt, Chosen)) for p in text.parts)


def _holds_integers(text: RtText) -> bool:
    return all(type(p) is str and not any(_FIRST <= ord(c) for c in p) or isinstance(p, RtInt) for p in text.parts)


def method(m: Any, text: RtText, name: str, args: tuple, kwargs: dict) -> Any:
    """text.name(*args)."""
    if name == "count":
        return _counted(m, text, args, kwargs)
    given = [x for x in (*args, *kwargs.values()) if not (x is None or type(x) is int)]
    if any(type(x) is not str or not _OF_NUMBERS.isdisjoint(x) for x in given) or name == "replace" and "" in given:
        refuse_method(text, name)
    numbers = [p for p in text.parts if not isinstance(p, str)]
    found = getattr(_with_stand_ins(text), name)(*args, **kwargs)
    if isinstance(found, str):
        return _again(found, numbers)
    return m.new_if_mutable(type(found)(_again(x, numbers) for x in found))


def _with_stand_ins(text: RtText) -> str:
    count, shown = 0, []
    for part in text.parts:
        shown.append(part if isinstance(part, str) else chr(_FIRST + count))
        count += not isinstance(part, str)
    return "".join(shown)


def _again(shown: str, numbers: list) -> Any:
    parts: list = []
    for c in shown:
        if ord(c) >= _FIRST:
            parts.append(numbers[ord(c) - _FIRST])
        elif parts and type(parts[-1]) is str:
            parts[-1] += c
        else:
            parts.append(c)
    return RtText.join(parts)


def _counted(m: Any, text: RtText, args: tuple, kwargs: dict) -> Any:
    """How often one character is there: no part of the text hides another."""
    if kwargs or len(args) != 1 or type(args[0]) is not str or len(args[0]) != 1 or args[0] in _OF_NUMBERS:
        refuse_method(text, "count")
    return _sum(m, text, lambda part: part.count(args[0]))


def length(m: Any, text: RtText) -> Any:
    """len(text)."""
    if not all(isinstance(p, (str, Chosen)) for p in text.parts):
        raise CaptureRefusal("the length of a string that holds a number known only at run time",
                             kind="escape.str", because=text)
    return _sum(m, text, len)


def _sum(m: Any, text: RtText, fn: Any) -> Any:
    total = sum(fn(p) for p in text.parts if type(p) is str)
    for part in text.parts:
        if isinstance(part, Chosen):
            total = m.scalars.binary("add", chosen_text.lifted(m, RtText((part,)), fn), total)
    return total


def number(text: RtText) -> RtScalar | None:
    """int(text) of a text that is nothing but an integer of the run."""
    part = only_number(text.parts)
    if isinstance(part, Formatted) and part.number.kind == "int" and _DECIMAL.fullmatch(part.spec):
        return part.number
    return part if isinstance(part, RtInt) else None


_DECIMAL = re.compile(r"[+\- ]?0?\d*d")
