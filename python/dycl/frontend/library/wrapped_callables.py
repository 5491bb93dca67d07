# SPDX-License-Identifier: Apache-2.0
"""Callables around others: enums, operator's getters, progress bars, loggers,
and what torch.compile and torch.jit wrap."""

from __future__ import annotations

import enum
import functools
import operator
import sys
import types
from typing import Any

import torch

from .. import torch_internals
from ..polyfills import builtins as polyfills
from ..polyfills.registry import POLYFILLS
from ..semantics import keys, registry
from ..state.interpreter import Interpreter
from ..state.state import State
from ..values.stand_in import made_stand_in, type_of
from ..values.text import RtText
from ..values.text_formatting import format_value
from .torch import functions


@registry.finds(types.MethodType)
def _autograd_function(fn: types.MethodType) -> Any:
    if isinstance(fn.__self__, type) and fn.__name__ == "apply" and issubclass(fn.__self__, torch.autograd.Function):
        return functools.partial(functions.autograd_apply, fn.__self__)
    return None


@registry.finds(torch.nn.Module)
def _compiled_module(fn: torch.nn.Module) -> Any:
    """What torch.compile was given."""
    kind = type(fn)
    inner = fn.__dict__["_modules"].get("_orig_mod") if kind.__name__ == "OptimizedModule" else None
    if inner is None or kind is not getattr(sys.modules.get(torch_internals.COMPILED_MODULES), "OptimizedModule", None):
        return None
    return lambda m, s, args, kwargs: m.call(s, inner, args, kwargs)


@registry.finds(enum.EnumMeta)
def _enumeration(cls: Any) -> Any:
    return functools.partial(_member, cls)


def _member(cls: Any, m: Interpreter, s: State, args: tuple, kwargs: dict) -> Any:
    """Color(n) of a number known only at run time."""
    if len(args) != 1 or kwargs or made_stand_in(args[0]) is None or type_of(m, args[0]) not in (int, str):
        return NotImplemented
    if (type(cls).__call__ is not enum.EnumMeta.__call__ or issubclass(cls, enum.Flag)
            or getattr(cls._missing_, "__func__", None) is not enum.Enum._missing_.__func__ or not cls.__members__):
        return NotImplemented
    text = RtText.join([format_value(m, args[0], "", 2), f" is not a valid {cls.__qualname__}"])
    return cls._value2member_map_[keys.present_key(m, args[0], cls._value2member_map_, ValueError(text))]


@registry.finds(operator.itemgetter, operator.attrgetter, operator.methodcaller)
def _operator_getter(fn: Any) -> Any:
    return functools.partial(_getter, fn)


def _getter(fn: Any, m: Interpreter, s: State, args: tuple, kwargs: dict) -> Any:
    """What operator's getters do, as code of the program: items and attributes may be the model's,
    keys known only at run time."""
    if len(args) != 1 or kwargs:
        return NotImplemented
    made = fn.__reduce__()
    named = made[0].keywords if isinstance(made[0], functools.partial) else {}
    held = (*made[0].args, *made[1]) if isinstance(made[0], functools.partial) else made[1]
    more = (named,) if type(fn) is operator.methodcaller else ()
    return m.call(s, POLYFILLS[type(fn).__call__], (args[0], held, *more), {})


@registry.finds(type)
def _progress_bar(cls: type) -> Any:
    if cls.__module__.partition(".")[0] == "tqdm" and hasattr(cls, "set_postfix"):
        return lambda m, s, args, kwargs: m.call(s, polyfills.Progress, args, kwargs)
    return None


@registry.finds(types.FunctionType)
def _torch_wrapper(fn: types.FunctionType) -> Any:
    inner = _wrapped_by_torch(fn) if fn.__dict__ else None
    return (lambda m, s, args, kwargs: m.call(s, inner, args, kwargs)) if inner is not None else None


def _wrapped_by_torch(fn: types.FunctionType) -> Any:
    """The user's function inside torch.compile, torch.compiler.disable or torch.jit.script_if_tracing; else None."""
    names = ("_torchdynamo_inline", "_torchdynamo_orig_callable")
    found = next((fn.__dict__[n] for n in names if fn.__dict__.get(n) is not None), None)
    if found is None and "__script_if_tracing_wrapper" in fn.__dict__:
        found = fn.__dict__.get("__original_fn")
    return found if found is not fn else None


@registry.finds_in(torch_internals.MUTATION_GUARD)
def _patched_by_dynamo(fn: Any) -> Any:
    """Once torch.compile was used, nn.Module.__init__ is a wrapper that notes new modules:
    the function inside is called."""
    if not isinstance(fn, types.FunctionType):
        return None
    inner = [c.cell_contents for c in fn.__closure__ or () if isinstance(c.cell_contents, types.FunctionType)]
    return (lambda m, s, args, kwargs: m.call(s, inner[0], args, kwargs)) if len(inner) == 1 else None


_ABOUT_LOGGING = {"getLogger", "getChild", "isEnabledFor", "getEffectiveLevel", "getLevelName", "hasHandlers"}


@registry.finds_in("logging", "warnings")
def _logging(fn: Any) -> Any:
    return _ask_logging(fn) if fn.__name__ in _ABOUT_LOGGING else registry.ignore


def _ask_logging(fn: Any) -> Any:
    """What only looks at loggers is answered as it is while compiling."""
    return (lambda m, s, args, kwargs: NotImplemented if m.has_runtime(args) or m.has_runtime(kwargs)
            else fn(*args, **kwargs))
