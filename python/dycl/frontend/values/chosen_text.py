# SPDX-License-Identifier: Apache-2.0
"""Texts that a run chooses among those known while compiling: the label of a class, the token of an id,
"B" on one path and "I" on another.

All such texts stand in one table per capture, and a chosen one is the number of its place there (`Chosen` in
values/text_formatting.py): two are equal if their numbers are, they merge as numbers do, and lists of run-time
length hold numbers. As long as paths are few each has its own text instead, which every function of Python's takes;
where strings keep many paths apart capture begins anew with chosen ones (`prefer`),
and once more without them if that leads to a refusal.
"""

from __future__ import annotations

import operator
from typing import Any, Callable

import torch

from ..diagnostics import CaptureRefusal
from ..graph.program import Value
from .scalar import RtInt, RtScalar
from .text import Changed, Chosen, Formatted, Joined, RtText

_FEW = 64  # texts that a path each is made for
_MOST_TIMES = 12  # that capture begins anew for new texts
_CHANGING = {"capitalize", "casefold", "center", "expandtabs", "ljust", "lower", "lstrip", "removeprefix",
             "removesuffix", "replace", "rjust", "rstrip", "strip", "swapcase", "title", "upper",
             "zfill"}  # methods that give another text


# ---- when texts are chosen ---------------------------------------------------------------------------


def prefer(m: Any) -> None:
    """Paths that can't meet are many, and some of them differ in texts."""
    chosen = m.assumptions.chosen_texts
    if m.texts_apart and not chosen.assumed and not chosen.refuted:
        chosen.assume(None)


def are_chosen(m: Any, texts: Any) -> bool:
    """Whether what a run-time index takes out of these stays one text of run time."""
    if len(texts) < 2 or not all(type(x) is str for x in texts):
        return False
    m.texts_apart = True
    if len(texts) > m.options.max_switch:
        prefer(m)  # so many paths are refused
    return m.assumptions.chosen_texts.holds()


def at(m: Any, texts: Any, key: RtInt, error: BaseException) -> RtText:
    """texts[key]."""
    return _chosen(looked_up(m, numbers(m, texts), place_in(m, texts, key, error)))


def place_in(m: Any, sequence: Any, key: RtInt, error: BaseException) -> RtInt:
    """Where an index points, counted from the first element; `error` is raised where there is nothing."""
    count = len(sequence)
    _, greatest = m.facts.of(key, m.current.ranges)
    if greatest is None or greatest >= count:
        _require(m, m.scalars.compare("lt", key, count), error)
    if not m.facts.is_natural(key, m.current.ranges):
        _require(m, m.scalars.compare("ge", key, -count), error)
        key = m.scalars.binary("mod", key, count)
    return key


def entry(m: Any, table: dict, key: RtInt, error: BaseException) -> RtText | None:
    """table[key] of a dict whose keys are integers in a row; None: of another one."""
    places = list(table)
    if not all(type(k) is int for k in places) or sorted(places) != list(range(min(places), min(places) + len(places))):
        return None
    first = min(places)
    _require(m, m.scalars.compare("ge", key, first), error)
    _require(m, m.scalars.compare("lt", key, first + len(places)), error)
    place = m.scalars.binary("sub", key, first) if first else key
    return _chosen(looked_up(m, numbers(m, [table[first + k] for k in range(len(places))]), place))


def _require(m: Any, condition: Any, error: BaseException) -> None:
    if not (condition if isinstance(condition, bool) else m.decide(condition)):
        raise error


# ---- the table ---------------------------------------------------------------------------------------


def numbers(m: Any, texts: Any) -> list[int]:
    """Their places in the table, made where there were none."""
    table = m.assumptions.texts
    before = len(table.all)
    for text in texts:
        if text not in table.numbers:
            table.numbers[text] = len(table.all)
            table.all.append(text)
    if len(table.all) > before and m.texts_asked:
        table.late += 1
        if table.late > _MOST_TIMES:
            raise CaptureRefusal("strings that are made of strings known only at run time again and again, "
                                 "as in a loop",
                                 "keep their parts in a list", kind="escape.str")
        m.assumptions.chosen_texts.begin_anew("strings that were not known when all were asked")
    return [table.numbers[text] for text in texts]


