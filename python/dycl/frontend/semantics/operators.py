# SPDX-License-Identifier: Apache-2.0
"""Operators for the abstract machine: arithmetic, comparison, identity and `in`, of numbers, tensors,
containers and user classes.

As in semantics/calls.py: a value at once, or PUSHED when a frame of user code was pushed.
"""

from __future__ import annotations

import collections
import numbers
import operator
from typing import Any

import numpy as np
import torch

from ..diagnostics import CaptureRefusal
from ..polyfills import builtins as polyfills
from ..state import numpy_memory
from ..state.interpreter import Interpreter
from ..state.state import State
from ..values.list import RtList
from ..values.scalar import TURNED, RtFloat, RtInt, RtScalar, kind_of
from ..values.text import RtText
from . import chosen_text, iteration, keys, native_calls, opaque_objects
from .identity import sizes
from .lookup import MISSING, mro_lookup, python_method
from .text_formatting import percent
from .types import type_of

_OPERATORS = {"and": "and_", "or": "or_"}


def _operator(op: str, inplace: bool = False):
    return getattr(operator, f"i{op}" if inplace else _OPERATORS.get(op, op))


def binary(m: Interpreter, s: State, op: str, a: Any, b: Any, inplace: bool) -> Any:
    m.note_read(b)
    if not inplace or not isinstance(a, list) or op != "add":
        m.note_read(a)
    if inplace:
        method = python_method(a, f"__i{op}__")
        if method is not None:
            return m.call(s, polyfills.augmented, (a, b, method, op), {})
    if isinstance(a, RtList) or isinstance(b, RtList):
        return _list_binary(m, s, op, a, b, inplace)
    if m.arrays.concern(a, b):
        return m.arrays.binary(op, a, b, inplace)
    if isinstance(a, str) and op == "mod":
        m.note_deep(b)
    if isinstance(a, str) and op == "mod" and (m.is_tensor(b) or m.has_runtime(b)):
        return percent(m, a, b if isinstance(b, tuple) else (b,))
    if m.is_tensor(a) or m.is_tensor(b):
        if _user_operator(m, s, op, a, b) is not None and not m.is_tensor(a):
            return m.call(s, polyfills.reflected, (a, b, *_user_operator(m, s, op, a, b), _SIGNS.get(op, op)), {})
        return _tensor_binary(m, op, a, b, inplace)
    if isinstance(a, RtScalar) or isinstance(b, RtScalar):
        a, b = _plain_number(a, op), _plain_number(b, f"r{op}")
        if op in ("truediv", "floordiv", "mod") and (m.in_try() if isinstance(b, RtScalar)
                                                     else isinstance(b, (int, float)) and b == 0):
            if not isinstance(b, RtScalar) or m.decide(m.scalars.compare("eq", b, 0)):
                _operator(op)(1.0 if "float" in (kind_of(a), kind_of(b)) else 1, 0)  # raises, with Python's own words
        if op == "pow" and m.in_try():
            zero, negative = m.scalars.compare("eq", a, 0), m.scalars.compare("lt", b, 0)
            if all(x if isinstance(x, bool) else m.decide(x) for x in (zero, negative)):
                raise ZeroDivisionError("0.0 cannot be raised to a negative power")
        if op == "pow" and isinstance(b, RtScalar) and isinstance(a, (int, RtInt)) and not isinstance(b, RtFloat):
            if not m.decide(m.scalars.compare("ge", b, 0)):  # a negative exponent gives a float
                return m.scalars.power_of_ints(a, b, negative=True)
            return m.scalars.power_of_ints(a, b, negative=False)
        result = m.scalars.binary(op, a, b)
        if result is not NotImplemented:
            return result
        if (dunder := _user_operator(m, s, op, a, b)) is not None:
            return m.call(s, polyfills.reflected, (a, b, *dunder, _SIGNS.get(op, op)), {})
        return _mixed_binary(m, s, op, a, b)
    if isinstance(a, RtText) or isinstance(b, RtText):
        if op == "add" and isinstance(a, (str, RtText)) and isinstance(b, (str, RtText)):
            return RtText.join([a, b])
        if op == "mul" and chosen_text.is_chosen(a) and type(b) is int:
            return chosen_text.lifted(m, a, lambda text: text * b)
    if isinstance(b, keys.TABLES) and isinstance(a, (set, dict)):
        if inplace:
            keys.make_table(m, a, 0)
        a = keys.as_table(m, a)
    dunder = _user_operator(m, s, op, a, b)
    if dunder is not None:
        return m.call(s, polyfills.reflected, (a, b, *dunder, _SIGNS.get(op, op)), {})
    if op == "add" and isinstance(a, (torch.Size, m.size_type)) and isinstance(b, tuple) or isinstance(
            b, (torch.Size, m.size_type)) and isinstance(a, tuple) and op == "add":
        return sizes(m, (*a, *b))
    if isinstance(a, (list, dict, set)):
        return _container_binary(m, s, op, a, b, inplace)
    return _native_binary(m, s, op, a, b, inplace)


