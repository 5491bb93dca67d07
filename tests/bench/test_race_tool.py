# SPDX-License-Identifier: Apache-2.0
"""dycl-race runs what the benchmarks give it: a model of the zoo whose experts are chosen by torch's own topk."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import workload  # noqa: E402


def test_the_oracle_takes_orderings_as_torch_has_them(tmp_path):
    race = workload.tool("dycl-race")
    if not race.exists():
        pytest.skip("dycl-race is not in the build folder that DYCL_BUILD names")
    workload.write(workload.find("mixture_of_experts"), tmp_path, range(1))
    command = [str(race), "--program", str(tmp_path / "program.dyir"), "--threads", "1",
               "--seconds", "0.1", "--rounds", "3", str(tmp_path / "x0.npz")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    _, line = [json.loads(text) for text in done.stdout.splitlines()]
    assert {racer["name"] for racer in line["racers"]} >= {"oracle:ort"}
    assert all(error < 1e-4 for error in line["errors"].values())
