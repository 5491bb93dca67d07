# SPDX-License-Identifier: Apache-2.0
"""`dycl compile file.py:name` where something is missing."""

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import dycl
from dycl.commands import compile as compile_command
from dycl.commands.main import main

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
        assert (done.returncode == 3 and "(x, y)" in done.stderr
                and f"{len(given) // 2} inputs are given" in done.stderr), done.stderr
        assert not (tmp_path / "model.dycl").exists()
    done = run(tmp_path, sys.executable, "-m", "dycl", "compile", "m.py:model", "--input", "3", "--input", "3")
    assert done.returncode == 0 and (tmp_path / "model.dycl").exists(), done.stderr


def test_what_cannot_be_written_and_impossible_threads(tmp_path):
    (tmp_path / "m.py").write_text("def model(x):\n    return x + x\n")
    for options, code, said in ((["-o", "/sys/m.dycl"], 8, "this user may write"),
                                (["-o", "no/m.dycl"], 5, "make its folder first"),
                                (["--threads", "100000"], 64, "threads is 100000; give 1 to 1024, or 0"),
                                (["--threads=-1"], 64, "threads is -1; give 1 to 1024, or 0"),
                                (["--threads", "many"], 64, "threads is 'many'; give 1 to 1024, or 0")):
        done = run(tmp_path, sys.executable, "-m", "dycl", "compile", "m.py:model", "--input", "3", *options)
        assert done.returncode == code and said in done.stderr, done.stderr
        assert "Traceback" not in done.stderr


MODELS = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.drop, self.lin = torch.nn.Dropout(0.5), torch.nn.Linear(4, 4)

    def forward(self, x, scale=1.0, steps=2):
        for _ in range(steps):
            x = self.drop(self.lin(x)) * scale
        return {"out": x}

    def generate(self, x, mode="fast"):
        return x + 1 if mode == "fast" else x[:, 0]

def make_net():
    return Net().eval()

def broken():
    return Net(3)

def reads(x):
    return x + len(open("a").read())

def embed(tokens, image):
    return torch.nn.functional.embedding(tokens, torch.ones(1000, 2)).sum() + image.sum()
"""


@pytest.fixture
def models(tmp_path):
    (tmp_path / "m.py").write_text(MODELS)
    return tmp_path


def compiled(folder, *words, code=0):
    done = run(folder, sys.executable, "-m", "dycl", "compile", *words)
    assert done.returncode == code and "Traceback" not in done.stderr, done.stderr
    return done


@pytest.mark.parametrize("words, code, said", [
    (["m.py:make_nett", "--input", "1,4"], 3, "no object 'make_nett'; did you mean 'make_net'? There are: Net"),
    (["m.py"], 3, "write m.py:name. There are: Net, make_net, broken, reads, embed"),
    (["n.py:a"], 5, "there is no file n.py"),
    (["no.such:a"], 5, "there is no module no.such"),
    (["m.py:broken", "--input", "3"], 2, "in broken\n    return Net(3)"),
    (["m.py:make_net", "--inptu", "1,4"], 64, "there is no option --inptu; did you mean --input?"),
    (["m.py:make_net", "--input", "1,4", "x"], 64, "'x' is one argument too many"),
    (["m.py:make_net", "--input", "1,5"], 2, "the model raises on the example: RuntimeError: mat1 and mat2"),
    (["m.py:make_net", "--input", "1,4", "--arg", "scal=2.0"], 3, "did you mean 'scale'? There are: x, scale, steps"),
    (["m.py:make_net", "--input", "1,4", "--arg", "scale"], 64, "'scale' is not of the form NAME=VALUE"),
    (["m.py:make_net", "--input", "N,4", "--range", "M=1,3"], 3, "no dynamic dim 'M'. There is: N"),
    (["m.py:make_net", "--input", "N,4", "--range", "N"], 3, "write NAME=LEAST,GREATEST"),
    (["m.py:make_net", "--input", "1,4-"], 3, "'4-' is none of 8, N, N=8"),
    (["m.py:make_net", "--input", "1,4:f33"], 3, "the dtype 'f33' is none of f32, f64"),
    (["m.py:make_net", "--input", "1,4:f32=3"], 3, "write LEAST..GREATEST"),
    (["m.py:make_net", "--input", "a.npy"], 5, "cannot read a.npy"),
    (["m.py:Net", "--input", "1,4"], 7, "(--eval)"),
    (["m.py:reads", "--input", "4"], 7, "m.py:24:"),
])
def test_what_is_said_of_wrong_use(models, words, code, said):
    assert said in compiled(models, *words, code=code).stderr
    assert not list(models.glob("*.dycl"))


def test_errors_as_json(models):
    done = compiled(models, "m.py:reads", "--input", "4", "--json", code=7)
    error = json.loads(done.stdout)["error"]
    assert error["kind"] == "builtin" and error["where"]["line"] == 24 and error["message"]


@pytest.mark.parametrize("words, name, inputs", [
    (["m.py:make_net", "--input", "1,4"], "make_net", {"x": "f32[1,4]"}),
    (["m.py:Net", "--eval", "--input", "1,4:f32=0..1"], "Net", {"x": "f32[1,4]"}),
    (["m.py:make_net", "--input", "N=2..9,4", "--dynamic-arg", "scale=2.0", "--dynamic-arg", "steps=3"], "make_net",
     {"x": "f32[N,4]", "scale": "float", "steps": "int"}),
    (["m.py:make_net:generate", "--input", "1..8,W=6", "--arg", "mode=slow"], "make_net.generate",
     {"x": "f32[arg0_0,W]"}),
    (["m.py:embed", "--input", "1,16:i64=0..999", "--input", "1,3,H=32..64,W=32..64"], "embed",
     {"tokens": "i64[1,16]", "image": "f32[1,3,H,W]"}),
])
def test_forms_of_inputs(models, words, name, inputs):
    compiled(models, *words)
    import dycl.runtime
    assert dict(dycl.runtime.load(models / f"{name}.dycl").inputs) == inputs


@pytest.mark.skipif(not TOOL.exists(), reason="the release build is not there")
def test_one_command_line(models):
    """The options of the form that is asked for; names that are nearly right."""
    of_python = run(models, TOOL, "compile", "m.py:make_net", "--help", DYCL_PYTHON=sys.executable)
    assert of_python.returncode == 0 and all(
        word in of_python.stdout for word in ("--dynamic-arg", ":method", "bf16", "--range", "--eval", "--arg"))
    of_onnx = run(models, TOOL, "compile", "--help")
    assert of_onnx.returncode == 0 and "--weights" in of_onnx.stdout and "--eval" not in of_onnx.stdout
    for words, meant in ((["complie", "x"], "compile"), (["run", "x.dycl", "--trcae"], "--trace"),
                         (["compile", "x.onnx", "--bakcend=ort"], "--backend")):
        done = run(models, TOOL, *words)
        assert done.returncode == 64 and f"help: did you mean {meant}? dycl" in done.stderr, done.stderr
        assert done.stderr.startswith("error: ") and done.stdout == ""
    assert run(models, TOOL, "compile").returncode == 64
    told = json.loads(run(models, TOOL, "run", "x.dycl", "--trcae", "--json").stdout)["error"]
    assert told["kind"] == "usage" and "did you mean --trace?" in told["help"] and "--trcae" in told["message"]
    unknown = run(models, TOOL, "profile", "x.dycl", "--jsn")
    assert unknown.returncode == 64 and "help: did you mean --json? dycl profile --help" in unknown.stderr


LONG = """
import torch
def model(x):
    for k in range(1000000):
        x = x + 1
    return x