def number_of(m: Any, text: Any) -> Any:
    """Of a text, or one of the run that is nothing but chosen."""
    return text.parts[0].number if isinstance(text, RtText) else numbers(m, [text])[0]


def is_one(x: Any) -> bool:
    """A text that has a number."""
    return type(x) is str or is_chosen(x)


def is_chosen(x: Any) -> bool:
    return isinstance(x, RtText) and x.chosen


def _chosen(number: Any) -> RtText:
    return RtText((Chosen(number),))


def looked_up(m: Any, values: list, place: RtInt) -> Any:
    """values[place] of numbers of one kind; the place is there."""
    if type(values[0]) is int and values == list(range(values[0], values[0] + len(values))):
        return m.scalars.binary("add", place, values[0]) if values[0] else place
    with m.recorder.without_modes():
        table = torch.tensor(values, dtype=torch.float64 if type(values[0]) is float else None)
    return m.tensor_item(m.recorder.call(operator.getitem, (table, place), {}))


# ---- what is done with them --------------------------------------------------------------------------


def lifted(m: Any, text: RtText, fn: Callable[[str], Any]) -> Any:
    """fn of whichever text it is: another text, a number or a bool.
    Where the answers are of other kinds there is a path for each text."""
    first, possible = _possible(m, text.parts[0].number)
    try:
        found = [fn(x) for x in possible]
    except Exception:  # of a text that may not even be among those chosen here
        return fn(settled(m, text))
    kinds = set(map(type, found))
    place = m.scalars.binary("sub", text.parts[0].number, first) if first else text.parts[0].number
    if kinds == {str}:
        return _chosen(looked_up(m, numbers(m, found), place))
    if kinds in ({int}, {bool}) and all(-2**63 <= x < 2**63 for x in found):
        return looked_up(m, found, place)
    return fn(settled(m, text))


def settled(m: Any, text: RtText) -> str:
    """The text itself, on a path for each."""
    if not is_chosen(text):
        raise CaptureRefusal("a string that is known only at run time, used in this way",
                             "compare or index the numbers it is made of", kind="escape.str", because=text)
    number = text.parts[0].number
    m.forbid_if_merged(number, decided=True)
    first, possible = _possible(m, number)
    if len(possible) > _FEW:
        raise CaptureRefusal(f"one of {len(possible)} strings, known only at run time, used in this way",
                             "compare or index the numbers it stands for", kind="escape.str", because=text)
    return possible[m.decide_value(number, range(first, first + len(possible)), "a string") - first]


def _possible(m: Any, number: RtInt) -> tuple[int, list[str]]:
    """(the first place, the texts from there on) of those that a number may stand for."""
    everything = m.assumptions.texts.all
    least, greatest = m.facts.of(number, m.current.ranges)
    if least is not None and greatest is not None and 0 <= least <= greatest < len(everything):
        return least, everything[least:greatest + 1]
    m.texts_asked = True
    return 0, list(everything)


def truth(m: Any, text: RtText) -> bool:
    """bool(text)."""
    if any(isinstance(p, str) and p or isinstance(p, (RtScalar, Formatted)) for p in text.parts):
        return True
    pieces = _pieces(m, text)
    if pieces is None:
        return bool(text)  # which is refused
    return any(m.truth(m.scalars.compare("ne", p.number, number_of(m, ""))) for p in pieces)


def has_method(text: RtText, name: str) -> bool:
    """Whether `method` may take it."""
    return callable(getattr("", name, None)) if is_chosen(text) else text.writable and name in _CHANGING


def method(m: Any, text: RtText, name: str, args: tuple, kwargs: dict) -> Any:
    """text.name(*args)."""
    if is_chosen(text) and not m.has_runtime(args) and not m.has_runtime(kwargs):
        return m.new_if_mutable(lifted(m, text, lambda x: getattr(x, name)(*args, **kwargs)))
    if name not in _CHANGING or kwargs or not all(type(x) in (str, int, type(None)) for x in args):
        text.refuse(f"used in {name}()")
    getattr("", name)(*args)  # which fails as it would
    return RtText((Changed(text, name, args),))


