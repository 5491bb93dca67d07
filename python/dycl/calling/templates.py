# SPDX-License-Identifier: Apache-2.0
"""The structure of values: a template is a tree with values computed by a run, or open ones, at its leaves.

One language for results, arguments, elements of lists of run-time length, what attributes hold from call to call, and
what exceptions carry. This file has the leaves; containers are in calling/nodes.py, strings in
calling/text_templates.py.

    map       the template with its leaves changed, in the order of flattening
    leaves    the leaves, in that order
    rebuild   the object again, from computed leaves
    match     compares an argument of a call; raises InputError
    fits, taken   whether a value has this structure, and its values at the leaves
    write, read   what a package keeps of it (calling/package_reader.py)

Templates are immutable and equal for equal structures.
"""

from __future__ import annotations

import array
import dataclasses
import enum
import functools
import math
import types
from typing import Any, Callable, Iterator

import numpy as np
import torch

from .. import generators
from ..errors import InputError
from ..objects import exotic
from .classes import class_name, same_class
from .same_contents import same

_MOST_OBJECTS = 1 << 26  # in a list of run-time length, of all that it holds

Change = Callable[["Template"], "Template"]
Equal = Callable[[Any, Any], bool]


class Made(list):
    """Objects made so far, in the order in which templates number them. `given`: the call's own containers, by path.
    `build(class, parts)` makes what is made by calling its class."""

    def __init__(self, given: dict | None = None, build: Callable[[type, list], Any] | None = None):
        super().__init__()
        self.given = {} if given is None else given
        self.build = build or (lambda cls, parts: cls(*parts))


class Given:
    """What the arguments of a call hold: the tensors in order, and the containers by their paths."""

    def __init__(self) -> None:
        self.tensors: list[torch.Tensor] = []
        self.numbers: list = []  # what dynamic_args declared, which comes behind the tensors
        self.containers: dict[str, Any] = {}


class Template:
    kind = ""  # its name in a package
    is_open = False  # stands for values that calls compute
    hashable = True  # what it rebuilds may be in a set

    def parts(self) -> tuple["Template", ...]:
        return ()

    def map(self, change: Change) -> "Template":
        return change(self)

    def leaves(self) -> Iterator["Template"]:
        for part in self.parts():
            yield from part.leaves()

    def rebuild(self, leaves: Iterator, made: Made) -> Any:
        """`leaves`: computed values, in the order of flattening."""
        raise NotImplementedError(type(self))

    def match(self, value: Any, path: str, call: Given) -> None:
        raise NotImplementedError(type(self))

    def fits(self, value: Any, equal: Equal = same) -> bool:
        """`equal(known, value)`: whether a value is the known one."""
        raise NotImplementedError(type(self))

    def taken(self, value: Any) -> list:
        """What a value that fits has at the leaves."""
        return []

    def check_hashed(self, reader: Any) -> None:
        """Refuses what must not be asked for its hash, as what is put into a set, or is a key, is."""
        for part in self.parts():
            part.check_hashed(reader)

    def write(self, out: Any) -> list:
        raise NotImplementedError(type(self))

    @classmethod
    def read(cls, data: list, reader: Any) -> "Template":
        raise NotImplementedError(cls)


# ---- leaves ------------------------------------------------------------------------------------------


class Leaf(Template):
    is_open = True

    def leaves(self) -> Iterator[Template]:
        yield self

    def taken(self, value: Any) -> list:
        return [value]

    def write(self, out: Any) -> list:
        return [self.kind]

    @classmethod
    def read(cls, data: list, reader: Any) -> Template:
        reader.length(data, 1)
        return cls()


