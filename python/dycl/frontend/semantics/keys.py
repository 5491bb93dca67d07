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
from typing import Any, Iterable

import torch

from ..diagnostics import CaptureRefusal
from ..polyfills import keyed_sets, keyed_tables, set_order
from ..state.contents import hashes_alike
from ..values.list import RtList
from ..values.list_kinds import graph_lists, kind_of_items
from ..values.scalar import RtInt, kind_of
from ..values.stand_in import deciding, key_refusal, stand_in_of

TABLES = (keyed_tables.RtDict, keyed_sets.RtSet)
_TABLES = {collections.Counter: keyed_tables.RtCounter, collections.OrderedDict: keyed_tables.RtOrderedDict,
           dict: keyed_tables.RtDict}


def at_run_time(key: Any) -> bool:
    """Whether the hash of a key is known only at run time."""
    own = stand_in_of(key)
    if own is not None:
        return own.is_late_key()
    return isinstance(key, tuple) and any(map(at_run_time, key)) or _is_frozen(key) and any(
        at_run_time(getattr(key, f.name, None)) for f in dataclasses.fields(key))


def _plain(m, key: Any) -> Any:
    """The number itself."""
    own = stand_in_of(key)
    return key if own is None else own.as_key(m)


def present_key(m, key: Any, present: Iterable, otherwise: BaseException) -> Any:
    """One of the keys that are there; `otherwise` is raised where it is none of them."""
    key = _plain(m, key)
    if kind_of(key) is not None and stand_in_of(key) is not None:
        known = _numbers(present)
        return known[m.decide_value(key, known, "a dict key", otherwise)]
    check(m, key)
    candidates = list(present)
    if len(candidates) > m.options.max_switch:
        raise CaptureRefusal(f"a dict key known only at run time among {len(candidates)} possible values",
                             "use a tensor and index it", kind="index.large", because=reason(key))
    for candidate in candidates:
        found = equal(m, candidate, key)
        if found is True or found is not False and m.decide(found):
            return candidate
    raise otherwise


def any_key(m, key: Any, container: Any) -> Any:
    """Whatever it is, there or not. One that may be anything makes a table of the container."""
    own = stand_in_of(key)
    possible = None if own is None else own.possible_values(m)
    if possible is None:
        make_table(m, container, key)
    m.forbid_if_merged(key, decided=True)
    if len(possible) > 1 and id(container) in m.birthplaces:
        m.with_chosen_keys.add(m.birthplaces[id(container)])
    for value in possible[:-1]:
        if m.decide(m.scalars.compare("eq", key, value)):
            return value
    return possible[-1]


def _numbers(present: Iterable) -> dict:
    """The keys that may equal a number, by the plain number that each is."""
    found = {}
    for k in present:
        if isinstance(k, (int, float)) and type(k).__eq__ in (int.__eq__, float.__eq__, bool.__eq__):
            found[k if kind_of(k) is not None else int(k) if isinstance(k, int) else float(k)] = k
        elif isinstance(k, numbers.Number):
            raise key_refusal(f"a key known only at run time beside a key that is a {type(k).__name__}", None)
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
    if place is None:
        m.keep_between_calls(container)
    if place is None or _is_table(m, place):
        raise CaptureRefusal("a dict or set entry under a key known only at run time",
                             "use a list or a tensor, keys known beforehand, "
                             "or a dict made in the compiled code itself",
                             kind="escape.hash", because=reason(key))
    m.assumptions.tables.assume(place)


def _is_table(m, place: tuple) -> bool:
    return m.assumptions.tables.holds(place) or m.assumptions.likely_tables.holds(place)


def prefer_tables(m) -> None:
    """Paths that can't meet are many, and dicts got keys that were chosen among a few values: with tables for these
    dicts none differ in their keys."""
    likely = m.assumptions.likely_tables
    places = m.with_chosen_keys - m.assumptions.tables.assumed - likely.assumed
    if places and not likely.refuted:
        likely.assume(*places)


def made(m, container: Any, factory: Any = None) -> Any:
    """A dict or set that the program just made; a table if it gets keys known only at run time later."""
    place = site(m)
    if _is_table(m, place):
        return as_table(m, container, factory)
    m.birthplaces[id(container)] = place
    return m.new(container)


def wanted(m) -> bool:
    """Whether the place at hand makes tables."""
    return bool(m.assumptions.tables.assumed or m.assumptions.likely_tables.assumed) and _is_table(m, site(m))


def as_table(m, container: Any, factory: Any = None) -> Any:
    """A table with the same entries, whose keys are known."""
    if isinstance(container, set):
        table = m.new(object.__new__(keyed_sets.RtSet))
        table.found, table.changes, table.finger = m.new(list(container)), 0, 0
        table.in_order, table.grown, table.history = all(map(hashes_alike, container)), True, None
        m.columns[table.found] = None
        if m.assumptions.histories.holds():
            _keep_history(m, table, container)
        return table
    table = m.new(object.__new__(next(kind for cls, kind in _TABLES.items() if isinstance(container, cls))))
    table.kind, table.factory, table.removals = type(container), factory, 0
    table.found_keys, table.found_values = m.new(list(container)), m.new(list(container.values()))
    m.columns[table.found_keys] = m.columns[table.found_values] = None
    return table


