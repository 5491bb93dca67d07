# SPDX-License-Identifier: Apache-2.0
"""Programs as ONNX models: they pass ONNX's checker and give the reference interpreter's answers in ONNX Runtime."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch

import dycl
from dycl import runtime
from dycl.native import native

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("DYCL_TEST_BUILD", ROOT / "build" / "release"))
TOOL = BUILD / "tests" / "emit" / "generated_onnx"

DTYPES = {"f32": np.float32, "f64": np.float64, "i64": np.int64, "i32": np.int32, "bool": np.bool_}


def value(text):
    if isinstance(text, list):
        return [value(item) for item in text]
    if "bool" in text:
        return np.asarray(text["bool"], np.bool_)
    if "int" in text:
        return np.asarray(text["int"], np.int64)
    if "float" in text:
        return np.asarray(float.fromhex(text["float"]), np.float64)
    return np.frombuffer(bytes.fromhex(text["bytes"]), DTYPES[text["dtype"]]).reshape(text["shape"])


def same(actual, expected):
    if isinstance(expected, list):
        return len(actual) == len(expected) and all(same(a, e) for a, e in zip(actual, expected))
    actual = np.asarray(actual)
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return False
    if actual.dtype.kind == "f":
        return np.allclose(actual, expected, rtol=1e-4, atol=1e-5, equal_nan=True)
    return np.array_equal(actual, expected)


def session(model):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def check_program(program):
    """(runs that agree, runs that fail alike) of one generated program."""
    onnx.checker.check_model(program["model"], full_check=False)
    runner = session(program["model"])
    states = {name for run in program["runs"] for name in run["states"]}
    names = [i.name for i in runner.get_inputs() if i.name not in states]
    equal = failed = 0
    for run in program["runs"]:
        feed = dict(zip(names, (value(a) for a in run["arguments"])))
        feed.update({k: value(v) for k, v in run["given"].items()
                     if k in {i.name for i in runner.get_overridable_initializers()}
                     | {i.name for i in runner.get_inputs()}})
        if "error" in run:
            # Integers wrap; everything else that fails in DyCL fails here.
            if run["error"] == "OverflowError":
                continue
            with pytest.raises(Exception):
                runner.run(None, feed)
            failed += 1
            continue
        outputs = dict(zip((o.name for o in runner.get_outputs()), runner.run(None, feed)))
        results = [v for k, v in outputs.items() if not k.endswith(".new")]
        expected = [value(r) for r in run["results"]]
        assert len(results) == len(expected)
        for k, (a, e) in enumerate(zip(results, expected)):
            assert same(a, e), f"seed {program['seed']} result {k}: {a} is not {e}"
        for name, state in run["states"].items():
            assert same(outputs[name + ".new"], value(state)), f"seed {program['seed']} state {name}"
        equal += 1
    return equal, failed


def check_read_back(program, folder):
    """What was written is read and compiled again, and gives the same: the number of runs compared. States are inputs
    with a value, which is a constant to those who read the file: runs that were given another are left out."""
    package = folder / "again.dycl"
    native().compile_program(native().read_program(program["model"]), str(package), use_cache=False, jobs=1)
    again = runtime.load(package, threads=1)
    runs = [run for run in program["runs"] if "error" not in run and not run["given"]]
    for run in runs:
        outputs = again(*map(value, run["arguments"]))
        results = [result for name, result in outputs.items() if not name.endswith(".new")]
        expected = [value(r) for r in run["results"]]
        assert len(results) == len(expected)
        assert all(map(same, results, expected)), f"seed {program['seed']}, read back"
    return len(runs)


def sweep(folder, first, count):
    made = subprocess.run([TOOL, folder, str(first), str(count)], check=True, capture_output=True, text=True).stdout
    totals = {"programs": 0, "refused": 0, "equal": 0, "failed alike": 0, "read back": 0}
    for line in made.splitlines():
        program = json.loads(line)
        if "refused" in program:
            assert "rand." in program["refused"] or "always raises" in program["refused"], program
            totals["refused"] += 1
            continue
        equal, failed = check_program(program)
        totals["programs"] += 1
        totals["equal"] += equal
        totals["failed alike"] += failed
        if program["seed"] % 6 == 0:
            totals["read back"] += check_read_back(program, folder)
        os.unlink(program["model"])
    return totals


@pytest.mark.skipif(not TOOL.exists(), reason="the C++ tests are not built")
def test_generated_programs(tmp_path):
    totals = sweep(tmp_path, 1, 60)
    assert totals["programs"] > 45 and totals["equal"] > 120 and totals["failed alike"] > 0 and totals["read back"] > 0


class Exits(torch.nn.Module):
    """Two ways out, a loop that depends on data, a list of run-time length, batch norms that engines fold."""

    def __init__(self):
        super().__init__()
        self.stem, self.norm = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8)
        self.body, self.norm2 = torch.nn.Conv2d(8, 8, 3, padding=1), torch.nn.BatchNorm2d(8)
        self.head, self.last = torch.nn.Linear(8, 4), torch.nn.Linear(8, 4)

    def forward(self, x):
        h = torch.relu(self.norm(self.stem(x)))
        p = torch.softmax(self.head(h.mean((2, 3))), 1)
        if p.max() > 0.4:
            return p, 0
        n = 0
        while h.abs().mean() > 0.2 and n < 5:
            h = torch.relu(self.norm2(self.body(h))) * 1.1
            n += 1
        return torch.softmax(self.last(h.mean((2, 3))), 1), n


def test_model_and_package(tmp_path):
    torch.manual_seed(0)
    model = Exits().eval()
    program = dycl.compile(model, (torch.randn(1, 3, 8, 8),))
    assert program.emit_onnx(tmp_path / "program.onnx") == []
    assert {n.domain for n in onnx.load(tmp_path / "program.onnx").graph.node} == {""}
    program.save(tmp_path / "program.dycl")
    loaded = dycl.load(tmp_path / "program.dycl")
    with pytest.raises(dycl.CompileError, match="com.microsoft.*no standard operator"):
        loaded.emit_onnx(tmp_path / "package.onnx")
    assert "com.microsoft" in loaded.emit_onnx(tmp_path / "package.onnx", engine_ops=True)[0]
    again = dycl.compile(tmp_path / "program.onnx")
    runners = [session(str(tmp_path / name)) for name in ("program.onnx", "package.onnx")]
    paths = set()
    for k in range(12):
        x = torch.randn(1, 3, 8, 8) * (0.1 + k / 4)
        scores, steps = model(x)
        paths.add(steps)
        for runner in runners:
            out = runner.run(None, {"x": x.numpy()})
            assert int(out[1]) == steps
            np.testing.assert_allclose(out[0], scores.detach().numpy(), rtol=1e-4, atol=1e-5)
        out = [*again(x).values()]
        assert int(out[1]) == steps and torch.allclose(out[0], scores, rtol=1e-4, atol=1e-5)
    assert len(paths) > 1


def test_refusals_and_notices(tmp_path):
    def draws(x):
        return x + torch.rand(3)

    program = dycl.compile(draws, (torch.zeros(3),))
    with pytest.raises(dycl.CompileError, match="rand.uniform has no equivalent in ONNX"):
        program.emit_onnx(tmp_path / "m.onnx")

    def prints(x):
        if x.sum() > 0:
            print("large", x.sum().item())
        return x * 2

    notices = dycl.compile(prints, (torch.ones(3),)).emit_onnx(tmp_path / "m.onnx")
    assert any("prints is left out" in notice for notice in notices)


def test_exceptions_stay_exceptions(tmp_path):
    def checked(x):
        if x.sum() > 10:
            raise ValueError("too large")
        if x.min() <= -5:
            raise AssertionError("too small")
        return x * 2

    dycl.compile(checked, (torch.ones(3),)).emit_onnx(tmp_path / "m.onnx")
    runner = session(str(tmp_path / "m.onnx"))
    np.testing.assert_array_equal(runner.run(None, {"x": np.ones(3, np.float32)})[0], [2, 2, 2])
    with pytest.raises(Exception, match="ValueError: too large"):
        runner.run(None, {"x": np.full(3, 9, np.float32)})
    with pytest.raises(Exception, match="AssertionError"):
        runner.run(None, {"x": np.full(3, -9, np.float32)})


def nesting(graph):
    inner = [nesting(a.g) for n in graph.node for a in n.attribute if a.HasField("g")]
    return 1 + max(inner, default=0)


class Deep(torch.nn.Module):
    """Decisions within decisions whose other sides go on one after another behind all of them."""

    def __init__(self, depth):
        super().__init__()
        self.depth = depth

    def down(self, x, k):
        if k == self.depth:
            return x * 1.5
        if x.sum() > k:
            x = self.down(x * 1.01 + 1, k + 1) - 0.5
        else:
            x = x * 0.9
        return x + x.mean()

    def forward(self, x):
        return self.down(x, 0)


class Decoding(torch.nn.Module):
    """A loop with an exit in each round, after a first decision: two chains whose exits meet pair by pair."""

    def forward(self, x):
        mask = None
        if x.min() < -1:
            mask = x < -1
        words, score = [], 0.0
        for _ in range(36):
            x = x * 1.3 + 0.1 if mask is None else (x * 1.2 + 0.1).masked_fill(mask, 0.0)
            score += x.max().item()
            if x.sum().item() > 20:
                break
            words.append(int(x.argmax().item()))
        return words, score, x


@pytest.mark.parametrize("model, scales", [(Deep(40), (-2, 0.1, 1, 3, 8, 40)), (Decoding(), (0.01, 0.1, 1, 4))])
def test_deep_decisions_stay_shallow(tmp_path, model, scales):
    torch.manual_seed(1)
    program = dycl.compile(model, (torch.rand(4),))
    program.emit_onnx(tmp_path / "m.onnx")
    assert nesting(onnx.load(tmp_path / "m.onnx").graph) <= 14
    runner = session(str(tmp_path / "m.onnx"))
    paths = set()
    for scale in scales:
        for x in (torch.rand(4) * scale, torch.randn(4) * scale):
            expected = model(x)
            expected = expected if isinstance(expected, tuple) else (expected,)
            actual = runner.run(None, {"x": x.numpy()})
            paths.add(len(expected[0]) if isinstance(expected[0], list) else round(float((x.sum())), 1) > 0)
            for a, e in zip(actual, expected):
                np.testing.assert_allclose(np.asarray(a, np.float64).reshape(-1), np.asarray(e, np.float64).reshape(-1),
                                           rtol=2e-5, atol=1e-6)
    assert len(paths) > 1


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        print(sweep(folder, int(sys.argv[1]), int(sys.argv[2])))


def test_what_variant_means_is_said(tmp_path):
    """Returns that differ in kind: the first output's text says which number is which."""
    class Kinds(torch.nn.Module):
        def forward(self, x):
            if x.sum() > 0:
                return {"a": x}
            return x, x + 1

    program = dycl.compile(Kinds(), (torch.ones(2),))
    program.save(tmp_path / "m.dycl")
    for number, emit in enumerate((program.emit_onnx, dycl.load(tmp_path / "m.dycl").emit_onnx)):
        emit(tmp_path / f"{number}.onnx")
        model = onnx.load(tmp_path / f"{number}.onnx")
        onnx.checker.check_model(model)
        first = model.graph.output[0]
        assert (first.name, first.doc_string) == ("variant", "0: {'a': out0}\n1: (out0, out1)")


def test_outputs_keep_their_names(tmp_path):
    """Values inside are called after the variables, too: the outputs have the first claim."""
    class Exits(torch.nn.Module):
        def forward(self, x):
            scores = x
            for _ in range(3):
                scores = torch.softmax(scores * 2, 0)
                if scores.max() > 0.9:
                    return {"scores": scores}
            return {"scores": scores}

    program = dycl.compile(Exits(), (torch.rand(3),))
    program.emit_onnx(tmp_path / "m.onnx")
    assert [o.name for o in onnx.load(tmp_path / "m.onnx").graph.output] == ["scores"]
