# SPDX-License-Identifier: Apache-2.0
"""ONNX files as tools write them, beside ONNX Runtime on the same file."""

import os
import subprocess
import warnings

import numpy as np
import onnx
import onnx.parser
import pytest
import torch
from onnx import numpy_helper

import dycl
from dycl.calling.onnx_program import OnnxProgram
from dycl.native import native
from tests.onnx import real_files, suite

DYCL = os.environ.get("DYCL", suite.ROOT / ".venv/bin/dycl")


def compare(model, feeds, folder, apart=0.0):
    path = folder / "model.onnx"
    onnx.save(model, path)
    session = real_files.session_of(path)
    answers = list(suite.in_dycl(path, [(list(feed.values()), None) for feed in feeds], folder))
    for answer, feed in zip(answers, feeds):
        far = real_files.far(answer, session.run(None, feed))
        assert far is not None and far <= apart, far


QUANTIZED = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[N,8] x) => (float[N,16] y) {
   s = Constant <value_float: float = 0.05> ()
   z = Constant <value = int8 {3}> ()
   q = QuantizeLinear (x, s, z)
   d = DequantizeLinear (q, s, z)
   w = DequantizeLinear (wq, ws, wz)
   b = DequantizeLinear (bq, bs, bz)
   h = Gemm (d, w, b)
   hq = QuantizeLinear (h, s, z)
   hd = DequantizeLinear (hq, s, z)
   v = DequantizeLinear (vq, ws, wz)
   p = MatMul (hd, v)
   pq = QuantizeLinear (p, s, z)
   y = DequantizeLinear (pq, s, z)
}
"""

DYNAMIC = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[N,8] x) => (float[N,16] y) {
   q, s, z = DynamicQuantizeLinear (x)
   i = MatMulInteger (q, wq, z, wz)
   f = Cast <to = 1> (i)
   k = Mul (s, ws)
   y = Mul (f, k)
}
"""


@pytest.mark.parametrize("text", [QUANTIZED, DYNAMIC])
def test_quantized_weights(text, tmp_path):
    """Kernels of quantised products pack weights that they cannot share: such packages did not load."""
    model = onnx.parser.parse_model(text)
    generator = np.random.default_rng(0)
    weights = {"wq": generator.integers(-100, 100, (8, 16)).astype(np.int8),
               "vq": generator.integers(-100, 100, (16, 16)).astype(np.int8), "ws": np.float32(0.01), "wz": np.int8(0),
               "bq": generator.integers(-1000, 1000, 16).astype(np.int32), "bs": np.float32(0.0005), "bz": np.int32(0)}
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(w), n) for n, w in weights.items())
    feeds = [{"x": generator.standard_normal((n, 8)).astype(np.float32)} for n in (1, 5)]
    compare(model, feeds, tmp_path, 1e-6)


