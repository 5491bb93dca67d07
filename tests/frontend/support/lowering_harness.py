# SPDX-License-Identifier: Apache-2.0
"""Runs torch code, records its ATen ops, converts them to ONNX and compares ONNX Runtime's results."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from dycl.frontend.graph.program import BOOL, FLOAT, INT, AtenNode, TensorType, Value
from dycl.frontend.recording.decompositions import NEEDS_DECOMPOSITION
from tests.frontend.support.onnx_model import nodes_to_onnx

onnxruntime.set_default_logger_severity(4)


def _plugin() -> str:
    """The library with the ops of the domain "torch"."""
    named = [Path(p) for p in os.environ.get("DYCL_PLUGIN_PATH", "").split(":") if p]
    root = Path(__file__).resolve().parents[3]
    places = [*named, root / "build" / "release" / "lib" / "dycl", root / "python" / "dycl" / "lib" / "dycl"]
    found = [p / "libdycl_plugin_ort.so" for p in places if (p / "libdycl_plugin_ort.so").exists()]
    assert found, f"no libdycl_plugin_ort.so in {places}"
    return str(found[0])


DETERMINISTIC = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default,
    torch.ops.aten.scaled_dot_product_attention.default,
}  # without dropout, which their conversion refuses


class Unsuitable(Exception):
    """The sample does something that is not this test's business: mutation, reading to the host, randomness."""


class Recorder(TorchDispatchMode):
    """AtenNodes of real tensors. `symbolic` dims: extents that become runtime dims in the types."""

    def __init__(self, symbolic: bool = False):
        super().__init__()
        self.nodes: list[AtenNode] = []
        self.values: dict[int, Value] = {}
        self.tensors: dict[int, torch.Tensor] = {}  # Value.id -> the tensor, as recorded
        self.inputs: list[Value] = []
        self.feeds: list[torch.Tensor] = []  # the inputs as they were
        self.symbolic = symbolic

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is torch.ops.aten._linalg_check_errors.default:
            return func(*args, **kwargs)  # capture makes a decision of it
        if func in NEEDS_DECOMPOSITION:
            with self:
                result = NEEDS_DECOMPOSITION[func](*args, **kwargs)
            if result is not NotImplemented:
                return result
        if func is torch.ops.aten._local_scalar_dense.default:
            raise Unsuitable("reads a tensor to the host")
        if torch.Tag.nondeterministic_seeded in func.tags and func not in DETERMINISTIC:
            raise Unsuitable(f"{func} is random")
        functional = self.functional(func, args) if func._schema.is_mutable else func
        node = AtenNode(functional, tuple(self.wrap(args)), self.wrap(kwargs), [])
        result = func(*args, **kwargs)
        if functional is not func:
            node.outputs = [self.define(args[0])]
        else:
            outputs = result if isinstance(result, (list, tuple)) else [result]
            if not all(isinstance(o, torch.Tensor) for o in outputs):
                raise Unsuitable(f"{func} gives no tensor")
            node.outputs = [self.define(o) for o in outputs]
        self.nodes.append(node)
        return result

    def functional(self, func, args):
        """The functional twin of an in-place op on a tensor that nothing recorded shares memory with."""
        written = [a.name for a in func._schema.arguments if a.alias_info is not None and a.alias_info.is_write]
        name = func._schema.name.removeprefix("aten::")
        twin = (
            getattr(getattr(torch.ops.aten, name[:-1], None), func._overloadname, None) if name.endswith("_") else None
        )
        if twin is None or written != [func._schema.arguments[0].name]:
            raise Unsuitable(f"{func} writes")
        storage = args[0].untyped_storage().data_ptr()
        if any(
            x is not args[0] and x.untyped_storage().data_ptr() == storage for x in self.tensors.values() if x.numel()
        ):
            raise Unsuitable(f"{func} writes to shared memory")
        return twin

    def define(self, tensor: torch.Tensor) -> Value:
        shape = tuple(None if self.symbolic else d for d in tensor.shape)
        value = Value(TensorType(tensor.dtype, shape), None)
        self.values[id(tensor)] = value
        self.tensors[value.id] = tensor
        return value

    def wrap(self, x):
        if isinstance(x, torch.Tensor):
            if x.layout != torch.strided:
                raise Unsuitable("a sparse tensor")
            if id(x) not in self.values:
                self.inputs.append(self.define(x))
                self.feeds.append(x.detach().clone())
            return self.values[id(x)]
        if isinstance(x, Scalar):
            value = Value({bool: BOOL, int: INT, float: FLOAT}[type(x.number)], None)
            self.inputs.append(value)
            self.feeds.append(torch.tensor(x.number, dtype=torch.float64 if isinstance(x.number, float) else None))
            return value
        if isinstance(x, (list, tuple)):
            return [self.wrap(i) for i in x]
        if isinstance(x, dict):
            return {k: self.wrap(v) for k, v in x.items()}
        return x


