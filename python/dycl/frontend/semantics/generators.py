# SPDX-License-Identifier: Apache-2.0
"""Methods of generators and of the machine's own iterators: send, throw, close."""

from __future__ import annotations

from typing import Any

from ..diagnostics import CaptureRefusal
from ..polyfills import builtins as polyfills
from ..state.interpreter import Interpreter
from ..state.iterators import MGenerator
from ..state.state import State
from ..values import chosen_text, text_with_integers
from ..values.escape import Thrown
from ..values.stand_in import type_of
from ..values.text import RtText
from ..values.text_formatting import text_method
from . import iteration, registry


class BoundSpecial:
    """A method of one of the machine's own objects (generators)."""

    __slots__ = ("obj", "name")

    def __init__(self, obj: Any, name: str):
        self.obj, self.name = obj, name

    def call(self, m: Interpreter, s: State, args: tuple, kwargs: dict) -> Any:
        if self.name in ("__next__", "send"):
            if args and args[0] is not None and _has_not_begun(self.obj):
                raise TypeError("can't send non-None value to a just-started generator")
            return iteration.next_of(m, s, self.obj, args[0] if args else None)
        if (isinstance(self.obj, RtText) and not chosen_text.is_chosen(self.obj)
                and text_with_integers.has_method(self.obj, self.name)):
            return text_with_integers.method(m, self.obj, self.name, args, kwargs)
        if isinstance(self.obj, RtText) and chosen_text.has_method(self.obj, self.name):
            return chosen_text.method(m, self.obj, self.name, args, kwargs)
        if isinstance(self.obj, RtText):
            return text_method(self.obj, self.name, args)
        if self.name == "__iter__":
            return self.obj
        if self.name == "close":
            m.heap.touch(self.obj)
            if self.obj.frame is not None and self.obj.frame.info.guards(self.obj.frame.pc):
                return m.call(s, polyfills.close_generator, (self.obj,), {})
            self.obj.finish()
            return None
        if self.name == "throw":
            return _throw_into(m, s, self.obj, args)
        raise CaptureRefusal(f"{type_of(m, self.obj).__name__}.{self.name}", kind="generator")


@registry.finds(BoundSpecial)
def _find_special(fn: BoundSpecial) -> Any:
    return fn.call


def _has_not_begun(generator: Any) -> bool:
    frame = generator.frame if isinstance(generator, MGenerator) else None
    return frame is not None and frame.info.instrs[frame.pc - 1].op != "YIELD_VALUE"


def _throw_into(m: Interpreter, s: State, generator: MGenerator, args: tuple) -> Any:
    """generator.throw: the exception begins at the yield where the generator is suspended."""
    error = next((a for a in args if isinstance(a, BaseException)), None) or args[0]()
    frame = generator.frame
    if frame is None or _has_not_begun(generator):
        m.heap.touch(generator)
        generator.finish()
        raise Thrown(error)
    if frame.instr.op == "RESUME" and (frame.instr.arg or 0) & 3 == 2:
        raise CaptureRefusal("an exception thrown into a generator inside `yield from`", kind="generator")
    iteration.resume(m, s, generator, iteration.raise_stop, None)
    frame.stack.pop()
    frame.pc -= 1
    raise Thrown(error)
