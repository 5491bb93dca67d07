# SPDX-License-Identifier: Apache-2.0
"""The abstract machine: runs the user's bytecode with the real objects, forking where it must.

What does not depend on the input is simply computed. Operations on symbolic tensors and runtime
scalars are recorded into the current state's block. An instruction that needs the truth of a runtime
bool raises `NeedDecision`; the machine puts the instruction back, splits the state in two, and each
half executes the instruction again with its answer. States wait at joins for those behind them, and
merge there (merge.py); loops whose exit depends on the input become back edges (loops.py).
"""

from __future__ import annotations

import heapq
import itertools
import types
from typing import Any

from . import bytecode
from .diagnostics import CaptureRefusal, Restart
from .graph import Block, Branch, Edge, Goto, Graph, Span
from .heap import Heap, Overlay
from .scalars import Scalars
from .state import Frame, State
from .values import Escape, NeedDecision, RtBool, RtScalar

PUSHED = object()  # a frame was pushed; the result arrives on the caller's stack later
JUMPED = object()  # the handler has set the position itself


class Decisions:
    """What earlier attempts of this capture taught: kept over restarts."""

    def __init__(self) -> None:
        self.forbidden_merges: set = set()  # (code, pc, variable path): keep states apart
        self.unroll_loops: set = set()  # (code, header): no back edge was possible
        self.loopify: set = set()  # (code, header): unrolling did not end
        self.states: dict = {}  # (kind, id...) -> declared state slots
        self.restarts = 0


