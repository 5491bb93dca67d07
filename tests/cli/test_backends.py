# SPDX-License-Identifier: Apache-2.0
"""Back ends from the command line: compiling side by side, tuning,
and an installed prefix that brings its own compilers."""

import importlib.util
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy
import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("DYCL_BIN", ROOT / ".venv" / "bin"))
BUILD = Path(os.environ.get("DYCL_BUILD", ROOT / "build" / "release"))


def needs(module):
    return pytest.mark.skipif(importlib.util.find_spec(module) is None, reason=f"{module} is not installed")


def dycl(*words, code=0, tool=BIN / "dycl", **env):
    done = subprocess.run([str(tool), *map(str, words)], text=True, capture_output=True, env={**os.environ, **env})
    assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def blocks(count, extent=8):
    """A chain of convolutions, a decision after each."""
    weights, body = "", "^entry:\n  %x0 = Identity %x : f32[1,16,8,8]\n  goto ^b0(%x0)\n"
    for i in range(count):
        values = numpy.random.default_rng(i).normal(0, 0.1, 16 * 16 * 9)
        weights += f"weight @w{i}: f32[16,16,3,3] = [{','.join(f'{v:.6f}' for v in values)}]\n"
        body += (f"^b{i}(%p{i}: f32[1,16,8,8]):\n  %k{i} = weight @w{i}\n"
                 f"  %c{i} = Conv %p{i}, %k{i} {{pads=[1,1,1,1]}} : f32[1,16,8,8]\n"
                 f"  %r{i} = Relu %c{i} : f32[1,16,8,8]\n  %m{i} = ReduceMax %r{i} {{keepdims=0}} : f32[]\n"
                 f"  %f{i} = item %m{i} : float\n  %t{i} = const {50.0 + i}\n  %d{i} = float.ge %f{i}, %t{i}\n"
                 f"  branch %d{i}, ^done(%r{i}), ^b{i + 1}(%r{i})\n")
    body += f"^b{count}(%last: f32[1,16,8,8]):\n  goto ^done(%last)\n^done(%y: f32[1,16,8,8]):\n  return %y\n"
    text = f"{weights}func @main(%x: f32[1,16,8,8]) -> (%y: f32[1,16,8,8]) {{\n{body}}}\n"
    return text.replace("16,8,8", f"16,{extent},{extent}")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("backends")
    (folder / "m.dyir").write_text(blocks(5))
    numpy.save(folder / "x.npy", numpy.random.default_rng(9).normal(size=(1, 16, 8, 8)).astype(numpy.float32))
    return folder / "m.dyir"


def answer(tool, package, source, **env):
    out = dycl(package, source.with_name("x.npy"), "--threads", 1, "--json", "--allow-native-code", tool=tool,
               **env).stdout
    return numpy.array(json.loads(out)["outputs"]["y"]["data"])


@pytest.mark.parametrize("backend", ["ort", pytest.param("openvino", marks=needs("openvino"))])
def test_side_by_side_gives_the_same_package_each_time(source, tmp_path, backend):
    packages = [tmp_path / f"{n}.dycl" for n in range(2)]
    for package in packages:
        dycl("compile", source, "-o", package, "--backend", backend, "--no-cache", "--jobs", 3, "-q")
    assert packages[0].read_bytes() == packages[1].read_bytes()
    dycl("compile", source, "-o", tmp_path / "alone.dycl", "--backend", backend, "--no-cache", "--jobs", 1, "-q")
    numpy.testing.assert_array_equal(answer(BIN / "dycl-run", tmp_path / "alone.dycl", source),
                                     answer(BIN / "dycl-run", packages[0], source))


