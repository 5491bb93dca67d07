# SPDX-License-Identifier: Apache-2.0
"""Objects where states meet: those that both know are compared by contents,
those made since are taken for each other."""

from __future__ import annotations

import gc
import operator
from typing import Any

from ..semantics import opaque_objects
from ..state.kinds import kind_of_object
from ..values.equality import same_key
from .reachable import may_hold

_KEY, _VALUE = operator.itemgetter(0), operator.itemgetter(1)


class ObjectUnifier:
    """The part of `Unifier` that objects and their contents are about."""

    def same_object(self, obj: Any) -> Any:
        """An object that both states know: its contents may differ."""
        self.kept.add(id(obj))
        return kind_of_object(type(obj)).same(self, obj)

    def holder(self, obj: Any) -> Any:
        """An object whose contents may differ."""
        key, heap = id(obj), self.m.heap
        if obj in self.replaced:
            if obj not in self.same_lists:
                self.apart("objects shared differently")
            return self.replaced[obj]
        if key in heap.owner_of_dict:  # what it holds is its object's contents
            self.behind(heap.owner_of_dict[key])
            return obj
        if key in self.diff and self._lengths_differ(obj, obj):
            return self.run_time_list(obj, obj)
        if not heap.is_inert(obj) and (self.m.is_born(obj) or key in heap.objects or may_hold(obj)):
            self._same_contents(obj)
        return obj

    def _same_contents(self, obj: Any) -> None:
        key = id(obj)
        if opaque_objects.hides(type(obj)) and key not in self.m.heap.objects:
            for held in gc.get_referents(obj):
                self.behind(held)
            return
        if obj in self.contents or obj in self.visited:
            return
        self.visited[obj] = None
        if kind_of_object(type(obj)).same_beside(self, obj):
            self.merge_contents(obj, *self.sides(obj, obj))

    def sides(self, a: Any, b: Any) -> tuple:
        """The contents of a in the one state, of b in the other."""
        return self.m.heap.contents_in(self.a.overlay, a), self.m.heap.contents_in(self.b.overlay, b)

    def behind(self, obj: Any) -> None:
        """An object that native code holds: it must stay the one it is."""
        if (self.m.is_born(obj) or id(obj) in self.m.heap.objects) and self.same_object(obj) is not obj:
            self.apart(f"a {type(obj).__name__} that native code holds")

    def born_objects(self, a: Any, b: Any) -> Any:
        m = self.m
        if (not (m.is_born(a) and m.is_born(b)) or opaque_objects.hides(type(a))
                or {id(a), id(b)} & m.heap.owner_of_dict.keys()):
            self.apart(f"different {type(a).__name__} objects")
        if self._lengths_differ(a, b):
            return self.run_time_list(a, b)
        self.pair(a, b)
        kind_of_object(type(a)).check_alike(self, a, b)
        self.memo[a, b] = a
        if b in m.heap.fragile:
            m.heap.fragile.setdefault(a, m.heap.fragile[b])
        self.merge_contents(a, *self.sides(a, b))
        return a

    def pair(self, a: Any, b: Any) -> None:
        """They are one object from now on, and neither is another one's partner."""
        if self.partner_a.setdefault(a, b) is not b or self.partner_b.setdefault(b, a) is not a:
            self.apart("objects shared differently")

    def merge_contents(self, obj: Any, ca: Any, cb: Any) -> None:
        merged = kind_of_object(type(obj)).merged(self, obj, ca, cb)
        if merged is not ca:
            self.contents[obj] = merged

    def items(self, a: tuple, b: tuple) -> tuple:
        items = tuple(self.each(a, b))
        return a if all(x is y for x, y in zip(items, a)) else items

    def entries(self, a: tuple, b: tuple) -> tuple:
        if len(a) != len(b):
            self.apart("dicts with different keys")
        start = self._alike(tuple(map(_VALUE, a)), tuple(map(_VALUE, b)))
        if not all(map(operator.is_, map(_KEY, a[:start]), map(_KEY, b))):
            start = 0
        out, same = list(a[:start]), True
        for (ka, va), (kb, vb) in zip(a[start:], b[start:]):
            if not same_key(ka, kb):
                self.apart("dicts with different keys")
            self.path.append(f"[{ka!r}]")
            merged = self.unify(va, vb)
            self.path.pop()
            same = same and merged is va
            out.append((ka, merged))
        return a if same else tuple(out)

    def attributes(self, a: dict | None, b: dict | None) -> dict | None:
        if a is None or b is None or a is b and not self.deep:
            return a
        if a.keys() != b.keys():
            self.apart(f"objects with different attributes ({', '.join(sorted(map(str, a.keys() ^ b.keys())))})")
        if list(a) != list(b):
            self.apart("objects that got their attributes in another order")
        out, same = {}, True
        for name, value in a.items():
            self.path.append(f".{name}")
            out[name] = self.unify(value, b[name])
            self.path.pop()
            same = same and out[name] is value
        return a if same else out
