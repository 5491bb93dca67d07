# SPDX-License-Identifier: Apache-2.0
"""`backend="reference"`: the captured graph itself, run op by op with torch. Slow; it tells a fault of capture from a
fault of lowering or of an engine.
"""

from __future__ import annotations

from typing import Any, Callable

import torch

from ..calling import host_functions
from ..calling.native_engine import class_named, exception_of
from ..frontend.graph.interpret import ProgramRaised, run_graph
from ..frontend.graph.text import graph_to_text


class ReferenceEngine:
    def __init__(self, graph: Any):
        self.graph = graph

    def run(self, inputs: list, states: list, exceptions: dict, leave: Callable = lambda *_: None) -> tuple[list, list]:
        try:
            results = run_graph(self.graph,
                                [*(x.clone() if isinstance(x, torch.Tensor) else x for x in inputs), *states],
                                host_functions=host_functions.registered)
        except ProgramRaised as raised:
            if raised.kept:
                leave(raised.kept, [raised.kept.get(f"@{name}", s) for (name, _), s in zip(self.graph.states, states)])
            raise exception_of(class_named(raised.type, exceptions) or RuntimeError, raised.type,
                               raised.message, exceptions) from None
        count = len(self.graph.output_states)
        return (results[:-count], results[-count:]) if count else (results, [])

    def save(self, path: str) -> None:
        raise ValueError("a reference program cannot be saved; compile with a back end")

    def ir_text(self) -> str:
        return graph_to_text(self.graph)