@pytest.mark.parametrize("forget", [0, 1])
@pytest.mark.parametrize("peepholes", [False, True])
def test_lstm_layers_with_peepholes(forget, peepholes, tmp_path):
    """What follows an LSTM and mends its NaNs knows neither peepholes nor coupled gates."""
    generator = np.random.default_rng(0)
    shapes = {"w": (1, 12, 2), "r": (1, 12, 3), "b": (1, 24), "h0": (1, 2, 3), "c0": (1, 2, 3), "p": (1, 9)}
    weights = {name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    inputs = ["x", "w", "r", "b", "", "h0", "c0", *(["p"] if peepholes else [])]
    h = onnx.helper
    node = h.make_node("LSTM", inputs, ["y", "h", "c"], hidden_size=3, input_forget=forget)
    graph = h.make_graph([node], "g", [h.make_tensor_value_info("x", 1, [4, 2, 2])],
                         [h.make_tensor_value_info(name, 1, None) for name in ("y", "h", "c")],
                         [numpy_helper.from_array(w, n) for n, w in weights.items() if n in inputs])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    compare(model, [{"x": generator.standard_normal((4, 2, 2)).astype(np.float32)}], tmp_path, 1e-6)


WRONG_SHAPES = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[2,6] x, int64[2] s) => (int64[2] shape, float[5,5,5] y)
< float[9] r, float[2,6] c >
{
   r = Reshape (x, s)
   shape = Shape (r)
   c = Cast <to = 1> (r)
   y = Neg (c)
}
"""


def test_stated_shapes_change_nothing(tmp_path):
    """`Shape` of a value that the file states wrongly is that of the value."""
    model = onnx.parser.parse_model(WRONG_SHAPES)
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    feeds = [[x, np.array(s)] for s in ([3, 4], [12, 1])]
    for (shape, y), (_, s) in zip(suite.in_dycl(path, [(f, None) for f in feeds], tmp_path), feeds):
        assert shape.tolist() == s.tolist() and np.array_equal(y, -x.reshape(s))


RANKS = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[N,1,4] x) => (float[M,4] y)
{
   one = Constant <value_int: int = 1> ()
   shape = Shape (x)
   extent = Gather <axis = 0> (shape, one)
   alone = Equal (extent, one)
   h = If (alone) <then_branch = a () => (u) { k = Constant <value = int64[1] {1}> () u = Squeeze (x, k) },
                   else_branch = b () => (v) { v = Identity (x) }>
   y = Neg (h)
}
"""


def test_arms_of_different_ranks_that_no_input_takes(tmp_path):
    """TorchScript's If(extent == 1) Squeeze else Identity: no decision is left."""
    model = onnx.parser.parse_model(RANKS)
    compare(model, [{"x": np.ones((n, 1, 4), np.float32)} for n in (1, 3)], tmp_path)
    program = native().read_program(str(tmp_path / "model.onnx"))
    report = native().compile_program(program, str(tmp_path / "m.dycl"), use_cache=False, jobs=1)
    assert report["blocks"] == 1, report


def test_from_python(tmp_path):
    """Names are the file's; arrays give arrays, tensors give tensors; a saved package is the same."""
    h = onnx.helper
    port = lambda name: h.make_tensor_value_info(name, 1, ["N", 2])  # noqa: E731
    rows = h.make_tensor_sequence_value_info("parts", 1, ["P"])
    graph = h.make_graph([h.make_node("Neg", ["in/0"], ["out:0"]), h.make_node("Abs", ["in/0"], ["out_0"]),
                          h.make_node("Identity", ["parts"], ["same"])], "g", [port("in/0"), rows],
                         [port("out:0"), port("out_0"), h.make_tensor_sequence_value_info("same", 1, ["P"])])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=10), tmp_path / "m.onnx")
    program = dycl.compile(tmp_path / "m.onnx")
    program.save(tmp_path / "m.dycl")
    x, parts = np.array([[1, -2], [3, 4]], np.float32), [np.ones(3, np.float32), np.zeros(1, np.float32)]
    for each in (program, dycl.load(tmp_path / "m.dycl")):
        assert [name for name, _ in each.inputs] == ["in/0", "parts"]
        results = each(**{"in/0": x, "parts": parts})
        assert list(results) == ["out:0", "out_0", "same"]
        assert np.array_equal(results["out:0"], -x) and np.array_equal(results["out_0"], abs(x))
        assert [part.tolist() for part in results["same"]] == [part.tolist() for part in parts]
        tensors = each(torch.from_numpy(x), [torch.from_numpy(part) for part in parts])
        assert isinstance(tensors["out:0"], torch.Tensor) and torch.equal(tensors["out:0"], -torch.from_numpy(x))
    with pytest.raises(dycl.InputError, match="in/0"):
        program(x)
    with pytest.raises(dycl.CompileError, match="no .onnx file"):
        dycl.compile("m.dycl")


