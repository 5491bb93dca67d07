# SPDX-License-Identifier: Apache-2.0
"""Calls for the abstract machine: functions, methods, classes, modules and native code.

This and its neighbours, attributes.py, operators.py and subscripts.py, are Python's object protocol. Each function gives a value
at once, or PUSHED when a frame of user code was pushed and the value arrives on the caller's stack. User code runs in the machine;
native code is called directly when it is free of input-dependent control flow, with objects that it may change touched before.
"""

from __future__ import annotations

import enum
import functools
import operator
import types
from typing import Any

import torch

from . import bytecode, callbacks, effects, keys, named_axes, ndarrays, policy, remembered, tables
from .diagnostics import CaptureRefusal
from .heap import held
from .lookup import getattr_dict, python_method
from .machine import PUSHED, Machine
from .rtlist import RtList
from .state import UNBOUND, Frame, State

_VALUES = (int, float, complex, str, bytes, tuple, frozenset, type(None), type, torch.Tensor)
_NATIVE_FUNCTIONS = (types.BuiltinFunctionType, types.MethodWrapperType)
_DESCRIPTORS = (types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)
_UNREAD = {id(fn) for fn in (isinstance, issubclass, type, callable, id, hasattr, getattr, setattr, delattr, iter, operator.setitem,
                             operator.getitem, operator.is_, operator.is_not)}  # they look at no contents, or note what they read
_WHOLE = {id(fn) for fn in (str, repr, print, format, hash, sorted, max, min, torch.tensor, torch.as_tensor)}  # nested contents too
_STORING = {"append", "appendleft", "insert", "add", "extend", "__setitem__", "setdefault", "__init__", "__new__", "__setattr__"}


def call(m: Machine, s: State, fn: Any, args: tuple, kwargs: dict) -> Any:
    handler = builtin_calls.intercept(fn)
    if handler is not None:
        if not (isinstance(fn, types.FunctionType) or id(fn) in _UNREAD):
            (m.note_deep if id(fn) in _WHOLE else m.note_read)(*args)
        result = handler(m, s, args, kwargs)
        if result is not NotImplemented:
            return result
    if isinstance(fn, types.MethodType):
        return call(m, s, fn.__func__, (fn.__self__, *args), kwargs)
    if isinstance(fn, types.FunctionType):
        if policy.interpreted(fn):
            return enter(m, s, fn, args, kwargs)
        return native(m, s, fn, args, kwargs)
    if isinstance(fn, type):
        return construct(m, s, fn, args, kwargs)
    if isinstance(fn, functools.partial):
        return call(m, s, fn.func, (*fn.args, *args), {**fn.keywords, **kwargs})
    if isinstance(fn, torch.nn.Module):
        return call_module(m, s, fn, args, kwargs)
    if isinstance(fn, types.MethodWrapperType) and fn.__name__ == "__call__" and isinstance(fn.__self__, type):
        return construct_default(m, s, fn.__self__, args, kwargs)  # super().__call__ of a metaclass
    if isinstance(fn, (*_NATIVE_FUNCTIONS, *_DESCRIPTORS)):
        return native_methods.call_native(m, s, fn, args, kwargs)
    if isinstance(fn, functools._lru_cache_wrapper):
        return remembered.call(m, s, fn, args, kwargs)
    written = getattr(fn, "_torchdynamo_inline", None) if isinstance(fn, torch.jit.ScriptFunction) else None
    if isinstance(written, types.FunctionType):  # what torch.jit.script was given: its control flow is Python's
        return call(m, s, written, args, kwargs)
    method = python_method(fn, "__call__")
    if method is not None:
        return call(m, s, method, (fn, *args), kwargs)
    return native(m, s, fn, args, kwargs)


def call_then(m: Machine, s: State, fn: Any, args: tuple, kwargs: dict, then) -> Any:
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


def enter(m: Machine, s: State, fn: types.FunctionType, args: tuple, kwargs: dict) -> Any:
    info = bytecode.info_of(fn.__code__)
    if len(s.frames) > m.options.max_recursion or info in m.recursions:
        _bound_recursion(m, s, info)
    frame = Frame(info, fn, bind(fn, info, args, kwargs, m))
    frame.decided = s.decided
    frame.hidden = policy.is_shim(fn)
    s.frames.append(frame)
    return PUSHED


