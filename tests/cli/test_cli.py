# SPDX-License-Identifier: Apache-2.0
"""The command line from outside: results, exit codes, silence in pipes."""

import json
import os
import subprocess
from pathlib import Path

import numpy
import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("DYCL_BIN", ROOT / ".venv" / "bin"))

EARLY_EXIT = """
weight @w: f32[2,2] = [1.0,0.0,0.0,2.0]
func @main(%x: f32[1,2]) -> (%y: f32[1,2]) {
^entry:
  %w = weight @w
  %h = MatMul %x, %w : f32[1,2]
  %m = ReduceMax %h {keepdims=0} : f32[]
  %p = item %m : float
  %t = const 0.5
  %c = float.ge %p, %t
  branch %c, ^done(%h), ^more
^more:
  %r = Neg %h : f32[1,2]
  goto ^done(%r)
^done(%y: f32[1,2]):
  return %y
}
"""

RAISES = """
func @main(%n: int) -> (int) {
^entry:
  %zero = const 0
  %bad = int.lt %n, %zero
  branch %bad, ^fail, ^ok
^fail:
  raise "ValueError" "n is {}" %n
^ok:
  return %n
}
"""


def dycl(*words, code=0, tool="dycl", env=None, cwd=None):
    result = subprocess.run([str(BIN / tool), *map(str, words)], text=True, capture_output=True, env=env, cwd=cwd)
    assert result.returncode == code, f"exit code {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result


@pytest.fixture
def package(tmp_path):
    source = tmp_path / "early.dyir"
    source.write_text(EARLY_EXIT)
    dycl("compile", source, "-o", tmp_path / "early.dycl")
    return tmp_path / "early.dycl"


def save(path, values):
    numpy.save(path, numpy.array(values, numpy.float32))
    return path


def test_help_names_every_command_and_examples():
    text = dycl("--help").stdout
    for command in ("compile", "run", "bench", "inspect", "opt"):
        assert command in text
        assert "examples:" in dycl(command, "--help").stdout


@pytest.mark.parametrize("words",
                         [[], ["--nonsense"], ["compile"], ["run"], ["opt"], ["compile", "x.onnx", "--nonsense"],
                          ["compile", "x.onnx", "--input", "f32[1]"], ["walk"]])
def test_wrong_use_is_64(words):
    assert dycl(*words, code=64).stderr


def test_compile_is_silent_in_pipes_and_says_what_it_made(package, tmp_path):
    result = dycl("compile", tmp_path / "early.dyir", "-o", tmp_path / "b.dycl")
    assert result.stderr == ""
    assert "b.dycl" in result.stdout and "sub-DNNs" in result.stdout
    report = json.loads(dycl("compile", tmp_path / "early.dyir", "-o", tmp_path / "b.dycl", "--json").stdout)
    assert report["sub_dnns"] >= 1 and report["bytes"] == (tmp_path / "b.dycl").stat().st_size


@pytest.mark.parametrize("tool", ["dycl", "dycl-run"])
def test_both_arms_run(package, tmp_path, tool):
    run = ["run"] if tool == "dycl" else []
    for x, expected in (([[1, 1]], [[1, 2]]), ([[-1, -1]], [[1, 2]])):
        dycl(*run, package, save(tmp_path / "x.npy", x), "-o", tmp_path / "out.npz", tool=tool)
        with numpy.load(tmp_path / "out.npz") as out:
            numpy.testing.assert_array_equal(out["y"], numpy.array(expected, numpy.float32))


def test_run_takes_names_and_prints_json(package, tmp_path):
    x = save(tmp_path / "x.npy", [[1, 1]])
    outputs = json.loads(dycl("run", package, f"x={x}", "--json", "--trace").stdout)
    assert outputs["outputs"]["y"] == {"dtype": "f32", "shape": [1, 2], "data": [1.0, 2.0]}
    assert [d["arm"] for d in outputs["trace"]] == [1]


