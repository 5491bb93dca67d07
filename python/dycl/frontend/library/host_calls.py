# SPDX-License-Identifier: Apache-2.0
"""Calls of functions marked with @dycl.host_function: one host node, whatever the function does."""

from __future__ import annotations

import functools
from typing import Any

import torch

from ...calling.host_functions import HostFunction, describe, host_function, registered
from ..diagnostics import CaptureRefusal
from ..graph.program import BOOL, FLOAT, INT, HostNode, TensorType, Value
from ..semantics import outside_generators, registry
from ..values.scalar import kind_of
from ..values.stand_in import stand_in_of

_NUMBERS = {"bool": BOOL, "int": INT, "float": FLOAT}


@registry.finds(HostFunction)
def find(fn: HostFunction) -> Any:
    return functools.partial(call, fn)


def call(fn: HostFunction, m: Any, s: Any, args: tuple, kwargs: dict) -> Any:
    if kwargs:
        raise CaptureRefusal(f"the host function {fn.name} is called with keywords", "pass its arguments by position",
                             kind="host_function")
    if registered.get(fn.name) is not fn:
        raise CaptureRefusal(f"two host functions are called {fn.name}", "give one of them another name: "
                             "@dycl.host_function(name=...)", kind="host_function")
    if m.may_catch():
        raise CaptureRefusal(f"the host function {fn.name} is called inside try: its exceptions cannot be caught in a "
                             "compiled program", "catch them inside the function", kind="host_function")
    recorder = m.recorder
    operands = [_operand(m, fn, a) for a in args]
    types, single = _results(m, fn, args)
    outputs = [Value(_NUMBERS[t] if isinstance(t, str) else TensorType(*t), recorder.block) for t in types]
    recorder.append(HostNode("host_call", operands, outputs, {"name": fn.name}, recorder.span))
    values = [m.scalars.wrap(v) if isinstance(t, str) else recorder.new_handle(t[0], t[1], v)
              for v, t in zip(outputs, types)]
    if single:
        return values[0]
    return tuple(values) if values else None


@registry.finds_in("scipy.optimize._lsap")
def find_assignment(fn: Any) -> Any:
    return functools.partial(assignment, fn)


def assignment(fn: Any, m: Any, s: Any, args: tuple, kwargs: dict) -> Any:
    """scipy.optimize.linear_sum_assignment of a matrix known only at run time: a host function under its own name."""
    given = dict(zip(("cost_matrix", "maximize"), args), **kwargs)
    cost, maximize = given.pop("cost_matrix", None), given.pop("maximize", False)
    if m.is_array(cost):
        cost = cost.tensor
    if (given or type(maximize) is not bool or not isinstance(cost, torch.Tensor) or cost.dim() != 2
            or m.recorder.numbers.static(cost) is not None):
        return NotImplemented
    name = "scipy.optimize.linear_sum_assignment" + ("(maximize)" if maximize else "")
    known = registered.get(name) or host_function(lambda matrix: fn(matrix.detach().numpy(), maximize), name=name)
    return tuple(m.arrays.wrap(places) for places in call(known, m, s, (cost,), {}))


def _operand(m: Any, fn: HostFunction, given: Any) -> Value:
    if isinstance(given, torch.Tensor):
        return m.recorder.value_of(given)
    if kind_of(given) is not None:
        return m.scalars.value(given)
    raise CaptureRefusal(f"the host function {fn.name} is given a {type(given).__name__}",
                         "pass tensors and numbers; keep everything else inside the function", kind="host_function")


def _results(m: Any, fn: HostFunction, args: tuple) -> tuple[list, bool]:
    """The types of the results, and whether the function gives one that is no tuple."""
    if fn.results is not None:
        return fn.results, fn.single
    fixed = all(type(d) is int for a in args if isinstance(a, torch.Tensor) for d in a.shape)
    try:
        with torch.no_grad(), outside_generators.put_back():
            returned = fn.function(*[_example(m, a) for a in args])
    except Exception as error:
        raise CaptureRefusal(f"the host function {fn.name} could not be run on example values "
                             f"({type(error).__name__}: {error})",
                             "declare what it gives: @dycl.host_function(results=...)", kind="host_function") from error
    if returned is None:
        return [], False
    single = not isinstance(returned, (tuple, list))
    types = [describe(r) for r in ([returned] if single else returned)]
    if any(t is None for t in types):
        raise CaptureRefusal(f"the host function {fn.name} gives something other than tensors and numbers",
                             "return tensors, ints, floats and bools", kind="host_function")
    if not fixed:  # extents may follow the arguments'
        types = [t if isinstance(t, str) else (t[0], tuple(None for _ in t[1])) for t in types]
    return types, single


def _example(m: Any, given: Any) -> Any:
    recorder = m.recorder
    if isinstance(given, torch.Tensor):
        known = recorder.numbers.static(given)
        if known is not None:
            return known.detach().clone()
        sizes = [d if type(d) is int else recorder.symbols.hint(d) for d in given.shape]
        return torch.zeros(sizes, dtype=given.dtype)
    own = stand_in_of(given)
    return given if own is None else own.small_example(m)
