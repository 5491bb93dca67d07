# SPDX-License-Identifier: Apache-2.0
"""What each bytecode instruction does (CPython 3.11 and 3.12).

A handler gets (machine, state, frame, instruction). It returns None to go on with the next
instruction, or JUMPED/PUSHED if it has set the position or pushed a frame. It may ask
`machine.decide(...)` only before it has changed anything: the instruction is then executed again. Here: variables,
jumps, operators and attributes; machine/opcodes_calls.py and machine/opcodes_control.py have the others.
"""

from __future__ import annotations

import array
import builtins
import sys
import types

import numpy as np

from ..semantics import attributes, identity, lookup, operators, subscripts
from ..state.kinds import contents_of
from ..state.signals import JUMPED, PUSHED
from ..state.state import NULL, UNBOUND
from ..values.native_entries import natively, refuse_own
from ..values.stand_in import negated, stand_in_of, truth_of
from . import dropped
from .opcode_table import HANDLERS, op, push_result

_SINCE_312 = sys.version_info >= (3, 12)


# ---- stack and variables -------------------------------------------------------------


@op("NOP", "RESUME", "PRECALL", "CACHE", "END_FOR")
def nop(m, s, f, i):
    return None


@op("POP_TOP")
def pop_top(m, s, f, i):
    closing = dropped.at_pop(m, s, f) if m.guarded else None
    if closing is None:
        f.stack.pop()
    return closing


@op("PUSH_NULL")
def push_null(m, s, f, i):
    f.stack.append(NULL)


@op("COPY")
def copy(m, s, f, i):
    f.stack.append(f.stack[-i.arg])


@op("KW_NAMES")
def kw_names(m, s, f, i):
    f.kw_names = f.info.code.co_consts[i.arg]


@op("SWAP")
def swap(m, s, f, i):
    st = f.stack
    st[-1], st[-i.arg] = st[-i.arg], st[-1]


@op("LOAD_CONST")
def load_const(m, s, f, i):
    f.stack.append(i.value)


@op("RETURN_CONST")
def return_const(m, s, f, i):
    closing = dropped.at_return(m, s, f, i.value) if m.guarded else None
    if closing is None:
        m.return_value(s, i.value)
    return closing or JUMPED


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
        value = cell.cell_contents
    except ValueError:
        raise _unbound(f, i.value) from None
    if type(value) in _ARRAYS:
        m.arrays_seen[id(value)] = value
    f.stack.append(value)


def _unbound(f, name):
    if name in f.info.code.co_cellvars:  # its own, which inner functions use too
        return UnboundLocalError(f"cannot access local variable '{name}' where it is not associated with a value")
    return NameError(f"cannot access free variable '{name}' where it is not associated with a value in enclosing scope")


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
    if not contents_of(cell):
        raise _unbound(f, i.value)
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


_ARRAYS = (np.ndarray, array.array)


def _note_global(m, f, name, value):
    """A global variable that is read, and perhaps written: a state between calls."""
    if not f.hidden:
        m.note_load(f.globals, name)
    if type(value) in _ARRAYS:
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
    f.stack.append(natively(__import__, i.value, f.globals, None, fromlist, level))


@op("IMPORT_FROM")
def import_from(m, s, f, i):
    module = f.stack[-1]
    try:
        f.stack.append(natively(getattr, module, i.value))
    except AttributeError as error:
        refuse_own(error)
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
        m.loops.note_test(f, value[1])
        truth = m.truth(value[1])
        f.stack[-1] = value[2]
        return truth
    method = lookup.truth_method(value)
    if method is None:
        m.loops.note_test(f, value)
        return m.truth(value)
    return m.call_then(s, method, (), {}, _retry_with_truth)


def _retry_with_truth(m, s, value):
    stack = s.frames[-1].stack
    stack[-1] = (_TOLD, truth_of(m, value), stack[-1])
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
    result = operators.binary(m, s, BINARY[i.arg - 13 if inplace else i.arg], a, b, inplace)
    return _replace(f, 2, result)


def _replace(f, count, result):
    """Replaces `count` operands by a result; a pushed frame returns onto the cleaned stack."""
    del f.stack[-count:]
    return push_result(f, result)


@op("UNARY_NEGATIVE")
def unary_negative(m, s, f, i):
    return push_result(f, operators.unary(m, s, "neg", f.stack.pop()))


@op("UNARY_POSITIVE")
def unary_positive(m, s, f, i):
    return push_result(f, operators.unary(m, s, "pos", f.stack.pop()))


@op("UNARY_INVERT")
def unary_invert(m, s, f, i):
    return push_result(f, operators.unary(m, s, "invert", f.stack.pop()))


