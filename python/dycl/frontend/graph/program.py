# SPDX-License-Identifier: Apache-2.0
"""What capture records: blocks of ATen nodes and host nodes, before lowering to the C++ IR.

The graph mirrors docs/ir.md, with two differences: tensor ops are still ATen (an `AtenNode`
holds a torch OpOverload), and constant tensors are values with `.constant` set rather than ops.
Blocks carry their immediate dominator, so that capture can ask whether a value recorded in one
block may be used in another (`dominates`); values need no block parameter unless they merge.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import torch

from ..source import Span


@dataclass(frozen=True)
class TensorType:
    """dims: an int, a text over the program's symbols ("N+1"), or None (known only at run time)."""

    dtype: torch.dtype
    shape: tuple[int | str | None, ...]


@dataclass(frozen=True)
class ScalarType:
    kind: str  # "bool", "int" or "float"


@dataclass(frozen=True)
class ListType:
    element: "Type"


Type = TensorType | ScalarType | ListType
BOOL, INT, FLOAT = ScalarType("bool"), ScalarType("int"), ScalarType("float")

_ids = itertools.count()


def next_value_id() -> int:
    """Values made from now on have greater ids."""
    return next(_ids)


class Value:
    """One SSA value. Defined by a node, a block parameter, an input, or (constant) by a real tensor."""

    __slots__ = ("id", "type", "hint", "block", "constant", "thunk")

    def __init__(self, type: Type, block: "Block | None", hint: str = ""):
        self.id = next(_ids)
        self.type = type
        self.hint = hint
        self.block = block  # where it is defined; None: everywhere (inputs, constants)
        self.constant: torch.Tensor | None = None  # a real tensor known at capture time
        self.thunk: Any = None  # () -> real tensor, if it is computed from constants alone

    def __repr__(self) -> str:
        return f"%{self.hint or ''}{self.id}:{self.type}"


@dataclass(eq=False)
class AtenNode:
    """A tensor op. `args`/`kwargs` nest Values, plain Python numbers, dtypes, None and lists/tuples
    of these; a Value of scalar type stands where torch takes a number (a size, an index, a factor)."""

    target: Any  # torch's OpOverload
    args: tuple
    kwargs: dict
    outputs: list[Value]
    span: Span | None = None


@dataclass(eq=False)
class HostNode:
    """A host op of docs/ir.md: `op` is its name, operands are Values."""

    op: str
    operands: list[Value]
    outputs: list[Value]
    attrs: dict[str, Any] = field(default_factory=dict)
    span: Span | None = None


@dataclass(eq=False)
class Edge:
    target: "Block"
    args: list[Value] = field(default_factory=list)


@dataclass(eq=False)
class Goto:
    edge: Edge


@dataclass(eq=False)
class Branch:
    condition: Value
    if_true: Edge
    if_false: Edge


@dataclass(eq=False)
class Return:
    values: list[Value]


@dataclass(eq=False)
class Raise:
    type: str
    message: str
    args: list[Value] = field(default_factory=list)


class Block:
    __slots__ = ("id", "params", "nodes", "exit", "exit_span", "span", "idom", "depth", "jump", "loop_limit", "name")

    def __init__(self, idom: "Block | None" = None, span: Span | None = None, name: str = ""):
        self.id = next(_ids)
        self.params: list[Value] = []
        self.nodes: list[AtenNode | HostNode] = []
        self.exit: Goto | Branch | Return | Raise | None = None
        self.exit_span: Span | None = None
        self.span = span
        self.loop_limit = 0
        self.name = name
        self.set_dominator(idom)

    def set_dominator(self, idom: "Block | None") -> None:
        """Jump pointers (skew-binary) make `dominates` logarithmic in the depth of the tree."""
        self.idom = idom
        if idom is None:
            self.depth, self.jump = 0, None
            return
        self.depth = idom.depth + 1
        j = idom.jump
        if j is not None and j.jump is not None and idom.depth - j.depth == j.depth - j.jump.depth:
            self.jump = j.jump
        else:
            self.jump = idom

    def __repr__(self) -> str:
        return f"^{self.name}{self.id}"


def dominates(a: Block | None, b: Block | None) -> bool:
    """True if `a` is `b` or dominates it. None (a value defined outside every block) dominates all."""
    if a is None:
        return True
    while b is not None and b.depth > a.depth:
        b = b.jump if b.jump is not None and b.jump.depth >= a.depth else b.idom
    return a is b


def common_dominator(blocks: list[Block]) -> Block:
    first, *rest = blocks
    for other in rest:
        while first is not other:
            if first.depth > other.depth:
                first = _climb(first, other.depth)
            elif other.depth > first.depth:
                other = _climb(other, first.depth)
            elif first.jump is not None and other.jump is not None and first.jump is not other.jump:
                first, other = first.jump, other.jump
            else:
                first, other = first.idom, other.idom  # type: ignore[assignment]  # both are below the entry
    return first


def _climb(block: Block, depth: int) -> Block:
    while block.depth > depth:
        above = block.jump if block.jump is not None and block.jump.depth >= depth else block.idom
        block = above  # type: ignore[assignment]  # only the entry has none, and its depth is 0
    return block


@dataclass
class Graph:
    """The captured program: `inputs` in the order of the flattened arguments, then states."""

    entry: Block
    inputs: list[Value] = field(default_factory=list)
    input_names: list[str] = field(default_factory=list)
    states: list[tuple[str, Value]] = field(default_factory=list)  # (name, input value)
    output_names: list[str] = field(default_factory=list)
    output_states: list[str] = field(default_factory=list)  # state names of the trailing results

    def reachable_blocks(self) -> list[Block]:
        """In reverse postorder from the entry."""
        order, seen, stack = [], {self.entry}, [(self.entry, iter(successors(self.entry)))]
        while stack:
            block, it = stack[-1]
            for edge in it:
                if edge.target not in seen:
                    seen.add(edge.target)
                    stack.append((edge.target, iter(successors(edge.target))))
                    break
            else:
                order.append(block)
                stack.pop()
        return order[::-1]


def successors(block: Block) -> list[Edge]:
    match block.exit:
        case Goto(edge):
            return [edge]
        case Branch(_, a, b):
            return [a, b]
    return []


def inputs_of(node: AtenNode) -> list[Value]:
    """The Values in a node's arguments, in order of occurrence (repeats included)."""
    found: list[Value] = []
    _collect(node.args, found)
    _collect(node.kwargs, found)
    return found


def _collect(argument: Any, found: list[Value]) -> None:
    if isinstance(argument, Value):
        found.append(argument)
    elif isinstance(argument, (list, tuple)):
        for item in argument:
            _collect(item, found)
    elif isinstance(argument, dict):
        for key in sorted(argument):
            _collect(argument[key], found)
