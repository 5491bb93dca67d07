# SPDX-License-Identifier: Apache-2.0
"""The captured graph becomes a program of the C++ IR.

`lower_graph(graph, builder)` folds constant work, then writes every reachable block through a
builder: host nodes as host ops, ATen nodes as the ONNX ops of their templates (onnx_lowering), constant
tensors as weights (small ones as literals) at the first use in each block, runtime scalars among a
tensor op's arguments as `to_tensor`. Linear in the size of the graph.

`builder` is dycl._native.ProgramBuilder or anything with its methods.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import torch

from ..graph.integer_ranges import RangesOfGraph
from ..graph.program import (
    AtenNode,
    Block,
    Branch,
    Edge,
    Goto,
    Graph,
    HostNode,
    ListType,
    Raise,
    Return,
    ScalarType,
    TensorType,
    Type,
    Value,
    inputs_of,
    successors,
)
from ..source import Span
from ..torch_internals import with_memory
from . import complex_pairs
from .convert import LoweringRefusal, Template, TemplateOp, convert, scalar_dtype
from .fold import drop_dead_nodes, evaluate, fold_constants
from .registry import INDEX_ERRORS
from .tape import dtype_name, type_text

# Ops that fail by an index -> the op that an engine says has failed.
_INDEXED = {name: name for name in ("Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND")}
_INDEXED["NegativeLogLikelihoodLoss"] = "GatherElements"
_LITERAL_BYTES = 1024
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")


def type_to_text(type: Type) -> str:
    """As docs/ir.md writes types: f32[2,N,?], int, list<f32[3]>."""
    match type:
        case TensorType(dtype, shape):
            return type_text(dtype, shape)
        case ScalarType(kind):
            return kind
        case ListType(element):
            return f"list<{type_to_text(element)}>"
    raise TypeError(f"not a type of the graph: {type!r}")


def lower_graph(
    graph: Graph, builder: Any, *, names: dict[int, str] | None = None, initials: dict[str, Any] | None = None
) -> dict[str, list[str]]:
    """Writes `graph` into `builder` as the function `main`. `names`: id(tensor) -> the weight's name.
    `initials`: the first value of each state, a number or a tensor. Raises LoweringRefusal.

    Returns, for each ONNX op that fails by an index, the exceptions that torch raises there."""
    fold_constants(graph)
    complex_pairs.rewrite(graph)
    read = drop_dead_nodes(graph)
    lowering = _Lowering(graph, builder, names or {}, initials or {}, read)
    lowering.run()
    return {op: sorted(errors) for op, errors in sorted(lowering.index_errors.items())}


@dataclass
class _Constant:
    """A constant operand that is not in the program yet; it may still be folded into another."""

    tensor: torch.Tensor
    hint: str


class _Lowering:
    def __init__(self, graph: Graph, builder: Any, names: dict[int, str], initials: dict[str, Any], read: set[int]):
        self.graph, self.builder, self.names, self.initials = graph, builder, names, initials
        self.read = read  # ids of the values that somebody uses
        self.ranges = RangesOfGraph(graph)
        self.index_errors: dict[str, set[str]] = {}  # ONNX op -> what torch raises where it fails by an index
        self.function = builder.new_function("main")
        self.ids: dict[int, int] = {}  # Value.id -> id in the function
        self.texts: dict[Type, str] = {}
        self.files: dict[str, int] = {}
        self.weights = _Weights(builder, names)
        self.blocks: dict[Block, int] = {}
        self.block = -1  # the one being written
        self.local: dict[Any, int] = {}  # constants and converted scalars already in it

    def run(self) -> None:
        self.signature()
        blocks = self.graph.reachable_blocks()
        self.declare(blocks)
        for block in blocks:
            self.write(block)

    def text(self, type: Type) -> str:
        found = self.texts.get(type)
        if found is None:
            found = self.texts[type] = type_to_text(type)
        return found

    def span(self, span: Span | None) -> tuple | None:
        if span is None or span.line <= 0:
            return None
        file = self.files.get(span.file)
        if file is None:
            file = self.files[span.file] = self.builder.add_source(span.file)
        if span.end_line <= 0:
            return file, span.line, span.column
        return file, span.line, span.column, span.end_line, span.end_column

    # ---- parameters, results, states ---------------------------------------------------------

    def signature(self) -> None:
        states = {value.id: name for name, value in self.graph.states}
        inputs = [v for v in self.graph.inputs if v.id not in states]
        for k, value in enumerate(inputs):
            name = self.graph.input_names[k] if k < len(self.graph.input_names) else value.hint
            self.ids[value.id] = self.function.add_param(_clean(name) or f"arg{k}", self.text(value.type))
        for name, value in self.graph.states:
            self.builder.add_state(name, self.text(value.type), self.initial(name, value))
            self.ids[value.id] = self.function.add_param(
                _clean(value.hint) or _clean(name) or "state", self.text(value.type), name
            )
        self.results()

    def initial(self, name: str, value: Value) -> Any:
        initial = self.initials.get(name, value.constant)
        if initial is None:
            raise ValueError(f"the state '{name}' has no initial value")
        if isinstance(initial, torch.Tensor):
            return self.weights.name_of(initial, f"{name}.initial")
        if isinstance(initial, list):
            return [self.weights.name_of(x, f"{name}.initial{k}") if isinstance(x, torch.Tensor) else x
                    for k, x in enumerate(initial)]
        return initial

    def results(self) -> None:
        returns = [b.exit.values for b in self.graph.reachable_blocks() if isinstance(b.exit, Return)]
        if not returns:
            return
        plain = len(returns[0]) - len(self.graph.output_states)
        for k, values in enumerate(zip(*returns, strict=True)):
            type = values[0].type
            for value in values[1:]:
                type = join_types(type, value.type)
            name = self.graph.output_names[k] if k < plain and k < len(self.graph.output_names) else ""
            self.function.add_result(
                self.text(type), _clean(name), self.graph.output_states[k - plain] if k >= plain else ""
            )

    # ---- blocks ------------------------------------------------------------------------------

    def declare(self, blocks: list[Block]) -> None:
        entry = self.graph.entry
        if entry.params or any(e.target is entry for b in blocks for e in successors(b)):
            if entry.params:
                raise ValueError("the entry block has parameters")
            start = self.function.add_block("start", self.span(entry.span))
        taken: dict[str, int] = {}
        for block in blocks:
            name = _unique(_clean(block.name) or ("entry" if block is entry else "b"), taken)
            self.blocks[block] = self.function.add_block(name, self.span(block.span))
            if block.loop_limit:
                self.function.set_loop_limit(self.blocks[block], block.loop_limit)
            for value in block.params:
                self.ids[value.id] = self.function.add_block_param(
                    self.blocks[block], self.text(value.type), _clean(value.hint)
                )
        if self.blocks[entry] != 0:
            self.function.goto(start, self.blocks[entry], [])

    def write(self, block: Block) -> None:
        self.block = self.blocks[block]
        self.local = {}
        for node in block.nodes:
            if isinstance(node, HostNode):
                self.host(node)
            else:
                self.tensor(node)
        if block.exit_span is not None:
            self.function.set_exit_span(self.block, self.span(block.exit_span))
        self.exit(block)

    def exit(self, block: Block) -> None:
        function, b = self.function, self.block
        match block.exit:
            case Goto(edge):
                function.goto(b, *self.edge(edge))
            case Branch(condition, if_true, if_false):
                function.branch(b, self.value(condition), *self.edge(if_true), *self.edge(if_false))
            case Return(values):
                function.return_(b, [self.value(v) for v in values])
            case Raise(kind, message, args):
                function.raise_(b, kind, message, [self.value(v) for v in args])
            case _:
                raise ValueError(f"{block!r} has no exit")

    def edge(self, edge: Edge) -> tuple[int, list[int]]:
        return self.blocks[edge.target], [self.value(v) for v in edge.args]

    # ---- ops ---------------------------------------------------------------------------------

    def host(self, node: HostNode) -> None:
        attrs = {k: _host_attribute(v) for k, v in node.attrs.items()}
        hint = _clean(node.outputs[0].hint) if node.outputs else ""
        ids = self.function.op(
            self.block,
            node.op,
            [self.value(v) for v in node.operands],
            [self.text(v.type) for v in node.outputs],
            attrs,
            hint,
            self.span(node.span),
        )
        for value, id in zip(node.outputs, ids):
            self.ids[value.id] = id

    def tensor(self, node: AtenNode) -> None:
        template = convert(node, tuple(v.id in self.read for v in node.outputs), self.ranges.bits)
        span = self.span(node.span)
        values: dict[int, int | _Constant] = {i: self.tensor_operand(v) for i, v in enumerate(inputs_of(node))}
        values.update((index, _Constant(tensor, "c")) for index, tensor in template.constants.items())
        hints = {index: _clean(value.hint) for index, value in zip(template.results, node.outputs)}
        for op in template.ops:
            folded = self.fold(op, [values[i] for i in op.inputs if i >= 0])
            if folded is not None:
                values[op.outputs[0]] = folded
                continue
            operands = [self.placed(values[i]) if i >= 0 else None for i in op.inputs]
            ids = self.function.op(
                self.block, op.name, operands, op.types, op.attrs, hints.get(op.outputs[0], ""), span
            )
            values.update(zip(op.outputs, ids))
            if op.name in _INDEXED:
                self.index_errors.setdefault(_INDEXED[op.name], set()).add(INDEX_ERRORS.get(node.target, "IndexError"))
        self.finish(node, template, values, span)

    def finish(self, node: AtenNode, template: Template, values: dict[int, int | _Constant], span) -> None:
        """A result that is an operand keeps its id unless its type says more now; a constant is copied."""
        operands = inputs_of(node)
        for index, value in zip(template.results, node.outputs):
            if index < 0:
                continue
            known = values[index]
            if isinstance(known, _Constant) or (index < template.inputs and operands[index].type != value.type):
                (known,) = self.function.op(
                    self.block, "Identity", [self.placed(known)], [self.text(value.type)], {}, _clean(value.hint), span
                )
            self.ids[value.id] = known

    def fold(self, op: TemplateOp, operands: list[int | _Constant]) -> _Constant | None:
        if len(op.outputs) != 1 or not operands or not all(isinstance(o, _Constant) for o in operands):
            return None
        return self.weights.folded(op, operands)

    def placed(self, operand: int | _Constant) -> int:
        return self.constant(operand.tensor, operand.hint) if isinstance(operand, _Constant) else operand

    def value(self, value: Value) -> int:
        id = self.ids.get(value.id)
        if id is not None:
            return id
        if value.constant is None:
            raise LoweringRefusal("the program",
                                  f"a value of one path is used on another ({value!r}), "
                                  "a defect of the compiler; please report it", None)
        return self.constant(value.constant, value.hint)

    def tensor_operand(self, value: Value) -> int | _Constant:
        if value.id not in self.ids and value.constant is not None:
            return _Constant(value.constant, value.hint)
        if not isinstance(value.type, ScalarType):
            return self.value(value)
        key = ("scalar", value.id)
        if key not in self.local:
            dtype = dtype_name(scalar_dtype(value.type))
            (self.local[key],) = self.function.op(
                self.block, "to_tensor", [self.value(value)], [f"{dtype}[]"], {"dtype": dtype}, _clean(value.hint), None
            )
        return self.local[key]

    def constant(self, tensor: torch.Tensor, hint: str) -> int:
        """A constant in this block, written at its first use."""
        tensor = with_memory(tensor)
        small = tensor.numel() * tensor.element_size() <= _LITERAL_BYTES and id(tensor) not in self.names
        key = _content(tensor) if small else self.weights.name_of(tensor, hint)
        if key not in self.local:
            type = type_text(tensor.dtype, tuple(tensor.shape))
            if small:
                ids = self.function.op(
                    self.block, "const", [], [type], {"value": tensor.detach().contiguous()}, _clean(hint), None
                )
            else:
                ids = self.function.op(
                    self.block, "weight", [], [type], {"name": key}, _clean(key.rpartition(".")[2]), None
                )
            (self.local[key],) = ids
        return self.local[key]


def _host_attribute(value: Any) -> Any:
    return dtype_name(value) if isinstance(value, torch.dtype) else value


def _content(tensor: torch.Tensor) -> tuple:
    flat = torch.empty(tensor.numel(), dtype=tensor.dtype).copy_(tensor.detach().reshape(-1))  # a stride may be 0
    return tensor.dtype, tuple(tensor.shape), flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def _clean(name: str | None) -> str:
    """A name the IR's text can hold, or nothing."""
    if not name:
        return ""
    if _NAME.match(name):
        return name
    name = re.sub(r"[^A-Za-z0-9_.]", "_", name)
    return name if _NAME.match(name) else f"_{name}"