def _tensor_binary(m: Interpreter, op: str, a: Any, b: Any, inplace: bool) -> Any:
    try:
        return m.recorder.call(_operator(op, inplace and m.is_tensor(a)), (a, b), {})
    except TypeError as error:  # of operands that torch does not take: Python's words, which name their types
        if not str(error).startswith("unsupported operand type(s) for ") or "'FakeTensor'" not in str(error):
            raise
        names = {type_of(m, x).__name__ for x in (a, b) if m.is_symbolic(x)}
        if len(names) != 1:
            raise
        raise TypeError(str(error).replace("'FakeTensor'", f"'{names.pop()}'")) from None


def _native_binary(m: Interpreter, s: State, op: str, a: Any, b: Any, inplace: bool) -> Any:
    """Operators of other native objects: the heap follows what they change, and what they make is new."""
    if inplace and isinstance(a, collections.deque) and op == "add":
        items = iteration.materialise(m, b)
        if items is None:
            return m.call(s, polyfills.extend_list, (a, b), {})
        b = items
    if inplace and isinstance(a, (np.ndarray, collections.deque, bytearray)):
        m.heap.touch(a)
        return _operator(op, inplace)(a, b)
    watched = opaque_objects.watch((a,), {}) if inplace else []
    result = _operator(op, inplace)(a, b)
    opaque_objects.check(m, watched)
    if type(result) is tuple and op == "mul" and isinstance(a if isinstance(a, tuple) else b, m.size_type):
        return sizes(m, result)
    if type(result) in (list, dict, set, collections.deque, bytearray) and result is not a:  # 2 * [0], d.keys() - names
        return keys.made(m, result) if type(result) in (dict, set) else m.new(result)
    return numpy_memory.made(m, result, []) if isinstance(result, np.ndarray) else result


_NUMBERS = (int, float, RtScalar)


def _mixed_binary(m, s, op, a, b):
    if op == "mul" and (isinstance(a, (list, tuple, str)) or isinstance(b, (list, tuple, str))):
        sequence, count = (a, b) if isinstance(a, (list, tuple, str)) else (b, a)
        if not sequence:
            return m.new_if_mutable(sequence * 0)
        if isinstance(sequence, list) and all(isinstance(x, _NUMBERS) or m.is_tensor(x) for x in sequence):
            return m.call(s, polyfills.repeat_list, (sequence, count), {})
        if not m.decide(m.scalars.compare("gt", count, 0)):
            return m.new_if_mutable(sequence * 0)
        count = m.decide_value(count, range(1, 65), "a repeat count")
        return sizes(m, sequence * count) if isinstance(sequence, m.size_type) else m.new_if_mutable(sequence * count)
    if isinstance(a, str) and op == "mod":
        return percent(m, a, (b,))
    if not all(isinstance(x, (RtScalar, str, list, tuple, dict, set, type(None))) or kind_of(x) is not None
               for x in (a, b)):
        number, other = (a, b) if isinstance(a, RtScalar) else (b, a)
        raise CaptureRefusal(f"the operator {_SIGNS[op]} between a number known only at run time and a "
                             f"{type_of(m, other).__name__}",
                             "use plain numbers or tensors", kind="type", because=number)
    raise TypeError(f"unsupported operand type(s) for {_SIGNS[op]}: '{type_of(m, a).__name__}' and "
                    f"'{type_of(m, b).__name__}'")


_SIGNS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
          "pow": "** or pow()", "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "matmul": "@",
          "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _plain_number(x: Any, method: str) -> Any:
    """A member of an IntEnum and the like is the number that it is, unless its class says what the operator does."""
    if type(x) in (int, float, bool) or not isinstance(x, (int, float)) or isinstance(x, np.generic):
        return x
    if python_method(x, f"__{method}__") is not None:
        return x
    return int(x) if isinstance(x, int) else float(x)


