# SPDX-License-Identifier: Apache-2.0
"""Values of which only the run says what kind they are (values/one_of.py), before an instruction looks at them.

Most instructions look at their operands: each that is such a value becomes the value itself, which may split the state.
Those that only hand a value on (to a variable, into a list, to a function of the user's) leave it as it is. What is
given to native code is settled with all that it holds.
"""

from __future__ import annotations

import types
from typing import Any

import torch

from ..semantics import interpretation, registry
from ..state.state import NULL
from ..values.one_of import holds_any, is_one_of, settled, settled_inside

_DEEP = 4
_DEEPEST = 64
_NONE = {"BUILD_TUPLE", "BUILD_LIST", "BUILD_CONST_KEY_MAP", "FOR_ITER", "YIELD_VALUE", "STORE_FAST", "STORE_DEREF",
         "MAKE_FUNCTION", "LOAD_FAST_CHECK", "LOAD_FAST_AND_CLEAR", "JUMP_FORWARD", "JUMP_BACKWARD", "LIST_TO_TUPLE"}
# operands that are looked at, from the uppermost; not what they hold
_SHALLOW = {"BINARY_SUBSCR": 2, "GET_ITER": 1, "UNPACK_SEQUENCE": 1, "UNPACK_EX": 1, "LOAD_ATTR": 1, "LOAD_METHOD": 1,
            "LIST_EXTEND": 1, "IS_OP": 2, "DELETE_SUBSCR": 2, "BUILD_SLICE": 3, "UNARY_NOT": 1, "UNARY_NEGATIVE": 1,
            "UNARY_POSITIVE": 1, "UNARY_INVERT": 1}
_DEEPLY = {"BINARY_OP": 2, "COMPARE_OP": 2, "CONTAINS_OP": 2}
_SHALLOW_CALLS = (len, isinstance, enumerate, zip, reversed, iter, type, list, tuple)
_JOINS = (torch.stack, torch.cat, torch.concat, torch.concatenate)


def settle(m: Any, s: Any, f: Any, ins: Any) -> None:
    """The operands of an instruction."""
    if not m.assumptions.kinds.assumed:  # there are none
        return
    op, stack = ins.op, f.stack
    if op in _NONE:
        return
    if op == "RETURN_VALUE":  # what is not for a function of the user's is looked at
        if len(s.frames) == 1 or f.on_return is not None:
            stack[-1] = settled_inside(m, stack[-1], _DEEPEST)
    elif op == "CALL":
        _of_call(m, f, ins.arg)
    elif op in ("STORE_SUBSCR", "STORE_ATTR"):
        _of_store(m, f, 3 if op == "STORE_SUBSCR" else 2)
    elif op == "LIST_APPEND":
        if not _is_own(m, stack[-ins.arg - 1]):
            _each(m, f, 1)
    elif op in _SHALLOW or op.startswith(("POP_JUMP", "JUMP_IF")):
        _each(m, f, _SHALLOW.get(op, 1))
    else:
        _each(m, f, _DEEPLY.get(op, len(stack)), _DEEP)


def _is_own(m: Any, container: Any) -> bool:
    """A list or dict of the program's."""
    return type(container) in (list, dict) and m.is_born(container)


def _each(m: Any, f: Any, count: int, depth: int = 0) -> None:
    """The uppermost operands."""
    stack = f.stack
    for k in range(max(0, len(stack) - count), len(stack)):
        stack[k] = _known(m, f, stack[k]) if is_one_of(stack[k]) else settled_inside(m, stack[k], depth)


def _known(m: Any, f: Any, x: Any) -> Any:
    """The value itself, under all names that the function has for it."""
    found = settled(m, x)
    for k, local in enumerate(f.locals):
        if local is x:
            f.locals[k] = found
    return found


def _of_store(m: Any, f: Any, count: int) -> None:
    """Of value, object and index: a list or an object of the program's may keep the value as it is."""
    stack = f.stack
    _each(m, f, count - 1)
    owner = stack[-2] if count == 3 else stack[-1]
    if count == 3 and not _is_own(m, owner) or count == 2 and not m.is_born(owner):
        stack[-count] = settled_inside(m, stack[-count], _DEEP)


def _of_call(m: Any, f: Any, count: int) -> None:
    stack = f.stack
    fn = stack[-count - 1] if stack[-count - 2] is NULL else stack[-count - 2]
    fn = _known(m, f, fn) if is_one_of(fn) else fn
    if _hands_on(m, fn):
        return
    if any(fn is known for known in _SHALLOW_CALLS):
        _each(m, f, count)
    elif any(fn is known for known in _JOINS):
        _of_join(m, f, count)
    else:
        _each(m, f, count + 1, _DEEP)


def _hands_on(m: Any, fn: Any) -> bool:
    """A function that is interpreted, or one that appends to a list of the program's."""
    if type(fn) is types.BuiltinMethodType and fn.__name__ == "append":
        return _is_own(m, fn.__self__)
    fn = fn.__func__ if type(fn) is types.MethodType else fn
    return type(fn) is types.FunctionType and registry.intercept(fn) is None and interpretation.interpreted(fn)


def _of_join(m: Any, f: Any, count: int) -> None:
    """The first element that is no tensor makes torch fail: what comes after it does not count."""
    stack = f.stack
    place = len(stack) - count
    if not (count and type(stack[place]) in (list, tuple) and holds_any(stack[place], 1)):
        _each(m, f, count, _DEEP)
        return
    items = stack[place]
    found: list = []
    for x in items:
        found.append(settled(m, x))
        if found[-1] is None:
            found += [None] * (len(items) - len(found))
            break
    stack[place] = type(items)(found)
    _each(m, f, count, _DEEP)