@op("UNARY_NOT")
def unary_not(m, s, f, i):
    value = f.stack[-1]
    own = stand_in_of(value)
    truth = own.truth(m) if own is not None else NotImplemented
    if truth is not NotImplemented:
        f.stack[-1] = negated(m, truth)
        return None
    truth = _truth_or_call(m, s, f)
    if truth is PUSHED or truth is JUMPED:
        return truth
    f.stack[-1] = not truth


COMPARE = {"<": "lt", "<=": "le", "==": "eq", "!=": "ne", ">": "gt", ">=": "ge"}


@op("COMPARE_OP")
def compare_op(m, s, f, i):
    b, a = f.stack[-1], f.stack[-2]
    return _replace(f, 2, operators.compare(m, s, COMPARE[str(i.value)], a, b))


@op("IS_OP")
def is_op(m, s, f, i):
    b, a = f.stack.pop(), f.stack.pop()
    f.stack.append((identity.same_object(m, a, b)) != bool(i.arg))


@op("CONTAINS_OP")
def contains_op(m, s, f, i):
    container, item = f.stack[-1], f.stack[-2]
    result = operators.contains(m, s, container, item, negate=bool(i.arg))
    return _replace(f, 2, result)


@op("BINARY_SUBSCR")
def binary_subscr(m, s, f, i):
    key, container = f.stack[-1], f.stack[-2]
    return _replace(f, 2, subscripts.get_item(m, s, container, key))


@op("STORE_SUBSCR")
def store_subscr(m, s, f, i):
    key, container, value = f.stack[-1], f.stack[-2], f.stack[-3]
    result = subscripts.set_item(m, s, container, key, value)
    del f.stack[-3:]
    return result


@op("DELETE_SUBSCR")
def delete_subscr(m, s, f, i):
    key, container = f.stack[-1], f.stack[-2]
    result = subscripts.delete_item(m, s, container, key)
    del f.stack[-2:]
    return result


@op("BINARY_SLICE")
def binary_slice(m, s, f, i):
    stop, start, container = f.stack[-1], f.stack[-2], f.stack[-3]
    return _replace(f, 3, subscripts.get_item(m, s, container, slice(start, stop)))


@op("STORE_SLICE")
def store_slice(m, s, f, i):
    stop, start, container, value = f.stack[-1], f.stack[-2], f.stack[-3], f.stack[-4]
    result = subscripts.set_item(m, s, container, slice(start, stop), value)
    del f.stack[-4:]
    return result


# ---- attributes ----------------------------------------------------------------------


@op("LOAD_ATTR")
def load_attr(m, s, f, i):
    method = _SINCE_312 and i.arg & 1
    obj = f.stack.pop()
    if method:
        f.stack.append(NULL)
    return push_result(f, attributes.load_attr(m, s, obj, i.value))


@op("LOAD_METHOD")
def load_method(m, s, f, i):
    obj = f.stack.pop()
    f.stack.append(NULL)
    return push_result(f, attributes.load_attr(m, s, obj, i.value))


@op("LOAD_SUPER_ATTR")
def load_super_attr(m, s, f, i):
    """3.12: `super().name` and `super(cls, self).name`."""
    made_by, *args = f.stack[-3:]
    if made_by is not super:  # the program has a `super` of its own
        f.stack[-3:] = [None]
        return m.call_then(s, made_by, tuple(args) if i.arg & 2 else (), {}, _super_attr)
    del f.stack[-3:]
    if i.arg & 1:
        f.stack.append(NULL)
    return push_result(f, attributes.load_attr(m, s, super(*args), i.value))


def _super_attr(m, s, value):
    frame = s.frames[-1]
    del frame.stack[-1]
    if frame.instr.arg & 1:
        frame.stack.append(NULL)
    return push_result(frame, attributes.load_attr(m, s, value, frame.instr.value))


@op("STORE_ATTR")
def store_attr(m, s, f, i):
    obj, value = f.stack[-1], f.stack[-2]
    result = attributes.store_attr(m, s, obj, i.value, value)
    del f.stack[-2:]
    return result


@op("DELETE_ATTR")
def delete_attr(m, s, f, i):
    return attributes.delete_attr(m, s, f.stack.pop(), i.value)


# Those that only move values between variables and the operand stack: they ask nothing, push no frame and change no
# object, and where they raise (an unbound name) they have done nothing.
MOVERS = {name: HANDLERS[name] for name in (
    "NOP", "RESUME", "PRECALL", "POP_TOP", "PUSH_NULL", "COPY", "SWAP", "LOAD_CONST", "LOAD_FAST",
    "STORE_FAST", "LOAD_DEREF", "LOAD_GLOBAL", "KW_NAMES")}
