# SPDX-License-Identifier: Apache-2.0
"""When two strings are one of which at least one is known only at run time: by the numbers in them, or by their places
in the table of texts."""

from __future__ import annotations

import re
from typing import Any

from . import chosen_text
from .scalar import RtScalar
from .stand_in import key_refusal
from .text import RtText


def equal(m: Any, a: Any, b: Any) -> Any:
    """A bool, known now or at run time. A refusal where that cannot be told."""
    if isinstance(a, str) and isinstance(b, str):
        return a == b
    run_time = [text for text in (a, b) if isinstance(text, RtText)]
    for text in run_time:
        text.check_key(m)
    if chosen_text.is_one(a) and chosen_text.is_one(b):
        return m.scalars.compare("eq", chosen_text.number_of(m, a), chosen_text.number_of(m, b))
    if run_time[0].chooses:
        raise key_refusal("a string that is chosen at run time, compared with one that numbers are in", None)
    if len(run_time) == 2:
        return _equal_parts(m, _normal(a), _normal(b), separable(a))
    numbers = parse(run_time[0], a if isinstance(a, str) else b)
    return numbers is not None and m.keys.equal(m, _numbers(run_time[0].parts), numbers)


def _equal_parts(m: Any, a: list, b: list, told_apart: bool) -> Any:
    """Where all between the numbers is the same, the numbers decide; else word by word."""
    if told_apart and len(a) == len(b) and all(_alike(x, y) for x, y in zip(a, b)):
        return m.keys.equal(m, _numbers(a), _numbers(b))
    a, b = _words(a), _words(b)
    if len(a) != len(b):
        return False
    pairs = [(x, y) for x, y in zip(a, b) if not (isinstance(x, str) and isinstance(y, str) and x == y)]
    if not all(_may_equal(x, y) for x, y in pairs):
        return False
    return m.keys.equal(m, *(tuple(int(x) if isinstance(x, str) else x for x in side) for side in zip(*pairs))
                        ) if pairs else True


def _alike(x: Any, y: Any) -> bool:
    return x == y if isinstance(x, str) and isinstance(y, str) else not isinstance(x, str) and not isinstance(y, str)


def _may_equal(x: Any, y: Any) -> bool:
    """A number and another, or a word that is a number as str() shows it."""
    words = [w for w in (x, y) if isinstance(w, str)]
    return len(words) < 2 and all(re.fullmatch("-?[0-9]+", w) and str(int(w)) == w for w in words)


def _numbers(parts: Any) -> tuple:
    return tuple(p for p in parts if isinstance(p, RtScalar))


def separable(text: RtText) -> bool:
    """Whether the text tells its numbers: behind each but the last comes something that is no digit."""
    parts = _normal(text)
    last = max((k for k, p in enumerate(parts) if isinstance(p, RtScalar)), default=-1)
    return all(isinstance(parts[k + 1], str) and not parts[k + 1][0].isdigit() for k, p in enumerate(parts)
               if isinstance(p, RtScalar) and k < last)


def parse(text: RtText, name: str) -> tuple | None:
    """The numbers that make the text equal a name; None if there are none."""
    if not separable(text):
        raise key_refusal("a string in which a number known only at run time stands right behind another", text)
    pattern = "".join(re.escape(p) if isinstance(p, str) else "(-?[0-9]+)" for p in text.parts)
    found = re.fullmatch(pattern, name)
    if found is None or any(str(int(g)) != g for g in found.groups()):
        return None
    return tuple(map(int, found.groups()))


def _normal(text: RtText) -> list:
    """The parts with neighbouring strings joined and empty ones left out."""
    parts: list = []
    for p in text.parts:
        if isinstance(p, str) and parts and isinstance(parts[-1], str):
            parts[-1] += p
        elif p != "" if isinstance(p, str) else True:
            parts.append(p)
    return parts


def _words(parts: list) -> list:
    """Numbers and what is between them; a number that other characters of a number touch cannot be told from them."""
    words: list = []
    for k, part in enumerate(parts):
        if isinstance(part, RtScalar):
            before, behind = parts[k - 1] if k else "", parts[k + 1] if k + 1 < len(parts) else ""
            if (not isinstance(before, str) or not isinstance(behind, str) or before[-1:].isdigit()
                    or before[-1:] == "-" or behind[:1].isdigit() or behind[:1] == "-"):
                raise key_refusal("a comparison of strings whose numbers known only at run time stand beside "
                                  "other digits", part)
            words.append(part)
        else:
            words += [w for w in re.split("((?<![0-9])-?[0-9]+)", part) if w]
    return words