def new_like(m, table: Any) -> Any:
    return table.empty_like(m)


def new_view(m, table: Any, what: str) -> Any:
    view = m.new(object.__new__(keyed_tables.RtView))
    view.table, view.what = table, what
    return view


def elements(m, source: Any) -> Any:
    own = stand_in_of(source)
    found = own.in_any_order(m) if own is not None else NotImplemented
    if found is not NotImplemented:
        return found
    return tuple(source) if isinstance(source, (set, frozenset)) else source


def small_integers(m, items: Any) -> bool:
    if type(items) is not list:
        return False
    ranges = [(x, x) if kind_of(x) in ("int", "bool") and stand_in_of(x) is None
              else m.recorder.path.range_of(x) if kind_of(x) == "int" else (None, None) for x in items]
    return all(low is not None and high is not None and 0 <= low and high < _SMALLEST_SET for low, high in ranges)


def order_of(m, items: Any) -> list | None:
    if type(items) not in (set, frozenset, range, tuple, list) or m.has_runtime(items) or not all(
            map(hashes_alike, items)):
        return None
    m.note_read(items)
    made: set = set()
    made.update(items)
    return list(made)


_SMALLEST_SET = 8  # the places of the smallest table of CPython's sets


def _keep_history(m, table: Any, container: Any) -> None:
    """With lists of run-time length, so that states with other elements meet."""
    table.history = _history_of_known(m, container)
    if table.history is not None:
        table.found = _of_run_time_length(m, table.found)


def _of_run_time_length(m, items: list) -> RtList:
    kind = kind_of_items(m, items)
    return m.new(RtList(tuple(graph_lists(m, items, kind)) if items else (), kind, frozenset(), None))


def history_of(m, source: Any) -> Any:
    own = stand_in_of(source)
    if own is not None:
        return getattr(own, "history", None)
    return _history_of_known(m, source) if type(source) in (set, frozenset) else None


def _history_of_known(m, container: Any) -> Any:
    history = set_order.history_of_known(container)
    return None if history is None else _of_run_time_length(m, history)


def want_histories(m) -> None:
    if not m.assumptions.histories.holds() and set_order.is_that_of_python():
        m.assumptions.histories.assume(None)


def are_integers(m, items: tuple) -> bool:
    return all(kind_of(x) == "int" for x in items)


def as_run_time(m, number: int) -> RtInt:
    return number if stand_in_of(number) is not None else RtInt(m.scalars.value(number, "int"), m.recorder.span)


def growing(m, numbers: Any, pairs: bool) -> RtList:
    """A copy as a list of run-time length."""
    kind = ("tuple", tuple, (("int",), ("int",))) if pairs else ("int",)
    return m.new(RtList(tuple(graph_lists(m, numbers, kind)), kind, frozenset(), None))


# ---- when two keys are one -----------------------------------------------------------------------


def check(m, key: Any) -> None:
    """Fails as Python does for what has no hash, and refuses keys whose equality cannot be told."""
    own = stand_in_of(key)
    if own is not None:
        key = own.as_key(m)
        own = stand_in_of(key)
    if own is not None:
        own.check_key(m)
    elif isinstance(key, tuple):
        for part in key:
            check(m, part)
    elif isinstance(key, (list, dict, set)):
        raise TypeError(f"unhashable type: '{type(key).__name__}'")


def equal(m, a: Any, b: Any) -> Any:
    """Whether two keys are one: a bool, known now or at run time. A refusal where that cannot be told."""
    if a is b:
        return True
    a, b = _plain(m, a), _plain(m, b)
    own = deciding(a, b)
    if own is not None:
        return own.equal_key(m, a, b)
    return _equal_known(m, a, b)


def _equal_known(m, a: Any, b: Any) -> Any:
    """Of keys that are known, but for what is inside of tuples and dataclasses."""
    for is_one in (_is_number, _is_text, _is_tuple):
        if is_one(a) or is_one(b):
            return is_one(a) and is_one(b) and (_all_equal(m, a, b) if is_one is _is_tuple else a == b)
    if _is_frozen(a) and type(a) is type(b):
        return _all_equal(m, _compared_fields(a), _compared_fields(b))
    if type(a).__eq__ is object.__eq__ and type(b).__eq__ is object.__eq__:
        return False  # not the same object
    if a is None or b is None or isinstance(a, _BY_VALUE) and isinstance(b, _BY_VALUE):
        return a == b
    raise key_refusal(f"a {type(a).__name__} as a key beside keys known only at run time", None)


_BY_VALUE = (torch.dtype, torch.device, bytes, frozenset, complex, type)


def _compared_fields(x: Any) -> tuple:
    return tuple(getattr(x, f.name) for f in dataclasses.fields(x) if f.compare)


def _is_number(x: Any) -> bool:
    return kind_of(x) is not None


def _is_text(x: Any) -> bool:
    return isinstance(x, str)


def _is_tuple(x: Any) -> bool:
    return isinstance(x, tuple)


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


def reason(key: Any) -> Any:
    """What in a key is known only at run time."""
    if isinstance(key, tuple):
        return next((reason(k) for k in key if at_run_time(k)), None)
    own = stand_in_of(key)
    return key if own is not None and own.is_late_key() and hasattr(key, "origin") else None
