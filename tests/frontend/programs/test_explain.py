# SPDX-License-Identifier: Apache-2.0
"""What `dycl.explain` says of a model: its decisions with their lines, and why they are decided at run time."""

from pathlib import Path

import pytest
import torch

import zoo
from dycl.commands.explain import as_json, as_text
from dycl.explain import explain, source_line


class Gates(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gates = torch.nn.ModuleList(torch.nn.Linear(2, 1) for _ in range(3))
        self.calls = 0

    def forward(self, x, limit):
        self.calls += 1
        if limit > 3:  # static: the argument is fixed
            x = x + 1
        for gate in self.gates:
            score = gate(x)
            if score.sum() > 0:  # decided
                x = x * 2
        while x.sum() < 10:  # loop
            x = x * x + 1
        if self.calls > 5:  # state
            raise ValueError("too often")
        return x


def test_decisions_and_why():
    torch.manual_seed(0)
    found = explain(Gates().eval(), (torch.ones(2), 1))
    assert found.refused is None
    by_line = {source_line(d.place).rpartition("# ")[2]: d for d in found.decisions}
    assert by_line.keys() == {"decided", "loop", "state"}
    decided = by_line["decided"]
    assert decided.times == 3 and decided.modules == ["gates.0", "gates.1", "gates.2"] and decided.inputs == ["x"]
    assert [source_line(p) for p in decided.chain] == ["score = gate(x)", "if score.sum() > 0:  # decided"]
    assert by_line["state"].inputs == [f"{found.states[0]} (left by an earlier call)"]
    (loop,) = found.loops
    assert ["# loop" in source_line(place) for place in loop.places] == [True]
    assert [(source_line(place), kind) for place, kind in found.raises] == [('raise ValueError("too often")',
                                                                            "ValueError")]
    text = as_text(found)
    assert "3 lines decide at run time, in 6 branches;" in text
    assert "depends on x through gates.0, gates.1, gates.2" in text
    assert as_json(found)["decisions"][0]["source"]


def test_nothing_is_decided():
    assert "Nothing is decided at run time" in as_text(explain(torch.nn.Linear(2, 2).eval(), (torch.ones(2),)))


def test_refused():
    found = explain(lambda x: open("a").read() if x.sum() > 0 else x, (torch.ones(2),))
    assert found.refused is not None and not found.decisions
    assert "is refused" in as_text(found) and as_json(found)["refused"]["kind"] == found.refused.kind


# Those whose capture takes a second or two; tests/zoo asks the same of all compiled ones.
@pytest.mark.parametrize("name", ["sdn_mobilenet", "mixture_of_experts", "tree_lstm", "nmt"])
def test_the_zoo_names_every_decision_with_its_line(name):
    """5 s together."""
    entry = zoo.MODELS[name]
    found = explain(entry.build(), entry.inputs(0))
    assert found.decisions
    for decision in found.decisions:
        assert Path(decision.place[0]).parent.name == "zoo" and source_line(decision.place), decision
        assert decision.chain[-1] == decision.place
        assert decision.inputs or source_line(decision.place).startswith("for "), "a count of rounds has no other cause"
