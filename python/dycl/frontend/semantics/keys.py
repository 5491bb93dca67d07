# SPDX-License-Identifier: Apache-2.0
"""Keys of dicts and elements of sets that are known only at run time.

A number of known small range is decided, one arm for each value it can have; so is a key of a dict that is only looked
up. A dict or set that gets any other such key (an int of any range, a tuple or a text with such in it) is made as a
table of keys and values instead (polyfills/keyed_tables.py): capture begins anew, and the place of the program that
made the dict makes the table.
"""

from __future__ import annotations

import collections
import dataclasses
import numbers
import re
from typing import Any, Iterable

import torch

from ..diagnostics import CaptureRefusal, Restart
from ..polyfills import keyed_tables
from ..values import chosen_text
from ..values.array import RtArray
from ..values.list import RtList
from ..values.scalar import RtBool, RtFloat, RtInt, RtScalar, kind_of
from ..values.text import RtText
from .identity import same_object

TABLES = (keyed_tables.RtDict, keyed_tables.RtSet)


def at_run_time(key: Any) -> bool:
    """Whether the hash of a key is known only at run time."""
    if isinstance(key, (RtScalar, RtText, RtList)) or _is_number(key):
        return True
    if isinstance(key, torch.Tensor):
        if hasattr(key, "_dycl") and callable(key._dycl.cell.note):
            key._dycl.cell.note()  # one that is this tensor in some paths and that one in others: they stay apart
        return False
    return isinstance(key, tuple) and any(map(at_run_time, key)) or _is_frozen(key) and any(
        at_run_time(getattr(key, f.name, None)) for f in dataclasses.fields(key))


def _is_number(key: Any) -> bool:
    """A numpy scalar: its hash is that of the number, exactly, whatever numpy's comparisons round."""
    return isinstance(key, RtArray) and key.scalar


def _plain(m, key: Any) -> Any:
    """The number itself."""
    return m.tensor_item(key.tensor) if _is_number(key) else key


def present_key(m, key: Any, present: Iterable, otherwise: BaseException) -> Any:
    """One of the keys that are there; `otherwise` is raised where it is none of them."""
    key = _plain(m, key)
    if isinstance(key, RtScalar):
        known = _numbers(present)
        return known[m.decide_value(key, known, "a dict key", otherwise)]
    check(m, key)
    candidates = list(present)
    if len(candidates) > m.options.max_switch:
        raise CaptureRefusal(f"a dict key known only at run time among {len(candidates)} possible values",
                             "use a tensor and index it", kind="index.large", because=_reason(key))
    for candidate in candidates:
        found = equal(m, candidate, key)
        if found is True or found is not False and m.decide(found):
            return candidate
    raise otherwise


def any_key(m, key: Any, container: Any) -> Any:
    """Whatever it is, there or not. One that may be anything makes a table of the container."""
    possible = possible_values(m, key)
    if possible is None:
        make_table(m, container, key)
    m.forbid_if_merged(key)
    if len(possible) > 1 and id(container) in m.birthplaces:
        m.with_chosen_keys.add(m.birthplaces[id(container)])
    for value in possible[:-1]:
        if m.decide(m.scalars.compare("eq", key, value)):
            return value
    return possible[-1]


def possible_values(m, key: Any) -> list | None:
    """All values of a number of known range, if they are few."""
    if isinstance(key, RtBool):
        return [False, True]
    if not isinstance(key, RtInt):
        return None
    least, greatest = m.facts.of(key, m.current.ranges)
    if least is None or greatest is None or greatest - least >= m.options.max_switch:
        return None
    return list(range(least, greatest + 1))


def _numbers(present: Iterable) -> dict:
    """The keys that may equal a number, by the plain number that each is."""
    found = {}
    for k in present:
        if isinstance(k, (int, float)) and type(k).__eq__ in (int.__eq__, float.__eq__, bool.__eq__):
            found[k if kind_of(k) is not None else int(k) if isinstance(k, int) else float(k)] = k
        elif isinstance(k, numbers.Number):
            raise _refusal(f"a key known only at run time beside a key that is a {type(k).__name__}", None)
    return found


# ---- tables ------------------------------------------------------------------------------------


def site(m) -> tuple:
    """The place in the program that is being executed."""
    frame = next((f for f in reversed(m.current.frames) if not f.hidden), m.current.frames[-1])
    code = frame.info.code
    return (code.co_filename, code.co_firstlineno, frame.pc)


def make_table(m, container: Any, key: Any) -> None:
    """Begins anew with the dict or set made as a table. `container`: it, or the place that is about to make it."""
    m.forbid_if_merged(key)
    check(m, key)
    place = container if type(container) is tuple else m.birthplaces.get(id(container))
    if place is None or place in m.assumptions.tables:
        raise CaptureRefusal("a dict or set entry under a key known only at run time",
                             "use a list or a tensor, keys known beforehand, "
                             "or a dict made in the compiled code itself",
                             kind="escape.hash", because=_reason(key))
    m.assumptions.tables.add(place)
    raise Restart("a dict whose keys are known only at run time")


