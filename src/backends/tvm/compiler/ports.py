# SPDX-License-Identifier: Apache-2.0
"""Operands and results that cross in ONNX Runtime's blocked layout (nchwc16): channels in blocks, each block innermost.

Kernels have their channels last. A blocked tensor of one block of channels is one with its channels last already, and
one of several blocks is copied block by block; plain tensors must be transposed. `block` writes the conversions into
the model, `cancel` takes out those that meet their opposite.
"""

from __future__ import annotations

import onnx
import tvm
from onnx import helper
from tvm import relax

LAST, FIRST = [0, 2, 3, 1], [0, 3, 1, 2]  # from NCHW to NHWC, and back
OUT_OF_BLOCKS, INTO_BLOCKS = [0, 2, 3, 1, 4], [0, 3, 1, 2, 4]


def block(model: onnx.ModelProto, blocks: dict[str, int]) -> None:
    """`blocks`: channels in a block, by name of the operand or result; all of rank 4."""
    graph = model.graph
    ports = [v for v in [*graph.input, *graph.output] if blocks.get(v.name)]
    before, after = [], []
    for port in ports:
        n, c, h, w = (d.dim_value for d in port.type.tensor_type.shape.dim)
        inner = blocks[port.name]
        several = c != inner
        crossing = [n, c // inner, h, w, inner] if several else [n, h, w, c]
        literal = lambda name, dims: graph.initializer.append(
            helper.make_tensor(name, onnx.TensorProto.INT64, [len(dims)], dims))
        plain = port.name + ".plain"
        for node in graph.node:
            for names in (node.input, node.output):
                for i, name in enumerate(names):
                    names[i] = plain if name == port.name else name
        last, split = port.name + ".last", port.name + ".split"
        is_input = any(v is port or v.name == port.name for v in graph.input)
        if is_input and several:
            literal(split + ".shape", [n, h, w, c])
            before += [helper.make_node("Transpose", [port.name], [split], perm=OUT_OF_BLOCKS),
                       helper.make_node("Reshape", [split, split + ".shape"], [last])]
        if is_input:
            before.append(helper.make_node("Transpose", [last if several else port.name], [plain], perm=FIRST))
        else:
            after.append(helper.make_node("Transpose", [plain], [last if several else port.name], perm=LAST))
        if not is_input and several:
            literal(split + ".shape", [n, h, w, c // inner, inner])
            after += [helper.make_node("Reshape", [last, split + ".shape"], [split]),
                      helper.make_node("Transpose", [split], [port.name], perm=INTO_BLOCKS)]
        del port.type.tensor_type.shape.dim[:]
        for extent in crossing:
            port.type.tensor_type.shape.dim.add().dim_value = extent
    nodes = [*before, *graph.node, *after]
    del graph.node[:]
    graph.node.extend(nodes)


@relax.expr_functor.mutator
class _Cancel(relax.PyExprMutator):
    def visit_call_(self, call):
        call = super().visit_call_(call)
        axes = axes_of(call)
        if axes is None:
            return call
        source = call.args[0]
        made = self.lookup_binding(source) if isinstance(source, relax.Var) else None
        inner = axes_of(made) if isinstance(made, tvm.ir.Call) else None
        if inner is not None:
            axes, source = [inner[a] for a in axes], made.args[0]
        if axes == sorted(axes):
            return source
        return relax.op.permute_dims(source, axes) if inner is not None else call


def axes_of(call) -> list[int] | None:
    if not isinstance(call.op, tvm.ir.Op) or call.op.name != "relax.permute_dims" or call.attrs.axes is None:
        return None
    return [int(a) for a in call.attrs.axes]


def cancel(module: tvm.IRModule) -> tvm.IRModule:
    """Transpositions of transpositions become one, or none."""
    module["main"] = _Cancel(module).visit_expr(module["main"])
    return relax.transform.Normalize()(module)
