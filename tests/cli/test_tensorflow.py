# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's models with control flow, saved, converted by tf2onnx, compiled, beside TensorFlow's own answers.

`make test-tensorflow` installs TensorFlow in an environment of its own and names it in DYCL_TF_PYTHON."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import dycl

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("DYCL_BIN", ROOT / ".venv" / "bin"))
PYTHON = os.environ.get("DYCL_TF_PYTHON")

# In the other Python: saves each model, and arrays by the names of its inputs and outputs.
MODELS = """
import json, sys
import numpy as np
import tensorflow as tf

class Cond(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None, 4], name="x")])
    def __call__(self, x):
        return {"y": tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: x - 1)}

class While(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None, 4], name="x")])
    def __call__(self, x):
        n = tf.constant(0)
        while tf.reduce_sum(tf.abs(x)) < 100.0:
            x, n = x * 1.5, n + 1
        return {"y": x, "n": n}

class Collect(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None, 4], name="x")])
    def __call__(self, x):
        rows = tf.TensorArray(tf.float32, size=tf.shape(x)[0])
        state = tf.zeros([4])
        for k in tf.range(tf.shape(x)[0]):
            state = tf.tanh(state + x[k])
            rows = rows.write(k, state)
        return {"y": rows.stack()}

folder = sys.argv[1]
random = np.random.default_rng(0)
for model in (Cond(), While(), Collect()):
    name = type(model).__name__.lower()
    tf.saved_model.save(model, f"{folder}/{name}", signatures=model.__call__)
    for k in range(4):
        x = random.standard_normal((2 + k, 4)).astype(np.float32) * (1 if k else -1)
        results = {key: value.numpy() for key, value in model(tf.constant(x)).items()}
        np.savez(f"{folder}/{name}.{k}.npz", **{"in.x": x}, **{f"out.{key}": v for key, v in results.items()})
print(json.dumps([tf.__version__]))
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    if PYTHON is None:
        pytest.skip("DYCL_TF_PYTHON names no Python with tensorflow and tf2onnx; `make test-tensorflow` makes one")
    folder = tmp_path_factory.mktemp("tensorflow")
    (folder / "models.py").write_text(MODELS)  # AutoGraph reads the source
    subprocess.run([PYTHON, folder / "models.py", folder], check=True, capture_output=True, text=True)
    return folder


@pytest.mark.parametrize("name", ["cond", "while", "collect"])
def test_a_saved_model(saved, name):
    package = saved / f"{name}.dycl"
    done = subprocess.run([BIN / "dycl", "compile", saved / name, "--tf-python", PYTHON, "-o", package, "--json"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    program = dycl.load(package)
    for file in sorted(saved.glob(f"{name}.*.npz")):
        arrays = np.load(file)
        results = program(arrays["in.x"])
        for key, wanted in ((key[4:], arrays[key]) for key in arrays if key.startswith("out.")):
            np.testing.assert_allclose(results[key], wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("python, told", [(None, "is a TensorFlow model"), ("/no/such/python", "cannot start"),
                                          (str(ROOT / ".venv" / "bin" / "python"), "no TensorFlow or no tf2onnx")])
def test_without_tensorflow(python, told, tmp_path):
    """Exit code 5, and what to do."""
    (tmp_path / "saved_model.pb").write_bytes(b"")
    named = ["--tf-python", python] if python else []
    done = subprocess.run([BIN / "dycl", "compile", tmp_path, *named, "--json"], capture_output=True, text=True)
    assert done.returncode == 5, done.stderr
    error = json.loads(done.stdout)["error"]
    assert error["kind"] == "missing" and told in error["message"] and "--tf-python" in error["help"]