COUNTS = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[N,3] x, int64 k) => (float[N,3] y)
{
   yes = Constant <value = bool {1}> ()
   y = Loop (k, yes, x) <body = b (int64 i, bool go, float[N,3] u) => (bool on, float[N,3] v) {
      on = Identity (go) v = Add (u, u) }>
}
"""


@pytest.fixture
def counts(tmp_path):
    onnx.save(onnx.parser.parse_model(COUNTS), tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def test_compared_with_onnxruntime(counts, monkeypatch):
    """On random inputs, or on those of the caller; a program that answers otherwise is an error."""
    seen = []
    run = OnnxProgram.__call__
    monkeypatch.setattr(OnnxProgram, "__call__", lambda self, *args: seen.append(args) or run(self, *args))
    x = np.ones((2, 3), np.float32)
    dycl.compile(counts)
    assert len(seen) == 2
    dycl.compile(counts, (torch.from_numpy(x),), {"k": 3})
    assert len(seen) == 3 and np.array_equal(seen[-1][0], x) and seen[-1][1] == 3
    dycl.compile(counts, verify=False)
    assert len(seen) == 3
    monkeypatch.setattr(OnnxProgram, "__call__", lambda self, *args: {"y": args[0]})
    with pytest.raises(dycl.CompileError, match="differ from those of ONNX Runtime(.|\n)*'y'"):
        dycl.compile(counts, (x, 3))
    monkeypatch.undo()
    with pytest.raises(dycl.InputError, match="the program takes x, k"):
        dycl.compile(counts, (x,))
    with pytest.raises(dycl.InputError, match="ONNX Runtime does not take the given inputs"):
        dycl.compile(counts, (np.ones((2, 4), np.float32), 3))


def test_what_cannot_be_compared_is_told(tmp_path):
    """Random extents that fit nothing: compiled, with a warning that says what to give."""
    text = "< ir_version: 8, opset_import: ['' : 17] > g (float[N] x, float[M] z) => (float[29] y) " \
        "{ s = Constant <value = int64[1] {29}> () u = Reshape (x, s) v = Reshape (z, s) y = Add (u, v) }"
    onnx.save(onnx.parser.parse_model(text.replace("'", '"')), tmp_path / "m.onnx")
    with pytest.warns(dycl.CompileWarning, match="not compared with ONNX Runtime(.|\n)*give example inputs"):
        program = dycl.compile(tmp_path / "m.onnx")
    assert len(program.report()["warnings"]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dycl.compile(tmp_path / "m.onnx", (np.ones(29, np.float32), np.ones(29, np.float32)))


@pytest.mark.parametrize("given", [{"dynamic_dims": {"x": {0: "N"}}}, {"ranges": {"N": (1, 8)}},
                                   {"dynamic_args": {"k": int}}, {"max_iterations": 8}, {"allow_training": True},
                                   {"allow_raise": True}, {"max_states": 8}])
def test_choices_of_captured_models_are_refused(counts, given):
    with pytest.raises(dycl.InputError, match=f"{next(iter(given))} says nothing of an ONNX file"):
        dycl.compile(counts, **given)


def test_tensors_in_other_files_of_bodies_and_attributes(tmp_path):
    """An initializer of an arm, the value of a Constant there, and a weight of the graph, in one file."""
    arrays = {name: np.arange(k, k + 4, dtype=np.float32) for k, name in enumerate(("weight", "inner", "value"))}
    (tmp_path / "w.bin").write_bytes(b"".join(a.tobytes() for a in arrays.values()))

    def outside(name):
        tensor = onnx.TensorProto(name=name, data_type=1, dims=[4], data_location=onnx.TensorProto.EXTERNAL)
        for key, entry in {"location": "w.bin", "offset": str(16 * list(arrays).index(name)), "length": "16"}.items():
            tensor.external_data.add(key=key, value=entry)
        return tensor

    h = onnx.helper
    port = lambda name, kind=1, shape=(4,): h.make_tensor_value_info(name, kind, shape)  # noqa: E731
    then = h.make_graph([h.make_node("Add", ["x", "inner"], ["u"])], "then", [], [port("u")], [outside("inner")])
    other = h.make_graph([h.make_node("Constant", [], ["value"], value=outside("value")),
                          h.make_node("Mul", ["x", "value"], ["v"])], "other", [], [port("v")])
    nodes = [h.make_node("If", ["c"], ["r"], then_branch=then, else_branch=other),
             h.make_node("Sub", ["r", "weight"], ["y"])]
    graph = h.make_graph(nodes, "g", [port("x"), port("c", 9, [])], [port("y")], [outside("weight")])
    (tmp_path / "m.onnx").write_bytes(
        h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8).SerializeToString())
    x = np.ones(4, np.float32)
    program = dycl.compile(tmp_path / "m.onnx", (x, np.array(True)), verify=False)
    for c, wanted in ((True, x + arrays["inner"]), (False, x * arrays["value"])):
        assert np.array_equal(program(x, np.array(c))["y"], wanted - arrays["weight"])


@pytest.mark.parametrize("location", [
    "../secret", "link", "folder/secret", "nowhere/../link", "nowhere/../folder/secret", "inside/../../secret",
    "nowhere/../../model/../secret", "link\0/../w.bin", "w.bin\0"])
def test_tensors_in_files_outside_of_the_folder_are_refused(tmp_path, location):
    """Behind a folder that is not there, symbolic links were not followed before it was asked where they lead."""
    home = tmp_path / "model"
    (home / "inside").mkdir(parents=True)
    (tmp_path / "secret").write_bytes(bytes(16))
    (home / "w.bin").write_bytes(bytes(16))
    (home / "link").symlink_to(tmp_path / "secret")
    (home / "folder").symlink_to(tmp_path)
    tensor = onnx.TensorProto(name="w", data_type=1, dims=[4], data_location=onnx.TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    h = onnx.helper
    x, y = (h.make_tensor_value_info(name, 1, [4]) for name in "xy")
    graph = h.make_graph([h.make_node("Add", ["x", "w"], ["y"])], "g", [x], [y], [tensor])

    def compiled():
        model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
        (home / "m.onnx").write_bytes(model.SerializeToString())
        return dycl.compile(home / "m.onnx", (np.ones(4, np.float32),), verify=False)

    entry = graph.initializer[0].external_data[0]
    with pytest.raises(dycl.CompileError, match="outside the model's folder"):
        compiled()
    for good in ("w.bin", "inside/../w.bin", "./w.bin"):
        entry.value = good
        assert compiled()(np.ones(4, np.float32))["y"].tolist() == [1] * 4


def test_what_is_stated_of_unused_values_refuses_nothing(tmp_path):
    model = onnx.parser.parse_model(COUNTS)
    model.graph.value_info.extend([onnx.helper.make_tensor_value_info("nobody", onnx.TensorProto.STRING, [1]),
                                   onnx.helper.make_tensor_value_info("none", onnx.TensorProto.UINT4, [1])])
    compare(model, [{"x": np.ones((2, 3), np.float32), "k": np.array(2)}], tmp_path)


def test_equal_weights_are_stored_once(tmp_path):
    """In both arms, under two names: the package is not larger than with one."""
    random = np.random.default_rng(0).standard_normal((200, 200)).astype(np.float32)
    text = """< ir_version: 8, opset_import: ["" : 17] > g (float[N,200] x, bool c) => (float[N,200] y) {
        y = If (c) <then_branch = a () => (u) { p = MatMul (x, first) u = Relu (p) },
                    else_branch = b () => (v) { q = MatMul (x, second) v = Neg (q) }> }"""
    sizes = {}
    for which, second in (("twins", random), ("others", random + 1)):
        model = onnx.parser.parse_model(text)
        model.graph.initializer.extend([numpy_helper.from_array(random, "first"),
                                        numpy_helper.from_array(second, "second")])
        feeds = [{"x": np.ones((2, 200), np.float32), "c": np.array(c)} for c in (True, False)]
        compare(model, feeds, tmp_path, 1e-5)
        sizes[which] = (tmp_path / "model.dycl").stat().st_size
    assert sizes["twins"] < sizes["others"] - random.nbytes / 2, sizes


STATEFUL = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[1,4] x, float[1,4] state) => (float[1,4] y, float[1,4] stateN) {
   half = Constant <value_float: float = 0.5> ()
   kept = Mul (state, half)
   stateN = Add (kept, x)
   y = Tanh (stateN)
}
"""


