# SPDX-License-Identifier: Apache-2.0
"""A sub-DNN's ONNX model to scheduled kernels, the order in which they run, and what becomes of the weights.

Weights (w0, w1, ...) are inputs here: two sub-DNNs of the same structure share their kernels. What depends on
weights alone (other layouts, folded normalisations) is lifted into a second function, which `Weights` runs once
per sub-DNN while compiling. Everything is of known shape; what is not is refused with an exception.

A sub-DNN with convolutions that winograd.py takes has two forms: one with these and guards, and one without.
"""

from __future__ import annotations

import os
import tempfile

import numpy as np
import onnx
import tvm
from onnx import helper
from tvm import relax, tirx
from tvm_ffi import structural_hash

import layout
import nan
import orders
import packed
import ports
import schedule
import winograd
from plan import MODERATE, WEIGHT, Plan
from weights import CompiledWeights, Weights, without


class Refused(Exception):
    """Why a sub-DNN cannot be compiled, in words for the user."""


class Immoderate(Exception):
    """The fast form is not for such weights."""


# ---- the ONNX model ------------------------------------------------------------------


def read_weights(model: onnx.ModelProto, path: str) -> list[np.ndarray]:
    """Makes inputs of the float weights, which stand outside the model, and constants of the others.

    Returns the elements of all, w0 first."""
    graph = model.graph
    outside = [t for t in graph.initializer if t.data_location == onnx.TensorProto.EXTERNAL]
    arrays = []
    with open(path, "rb") as file:
        for tensor in outside:
            dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
            count = int(np.prod(tensor.dims, dtype=np.int64))
            array = np.frombuffer(file.read(count * dtype.itemsize), dtype).reshape(tuple(tensor.dims))
            graph.initializer.remove(tensor)
            if tensor.data_type == onnx.TensorProto.FLOAT and count > 0:
                graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
                arrays.append(array)
            else:
                graph.initializer.append(onnx.numpy_helper.from_array(array, tensor.name))
    return arrays


def fold_normalisations(model: onnx.ModelProto) -> None:
    """Conv and then BatchNormalization: one Conv, whose weights are computed from those of both."""
    graph = model.graph
    uses: dict[str, int] = {}
    for node in graph.node:
        for name in node.input:
            uses[name] = uses.get(name, 0) + 1
    for info in graph.output:
        uses[info.name] = uses.get(info.name, 0) + 1
    constant = {t.name for t in graph.initializer} | {i.name for i in graph.input if i.name.startswith("w")}
    makers = {out: node for node in graph.node for out in node.output}
    nodes: list[onnx.NodeProto] = []
    folded: set[int] = set()
    for node in graph.node:
        conv = makers.get(node.input[0]) if node.input else None
        if not _folds(node, conv, uses, constant):
            nodes.append(node)
            continue
        nodes.extend(_folded(graph, conv, node))
        folded.add(id(conv))
    kept = [n for n in nodes if id(n) not in folded]
    del graph.node[:]
    graph.node.extend(kept)


def _folds(node, conv, uses, constant) -> bool:
    if node.op_type != "BatchNormalization" or conv is None or conv.op_type != "Conv":
        return False
    if len([o for o in node.output if o]) != 1 or uses.get(conv.output[0]) != 1:
        return False
    return all(name in constant for name in [*conv.input[1:], *node.input[1:]] if name)


def _folded(graph, conv, norm):
    out = norm.output[0]
    epsilon = next((a.f for a in norm.attribute if a.name == "epsilon"), 1e-5)
    names = iter(f"{out}_fold{i}" for i in range(16))
    nodes = []

    def op(kind, *inputs):
        name = next(names)
        nodes.append(helper.make_node(kind, list(inputs), [name]))
        return name

    def literal(array):
        name = next(names)
        graph.initializer.append(onnx.numpy_helper.from_array(array, name))
        return name

    gamma, beta, mean, variance = norm.input[1:5]
    scale = op("Div", gamma, op("Sqrt", op("Add", variance, literal(np.float32(epsilon)))))
    weight = next(i for i in graph.input if i.name == conv.input[1])
    rank = len(weight.type.tensor_type.shape.dim)
    shape = literal(np.array([-1] + [1] * (rank - 1), np.int64))
    scaled = op("Mul", conv.input[1], op("Reshape", scale, shape))
    shift = mean if len(conv.input) < 3 or not conv.input[2] else op("Sub", mean, conv.input[2])
    bias = op("Sub", beta, op("Mul", shift, scale))
    fused = helper.make_node("Conv", [conv.input[0], scaled, bias], [out], name=conv.name)
    fused.attribute.extend(conv.attribute)
    return [*nodes, fused]


