# SPDX-License-Identifier: Apache-2.0
"""Lists whose length is known only at run time, their iterators and methods."""

from __future__ import annotations

import operator
from typing import Any

import torch

from ...calling.templates import Template
from ..diagnostics import CaptureRefusal
from ..graph.program import Value
from .escape import Escape
from .guard import NO_GUARD, Guard
from .iterator import RtIterator
from .stand_in import DONE, BoundMethod, StandIn, key_refusal, stand_in_of
from .text import RtText

EMPTY = ("empty",)  # the kind of no element at all


class RtList(StandIn):
    """Contents, per state: the graph lists, the kind of an element, the storages whose values are in it."""

    __slots__ = ("values", "kind", "cells", "guard", "frozen", "__weakref__")
    priority = 50
    indexed = True
    merges_with_lists = True

    def __init__(self, values: tuple, kind: tuple, cells: frozenset, guard: Guard | None, frozen: bool = False):
        self.values, self.kind, self.cells = values, kind, cells
        self.guard = guard or NO_GUARD  # called by a write to a storage whose value is in the list
        self.frozen = frozen  # a tuple

    def dycl_contents(self) -> tuple:
        return (self.values, self.kind, self.cells)

    def dycl_install(self, contents: tuple) -> None:
        self.values, self.kind, self.cells = contents

    def example(self, m: Any) -> Any:
        return () if self.frozen else []

    def copied(self, m: Any, deep: bool) -> Any:
        return m.lists.copied(self, deep)

    def truth(self, m: Any) -> Any:
        length = m.lists.length(self)
        return length > 0 if isinstance(length, int) else m.scalars.compare("gt", length, 0)

    def length(self, m: Any) -> Any:
        return m.lists.length(self)

    def get_item(self, m: Any, s: Any, key: Any) -> Any:
        if isinstance(key, slice) and type(key.step) is int and key.step != 1 and self.kind != EMPTY:
            start, stop = (m.tensor_index(x) if m.is_tensor(x) else x for x in (key.start, key.stop))
            return m.call(s, m.polyfills.stepped, (self, start, stop, key.step), {})
        return m.lists.get(self, key)

    def set_item(self, m: Any, s: Any, key: Any, value: Any) -> Any:
        return m.lists.set(self, key, value)

    def delete_item(self, m: Any, s: Any, key: Any) -> Any:
        return m.lists.delete(self, key)

    def assign_slice(self, m: Any, target: Any, key: slice) -> Any:
        if key.step not in (None, 1) or type(target) is not list:
            raise CaptureRefusal("every so many elements of a list are replaced by a list whose length is "
                                 "known only at run time",
                                 "replace them one by one", kind="list.slice")
        return m.polyfills.assign_run_time_slice

    def add_entry(self, m: Any, s: Any, *entry: Any) -> Any:
        m.lists.append(self, *entry)

    def extend_display(self, m: Any, items: Any) -> Any:
        return m.lists.concat(items, self) if stand_in_of(items) is not None or items else m.lists.frozen(self, False)

    def unpacked(self, m: Any, s: Any, count: int) -> Any:
        length = m.lists.length(self)
        fits = length == count if isinstance(length, int) else m.decide(m.scalars.compare("eq", length, count))
        if not fits:
            if length < count if isinstance(length, int) else m.decide(m.scalars.compare("lt", length, count)):
                raise ValueError(RtText.join([f"not enough values to unpack (expected {count}, got ",
                                              str(length) if isinstance(length, int) else length, ")"]))
            raise ValueError(f"too many values to unpack (expected {count})")
        return [m.lists.get(self, k) for k in range(count)]

    def refuse_spread(self, m: Any) -> None:
        m.lists.refuse(self, CaptureRefusal("a list whose length is known only at run time is spread over arguments",
                                            "pass the list itself, or torch.stack of it", kind="list.native"))

    def joined(self, m: Any, separator: str) -> Any:
        found = m.texts.joined(separator, self)
        return NotImplemented if found is None else found

    def columns(self, m: Any) -> Any:
        return m.lists.columns(self)

    def as_subscript(self, m: Any) -> Any:
        if self.frozen or self.kind != ("int",):
            m.lists.refuse(self, CaptureRefusal("a tensor indexed by a list whose length is known only at run time "
                                                "and which does not hold ints",
                                                "index with a tensor", kind="list.native"))
        return m.lists.numbers(self, torch.int64)

    def as_argument(self, arguments: Any) -> Any:
        raise CaptureRefusal("a list whose length is known only at run time inside an argument of torch",
                             "use torch.stack, torch.cat or torch.tensor", kind="list.native")

    def small_example(self, m: Any) -> Any:
        """What numpy makes of a list depends on whether there is anything in it."""
        raise Escape(self, "dtype")

    def as_operand(self, m: Any) -> Any:
        return m.lists.of_numpy(self)

    def tensor_of(self, m: Any, dtype: torch.dtype | None) -> Any:
        return m.lists.numbers(self, dtype)

    def holds_floats(self, m: Any) -> bool:
        return m.lists.holds_floats(self)

    def joined_tensors(self, m: Any, how: str, axis: int) -> Any:
        return m.lists.tensor(self, how, axis)

    def refuse_native(self, m: Any, name: str) -> None:
        m.lists.refuse(self, CaptureRefusal(f"{name} with a list whose length is known only at run time",
                                            "use torch.stack or torch.cat, or a loop over the list",
                                            kind="list.native"))

    def iterate(self, m: Any, s: Any) -> Any:
        return m.new(RtListIter(self))

    def rebuilt_as(self, m: Any, s: Any, kind: type, more: dict) -> Any:
        return m.lists.frozen(self, kind is tuple) if kind in (list, tuple) else NotImplemented

    def attribute(self, m: Any, s: Any, name: str) -> Any:
        if not hasattr([], name):
            raise AttributeError(f"'list' object has no attribute '{name}'")
        return BoundMethod(self, name)

    def call_method(self, m: Any, s: Any, name: str, args: tuple, kwargs: dict) -> Any:
        polyfill = m.polyfill_of(vars(tuple if self.frozen else list).get(name))
        if polyfill is not None:
            return m.call(s, polyfill, (self, *args), kwargs)
        if name == "__iter__":
            return self.iterate(m, s)
        if name == "__contains__":
            return m.call(s, operator.contains, (self, args[0]), {})
        result = m.lists.call(self, name, args, kwargs)
        if result is NotImplemented:
            return m.call_then(s, m.polyfills.extend_list, (self, *args), {}, push_none)
        return result

    def is_late_key(self) -> bool:
        return True

    def check_key(self, m: Any) -> None:
        if not self.frozen:
            raise TypeError("unhashable type: 'list'")
        if self.kind not in (("int",), ("bool",)):
            raise key_refusal("a tuple whose length is known only at run time as a key", None)

    def equal_key(self, m: Any, a: Any, b: Any) -> Any:
        if not all(isinstance(x, (RtList, tuple)) for x in (a, b)):
            return False
        raise key_refusal("a tuple whose length is known only at run time as a key among others", None)

    def match_key(self, m: Any, s: Any, a: Any, b: Any) -> Any:
        if not all(isinstance(x, (RtList, tuple)) for x in (a, b)):
            return False
        return m.call(s, m.polyfills.equal_sequences, (a, b), {})

    def yields(self, a: Any, b: Any, comparing: bool) -> bool:
        return comparing

    def binary(self, m: Any, s: Any, op: str, a: Any, b: Any, inplace: bool) -> Any:
        """+ and += where one side's length is known only at run time."""
        if op != "add":
            m.lists.refuse(self, CaptureRefusal(
                f"the operator {op} on a list whose length is known only at run time", kind="list.method"))
        if inplace and a is self and not self.frozen and isinstance(b, (list, tuple, RtList)):
            m.lists.extend(a, b)
            return a
        if inplace and (a is self and not self.frozen or type(a) is list):
            return m.call(s, m.polyfills.extend_list, (a, b), {})
        if len(set(map(_side, (a, b)))) > 1:
            raise TypeError("can only concatenate lists with lists and tuples with tuples")
        return m.lists.concat(a, b)


    def mark(self, likeness: Any, state: Any, depth: int) -> Any:
        likeness.coarse = True
        return list

    def flattened(self, flattener: Any, path: str) -> Template:
        return flattener.leaf(self, flattener.m.lists.template(self), numbered=not self.frozen)

    def graph_values(self, m: Any) -> list[Value]:
        return list(self.values)

    def memory(self, m: Any) -> list:
        return [self]


def push_none(m: Any, s: Any, value: Any) -> None:
    s.frames[-1].stack.append(None)


def _side(x: Any) -> type:
    """Of an operand of +: list, tuple or what else it is."""
    if isinstance(x, RtList):
        return tuple if x.frozen else list
    return next((kind for kind in (tuple, list) if isinstance(x, kind)), type(x))


class RtListIter(RtIterator):
    """Over an RtList; it may grow meanwhile."""

    __slots__ = ("source", "index", "__weakref__")

    def __init__(self, source: RtList):
        self.source, self.index = source, 0

    def dycl_contents(self) -> tuple:
        return (self.source, self.index)

    def dycl_install(self, contents: tuple) -> None:
        self.source, self.index = contents

    def example(self, m: Any) -> Any:
        return iter(())

    def next_item(self, m: Any, s: Any, exhausted: Any, sent: Any) -> Any:
        found = m.lists.next(self, self.source)
        return DONE if found is None else found[0]
