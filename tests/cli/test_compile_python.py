# SPDX-License-Identifier: Apache-2.0
"""`dycl compile file.py:name` where something is missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = Path(os.environ.get("DYCL_TEST_BUILD", ROOT / "build" / "release")) / "bin" / "dycl"


def run(folder, *arguments, **env):
    return subprocess.run([str(a) for a in arguments], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, **env})


@pytest.mark.skipif(not TOOL.exists(), reason="the release build is not there")
def test_an_interpreter_without_dycl(tmp_path):
    (tmp_path / "m.py").write_text("def model(x):\n    return x\n")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    done = run(tmp_path, TOOL, "compile", "m.py:model", "--input", "3",
               DYCL_PYTHON=str(tmp_path / "bare" / "bin" / "python"))
    assert done.returncode == 5 and "has no package dycl" in done.stderr and "DYCL_PYTHON" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


def test_a_forgotten_input(tmp_path):
    (tmp_path / "m.py").write_text("def model(x, y):\n    return x + y\n")
    for given in ([], ["--input", "3"], ["--input", "3"] * 3):
        done = run(tmp_path, sys.executable, "-m", "dycl", "compile", "m.py:model", *given)
        assert (done.returncode == 5 and "(x, y)" in done.stderr
                and f"{len(given) // 2} inputs are given" in done.stderr), done.stderr
        assert not (tmp_path / "model.dycl").exists()
    done = run(tmp_path, sys.executable, "-m", "dycl", "compile", "m.py:model", "--input", "3", "--input", "3")
    assert done.returncode == 0 and (tmp_path / "model.dycl").exists(), done.stderr


def test_what_cannot_be_written_and_impossible_threads(tmp_path):
    (tmp_path / "m.py").write_text("def model(x):\n    return x + x\n")
    for options, code, said in ((["-o", "/sys/m.dycl"], 8, "this user may write"),
                                (["-o", "no/m.dycl"], 5, "make its folder first"),
                                (["--threads", "100000"], 2, "threads is 100000; give 1 to 1024, or 0"),
                                (["--threads=-1"], 2, "threads is -1; give 1 to 1024, or 0"),
                                (["--threads", "many"], 2, "threads is 'many'; give 1 to 1024, or 0")):
        done = run(tmp_path, sys.executable, "-m", "dycl", "compile", "m.py:model", "--input", "3", *options)
        assert done.returncode == code and said in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
