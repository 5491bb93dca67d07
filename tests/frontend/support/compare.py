# SPDX-License-Identifier: Apache-2.0
"""Is what the compiled program gave the same as what eager gave?

`differences(expected, actual)` walks two values side by side and returns lines that say where they
differ: structure and exact types of containers and Python scalars, dtype, shape and values of tensors
(integers and bools exactly, floats within a tight tolerance), fields of dataclasses and attributes of
user objects. Cycles and shared sub-objects are followed once. `state_of` gives what a callable can
remember between calls, in a form that `differences` understands; `copy_value` copies it.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import enum
import math
import types
from typing import Any

import numpy as np
import torch

RTOL = 1e-5
ATOL = 1e-6
MAX_LINES = 8


def differences(expected: Any, actual: Any, path: str = "result", rtol: float = RTOL, atol: float = ATOL) -> list[str]:
    """Lines that say where `actual` differs from `expected`; empty when they are the same."""
    found: list[str] = []
    _walk(expected, actual, path, found, set(), rtol, atol)
    return found[:MAX_LINES]


def _same_key(a: Any, b: Any) -> bool:
    """Equal, or objects of one class that are equal to themselves alone."""
    return a == b or type(a) is type(b) and type(a).__eq__ is object.__eq__


def _walk(a: Any, b: Any, path: str, out: list[str], seen: set, rtol: float, atol: float) -> None:
    if len(out) >= MAX_LINES or (id(a), id(b)) in seen:
        return
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        _tensors(a, b, path, out, rtol, atol)
        return
    if type(a) is not type(b):
        if getattr(type(a), "__qualname__", 0) != getattr(type(b), "__qualname__", 1):
            out.append(f"{path}: eager gives {_show(a)}, compiled gives {_show(b)}")
            return  # classes of two executions of one source differ by identity only
    if isinstance(a, float):
        if not _close(a, b, rtol, atol):
            out.append(f"{path}: eager gives {a!r}, compiled gives {b!r}")
        return
    if a is None or isinstance(a, (bool, int, str, bytes, complex, enum.Enum, torch.dtype, torch.device, slice, range)):
        if isinstance(a, enum.Enum):
            a, b = (a.name, a.value), (b.name, b.value)
        if a != b:
            out.append(f"{path}: eager gives {a!r}, compiled gives {b!r}")
        return
    if isinstance(a, (np.ndarray, np.generic)):
        if a.dtype != b.dtype or a.shape != b.shape or not np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True):
            out.append(f"{path}: eager gives {_show(a)}, compiled gives {_show(b)}")
        return
    seen.add((id(a), id(b)))
    if isinstance(a, (list, tuple, collections.deque)):
        # a subclass may refuse len()
        a, b = ([*next(k for k in (list, tuple, collections.deque) if isinstance(x, k)).__iter__(x)] for x in (a, b))
        if len(a) != len(b):
            out.append(f"{path}: eager has {len(a)} elements, compiled has {len(b)}")
            return
        for i, (x, y) in enumerate(zip(a, b)):
            _walk(x, y, f"{path}[{i}]", out, seen, rtol, atol)
        return
    if isinstance(a, (set, frozenset)):
        if a != b:
            out.append(f"{path}: eager gives {a!r}, compiled gives {b!r}")
        return
    if isinstance(a, dict):
        if len(a) != len(b) or not all(map(_same_key, a, b)):
            out.append(f"{path}: eager has keys {list(a)}, compiled has {list(b)}")
            return
        for k, other in zip(list(a), list(b)):
            _walk(a[k], b[other], f"{path}[{k!r}]", out, seen, rtol, atol)
        return
    if isinstance(a, (types.FunctionType, types.BuiltinFunctionType, types.MethodType, type, types.ModuleType)):
        if getattr(a, "__qualname__", None) != getattr(b, "__qualname__", None):
            out.append(f"{path}: eager gives {_show(a)}, compiled gives {_show(b)}")
        return
    if isinstance(a, torch.nn.Module):
        _walk(module_state(a), module_state(b), path, out, seen, rtol, atol)
        return
    if hasattr(a, "__dict__"):
        _walk(dict(a.__dict__), dict(b.__dict__), path, out, seen, rtol, atol)
    if hasattr(type(a), "__slots__"):
        for name in type(a).__slots__:
            _walk(getattr(a, name, None), getattr(b, name, None), f"{path}.{name}", out, seen, rtol, atol)


def _tensors(a: Any, b: Any, path: str, out: list[str], rtol: float, atol: float) -> None:
    if not (isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)):
        out.append(f"{path}: eager gives {_show(a)}, compiled gives {_show(b)}")
    elif a.dtype != b.dtype:
        out.append(f"{path}: eager has dtype {a.dtype}, compiled has {b.dtype}")
    elif a.shape != b.shape:
        out.append(f"{path}: eager has shape {tuple(a.shape)}, compiled has {tuple(b.shape)}")
    else:
        a, b = a.detach(), b.detach()
        if a.is_floating_point() or a.is_complex():
            if a.dtype in (torch.float16, torch.bfloat16):
                rtol, atol = max(rtol, 1e-2), max(atol, 1e-3)
            same = torch.allclose(a.double() if not a.is_complex() else a, b.double() if not b.is_complex() else b,
                                  rtol=rtol, atol=atol, equal_nan=True)
        else:
            same = torch.equal(a, b)
        if not same:
            out.append(f"{path}: eager gives {_show(a)}, compiled gives {_show(b)}")


def _close(a: float, b: float, rtol: float, atol: float) -> bool:
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    if math.isinf(a) or math.isinf(b):
        return a == b
    return abs(a - b) <= atol + rtol * abs(a)


def _show(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        text = " ".join(str(value.detach()).split())
    else:
        try:
            text = f"{type(value).__name__} {value!r}"
        except Exception:
            text = f"a {type(value).__name__}"
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
