# SPDX-License-Identifier: Apache-2.0
"""What `--tune` may choose for Winograd's convolutions: every choice gives the kernel's own results,
and only kernels that run are tuned."""

import json
import subprocess
import sys
from pathlib import Path

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

pytest.importorskip("tvm")
COMPILER = Path(__file__).resolve().parents[2] / "src" / "backends" / "tvm" / "compiler"
FEATURES = "x86_64/avx2+fma"  # any machine of this kind has them

TRIED = """
import sys
import onnx
sys.path.insert(0, sys.argv[1])
import importlib.util
spec = importlib.util.spec_from_file_location("worker", sys.argv[1] + "/__main__.py")
worker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(worker)
import dataclasses, lower, orders, schedule, tune
model = onnx.load(sys.argv[2], load_external_data=False)
lower.read_weights(model, sys.argv[3])
_, one = worker.Compiler().lowered(model, {"features": sys.argv[4]})
machine = schedule.Machine.of(sys.argv[4])
name = next(n for n, f in one.kernels.items() if lower.winograd.is_one(f))
kernel = tune.Kernel(one.kernels[name], one.target, machine)
space = orders.space(one.kernels[name], machine)
for field, values in space.items():
    fitting = 0
    for value in values[:4]:
        try:
            made = kernel.built(dataclasses.replace(schedule.Choice(), **{field: value}))
        except ValueError as error:
            print(field, value, error)
            continue
        fitting += 1
        assert kernel.is_right(made), (field, value)
    assert fitting, field
print("fields", sorted(space))
"""


@pytest.fixture
def model(tmp_path):
    """relu(conv(in0)), 16 x 12 x 12 to 32 channels, weights beside the model."""
    weight = numpy.random.default_rng(2).normal(0, 0.1, (32, 16, 3, 3)).astype(numpy.float32)
    tensor = numpy_helper.from_array(weight, "w0")
    onnx.external_data_helper.set_external_data(tensor, "m.weights", 0, weight.nbytes)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    nodes = [helper.make_node("Conv", ["in0", "w0"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["y"])]
    value = lambda name, channels: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, channels, 12, 12])
    graph = helper.make_graph(nodes, "m", [value("in0", 16)], [value("y", 32)], [tensor])
    (tmp_path / "m.weights").write_bytes(weight.tobytes())
    (tmp_path / "m.onnx").write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]).SerializeToString()
    )
    return tmp_path / "m.onnx"


def test_every_schedule_of_winograd_gives_the_same(model):
    words = [sys.executable, "-c", TRIED, str(COMPILER), str(model), str(model.with_suffix(".weights")), FEATURES]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "fields ['order', 'strip', 'tile', 'unroll']" in done.stdout


def test_kernels_that_run_only_where_a_guard_fails_are_not_tuned(model):
    request = {"do": "describe", "model": str(model),
               "weights": str(model.with_suffix(".weights")), "features": FEATURES}
    done = subprocess.run([sys.executable, str(COMPILER)], input=json.dumps(request) + "\n",
                          capture_output=True, text=True)
    kernels = json.loads(done.stdout)["kernels"]
    sums = [k for k in kernels if k["work"] == 32 * 12 * 12 * 16 * 9]  # the second form's convolution
    fast = [k for k in kernels if k["work"] == 16 * 6 * 6 * 16 * 32]
    assert [k["tunable"] for k in sums] == [False] and [k["tunable"] for k in fast] == [True]
