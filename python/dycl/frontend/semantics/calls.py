# SPDX-License-Identifier: Apache-2.0
"""Calls for the abstract machine: functions, methods, classes, modules and native code.

This and its neighbours, semantics/attributes.py, semantics/operators.py and semantics/subscripts.py, are Python's
object protocol. Each function gives a value at once, or PUSHED when a frame of user code was pushed and the value
arrives on the caller's stack. User code runs in the machine; native code is called directly when it is free of
input-dependent control flow, with objects that it may change touched before.
"""

from __future__ import annotations

import enum
import functools
import operator
import types
from typing import Any

import torch

from .. import torch_internals
from ..diagnostics import CaptureRefusal
from ..polyfills import builtins as polyfills
from ..state.code import info_of
from ..state.interpreter import Interpreter
from ..state.signals import PUSHED
from ..state.state import UNBOUND, Frame, State
from ..values.stand_in import StandIn
from . import attributes, interpretation, opaque_objects, registry, wrong_types
from .lookup import python_method
from .native_calls import native

_VALUES = (int, float, complex, str, bytes, tuple, frozenset, type(None), type, torch.Tensor)
_UNREAD = {id(fn) for fn in (isinstance, issubclass, type, callable, id, hasattr, getattr, setattr,
                             delattr, iter, operator.setitem,
                             # they look at no contents, or note what they read
                             operator.getitem, operator.is_, operator.is_not)}
# nested contents too
_WHOLE = {id(fn) for fn in (str, repr, print, format, hash, sorted, max, min, torch.tensor, torch.as_tensor)}


def call(m: Interpreter, s: State, fn: Any, args: tuple, kwargs: dict) -> Any:
    wrong_types.check_call(m, fn, args, kwargs)
    handler = registry.intercept(fn)
    if handler is not None:
        if not (isinstance(fn, types.FunctionType) or id(fn) in _UNREAD):
            (m.note_deep if id(fn) in _WHOLE else m.note_read)(*args)
        result = handler(m, s, args, kwargs)
        if result is not NotImplemented:
            return result
    if isinstance(fn, types.MethodType):
        return call(m, s, fn.__func__, (fn.__self__, *args), kwargs)
    if isinstance(fn, types.FunctionType):
        if interpretation.interpreted(fn):
            return enter(m, s, fn, args, kwargs)
        return native(m, s, fn, args, kwargs)
    if isinstance(fn, type):
        return construct(m, s, fn, args, kwargs)
    if isinstance(fn, torch.nn.Module):
        return call_module(m, s, fn, args, kwargs)
    if isinstance(fn, types.MethodWrapperType) and fn.__name__ == "__call__" and isinstance(fn.__self__, type):
        return construct_default(m, s, fn.__self__, args, kwargs)  # super().__call__ of a metaclass
    caller = registry.caller(fn)
    if caller is not None:
        return caller(m, s, fn, args, kwargs)
    return _call_object(m, s, fn, args, kwargs)


def _call_object(m: Interpreter, s: State, fn: Any, args: tuple, kwargs: dict) -> Any:
    """Of a class that is none of Python's own for functions."""
    if isinstance(fn, functools.partial):
        return call(m, s, fn.func, (*fn.args, *args), {**fn.keywords, **kwargs})
    written = getattr(fn, "_torchdynamo_inline", None) if isinstance(fn, torch.jit.ScriptFunction) else None
    if isinstance(written, types.FunctionType):  # what torch.jit.script was given: its control flow is Python's
        return call(m, s, written, args, kwargs)
    method = python_method(fn, "__call__")
    if method is not None:
        return call(m, s, method, (fn, *args), kwargs)
    return native(m, s, fn, args, kwargs)


def call_then(m: Interpreter, s: State, fn: Any, args: tuple, kwargs: dict, then) -> Any:
    """Calls fn and hands the result to `then(machine, state, value)` instead of the stack.
    `then` returns None to go on with the next instruction, JUMPED if it set the position."""
    result = call(m, s, fn, args, kwargs)
    if result is PUSHED:
        frame = s.frames[-1]
        if frame.on_return is not None:
            raise AssertionError("two receivers of one result")
        frame.on_return = then
        return PUSHED
    return then(m, s, result)


