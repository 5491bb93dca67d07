# SPDX-License-Identifier: Apache-2.0
"""A state of the abstract machine, as data: frames, contents of touched objects, current block.

A state can be forked at any instruction and compared with another at the same point. `key()` orders
states: the one that is furthest behind runs first, so that the arms of a branch wait for each other
where they join.
"""

from __future__ import annotations

import itertools
import types
from typing import Any, Callable

from ..graph.program import Block
from .code import CodeInfo, Instr
from .heap import Overlay
from .kind import Kind, kind_for


class _Unbound:
    __slots__ = ()

    def __repr__(self) -> str:
        return "<unbound>"


UNBOUND = _Unbound()


class _Null:
    """The NULL that CPython's call protocol pushes on the stack."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<null>"


NULL = _Null()


class Frame:
    """One activation: code, position, locals (cells included), operand stack.

    `on_return(machine, state, value)`, if set, receives the returned value instead of the caller's
    stack; it must depend on nothing but its arguments and immutable data, since frames are forked.
    """

    __slots__ = ("info", "pc", "locals", "stack", "globals", "builtins", "function", "on_return", "iterations",
                 "handled", "kw_names", "result", "generator", "hidden", "loops", "extra", "decided")

    def __init__(self, info: CodeInfo, function: types.FunctionType, locals_: list):
        self.info = info
        self.pc = 0
        self.locals = locals_
        self.stack: list = []
        self.globals = function.__globals__
        self.builtins = function.__builtins__ if hasattr(function, "__builtins__") else {}
        self.function = function
        self.on_return: Callable | None = None
        self.iterations: dict[int, int] = {}
        self.handled: list = []  # exceptions being handled, innermost last
        self.kw_names: tuple = ()
        self.result: tuple | None = None  # (value,): what the call gives, whatever the frame returns (__init__)
        self.generator: Any = None  # the MGenerator this frame belongs to
        self.hidden = False  # a frame of our own polyfills: skipped in diagnostics
        self.loops: dict[int, Any] = {}  # header -> LoopEntry of the activation we are in
        self.extra: Any = None
        self.decided = 0  # decisions on the path when the frame was entered

    def copy(self) -> "Frame":
        new = Frame.__new__(Frame)
        _copy_slots(self, new)
        new.locals = self.locals[:]
        new.stack = self.stack[:]
        new.iterations = self.iterations.copy()
        new.handled = self.handled[:]
        new.loops = self.loops.copy()
        return new

    def point(self) -> tuple:
        info, pc = self.info, self.pc
        path: list[int] = []
        for header in info.loops_of[pc]:
            path.append(info.rank[header])
            path.append(self.iterations.get(header, 0))
        path.append(info.rank[pc])
        return tuple(path)

    def in_another_loop(self, other: "Frame") -> bool:
        """Whether the two came into the loop they are in apart, and one of them may still begin it anew."""
        for header in self.loops.keys() & other.loops.keys():
            ours, theirs = self.loops[header][0], other.loops[header][0]
            if ours is theirs or self.pc not in self.info.loop_body[header]:
                continue
            # the two, and the headers that only one of them lies behind
            apart = {ours, theirs} | set(ours.chain()) ^ set(theirs.chain())
            if not all(entry.mode == "unroll" for entry in apart):
                return True
        return False

    @property
    def instr(self) -> Instr:
        return self.info.instrs[self.pc]


@kind_for(Frame)
class Frames(Kind):
    """Of generators: what is in their variables and operands."""

    def reached(self, walk: Any, obj: Any) -> None:
        walk.work.extend(obj.locals)
        walk.work.extend(obj.stack)


def _slot_copier(kind: Any) -> Callable:
    """A function (old, new) that copies every slot, written out: states are forked tens of thousands of times."""
    lines = "\n".join(f"    new.{name} = old.{name}" for name in kind.__slots__)
    space: dict = {}
    exec(f"def copy(old, new):\n{lines}", space)
    return space["copy"]


_copy_slots = _slot_copier(Frame)
_state_ids = itertools.count()


class State:
    __slots__ = ("id", "frames", "overlay", "block", "known", "prefix", "lineage", "finished",
                 "decided", "stored", "tag", "since", "ranges")

    def __init__(self, frames: list[Frame], overlay: Overlay, block: Block):
        self.id = next(_state_ids)
        self.tag = self.id  # kept by forks: states of one tag share their outer frames' history
        self.frames = frames
        self.overlay = overlay
        self.block = block
        self.known: dict[int, bool] = {}  # graph value id -> truth decided on this path
        self.ranges: dict[int, tuple] = {}  # graph value id -> what the path says about an int (state/path_facts.py)
        # what the present instruction asked (machine/conditions.py), and the answers
        self.prefix: tuple[tuple[Any, bool], ...] = ()
        self.since = 0  # the first value id of the present instruction
        self.lineage: frozenset = frozenset()  # LoopEntries this state has come through
        self.finished: Any = None  # (kind, payload) when the program ended here
        self.stored: frozenset = frozenset()  # (id, name) of attributes of outside objects written on this path
        self.decided = 0

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def being_handled(self) -> BaseException | None:
        """The exception whose handler is running, in this frame or in a caller's."""
        return next((frame.handled[-1] for frame in reversed(self.frames) if frame.handled), None)

    def fork(self) -> "State":
        new = State([f.copy() for f in self.frames], self.overlay.fork(), self.block)
        new.known = dict(self.known)
        new.ranges = dict(self.ranges)
        new.prefix = self.prefix
        new.since = self.since
        new.lineage = self.lineage
        new.stored = self.stored
        new.tag = self.tag
        new.decided = self.decided
        return new

    def key(self) -> tuple:
        if self.finished is not None:
            return ((1 << 60,),)
        return tuple(frame.point() for frame in self.frames)

    def is_before(self, key: tuple) -> bool:
        """self.key() < key, of an unfinished state: the innermost frames seldom count."""
        for frame, other in zip(self.frames, key):
            point = frame.point()
            if point != other:
                return point < other
        return len(self.frames) < len(key)
