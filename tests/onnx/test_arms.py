# SPDX-License-Identifier: Apache-2.0
"""Arms of an ONNX file that no input takes are driven beside ONNX Runtime. 3 seconds of a processor."""

import json

import numpy as np
import onnx
import onnx.parser
import pytest

import dycl
from dycl.commands import verify
from dycl.verification import onnx_arms
from dycl.verification.onnx_arms import Turned, drive

NESTED = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[N,4] x) => (float[N,4] y) {
   s = ReduceMax <keepdims = 0> (x)
   most = Constant <value_float: float = 100.0> ()
   big = Greater (s, most)
   y = If (big) <
      then_branch = a () => (u) {
         more = Constant <value_float: float = 200.0> ()
         bigger = Greater (s, more)
         u = If (bigger) <then_branch = c () => (p) { p = Neg (x) }, else_branch = d () => (q) { q = Tanh (x) }>
      },
      else_branch = b () => (v) { v = Relu (x) }>
}"""


class Wrong:
    """A program whose negative results are wrong: in the arm of Neg and in that of Tanh, never in that of Relu."""

    def __init__(self, program):
        self._program = program

    def __call__(self, *args):
        return {name: np.where(value < 0, value - 1, value) for name, value in self._program(*args).items()}


@pytest.fixture
def nested(tmp_path):
    path = tmp_path / "nested.onnx"
    onnx.save(onnx.parser.parse_model(NESTED), path)
    return path


def test_each_way_through_nested_ifs(nested, tmp_path):
    turned = Turned(nested, str(tmp_path))
    assert turned.around == {"dycl_turn_0": (), "dycl_turn_1": ("dycl_turn_0",)}
    on = [{name for name, value in way.items() if value} for way in turned.ways()]
    assert sorted(map(sorted, on)) == [["dycl_turn_0"], ["dycl_turn_0", "dycl_turn_1"], ["dycl_turn_1"]]


def test_arms_that_no_input_takes(nested):
    found = drive(nested, dycl.load, 0, 1e-3, 1e-4)
    assert found == {"calls": 3, "differences": [], "left_out": []}
    wrong = drive(nested, lambda package: Wrong(dycl.load(package)), 0, 1e-3, 1e-4)
    assert sum("If 0 turned" in text for text in wrong["differences"]) == 1
    assert sum("If 0, 1 turned" in text for text in wrong["differences"]) == 1
    assert not any("If 1 turned" in text for text in wrong["differences"])


# The loop ends by what the If gives: turned over, never.
ENDLESS = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[2] x) => (float[2] y) {
   rounds = Constant <value_int: int = 9000000000000000> ()
   go = Constant <value = bool {1}> ()
   y = Loop (rounds, go, x) <body = body (int64 i, bool c, float[2] v) => (bool on, float[2] w) {
      one = Constant <value_float: float = 1.0> ()
      w = Add (v, one)
      least = ReduceMin <keepdims = 0> (w)
      most = Constant <value_float: float = -1000000.0> ()
      small = Less (least, most)
      on = If (small) <
         then_branch = a () => (p) { p = Constant <value = bool {1}> () },
         else_branch = b () => (q) { q = Constant <value = bool {0}> () }>
   }>
}"""


def test_a_loop_that_a_turned_if_makes_endless_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_arms, "_SECONDS", 1.0)
    path = tmp_path / "endless.onnx"
    onnx.save(onnx.parser.parse_model(ENDLESS), path)
    found = drive(path, dycl.load, 0, 1e-3, 1e-4)
    assert found == {"calls": 0, "differences": [],
                     "left_out": ["If 0 turned: ONNX Runtime does not end within 1 s"]}


def test_the_command_drives(nested, tmp_path, capsys):
    package = tmp_path / "nested.dycl"
    dycl.compile(str(nested)).save(package)
    assert verify.run(verify.parser().parse_args([str(nested), str(package), "--json"])) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["decisions"], report["both_ways"], report["driven"]["calls"]) == (2, 0, 3)
    assert verify.run(verify.parser().parse_args([str(nested), str(package), "--json", "--no-drive"])) == 0
    assert "driven" not in json.loads(capsys.readouterr().out)