def _bound_recursion(m: Machine, s: State, info) -> None:
    """A recursion whose end the run decides is unrolled so far; deeper calls fail in the run."""
    same = [frame for frame in s.frames if frame.info is info]
    options = m.options
    if info in m.recursions:
        m.recursions[info] += 1
    branches = m.recursions.get(info, 0) > options.max_recursive_calls
    deepest = len(s.frames) > options.max_depth
    if branches or deepest and (not same or same[0].decided == s.decided):
        raise CaptureRefusal(f"calls nested more than {options.max_recursion if branches else options.max_depth} deep",
                             "bound the recursion by a number known beforehand, or write it as a loop", kind="recursion")
    if not deepest and (len(same) < options.max_recursion or same[-9].decided == same[-1].decided):
        return
    if m.may_catch(RecursionError):
        raise CaptureRefusal("a recursion whose depth is known only at run time, inside `try` that might catch its being too deep",
                             "bound the recursion by a number known beforehand", kind="recursion")
    m.recursions.setdefault(info, 0)
    text = f"the recursion was unrolled {len(same)} times"
    span = m.span_of(s)
    m.warn_once(f"{span.file}:{span.line}: {text} (its depth is known only at run time); deeper calls raise at run time")
    raise RecursionError(f"recursion limit: {text} and would go on")


def bind(fn: types.FunctionType, info, args: tuple, kwargs: dict, m: Machine) -> list:
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
    for name, value in kwargs.items():
        k = _parameter(names, name, code.co_posonlyargcount, count + kwonly)
        if k is None:
            if extra is None:
                raise TypeError(f"{fn.__qualname__}() got an unexpected keyword argument '{name}'")
            extra[name] = value
        elif slots[k] is not UNBOUND:
            raise TypeError(f"{fn.__qualname__}() got multiple values for argument '{name}'")
        else:
            slots[k] = value
    if extra is not None:
        slots[count + kwonly + bool(code.co_flags & 4)] = m.new(extra)
    defaults = fn.__defaults__ or ()
    for k in range(count):
        if slots[k] is UNBOUND:
            d = k - (count - len(defaults))
            if d < 0:
                _missing(fn, "positional", [names[j] for j in range(count - len(defaults)) if slots[j] is UNBOUND])
            slots[k] = defaults[d]
    for k in range(count, count + kwonly):
        if slots[k] is UNBOUND:
            if fn.__kwdefaults__ is None or names[k] not in fn.__kwdefaults__:
                _missing(fn, "keyword-only", [names[j] for j in range(count, count + kwonly) if slots[j] is UNBOUND
                                              and names[j] not in (fn.__kwdefaults__ or {})])
            slots[k] = fn.__kwdefaults__[names[k]]
    return slots


def _missing(fn: types.FunctionType, kind: str, names: list) -> None:
    quoted = [repr(name) for name in names]
    told = quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])}{',' if len(quoted) > 2 else ''} and {quoted[-1]}"
    raise TypeError(f"{fn.__qualname__}() missing {len(names)} required {kind} argument{'s' if len(names) > 1 else ''}: {told}")


def _parameter(names: tuple, name: str, first: int, last: int) -> int | None:
    for k in range(first, last):
        if names[k] == name:
            return k
    return None


def call_module(m: Machine, s: State, module: torch.nn.Module, args: tuple, kwargs: dict) -> Any:
    """nn.Module.__call__: straight to forward when there are no hooks; else torch's own code, interpreted."""
    cls = type(module)
    custom = cls.__call__ if isinstance(cls.__call__, types.FunctionType) else None
    if custom is not None and custom is not torch.nn.Module.__call__:
        return call(m, s, custom, (module, *args), kwargs)
    hooks = torch.nn.modules.module
    plain = not (module._forward_hooks or module._forward_pre_hooks or module._backward_hooks
                 or getattr(module, "_backward_pre_hooks", None) or hooks._global_forward_hooks
                 or hooks._global_forward_pre_hooks)
    if not m.options.allow_training and policy.training_matters(module) and m.truth(module.training):
        raise CaptureRefusal(f"the module {cls.__name__} is in training mode",
                             "call model.eval() before compiling, or pass allow_training=True", kind="training")
    if isinstance(module, torch.jit.ScriptModule):
        raise CaptureRefusal("a TorchScript module", "pass the original nn.Module", kind="torchscript")
    if plain:
        return call_then_push(m, s, attributes.load_attr(m, s, module, "forward"), args, kwargs)
    return enter(m, s, torch.nn.Module._call_impl, (module, *args), kwargs)


