# SPDX-License-Identifier: Apache-2.0
"""The model's code run by code outside the machine: functions that torch's own Python calls back.

A callback (the function under torch.vmap, in tree_map, in a decorator of torch) runs as it is, over symbolic tensors.
Its tensor operations are recorded and its questions become branches, but what it writes to objects would be written
once, while the program is compiled. So one that writes is refused. The same goes for special methods of the user's
classes that native code runs (`hash(key)` of a dict's lookup, `__index__` of an element,
`__eq__` of what two lists hold).
"""

from __future__ import annotations

import collections
import contextlib
import dis
import functools
import itertools
import sys
import types
from typing import Any

import torch

from ...objects import closed_over
from ..diagnostics import CaptureRefusal
from ..state.interpreter import Interpreter
from ..values.native_entries import NATIVE_ENTRIES
from ..values.stand_in import is_opaque
from . import interpretation

_WRITES = {"STORE_ATTR", "DELETE_ATTR", "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_SUBSCR", "DELETE_SUBSCR"}
_CHANGING = {"append", "extend", "insert", "pop", "clear", "update", "setdefault", "popitem",
             "appendleft", "popleft", "discard"}
_HOLDING = (list, dict, set, collections.deque, bytearray)
_CHANGING_NATIVELY = {"add", "remove", "sort", "reverse", "rotate", "extendleft",
                      "difference_update", "intersection_update",
                      # beside those: names that tensors have too, so that the object decides
                      "symmetric_difference_update", "move_to_end"}


def expected(fn: Any, args: tuple, kwargs: dict) -> bool:
    """fn has hold of code of the model: in its closure or among its arguments."""
    held = [*args, *kwargs.values()]
    if not interpretation.is_native_package(fn):
        held += closed_over(fn)
    held += [y for x in held if type(x) in (list, tuple) for y in x]
    return any(_is_code(x) for x in held)


def given_methods(fn: Any, args: tuple, kwargs: dict) -> bool:
    """fn is given, or belongs to, objects whose special methods the model defines, or code of the model."""
    return any(_has_methods(x) or (type(x) in _CODE or isinstance(x, torch.nn.Module)) and _is_code(x)
               for x in (getattr(fn, "__self__", None), *args, *kwargs.values()))


# Instructions whose operands native code may ask, and how many of them;
# of those that call, operands are counted by `arg`.
_ASKING = {"BINARY_OP": 2, "COMPARE_OP": 2, "CONTAINS_OP": 2, "BINARY_SUBSCR": 2, "STORE_SUBSCR": 2, "DELETE_SUBSCR": 2,
           "BINARY_SLICE": 3, "STORE_SLICE": 4, "SET_ADD": 1, "MAP_ADD": 2, "FORMAT_VALUE": 2,
           "SET_UPDATE": 1, "DICT_UPDATE": 1, "DICT_MERGE": 1, "LIST_EXTEND": 1, "UNPACK_SEQUENCE": 1, "UNPACK_EX": 1,
           "GET_ITER": 1, "CALL_FUNCTION_EX": 2}
_COUNTED = {"BUILD_SET": 1, "BUILD_MAP": 2, "CALL": 1}


def asked(ins: Any, stack: list) -> bool:
    """Among the operands of the instruction are objects whose special methods the model defines."""
    count = _ASKING.get(ins.op)
    if count is None:
        count = _COUNTED.get(ins.op)
        if count is None:
            return False
        count *= ins.arg
        if ins.op == "CALL" and any(type(x) in _BOUND and _of_users(type(x.__self__))
                                    for x in stack[-count - 2:len(stack) - count]):
            return True
    deep = ins.op not in ("BINARY_SUBSCR", "STORE_SUBSCR", "DELETE_SUBSCR", "BINARY_SLICE", "STORE_SLICE", "GET_ITER")
    return count > 0 and any(_has_methods(x, 2 if deep else 0) for x in stack[-count:])


_PLAIN = frozenset((int, float, bool, str, bytes, type(None), type, types.FunctionType,
                    types.BuiltinFunctionType, types.MethodType))
_BOUND = (types.BuiltinMethodType, types.MethodWrapperType)
_CODE = (types.FunctionType, types.MethodType)
_HOLDERS = (list, tuple, set, frozenset, dict, slice)


def _has_methods(x: Any, depth: int = 2) -> bool:
    kind = type(x)
    if kind in _PLAIN:
        return False
    if kind is slice:
        return any(_has_methods(y, 0) for y in (x.start, x.stop))
    if kind in _HOLDERS:
        if depth > 0 and any(_has_methods(y, depth - 1) for y in itertools.islice(x, 64)):
            return True
        return kind is dict and depth > 0 and any(_has_methods(y, depth - 1) for y in itertools.islice(x.values(), 64))
    return _of_users(kind)


@functools.lru_cache(maxsize=None)
def _of_users(kind: type) -> bool:
    """A class with special methods that are code of the model."""
    for base in kind.__mro__:
        for name, found in vars(base).items():
            if (
                name[:2] == "__"
                and name not in ("__init__", "__new__", "__call__")
                and isinstance(found, types.FunctionType)
                and not interpretation.is_python_or_torch(found.__code__.co_filename)
                and interpretation.interpreted(found)
            ):
                return True
    return False


def _is_code(x: Any, depth: int = 0) -> bool:
    if depth > 8:  # a closure may hold itself
        return False
    if isinstance(x, types.FunctionType):
        return interpretation.interpreted(x) or any(_is_code(y, depth + 1) for y in closed_over(x))
    if isinstance(x, types.MethodType):
        return _is_code(x.__func__, depth + 1)
    if isinstance(x, functools.partial):
        return any(_is_code(y, depth + 1) for y in (x.func, *x.args))
    return isinstance(x, torch.nn.Module)


