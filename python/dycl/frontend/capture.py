# SPDX-License-Identifier: Apache-2.0
"""One capture: a Python callable and example arguments in, a graph and its interface out.

Capture may have to begin anew with something decided differently (a merge that must not be made, a
buffer that turns out to be a state): `capture` loops until an attempt goes through.
"""

from __future__ import annotations

import contextlib
import gc
from dataclasses import dataclass, field
from typing import Any

import torch

from ..errors import CompileError
from .boundary import exceptions, first_call, late_states
from .boundary.ends import Outputs
from .boundary.inputs import Inputs
from .diagnostics import CaptureRefusal, Restart, raised_on_example, report
from .graph.program import Graph
from .machine.machine import Machine, user_stack
from .options import Options
from .recording import symbolic_shapes
from .recording.recorder import Recorder
from .semantics import outside_generators
from .state.assumptions import Assumptions
from .values.native_entries import own_fault


@dataclass
class Captured:
    graph: Graph
    inputs: Inputs
    outputs: Outputs
    guards: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    steps: int = 0


def capture(fn: Any, args: tuple, kwargs: dict, options: Options) -> Captured:
    with _collector_spared(), symbolic_shapes.heard(), outside_generators.put_back():
        return _captured(fn, args, kwargs, options)


@contextlib.contextmanager
def _collector_spared():
    """The garbage collector need not look through torch and the model while a capture makes objects; unless the process
    has frozen some itself, since thawing takes no list."""
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _captured(fn: Any, args: tuple, kwargs: dict, options: Options) -> Captured:
    try:
        return _settle(fn, args, kwargs, options)
    except CompileError as error:
        if (not error.is_kind("state.type") or not first_call.install_hooks(fn, args, kwargs)
                and not first_call.warm(fn, args, kwargs)):
            raise
    return _settle(fn, args, kwargs, options)


def _settle(fn: Any, args: tuple, kwargs: dict, options: Options) -> Captured:
    assumptions = Assumptions()
    why = ""
    for _ in range(options.max_restarts):
        try:
            return _attempt(fn, args, kwargs, options, assumptions)
        except Restart as restart:
            why = str(restart)
    raise CompileError(f"capture did not settle after {options.max_restarts} attempts; why the last began anew: {why}"
                       "\n  help: what calls leave must be in the same place each time, not under a key such as id(x)",
                       kind="restarts")


def _attempt(fn: Any, args: tuple, kwargs: dict, options: Options, assumptions: Assumptions) -> Captured:
    machine = Machine(Recorder, options, assumptions)
    drawn_so_far = outside_generators.states()
    assumptions.begin_attempt()
    try:
        with torch.no_grad():
            inputs = Inputs(machine, fn, args, kwargs)
            options.check_names(inputs.argument_names, [path for path, _ in inputs.leaves],
                                [path for path, _ in inputs.numbers] + [
                                    path for path, x in inputs.statics if type(x) in (int, float, bool)])
            try:
                machine.start(inputs.callable, inputs.args, inputs.kwargs)
                outside_generators.refuse_drawn(drawn_so_far)
                outputs = Outputs(machine, inputs)
                _check_ends(machine)
                if not options.allow_raise:
                    _check_example(outputs)
                _check_guards(machine)
                _check_layout(machine)
            except Exception as error:  # those of the program end one of its paths
                raise own_fault(error) from error
        if machine.warnings:
            assumptions.counting.refute(None)  # a loop that became a back edge without need may be the reason
        graph = machine.graph
        return Captured(graph, inputs, outputs, machine.recorder.guards, machine.warnings, machine.steps)
    except CaptureRefusal as refusal:
        late_states.declare(machine)
        stack = user_stack(machine.current) if machine.current is not None and machine.current.frames else []
        error = report(refusal, stack)
        assumptions.refute(error)
        told = assumptions.chosen_texts.refusal or error if refusal.is_kind("blow-up") else error
        raise told from refusal.__cause__
    finally:
        machine.heap.activate(None)


def _check_ends(machine: Machine) -> None:
    """Every path must lead somewhere. A loop in a generator may be begun anew long after states that have left it met
    others that never came through it, and those are forgotten with them."""
    lost = next((block for block in machine.graph.reachable_blocks() if block.exit is None), None)
    if lost is None:
        return
    unrolled = machine.assumptions.never_begun_anew
    if machine.loops.begun_anew <= unrolled.assumed:
        raise CaptureRefusal("the paths of this loop cannot be followed to their ends", span=lost.span, kind="internal")
    unrolled.assume(*machine.loops.begun_anew)


def _check_example(outputs: Outputs) -> None:
    """No path returns: the example's does not, either. Which way the data decide is seen when the example is run."""
    if outputs.ends or not outputs.raising:
        return
    block = outputs.raising[0].state.block
    raise raised_on_example(block.exit.type, exceptions.in_short(block.exit.message), block.exit_span)


def _check_layout(machine: Machine) -> None:
    """A program that asks how tensors lie in memory must be told so on each path."""
    layout = machine.recorder.layout
    if layout.offset_matters and layout.beginning_lost:
        raise CaptureRefusal("the model asks where a tensor begins in its memory (storage_offset), and that is known "
                             "only at run time", "call clone() before", span=layout.asked or machine.left,
                             kind="tensor.layout")
    if not (layout.matters or layout.offset_matters) or not layout.lost:
        return
    if machine.assumptions.layout.holds():
        raise CaptureRefusal("the model asks how a tensor lies in memory (stride, is_contiguous), "
                             "or writes to what reshape gave, and that is known only at run time",
                             "call contiguous() or clone() before", span=layout.asked or machine.left,
                             kind="tensor.layout")
    machine.assumptions.layout.assume(None)


def _check_guards(machine: Machine) -> None:
    """What torch decided about declared dims by the example must hold in every run."""
    recorder = machine.recorder
    recorder.block = machine.graph.entry
    recorder.span = None
    for text, fact in list(recorder.symbols.guards.items()):
        value = recorder.symbols.lower(fact)
        recorder.check(value, f"the program was compiled for inputs with {text}; compile it with such an example",
                       "ValueError")