def settle_arg_max(model: onnx.ModelProto) -> None:
    """ArgMax as the reference has it: the first of the largest, NaNs passed over, but a NaN in front wins.

    TVM's own gives the last NaN, and -1 for a row of -inf."""
    graph = model.graph
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        if node.op_type != "ArgMax":
            nodes.append(node)
            continue
        x, out = node.input[0], node.output[0]
        axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
        keep = next((a.i for a in node.attribute if a.name == "keepdims"), 1)
        words = ("low", "zero", "one", "axis", "nan", "tame", "best", "front", "first", "bad", "settled")
        names = {k: f"{out}_{k}" for k in words}
        literals = {"low": np.float32(-np.inf), "zero": np.array([0]), "one": np.array([1]), "axis": np.array([axis])}
        for word, array in literals.items():
            graph.initializer.append(onnx.numpy_helper.from_array(array, names[word]))
        best = helper.make_node("ArgMax", [names["tame"]], [names["best"]])
        best.attribute.extend(node.attribute)
        nodes += [
            helper.make_node("IsNaN", [x], [names["nan"]]),
            helper.make_node("Where", [names["nan"], names["low"], x], [names["tame"]]),
            best,
            helper.make_node("Slice", [x, names["zero"], names["one"], names["axis"]], [names["front"]]),
            helper.make_node("Identity" if keep else "Squeeze",
                             [names["front"], names["axis"]][: 2 - keep], [names["first"]]),
            helper.make_node("IsNaN", [names["first"]], [names["bad"]]),
            helper.make_node("Where", [names["bad"], names["zero"], names["best"]], [names["settled"]]),
            helper.make_node("Max", [names["settled"], names["zero"]], [out]),
        ]
    del graph.node[:]
    graph.node.extend(nodes)


def count_bools(model: onnx.ModelProto) -> None:
    """ReduceMax and ReduceMin of bools (any, all): over numbers, and then compared."""
    graph = onnx.shape_inference.infer_shapes(model).graph
    infos = [*graph.input, *graph.value_info, *graph.output]
    bools = {i.name for i in infos if i.type.tensor_type.elem_type == onnx.TensorProto.BOOL}
    nodes: list[onnx.NodeProto] = []
    for node in model.graph.node:
        if node.op_type not in ("ReduceMax", "ReduceMin") or node.input[0] not in bools:
            nodes.append(node)
            continue
        out = node.output[0]
        zero = onnx.numpy_helper.from_array(np.float32(0), out + "_zero")
        model.graph.initializer.append(zero)
        reduced = helper.make_node(node.op_type, [out + "_of", *node.input[1:]], [out + "_number"])
        reduced.attribute.extend(node.attribute)
        nodes += [
            helper.make_node("Cast", [node.input[0]], [out + "_of"], to=onnx.TensorProto.FLOAT),
            reduced,
            helper.make_node("Greater", [out + "_number", zero.name], [out]),
        ]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def keep_zeros(model: onnx.ModelProto) -> None:
    """x * 0 is computed: TVM folds a literal zero to zero, also where x is NaN or infinite.
    A tensor of one element is not folded."""
    graph = model.graph
    zeros = {t.name for t in graph.initializer
             if t.data_type == onnx.TensorProto.FLOAT and np.prod(t.dims, dtype=int) == 1
             and not np.any(onnx.numpy_helper.to_array(t))}
    made = set()
    for node in graph.node:
        for i, name in enumerate(node.input if node.op_type == "Mul" else []):
            if name not in zeros:
                continue
            node.input[i] = name + "_kept"
            if name not in made:
                graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(1, np.float32), name + "_kept"))
                made.add(name)


# ---- to kernels ----------------------------------------------------------------------


def imported(model: onnx.ModelProto) -> tvm.IRModule:
    from tvm.relax.frontend.onnx import from_onnx

    inputs = sum(1 for i in model.graph.input if i.name.startswith("in"))
    module = from_onnx(model, keep_params_in_input=False)
    module["main"] = module["main"].with_attr("num_input", inputs)
    return module


def prepared(module: tvm.IRModule, machine: schedule.Machine) -> tvm.IRModule:
    """What all forms have in common: channels last, nothing computed twice or in vain."""
    t = relax.transform
    module = tvm.transform.Sequential([t.DecomposeOpsForInference(), t.CanonicalizeBindings()])(module)
    module = layout.whole_panels(module, machine.panel)
    passes = [t.CanonicalizeBindings(), t.FoldConstant(), t.EliminateCommonSubexpr(), t.DeadCodeElimination()]
    return tvm.transform.Sequential(passes)(ports.cancel(layout.channels_last(module)))


