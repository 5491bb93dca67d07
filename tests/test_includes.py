# SPDX-License-Identifier: Apache-2.0
"""The folders of src/ include what their layer allows (scripts/check_includes.py), and the script would say if not."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def check(src):
    done = subprocess.run([sys.executable, ROOT / "scripts/check_includes.py", src], capture_output=True, text=True)
    return done.returncode, done.stdout


def plant(src, files):
    for path, text in files.items():
        (src / path).parent.mkdir(parents=True, exist_ok=True)
        (src / path).write_text(text)


def test_the_tree_keeps_its_layers():
    assert check(ROOT / "src") == (0, "")


@pytest.mark.parametrize("path, text, said", [
    ("ir/guilty.cpp", '#include "passes/cse.h"\n', "ir/guilty.cpp includes passes/cse.h, which ir/ may not"),
    ("runtime/guilty.h", '#include "ir/guilty.h"\n', "runtime/guilty.h includes ir/guilty.h, which runtime/ may not"),
    ("new_folder/guilty.h", "", "new_folder/guilty.h: its folder is not in LAYERS"),
    ("driver/guilty.cpp", 'const char* engine = "tvm";\n',
     'driver/guilty.cpp names an engine that is not its own: "tvm"'),
    ("backends/tvm/guilty.cpp", '#include "backends/ort/target.h"\n',
     "names an engine that is not its own: backends/ort/target.h"),
    ("../tools/guilty.cpp", '#include "backends/ort/target.h"\n',
     "tools/guilty.cpp names an engine that is not its own"),
    ("../python/bindings/guilty.cpp", 'auto n = "ort";\n', "bindings/guilty.cpp names an engine that is not its own"),
    ("ir/guilty.h", '#include "ir/other.h"\n', "headers include each other: ir/guilty.h -> ir/other.h -> ir/guilty.h"),
])
def test_a_planted_violation_is_named(tmp_path, path, text, said):
    src = tmp_path / "src"
    plant(src, {"passes/cse.h": "", "ir/guilty.h": "", "backends/ort/target.h": "",
                "ir/other.h": '#include "ir/guilty.h"\n'})
    assert check(src) == (0, "")
    plant(src, {path: text})
    code, output = check(src)
    assert code == 1 and said in output


def test_the_table_of_back_ends_names_engines(tmp_path):
    plant(tmp_path, {"backends/ort/compile.h": "",
                     "backends/backend.cpp": '#include "backends/ort/compile.h"\nauto n = "ort";\n',
                     "backends/ort/compile.cpp": 'auto n = "ort";\n', "backends/backend.h": '// "ort", say\n'})
    assert check(tmp_path) == (0, "")
