# SPDX-License-Identifier: Apache-2.0
"""Entries of examples/gallery/: each compares itself with eager and fails if they differ. Two of them here, about 6
seconds of processor each; all of them in `make test-long` (DYCL_TEST_LONG=1)."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GALLERY = ROOT / "examples" / "gallery"
NAMES = sorted(path.parent.name for path in GALLERY.glob("*/model.py"))
CHEAP = ("early_exit_onnx", "generate")


@pytest.mark.parametrize("name", NAMES)
def test_an_entry(name, tmp_path):
    if name not in CHEAP and not os.environ.get("DYCL_TEST_LONG"):
        pytest.skip("a part of make test-long")
    done = subprocess.run([sys.executable, GALLERY / "run.py", name, "--quick", "--folder", tmp_path], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "equal to eager on 10 inputs" in done.stdout and (tmp_path / f"{name}.html").stat().st_size > 10_000


@pytest.mark.parametrize("name", NAMES)
def test_an_entry_has_a_page(name):
    text = (GALLERY / name / "README.md").read_text()
    assert f"examples/gallery/run.py {name}" in text and re.search(r"Measured at [0-9a-f]{7}", text)
    assert f"({name}/README.md)" in (GALLERY / "README.md").read_text()
    assert all(len(line) <= 120 for line in text.splitlines())


def test_requirements_are_pinned():
    for path in GALLERY.glob("*/requirements.txt"):
        assert all(re.fullmatch(r"[\w-]+==[\w.]+", line) for line in path.read_text().split()), path
