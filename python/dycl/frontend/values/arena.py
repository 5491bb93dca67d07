# SPDX-License-Identifier: Apache-2.0
"""Objects of a class as rows of a table, its *arena*: a reference to one is the number of its row.

An object that changes, and that lists of run-time length hold or that only the run tells from others, cannot be one
object of the interpreter's. So all objects that the program makes of such a class are rows: each attribute is a column,
a list of the program's, and reading or writing an attribute reads or writes the row's place there. Two references are
one object if their numbers are equal: aliases are right by construction.

The columns are known when an attempt at capture begins: of each attribute the kinds of values that it takes
(values/list_kinds.py; None and other known values, too). One of several kinds has a column that says which. Where a
value of another kind is stored, capture begins anew with that kind. An object is *made* while its `__init__` runs: its
attributes are kept apart then, and become a row at the end.
"""

from __future__ import annotations

import dataclasses
import enum
import types
from typing import Any, NamedTuple

import torch

from ..diagnostics import CaptureRefusal
from ..graph.program import ListType, ScalarType, TensorType, Value, dominates
from .escape import Escape
from .guard import Guard
from .list import RtList
from .list_kinds import cells_of, is_immutable, join, kind_inside, leaf_types, leaves
from .scalar import SIGNS, RtInt
from .stand_in import StandIn, key_refusal, type_of

UNSET = object()  # the value of an attribute that is not there
_UNSET_KIND = ("const", UNSET)
_MOST_KINDS = 8  # of one attribute
_KNOWN = (enum.Enum, type, types.FunctionType, torch.nn.Module)  # values that are kept as what they are


class Field(NamedTuple):
    """An attribute: the kinds of its values, the columns of each, and the column that says which kind a row has (None:
    there is one kind)."""

    kinds: tuple
    columns: tuple
    which: int | None


@dataclasses.dataclass(frozen=True)
class Home:
    """Where lists are kept: in an attribute of the objects of a class."""

    cls: type
    name: str

    @property
    def __name__(self) -> str:
        return f"list in {self.cls.__name__}.{self.name}"


class _Columns:
    """The lists of the program that are the columns, hidden from those who look for objects."""

    __slots__ = ("values",)

    def __init__(self, values: tuple):
        self.values = values


