# SPDX-License-Identifier: Apache-2.0
"""What each bytecode instruction does (CPython 3.11 and 3.12).

A handler gets (machine, state, frame, instruction). It returns None to go on with the next
instruction, or JUMPED/PUSHED if it has set the position or pushed a frame. It may ask
`machine.decide(...)` only before it has changed anything: the instruction is then executed again.
"""

from __future__ import annotations

import builtins
import functools
import operator
import sys
import types
import typing

import numpy as np

from . import iterators, keys, protocol, tables
from .diagnostics import CaptureRefusal
from .machine import JUMPED, PUSHED, ended_by
from .runtime_text import RtText, format_value
from .rtlist import RtList
from .state import NULL, UNBOUND
from .values import RtScalar

_SINCE_312 = sys.version_info >= (3, 12)
HANDLERS: dict = {}

# Instructions of CPython 3.11 and 3.12 that the machine meets and refuses: (what the program does, what to do instead).
_ASYNC = ("a coroutine", "call plain functions")
_GROUPS = ("`except*`", "catch exceptions by `except`")
_NAMES = ("the body of a class or module", "define it outside the model's forward")
REFUSED: dict = {
    **dict.fromkeys(("GET_AITER", "GET_ANEXT", "BEFORE_ASYNC_WITH", "END_ASYNC_FOR", "GET_AWAITABLE", "ASYNC_GEN_WRAP"), _ASYNC),
    **dict.fromkeys(("CHECK_EG_MATCH", "PREP_RERAISE_STAR"), _GROUPS),
    **dict.fromkeys(("STORE_NAME", "DELETE_NAME", "SETUP_ANNOTATIONS", "LOAD_LOCALS", "LOAD_FROM_DICT_OR_GLOBALS",
                     "LOAD_FROM_DICT_OR_DEREF", "IMPORT_STAR", "PRINT_EXPR", "PRINT"), _NAMES),
    "TYPEALIAS": ("a `type` statement", "define it outside the model's forward"),
    **dict.fromkeys(("TYPEVAR_WITH_BOUND", "TYPEVAR_WITH_CONSTRAINTS"), ("a type parameter with a bound", "leave the bound out")),
    "DELETE_GLOBAL": ("`del` of a global variable", "set it to None"),
}
# Those that no code object given to `dis` has: pseudo-instructions of the compiler, and what the interpreter puts in their place.
UNSEEN = {"EXTENDED_ARG", "INTERPRETER_EXIT", "RESERVED", "SETUP_FINALLY", "SETUP_CLEANUP", "SETUP_WITH", "POP_BLOCK", "JUMP",
          "JUMP_NO_INTERRUPT", "LOAD_SUPER_METHOD", "LOAD_ZERO_SUPER_METHOD", "LOAD_ZERO_SUPER_ATTR", "STORE_FAST_MAYBE_NULL"}


def op(*names):
    def register(f):
        for name in names:
            HANDLERS[name] = f
        return f

    return register


def push_result(frame, result):
    """For handlers that end in a call: push an immediate result, or report the pushed frame."""
    if result is PUSHED or result is JUMPED:
        return result
    frame.stack.append(result)
    return None


# ---- stack and variables -------------------------------------------------------------


@op("NOP", "RESUME", "PRECALL", "CACHE", "END_FOR")
def nop(m, s, f, i):
    return None


@op("POP_TOP")
def pop_top(m, s, f, i):
    f.stack.pop()


@op("PUSH_NULL")
def push_null(m, s, f, i):
    f.stack.append(NULL)


@op("COPY")
def copy(m, s, f, i):
    f.stack.append(f.stack[-i.arg])


@op("SWAP")
def swap(m, s, f, i):
    st = f.stack
    st[-1], st[-i.arg] = st[-i.arg], st[-1]


@op("LOAD_CONST")
def load_const(m, s, f, i):
    f.stack.append(i.value)


@op("RETURN_CONST")
def return_const(m, s, f, i):
    m.return_value(s, i.value)
    return JUMPED


@op("LOAD_FAST", "LOAD_FAST_CHECK")
def load_fast(m, s, f, i):
    value = f.locals[f.info.local_index[i.value]]
    if value is UNBOUND:
        raise UnboundLocalError(f"cannot access local variable '{i.value}' where it is not associated with a value")
    f.stack.append(value)


@op("LOAD_FAST_AND_CLEAR")
def load_fast_and_clear(m, s, f, i):
    k = f.info.local_index[i.value]
    f.stack.append(UNBOUND if f.pc in f.info.dead_saves else f.locals[k])
    f.locals[k] = UNBOUND