def test_inputs_by_position_and_by_option_mix(tmp_path):
    (tmp_path / "two.dyir").write_text("func @main(%a: int, %b: int, %c: int) -> (%r: int) {\n^entry:\n"
                                       "  %d = int.sub %a, %b\n  %r = int.mul %d, %c\n  return %r\n}\n")
    dycl("compile", tmp_path / "two.dyir", "-o", tmp_path / "two.dycl")
    for words in (["--input", "b=3", tmp_path / "two.dycl", "10", "--input", "2"], [tmp_path / "two.dycl", 10, 3, 2],
                  [tmp_path / "two.dycl", "c=2", "a=10", "b=3"]):
        assert json.loads(dycl("run", *words, "--json").stdout)["outputs"]["r"] == 14
    assert "twice" in dycl("run", tmp_path / "two.dycl", "a=1", "a=2", code=3).stderr
    assert "more arguments" in dycl("run", tmp_path / "two.dycl", 1, 2, 3, 4, code=3).stderr


def test_run_compares_with_expected_outputs(package, tmp_path):
    x = save(tmp_path / "x.npy", [[1, 1]])
    numpy.savez(tmp_path / "good.npz", y=numpy.array([[1, 2]], numpy.float32))
    numpy.savez(tmp_path / "bad.npz", y=numpy.array([[1, 3]], numpy.float32))
    dycl("run", package, x, "--expect", tmp_path / "good.npz")
    assert "y" in dycl("run", package, x, "--expect", tmp_path / "bad.npz", code=1).stderr


@pytest.mark.parametrize("values, message", [([[1, 1, 1]], "x"), ([1.0], "x")])
def test_wrong_input_is_3(package, tmp_path, values, message):
    assert message in dycl("run", package, save(tmp_path / "x.npy", values), code=3).stderr
    assert dycl("run", package, code=3).stderr


def test_random_inputs_are_reproducible(package):
    first = dycl("run", package, "--random", 7, "--json").stdout
    assert first == dycl("run", package, "--random", 7, "--json").stdout
    assert first != dycl("run", package, "--random", 8, "--json").stdout


def test_broken_ir_is_2_with_the_line(tmp_path):
    (tmp_path / "bad.dyir").write_text(EARLY_EXIT.replace("float.ge %p, %t", "float.ge %p, %nothing"))
    text = dycl("compile", tmp_path / "bad.dyir", code=2, cwd=tmp_path).stderr
    assert "bad.dyir:10:" in text and "^" in text
    error = json.loads(dycl("compile", tmp_path / "bad.dyir", "--json", code=2, cwd=tmp_path).stdout)["error"]
    assert error["kind"] == "invalid_model"


def test_missing_things_are_5(tmp_path):
    dycl("compile", tmp_path / "none.onnx", code=5)
    dycl("run", tmp_path / "none.dycl", code=5)
    (tmp_path / "w.dyir").write_text(EARLY_EXIT.replace(" = [1.0,0.0,0.0,2.0]", ""))
    assert "w.safetensors" in dycl("compile", tmp_path / "w.dyir", code=5).stderr
    (tmp_path / "a.dyir").write_text(EARLY_EXIT)
    assert "ort" in dycl("compile", tmp_path / "a.dyir", "--backend", "nothing", code=5).stderr


def test_damaged_package_is_4(package, tmp_path):
    whole = package.read_bytes()
    (tmp_path / "cut.dycl").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.dycl").write_bytes(b"")
    flipped = bytearray(whole)
    flipped[100] ^= 0xFF
    (tmp_path / "flipped.dycl").write_bytes(bytes(flipped))
    for name in ("cut", "empty", "flipped"):
        for command in (["run"], ["inspect"], ["bench", "--random", 0]):
            dycl(command[0], tmp_path / f"{name}.dycl", *command[1:], code=4)


def test_raise_is_6_with_type_and_message(tmp_path):
    (tmp_path / "r.dyir").write_text(RAISES)
    dycl("compile", tmp_path / "r.dyir", "-o", tmp_path / "r.dycl")
    assert json.loads(dycl("run", tmp_path / "r.dycl", 3, "--json").stdout)["outputs"] == {"output_0": 3}
    assert "n is -3" in dycl("run", tmp_path / "r.dycl", "n=-3", code=6).stderr
    error = json.loads(dycl("run", tmp_path / "r.dycl", "n=-3", "--json", code=6).stdout)["error"]
    assert error["type"] == "ValueError"


