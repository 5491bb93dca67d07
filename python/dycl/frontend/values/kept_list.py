# SPDX-License-Identifier: Apache-2.0
"""Lists in attributes of objects that are rows of a table (values/arena.py): rows of a table themselves.

Such a list has one column, its elements as a tuple: numbers of one kind, or objects that are rows. What reads the list
makes an `RtList` of them for the moment; what changes it puts the elements of a changed `RtList` back. Whoever has the
number of the row has the list, so aliases are right by construction.
"""

from __future__ import annotations

import operator
from typing import Any

from ...calling.templates import Template
from ..diagnostics import CaptureRefusal
from .arena import UNSET, Arena, Reference
from .list import EMPTY, RtList, RtListIter, push_none
from .list_kinds import with_rows
from .stand_in import DONE, BoundMethod

_NOTHING = ("tuple", tuple, ())  # the kind of no elements


class ListArena(Arena):
    """The lists that get into one attribute."""

    __slots__ = ()

    def at(self, index: Any) -> Reference:
        return RtKeptList(self, index)

    def kind_of(self, name: str, value: Any) -> tuple:
        kind = with_rows(super().kind_of(name, value))
        if kind[0] != "row" and kind != _NOTHING:
            raise CaptureRefusal(f"a {self.cls.__name__}, whose objects are known only at run time, "
                                 "with other elements than numbers of one kind",
                                 "keep numbers or objects of plain classes there",
                                 kind="list.element")
        return kind


class RtKeptList(Reference):
    """A list."""

    __slots__ = ()
    priority = 51  # it becomes an RtList where it meets one
    indexed = True

    def now(self, m: Any) -> RtList:
        """Its elements in a list of their own."""
        items = self.arena.read(self, "items")
        if items is UNSET or items == ():
            return m.new(RtList((), EMPTY, frozenset(), self.arena.guard))
        return m.lists.frozen(items, False)

    def put(self, m: Any, x: RtList) -> None:
        self.arena.write(self, "items", () if x.kind == EMPTY else m.lists.frozen(x, True))

    def example(self, m: Any) -> Any:
        return []

    def copied(self, m: Any, deep: bool) -> Any:
        return self.now(m).copied(m, deep)

    def truth(self, m: Any) -> Any:
        return self.now(m).truth(m)

    def length(self, m: Any) -> Any:
        return m.lists.length(self.now(m))

    # ---- elements ------------------------------------------------------------------------------

    def get_item(self, m: Any, s: Any, key: Any) -> Any:
        return self.now(m).get_item(m, s, key)

    def set_item(self, m: Any, s: Any, key: Any, value: Any) -> Any:
        x = self.now(m)
        m.lists.set(x, key, value)
        self.put(m, x)

    def delete_item(self, m: Any, s: Any, key: Any) -> Any:
        x = self.now(m)
        m.lists.delete(x, key)
        self.put(m, x)

    def assign_slice(self, m: Any, target: Any, key: slice) -> Any:
        return self.now(m).assign_slice(m, target, key)

    def extend_display(self, m: Any, items: Any) -> Any:
        return self.now(m).extend_display(m, items)

    def unpacked(self, m: Any, s: Any, count: int) -> Any:
        return self.now(m).unpacked(m, s, count)

    def refuse_spread(self, m: Any) -> None:
        self.now(m).refuse_spread(m)

    def columns(self, m: Any) -> Any:
        return self.now(m).columns(m)

    def iterate(self, m: Any, s: Any) -> Any:
        return m.new(RtKeptIter(self))  # type: ignore[arg-type]

    def rebuilt_as(self, m: Any, s: Any, kind: type, more: dict) -> Any:
        return self.now(m).rebuilt_as(m, s, kind, more)

    def binary(self, m: Any, s: Any, op: str, a: Any, b: Any, inplace: bool) -> Any:
        if inplace and a is self and op == "add":
            return m.call(s, m.polyfills.extend_list, (a, b), {})
        x, y = (z.now(m) if isinstance(z, RtKeptList) else z for z in (a, b))
        own = x if isinstance(x, RtList) else y
        return own.binary(m, s, op, x, y, inplace)

    # ---- methods -------------------------------------------------------------------------------

    def attribute(self, m: Any, s: Any, name: str) -> Any:
        if not hasattr([], name):
            raise AttributeError(f"'list' object has no attribute '{name}'")
        return BoundMethod(self, name)

    def call_method(self, m: Any, s: Any, name: str, args: tuple, kwargs: dict) -> Any:
        polyfill = m.polyfill_of(vars(list).get(name))
        if polyfill is not None:
            return m.call(s, polyfill, (self, *args), kwargs)
        if name == "__iter__":
            return self.iterate(m, s)
        if name == "__contains__":
            return m.call(s, operator.contains, (self, args[0]), {})
        if name == "extend":
            return m.call_then(s, m.polyfills.extend_list, (self, *args), {}, push_none)
        x = self.now(m)
        result = m.lists.call(x, name, args, kwargs)
        if name in _CHANGING:
            self.put(m, x)
        return result

    # ---- as data, and in results -----------------------------------------------------------------

    def as_subscript(self, m: Any) -> Any:
        return self.now(m).as_subscript(m)

    def as_argument(self, arguments: Any) -> Any:
        return self.now(self.arena.m).as_argument(arguments)

    def as_operand(self, m: Any) -> Any:
        return self.now(m).as_operand(m)

    def tensor_of(self, m: Any, dtype: Any) -> Any:
        return self.now(m).tensor_of(m, dtype)

    def holds_floats(self, m: Any) -> bool:
        return self.now(m).holds_floats(m)

    def joined_tensors(self, m: Any, how: str, axis: int) -> Any:
        return self.now(m).joined_tensors(m, how, axis)

    def check_key(self, m: Any) -> None:
        raise TypeError("unhashable type: 'list'")

    def flattened(self, flattener: Any, path: str) -> Template:
        return self.now(flattener.m).flattened(flattener, path)


_CHANGING = {"append", "pop", "insert", "clear"}


class RtKeptIter(RtListIter):
    """Over one; it may grow meanwhile."""

    __slots__ = ()

    def next_item(self, m: Any, s: Any, exhausted: Any, sent: Any) -> Any:
        kept: Any = self.source
        found = m.lists.next(self, kept.now(m))
        return DONE if found is None else found[0]
