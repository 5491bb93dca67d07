# SPDX-License-Identifier: Apache-2.0
"""What a model decides at run time, and why: its captured graph, read backwards from each decision.

A decision is a line of the model; an unrolled loop or several callers decide at one line more than once. Why it is not
decided while compiling is a chain of lines, from an input (or a state of an earlier call) to the condition. What is not
named here was decided while compiling and is fixed in the program.
"""

from __future__ import annotations

import linecache
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import torch

from .errors import CompileError
from .frontend.capture import capture
from .frontend.graph.program import AtenNode, Block, Branch, Graph, Raise, Return, Value, inputs_of, successors
from .frontend.options import Options
from .frontend.source import Span

Place = tuple[str, int]  # file and line; ("", 0): not known


@dataclass
class Decision:
    """The branches at one line."""

    place: Place
    times: int = 0  # branches of the program: more than one where a loop is unrolled, or for several callers
    inputs: list[str] = field(default_factory=list)  # that any of the conditions depends on
    modules: list[str] = field(default_factory=list)  # whose weights do
    random: bool = False  # any of them depends on random numbers
    chain: list[Place] = field(default_factory=list)  # the shortest way from an input, of the first of them


@dataclass
class Loop:
    places: list[Place]  # that decide whether it goes on
    limit: int  # rounds; 0: the limit of the run


@dataclass
class Explanation:
    decisions: list[Decision] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    raises: list[tuple[Place, str]] = field(default_factory=list)
    ends: int = 0  # places at which the program returns
    states: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)  # loops and recursions that are followed so far and no further
    refused: CompileError | None = None  # then the rest is empty: capture ends at the first refusal


def explain(model: Any, args: tuple = (), kwargs: dict | None = None, **options: Any) -> Explanation:
    """`options`: those of `dycl.compile` that say what the example stands for: dynamic_dims, ranges, dynamic_args, ...

    Nothing is compiled by an engine."""
    try:
        captured = capture(model, args, dict(kwargs or {}), Options(**options))
    except CompileError as error:
        return Explanation(refused=error)
    graph = captured.graph
    found = Explanation(states=[name for name, _ in graph.states], warnings=list(captured.warnings))
    slices = _Slices(graph, _names_of_weights(model))
    by_place: dict[Place, Decision] = {}
    for block in graph.reachable_blocks():
        if isinstance(block.exit, Branch):
            slices.add(block, by_place)
        elif isinstance(block.exit, Raise):
            found.raises.append((_place(block.exit_span), block.exit.type))
        elif isinstance(block.exit, Return):
            found.ends += 1
    found.decisions = list(by_place.values())
    found.loops = _loops(graph)
    return found


def source_line(place: Place) -> str:
    return linecache.getline(*place).strip() if place[1] else ""


def _place(span: Span | None) -> Place:
    return (span.file, span.line) if span is not None else ("", 0)


def _names_of_weights(model: Any) -> dict[int, str]:
    """id of a parameter or buffer -> the module that holds it."""
    owner = getattr(model, "__self__", model)
    if not isinstance(owner, torch.nn.Module):
        return {}
    named = [*owner.named_parameters(remove_duplicate=False), *owner.named_buffers(remove_duplicate=False)]
    return {id(tensor): name.rpartition(".")[0] for name, tensor in named}


def _loops(graph: Graph) -> list[Loop]:
    """A loop is what leads back to its header; it is decided where one arm leaves it."""
    blocks = graph.reachable_blocks()
    order = {block: k for k, block in enumerate(blocks)}
    before: dict[Block, list[Block]] = {}
    backwards: dict[Block, list[Block]] = {}  # header -> where it is gone back to it from
    for block in blocks:
        for edge in successors(block):
            before.setdefault(edge.target, []).append(block)
            if order[edge.target] <= order[block]:
                backwards.setdefault(edge.target, []).append(block)
    loops = []
    for header in blocks:
        body, open_ = {header: None}, list(backwards.get(header, ()))
        if not open_:
            continue
        while open_:
            block = open_.pop()
            if block not in body:
                body[block] = None
                open_ += before.get(block, ())
        leaves = [b for b in body if any(edge.target not in body for edge in successors(b))]
        places = sorted({_place(b.exit_span) for b in leaves if isinstance(b.exit, Branch)})
        loops.append(Loop(places or [_place(header.span)], header.loop_limit))
    return loops


class _Slices:
    """Where the values of a graph come from."""

    def __init__(self, graph: Graph, weights: dict[int, str]):
        self.weights = weights
        self.inputs = {v.id: name for name, v in zip(graph.input_names, graph.inputs)}
        self.inputs |= {v.id: f"{name} (left by an earlier call)" for name, v in graph.states}
        self.producer: dict[int, Any] = {}
        self.arguments: dict[int, list[tuple[Value, Block]]] = {}  # of block parameters: what edges hand over, whence
        for block in graph.reachable_blocks():
            for node in block.nodes:
                self.producer.update((output.id, node) for output in node.outputs)
            for edge in successors(block):
                for parameter, value in zip(edge.target.params, edge.args):
                    self.arguments.setdefault(parameter.id, []).append((value, block))

    def add(self, block: Block, by_place: dict[Place, Decision]) -> None:
        """One more branch of the decision at its line."""
        assert isinstance(block.exit, Branch)
        place = _place(block.exit_span)
        decision = by_place.setdefault(place, Decision(place))
        decision.times += 1
        inputs, modules, chain = self._backwards(block.exit.condition, decision)
        decision.inputs += [name for name in inputs if name not in decision.inputs]
        decision.modules += [name for name in modules if name not in decision.modules]
        decision.chain = decision.chain or _without_repeats([*chain, place])

    def _before(self, value: Value) -> list[Value]:
        node = self.producer.get(value.id)
        if node is None:
            return [argument for argument, _ in self.arguments.get(value.id, ())]
        return inputs_of(node) if isinstance(node, AtenNode) else list(node.operands)

    def _backwards(self, condition: Value, decision: Decision) -> tuple[list[str], list[str], list[Place]]:
        """Breadth first, so that the input that is found first has the shortest way."""
        after: dict[int, Value | None] = {condition.id: None}
        inputs: list[str] = []
        modules: list[str] = []
        chain: list[Place] = []
        open_ = deque([condition])
        while open_:
            value = open_.popleft()
            if value.id in self.inputs and self.inputs[value.id] not in inputs:
                inputs.append(self.inputs[value.id])
                chain = chain or self._lines(value, after)
            module = self.weights.get(id(value.constant)) if value.constant is not None else None
            if module and module not in modules:
                modules.append(module)
            decision.random |= getattr(self.producer.get(value.id), "op", "").startswith("rand.")
            for before in self._before(value):
                if before.id not in after:
                    after[before.id] = value
                    open_.append(before)
        return inputs, modules, chain

    def _lines(self, value: Value | None, after: dict[int, Value | None]) -> list[Place]:
        """The lines at which values on the way were computed, from the input on."""
        places = []
        while value is not None:
            node = self.producer.get(value.id)
            if node is not None and node.span is not None:
                places.append(_place(node.span))
            value = after[value.id]
        return places


def _without_repeats(places: list[Place]) -> list[Place]:
    return [place for k, place in enumerate(places) if k == 0 or place != places[k - 1]]
