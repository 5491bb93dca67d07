# SPDX-License-Identifier: Apache-2.0
"""The captured graph, printed for people."""

from __future__ import annotations

from typing import Any, Iterable

from ... import dtypes
from .program import (
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
)


def op_name(target: Any) -> str:
    return str(target).removesuffix(".default").replace("aten.", "torch.", 1)


def graph_to_text(graph: Graph) -> str:
    """The graph before lowering, for people."""
    lines = [f"graph({_declared(graph.inputs)})"]
    for block in graph.reachable_blocks():
        lines.append(f"{block!r}({_declared(block.params)}):")
        lines += [f"  {_node_text(node)}" for node in block.nodes]
        lines.append(f"  {_exit_text(block)}")
    return "\n".join(lines) + "\n"


def _brief(argument: Any) -> str:
    if isinstance(argument, Value):
        if argument.constant is not None:
            return f"const%{argument.id}:{_type_brief(argument.type)}"
        return f"%{argument.hint}{argument.id}"
    if isinstance(argument, (list, tuple)):
        return f"[{', '.join(map(_brief, argument))}]"
    return repr(argument)


def _declared(values: Iterable[Value]) -> str:
    return ", ".join(f"%{v.hint}{v.id}: {_type_brief(v.type)}" for v in values)


def _type_brief(type: Type) -> str:
    match type:
        case TensorType(dtype, shape):
            return f"{dtypes.NAMES.get(dtype, dtype)}[{','.join('?' if d is None else str(d) for d in shape)}]"
        case ScalarType(kind):
            return kind
        case ListType(element):
            return f"list<{_type_brief(element)}>"
    return str(type)


def _node_text(node: AtenNode | HostNode) -> str:
    results = _declared(node.outputs)
    args: Iterable[Any]
    if isinstance(node, HostNode):
        name, args, kwargs = node.op, node.operands, node.attrs
    else:
        name, args, kwargs = op_name(node.target), node.args, node.kwargs
    inside = ", ".join([*map(_brief, args), *(f"{k}={_brief(v)}" for k, v in kwargs.items())])
    place = f"  # {node.span.file}:{node.span.line}" if node.span else ""
    return f"{results + ' = ' if results else ''}{name}({inside}){place}"


def _exit_text(block: Block) -> str:
    def edge(e: Edge) -> str:
        return f"{e.target!r}({', '.join(map(_brief, e.args))})"

    match block.exit:
        case Goto(e):
            return f"goto {edge(e)}"
        case Branch(condition, a, b):
            return f"branch {_brief(condition)}, {edge(a)}, {edge(b)}"
        case Return(values):
            return f"return {', '.join(map(_brief, values))}"
        case Raise(kind, message, args):
            return f"raise {kind} {message!r} {', '.join(map(_brief, args))}"
    return "(no exit)"
