# SPDX-License-Identifier: Apache-2.0
"""What class a value is of as the user's code sees it: stand-ins for run-time values are of the classes that they stand for."""

from __future__ import annotations

import types
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from . import iterators, keys, parameterness, tables
from .machine import Machine
from .rtlist import RtList
from .runtime_text import RtText
from .values import EXAMPLES, RtScalar


def is_instance(m: Machine, value: Any, kinds: Any) -> bool:
    if isinstance(value, RtScalar):
        return isinstance(EXAMPLES[value.kind], kinds)
    if isinstance(value, RtText):
        return isinstance("", kinds)
    if isinstance(value, iterators.MGenerator):
        return isinstance((x for x in ()), kinds)
    if m.is_array(value):
        return m.arrays.is_instance(value, kinds)
    if isinstance(value, RtList):
        return isinstance(() if value.frozen else [], kinds)
    if isinstance(value, keys.TABLES):
        return isinstance(_empty(value), kinds)
    if m.is_symbolic(value):
        return any(parameterness.is_one_of(value, k) for k in _kinds(kinds) if not (isinstance(k, type) and issubclass(k, FakeTensor)))
    if isinstance(value, m.size_type) and any(k is torch.Size for k in _kinds(kinds)):
        return True
    return isinstance(value, kinds)


def _kinds(kinds: Any) -> list:
    """One by one: models ask whether a tensor is one of torch's stand-ins, which it is for us alone."""
    if isinstance(kinds, types.UnionType):
        kinds = kinds.__args__
    return [k for one in kinds for k in _kinds(one)] if isinstance(kinds, tuple) else [kinds]


def type_of(m: Machine, value: Any) -> type:
    if isinstance(value, RtScalar):
        return type(EXAMPLES[value.kind])
    if isinstance(value, RtText):
        return str
    if m.is_symbolic(value):
        return parameterness.kind_of(value)
    if isinstance(value, m.size_type):
        return torch.Size
    if m.is_array(value):
        return m.arrays.type_of(value)
    if isinstance(value, RtList):
        return tuple if value.frozen else list
    if isinstance(value, keys.TABLES):
        return type(_empty(value))
    return type(value)


def _empty(table: Any) -> Any:
    return set() if isinstance(table, tables.RtSet) else table.kind()
