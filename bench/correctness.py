# SPDX-License-Identifier: Apache-2.0
"""RQ1: does the compiled program answer as eager does? And a model traced along one path?

For each input the captured graph is run op by op with torch (`dycl.frontend.graph.interpret`: eager's own arithmetic),
which tells eager's decisions. Then

 (a) forced: our program takes exactly these decisions, and all results are compared; each arm of each decision that no
     input took is driven once by turning that decision round in both (`dycl.verification.drive`);
 (b) free: our program decides for itself. A run that decides otherwise is a flip; it is listed with eager's margin, the
     distance of the two sides of the comparison that decided.

What is known is not computed twice: a convolution of the captured graph whose operands are bit for bit those of the
model's is the model's (`SameConvolutions`); where a free run took eager's decisions, forcing them would be the same run
again and is tried on every tenth input only.

Errors are relative: max|difference| / max|value|, per tensor. Where one is beyond the bound and eager itself is as far
from the same model in float64 (`zoo.compare.rounding`), it is listed as rounding with both distances;
the largest error counts it.
"""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any, Callable

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from dycl.peers.measure import FAR, error

ROOT = Path(__file__).resolve().parents[1]
TOLERANCE = 10**-4.7  # the paper's worst error; relative here
FORCED_EVERY = 10  # where the free run decided as eager does, forcing is tried on every tenth input


class Decision:
    """One branch or switch that eager passed."""

    __slots__ = ("block", "place", "arm", "arms", "env")

    def __init__(self, block: Any, arm: int, arms: int, env: dict):
        self.block, self.arm, self.arms, self.env = block, arm, arms, env
        span = block.exit_span or block.span
        self.place = (span.file, span.line, span.column) if span else None


def run_reference(graph: Any, inputs: list,
                  choose: Callable[[int, int], int] | None = None) -> tuple[list, list[Decision]]:
    """Results and decisions; choose(number, arm) may overrule an arm. Arms as the runtime counts them."""
    from dycl.frontend.graph import interpret
    from dycl.frontend.graph.program import Branch, Goto, Raise, Return

    env = dict(zip(graph.inputs + [v for _, v in graph.states], inputs))
    symbols = interpret.symbols_of(graph.inputs, inputs)
    block, taken = graph.entry, []
    while True:
        interpret.run_block(block, env, symbols)
        exit = block.exit
        if isinstance(exit, Return):
            return [interpret.look(env, v) for v in exit.values], taken
        if isinstance(exit, Raise):
            raise interpret.ProgramRaised(exit.type, exit.message)
        if isinstance(exit, Goto):
            edge = exit.edge
        else:
            if isinstance(exit, Branch):
                edges = [exit.if_false, exit.if_true]
                arm = int(bool(interpret.look(env, exit.condition)))
            else:
                edges = [*exit.targets, exit.otherwise]
                selector = interpret.look(env, exit.selector)
                arm = exit.cases.index(selector) if selector in exit.cases else len(exit.cases)
            if choose is not None:
                arm = choose(len(taken), arm)
            taken.append(Decision(block, arm, len(edges), env))
            edge = edges[arm]
        values = [interpret.look(env, v) for v in edge.args]
        env = dict(env)
        env.update(zip(edge.target.params, values))
        block = edge.target


