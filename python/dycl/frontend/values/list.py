# SPDX-License-Identifier: Apache-2.0
"""Lists whose length is known only at run time, their iterators and methods."""

from __future__ import annotations

from typing import Any

EMPTY = ("empty",)  # the kind of no element at all


class RtList:
    """Contents, per state: the graph lists, the kind of an element, the storages whose values are in it."""

    __slots__ = ("values", "kind", "cells", "guard", "frozen", "__weakref__")

    def __init__(self, values: tuple, kind: tuple, cells: frozenset, guard: Any, frozen: bool = False):
        self.values, self.kind, self.cells = values, kind, cells
        self.guard = guard  # called by a write to a storage whose value is in the list
        self.frozen = frozen  # a tuple

    def dycl_contents(self) -> tuple:
        return (self.values, self.kind, self.cells)

    def dycl_install(self, contents: tuple) -> None:
        self.values, self.kind, self.cells = contents


class RtListIter:
    """Over an RtList; it may grow meanwhile."""

    __slots__ = ("source", "index", "__weakref__")

    def __init__(self, source: RtList):
        self.source, self.index = source, 0

    def dycl_contents(self) -> tuple:
        return (self.source, self.index)

    def dycl_install(self, contents: tuple) -> None:
        self.source, self.index = contents


class ListMethod:
    """A bound method of an RtList."""

    __slots__ = ("target", "name")

    def __init__(self, target: RtList, name: str):
        self.target, self.name = target, name