def test_auto_measures_what_follows_the_convolutions_by_itself(tmp_path):
    """A convolution and then a product, both of more work than a cut costs:
    two parts are timed, and one package has what won."""
    def weight(name, seed, *dims):
        values = numpy.random.default_rng(seed).normal(0, 0.1, int(numpy.prod(dims)))
        return f"weight @{name}: f32[{','.join(map(str, dims))}] = [{','.join(f'{v:.6f}' for v in values)}]\n"

    text = weight("k", 0, 16, 16, 3, 3) + weight("w", 1, 64, 128) + """\
func @main(%x: f32[1,16,32,32]) -> (%y: f32[256,128]) {
^entry:
  %k = weight @k
  %w = weight @w
  %c = Conv %x, %k {pads=[1,1,1,1]} : f32[1,16,32,32]
  %r = Relu %c : f32[1,16,32,32]
  %s = const i64[2] [256,64]
  %f = Reshape %r, %s : f32[256,64]
  %y = MatMul %f, %w : f32[256,128]
  return %y
}
"""
    (tmp_path / "m.dyir").write_text(text)
    numpy.save(tmp_path / "x.npy", numpy.random.default_rng(9).normal(size=(1, 16, 32, 32)).astype(numpy.float32))
    answers = []
    for backend in ("ort", "auto"):
        package = tmp_path / f"{backend}.dycl"
        dycl("compile", tmp_path / "m.dyir", "--backend", backend, "--threads", 1, "--budget", 30, "-o", package, "-q",
             DYCL_CACHE_DIR=str(tmp_path / "cache"))
        dycl("run", package, tmp_path / "x.npy", "--threads", 1, "--allow-native-code", "-o", tmp_path / "y.npy")
        answers.append(numpy.load(tmp_path / "y.npy"))
    assert numpy.abs(answers[1] - answers[0]).max() <= 1e-4 * numpy.abs(answers[0]).max()
    metadata = json.loads(dycl("inspect", "--json", package).stdout)["metadata"]["metadata"]
    assert [one["name"] for one in json.loads(metadata["auto"])["sub_dnns"]] == ["s0", "s0.rest"]


def test_tuning_is_for_engines_that_can_be_tuned(source, tmp_path):
    said = dycl("compile", source, "-o", tmp_path / "m.dycl", "--backend", "ort", "--tune", "10s", code=3).stderr
    assert "'ort' has nothing to tune" in said and "tvm" in said
    for text in ("soon", "10h", "-5s", "0"):
        assert "is no time" in dycl("compile", source, "-o", tmp_path / "m.dycl", "--tune", text, code=64).stderr


@needs("tvm")
def test_tuning_is_used_by_later_compilations(source, tmp_path):
    cache = {"DYCL_CACHE_DIR": str(tmp_path / "cache")}
    words = ["compile", source, "--backend", "tvm", "--json"]
    first = json.loads(dycl(*words, "-o", tmp_path / "a.dycl", "--tune", "3s", **cache).stdout)
    assert any(text.startswith("tuned ") for text in first["notices"])
    second = json.loads(dycl(*words, "-o", tmp_path / "b.dycl", **cache).stdout)
    assert second["engine_calls"] == 0 and second["engines"] == first["engines"]
    assert (tmp_path / "a.dycl").read_bytes() == (tmp_path / "b.dycl").read_bytes()
    dycl("compile", source, "-o", tmp_path / "ort.dycl", **cache)
    numpy.testing.assert_allclose(answer(BIN / "dycl-run", tmp_path / "a.dycl", source),
                                  answer(BIN / "dycl-run", tmp_path / "ort.dycl", source), rtol=1e-3, atol=1e-4)


