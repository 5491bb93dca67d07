# SPDX-License-Identifier: Apache-2.0
"""What one kind of object is made of, and what becomes of such objects where states fork, meet and end: the interface.

A kind is a class that derives from `Kind` and stands in state/immutables.py, in state/containers.py or beside the class
that it is of; `@kind_for` says of which classes, and state/kinds.py finds it. An object with attributes is a `Kind`
itself. Who walks over objects asks their kinds and calls them back: the heap, `union` (merging/unify.py), `walk`
(merging/reachable.py), `likeness` (merging/signature.py), `flattener` (boundary/flatten.py).
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Iterable

from ...calling.nodes import Each, Object
from ...calling.templates import Live, Template
from ...objects import all_in_attributes, has_slot, slot_names
from .contents import unfollowed


class Kind:
    """Objects with attributes: in __dict__ if there is one, and in slots."""

    leaf = False  # leads to no other object
    numbered = True  # which object it is counts, and not what it is made of alone
    by_parts = False  # two of them may be one where they merge, whoever made them
    closed = False  # what it holds cannot be looked at, so it is never given back

    # ---- contents: immutable data that is taken, put back, followed and merged (state/heap.py) -----------

    def contents(self, obj: Any) -> Any:
        slots = slot_names(type(obj))
        if hasattr(obj, "__dict__") or slots or type(obj) is object:  # of object() nothing but its identity counts
            values = dict(object.__getattribute__(obj, "__dict__")) if hasattr(obj, "__dict__") else None
            held = {name: object.__getattribute__(obj, name) for name in slots if has_slot(obj, name)}
            return (values, held)
        raise unfollowed(obj)

    def install(self, obj: Any, contents: Any) -> None:
        values, held = contents
        if values is not None:
            self.put_attributes(obj, values)
        for name in slot_names(type(obj)):
            if name in held:
                object.__setattr__(obj, name, held[name])
            elif has_slot(obj, name):
                object.__delattr__(obj, name)

    def put_attributes(self, obj: Any, values: dict) -> None:
        mine = object.__getattribute__(obj, "__dict__")
        mine.clear()
        mine.update(values)

    def held(self, contents: Any) -> tuple:
        """Collections of all that they refer to."""
        return tuple((held or {}).values() for held in contents)

    def merged(self, union: Any, obj: Any, a: Any, b: Any) -> Any:
        """The contents that two states have of obj, as one."""
        values, held = union.attributes(a[0], b[0]), union.attributes(a[1], b[1])
        return a if values is a[0] and held is a[1] else (values, held)

    # ---- what it refers to beside them -------------------------------------------------------------------

    def fixed(self, obj: Any) -> Iterable:
        """For as long as it lives."""
        return ()

    def inside(self, obj: Any) -> Iterable | None:
        """What one of known parts holds, as it is now; None: an object that is more than what it holds."""
        return None

    # ---- where states meet -------------------------------------------------------------------------------

    def reached(self, walk: Any, obj: Any) -> None:
        """Adds what a state can reach through it to the walk's work."""
        walk.holder(obj)

    def same(self, union: Any, obj: Any) -> Any:
        """What both states know: what it is in the merged one."""
        return union.holder(obj)

    def same_beside(self, union: Any, obj: Any) -> bool:
        """Merges what it refers to beside its contents; whether those are to be merged."""
        return True

    def unified(self, union: Any, a: Any, b: Any) -> Any:
        """One for two of a class; keeps the states apart where there is none."""
        return union.born_objects(a, b)

    def check_alike(self, union: Any, a: Any, b: Any) -> None:
        """What must agree in two objects made since, beside their contents."""

    def mark(self, likeness: Any, obj: Any, state: Any, depth: int) -> Any:
        """What it has in common with all that it may merge with."""
        if self.by_parts or likeness.is_born(obj):
            return self.mark_of_contents(likeness, obj, state, depth)
        return type(obj), id(obj)  # from before capture: it merges with itself alone

    def mark_of_contents(self, likeness: Any, obj: Any, state: Any, depth: int) -> Any:
        return type(obj)

    # ---- in results and in states between calls ----------------------------------------------------------

    def flattened(self, flattener: Any, obj: Any, path: str, each: Each) -> Template:
        """What it is made again from."""
        return flattener.object(self, obj, path, each)

    def node(self, obj: Any, each: Each) -> Template:
        """Of one that the program made or changed."""
        cls: Any = type(obj)
        written = dataclasses.is_dataclass(obj) and not isinstance(obj, type)
        return Object.of(obj, each) if all_in_attributes(cls) or written else Live(obj)


KINDS: dict[type, Kind] = {}


def kind_for(*classes: type) -> Callable[[type[Kind]], type[Kind]]:
    """The decorated kind is that of instances of these classes."""
    def register(kind: type[Kind]) -> type[Kind]:
        KINDS.update(dict.fromkeys(classes, kind()))
        return kind

    return register