def test_states_are_fed_back_over_chunks(tmp_path):
    """real_files.py does so with each file that has states, and finds one that is lost."""
    onnx.save(onnx.parser.parse_model(STATEFUL), tmp_path / "m.onnx")
    session = real_files.session_of(tmp_path / "m.onnx")
    states = real_files.states_of(session)
    assert states == {"state": "stateN"}
    program = dycl.compile(tmp_path / "m.onnx")
    feeds = {name: np.zeros((1, 4), np.float32) for name in ("x", "state")}
    assert real_files.chunks_apart(session, program, feeds, states) < 1e-6
    assert real_files.chunks_apart(session, lambda x, state: program(x, state * 0), feeds, states) > 0.1


def test_arms_of_different_ranks_before_heavy_work(tmp_path):
    """The work is for a matrix; the arm that gives three dims fails where it is taken, not while compiling."""
    text = """< ir_version: 8, opset_import: ["" : 17] > g (float[1,512] x, bool c) => (float[A,B] y) {
        axis = Constant <value = int64[1] {0}> ()
        h = If (c) <then_branch = a () => (u) { p = MatMul (x, w) u = Relu (p) },
                    else_branch = b () => (v) { v = Unsqueeze (x, axis) }>
        i = Gemm (h, w)  j = Gemm (i, w)  y = Gemm (j, w) }"""
    model = onnx.parser.parse_model(text)
    w = np.random.default_rng(0).standard_normal((512, 512)).astype(np.float32) / 16
    model.graph.initializer.append(numpy_helper.from_array(w, "w"))
    x = np.ones((1, 512), np.float32)
    compare(model, [{"x": x, "c": np.array(True)}], tmp_path, 1e-4)
    program = dycl.compile(tmp_path / "model.onnx", verify=False)
    with pytest.raises(dycl.RunError):
        program(x, np.array(False))


