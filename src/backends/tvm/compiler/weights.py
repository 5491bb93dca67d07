# SPDX-License-Identifier: Apache-2.0
"""What becomes of weights before kernels take them: other layouts, folded normalisations, Winograd's transform.

`Weights` evaluates the function that TVM lifts out of the model (main_transform_params) op by op with numpy, once per
sub-DNN; to compile it would take longer than to compile the kernels. What has an op that is not known here is compiled.
"""

from __future__ import annotations

import numpy as np
import tvm
from tvm import relax

import winograd

NAME = "main_transform_params"


def _ints(values) -> list[int]:
    return [int(v) for v in values]


def _pad(call, x):
    width = np.array(_ints(call.attrs.pad_width)).reshape(-1, 2)
    return np.pad(x, [tuple(w) for w in width])


OPS = {
    "relax.add": lambda call, a, b: a + b,
    "relax.subtract": lambda call, a, b: a - b,
    "relax.multiply": lambda call, a, b: a * b,
    "relax.divide": lambda call, a, b: a / b,
    "relax.sqrt": lambda call, a: np.sqrt(a),
    "relax.negative": lambda call, a: -a,
    "relax.permute_dims": lambda call, a: a.transpose(None if call.attrs.axes is None else _ints(call.attrs.axes)),
    "relax.reshape": lambda call, a, shape: a.reshape(shape),
    "relax.expand_dims": lambda call, a: np.expand_dims(a, tuple(_ints(call.attrs.axis))),
    "relax.squeeze": lambda call, a: np.squeeze(a, None if call.attrs.axis is None else tuple(_ints(call.attrs.axis))),
    "relax.concat": lambda call, arrays: np.concatenate(arrays, int(call.attrs.axis)),
    "relax.nn.pad": _pad,
}


def _is_known(value) -> bool:
    if not isinstance(value, tvm.ir.Call):
        return isinstance(value, (tvm.ir.Var, tvm.ir.Tuple, tvm.ir.GenericConst, relax.TupleGetItem))
    return isinstance(value.op, tvm.ir.Op) and _is_known_call(value)


def _is_known_call(call) -> bool:
    if call.op.name == "relax.call_tir":
        return call.args[0].name_hint.startswith(winograd.PREFIX + "weights")
    dtypes = {str(a.ty.dtype) for a in [call, *call.args] if isinstance(a.ty, relax.TensorType)}
    return (call.op.name in OPS and dtypes == {"float32"}
            and not (call.op.name == "relax.concat" and call.attrs.axis is None))


class Weights:
    """Arrays in the order of main's parameters after the inputs, from the weights of the model."""

    def __init__(self, module: tvm.IRModule):
        self.changes = NAME in {v.name_hint for v in module.get_global_vars()}
        self.sources: dict[int, int] = {}  # results that are operands, by place
        if not self.changes:
            return
        self.function = module[NAME]
        self.sources = _handed_through(self.function)

    @property
    def is_known(self) -> bool:
        return not self.changes or all(_is_known(b.value) for b in _bindings(self.function))

    def of(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        if not self.changes:
            return arrays
        with np.errstate(all="ignore"):  # infinities and NaNs are handed on
            return _Run(self.function, arrays).results()


class CompiledWeights(Weights):
    """The same where there are ops that are not evaluated here; of a module whose ops are kernels."""

    def __init__(self, module: tvm.IRModule):
        super().__init__(module)
        change = next(v for v in module.get_global_vars() if v.name_hint == NAME)
        own = tvm.IRModule({v: module[v] for v in _reachable(module, change)})
        self._run = relax.VirtualMachine(tvm.compile(own, target="llvm"), tvm.cpu())[NAME]

    def of(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        result = self._run([tvm.runtime.tensor(np.ascontiguousarray(a)) for a in arrays])
        return [t.numpy() for t in result]


class _Run:
    def __init__(self, function: relax.Function, arrays: list[np.ndarray]):
        self.function, self.arrays = function, arrays
        self.values: dict = {}

    def results(self) -> list[np.ndarray]:
        for binding in _bindings(self.function):
            self.values[binding.var] = self.value(binding.value)
        return self.value(self.function.body.body)

    def value(self, e):
        if isinstance(e, relax.Var):
            return self.arrays if e.same_as(self.function.params[0]) else self.values[e]
        if isinstance(e, tvm.ir.GenericConst):
            return e.value.numpy()
        if isinstance(e, relax.ShapeExpr):
            return _ints(e.values)
        if isinstance(e, tvm.ir.Tuple):
            return [self.value(f) for f in e.fields]
        if isinstance(e, relax.TupleGetItem):
            return self.value(e.tuple_value)[int(e.index)]
        if e.op.name == "relax.call_tir":
            return winograd.weights_of(*self.value(e.args[1]))
        return OPS[e.op.name](e, *[self.value(a) for a in e.args])


def without(module: tvm.IRModule) -> tvm.IRModule:
    """The module without the change of weights, and without the kernels that it alone has."""
    kept = tvm.IRModule({v: module[v] for v in module.get_global_vars() if v.name_hint != NAME})
    return relax.transform.DeadCodeElimination()(kept)


def _bindings(function: relax.Function) -> list:
    return [binding for block in function.body.blocks for binding in block.bindings]


def _handed_through(function: relax.Function) -> dict[int, int]:
    """Which results of the change of weights are one of its operands."""
    place: dict = {}
    fields: dict = {}
    for binding in _bindings(function):
        value = binding.value
        if isinstance(value, relax.TupleGetItem) and value.tuple_value.same_as(function.params[0]):
            place[binding.var] = int(value.index)
        elif isinstance(value, tvm.ir.Var) and value in place:
            place[binding.var] = place[value]
        elif isinstance(value, tvm.ir.Tuple):
            fields[binding.var] = list(value.fields)
    result = function.body.body
    items = list(result.fields) if isinstance(result, tvm.ir.Tuple) else fields.get(result, [])
    return {i: place[v] for i, v in enumerate(items) if isinstance(v, tvm.ir.Var) and v in place}


def _reachable(module, start):
    seen, todo = [], [start]
    while todo:
        var = todo.pop()
        if any(var.same_as(s) for s in seen):
            continue
        seen.append(var)
        if isinstance(module[var], relax.Function):

            def visit(e):
                if isinstance(e, tvm.ir.GlobalVar):
                    todo.append(e)

            relax.analysis.post_order_visit(module[var], visit)
    return seen