def lowered(module: tvm.IRModule, machine: schedule.Machine, fast: bool) -> tuple[tvm.IRModule, Weights] | None:
    """main over call_tir of fused kernels, and what becomes of the weights; None: nothing can be faster."""
    t = relax.transform
    if fast:
        module, count = winograd.rewritten(module)
        if count == 0:
            return None
    module = packed.rewritten(module, machine)
    if len(module["main"].params) > int(module["main"].attrs["num_input"]):
        module = tvm.transform.Sequential([t.LiftTransformParams(), t.DeadCodeElimination()])(module)
    weights = Weights(module)
    if weights.is_known:
        module = without(module)
    passes = [
        t.LegalizeOps(),
        t.AnnotateTIROpPattern(),
        t.FoldConstant(),
        t.FuseOps(),
        t.FuseTIR(),
        t.RewriteDataflowReshape(),
        t.ToNonDataflow(),
        t.CanonicalizeBindings(),
    ]
    module = tvm.transform.Sequential(passes)(module)
    return module, weights if weights.is_known else CompiledWeights(module)


def _number(dtype: str) -> int:
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


class _Steps:
    """main as a list of calls, into a Plan."""

    def __init__(self, module: tvm.IRModule, plan: Plan):
        self.module, self.plan = module, plan
        self.values: dict = {}
        self.kernels: dict[str, tvm.ir.GlobalVar] = {}

    def run(self) -> None:
        main = self.module["main"]
        inputs = int(main.attrs["num_input"])
        for i, param in enumerate(main.params):
            make = self.plan.input if i < inputs else self.plan.weight
            self.values[param] = make(*_type(param.ty))
        for block in main.body.blocks:
            for binding in block.bindings:
                if not isinstance(binding, relax.VarBinding):
                    raise Refused("TVM leaves a shape to be found out at run time")
                self.values[binding.var] = self.value(binding.value)
        results = self.value(main.body.body)
        for result in results if isinstance(results, list) else [results]:
            self.plan.result(result)

    def value(self, e):
        if isinstance(e, relax.Var):
            return self.values[e]
        if isinstance(e, tvm.ir.GenericConst):
            return self.plan.constant(e.value.numpy(), *_type(e.ty))
        if isinstance(e, tvm.ir.Tuple):
            return [self.value(f) for f in e.fields]
        if isinstance(e, relax.TupleGetItem):
            return self.value(e.tuple_value)[int(e.index)]
        if isinstance(e, tvm.ir.Call):
            return self.call(e)
        raise Refused(f"TVM leaves a {type(e).__name__} to its interpreter")

    def call(self, call):
        name = call.op.name if isinstance(call.op, tvm.ir.Op) else str(call.op)
        if name == "relax.reshape":
            return self.plan.view(self.value(call.args[0]), *_type(call.ty))
        if name != "relax.call_tir" or len(call.args) != 2:
            raise Refused(f"TVM leaves {name} to its interpreter")
        kernel, operands = call.args
        info = call.ty
        tuple_of = isinstance(info, relax.TupleType)
        outs = [self.plan.local(*_type(i)) for i in (info.fields if tuple_of else [info])]
        self.kernels[kernel.name_hint] = kernel
        self.plan.call(kernel.name_hint, [self.value(o) for o in operands.fields], outs)
        return outs if tuple_of else outs[0]


def _type(info) -> tuple[int, list[int]]:
    if not isinstance(info, relax.TensorType) or not isinstance(info.shape, relax.ShapeExpr):
        raise Refused("TVM does not know the shape of a tensor")
    dims = []
    for dim in info.shape:
        if not isinstance(dim, tirx.IntImm):
            raise Refused("TVM does not know the shape of a tensor")
        dims.append(int(dim))
    return _number(str(info.dtype)), dims


class Form:
    """Kernels that are not scheduled yet, the plan that calls them, and the change of weights."""

    def __init__(self, module: tvm.IRModule, weights: Weights):
        self.plan = Plan()
        steps = _Steps(module, self.plan)
        steps.run()
        self.plan.place()
        self.kernels = {name: nan.handed_on(module[var]) for name, var in steps.kernels.items()}
        self.weights = weights
        self.moderate: set[int] = set()  # weights that must be finite and of moderate size

    def renamed(self, names: dict[str, str]) -> None:
        self.kernels = {names[name]: function for name, function in self.kernels.items()}
        for step in self.plan.steps:
            step.kernel = names.get(step.kernel, step.kernel)

    def arrays(self, given: list[np.ndarray]) -> list[np.ndarray]:
        return [*self.weights.of(given), *self.plan.constants]

    def source_of(self, index: int, inputs: int) -> int | None:
        """Which operand of the change of weights a kernel takes as it is."""
        place = self.weights.sources.get(index) if self.weights.changes else index
        return place if place is not None and place < inputs else None


