# SPDX-License-Identifier: Apache-2.0
"""Lists of numbers under an index known only at run time: union-find, heads of a parse, tables of a search.

Each place that the index may have is a path of its own, so that what is found there is known where the list is. Where
that would be many paths, or where the index is known only at run time because paths met, capture begins anew with lists
that the run takes the number from, or puts it into; and once more without if that leads to a refusal, as where a size
must be known.
"""

from __future__ import annotations

from typing import Any

from ..graph.program import ListType, ScalarType, Value
from ..values import chosen_text
from ..values.scalar import BY_KIND, RtInt, RtScalar, is_merge_born, kind_of

_MANY = 256  # paths for places of lists of numbers


def one_kind(m: Any, items: Any) -> str | None:
    """The kind of all numbers in a list, known or not; None: there is something else, or nothing."""
    kinds = set(map(kind_of, items)) if len(items) <= m.options.max_switch else set()
    if len(kinds) != 1 or any(type(x) is int and not -2**63 <= x < 2**63 for x in items):
        return None
    return kinds.pop()


def chosen(m: Any, items: Any, place: Any) -> str | None:
    """Their kind, if the run chooses among them; begins anew with that where paths are many."""
    kind = one_kind(m, items) if place is not None else None
    if kind is None:
        return None
    numbers = m.assumptions.chosen_numbers
    m.number_places += len(items)
    if not numbers.assumed and not numbers.refuted and (m.number_places > _MANY or is_merge_born(place)):
        numbers.assume(None)
    return kind if numbers.holds() else None


def read(m: Any, items: Any, kind: str, place: RtInt, error: BaseException) -> RtScalar:
    """items[place]; `error` is raised where there is nothing."""
    index = m.scalars.value(chosen_text.place_in(m, items, place, error), "int")
    return _at(m, _listed(m, items, kind), kind, index)


def write(m: Any, items: list, kind: str, place: RtInt, value: Any, error: BaseException) -> None:
    """items[place] = value, a number of the kind."""
    index = m.scalars.value(chosen_text.place_in(m, items, place, error), "int")
    before = _listed(m, items, kind)
    after = m.recorder.host("list.set", [before, index, m.scalars.value(value, kind)], before.type)
    m.heap.touch(items)
    items[:] = [_at(m, after, kind, m.scalars.value(k, "int")) for k in range(len(items))]


def _listed(m: Any, items: Any, kind: str) -> Value:
    return m.recorder.host("list.new", [m.scalars.value(x, kind) for x in items], ListType(ScalarType(kind)))


def _at(m: Any, values: Value, kind: str, index: Value) -> RtScalar:
    return BY_KIND[kind](m.recorder.host("list.get", [values, index], ScalarType(kind)), m.recorder.span)
