# SPDX-License-Identifier: Apache-2.0
"""A value of which only the run says what kind it is: None or a tensor, an int or a float.

Where values of different kinds keep many paths apart, the paths merge nevertheless, and what differs becomes an
`RtOneOf`: the number of its kind, and a value of each kind (values/list_kinds.py; on paths where it is of another kind
that is a zero). It is handed around, kept in lists and attributes, and merged as it is. An instruction that looks at it
finds the value itself: it asks the number, which splits the state (machine/settling.py), so that no other code meets
an `RtOneOf`.

What is one of several is a copy of a tensor: a write in place to it, or to what it was made of, is refused, and capture
begins anew with such paths kept apart.
"""

from __future__ import annotations

from typing import Any, Iterator

import torch

from ..diagnostics import CaptureRefusal
from ..graph.program import TensorType, Value, dominates
from .guard import Guard
from .list_kinds import cells_of, join, kind_inside, leaf_types
from .scalar import BY_KIND, RtScalar, kind_of
from .stand_in import StandIn, sealed

MOST = 8  # kinds of one value


class WrittenInPlace(Guard):
    final = True

    def __init__(self) -> None:
        super().__init__(lambda: CaptureRefusal(
            "a tensor that is something else on other paths is written in place, or it is asked which one it is",
            "assign a new tensor: x = x + y instead of x += y", kind="alias"))


GUARD = WrittenInPlace()


@sealed("bool=truth", "len", "iter=iteration", "hash", "index", "float", "int", "contains=containment",
        "getitem=subscript", "eq=comparison eq", "ne=comparison ne", "call", "str", "repr", "format")
class RtOneOf(StandIn):
    """Immutable. `kinds`: by their numbers; `values`: of each the graph's value, None for one that is known."""

    __slots__ = ("which", "kinds", "values", "asked")

    def __init__(self, which: Any, kinds: dict[int, tuple], values: dict[int, Value | None]):
        self.which, self.kinds, self.values = which, kinds, values
        self.asked: dict[int, Any] = {}  # whether it is of a kind

    def settled(self, m: Any) -> Any:
        """What it is on this path; splits the state where that is not known."""
        *others, last = self.kinds
        k = next((k for k in others if self._is(m, k)), last)
        value = self.values[k]
        return m.lists.element(self.kinds[k], GUARD, [] if value is None else [value])

    def unified(self, union: Any, other: Any) -> Any:
        union.apart("values of different kinds")

    def _is(self, m: Any, k: int) -> bool:
        known = self.asked.get(k)
        if known is None or not isinstance(known, bool) and not dominates(known.value.block, m.recorder.block):
            known = self.asked[k] = m.scalars.compare("eq", self.which, k)
        return known if isinstance(known, bool) else m.decide(known)


def is_one_of(x: Any) -> bool:
    return type(x) is RtOneOf


def settled(m: Any, x: Any) -> Any:
    return x.settled(m) if type(x) is RtOneOf else x


# ---- where states meet -----------------------------------------------------------------------------


class Zero:
    """What a state passes for a kind that its value is not of."""

    __slots__ = ("type",)

    def __init__(self, type_: TensorType):
        self.type = type_

    def value(self, m: Any) -> Value:
        shape = tuple(d if type(d) is int else 0 for d in self.type.shape)
        return m.recorder.value_of(m.recorder.call(torch.zeros, (shape,), {"dtype": self.type.dtype}))


def passed(m: Any, x: Any) -> Any:
    """What a state passes to a block for x."""
    return x.value(m) if type(x) is Zero else x


def may_be(x: Any) -> bool:
    """Whether it may be one of several kinds."""
    return x is None or kind_of(x) is not None or isinstance(x, torch.Tensor) or type(x) is RtOneOf


def differ(m: Any, a: Any, b: Any) -> bool:
    """Of two such values: whether they cannot be one of one kind."""
    if type(a) is RtOneOf or type(b) is RtOneOf:
        return True
    kind_a, kind_b = _kind(m, a), _kind(m, b)
    return kind_a is not None and kind_b is not None and _number(m, kind_a) != _number(m, kind_b)


