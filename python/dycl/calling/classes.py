# SPDX-License-Identifier: Apache-2.0
"""Classes that a package names. A name in a file is never imported: it is looked up in fixed tables, among what the
caller hands over, or (`trust="classes"`) among the classes that this process has loaded already. Else a class is made
of the package's own description (`describe`), or, without one, a record (calling/records.py).
"""

from __future__ import annotations

import array
import builtins
import collections
import dataclasses
import enum
import fractions
import inspect
import sys
import types
from typing import Any, Callable, Iterable

import torch

from ..errors import CompileError, CompileWarning, InputError
from . import records

# of these classes, and what they are made from again by calling them (calling/nodes.py:Built)
BUILT: dict[type, Callable[[Any], tuple]] = {
    fractions.Fraction: lambda x: (x.numerator, x.denominator),
    array.array: lambda x: (x.typecode, x.tolist()),
    collections.deque: lambda x: ([*x], x.maxlen)}
_DATA = (bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, object, type, range, slice,
         torch.Size, torch.Tensor, torch.dtype, torch.device,
         collections.OrderedDict, collections.defaultdict, collections.Counter, collections.deque,
         collections.ChainMap, collections.UserDict, collections.UserList, collections.UserString,
         types.SimpleNamespace, *BUILT)
_ERRORS = (*(x for x in vars(builtins).values() if isinstance(x, type) and issubclass(x, Exception)),
           torch.linalg.LinAlgError, torch.cuda.OutOfMemoryError, CompileError, CompileWarning, InputError)


_MOST_MEMBERS = 1 << 14  # of an enum, or fields of a class: Python takes much longer for many
_MOST_LARGE = 256  # members of an enum with numbers of more than 64 bits


def class_name(x: Any) -> str:
    """module:qualname; "" of what has none. Of a class made for a package's name, that name."""
    if isinstance(x, type) and isinstance(made := vars(x).get("dycl_made"), str):
        return made
    module, name = getattr(x, "__module__", None), getattr(x, "__qualname__", None)
    return f"{module}:{name}" if isinstance(module, str) and isinstance(name, str) else ""


_FIXED: dict[str, type] = {class_name(x): x for x in (*_DATA, *_ERRORS)} | {
    class_name(x): x for x in vars(torch.return_types).values() if isinstance(x, type) and issubclass(x, tuple)} | {
    # where 0.1.0 says that errors of ours are
    f"dycl.frontend.{old}:{x.__name__}": x for old, x in (("inputs", InputError), ("diagnostics", CompileError),
                                                          ("diagnostics", CompileWarning))}


def is_plain_key(x: Any) -> bool:
    """A value of which a file cannot have many with one hash."""
    return type(x) in (str, bytes, bool, type(None)) or type(x) is int and -(2**63) <= x < 2**63


def same_class(given: type, wanted: type) -> bool:
    """The same, or one of them was made for the other's name."""
    return given is wanted or ("dycl_made" in vars(given) or "dycl_made" in vars(wanted)) and (
        class_name(given) == class_name(wanted))


def in_process(name: str) -> Any:
    """What a module that is loaded already has under a name; None. Runs no code of the module's."""
    module, _, qualname = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = vars(found).get(part) if isinstance(found, (types.ModuleType, type)) else None
    return found


# ---- what a package says of a class ------------------------------------------------------------------


def describe(cls: type) -> dict | None:
    """Enough to make a class with its fields, equality and text; None: nothing but its name."""
    if issubclass(cls, enum.Enum):
        base: Any = next((x for x in records.ENUMS if issubclass(cls, x)), enum.Enum)
        members = [[name, member.value] for name, member in cls.__members__.items()]
        known = all(type(value) in (bool, int, str, type(None)) for _, value in members)
        mixed = "str" if issubclass(cls, str) and base is enum.Enum else base.__name__
        return {"kind": "enum", "base": mixed, "members": members} if known else None
    if issubclass(cls, BaseException):
        base = next(x for x in cls.__mro__ if is_fixed(x) or x is BaseException)
        return {"kind": "exception", "base": class_name(base)}
    if issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple):
        return {"kind": "namedtuple", "fields": list(getattr(cls, "_fields"))}
    if dataclasses.is_dataclass(cls):
        return {"kind": "dataclass", "fields": [f.name for f in dataclasses.fields(cls)]}
    return None


