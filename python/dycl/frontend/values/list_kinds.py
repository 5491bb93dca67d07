# SPDX-License-Identifier: Apache-2.0
"""Lists whose length is known only at run time.

A list that grows in a loop decided at run time (or differs between many arms) becomes an `RtList`: the loop's
header gets one graph list per leaf of its elements. Elements are of one kind: a tensor of one dtype and rank, a
number, or a tuple, list, dict or dataclass of such (with None and text that all elements share); lists inside of it are
of one length, or of numbers and of any (a *row*, in the graph a tensor). An element is a copy of the tensor's value; a
tensor, list, dict or object that went into such a list, or came out of it, must not be written in place afterwards:
eager Python would change both. Such a write starts capture anew with the list kept as it is,
element by element (see merging/unify_lists.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from ...calling.nodes import Built, class_built
from ..graph.dtypes import dtype_name
from ..graph.program import ListType, ScalarType, TensorType, Value
from . import chosen_text
from .guard import NO_GUARD, Guard
from .list import EMPTY, RtList
from .scalar import kind_of
from .stand_in import OF_PARTS, StandIn
from .text import RtText

# ---- kinds of elements ---------------------------------------------------------------------------


_PARTS = ("tuple", "list", "dict", "object", "built", "text")  # kinds that have kinds inside
_TENSORS = ("tensor", "numpy")  # kinds whose values are tensors in the graph
_NUMBERS = {"int": torch.int64, "float": torch.float64, "bool": torch.bool, "reference": torch.int64}
_DEEPEST = 6  # lists in lists
_WIDEST = 64  # the extent of a tensor that becomes lists


def kind_of_element(m: Any, x: Any, look: Any = None) -> Any:
    """("tensor", TensorType, device), ("numpy", TensorType, device) of a numpy scalar, ("int",), ("float",), ("bool",),
    ("tuple", class, kinds), ("list", length, kinds), ("dict", keys, kinds), ("object", (class, names), kinds), ("text",
    what all share, kinds of its numbers), ("built", class, kinds) of what the class makes of its parts, inside of which
    ("const", value) too; ("row", kind of its numbers, is a tuple): a list of numbers, of any length;
    ("reference", class) of an object in an arena (values/arena.py); None: no such element.
    `look`: the contents of an object (merging/merge.py: as a state sees them)."""
    kind = _kind(m, x, look or m.contents_of)
    return kind if kind is not None and leaf_types(kind) else None


def _parts(x: Any, look: Any) -> Any:
    """(tag, what elements share, values) of what has parts; None for leaves."""
    if isinstance(x, tuple):
        return None if isinstance(x, torch.Size) else ("tuple", type(x), x)
    if class_built(x) in OF_PARTS:
        return ("built", class_built(x), Built.contents(x)[1])
    if type(x) is list:
        items = look(x)
        return ("list", len(items), items)
    if type(x) is dict:
        items = look(x)[0]
        return ("dict", tuple(k for k, _ in items), tuple(v for _, v in items))
    if has_value_of_its_own(x):
        values, held = look(x)
        return None if held or values is None else ("object", (type(x), tuple(values)), tuple(values.values()))
    return None


def _numbers_of_one_dtype(kinds: tuple) -> bool:
    """Tensors without dims."""
    return all(k[0] in _TENSORS and not k[1].shape for k in kinds) and len({k[1].dtype for k in kinds}) == 1


def has_value_of_its_own(x: Any) -> bool:
    """An instance of a dataclass that is equal to another by its fields: who it is matters to `is` and `id` alone."""
    params = getattr(type(x), "__dataclass_params__", None)
    return (
        params is not None
        and params.eq
        and type(x).__hash__ is not object.__hash__
        and not isinstance(x, (type, dict, list, torch.nn.Module))
        and hasattr(x, "__dict__")
        and "__getattr__" not in dir(type(x))
        and type(x).__getattribute__ is object.__getattribute__
    )


def _kind(m: Any, x: Any, look: Any, depth: int = 0) -> Any:
    scalar = kind_of(x)
    if scalar is not None:
        return (scalar,)
    if isinstance(x, RtText) or type(x) is str and m.assumptions.chosen_texts.holds():
        return chosen_text.kind(x)
    if x is None or type(x) is str:
        m.texts_apart = m.texts_apart or x is not None and not depth
        return ("const", x)
    if isinstance(x, torch.Tensor):
        handle = m.recorder.real.lift(x)
        if not m.recorder.layout.copied(handle, m.assumptions.layout.holds()):
            return None
        return ("tensor", m.recorder.type_of(handle), handle.device)
    if m.is_array(x) and x.scalar:
        return ("numpy", m.recorder.type_of(x.tensor), x.tensor.device)
    if isinstance(x, RtList):
        inner = look(x)[1]
        return ("row", inner, x.frozen) if inner[0] in _NUMBERS else None
    if isinstance(x, StandIn) and (own := x.element_kind(look)) is not None:
        return own
    return _kind_of_parts(m, x, look, depth)


def kind_inside(m: Any, x: Any) -> Any:
    """The kind of a value among others of an element: None and texts, too."""
    return _kind(m, x, m.contents_of, 1)


def is_immutable(kind: tuple) -> bool:
    """Whether a copy of such a value is as good as the value."""
    if kind[0] in ("list", "dict", "object") or kind[0] == "row" and not kind[2]:
        return False
    return kind[0] not in _PARTS or all(map(is_immutable, kind[2]))


def holds_references(kind: tuple) -> bool:
    """Whether a copy of such a value has the same objects in it as the value (values/arena.py)."""
    return kind[0] == "reference" or kind[0] in _PARTS and any(map(holds_references, kind[2]))


def _kind_of_parts(m: Any, x: Any, look: Any, depth: int) -> Any:
    changes = not isinstance(x, tuple) and class_built(x) not in OF_PARTS
    found = _parts(x, look) if depth < _DEEPEST and (not changes or m.is_born(x)) else None
    if found is None or found[0] == "dict" and not all(type(k) is str for k in found[1]):
        return None
    kinds = tuple(_kind(m, y, look, depth + 1) for y in found[2])
    return None if None in kinds else (found[0], found[1], kinds)


def join(a: Any, b: Any) -> Any:
    if a is None or b is None or a == b or b == EMPTY:
        return a if b is not None else None
    if a == EMPTY:
        return b
    if a[0] == "row" or b[0] == "row" or _lengths_differ(a, b):
        return _joined_rows(as_row(a), as_row(b))
    if a[0] != b[0]:
        return None
    if a[0] in _TENSORS:
        return _joined_tensors(a, b)
    return _joined_parts(a, b) if a[0] in _PARTS else None


def _joined_tensors(a: tuple, b: tuple) -> tuple | None:
    if a[1].dtype != b[1].dtype or len(a[1].shape) != len(b[1].shape) or a[2] != b[2]:
        return None
    shape = tuple(x if x == y else None for x, y in zip(a[1].shape, b[1].shape))
    return (a[0], TensorType(a[1].dtype, shape), a[2])


def _joined_parts(a: tuple, b: tuple) -> tuple | None:
    if a[1] != b[1] or len(a[2]) != len(b[2]):
        return None
    kinds = tuple(map(join, a[2], b[2]))
    return None if None in kinds else (a[0], a[1], kinds)


def _lengths_differ(a: tuple, b: tuple) -> bool:
    return a[0] == b[0] and a[0] in ("list", "tuple") and len(a[2]) != len(b[2])


def as_row(kind: tuple) -> Any:
    """The kind of a list or tuple of numbers whose length does not count."""
    if kind[0] == "row":
        return kind
    if not (kind[0] == "list" or kind[0] == "tuple" and kind[1] is tuple):
        return None
    inner: Any = EMPTY
    for part in kind[2]:
        inner = join(inner, part) if part[0] in _NUMBERS else None
    return ("row", inner, kind[0] == "tuple") if inner is not None else None


def _joined_rows(a: Any, b: Any) -> Any:
    inner = join(a[1], b[1]) if a is not None and b is not None and a[2] == b[2] else None
    return ("row", inner, a[2]) if inner not in (None, EMPTY) else None


def with_rows(kind: tuple) -> tuple:
    """The kind with rows for all lists of numbers inside."""
    row = as_row(kind)
    if row is not None and row[1] != EMPTY:
        return row
    return (*kind[:2], tuple(map(with_rows, kind[2]))) if kind[0] in _PARTS else kind


def is_stored_as(kind: tuple, wider: tuple) -> bool:
    """Whether elements of the first kind have the leaves of the second."""
    if kind == EMPTY or kind[0] not in _PARTS and wider[0] not in _PARTS:
        return True
    return kind[0] == wider[0] and all(map(is_stored_as, kind[2], wider[2]))


def kind_of_items(m: Any, items: Any, look: Any = None) -> Any:
    """What all items have in common; None if nothing."""
    kind: Any = EMPTY
    for item in items:
        kind = join(kind, _kind(m, item, look or m.contents_of))
        if kind is None:
            return None
    return _with_leaves(kind)


def kind_with(m: Any, kind: Any, item: Any) -> Any:
    """What elements of a kind have in common with one more; None if nothing."""
    return _with_leaves(join(kind, _kind(m, item, m.contents_of)))


def _with_leaves(kind: Any) -> Any:
    """None for one of which nothing would be stored: a list of them had no length. Empty tuples are such ones, but not
    among tuples of numbers."""
    return kind if kind is None or kind == EMPTY or leaf_types(kind) else None


def kind_of_list(m: Any, x: Any) -> Any:
    """Of the elements of a list, whether its length is known or not; None: they have none, or it is no list."""
    if isinstance(x, RtList):
        return None if x.frozen else x.kind
    return kind_of_items(m, x) if type(x) is list else None


def leaf_types(kind: tuple) -> list:
    if kind[0] in _PARTS:
        return [t for k in kind[2] for t in leaf_types(k)]
    if kind[0] == "const":
        return []
    if kind[0] == "row":
        return [_row_type(kind)]
    if kind[0] == "reference":
        return [ScalarType("int")]
    return [kind[1]] if kind[0] in _TENSORS else [ScalarType(kind[0])]


def _row_type(kind: tuple) -> TensorType:
    return TensorType(_NUMBERS[kind[1][0]], (None,))


def leaves(m: Any, x: Any, kind: tuple) -> list[Value]:
    if kind[0] == "text":
        return [m.scalars.value(y, k[0]) for y, k in zip(chosen_text.numbers_in(m, x), kind[2])]
    if kind[0] in _PARTS:
        return [v for y, k in zip(_parts(x, m.contents_of)[2], kind[2]) for v in leaves(m, y, k)]
    if kind[0] == "const":
        return []
    if kind[0] == "numpy":
        return [m.recorder.value_of(x.tensor)]
    if kind[0] == "row":
        type_ = _row_type(kind)
        return [m.recorder.host("list.to_tensor", graph_lists(m, x, kind[1]), type_, dtype=dtype_name(type_.dtype))]
    if kind[0] == "reference":
        return [x.reference(m)]
    return [m.recorder.value_of(x)] if kind[0] == "tensor" else [m.scalars.value(x, kind[0])]


def holds_text(kind: Any) -> bool:
    return kind is not None and (kind[0] == "const" and type(kind[1]) is str
                                 or kind[0] in _PARTS and any(map(holds_text, kind[2])))


def cells_of(m: Any, x: Any, look: Any = None) -> set:
    if isinstance(x, torch.Tensor):
        return {m.recorder.real.lift(x)._dycl.cell}
    if isinstance(x, RtList):
        return set((look or m.contents_of)(x)[2])
    found = _parts(x, look or m.contents_of)
    return {c for y in found[2] for c in cells_of(m, y, look)} if found is not None else set()


def keep_as_is(m: Any, x: Any, guard: Any, look: Any = None) -> None:
    """The lists, dicts and objects in an element must not be changed any more: `guard` is called where one would be."""
    if isinstance(x, RtList) and not x.frozen:
        m.heap.fragile.setdefault(x, guard)
    found = _parts(x, look or m.contents_of)
    if found is None:
        return
    if found[0] not in ("tuple", "built"):
        m.heap.fragile.setdefault(x, guard)
    for y in found[2]:
        keep_as_is(m, y, guard, look)


class Side(NamedTuple):
    """A list or tuple where states meet, as one of them has it."""

    values: tuple  # of the graph, of one whose length is known only at run time
    kind: Any
    cells: frozenset


def side(m: Any, x: Any, look: Any) -> Side:
    if isinstance(x, RtList):
        return Side(*look(x))
    items = look(x) if type(x) is list else x
    return Side((), kind_of_items(m, items, look), frozenset(cells_of(m, tuple(items), look)))


def is_list(x: Any) -> bool:
    """A list or tuple, whether its length is known or not."""
    return isinstance(x, RtList) or type(x) in (list, tuple)


def is_frozen(x: Any) -> bool:
    """A tuple, whether its length is known or not."""
    return x.frozen if isinstance(x, RtList) else type(x) is tuple


def guard_of(x: Any) -> Guard:
    """What a list of run-time length has a write to its elements call."""
    return x.guard if isinstance(x, RtList) else NO_GUARD


def columns(source: Any, look: Any) -> tuple:
    """The graph lists that a list of run-time length has already; none of others."""
    return look(source)[0] if isinstance(source, RtList) else ()


def graph_lists(m: Any, source: Any, kind: tuple) -> list[Value]:
    """The graph lists of a list or an RtList in the present state, one per leaf of `kind`."""
    if isinstance(source, RtList) and source.kind != EMPTY:
        return list(source.values)
    columns = [leaves(m, x, kind) for x in (() if isinstance(source, RtList) else list(source))]
    return [m.recorder.host("list.new", [row[k] for row in columns], ListType(t))
            for k, t in enumerate(leaf_types(kind))]