@dataclasses.dataclass(frozen=True)
class Tensor(Leaf):
    """A tensor; in arguments and states of this dtype and shape, in which None stands for any extent."""

    dtype: torch.dtype | None = None
    shape: tuple | None = None
    kind = "tensor"

    def rebuild(self, leaves: Iterator, made: Made) -> Any:
        value = next(leaves)
        made.append(value)
        return value

    def match(self, value: Any, path: str, call: Given) -> None:
        if not isinstance(value, torch.Tensor):
            raise InputError(f"{path}: a {type(value).__name__}, compiled for a tensor")
        if unusual := exotic(value):
            raise InputError(f"{path}: {unusual}; pass a plain dense tensor")
        if value.device.type != "cpu":
            raise InputError(f"{path}: a tensor on {value.device}, compiled for one in the CPU's memory")
        if value.dtype != self.dtype:
            raise InputError(f"{path}: dtype {value.dtype}, compiled for {self.dtype}")
        if self.shape is None or value.dim() != len(self.shape):
            raise InputError(f"{path}: {value.dim()} dims, compiled for {len(self.shape or ())}")
        for axis, (have, want) in enumerate(zip(value.shape, self.shape)):
            if want is not None and have != want:
                raise InputError(f"{path}: dim {axis} is {have}, compiled for {want}; "
                                 "declare it in dynamic_dims to vary it")
        call.tensors.append(value)

    def fits(self, value: Any, equal: Equal = same) -> bool:
        shape = self.shape or ()
        return isinstance(value, torch.Tensor) and value.dtype == self.dtype and value.dim() == len(shape) and all(
            mine is None or type(given) is int and mine == given for mine, given in zip(shape, value.shape))

    def write(self, out: Any) -> list:
        return [self.kind] if self.dtype is None else [self.kind, str(self.dtype), list(self.shape or ())]

    @classmethod
    def read(cls, data: list, reader: Any) -> Template:
        if not reader.of_arguments:
            reader.number_object(True)
            return super().read(data, reader)
        reader.length(data, 3)
        reader.tensors += 1
        shape = tuple(None if d is None else reader.number(d, 0) for d in reader.items(data[2]))
        return cls(reader.dtype(data[1]), shape)

    @property
    def open_axes(self) -> frozenset:
        return frozenset(axis for axis, extent in enumerate(self.shape or ()) if extent is None)


@dataclasses.dataclass(frozen=True)
class Generator(Leaf):
    """A torch.Generator among the arguments: a tensor of its state, which the program writes."""

    kind = "generator"

    def match(self, value: Any, path: str, call: Given) -> None:
        if not isinstance(value, torch.Generator) or value.device.type != "cpu":
            raise InputError(f"{path}: {value!r}, compiled for a torch.Generator on the CPU")
        if value is torch.default_generator or any(generators.behind(x) is value for x in call.tensors):
            raise InputError(f"{path}: a generator from which the program draws elsewhere, too; pass another")
        call.tensors.append(generators.snapshot(value))

    def fits(self, value: Any, equal: Equal = same) -> bool:
        return isinstance(value, torch.Generator)

    @classmethod
    def read(cls, data: list, reader: Any) -> Template:
        reader.length(data, 1)
        reader.tensors += 1
        return cls()


@dataclasses.dataclass(frozen=True)
class Array(Leaf):
    """A numpy array, which runs compute as a tensor."""

    kind = "array"

    def rebuild(self, leaves: Iterator, made: Made) -> Any:
        found = next(leaves).numpy()
        return found[()] if found.ndim == 0 else found


NUMBERS: dict[type, str] = {bool: "bool", int: "int", float: "float"}
_ARTICLES = {"bool": "a", "int": "an", "float": "a"}


@dataclasses.dataclass(frozen=True)
class Number(Leaf):
    kind: str = ""  # "bool", "int", "float"

    def rebuild(self, leaves: Iterator, made: Made) -> Any:
        return next(leaves)

    def match(self, value: Any, path: str, call: Given) -> None:
        if NUMBERS.get(next((k for k in NUMBERS if isinstance(value, k)), object)) != self.kind:
            raise InputError(f"{path}: {value!r}, compiled for {_ARTICLES[self.kind]} {self.kind}")
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise InputError(f"{path}: {value} does not fit in 64 bits")
        call.numbers.append(value)

    def fits(self, value: Any, equal: Equal = same) -> bool:
        # what stands in for a number says which
        return getattr(type(value), "dycl_number", NUMBERS.get(type(value))) == self.kind

    @classmethod
    def read(cls, data: list, reader: Any) -> Template:
        reader.length(data, 1)
        reader.numbers += reader.of_arguments
        return cls(data[0])


@dataclasses.dataclass(frozen=True)
class Row(Leaf):
    """In an element of a list of run-time length: a list or tuple of numbers, which runs compute as a tensor."""

    cls: type
    kind = "numbers"
    hashable = False

    def rebuild(self, leaves: Iterator, made: Made) -> Any:
        return self.cls(next(leaves).tolist())

    def write(self, out: Any) -> list:
        return [self.kind, out.name_of(self.cls)]

    @classmethod
    def read(cls, data: list, reader: Any) -> Template:
        reader.length(data, 2)
        return cls(reader.classes.one_of(reader.text(data[1]), (list, tuple)))