def is_fixed(cls: Any) -> bool:
    return isinstance(cls, type) and _FIXED.get(class_name(cls)) is cls


def _own_method(cls: type, name: str) -> bool:
    """Whether a method was written for it: not one of Python's, nor one that `dataclass` made."""
    found = inspect.getattr_static(cls, name, None)
    return isinstance(found, types.FunctionType) and not (
        dataclasses.is_dataclass(cls) and found.__code__.co_filename == "<string>")


# ---- what a loaded package gets ------------------------------------------------------------------------


class Classes:
    """Finds the classes and objects that one package names. `fail(what)` raises the error of the package."""

    def __init__(self, descriptions: dict[str, dict], handed: Iterable[Any] = (), trust: str | None = None,
                 pickled: bool = False):
        if trust not in (None, "classes"):
            raise InputError(f'trust is {trust!r}; give "classes", or None')
        self.descriptions, self.trust, self._pickled = descriptions, trust, pickled
        self.handed: dict[str, Any] = {}
        for x in handed:
            if not class_name(x):
                raise InputError(f"classes holds {x!r}, which is neither a class nor a function")
            self.handed[class_name(x)] = x
            self.handed.setdefault(x.__qualname__, x)  # compiled in one module, handed over from another
        self._made: dict[tuple, Any] = {}
        self.own_hash: dict[type, str] = {}  # of classes that merely are in the process, with their names
        self.fail: Any = None

    def _handed(self, name: str) -> Any:
        return self.handed.get(name, self.handed.get(name.partition(":")[2]))

    def _found(self, name: str, called: bool = False) -> Any:
        """What there is under a name."""
        found = _FIXED.get(name)
        if found is None:
            found = self._handed(name)
        if found is None and self.trust and not called:
            found = in_process(name)
            found = found if isinstance(found, type) else None
        return found

    def _check_made(self, name: str, cls: type, called: bool = False) -> None:
        """Refuses to make instances of a class that merely is in the process if that would run code of its own on what
        the file says. (A pickle runs what it names anyway.)"""
        if self._pickled or name in _FIXED or self._handed(name) is not None:
            return
        if called:
            self._not_trusted(name, "__init__")
        if any(_own_method(cls, name) for name in ("__hash__", "__eq__")):
            self.own_hash[cls] = name
        if any("__del__" in vars(base) for base in cls.__mro__):
            self._not_trusted(name, "__del__")
        if issubclass(cls, BaseException) and (type(cls) is not type or any(
                isinstance(vars(base).get("__new__"), (staticmethod, types.FunctionType)) for base in cls.__mro__)):
            self._not_trusted(name, "__new__")

    def check_hashed(self, cls: type) -> None:
        """Refuses instances in sets, and as keys, for which code of their class would run when they are put there."""
        if cls in self.own_hash:
            self._not_trusted(self.own_hash[cls], "__hash__ or __eq__")

    def _not_trusted(self, name: str, method: str) -> None:
        self.fail(f"{name} has a {method}, which would run on what the file says; if that is meant to be, hand the "
                  "class over: classes=[...]")

    def _described(self, name: str, kind: str) -> dict | None:
        description = self.descriptions.get(name)
        return description if description is not None and description["kind"] == kind else None

    def _make(self, name: str, of: str, make: Any, *given: Any) -> Any:
        key = (name, of)
        if key not in self._made:
            try:
                self._made[key] = make(name, *given)
            except (TypeError, ValueError) as error:
                self.fail(f"no class {name} can be made: {error}")
        return self._made[key]

    def one_of(self, name: str, allowed: tuple) -> type:
        """One of a few classes of Python's."""
        found = _FIXED.get(name)
        if found not in allowed:
            self.fail(f"{name} where {' or '.join(x.__name__ for x in allowed)} is expected")
        return found  # type: ignore[return-value]

    def of_kind(self, name: str, *nodes: Any) -> type:
        """The class of what a node rebuilds, which is one of that kind."""
        node = nodes[0]
        found = self._found(name)
        if found is None:
            return self._record(name, node.kind)
        if not isinstance(found, type) or not any(records.is_of(found, n.kind, n.base) for n in nodes):
            self.fail(f"{name} is not the class of a {node.kind}")
        self._check_made(name, found, called=node.kind == "built")
        return found

    def _record(self, name: str, kind: str) -> type:
        if kind == "tuple" and (description := self._described(name, "namedtuple")):
            return self._make(name, kind, records.named_tuple, description["fields"])
        if kind == "object" and (description := self._described(name, "dataclass")):
            return self._make(name, kind, records.data_class, description["fields"])
        if kind == "exception":
            return self.exception(name)
        if kind not in records.OF_KIND:
            self.fail(f"{name} is not the class of a {kind}")
        return self._make(name, kind, records.record, kind)

    def exception(self, name: str) -> type:
        """The class of an exception that the program raises."""
        found = self._found(name)
        if found is not None:
            if not isinstance(found, type) or not issubclass(found, Exception):
                self.fail(f"{name} is no class of exceptions")
            self._check_made(name, found)
            return found
        description = self._described(name, "exception")
        base = _FIXED.get(description["base"], Exception) if description else Exception
        return self._make(name, "exception", records.exception, base if issubclass(base, Exception) else Exception)

    def object(self, name: str, called: bool = False) -> Any:
        """A class or function that is given back."""
        found = self._found(name, called)
        if found is not None:
            return found
        description = self.descriptions.get(name)
        if description is None:
            return self._stands_for(name, {})
        of = {"namedtuple": "tuple", "dataclass": "object", "exception": "exception"}.get(description["kind"])
        return self._record(name, of) if of else self._enum(name)

    def _stands_for(self, name: str, attributes: dict[str, str]) -> Any:
        """A record in the place of an object of which nothing but its name is known."""
        made = self._make(name, "object", records.record, "object")()
        vars(made).update(attributes)
        return made

    def member(self, name: str, member: str) -> Any:
        """A member of an enum."""
        found = self._found(name)
        found = self._enum(name) if found is None else found
        if found is None:
            return self._stands_for(name, {"name": member})
        if not isinstance(found, type) or not issubclass(found, enum.Enum):
            self.fail(f"{name} is no enum")
        if member not in found.__members__:
            self.fail(f"{name} has no member {member}")
        return found.__members__[member]

    def knows(self, name: str) -> bool:
        return self._found(name) is not None

    def member_of_known(self, name: str, member: str) -> Any:
        found = self._found(name)
        is_enum = isinstance(found, type) and issubclass(found, enum.Enum)
        return found.__members__.get(member) if is_enum else None

    def _enum(self, name: str) -> Any:
        description = self._described(name, "enum")
        if description is None:
            return None
        return self._make(name, "enum", records.enumeration, description["base"], description["members"])


