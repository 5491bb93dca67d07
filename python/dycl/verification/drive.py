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
import itertools
import math
from typing import Any, Iterator

import torch

from ..calling import host_functions
from ..errors import RunError
from ..frontend.graph.interpret import ProgramRaised, run_graph
from ..frontend.graph.program import Branch
from .compare import Policy, differences

Key = tuple[tuple, int]


class Arms:
    """Which arms of the captured graph's branches were taken; a branch is a block of the graph."""

    def __init__(self, graph: Any, in_package: Any, gone: frozenset):
        self.branches = [b for b in graph.reachable_blocks() if isinstance(b.exit, Branch)]
        self.places = {b: place_of(b.exit_span) for b in self.branches}
        # What the program decides too, and can be made to decide.
        self.driveable = {b for n, b in enumerate(self.branches)
                          if self.places[b] in in_package and n not in gone}
        self.taken: set = set()  # (block, arm), free
        self.driven: set = set()

    def total(self) -> int:
        return 2 * len(self.branches)

    def seen(self, block: Any, arm: bool) -> bool:
        return (block, arm) in self.taken or (block, arm) in self.driven

    def never(self) -> list[str]:
        missing = []
        for b in self.branches:
            for arm in (True, False):
                if not self.seen(b, arm):
                    file, line, column = self.places[b] or ("?", 0, 0)
                    missing.append(f"{file}:{line}:{column}: never {'true' if arm else 'false'}")
        return missing


def place_of(span: Any) -> tuple | None:
    return None if span is None or not span.file else (span.file, span.line, span.column)


class _Course:
    """The decisions of one run of the graph, forced by `plan` where it says so."""

    def __init__(self, arms: Arms, plan: dict):
        self.arms, self.plan = arms, plan
        self.counts: collections.Counter = collections.Counter()
        self.steps: list[tuple[Any, Key, bool]] = []
        self.natural: dict[Key, bool] = {}  # what the conditions said

    def __call__(self, block: Any, natural: bool) -> bool:
        # A decision that only the graph has is known by its block.
        place = self.arms.places[block] if block in self.arms.driveable else ("", block, 0)
        key = (place, self.counts[place])
        self.counts[place] += 1
        self.natural[key] = natural
        arm = self.plan.get(key, natural)
        self.steps.append((block, key, arm))
        return arm

    def passed(self) -> collections.Counter:
        """How often each place that the program knows was passed."""
        return collections.Counter(key[0] for b, key, _ in self.steps if b in self.arms.driveable)


def drive(program: Any, inputs: list[tuple[list, list]], rtol: float, atol: float, budget: int) -> dict:
    """`inputs`: (tensors in the program's order, states). Returns the report's "arms"."""
    graph, engine = program._graph, program._engine
    decisions = engine.program.decisions if hasattr(engine, "program") else []
    in_package = collections.Counter(place_of_decision(d) for d in decisions)
    in_package.pop(None, None)
    best = None
    guesses, unsure = _guesses(graph, in_package)
    for gone in guesses:
        drives = _Drives(program, inputs, rtol, atol, Arms(graph, in_package, gone), decisions)
        if drives.run(budget, patient=len(guesses) == 1):
            return drives.report()
        if best is None or drives.runs > best[0]:
            best = drives.runs, gone
    drives = _Drives(program, inputs, rtol, atol, Arms(graph, in_package, best[1]), decisions, unsure)
    drives.run(budget, patient=True)
    return drives.report()


MOST_GUESSES = 64


def _guesses(graph: Any, in_package: Any) -> tuple[list[frozenset], frozenset]:
    """Passes drop decisions that change nothing or are known. Where the graph has more decisions at a place of the
    source than the program, which of them are gone? Numbers of branches, likely ones first: the last round of a loop.
    And where there are too many guesses for all of them: the places that they are about."""
    branches = [b for b in graph.reachable_blocks() if isinstance(b.exit, Branch)]
    at: dict = collections.defaultdict(list)
    for number, block in enumerate(branches):
        at[place_of(block.exit_span)].append(number)
    lost = {place: len(numbers) - in_package[place] for place, numbers in at.items()
            if place in in_package and len(numbers) > in_package[place]}
    choices = [list(itertools.islice(itertools.combinations(reversed(at[place]), n), MOST_GUESSES))
               for place, n in lost.items()]
    guesses = [frozenset(itertools.chain(*c)) for c in itertools.islice(itertools.product(*choices), MOST_GUESSES)]
    count = math.prod(math.comb(len(at[place]), n) for place, n in lost.items())
    return guesses, frozenset(lost if count > len(guesses) else ())