class Machine:
    def __init__(self, recorder_class, options, decisions: Decisions):
        from .loops import Loops
        from .merge import Merger
        from .opcodes import HANDLERS

        self.heap = Heap()
        self.recorder = recorder_class(self.heap)
        self.recorder.decide = self._native_decide
        self.scalars = Scalars(self.recorder)
        self.options = options
        self.decisions = decisions
        self.handlers = HANDLERS
        self.merger = Merger(self)
        self.loops = Loops(self)
        self.born: dict[int, Any] = {}  # objects made during capture, by id
        self.ready: list = []
        self.finished: list[State] = []
        self.current: State | None = None
        self.entry = Block(name="entry")
        self.graph = Graph(self.entry)
        self.loaded: dict[tuple[int, str], Any] = {}  # attributes of pre-existing objects that were read
        self.item_cache: dict[int, RtScalar] = {}
        self.warnings: list[str] = []
        self.steps = 0
        self._sequence = itertools.count()
        self._cursor = 0

    # ---- starting and scheduling ------------------------------------------------

    def start(self, function, args: tuple, kwargs: dict) -> None:
        """Runs function(*args, **kwargs) to all its ends; they are left in `finished`."""
        state = State([], Overlay(), self.entry)
        self.activate(state)
        self._enter(state, function, args, kwargs)
        self.push(state)
        while self.ready:
            for group in self.next_group():
                self.run_state(group)

    def _enter(self, state: State, function, args: tuple, kwargs: dict) -> None:
        from .shims import call_entry

        frame = Frame(bytecode.info_of(call_entry.__code__), call_entry, [])
        frame.locals = [None] * len(frame.info.local_names)
        frame.locals[0:3] = [function, tuple(args), dict(kwargs)]
        frame.hidden = True
        state.frames.append(frame)

    def push(self, state: State) -> None:
        heapq.heappush(self.ready, (state.key(), next(self._sequence), state))

    def next_group(self) -> list[State]:
        """The states that are furthest behind, merged where possible."""
        key, _, first = heapq.heappop(self.ready)
        group = [first]
        while self.ready and self.ready[0][0] == key:
            group.append(heapq.heappop(self.ready)[2])
        if len(group) > 1 and not first.finished:
            group = self.merger.merge(group)
        if len(group) + len(self.ready) > self.options.max_states:
            raise CaptureRefusal(
                f"more than {self.options.max_states} states of the program are alive at once: {self.merger.blame()}",
                "make the arms of the branches before this point leave the same kinds of values",
                span=self.span_of(group[0]), kind="blow-up")
        return group

    def activate(self, state: State) -> None:
        self.current = state
        self.heap.activate(state.overlay)
        self.recorder.block = state.block

    def span_of(self, state: State) -> Span | None:
        for frame in reversed(state.frames):
            if not frame.hidden:
                return frame.instr.span
        return None

    # ---- running one state --------------------------------------------------------

    def run_state(self, state: State) -> None:
        """Until it ends, forks, or reaches a join while others are behind it."""
        self.activate(state)
        fresh = True
        while True:
            frame = state.frames[-1]
            info = frame.info
            if not fresh and self.ready and frame.pc in info.joins:
                self.push(state)
                return
            fresh = False
            if frame.pc in info.loop_body and not self.loops.arrive(state, frame):
                return
            if not self.step(state):
                return
            state = self.current

    def step(self, state: State) -> bool:
        """One instruction. False: the state ended, was split or must wait."""
        frame = state.frames[-1]
        ins = frame.info.instrs[frame.pc]
        depth = len(state.frames)
        self.steps += 1
        self._cursor = 0
        self.recorder.span = ins.span if not frame.hidden else self.span_of(state)
        saved = frame.stack[:]
        saved_kw = frame.kw_names
        try:
            handler = self.handlers.get(ins.op)
            if handler is None:
                raise CaptureRefusal(f"the Python instruction {ins.op} is not supported", kind="opcode")
            result = handler(self, state, frame, ins)
            if result is None:
                self.advance(frame)
        except NeedDecision as need:
            self._rewind(state, frame, depth, saved, saved_kw)
            self.split(state, need.condition)
            return False
        except Escape as escape:
            self.on_escape(escape)
        except (CaptureRefusal, Restart):
            raise
        except Exception as error:  # an exception of the user's program
            if len(state.frames) > depth:
                raise
            state.prefix = ()
            return self.unwind(state, error)
        state.prefix = ()
        if state.finished is not None:
            self.finished.append(state)
            return False
        if self.ready and len(state.frames) < depth:  # returned: a place to meet
            self.push(state)
            return False
        return True

    def _rewind(self, state: State, frame: Frame, depth: int, stack: list, kw_names: tuple) -> None:
        if len(state.frames) != depth:
            raise AssertionError("a decision after a frame was pushed")
        frame.stack = stack
        frame.kw_names = kw_names

    def advance(self, frame: Frame) -> None:
        frame.pc += 1
        if frame.pc in frame.info.loop_body:  # fell into a loop from above
            self._enter_loop(frame, frame.pc)

    def jump(self, frame: Frame, target: int) -> None:
        source = frame.pc
        frame.pc = target
        if target in frame.info.loop_body:
            if (source, target) in frame.info.back_edges:
                frame.iterations[target] = frame.iterations.get(target, 0) + 1
            else:
                self._enter_loop(frame, target)

    def _enter_loop(self, frame: Frame, header: int) -> None:
        frame.iterations[header] = 0
        frame.loops.pop(header, None)

    # ---- decisions ------------------------------------------------------------------

    def decide(self, condition: RtBool) -> bool:
        """The truth of a runtime bool in the present state; splits the state if it is not known."""
        state = self.current
        known = state.known.get(condition.value.id)
        if known is not None:
            return known
        if self._cursor < len(state.prefix):
            answer = state.prefix[self._cursor]
            self._cursor += 1
            state.known[condition.value.id] = answer
            return answer
        raise NeedDecision(condition)

    def _native_decide(self, expression) -> bool:
        """Native torch code asks about a size or number known only at run time."""
        return self.decide(self.recorder.lower_condition(expression))

    def truth(self, value: Any) -> bool:
        """bool(value) for values that need no user code; see opcodes for objects with __bool__."""
        if isinstance(value, RtScalar):
            return self.decide(self.scalars.to_bool(value))
        if self.is_tensor(value):
            static = self.tensor_truth(value)
            return static if isinstance(static, bool) else self.decide(static)
        return bool(value)

    def split(self, state: State, condition: RtBool) -> None:
        self.heap.save()
        span = self.span_of(state)
        frame = state.frames[-1]
        block = state.block
        if_true, if_false = Block(block, span), Block(block, span)
        block.exit = Branch(condition.value, Edge(if_true), Edge(if_false))
        block.exit_span = span
        self.loops.note_fork(state, frame)
        other = state.fork()
        for one, target, answer in ((state, if_true, True), (other, if_false, False)):
            one.block = target
            one.known[condition.value.id] = answer
            one.prefix = (*one.prefix, answer)
            one.decided += 1
        self.push(state)
        self.push(other)

    # ---- exceptions ------------------------------------------------------------------

    def unwind(self, state: State, error: BaseException) -> bool:
        """Finds the handler of an exception of the user's program. True: go on running."""
        popped = False
        while state.frames:
            frame = state.frames[-1]
            ins = frame.instr
            if ins.op == "FOR_ITER" and isinstance(error, StopIteration):
                frame.stack.pop()
                self.jump(frame, self.exhausted_target(ins))
                return True
            if ins.handler is not None:
                del frame.stack[ins.handler.depth:]
                if ins.handler.lasti:
                    frame.stack.append(frame.pc)
                frame.stack.append(error)
                self.jump(frame, ins.handler.target)
                if popped and self.ready:
                    self.push(state)
                    return False
                return True
            if frame.extra is not None and hasattr(frame.extra, "on_exception"):
                replacement = frame.extra.on_exception(self, state, error)
                if replacement is not None:
                    state.frames.pop()
                    return replacement
            if frame.generator is not None:
                self.heap.touch(frame.generator)
                frame.generator.finish()
                if isinstance(error, StopIteration):
                    error = RuntimeError("generator raised StopIteration")
            state.frames.pop()
            popped = True
        state.finished = ("raise", error)
        self.finished.append(state)
        return False

    @staticmethod
    def exhausted_target(ins) -> int:
        # 3.12 jumps to END_FOR and skips it, as the iterator is popped already.
        return ins.target + 1 if bytecode.sys.version_info >= (3, 12) else ins.target

    def on_escape(self, escape: Escape) -> None:
        value = escape.value
        self.forbid_if_merged(value)
        raise CaptureRefusal(
            f"a value known only at run time cannot be used here ({escape.how})",
            "compute it with tensor or number operations, or keep it out of native code",
            kind=f"escape.{escape.how.split()[0]}", because=value)

    def forbid_if_merged(self, value: Any) -> None:
        """A runtime scalar that is one only because states with different static numbers merged:
        begin anew and keep those states apart."""
        origin = getattr(value, "origin", None)
        if isinstance(origin, tuple) and origin and origin[0] == "merge":
            if origin not in self.decisions.forbidden_merges:
                self.decisions.forbidden_merges.add(origin)
                raise Restart(f"keeping states apart at {origin[1:]}")

    # ---- frames ------------------------------------------------------------------------

    def return_value(self, state: State, value: Any) -> None:
        """The top frame returns `value`."""
        frame = state.frames.pop()
        if frame.generator is not None:
            self.heap.touch(frame.generator)
            frame.generator.finish()
        if frame.result is not None:
            value = frame.result[0]
        if frame.on_return is not None:
            if frame.on_return(self, state, value) is None:
                self.advance(state.frames[-1])
        elif state.frames:
            caller = state.frames[-1]
            caller.stack.append(value)
            self.advance(caller)
        else:
            state.finished = ("return", value)

    def hint(self, value: Any, name: str) -> None:
        """A Python variable's name for the value assigned to it, for people who read the program."""
        if isinstance(value, RtScalar):
            if not value.value.hint:
                value.value.hint = name
        elif self.is_tensor(value):
            self.recorder.hint(value, name)

    def shim(self, name: str):
        from . import shims

        return getattr(shims, name)

    def new(self, obj: Any) -> Any:
        """Marks an object as made during capture: states may merge two such objects."""
        self.born[id(obj)] = obj
        return obj

    def is_born(self, obj: Any) -> bool:
        return id(obj) in self.born

    # ---- tensors ----------------------------------------------------------------------

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, self.recorder.tensor_type)

    def tensor_item(self, tensor: Any) -> Any:
        """tensor.item(): a static number or a runtime scalar, the same one each time it is asked for."""
        value = self.recorder.value_of(tensor)
        cached = self.item_cache.get(value.id)
        if cached is not None and self.recorder.usable(cached.value):
            return cached
        result = self.recorder.item(tensor)
        if isinstance(result, RtScalar):
            if result.origin is None:
                result.origin = self.recorder.span
            self.item_cache[value.id] = result
        return result

    def tensor_truth(self, tensor: Any) -> bool | RtBool:
        count = self._element_count(tensor)
        if count is not None and count != 1:
            if count == 0:
                return False
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        item = self.tensor_item(tensor)
        return self.scalars.to_bool(item) if isinstance(item, RtScalar) else bool(item)

    @staticmethod
    def _element_count(tensor: Any) -> int | None:
        count = 1
        for extent in tensor.shape:
            if type(extent) is not int:
                return None
            count *= extent
        return count


def user_stack(state: State) -> list[tuple[Span, str]]:
    return [(f.instr.span, f.info.code.co_name) for f in state.frames if not f.hidden]


def goto(block: Block, target: Block, args: list) -> None:
    block.exit = Goto(Edge(target, args))


def is_python_function(f: Any) -> bool:
    return isinstance(f, types.FunctionType)