def check_description(reader: Any, description: Any) -> dict:
    """What a package says of a class, as `describe` has it."""
    kind = reader.text(reader.field(description, "kind"))
    if kind in ("namedtuple", "dataclass"):
        reader.fields(description, "kind", "fields")
        fields = [reader.text(name) for name in reader.items(description["fields"])]
        if len(fields) > _MOST_MEMBERS:
            reader.fail(f"a {kind} of more than {_MOST_MEMBERS} fields")
        if not all(map(records.is_field, fields)) or len(set(fields)) != len(fields):
            reader.fail(f"fields of a {kind} that are no names")
    elif kind == "enum":
        reader.fields(description, "kind", "base", "members")
        if reader.text(description["base"]) not in records.ENUM_BASES:
            reader.fail(f"an enum of {description['base']}")
        for name, value in reader.pairs(description["members"]):
            if not records.is_field(reader.text(name)) or type(value) not in (bool, int, str, type(None)):
                reader.fail("members of an enum are names with plain values")
        most = _MOST_MEMBERS if all(is_plain_key(value) for _, value in description["members"]) else _MOST_LARGE
        if len(description["members"]) > most:
            reader.fail(f"an enum of more than {most} members")
    elif kind == "exception":
        reader.fields(description, "kind", "base")
        reader.text(description["base"])
    else:
        reader.fail(f"a class of kind {kind!r}")
    return description
