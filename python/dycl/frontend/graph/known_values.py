# SPDX-License-Identifier: Apache-2.0
"""Values that are known while capturing: lifted real tensors, and what is computed from them alone.

A node whose operands are all known gets a *thunk*: it is evaluated with real torch only if somebody
asks (`known_tensor`), for instance when a Python `if` reads it. Random ops have no thunk. Every real
tensor reached by such an evaluation is reported, so that capture can start again if the same tensor
turns out to be written by the program.
"""

from __future__ import annotations

import operator
from typing import Any, Callable, Iterator

import torch

from ..torch_internals import unsafe_view, without_modes
from .dtypes import dtype_of_name
from .program import AtenNode, HostNode, Value


class Computation:
    """One node over known operands, evaluated at most once."""

    __slots__ = ("node", "results")

    def __init__(self, node: AtenNode | HostNode):
        self.node = node
        self.results: list | None = None


class Thunk:
    """Gives one result of a computation: a real tensor, or a number for a host value."""

    __slots__ = ("computation", "index")

    def __init__(self, computation: Computation, index: int):
        self.computation = computation
        self.index = index

    def __call__(self) -> Any:
        _run(self.computation)
        return self.computation.results[self.index]  # type: ignore[index]  # it has just been evaluated


def is_known(value: Value) -> bool:
    return value.constant is not None or value.thunk is not None


def give_thunks(node: AtenNode | HostNode) -> None:
    """Called for each pure node after it is recorded."""
    if isinstance(node, HostNode) and node.op not in _HOST:
        return
    if all(is_known(v) for v in operands(node)):
        computation = Computation(node)
        for index, output in enumerate(node.outputs):
            output.thunk = Thunk(computation, index)


def known_tensor(value: Value, on_read: Callable[[Value], None]) -> Any:
    """The tensor (or number) of a known value, else None. `on_read` hears of each constant looked at."""
    if not is_known(value):
        return None
    for leaf in _leaves(value):
        on_read(leaf)
    return value.constant if value.constant is not None else value.thunk()


def operands(node: AtenNode | HostNode) -> Iterator[Value]:
    if isinstance(node, HostNode):
        yield from node.operands
    else:
        yield from _values(node.args)
        yield from _values(node.kwargs)


def _values(tree: Any) -> Iterator[Value]:
    if isinstance(tree, Value):
        yield tree
    elif isinstance(tree, (list, tuple)):
        for item in tree:
            yield from _values(item)
    elif isinstance(tree, dict):
        for item in tree.values():
            yield from _values(item)


def _leaves(value: Value) -> Iterator[Value]:
    """The constants a known value is computed from."""
    seen, stack = {value}, [value]
    while stack:
        v = stack.pop()
        if v.constant is not None:
            yield v
            continue
        for source in operands(v.thunk.computation.node):
            if source not in seen:
                seen.add(source)
                stack.append(source)


def _run(computation: Computation) -> None:
    """Evaluates operands first, without recursion: chains may be long."""
    stack = [computation]
    with torch.no_grad(), without_modes():
        while stack:
            top = stack[-1]
            if top.results is not None:
                stack.pop()
                continue
            waiting = [v.thunk.computation for v in operands(top.node)
                       if v.constant is None and v.thunk.computation.results is None]
            if waiting:
                stack.extend(waiting)
                continue
            top.results = _evaluate(top.node)
            stack.pop()


def _evaluate(node: AtenNode | HostNode) -> list:
    if isinstance(node, HostNode):
        return [_HOST[node.op](node, *[_look(v) for v in node.operands])]
    args, kwargs = _look(node.args), _look(node.kwargs)
    # Strides may differ from what capture saw, and a result may be a view of a parameter: reshape, copy.
    target = torch.ops.aten.reshape.default if node.target in _VIEWS else node.target
    result = target(*args, **kwargs)
    results = list(result) if isinstance(result, (list, tuple)) else [result]
    return [r.clone() if isinstance(r, torch.Tensor) else r for r in results]


_VIEWS = (torch.ops.aten.view.default, unsafe_view)


def _look(tree: Any) -> Any:
    if isinstance(tree, Value):
        if tree.constant is not None:
            return tree.constant.detach()
        return tree.thunk.computation.results[tree.thunk.index]
    if isinstance(tree, (list, tuple)):
        return type(tree)(_look(item) for item in tree)
    if isinstance(tree, dict):
        return {k: _look(item) for k, item in tree.items()}
    return tree


def _binary(f: Callable) -> Callable:
    return lambda node, a, b: f(a, b)


_HOST: dict[str, Callable] = {
    "const": lambda node: node.attrs["value"],
    "to_tensor": lambda node, x: torch.tensor(x, dtype=dtype_of_name(node.attrs["dtype"])),
    "dim": lambda node, x: x.shape[node.attrs["axis"]],
    "size": lambda node, x: x.numel(),
    "item": lambda node, x: x.item(),
    "int.add": _binary(operator.add),
    "int.sub": _binary(operator.sub),
    "int.mul": _binary(operator.mul),
    "int.floordiv": _binary(operator.floordiv),
    "int.mod": _binary(operator.mod),
    "int.to_float": lambda node, x: float(x),
    "int.to_bool": lambda node, x: bool(x),
    "float.to_bool": lambda node, x: bool(x),
    "bool.to_int": lambda node, x: int(x),
    "bool.to_float": lambda node, x: float(x),
}