class _Drives:
    """Runs of graph and program side by side under one guess of which decision is which."""

    def __init__(self, program: Any, inputs: list, rtol: float, atol: float, arms: Arms, decisions: list,
                 unsure: frozenset = frozenset()):
        self.graph, self.engine, self.inputs = program._graph, program._engine, inputs
        self.decisions, self.arms, self.unsure = decisions, arms, unsure
        self.rtol, self.atol = rtol, atol
        self.worst, self.mismatches = 0.0, []
        self.impossible = self.unmatched = self.runs = 0
        self.swapped: dict[int, bool] = {}

    def run(self, budget: int, patient: bool) -> bool:
        """Whether all went together; an impatient one stops where it did not."""
        work: list[tuple[int, dict, tuple | None]] = [(k, {}, None) for k in range(len(self.inputs))]
        planned: collections.Counter = collections.Counter()
        while work and self.runs < budget:
            number, plan, turn = work.pop(0)
            if turn is not None and turn in self.arms.driven | self.arms.taken:
                continue
            course = _Course(self.arms, plan)
            self.runs += 1
            compared = self.one(number, plan, course, turn)
            if not patient and (self.mismatches or self.unmatched):
                return False
            if compared:
                (self.arms.driven if plan else self.arms.taken).update((b, arm) for b, _, arm in course.steps)
            work += self.turned(number, course, planned)
        return not self.mismatches and not self.unmatched

    def turned(self, number: int, course: _Course, planned: collections.Counter) -> Iterator[tuple[int, dict, tuple]]:
        """The run again, for each of its decisions that leads to an arm which was never taken."""
        for place, (block, key, arm) in enumerate(course.steps):
            turn = (block, not arm)
            if planned[turn] >= 3 or self.arms.seen(block, not arm):
                continue
            planned[turn] += 1
            before = {k: a for _, k, a in course.steps[:place]}
            yield number, {**before, key: not arm}, turn

    def one(self, number: int, plan: dict, course: _Course, turn: tuple | None) -> bool:
        """Runs both and compares; False if there was nothing to compare."""
        tensors, states = self.inputs[number]
        drawn_from = torch.get_rng_state()
        expected = _reference(self.graph, tensors, states, course)
        torch.set_rng_state(drawn_from)
        if expected is None:
            self.impossible += 1  # the forced path asks for what these values cannot do
            return False
        actual, passed = _compiled(self.engine, self.decisions, tensors, states, course, self.swapped, bool(plan))
        policy = Policy(self.rtol, self.atol)
        # its text holds values of run time, or is torch's own
        if expected[0] == actual[0] == "raised" and expected[2] is None:
            expected, actual = expected[:2], actual[:2]
        found = differences(expected, actual, "result", policy)
        only_graph = turn is not None and turn[0] not in self.arms.driveable
        if only_graph and (found or passed != course.passed()):
            return False  # it follows from what was decided before: there is no such path
        if plan and passed != course.passed():
            self.unmatched += 1  # a test that follows from an earlier one is gone from the program: it cannot be forced
            return False
        if plan and found and self.may_be_apart(course):
            self.unmatched += 1  # both may have been forced apart: which decision is which was not found out
            return False
        self.worst = max(self.worst, policy.worst)
        self.mismatches += [(number, f"{_told(plan)}: {text}") for text in found]
        return True

    def may_be_apart(self, course: _Course) -> bool:
        return any(place_of(block.exit_span) in self.unsure for block, _, _ in course.steps)

    def report(self) -> dict:
        arms = self.arms
        return {"total": arms.total(), "taken": len(arms.taken), "driven": len(arms.driven - arms.taken),
                "never": arms.never(), "runs": self.runs, "impossible": self.impossible, "unmatched": self.unmatched,
                "mismatches": self.mismatches, "error": self.worst}


def place_of_decision(decision: tuple) -> tuple | None:
    span = decision[2]
    return tuple(span[:3]) if span else None


def _reference(graph: Any, tensors: list, states: list, course: _Course) -> Any:
    try:
        return ("returned", run_graph(graph, [*(x.clone() if hasattr(x, "clone") else x for x in tensors), *states],
                                      decide=course, host_functions=host_functions.registered))
    except ProgramRaised as raised:
        return ("raised", raised.type, raised.message if raised.known else None)
    except Exception:
        return None


def _compiled(engine: Any, decisions: list, tensors: list, states: list, course: _Course, swapped: dict,
              forced: bool) -> tuple:
    """The program, led the way the graph went. Passes may have swapped a branch's arms: `swapped`, by decision, is
    learnt where both first come."""
    counts: collections.Counter = collections.Counter()
    went = {key: arm for b, key, arm in course.steps if b in course.arms.driveable}

    def decide(decision: int, arm: int) -> int:
        place = place_of_decision(decisions[decision])
        key = (place, counts[place])
        counts[place] += 1
        if key not in went:
            return arm
        swap = swapped.setdefault(decision, bool(arm) != course.natural[key])
        return int(went[key] != swap) if forced else arm

    if decisions:
        engine.run_.set_decider(decide)
    try:
        outputs, after = engine.run(tensors, states, {}) if states else (engine.run(tensors, [], {})[0], [])
        return ("returned", [*outputs, *after]), counts
    except RunError as error:
        return ("raised", getattr(error, "type", "") or "RuntimeError", getattr(error, "message", None)), counts
    except Exception as error:
        return ("raised", type(error).__name__, error.args[0] if error.args else ""), counts
    finally:
        if decisions:
            engine.run_.set_decider(None)


def _told(plan: dict) -> str:
    if not plan:
        return "free"
    (file, line, column), occurrence = next((k for k in reversed(plan) if k[0][0]), (("?", 0, 0), 0))
    return f"driven at {file}:{line}:{column}, passage {occurrence + 1}"
