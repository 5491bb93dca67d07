# SPDX-License-Identifier: Apache-2.0
"""What an instruction or a call gives instead of a value, and the usual receivers of a result that arrives later."""

from __future__ import annotations

from typing import Any

from .interpreter import Interpreter
from .state import State

PUSHED = object()  # a frame was pushed; the result arrives on the caller's stack later
JUMPED = object()  # the handler has set the position itself


def drop(m: Interpreter, s: State, value: Any) -> None:
    return None


def push_none(m: Interpreter, s: State, value: Any) -> None:
    s.frames[-1].stack.append(None)
    return None


def as_call(s: Any, result: Any) -> Any:
    """A store written as a call (setattr, operator.setitem): it gives None."""
    if result is PUSHED:
        s.frames[-1].on_return = push_none
    return result
