# SPDX-License-Identifier: Apache-2.0
"""What a model does once, in its first call: libraries fill caches of their own,
and models install hooks on their modules.

Such writes look like states between calls. `warm` runs a copy of the model, which fills what libraries keep in globals.
`install_hooks` goes further where all that the first call leaves behind is hooks (functions that hold nothing which
could depend on the input) and flags that say so, and the second call gives what the first gave: then the model itself
is called once, and captured as it is from its second call on.
Whatever else a first call changes remains a state, or is refused.
"""

from __future__ import annotations

import contextlib
import copy
import io
import types
from typing import Any

import torch
from torch import nn

from ...calling.same_contents import same
from ...objects import closed_over
from ..state.kinds import kind_of_object

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_forward_hooks_with_kwargs", "_forward_pre_hooks_with_kwargs",
          "_forward_hooks_always_called")
_PLAIN = (str, int, float, bool, type(None), torch.dtype, torch.device, type, nn.Module, types.ModuleType)


def warm(fn: Any, args: tuple, kwargs: dict) -> bool:
    """Runs a copy once; False: there is none, or it fails."""
    copied = _copy(fn)
    return copied is not None and _call(copied, args, kwargs) is not None


def install_hooks(fn: Any, args: tuple, kwargs: dict) -> bool:
    """Calls the model itself once, if a copy shows that only hooks come of it."""
    copied = _copy(fn)
    if copied is None:
        return False
    before = _snapshot(copied)
    first = _call(copied, args, kwargs)
    if first is None or not _only_hooks(before, _snapshot(copied)):
        return False
    settled = _snapshot(copied)
    second = _call(copied, args, kwargs)
    if second is None or not same(first[0], second[0]) or _changes(settled, _snapshot(copied)):
        return False
    return _call(fn, args, kwargs) is not None


# ---- copies and calls --------------------------------------------------------------------------------


def _copy(fn: Any) -> Any:
    """The callable over copies of its modules; None if it has none of its own."""
    try:
        if isinstance(fn, types.FunctionType):
            if not _roots(fn):
                return None
            closure = tuple(types.CellType(copy.deepcopy(cell.cell_contents)) for cell in fn.__closure__ or ())
            made = types.FunctionType(fn.__code__, fn.__globals__, fn.__name__, copy.deepcopy(fn.__defaults__), closure)
            made.__kwdefaults__ = copy.deepcopy(fn.__kwdefaults__)
            return made
        owner = getattr(fn, "__self__", None)
        copied = copy.deepcopy(fn) if owner is None else getattr(copy.deepcopy(owner), fn.__name__)
        return None if copied is fn else copied
    except Exception:
        return None


def _call(fn: Any, args: tuple, kwargs: dict) -> tuple | None:
    try:
        args, kwargs = copy.deepcopy((args, kwargs))
        with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
            return (fn(*args, **kwargs),)
    except Exception:
        return None


def _roots(fn: Any) -> list[nn.Module]:
    if isinstance(fn, nn.Module):
        return [fn]
    if isinstance(fn, types.FunctionType):
        held = closed_over(fn) + list(fn.__defaults__ or ())
        return [m for x in held for m in ([x] if isinstance(x, nn.Module) else _roots(getattr(x, "__self__", None)))]
    owner = getattr(fn, "__self__", None)
    return _roots(owner) if owner is not None else []


# ---- what changed ---------------------------------------------------------------------------------------


def _snapshot(fn: Any) -> list[tuple[nn.Module, dict]]:
    modules = list(dict.fromkeys(m for root in _roots(fn) for m in root.modules()))
    return [(m, {name: _kept(value) for name, value in m.__dict__.items()}) for m in modules]


def _kept(value: Any, depth: int = 4) -> Any:
    """Contents as they are now."""
    if isinstance(value, torch.Tensor):
        return (value, value.detach().clone())
    if isinstance(value, dict) and depth:
        return {k: _kept(v, depth - 1) for k, v in value.items()}
    if isinstance(value, (list, tuple)) and depth:
        return [_kept(v, depth - 1) for v in value]
    if isinstance(value, set):
        return set(value)
    if (hasattr(value, "__dict__") and depth
            and not isinstance(value, (nn.Module, type, types.FunctionType, types.MethodType))):
        return (value, {k: _kept(v, depth - 1) for k, v in vars(value).items()})
    return value


def _changes(before: list, after: list) -> list[tuple[str, Any, Any]]:
    if [id(m) for m, _ in before] != [id(m) for m, _ in after]:
        return [("", None, None)]
    return [(name, old.get(name), new.get(name)) for (_, old), (_, new) in zip(before, after) for name in {**old, **new}
            if not (name in old and name in new and same(old[name], new[name]))]


def _only_hooks(before: list, after: list) -> bool:
    changes = _changes(before, after)
    return any(name in _HOOKS for name, _, _ in changes) and all(
        _added_hooks(old, new) if name in _HOOKS else new is True and old in (None, False)
        for name, old, new in changes)


def _added_hooks(old: Any, new: Any) -> bool:
    return all(key in new and same(old[key], new[key]) for key in old) and all(
        value is True or isinstance(value, types.FunctionType) and _closed(value)
        for key, value in new.items() if key not in old)


def _closed(fn: types.FunctionType, depth: int = 3) -> bool:
    """Nothing that the function holds can change or come from an input."""
    held = kind_of_object(type(fn)).inside(fn) or ()
    return all(isinstance(x, _PLAIN) or isinstance(x, types.FunctionType) and depth > 0 and _closed(x, depth - 1)
               for x in held)
