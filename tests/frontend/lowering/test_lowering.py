# SPDX-License-Identifier: Apache-2.0
"""ATen ops as ONNX ops agree with torch; captured graphs become IR."""

from __future__ import annotations

import time

import pytest
import torch

from dycl.frontend.graph.program import (
    BOOL,
    FLOAT,
    INT,
    AtenNode,
    Block,
    Branch,
    Edge,
    Goto,
    Graph,
    HostNode,
    Raise,
    Return,
    TensorType,
    Value,
)
from dycl.frontend.graph.text import graph_to_text
from dycl.frontend.lowering.convert import LoweringRefusal
from dycl.frontend.lowering.lower import lower_graph
from dycl.frontend.source import Span
from tests.frontend.support.lowering_harness import check, record
from tests.frontend.support.text_builder import TextBuilder

aten = torch.ops.aten


def tensor(*shape, block=None, dtype=torch.float32, hint=""):
    return Value(TensorType(dtype, shape), block, hint)


def constant(data, hint=""):
    value = Value(TensorType(data.dtype, tuple(data.shape)), None, hint)
    value.constant = data
    return value


def skip_graph(gates: int):
    """x -> linear; then per gate: if sum(h) > 0 then h = relu(h)."""
    entry = Block(name="entry")
    x = tensor("N", 8, hint="x")
    weight, bias = torch.randn(300, 8), torch.randn(300)
    h = tensor("N", 300, block=entry, hint="h")
    span = Span("model.py", 3, 5, 3, 20)
    entry.nodes.append(AtenNode(aten.linear.default, (x, constant(weight), constant(bias)), {}, [h], span))
    block = entry
    for gate in range(gates):
        peak, p = tensor(block=block), Value(FLOAT, block, "p")
        zero, c = Value(FLOAT, block), Value(BOOL, block)
        block.nodes += [
            AtenNode(aten.sum.dim_IntList, (h, [0, 1]), {}, [peak], span),
            HostNode("item", [peak], [p], {}, span),
            HostNode("const", [], [zero], {"value": 0.0}),
            HostNode("float.gt", [p, zero], [c]),
        ]
        arm, join = Block(block, name="arm"), Block(block, name="join")
        merged = tensor("N", 300, block=join, hint="h")
        join.params = [merged]
        block.exit = Branch(c, Edge(arm), Edge(join, [h]))
        h2 = tensor("N", 300, block=arm, hint="h")
        arm.nodes.append(AtenNode(aten.relu.default, (h,), {}, [h2]))
        arm.exit = Goto(Edge(join, [h2]))
        block, h = join, merged
    block.exit = Return([h])
    return Graph(entry, [x], ["x"], output_names=["y"]), weight, bias


def test_a_branching_graph_prints_as_ir():
    graph, weight, bias = skip_graph(1)
    assert "torch.linear" in graph_to_text(graph)
    builder = TextBuilder()
    builder.add_symbol("N", 1, 64)
    lower_graph(graph, builder, names={id(weight): "fc.weight", id(bias): "fc.bias"})
    assert (
        builder.print()
        == """\
symbol N in [1, 64]
weight @fc.weight: f32[300,8]
weight @fc.bias: f32[300]
source 0 "model.py"

func @main(%x: f32[N,8]) -> (%y: f32[N,300]) {
^entry:
  %weight = weight @fc.weight
  %bias = weight @fc.bias
  %h.1 = Gemm %x, %weight, %bias {transB=1} : f32[N,300]
  %c = const i64[2] [0,1]
  %6 = ReduceSum %h.1, %c {keepdims=0} : f32[]
  %p = item %6 : float
  %8 = const 0.0
  %9 = float.gt %p, %8
  branch %9, ^arm, ^join(%h.1)
^arm:
  %h.2 = Relu %h.1 : f32[N,300]
  goto ^join(%h.2)
^join(%h: f32[N,300]):
  return %h
}
"""
    )


def test_constant_work_is_done_now_and_dead_work_dropped():
    block = Block(name="entry")
    ones, mask, dead = tensor(4, 4, block=block), tensor(4, 4, block=block), tensor(4, block=block)
    x, y = tensor(4, 4, hint="x"), tensor(4, 4, block=block, hint="y")
    block.nodes = [
        AtenNode(aten.ones.default, ([4, 4],), {}, [ones]),
        AtenNode(aten.tril.default, (ones,), {}, [mask]),
        AtenNode(aten.sum.dim_IntList, (x, [0]), {}, [dead]),
        AtenNode(aten.mul.Tensor, (x, mask), {}, [y]),
    ]
    block.exit = Return([y])
    builder = TextBuilder()
    lower_graph(Graph(block, [x], ["x"]), builder)
    text = builder.print()
    assert text.count(" = ") == 2 and "const f32[4,4] [1.0,0.0" in text and "Mul" in text