def enter(m: Interpreter, s: State, fn: types.FunctionType, args: tuple, kwargs: dict) -> Any:
    info = info_of(fn.__code__)
    if len(s.frames) > m.options.max_recursion or info in m.recursions:
        _bound_recursion(m, s, info)
    frame = Frame(info, fn, bind(fn, info, args, kwargs, m))
    frame.decided = s.decided
    frame.hidden = interpretation.is_polyfill(fn)
    s.frames.append(frame)
    return PUSHED


def _bound_recursion(m: Interpreter, s: State, info) -> None:
    """A recursion whose end the run decides is unrolled so far; deeper calls fail in the run."""
    same = [frame for frame in s.frames if frame.info is info]
    options = m.options
    if info in m.recursions:
        m.recursions[info] += 1
    branches = m.recursions.get(info, 0) > options.max_recursive_calls
    deepest = len(s.frames) > options.max_depth
    if branches or deepest and (not same or same[0].decided == s.decided):
        raise CaptureRefusal(f"calls nested more than {options.max_recursion if branches else options.max_depth} deep",
                             "bound the recursion by a number known beforehand, or write it as a loop",
                             kind="recursion")
    if not deepest and (len(same) < options.max_recursion or same[-9].decided == same[-1].decided):
        return
    if m.may_catch(RecursionError):
        raise CaptureRefusal("a recursion whose depth is known only at run time, "
                             "inside `try` that might catch its being too deep",
                             "bound the recursion by a number known beforehand", kind="recursion")
    m.recursions.setdefault(info, 0)
    text = f"the recursion was unrolled {len(same)} times"
    span = m.span_of(s)
    m.warn_once(f"{span.file}:{span.line}: {text} (its depth is known only at run time); "
                "deeper calls raise at run time")
    raise RecursionError(f"recursion limit: {text} and would go on")


def bind(fn: types.FunctionType, info, args: tuple, kwargs: dict, m: Interpreter) -> list:
    """The locals of a call, by Python's rules."""
    code = fn.__code__
    count, kwonly = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames
    slots = [UNBOUND] * len(info.local_names)
    if len(args) > count:
        if not code.co_flags & 4:
            raise TypeError(f"{fn.__qualname__}() takes {count} positional arguments but {len(args)} were given")
        slots[count + kwonly] = tuple(args[count:])
        args = args[:count]
    elif code.co_flags & 4:
        slots[count + kwonly] = ()
    slots[: len(args)] = args
    extra: dict | None = {} if code.co_flags & 8 else None
    if kwargs:
        _bind_by_name(fn, slots, kwargs, extra)
    if extra is not None:
        slots[count + kwonly + bool(code.co_flags & 4)] = m.new(extra)
    defaults = fn.__defaults__ or ()
    for k in range(count):
        if slots[k] is UNBOUND:
            d = k - (count - len(defaults))
            if d < 0:
                _missing(fn, "positional", [names[j] for j in range(count - len(defaults)) if slots[j] is UNBOUND])
            slots[k] = defaults[d]
    if kwonly:
        _default_keywords(fn, slots, range(count, count + kwonly))
    return slots


def _bind_by_name(fn: types.FunctionType, slots: list, kwargs: dict, extra: dict | None) -> None:
    """`extra`: what takes the names that are none of its parameters; None: nothing does."""
    code = fn.__code__
    last = code.co_argcount + code.co_kwonlyargcount
    for name, value in kwargs.items():
        k = _parameter(code.co_varnames, name, code.co_posonlyargcount, last)
        if k is None:
            if extra is None:
                raise TypeError(f"{fn.__qualname__}() got an unexpected keyword argument '{name}'")
            extra[name] = value
        elif slots[k] is not UNBOUND:
            raise TypeError(f"{fn.__qualname__}() got multiple values for argument '{name}'")
        else:
            slots[k] = value


def _default_keywords(fn: types.FunctionType, slots: list, places: range) -> None:
    names, defaults = fn.__code__.co_varnames, fn.__kwdefaults__ or {}
    left = [k for k in places if slots[k] is UNBOUND]
    missing = [names[k] for k in left if names[k] not in defaults]
    if missing:
        _missing(fn, "keyword-only", missing)
    for k in left:
        slots[k] = defaults[names[k]]


def _missing(fn: types.FunctionType, kind: str, names: list) -> None:
    quoted = [repr(name) for name in names]
    told = (quoted[0] if len(quoted) == 1
            else f"{', '.join(quoted[:-1])}{',' if len(quoted) > 2 else ''} and {quoted[-1]}")
    raise TypeError(f"{fn.__qualname__}() missing {len(names)} required {kind} "
                    f"argument{'s' if len(names) > 1 else ''}: {told}")


