# SPDX-License-Identifier: Apache-2.0
"""The abstract machine: runs the user's bytecode with the real objects, forking where it must.

What does not depend on the input is simply computed. Operations on symbolic tensors and runtime
scalars are recorded into the current state's block. An instruction that needs the truth of a runtime
bool raises `NeedDecision`; the machine puts the instruction back, splits the state in two, and each
half executes the instruction again with its answer. States wait at joins for those behind them, and
merge there (merging/merge.py); loops whose exit depends on the input become back edges (merging/loops.py).
"""

from __future__ import annotations

import collections
import functools
import heapq
import itertools
import types
from typing import Any

import torch

from ...objects import IdentityDict, held, within
from ..diagnostics import CaptureRefusal, Restart
from ..graph.program import Block, Branch, Edge, Goto, Graph, next_value_id
from ..library import lru_cache
from ..library.numpy.arrays import Arrays
from ..merging.loops import Loops
from ..merging.merge import Merger
from ..merging.reachable import held_elsewhere
from ..polyfills import builtins as polyfills
from ..polyfills import itertools as iterator_polyfills
from ..polyfills.registry import POLYFILLS
from ..polyfills.torch import RtSize
from ..semantics import callbacks, calls, identity, interpretation, keys, opaque_objects, records
from ..source import Span
from ..state import iterators
from ..state.assumptions import Assumptions
from ..state.code import info_of
from ..state.contents import Cell
from ..state.heap import Heap, Overlay
from ..state.kinds import contents_of
from ..state.path_facts import Facts
from ..state.state import Frame, State
from ..values import chosen_text, text_equality, text_methods
from ..values.arithmetic import Scalars
from ..values.array import is_array
from ..values.escape import Escape, NeedDecision, Thrown
from ..values.list_operations import Lists
from ..values.native_entries import own_fault
from ..values.scalar import RtBool, RtScalar
from ..values.stand_in import as_int, is_late, is_opaque, stand_in_of, type_of
from ..values.tensor import is_handle
from ..values.text import RtText
from . import conditions, dropped, opcode_table, opcodes, opcodes_calls, opcodes_control, settling
from .exceptions import ended_by, may_take
from .live_objects import reached, walk
from .own_errors import as_of_program
from .progress import Progress
from .recorded_path import RecordedPath