@dataclasses.dataclass(frozen=True)
class Column(Leaf):
    """One leaf of the elements of a list of run-time length: the list of its values."""

    leaf: Template


@dataclasses.dataclass(frozen=True)
class Rows(Template):
    """A list or tuple of run-time length; a leaf for each leaf of its elements."""

    cls: type
    element: Template
    kind = "rows"
    is_open = True

    @property
    def hashable(self) -> bool:  # type: ignore[override]
        return self.cls is tuple and self.element.hashable

    def parts(self) -> tuple[Template, ...]:
        return (self.element,)

    def leaves(self) -> Iterator[Template]:
        return map(Column, self.element.leaves())

    def fits(self, value: Any, equal: Equal = same) -> bool:
        return isinstance(value, (list, tuple)) and type(value) is self.cls and all(
            self.element.fits(x, equal) for x in value)

    def taken(self, value: Any) -> list:
        rows = [self.element.taken(x) for x in value]
        return [[row[k] for row in rows] for k, _ in enumerate(self.leaves())]

    @functools.cached_property
    def _objects(self) -> int:
        """In one element."""
        def count(t: Template) -> int:
            return 1 + sum(map(count, t.parts()))
        return count(self.element)

    def rebuild(self, leaves: Iterator, made: Made) -> Any:
        slot = len(made)
        if self.cls is list:
            made.append(None)
        columns = [next(leaves) for _ in self.leaves()]
        if (count := min(map(len, columns)) * self._objects) > _MOST_OBJECTS:
            raise MemoryError(f"a result of {count} objects; the most is {_MOST_OBJECTS}")
        rows = [self.element.rebuild(iter(row), Made()) for row in zip(*columns)]
        if self.cls is not list:
            return tuple(rows)
        made[slot] = rows
        return rows

    def write(self, out: Any) -> list:
        return [self.kind, out.name_of(self.cls), self.element.write(out)]

    @classmethod
    def read(cls, data: list, reader: Any) -> Template:
        reader.length(data, 3)
        made = reader.classes.one_of(reader.text(data[1]), (list, tuple))
        if made is list:
            reader.number_object(True)
        found = cls(made, reader.apart(data[2]))
        if not any(True for _ in found.leaves()) or any(isinstance(leaf, Column) for leaf in found.element.leaves()):
            reader.fail("elements of a list of run-time length have leaves, and no such lists in them")
        return found


# ---- what is known -----------------------------------------------------------------------------------


class Static(Template):
    """A value known while compiling, which needs no identity: a number, a string, None, a dtype; in states any."""

    kind = "static"
    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        return f"Static({self.value!r})"

    def _identity(self) -> tuple:
        """1, 1.0 and True are equal and not the same; -0.0 is not 0.0, and NaN is NaN."""
        return type(self.value), repr(self.value) if isinstance(self.value, (float, complex)) else self.value

    def rebuild(self, leaves: Iterator, made: Made) -> Any:
        return self.value

    def match(self, value: Any, path: str, call: Given) -> None:
        want = self.value
        if type(value) is not type(want) or not (same(value, want) or type(want) is not float and value == want):
            number = f", or with dynamic_args={{{path!r}: {NUMBERS[type(want)]}}}" if type(want) in NUMBERS else ""
            raise InputError(f"{path}: {value!r}, but the program was compiled for {want!r}; compile again for it"
                             + number)

    def fits(self, value: Any, equal: Equal = same) -> bool:
        return equal(self.value, value)

    def write(self, out: Any) -> list:
        value, name = self.value, type(self.value).__name__
        if isinstance(value, enum.Enum):  # which is a number or a string, too, and not counted among the objects
            found = Live(value).write(out)
            return ["constant", *found[1:]] if found[0] == "member" else found
        if value is None or type(value) in (bool, int, str):
            return [self.kind, name, value]
        if type(value) is float:
            return [self.kind, name, repr(value)]
        if isinstance(value, (torch.dtype, torch.device)):
            return [self.kind, name, str(value)]
        written = _WRITTEN.get(type(value))
        return ["written", name, written(value)] if written is not None else out.lost(name)

    @classmethod
    def read(cls, data: list, reader: Any) -> Template:
        reader.length(data, 3)
        known = _READ_WRITTEN if data[0] == "written" else _READ_STATIC
        if reader.text(data[1]) not in known:
            reader.fail(f"no constant is a {data[1]}")
        try:
            return cls(known[data[1]](data[2], reader))
        except (ValueError, RuntimeError, OverflowError) as error:  # torch.device("nowhere")
            return reader.fail(f"no {data[1]}: {error}")