def call_then_push(m, s, fn, args, kwargs):
    if fn is PUSHED:
        raise CaptureRefusal("`forward` is a computed attribute", kind="forward")
    return call(m, s, fn, args, kwargs)


def construct(m: Machine, s: State, cls: type, args: tuple, kwargs: dict) -> Any:
    """cls(*args, **kwargs)."""
    meta_call = type(cls).__call__
    if isinstance(meta_call, types.FunctionType) and policy.interpreted(meta_call) and type(cls) is not type:
        return call(m, s, meta_call, (cls, *args), kwargs)
    return construct_default(m, s, cls, args, kwargs)


def construct_default(m: Machine, s: State, cls: type, args: tuple, kwargs: dict) -> Any:
    refuse_finalizer(cls)
    new, init = cls.__new__, cls.__init__
    python_new = isinstance(new, types.FunctionType) and policy.interpreted(new)
    python_init = isinstance(init, types.FunctionType) and policy.interpreted(init)
    if python_new:
        return call(m, s, m.shim("construct"), (cls, new, init if python_init else None, args, kwargs), {})
    if not python_init:
        return adopt_instance(m, cls, native(m, s, cls, args, kwargs))
    if issubclass(cls, BaseException):
        obj = cls.__new__(cls, *args)
    elif new is object.__new__:
        obj = object.__new__(cls)
    else:
        obj = new(cls) if issubclass(cls, (dict, list, set)) else new(cls, *args, **kwargs)
    effects.born(m, m.new(obj))
    result = call(m, s, init, (obj, *args), kwargs)
    if result is PUSHED:
        s.frames[-1].result = (obj,)
        return PUSHED
    return obj


def adopt_instance(m: Machine, cls: type, made: Any) -> Any:
    """What native code has made of a class. Numbers, texts and tuples have contents that may change only as attributes."""
    own = not isinstance(made, _VALUES) or hasattr(made, "__dict__") and not isinstance(made, (enum.Enum, type, torch.Tensor))
    return m.new(made) if own and type(made) is cls else made


def refuse_finalizer(cls: type) -> None:
    """Python runs __del__ when the last name of an object goes, which is not followed."""
    if isinstance(found := getattr(cls, "__del__", None), types.FunctionType) and policy.interpreted(found):
        raise CaptureRefusal(f"a {cls.__name__} is made, whose __del__ Python runs when its last name goes",
                             "call what it does where it is to happen", kind="heap")


def native(m: Machine, s: State, fn: Any, args: tuple, kwargs: dict) -> Any:
    """Calls code that runs outside the machine."""
    policy.check_native(m, fn)
    if not isinstance(fn, type) and getattr(fn, "__name__", "") not in _STORING:
        m.note_deep(*args, *kwargs.values())
        if not policy.is_torch(fn):
            m.note_objects(*args, *kwargs.values())
            if isinstance(fn, (operator.attrgetter, operator.methodcaller)):
                _note_getter(m, fn, args)
    own = not policy.is_torch(fn) and callbacks.given_methods(fn, args, kwargs)
    if own or callbacks.expected(fn, args, kwargs):
        with callbacks.watched(m, fn, anywhere=own):
            return _run_native(m, fn, args, kwargs)
    return _run_native(m, fn, args, kwargs)


def _note_getter(m: Machine, fn: Any, args: tuple) -> None:
    """operator.attrgetter("a.b") reads attributes on the way, also of modules."""
    for path in fn.__reduce__()[1]:
        x = args[0] if args else None
        for name in path.split(".") if isinstance(path, str) else ():
            m.note_load(x, name)
            x = (getattr_dict(x) or {}).get(name)