def test_weights_are_transposed_now():
    block = Block(name="entry")
    weight = torch.randn(30, 20)
    x, y = tensor(2, 3, 20, hint="x"), tensor(2, 3, 30, block=block, hint="y")
    block.nodes = [AtenNode(aten.linear.default, (x, constant(weight)), {}, [y])]
    block.exit = Return([y])
    builder = TextBuilder()
    lower_graph(Graph(block, [x], ["x"]), builder, names={id(weight): "w"})
    assert "Transpose" not in builder.print()
    assert torch.equal(builder.weights["w.transposed"], weight.t())


def test_a_runtime_scalar_becomes_a_tensor():
    block = Block(name="entry")
    x, n, y = tensor(4, hint="x"), Value(INT, None, "n"), tensor(4, block=block, hint="y")
    block.nodes = [AtenNode(aten.mul.Tensor, (x, n), {}, [y])]
    block.exit = Return([y])
    builder = TextBuilder()
    lower_graph(Graph(block, [x, n], ["x", "n"]), builder)
    assert 'to_tensor %n {dtype="i64"}' in builder.print() and "Cast" in builder.print()


def test_states_and_raises():
    entry = Block(name="entry")
    x, count = tensor(2, hint="x"), Value(INT, None, "count")
    more, other, bad = Block(entry, name="more"), Block(entry, name="other"), Block(entry, name="bad")
    zero, one, first, second = (Value(kind, entry) for kind in (INT, INT, BOOL, BOOL))
    entry.nodes = [HostNode("const", [], [zero], {"value": 0}), HostNode("const", [], [one], {"value": 1}),
                   HostNode("int.eq", [count, zero], [first]), HostNode("int.eq", [count, one], [second])]
    ones = constant(torch.ones(2))
    entry.exit = Branch(first, Edge(other), Edge(more))
    more.exit = Branch(second, Edge(other), Edge(bad))
    other.exit = Return([ones, count])
    bad.exit = Raise("ValueError", "too many: {}", [count])
    builder = TextBuilder()
    graph = Graph(entry, [x], ["x"], states=[("count", count)], output_names=["y"], output_states=["count"])
    lower_graph(graph, builder, initials={"count": 3})
    text = builder.print()
    assert (
        "state @count: int = 3" in text
        and "func @main(%x: f32[2], %count: int state @count) -> (%y: f32[2], int state @count)" in text
    )
    assert ", ^other, ^bad" in text and 'raise "ValueError" "too many: {}" %count' in text
    assert text.count("const f32[2] [1.0,1.0]") == 1


def test_an_op_that_changes_nothing_leaves_nothing():
    block = Block(name="entry")
    x, y, z = tensor(None, 3, hint="x"), tensor(None, 3, block=block), tensor(2, 3, block=block, hint="z")
    block.nodes = [AtenNode(aten.detach.default, (x,), {}, [y]), AtenNode(aten.alias.default, (y,), {}, [z])]
    block.exit = Return([z])
    builder = TextBuilder()
    lower_graph(Graph(block, [x], ["x"]), builder)
    assert builder.print().count(" = ") == 1 and "%z = Identity %x : f32[2,3]" in builder.print()  # z's type says more


def test_a_result_that_cannot_be_given_is_refused_only_if_it_is_read():
    def program(read_second: bool):
        block = Block(name="entry")
        q = tensor(1, 2, 3, 8, hint="q")
        out, lse = tensor(1, 2, 3, 8, block=block), tensor(1, 2, 3, block=block)
        block.nodes = [AtenNode(aten._scaled_dot_product_flash_attention_for_cpu.default, (q, q, q), {}, [out, lse])]
        block.exit = Return([out, lse] if read_second else [out])
        lower_graph(Graph(block, [q], ["q"]), TextBuilder())

    program(False)
    with pytest.raises(LoweringRefusal, match="cannot be given"):
        program(True)


def test_random_ops_are_not_computed_now():
    block = Block(name="entry")
    r = tensor(2, block=block)
    block.nodes = [AtenNode(aten.rand.default, ([2],), {}, [r])]
    block.exit = Return([r])
    with pytest.raises(LoweringRefusal):
        lower_graph(Graph(block), TextBuilder())


def test_like_blocks_are_converted_once():
    graph, *_ = skip_graph(300)
    started = time.process_time()
    lower_graph(graph, TextBuilder())
    assert (time.process_time() - started) / 600 < 0.01  # seconds per block


def test_an_unknown_op_is_refused_by_name_and_place():
    block = Block(name="entry")
    x, y = tensor(4, 4, hint="x"), tensor(4, 4, block=block)
    block.nodes = [AtenNode(aten.linalg_pinv.default, (x,), {}, [y], Span("model.py", 7, 9))]
    block.exit = Return([y])
    with pytest.raises(LoweringRefusal, match=r"model.py:7:9: torch.linalg_pinv cannot be compiled"):
        lower_graph(Graph(block, [x], ["x"]), TextBuilder())


def test_a_small_network_agrees():
    torch.manual_seed(0)
    nn = torch.nn
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(128, 10),
        nn.Softmax(-1),
    ).eval()
    check(net, torch.randn(2, 3, 8, 8))
    assert record(net, torch.randn(2, 3, 8, 8))[0].nodes
