# SPDX-License-Identifier: Apache-2.0
"""Lists of different lengths where states meet: one whose length is known at run time (values/list_kinds.py)."""

from __future__ import annotations

from typing import Any

from ..graph.program import ListType, Value
from ..values.list import EMPTY, RtList
from ..values.list_kinds import (
    Side,
    guard_of,
    holds_text,
    is_frozen,
    is_list,
    is_stored_as,
    join,
    keep_as_is,
    leaf_types,
    side,
    with_rows,
)
from ..values.stand_in import StandIn
from .unify_aliases import AliasGuard


class ListUnifier:
    """The part of `Unifier` that lists of different lengths are about."""

    def _lengths_differ(self, a: Any, b: Any) -> bool:
        """Two lists made during capture that may become one of a length known at run time: where paths are many, where
        they are references, and of tables, whose look-ups are loops over them."""
        if not (type(a) is list and type(b) is list and self.m.is_born(a) and self.m.is_born(b)):
            return False
        items = [self.m.heap.contents_in(state.overlay, x) for state, x in ((self.a, a), (self.b, b))]
        return len(items[0]) != len(items[1]) and (
            self.widen or a in self.m.columns or b in self.m.columns or all(_are_references(x) for x in items))

    def run_time_list(self, a: Any, b: Any) -> RtList:
        """Lists of different lengths, or one whose length is known at run time already."""
        key = ("merge", *self.point, "".join(self.path), "list")
        frozen = is_frozen(a) or is_frozen(b)
        if self.m.assumptions.apart.holds(key):
            self.apart("lists of different lengths")
        self._pair_lists(a, b)
        sides = [self._list_side(x, overlay, frozen) for x, overlay in ((a, self.a.overlay), (b, self.b.overlay))]
        kind = self._common_kind(a, sides[0], b, sides[1], key)
        contents = (self._leaf_params(a, b, kind), kind, sides[0].cells | sides[1].cells)
        if a is b and type(a) is not list:
            self.contents[a] = contents
            return a
        guard = guard_of(a) or guard_of(b) or AliasGuard(self.m, key)
        merged = self.m.new(RtList(*contents, guard, frozen))
        self._guard_elements(a, b, merged)
        for x in (a, b):
            self._stands_for(merged, x)
        return merged

    def _common_kind(self, a: Any, side_a: Side, b: Any, side_b: Side, key: tuple) -> Any:
        """The kind of the elements of both lists, as the merged one stores them."""
        kind_a, kind_b = side_a.kind, side_b.kind
        kind = join(kind_a, kind_b)
        if kind is None or kind_a is None or kind_b is None:
            self.m.texts_apart = self.m.texts_apart or holds_text(kind_a) or holds_text(kind_b)
            self.apart("lists of different lengths whose elements are of different kinds")
        kind = with_rows(kind) if self.m.assumptions.rows.holds(key) else kind
        for x, own in ((a, side_a), (b, side_b)):
            if own.values and not is_stored_as(own.kind, kind):
                self._want_rows(x)
        return kind

    def _leaf_params(self, a: Any, b: Any, kind: Any) -> tuple[Value, ...]:
        """A parameter of the block for each leaf of the elements."""
        params = []
        for k, type_ in enumerate(leaf_types(kind) if kind != EMPTY else []):
            param = Value(ListType(type_), self.block)
            self.requests.append((ListLeaf(a, k, kind), ListLeaf(b, k, kind), param))
            params.append(param)
        return tuple(params)

    def _guard_elements(self, a: Any, b: Any, merged: RtList) -> None:
        """The elements are copied into the merged list: a write to one of them under another name would be lost."""
        for cell in merged.cells:
            if cell.note is None:
                cell.note = merged.guard
        for x, overlay in ((a, self.a.overlay), (b, self.b.overlay)):
            if type(x) in (list, tuple):
                items = self.m.heap.contents_in(overlay, x) if type(x) is list else x
                keep_as_is(self.m, tuple(items), merged.guard, lambda d, o=overlay: self.m.heap.contents_in(o, d))

    def _stands_for(self, merged: RtList, x: Any) -> None:
        """Wherever the list x of one state is known, the merged one takes its place."""
        fragile = self.m.heap.fragile
        if x in fragile and not merged.frozen:
            fragile.setdefault(merged, fragile[x])
        if type(x) is not tuple and self.replaced.setdefault(x, merged) is not merged:
            self.apart("lists shared differently")

    def _want_rows(self, x: RtList) -> None:
        key = x.guard.key
        if self.trial or key is None or self.m.assumptions.rows.holds(key):
            self.apart("lists of different lengths whose elements are stored differently")
        self.m.lists.want_rows(x)

    def _pair_lists(self, a: Any, b: Any) -> None:
        """Each list has one partner, as other objects have; tuples have no identity."""
        if type(a) is tuple or type(b) is tuple:
            return
        if a is b:
            if a in self.partner_a or a in self.partner_b:
                self.apart("objects shared differently")
            self.same_lists[a] = None
            return
        if a in self.same_lists or b in self.same_lists:
            self.apart("objects shared differently")
        self.pair(a, b)

    def _list_side(self, x: Any, overlay: Any, frozen: bool) -> Side:
        if is_list(x) and is_frozen(x) != frozen:
            self.apart("a list in one state, a tuple in the other")
        if not is_list(x) or type(x) is list and not self.m.is_born(x):
            self.apart(f"a list in one state, a {type(x).__name__} in the other")

        def look(x: Any) -> Any:
            return self.m.heap.contents_in(overlay, x)

        return side(self.m, x, look)


def _are_references(items: Any) -> bool:
    return all(isinstance(x, StandIn) and x.refers for x in items)


class ListLeaf:
    """Leaf number `index` of the elements of a list, as a graph list."""

    __slots__ = ("source", "index", "kind")

    def __init__(self, source: Any, index: int, kind: tuple):
        self.source, self.index, self.kind = source, index, kind
