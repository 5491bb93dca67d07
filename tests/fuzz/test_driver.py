# SPDX-License-Identifier: Apache-2.0
"""The driver of the fuzz targets finds faults, and leaves the input that shows them."""

import os
import subprocess

import pytest

from tests.emit.done import BUILD

TARGET = BUILD / "tests" / "fuzz" / "fuzz_finds"


def run(folder, fault, *arguments):
    return subprocess.run([TARGET, *arguments], cwd=folder, env=os.environ | {"FAULT": fault}, capture_output=True,
                          text=True)


@pytest.mark.skipif(not TARGET.exists(), reason="the fuzz targets are not built")
@pytest.mark.parametrize("fault", ["abort", "signal"])
def test_a_fault_leaves_its_input(tmp_path, fault):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "good").write_bytes(b"good")
    assert run(tmp_path, "", "corpus", "--seconds", "0.1").returncode == 0
    assert not (tmp_path / "crash-fuzz_finds").exists()
    found = run(tmp_path, fault, "corpus", "--seconds", "20", "--seed", "1")
    assert found.returncode != 0
    assert (tmp_path / "crash-fuzz_finds").read_bytes()[:1] != b"g"
    assert run(tmp_path, fault, "crash-fuzz_finds").returncode != 0  # the input alone shows it again
