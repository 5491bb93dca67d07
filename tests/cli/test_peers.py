# SPDX-License-Identifier: Apache-2.0
"""`dycl bench --peers`: one table, each row of which runs or says why not."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import torch

from dycl.commands import peers
from dycl.commands.main import main
from dycl.peers.measure import FAR, error

ROOT = Path(__file__).resolve().parents[2]

MODEL = """
import torch
class Gate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)
    def forward(self, x):
        n = 0
        while n < 4 and x.sum() > 0:
            x = x - torch.relu(self.layer(x)) - 0.5
            n += 1
        return {"x": x, "n": n}
def make():
    torch.manual_seed(0)
    return Gate().eval()
class Straight(Gate):
    def forward(self, x):
        return self.layer(x)
def straight():
    return Straight().eval()
class Kept(Gate):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(1))
    def forward(self, x):
        self.seen += x.sum()
        return x * self.seen
def kept():
    return Kept().eval()
"""


@pytest.fixture
def model(tmp_path, monkeypatch):
    (tmp_path / "m.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "m.py"


def table(capsys, *words):
    threads = torch.get_num_threads()
    try:
        assert main(["bench", "--peers", *words, "--seconds", "0.02", "--json"]) == 0
    finally:
        torch.set_num_threads(threads)
    told = capsys.readouterr()
    assert "def forward" not in told.err, "torch.export prints the graph of what it refuses"
    return {row["name"]: row for row in json.loads(told.out)["rows"]}


def test_a_model_that_decides(model, capsys):
    """About 8 seconds: two compilations of ours, one attempt of torch.export."""
    rows = table(capsys, "m.py:make", "--input", "1,8", "--count", "2", "--without", "auto")
    assert list(rows) == ["eager", "DyCL, ort", "ONNX If/Loop, ONNX Runtime", "torch.export, AOTInductor",
                          "torch.compile"]
    for name in ("eager", "DyCL, ort", "ONNX If/Loop, ONNX Runtime"):
        row = rows[name]
        assert row["runs"] and row["ms"] > 0 and row["differ"] == 0 and row["largest_error"] < 1e-5, row
    assert rows["DyCL, ort"]["bytes"] > 1000 and rows["DyCL, ort"]["decisions"] > 0
    refused = rows["torch.export, AOTInductor"]
    assert rows["torch.compile"]["runs"] and rows["torch.compile"]["breaks"] > 0
    assert not refused["runs"] and "ms" not in refused and "data-dependent" in refused["why"], refused


def test_states_are_not_compared_as_a_file(model, capsys):
    rows = table(capsys, "m.py:kept", "--input", "3", "--count", "1", "--without", "torch.compile", "--without", "auto",
                 "--without", "torch.export")
    assert not rows["ONNX If/Loop, ONNX Runtime"]["runs"]
    assert "keeps states between calls" in rows["ONNX If/Loop, ONNX Runtime"]["why"]


def test_the_table_says_what_each_row_is():
    rows = [{"name": "eager", "runs": True, "why": "", "ready_seconds": 0.0, "bytes": None, "differ": 0,
             "largest_error": 0.0, "ms": 2.0, "times_eager": 1.0},
            {"name": "b", "runs": True, "why": "", "ready_seconds": 3.0, "bytes": 2_000_000, "differ": 2,
             "largest_error": 1e-7, "ms": 1.0, "times_eager": 2.0, "graphs": 3, "breaks": 1, "skipped_frames": 1},
            {"name": "c", "runs": False, "why": "no such op", "ready_seconds": 1.0, "bytes": None}]
    lines = peers.as_text(rows, 5, 1).splitlines()
    assert lines[0].split() == ["ms", "times", "eager", "ready", "in", "size", "largest", "error"]
    assert lines[2].split(maxsplit=8)[:7] == ["b", "1.000", "2.00", "3.0", "s", "2.00", "MB"]
    assert lines[2].endswith("other answers on 2 of 5 inputs, graphs: 3, breaks: 1, functions left to Python: 1")
    assert lines[3].endswith("no such op") and "5 inputs, 1 thread;" in lines[4]


def test_distances():
    x = torch.tensor([1.0, -4.0])
    assert error({"a": x, "n": 2}, {"a": x, "n": 2}) == 0.0
    assert error((x + 0.4,), (x,)) == pytest.approx(0.1, rel=1e-5)
    assert error({"a": x, "n": 3}, {"a": x, "n": 2}) == FAR
    assert error([x], (x,)) == FAR and error(x.double(), x) == FAR


def test_the_program_hands_it_over(model):
    """About 4 seconds: torch is imported."""
    done = subprocess.run([ROOT / ".venv" / "bin" / "dycl", "bench", "--peers", "--help"], capture_output=True,
                          text=True, env={**os.environ, "COLUMNS": "120"})
    assert done.returncode == 0 and "--without" in done.stdout and "dycl bench --peers file.py:name" in done.stdout
    done = subprocess.run([ROOT / ".venv" / "bin" / "dycl", "bench", "--help"], capture_output=True, text=True)
    assert "--peers" in done.stdout and "--warmup" in done.stdout
