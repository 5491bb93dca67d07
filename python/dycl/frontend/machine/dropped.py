# SPDX-License-Identifier: Apache-2.0
"""Generators whose last reference goes: Python closes them, which runs their `finally` and leaves their `with`.

A loop that is left by break, return or an exception drops its iterator from the operand stack, and a frame that returns
drops its variables. What a suspended generator runs then is interpreted at that moment, as the instruction asks for it:
the instruction is executed again once they are closed. A reference that goes in another way (a variable assigned
again, an element taken out of a list) is not noticed here: the generator is found at the end and refused
(boundary/ends.py).
"""

from __future__ import annotations

from typing import Any

from ..semantics import calls
from ..state.signals import JUMPED
from ..state.state import Frame, State
from .exceptions import cleans_up
from .live_objects import walk


def close(m: Any, s: State, values: list, kept: Any) -> Any:
    """Closes what only `values` refer to, not `kept` nor the frames of the state. PUSHED, or None: there is nothing."""
    waiting = {key: g for key, g in m.guarded.items()
               if key in s.overlay.contents and key not in m.forgotten and g.frame is not None and cleans_up(g.frame)}
    if not waiting:
        return None
    others = walk(m, [*s.frames, *outside(m, s), *kept], dead_too=True)
    going = []
    for value in values:  # a generator inside of another one goes with that
        seen = walk(m, [value], waiting, dead_too=True)
        going += [g for key, g in waiting.items() if key in seen and key not in others and g not in going]
    if not going:
        return None
    return calls.call_then(m, s, m.polyfills.close_dropped, (tuple(going),), {}, _executed_again)


def _executed_again(m: Any, s: State, value: Any) -> Any:
    return JUMPED


def outside(m: Any, s: State) -> list:
    """Objects from before capture that the state has changed."""
    return [m.heap.objects[key] for key in s.overlay.contents if key not in m.born]


def at_pop(m: Any, s: State, f: Frame) -> Any:
    """Before the value on top of the stack goes."""
    value = f.stack.pop()
    found = close(m, s, [value], ())
    f.stack.append(value)
    return found


def at_return(m: Any, s: State, f: Frame, value: Any) -> Any:
    """Before the frame on top goes, with a value that it gives."""
    s.frames.pop()
    mine = [*f.locals, *f.stack]
    found = close(m, s, mine, (value, f.generator))
    if found is None:
        s.frames.append(f)
    else:
        s.frames.insert(-1, f)
    return found


def at_handler(m: Any, s: State, values: list, left: list[Frame]) -> None:
    """After an exception has taken these off the stacks of frames that it left, whose variables its traceback holds."""
    close(m, s, values, [x for f in left for x in f.locals])