@needs("tvm")
@pytest.mark.parametrize("form", ["ir", "python"])
def test_ctrl_c_while_an_engine_compiles(source, tmp_path, form):
    """One line, exit code 130, no file, no process that goes on. About 5 seconds: capture imports torch."""
    model = source
    if form == "python":
        (tmp_path / "m.py").write_text("import torch\ndef net():\n    return torch.nn.Conv2d(16, 16, 3).eval()\n")
        model = f"{tmp_path}/m.py:net"
    words = [BIN / "dycl", "compile", model, "-o", tmp_path / "m.dycl", "--backend", "tvm", "--tune", "300s",
             "--no-cache", *(["--input", "1,16,32,32"] if form == "python" else [])]
    ours, theirs = pty.openpty()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent in the background may ignore it
    process = subprocess.Popen(list(map(str, words)), stdin=theirs, stdout=theirs, stderr=theirs,
                               start_new_session=True, env={**os.environ, "DYCL_CACHE_DIR": str(tmp_path / "cache")})
    signal.signal(signal.SIGINT, before)
    os.close(theirs)
    shown = b""
    deadline = time.monotonic() + 120
    while b"back end" not in shown and time.monotonic() < deadline and process.poll() is None:
        shown += os.read(ours, 4096)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    try:
        while more := os.read(ours, 4096):
            shown += more
    except OSError:  # the terminal goes with the process
        pass
    text = shown.decode().replace("\r\n", "\n")
    assert process.wait(30) == 130 and text.endswith("\nstopped; nothing was written\n"), text
    assert "Traceback" not in text and not list(tmp_path.glob("*.dycl*"))
    deadline = time.monotonic() + 10
    while subprocess.run(["pgrep", "-g", str(process.pid)], capture_output=True).stdout:
        assert time.monotonic() < deadline, "a process goes on"
        time.sleep(0.1)


@needs("tvm")
def test_machine_code_runs_with_consent_alone(source, tmp_path):
    package, x = tmp_path / "m.dycl", source.with_name("x.npy")
    dycl("compile", source, "-o", package, "--backend", "tvm")
    without = dycl(package, x, "--json", tool=BIN / "dycl-run")
    assert "tvm-" in without.stderr and "machine code, and native code is not allowed" in without.stderr
    consented = dycl(package, x, "--json", "--allow-native-code", tool=BIN / "dycl-run")
    assert consented.stderr == ""
    numpy.testing.assert_allclose(*(json.loads(done.stdout)["outputs"]["y"]["data"] for done in (without, consented)),
                                  rtol=1e-3, atol=1e-4)


@needs("tvm")
@needs("openvino")
def test_an_installed_prefix_has_its_own_compilers(source, tmp_path):
    """As `make install` leaves it: the compiler of TVM and the helper of OpenVINO are beside the plug-ins."""
    prefix = tmp_path / "prefix"
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, capture_output=True)
    assert (prefix / "lib" / "dycl" / "dycl_openvino_compile").exists()
    sources = ROOT / "src" / "backends" / "tvm" / "compiler"
    names = {p.name for p in sources.glob("*.py")}
    assert names == {p.name for p in (prefix / "lib" / "dycl" / "tvm_compiler").iterdir()}
    # The installed program compiles with what is beside it: without it, it says so or finds the build's.
    traced = tmp_path / "python"
    traced.write_text(f"#!/bin/sh\necho \"$@\" >> {tmp_path}/calls\nexec {sys.executable} \"$@\"\n")
    traced.chmod(0o755)
    home = str(Path(importlib.util.find_spec("tvm").origin).parents[1])  # what is installed does not know the build's
    report = json.loads(dycl("compile", source, "-o", tmp_path / "m.dycl", "--backend", "tvm", "--no-cache", "--json",
                             tool=prefix / "bin" / "dycl", DYCL_TVM_PYTHON=str(traced),
                             DYCL_TVM_HOME=home).stdout)
    assert report["engines"].get("tvm", 0) > 0
    assert str(prefix / "lib" / "dycl" / "tvm_compiler") in (tmp_path / "calls").read_text().replace("bin/../", "")
    ours = answer(prefix / "bin" / "dycl-run", tmp_path / "m.dycl", source, DYCL_TVM_HOME=home)
    dycl("compile", source, "-o", tmp_path / "ort.dycl")
    numpy.testing.assert_allclose(ours, answer(BIN / "dycl-run", tmp_path / "ort.dycl", source), rtol=1e-3, atol=1e-4)