def _fast_form(module: tvm.IRModule, machine: schedule.Machine) -> Form | None:
    """With faster convolutions and guards in front of them; None: there are none,
    or their kernels cannot be ordered."""
    fast = lowered(module, machine, True)
    if fast is None:
        return None
    form = Form(*fast)
    guarded = []
    for step in form.plan.steps:
        function = form.kernels.get(step.kernel)
        if function is not None and winograd.changes_weights(function):
            return None  # weights that are known at run time only
        if function is not None and (winograd.is_one(function) or winograd.has_merged_groups(function)):
            try:
                orders.scheduled(function, machine)
            except Exception:  # what TVM raises for what follows the convolution
                return None
            guarded.append((step, step.operands[winograd.operand(function)]))
            form.moderate |= {v.owner.index for v in step.operands if v.owner.kind == WEIGHT}
    form.plan.guard(guarded)
    return form


EXACT = "exact_"  # names of kernels that only the second form has


class Lowered:
    """A sub-DNN in one form, or in a fast one and one for what the fast one cannot compute."""

    def __init__(self, model: onnx.ModelProto, target, machine: schedule.Machine, blocks: dict[str, int] | None = None,
                 may_be_fast: bool = True):  # fmt: skip
        fold_normalisations(model)
        settle_arg_max(model)
        count_bools(model)
        keep_zeros(model)
        ports.block(model, blocks or {})
        self.target, self.machine = target, machine
        with target:
            module = prepared(imported(model), machine)
            fast = _fast_form(module, machine) if may_be_fast else None
            exact = Form(*lowered(module, machine, False))
        self.forms = [exact] if fast is None else [fast, exact]
        self.kernels, self.keys = {}, {}
        for number, form in enumerate(self.forms):
            self._add(form, "" if number == 0 else EXACT)
        self.names = [int(i.name[1:]) for i in model.graph.input if i.name.startswith("w")]

    def _add(self, form: Form, prefix: str) -> None:
        """Kernels that two forms have in common are compiled once."""
        known = {key: name for name, key in self.keys.items()}
        names = {}
        for name, function in form.kernels.items():
            key = _key(function)
            names[name] = known.get(key, prefix + name)
            self.kernels[names[name]], self.keys[names[name]] = function, key
        form.renamed(names)

    def runs_always(self, name: str) -> bool:
        """Not only where the fast form has to give up."""
        return not name.startswith(EXACT)

    def kernel_weights(self, given: list[np.ndarray]) -> list[tuple]:
        """(tensor of the plan, elements, number of the model's weight that it is), of all forms."""
        found = []
        for form in self.forms:
            for i, (array, value) in enumerate(zip(form.arrays(given), form.plan.weights)):
                place = form.source_of(i, len(self.names))
                if i in form.moderate and not np.all(np.abs(array) <= MODERATE):
                    raise Immoderate()
                found.append((value, array, None if place is None else self.names[place]))
        return found

    def encoded(self) -> bytes:
        """The plans."""
        counts = [len(form.plan.weights) for form in self.forms]
        return b"".join(form.plan.encoded(sum(counts), sum(counts[:i])) for i, form in enumerate(self.forms))

    def library(self, records: dict) -> bytes:
        """The kernels as a shared library; `records` are schedules by key."""
        if not self.kernels:
            return b""
        kernels = {}
        for name, function in self.kernels.items():
            choice = schedule.Choice.of(records.get(self.keys[name], {}))
            kernels[name] = orders.scheduled(function, self.machine, choice).with_attr("global_symbol", name)
        with self.target:
            module = tvm.compile(tvm.IRModule(kernels), target=self.target)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "kernels.so")
            module.export_library(path)
            with open(path, "rb") as file:
                return file.read()


def _key(function) -> str:
    """What a kernel computes, in which shapes: equal for equal kernels, whatever they and their tensors are called."""
    for attribute in ("global_symbol", "op_pattern"):
        if attribute in function.attrs:
            function = function.without_attr(attribute)
    return f"{structural_hash(function) % 2**64:016x}"
