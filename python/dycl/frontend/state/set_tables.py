# SPDX-License-Identifier: Apache-2.0
"""The tables of Python's sets, as CPython has them in memory (Include/cpython/setobject.h): which slots are free, taken
or left, and where pop() goes on. The order of a set's elements, now and after what is done to it next, follows from its
table, and nothing but the history of the set explains that. So a table is taken and put back as it is.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

from .contents import Items

_WORDS = ctypes.c_ssize_t
_FILL, _USED, _MASK, _TABLE, _FINGER, _WITHIN = 2, 3, 4, 5, 7, 8  # words of a set; the last: where eight slots begin
_SMALLEST = 8
_FREE, _LEFT = -1, -2


class SetTable(NamedTuple):
    """slots: which of the elements, in their order, is there; or free, or left."""

    slots: tuple
    hashes: tuple
    finger: int


class OrderedItems(Items):
    """The items of a set, its table, and the attributes of an instance of a subclass."""

    table: SetTable

    @classmethod
    def of(cls, items: tuple, attributes: dict | None, table: SetTable) -> "OrderedItems":
        made = cls(items, attributes)
        made.table = table
        return made


def _header(x: set) -> Any:
    return (_WORDS * (_WITHIN + 1)).from_address(id(x))


def _words(x: set) -> Any:
    """Two for each slot: the element and its hash."""
    header = _header(x)
    return (_WORDS * (2 * (header[_MASK] + 1))).from_address(header[_TABLE])


def table_of(x: set) -> SetTable:
    words, places = _words(x), {id(item): k for k, item in enumerate(set.__iter__(x))}
    slots = tuple(places[word] if word in places else _LEFT if word else _FREE for word in words[::2])
    return SetTable(slots, tuple(words[1::2]), _header(x)[_FINGER])


def put_back(x: set, items: tuple, table: SetTable) -> None:
    set.clear(x)
    count = len(table.slots)
    if count > _SMALLEST:  # such a table is made for a set that comes
        some = {(k, None) for k in range(max(count // 4, 5))}
        set.update(x, some)
        for one in some:
            set.discard(x, one)
    if _header(x)[_MASK] + 1 != count:
        raise AssertionError(f"a set with {_header(x)[_MASK] + 1} slots, not {count}")
    words, header = _words(x), _header(x)
    for k, place in enumerate(table.slots):
        if place >= 0:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(items[place]))
        words[2 * k] = id(items[place]) if place >= 0 else _LEFT_MARK if place == _LEFT else 0
        words[2 * k + 1] = table.hashes[k]
    header[_FILL], header[_USED] = count - table.slots.count(_FREE), len(items)
    header[_FINGER] = table.finger


def _mark_of_left() -> int:
    some = {0}
    some.discard(0)
    return _words(some)[0]


def _is_laid_out_as_said() -> bool:
    """Memory is written by hand here: a Python with another layout must not get that far."""
    x = {3, 1}
    x.discard(1)
    header, table = _header(x), table_of(x)
    return (header[_FILL] == 2 and header[_USED] == 1 and header[_MASK] == _SMALLEST - 1 and header[_FINGER] == 0
            and header[_TABLE] == ctypes.addressof(header) + _WITHIN * ctypes.sizeof(_WORDS)
            and table.slots[1] == _LEFT and table.slots[3] == 0 and table.hashes[3] == 3
            and table.slots.count(_FREE) == _SMALLEST - 2)


_LEFT_MARK = _mark_of_left()
if not _is_laid_out_as_said():
    raise ImportError("DyCL does not know how this Python lays out sets in memory: use CPython 3.11 or 3.12")
