# SPDX-License-Identifier: Apache-2.0
"""ONNX models with sequences, functions of their own and control flow: compiled, run without Python, and compared with
ONNX Runtime on the same file."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("DYCL_BIN", ROOT / ".venv" / "bin"))
sys.path.insert(0, str(ROOT / "tests" / "emit"))
import test_onnx as emitted  # noqa: E402

SEQUENCES = """
< ir_version: 10, opset_import: ["" : 23] >
g (float[N,3] x, int64 n) => (float[M,3] all, float[K,N,3] stacked, int64 count, float last, seq(float[P]) rows) {
   empty = SequenceEmpty ()
   yes = Constant <value_int: int = 1> ()
   go = Cast <to = 9> (yes)
   grown = Loop (n, go, empty) <body = each (int64 i, bool c, seq(float[A,3]) s) => (bool d, seq(float[A,3]) t) {
      f = Cast <to = 1> (i)
      y = Add (x, f)
      t = SequenceInsert (s, y)
      z = ReduceSum <keepdims = 0> (y)
      limit = Constant <value_float: float = 40.0> ()
      d = Less (z, limit)
   }>
   pair = SequenceConstruct (x, x)
   zero = Constant <value_int: int = 0> ()
   more = SequenceInsert (grown, x, zero)
   fewer = SequenceErase (more)
   count = SequenceLength (fewer)
   all = ConcatFromSequence <axis = 0> (more)
   stacked = ConcatFromSequence <axis = 0, new_axis = 1> (more)
   first = SequenceAt (more, zero)
   last = ReduceMax <keepdims = 0> (first)
   long = Greater (count, zero)
   rows = If (long) <then_branch = a () => (seq(float[P]) u) { u = SplitToSequence <axis = 0, keepdims = 0> (x) },
                     else_branch = b () => (seq(float[P]) v) { e = SequenceEmpty () v = Identity (e) }>
}
"""

SPLITS = """
< ir_version: 10, opset_import: ["" : 23] >
g (float[7,2] x, int64 size, int64[3] sizes) => (seq(float[A,B]) even, seq(float[C,D]) given, seq(float[E,F]) single) {
   even = SplitToSequence <axis = 0> (x, size)
   given = SplitToSequence <axis = 0> (x, sizes)
   single = SplitToSequence <axis = -1> (x)
}
"""

FUNCTIONS = """
< ir_version: 10, opset_import: ["" : 17, "own" : 1] >
g (float[N,4] x) => (float[N,4] y, float[N,4] same, float[N,4] z) {
   y, same = own.scaled <by: float = 3.0> (x)
   z = own.twice (y)
}
< domain: "own", opset_import: ["" : 17, "own" : 1] >
scaled <by> (a) => (b, again)
{
   k = Constant <value_float: float = @by> ()
   b0 = Mul (a, k)
   m = ReduceMax <axes = [1], keepdims = 1> (b0)
   b = Sub (b0, m)
   again = Identity (a)
}
< domain: "own", opset_import: ["" : 17, "own" : 1] >
twice (a) => (c)
{
   h, a1 = own.scaled <by: float = 0.5> (a)
   s = ReduceSum <keepdims = 0> (h)
   k = Constant <value_float: float = 0.0> ()
   pos = Greater (s, k)
   c = If (pos) <then_branch = t () => (p) { p = Add (h, a1) }, else_branch = e () => (q) { q = Sub (h, a1) }>
}
"""


def arrays(value):
    if isinstance(value, list):
        return [arrays(v) for v in value]
    if isinstance(value, dict):
        return np.array(value["data"], emitted.DTYPES[value["dtype"]]).reshape(value["shape"])
    return np.asarray(value)


def same(a, b):
    if isinstance(b, list):
        return isinstance(a, list) and len(a) == len(b) and all(map(same, a, b))
    b = np.asarray(b)
    return emitted.same(a.astype(b.dtype) if b.dtype.kind == "f" else a, b)


def dycl(*words, code=0):
    done = subprocess.run([BIN / "dycl", *map(str, words)], text=True, capture_output=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout, done.stderr


def compare(path, feeds, folder):
    """What both give on the same inputs; whether a failure is one, too."""
    dycl("compile", path, "-o", folder / "m.dycl", "--quiet")
    session = emitted.session(str(path))
    names = [o.name for o in session.get_outputs()]
    outcomes = []
    for feed in feeds:
        np.savez(folder / "in.npz", **feed)
        command = [BIN / "dycl", "run", folder / "m.dycl", folder / "in.npz", "--json", "--quiet", "--threads", "1"]
        done = subprocess.run(command, text=True, capture_output=True)
        try:
            wanted = dict(zip(names, session.run(None, feed)))
        except Exception:  # of several kinds that ONNX Runtime does not export
            assert done.returncode != 0 and "rror: " in done.stderr
            outcomes.append("fails")
            continue
        assert done.returncode == 0, done.stderr
        got = json.loads(done.stdout)["outputs"]
        assert set(got) == set(names)
        for name in names:
            assert same(arrays(got[name]), wanted[name]), (name, got[name], wanted[name])
        outcomes.append("equal")
    return outcomes


def written(text, folder):
    onnx.save(onnx.parser.parse_model(text), folder / "m.onnx")
    return folder / "m.onnx"


def test_sequences(tmp_path):
    feeds = [{"x": np.arange(6, dtype=np.float32).reshape(2, 3), "n": np.array(n)} for n in (0, 1, 2, 9)]
    assert compare(written(SEQUENCES, tmp_path), feeds, tmp_path) == ["equal"] * 4


def test_splits(tmp_path):
    x = np.arange(14, dtype=np.float32).reshape(7, 2)
    feeds = [{"x": x, "size": np.array(size), "sizes": np.array(sizes)}
             for size, sizes in ((3, [1, 4, 2]), (1, [0, 7, 0]), (7, [7, 0, 0]), (2, [1, 1, 1]), (0, [1, 4, 2]))]
    assert compare(written(SPLITS, tmp_path), feeds, tmp_path) == ["equal"] * 3 + ["fails"] * 2


def test_functions_of_the_model(tmp_path):
    feeds = [{"x": np.linspace(low, high, 8, dtype=np.float32).reshape(2, 4)}
             for low, high in ((-1, 1), (1, 2), (-3, -1))]
    assert compare(written(FUNCTIONS, tmp_path), feeds, tmp_path) == ["equal"] * 3


def test_a_function_that_calls_itself(tmp_path):
    model = onnx.parser.parse_model(FUNCTIONS)
    model.functions[0].node.append(onnx.helper.make_node("twice", ["b0"], ["unused"], domain="own"))
    onnx.save(model, tmp_path / "m.onnx")
    assert "deep" in dycl("compile", tmp_path / "m.onnx", "-o", tmp_path / "m.dycl", code=2)[1]


@pytest.mark.skipif(not emitted.TOOL.exists(), reason="the C++ tests are not built")
def test_emitted_programs_come_back(tmp_path):
    """Generated programs, written as ONNX and read again. What only fails may be dropped where nothing needs it."""
    made = subprocess.run([emitted.TOOL, tmp_path, "201", "25"], check=True, capture_output=True, text=True).stdout
    equal = 0
    for line in made.splitlines():
        program = json.loads(line)
        if "refused" in program:
            continue
        names = [i.name for i in emitted.session(program["model"]).get_inputs()]
        states = {name for run in program["runs"] for name in run["states"]}
        names = [name for name in names if name not in states]
        feeds = [dict(zip(names, map(emitted.value, run["arguments"])))
                 for run in program["runs"] if "error" not in run]
        if feeds and not any(isinstance(v, list) for feed in feeds for v in feed.values()):
            equal += compare(program["model"], feeds, tmp_path).count("equal")
    assert equal > 30
