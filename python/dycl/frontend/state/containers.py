# SPDX-License-Identifier: Apache-2.0
"""Kinds of containers (state/kind.py): list -> tuple of items; dict -> tuple of (key, value); set -> tuple; of an
instance of a subclass also its attributes."""

from __future__ import annotations

import array
import collections
import itertools
import types
from typing import Any, Iterable

import numpy as np

from ...calling.nodes import Dict, Each
from ...calling.templates import Template
from ..values.equality import same_keys
from .contents import Items, hashes_alike, merged_variable
from .kind import Kind, kind_for
from .set_tables import OrderedItems, put_back, table_of


class Elements(Kind):
    """Items, and the attributes of an instance of a subclass."""

    base: Any = list

    def contents(self, obj: Any) -> tuple:
        attributes = None if type(obj) is self.base else getattr(obj, "__dict__", None)
        items = self.base.__iter__(obj)
        return tuple(items) if attributes is None else Items(items, dict(attributes))

    def install(self, obj: Any, contents: tuple) -> None:
        if isinstance(contents, Items) and contents.attributes is not None:
            self.put_attributes(obj, contents.attributes)
        self.fill(obj, contents)

    def fill(self, obj: Any, items: tuple) -> None:
        self.base.__setitem__(obj, slice(None), self.base(items))

    def held(self, contents: tuple) -> tuple:
        attributes = contents.attributes if isinstance(contents, Items) else None
        return (contents,) if attributes is None else (contents, attributes.values())

    def merged(self, union: Any, obj: Any, a: Any, b: Any) -> tuple:
        items = self.merged_items(union, a, b)
        if type(a) is not Items:
            return items
        attributes = union.attributes(a.attributes, b.attributes)
        return a if items is a and attributes is a.attributes else Items(items, attributes)

    def merged_items(self, union: Any, a: tuple, b: tuple) -> tuple:
        if len(a) != len(b):
            union.apart(f"lists of {len(a)} and {len(b)} elements")
        return union.items(a, b)


@kind_for(list)
class Lists(Elements):
    def inside(self, obj: Any) -> Iterable:
        return list(obj)

    def mark_of_contents(self, likeness: Any, obj: Any, state: Any, depth: int) -> Any:
        return likeness.sequence(obj, likeness.contents(obj, state), state, depth) if type(obj) is list else type(obj)


@kind_for(bytearray)
class ByteArrays(Elements):
    base = bytearray


@kind_for(array.array)
class TypedArrays(Elements):
    base = array.array

    def fill(self, obj: Any, items: tuple) -> None:
        obj[:] = array.array(obj.typecode, items)


@kind_for(collections.deque)
class Deques(Elements):
    base = collections.deque

    def fill(self, obj: Any, items: tuple) -> None:
        collections.deque.clear(obj)
        collections.deque.extend(obj, items)

    def check_alike(self, union: Any, a: Any, b: Any) -> None:
        if a.maxlen != b.maxlen:
            union.apart("deques of different greatest lengths")


@kind_for(set)
class Sets(Elements):
    base = set

    def contents(self, obj: Any) -> OrderedItems:
        items = super().contents(obj)
        return OrderedItems.of(items, getattr(items, "attributes", None), table_of(obj))

    def fill(self, obj: Any, items: Any) -> None:
        put_back(obj, items, items.table)

    def merged(self, union: Any, obj: Any, a: Any, b: Any) -> tuple:
        if not same_keys(a, b) or a.table != b.table and all(map(hashes_alike, a)):
            union.apart("different sets")  # with another table they are other sets to a loop, now or later
        attributes = None if a.attributes is None else union.attributes(a.attributes, b.attributes)
        return a if attributes is a.attributes else OrderedItems.of(a, attributes, a.table)

    def inside(self, obj: Any) -> Iterable:
        return list(obj)


@kind_for(dict)
class Dicts(Kind):
    """Entries, and the attributes of an instance of a subclass."""

    base: Any = dict

    def contents(self, obj: Any) -> tuple:
        extra = getattr(obj, "__dict__", None)
        return (tuple(self.base.items(obj)), dict(extra) if extra is not None else None)

    def install(self, obj: Any, contents: tuple) -> None:
        entries, extra = contents
        self.fill(obj, entries)
        if extra is not None:
            self.put_attributes(obj, extra)

    def fill(self, obj: Any, entries: tuple) -> None:
        dict.clear(obj)
        dict.update(obj, entries)

    def held(self, contents: tuple) -> tuple:
        entries, extra = contents
        return (tuple(itertools.chain.from_iterable(entries)), (extra or {}).values())

    def merged(self, union: Any, obj: Any, a: tuple, b: tuple) -> tuple:
        entries, extra = union.entries(a[0], b[0]), union.attributes(a[1], b[1])
        return a if entries is a[0] and extra is a[1] else (entries, extra)

    def inside(self, obj: Any) -> Iterable:
        return list(dict.values(obj))

    def mark_of_contents(self, likeness: Any, obj: Any, state: Any, depth: int) -> Any:
        return likeness.table(obj, state, depth) if type(obj) is dict else type(obj)


@kind_for(collections.OrderedDict)
class OrderedDicts(Dicts):
    base = collections.OrderedDict

    def fill(self, obj: Any, entries: tuple) -> None:
        self.base.clear(obj)
        for key, value in entries:
            self.base.__setitem__(obj, key, value)


@kind_for(collections.defaultdict)
class DefaultDicts(Dicts):
    def check_alike(self, union: Any, a: Any, b: Any) -> None:
        if union.unify(a.default_factory, b.default_factory) is not a.default_factory:
            union.apart("defaultdicts with different factories")

    def flattened(self, flattener: Any, obj: Any, path: str, each: Each) -> Template:
        if obj.default_factory is None:
            return super().flattened(flattener, obj, path, each)
        return Dict.of(obj, each, flattener.code(obj.default_factory, path))


@kind_for(types.CellType)
class Variables(Kind):
    """Of enclosing functions: one item, or none."""

    def contents(self, obj: types.CellType) -> tuple:
        try:
            return (obj.cell_contents,)
        except ValueError:
            return ()

    def install(self, obj: types.CellType, contents: tuple) -> None:
        if contents:
            obj.cell_contents = contents[0]
        else:
            del obj.cell_contents

    def held(self, contents: tuple) -> tuple:
        return (contents,)

    def merged(self, union: Any, obj: Any, a: tuple, b: tuple) -> tuple:
        return merged_variable(union, a, b)


@kind_for(np.ndarray)
class Arrays(Kind):
    """Of numpy: bytes. Of Python objects those that have attributes alone."""

    def contents(self, obj: np.ndarray) -> Any:
        return super().contents(obj) if obj.dtype.hasobject else obj.tobytes()

    def install(self, obj: np.ndarray, contents: Any) -> None:
        if type(contents) is not bytes:
            super().install(obj, contents)
        elif obj.tobytes() != contents:
            obj[...] = np.frombuffer(contents, obj.dtype).reshape(obj.shape)

    def held(self, contents: Any) -> tuple:
        return () if type(contents) is bytes else super().held(contents)

    def merged(self, union: Any, obj: Any, a: Any, b: Any) -> Any:
        if a != b:
            union.apart("numpy arrays with different contents")
        return a