class Arena:
    """Contents, per state: how many objects there are, the columns, and the objects that are being made: (object, its
    attributes, whether its row is there)."""

    __slots__ = ("m", "cls", "fields", "types", "count", "columns", "making", "guard", "_read", "__weakref__")

    def __init__(self, m: Any, cls: Any, kinds: dict):
        self.m, self.cls = m, cls  # or the Home
        self.fields: dict[str, Field] = {}
        self.types: list = []  # of the columns
        for name, of_one in kinds.items():
            self._add(name, of_one)
        self.count: Any = 0
        self.columns = _Columns(tuple(m.recorder.host("list.new", [], ListType(t)) for t in self.types))
        self.making: tuple = ()
        self.guard = Guard(lambda: CaptureRefusal(
            f"a tensor in an attribute of a {cls.__name__}, whose objects are known only at run time, is written "
            "in place, or it is asked which one it is",
            "assign a new tensor: x.a = x.a + y instead of x.a += y", kind="list.element"))
        self.guard.final = True
        self._read: dict = {}

    def _add(self, name: str, kinds: tuple) -> None:
        columns = []
        for kind in kinds:
            types_ = leaf_types(kind)
            columns.append(range(len(self.types), len(self.types) + len(types_)))
            self.types += types_
        which = None
        if len(kinds) > 1:
            which = len(self.types)
            self.types.append(ScalarType("int"))
        self.fields[name] = Field(kinds, tuple(columns), which)

    # ---- under many states ---------------------------------------------------------------------

    def dycl_contents(self) -> tuple:
        return (self.count, self.columns, *self.making)

    def dycl_install(self, contents: tuple) -> None:
        self.count, self.columns, *making = contents
        self.making = tuple(making)

    def dycl_merged(self, union: Any, a: tuple, b: tuple) -> tuple:
        (count_a, columns_a, *making_a), (count_b, columns_b, *making_b) = a, b
        if [(made, placed) for made, _, placed in making_a] != [(made, placed) for made, _, placed in making_b]:
            union.apart("objects that are being made")
        making = [(made, self._merged_attributes(union, names, others), placed)
                  for (made, names, placed), (_, others, _) in zip(making_a, making_b)]
        columns = columns_a
        if columns_a is not columns_b:
            columns = _Columns(tuple(_merged_column(union, v, w) for v, w in zip(columns_a.values, columns_b.values)))
        return (union.unify(count_a, count_b), columns, *making)

    @staticmethod
    def _merged_attributes(union: Any, a: tuple, b: tuple) -> tuple:
        if [name for name, _ in a] != [name for name, _ in b]:
            union.apart("an object that is being made, with different attributes")
        return tuple((name, union.unify(x, y)) for (name, x), (_, y) in zip(a, b))

    # ---- objects -------------------------------------------------------------------------------

    def new(self) -> "Reference":
        made = self.at(self.count)
        self.m.heap.touch(self)
        self.count = self.count + 1 if type(self.count) is int else self.m.scalars.binary("add", self.count, 1)
        self.making = (*self.making, (made, (), False))
        return made

    def at(self, index: Any) -> "Reference":
        return RtObject(self, index)

    def settle(self, made: "Reference") -> None:
        """Its attributes become a row. Rows stand in the order in which objects began to be made."""
        place = self._place(made)
        if place is None:
            return
        making, attributes = self.making, dict(self.making[place][1])
        self.m.heap.touch(self)
        self.making = (*making[:place], *making[place + 1:])
        row = self._row({name: attributes.get(name, UNSET) for name in {**self.fields, **attributes}})
        self.m.heap.touch(self)
        if making[place][2]:
            for k, leaf in row.items():
                self._put(k, made, leaf)
            return
        for other, _, placed in making[:place + 1]:
            if not placed:
                self._append(row if other is made else {})
        self.making = (*((other, names, True) for other, names, _ in making[:place]), *making[place + 1:])

    def _row(self, attributes: dict) -> dict[int, Value]:
        """The leaves by their columns."""
        attributes = {name: moved(self.m, Home(self.cls, name), value) for name, value in attributes.items()}
        wanted = {name: self.kind_of(name, value) for name, value in attributes.items()}
        unknown = {name: kind for name, kind in wanted.items() if self._alternative(name, kind) is None}
        if unknown:
            learn(self.m, self.cls, unknown)
        for cell in cells_of(self.m, tuple(attributes.values())):
            cell.note = self.guard if cell.note is None else cell.note
        row: dict[int, Value] = {}
        for name, value in attributes.items():
            row.update(self._leaves(name, value, wanted[name]))
        return row

    def kind_of(self, name: str, value: Any) -> tuple:
        """The kind of a value that an attribute gets."""
        if value is UNSET:
            return _UNSET_KIND
        if isinstance(value, _KNOWN) and not self.m.is_born(value):
            return ("const", value, type(value))  # members of two enumerations may be equal
        kind = kind_inside(self.m, value)
        if kind is None or not is_immutable(kind):
            self.m.wants_row(value)
            raise CaptureRefusal(f"a {type_of(self.m, value).__name__} in the attribute {name} of a "
                                 f"{self.cls.__name__}, whose objects are known only at run time",
                                 "keep numbers, tensors, tuples, lists of numbers and objects of plain classes there",
                                 kind="list.element")
        return kind

    def _leaves(self, name: str, value: Any, kind: tuple) -> dict[int, Value]:
        field, k = self.fields[name], self._alternative(name, kind)
        assert k is not None
        found = dict(zip(field.columns[k], leaves(self.m, value, field.kinds[k])))
        if field.which is not None:
            found[field.which] = self.m.scalars.value(k, "int")
        return found

    def _alternative(self, name: str, kind: tuple) -> int | None:
        """Which of the kinds of an attribute takes values of a kind."""
        kinds = self.fields[name].kinds if name in self.fields else ()
        return next((k for k, known in enumerate(kinds) if known == kind or join(known, kind) == known), None)

    def _append(self, row: dict[int, Value]) -> None:
        m = self.m
        self.columns = _Columns(tuple(
            m.recorder.host("list.append", [column, row[k] if k in row else self._default(type_)], column.type)
            for k, (column, type_) in enumerate(zip(self.columns.values, self.types))))

    def _put(self, k: int, which: "Reference", leaf: Value) -> None:
        m, values = self.m, list(self.columns.values)
        index = m.scalars.value(which.index, "int")
        values[k] = m.recorder.host("list.set", [values[k], index, leaf], values[k].type)
        self.columns = _Columns(tuple(values))

    def _default(self, type_: Any) -> Value:
        if isinstance(type_, TensorType):
            shape = tuple(d if type(d) is int else 0 for d in type_.shape)
            return self.m.recorder.value_of(self.m.recorder.call(torch.zeros, (shape,), {"dtype": type_.dtype}))
        return self.m.scalars.value({"int": 0, "float": 0.0, "bool": False}[type_.kind], type_.kind)

    # ---- attributes ----------------------------------------------------------------------------

    def read(self, which: "Reference", name: str) -> Any:
        """The value of an attribute; UNSET: it has none."""
        place = self._place(which)
        if place is not None:
            return dict(self.making[place][1]).get(name, UNSET)
        field = self.fields.get(name)
        if field is None:
            return UNSET
        k = self._kind_of_row(field, which)
        values = [self._get(column, which) for column in field.columns[k]]
        return self.m.lists.element(field.kinds[k], self.guard, values)

    def _kind_of_row(self, field: Field, which: "Reference") -> int:
        if field.which is None:
            return 0
        found = RtInt(self._get(field.which, which), self.m.recorder.span)
        last = len(field.kinds) - 1
        return next((k for k in range(last) if self.m.decide(self._is(found, k))), last)

    def _is(self, found: RtInt, k: int) -> Any:
        key = (found.value.id, "is", k)
        known = self._read.get(key)
        if known is None or not dominates(known.value.block, self.m.recorder.block):
            known = self._read[key] = self.m.scalars.compare("eq", found, k)
        return known

    def _get(self, column: int, which: "Reference") -> Value:
        """One value of the program for each time that a place is read unchanged: what a path has decided of it holds.
        """
        m, values = self.m, self.columns.values[column]
        key = (values.id, which.index if type(which.index) is int else which.index.value)
        found = self._read.get(key)
        if found is None or not dominates(found.block, m.recorder.block):
            index = m.scalars.value(which.index, "int")
            found = self._read[key] = m.recorder.host("list.get", [values, index], self.types[column])
        return found

    def write(self, which: "Reference", name: str, value: Any) -> None:
        m, place = self.m, self._place(which)
        if place is not None:
            made, names, placed = self.making[place]
            m.heap.touch(self)
            own = (made, tuple({**dict(names), name: value}.items()), placed)
            self.making = (*self.making[:place], own, *self.making[place + 1:])
            return
        found = self._row({name: value})
        m.heap.touch(self)
        for k, leaf in found.items():
            self._put(k, which, leaf)

    def _place(self, which: "Reference") -> int | None:
        """Among the objects that are being made."""
        return next((k for k, (made, _, _) in enumerate(self.making) if made is which), None)


