# SPDX-License-Identifier: Apache-2.0
"""What contents of mutable objects are made of: storages, variables of contexts, items. The kinds of objects, which say
how they are taken and put back, are in state/kind.py."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ..diagnostics import CaptureRefusal
from ..values.guard import NO_GUARD, Guard


class Cell:
    """One mutable slot: a tensor's storage, a captured variable. `note`: a guard, or "held" or "shared", of which
    recording/real_tensors.py knows."""

    __slots__ = ("value", "note", "arrays", "__weakref__")

    def __init__(self, value: Any = None, note: Any = None):
        self.value = value
        self.note = note
        self.arrays: tuple = ()  # weak references to numpy arrays whose memory this is (torch.from_numpy, Tensor.numpy)

    @property
    def guard(self) -> Guard:
        return self.note if isinstance(self.note, Guard) else NO_GUARD

    def dycl_contents(self) -> Any:
        return self.value

    def dycl_install(self, contents: Any) -> None:
        self.value = contents

    def dycl_merged(self, union: Any, a: Any, b: Any) -> Any:
        union.cell(self)
        return a


class ContextCell:
    """The value of a ContextVar, if it has one: a tuple of one or no item, per state."""

    __slots__ = ("value", "var", "__weakref__")

    def __init__(self, value: tuple, var: Any):
        self.value = value
        self.var = var

    def dycl_contents(self) -> tuple:
        return self.value

    def dycl_install(self, contents: tuple) -> None:
        self.value = contents

    def dycl_merged(self, union: Any, a: tuple, b: tuple) -> tuple:
        return merged_variable(union, a, b)


def merged_variable(union: Any, a: tuple, b: tuple) -> tuple:
    if len(a) != len(b):
        union.apart("a variable defined in one state only")
    return union.items(a, b)


def unfollowed(obj: Any) -> CaptureRefusal:
    return CaptureRefusal(f"a {type(obj).__name__} is changed in a way that cannot be followed",
                          "use lists, dicts, tensors or plain objects", kind="heap")


def has_own_contents(cls: type) -> bool:
    """One of ours, which says itself what its contents are."""
    return hasattr(cls, "dycl_contents")


LONG = 8  # elements: of longer containers it is looked for what need not be looked at again


class Items(tuple):
    """The items of an instance of a subclass of list, set or deque, and its attributes."""

    attributes: dict | None

    def __new__(cls, items: Any, attributes: dict | None) -> Self:
        made = super().__new__(cls, items)
        made.attributes = attributes
        return made


def hashes_alike(x: Any) -> bool:
    """In every process, so that a program can count on the order of a set of such elements."""
    return isinstance(x, (int, float)) or isinstance(x, tuple) and all(map(hashes_alike, x))


DEAD = type("_Dead", (), {"__repr__": lambda self: "<dead>"})()  # contents of an object its state cannot reach


def memory_of(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory, or the outermost one of those that look at it."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
