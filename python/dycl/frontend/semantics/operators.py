# SPDX-License-Identifier: Apache-2.0
"""Operators for the abstract machine: arithmetic, comparison and `in`. What they mean for values known only at run time
their kinds say (values/stand_in.py); here are Python's rules for all others.

As in semantics/calls.py: a value at once, or PUSHED when a frame of user code was pushed.
"""

from __future__ import annotations

import collections
import operator
from typing import Any

import numpy as np
import torch

from ...objects import is_entry_name
from ..diagnostics import CaptureRefusal
from ..polyfills import builtins as polyfills
from ..polyfills import keyed_sets
from ..state import numpy_memory
from ..state.interpreter import Interpreter
from ..state.state import State
from ..values.native_entries import refuse_own
from ..values.scalar import SIGNS, TURNED, kind_of
from ..values.stand_in import StandIn, deciding, made_stand_in, stand_in_of, type_of
from ..values.text_formatting import percent
from . import iteration, keys, native_calls, opaque_objects, wrong_types
from .identity import sizes
from .lookup import MISSING, by_type, mro_lookup, python_method

_OPERATORS = {"and": "and_", "or": "or_"}


def _operator(op: str, inplace: bool = False):
    return getattr(operator, f"i{op}" if inplace else _OPERATORS.get(op, op))


# ---- arithmetic ----------------------------------------------------------------------------------


def binary(m: Interpreter, s: State, op: str, a: Any, b: Any, inplace: bool) -> Any:
    m.note_read(b)
    if not inplace or not isinstance(a, list) or op != "add":
        m.note_read(a)
    if inplace:
        method = python_method(a, f"__i{op}__")
        if method is not None:
            return m.call(s, polyfills.augmented, (a, b, method, op), {})
    own, users = deciding(a, b), _user_operator(a, b, op)
    if own is not None and not (users is not None and own.yields(a, b, False)):
        if users is None and not (kind_of(a) and kind_of(b)):
            wrong_types.check_operator(m, op, a, b)
        result = own.binary(m, s, op, a, b, inplace)
        if result is not NotImplemented:
            return result
    if users is not None:
        return m.call(s, polyfills.reflected, (a, b, *users, SIGNS.get(op, op)), {})
    return by_type(_BINARY, a, _native_binary)(m, s, op, a, b, inplace)


def _user_operator(a: Any, b: Any, op: str) -> tuple | None:
    """(forward, reflected) Python methods, if either class defines one in Python."""
    if op == "mod" and isinstance(a, (str, bytes, bytearray)):
        return None  # a format, which takes everything before __rmod__ is asked
    forward, reflected = python_method(a, f"__{op}__"), python_method(b, f"__r{op}__")
    if forward is not None:
        return forward, reflected
    if reflected is None:
        return None
    native = (mro_lookup(type(a), f"__{op}__") is not MISSING and type(a).__module__ != "builtins"
              and made_stand_in(a) is None)
    return None if native else (forward, reflected)


def _container_binary(m: Interpreter, s: State, op: str, a: Any, b: Any, inplace: bool) -> Any:
    if not inplace:
        result = _operator(op)(a, b)
        return keys.made(m, result) if type(result) in (dict, set) else m.new(result)
    if isinstance(a, list) and op == "add":
        return _extended(m, s, a, b, list.extend)
    m.heap.touch(a)
    return _operator(op, True)(a, b)


def _extended(m: Interpreter, s: State, a: Any, b: Any, extend: Any) -> Any:
    items = iteration.materialise(m, b)
    if items is None:
        return m.call(s, polyfills.extend_list, (a, b), {})
    m.heap.touch(a)
    extend(a, items)
    return a


def _deque_binary(m: Interpreter, s: State, op: str, a: Any, b: Any, inplace: bool) -> Any:
    if inplace and op == "add":
        return _extended(m, s, a, b, collections.deque.extend)
    return _buffer_binary(m, s, op, a, b, inplace)


def _buffer_binary(m: Interpreter, s: State, op: str, a: Any, b: Any, inplace: bool) -> Any:
    """Of objects whose contents the heap follows, and native code changes."""
    if inplace:
        m.heap.touch(a)
        return _operator(op, inplace)(a, b)
    return _native_binary(m, s, op, a, b, inplace)


