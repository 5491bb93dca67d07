# SPDX-License-Identifier: Apache-2.0
"""Where native code runs on behalf of the program, and so which exceptions are the program's.

Ours runs in between all the time, so an exception that arrives may be a fault of ours: a table that lacks a key, a
shape function of torch that met a symbolic extent. None of those may enter the program, whose `except` would take it.
An exception is the program's if our code says so by a `raise`, or if it comes out of one of the functions that are
marked here, which do nothing but run an operation of the program. Anything else is a fault, wherever it happens.
"""

from __future__ import annotations

import dis
import types
from typing import Any, Callable

from ..diagnostics import CaptureRefusal
from ..torch_internals import OpOverload, OpOverloadPacket

NATIVE_ENTRIES: set[types.CodeType] = set()  # what they call back is the program's doing
_IMITATIONS: set[types.CodeType] = set()
_KERNELS = {OpOverload.__call__.__code__, OpOverloadPacket.__call__.__code__}  # what fails there are checks in C++

_OURS = __name__.partition(".")[0] + "."
_INTERPRETED = __package__.rpartition(".")[0] + ".polyfills."  # Python of the program's, where it is run at all
_RAISE = dis.opmap["RAISE_VARARGS"]


def enters_native_code(function: Callable) -> Callable:
    """The function runs an operation of the program, as it is."""
    NATIVE_ENTRIES.add(function.__code__)
    return function


def imitates_kernels(function: Callable) -> Callable:
    """The function runs what torch has in place of kernels. It is Python that may fail over a symbolic extent where
    the kernel would not: only what it, or a kernel in C++, raises on purpose is an exception of the program."""
    _IMITATIONS.add(function.__code__)
    return function


@enters_native_code
def natively(operation: Callable, *operands: Any, **named: Any) -> Any:
    """An operation of Python on objects of the program."""
    return operation(*operands, **named)


@imitates_kernels
def imitated(op: Callable, args: tuple, kwargs: dict) -> Any:
    """An op of torch on handles, for what it says of the result."""
    return op(*args, **kwargs)


def is_of_program(error: BaseException) -> bool:
    """Whether the program raised it: see above."""
    ours, inner = _came_by(error)
    if ours is None or inner is None:
        return False
    entry = ours.tb_frame.f_code
    if ours is not inner:
        return entry in NATIVE_ENTRIES or entry in _IMITATIONS and (_raises(inner) or inner.tb_frame.f_code in _KERNELS)
    return (entry in NATIVE_ENTRIES or entry in _IMITATIONS
            or _raises(inner) and not isinstance(error, AssertionError))  # which is how our code doubts itself


def is_imitated(error: BaseException) -> bool:
    """Whether it comes from what stands for a kernel."""
    ours, _ = _came_by(error)
    return ours is not None and ours.tb_frame.f_code in _IMITATIONS


def _came_by(error: BaseException) -> tuple:
    """Where it left the last frame of ours, and where it began."""
    ours, inner = None, None
    trace = error.__traceback__
    while trace is not None:
        home = trace.tb_frame.f_globals.get("__name__") or ""
        if home.startswith(_OURS) and not home.startswith(_INTERPRETED):
            ours = trace
        inner, trace = trace, trace.tb_next
    return ours, inner


def _raises(trace: types.TracebackType) -> bool:
    """Whether a `raise` statement was executed there."""
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] == _RAISE


def operands_of(error: BaseException) -> tuple:
    """What `natively` was given, if the exception came out of it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code is not natively.__code__:
        trace = trace.tb_next
    return trace.tb_frame.f_locals["operands"] if trace is not None else ()


def own_fault(error: BaseException) -> CaptureRefusal:
    text = " ".join(x for x in error.args if isinstance(x, str))[:200]
    refusal = CaptureRefusal("a step that cannot be followed with values known only at run time "
                             f"({type(error).__name__}: {text})", kind="internal")
    refusal.__cause__ = error
    return refusal


def refuse_own(error: BaseException) -> None:
    """For code of ours that expects an exception of the program, and would answer it."""
    if not is_of_program(error):
        raise own_fault(error) from error
