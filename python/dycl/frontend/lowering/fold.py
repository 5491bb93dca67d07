# SPDX-License-Identifier: Apache-2.0
"""Constant work, done before the program exists.

A node whose tensors are all constants is computed now, with torch itself (so bit for bit what eager
would get), if the result is small or not larger than what it is made of. Then nodes whose results
nobody reads are dropped. Random ops are never computed here. Within the ONNX ops of a node, those that
only rearrange constants (a weight's transpose, an LSTM's gates) are computed too (`evaluate`).
"""

from __future__ import annotations

import torch

from ...objects import mapped
from ..graph.program import (
    AtenNode,
    Block,
    Branch,
    Graph,
    HostNode,
    Raise,
    Return,
    TensorType,
    Value,
    inputs_of,
    successors,
)
from .tape import torch_dtype

_SMALL = 1 << 20  # bytes


def fold_constants(graph: Graph) -> int:
    """Returns the number of nodes computed. The same work in several places (the transpose of a cell's weight in every
    unrolled step) is done once and gives one tensor, so that what reads it stays the same program."""
    folded = 0
    known: dict[tuple, tuple] = {}
    for block in graph.reachable_blocks():
        kept = []
        for node in block.nodes:
            if isinstance(node, AtenNode) and _fold(node, known):
                folded += 1
            else:
                kept.append(node)
        block.nodes = kept
    return folded


def _fold(node: AtenNode, known: dict[tuple, tuple]) -> bool:
    values = inputs_of(node)
    if any(v.constant is None for v in values) or not _foldable(node):
        return False
    allowed = max([_SMALL, *(_bytes(v.constant) for v in values)])
    if any(_expected_bytes(v) > allowed for v in node.outputs):
        return False
    key = (node.target, _key(node.args), _key(node.kwargs))
    if key not in known:
        known[key] = (_computed(node), values)  # the operands live on: their addresses are in the key
    results = known[key][0]
    if len(results) != len(node.outputs):
        return False
    for value, result in zip(node.outputs, results):
        if result.dtype != value.type.dtype or not _agrees(result, value.type.shape):
            return False
    for value, result in zip(node.outputs, results):
        value.constant = result
        value.block = None
    return True


def _computed(node: AtenNode) -> list[torch.Tensor]:
    """The node's results; none if it can't be computed now."""
    try:
        with torch.no_grad():
            results = node.target(*_concrete(node.args), **_concrete(node.kwargs))
    except Exception:  # whatever torch says belongs to the run, where the user's program would meet it
        return []
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    if not all(isinstance(r, torch.Tensor) for r in results):
        return []
    if "empty" in node.target._schema.name:  # memory as found would differ from run to run
        results = [torch.zeros_like(r) for r in results]
    return [r.detach().contiguous() for r in results]


def _key(argument) -> tuple:
    """Equal for arguments that hold the same tensors and equal numbers."""
    if isinstance(argument, Value):
        t = argument.constant
        return (("tensor", id(t)) if not t.numel()
                else ("tensor", t.data_ptr(), t.dtype, tuple(t.shape), t.stride(), t.is_conj(), t.is_neg()))
    if isinstance(argument, (list, tuple)):
        return ("list", *map(_key, argument))
    if isinstance(argument, dict):
        return ("dict", *((k, _key(v)) for k, v in sorted(argument.items())))
    return (type(argument).__name__, repr(argument))


def _foldable(node: AtenNode) -> bool:
    tags = getattr(node.target, "tags", ())
    schema = getattr(node.target, "_schema", None)
    return (
        torch.Tag.nondeterministic_seeded not in tags
        and schema is not None
        and not schema.is_mutable
        and all(isinstance(v.type, TensorType) for v in node.outputs)
    )


def _agrees(result: torch.Tensor, shape: tuple) -> bool:
    return result.dim() == len(shape) and all(not isinstance(d, int) or d == n for d, n in zip(shape, result.shape))


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _expected_bytes(value: Value) -> int:
    if not isinstance(value.type, TensorType) or not all(isinstance(d, int) for d in value.type.shape):
        return 0  # known once it is computed; a shape from constants alone is rarely unknown
    count = 1
    for d in value.type.shape:
        count *= d
    return count * value.type.dtype.itemsize


def _concrete(argument):
    return mapped(lambda x: x.constant if isinstance(x, Value) else x, argument)


# ---- dead nodes --------------------------------------------------------------------------------


def drop_dead_nodes(graph: Graph) -> set[int]:
    """Removes tensor ops whose results reach no exit, edge or host op. Returns the ids of the values read."""
    blocks = graph.reachable_blocks()
    used: set[int] = set()
    producers: dict[int, AtenNode] = {}
    for block in blocks:
        used.update(v.id for v in _read_at_end(block))
        for node in block.nodes:
            if isinstance(node, HostNode):
                used.update(v.id for v in node.operands)
            else:
                producers.update((v.id, node) for v in node.outputs)
    work, live = list(used), set()
    while work:
        node = producers.get(work.pop())
        if node is not None and id(node) not in live:
            live.add(id(node))
            operands = [v.id for v in inputs_of(node)]
            used.update(operands)
            work.extend(operands)
    for block in blocks:
        block.nodes = [n for n in block.nodes if isinstance(n, HostNode) or id(n) in live]
    return used


def _read_at_end(block: Block) -> list[Value]:
    """By the block's edges and its exit."""
    values = [v for edge in successors(block) for v in edge.args]
    match block.exit:
        case Branch(condition, _, _):
            values.append(condition)
        case Return(results):
            values += results
        case Raise(_, _, args):
            values += args
    return values


# ---- ONNX ops on constants ---------------------------------------------------------------------


def evaluate(name: str, attrs: dict, tensors: list[torch.Tensor]) -> torch.Tensor | None:
    """An ONNX op that only moves elements (or casts), computed now; None if it is another."""
    x = tensors[0]
    match name:
        case "Transpose":
            return x.permute(attrs.get("perm", list(reversed(range(x.dim()))))).contiguous()
        case "Concat":
            return torch.cat(tensors, attrs["axis"])
        case "Gather" if tensors[1].dim() == 1:
            axis = attrs.get("axis", 0)
            inside = ((tensors[1] >= 0) & (tensors[1] < x.shape[axis])).all()  # others fail in the run
            return x.index_select(axis, tensors[1]) if inside else None
        case "Unsqueeze":
            rank = x.dim() + tensors[1].numel()
            for axis in sorted(a % rank for a in tensors[1].tolist()):
                x = x.unsqueeze(axis)
            return x
        case "Squeeze" if len(tensors) == 2:
            for axis in sorted((a % x.dim() for a in tensors[1].tolist()), reverse=True):
                x = x.squeeze(axis)
            return x
        case "Reshape" if 0 not in tensors[1].tolist():
            return x.reshape(tensors[1].tolist())
        case "Cast":
            return x.to(torch_dtype(attrs["to"]))
        case "Expand":
            shape = torch.broadcast_shapes(x.shape, tensors[1].tolist())
            return x.expand(shape).contiguous() if shape.numel() * x.element_size() <= _SMALL else None
    return None