def update_set(m: Interpreter, s: State, target: set, sources: tuple, then: Any) -> Any:
    """target.update(*sources). For a set or dict Python makes room, so that the elements may stand in another order."""
    items = [iteration.materialise(m, source) for source in sources]
    known = tuple(x is not None and not any(map(keys.at_run_time, x)) for x in items)
    if not all(known):
        given = tuple(x if y is None or isinstance(x, _ROOMY) else tuple(y) for x, y in zip(sources, items))
        return m.call_then(s, keyed_sets.update_known, (target, given, known), {}, then)
    m.heap.touch(target)
    set.update(target, *(x if isinstance(x, _ROOMY) else y for x, y in zip(sources, items) if y is not None))
    return None


_ROOMY = (set, frozenset, dict)


def _tuple_binary(m: Interpreter, s: State, op: str, a: Any, b: Any, inplace: bool) -> Any:
    if op == "add" and isinstance(b, tuple) and (isinstance(a, torch.Size) or isinstance(b, torch.Size)):
        return sizes(m, (*a, *b))
    return _native_binary(m, s, op, a, b, inplace)


def _text_binary(m: Interpreter, s: State, op: str, a: Any, b: Any, inplace: bool) -> Any:
    if op == "mod":
        m.note_deep(b)
        if m.has_runtime(b):
            wrong_types.check_operator(m, "mod", a, b)
            return percent(m, a, b if isinstance(b, tuple) else (b,))
    return _native_binary(m, s, op, a, b, inplace)


def _native_binary(m: Interpreter, s: State, op: str, a: Any, b: Any, inplace: bool) -> Any:
    """Operators of other native objects: what they make is new."""
    watched = opaque_objects.watch((a,), {}) if inplace else []
    result = _operator(op, inplace)(a, b)
    opaque_objects.check(m, watched)
    kind = type(result)
    if kind in _MADE and result is not a:  # 2 * [0], d.keys() - names
        return keys.made(m, result) if kind in (dict, set) else m.new(result)
    return numpy_memory.made(m, result, []) if isinstance(result, np.ndarray) else result


_MADE = (list, dict, set, collections.deque, bytearray)
_BINARY = {list: _container_binary, dict: _container_binary, set: _container_binary, tuple: _tuple_binary,
           str: _text_binary, collections.deque: _deque_binary, bytearray: _buffer_binary, np.ndarray: _buffer_binary}


def unary(m: Interpreter, s: State, op: str, x: Any) -> Any:
    own = stand_in_of(x)
    result = own.unary(m, s, op) if own is not None else NotImplemented
    if result is not NotImplemented:
        return result
    method = python_method(x, f"__{op}__")
    if method is not None:
        return m.call(s, method, (x,), {})
    result = getattr(operator, op)(x)
    return numpy_memory.made(m, result, []) if isinstance(result, np.ndarray) else result


# ---- comparison ----------------------------------------------------------------------------------


def compare(m: Interpreter, s: State, op: str, a: Any, b: Any) -> Any:
    m.note_deep(a, b)
    own = deciding(a, b)
    forward, reflected = python_method(a, f"__{op}__"), python_method(b, f"__{TURNED.get(op, op)}__")
    yields = own is None or own.yields(a, b, True)
    if yields and op == "ne" and forward is None and (_negates_equality(a)
                                                      or reflected is None and _negates_equality(b)):
        return m.call(s, polyfills.not_equal, (a, b), {})
    users = forward is not None or reflected is not None
    if own is not None and not (users and yields):
        result = own.compare(m, s, op, a, b)
        if result is not NotImplemented:
            return result
    if users:
        return m.call(s, polyfills.compared, (a, b, forward, reflected, SIGNS.get(op, op)), {})
    if _holds_run_time(m, own, a, b):
        return _compare_containers(m, s, op, a, b)
    return getattr(operator, op)(a, b)


def _holds_run_time(m: Interpreter, own: StandIn | None, a: Any, b: Any) -> bool:
    """A comparison of containers that native code cannot do."""
    container = isinstance(a, _COMPARED[:4]) or own is not None and issubclass(own.type_of(m), _COMPARED[:4])
    return container and m.has_runtime((a, b))