_WRITTEN: dict[type, Callable] = {
    bytes: list, complex: lambda v: [repr(v.real), repr(v.imag)], torch.Size: list, type(Ellipsis): lambda v: None}
_READ_STATIC: dict[str, Callable] = {
    "NoneType": lambda v, r: r.exactly(v, type(None)), "bool": lambda v, r: r.exactly(v, bool),
    "int": lambda v, r: r.exactly(v, int), "str": lambda v, r: r.exactly(v, str),
    "float": lambda v, r: float(r.exactly(v, str)), "dtype": lambda v, r: r.dtype(v),
    "device": lambda v, r: torch.device(r.exactly(v, str))}
_READ_WRITTEN: dict[str, Callable] = {
    "bytes": lambda v, r: bytes(r.number(x, 0, 255) for x in r.items(v)),
    "complex": lambda v, r: complex(*(float(r.exactly(x, str)) for x in r.items(v, 2))),
    "Size": lambda v, r: torch.Size([r.number(x, 0) for x in r.items(v)]),
    "ellipsis": lambda v, r: Ellipsis}


_CHANGING = (np.ndarray, bytearray, array.array)  # constants of the program, which the caller may change in place


class Live(Template):
    """An object of the user's world that a program is given, or gives back, as it is."""

    kind = "live"
    __slots__ = ("obj",)

    def __init__(self, obj: Any):
        self.obj = obj

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Live) and other.obj is self.obj

    def __hash__(self) -> int:
        return id(self.obj)

    def rebuild(self, leaves: Iterator, made: Made) -> Any:
        made.append(self.obj)
        return self.obj

    def match(self, value: Any, path: str, call: Given) -> None:
        known = self.obj
        if not (value is known and not isinstance(known, _CHANGING) or same(value, known) or _same_code(value, known)):
            raise InputError(f"{path}: another object than at compile time; compile again for it")

    def write(self, out: Any) -> list:
        if isinstance(self.obj, enum.Enum) and out.is_found(type(self.obj)):
            return ["member", out.name_of(type(self.obj)), self.obj.name]
        return ["import", class_name(self.obj)] if out.is_found(self.obj) else out.lost(type(self.obj).__name__)


def _same_code(value: Any, known: Any) -> bool:
    """Two executions of one lambda or def that holds nothing."""
    return (isinstance(value, types.FunctionType) and isinstance(known, types.FunctionType)
            and value.__code__ is known.__code__
            and not (value.__closure__ or value.__defaults__ or value.__kwdefaults__))


class Named(Live):
    """In a loaded program: an object that the package names. `obj` is what was found for it, or stands for it."""

    kind = "import"
    __slots__ = ("name", "member", "counted")

    def __init__(self, obj: Any, name: str, member: str = "", counted: bool = True):
        super().__init__(obj)
        self.name, self.member, self.counted = name, member, counted

    def match(self, value: Any, path: str, call: Given) -> None:
        what = f"{self.name}.{self.member}" if self.member else self.name
        own = class_name(value), f"{class_name(type(value))}.{getattr(value, 'name', '')}"  # the latter of a member
        if what not in own and value is not self.obj:
            raise InputError(f"{path}: {value!r}, but the program was compiled for {what}; compile again for it")

    def rebuild(self, leaves: Iterator, made: Made) -> Any:
        return super().rebuild(leaves, made) if self.counted else self.obj

    @classmethod
    def read(cls, data: list, reader: Any) -> Template:
        reader.length(data, 2 if data[0] == "import" else 3)
        name = reader.text(data[1])
        found = (_older(name, reader) if data[0] == "import"
                 else cls(reader.classes.member(name, reader.text(data[2])), name, data[2], data[0] == "member"))
        if found.counted:
            reader.number_object(True)
        return found