@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool"])
def test_windows_larger_than_what_they_slide_over(kind, tmp_path):
    """One, where the stride is larger than what is missing: files of detectors run over images so small."""
    model = onnx.parser.parse_model(
        f"""< ir_version: 8, opset_import: ["" : 17] > g (float[1,2,H,W] x) => (y, s) {{
        y = {kind} <kernel_shape = [4,3], strides = [4,2]> (x)  s = Shape (y) }}""")
    generator = np.random.default_rng(0)
    extents = [(1, 2), (2, 7), (3, 3), (4, 2), (9, 1), (8, 8)]
    compare(model, [{"x": generator.standard_normal((1, 2, *e)).astype(np.float32)} for e in extents], tmp_path, 1e-6)


@pytest.mark.parametrize("opset", [11, 17, 22])
def test_averages_over_more_than_there_is(opset, tmp_path):
    """Where padding counts, ONNX Runtime divides by other counts in older opsets and without its optimisations: an
    error of the run. What fits is computed, and costs no sub-DNN more."""
    model = onnx.parser.parse_model(f"""< ir_version: 8, opset_import: ["" : {opset}] > g (float[1,2,H,W] x) => (y) {{
        a = Relu (x)
        p = AveragePool <kernel_shape = [2,3], strides = [2,2], pads = [0,1,0,0], count_include_pad = 1> (a)
        y = Neg (p) }}""")
    generator = np.random.default_rng(0)
    fitting = [{"x": generator.standard_normal((1, 2, *e)).astype(np.float32)} for e in ((2, 2), (9, 8))]
    compare(model, fitting, tmp_path, 1e-6)
    program = dycl.compile(tmp_path / "model.onnx", verify=False)
    assert program.report()["sub_dnns"] == 1
    for extents in ((1, 8), (8, 1)):
        with pytest.raises(dycl.RunError, match="its window is larger"):
            program(np.ones((1, 2, *extents), np.float32))


