# SPDX-License-Identifier: Apache-2.0
"""Straight-line nodes as an ONNX model of their own."""

from __future__ import annotations

import onnx

from dycl.frontend.graph.program import AtenNode, ScalarType, Value, inputs_of
from dycl.frontend.lowering.convert import Template, convert, scalar_dtype
from dycl.frontend.lowering.tape import OPSET, node_proto, onnx_code, tensor_proto


def nodes_to_onnx(nodes: list[AtenNode], inputs: list[Value], outputs: list[Value]) -> onnx.ModelProto:
    """A run of nodes as one model; inputs and outputs are named i0, i1, ... and o0, o1, ..."""
    names = {v.id: f"i{k}" for k, v in enumerate(inputs)}
    graph = onnx.GraphProto(name="run")
    read = {v.id for v in outputs} | {v.id for node in nodes for v in inputs_of(node)}
    for node in nodes:
        if any(v.id in read for v in node.outputs):
            _append(graph, node, convert(node, tuple(v.id in read for v in node.outputs)), names)
    for k, value in enumerate(outputs):
        graph.node.append(onnx.helper.make_node("Identity", [names[value.id]], [f"o{k}"]))
        graph.output.append(_value_info(f"o{k}", value))
    graph.input.extend(_value_info(f"i{k}", v) for k, v in enumerate(inputs))
    domains = {n.domain for n in graph.node} - {""}
    opsets = [onnx.helper.make_opsetid("", OPSET), *(onnx.helper.make_opsetid(d, 1) for d in sorted(domains))]
    model = onnx.helper.make_model(graph, opset_imports=opsets)
    model.ir_version = 10
    return model


def _append(graph: onnx.GraphProto, node: AtenNode, template: Template, names: dict[int, str]) -> None:
    local = dict(enumerate(names[v.id] for v in inputs_of(node)))
    prefix = f"n{len(graph.node)}_{len(graph.initializer)}."
    for index, tensor in template.constants.items():
        local[index] = f"{prefix}c{index}"
        proto = tensor_proto(tensor)
        proto.name = local[index]
        graph.initializer.append(proto)
    for op in template.ops:
        for out in op.outputs:
            local[out] = f"{prefix}v{out}"
        graph.node.append(
            node_proto(
                op.name, [local[i] if i >= 0 else "" for i in op.inputs], [local[o] for o in op.outputs], op.attrs
            )
        )
    for value, index in zip(node.outputs, template.results):
        if index >= 0:
            names[value.id] = local[index]


def _value_info(name: str, value: Value) -> onnx.ValueInfoProto:
    if isinstance(value.type, ScalarType):
        return onnx.helper.make_tensor_value_info(name, onnx_code(scalar_dtype(value.type)), [])
    return onnx.helper.make_tensor_value_info(name, onnx_code(value.type.dtype), list(value.type.shape))