def test_inspect_shows_ports_and_ir(package):
    text = dycl("inspect", package, "--verify").stdout
    assert "input     x: f32[1,2]" in text and "output    y: f32[1,2]" in text and "1 decisions" in text
    assert "branch %c" in dycl("inspect", package, "--ir").stdout
    assert json.loads(dycl("inspect", package, "--json").stdout)["inputs"] == [{"name": "x", "type": "f32[1,2]"}]


def test_stripped_package_has_no_ir(tmp_path):
    (tmp_path / "a.dyir").write_text(EARLY_EXIT)
    dycl("compile", tmp_path / "a.dyir", "-o", tmp_path / "a.dycl", "--strip")
    assert "stripped" in dycl("inspect", tmp_path / "a.dycl", "--ir", code=5).stderr


def test_opt_runs_the_passes_it_is_given(tmp_path):
    (tmp_path / "a.dyir").write_text(EARLY_EXIT)
    assert "subdnn" not in dycl("opt", tmp_path / "a.dyir", "--passes=drop_dead").stdout
    assert "subdnn" in dycl("opt", tmp_path / "a.dyir", "--passes=outline").stdout
    assert "outline" in dycl("opt", "--list").stdout
    assert "no pass called 'x'" in dycl("opt", tmp_path / "a.dyir", "--passes=x", code=3).stderr
    dycl("opt", tmp_path / "a.dyir", "--passes=drop_dead", "-o", tmp_path / "b.dyir")
    assert (tmp_path / "b.safetensors").exists()
    dycl("compile", tmp_path / "b.dyir", "-o", tmp_path / "b.dycl")


def test_dump_writes_one_file_per_pass(tmp_path):
    (tmp_path / "a.dyir").write_text(EARLY_EXIT)
    dycl("compile", tmp_path / "a.dyir", "-o", tmp_path / "a.dycl", "--dump", tmp_path / "stages")
    names = sorted(p.name for p in (tmp_path / "stages").iterdir())
    assert names[0] == "00_input.dyir" and any("outline" in name for name in names)


def test_bench_reports_distribution_and_shares(package):
    report = json.loads(dycl("bench", package, "--random", 0, "--runs", 20, "--json").stdout)
    times = report["micros"]
    assert times["min"] <= times["p50"] <= times["p99"] <= times["max"] and report["runs"] == 20
    shares = sum(s["share"] for s in report["sub_dnns"]) + report["host"]["share"]
    assert shares == pytest.approx(1.0)


def test_compiles_onnx(tmp_path):
    from onnx import TensorProto, helper, save_model

    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10),
               tmp_path / "m.onnx")
    dycl("compile", tmp_path / "m.onnx", "-o", tmp_path / "m.dycl")
    out = json.loads(dycl("run", tmp_path / "m.dycl", save(tmp_path / "x.npy", [-1, 2]), "--json").stdout)
    assert out["outputs"]["y"]["data"] == [0.0, 2.0]


def test_runner_needs_no_python_torch_or_protobuf(package, tmp_path):
    linked = subprocess.run(["ldd", BIN / "dycl-run"], text=True, capture_output=True, check=True).stdout
    for library in ("libpython", "libtorch", "protobuf"):
        assert library not in linked
    x = save(tmp_path / "x.npy", [[1, 1]])
    dycl(package, x, "-o", tmp_path / "out.npz", tool="dycl-run", env={}, cwd="/")
    with numpy.load(tmp_path / "out.npz") as out:
        numpy.testing.assert_array_equal(out["y"], numpy.array([[1, 2]], numpy.float32))


