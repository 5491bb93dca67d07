# SPDX-License-Identifier: Apache-2.0
"""Programs that were built against the C headers of the last release run with this library."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build" / "release" / "src" / "runtime" / "libdycl_runtime.so"


def abi(*words):
    if not shutil.which("abidiff"):
        pytest.skip("abidiff is of Debian's abigail-tools, which scripts/setup installs")
    return subprocess.run([sys.executable, ROOT / "scripts" / "abi.py", *words], text=True, capture_output=True)


def test_nothing_changed_but_by_additions():
    found = abi()
    assert found.returncode == 0, f"{found.stdout}if old programs run all the same: scripts/abi.py --write"


@pytest.mark.parametrize("header,old,new,says", [
    ("dycl.h", "size_t dycl_program_input_count(const dycl_program* program)",
     "int dycl_program_input_count(const dycl_program* program)", "dycl_program_input_count"),
    ("dycl.h", "  int32_t spinning; ", "  int64_t spinning; ", "spinning"),
    ("plugin.h", "typedef struct dycl_plugin {", "typedef struct dycl_plugin {\n  int32_t first;", "first"),
])
def test_a_change_is_found(header, old, new, says, tmp_path):
    shutil.copytree(ROOT / "include", tmp_path / "include")
    text = (tmp_path / "include" / "dycl" / header).read_text()
    assert old in text
    (tmp_path / "include" / "dycl" / header).write_text(text.replace(old, new))
    found = abi("--include", tmp_path / "include")
    assert found.returncode == 1 and says in found.stdout


def test_the_library_has_every_function_of_the_header():
    header = (ROOT / "include" / "dycl" / "dycl.h").read_text()
    declared = set(re.findall(r"DYCL_C_API [^;]*?\b(dycl_\w+)\(", header))
    symbols = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], text=True, capture_output=True, check=True).stdout
    assert len(declared) > 20 and declared <= set(symbols.split())