def _user_operator(m: Interpreter, s: State, op: str, a: Any, b: Any):
    """(forward, reflected) Python methods, if either class defines one in Python."""
    forward, reflected = python_method(a, f"__{op}__"), python_method(b, f"__r{op}__")
    if forward is None and reflected is None:
        return None
    if (
        forward is None
        and mro_lookup(type(a), f"__{op}__") is not MISSING
        and type(a).__module__ != "builtins"
        and not isinstance(a, RtScalar)
    ):
        return None
    return forward, reflected


def _container_binary(m: Interpreter, s: State, op: str, a: Any, b: Any, inplace: bool) -> Any:
    materialise = iteration.materialise
    if inplace:
        if isinstance(a, list) and op == "add":
            items = materialise(m, b)
            if items is None:
                return m.call(s, polyfills.extend_list, (a, b), {})
            m.heap.touch(a)
            a.extend(items)
            return a
        if isinstance(a, list) and op == "mul":
            m.heap.touch(a)
            a *= b
            return a
        m.heap.touch(a)
        return _operator(op, True)(a, b)
    return m.new(_operator(op)(a, b))


def _list_binary(m: Interpreter, s: State, op: str, a: Any, b: Any, inplace: bool) -> Any:
    """+ and += where one side's length is known only at run time."""
    if op != "add":
        m.lists.refuse(a if isinstance(a, RtList) else b, CaptureRefusal(
            f"the operator {op} on a list whose length is known only at run time", kind="list.method"))
    if inplace and isinstance(a, RtList) and not a.frozen:
        if isinstance(b, (list, tuple, RtList)):
            m.lists.extend(a, b)
            return a
        return m.call(s, polyfills.extend_list, (a, b), {})
    if inplace and type(a) is list:
        return m.call(s, polyfills.extend_list, (a, b), {})
    kinds = {tuple if isinstance(x, tuple) or isinstance(x, RtList) and x.frozen else list if isinstance(
        x, (list, RtList)) else type(x) for x in (a, b)}
    if len(kinds) > 1:
        raise TypeError("can only concatenate lists with lists and tuples with tuples")
    return m.lists.concat(a, b)


def unary(m: Interpreter, s: State, op: str, x: Any) -> Any:
    if isinstance(x, RtScalar):
        return m.scalars.unary(op, x)
    if m.is_array(x):
        return m.arrays.unary(op, x)
    if m.is_tensor(x):
        return m.recorder.call(_operator(op), (x,), {})
    method = python_method(x, f"__{op}__")
    if method is not None:
        return m.call(s, method, (x,), {})
    result = getattr(operator, op)(x)
    return numpy_memory.made(m, result, []) if isinstance(result, np.ndarray) else result


def compare(m: Interpreter, s: State, op: str, a: Any, b: Any) -> Any:
    m.note_deep(a, b)
    if isinstance(a, RtList) or isinstance(b, RtList):
        return _compare_containers(m, s, op, a, b)
    if m.arrays.concern(a, b):
        return m.arrays.compare(op, a, b)
    forward, reflected = python_method(a, f"__{op}__"), python_method(b, f"__{TURNED.get(op, op)}__")
    if op == "ne" and forward is None and (_negates_equality(a) or reflected is None and _negates_equality(b)):
        return m.call(s, polyfills.not_equal, (a, b), {})
    if m.is_tensor(a) or m.is_tensor(b):
        if (forward or reflected) is not None and not any(hasattr(type(x), "__torch_function__")
                                                          for x in (a, b) if not m.is_tensor(x)):
            return m.call(s, polyfills.compared, (a, b, forward, reflected, _SIGNS.get(op, op)), {})
        if op in ("eq", "ne") and (a is None or b is None or isinstance(a, str) or isinstance(b, str)):
            return op == "ne"
        return m.recorder.call(getattr(operator, op), (a, b), {})
    if (isinstance(a, RtScalar) or isinstance(b, RtScalar)) and forward is None and reflected is None:
        return _compare_numbers(m, op, _plain_number(a, op), _plain_number(b, TURNED.get(op, op)))
    if op in ("eq", "ne") and (isinstance(a, RtText) or isinstance(b, RtText)):
        found = keys.equal(m, a, b)
        return found if op == "eq" else m.scalars.unary("not", found) if isinstance(found, RtScalar) else not found
    if forward is not None or reflected is not None:
        return m.call(s, polyfills.compared, (a, b, forward, reflected, _SIGNS.get(op, op)), {})
    if isinstance(a, (list, tuple, dict, set)) and type(a) is not str and m.has_runtime((a, b)):
        return _compare_containers(m, s, op, a, b)
    return getattr(operator, op)(a, b)


