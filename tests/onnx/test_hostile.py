# SPDX-License-Identifier: Apache-2.0
"""Some of hostile.py's models each day, 5 seconds; `python -m tests.onnx.hostile --count 5000` runs many."""

import os
import time

import numpy as np
import onnx
import onnx.parser
import pytest

import dycl
from dycl import Error
from dycl.native import native
from tests.onnx import hostile
from tests.onnx.suite import judged

OPSET = [hostile.helper.make_opsetid("", 17)]


def test_wrong_models_are_errors():
    seed = int(os.environ.get("DYCL_SEED", time.time() // 86400))
    of = hostile.models(60, seed, each=1)
    results = dict(judged(list(of), of, hostile.judge))
    assert not {n: r for n, r in results.items() if hostile.bad(r)}, f"DYCL_SEED={seed}"
    kinds = {r["verdict"] for r in results.values()}
    assert {"invalid_model", "unsupported", "runs"} <= kinds


def test_external_data_must_be_a_file(tmp_path):
    """A FIFO would be waited for, a device read without end."""
    for name, location in (("fifo", "w.bin"), ("device", "zero.bin")):
        folder = tmp_path / name
        folder.mkdir()
        if name == "fifo":
            os.mkfifo(folder / location)
        else:
            os.symlink("/dev/zero", folder / location)
        model = hostile.helper.make_model(hostile.helper.make_graph(
            [hostile.helper.make_node("Add", ["x", "w"], ["y"])], "g",
            [hostile.helper.make_tensor_value_info("x", 1, [4])], [hostile.helper.make_tensor_value_info("y", 1, [4])],
            [_external(location)]), opset_imports=OPSET)
        (folder / "m.onnx").write_bytes(model.SerializeToString())
        with pytest.raises(Error) as caught:
            native().read_program(str(folder / "m.onnx"))
        assert caught.value.kind in ("invalid_model", "missing")


def _external(location):
    tensor = hostile.TensorProto(name="w", data_type=1, dims=[4], data_location=hostile.TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    return tensor


@pytest.mark.parametrize("where", ["value", "dim", "producer", "attribute"])
def test_long_texts_do_not_fill_the_package(where, tmp_path):
    """A text of 10 MB is cut, or refused where it means something."""
    long = "n" * 10_000_000
    h = hostile.helper
    name, extent = (long if where == "value" else "r"), (long if where == "dim" else 4)
    more = {"auto_pad": long} if where == "attribute" else {}
    first = h.make_node("MaxPool", ["x"], [name], name=name, kernel_shape=[1], **more)
    model = h.make_model(h.make_graph(
        [first, h.make_node("Neg", [name], ["y"])], name,
        [h.make_tensor_value_info("x", 1, [1, 1, extent])], [h.make_tensor_value_info("y", 1, [1, 1, extent])]),
        opset_imports=OPSET, producer_name=long if where == "producer" else "p")
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    if where == "attribute":
        with pytest.raises(Error, match="auto_pad.*text of 10000000 bytes") as caught:
            native().read_program(str(tmp_path / "m.onnx"))
        assert caught.value.kind == "unsupported"
        return
    program = native().read_program(str(tmp_path / "m.onnx"))
    native().compile_program(program, str(tmp_path / "m.dycl"), use_cache=False, jobs=1)
    assert (tmp_path / "m.dycl").stat().st_size < 100_000


MISUSED = {
    "an input left out where any number may stand": """
        g (float[2] x) => (float[4] y) { y = Concat <axis: int = 0> (x, "") }""",
    "batch dims that count nothing": """
        g (float[2,2] x, int64[2,1] i) => (float[2] y) { y = GatherND <batch_dims: int = -2> (x, i) }""",
    "heads that count nothing": """
        g (float[2,4,24] q) => (float[2,4,24] y) {
           y = Attention <kv_num_heads: int = 3, q_num_heads: int = -9223372036854775808> (q, q, q) }"""}


@pytest.mark.parametrize("name", MISUSED)
def test_misused_operators(name, tmp_path):
    """ONNX Runtime crashes over them, so it must not see them."""
    text = '< ir_version: 10, opset_import: ["" : 23] >' + MISUSED[name]
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    with pytest.raises(Error, match="lacks input 2|counts nothing") as caught:
        native().read_program(str(tmp_path / "m.onnx"))
    assert caught.value.kind == "invalid_model"


def test_slices_of_a_scalar(tmp_path):
    """The body of a Scan slices what has no axis: an error of the run."""
    text = """< ir_version: 8, opset_import: ["" : 17] > g (float[3] x) => (float[N] y) {
        y = Scan <num_scan_inputs: int = 1, body = b (float row) => (float u) {
            u = Scan <num_scan_inputs: int = 1, body = c (float v) => (float w) { w = Neg (v) }> (row) }> (x) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    program = dycl.compile(tmp_path / "m.onnx", verify=False)
    with pytest.raises(dycl.RunError):
        program(np.ones(3, np.float32))
