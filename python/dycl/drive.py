# SPDX-License-Identifier: Apache-2.0
"""Drives the arms of a program that no given input takes.

The captured graph (run op by op with torch) and the compiled program are forced through the same decisions and
their results compared: an arm is checked though no input at hand leads there. A decision is known in both by its
place in the source and by how often that place was passed: `(file, line, column), occurrence`. From every run seen
so far one decision is turned towards an arm that was never taken, what came before stays as it was, what follows
is free; so every arm is reached that is reachable with these inputs' shapes.
"""

from __future__ import annotations

import collections
from typing import Any

from .frontend.graph import Branch
from .frontend.reference import ProgramRaised, run_graph
from .verify import differences

Key = tuple[tuple, int]


class Arms:
    """Which arms of the captured graph's branches were taken; a branch is a block of the graph."""

    def __init__(self, graph: Any, driveable: set):
        self.branches = [b for b in graph.reachable_blocks() if isinstance(b.exit, Branch)]
        self.places = {id(b): place_of(b.exit_span) for b in self.branches}
        self.driveable = {id(b) for b in self.branches if self.places[id(b)] in driveable}
        self.taken: set = set()  # (block id, arm), free
        self.driven: set = set()

    def total(self) -> int:
        return 2 * len(self.branches)

    def seen(self, block: Any, arm: bool) -> bool:
        return (id(block), arm) in self.taken or (id(block), arm) in self.driven

    def never(self) -> list[str]:
        missing = []
        for b in self.branches:
            for arm in (True, False):
                if not self.seen(b, arm):
                    file, line, column = self.places[id(b)] or ("?", 0, 0)
                    missing.append(f"{file}:{line}:{column}: never {'true' if arm else 'false'}")
        return missing


def place_of(span: Any) -> tuple | None:
    return None if span is None or not span.file else (span.file, span.line, span.column)


class _Course:
    """The decisions of one run of the graph, forced by `plan` where it says so."""

    def __init__(self, arms: Arms, plan: dict):
        self.arms, self.plan = arms, plan
        self.counts: collections.Counter = collections.Counter()
        self.steps: list[tuple[Any, Key | None, bool]] = []
        self.natural: dict[Key, bool] = {}  # what the conditions said

    def __call__(self, block: Any, natural: bool) -> bool:
        place = self.arms.places.get(id(block))
        key = None
        if id(block) in self.arms.driveable:
            key = (place, self.counts[place])
            self.counts[place] += 1
            self.natural[key] = natural
        arm = self.plan.get(key, natural) if key is not None else natural
        self.steps.append((block, key, arm))
        return arm

    def passed(self, known: Any) -> collections.Counter:
        """How often each place that the program knows was passed."""
        return collections.Counter(p for b, _, _ in self.steps if (p := self.arms.places[id(b)]) in known)


def drive(program: Any, inputs: list[tuple[list, list]], rtol: float, atol: float, budget: int) -> dict:
    """`inputs`: (tensors in the program's order, states). Returns the report's "arms"."""
    graph, engine = program._graph, program._engine
    native = engine.program.decisions if hasattr(engine, "program") else []
    in_package = collections.Counter(place_of_decision(d) for d in native)
    in_graph = collections.Counter(
        place_of(b.exit_span) for b in graph.reachable_blocks() if isinstance(b.exit, Branch))
    arms = Arms(graph, {place for place, n in in_graph.items() if place and in_package.get(place) == n})
    worst, mismatches, impossible, unmatched, runs = [0.0], [], 0, 0, 0
    work: list[tuple[int, dict]] = [(k, {}) for k in range(len(inputs))]
    planned: set = set()
    swapped: dict[int, bool] = {}
    while work and runs < budget:
        number, plan = work.pop(0)
        tensors, states = inputs[number]
        course = _Course(arms, plan)
        runs += 1
        expected = _reference(graph, tensors, states, course)
        target = arms.driven if plan else arms.taken
        for block, _, arm in course.steps:
            target.add((id(block), arm))
        if expected is None:
            impossible += 1  # the forced path asks for what these values cannot do
        else:
            actual, passed = expected, None
            if native or not plan:
                actual, passed = _compiled(engine, native, tensors, states, course, swapped, bool(plan))
            if plan and passed != course.passed(in_package):
                unmatched += 1  # a test that follows from an earlier one is gone from the program: it cannot be forced
                actual = expected
            for text in differences(expected, actual, "result", rtol, atol, worst):
                mismatches.append((number, f"{_told(plan)}: {text}"))
        for place, (block, key, arm) in enumerate(course.steps):
            turn = (id(block), not arm)
            if key is None or turn in planned or arms.seen(block, not arm):
                continue
            planned.add(turn)
            before = {k: a for _, k, a in course.steps[:place] if k is not None}
            work.append((number, {**before, key: not arm}))
    return {"total": arms.total(), "taken": len(arms.taken), "driven": len(arms.driven - arms.taken),
            "never": arms.never(), "runs": runs, "impossible": impossible, "unmatched": unmatched, "mismatches": mismatches,
            "error": worst[0]}


def place_of_decision(decision: tuple) -> tuple | None:
    span = decision[2]
    return tuple(span[:3]) if span else None


def _reference(graph: Any, tensors: list, states: list, course: _Course) -> Any:
    try:
        return ("returned", run_graph(graph, [*(x.clone() if hasattr(x, "clone") else x for x in tensors), *states],
                                      decide=course))
    except ProgramRaised as raised:
        return ("raised", raised.type)
    except Exception:
        return None


def _compiled(engine: Any, native: list, tensors: list, states: list, course: _Course, swapped: dict,
              forced: bool) -> tuple:
    """The program, led the way the graph went. Passes may have swapped a branch's arms: `swapped`, by decision, is
    learnt where both first come."""
    from . import _native

    counts: collections.Counter = collections.Counter()
    went = {key: arm for _, key, arm in course.steps if key is not None}

    def decide(decision: int, arm: int) -> int:
        place = place_of_decision(native[decision])
        key = (place, counts[place])
        counts[place] += 1
        if key not in went:
            return arm
        swap = swapped.setdefault(decision, bool(arm) != course.natural[key])
        return int(went[key] != swap) if forced else arm

    if native:
        engine.run_.set_decider(decide)
    try:
        outputs, after = engine.run(tensors, states, {}) if states else (engine.run(tensors, [], {})[0], [])
        return ("returned", [*outputs, *after]), counts
    except _native.RunError as error:
        return ("raised", getattr(error, "type", "") or "RuntimeError"), counts
    except Exception as error:
        return ("raised", type(error).__name__), counts
    finally:
        if native:
            engine.run_.set_decider(None)


def _told(plan: dict) -> str:
    if not plan:
        return "free"
    (file, line, column), occurrence = list(plan)[-1]
    return f"driven at {file}:{line}:{column}, passage {occurrence + 1}"