def _older(name: str, reader: Any) -> Named:
    """In 0.1.0 an enum's member was named like anything else, "module:Class.MEMBER"."""
    where, _, last = name.rpartition(".")
    member = reader.classes.member_of_known(where, last) if where else None
    if member is not None:
        return Named(member, where, last, not isinstance(member, (int, str)))
    if where and not reader.classes.knows(name):  # who can say whether it counts
        reader.unsure.append(len(reader.made))
    return Named(reader.classes.object(name), name)


@dataclasses.dataclass(frozen=True)
class Lost(Template):
    """In a loaded program: an argument that no file can hold, so that none can be told to be it."""

    what: str
    kind = "lost"

    def match(self, value: Any, path: str, call: Given) -> None:
        raise InputError(f"{path}: the program was compiled for one {self.what}, which its file cannot hold; "
                         "compile it where it is called")

    def rebuild(self, leaves: Iterator, made: Made) -> Any:
        return None

    @classmethod
    def read(cls, data: list, reader: Any) -> Template:
        reader.length(data, 2)
        if not reader.of_arguments:
            reader.fail("a result that was lost")
        return cls(reader.text(data[1]))


# ---- objects that are met again ------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Reference(Template):
    """The object that was made at this number."""

    number: int
    kind = "ref"

    def rebuild(self, leaves: Iterator, made: Made) -> Any:
        return made[self.number]

    def check_hashed(self, reader: Any) -> None:
        for cls in reader.classes.own_hash:  # of which class that object is, is not known
            reader.classes.check_hashed(cls)

    def write(self, out: Any) -> list:
        return [self.kind, self.number]

    @classmethod
    def read(cls, data: list, reader: Any) -> Template:
        reader.length(data, 2)
        number = reader.number(data[1], 0, len(reader.made) - 1)
        if not reader.made[number]:
            reader.fail(f"object {number} holds itself and cannot be made so")
        if any(number >= first for first in reader.unsure):
            reader.fail("classes of enums are not known, and other objects are counted behind their members; "
                        "hand them over (classes=), or save the program again")
        return cls(number)


@dataclasses.dataclass(frozen=True)
class Same(Template):
    """An argument that is a tensor which was passed before."""

    number: int
    kind = "same"

    def match(self, value: Any, path: str, call: Given) -> None:
        if value is not call.tensors[self.number]:
            raise InputError(f"{path}: at compile time one tensor was passed here and before; compile again for two")

    def write(self, out: Any) -> list:
        return [self.kind, self.number]

    @classmethod
    def read(cls, data: list, reader: Any) -> Template:
        reader.length(data, 2)
        return cls(reader.number(data[1], 0, reader.tensors - 1))


@dataclasses.dataclass(frozen=True)
class Argument(Template):
    """A container among the arguments that is given back itself; what the call wrote is put into it beside this."""

    path: str
    inner: Template
    kind = "argument"

    @property
    def is_open(self) -> bool:  # type: ignore[override]
        return self.inner.is_open

    @property
    def hashable(self) -> bool:  # type: ignore[override]
        return self.inner.hashable

    def parts(self) -> tuple[Template, ...]:
        return (self.inner,)

    def map(self, change: Change) -> Template:
        return Argument(self.path, self.inner.map(change))

    def rebuild(self, leaves: Iterator, made: Made) -> Any:
        slot = len(made)
        copied = self.inner.rebuild(leaves, made)  # takes its leaves
        made[slot] = made.given.get(self.path, copied)
        return made[slot]

    def write(self, out: Any) -> list:
        return [self.kind, self.path, self.inner.write(out)]

    @classmethod
    def read(cls, data: list, reader: Any) -> Template:
        reader.length(data, 3)
        before = len(reader.made)
        found = cls(reader.text(data[1]), reader.template(data[2]))
        if len(reader.made) == before:
            reader.fail("an argument that is given back is a container")
        return found


def is_finite_number(template: Template) -> bool:
    """A number that is known, and can be one of a run without loss."""
    if not isinstance(template, Static) or type(template.value) not in NUMBERS:
        return False
    value = template.value
    return -(2**63) <= value < 2**63 if type(value) is int else type(value) is bool or math.isfinite(value)


def class_differs(value: Any, cls: type, path: str) -> InputError | None:
    if same_class(type(value), cls):
        return None
    return InputError(f"{path}: a {type(value).__name__}, compiled for a {cls.__name__}")
