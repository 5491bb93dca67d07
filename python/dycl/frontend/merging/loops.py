# SPDX-License-Identifier: Apache-2.0
"""Loops whose exit depends on the input become back edges.

A loop with a static course is simply unrolled by running it. When a branch that leaves the loop was
decided at run time and nothing static bounds it, the state at the second arrival is unified with the
state at the first: what differs becomes parameters of a header block, everything captured since the
first arrival is thrown away, and the body runs again from the generalised state. A state that arrives
again and fits closes the loop with a back edge; one that does not widens the header once more. Where
no such header exists (a list that grows), the loop is unrolled up to a stated bound, beyond which the
program raises.
"""

from __future__ import annotations

import heapq
import types
from typing import Any

import torch

from ..diagnostics import CaptureRefusal
from ..graph.program import Block, Edge, Goto, ListType, Raise, TensorType
from ..semantics import keys, records
from ..state.state import NULL, Frame, State
from ..values import chosen_text
from ..values.list_kinds import columns
from ..values.scalar import RtScalar, graph_number, kind_of
from ..values.stand_in import counts_off, stand_in_of
from ..values.tensor import is_handle
from .unify import Unifier
from .unify_aliases import AliasGuard
from .unify_lists import ListLeaf
from .unmergeable import Apart

_RESUMING = ("FOR_ITER", "SEND")  # the frame above is a generator's: the loop ends when that ends


class LoopEntry:
    """One arrival at a loop from outside."""

    __slots__ = ("header", "snapshot", "mode", "block", "template", "exit_forked", "static_test",
                 "tests", "widenings", "why", "types", "span", "peeled", "token", "parent", "refused")

    def __init__(self, header: int):
        self.header = header
        self.snapshot: State | None = None
        self.mode = "try"  # "try", "loop", "unroll"; "peel", then "peeled": the header comes one iteration later
        self.block: Block | None = None
        self.template: State | None = None
        self.exit_forked = False
        self.static_test = False
        self.tests: set[tuple[str, ...]] = set()  # variables and attributes that further tests ask about
        self.widenings = 0
        self.why = ""
        self.types: list = []
        self.span = None
        self.peeled = 0  # iterations in front of this entry
        self.token = object()  # what lineages hold: they must not keep the snapshot alive
        # a header of the same loop for states of another kind, that this one lies behind
        self.parent: LoopEntry | None = None
        self.refused = False  # no more headers for other kinds of states

    def chain(self) -> list[LoopEntry]:
        """This one and those it lies behind, the outermost last."""
        return [self, *(self.parent.chain() if self.parent is not None else ())]


