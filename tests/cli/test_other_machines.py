# SPDX-License-Identifier: Apache-2.0
"""Packages on another CPU than the one they were made on (qemu's user mode), and `dycl compile --retarget`.

ONNX Runtime's blocked layouts depend on the CPU: artifacts made for AVX-512 give silently wrong numbers without it. So
a package must notice, run its portable form, and say so.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
import torch

import dycl

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("DYCL_BIN", ROOT / ".venv" / "bin"))
OLDER = ("Haswell", "Nehalem")  # AVX2; SSE4 only

sys.path.insert(0, str(ROOT / "examples" / "01_early_exit"))
from model import EarlyExit  # noqa: E402

pytestmark = pytest.mark.skipif(shutil.which("qemu-x86_64") is None, reason="needs Debian's qemu-user")


def tool(name, *words, cpu=None, code=0):
    # The program itself, not a link to it: plug-ins are found beside it.
    emulator = ["qemu-x86_64", "-cpu", cpu] if cpu else []
    done = subprocess.run([*emulator, str((BIN / name).resolve()), *map(str, words)], text=True, capture_output=True)
    assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    notices = [line for line in done.stderr.splitlines() if not line.startswith("qemu-")]
    return done.stdout, "\n".join(notices)


def run(package, x, cpu=None):
    """(outputs, arms taken, what was said on standard error)"""
    out, notices = tool("dycl-run", package, x, "--threads", 1, "--json", "--trace", "--allow-native-code", cpu=cpu)
    report = json.loads(out)
    data = report["outputs"]["out0"]["data"]
    return numpy.array(data), [(d["decision"], d["arm"]) for d in report["trace"]], report["outputs"]["out1"], notices


def targets(package):
    report = json.loads(tool("dycl", "inspect", package, "--json")[0])
    return [[a["target"] for a in s["artifacts"]] for s in report["sub_dnns"]]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A package of a convolutional network with early exits, and inputs that leave by different exits."""
    folder = tmp_path_factory.mktemp("other_machines")
    torch.manual_seed(0)
    model = EarlyExit().eval()
    inputs, wanted = [], []
    for scale in (0.25, 1.0, 2.0, 4.0):
        x = torch.randn(1, 3, 32, 32) * scale
        numpy.save(folder / f"x{len(inputs)}.npy", x.numpy())
        with torch.no_grad():
            wanted.append(model(x))
        inputs.append(folder / f"x{len(inputs)}.npy")
    dycl.compile(model, (torch.randn(1, 3, 32, 32),), threads=1).save(folder / "m.dycl")
    assert len({int(exit_taken) for _, exit_taken in wanted}) > 1
    assert any("nchwc" in target for of_one in targets(folder / "m.dycl") for target in of_one)
    return folder / "m.dycl", inputs, wanted


def check(package, inputs, wanted, cpu):
    said = ""
    for x, (logits, exit_taken) in zip(inputs, wanted):
        got, _, left_by, notices = run(package, x, cpu)
        said += notices
        assert (left_by["data"][0] if isinstance(left_by, dict) else left_by) == int(exit_taken)
        numpy.testing.assert_allclose(got, logits.numpy().ravel()[: len(got)], rtol=1e-4, atol=1e-5)
    return said


@pytest.mark.parametrize("cpu", OLDER)
def test_an_older_cpu_runs_the_portable_form_and_says_so(made, cpu):
    package, inputs, wanted = made
    assert check(package, inputs, wanted, None) == ""
    said = check(package, inputs[:2], wanted[:2], cpu)
    assert "portable form" in said and "this machine is" in said


def test_retarget_adds_artifacts_and_keeps_the_others(made, tmp_path):
    package, inputs, wanted = made
    again = tmp_path / "again.dycl"
    shutil.copy(package, again)
    before = targets(again)
    tool("dycl", "compile", "--retarget", again, cpu="Haswell")  # in place
    after = targets(again)
    assert any("nchwc8" in target for of_one in after for target in of_one)
    assert all(set(b) <= set(a) for a, b in zip(after, before))
    assert check(again, inputs[:2], wanted[:2], "Haswell") == ""  # no notice: it is at home now
    assert check(again, inputs, wanted, None) == ""
    assert "portable form" in check(again, inputs[:1], wanted[:1], "Nehalem")
    # The package itself grew by artifacts, not by a second copy of its weights.
    assert again.stat().st_size < 1.2 * package.stat().st_size


