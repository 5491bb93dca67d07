# SPDX-License-Identifier: Apache-2.0
"""Runs a recorded graph with real torch: what verification/drive.py and the tests compare with eager execution.

Slow and plain on purpose. `run_block` runs one block's nodes in an environment of values; `run_graph`
follows exits as well.
"""

from __future__ import annotations

import math
import operator
from typing import Any, Callable

import torch

from ...objects import mapped
from . import draws
from .dtypes import dtype_of_name
from .program import (
    AtenNode,
    Block,
    Branch,
    Edge,
    Goto,
    Graph,
    HostNode,
    Raise,
    Return,
    ScalarType,
    TensorType,
    Value,
)

aten = torch.ops.aten


class ProgramRaised(Exception):
    """An exception of the user's program."""

    def __init__(self, type: str, message: str, kept: dict | None = None, known: bool = False):
        super().__init__(f"{type}: {message}")
        self.type, self.message = type, message
        self.kept = kept or {}  # what the program had written
        self.known = known  # the message is part of the program, with no value of run time in it


def look(env: dict, tree: Any) -> Any:
    def value(x: Any) -> Any:
        if not isinstance(x, Value):
            return x
        return x.constant.detach() if x not in env and x.constant is not None else env[x]

    return mapped(value, tree)


def symbols_of(inputs: list[Value], tensors: list) -> dict[str, int]:
    """The extents that the inputs give to the program's symbols."""
    found: dict[str, int] = {}
    for value, tensor in zip(inputs, tensors):
        if not isinstance(value.type, TensorType):
            continue
        for dim, size in zip(value.type.shape, tensor.shape):
            if isinstance(dim, str):
                found[dim] = size
    return found


def run_block(block: Block, env: dict, symbols: dict[str, int] | None = None,
              host_functions: dict | None = None) -> dict:
    env["symbols"] = symbols or {}
    with torch.no_grad():
        for node in block.nodes:
            try:
                run_node(node, env, host_functions)
            except (ZeroDivisionError, OverflowError, ValueError, IndexError) as error:
                if isinstance(node, AtenNode):
                    raise
                raise ProgramRaised(type(error).__name__, str(error)) from error
    return env


def run_node(node: AtenNode | HostNode, env: dict, host_functions: dict | None = None) -> None:
    if isinstance(node, HostNode) and node.op == "keep":
        env.setdefault("kept", {}).update(zip(node.attrs["names"], look(env, node.operands)))
        return
    if isinstance(node, HostNode):
        result = _host(node, [look(env, v) for v in node.operands], host_functions or {})
        results = [result] if len(node.outputs) == 1 else list(result or [])
    else:
        target = aten.reshape.default if node.target in (aten.view.default, aten._unsafe_view.default) else node.target
        result = target(*look(env, node.args), **look(env, node.kwargs))
        results = list(result) if isinstance(result, (list, tuple)) else [result]
    assert len(results) == len(node.outputs), node
    for output, value in zip(node.outputs, results):
        check_type(output.type, value, node, env["symbols"])
        env[output] = value.clone() if isinstance(value, torch.Tensor) else value


def check_type(type: Any, value: Any, node: Any, symbols: dict[str, int]) -> None:
    """What capture said of a value must hold when it is computed."""
    if isinstance(type, TensorType):
        assert value.dtype == type.dtype, (node, value.dtype)
        assert len(value.shape) == len(type.shape), (node, value.shape)
        for have, said in zip(value.shape, type.shape):
            said = eval(said, {"min": min, "max": max}, symbols) if isinstance(said, str) else said
            assert said is None or have == said, (node, value.shape)
    elif isinstance(type, ScalarType):
        assert ScalarType(value.__class__.__name__) == type, (node, value)


def run_graph(graph: Graph, inputs: list, steps: int = 100_000, decide: Any = None,
              host_functions: dict | None = None) -> list:
    """`decide(block, truth)`: the arm to take at a branch, whatever its condition says. `host_functions`:
    name -> HostFunction."""
    env: dict[Any, Any] = dict(zip(graph.inputs + [v for _, v in graph.states], inputs))
    symbols = symbols_of(graph.inputs, inputs)
    with draws.given_back():
        return _walk(graph, env, symbols, steps, decide, host_functions)