class Loops:
    def __init__(self, machine):
        self.m = machine
        self.begun_anew: set = set()  # (code, header) of loops whose states were forgotten once

    # ---- observations ------------------------------------------------------------------

    def note_fork(self, state: State) -> None:
        """The state is split at `frame`'s instruction: does one side leave a loop?"""
        ends = True  # the fork may end the frame above, which is what an iteration over a generator asks
        for f in reversed(state.frames):
            if ends or f.instr.op not in _RESUMING:
                for header, (entry, _) in f.loops.items():
                    if entry is not None and f.info.leaves_loop(f.pc, header):
                        entry.exit_forked = True
            ends = (ends and f.instr.op in _RESUMING or f is state.frames[-1]) and f.info.leaves_loops(f.pc)

    def note_test(self, frame: Frame, value: Any) -> None:
        if not frame.loops or isinstance(value, RtScalar) or self.m.is_tensor(value) or _is_look_up(frame):
            return
        for header, (entry, _) in frame.loops.items():
            if entry is not None and not entry.static_test and frame.info.leaves_loop(frame.pc, header):
                asked = frame.info.asked(frame.pc)
                entry.static_test = asked is None
                entry.tests |= set(asked or ())

    def _may_end(self, state: State, entry: LoopEntry) -> bool:
        """Whether a test that the input does not touch may end the loop:
        not one of what has not changed since its begin (an option)."""
        if not entry.static_test and entry.tests:
            self.m.heap.save()
            entry.static_test = any(not self._alike(entry.snapshot, state, path) for path in entry.tests)
        return entry.static_test

    def _others_left(self, state: State, frame: Frame, entry: LoopEntry) -> bool:
        """Whether a test of what branches in the loop left behind (an empty list of what is to do, a None for what
        comes next) has ended it for other states, though not for this one. Not asked of the first iterations, which
        most such loops have no more
        than."""
        rounds, depth = self._rounds(state, entry), len(state.frames)
        if rounds < self.m.options.max_alike or rounds % self.m.options.max_alike or frame.instr.op == "FOR_ITER":
            return False
        self.m.heap.save()
        if rounds < self.m.options.max_unroll and not all(self._of_one_size(entry.snapshot, state, path)
                                                          for path in entry.tests):
            return False
        body = frame.info.loop_body.get(entry.header, ())
        others = [*self.m.finished, *(other for _, _, other in self.m.ready)]
        return any(entry.token in other.lineage
                   and (len(other.frames) < depth or other.frames[depth - 1].pc not in body) for other in others)

    def _alike(self, first: State, state: State, path: tuple[str, ...]) -> bool:
        """Whether a test of what is held there answers the same in both:
        it is the same, or tensors whose elements alone differ."""
        a, b = self._held(first, path), self._held(state, path)
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and self.m.is_tensor(a) and self.m.is_tensor(b):
            return a.dtype == b.dtype and len(a.shape) == len(b.shape) and all(map(_same, a.shape, b.shape))
        return _same(a, b)

    def _of_one_size(self, first: State, state: State, path: tuple[str, ...]) -> bool:
        a, b = self._held(first, path), self._held(state, path)
        sizes = [len(self.m.heap.contents_in(s.overlay, x)) for s, x in ((first, a), (state, b)) if type(x) is list]
        return len(set(sizes)) < 2

    def _held(self, state: State, path: tuple[str, ...]) -> Any:
        """What a variable holds in a state, or an attribute that its object holds itself."""
        frame = state.frames[-1]
        value = frame.locals[frame.info.local_index[path[0]]]
        for name in path[1:]:
            held = self.m.heap.contents_in(state.overlay, value) if _is_plain(value) else ()
            value = held[0].get(name, NULL) if len(held) == 2 and type(held[0]) is dict else NULL
        return value

    # ---- arrivals ---------------------------------------------------------------------------

    def arrive(self, state: State, frame: Frame) -> bool:
        """The state is about to execute a loop header. False: it was absorbed."""
        header = frame.pc
        iteration = frame.iterations.get(header, 0)
        known = frame.loops.get(header)
        if known is None:
            self._enter(state, frame, header, iteration)
            return True
        entry, handled = known
        if handled == iteration:
            return True  # the header instruction is executed again after a split
        frame.loops[header] = (entry, iteration)
        if entry is not None and entry.mode in ("peel", "peeled"):
            return self._peel(state, entry)
        if entry is None or entry.mode == "unroll":
            return self._bounded(state, frame, entry, iteration)
        if entry.mode == "loop":
            return self._close(state, frame, entry)
        entry.exit_forked = entry.exit_forked or self._others_left(state, frame, entry)
        if not entry.exit_forked or iteration < self.m.options.max_unroll and self._may_end(state, entry):
            return self._bounded(state, frame, entry, iteration)
        if entry.mode == "try" and frame.instr.op == "FOR_ITER" and counts_off(frame.stack[-1]):
            entry.mode, entry.why = "unroll", "it iterates over what is known while compiling"
            return self._bounded(state, frame, entry, iteration)
        return self._generalise(state, entry)

    def _enter(self, state: State, frame: Frame, header: int, iteration: int) -> None:
        entry = LoopEntry(header)
        entry.span = self.m.span_of(state)
        if self.m.assumptions.never_begun_anew.holds((frame.info.code, header)):
            entry.mode = "unroll"
        frame.loops[header] = (entry, iteration)
        state.lineage |= {entry.token}
        self.m.heap.save()
        entry.snapshot = state.fork()
        block = Block(state.block, entry.span, "loop")
        state.block.exit = Goto(Edge(block))
        state.block = block
        self.m.recorder.block = block

    def _bounded(self, state: State, frame: Frame, entry: LoopEntry | None, iteration: int) -> bool:
        limit = self.m.options.max_unrolled_iterations
        iterator = stand_in_of(frame.stack[-1]) if frame.instr.op == "FOR_ITER" else None
        if iterator is not None and iterator.ends_by_itself():
            limit = self.m.options.max_static_iterations  # the iterable itself ends it
        if iteration < limit or entry is None or not entry.exit_forked:
            if iteration > self.m.options.max_static_iterations:
                raise CaptureRefusal(f"a loop ran {iteration} times while the model was being compiled",
                                     "its course does not depend on the input: compute it beforehand",
                                     kind="loop.static", span=self.m.span_of(state))
            return True
        text = f"the loop was unrolled {limit} times ({entry.why or 'its state keeps changing'})"
        self.m.warn_once(f"{entry.span.file}:{entry.span.line}: {text}; more iterations raise at run time")
        state.block.exit = Raise("RuntimeError", f"loop limit: {text} and would go on")
        state.block.exit_span = entry.span
        return False

    # ---- headers --------------------------------------------------------------------------------

    def _generalise(self, state: State, entry: LoopEntry) -> bool:
        """Makes (or widens) the header so that `state` may come back to it, and starts the body anew."""
        m = self.m
        m.heap.save()
        start = entry.snapshot
        block = Block(start.block, entry.span, "loop")
        block.loop_limit = m.options.max_iterations
        union = Unifier(m, start, state, block, widen=True, bounds=entry.widenings < 2)
        entry.widenings += 1
        if entry.widenings > m.options.max_widenings:
            return self._give_up(state, entry, "the loop's state: it keeps changing")
        try:
            merged = union.state()
        except Apart as apart:
            return self._other_kind(state, entry, str(apart))
        self._discard(entry)
        start.block.exit = Goto(Edge(block, union.arguments(start, 0)))
        merged.known = dict(start.known)
        merged.ranges = dict(start.ranges)
        merged.lineage = start.lineage | {entry.token}
        merged.stored = start.stored | state.stored
        frame = merged.frames[-1]
        frame.loops[entry.header] = (entry, frame.iterations.get(entry.header, 0))
        entry.mode, entry.block = "loop", block
        entry.types = [p.type for p in block.params]
        entry.template = merged.fork()
        m.push(merged)
        return False

    def _peel(self, state: State, entry: LoopEntry) -> bool:
        """The first iteration stays in front of the header: it may set what later ones only use (a variable
        first bound in the loop, a cache that was None, a list filled once)."""
        entry.mode = "peeled"
        later = LoopEntry(entry.header)
        later.peeled, later.span, later.why = entry.peeled + 1, entry.span, entry.why
        self._begin_at(state, later)
        return True

    def _other_kind(self, state: State, entry: LoopEntry, why: str) -> bool:
        """A state that fits no widening of the header: `best` is None in one, a tensor in the other. It goes to the
        header of its kind if there is one, which this one then lies behind;
        else it gets one of its own, behind this."""
        frame, chain = state.frames[-1], entry.chain()
        iteration = frame.iterations.get(entry.header, 0)
        for other in chain[1:]:
            if other.mode in ("try", "loop") and self._unifies(other.template or other.snapshot, state):
                frame.loops[entry.header] = (other, iteration)
                return self._close(state, frame, other) if other.mode == "loop" else self._generalise(state, other)
        outermost = chain[-1]
        # a first iteration that differs is more often the reason
        first = entry.mode == "try" and not entry.peeled and entry.parent is None
        if first or outermost.refused or len(chain) > self.m.options.max_kinds:
            outermost.refused = outermost.refused or not first
            if not first and self.m.with_chosen_keys:
                keys.prefer_tables(self.m)
            if not first:
                records.prefer(self.m, [outermost.snapshot, state])
                chosen_text.prefer(self.m)
            return self._give_up(state, outermost, why)
        later = LoopEntry(entry.header)
        later.peeled, later.span, later.why, later.parent = self.m.options.max_peeled, entry.span, why, entry
        self._begin_at(state, later)
        return True

    def _unifies(self, known: State, state: State) -> bool:
        try:
            Unifier(self.m, known, state, Block(known.block, None), widen=True, trial=True).state()
            return True
        except Apart:
            return False

    def _begin_at(self, state: State, later: LoopEntry) -> None:
        """The loop begins here for this state."""
        frame = state.frames[-1]
        frame.loops[later.header] = (later, frame.iterations.get(later.header, 0))
        state.lineage |= {later.token}
        self.m.heap.save()  # iterators and lists as they are now, not as they were at the last switch of states
        later.snapshot = state.fork()
        block = Block(state.block, later.span, "loop")
        state.block.exit = Goto(Edge(block))
        state.block = block
        self.m.recorder.block = block

    def _give_up(self, state: State, entry: LoopEntry, why: str) -> bool:
        """No header fits: begin later, or unroll from the first arrival on."""
        entry.why = why
        peel = entry.peeled < self.m.options.max_peeled
        if entry.mode == "try" and not peel:
            entry.mode = "unroll"
            return True
        if entry.mode == "try" and self._rounds(state, entry) == 1:
            return self._peel(state, entry)
        entry.mode = "peel" if peel else "unroll"
        self._discard(entry)
        again = entry.snapshot.fork()
        again.lineage |= {entry.token}
        block = Block(again.block, entry.span, "loop")
        again.block.exit = Goto(Edge(block))
        again.block = block
        frame = again.frames[-1]
        frame.loops[entry.header] = (entry, frame.iterations.get(entry.header, 0))
        self.m.push(again)
        return False

    @staticmethod
    def _rounds(state: State, entry: LoopEntry) -> int:
        """Iterations since the entry."""
        first = entry.snapshot.frames[-1].iterations.get(entry.header, 0)
        return state.frames[-1].iterations.get(entry.header, 0) - first

    def _close(self, state: State, frame: Frame, entry: LoopEntry) -> bool:
        m = self.m
        m.heap.save()
        scratch = Block(entry.block, entry.span)
        union = Unifier(m, entry.template, state, scratch, widen=True, trial=True)
        try:
            union.state()
        except Apart:
            return self._generalise(state, entry)
        wanted = {id(p): k for k, p in enumerate(entry.block.params)}
        places: dict[int, int] = {}
        for k, (a, b, param) in enumerate(union.requests):
            position = wanted.get(id(self._value(entry.template, a)))
            if position is None or position in places or not _fits(param.type, entry.types[position]) \
                    or not self._within(a, b):
                return self._generalise(state, entry)
            places[position] = k
        if any(isinstance(merged._dycl.cell.guard, AliasGuard) and cell.note is None
               for cell, _, _, _, merged in union.merged_cells):
            return self._generalise(state, entry)  # memory shared in later iterations only
        m.recorder.layout.lost = m.recorder.layout.lost or union.lost
        values = union.arguments(state, 1)
        args = [values[places[k]] if k in places else p for k, p in enumerate(entry.block.params)]
        state.block.exit = Goto(Edge(entry.block, args))
        return False

    def _within(self, a: Any, b: Any) -> bool:
        """Whether what arrives keeps the lower bounds that the header's integers and extents were given."""
        least = self.m.recorder.symbols.least
        if kind_of(a) == "int":
            low = least(a)
            return low is None or (least(b) if least(b) is not None else low - 1) >= low
        if isinstance(a, torch.Tensor):
            return all(type(x) is int or (least(y) or 0) >= (least(x) or 0) for x, y in zip(a.shape, b.shape))
        return True

    def _value(self, template: State, x: Any) -> Any:
        """The graph value behind a place of the template, without recording anything."""
        if isinstance(x, ListLeaf):
            values = columns(x.source, lambda source: self.m.heap.contents_in(template.overlay, source))
            return values[x.index] if values else None
        if is_handle(x):
            info = x._dycl
            if info.parent is not None:
                return None
            return self.m.heap.contents_in(template.overlay, info.cell)
        return graph_number(x)

    def _discard(self, entry: LoopEntry) -> None:
        """Forgets every state that came through this entry."""
        m = self.m
        self.begun_anew.add((entry.snapshot.frames[-1].info.code, entry.header))
        m.ready[:] = [item for item in m.ready if entry.token not in item[2].lineage]
        heapq.heapify(m.ready)
        m.group[:] = [s for s in m.group if entry.token not in s.lineage]
        m.finished = [s for s in m.finished if entry.token not in s.lineage]


def _is_look_up(frame: Frame) -> bool:
    """One of our own loops over as many elements as the run has. What it asks of each (is this the key?) was answered
    on a path of its own, and is known there: nothing that ends the loop."""
    iterator = stand_in_of(frame.stack[0]) if frame.hidden and frame.stack else None
    return iterator is not None and not iterator.ends_by_itself()


def _is_plain(obj: Any) -> bool:
    return hasattr(obj, "__dict__") and not isinstance(obj, (type, types.ModuleType, list, dict, set, tuple))


def _same(a: Any, b: Any) -> bool:
    return a is b and a is not NULL or type(a) is type(b) and isinstance(a, (int, float, str)) and a == b


def _fits(merged: Any, header: Any) -> bool:
    """A parameter that unifies header and arrival must not be wider than the header's own."""
    if isinstance(merged, TensorType) and isinstance(header, TensorType):
        return merged.dtype == header.dtype and all(
            h is None or m == h for m, h in zip(merged.shape, header.shape)) and len(merged.shape) == len(header.shape)
    if isinstance(merged, ListType) and isinstance(header, ListType):
        return _fits(merged.element, header.element)
    return merged == header