@op("STORE_FAST")
def store_fast(m, s, f, i):
    value = f.stack.pop()
    m.hint(value, i.value, f)
    f.locals[f.info.local_index[i.value]] = value


@op("DELETE_FAST")
def delete_fast(m, s, f, i):
    k = f.info.local_index[i.value]
    if f.locals[k] is UNBOUND:
        raise UnboundLocalError(f"cannot access local variable '{i.value}' where it is not associated with a value")
    f.locals[k] = UNBOUND


@op("MAKE_CELL")
def make_cell(m, s, f, i):
    k = f.info.local_index[i.value]
    value = f.locals[k]
    cell = types.CellType() if value is UNBOUND else types.CellType(value)
    f.locals[k] = m.new(cell)


@op("COPY_FREE_VARS")
def copy_free_vars(m, s, f, i):
    for name, cell in zip(f.info.code.co_freevars, f.function.__closure__ or ()):
        f.locals[f.info.local_index[name]] = cell


@op("LOAD_CLOSURE")
def load_closure(m, s, f, i):
    f.stack.append(f.locals[f.info.local_index[i.value]])


@op("LOAD_DEREF", "LOAD_CLASSDEREF")
def load_deref(m, s, f, i):
    cell = f.locals[f.info.local_index[i.value]]
    try:
        f.stack.append(cell.cell_contents)
    except ValueError:
        raise NameError(f"cannot access free variable '{i.value}' where it is not associated with a value") from None


@op("STORE_DEREF")
def store_deref(m, s, f, i):
    cell = f.locals[f.info.local_index[i.value]]
    m.heap.touch(cell)
    value = f.stack.pop()
    m.hint(value, i.value, f)
    cell.cell_contents = value


@op("DELETE_DEREF")
def delete_deref(m, s, f, i):
    cell = f.locals[f.info.local_index[i.value]]
    m.heap.touch(cell)
    del cell.cell_contents


@op("LOAD_GLOBAL")
def load_global(m, s, f, i):
    value = _global(f, i.value)
    if (id(f.globals), i.value) not in m.loaded:
        _note_global(m, f, i.value, value)
    if i.arg & 1:
        f.stack.append(NULL)
    f.stack.append(value)


def _note_global(m, f, name, value):
    """A global variable that is read, and perhaps written: a state between calls."""
    if not f.hidden:
        m.note_load(f.globals, name)
    if type(value) is np.ndarray:
        m.arrays_seen[id(value)] = value


def _global(f, name):
    if name in f.globals:
        return f.globals[name]
    builtins = f.builtins
    if name in builtins:
        return builtins[name]
    raise NameError(f"name '{name}' is not defined")


@op("LOAD_NAME")
def load_name(m, s, f, i):
    if isinstance(f.extra, dict) and i.value in f.extra:
        f.stack.append(f.extra[i.value])
    else:
        f.stack.append(_global(f, i.value))


@op("STORE_GLOBAL")
def store_global(m, s, f, i):
    m.heap.touch(f.globals)
    m.note_store(f.globals, i.value)
    f.globals[i.value] = f.stack.pop()


@op("LOAD_ASSERTION_ERROR")
def load_assertion_error(m, s, f, i):
    f.stack.append(AssertionError)


@op("LOAD_BUILD_CLASS")
def load_build_class(m, s, f, i):
    f.stack.append(builtins.__build_class__)


@op("IMPORT_NAME")
def import_name(m, s, f, i):
    fromlist, level = f.stack.pop(), f.stack.pop()
    f.stack.append(__import__(i.value, f.globals, None, fromlist, level))


@op("IMPORT_FROM")
def import_from(m, s, f, i):
    module = f.stack[-1]
    try:
        f.stack.append(getattr(module, i.value))
    except AttributeError:
        full = f"{module.__name__}.{i.value}"
        if full not in sys.modules:
            raise ImportError(f"cannot import name '{i.value}' from '{module.__name__}'") from None
        f.stack.append(sys.modules[full])


# ---- jumps ---------------------------------------------------------------------------