DEFAULTS = """
< ir_version: 8, opset_import: ["" : 13] >
g (float[3] scale = {1, 2, 3}, float[N,3] x, float bias = {0.5}) => (float[N,3] y) {
   a = Mul (x, scale)
   y = Add (a, bias)
}
"""


def test_inputs_with_default_values(tmp_path):
    """Constants, or what a caller may give and leave out; in Python, numpy's runtime and on the command line."""
    path, package = tmp_path / "m.onnx", tmp_path / "m.dycl"
    onnx.save(onnx.parser.parse_model(DEFAULTS), path)
    x, scale = np.ones((2, 3), np.float32), np.array([5, 6, 7], np.float32)
    session = real_files.session_of(path)
    program = dycl.compile(path, (x,), {"scale": scale}, overridable=["scale"])
    assert [name for name, _ in program.inputs] == ["x", "scale"]
    program.save(package)
    for each in (program, dycl.load(package), dycl.runtime.load(package)):
        for given in ({"x": x}, {"x": x, "scale": scale}):
            assert np.array_equal(each(**given)["y"], session.run(None, given)[0])
    for name, array in {"x": x, "scale": scale}.items():
        np.save(tmp_path / f"{name}.npy", array)
    for words, wanted in ((["x.npy"], x * [1, 2, 3] + 0.5), (["x.npy", "scale.npy"], x * scale + 0.5)):
        subprocess.run([DYCL, "run", package, *words, "-o", "y.npy", "-q"], check=True, cwd=tmp_path)
        assert np.array_equal(np.load(tmp_path / "y.npy"), wanted)
    for wrong in (np.ones((2, 3), np.float32), np.ones(3)):
        with pytest.raises(dycl.InputError, match="scale"):
            program(x, scale=wrong)
    with pytest.raises(dycl.InputError, match=r"compile with overridable=\['bias'\]"):
        program(x, bias=np.float32(1))
    with pytest.raises(dycl.Error, match="'x' is no input with a default value(.|\n)*scale, bias"):
        dycl.compile(path, overridable=["x"])
    with pytest.raises(dycl.InputError, match="for ONNX files"):
        dycl.compile(torch.nn.ReLU(), (torch.ones(2),), overridable=["x"])
    named = subprocess.run([DYCL, "compile", path, "--overridable", "bias", "-o", package], capture_output=True)
    assert named.returncode == 0 and dycl.load(package).inputs[1][0] == "bias"


def optimised(model, folder):
    """As ONNX Runtime saves what it has optimised, without types of values inside."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(folder / "optimised.onnx")
    options.log_severity_level = 4
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    made = onnx.load(folder / "optimised.onnx")
    del made.graph.value_info[:]
    return made


OPTIMISED = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[N,3,6,6] x) => (float[N,5] y) {
   c = Conv <kernel_shape = [3,3]> (x, k)
   r = Relu (c)
   s = Shape (r)
   z = Constant <value = int64[1] {0}> ()
   n = Gather (s, z)
   rest = Constant <value = int64[1] {-1}> ()
   shape = Concat <axis = 0> (n, rest)
   f = Reshape (r, shape)
   m = MatMul (f, w)
   half = Constant <value_float: float = 0.5> ()
   one = Constant <value_float: float = 1.0> ()
   root = Constant <value_float: float = 1.4142135> ()
   d = Div (m, root)
   e = Erf (d)
   p = Add (e, one)
   q = Mul (m, p)
   g = Mul (q, half)
   t = Transpose <perm = [1,0]> (g)
   u = MatMul (g, t)
   y = MatMul (u, g)
}
"""