def test_retarget_makes_what_compile_makes(made, tmp_path):
    package, inputs, wanted = made
    tool("dycl", "compile", "--retarget", package, "-o", tmp_path / "same.dycl")
    assert targets(tmp_path / "same.dycl") == targets(package)
    assert check(tmp_path / "same.dycl", inputs, wanted, None) == ""


def test_what_cannot_be_retargeted_says_why(made, tmp_path):
    package, *_ = made
    tool("dycl", "compile", "--retarget", package, "-o", tmp_path / "small.dycl", "--strip")
    _, said = tool("dycl", "compile", "--retarget", tmp_path / "small.dycl", code=5)
    assert "stripped" in said and "compile it again" in said
    whole = package.read_bytes()
    (tmp_path / "cut.dycl").write_bytes(whole[: len(whole) - 100])
    assert "damaged package" in tool("dycl", "compile", "--retarget", tmp_path / "cut.dycl", code=4)[1]
    assert tool("dycl", "compile", "--retarget", tmp_path / "nowhere.dycl", code=5)[1]
    assert tool("dycl", "compile", "--retarget", package, "--portable", code=64)[1]


class Sorted(torch.nn.Module):
    """A convolution that OpenVINO takes, and after a decision a step that it does not."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 16, 3, padding=1)

    def forward(self, x):
        y = torch.relu(self.conv(x))
        if y.mean() > 0.4:
            return y.double().cumsum(-1).sum((2, 3)).float(), torch.tensor(1)
        return y.sum((2, 3)), torch.tensor(0)


def engines(package):
    report = json.loads(tool("dycl", "inspect", package, "--json")[0])
    return [{artifact["backend"] for artifact in sub_dnn["artifacts"]} for sub_dnn in report["sub_dnns"]]


def test_a_package_of_several_engines_stays_with_them(tmp_path):
    pytest.importorskip("openvino", reason="OpenVINO is not installed")
    torch.manual_seed(0)
    model, inputs, wanted = Sorted().eval(), [], []
    for scale in (0.5, 3.0):
        x = torch.randn(1, 3, 16, 16) * scale
        numpy.save(tmp_path / f"x{len(inputs)}.npy", x.numpy())
        inputs.append(tmp_path / f"x{len(inputs)}.npy")
        with torch.no_grad():
            wanted.append(model(x))
    assert [int(exit_taken) for _, exit_taken in wanted] == [0, 1]
    package = tmp_path / "m.dycl"
    dycl.compile(model, (torch.randn(1, 3, 16, 16),), threads=1, backend="openvino").save(package)
    made = engines(package)
    assert {"ort"} in made and {"openvino"} in made
    tool("dycl", "compile", "--retarget", package, "-o", tmp_path / "again.dycl")
    assert engines(tmp_path / "again.dycl") == made
    assert check(tmp_path / "again.dycl", inputs, wanted, None) == ""
    assert "excludes" in tool("dycl", "compile", "--retarget", package, "--backend", "ort", code=64)[1]


def test_kernels_of_tvm_are_for_one_kind_of_machine(tmp_path):
    """Elsewhere the package runs its portable form, which is ONNX Runtime's;
    retargeting keeps that engine and says so."""
    pytest.importorskip("tvm", reason="TVM is not installed")
    torch.manual_seed(0)
    model = Sorted().eval()
    x = torch.randn(1, 3, 16, 16) * 0.5
    numpy.save(tmp_path / "x.npy", x.numpy())
    with torch.no_grad():
        wanted = [model(x)]
    package = tmp_path / "m.dycl"
    dycl.compile(model, (torch.randn(1, 3, 16, 16),), threads=1, backend="tvm").save(package)
    assert {"tvm", "ort"} in engines(package)
    assert check(package, [tmp_path / "x.npy"], wanted, None) == ""
    assert "portable form" in check(package, [tmp_path / "x.npy"], wanted, "Haswell")
    _, said = tool("dycl", "compile", "--retarget", package, "-o", tmp_path / "same.dycl", code=7)
    assert "has tvm's code for this machine already" in said and not (tmp_path / "same.dycl").exists()
    _, said = tool("dycl", "compile", "--retarget", package, "-o", tmp_path / "older.dycl", cpu="Haswell")
    assert "compiled by tvm for another machine" in said
    assert check(tmp_path / "older.dycl", [tmp_path / "x.npy"], wanted, "Haswell") == ""
    assert check(tmp_path / "older.dycl", [tmp_path / "x.npy"], wanted, None) == ""