@contextlib.contextmanager
def watched(m: Interpreter, fn: Any, anywhere: bool = False):
    """Within it a callback that writes is refused, whatever fn (a function, or what the instruction does) makes of the
    error, and what one reads is noted. `anywhere`: also one that this package's own code runs."""
    found: list[types.CodeType] = []
    changing: set[types.CodeType] = set()

    def look(frame, event, result):
        if event == "c_call" and not (isinstance(getattr(result, "__self__", None), _HOLDING)
                                      and result.__name__ in _CHANGING_NATIVELY):
            return
        if (
            event not in ("call", "return", "c_call")
            or found
            or interpretation.is_python_or_torch(frame.f_code.co_filename)
            or not _of_model(frame, anywhere)
        ):
            return
        if event == "return":
            if anywhere and is_opaque(result) and not _of_model(frame.f_back, anywhere):
                found.append(frame.f_code)
            return
        if event == "c_call" or writes(frame.f_code):
            found.append(frame.f_code)
            changing.add(frame.f_code)
            raise _refusal(fn, frame.f_code, True)
        _note_reads(m, frame)

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(before)
        if found:
            raise _refusal(fn, found[0], found[0] in changing)


@contextlib.contextmanager
def explained():
    """A special method that native code runs and that branches on a tensor asks torch itself, which knows no answer."""
    try:
        yield
    except CaptureRefusal as refusal:
        if not refusal.is_kind("symbol.unknown"):
            raise
        raise CaptureRefusal("native code calls a special method of an object here, "
                             "which depends on values known only at run time",
                             "call it and hand over what it gives", kind="escape.callback") from refusal


def _refusal(fn: Any, code: types.CodeType, changes: bool) -> CaptureRefusal:
    name = fn if isinstance(fn, str) else getattr(fn, "__qualname__", str(fn))
    if not changes:
        return CaptureRefusal(f"{name} calls {code.co_name} (line {code.co_firstlineno} of "
                              f"{code.co_filename}), which gives a value known only at run time",
                              "call it and hand over what it gives", kind="escape.callback")
    return CaptureRefusal(f"{name} calls {code.co_name} (line {code.co_firstlineno} of "
                          f"{code.co_filename}), which writes to objects or buffers: "
                          "outside the machine that would be done once, when the program is compiled",
                          f"let {code.co_name} return what it computes and write it after the call",
                          kind="callback.writes")


def _note_reads(m: Interpreter, frame: types.FrameType) -> None:
    """What the code might read of objects that the program may have changed in an earlier call:
    all that its names reach."""
    names = frame.f_code.co_names
    todo = list(frame.f_locals.values())
    for name in names:
        if name in frame.f_globals:
            m.note_load(frame.f_globals, name)
            todo.append(frame.f_globals[name])
    seen: set[int] = set()
    while todo and len(seen) < 1000:
        x = todo.pop()
        if id(x) in seen or type(x) in _PLAIN or isinstance(x, (torch.Tensor, types.ModuleType, type)):
            continue
        seen.add(id(x))
        if isinstance(x, (list, tuple, set, frozenset, dict, collections.deque)):
            m.note_read(x)
            todo += itertools.islice(x.values() if isinstance(x, dict) else x, 64)
        todo += _named_in(m, x, names)
        if "__dict__" in names or "vars" in names or "getattr" in names:
            m.note_load(x, "*")


def _named_in(m: Interpreter, x: Any, names: tuple) -> list:
    """What x has under these names; the reads are noted."""
    found = []
    own = getattr(x, "__dict__", None)
    tables = [own[t] for t in _TABLES if t in own] if isinstance(x, torch.nn.Module) else []
    for name in names:
        m.note_load(x, name)
        for table in ([own] if isinstance(own, dict) else []) + tables:
            if table is not own:
                m.note_load(table, name)
            if name in table:
                found.append(table[name])
    return found


_TABLES = ("_parameters", "_buffers", "_modules")


@functools.lru_cache(maxsize=None)
def writes(code: types.CodeType) -> bool:
    """By its instructions it may change something that lives on after the call."""
    for i in dis.get_instructions(code):
        if i.opname in _WRITES or i.opname == "STORE_DEREF" and i.argval in code.co_freevars:
            return True
        if i.opname in ("LOAD_METHOD", "LOAD_ATTR") and isinstance(i.argval, str):
            in_place = i.argval.endswith("_") and not i.argval.startswith("_")
            called = i.opname == "LOAD_METHOD" or sys.version_info >= (3, 12) and i.arg is not None and i.arg & 1
            if in_place or called and i.argval in _CHANGING:
                return True
    return False


def _of_model(frame: types.FrameType, anywhere: bool) -> bool:
    code = frame.f_code
    return (
        code.co_name != "__init__"
        and not interpretation.is_python_or_torch(code.co_filename)
        and interpretation.interpreted(
            types.FunctionType(code, frame.f_globals, closure=tuple(types.CellType() for _ in code.co_freevars))
        )
        and not _inner(frame, anywhere)
    )


def _inner(frame: types.FrameType | None, anywhere: bool) -> bool:
    """Called by an import, or by the recorder while it answers the callback."""
    while frame is not None and frame.f_code.co_name != "<module>":
        if interpretation.is_ours(frame.f_code.co_filename):
            return not anywhere and frame.f_code not in NATIVE_ENTRIES
        frame = frame.f_back
    return True