def _kind(m: Any, x: Any) -> Any:
    """None: a copy cannot stand for it."""
    return ("const", x) if x is None else kind_inside(m, x)


def _number(m: Any, kind: tuple) -> int:
    """Of a kind: the same in all of a capture."""
    key: tuple = kind
    if kind[0] == "tensor":
        key = (kind[0], kind[1].dtype, len(kind[1].shape), kind[2])
    numbers = m.assumptions.kinds.numbers
    return numbers.setdefault(key, len(numbers))


def _side(union: Any, x: Any) -> tuple[Any, dict, dict]:
    """(number of its kind, kinds, values) of what meets another value."""
    m = union.m
    if type(x) is RtOneOf:
        return x.which, x.kinds, {k: _as_number(kind, x.values[k]) for k, kind in x.kinds.items()}
    kind = _kind(m, x)
    if kind is None:
        union.apart("tensors that lie in memory differently")
    k = _number(m, kind)
    return k, {k: kind}, {k: None if kind[0] == "const" else x}


def _as_number(kind: tuple, value: Value | None) -> Any:
    return BY_KIND[kind[0]](value) if value is not None and kind[0] in BY_KIND else value


def met(union: Any, a: Any, b: Any) -> RtOneOf:
    """The value that is a in one state and b in the other."""
    m = union.m
    (which_a, kinds_a, values_a), (which_b, kinds_b, values_b) = _side(union, a), _side(union, b)
    kinds: dict[int, Any] = {**kinds_b, **kinds_a}
    for k in kinds_a.keys() & kinds_b.keys():
        kinds[k] = join(kinds_a[k], kinds_b[k])
    if len(kinds) > MOST or None in kinds.values():
        union.apart(f"values of more than {MOST} kinds")
    values = {k: _value(union, kind, values_a.get(k), values_b.get(k)) for k, kind in kinds.items()}
    for x in (a, b):
        for cell in () if union.trial or type(x) is RtOneOf else cells_of(m, x):
            cell.note = GUARD if cell.note is None else cell.note
    return RtOneOf(union.number(which_a, which_b), kinds, values)


def _value(union: Any, kind: tuple, a: Any, b: Any) -> Value | None:
    """Of a kind in the merged state. None: nothing, or not of that kind."""
    types = leaf_types(kind)
    if not types:
        return None
    zero: Any = Zero(types[0]) if isinstance(types[0], TensorType) else {"int": 0, "float": 0.0, "bool": False}[kind[0]]
    a, b = (zero if x is None else x for x in (a, b))
    own, other = (x.value if isinstance(x, RtScalar) else x for x in (a, b))
    if own is other and isinstance(own, Value):
        return own
    param = Value(types[0], union.block)
    union.requests.append((a, b, param))
    return param


# ---- before it is looked at ----------------------------------------------------------------------------


def holds_any(tree: Any, depth: int) -> bool:
    """Whether there is one among what lists, tuples and dicts hold."""
    return any(type(x) is RtOneOf for x in _inside(tree, depth, set()))


def _inside(tree: Any, depth: int, seen: set) -> Iterator:
    """`seen`: ids of lists and dicts, which may hold each other."""
    yield tree
    if depth and type(tree) in (list, tuple, dict) and id(tree) not in seen:
        if type(tree) is not tuple:
            seen.add(id(tree))
        for x in tree.values() if type(tree) is dict else tree:
            yield from _inside(x, depth - 1, seen)


def settled_inside(m: Any, tree: Any, depth: int, seen: set | None = None) -> Any:
    """The same with what it holds settled; lists and dicts stay the objects that they are."""
    if type(tree) is RtOneOf:
        return tree.settled(m)
    seen = set() if seen is None else seen
    if id(tree) in seen or not holds_any(tree, depth):
        return tree
    if isinstance(tree, tuple):
        return tuple.__new__(type(tree), [settled_inside(m, x, depth - 1, seen) for x in tree])
    seen.add(id(tree))
    places = list(tree) if type(tree) is dict else range(len(tree))
    for k in places:
        x = settled_inside(m, tree[k], depth - 1, seen)
        if x is not tree[k]:
            m.heap.rewrite(tree)
            tree[k] = x
    return tree