def _unique(name: str, taken: dict[str, int]) -> str:
    while name in taken:
        taken[name] += 1
        candidate = f"{name}.{taken[name]}"
        if candidate not in taken:
            name = candidate
    taken[name] = 0
    return name


def join_types(a: Type, b: Type) -> Type:
    """The least type both fit; raises ValueError if there is none."""
    if a == b:
        return a
    match a, b:
        case TensorType(), TensorType() if a.dtype == b.dtype and len(a.shape) == len(b.shape):
            return TensorType(a.dtype, tuple(x if x == y else None for x, y in zip(a.shape, b.shape)))
        case ListType(), ListType():
            return ListType(join_types(a.element, b.element))
    raise ValueError(f"results of types {type_to_text(a)} and {type_to_text(b)} in one place")


class _Weights:
    """Names of weights; a tensor (same memory, shape and dtype) is added once."""

    def __init__(self, builder: Any, names: dict[int, str]):
        self.builder, self.names = builder, names
        self.taken: dict[str, int] = {}
        self.known: dict[Any, str] = {}
        self.alive: list[torch.Tensor] = []  # identities stay unique while they are keys
        self.results: dict[Any, _Constant | None] = {}  # of ops on constants

    def name_of(self, tensor: torch.Tensor, hint: str) -> str:
        key = _identity(tensor)
        if key not in self.known:
            name = _unique(_clean(self.names.get(id(tensor))) or _clean(hint) or "constant", self.taken)
            self.builder.add_weight(name, tensor.detach().contiguous())
            self.known[key] = name
            self.alive.append(tensor)
        return self.known[key]

    def folded(self, op: TemplateOp, operands: list[_Constant]) -> _Constant | None:
        """What an op makes of constants, if it only rearranges them; computed once for all blocks."""
        key = (op.name, repr(op.attrs), *(_identity(o.tensor) for o in operands))
        if key not in self.results:
            tensor = evaluate(op.name, op.attrs, [o.tensor.detach() for o in operands])
            self.alive += [o.tensor for o in operands]
            self.results[key] = None if tensor is None else _Constant(tensor, self.derived(op.name, operands))
        return self.results[key]

    def derived(self, op: str, operands: list[_Constant]) -> str:
        names = [self.names.get(id(o.tensor)) or o.hint for o in operands]
        name = next((n for n in names if n not in ("", "c")), "")
        if not name or name.endswith((".transposed", ".packed")):
            return name
        return f"{name}.{'transposed' if op == 'Transpose' else 'packed'}"


def _identity(tensor: torch.Tensor) -> tuple:
    if not tensor.numel():
        return id(tensor), tensor.dtype, tuple(tensor.shape)
    return tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.is_conj(), tensor.is_neg()
