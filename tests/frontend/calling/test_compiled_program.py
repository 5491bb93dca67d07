# SPDX-License-Identifier: Apache-2.0
"""What a compiled program says about itself, and what may be done with it beside calling it."""

import json
import pickle
import re
import shutil

import pytest
import torch

import dycl
from dycl.view import notebook


class Gate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(2))
        self.calls, self.last = 0, None
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, x):
        self.calls += 1
        self.seen += x
        self.last = x * 2
        if x.sum() > 0:  # decided
            x = self.layer(x)
        return {"y": x, "calls": self.calls}


A, B = torch.ones(2), -torch.ones(2)


@pytest.fixture
def program():
    torch.manual_seed(0)
    return dycl.compile(Gate().eval(), (A,))


def test_what_it_says(program, tmp_path):
    assert program.inputs == [("x", "f32[2]")]
    assert dict(program.outputs) == {"y": "f32[2]", "calls": "int"} | dict(program.outputs[2:])
    assert {kind for _, kind in program.states} == {"f32[2]", "int"}
    first, second = repr(program).split("\n")
    assert first.startswith("CompiledProgram(x: f32[2]) -> (y: f32[2], calls: int") and "; states " in first
    assert re.fullmatch(r"  1 decision, \d sub-DNNs \(ort\), [\d,]+ bytes", second), second
    program.save(tmp_path / "p.dycl")
    assert repr(dycl.load(tmp_path / "p.dycl")) == repr(program)


def test_many_results_are_told_in_short():
    program = dycl.compile(lambda x: [x + k for k in range(40)], (A,))
    assert repr(program).split("\n")[0].endswith("out10: f32[2], ... 29 more)") and len(program.outputs) == 40


def test_trace(program, tmp_path):
    program.save(tmp_path / "p.dycl")
    for callee in (program, dycl.load(tmp_path / "p.dycl")):
        for x, arm in ((A, 1), (B, 0)):
            ((place, origin, taken),) = callee.trace(x)
            assert taken == arm and re.fullmatch(rf"{re.escape(__file__)}:\d+", place)
            assert origin == "Add to Greater", "what the condition is computed from, by its ops: it holds no weights"
            line = int(place.rpartition(":")[2])
            assert "# decided" in open(__file__).read().splitlines()[line - 1]


def test_profile(program):
    found = program.profile([A, (A,), B])
    assert found["calls"] == 3 and found["seconds"] > 0
    assert sum(row["share"] for row in found["sub_dnns"].values()) + found["host"]["share"] == pytest.approx(1)
    assert {row["engine"] for row in found["sub_dnns"].values()} == {"ort"}
    assert min(row["calls"] for row in found["sub_dnns"].values()) in (1, 2)
    assert found["sub_dnns"]["layer"]["calls"] == 2, "a sub-DNN is called after the module whose weights it holds"


class Unrolled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gates = torch.nn.ModuleList(torch.nn.Linear(2, 1) for _ in range(3))

    def forward(self, x):
        for gate in self.gates:
            if gate(x).sum() > 0:
                x = x + 1
        return x


def test_decisions_at_one_line_are_told_apart_by_their_modules():
    torch.manual_seed(0)
    taken = dycl.compile(Unrolled().eval(), (A,)).trace(A)
    assert len({decision.place for decision in taken}) == 1
    assert [decision.origin for decision in taken] == ["gates.0", "gates.1", "gates.2"]


def test_decisions_inside_torch_stand_at_the_line_of_the_model():
    torch.manual_seed(0)
    layer = torch.nn.AdaptiveLogSoftmaxWithLoss(4, 10, [3, 6]).eval()  # asks which words are in the batch

    def model(x, target):
        return layer(x, target).loss  # the line

    program = dycl.compile(model, (torch.randn(3, 4), torch.tensor([1, 4, 8])))
    places = {decision[2] and decision[2][:2] for decision in program._engine.program.decisions}
    assert places == {(__file__, model.__code__.co_firstlineno + 1)}


def test_the_program_after_the_passes(program, tmp_path):
    """Of a loaded program as of a fresh one, and asking changes nothing."""
    before = program.ir_text
    assert "call @s0" in program.hcfg and "call @s0" not in before and " @0:" not in program.hcfg
    program.save(tmp_path / "p.dycl")
    assert dycl.load(tmp_path / "p.dycl").hcfg == program.hcfg
    assert program.ir_text == before
    program.emit_onnx(tmp_path / "p.onnx")
    stripped = dycl.compile(Gate().eval(), (A,), strip=True)
    assert "call @s0" in stripped.hcfg
    stripped.save(tmp_path / "s.dycl")
    assert dycl.load(tmp_path / "s.dycl").hcfg == ""


def test_reset_states(program, tmp_path):
    program.save(tmp_path / "p.dycl")
    model = program._model
    for callee in (program, dycl.load(tmp_path / "p.dycl")):
        assert [callee(A)["calls"] for _ in range(3)] == [1, 2, 3]
        callee.reset_states()
        assert [callee(A)["calls"] for _ in range(2)] == [1, 2]
    program.reset_states()
    assert model.calls == 0 and torch.equal(model.seen, torch.zeros(2))
    program(A)
    program.reset_states()
    assert torch.equal(model.seen, torch.zeros(2)), "what is written back is a copy"


def test_pickled_by_its_bytes(program):
    again = pickle.loads(pickle.dumps(program))
    third = pickle.loads(pickle.dumps(again))
    for x in (A, B):
        assert torch.equal(again(x)["y"], program(x)["y"])
    assert third(A)["calls"] == 1, "it begins as the model was compiled"


def test_one_that_cannot_be_saved_is_not_pickled():
    thing = object()
    program = dycl.compile(lambda x: (x * 2, thing), (A,), verify=False)
    with pytest.raises(dycl.PackageError, match="can't be pickled"):
        pickle.dumps(program)


def test_in_a_notebook(program, monkeypatch):
    shown = program._repr_html_()
    assert "CompiledProgram(x: f32[2])" in shown
    if shutil.which("dot"):
        assert "<svg" in shown and ">true<" in shown and ">false<" in shown
        assert "if x.sum() &gt; 0: # decided" in shown and ">layer<" in shown
    monkeypatch.setattr(shutil, "which", lambda name: None)
    shown = program._repr_html_()
    assert "<details>" in shown and "branch" in shown and "call @s0" in shown


def test_blocks_of_any_name_and_switches_in_a_notebook(tmp_path):
    """Names that the text form quotes, and a switch with two targets, which is no branch."""
    (tmp_path / "m.dyir").write_text('''
func @main(%n: int) -> (int) {
^entry:
  switch %n, [7: ^"a \\"<b>"], ^rest
^"a \\"<b>":
  return %n
^rest:
  %c = const 1
  return %c
}
''')
    builder = dycl._native.read_program(str(tmp_path / "m.dyir"))
    dycl._native.compile_program(builder, str(tmp_path / "m.dycl"))
    described = json.loads(dycl._native.package_to_json(str(tmp_path / "m.dycl")))
    assert [edge["label"] for edge in described["blocks"][0]["exit"]["edges"]] == ["7", "otherwise"]
    if shutil.which("dot"):
        shown = notebook.as_html("t", described, "")
        assert ">7<" in shown and ">otherwise<" in shown and ">true<" not in shown and "<b>" not in shown