def joined(separator: str, items: Any) -> RtText | None:
    """separator.join(items) of a list of run-time length; None: not of texts."""
    if items.kind[0] != "text":
        return None
    return RtText((Joined(separator, items.values, items.kind),))


def unified(union: Any, a: Any, b: Any) -> Any:
    """One text where two states meet."""
    if is_one(a) and is_one(b):
        number = union.scalars(number_of(union.m, a), number_of(union.m, b), "int", "int")
        return _chosen(number) if isinstance(number, RtScalar) else a
    mine, others = _pieces(union.m, a), _pieces(union.m, b)
    if mine is not None and others is not None:
        empty = [Chosen(number_of(union.m, ""))]
        a, b = (RtText((*x, *empty * (max(len(mine), len(others)) - len(x)))) for x in (mine, others))
    if type(a) is not type(b):
        union.apart(f"a {type(a).__name__} in one state, a {type(b).__name__} in the other")
    if len(a.parts) != len(b.parts):
        union.apart("different texts")
    return RtText(tuple(_unified_part(union, x, y) for x, y in zip(a.parts, b.parts)))


def _pieces(m: Any, text: Any) -> tuple | None:
    """The texts of the table that it is made of, one after the other; None: there is something else in it."""
    parts = (text,) if isinstance(text, str) else text.parts
    if not all(isinstance(p, (str, Chosen)) for p in parts):
        return None
    return tuple(Chosen(number_of(m, p)) if isinstance(p, str) else p for p in parts if p != "")


def _unified_joined(union: Any, x: Joined, y: Joined) -> Joined:
    if x.separator != y.separator or x.kind != y.kind or [v.type for v in x.values] != [v.type for v in y.values]:
        union.apart("different texts")
    params = []
    for v, w in zip(x.values, y.values):
        params.append(v if v is w else Value(v.type, union.block))
        if v is not w:
            union.requests.append((v, w, params[-1]))
    return Joined(x.separator, tuple(params), x.kind)


def _unified_part(union: Any, x: Any, y: Any) -> Any:
    if isinstance(x, Chosen) and isinstance(y, Chosen):
        return Chosen(union.unify(x.number, y.number))
    if isinstance(x, Joined) and isinstance(y, Joined):
        return _unified_joined(union, x, y)
    if isinstance(x, Changed) and isinstance(y, Changed):
        if (x.method, x.arguments) != (y.method, y.arguments):
            union.apart("different texts")
        return Changed(unified(union, x.text, y.text), x.method, x.arguments)
    return union.unify(x, y)


# ---- as elements of lists of run-time length -----------------------------------------------------------


_CHOSEN, _NUMBER = ("chosen",), ("number",)


def kind(x: Any) -> tuple | None:
    """("text", what is the same in all elements, the kinds of its numbers); None: no such element."""
    pattern: list = []
    kinds = []
    for part in (Chosen(None),) if type(x) is str else x.parts:
        if isinstance(part, str):
            pattern[-1:] = ([pattern[-1] + part] if pattern and isinstance(pattern[-1], str)
                            else [*pattern[-1:], *([part] if part else [])])
            continue
        if not isinstance(part, (Chosen, RtScalar, Formatted)):
            return None
        pattern.append(_CHOSEN if isinstance(part, Chosen) else _NUMBER if isinstance(part, RtScalar)
                       else ("format", part.spec))
        kinds.append(("int",) if isinstance(part, Chosen)
                     else (part.kind if isinstance(part, RtScalar) else part.number.kind,))
    return ("text", tuple(pattern), tuple(kinds))


def numbers_in(m: Any, x: Any) -> list:
    """In the order of its kind."""
    if type(x) is str:
        return numbers(m, [x])
    return [p if isinstance(p, RtScalar) else p.number for p in x.parts if not isinstance(p, str)]


def built(pattern: tuple, values: list) -> RtText:
    found = iter(values)
    return RtText(tuple(p if isinstance(p, str) else Chosen(next(found)) if p == _CHOSEN
                        else next(found) if p == _NUMBER else Formatted(
        next(found), p[1]) for p in pattern))