"""


def test_progress_and_ctrl_c(tmp_path):
    """On a terminal one line that is replaced; Ctrl-C ends with one line, and nothing is left behind."""
    (tmp_path / "m.py").write_text(LONG)
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "dycl", "compile", "m.py:model", "--input", "3", "--no-verify"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent in the background may ignore it
    process = subprocess.Popen(words, cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    signal.signal(signal.SIGINT, before)
    os.close(theirs)
    shown = b""
    deadline = time.monotonic() + 120
    while b"instructions" not in shown and time.monotonic() < deadline and process.poll() is None:
        shown += os.read(ours, 4096)
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(OSError):  # the terminal goes with the process
        while more := os.read(ours, 4096):
            shown += more
    text = shown.decode()
    assert process.wait(60) == 130, text
    assert re.search(r"s  capture: [\d,]+ instructions, 1 states, \d+ blocks", text), text
    assert text.replace("\r\n", "\n").endswith("\nstopped; nothing was written\n") and "Traceback" not in text
    assert {path.name for path in tmp_path.iterdir()} <= {"m.py", "__pycache__"}


def test_wrong_use_and_ctrl_c_are_told_as_json(tmp_path, monkeypatch, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["compile", "m.py:model", "--outptu", "x", "--json"])
    told = json.loads(capsys.readouterr().out)["error"]
    assert ended.value.code == 64 and told["kind"] == "usage" and "did you mean --output?" in told["message"]

    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(compile_command, "load_model", stopped)
    assert main(["compile", "m.py:model", "--json"]) == 130
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "interrupted"
    assert main(["view", str(tmp_path / "no.dycl"), "--json"]) == 5
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "missing"


TRAINING = """import torch
def model():
    return torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5))
"""


def test_a_module_in_training_mode(tmp_path, monkeypatch, capsys):
    """On the command line as in the API: refused with both remedies, each of which helps."""
    (tmp_path / "m.py").write_text(TRAINING)
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(TRAINING, names)
    with pytest.raises(dycl.CompileError, match="training mode") as caught:
        dycl.compile(names["model"](), (torch.ones(1, 3),))
    assert "model.eval()" in str(caught.value) and "allow_training=True" in str(caught.value)
    words = ["compile", "m.py:model", "--input", "1,3", "-q"]
    assert main(words) == 7 and not (tmp_path / "model.dycl").exists()
    said = capsys.readouterr().err
    assert "training mode" in said and "--eval" in said and "--allow-training" in said
    assert main([*words, "--eval"]) == 0 and (tmp_path / "model.dycl").exists()
    assert main([*words, "--allow-training", "-o", "t.dycl"]) == 0 and (tmp_path / "t.dycl").exists()
