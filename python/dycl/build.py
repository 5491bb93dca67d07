# SPDX-License-Identifier: Apache-2.0
"""From a captured program to one that runs: lowering, then the compiler."""

from __future__ import annotations

import json
import time
from typing import Any, Callable

import torch

from .calling.native_engine import NativeEngine
from .calling.package_interface import to_json
from .calling.wording import in_words
from .frontend import diagnostics
from .frontend.diagnostics import CaptureRefusal
from .frontend.lowering.convert import LoweringRefusal
from .frontend.lowering.lower import lower_graph
from .frontend.lowering.tape import ConversionError
from .native import native
from .verification.reference_engine import ReferenceEngine


def build(captured: Any, interface: Any, model: Any, backend: str, threads: int, say: Callable,
          **choices: Any) -> tuple[Any, dict]:
    if backend == "reference":
        return ReferenceEngine(captured.graph), {"blocks": len(captured.graph.reachable_blocks())}
    started = time.perf_counter()
    say("lower")
    builder = native().ProgramBuilder()
    try:
        interface.index_errors = lower_graph(captured.graph, builder, names=_weight_names(model),
                                             initials=interface.initials)
    except LoweringRefusal as refusal:
        told = CaptureRefusal(f"{refusal.op} cannot be compiled: {refusal.why}",
                              "write it with other operations (docs/supported_ops.md lists them)",
                              span=refusal.span, kind="lowering")
        raise diagnostics.report(told, []) from None
    except ConversionError as error:  # not of an op: of a result, a state, a value that goes round a loop
        told = CaptureRefusal(f"among the program's results, states or weights: {error}",
                              "give the model or the value another dtype: model.float(), x.to(torch.float32)",
                              kind="lowering")
        raise diagnostics.report(told, []) from None
    for name, (low, high) in interface.symbols.items():
        builder.add_symbol(name, low, high)
    try:
        builder.set_metadata("python", json.dumps(to_json(interface)))
    except Exception as error:  # the interface cannot be saved: the program still runs in this process
        builder.set_metadata("python", json.dumps({"unsaved": str(error)}))
    if len(interface.variants) > 1:
        builder.set_metadata("variants", json.dumps(_variants(interface, captured.graph.output_names[1:])))
    lowered = time.perf_counter() - started
    engine, report = NativeEngine.compile(builder, backend, threads, say, **choices)
    names = interface.state_names
    engine.index_errors, engine.draws = interface.index_errors, interface.random
    engine.order = [names.index(name) for name, _ in engine.program.states]
    engine.back = [engine.order.index(k) for k in range(len(names))]
    report["times"] = {"lower": lowered, "compile": time.perf_counter() - started - lowered}
    return engine, report


def _variants(interface: Any, names: list[str]) -> list[str]:
    """What the model returns where the result `variant` is 0, 1, ...: for readers without Python."""
    return [in_words(body, (names[k] for k in slots)) for (body, _), slots in zip(interface.variants, interface.slots)]


def _weight_names(model: Any) -> dict[int, str]:
    owner = getattr(model, "__self__", model)
    if not isinstance(owner, torch.nn.Module):
        return {}
    names = {id(p): name for name, p in owner.named_parameters(remove_duplicate=False)}
    names.update((id(b), name) for name, b in owner.named_buffers(remove_duplicate=False))
    return names
