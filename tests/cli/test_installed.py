# SPDX-License-Identifier: Apache-2.0
"""What `make install` puts into a prefix: it names no folder of the build, and says what to do where an engine is not
there."""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DYCL_BUILD", ROOT / "build" / "release"))


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """About 3 seconds."""
    folder = tmp_path_factory.mktemp("installed") / "prefix"
    subprocess.run(["cmake", "--install", BUILD, "--prefix", folder], check=True, capture_output=True)
    return folder


def run(*words, **env):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, env={**os.environ, **env})


def engines_of(prefix):
    return sorted(path.stem.removeprefix("libdycl_plugin_") for path in (prefix / "lib" / "dycl").glob("libdycl_plu*"))


def test_no_file_holds_a_path_of_the_build(prefix):
    found = [path.relative_to(prefix) for path in prefix.rglob("*")
             if path.is_file() and str(ROOT).encode() in path.read_bytes()]
    assert not found, found
    programs = [*(prefix / "bin").iterdir(), *(prefix / "lib").rglob("*.so*")]
    assert len(programs) > 4
    for path in programs:
        read = run("readelf", "-d", path)
        of_folders = [line for line in read.stdout.splitlines() if "PATH)" in line]
        assert read.returncode == 0 and not any("/" in line for line in of_folders), (path, of_folders)


def test_man_pages_and_completions_lie_where_they_are_looked_for(prefix):
    for place in ("man/man1/dycl.1", "man/man1/dycl-run.1", "man/man1/dycl-compile.1", "zsh/site-functions/_dycl",
                  "bash-completion/completions/dycl", "bash-completion/completions/dycl-run",
                  "fish/vendor_completions.d/dycl.fish", "fish/vendor_completions.d/dycl-run.fish"):
        assert (prefix / "share" / place).stat().st_size > 100, place


def test_an_installed_engine_compiles_and_runs(prefix, tmp_path):
    (tmp_path / "m.dyir").write_text(
        "func @main(%x: f32[3]) -> (%y: f32[3]) {\n^entry:\n  %y = Relu %x : f32[3]\n  return %y\n}\n")
    made = run(prefix / "bin" / "dycl", "compile", tmp_path / "m.dyir", "-o", tmp_path / "m.dycl", "--no-cache")
    assert made.returncode == 0, made.stderr
    assert run(prefix / "bin" / "dycl-run", tmp_path / "m.dycl", "--random", 0).returncode == 0


@pytest.fixture(scope="module")
def of_openvino(prefix, tmp_path_factory):
    if "openvino" not in engines_of(prefix):
        pytest.skip("this build has no OpenVINO")
    folder = tmp_path_factory.mktemp("package")
    (folder / "m.dyir").write_text(
        "func @main(%x: f32[3]) -> (%y: f32[3]) {\n^entry:\n  %y = Relu %x : f32[3]\n  return %y\n}\n")
    made = run(BUILD / "bin" / "dycl", "compile", folder / "m.dyir", "-o", folder / "m.dycl", "--backend", "openvino")
    assert made.returncode == 0, made.stderr
    return folder / "m.dycl"


def test_a_missing_library_is_one_message_with_its_remedy(prefix, of_openvino):
    done = run(prefix / "bin" / "dycl-run", of_openvino, "--random", 0, "--json", DYCL_OPENVINO_LIBRARY="/no/ov.so")
    assert done.returncode == 5
    lines = done.stderr.splitlines()
    assert len(lines) == 2, done.stderr
    assert lines[0].startswith("error: openvino: cannot start the engine: OpenVINO's library cannot be opened (/no/")
    assert lines[1].startswith("  help: install it with: python -m pip install --no-deps openvino==")
    told = json.loads(done.stdout)["error"]
    assert told["kind"] == "missing" and told["help"] in lines[1] and told["message"] in lines[0]


def test_a_missing_plug_in_is_one_message_with_its_remedy(prefix, of_openvino):
    plugin = prefix / "lib" / "dycl" / "libdycl_plugin_openvino.so"
    aside = plugin.with_suffix(".aside")
    plugin.rename(aside)
    try:
        done = run(prefix / "bin" / "dycl-run", of_openvino, "--random", 0, DYCL_PLUGIN_PATH="")
    finally:
        aside.rename(plugin)
    lines = done.stderr.splitlines()
    assert done.returncode == 5 and len(lines) == 2, done.stderr
    assert lines[0] == ("error: the package needs back end openvino, but its plug-in libdycl_plugin_openvino.so is not "
                        "there")
    assert lines[1].startswith("  help: name the folder that holds it in DYCL_PLUGIN_PATH, or compile the model for an "
                               "engine that is here (--backend); looked in ")
    assert lines[1].count(str(prefix / "lib" / "dycl")) == 1


def test_python_says_so_too(of_openvino, tmp_path):
    """About 3 seconds: torch is imported."""
    (tmp_path / "m.py").write_text("def twice(x):\n    return x * 2\n")
    done = run(ROOT / ".venv" / "bin" / "dycl", "compile", tmp_path / "m.py:twice", "--input", "3", "--backend",
               "openvino", "--no-cache", "-o", tmp_path / "m.dycl", DYCL_OPENVINO_LIBRARY="/nowhere/ov.so")
    assert done.returncode == 5 and "help: install it with: python -m pip install" in done.stderr, done.stderr
    assert not (tmp_path / "m.dycl").exists()