class Machine:
    def __init__(self, recorder_class, options, assumptions: Assumptions):
        self.heap = Heap()
        self.recorder = recorder_class(self.heap)
        self.heap.where = lambda: self.recorder.span
        self.heap.before_write = (lambda obj: self.remembers and not isinstance(obj, Cell)
                                  and lru_cache.check(self, "changes objects outside"))
        self.recorder.path = RecordedPath(self)
        self.scalars = Scalars(self.recorder)
        self.scalars.machine = self
        self.arrays = Arrays(self)
        self.lists = Lists(self)
        self.arenas: dict[type, Any] = {}  # class -> the table that its objects are rows of (values/arena.py)
        self.held_elsewhere = functools.partial(held_elsewhere, self)
        self.wants_row = functools.partial(records.want, self)
        self.heap.before_change = self.wants_row
        self.polyfills, self.iterator_polyfills = polyfills, iterator_polyfills
        self.polyfill_of = POLYFILLS.get
        self.texts, self.keys, self.iterators = text_methods, keys, iterators
        self.contents_of = contents_of
        self.same_object = functools.partial(identity.same_object, self)
        self.options = options
        self.assumptions = assumptions
        self.call = functools.partial(calls.call, self)  # call(state, fn, args, kwargs)
        self.call_then = functools.partial(calls.call_then, self)  # call_then(state, fn, args, kwargs, then)
        self.facts = Facts(self.recorder)
        self.merger = Merger(self)
        self.loops = Loops(self)
        self.born: dict[int, Any] = {}  # objects made during capture, by id
        self.heap.born = self.born
        # object of native code -> the block it was made in (semantics/opaque_objects.py)
        self.made_at = IdentityDict()
        # places whose dicts got keys that were chosen among a few values (semantics/keys.py)
        self.with_chosen_keys: set = set()
        self.columns = IdentityDict()  # lists that dicts with keys known only at run time are made of
        self.number_places = 0  # that indices known only at run time may have in lists of numbers
        self.constructed: collections.Counter = collections.Counter()  # classes -> objects made, by `__init__`
        self.texts_apart = False  # some paths differ in texts (values/chosen_text.py)
        self.texts_asked = False  # something was computed of all texts of the table
        self.birthplaces: dict[int, tuple] = {}  # id of a dict or set made during capture -> where (semantics/keys.py)
        self.keep_between_calls: Any = lambda container: None  # boundary/inputs.py knows the model
        self.ready: list = []
        self.finished: list[State] = []
        self.current: State | None = None
        self.entry = Block(name="entry")
        self.graph = Graph(self.entry)
        self.told_apart: list[tuple] = []  # pairs of tensors that `is` was asked of
        self.loaded: dict[tuple[int, str], Any] = {}  # attributes of pre-existing objects that were read
        self.remembers = False  # a function under lru_cache was called (library/lru_cache.py)
        self.remembered_loads: set = set()  # (id, name) of attributes that such functions read
        self.remembered_cells = self.recorder.remembered_cells  # and storages
        self.arrays_seen: dict[int, Any] = {}  # numpy arrays in global variables that were read
        self.warnings: list[str] = []
        self.recursions: dict[Any, int] = {}  # functions whose recursion was cut off -> their calls since
        self.left: Span | None = None  # the user's line that returned last
        self.guarded: dict[int, Any] = {}  # generators that were suspended inside try or with
        self.forgotten: set[int] = set()  # ids of generators that variables not read any more held where states met
        self.contexts: dict[Any, Any] = {}  # ContextVar -> a Cell with its value, per state
        self.initial_overlay: Overlay | None = None  # states that the program starts with
        self.gradients_wanted = self.gradients_asked = False  # requires_grad was set; was read
        self.steps = 0
        self.tells = Progress(self) if options.heard is not None else None
        self.group: list[State] = []  # states that are at one place, of which none has run yet
        self._decided: dict[int, bool] = {}  # for the present instruction, by value id
        self._sequence = itertools.count()

    # ---- starting and scheduling ------------------------------------------------

    def start(self, function, args: tuple, kwargs: dict) -> None:
        """Runs function(*args, **kwargs) to all its ends; they are left in `finished`."""
        state = State([], self.initial_overlay or Overlay(), self.entry)
        self.activate(state)
        records.begin(self)
        self._enter(state, function, args, kwargs)
        self.push(state)
        while self.ready:
            self.group = self.next_group()
            while self.group:
                self.run_state(self.group.pop(0))

    def _enter(self, state: State, function, args: tuple, kwargs: dict) -> None:
        frame = Frame(info_of(polyfills.call_entry.__code__), polyfills.call_entry, [])
        frame.locals = [None] * len(frame.info.local_names)
        frame.locals[0:3] = [function, tuple(args), dict(kwargs)]
        frame.hidden = True
        state.frames.append(frame)

    def push(self, state: State) -> None:
        heapq.heappush(self.ready, (state.key(), next(self._sequence), state))

    def next_group(self) -> list[State]:
        """The states that are furthest behind, merged where possible."""
        key, _, first = heapq.heappop(self.ready)
        if first.prefix:  # in the middle of an instruction
            return [first]
        group = [first]
        while self.ready and self.ready[0][0] == key:
            state = heapq.heappop(self.ready)[2]
            if state.prefix:
                self.push(state)
                return self._apart(group)
            group.append(state)
        if len(group) > 1 and not first.finished:
            group = self.merger.merge(group)
        if len(group) + len(self.ready) > self.options.max_states:
            records.prefer(self, group)
            raise CaptureRefusal(
                f"more than {self.options.max_states} states of the program are alive at once: {self.merger.blame()}",
                "make the arms of the branches before this point leave the same kinds of values",
                span=self.span_of(group[0]), kind="blow-up")
        return group

    def _apart(self, group: list[State]) -> list[State]:
        """Some state at this point is in the middle of an instruction: it goes first."""
        decided = [item for item in self.ready if item[2].prefix]
        for state in group:
            self.push(state)
        item = min(decided)
        self.ready.remove(item)
        heapq.heapify(self.ready)
        return [item[2]]

    def warn_once(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)

    def activate(self, state: State) -> None:
        self.current = state
        self.heap.activate(state.overlay)
        if len(state.overlay.contents) > state.overlay.limit and self.heap.installed > _WORTH_A_WALK and state.frames:
            self.heap.bury(state.overlay, reached(self, state))
        self.recorder.block = state.block

    def span_of(self, state: State) -> Span | None:
        for frame in reversed(state.frames):
            if not frame.hidden:
                return frame.instr.span
        return None

    def line_of_model(self) -> Span | None:
        """Where the model is: the innermost line that is not torch's own."""
        state = self.current
        for frame in reversed(state.frames if state is not None else ()):
            if not _foreign(frame):
                return self.recorder.span if frame is state.frames[-1] else frame.instr.span
        return self.recorder.span

    def suspends_in(self, x: Any) -> set[int]:
        """Ids of the generators that it is, or that it leads to and that clean up when they go."""
        own = stand_in_of(x)
        mine = {id(x)} if own is not None and own.suspends else set()
        return mine | (self.guarded.keys() & walk(self, [x])) if self.guarded else mine

    # ---- running one state --------------------------------------------------------

    def run_state(self, state: State) -> None:
        """Until it ends, forks, or reaches a join while others are behind it."""
        self.activate(state)
        fresh = True
        while True:
            frame = state.frames[-1]
            info = frame.info
            if not fresh and frame.pc in info.joins and self._awaits(state) and self._waits(state):
                return
            fresh = False
            if frame.pc in info.loop_body and not self.loops.arrive(state, frame):
                return
            if not self._moved(frame) and not self.step(state):
                return
            state = self.current

    def _moved(self, frame: Frame) -> bool:
        """Executes instructions that only move values between variables and stack, up to the next that may do more or
        that states may meet at. False if there are none."""
        info, first = frame.info, frame.pc
        instrs, loop_body, joins = info.instrs, info.loop_body, info.joins
        while True:
            ins = instrs[frame.pc]
            handler = opcodes.MOVERS.get(ins.op)
            if handler is None or self.guarded and ins.op == "POP_TOP":
                return frame.pc != first
            try:
                handler(self, self.current, frame, ins)
            except NameError:  # nothing was done: `step` says it again, as the program's
                return frame.pc != first
            self.steps += 1
            frame.pc = pc = frame.pc + 1  # as `advance`
            if pc in loop_body:
                self._enter_loop(frame, pc)
                return True
            if pc in joins:
                return True

    def _waits(self, state: State) -> bool:
        """Puts the state behind those that are not ahead of it. False if all are: it goes on."""
        if not self.group and (not self.ready or state.is_before(self.ready[0][0])):
            return False
        self.push(state)
        return True

    def _awaits(self, state: State) -> bool:
        """Whether a state that is not ahead of this one might merge with it here: one that an outer frame keeps
        apart from it cannot before that frame goes on."""
        apart = self.merger.kept_apart
        return (any(not apart(state, other) for other in self.group)
                or any(not apart(state, item[2]) for item in self.ready))

    def step(self, state: State) -> bool:
        """One instruction. False: the state ended, was split or must wait."""
        frame = state.frames[-1]
        ins = frame.info.instrs[frame.pc]
        depth = len(state.frames)
        self.steps += 1
        if self.tells is not None:
            self.tells.step()
        if not state.prefix:
            state.since = next_value_id()
        if self._decided:
            self._decided = {}
        self.recorder.span = ins.span if not frame.hidden else self.span_of(state)
        saved = frame.stack[:]
        saved_kw = frame.kw_names
        try:
            handler = opcode_table.HANDLERS.get(ins.op)
            if handler is None:
                opcodes_calls.refuse(ins.op)
            settling.settle(self, state, frame, ins)
            if callbacks.asked(ins, frame.stack):
                with callbacks.watched(self, "native code", anywhere=True), callbacks.explained():
                    result = handler(self, state, frame, ins)
            else:
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
        except Thrown as thrown:
            if thrown.error.__traceback__ is None:
                thrown.error.__traceback__ = thrown.__traceback__
            self._commit(state)
            return self.unwind(state, thrown.error)
        except Exception as error:
            if len(state.frames) > depth:
                raise own_fault(error) from error
            error = as_of_program(self, ins, saved, saved_kw, error)
            self._commit(state)
            return self.unwind(state, error)
        split = len(state.prefix) > 0
        self._commit(state)
        if state.finished is not None:
            self.finished.append(state)
            return False
        returned = len(state.frames) < depth
        # a place to meet
        if (self.ready or self.group) and (returned or split and len(self.ready) >= self.options.max_apart):
            return not self._waits(state)
        return True

    def _commit(self, state: State) -> None:
        """The instruction is done: what was decided for it is known from here on."""
        state.prefix = ()
        if self._decided:
            state.known.update(self._decided)

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
        key = condition.value.id
        known = state.known.get(key)
        if known is None:
            known = self._decided.get(key)
        if known is not None:
            return known
        if state.prefix:
            question = self._question(condition)
            for asked, answer in state.prefix:
                if asked == question:
                    self._decided[key] = answer
                    self.facts.learn(condition.value, answer, state.ranges)
                    return answer
        implied = self.facts.implied(condition.value, state.ranges)
        if implied is not None:
            return implied
        raise NeedDecision(condition)

    def _question(self, condition: RtBool) -> Any:
        return conditions.question(condition.value, self.recorder.producers, self.current.since)

    def decide_value(self, value: RtScalar, candidates, what: str, otherwise: BaseException | None = None) -> Any:
        """The candidate that a runtime int equals, one arm each; `otherwise` is raised in the last arm."""
        self.forbid_if_merged(value, decided=True)
        candidates = list(candidates)
        if len(candidates) > self.options.max_switch:
            raise CaptureRefusal(f"{what} known only at run time among {len(candidates)} possible values",
                                 "use a tensor and index it", kind="index.large", because=value)
        for candidate in sorted(candidates, key=lambda c: (c < 0, c)):
            equal = self.scalars.compare("eq", value, candidate)
            if equal is True or equal is not False and self.decide(equal):
                return candidate
        raise otherwise or IndexError(f"{what} is out of range")

    def truth(self, value: Any) -> bool:
        """bool(value) for values that need no user code; see opcodes for objects with __bool__."""
        own = stand_in_of(value)
        found = own.truth(self) if own is not None else NotImplemented
        if found is not NotImplemented:
            return found if isinstance(found, bool) else self.decide(found)
        self.note_read(value)
        return bool(value)

    def split(self, state: State, condition: RtBool) -> None:
        self.heap.save()
        span = self.line_of_model()  # also where torch's own Python decides
        block = state.block
        if_true, if_false = Block(block, span), Block(block, span)
        block.exit = Branch(condition.value, Edge(if_true), Edge(if_false))
        block.exit_span = span
        self.loops.note_fork(state)
        other = state.fork()
        asked = self._question(condition)
        for one, target, answer in ((state, if_true, True), (other, if_false, False)):
            one.block = target
            one.prefix = (*one.prefix, (asked, answer))
            one.decided += 1
        self.push(state)
        self.push(other)

    def decide_text(self, text: RtText, names) -> str:
        """The name that a text with runtime integers in it equals, one arm each; KeyError in the last."""
        if text.chooses:
            name = chosen_text.settled(self, text)
            if name not in names:
                raise KeyError(name)
            return name
        integers = text.integers()
        if integers is None:
            raise CaptureRefusal("a name with a number known only at run time that is no integer", kind="escape.str",
                                 because=text)
        for name in names:
            numbers = text_equality.parse(text, name) if isinstance(name, str) else None
            if numbers is not None and all(self.decide(self.scalars.compare("eq", p, n))
                                           for p, n in zip(integers, numbers)):
                return name
        raise KeyError(text)

    # ---- exceptions ------------------------------------------------------------------

    def _chain(self, state: State, error: BaseException) -> None:
        """A new exception has the one that is being handled as its context."""
        frame = state.frames[-1]
        ins = frame.instr
        if ins.op in ("RERAISE", "CLEANUP_THROW") or ins.op == "RAISE_VARARGS" and ins.arg == 0:
            return
        active = state.being_handled()
        if active is not None and active is not error and active is not error.__context__:
            if ins.op == "RAISE_VARARGS" and not isinstance(frame.stack[-1 - (ins.arg == 2)], type):
                opaque_objects.check_raised(self, error)
            error.__context__ = active

    def unwind(self, state: State, error: BaseException) -> bool:
        """Finds the handler of an exception of the user's program. True: go on running."""
        gone: list = []  # what was on the stacks that it leaves, and the frames
        left: list = []
        place = self.line_of_model()
        self._chain(state, error)
        while state.frames:
            frame = state.frames[-1]
            ins = frame.instr
            if ins.op == "FOR_ITER" and isinstance(error, StopIteration):
                frame.stack.pop()
                self.jump(frame, ins.target)
                return True
            if ins.op == "SEND" and isinstance(error, StopIteration):  # of the iterator in `yield from`
                opcodes_control.send_done(self, state, error.value)
                return True
            if ins.handler is not None:
                gone += frame.stack[ins.handler.depth:]
                del frame.stack[ins.handler.depth:]
                if ins.handler.lasti:
                    frame.stack.append(frame.pc)
                frame.stack.append(error)
                self.jump(frame, ins.handler.target)
                if self.guarded:
                    dropped.at_handler(self, state, gone, left)
                if left and self.ready:
                    self.push(state)
                    return False
                return True
            if frame.generator is not None:
                self.heap.touch(frame.generator)
                frame.generator.finish()
                if isinstance(error, StopIteration) and not frame.hidden:  # map(next, ...) just ends
                    error = ended_by(error)
            gone += frame.stack
            left.append(state.frames.pop())
        state.finished = ("raise", error)
        state.block.exit_span = place
        self.finished.append(state)
        return False

    def on_escape(self, escape: Escape) -> None:
        value = escape.value
        self.forbid_if_merged(value)
        raise CaptureRefusal(
            f"a value known only at run time cannot be used here ({escape.how})",
            "compute it with tensor or number operations, or keep it out of native code",
            kind=f"escape.{escape.how.split()[0]}", because=value)

    def forbid_if_merged(self, value: Any, decided: bool = False) -> None:
        """A runtime scalar that is one only because states with different static numbers merged:
        begin anew and keep those states apart. `decided`: a path for each value will do, too."""
        origin = getattr(value, "origin", None)
        if isinstance(origin, tuple) and origin and origin[0] == "merge":
            apart = self.assumptions.apart
            (apart.assume_optional if decided else apart.assume_needed)(origin)

    # ---- frames ------------------------------------------------------------------------

    def return_value(self, state: State, value: Any) -> None:
        """The top frame returns `value`."""
        frame = state.frames.pop()
        if not frame.hidden:
            self.left = frame.instr.span
        if frame.generator is not None:
            self.heap.touch(frame.generator)
            frame.generator.finish()
        if frame.result is not None:
            if value is not None:
                raise TypeError(f"__init__() should return None, not '{type_of(self, value).__name__}'")
            value = frame.result[0]
        if not _foreign(frame) and all(map(_foreign, state.frames)):
            state.block.exit_span = self.recorder.span  # the model's own return, for people who read the program
        if frame.on_return is not None:
            if frame.on_return(self, state, value) is None:
                self.advance(state.frames[-1])
        elif state.frames:
            caller = state.frames[-1]
            caller.stack.append(value)
            self.advance(caller)
        else:
            state.finished = ("return", value)

    def hint(self, value: Any, name: str, frame: Frame) -> None:
        """A Python variable's name for the value assigned to it, for people who read the program; not torch's own."""
        if interpretation.is_torch_file(frame.info.code.co_filename):
            return
        own = stand_in_of(value)
        if own is not None:
            own.hint(self, name)

    def new(self, obj: Any) -> Any:
        """Marks an object as made during capture: states may merge two such objects."""
        self.born[id(obj)] = obj
        return obj

    def is_born(self, obj: Any) -> bool:
        return id(obj) in self.born

    # ---- kinds of values ---------------------------------------------------------------

    @property
    def size_type(self) -> type:
        return RtSize

    def is_array(self, value: Any) -> bool:
        return is_array(value)

    def is_symbolic(self, value: Any) -> bool:
        return is_handle(value)

    def has_tensor(self, tree: Any) -> bool:
        return any(isinstance(x, torch.Tensor) for x in within(tree, 3))

    def has_runtime(self, tree: Any) -> bool:
        """Holds what is known only at run time, or a tensor."""
        return any(is_late(x) or isinstance(x, slice) and self.has_runtime((x.start, x.stop, x.step))
                   for x in within(tree, 4))

    def new_if_mutable(self, obj: Any) -> Any:
        """The result of a native call that always makes a new object."""
        return self.new(obj) if type(obj) in (list, dict, set) else obj

    def refuse_native_failure(self, fn: Any, args: Any, kwargs: Any, error: Exception) -> None:
        """Native code that fails on one of our stand-ins has not failed in the user's program."""
        inside = [getattr(x, "__dict__", None) for x in (*args, *kwargs.values())
                  if not isinstance(x, (type, torch.nn.Module))]
        if self.has_stand_in(args) or self.has_stand_in(kwargs) or self.has_stand_in(inside):
            raise CaptureRefusal(f"{getattr(fn, '__qualname__', fn)} with a value known only at run time "
                                 f"({type(error).__name__}: {error})", kind="native") from error

    def has_stand_in(self, tree: Any) -> bool:
        """Holds something of ours that native code does not know; tensors it does."""
        return any(map(is_opaque, within(tree, 4)))

    def note_load(self, obj: Any, name: Any) -> None:
        obj = self.heap.owner_of_dict.get(id(obj), obj)  # an object's own __dict__ is the object
        if self.remembers and lru_cache.inside(self):
            self.remembered_loads.add((id(obj), name))
        if id(obj) not in self.born and (id(obj), name) not in self.current.stored:
            self.loaded.setdefault((id(obj), name), obj)

    def note_read(self, *values: Any) -> None:
        """Containers that are looked at as wholes."""
        for value in values:
            if isinstance(value, (list, dict, set, collections.deque)):
                self.note_load(value, "*")

    def note_deep(self, *values: Any) -> None:
        """Containers that are looked at with all they hold."""
        todo, seen = list(values), set()
        while todo and len(seen) < 1000:
            x = todo.pop()
            if isinstance(x, (list, dict, set, tuple, frozenset, collections.deque)) and id(x) not in seen:
                seen.add(id(x))
                self.note_read(x)
                todo += held(x)

    def note_objects(self, *values: Any) -> None:
        """Objects that native code may ask for any of their attributes."""
        for x in values:
            if hasattr(x, "__dict__") and not isinstance(
                x, (type, types.ModuleType, types.FunctionType, torch.nn.Module, torch.Tensor)
            ):
                self.note_load(x, "*")

    def note_store(self, obj: Any, name: Any) -> None:
        obj = self.heap.owner_of_dict.get(id(obj), obj)
        if id(obj) not in self.born:
            if self.remembers:
                lru_cache.check(self, f"writes {name}")
            self.current.stored |= {(id(obj), name)}

    def in_try(self) -> bool:
        """An exception raised now might be caught by the program."""
        return any(frame.info.guards(frame.pc) for frame in self.current.frames)

    def in_torch(self) -> bool:
        """The code at hand is torch's own Python."""
        return interpretation.is_torch_file(self.current.frames[-1].info.code.co_filename)

    def may_catch(self, *errors: type) -> bool:
        """A handler or a context of the program (not a `finally`) might take one of these exceptions if it were raised
        now; any, if none is named."""
        for frame in reversed(self.current.frames) if self.current is not None else ():
            taken, errors = may_take(frame, errors)
            if taken:
                return True
        return False

    # ---- tensors ----------------------------------------------------------------------

    def want_gradients(self, tensor: Any) -> None:
        """`requires_grad` is set: that alone computes nothing. Whoever asks for a gradient,
        or whether there will be one, is refused."""
        if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        self.gradients_wanted = True
        self._refuse_gradients()

    def ask_about_gradients(self) -> None:
        """torch's own Python (nn.init, the layers) asks in order to hand the flag on, and where gradients are on."""
        if self.in_torch():
            return
        self.gradients_asked = True
        self._refuse_gradients()

    def _refuse_gradients(self) -> None:
        if self.gradients_wanted and self.gradients_asked:
            raise CaptureRefusal("the model asks whether tensors require gradients, and changes that",
                                 "compute gradients outside", kind="autograd")

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor)

    def tensor_item(self, tensor: Any) -> Any:
        """tensor.item(): a static number or a runtime scalar."""
        self._one_element_in_try(tensor)
        return self.recorder.numbers.item(tensor)

    def tensor_number(self, tensor: Any) -> Any:
        """As int(), float() and the functions of math ask for it: eager's error differs from item()'s."""
        self._one_element(tensor, ValueError("only one element tensors can be converted to Python scalars"))
        return self.tensor_item(tensor)

    def tensor_index(self, tensor: Any) -> Any:
        """As subscripts, range() and operator.index ask for it."""
        error = TypeError("only integer tensors of a single element can be converted to an index")
        if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
            raise error
        self._one_element(tensor, error)
        return as_int(self, self.tensor_item(tensor))

    def _one_element(self, tensor: Any, error: Exception) -> None:
        count = self.element_count(tensor)
        if count == 1:
            return
        if count is not None:
            raise error
        one = self.scalars.compare("eq", self.recorder.call(torch.Tensor.numel, (tensor,), {}), 1)
        if isinstance(one, bool) or self.in_try():
            if not (one if isinstance(one, bool) else self.decide(one)):
                raise error
        else:
            self.recorder.check(one.value, str(error), type(error).__name__)

    def _one_element_in_try(self, tensor: Any) -> None:
        """Elsewhere the run checks it."""
        if self.element_count(tensor) is None and self.in_try():
            self._one_element(tensor, RuntimeError("a Tensor with another number of elements than 1 cannot be "
                                                   "converted to Scalar"))

    def tensor_truth(self, tensor: Any) -> bool | RtBool:
        self._one_element_in_try(tensor)
        return self.recorder.numbers.truth(tensor)

    def tolist(self, tensor: Any) -> Any:
        found = self.recorder.numbers.tolist(tensor)
        if found is None and tensor.dim() == 1 and not tensor.dtype.is_complex:
            return self.lists.from_tensor(tensor)
        if found is None and tensor.dim() > 1 and not tensor.dtype.is_complex:
            found = self.lists.from_rows(tensor)
        if found is None:
            raise CaptureRefusal("tolist() of a tensor whose length is known only at run time",
                                 "iterate over the tensor itself", kind="tolist.dynamic")
        return self.adopt_lists(found)

    def adopt_lists(self, tree: Any) -> Any:
        if type(tree) is list:
            for item in tree:
                self.adopt_lists(item)
            self.new(tree)
        return tree

    def scalar_tensor(self, x: Any, dtype: torch.dtype) -> Any:
        return self.recorder.call(torch.tensor, (x,), {"dtype": dtype})

    @staticmethod
    def element_count(tensor: Any) -> int | None:
        count = 1
        for extent in tensor.shape:
            if type(extent) is not int:
                return None
            count *= extent
        return count


_WORTH_A_WALK = 16000  # objects put in place since dead ones were looked for


def _foreign(frame: Frame) -> bool:
    """A frame of torch's or of our own."""
    return frame.hidden or interpretation.is_torch_file(frame.info.code.co_filename)


def user_stack(state: State) -> list[tuple[Span, str]]:
    return [(f.instr.span, f.info.code.co_name) for f in state.frames if not f.hidden]


def goto(block: Block, target: Block, args: list) -> None:
    block.exit = Goto(Edge(target, args))
