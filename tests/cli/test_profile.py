# SPDX-License-Identifier: Apache-2.0
"""`dycl profile`: paths, places and times of many runs."""

import json

import numpy
import pytest
import torch

import dycl as dycl_package

from .test_cli import EARLY_EXIT, RAISES, dycl


@pytest.fixture
def package(tmp_path):
    (tmp_path / "m.dyir").write_text(EARLY_EXIT)
    dycl("compile", tmp_path / "m.dyir", "-o", tmp_path / "m.dycl")
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    for k, peak in enumerate((1.0, 2.0, -1.0)):  # two take the exit
        numpy.save(inputs / f"{k}.npy", numpy.full((1, 2), peak, numpy.float32))
    return tmp_path / "m.dycl"


def test_what_it_says(package, tmp_path):
    said = dycl("profile", package, "--inputs", tmp_path / "inputs", "-o", tmp_path / "p.json",
                "--chrome-trace", tmp_path / "t.json").stdout
    assert "3 runs" in said and "2 paths" in said and "false 1, true 2" in said and "host program" in said
    found = json.loads((tmp_path / "p.json").read_text())
    assert [run["trace"] for run in found["runs"]] == [[[0, 1]], [[0, 1]], [[0, 0]]]
    assert [path["runs"] for path in found["paths"]] == [2, 1]
    assert [site["calls"] for site in found["sites"]] == [3, 1]
    assert sum(s["share"] for s in found["sites"]) + found["host"]["share"] == pytest.approx(1)
    assert found["memory"]["weight_bytes"] == 16 and found["memory"]["peak_resident_bytes"] > 1e6
    events = [e for e in json.loads((tmp_path / "t.json").read_text()) if e["ph"] == "X"]
    assert len(events) == 3 + 4 and {"ts", "dur", "pid", "tid", "name"} <= events[0].keys()
    assert json.loads(dycl("profile", package, "--random", 4, "--json").stdout)["count"] == 4


# Ends on the other path from the third run on, if its state is kept.
COUNTS = """
state @count: int = 0

func @main(%count: int state @count) -> (%y: int, int state @count) {
^entry:
  %one = const 1
  %two = const 2
  %next = int.add %count, %one
  %late = int.gt %next, %two
  branch %late, ^late, ^early
^late:
  return %one, %next
^early:
  return %two, %next
}
"""


def test_a_program_that_keeps_states_runs_once_on_each_input(tmp_path):
    (tmp_path / "c.dyir").write_text(COUNTS)
    dycl("compile", tmp_path / "c.dyir", "-o", tmp_path / "c.dycl")
    found = json.loads(dycl("profile", tmp_path / "c.dycl", "--random", 4, "--warmup", 0, "--json").stdout)
    assert [run["path"] for run in found["runs"]] == [0, 0, 1, 1]


def test_each_repetition_draws_the_same_numbers(tmp_path):
    """The trace of the fastest is the trace of all: what is drawn next does not depend on the repetitions."""
    def forward():
        return 1 if torch.rand(()) > 0.5 else 0

    dycl_package.compile(forward, ()).save(tmp_path / "r.dycl")
    traces = [[run["trace"] for run in json.loads(
        dycl("profile", tmp_path / "r.dycl", "--random", 16, "--seed", 3, "--repeat", repeat, "--json").stdout)["runs"]]
        for repeat in (1, 4)]
    assert traces[0] == traces[1] and len({str(trace) for trace in traces[0]}) == 2


def test_two_packages_side_by_side(package, tmp_path):
    dycl("compile", tmp_path / "m.dyir", "-o", tmp_path / "other.dycl", "--portable")
    said = dycl("profile", package, tmp_path / "other.dycl", "--inputs", tmp_path / "inputs").stdout
    assert "ratio" in said and "all " in said and "MatMul" in said


def test_a_run_that_raises_is_a_run(tmp_path):
    (tmp_path / "r.dyir").write_text(RAISES)
    dycl("compile", tmp_path / "r.dyir", "-o", tmp_path / "r.dycl")
    numpy.savez(tmp_path / "bad.npz", n=numpy.int64(-3))
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    (tmp_path / "bad.npz").rename(inputs / "bad.npz")
    (run,) = json.loads(dycl("profile", tmp_path / "r.dycl", "--inputs", inputs, "--json").stdout)["runs"]
    assert run["error"] == "ValueError: n is -3" and run["trace"] == [[0, 1]]


def test_refused(package, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "--inputs FOLDER or --random N" in dycl("profile", package, code=64).stderr
    assert "holds no .npy" in dycl("profile", package, "--inputs", tmp_path / "empty", code=3).stderr
    assert "cannot read the folder" in dycl("profile", package, "--inputs", tmp_path / "no", code=5).stderr
    assert "cannot write" in dycl("profile", package, "--random", 1, "-o", tmp_path / "no" / "p.json", code=5).stderr
