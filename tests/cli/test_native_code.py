# SPDX-License-Identifier: Apache-2.0
"""A package whose artifact is a shared library with a constructor: it runs with its user's consent alone."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("DYCL_BIN", ROOT / ".venv" / "bin"))
MADE = Path(os.environ.get("DYCL_BUILD", ROOT / "build" / "release")) / "tests" / "runtime"

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


@pytest.fixture
def package(tmp_path):
    (tmp_path / "marker.c").write_text(f"""#include <stdio.h>
__attribute__((constructor)) static void started(void) {{ fclose(fopen("{tmp_path / 'marker'}", "w")); }}
""")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "marker.so", tmp_path / "marker.c"], check=True)

    def make(target, *portable):
        subprocess.run([MADE / "make_native_package", tmp_path / "marker.so", tmp_path / "m.dycl", target, *portable],
                       check=True)
        return tmp_path / "m.dycl"
    return make


def done(words, code):
    ended = subprocess.run([str(w) for w in words], text=True, capture_output=True,
                           env={**os.environ, "DYCL_PLUGIN_PATH": str(MADE)})
    assert ended.returncode == code, ended.stderr
    return ended.stderr


LOAD = "import sys, dycl.runtime; dycl.runtime.load(sys.argv[1]{})"
WAYS = {
    "dycl-run": lambda p: [BIN / "dycl-run", p, "--random", 0],
    "verify": lambda p: [BIN / "dycl-run", p, "--random", 0, "--verify"],
    "bench": lambda p: [BIN / "dycl-run", "bench", p, "--random", 0],
    "run": lambda p: [BIN / "dycl", "run", p, "--random", 0],
    "python": lambda p: [sys.executable, "-c", LOAD.format(""), p],
}


@pytest.mark.parametrize("way", WAYS)
def test_without_consent_the_portable_form_runs(package, way, tmp_path):
    said = done(WAYS[way](package("native-1", "portable")), 0)
    assert "machine code, and native code is not allowed" in said
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize("target", ["native-1", "portable"])
@pytest.mark.parametrize("way", WAYS)
def test_without_consent_and_portable_form_it_is_refused(package, way, target, tmp_path):
    """Whatever the file says of its target."""
    said = done(WAYS[way](package(target)), 1 if way == "python" else 7)
    assert "native code is not allowed" in said and "--allow-native-code" in said
    assert not (tmp_path / "marker").exists()


def test_inspecting_runs_nothing(package, tmp_path):
    done([BIN / "dycl", "inspect", package("native-1")], 0)
    done([BIN / "dycl", "inspect", "--json", package("native-1")], 0)
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize("words", [
    lambda p: [BIN / "dycl-run", p, "--random", 0, "--allow-native-code"],
    lambda p: [sys.executable, "-c", LOAD.format(", allow_native_code=True"), p]])
def test_with_consent_it_runs(package, words, tmp_path):
    done(words(package("native-1")), 0)
    assert (tmp_path / "marker").exists(), "the test sees what it looks for"


def test_an_engines_compiled_form_needs_consent(tmp_path):
    """OpenVINO's, which is taken as it is; its portable form, a model that is checked, does not."""
    pytest.importorskip("openvino", reason="OpenVINO is not installed")
    torch, dycl = pytest.importorskip("torch"), pytest.importorskip("dycl")
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU()).eval()
    program = dycl.compile(model, (torch.randn(1, 3, 16, 16),), backend="openvino")
    assert program._engine.program.target != "portable", "made in this process"
    program.save(tmp_path / "m.dycl")
    without = [BIN / "dycl-run", tmp_path / "m.dycl", "--random", 0]
    assert "an engine's compiled form, and native code is not allowed" in done(without, 0)
    assert "not allowed" not in done([*without, "--allow-native-code"], 0)