def _parameter(names: tuple, name: str, first: int, last: int) -> int | None:
    for k in range(first, last):
        if names[k] == name:
            return k
    return None


def call_module(m: Interpreter, s: State, module: torch.nn.Module, args: tuple, kwargs: dict) -> Any:
    """nn.Module.__call__: straight to forward when there are no hooks; else torch's own code, interpreted."""
    cls = type(module)
    custom = cls.__call__ if isinstance(cls.__call__, types.FunctionType) else None
    # of a traced module it is one that rewrites what errors say
    if custom is not None and custom is not torch.nn.Module.__call__ and not isinstance(module, torch.fx.GraphModule):
        return call(m, s, custom, (module, *args), kwargs)
    plain = not (module._forward_hooks or module._forward_pre_hooks or module._backward_hooks
                 or getattr(module, "_backward_pre_hooks", None)
                 or any(torch_internals.global_forward_hooks()))
    if not m.options.allow_training and interpretation.training_matters(module) and m.truth(module.training):
        raise CaptureRefusal(f"the module {cls.__name__} is in training mode",
                             "call model.eval() before compiling (--eval), or pass allow_training=True "
                             "(--allow-training)", kind="training")
    if isinstance(module, torch.jit.ScriptModule):
        raise CaptureRefusal("a TorchScript module", "pass the original nn.Module", kind="torchscript")
    if plain:
        return call_then_push(m, s, attributes.load_attr(m, s, module, "forward"), args, kwargs)
    return enter(m, s, torch_internals.module_call, (module, *args), kwargs)


def call_then_push(m, s, fn, args, kwargs):
    if fn is PUSHED:
        raise CaptureRefusal("`forward` is a computed attribute", kind="forward")
    return call(m, s, fn, args, kwargs)


def construct(m: Interpreter, s: State, cls: type, args: tuple, kwargs: dict) -> Any:
    """cls(*args, **kwargs)."""
    if issubclass(cls, StandIn):  # by a polyfill: what has no __dict__ does not change
        made = cls(*args, **kwargs)
        return m.new(made) if hasattr(made, "__dict__") else made
    meta_call = type(cls).__call__
    if isinstance(meta_call, types.FunctionType) and interpretation.interpreted(meta_call) and type(cls) is not type:
        return call(m, s, meta_call, (cls, *args), kwargs)
    return construct_default(m, s, cls, args, kwargs)


def construct_default(m: Interpreter, s: State, cls: type, args: tuple, kwargs: dict) -> Any:
    refuse_finalizer(cls)
    new, init = cls.__new__, cls.__init__
    python_new = isinstance(new, types.FunctionType) and interpretation.interpreted(new)
    python_init = isinstance(init, types.FunctionType) and interpretation.interpreted(init)
    if cls in m.arenas:
        made = m.arenas[cls].new()
        return call(m, s, polyfills.construct_row, (made, init if python_init else None, args, kwargs), {})
    if python_new:
        return call(m, s, polyfills.construct, (cls, new, init if python_init else None, args, kwargs), {})
    if not python_init:
        return adopt_instance(m, cls, native(m, s, cls, args, kwargs))
    if issubclass(cls, BaseException):
        obj = cls.__new__(cls, *args)
    elif new is object.__new__:
        obj = object.__new__(cls)
    else:
        obj = new(cls) if issubclass(cls, (dict, list, set)) else new(cls, *args, **kwargs)
    opaque_objects.born(m, m.new(obj))
    m.constructed[cls] += 1
    result = call(m, s, init, (obj, *args), kwargs)
    if result is PUSHED:
        s.frames[-1].result = (obj,)
        return PUSHED
    return obj


def adopt_instance(m: Interpreter, cls: type, made: Any) -> Any:
    """What native code has made of a class. Numbers, texts and tuples have contents that may change only as
    attributes."""
    own = (not isinstance(made, _VALUES) or hasattr(made, "__dict__")
           and not isinstance(made, (enum.Enum, type, torch.Tensor)))
    return m.new(made) if own and type(made) is cls else made


def refuse_finalizer(cls: type) -> None:
    """Python runs __del__ when the last name of an object goes, which is not followed."""
    if isinstance(found := getattr(cls, "__del__", None), types.FunctionType) and interpretation.interpreted(found):
        raise CaptureRefusal(f"a {cls.__name__} is made, whose __del__ Python runs when its last name goes",
                             "call what it does where it is to happen", kind="heap")
