# SPDX-License-Identifier: Apache-2.0
"""The interface of a captured program: what calls need to know of it, out of what capture found."""

from __future__ import annotations

from typing import Any

import torch

from ...calling.interface import Interface, memory_of, sharing
from ...objects import IdentityDict, mapped
from ..values.parameters import was_asked
from .argument_templates import Entering, by_place_or_name, extra_keywords, plain_defaults


def interface_of(captured: Any) -> Interface:
    inputs, outputs, graph = captured.inputs, captured.outputs, captured.graph
    order = IdentityDict((h, k) for k, h in enumerate(inputs.handles))
    written = [order[root.handle] for root in outputs.written_inputs]
    entering = Entering(inputs)
    result = Interface([entering(a) for a in inputs.given[0]], {k: entering(v) for k, v in inputs.given[1].items()},
                 outputs.variants, outputs.slots_of, written, inputs.states, outputs.exceptions,
                 dict(inputs.m.recorder.symbols.ranges), list(graph.input_names), inputs.argument_names,
                 captured.guards, _is_random(graph))
    result.held, result.origins, result.at_risk = outputs.held, outputs.origins, sorted(outputs.held_tensors.at_risk)
    result.in_place = outputs.in_place
    result.own_containers = outputs.own_containers
    result.replaced = sorted(outputs.held_tensors.replaced)
    result.failures = outputs.failures
    result.themselves, result.own = outputs.themselves, outputs.own
    result.orders = outputs.orders
    result.appearing = [(owner, name) for owner, name in outputs.appearing if owner not in inputs.objects]
    _note_what_is_asked(result, inputs)
    result.sharing = sharing(entering.containers)
    result.extra_keywords = extra_keywords(inputs.model, list(inputs.given[1]))
    result.interchangeable = by_place_or_name(inputs.model)
    result.defaults = plain_defaults(inputs.model) if result.interchangeable else {}
    if written or outputs.kept_inputs or result.at_risk:
        result.constants = _constants(inputs.m.recorder.real.roots)
    result.kept_inputs = {name: order[root.handle] for name, root in outputs.kept_inputs.items()}
    result.containers = inputs.objects
    result.combinations = list(inputs.m.assumptions.combinations or ())
    result.initials = {name: mapped(_own, value) for name, value in zip(result.state_names, result.recognised())}
    return result


def _is_random(graph: Any) -> bool:
    return any(getattr(n, "op", "").startswith("rand.") for b in graph.reachable_blocks() for n in b.nodes)


def _constants(roots: list) -> set[int]:
    """Where the model's tensors lie that the program has taken as they were."""
    return {memory_of(root.real) for root in roots if root.is_constant and not root.real.is_meta}


def _note_what_is_asked(result: Interface, inputs: Any) -> None:
    """What the model asks of its tensors beside their values."""
    machine = inputs.m
    layout = machine.recorder.layout
    if layout.matters or layout.offset_matters:
        result.layouts = [layout.of(handle) for handle in inputs.handles]
    number = IdentityDict((handle, k) for k, handle in enumerate(inputs.handles))
    result.apart = [[number[x] for x in pair] for pair in machine.told_apart if all(x in number for x in pair)]
    if machine.gradients_asked:
        result.gradients = [bool(x.requires_grad) for x in inputs.examples]
    result.parameters = [[k, isinstance(x, torch.nn.Parameter)]
                         for k, (handle, x) in enumerate(zip(inputs.handles, inputs.examples)) if was_asked(handle)]


def _own(x: Any) -> Any:
    return x.detach().clone() if isinstance(x, torch.Tensor) else x
