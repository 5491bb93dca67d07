# SPDX-License-Identifier: Apache-2.0
"""Classes made for those that a package names and nobody handed over.

A record is read by attribute, by key and by number (`out.logits`, `out["logits"]`, `out[0]`), and may be passed to a
program again where an object of its class was. Named tuples, dataclasses and enums are made of what the package says of
them. No text is compiled for any of this.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import keyword
import re
from typing import Any, Iterator

from ..objects import HEAP_TYPE, all_in_attributes

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_field(name: str) -> bool:
    return bool(_NAME.fullmatch(name)) and not keyword.iskeyword(name) and not is_special(name)


def is_special(name: str) -> bool:
    """A name by which Python finds what an object is."""
    return name.startswith("__") and name.endswith("__")


class Record:
    """Of attributes alone."""

    def _values(self) -> dict:
        return vars(self)

    def __getitem__(self, key: Any) -> Any:
        values = self._values()
        return values[key] if isinstance(key, str) else tuple(values.values())[key]

    def __iter__(self) -> Iterator:
        return iter(self._values().values())

    def __len__(self) -> int:
        return len(self._values())

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> Any:
        return vars(self) == vars(other) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self).__qualname__, *vars(self).values()))

    def __repr__(self) -> str:
        own = ", ".join(f"{name}={value!r}" for name, value in self._values().items())
        return f"{type(self).__name__}({own})"


class _DictRecord(dict):
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, (int, slice)) and key not in (self if isinstance(key, int) else ()):
            return tuple(self.values())[key]
        return dict.__getitem__(self, key)

    def __getattr__(self, name: str) -> Any:
        try:
            return dict.__getitem__(self, name)
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no attribute {name}") from None


    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict.__repr__(self)})"


class _TupleRecord(tuple):
    def __repr__(self) -> str:
        return f"{type(self).__name__}({tuple.__repr__(self)})"

    def __getitem__(self, key: Any) -> Any:
        return vars(self)[key] if isinstance(key, str) else tuple.__getitem__(self, key)


class _ListRecord(list):
    def __repr__(self) -> str:
        return f"{type(self).__name__}({list.__repr__(self)})"

    def __getitem__(self, key: Any) -> Any:
        return vars(self)[key] if isinstance(key, str) else list.__getitem__(self, key)


class _SetRecord(set):
    pass


OF_KIND: dict[str, type] = {"object": Record, "dict": _DictRecord, "tuple": _TupleRecord, "list": _ListRecord,
                            "set": _SetRecord}
ENUMS = (enum.IntFlag, enum.Flag, enum.IntEnum, enum.StrEnum)
ENUM_BASES: dict[str, Any] = {"Enum": enum.Enum, "str": enum.Enum, **{x.__name__: x for x in ENUMS}}


def _names(name: str) -> dict[str, Any]:
    """Such a class is no part of the module that the package names: pickling one of its instances would import that."""
    return {"__module__": __name__, "__qualname__": name.partition(":")[2], "dycl_made": name}


def _last(name: str) -> str:
    return name.rpartition(".")[2].rpartition(":")[2] or "Record"


def record(name: str, kind: str) -> type:
    return type(_last(name), (OF_KIND[kind],), _names(name))


def data_class(name: str, fields: list[str]) -> type:
    made = type(_last(name), (Record,), {**_names(name), "__annotations__": {field: Any for field in fields}})
    return dataclasses.dataclass(init=False, repr=False, eq=False)(made)


def named_tuple(name: str, fields: list[str]) -> type:
    if any(field.startswith("_") for field in fields):
        raise ValueError("fields that begin with an underscore")
    last = _last(name)
    own = _names(name)
    last = last if _NAME.fullmatch(last) else "Record"
    made = collections.namedtuple(last, fields, module=own["__module__"])  # type: ignore[misc]
    for key, value in own.items():
        setattr(made, key, value)
    return made


def enumeration(name: str, base: str, members: list) -> type:
    own = _names(name)
    mixed: dict[str, Any] = {"type": str} if base == "str" else {}
    made = ENUM_BASES[base](_last(name), [(member, value) for member, value in members], module=own["__module__"],
                            qualname=own["__qualname__"], **mixed)
    type.__setattr__(made, "dycl_made", name)
    return made


def exception(name: str, base: type) -> type:
    """Whatever it was derived from, it is a RuntimeError: who does not know the class can catch it."""
    try:
        return type(_last(name), (base, RuntimeError) if not issubclass(base, RuntimeError) else (base,), _names(name))
    except TypeError:  # both hold something
        return type(_last(name), (RuntimeError,), _names(name))


def is_of(cls: type, kind: str, base: Any) -> bool:
    """Whether a node of this kind may rebuild an instance."""
    if kind == "table":
        return issubclass(cls, (dict, set))
    if not issubclass(cls, base):
        return False
    if kind == "tuple":
        return cls is tuple or bool(cls.__flags__ & HEAP_TYPE) or hasattr(cls, "n_sequence_fields") or (
            cls.__module__ == "torch")
    if kind == "object":
        return all_in_attributes(cls) or dataclasses.is_dataclass(cls) and not issubclass(cls, (dict, list, tuple))
    return kind != "exception" or issubclass(cls, Exception)
