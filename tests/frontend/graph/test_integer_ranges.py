# SPDX-License-Identifier: Apache-2.0
"""Ranges of integers by what computes them (graph/integer_ranges.py), against what torch computes."""

import itertools

import pytest
import torch

from dycl.frontend.graph.integer_ranges import EXTENT, UNKNOWN, IntegerRanges, RangesOfGraph, hull
from dycl.frontend.graph.program import INT, AtenNode, Block, Edge, Goto, Graph, HostNode, Return, TensorType, Value

aten = torch.ops.aten
EDGES = {torch.int64: (-2**63, -5, -1, 0, 1, 3, 7, 2**31 - 1, 2**62, 2**63 - 1),
         torch.int32: (-2**31, -2, 0, 5, 2**31 - 1), torch.int8: (-128, -127, -3, 0, 4, 127),
         torch.uint8: (0, 1, 200, 255), torch.bool: (0, 1)}
OPS = {  # op: what stands beside the tensor
    aten.abs.default: [()], aten.relu.default: [()], aten.sum.default: [()], aten.cumsum.default: [(0,)],
    aten.clamp.default: [(-2, 5), (0, None), (None, 3), (7, 2)], aten.clamp_min.default: [(1,)],
    aten.clamp_max.default: [(-1,)], aten.remainder.Scalar: [(3,), (-4,)], aten.fmod.Scalar: [(3,), (-4,)],
    aten.floor_divide.Scalar: [(3,), (-4,)], aten.add.Scalar: [(1,), (-3,), (5, 2)], aten.sub.Scalar: [(1,), (5, 2)],
    aten.mul.Scalar: [(3,), (-2,)], aten.bitwise_and.Scalar: [(6,), (-2,)], aten.flip.default: [([0],)],
    aten.max.default: [()], aten.zeros_like.default: [()], aten.ones_like.default: [()], aten.full_like.default: [(4,)],
    aten.argmax.default: [()], aten.argsort.default: [()], aten.sort.default: [()], aten.count_nonzero.default: [()],
}
PAIRS = (aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.minimum.default, aten.maximum.default,
         aten.bitwise_and.Tensor, aten.remainder.Tensor, aten.fmod.Tensor, aten.floor_divide.default)


def known(tensor: torch.Tensor) -> Value:
    value = Value(TensorType(tensor.dtype, tuple(tensor.shape)), None)
    value.constant = tensor
    return value


def node_of(op, values: list, results: list) -> AtenNode:
    return AtenNode(op, tuple(values), {}, [Value(TensorType(r.dtype, tuple(r.shape)), None) for r in results])


def ranges_of(nodes: list) -> RangesOfGraph:
    block = Block(name="entry")
    block.nodes += nodes
    block.exit = Return([])
    return RangesOfGraph(Graph(block))


def check(op, tensors: list, rest: tuple) -> None:
    try:
        found = op(*tensors, *rest)
    except RuntimeError:  # torch has no such op of bools, or divides by zero
        return
    results = list(found) if isinstance(found, tuple) else [found]
    node = node_of(op, [*map(known, tensors), *rest], results)
    ranges = ranges_of([node])
    for value, result in zip(node.outputs, results):
        low, high = ranges.of(value)
        elements = result.flatten().tolist() if not result.dtype.is_floating_point else []
        assert all((low is None or low <= x) and (high is None or x <= high) for x in elements), (op, tensors, rest)


@pytest.mark.parametrize("op", OPS, ids=str)
def test_what_an_op_gives_lies_in_its_range(op):
    for dtype, numbers in EDGES.items():
        for low, high in itertools.combinations_with_replacement(numbers, 2):
            for rest in OPS[op]:
                check(op, [torch.tensor([low, high, low], dtype=dtype)], rest)


@pytest.mark.parametrize("op", PAIRS, ids=str)
def test_what_two_tensors_give_lies_in_its_range(op):
    for dtype, numbers in EDGES.items():
        for low, high in itertools.combinations(numbers, 2):
            for other, more in itertools.combinations(numbers, 2):
                if not (op in PAIRS[-3:] and 0 in (other, more) or -1 in (other, more) and -2**63 == low):
                    check(op, [torch.tensor([low, high, low, high], dtype=dtype),
                               torch.tensor([other, other, more, more], dtype=dtype)], ())