class Alignment:
    """Which of eager's decisions is which of the program's.

    Passes drop decisions whose outcome is known and may swap the arms of a branch, but keep their order. A decision of
    the program belongs to the next one of eager's at the same place in the source; whether its arms are
    swapped is learnt from runs in which both agree.
    """

    def __init__(self, program: Any):
        self.places = []
        for _, _, span in program.decisions:
            self.places.append(None if span is None else (span[0], span[1], span[2]))
        self.swapped: dict[int, bool] = {}

    def pair(self, trace: list, taken: list[Decision]) -> list[tuple[int, int, Decision]] | None:
        """[(decision, arm, eager's)] of a whole run, or None if they do not go together."""
        pairs, at = [], 0
        for decision, arm in trace:
            while at < len(taken) and taken[at].place != self.places[decision]:
                at += 1
            if at == len(taken):
                return None
            pairs.append((decision, arm, taken[at]))
            at += 1
        return pairs

    def first_difference(self, trace: list, taken: list[Decision]) -> tuple[bool, Decision | None]:
        """(whether the program decided otherwise, where eager first did not)."""
        at = 0
        for decision, arm in trace:
            while at < len(taken) and taken[at].place != self.places[decision]:
                at += 1
            if at == len(taken):
                return True, None
            if arm != self.arm(decision, taken[at]):
                return True, taken[at]
            at += 1
        return False, None

    def learn(self, pairs: list) -> None:
        for decision, arm, theirs in pairs:
            if theirs.arms == 2:
                self.swapped.setdefault(decision, arm != theirs.arm)

    def arm(self, decision: int, theirs: Decision) -> int:
        return 1 - theirs.arm if theirs.arms == 2 and self.swapped.get(decision, False) else theirs.arm

    def decider(self, taken: list[Decision], failures: list) -> Callable[[int, int], int]:
        position = [0]

        def decide(decision: int, arm: int) -> int:
            at = position[0]
            while at < len(taken) and taken[at].place != self.places[decision]:
                at += 1
            if at == len(taken):
                failures.append(decision)
                return arm
            position[0] = at + 1
            return self.arm(decision, taken[at])

        return decide


class SameConvolutions(TorchDispatchMode):
    """Convolutions computed while it is entered, known again by their weights and the bits of their operands."""

    def __init__(self):
        super().__init__()
        self.known: dict[tuple, list] = {}
        self.found = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is not torch.ops.aten.convolution.default or kwargs:
            return func(*args, **(kwargs or {}))
        x, weight, bias, *rest = args
        earlier = self.known.setdefault((weight.data_ptr(), repr(rest)), [])
        for operands, result in earlier:
            if all(map(same, operands, (x, weight, bias))):
                self.found += 1
                return result.clone()
        result = func(*args)
        earlier.append(((x.clone(), weight, bias), result.clone()))  # the caller may write to both
        return result


