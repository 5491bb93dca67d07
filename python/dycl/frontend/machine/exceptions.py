# SPDX-License-Identifier: Apache-2.0
"""Handlers of the program's exceptions, read off its code: which exceptions one takes,
and whether it goes on afterwards."""

from __future__ import annotations

import builtins
import contextlib
import types
from typing import Any

from ..state.code import info_of
from ..state.state import Frame


def ended_by(error: StopIteration) -> RuntimeError:
    """What a generator raises instead (PEP 479)."""
    made = RuntimeError("generator raised StopIteration")
    made.__cause__ = made.__context__ = error
    return made


def always_raises(info: Any, target: int) -> bool:
    """The handler that begins at `target` never goes on: whatever it does, an exception leaves it."""
    seen, work = {target}, [target]
    while work:
        k = work.pop()
        if info.instrs[k].op in ("POP_EXCEPT", "RETURN_VALUE", "RETURN_CONST", "YIELD_VALUE"):
            return False
        for successor in info.succ[k]:
            if successor not in seen:
                seen.add(successor)
                work.append(successor)
    return True


def takes(frame: Frame, start: int, errors: tuple) -> bool:
    instrs = frame.info.instrs
    if instrs[start].op != "PUSH_EXC_INFO":
        return False  # the clean-up of a handler
    if instrs[start + 1].op == "POP_TOP":
        return True  # except:
    for k in range(start + 1, len(instrs)):
        if instrs[k].op in ("POP_EXCEPT", "RERAISE", "WITH_EXCEPT_START"):
            return False
        if instrs[k].op == "CHECK_EXC_MATCH":
            named = instrs[k - 1]
            kind = (frame.globals.get(named.value, getattr(builtins, str(named.value), None))
                    if named.op == "LOAD_GLOBAL" else None)
            if not errors or not isinstance(kind, type) or any(issubclass(e, kind) for e in errors):
                return True
    return False


def may_take(frame: Frame, errors: tuple) -> tuple[bool, tuple]:
    """Whether a handler or a context of this frame, where it is now, might take one of these exceptions (any, if none
    is named), and which ones may come out of the frame."""
    instrs, handler = frame.info.instrs, frame.instr.handler
    while handler is not None:
        target = handler.target
        if instrs[target].op == "PUSH_EXC_INFO" and instrs[target + 1].op == "WITH_EXCEPT_START":
            if _swallows(frame.stack[handler.depth - 1], errors):
                return True, errors
        elif takes(frame, target, errors):
            if not always_raises(frame.info, target):
                return True, errors
            errors = errors and (*errors, Exception)  # what it raises instead
        handler = instrs[target].handler
    return False, errors


def _swallows(leave: Any, errors: tuple) -> bool:
    """Whether the `__exit__` of a context might take one of these exceptions."""
    code, owner = getattr(leave, "__func__", leave), getattr(leave, "__self__", None)
    if code is contextlib.suppress.__exit__:
        return not errors or any(issubclass(e, owner._exceptions) for e in errors)
    if code is contextlib._GeneratorContextManager.__exit__:
        frame = getattr(owner.gen, "frame", None)
        return frame is not None and may_take(frame, errors)[0]
    if code is contextlib.ExitStack.__exit__:
        return any(_swallows(one, errors) for _, one in owner._exit_callbacks)
    return isinstance(code, types.FunctionType) and not gives_nothing(info_of(code.__code__))


def gives_nothing(info: Any) -> bool:
    """It returns None or False wherever it returns."""
    given = [ins.value if ins.op == "RETURN_CONST" else before.value if before.op == "LOAD_CONST" else ins
             for before, ins in zip([info.instrs[0], *info.instrs], info.instrs)
             if ins.op in ("RETURN_CONST", "RETURN_VALUE")]
    return all(x is None or x is False for x in given)


def cleans_up(frame: Frame) -> bool:
    """Closing the generator that this frame belongs to, suspended here, runs code of the program."""
    instrs, handler = frame.info.instrs, frame.instr.handler
    while handler is not None:
        k = handler.target + 1
        while instrs[k].op.startswith("LOAD_") or instrs[k].op == "BUILD_TUPLE":
            k += 1
        own = instrs[handler.target].op != "PUSH_EXC_INFO"  # the end of an except clause; 3.12's own handler
        if not own and (instrs[k].op != "CHECK_EXC_MATCH" or takes(frame, handler.target, (GeneratorExit,))):
            return True
        handler = instrs[handler.target].handler
    return False