def _merged_column(union: Any, a: Value, b: Value) -> Value:
    if a is b:
        return a
    param = Value(a.type, union.block)
    union.requests.append((a, b, param))
    return param


def moved(m: Any, home: Home, value: Any) -> Any:
    """A list that gets into an attribute is kept as a row, too. Nobody else may know it."""
    if not (type(value) is list or isinstance(value, RtList) and not value.frozen):
        return value
    records = m.assumptions.records
    if home not in records.assumed | records.refuted and m.is_born(value):
        records.assume(home)
    if home not in m.arenas or not m.is_born(value) or value in m.heap.fragile or m.held_elsewhere(value):
        raise CaptureRefusal(f"a {home.__name__}, whose objects are known only at run time, that has another name, too",
                             "put a copy there: list(...)", kind="list.element")
    arena = m.arenas[home]
    made = arena.new()
    arena.write(made, "items", tuple(value) if type(value) is list else m.lists.frozen(value, True))
    arena.settle(made)
    return made


def learn(m: Any, cls: Any, kinds: dict) -> None:
    """Begins anew with more kinds of values in attributes of the class."""
    fields = dict(m.assumptions.attributes.of(cls))
    for name, kind in kinds.items():
        known = list(fields.get(name, ()))
        wider = [join(other, kind) for other in known]
        place = next((k for k, found in enumerate(wider) if found is not None), None)
        if place is None:
            known.append(kind)
        else:
            known[place] = wider[place]
        if len(known) > _MOST_KINDS:
            raise CaptureRefusal(f"more than {_MOST_KINDS} kinds of values in the attribute {name} of a {cls.__name__}",
                                 kind="list.mixed")
        fields[name] = tuple(known)
    m.assumptions.attributes.assume(cls, fields)