def by_native_methods(m: Interpreter, s: State, a: Any, b: Any, of_a: bool, of_b: bool, sign: str) -> Any:
    """After those of the user's classes have given NotImplemented:
    a method of a native class takes what is of that class."""
    op = next((name for name, text in _SIGNS.items() if text == sign), sign)
    for asked, x, y, name in ((of_a, a, b, op), (of_b, b, a, TURNED.get(op, op))):
        home = next((c for c in _COMPARED[:4] if asked and isinstance(x, c)), None)
        if home is None or not isinstance(y, home):
            continue
        if m.has_runtime((x, y)):
            return _compare_containers(m, s, name, x, y)
        return native_calls.native(m, s, getattr(home, f"__{name}__"), (x, y), {})
    return NotImplemented


def _negates_equality(x: Any) -> bool:
    """`!=` asks __eq__, of the user's: object.__ne__ does, those of list, dict or int do not."""
    return python_method(x, "__eq__") is not None and mro_lookup(type(x), "__ne__") is object.__dict__["__ne__"]


def _compare_numbers(m: Interpreter, op: str, a: Any, b: Any) -> Any:
    for x in (a, b):
        if isinstance(x, numbers.Number) and kind_of(x) is None:
            raise CaptureRefusal(f"a number known only at run time compared with a {type(x).__name__}",
                                 "compare it with plain numbers", kind="type", because=a if x is b else b)
    result = m.scalars.compare(op, a, b)
    if result is NotImplemented:
        raise TypeError(f"'{_SIGNS[op]}' not supported between instances of '{type_of(m, a).__name__}' and "
                        f"'{type_of(m, b).__name__}'")
    return result


_COMPARED = (list, tuple, dict, set, int, float, str, type(None))  # unequal to each other, but for numbers


def _compare_containers(m, s, op, a, b):
    ours, theirs = (next((kind for kind in _COMPARED if issubclass(type_of(m, x), kind)), None) for x in (a, b))
    sequences = ours is theirs and ours in (list, tuple)
    if op in ("eq", "ne") and ours is not None and theirs is not None and ours is not theirs:
        return op == "ne"
    if sequences and op in ("eq", "ne"):
        return m.call(s, polyfills.equal_sequences if op == "eq" else polyfills.unequal_sequences, (a, b), {})
    if sequences:
        return m.call(s, polyfills.order_sequences, (a, b, op), {})
    if op in ("eq", "ne") and all(type(x) in (dict, collections.Counter, collections.defaultdict) for x in (a, b)):
        return m.call(s, polyfills.equal_mappings if op == "eq" else polyfills.unequal_mappings, (a, b), {})
    raise CaptureRefusal("containers holding values known only at run time are compared",
                         "compare their elements", kind="compare")


def contains(m: Interpreter, s: State, container: Any, item: Any, negate: bool) -> Any:
    if m.is_tensor(container):
        found = m.recorder.call(torch.any, (m.recorder.call(operator.eq, (container, item), {}),), {})
        truth = m.tensor_truth(found)
        if isinstance(truth, bool):
            return truth != negate
        return m.scalars.unary("not", truth) if negate else truth
    if isinstance(container, (dict, list, set)):  # of a name: whether it is there
        m.note_load(container, item if isinstance(container, dict) and type(item) is str else "*")
    if isinstance(item, (dict, list, set, tuple)):
        m.note_deep(item, container)
    method = python_method(container, "__contains__")
    if method is not None:
        return m.call(s, polyfills.contains_not if negate else polyfills.contains_yes, (method, container, item), {})
    if chosen_text.is_chosen(container) and type(item) is str:
        return chosen_text.lifted(m, container, lambda text: (item in text) != negate)
    if chosen_text.is_chosen(item) and type(container) is str:
        return chosen_text.lifted(m, item, lambda text: (text in container) != negate)
    simple = isinstance(container, (list, tuple, range))
    lazily = not simple and not isinstance(container, (dict, set, frozenset, str, bytes)) and (
        python_method(container, "__iter__") is not None or not hasattr(type(container), "__contains__"))
    if lazily or simple and (m.has_runtime((item, container)) or m.is_tensor(item)
                             or python_method(item, "__eq__") is not None):
        return m.call(s, polyfills.not_in if negate else polyfills.is_in, (container, item), {})
    if isinstance(container, (dict, set, frozenset)) and isinstance(item, RtScalar):
        return m.call(s, polyfills.not_in if negate else polyfills.is_in, (tuple(container), item), {})
    if isinstance(container, (dict, set, frozenset)) and keys.at_run_time(item):
        try:
            keys.present_key(m, item, container, KeyError())
        except KeyError:
            return negate
        return not negate
    return (item in container) != negate