def _walk(graph: Graph, env: dict, symbols: dict, steps: int, decide: Any, host_functions: dict | None) -> list:
    block = graph.entry
    for _ in range(steps):
        run_block(block, env, symbols, host_functions)
        exit = block.exit
        if isinstance(exit, Return):
            return [look(env, v) for v in exit.values]
        if isinstance(exit, Raise):
            raise ProgramRaised(exit.type, exit.message.format(*[look(env, v) for v in exit.args]),
                                env.get("kept"), not exit.args)
        edge = _taken(block, exit, env, decide)
        values = [look(env, v) for v in edge.args]
        env.update(zip(edge.target.params, values))
        block = edge.target
    raise RuntimeError("too many steps")


def _taken(block: Any, exit: Any, env: dict, decide: Any) -> Edge:
    if isinstance(exit, Goto):
        return exit.edge
    assert isinstance(exit, Branch)
    truth = bool(look(env, exit.condition))
    return exit.if_true if (truth if decide is None else decide(block, truth)) else exit.if_false


_BINARY: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv, "mod": operator.mod,
    "truediv": operator.truediv, "pow": operator.pow, "and": operator.and_, "or": operator.or_, "xor": operator.xor,
    "shl": operator.lshift, "shr": operator.rshift, "min": min, "max": max, "eq": operator.eq, "ne": operator.ne,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "atan2": math.atan2, "fmod": math.fmod,
    "copysign": math.copysign, "hypot": math.hypot,
}
_UNARY: dict[str, Callable[..., Any]] = {
    "neg": operator.neg, "abs": abs, "to_float": float, "to_bool": bool, "to_int": int, "round": round,
    "floor": math.floor, "ceil": math.ceil, "sqrt": math.sqrt, "exp": math.exp, "log": math.log, "sin": math.sin,
    "cos": math.cos, "tan": math.tan, "asin": math.asin, "acos": math.acos, "atan": math.atan, "sinh": math.sinh,
    "cosh": math.cosh, "log2": math.log2, "log10": math.log10, "expm1": math.expm1, "log1p": math.log1p,
    "erf": math.erf, "tanh": math.tanh, "isnan": math.isnan, "isinf": math.isinf, "isfinite": math.isfinite,
}


def _check(x: list, attrs: dict) -> None:
    if not x[0]:
        raise ProgramRaised(attrs.get("type", "RuntimeError"), attrs["message"])


def _to_tensor(x: list, attrs: dict) -> torch.Tensor:
    return torch.tensor(x[0], dtype=dtype_of_name(attrs["dtype"]))


_OF_HOST: dict[str, Callable[[list, dict], Any]] = {
    "const": lambda x, attrs: attrs["value"],
    "item": lambda x, attrs: x[0].item(),
    "to_tensor": _to_tensor,
    "dim": lambda x, attrs: x[0].shape[attrs["axis"]],
    "size": lambda x, attrs: x[0].numel(),
    "check": _check,
    "print": lambda x, attrs: print(attrs["format"].format(*x), end=""),
    "select": lambda x, attrs: x[1] if x[0] else x[2],
}


def _host(node: HostNode, x: list, host_functions: dict) -> Any:
    op, attrs = node.op, node.attrs
    if op in _OF_HOST:
        return _OF_HOST[op](x, attrs)
    if op == "host_call":
        results = host_functions[attrs["name"]].for_runtime(
            *[v.clone() if isinstance(v, torch.Tensor) else v for v in x]
        )
        return results[0] if len(node.outputs) == 1 and len(results) == 1 else results
    if op.startswith("rand."):
        return draws.draw(op, x, attrs)
    kind, name = op.split(".")
    if kind == "list":
        return _list(name, x, attrs)
    if name == "not":
        return (not x[0]) if kind == "bool" else ~x[0]
    if len(x) == 2 and name in _BINARY:
        return _BINARY[name](*x)
    if len(x) == 1 and name in _UNARY:
        return _UNARY[name](*x)
    raise NotImplementedError(op)


def _list(name: str, x: list, attrs: dict) -> Any:
    if name == "new":
        return list(x)
    if name == "append":
        return [*x[0], x[1]]
    if name == "get":
        return x[0][x[1]]
    if name in ("set", "insert", "pop"):
        changed = list(x[0])
        if name == "pop":
            item = changed.pop(x[1])
            return [changed, item]
        if name == "set":
            changed[x[1]] = x[2]
        else:
            changed.insert(x[1], x[2])
        return changed
    if name == "len":
        return len(x[0])
    if name == "concat":
        return x[0] + x[1]
    if name == "slice":
        return x[0][x[1]:x[2]]
    if name == "from_tensor":
        return x[0].tolist()
    if name == "to_tensor":
        return _to_tensor(x, attrs)
    return (torch.stack if name == "stack" else torch.cat)(x[0], attrs["axis"])