def prefer_tables(m) -> None:
    """Paths that can't meet are many, and dicts got keys that were chosen among a few values: with tables for these
    dicts none differ in their keys."""
    places = m.with_chosen_keys - m.assumptions.tables
    if places and not m.assumptions.tables_in_vain:
        m.assumptions.guessed_tables |= places
        m.assumptions.tables |= places
        raise Restart("dicts whose keys keep many paths apart")


def without_guessed_tables(m) -> None:
    """What they led to was refused: begin anew without them."""
    assumptions = m.assumptions
    if assumptions.guessed_tables:
        assumptions.tables -= assumptions.guessed_tables
        assumptions.guessed_tables, assumptions.tables_in_vain = set(), True
        raise Restart("no tables for keys of few values")


def made(m, container: Any, factory: Any = None) -> Any:
    """A dict or set that the program just made; a table if it gets keys known only at run time later."""
    place = site(m)
    if place in m.assumptions.tables:
        return as_table(m, container, factory)
    m.birthplaces[id(container)] = place
    return m.new(container)


def wanted(m) -> bool:
    """Whether the place at hand makes tables."""
    return bool(m.assumptions.tables) and site(m) in m.assumptions.tables


def as_table(m, container: Any, factory: Any = None) -> Any:
    """A table with the same entries, whose keys are known."""
    if isinstance(container, set):
        table = m.new(object.__new__(keyed_tables.RtSet))
        table.found = m.new(list(container))
        return table
    table = m.new(object.__new__(keyed_tables.RtCounter if isinstance(container, collections.Counter)
                                 else keyed_tables.RtDict))
    table.kind, table.factory, table.removals = type(container), factory, 0
    table.found_keys, table.found_values = m.new(list(container)), m.new(list(container.values()))
    return table


def new_like(m, table: Any) -> Any:
    if isinstance(table, keyed_tables.RtSet):
        return as_table(m, set())
    return as_table(m, table.kind(), table.factory)


def new_view(m, table: Any, what: str) -> Any:
    view = m.new(object.__new__(keyed_tables.RtView))
    view.table, view.what = table, what
    return view


def elements(m, source: Any) -> Any:
    if isinstance(source, keyed_tables.RtSet):
        return tuple(source.found) if type(source.found) is list else m.lists.frozen(source.found, True)
    return tuple(source) if isinstance(source, (set, frozenset)) else source


# ---- when two keys are one -----------------------------------------------------------------------


def check(m, key: Any) -> None:
    """Fails as Python does for what has no hash, and refuses keys whose equality cannot be told."""
    if isinstance(key, RtList) and not key.frozen or isinstance(key, (list, dict, set, *TABLES)):
        raise TypeError(f"unhashable type: '{'list' if isinstance(key, RtList) else type(key).__name__}'")
    key = _plain(m, key)
    if isinstance(key, RtFloat):  # a NaN is a key of its own, unless it is the same object: nothing that a run can tell
        m.recorder.check(m.scalars.compare("eq", key, key).value, "a NaN as a key", "RuntimeError")
    if isinstance(key, RtList) and key.kind not in (("int",), ("bool",)):
        raise _refusal("a tuple whose length is known only at run time as a key", None)
    if isinstance(key, tuple):
        for part in key:
            check(m, part)
    elif isinstance(key, RtText) and not chosen_text.is_chosen(key):
        if not key.exact or any(isinstance(p, RtScalar) and not isinstance(p, RtInt) for p in key.parts):
            raise _refusal("a string with something other than integers known only at run time as a key", key)


def equal(m, a: Any, b: Any) -> Any:
    """Whether two keys are one: a bool, known now or at run time. A refusal where that cannot be told."""
    if a is b:
        return True
    a, b = _plain(m, a), _plain(m, b)
    ka, kb = kind_of(a), kind_of(b)
    if ka is not None or kb is not None:
        if ka is None or kb is None:
            return False
        return m.scalars.compare("eq", a, b) if isinstance(a, RtScalar) or isinstance(b, RtScalar) else a == b
    if isinstance(a, (str, RtText)) or isinstance(b, (str, RtText)):
        return isinstance(a, (str, RtText)) and isinstance(b, (str, RtText)) and equal_texts(m, a, b)
    if isinstance(a, tuple) or isinstance(b, tuple):
        return isinstance(a, tuple) and isinstance(b, tuple) and _all_equal(m, a, b)
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        return same_object(m, a, b)
    if _is_frozen(a) and type(a) is type(b):
        names = [f.name for f in dataclasses.fields(a) if f.compare]
        return _all_equal(m, tuple(getattr(a, n) for n in names), tuple(getattr(b, n) for n in names))
    if type(a).__eq__ is object.__eq__ and type(b).__eq__ is object.__eq__:
        return False  # not the same object
    if a is None or b is None or all(isinstance(x, (torch.dtype, torch.device, bytes, frozenset, complex, type))
                                     for x in (a, b)):
        return a == b
    raise _refusal(f"a {type(a).__name__} as a key beside keys known only at run time", None)


