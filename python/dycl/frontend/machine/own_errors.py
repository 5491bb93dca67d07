# SPDX-License-Identifier: Apache-2.0
"""Whose an exception is that an instruction raised: the program's, or ours for having executed it.

values/native_entries.py says which ones our code or a marked call raised for the program. For the others Python itself
is asked: the instruction is executed once more, on the same operands, by Python alone. What that raises is the
program's; where it raises nothing, or the operands are of a kind that Python has not (stand-ins, handles of tensors),
the exception is a fault of ours and is refused. So no fault can take an `except` of the program.
"""

from __future__ import annotations

import functools
import operator
import re
import types
from typing import Any, Callable

import torch

from ..diagnostics import CaptureRefusal
from ..semantics import callbacks
from ..state.interpreter import Interpreter
from ..state.state import NULL
from ..torch_internals import FakeTensor
from ..values.escape import Escape, NeedDecision
from ..values.native_entries import is_of_program, operands_of, own_fault
from ..values.stand_in import StandIn

_OURS = (StandIn, torch.Tensor)
_BINARY = ("add", "and_", "floordiv", "lshift", "matmul", "mul", "mod", "or_", "pow", "rshift", "sub", "truediv", "xor")
_COMPARED = {"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt,
             ">=": operator.ge}
_IN_PLACE = [getattr(operator, f"i{name.strip('_')}") for name in _BINARY]
_OF_OPERANDS: dict[str, Callable] = {  # instruction -> (it, operand stack) -> (function, its operands)
    "BINARY_OP": lambda i, x: ((*(getattr(operator, n) for n in _BINARY), *_IN_PLACE)[i.arg], x[-2:]),
    "UNARY_NEGATIVE": lambda i, x: (operator.neg, x[-1:]),
    "UNARY_POSITIVE": lambda i, x: (operator.pos, x[-1:]),
    "UNARY_INVERT": lambda i, x: (operator.invert, x[-1:]),
    "COMPARE_OP": lambda i, x: (_COMPARED[str(i.value)], x[-2:]),
    "CONTAINS_OP": lambda i, x: (operator.contains, x[:-3:-1]),
    "BINARY_SUBSCR": lambda i, x: (operator.getitem, x[-2:]),
    "STORE_SUBSCR": lambda i, x: (operator.setitem, [x[-2], x[-1], x[-3]]),
    "DELETE_SUBSCR": lambda i, x: (operator.delitem, x[-2:]),
    "BINARY_SLICE": lambda i, x: (operator.getitem, [x[-3], slice(x[-2], x[-1])]),
    "STORE_SLICE": lambda i, x: (operator.setitem, [x[-3], slice(x[-2], x[-1]), x[-4]]),
    "FORMAT_VALUE": lambda i, x: (format, x[-2:] if i.arg & 4 else x[-1:]),
    "GET_ITER": lambda i, x: (iter, x[-1:]),
    "BUILD_SET": lambda i, x: (frozenset, [tuple(x[len(x) - i.arg:])]),
    "BUILD_MAP": lambda i, x: (frozenset, [tuple(x[len(x) - 2 * i.arg::2])]),
    "SET_ADD": lambda i, x: (hash, x[-1:]),
    "MAP_ADD": lambda i, x: (hash, x[-2:-1]),
    "LIST_EXTEND": lambda i, x: (list, x[-1:]),
    "SET_UPDATE": lambda i, x: (frozenset, x[-1:]),
    "DICT_UPDATE": lambda i, x: (dict, x[-1:]),
}
_NATIVE = (types.BuiltinFunctionType, types.MethodDescriptorType, types.MethodWrapperType,
           types.WrapperDescriptorType, types.ClassMethodDescriptorType)
# They may run code of the program.
_NEVER = (getattr, hasattr, setattr, delattr, eval, exec, __import__, input, next)
_HEAP_TYPE = 1 << 9


def as_of_program(m: Interpreter, ins: Any, stack: list, kw_names: tuple, error: Exception) -> Exception:
    """The exception that the program sees of an instruction that began with these operands."""
    if is_of_program(error):
        looked_at = not isinstance(error, LookupError) and any(map(_is_ours, operands_of(error)))
        if not looked_at and not _names_ours(error):
            return error
    else:
        found = _asked(m, ins, stack, kw_names)
        if found is not None and not _names_ours(found):
            return found
    raise own_fault(error) from error


def _asked(m: Interpreter, ins: Any, stack: list, kw_names: tuple) -> Exception | None:
    """What Python raises for the instruction."""
    function, operands, keywords = _operation(ins, stack, kw_names)
    given = [*operands, *keywords.values()]
    if function is None or any(map(_is_ours, given)) or m.has_runtime(given) or callbacks.asked(ins, stack):
        return None
    try:
        function(*operands, **keywords)
    except Exception as found:
        return found
    except (Escape, NeedDecision, CaptureRefusal):  # a stand-in further inside
        return None
    return None


def _operation(ins: Any, stack: list, kw_names: tuple) -> tuple[Callable | None, list, dict]:
    if ins.op in _OF_OPERANDS:
        return *_OF_OPERANDS[ins.op](ins, stack), {}
    if ins.op == "CALL":
        fn, *args = stack[len(stack) - ins.arg - 2:]
        if fn is NULL:
            fn, *args = args
        named = len(args) - len(kw_names)
        args, kwargs = args[:named], dict(zip(kw_names, args[named:]))
    elif ins.op == "CALL_FUNCTION_EX" and isinstance(stack[-1 - (ins.arg & 1)], (tuple, list)):
        args, kwargs = [*stack[-1 - (ins.arg & 1)]], {**stack[-1]} if ins.arg & 1 else {}
        fn = stack[-2 - (ins.arg & 1)]
    else:
        return None, [], {}
    return fn if _may_be_asked(fn, args) else None, args, kwargs


def _may_be_asked(fn: Any, args: list) -> bool:
    """A function of Python's own that runs no code of the program."""
    built_in = isinstance(fn, _NATIVE) or isinstance(fn, type) and not fn.__flags__ & _HEAP_TYPE
    owner = None if isinstance(fn, type) else getattr(fn, "__self__", None)
    # of those that are given nothing some ask the frame that they are called in: super, locals, vars
    given = bool(args) or owner is not None and not isinstance(owner, types.ModuleType)
    return built_in and given and fn not in _NEVER and not _is_ours(owner)


def _is_ours(x: Any) -> bool:
    return isinstance(x, _OURS)


def _names_ours(error: Exception) -> bool:
    """Python's message is about the class of one of ours: in eager there is another, or none."""
    if isinstance(error, RecursionError):  # calls of the program are no calls here
        return str(error.args[0] if error.args else "").startswith("maximum recursion depth exceeded")
    return any(isinstance(x, str) and not _names().isdisjoint(re.findall(r"\w+", x)) for x in error.args)


@functools.lru_cache(maxsize=None)
def _names() -> set[str]:
    found, work = {FakeTensor.__name__, *(f"Sym{kind}" for kind in ("Int", "Float", "Bool"))}, [StandIn]
    while work:
        below = work.pop().__subclasses__()
        found.update(cls.__name__ for cls in below)
        work += below
    return found