class Reference(StandIn):
    """Of what is a row of an arena. Immutable: what it holds is the arena's."""

    __slots__ = ("arena", "index")
    refers = True

    def __init__(self, arena: Arena, index: Any):
        self.arena, self.index = arena, index

    def identity(self, m: Any) -> Any:
        raise Escape(self, "id")

    def is_same(self, m: Any, a: Any, b: Any) -> Any:
        same = are_one(m, a, b)
        return same if isinstance(same, bool) else m.decide(same)

    def mark(self, likeness: Any, state: Any, depth: int) -> Any:
        return Reference, self.arena.cls

    def unified(self, union: Any, other: Any) -> Any:
        if other.arena is not self.arena:
            union.apart("objects of different classes")
        if any(made in (self, other) for state in (union.a, union.b)
               for made, _, _ in union.m.heap.contents_in(state.overlay, self.arena)[2:]):
            union.apart("objects that are being made")
        return self.arena.at(union.unify(self.index, other.index))

    def element_kind(self, look: Any) -> Any:
        """None: it is being made, where states meet."""
        if look is not self.arena.m.contents_of and any(made is self for made, _, _ in look(self.arena)[2:]):
            return None
        return ("reference", self.arena.cls)

    def reference(self, m: Any) -> Value:
        self.arena.settle(self)
        return m.scalars.value(self.index, "int")

    def is_late_key(self) -> bool:
        return True


def are_one(m: Any, a: Any, b: Any) -> Any:
    """Whether two values, one of which is a row of an arena, are one object: a bool, known now or at run time."""
    if a is b:
        return True
    if not (isinstance(a, Reference) and isinstance(b, Reference) and a.arena is b.arena):
        return False
    x, y = a.index, b.index
    return x == y if type(x) is type(y) is int else m.scalars.compare("eq", x, y)