@op("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
def jump(m, s, f, i):
    m.jump(f, i.target)
    return JUMPED


_TOLD = object()  # (_TOLD, truth, value) on the stack: user code has told the truth of a value


def _truth_or_call(m, s, f):
    """The truth of the value on top; PUSHED if user code must tell (the instruction then repeats)."""
    value = f.stack[-1]
    if type(value) is tuple and len(value) == 3 and value[0] is _TOLD:
        m.loops.note_test(s, f, value[1])
        truth = m.truth(value[1])
        f.stack[-1] = value[2]
        return truth
    method = protocol.truth_method(m, value)
    if method is None:
        m.loops.note_test(s, f, value)
        return m.truth(value)
    return protocol.call_then(m, s, method, (), {}, _retry_with_truth)


def _retry_with_truth(m, s, value):
    stack = s.frames[-1].stack
    stack[-1] = (_TOLD, value if isinstance(value, (bool, RtScalar)) else bool(value), stack[-1])
    return JUMPED


def _jump_if(m, s, f, i, when, keep):
    truth = _truth_or_call(m, s, f)
    if truth is PUSHED or truth is JUMPED:
        return truth
    if truth is when:
        if not keep:
            f.stack.pop()
        m.jump(f, i.target)
        return JUMPED
    f.stack.pop()
    return None


@op("POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_FALSE", "POP_JUMP_IF_FALSE")
def pop_jump_if_false(m, s, f, i):
    return _jump_if(m, s, f, i, False, keep=False)


@op("POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_TRUE", "POP_JUMP_IF_TRUE")
def pop_jump_if_true(m, s, f, i):
    return _jump_if(m, s, f, i, True, keep=False)


@op("JUMP_IF_FALSE_OR_POP")
def jump_if_false_or_pop(m, s, f, i):
    return _jump_if(m, s, f, i, False, keep=True)


@op("JUMP_IF_TRUE_OR_POP")
def jump_if_true_or_pop(m, s, f, i):
    return _jump_if(m, s, f, i, True, keep=True)


@op("POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_BACKWARD_IF_NONE", "POP_JUMP_IF_NONE")
def pop_jump_if_none(m, s, f, i):
    if f.stack.pop() is None:
        m.jump(f, i.target)
        return JUMPED


@op("POP_JUMP_FORWARD_IF_NOT_NONE", "POP_JUMP_BACKWARD_IF_NOT_NONE", "POP_JUMP_IF_NOT_NONE")
def pop_jump_if_not_none(m, s, f, i):
    if f.stack.pop() is not None:
        m.jump(f, i.target)
        return JUMPED


# ---- operators -------------------------------------------------------------------------

BINARY = {0: "add", 1: "and", 2: "floordiv", 3: "lshift", 4: "matmul", 5: "mul", 6: "mod", 7: "or", 8: "pow",
          9: "rshift", 10: "sub", 11: "truediv", 12: "xor"}


@op("BINARY_OP")
def binary_op(m, s, f, i):
    b, a = f.stack[-1], f.stack[-2]
    inplace = i.arg >= 13
    result = protocol.binary(m, s, BINARY[i.arg - 13 if inplace else i.arg], a, b, inplace)
    return _replace(f, 2, result)


def _replace(f, count, result):
    """Replaces `count` operands by a result; a pushed frame returns onto the cleaned stack."""
    del f.stack[-count:]
    return push_result(f, result)


@op("UNARY_NEGATIVE")
def unary_negative(m, s, f, i):
    return push_result(f, protocol.unary(m, s, "neg", f.stack.pop()))


@op("UNARY_POSITIVE")
def unary_positive(m, s, f, i):
    return push_result(f, protocol.unary(m, s, "pos", f.stack.pop()))


@op("UNARY_INVERT")
def unary_invert(m, s, f, i):
    return push_result(f, protocol.unary(m, s, "invert", f.stack.pop()))


@op("UNARY_NOT")
def unary_not(m, s, f, i):
    value = f.stack[-1]
    if isinstance(value, RtScalar):
        f.stack[-1] = m.scalars.unary("not", value)
        return None
    if m.is_tensor(value):
        truth = m.tensor_truth(value)
        f.stack[-1] = (not truth) if isinstance(truth, bool) else m.scalars.unary("not", truth)
        return None
    truth = _truth_or_call(m, s, f)
    if truth is PUSHED or truth is JUMPED:
        return truth
    f.stack[-1] = not truth


COMPARE = {"<": "lt", "<=": "le", "==": "eq", "!=": "ne", ">": "gt", ">=": "ge"}


@op("COMPARE_OP")
def compare_op(m, s, f, i):
    b, a = f.stack[-1], f.stack[-2]
    return _replace(f, 2, protocol.compare(m, s, COMPARE[str(i.value)], a, b))


@op("IS_OP")
def is_op(m, s, f, i):
    b, a = f.stack.pop(), f.stack.pop()
    f.stack.append((protocol.same_object(m, a, b)) != bool(i.arg))


@op("CONTAINS_OP")
def contains_op(m, s, f, i):
    container, item = f.stack[-1], f.stack[-2]
    result = protocol.contains(m, s, container, item, negate=bool(i.arg))
    return _replace(f, 2, result)


@op("BINARY_SUBSCR")
def binary_subscr(m, s, f, i):
    key, container = f.stack[-1], f.stack[-2]
    return _replace(f, 2, protocol.get_item(m, s, container, key))


@op("STORE_SUBSCR")
def store_subscr(m, s, f, i):
    key, container, value = f.stack[-1], f.stack[-2], f.stack[-3]
    result = protocol.set_item(m, s, container, key, value)
    del f.stack[-3:]
    return result


@op("DELETE_SUBSCR")
def delete_subscr(m, s, f, i):
    key, container = f.stack[-1], f.stack[-2]
    result = protocol.delete_item(m, s, container, key)
    del f.stack[-2:]
    return result


@op("BINARY_SLICE")
def binary_slice(m, s, f, i):
    stop, start, container = f.stack[-1], f.stack[-2], f.stack[-3]
    return _replace(f, 3, protocol.get_item(m, s, container, slice(start, stop)))


@op("STORE_SLICE")
def store_slice(m, s, f, i):
    stop, start, container, value = f.stack[-1], f.stack[-2], f.stack[-3], f.stack[-4]
    result = protocol.set_item(m, s, container, slice(start, stop), value)
    del f.stack[-4:]
    return result


# ---- attributes ----------------------------------------------------------------------


@op("LOAD_ATTR")
def load_attr(m, s, f, i):
    method = _SINCE_312 and i.arg & 1
    obj = f.stack.pop()
    if method:
        f.stack.append(NULL)
    return push_result(f, protocol.load_attr(m, s, obj, i.value))


@op("LOAD_METHOD")
def load_method(m, s, f, i):
    obj = f.stack.pop()
    f.stack.append(NULL)
    return push_result(f, protocol.load_attr(m, s, obj, i.value))


@op("LOAD_SUPER_ATTR")
def load_super_attr(m, s, f, i):
    """3.12: `super().name` and `super(cls, self).name`."""
    made_by, *args = f.stack[-3:]
    if made_by is not super:  # the program has a `super` of its own
        f.stack[-3:] = [None]
        return protocol.call_then(m, s, made_by, tuple(args) if i.arg & 2 else (), {}, _super_attr)
    del f.stack[-3:]
    if i.arg & 1:
        f.stack.append(NULL)
    return push_result(f, protocol.load_attr(m, s, super(*args), i.value))


def _super_attr(m, s, value):
    frame = s.frames[-1]
    del frame.stack[-1]
    if frame.instr.arg & 1:
        frame.stack.append(NULL)
    return push_result(frame, protocol.load_attr(m, s, value, frame.instr.value))


@op("STORE_ATTR")
def store_attr(m, s, f, i):
    obj, value = f.stack[-1], f.stack[-2]
    result = protocol.store_attr(m, s, obj, i.value, value)
    del f.stack[-2:]
    return result


@op("DELETE_ATTR")
def delete_attr(m, s, f, i):
    return protocol.delete_attr(m, s, f.stack.pop(), i.value)


# ---- building -------------------------------------------------------------------------


def _take(f, n):
    if n == 0:
        return []
    items = f.stack[-n:]
    del f.stack[-n:]
    return items


@op("BUILD_TUPLE")
def build_tuple(m, s, f, i):
    f.stack.append(tuple(_take(f, i.arg)))


@op("BUILD_LIST")
def build_list(m, s, f, i):
    f.stack.append(m.new(_take(f, i.arg)))


def _key(m, x, container=None):
    """An element of a set or key of a dict that is about to be made; one known only at run time is decided."""
    if not keys.at_run_time(x):
        return x
    return keys.any_key(m, x, container if container is not None else keys.site(m))


@op("BUILD_SET")
def build_set(m, s, f, i):
    if keys.wanted(m):
        items = _take(f, i.arg)
        return push_result(f, protocol.call(m, s, tables.fill_set, (keys.as_table(m, set()), tuple(items)), {}))
    found = {_key(m, x) for x in f.stack[len(f.stack) - i.arg:]}
    _take(f, i.arg)
    f.stack.append(keys.made(m, found))


@op("BUILD_MAP")
def build_map(m, s, f, i):
    if keys.wanted(m):
        items = _take(f, 2 * i.arg)
        return push_result(f, protocol.call(m, s, tables.fill, (keys.as_table(m, {}), tuple(items[::2]), tuple(items[1::2])), {}))
    names = [_key(m, x) for x in f.stack[len(f.stack) - 2 * i.arg::2]]
    f.stack.append(keys.made(m, dict(zip(names, _take(f, 2 * i.arg)[1::2]))))


@op("BUILD_CONST_KEY_MAP")
def build_const_key_map(m, s, f, i):
    names = f.stack.pop()
    f.stack.append(keys.made(m, dict(zip(names, _take(f, i.arg)))))


@op("BUILD_SLICE")
def build_slice(m, s, f, i):
    f.stack.append(slice(*_take(f, i.arg)))


@op("BUILD_STRING")
def build_string(m, s, f, i):
    f.stack.append(RtText.join(_take(f, i.arg)))


@op("FORMAT_VALUE")
def format_value_op(m, s, f, i):
    spec = f.stack.pop() if i.arg & 4 else ""
    value = f.stack.pop()
    return push_result(f, format_value(m, s, value, spec, i.arg & 3))


@op("LIST_TO_TUPLE")
def list_to_tuple(m, s, f, i):
    items = f.stack.pop()
    f.stack.append(m.lists.frozen(items, True) if isinstance(items, RtList) else tuple(items))


@op("LIST_APPEND")
def list_append(m, s, f, i):
    value = f.stack.pop()
    target = f.stack[-i.arg]
    if isinstance(target, RtList):
        return m.lists.append(target, value)
    m.heap.touch(target)
    target.append(value)


@op("SET_ADD")
def set_add(m, s, f, i):
    target = f.stack[-i.arg - 1]
    if isinstance(target, keys.TABLES):
        return protocol.call_then(m, s, tables.RtSet.add, (target, f.stack.pop()), {}, _drop_result)
    value = _key(m, f.stack[-1], target)
    f.stack.pop()
    m.heap.touch(target)
    target.add(value)


@op("MAP_ADD")
def map_add(m, s, f, i):
    target = f.stack[-i.arg - 2]
    if isinstance(target, keys.TABLES):
        key, value = _take(f, 2)
        return protocol.call_then(m, s, tables.RtDict.__setitem__, (target, key, value), {}, _drop_result)
    key = _key(m, f.stack[-2], target)
    value = f.stack.pop()
    f.stack.pop()
    m.heap.touch(target)
    target[key] = value


@op("LIST_EXTEND")
def list_extend(m, s, f, i):
    source = f.stack[-1]
    target = f.stack[-i.arg - 1]
    if isinstance(source, RtList) and isinstance(target, (list, RtList)):  # a display: nobody else knows the target
        f.stack.pop()
        f.stack[-i.arg] = m.lists.concat(target, source) if target else m.lists.frozen(source, False)
        return None
    items = iterators.materialise(m, source)
    if items is None or isinstance(target, RtList):
        f.stack.pop()
        return protocol.call_then(m, s, m.shim("extend_list"), (target, source), {}, _drop_result)
    f.stack.pop()
    m.heap.touch(target)
    target.extend(items)


def _drop_result(m, s, value):
    return None


@op("SET_UPDATE")
def set_update(m, s, f, i):
    source = f.stack[-1]
    target = f.stack[-i.arg - 1]
    items = iterators.materialise(m, source)
    if items is None or isinstance(target, keys.TABLES) or any(map(keys.at_run_time, items)):
        f.stack.pop()
        return protocol.call_then(m, s, m.shim("extend_set"), (target, source if items is None else items), {}, _drop_result)
    f.stack.pop()
    m.heap.touch(target)
    target.update(items)


@op("DICT_UPDATE", "DICT_MERGE")
def dict_update(m, s, f, i):
    source = f.stack[-1]
    if isinstance(source, keys.TABLES) or isinstance(f.stack[-i.arg - 1], keys.TABLES):
        if i.op == "DICT_MERGE":
            raise CaptureRefusal("a dict with keys known only at run time as keyword arguments", kind="escape.hash")
        f.stack.pop()
        return protocol.call_then(m, s, m.shim("update_mapping"), (f.stack[-i.arg], source, {}), {}, _drop_result)
    if not isinstance(source, dict):
        f.stack[-1] = None
        return protocol.call_then(m, s, m.shim("make_mapping"), (source, {}), {}, _retry_at(-1))
    f.stack.pop()
    target = f.stack[-i.arg]
    m.heap.touch(target)
    m.note_load(source, "*")
    if i.op == "DICT_MERGE":
        for key in source:
            if key in target:
                raise TypeError(f"got multiple values for keyword argument '{key}'")
    target.update(source)


@op("UNPACK_SEQUENCE")
def unpack_sequence(m, s, f, i):
    if isinstance(f.stack[-1], RtList):
        source = f.stack[-1]
        length = m.lists.length(source)
        fits = length == i.arg if isinstance(length, int) else m.decide(m.scalars.compare("eq", length, i.arg))
        if not fits:
            raise ValueError(f"not enough or too many values to unpack (expected {i.arg})")
        f.stack.pop()
        f.stack.extend(reversed([m.lists.get(source, k) for k in range(i.arg)]))
        return None
    items = iterators.materialise(m, f.stack[-1])
    if items is None:
        source = f.stack.pop()
        return protocol.call_then(m, s, m.shim("make_tuple"), (source,), {}, _retry)
    f.stack.pop()
    if len(items) != i.arg:
        few = len(items) < i.arg
        raise ValueError(f"not enough values to unpack (expected {i.arg}, got {len(items)})" if few
                         else f"too many values to unpack (expected {i.arg})")
    f.stack.extend(reversed(items))


def _retry(m, s, value):
    s.frames[-1].stack.append(value)
    return JUMPED


@op("UNPACK_EX")
def unpack_ex(m, s, f, i):
    _refuse_spread(m, f.stack[-1])
    items = iterators.materialise(m, f.stack[-1])
    if items is None:
        source = f.stack.pop()
        return protocol.call_then(m, s, m.shim("make_tuple"), (source,), {}, _retry)
    f.stack.pop()
    before, after = i.arg & 0xFF, i.arg >> 8
    if len(items) < before + after:
        raise ValueError(f"not enough values to unpack (expected at least {before + after}, got {len(items)})")
    middle = m.new(list(items[before:len(items) - after]))
    tail = list(items[len(items) - after:]) if after else []
    f.stack.extend(reversed([*items[:before], middle, *tail]))


# ---- calls ------------------------------------------------------------------------------


@op("KW_NAMES")
def kw_names(m, s, f, i):
    f.kw_names = f.info.code.co_consts[i.arg]


@op("CALL")
def call(m, s, f, i):
    count = i.arg
    names = f.kw_names
    args = f.stack[len(f.stack) - count:]
    fn, first = f.stack[-count - 2], f.stack[-count - 1]
    if fn is NULL:
        fn = first
    else:
        args = [first, *args]
    kwargs = {}
    if names:
        kwargs = dict(zip(names, args[len(args) - len(names):]))
        args = args[:len(args) - len(names)]
    # The operands are removed first: a pushed frame returns its value onto the cleaned stack.
    del f.stack[-count - 2:]
    f.kw_names = ()
    return push_result(f, protocol.call(m, s, fn, tuple(args), kwargs))


def _refuse_spread(m, source):
    if isinstance(source, RtList):
        m.lists.refuse(source, CaptureRefusal("a list whose length is known only at run time is spread over arguments",
                                              "pass the list itself, or torch.stack of it", kind="list.native"))


@op("CALL_FUNCTION_EX")
def call_function_ex(m, s, f, i):
    kwargs = f.stack[-1] if i.arg & 1 else {}
    args = f.stack[-2] if i.arg & 1 else f.stack[-1]
    _refuse_spread(m, args)
    items = iterators.materialise(m, args)
    if items is None:
        position = -2 if i.arg & 1 else -1
        f.stack[position] = None
        return protocol.call_then(m, s, m.shim("make_tuple"), (args,), {}, _retry_at(position))
    if not isinstance(kwargs, dict):
        f.stack[-1] = None
        return protocol.call_then(m, s, m.shim("make_mapping"), (kwargs, {}), {}, _retry_at(-1))
    del f.stack[-2 if i.arg & 1 else -1:]
    fn = f.stack.pop()
    if f.stack and f.stack[-1] is NULL:
        f.stack.pop()
    return push_result(f, protocol.call(m, s, fn, tuple(items), dict(kwargs)))


@functools.lru_cache(None)
def _retry_at(position):
    def place(m, s, value):
        s.frames[-1].stack[position] = value
        return JUMPED

    return place


@op("CALL_INTRINSIC_1")
def call_intrinsic_1(m, s, f, i):
    """3.12: what has no instruction of its own."""
    name = INTRINSICS_1[i.arg]
    if name in HANDLERS:
        return HANDLERS[name](m, s, f, i)
    if name == "STOPITERATION_ERROR":
        error = f.stack.pop()
        f.stack.append(ended_by(error) if isinstance(error, StopIteration) else error)
    elif name in ("TYPEVAR", "PARAMSPEC"):
        kind = typing.TypeVar if name == "TYPEVAR" else typing.ParamSpec
        f.stack.append(kind(f.stack.pop(), infer_variance=True))
    elif name == "TYPEVARTUPLE":
        f.stack.append(typing.TypeVarTuple(f.stack.pop()))
    elif name == "SUBSCRIPT_GENERIC":
        f.stack.append(typing.Generic[tuple(typing.Unpack[p] if isinstance(p, typing.TypeVarTuple) else p for p in f.stack.pop())])
    else:
        refuse(name)


INTRINSICS_1 = ("INVALID", "PRINT", "IMPORT_STAR", "STOPITERATION_ERROR", "ASYNC_GEN_WRAP", "UNARY_POSITIVE", "LIST_TO_TUPLE",
                 "TYPEVAR", "PARAMSPEC", "TYPEVARTUPLE", "SUBSCRIPT_GENERIC", "TYPEALIAS")
INTRINSICS_2 = ("INVALID", "PREP_RERAISE_STAR", "TYPEVAR_WITH_BOUND", "TYPEVAR_WITH_CONSTRAINTS", "SET_FUNCTION_TYPE_PARAMS")


@op("CALL_INTRINSIC_2")
def call_intrinsic_2(m, s, f, i):
    name = INTRINSICS_2[i.arg]
    if name != "SET_FUNCTION_TYPE_PARAMS":
        refuse(name)
    parameters = f.stack.pop()
    f.stack[-1].__type_params__ = parameters


def refuse(name: str):
    """The instruction or intrinsic `name` is not one of ours."""
    what, help = REFUSED.get(name, (f"the Python instruction {name}", ""))
    raise CaptureRefusal(f"{what} is not supported", help, kind="async" if what == _ASYNC[0] else "opcode")


@op("MAKE_FUNCTION")
def make_function(m, s, f, i):
    code = f.stack.pop()
    closure = f.stack.pop() if i.arg & 8 else None
    annotations = f.stack.pop() if i.arg & 4 else None
    kwdefaults = f.stack.pop() if i.arg & 2 else None
    defaults = f.stack.pop() if i.arg & 1 else None
    function = types.FunctionType(code, f.globals, code.co_name, defaults, closure)
    function.__kwdefaults__ = kwdefaults
    if annotations:
        function.__annotations__ = annotations if isinstance(annotations, dict) else dict(zip(annotations[::2], annotations[1::2]))
    function.__module__ = f.function.__module__
    f.stack.append(m.new(function))


@op("RETURN_VALUE")
def return_value(m, s, f, i):
    m.return_value(s, f.stack.pop())
    return JUMPED


# ---- iteration ---------------------------------------------------------------------------


@op("GET_ITER")
def get_iter(m, s, f, i):
    obj = f.stack.pop()
    if isinstance(obj, range) and iterators.only_counts(m, f, obj):
        return push_result(f, m.new(iterators.RtRangeIter(obj.start, obj.stop, obj.step)))
    return push_result(f, iterators.get_iter(m, s, obj))


@op("GET_YIELD_FROM_ITER")
def get_yield_from_iter(m, s, f, i):
    if isinstance(f.stack[-1], iterators.MGenerator):
        return None
    return push_result(f, iterators.get_iter(m, s, f.stack.pop()))


@op("FOR_ITER")
def for_iter(m, s, f, i):
    iterator = f.stack[-1]
    result = iterators.next_item(m, s, iterator, exhausted=_for_iter_done)
    if result is iterators.DONE:
        f.stack.pop()
        m.jump(f, i.target)
        return JUMPED
    return push_result(f, result)


def _for_iter_done(m, s, value):
    frame = s.frames[-1]
    frame.stack.pop()
    m.jump(frame, frame.instr.target)
    return JUMPED


@op("RETURN_GENERATOR")
def return_generator(m, s, f, i):
    if f.info.code.co_flags & 0x280:
        raise CaptureRefusal("a coroutine", "call a plain function", kind="async")
    m.advance(f)
    s.frames.pop()
    on_return = f.on_return
    f.on_return = None
    generator = m.new(iterators.MGenerator(f))
    if on_return is not None:
        return on_return(m, s, generator) or _advance_caller(m, s)
    caller = s.frames[-1]
    caller.stack.append(generator)
    m.advance(caller)
    return JUMPED


def _advance_caller(m, s):
    m.advance(s.frames[-1])
    return JUMPED


@op("YIELD_VALUE")
def yield_value(m, s, f, i):
    value = f.stack.pop()
    m.advance(f)
    iterators.suspend(m, s, f, value)
    return JUMPED


@op("SEND")
def send(m, s, f, i):
    sent, iterator = f.stack[-1], f.stack[-2]
    f.stack.pop()
    result = iterators.next_item(m, s, iterator, exhausted=send_done, sent=sent)
    if result is iterators.DONE:
        return send_done(m, s, None)
    return push_result(f, result)


def send_done(m, s, value):
    frame = s.frames[-1]
    if _SINCE_312:
        frame.stack.append(value)
    else:
        frame.stack[-1] = value
    m.jump(frame, frame.instr.target)
    return JUMPED


@op("END_SEND")
def end_send(m, s, f, i):
    value = f.stack.pop()
    f.stack[-1] = value


@op("CLEANUP_THROW")
def cleanup_throw(m, s, f, i):
    """3.12: an exception that came out of the iterator of `yield from`. Its StopIteration ends the delegation."""
    error = f.stack[-1]
    if not isinstance(error, StopIteration):
        raise error
    f.stack[-3:] = [None, error.value]


# ---- exceptions and with -------------------------------------------------------------------


@op("RAISE_VARARGS")
def raise_varargs(m, s, f, i):
    cause = f.stack[-1] if i.arg == 2 else None
    if i.arg == 0:
        active = s.being_handled()
        if active is None:
            raise RuntimeError("No active exception to reraise")
        raise active
    error = f.stack[-1 - (i.arg == 2)]
    if isinstance(error, type) and issubclass(error, BaseException):
        error = error()
    if not isinstance(error, BaseException):
        raise TypeError("exceptions must derive from BaseException")
    if cause is not None:
        error.__cause__ = cause() if isinstance(cause, type) else cause
    if not isinstance(error, Exception):
        raise CaptureRefusal(f"raising {type(error).__name__}", kind="raise")
    raise error


@op("PUSH_EXC_INFO")
def push_exc_info(m, s, f, i):
    error = f.stack.pop()
    f.stack.append(f.handled[-1] if f.handled else None)
    f.stack.append(error)
    f.handled.append(error)


@op("POP_EXCEPT")
def pop_except(m, s, f, i):
    f.stack.pop()
    if f.handled:
        f.handled.pop()


@op("CHECK_EXC_MATCH")
def check_exc_match(m, s, f, i):
    kind = f.stack.pop()
    f.stack.append(isinstance(f.stack[-1], kind))


@op("RERAISE")
def reraise(m, s, f, i):
    error = f.stack.pop()
    raise error


@op("BEFORE_WITH")
def before_with(m, s, f, i):
    manager = f.stack.pop()
    leave = protocol.special_method(m, manager, "__exit__")
    enter = protocol.special_method(m, manager, "__enter__")
    if enter is None or leave is None:
        raise TypeError(f"'{type(manager).__name__}' object does not support the context manager protocol")
    f.stack.append(leave)
    return push_result(f, protocol.call(m, s, enter, (), {}))


@op("WITH_EXCEPT_START")
def with_except_start(m, s, f, i):
    error = f.stack[-1]
    leave = f.stack[-4]
    return push_result(f, protocol.call(m, s, leave, (type(error), error, error.__traceback__), {}))


# ---- match ------------------------------------------------------------------------------------


@op("GET_LEN")
def get_len(m, s, f, i):
    f.stack.append(len(f.stack[-1]))


@op("MATCH_MAPPING")
def match_mapping(m, s, f, i):
    import collections.abc

    _refuse_pattern(f.stack[-1])
    f.stack.append(isinstance(f.stack[-1], collections.abc.Mapping))


def _refuse_pattern(subject):
    if isinstance(subject, (RtList, *keys.TABLES)):
        raise CaptureRefusal("a list or dict whose size is known only at run time in a `match`", "ask for its length first", kind="opcode")


@op("MATCH_SEQUENCE")
def match_sequence(m, s, f, i):
    import collections.abc

    subject = f.stack[-1]
    _refuse_pattern(subject)
    f.stack.append(isinstance(subject, collections.abc.Sequence) and not isinstance(subject, (str, bytes, bytearray)))


@op("MATCH_KEYS")
def match_keys(m, s, f, i):
    keys, subject = f.stack[-1], f.stack[-2]
    f.stack.append(tuple(subject[k] for k in keys) if all(k in subject for k in keys) else None)


@op("MATCH_CLASS")
def match_class(m, s, f, i):
    names = f.stack.pop()
    cls = f.stack.pop()
    subject = f.stack.pop()
    f.stack.append(_match_class(m, subject, cls, i.arg, names))


_SELF_MATCH = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def _match_class(m, subject, cls, positional, names):
    if not protocol.is_instance(m, subject, cls):
        return None
    values = []
    if positional:
        if issubclass(cls, _SELF_MATCH) and positional == 1:
            values.append(subject)
        else:
            names = (*cls.__match_args__[:positional], *names)
    for name in names:
        if not hasattr(subject, name):
            return None
        values.append(operator.attrgetter(name)(subject))
    return tuple(values)

# Those that only move values between variables and the operand stack: they ask nothing, push no frame and change no object, and
# where they raise (an unbound name) they have done nothing.
MOVERS = {name: HANDLERS[name] for name in (
    "NOP", "RESUME", "PRECALL", "POP_TOP", "PUSH_NULL", "COPY", "SWAP", "LOAD_CONST", "LOAD_FAST", "STORE_FAST", "LOAD_DEREF",
    "LOAD_GLOBAL", "KW_NAMES") if name in HANDLERS}