def _all_equal(m, a: tuple, b: tuple) -> Any:
    if len(a) != len(b):
        return False
    together: Any = True
    for x, y in zip(a, b):
        found = equal(m, x, y)
        if found is False:
            return False
        if found is not True:
            together = found if together is True else m.scalars.binary("and", together, found)
    return together


def _is_frozen(x: Any) -> bool:
    """An instance of a dataclass whose hash and equality are those of its fields."""
    params = getattr(type(x), "__dataclass_params__", None)
    return params is not None and params.frozen and params.eq and "__hash__" in type(x).__dict__ and all(
        getattr(type(x).__dict__.get(name), "__qualname__", "").startswith("__create_fn__") or getattr(
            getattr(type(x).__dict__.get(name), "__code__", None), "co_filename", "") == "<string>"
        for name in ("__hash__", "__eq__"))


def _refusal(what: str, key: Any) -> CaptureRefusal:
    return CaptureRefusal(what, "use integers, or tuples of them", kind="escape.hash", because=_reason(key))


def _reason(key: Any) -> Any:
    if isinstance(key, tuple):
        return next((_reason(k) for k in key if at_run_time(k)), None)
    return key if isinstance(key, (RtScalar, RtText)) else None


# ---- texts -----------------------------------------------------------------------------------------


def equal_texts(m, a: Any, b: Any) -> Any:
    """Of texts with run-time integers in them."""
    if isinstance(a, str) and isinstance(b, str):
        return a == b
    for text in (a, b):
        if isinstance(text, RtText):
            check(m, text)
    if chosen_text.is_one(a) and chosen_text.is_one(b):
        return m.scalars.compare("eq", chosen_text.number_of(m, a), chosen_text.number_of(m, b))
    if a.chooses if isinstance(a, RtText) else b.chooses:
        raise _refusal("a string that is chosen at run time, compared with one that numbers are in", None)
    if isinstance(b, str):
        a, b = b, a
    if isinstance(a, str):
        numbers = parse(b, a)
        if numbers is None:
            return False
        return _all_equal(m, tuple(p for p in b.parts if isinstance(p, RtScalar)), numbers)
    a_parts, b_parts = _normal(a), _normal(b)
    if len(a_parts) == len(b_parts) and all(x == y if isinstance(x, str) and isinstance(y, str) else isinstance(
            x, RtScalar) and isinstance(y, RtScalar) for x, y in zip(a_parts, b_parts)) and separable(a):
        return _all_equal(m, *(tuple(p for p in parts if isinstance(p, RtScalar)) for parts in (a_parts, b_parts)))
    a_words, b_words = _words(a_parts), _words(b_parts)
    if len(a_words) != len(b_words) or any(isinstance(x, str) and isinstance(y, str) and x != y
                                           for x, y in zip(a_words, b_words)):
        return False
    pairs = []
    for x, y in zip(a_words, b_words):
        if isinstance(x, str) and isinstance(y, str):
            continue
        number, other = (x, y) if isinstance(x, RtScalar) else (y, x)
        if (isinstance(other, str) and not re.fullmatch("-?[0-9]+", other)
                or isinstance(other, str) and str(int(other)) != other):
            return False
        pairs.append((number, int(other) if isinstance(other, str) else other))
    return _all_equal(m, tuple(x for x, _ in pairs), tuple(y for _, y in pairs))


def separable(text: RtText) -> bool:
    """Whether the text tells its numbers: behind each but the last comes something that is no digit."""
    parts = _normal(text)
    last = max((k for k, p in enumerate(parts) if isinstance(p, RtScalar)), default=-1)
    return all(isinstance(parts[k + 1], str) and not parts[k + 1][0].isdigit() for k, p in enumerate(parts)
               if isinstance(p, RtScalar) and k < last)


def parse(text: RtText, name: str) -> tuple | None:
    """The numbers that make the text equal a name; None if there are none."""
    if not separable(text):
        raise _refusal("a string in which a number known only at run time stands right behind another", text)
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
                raise _refusal("a comparison of strings whose numbers known only at run time stand beside other digits",
                               part)
            words.append(part)
        else:
            words += [w for w in re.split("((?<![0-9])-?[0-9]+)", part) if w]
    return words