def test_operators_of_onnxruntime_need_no_stated_types(tmp_path):
    """Files that it has optimised: the results' element types come from its own schemas."""
    model = onnx.parser.parse_model(OPTIMISED)
    generator = np.random.default_rng(0)
    weights = {"k": (4, 3, 3, 3), "w": (64, 5)}
    model.graph.initializer.extend(numpy_helper.from_array(generator.standard_normal(s).astype(np.float32) / 4, n)
                                   for n, s in weights.items())
    made = optimised(model, tmp_path)
    assert {"FusedConv", "Gelu", "FusedMatMul"} <= {n.op_type for n in made.graph.node if n.domain == "com.microsoft"}
    feeds = [{"x": generator.standard_normal((n, 3, 6, 6)).astype(np.float32)} for n in (1, 3)]
    compare(made, feeds, tmp_path, 1e-5)


QUANTISED_SUM = """
< ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1] >
g (float[N,4] x) => (uint8[N,4] q, float[N,4] y) {
   s = Constant <value_float: float = 0.1> ()
   z = Constant <value = uint8 {7}> ()
   a = com.microsoft.QuantizeLinear (x, s, z)
   b = com.microsoft.QLinearAdd (a, s, z, a, s, z, s, z)
   q = Identity (b)
   d = com.microsoft.DequantizeLinear (b, s, z)
   y = com.microsoft.QuickGelu (d)
}
"""

TREES = """
< ir_version: 8, opset_import: ["" : 15, "ai.onnx.ml" : 3] >
g (float[N,3] x) => (label, scores, value) {
   t = ai.onnx.ml.Scaler <offset = [0.5, 0.0, 1.0], scale = [2.0, 1.0, 0.5]> (x)
   label, scores = ai.onnx.ml.LinearClassifier <
      classlabels_ints = [3, 7], coefficients = [1.0, 2.0, 3.0, -1.0, 0.5, 1.0],
      intercepts = [0.0, 0.1], post_transform = "SOFTMAX"> (t)
   v = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 1, nodes_falsenodeids = [2,0,0], nodes_featureids = [1,0,0],
      nodes_modes = ["BRANCH_LEQ","LEAF","LEAF"], nodes_nodeids = [0,1,2], nodes_treeids = [0,0,0],
      nodes_truenodeids = [1,0,0], nodes_values = [0.2,0.0,0.0], target_ids = [0,0], target_nodeids = [1,2],
      target_treeids = [0,0], target_weights = [5.0,-3.0]> (t)
   value = Neg (v)
}
"""


@pytest.mark.parametrize("text, shape", [(QUANTISED_SUM, (4,)), (TREES, (3,))])
def test_operators_of_other_domains_need_no_stated_types(text, shape, tmp_path):
    generator = np.random.default_rng(0)
    feeds = [{"x": generator.standard_normal((n, *shape)).astype(np.float32)} for n in (1, 6)]
    compare(onnx.parser.parse_model(text), feeds, tmp_path, 1e-6)


def test_maps_are_refused_with_a_remedy(tmp_path):
    text = """< ir_version: 8, opset_import: ["" : 15, "ai.onnx.ml" : 3] > g (float[N,2] x) => (y) {
        y = ai.onnx.ml.ZipMap <classlabels_int64s = [0, 1]> (x) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    with pytest.raises(dycl.CompileError, match="list of maps(.|\n)*zipmap"):
        dycl.compile(tmp_path / "m.onnx")


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_pools_of_8_bit_integers(dtype, tmp_path):
    kind = np.dtype(dtype).name
    model = onnx.parser.parse_model(f"""< ir_version: 8, opset_import: ["" : 17] >
        g ({kind}[N,3,9,9] x) => ({kind}[N,3,M,M] y) {{ y = MaxPool <kernel_shape = [2,2], strides = [2,2]> (x) }}""")
    values = np.random.default_rng(0).integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (2, 3, 9, 9), dtype)
    compare(model, [{"x": values}], tmp_path)
