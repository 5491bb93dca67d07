# SPDX-License-Identifier: Apache-2.0
"""`dycl verify`: a package beside ONNX Runtime on its file. 10 seconds."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

BIN = Path(os.environ.get("DYCL_BIN", Path(__file__).resolve().parents[2] / ".venv" / "bin"))
TEXT = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[N,4] x) => (float[N,4] y)
{
   s = ReduceSum <keepdims = 0> (x)
   zero = Constant <value_float: float = 0.0> ()
   c = Greater (s, zero)
   y = If (c) <then_branch = a () => (u) { u = Mul (x, x) }, else_branch = b () => (v) { v = Neg (x) }>
}
"""


def dycl(*arguments):
    return subprocess.run([BIN / "dycl", *map(str, arguments)], capture_output=True, text=True)


@pytest.fixture
def folder(tmp_path):
    onnx.save(onnx.parser.parse_model(TEXT), tmp_path / "m.onnx")
    onnx.save(onnx.parser.parse_model(TEXT.replace("Neg (x)", "Ceil (x)")), tmp_path / "other.onnx")
    np.save(tmp_path / "x.npy", np.full((3, 4), -1, np.float32))
    np.save(tmp_path / "up.npy", np.full((3, 4), 1, np.float32))
    assert dycl("compile", tmp_path / "m.onnx", "-o", tmp_path / "m.dycl").returncode == 0
    return tmp_path


def test_random_inputs(folder):
    done = dycl("verify", folder / "m.onnx", folder / "m.dycl", "--count", 12, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["inputs"] == 12 and report["differences"] == []
    assert (report["decisions"], report["both_ways"]) == (1, 1)


def test_given_inputs(folder):
    done = dycl("verify", folder / "m.onnx", folder / "m.dycl", f"x={folder / 'x.npy'}")
    assert done.returncode == 0 and "1 inputs, 0 differ" in done.stdout and "0 of 1 decisions" in done.stdout
    assert dycl("verify", folder / "m.onnx", folder / "m.dycl", f"y={folder / 'x.npy'}").returncode == 3
    assert dycl("verify", folder / "m.onnx", folder / "m.dycl", folder / "none.npy").returncode == 5


def test_another_model_differs(folder):
    done = dycl("verify", folder / "other.onnx", folder / "m.dycl", folder / "x.npy")
    assert done.returncode == 1 and "result 'y'" in done.stdout
    assert dycl("verify", folder / "other.onnx", folder / "m.dycl", folder / "up.npy").returncode == 0
