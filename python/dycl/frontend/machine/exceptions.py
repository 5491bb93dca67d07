# SPDX-License-Identifier: Apache-2.0
"""Handlers of the program's exceptions, read off its code: which exceptions one takes,
and whether it goes on afterwards."""

from __future__ import annotations

import builtins
from typing import Any

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