@pytest.mark.parametrize("source", EDGES)
@pytest.mark.parametrize("target", EDGES)
def test_a_conversion_may_wrap(source, target):
    for low, high in itertools.combinations_with_replacement(EDGES[source], 2):
        tensor = torch.tensor([low, high], dtype=source)
        found = tensor.to(target)
        node = AtenNode(aten._to_copy.default, (known(tensor),), {"dtype": target},
                        [Value(TensorType(target, (2,)), None)])
        least, greatest = ranges_of([node]).of(node.outputs[0])
        assert all((least is None or least <= x) and (greatest is None or x <= greatest) for x in found.tolist())


STEPS = [(op, rest, {}) for op, rests in OPS.items() for rest in rests] + [
    (aten._to_copy.default, (), {"dtype": dtype}) for dtype in EDGES] + [(aten.sum.default, (), {"dtype": torch.int8})]


def chained(tensor: torch.Tensor, steps: tuple) -> tuple[list, torch.Tensor] | None:
    """The nodes of the steps over a tensor of which nothing is known, and what torch gives; None: torch refuses."""
    nodes, value = [], Value(TensorType(tensor.dtype, tuple(tensor.shape)), None)
    for op, rest, named in steps:
        try:
            found = op(tensor, *rest, **named)
        except (RuntimeError, IndexError):
            return None
        tensor = found[0] if isinstance(found, tuple) else found
        node = node_of(op, [value, *rest], list(found) if isinstance(found, tuple) else [found])
        node.kwargs = named
        nodes.append(node)
        value = node.outputs[0]
    return nodes, tensor


@pytest.mark.parametrize("dtype", EDGES, ids=str)
def test_what_two_ops_give_of_an_unknown_tensor_lies_in_its_range(dtype):
    tensor, wrong, looked_at = torch.tensor(EDGES[dtype], dtype=dtype), [], 0
    for steps in itertools.product(STEPS, repeat=2):
        found = chained(tensor, steps)
        if found is None or found[1].is_floating_point():
            continue
        nodes, result = found
        looked_at += 1
        for ranges in (IntegerRanges({v: n for n in nodes for v in n.outputs}), ranges_of(nodes)):
            low, high = ranges.of(nodes[-1].outputs[0])
            numbers = [int(x) for x in result.flatten()]
            if any(low is not None and x < low or high is not None and x > high for x in numbers):
                wrong.append((steps, (low, high), numbers))
    assert not wrong, wrong[:3]
    assert looked_at > 1000 or dtype == torch.bool


def test_what_is_known_of_a_tensor_that_may_overflow():
    zeros = torch.zeros(2, dtype=torch.int64)
    natural = node_of(aten.relu.default, [Value(TensorType(torch.int64, (2,)), None)], [zeros])
    after = node_of(aten.add.Tensor, [natural.outputs[0], natural.outputs[0]], [zeros])
    ranges = ranges_of([natural, after])
    assert ranges.of(natural.outputs[0]) == (0, None) and ranges.bits(natural.outputs[0]) == 63
    assert ranges.of(after.outputs[0]) == UNKNOWN and ranges.bits(after.outputs[0]) is None


def test_a_counter_of_a_loop_stays_natural_and_one_that_falls_does_not():
    for step, wanted in (("int.add", (0, None)), ("int.sub", (None, 0))):
        entry, header = Block(name="entry"), Block(name="header")
        zero, one, count, following = (Value(INT, None) for _ in range(4))
        header.params.append(count)
        entry.nodes += [HostNode("const", [], [v], {"value": n}, None) for n, v in enumerate((zero, one))]
        header.nodes.append(HostNode(step, [count, one], [following], {}, None))
        entry.exit, header.exit = Goto(Edge(header, [zero])), Goto(Edge(header, [following]))
        assert RangesOfGraph(Graph(entry)).of(count) == wanted


def test_capture_looks_at_no_contents_and_no_parameters():
    tensor = known(torch.tensor([1, 2]))
    node = node_of(aten.flip.default, [tensor, [0]], [tensor.constant])
    position = node_of(aten.argmax.default, [tensor], [torch.tensor(0)])
    ranges = IntegerRanges({v: n for n in (node, position) for v in n.outputs})
    assert ranges.of(node.outputs[0]) == UNKNOWN and ranges.of(position.outputs[0]) == (0, 1)
    assert hull((0, 3), EXTENT) == EXTENT