def record(function, *args, symbolic: bool = False, **kwargs):
    """(recorder, results): results as a flat list of real tensors."""
    recorder = Recorder(symbolic)
    call = lambda *a: function(*a, **kwargs)  # noqa: E731
    with torch.no_grad(), recorder:
        result = call(*args)
    flat = torch.utils._pytree.tree_leaves(result)
    if not flat or not all(isinstance(r, torch.Tensor) for r in flat):
        raise Unsuitable("gives no tensor")
    return recorder, flat


def numpy_of(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().resolve_conj().resolve_neg().contiguous().numpy()


def session(model, optimise: bool) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    if any(o.domain in ("torch", "linalg") for o in model.opset_import):
        options.register_custom_ops_library(_plugin())
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimise else level.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run_onnx(model, feeds: list[torch.Tensor], optimise: bool) -> list[torch.Tensor]:
    s = session(model, optimise)
    names = {i.name for i in s.get_inputs()}
    results = s.run(None, {f"i{k}": numpy_of(x) for k, x in enumerate(feeds) if f"i{k}" in names})
    return [torch.from_numpy(np.array(r)) for r in results]


def compare(actual: torch.Tensor, expected: torch.Tensor, rtol: float | None = None, atol: float | None = None) -> None:
    assert actual.dtype == expected.dtype, f"dtype {actual.dtype} instead of {expected.dtype}"
    assert actual.shape == expected.shape, f"shape {list(actual.shape)} instead of {list(expected.shape)}"
    torch.testing.assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=True, check_stride=False)


def check(function, *args, symbolic: bool = False, rtol=None, atol=None, levels=(False, True), **kwargs):
    """Asserts that ONNX Runtime, with and without optimisation, agrees with torch. Returns the model."""
    recorder, expected = record(function, *args, symbolic=symbolic, **kwargs)
    outputs = []
    for r in expected:
        if id(r) not in recorder.values:
            match = [v for v in recorder.tensors if recorder.tensors[v] is r]
            assert match, "a result that no recorded op made"
        outputs.append(recorder.values[id(r)])
    model = nodes_to_onnx(recorder.nodes, recorder.inputs, outputs)
    for optimise in levels:
        for actual, wanted in zip(run_onnx(model, recorder.feeds, optimise), expected):
            compare(actual, wanted, rtol, atol)
    return model


@dataclass
class Scalar:
    """A number known only at run time, as an argument of check_op."""

    number: int | float | bool


def _plain(x):
    if isinstance(x, Scalar):
        return x.number
    if isinstance(x, (list, tuple)):
        return [_plain(i) for i in x]
    return {k: _plain(v) for k, v in x.items()} if isinstance(x, dict) else x


def check_op(
    target,
    *args,
    rtol=None,
    atol=None,
    levels=(False, True),
    read: tuple[bool, ...] | None = None,
    unknown: bool = False,
    **kwargs,
):
    """One node of `target` (an op capture keeps whole) against calling it. `unknown`: all extents of the
    tensors that vary at run time (3-d and more) are known only then. Returns the model."""
    recorder = Recorder()
    node = AtenNode(target, tuple(recorder.wrap(args)), recorder.wrap(kwargs), [])
    with torch.no_grad():
        result = target(*_plain(args), **_plain(kwargs))
    results = list(result) if isinstance(result, (list, tuple)) else [result]
    node.outputs = [recorder.define(r) for r in results]
    read = read or (True,) * len(results)
    if any(not isinstance(v.type, TensorType) for v in recorder.inputs):
        for value in node.outputs:
            value.type = TensorType(value.type.dtype, (None,) * len(value.type.shape))
    if unknown:
        for value in [*recorder.inputs, *node.outputs]:
            if isinstance(value.type, TensorType) and recorder.tensors[value.id].dim() >= 3:
                value.type = TensorType(value.type.dtype, (None, *value.type.shape[1:]))
    model = nodes_to_onnx([node], recorder.inputs, [v for v, r in zip(node.outputs, read) if r])
    for optimise in levels:
        for actual, wanted in zip(run_onnx(model, recorder.feeds, optimise), [x for x, r in zip(results, read) if r]):
            compare(actual, wanted, rtol, atol)
    return model


def ops_of(model) -> list[str]:
    return [n.op_type for n in model.graph.node if n.op_type != "Identity"]