def same(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    return a.data_ptr() == b.data_ptr() and a.shape == b.shape and a.stride() == b.stride() or torch.equal(a, b)


_COMPARISONS = {"lt", "le", "gt", "ge", "eq", "ne"}


def margin(decision: Decision) -> float | None:
    """How far eager was from deciding otherwise: the distance of the two sides of the comparison."""
    from dycl.frontend.graph import interpret
    from dycl.frontend.graph.program import Branch, HostNode, Value

    makers: dict = {}
    block = decision.block
    while block is not None:
        for node in block.nodes:
            for output in node.outputs:
                makers.setdefault(output, node)
        block = block.idom
    exit = decision.block.exit
    pending, seen, found = [exit.condition if isinstance(exit, Branch) else exit.selector], set(), []
    while pending:
        value = pending.pop()
        if value in seen or value not in makers:
            continue
        seen.add(value)
        node = makers[value]
        name = node.op.split(".")[-1] if isinstance(node, HostNode) else node.target._schema.name.split("::")[-1]
        sides = list(node.operands) if isinstance(node, HostNode) else [a for a in node.args]
        if name in _COMPARISONS and len(sides) >= 2:
            a, b = (interpret.look(decision.env, s) for s in sides[:2])
            distance = abs(torch.as_tensor(a, dtype=torch.float64) - torch.as_tensor(b, dtype=torch.float64))
            found.append(float(distance.min()))
            continue
        if name == "argmax":
            x = interpret.look(decision.env, sides[0]).flatten().double()
            if x.numel() > 1:
                top = torch.topk(x, 2).values
                found.append(float(top[0] - top[1]))
            continue
        if len(seen) < 200:
            pending += [s for s in sides if isinstance(s, Value)]
    return min(found) if found else None


def check(model: Any, program: Any, inputs: Callable[[int], tuple], seeds, traced: Callable | None,
          tick: Callable[[int], None] = lambda n: None, drives: int = 2000, partial: Any = None) -> dict:
    """The table row of one model. `partial` keeps what is known per seed (`rows`, `add`),
    and what it has is not done again."""
    from dycl.verification.drive import drive

    engine, interface = program._engine, program._interface
    run, graph = engine.run_, program._graph
    alignment = Alignment(engine.program)
    rows: dict[int, dict] = partial.rows if partial else {}
    for row in rows.values():
        alignment.swapped.update((int(k), v) for k, v in row["swapped"].items())
    for number, seed in enumerate(seeds):
        if seed not in rows or is_far(rows[seed]) and "rounding" not in rows[seed]:
            row = one(seed, inputs(seed), model, program, run, graph, alignment, traced)
            partial.add(seed, row) if partial else rows.__setitem__(seed, row)
        tick(number + 1)
    found = [rows[seed] for seed in seeds]
    mismatches = [{"seed": seed, "kind": kind, "error": row[kind]} for seed, row in zip(seeds, found)
                  for kind in ("free", "forced") if row[kind] is not None
                  and not row[kind] < TOLERANCE and not row["rounding"]]
    rounding = [{"seed": seed, "text": row["rounding"]}
                for seed, row in zip(seeds, found) if is_far(row) and row["rounding"]]
    flips = [row["flip"] for row in found if row["flip"]]
    flat = [(interface.collect(inputs(seed), {})[0], interface.read_states() or []) for seed in list(seeds)[:20]]
    arms = drive(program, flat, TOLERANCE, 0.0, drives)
    mismatches += [{"seed": int(seeds[k]), "kind": text, "error": arms["error"]} for k, text in arms["mismatches"]]
    worst = max([row[kind] for row in found for kind in ("free", "forced") if row[kind] is not None], default=0.0)
    return {"inputs": len(found), "paths": len({row["path"] for row in found}),
            "mismatches": mismatches, "rounding": rounding, "flips": flips,
            "log10_error": math.log10(worst) if worst > 0 else None, "arms": arms["total"], "arms_taken": arms["taken"],
            "arms_driven": arms["driven"], "arms_never": [text.removeprefix(str(ROOT) + "/") for text in arms["never"]],
            "traced_wrong": sum(row["traced_wrong"] for row in found) if traced else None}


def is_far(row: dict) -> bool:
    return any(row[kind] is not None and not row[kind] < TOLERANCE for kind in ("free", "forced"))


def one(seed: int, args: tuple, model: Any, program: Any, run: Any, graph: Any, alignment: Alignment,
        traced: Callable | None) -> dict:
    """What one input shows: errors of the free run (None if it decided otherwise: `flip`) and of the forced one."""
    from zoo.compare import rounding

    interface = program._interface
    with torch.no_grad(), SameConvolutions():
        expected = model(*args)
        flat = [x.clone() if isinstance(x, torch.Tensor) else x for x in interface.collect(args, {})[0]]
        _, taken = run_reference(graph, flat + list(interface.read_states() or []))
    path = hashlib.sha1(repr([(d.block.id, d.arm) for d in taken]).encode()).hexdigest()[:12]
    run.set_decider(None)
    run.set_trace(True)
    free = program(*args)
    trace = list(run.trace)
    run.set_trace(False)
    pairs = alignment.pair(trace, taken)
    apart = error(free, expected)
    if pairs is not None and apart < TOLERANCE:
        alignment.learn(pairs)
    flipped, place = alignment.first_difference(trace, taken)
    flip = {"seed": seed, "margin": margin(place) if place else None,
            "line": place.place[1] if place and place.place else None} if flipped else None
    if flipped or pairs is None or not apart < TOLERANCE or seed % FORCED_EVERY == 0:
        failures: list = []
        run.set_decider(alignment.decider(taken, failures))
        got = program(*args)
        run.set_decider(None)
        forced = FAR if failures else error(got, expected)
    else:  # the free run took eager's decisions: forcing them is the same run again
        got, forced = free, apart
    # Beyond the bound, but eager is as far from the same model in float64.
    far = [r for r, e in ((free, None if flipped else apart), (got, forced)) if e is not None and not e < TOLERANCE]
    told = [rounding(model, args, expected, r) for r in far]
    wrong = traced is not None and (traced.is_other(expected) or not error(traced(args), expected) < TOLERANCE)
    return {"path": path, "free": None if flipped else apart, "forced": forced, "flip": flip, "traced_wrong": wrong,
            "rounding": told[0] if told and all(told) else None,
            "swapped": {str(k): v for k, v in alignment.swapped.items()}}
