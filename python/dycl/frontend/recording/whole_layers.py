# SPDX-License-Identifier: Apache-2.0
"""Layers kept whole: one node for what torch would take apart before dispatch.

Back ends fuse linear, attention, normalisation and recurrent layers only if they still see them. Which ones
recording/functions.py says; a call that no overload fits, or whose result may share memory with an argument, is
recorded part by part instead.
"""

from __future__ import annotations

from typing import Any

import torch

from ..torch_internals import FakeTensor, tree_iter
from . import value_checks
from .decompositions import NEEDS_DECOMPOSITION
from .dispatch import record_results
from .schema import bind
from .whole_layer_shapes import symbolic_result

aten = torch.ops.aten
_PACKETS = {"__matmul__": "matmul"}
_RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")


def record_whole(recorder, name: str, args: tuple, kwargs: dict) -> Any:
    """The result of the call recorded as one node, or NotImplemented."""
    args = tuple(recorder.path.decide(a.node.expr) if isinstance(a, torch.SymBool) else a for a in args)
    kwargs = {k: recorder.path.decide(a.node.expr) if isinstance(a, torch.SymBool) else a for k, a in kwargs.items()}
    found = recorder.calls.plans.resolved(name, args, kwargs, _resolved)
    if found is None:
        return NotImplemented
    op, positional, keywords = found
    value_checks.before(recorder, op, positional, keywords)
    key = recorder.forms.key(op, positional, keywords)
    result = recorder.forms.again(key, op, positional, keywords)
    if result is NotImplemented and recorder.is_symbolic((positional, keywords)):
        result = symbolic_result(recorder, op, positional, keywords)
    if result is NotImplemented:
        result = recorder.fake(op, positional, keywords)
        if _shares_memory(result, (args, kwargs)):
            return NotImplemented
        recorder.forms.keep(key, op, positional, keywords, result)
    return record_results(recorder, op, positional, keywords, result)


def _resolved(name: str, args: tuple, kwargs: dict) -> tuple | None:
    """The op that the call is, its positional and its keyword arguments."""
    op = _resolve(getattr(aten, _PACKETS.get(name, name), None), args, kwargs)
    if op is None or op in NEEDS_DECOMPOSITION:
        return None
    arguments = bind(op, args, _renamed(op, kwargs))
    if name == "instance_norm" and arguments.get("running_mean") is not None and arguments.get("use_input_stats"):
        return None
    if name == "scaled_dot_product_attention" and arguments["dropout_p"]:
        return None  # eager draws, in the order of its parts
    if name in _RECURRENT and args[0].dtype == torch.float64:
        return None  # no engine has a kernel; torch's own parts are steps
    return op, *_canonical(op, arguments)


def _resolve(packet, args: tuple, kwargs: dict) -> Any:
    """The overload that takes these arguments; ints may stand for lists of ints."""
    if packet is None:
        return None
    for overload in packet.overloads():
        op = getattr(packet, overload)
        if any(a.is_out for a in op._schema.arguments):
            continue
        if _fits(op, args, _renamed(op, kwargs)):
            return op
    return None


def _renamed(op, kwargs: dict) -> dict:
    """Python calls the first tensor `input` where the schema calls it `self`."""
    if "input" in kwargs and op._schema.arguments[0].name == "self":
        kwargs = dict(kwargs)
        kwargs["self"] = kwargs.pop("input")
    return kwargs


def _fits(op, args: tuple, kwargs: dict) -> bool:
    schema = op._schema.arguments
    if len(args) > sum(not a.kwarg_only for a in schema):
        return False
    names = {a.name for a in schema}
    if not kwargs.keys() <= names or kwargs.keys() & {a.name for a in schema[:len(args)]}:
        return False
    for index, a in enumerate(schema):
        if index < len(args) and not a.kwarg_only:
            value = args[index]
        elif a.name in kwargs:
            value = kwargs[a.name]
        elif a.has_default_value():
            continue
        else:
            return False
        if not _takes(str(a.type), value):
            return False
    return True


def _takes(kind: str, value: Any) -> bool:
    if kind.startswith("Optional["):
        return value is None or _takes(kind[len("Optional["):-1], value)
    if kind == "Tensor":
        return isinstance(value, torch.Tensor)
    if kind.startswith("List["):
        inner = kind[len("List["):-1]
        if not isinstance(value, (list, tuple)):
            return inner in ("int", "SymInt") and _takes(inner, value)
        return all(_takes(inner, v) for v in value)
    if kind == "bool":
        return isinstance(value, bool)
    if kind in ("int", "SymInt"):
        if isinstance(value, torch.dtype):
            return True
        return isinstance(value, (int, torch.SymInt)) and not isinstance(value, bool)
    if kind in ("float", "number"):
        return isinstance(value, (int, float, torch.SymInt, torch.SymFloat)) and not isinstance(value, bool)
    if kind == "str":
        return isinstance(value, str)
    return not isinstance(value, (torch.Tensor, str, list, tuple))


def _canonical(op, arguments: dict) -> tuple[tuple, dict]:
    """Positional arguments without trailing defaults, lists where the schema has lists."""
    positional, keywords = [], {}
    for a in op._schema.arguments:
        value = arguments[a.name]
        kind = str(a.type).removeprefix("Optional[")
        if kind.startswith("List[") and isinstance(value, (int, torch.SymInt)):
            value = [value] * (a.N or 1)
        elif isinstance(value, tuple):
            value = list(value)
        if a.kwarg_only:
            if not a.has_default_value() or value != a.default_value:
                keywords[a.name] = value
        else:
            positional.append(value)
    last = len(positional)
    for a in reversed([a for a in op._schema.arguments if not a.kwarg_only]):
        if not a.has_default_value() or not _is_default(positional[last - 1], a.default_value):
            break
        last -= 1
    return tuple(positional[:last]), keywords


def _is_default(value: Any, default: Any) -> bool:
    if isinstance(value, (torch.Tensor, torch.SymInt, torch.SymFloat)):
        return False
    if isinstance(value, list) and any(isinstance(v, (torch.Tensor, torch.SymInt)) for v in value):
        return False
    return type(value) is type(default) and value == default


def _shares_memory(result: Any, arguments: Any) -> bool:
    storages = {x.untyped_storage()._cdata for x in tree_iter(arguments) if isinstance(x, FakeTensor)}
    return any(x.untyped_storage()._cdata in storages for x in tree_iter(result) if isinstance(x, torch.Tensor))
