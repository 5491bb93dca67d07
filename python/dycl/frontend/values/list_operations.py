# SPDX-License-Identifier: Apache-2.0
"""Operations on lists whose length is known only at run time."""

from __future__ import annotations

import math
from typing import Any, Callable

import torch

from ...calling.templates import Rows
from ..diagnostics import CaptureRefusal
from ..graph.dtypes import dtype_name
from ..graph.program import INT, HostNode, ListType, ScalarType, TensorType, Value
from . import chosen_text
from .element_templates import element_template
from .escape import Escape
from .list import EMPTY, RtList, RtListIter
from .list_kinds import (
    _PARTS,
    _TENSORS,
    _WIDEST,
    _numbers_of_one_dtype,
    cells_of,
    graph_lists,
    holds_references,
    is_stored_as,
    join,
    keep_as_is,
    kind_of_element,
    kind_of_items,
    kind_with,
    leaf_types,
    leaves,
)
from .scalar import BY_KIND, RtInt, RtScalar, kind_of
from .stand_in import OF_PARTS

# ---- operations ---------------------------------------------------------------------------------


class Lists:
    """What the machine does with RtLists."""

    def __init__(self, machine: Any):
        self.m = machine

    def refuse(self, x: RtList, refusal: CaptureRefusal) -> None:
        """Begins anew with the elements kept apart, if the list became one of run time by a merge of states."""
        if not x.guard.final:
            x.guard()
        raise refusal

    def new(self, values: list, kind: tuple, like: RtList, frozen: bool = False) -> RtList:
        return self.m.new(RtList(tuple(values), kind, like.cells, like.guard, frozen))

    def from_tensor(self, tensor: Any) -> RtList:
        """tolist() of a 1-d tensor."""
        m = self.m
        scalar = "bool" if tensor.dtype == torch.bool else "float" if tensor.dtype.is_floating_point else "int"
        value = m.recorder.host("list.from_tensor", [m.recorder.value_of(tensor)], ListType(ScalarType(scalar)))
        return m.new(RtList((value,), (scalar,), frozenset(), None))

    def from_rows(self, tensor: Any) -> Any:
        """tolist() of a tensor of several dims, one of whose extents is not known: a list of run-time length with lists
        in it, or lists around lists of run-time length; None if there are more such extents."""
        m, (rows, *inner) = self.m, tensor.shape
        if all(type(n) is int for n in inner) and 0 < math.prod(inner) <= _WIDEST:
            values, kind = self._leaves_of_rows(tensor)
            return m.new(RtList(values, kind, frozenset(), None))
        if type(rows) is int and rows <= _WIDEST:
            parts = [m.recorder.call(torch.select, (tensor, 0, r), {}) for r in range(rows)]
            found = [self.from_rows(part) if len(inner) > 1 else self.from_tensor(part) for part in parts]
            return None if any(part is None for part in found) else found
        return None

    def _leaves_of_rows(self, tensor: Any) -> tuple[tuple, Any]:
        """The values and the kind of the rows of a tensor: lists of the extents of its other dims."""
        if tensor.dim() == 1:
            column = self.from_tensor(tensor)
            return column.values, column.kind
        parts = [self._leaves_of_rows(self.m.recorder.call(torch.select, (tensor, 1, k), {}))
                 for k in range(tensor.shape[1])]
        flat = tuple(v for values, _ in parts for v in values)
        return flat, ("list", tensor.shape[1], tuple(kind for _, kind in parts))

    def template(self, x: RtList) -> Rows:
        return Rows(tuple if x.frozen else list, element_template(self.m, x.kind))

    def length(self, x: RtList) -> Any:
        if x.kind == EMPTY:
            return 0
        return RtInt(self.m.recorder.host("list.len", [x.values[0]], INT), self.m.recorder.span)

    def truth(self, x: RtList) -> bool:
        length = self.length(x)
        return bool(length) if isinstance(length, int) else self.m.decide(self.m.scalars.compare("gt", length, 0))

    def get(self, x: RtList, key: Any) -> Any:
        if isinstance(key, slice):
            return self._slice(x, key)
        self._check_index(x, key)
        index = self._index(key)
        return self._element(x, [self._host("list.get", [v, index], t) for v, t in zip(x.values, leaf_types(x.kind))])

    def next(self, it: RtListIter, source: RtList) -> Any:
        """The element at the iterator's place; None: past the end."""
        m = self.m
        length = self.length(source)
        more = it.index < length if type(it.index) is int and type(length) is int else m.scalars.compare(
            "lt", it.index, length)
        if not (more if isinstance(more, bool) else m.decide(more)):
            return None
        index = m.scalars.value(it.index, "int")
        item = self._element(source, [self._host("list.get", [v, index], t)
                                      for v, t in zip(source.values, leaf_types(source.kind))])
        m.heap.touch(it)
        it.index = m.scalars.binary("add", it.index, 1) if isinstance(it.index, RtScalar) else it.index + 1
        return (item,)

    def set(self, x: RtList, key: Any, item: Any) -> None:
        if x.frozen:
            raise TypeError("'tuple' object does not support item assignment")
        if type(key) is slice and key.start is key.stop is key.step is None and isinstance(item, (list, tuple, RtList)):
            new = self.frozen(item, False) if item is x else item
            self.m.heap.touch(x)
            x.values = tuple(self._host("list.new", [], v.type) for v in x.values)
            return self.extend(x, new)
        if isinstance(key, slice):
            if type(item) not in (list, tuple, RtList):
                self.refuse(x, CaptureRefusal("a slice of a list whose length is known only at run time is replaced "
                                              "by something other than a list",
                                              "make a list of it first", kind="list.slice"))
            return self._replace(x, key, item)
        self._check_index(x, key)
        index = self._index(key)
        values = self._columns(x, item)
        self._install(x, [self._host("list.set", [v, index, leaf], self._wider(v, leaf))
                          for v, leaf in zip(x.values, values)], item)

    def append(self, x: RtList, item: Any) -> None:
        values = self._columns(x, item)
        lists = x.values if x.kind != EMPTY else graph_lists(self.m, [], kind_of_element(self.m, item))
        grown = [self._host("list.append", [v, leaf], self._wider(v, leaf)) for v, leaf in zip(lists, values)]
        self._install(x, grown, item)

    def call(self, x: RtList, name: str, args: tuple, kwargs: dict) -> Any:
        if x.frozen and name not in ("__len__", "__getitem__"):
            self.refuse(x, CaptureRefusal(f"tuple.{name} of a tuple whose length is known only at run time",
                                          kind="list.method"))
        method = _METHODS.get(name)
        if method is not None:
            return method(self, x, args)
        self.refuse(x, CaptureRefusal(f"list.{name} of a list whose length is known only at run time",
                                      "append to it, index it or iterate over it", kind="list.method"))

    def insert(self, x: RtList, key: Any, item: Any) -> None:
        if x.kind == EMPTY:
            return self.append(x, item)
        values, index = self._columns(x, item), self._index(key)
        return self._install(x, [self._host("list.insert", [v, index, leaf], self._wider(v, leaf))
                                 for v, leaf in zip(x.values, values)], item)

    def clear(self, x: RtList) -> None:
        self.m.heap.touch(x)
        x.values = tuple(self._host("list.new", [], v.type) for v in x.values)

    def pop(self, x: RtList, key: Any) -> Any:
        m = self.m
        self._check_index(x, key)
        index = self._index(key)
        rest, popped = [], []
        for v, t in zip(x.values, leaf_types(x.kind)):
            outputs = [Value(v.type, m.recorder.block), Value(t, m.recorder.block)]
            m.recorder.append(HostNode("list.pop", [v, index], outputs, {}, m.recorder.span))
            rest.append(outputs[0])
            popped.append(outputs[1])
        m.heap.touch(x)
        x.values = tuple(rest)
        return self._element(x, popped)

    def delete(self, x: RtList, key: Any) -> None:
        if x.frozen:
            raise TypeError("'tuple' object doesn't support item deletion")
        if isinstance(key, slice):
            self._replace(x, key, ())
        else:
            self.pop(x, key)

    def _replace(self, x: RtList, key: slice, items: Any) -> None:
        """What is before the slice, the items, what is behind the slice: where that begins follows from how much the
        two have, whatever the signs of the bounds and wherever they lie."""
        before = self._slice(x, slice(None, key.start if key.start is not None else 0, key.step))
        cut = self._slice(x, slice(key.start, key.stop, key.step))
        behind = self._slice(x, slice(self.m.scalars.binary("add", self.length(before), self.length(cut)), None))
        self._become(x, self.concat(before if items == () else self.concat(before, items), behind))

    def extend(self, x: RtList, other: Any) -> None:
        self._become(x, self.concat(x, other))

    def _become(self, x: RtList, made: RtList) -> None:
        self.m.heap.touch(x)
        x.values, x.kind, x.cells = made.values, made.kind, made.cells

    def concat(self, a: Any, b: Any) -> RtList:
        """a + b; one of them may be a list or tuple."""
        m = self.m
        like = a if isinstance(a, RtList) else b
        kind = join(self.kind(a), self.kind(b))
        for x in (a, b):
            if isinstance(x, RtList):
                self._check_kind(x, kind)
        if kind == EMPTY:
            return self.new([], EMPTY, like, like.frozen)
        lists = [graph_lists(m, x, kind) for x in (a, b)]
        values = [self._host("list.concat", [v, w], ListType(t)) for v, w, t in zip(*lists, leaf_types(kind))]
        made = self.new(values, kind, like, like.frozen)
        for x in (a, b):
            if not isinstance(x, RtList):
                made.cells |= self._guarded(made, tuple(x))
            else:
                made.cells |= x.cells
        return made

    def columns(self, x: RtList) -> tuple | None:
        """What zip(*x) gives, one after the other; None: not of such elements."""
        if x.kind == EMPTY:
            return ()
        if x.kind[0] not in ("tuple", "list") or not all(map(leaf_types, x.kind[2])):
            return None
        if not self.truth(x):
            return ()
        values, made = iter(x.values), []
        for kind in x.kind[2]:
            made.append(self.new([next(values) for _ in leaf_types(kind)], kind, x, True))
        return tuple(made)

    def frozen(self, x: RtList, frozen: bool) -> RtList:
        """tuple(x) or list(x)."""
        return self.new(list(x.values), x.kind, x, frozen)

    def copied(self, x: RtList, deep: bool) -> RtList:
        """copy.copy(x), or copy.deepcopy: its elements are copies already, but for objects in tables."""
        if deep and holds_references(x.kind):
            raise Escape(x, "copy")
        return x if x.frozen else self.frozen(x, False)

    def kind(self, x: Any) -> Any:
        return x.kind if isinstance(x, RtList) else kind_of_items(self.m, x)

    def tensor(self, x: RtList, how: str, axis: int) -> Any:
        """torch.stack or torch.cat."""
        m = self.m
        error = ValueError if how == "cat" else RuntimeError
        if x.kind == EMPTY:
            raise error(f"{how} expects a non-empty TensorList")
        if x.kind[0] != "tensor" and not (x.kind[0] == "numpy" and how == "stack" and axis == 0):
            what = f"torch.{how} of a list of {x.kind[0]}s whose length is known only at run time"
            self.refuse(x, CaptureRefusal(what, kind="list.stack"))
        nonempty = m.scalars.compare("gt", self.length(x), 0)
        if nonempty is not True:
            m.recorder.check(nonempty.value, f"{how} expects a non-empty list of tensors", error.__name__)
        type_ = x.kind[1]
        rank = len(type_.shape) + (how == "stack")
        if not rank:
            raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated")
        if not -rank <= axis < rank:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, "
                             f"{rank - 1}], but got {axis})")
        axis %= rank
        shape = list(type_.shape)
        if how == "stack":
            shape.insert(axis, None)
        else:
            shape[axis] = None
        value = m.recorder.host(f"list.{how}", [x.values[0]], TensorType(type_.dtype, tuple(shape)), axis=axis)
        return self._handle(type_.dtype, shape, value, x.kind[2])

    def numbers(self, x: RtList, dtype: torch.dtype | None) -> Any:
        """torch.tensor of a list of numbers."""
        if x.kind[0] in _TENSORS and not x.kind[1].shape:
            return self._numbers_of_tensors(x, dtype)
        if x.kind[0] in ("tuple", "list") and (_numbers_of_one_dtype(x.kind[2])
                                               or {k[0] for k in x.kind[2]} in ({"int"}, {"float"}, {"bool"})):
            return self._numbers_in_columns(x, dtype)
        if x.kind[0] not in ("int", "float", "bool"):
            self.refuse(x, CaptureRefusal("torch.tensor of a list whose length is known only at run time",
                                          "use torch.stack", kind="list.stack"))
        if dtype is None and x.kind[0] != "float" and not self.has_some(x) and not self.m.truth(self.length(x)):
            return self._no_numbers(None)
        dtype = dtype or {"int": torch.int64, "float": torch.get_default_dtype(), "bool": torch.bool}[x.kind[0]]
        value = self._host("list.to_tensor", [x.values[0]], TensorType(dtype, (None,)), dtype=dtype_name(dtype))
        return self._handle(dtype, [None], value, torch.device("cpu"))

    def _no_numbers(self, dtype: torch.dtype | None) -> Any:
        """torch.tensor([]): flat, and of no numbers torch knows no kind."""
        return self.m.recorder.call(torch.zeros, (0,), {"dtype": dtype or torch.get_default_dtype()})

    def _numbers_of_tensors(self, x: RtList, dtype: torch.dtype | None) -> Any:
        """Of tensors without dims."""
        if not self.has_some(x) and not self.m.truth(self.length(x)):
            return self._no_numbers(dtype)
        made = self.tensor(x, "stack", 0)
        return made if dtype in (None, made.dtype) else self.m.recorder.call(torch.Tensor.to, (made, dtype), {})

    def _numbers_in_columns(self, x: RtList, dtype: torch.dtype | None) -> Any:
        """Of tuples or lists of numbers, all of one length."""
        if not self.m.truth(self.length(x)):
            return self._no_numbers(dtype)
        columns = [self.numbers(self.new([v], k, x), dtype) for v, k in zip(x.values, x.kind[2])]
        return self.m.recorder.call(torch.stack, (columns, 1), {})

    def holds_floats(self, x: RtList) -> bool:
        """Or something else that does not become integers."""
        return not all(isinstance(t, ScalarType) and t.kind != "float" for t in leaf_types(x.kind))

    def of_numpy(self, x: RtList) -> Any:
        """np.array of a list of numbers: Python's floats have 64 bits, and so has an array of nothing."""
        kinds = {t.kind for t in leaf_types(x.kind) if isinstance(t, ScalarType)}
        dtype = ({"int": torch.int64, "bool": torch.bool}.get(*kinds) if len(kinds) == 1 and "float" not in kinds
                 else torch.float64 if kinds else None)
        if dtype not in (None, torch.float64) and not self.has_some(x) and not self.m.truth(self.length(x)):
            dtype = torch.float64
        return self.numbers(x, dtype)

    def has_rows(self, data: Any) -> bool:
        """Whether it is a list of lists, some of them of run-time length."""
        return type(data) in (list, tuple) and any(isinstance(row, RtList) for row in data)

    def rows(self, data: Any, dtype: torch.dtype | None) -> Any:
        """torch.tensor of a list of lists of numbers, some of them of run-time length: all must be of one length."""
        kinds: set = set()
        for row in data:
            kinds |= _kinds_in_row(row)
        if not kinds <= {"bool", "int", "float", EMPTY[0]}:
            raise CaptureRefusal("torch.tensor of lists of such elements whose length is known only at run time",
                                 "use torch.stack", kind="list.stack")
        lengths = [self.length(row) if isinstance(row, RtList) else len(row) for row in data]
        for other in lengths[1:]:
            self._check_length(lengths[0], other)
        if dtype is None:
            by_kind = {"float": torch.get_default_dtype(), "int": torch.int64, "bool": torch.bool}
            some = self.m.truth(lengths[0])  # of no numbers torch knows no kind
            dtype = next((by_kind[k] for k in by_kind if k in kinds and some), torch.get_default_dtype())
        made = [self.numbers(row, dtype) if isinstance(row, RtList) and row.kind != EMPTY
                else self.m.recorder.call(torch.tensor, ([] if isinstance(row, RtList) else list(row),),
                                          {"dtype": dtype}) for row in data]
        return self.m.recorder.call(torch.stack, (made,), {})

    def _check_length(self, first: Any, other: Any) -> None:
        if type(first) is int and type(other) is int:
            if first != other:
                raise ValueError(f"expected sequence of length {first} at dim 1 (got {other})")
            return
        self.m.recorder.check(self.m.scalars.compare("eq", other, first).value,
                              "expected sequences of one length at dim 1", "ValueError")

    # -- parts ---------------------------------------------------------------------------------

    def has_some(self, x: RtList) -> bool:
        """Something has just been put into it."""
        node = self.m.recorder.producers.get(x.values[0])
        return isinstance(node, HostNode) and (node.op in ("list.append", "list.insert", "list.set")
                                               or node.op == "list.new" and bool(node.operands))

    def _host(self, op: str, operands: list, type_: Any, **attrs: Any) -> Value:
        return self.m.recorder.host(op, operands, type_, **attrs)

    def _index(self, key: Any) -> Value:
        if self.m.is_tensor(key):
            key = self.m.tensor_index(key)
        if kind_of(key) not in ("int", "bool"):
            raise TypeError(f"list indices must be integers or slices, not {type(key).__name__}")
        return self.m.scalars.value(key, "int")

    def _check_index(self, x: RtList, key: Any) -> None:
        if x.kind == EMPTY:
            raise IndexError("list index out of range")
        if self.m.in_try():
            m, length = self.m, self.length(x)
            if self.m.is_tensor(key):
                key = m.tensor_index(key)
            for bound in (m.scalars.compare("lt", key, length),
                          m.scalars.compare("ge", key, m.scalars.unary("neg", length))):
                if not (bound if isinstance(bound, bool) else m.decide(bound)):
                    raise IndexError("list index out of range")

    def _slice(self, x: RtList, key: slice) -> RtList:
        if key.step not in (None, 1):
            self.refuse(x, CaptureRefusal("a slice with a step of a list whose length is known only at run time",
                                          "iterate with reversed() or by index", kind="list.slice"))
        if x.kind == EMPTY:
            return self.new([], EMPTY, x, x.frozen)
        start = self._index(key.start if key.start is not None else 0)
        stop = self._index(key.stop if key.stop is not None else self.length(x))
        return self.new([self._host("list.slice", [v, start, stop], v.type) for v in x.values], x.kind, x, x.frozen)

    def _columns(self, x: RtList, item: Any) -> list[Value]:
        kind = kind_with(self.m, x.kind, item)
        self._check_kind(x, kind)
        return leaves(self.m, item, kind)

    def _check_kind(self, x: RtList, kind: Any) -> None:
        """Whether its elements may be of that kind."""
        if kind is None:
            self.refuse(x, self._mixed())
        if not is_stored_as(x.kind, kind):
            self.want_rows(x)

    def want_rows(self, x: RtList) -> None:
        """Lists inside its elements turn out to be of different lengths: begin anew with rows for them."""
        key = x.guard.key
        if key is None or self.m.assumptions.rows.holds(key):
            self.refuse(x, self._mixed())
        self.m.assumptions.rows.assume(key)

    @staticmethod
    def _mixed() -> CaptureRefusal:
        return CaptureRefusal("elements of different kinds in a list whose length is known only at run time",
                              "keep them in lists of their own", kind="list.mixed")

    @staticmethod
    def _wider(values: Any, leaf: Any) -> ListType:
        have, new = values.type.element, leaf.type
        if isinstance(have, TensorType):
            return ListType(TensorType(have.dtype, tuple(x if x == y else None for x, y in zip(have.shape, new.shape))))
        return values.type

    def _guarded(self, x: RtList, item: Any) -> frozenset:
        found = cells_of(self.m, item)
        for cell in found:
            if cell.note is None and x.guard:
                cell.note = x.guard
        keep_as_is(self.m, item, x.guard)
        return frozenset(found)

    def _install(self, x: RtList, values: list, item: Any) -> None:
        self.m.heap.touch(x)
        x.values = tuple(values)
        x.kind = kind_with(self.m, x.kind, item)
        x.cells = x.cells | self._guarded(x, item)

    def _element(self, x: RtList, values: list[Value]) -> Any:
        return self.element(x.kind, x.guard, values)

    def element(self, kind: tuple, guard: Any, values: list[Value]) -> Any:
        """What such values of the graph are. `guard`: what a write to it calls."""
        found = iter(values)

        def build(kind: tuple) -> Any:
            if kind[0] == "tuple":
                return tuple.__new__(kind[1], [build(k) for k in kind[2]])
            if kind[0] == "built":
                return OF_PARTS[kind[1]](*map(build, kind[2]))
            if kind[0] == "const":
                return kind[1]
            if kind[0] == "text":
                return chosen_text.built(kind[1], [build(k) for k in kind[2]])
            if kind[0] in _PARTS:
                values = [build(k) for k in kind[2]]
                if kind[0] == "object":
                    made = object.__new__(kind[1][0])
                    made.__dict__.update(zip(kind[1][1], values))
                else:
                    made = values if kind[0] == "list" else dict(zip(kind[1], values))
                self.m.heap.fragile[self.m.new(made)] = guard
                return made
            value = next(found)
            if kind[0] == "reference":
                return self.m.arenas[kind[1]].at(RtInt(value, self.m.recorder.span))
            if kind[0] == "row":
                row = self._host("list.from_tensor", [value], ListType(*leaf_types(kind[1])))
                made = self.m.new(RtList((row,), kind[1], frozenset(), guard, kind[2]))
                self.m.heap.fragile[made] = guard
                return made
            if kind[0] not in _TENSORS:
                return BY_KIND[kind[0]](value, self.m.recorder.span)
            handle = self._handle(kind[1].dtype, list(kind[1].shape), value, kind[2])
            if kind[0] == "numpy":
                return self.m.arrays.wrap(handle)
            handle._dycl.cell.note = guard or None
            return handle

        return build(kind)

    def _handle(self, dtype: torch.dtype, shape: list, value: Value, device: Any) -> Any:
        dims = [None if isinstance(d, str) else d for d in shape]
        return self.m.recorder.new_handle(dtype, tuple(dims), value, device)


def _extend_by(lists: Lists, x: RtList, args: tuple) -> Any:
    return lists.extend(x, args[0]) if isinstance(args[0], (list, tuple, RtList)) else NotImplemented


_METHODS: dict[str, Callable[[Lists, RtList, tuple], Any]] = {
    "append": lambda lists, x, args: lists.append(x, args[0]),
    "pop": lambda lists, x, args: lists.pop(x, args[0] if args else -1),
    "insert": lambda lists, x, args: lists.insert(x, args[0], args[1]),
    "extend": _extend_by,
    "copy": lambda lists, x, args: lists.new(list(x.values), x.kind, x),
    "clear": lambda lists, x, args: lists.clear(x),
    "__len__": lambda lists, x, args: lists.length(x),
    "__getitem__": lambda lists, x, args: lists.get(x, args[0]),
}


def _kinds_in_row(row: Any) -> set:
    if isinstance(row, RtList):
        return {row.kind[0]}
    return {kind_of(x) for x in row} if type(row) in (list, tuple) else {None}
