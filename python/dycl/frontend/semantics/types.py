# SPDX-License-Identifier: Apache-2.0
"""What class a value is of as the user's code sees it:
stand-ins for run-time values are of the classes that they stand for."""

from __future__ import annotations

import collections
import types
from typing import Any

import torch

from ..polyfills import keyed_tables
from ..polyfills.range import RtRange
from ..polyfills.registry import ITERATORS
from ..recording import parameters
from ..state import iterators
from ..state.interpreter import Interpreter
from ..torch_internals import FakeTensor
from ..values.list import RtList
from ..values.scalar import EXAMPLES, RtScalar
from ..values.text import RtText
from . import keys


def is_instance(m: Interpreter, value: Any, kinds: Any) -> bool:
    if isinstance(value, RtScalar):
        return isinstance(EXAMPLES[value.kind], kinds)
    if isinstance(value, RtText):
        return isinstance("", kinds)
    if isinstance(value, RtRange):
        return isinstance(range(0), kinds)
    if isinstance(value, iterators.OURS):
        return isinstance(_iterator_like(value), kinds)
    if m.is_array(value):
        return m.arrays.is_instance(value, kinds)
    if isinstance(value, RtList):
        return isinstance(() if value.frozen else [], kinds)
    if isinstance(value, keys.TABLES):
        return isinstance(_empty(value), kinds)
    if isinstance(value, keyed_tables.RtView):
        return isinstance(getattr({}, value.what)(), kinds)
    if m.is_symbolic(value):
        return any(parameters.is_one_of(value, k)
                   for k in _kinds(kinds) if not (isinstance(k, type) and issubclass(k, FakeTensor)))
    if isinstance(value, m.size_type) and any(k is torch.Size for k in _kinds(kinds)):
        return True
    return isinstance(value, kinds)


def _kinds(kinds: Any) -> list:
    """One by one: models ask whether a tensor is one of torch's stand-ins, which it is for us alone."""
    if isinstance(kinds, types.UnionType):
        kinds = kinds.__args__
    return [k for one in kinds for k in _kinds(one)] if isinstance(kinds, tuple) else [kinds]


def type_of(m: Interpreter, value: Any) -> type:
    if isinstance(value, RtScalar):
        return type(EXAMPLES[value.kind])
    if isinstance(value, RtText):
        return str
    if isinstance(value, RtRange):
        return range
    if m.is_symbolic(value):
        return parameters.kind_of(value)
    if isinstance(value, m.size_type):
        return torch.Size
    if m.is_array(value):
        return m.arrays.type_of(value)
    if isinstance(value, RtList):
        return tuple if value.frozen else list
    if isinstance(value, keys.TABLES):
        return type(_empty(value))
    if isinstance(value, keyed_tables.RtView):
        return type(getattr({}, value.what)())
    if isinstance(value, iterators.OURS):
        return type(_iterator_like(value))
    return type(value)


_LIVE = {"keys": iter({}), "values": iter({}.values()), "items": iter({}.items()), "items of": iter(set()),
         "places": iter(collections.deque()), "reversed": reversed([])}


def _iterator_like(value: Any) -> Any:
    """An iterator of the kind that Python gives."""
    if isinstance(value, iterators.MGenerator):
        return ITERATORS.get(value.function) or (x for x in ())
    if isinstance(value, iterators.NativeIter):
        return value.source
    if isinstance(value, iterators.LiveIter):
        return _LIVE[value.kind]
    if isinstance(value, iterators.RtRangeIter):
        return iter(range(0))
    sequence = value.sequence if isinstance(value, iterators.SeqIter) else ()
    if isinstance(sequence, range):
        return iter(range(0))
    return iter(next(k() for k in (list, str, bytes, tuple) if isinstance(sequence, k)))


def _empty(table: Any) -> Any:
    return set() if isinstance(table, keyed_tables.RtSet) else table.kind()