class RtObject(Reference):
    """An object."""

    __slots__ = ()
    priority = 5

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # for super()
        return self.arena.cls

    @property
    def own_class(self) -> type:  # type: ignore[override]
        return self.arena.cls

    def example(self, m: Any) -> Any:
        return object.__new__(self.arena.cls)

    def type_of(self, m: Any) -> type:
        return self.arena.cls

    def copied(self, m: Any, deep: bool) -> Any:
        raise Escape(self, "copy")

    def truth(self, m: Any) -> Any:
        return NotImplemented if _has(self.arena.cls, "__bool__") or _has(self.arena.cls, "__len__") else True

    def length(self, m: Any) -> Any:
        return NotImplemented

    def get_item(self, m: Any, s: Any, key: Any) -> Any:
        return self._of_class("__getitem__", "is not subscriptable")

    def set_item(self, m: Any, s: Any, key: Any, value: Any) -> Any:
        return self._of_class("__setitem__", "does not support item assignment")

    def delete_item(self, m: Any, s: Any, key: Any) -> Any:
        return self._of_class("__delitem__", "doesn't support item deletion")

    def iterate(self, m: Any, s: Any) -> Any:
        if _has(self.arena.cls, "__getitem__"):
            return NotImplemented
        return self._of_class("__iter__", "is not iterable")

    def _of_class(self, name: str, otherwise: str) -> Any:
        if not _has(self.arena.cls, name):
            raise TypeError(f"'{self.arena.cls.__name__}' object {otherwise}")
        return NotImplemented

    def unary(self, m: Any, s: Any, op: str) -> Any:
        return NotImplemented if _has(self.arena.cls, f"__{op}__") else super().unary(m, s, op)

    def binary(self, m: Any, s: Any, op: str, a: Any, b: Any, inplace: bool) -> Any:
        raise Escape(self, f"operator {op}")

    def compare(self, m: Any, s: Any, op: str, a: Any, b: Any) -> Any:
        if op not in ("eq", "ne"):
            names = (type_of(m, x).__name__ for x in (a, b))
            raise TypeError("'{}' not supported between instances of '{}' and '{}'".format(SIGNS[op], *names))
        same = are_one(m, a, b)
        return same if op == "eq" else not same if isinstance(same, bool) else m.scalars.unary("not", same)

    # ---- attributes ----------------------------------------------------------------------------

    def attribute(self, m: Any, s: Any, name: str) -> Any:
        cls = self.arena.cls
        if name == "__class__":
            return cls
        if name in ("__dict__", "__weakref__"):
            raise Escape(self, f"attribute {name}")
        found = _static(cls, name)
        slot = isinstance(found, types.MemberDescriptorType)
        if found is not UNSET and hasattr(type(found), "__set__") and not slot and not isinstance(found, type):
            return NotImplemented  # a property, which goes first
        value = self.arena.read(self, name)
        if value is not UNSET:
            return value
        if slot or found is UNSET and not _has(cls, "__getattr__"):
            raise AttributeError(f"'{cls.__name__}' object has no attribute '{name}'")
        return NotImplemented

    def keep(self, m: Any, name: str, value: Any) -> bool:
        cls = self.arena.cls
        if not cls.__dictoffset__ and not isinstance(_static(cls, name), types.MemberDescriptorType):
            raise AttributeError(f"'{cls.__name__}' object has no attribute '{name}'")
        if name in ("__dict__", "__class__"):
            raise Escape(self, f"attribute {name}")
        self.arena.write(self, name, value)
        return True

    # ---- as a key --------------------------------------------------------------------------------

    def check_key(self, m: Any) -> None:
        cls = self.arena.cls
        if cls.__hash__ is None:
            raise TypeError(f"unhashable type: '{cls.__name__}'")
        if cls.__hash__ is not object.__hash__ or cls.__eq__ is not object.__eq__:
            raise key_refusal(f"a {cls.__name__} known only at run time, which has a hash of its own, as a key", None)

    def equal_key(self, m: Any, a: Any, b: Any) -> Any:
        return are_one(m, a, b)


def _static(cls: type, name: str) -> Any:
    return next((base.__dict__[name] for base in cls.__mro__ if name in base.__dict__), UNSET)


def _has(cls: type, name: str) -> bool:
    return _static(cls, name) is not UNSET