def test_a_python_model_takes_the_options_of_other_sources(tmp_path):
    (tmp_path / "model.py").write_text(
        "import torch\n\ndef net(x):\n    if x.sum() > 0:\n        return x * 2\n    return x - 1\n"
    )
    command = [BIN / "dycl", "compile", f"{tmp_path}/model.py:net", "--input", "3", "-q", "--strip", "--portable",
               "--dump", tmp_path / "stages", "-o", tmp_path / "m.dycl"]
    done = subprocess.run([*map(str, command), "--skip-passes", "sink"], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stdout and not done.stderr, done.stderr
    assert len(list((tmp_path / "stages").iterdir())) > 3
    emitted = subprocess.run([BIN / "dycl", "emit", tmp_path / "m.dycl", "-o", tmp_path / "m"],
                             capture_output=True, text=True)
    assert emitted.returncode not in (0, 70) and "strip" in emitted.stderr, emitted.stderr
    unknown = subprocess.run([*map(str, command), "--skip-passes", "nonsense"], capture_output=True, text=True)
    assert unknown.returncode not in (0, 70) and "nonsense" in unknown.stderr and "Traceback" not in unknown.stderr


def test_what_is_no_file_is_refused_at_once(package, tmp_path):
    """Opening a FIFO would wait for somebody who writes into it."""
    for name in ("p.dycl", "p.dyir", "p.onnx", "x.npy", "x.npz", "early.safetensors"):
        os.mkfifo(tmp_path / name)
    source = tmp_path / "early.dyir"
    source.write_text(EARLY_EXIT.replace(" = [1.0,0.0,0.0,2.0]", ""))
    for words, code in ((["run", tmp_path / "p.dycl"], 4), (["bench", tmp_path / "p.dycl"], 4),
                        (["inspect", tmp_path / "p.dycl"], 4), (["compile", "--retarget", tmp_path / "p.dycl"], 4),
                        (["compile", tmp_path / "p.dyir"], 2), (["opt", tmp_path / "p.dyir"], 2),
                        (["compile", tmp_path / "p.onnx"], 2), (["compile", source], 2),
                        (["run", package, tmp_path / "x.npy"], 3), (["run", package, tmp_path / "x.npz"], 3)):
        assert "is a FIFO, not a file" in dycl(*words, code=code, cwd=tmp_path).stderr


@pytest.mark.parametrize("threads", ("100000", "-1", "many"))
def test_an_impossible_number_of_threads_is_refused(threads, package, tmp_path):
    for words in (["run", package], ["bench", package], ["compile", tmp_path / "early.dyir"],
                  ["compile", "model.py:make"]):
        assert "range 0 to 1024" in dycl(*words, f"--threads={threads}", code=64).stderr


def test_what_cannot_be_written_is_8(package, tmp_path):
    source, taken = tmp_path / "early.dyir", tmp_path / "taken"
    taken.write_text("")
    full = tmp_path / "full.npz"
    full.symlink_to("/dev/full")
    for words, said in ((["opt", source, "-o", "/dev/full"], "No space left on device"),
                        (["compile", source, "--dump", taken], "cannot make the folder"),
                        (["compile", source, "-o", tmp_path], "Is a directory"),
                        (["compile", source, "-o", "/sys/early.dycl"], "cannot create /sys/early.dycl"),
                        (["emit", package, "-o", taken], "cannot make the folder"),
                        (["run", package, "--random", "0", "-o", full], "No space left on device")):
        result = dycl(*words, "--json", code=8)
        error = json.loads(result.stdout)["error"]
        assert error["kind"] == "write_failed" and said in error["message"] and error["help"]
    assert dycl("compile", source, "-o", tmp_path / "no" / "early.dycl", code=5).stderr.endswith(
        "help: make its folder first\n")


def test_an_extent_that_no_argument_has_is_an_error(tmp_path):
    (tmp_path / "n.dyir").write_text("symbol N in [1, 64]\n\nfunc @main(%x: f32[N,2]) -> (%y: f32[N,2]) {\n^entry:\n"
                                     "  %y = Relu %x : f32[N,2]\n  return %y\n}\n")
    dycl("compile", tmp_path / "n.dyir", "-o", tmp_path / "n.dycl")
    assert "f32[3,2]" in dycl("run", tmp_path / "n.dycl", "--random", "0", "--dim", "N=3").stdout
    for tool, words in (("dycl", ["run"]), ("dycl", ["profile"]), ("dycl-run", [])):
        said = dycl(*words, tmp_path / "n.dycl", "--random", "1", "--dim", "M=3", tool=tool, code=3).stderr
        assert "no argument has an extent 'M'" in said and "there are: N" in said, said