def _run_native(m: Machine, fn: Any, args: tuple, kwargs: dict) -> Any:
    found = next((x for x in (*args, *kwargs.values()) if isinstance(x, _STAND_INS)), None)
    if found is not None and not isinstance(found, RtList):
        raise CaptureRefusal(f"{getattr(fn, '__qualname__', fn)} with a dict or set whose keys are known only at run time",
                             "use a loop over it", kind="escape.hash")
    if found is not None:
        m.lists.refuse(found, CaptureRefusal(f"{getattr(fn, '__qualname__', fn)} with a list whose length is known only at run time",
                                             "use torch.stack or torch.cat, or a loop over the list",
                                             kind="list.native"))
    if isinstance(fn, type) and (issubclass(fn, _HOLDING) or issubclass(fn, _KEEPING) and all(type(a) in (list, tuple, dict) for a in args)):
        for value in args:
            touch_argument(m, value)
        return m.new_if_mutable(effects.born(m, fn(*args, **kwargs)))
    if policy.is_torch(fn) or m.has_tensor(args) or m.has_tensor(kwargs):
        for value in (*args, *kwargs.values()):
            if isinstance(value, (list, dict, set)):
                m.note_load(value, "*")
        try:
            if policy.is_native_package(fn) and m.recorder.is_symbolic(args):
                written = named_axes.written_out(fn, args, kwargs)
                if written is not None:
                    return m.recorder.transaction(lambda: m.recorder.native(written, (), {}))
            result = m.recorder.call(fn, args, kwargs)
            return m.new(iterators.NativeIter(result)) if effects.is_native_iterator(result) else _adopt(m, result, (args, kwargs))
        except AssertionError as error:  # shape functions assert what the kernels check
            raise RuntimeError(str(error)) from error
        except (AttributeError, KeyError, NotImplementedError, OSError) as error:
            raise CaptureRefusal(f"{getattr(fn, '__qualname__', fn)} cannot be followed with symbolic tensors "
                                 f"({type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''})",
                                 kind="native.torch") from error
    for value in (*args, *kwargs.values()):
        touch_argument(m, value)
    owner = getattr(fn, "__self__", None)
    watched = effects.watch(args if owner is None else (owner, *args), kwargs)
    try:
        result = ndarrays.run(m, fn, args, kwargs)
    except Exception as error:
        effects.check(m, watched)
        m.refuse_native_failure(fn, args, kwargs, error)
        raise
    effects.check(m, watched)
    if effects.is_native_iterator(result):
        return m.new(iterators.NativeIter(result))
    return m.new_if_mutable(effects.born(m, result))


def _adopt(m: Machine, result: Any, given: Any) -> Any:
    """The lists and dicts that a call with tensors gives (dict.fromkeys, tree_map) are new ones, but for those that it was given."""
    if isinstance(result, (list, dict, tuple)) and not isinstance(result, torch.Size):
        known = set(_containers(given))
        for key, made in _containers(result).items():
            if key not in known and type(made) in (list, dict):
                m.new(made)
    return result


def _containers(tree: Any) -> dict[int, Any]:
    found: dict[int, Any] = {}
    work = [tree]
    while work:
        x = work.pop()
        if isinstance(x, (list, dict, tuple)) and id(x) not in found:
            found[id(x)] = x
            work += held(x)
    return found


_KEEPING = (list, dict, set, types.SimpleNamespace)  # what they are made of they only keep
_HOLDING = (functools.partial, BaseException)  # the same, of all arguments
_STAND_INS = (RtList, *keys.TABLES, tables.RtView)


def touch_argument(m: Machine, value: Any) -> None:
    """Native code might change a container it is given."""
    if isinstance(value, (list, dict, set)):
        m.heap.touch(value)
        m.note_load(value, "*")


def drop(m, s, value):
    return None


def push_none(m, s, value):
    s.frames[-1].stack.append(None)
    return None


def as_call(s: State, result: Any) -> Any:
    """A store written as a call (setattr, operator.setitem): it gives None."""
    if result is PUSHED:
        s.frames[-1].on_return = push_none
    return result


from . import attributes, builtin_calls, iterators, native_methods  # noqa: E402  (they need this module, and an import per call costs)
