# SPDX-License-Identifier: Apache-2.0
"""Generated chains of gates through the whole compiler and the engine: results, artifacts, weights.

bench/compile/gate_chain.py asks the same of 3,000 gates, and the time.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
import torch

from dycl import _native

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("DYCL_BIN", ROOT / ".venv" / "bin"))
sys.path.insert(0, str(ROOT / "bench" / "compile"))
import gate_chain  # noqa: E402


def dycl(*words):
    done = subprocess.run([BIN / "dycl", *map(str, words), "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def compiled(tmp_path, kind, gates):
    path = gate_chain.write(kind, gates, tmp_path)
    report = dycl("compile", path, "-o", tmp_path / "chain.dycl")
    return path, tmp_path / "chain.dycl", report


@pytest.mark.parametrize("kind", gate_chain.KINDS)
def test_chains_give_what_the_interpreter_gives(tmp_path, kind):
    path, package, report = compiled(tmp_path, kind, 60)
    assert report["blocks"] >= 60
    taken = gate_chain.compare(path, package, inputs=6)
    assert len(taken) > 1, "every input takes the same path"


def test_a_thousand_identical_decode_steps_are_one_artifact_and_one_weight(tmp_path):
    _, package, report = compiled(tmp_path, "decode", 1000)
    assert (report["sub_dnns"], report["artifacts"], report["calls"]) == (1, 1, 1000)
    inspected = dycl("inspect", package)
    [weight] = inspected["weights"]
    sections = {s["name"]: s["bytes"] for s in inspected["sections"]}
    assert sections["weights"] < weight["bytes"] + 64
    assert sections["artifacts"] < 20_000


def test_the_interpreter_runs_any_op_through_onnx_runtime(tmp_path):
    """`Conv` is none of the built-in evaluator's ops."""
    (tmp_path / "conv.dyir").write_text("""weight @w: f32[1,1,2,2] = [1.0,2.0,3.0,4.0]
func @main(%x: f32[1,1,3,3]) -> (f32[1,1,2,2]) {
^entry:
  %w = weight @w
  %y = Conv %x, %w : f32[1,1,2,2]
  return %y
}
""")
    program = _native.read_program(tmp_path / "conv.dyir")
    x = torch.arange(9.0).reshape(1, 1, 3, 3)
    [y], _ = _native.Interpreter(program, "ort").run([x])
    weight = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    numpy.testing.assert_allclose(y, torch.nn.functional.conv2d(x, weight))
    with pytest.raises(Exception, match="Conv"):
        _native.Interpreter(program, "builtin").run([x])
    with pytest.raises(ValueError, match="no evaluator"):
        _native.Interpreter(program, "nothing")