def by_native_methods(m: Interpreter, s: State, a: Any, b: Any, of_a: bool, of_b: bool, sign: str) -> Any:
    """After those of the user's classes have given NotImplemented:
    a method of a native class takes what is of that class."""
    op = next((name for name, text in SIGNS.items() if text == sign), sign)
    for asked, x, y, name in ((of_a, a, b, op), (of_b, b, a, TURNED.get(op, op))):
        home = next((c for c in _HOMES if asked and issubclass(type_of(m, x), c)), None)
        if home is None or not issubclass(type_of(m, y), home):
            continue
        if m.has_runtime((x, y)):
            return _compare_containers(m, s, name, x, y)
        return native_calls.native(m, s, getattr(home, f"__{name}__"), (x, y), {})
    return NotImplemented


def _negates_equality(x: Any) -> bool:
    """`!=` asks __eq__, of the user's: object.__ne__ does, those of list, dict or int do not."""
    return python_method(x, "__eq__") is not None and mro_lookup(type(x), "__ne__") is object.__dict__["__ne__"]


_COMPARED = (list, tuple, dict, set, int, float, str, type(None))  # unequal to each other, but for numbers
_HOMES = (list, tuple, dict, set, str)


def _compare_containers(m: Interpreter, s: State, op: str, a: Any, b: Any) -> Any:
    ours, theirs = (next((kind for kind in _COMPARED if issubclass(type_of(m, x), kind)), None) for x in (a, b))
    equality = op in ("eq", "ne")
    if equality and ours is not None and theirs is not None and ours is not theirs:
        return op == "ne"
    if ours is theirs and ours in (list, tuple):
        if not equality:
            return m.call(s, polyfills.order_sequences, (a, b, op), {})
        return m.call(s, polyfills.equal_sequences if op == "eq" else polyfills.unequal_sequences, (a, b), {})
    if equality and all(type(x) in (dict, collections.Counter, collections.defaultdict) for x in (a, b)):
        return m.call(s, polyfills.equal_mappings if op == "eq" else polyfills.unequal_mappings, (a, b), {})
    raise CaptureRefusal("containers holding values known only at run time are compared",
                         "compare their elements", kind="compare")


# ---- in ------------------------------------------------------------------------------------------


def contains(m: Interpreter, s: State, container: Any, item: Any, negate: bool) -> Any:
    own, asked = stand_in_of(container), stand_in_of(item)
    found = own.contains(m, s, item, negate) if own is not None else NotImplemented
    if found is not NotImplemented:
        return found
    named = isinstance(container, dict) and is_entry_name(item)
    if isinstance(container, (dict, list, set)):  # of a name: whether it is there
        m.note_load(container, item if named else "*")
    if isinstance(item, (dict, list, set, tuple)) and not named:
        m.note_deep(item, container)
    method = python_method(container, "__contains__")
    if method is not None:
        return m.call(s, polyfills.contains_not if negate else polyfills.contains_yes, (method, container, item), {})
    found = asked.is_in(m, s, container, negate) if asked is not None else NotImplemented
    if found is not NotImplemented:
        return found
    if _one_by_one(m, container, item):
        return m.call(s, polyfills.not_in if negate else polyfills.is_in, (container, item), {})
    if isinstance(container, (dict, set, frozenset)) and keys.at_run_time(item):
        return _is_key(m, container, item) != negate
    return (item in container) != negate


def _is_key(m: Interpreter, container: Any, item: Any) -> bool:
    try:
        keys.present_key(m, item, container, KeyError())
    except KeyError as error:
        refuse_own(error)
        return False
    return True


def _one_by_one(m: Interpreter, container: Any, item: Any) -> bool:
    """Whether `in` compares with what an interpreted iteration gives."""
    if isinstance(container, (list, tuple, range, collections.deque)):
        held = tuple(container) if isinstance(container, collections.deque) else container
        return m.has_runtime((item, held)) or python_method(item, "__eq__") is not None
    return not isinstance(container, (dict, set, frozenset, str, bytes)) and (
        python_method(container, "__iter__") is not None or not hasattr(type(container), "__contains__"))
