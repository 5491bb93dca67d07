# SPDX-License-Identifier: Apache-2.0
"""Is what the compiled program gave the same as what eager gave?

`differences(expected, actual)` walks two values side by side (`dycl.verification.compare`) and returns lines that say
where they differ: structure and exact types of containers and Python scalars, dtype, shape and values of tensors
(integers and bools exactly, floats within a tight tolerance), fields of dataclasses and attributes of user objects, the
state of modules. Cycles and shared sub-objects are followed once. `state_of` gives what a callable can remember between
calls, in a form that `differences` understands; `copy_value` copies it.
"""

from __future__ import annotations

import array
import collections
import copy
import dataclasses
import enum
import math
import types
from typing import Any

import numpy as np
import torch

from dycl.verification import compare

RTOL = 1e-5
ATOL = 1e-6
MAX_LINES = 8


class Eager(compare.Policy):
    """The outcome of a program beside eager's, where both began with a model of their own: classes, functions and
    modules of the two are others that say the same. What has neither attributes nor contents is not compared."""

    def same_class(self, a: type, b: type) -> bool:
        return a is b or a.__qualname__ == b.__qualname__  # of two executions of one source

    def same_key(self, a: Any, b: Any) -> bool:
        """Equal, or objects of one class that are equal to themselves alone."""
        return a == b or type(a) is type(b) and type(a).__eq__ is object.__eq__

    def same_float(self, a: float, b: float) -> bool:
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        if math.isinf(a) or math.isinf(b):
            return a == b
        return abs(a - b) <= self.atol + self.rtol * abs(a)

    def of_values(self, a: torch.Tensor, b: torch.Tensor) -> str:
        half = a.dtype in (torch.float16, torch.bfloat16)
        rtol, atol = (max(self.rtol, 1e-2), max(self.atol, 1e-3)) if half else (self.rtol, self.atol)
        x, y = (t if t.is_complex() else t.double() for t in (a, b))
        same = torch.allclose(x, y, rtol=rtol, atol=atol, equal_nan=True)
        return "" if same else f"eager gives {_show(a)}, compiled gives {_show(b)}"

    def parts(self, x: Any) -> Any:
        if isinstance(x, _WITHOUT_PARTS) or isinstance(x, dict):
            return x
        if isinstance(x, array.array):
            return [x.typecode, *x]
        for base in (list, tuple, collections.deque):
            if isinstance(x, base):
                return [*base.__iter__(x)]  # a subclass may refuse len()
        if isinstance(x, torch.nn.Module):
            return module_state(x)
        slots = {name: getattr(x, name, None) for name in getattr(type(x), "__slots__", ())}
        return {**getattr(x, "__dict__", {}), **slots}

    def same(self, a: Any, b: Any) -> bool:
        if isinstance(a, (np.ndarray, np.generic)):
            return a.dtype == b.dtype and a.shape == b.shape and np.allclose(a, b, self.rtol, self.atol, equal_nan=True)
        if isinstance(a, enum.Enum):
            return (a.name, a.value) == (b.name, b.value)
        if isinstance(a, _SAME_BY_NAME):
            return getattr(a, "__qualname__", None) == getattr(b, "__qualname__", None)
        return a == b


_SAME_BY_NAME = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, type, types.ModuleType)
_WITHOUT_PARTS = (type(None), bool, int, str, bytes, complex, enum.Enum, torch.dtype, torch.device, slice, range,
                  set, frozenset, np.ndarray, np.generic, *_SAME_BY_NAME)


def differences(expected: Any, actual: Any, path: str = "result", rtol: float = RTOL, atol: float = ATOL) -> list[str]:
    """Lines that say where `actual` differs from `expected`; empty when they are the same."""
    return compare.differences(expected, actual, path, Eager(rtol, atol))[:MAX_LINES]


def _show(value: torch.Tensor) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 160 else text[:157] + "..."


# Attributes every nn.Module has; what the user adds is the rest.
_MODULE_FIELDS = frozenset(torch.nn.Module().__dict__)


def module_state(module: torch.nn.Module) -> dict[str, Any]:
    """Everything a module can remember: parameters, buffers, attributes, its sub-modules' likewise."""
    state: dict[str, Any] = {"training": module.training}
    state.update({f"parameter {k}": v for k, v in module._parameters.items()})
    state.update({f"buffer {k}": v for k, v in module._buffers.items()})
    state.update({k: v for k, v in module.__dict__.items()
                  if k not in _MODULE_FIELDS and not isinstance(v, (types.FunctionType, types.MethodType,
                                                                    torch.utils.hooks.RemovableHandle))})
    for name, child in module._modules.items():
        state[f"module {name}"] = None if child is None else module_state(child)
    return state


def state_of(target: Any) -> Any:
    """What `target` (module, bound method, function with cells and defaults) remembers between calls."""
    if isinstance(target, torch.nn.Module):
        return module_state(target)
    if isinstance(target, types.MethodType):
        owner = target.__self__
        return module_state(owner) if isinstance(owner, torch.nn.Module) else dict(getattr(owner, "__dict__", {}))
    if isinstance(target, types.FunctionType):
        cells = {}
        for name, cell in zip(target.__code__.co_freevars, target.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            if value is not target:
                cells[name] = state_of(value) if isinstance(value, (types.FunctionType, torch.nn.Module)) else value
        return {"cells": cells, "defaults": target.__defaults__, "kwdefaults": target.__kwdefaults__}
    if hasattr(target, "__dict__") and not isinstance(target, type):
        return dict(target.__dict__)
    return None


def copy_value(value: Any) -> Any:
    """A deep copy that keeps aliasing, detaches tensors from autograd, and shares what can't be copied."""
    return _copy(value, {})


def _copy(value: Any, memo: dict) -> Any:
    if id(value) in memo:
        return memo[id(value)]
    if isinstance(value, torch.Tensor):
        result = value.detach().clone()
        if isinstance(value, torch.nn.Parameter):
            result = torch.nn.Parameter(result, value.requires_grad)
    elif isinstance(value, list) and type(value) is list:
        result = []
        memo[id(value)] = result
        result.extend(_copy(v, memo) for v in value)
    elif isinstance(value, dict) and type(value) in (dict, collections.OrderedDict):
        result = type(value)()
        memo[id(value)] = result
        for k, v in value.items():
            result[k] = _copy(v, memo)
    elif isinstance(value, tuple):
        parts = [_copy(v, memo) for v in value]
        result = type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    elif isinstance(value, (types.FunctionType, types.ModuleType, type)):
        result = value
    elif isinstance(value, torch.nn.Module) or dataclasses.is_dataclass(value) or hasattr(value, "__dict__"):
        try:
            result = copy.deepcopy(value)
        except Exception:
            result = value
    else:
        result = copy.copy(value) if isinstance(value, (set, frozenset, collections.deque)) else value
    memo[id(value)] = result
    return result
