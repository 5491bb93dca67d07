# SPDX-License-Identifier: Apache-2.0
"""Python's object protocol for the abstract machine: calls, attributes, operators, subscripts.

Each function gives a value at once, or PUSHED when a frame of user code was pushed and the value
arrives on the caller's stack. User code runs in the machine; native code is called directly when it
is free of input-dependent control flow, with objects that it may change touched before.
"""

from __future__ import annotations

import collections
import functools
import numbers
import operator
import types
from typing import Any

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensor

from . import bytecode, callbacks, effects, keys, named_axes, ndarrays, parameterness, policy, remembered, tables
from .diagnostics import CaptureRefusal
from .heap import is_slot, unfollowed
from .machine import JUMPED, PUSHED, Machine
from .rtlist import RtList
from .runtime_text import RtText, percent
from .scalars import TURNED, kind_of
from .slices import narrow
from .state import UNBOUND, Frame, State
from .values import EXAMPLES, RtFloat, RtInt, RtScalar

_MISSING = object()
_VALUES = (int, float, complex, str, bytes, tuple, frozenset, type(None), type, torch.Tensor)
_NATIVE_FUNCTIONS = (types.BuiltinFunctionType, types.MethodWrapperType)
_DESCRIPTORS = (types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)


# ---- calling -----------------------------------------------------------------------------


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
        return call_then_push(m, s, load_attr(m, s, module, "forward"), args, kwargs)
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
    new, init = cls.__new__, cls.__init__
    python_new = isinstance(new, types.FunctionType) and policy.interpreted(new)
    python_init = isinstance(init, types.FunctionType) and policy.interpreted(init)
    if python_new:
        return call(m, s, m.shim("construct"), (cls, new, init if python_init else None, args, kwargs), {})
    if not python_init:
        made = native(m, s, cls, args, kwargs)
        return m.new(made) if type(made) is cls and not isinstance(made, _VALUES) else made
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
                    return m.recorder.native(written, (), {})
            return m.recorder.call(fn, args, kwargs)
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


_KEEPING = (list, dict, set, types.SimpleNamespace)  # what they are made of they only keep
_HOLDING = (functools.partial, BaseException)  # the same, of all arguments
_STAND_INS = (RtList, *keys.TABLES, tables.RtView)


def touch_argument(m: Machine, value: Any) -> None:
    """Native code might change a container it is given."""
    if isinstance(value, (list, dict, set)):
        m.heap.touch(value)
        m.note_load(value, "*")


# ---- attributes ----------------------------------------------------------------------------


def mro_lookup(cls: type, name: str) -> Any:
    for base in cls.__mro__:
        found = base.__dict__.get(name, _MISSING)
        if found is not _MISSING:
            return found
    return _MISSING


def python_method(obj: Any, name: str) -> Any:
    """The Python function that implements a special method of obj's class, if user code does."""
    found = mro_lookup(type(obj), name)
    if isinstance(found, types.FunctionType) and policy.interpreted(found):
        return found
    return None


def special_method(m: Machine, obj: Any, name: str) -> Any:
    """obj's special method, bound; None if its class has none."""
    own = builtin_calls.special_object_method(m, obj, name)
    if own is not None:
        return own
    found = mro_lookup(type(obj), name)
    if found is _MISSING or found is None:
        return None
    return types.MethodType(found, obj) if isinstance(found, types.FunctionType) else found.__get__(obj, type(obj))


def truth_method(m: Machine, value: Any) -> Any:
    """The Python function that decides bool(value), bound; None if no user code is needed."""
    if value is None or type(value) in (bool, int, float, str, list, tuple, dict) or isinstance(value, RtScalar):
        return None
    for name in ("__bool__", "__len__"):
        found = mro_lookup(type(value), name)
        if isinstance(found, types.FunctionType) and policy.interpreted(found):
            return types.MethodType(found, value)
        if found is not _MISSING:
            return None
    return None


def load_attr(m: Machine, s: State, obj: Any, name: str) -> Any:
    if type(name) is not str:
        if isinstance(name, RtText):
            name = attribute_of_text(m, obj, name)
        if not isinstance(name, str):
            raise TypeError(f"attribute name must be string, not '{type(name).__name__}'")
    cls = type(obj)
    if type(cls) is type and cls.__getattribute__ is _DEFAULT and issubclass(cls, torch.nn.Module):
        return default_attr(m, s, obj, name)
    own = builtin_calls.special_attribute(m, s, obj, name)
    if own is not NotImplemented:
        return own
    if isinstance(obj, super):
        return super_attr(m, s, obj, name)
    if isinstance(obj, (types.ModuleType, type)):
        return _class_attr(m, s, obj, name)
    custom = mro_lookup(cls, "__getattribute__")
    if isinstance(custom, types.FunctionType) and policy.interpreted(custom):
        return call(m, s, custom, (obj, name), {})
    return default_attr(m, s, obj, name)


_DEFAULT = object.__getattribute__


def attribute_of_text(m: Machine, obj: Any, text: RtText) -> str:
    names = set(dir(type(obj))) | set(getattr_dict(obj) or ())
    if isinstance(obj, torch.nn.Module):
        names |= {*obj._modules, *obj._parameters, *obj._buffers}
    try:
        return m.decide_text(text, sorted(names))
    except KeyError:
        raise AttributeError("an attribute known only at run time") from None


def _class_attr(m, s, obj, name):
    return getattr(obj, name)


def default_attr(m: Machine, s: State, obj: Any, name: str, fallback: bool = True) -> Any:
    """object.__getattribute__(obj, name), then __getattr__."""
    cls = type(obj)
    if name == "__dict__" and getattr_dict(obj) is not None:
        own = getattr_dict(obj)
        m.heap.owner_of_dict[id(own)] = obj
        return m.new(own) if m.is_born(obj) else own
    attr = mro_lookup(cls, name)
    if attr is not _MISSING:
        if isinstance(attr, property):
            if attr.fget is None:
                raise AttributeError(f"property '{name}' of '{cls.__name__}' object has no getter")
            return _call_or_getattr(m, s, attr.fget, obj)
        if hasattr(type(attr), "__set__") and not isinstance(attr, type):
            if isinstance(mro_lookup(type(attr), "__get__"), types.FunctionType):
                return bind_descriptor(m, s, attr, obj, cls, name)
            m.note_load(obj, name)
            return getattr(obj, name)
    own = getattr_dict(obj)
    if own is not None and name in own:
        m.note_load(obj, name)
        return own[name]
    if own is not None:
        m.note_load(obj, name)  # that it is not there is a fact of this call
    if attr is not _MISSING:
        return bind_descriptor(m, s, attr, obj, cls, name)
    if isinstance(obj, torch.nn.Module):
        for table in ("_parameters", "_buffers", "_modules"):
            entries = own.get(table)
            if entries is not None:
                m.note_load(entries, name)  # that it is not there, too
                if name in entries:
                    return entries[name]
    if fallback:
        custom = mro_lookup(cls, "__getattr__")
        if isinstance(custom, types.FunctionType) and custom is not torch.nn.Module.__getattr__:
            if policy.interpreted(custom):
                return call(m, s, custom, (obj, name), {})
            return getattr(obj, name)
    if own is None and attr is _MISSING:
        return getattr(obj, name)
    raise AttributeError(f"'{cls.__name__}' object has no attribute '{name}'")


def _call_or_getattr(m, s, getter, obj):
    return call(m, s, getter, (obj,), {})


def getattr_dict(obj: Any) -> dict | None:
    try:
        return object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return None


def bind_descriptor(m: Machine, s: State, attr: Any, obj: Any, cls: type, name: str) -> Any:
    if isinstance(attr, types.FunctionType):
        return types.MethodType(attr, obj)
    if isinstance(attr, functools.cached_property):
        return call(m, s, m.shim("cached_property"), (attr.func, obj, attr.attrname), {})
    if isinstance(attr, (staticmethod, classmethod)):
        return attr.__get__(obj, cls)
    getter = mro_lookup(type(attr), "__get__")
    if isinstance(getter, types.FunctionType) and policy.interpreted(getter):
        return call(m, s, getter, (attr, obj, cls), {})
    if getter is not _MISSING:
        return attr.__get__(obj, cls)
    return attr


def super_attr(m: Machine, s: State, sup: super, name: str) -> Any:
    owner, obj, cls = sup.__thisclass__, sup.__self__, sup.__self_class__
    mro = cls.__mro__
    for base in mro[mro.index(owner) + 1:]:
        attr = base.__dict__.get(name, _MISSING)
        if attr is _MISSING:
            continue
        if obj is cls:
            return getattr(sup, name)
        if isinstance(attr, property):
            return call(m, s, attr.fget, (obj,), {})
        return bind_descriptor(m, s, attr, obj, cls, name)
    return getattr(sup, name)


def store_attr(m: Machine, s: State, obj: Any, name: str, value: Any) -> Any:
    """obj.name = value; returns None, or PUSHED with the result dropped."""
    if builtin_calls.store_special(m, s, obj, name, value):
        return None
    cls = type(obj)
    custom = mro_lookup(cls, "__setattr__")
    if isinstance(custom, types.FunctionType) and custom is not torch.nn.Module.__setattr__ and policy.interpreted(custom):
        return call_then(m, s, custom, (obj, name, value), {}, _drop)
    if isinstance(custom, types.WrapperDescriptorType) and custom.__objclass__ not in _KEEPERS:
        raise unfollowed(obj)
    return store_default(m, s, obj, name, value)


_KEEPERS = (object, type, BaseException, types.SimpleNamespace, types.ModuleType, types.FunctionType, *torch.Tensor.__mro__)  # their attributes are where they seem to be


def store_default(m: Machine, s: State, obj: Any, name: str, value: Any) -> Any:
    attr = mro_lookup(type(obj), name)
    if isinstance(attr, property):
        if attr.fset is None:
            raise AttributeError(f"property '{name}' of '{type(obj).__name__}' object has no setter")
        return call_then(m, s, attr.fset, (obj, value), {}, _drop)
    setter = mro_lookup(type(attr), "__set__") if attr is not _MISSING else None
    if isinstance(setter, types.FunctionType) and policy.interpreted(setter):
        return call_then(m, s, setter, (attr, obj, value), {}, _drop)
    if isinstance(attr, (types.GetSetDescriptorType, types.MemberDescriptorType)) and not is_slot(obj, name):
        effects.check_store(m, obj, name, value)
    touch_attributes(m, obj)
    m.note_store(obj, name)
    if isinstance(obj, torch.nn.Module):
        for table in ("_parameters", "_buffers", "_modules"):
            if table in obj.__dict__:
                m.note_store(obj.__dict__[table], name)
        torch.nn.Module.__setattr__(obj, name, value)
    elif isinstance(obj, type):
        if isinstance(mro_lookup(obj, name), (types.FunctionType, property, types.MemberDescriptorType)) or name.startswith("__"):
            raise CaptureRefusal(f"the class attribute {obj.__name__}.{name} is written", kind="class-attribute")
        type.__setattr__(obj, name, value)
    else:
        object.__setattr__(obj, name, value)
    return None


def _drop(m, s, value):
    return None


def push_none(m, s, value):
    s.frames[-1].stack.append(None)
    return None


def as_call(s: State, result: Any) -> Any:
    """A store written as a call (setattr, operator.setitem): it gives None."""
    if result is PUSHED:
        s.frames[-1].on_return = push_none
    return result


def delete_attr(m: Machine, s: State, obj: Any, name: str) -> Any:
    """del obj.name; returns None, or PUSHED with the result dropped."""
    custom = mro_lookup(type(obj), "__delattr__")
    if isinstance(custom, types.FunctionType) and custom is not torch.nn.Module.__delattr__ and policy.interpreted(custom):
        return call_then(m, s, custom, (obj, name), {}, _drop)
    attr = mro_lookup(type(obj), name)
    if isinstance(attr, property) and attr.fdel is not None:
        return call_then(m, s, attr.fdel, (obj,), {}, _drop)
    deleter = mro_lookup(type(attr), "__delete__") if attr is not _MISSING else None
    if isinstance(deleter, types.FunctionType) and policy.interpreted(deleter):
        return call_then(m, s, deleter, (attr, obj), {}, _drop)
    touch_attributes(m, obj)
    delattr(obj, name)
    return None


def touch_attributes(m: Machine, obj: Any) -> None:
    if isinstance(obj, np.ndarray):
        raise CaptureRefusal("an attribute of a numpy array is changed", "use reshape, astype", kind="heap")
    m.heap.touch(obj)
    if isinstance(obj, torch.nn.Module):
        for table in ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"):
            if table in obj.__dict__:
                m.heap.touch(obj.__dict__[table])


# ---- operators ------------------------------------------------------------------------------

_OPERATORS = {"and": "and_", "or": "or_"}


def _operator(op: str, inplace: bool = False):
    if inplace:
        return getattr(operator, "i" + op if op not in ("and", "or") else f"i{op}")
    return getattr(operator, _OPERATORS.get(op, op))


def binary(m: Machine, s: State, op: str, a: Any, b: Any, inplace: bool) -> Any:
    m.note_read(b)
    if not inplace or not isinstance(a, list) or op != "add":
        m.note_read(a)
    if inplace:
        method = python_method(a, f"__i{op}__")
        if method is not None:
            return call(m, s, m.shim("augmented"), (a, b, method, op), {})
    if isinstance(a, RtList) or isinstance(b, RtList):
        return _list_binary(m, s, op, a, b, inplace)
    if m.arrays.concern(a, b):
        return m.arrays.binary(op, a, b, inplace)
    if isinstance(a, str) and op == "mod":
        m.note_deep(b)
    if isinstance(a, str) and op == "mod" and (m.is_tensor(b) or m.has_runtime(b)):
        return _percent_format(m, a, b if isinstance(b, tuple) else (b,))
    if m.is_tensor(a) or m.is_tensor(b):
        if _user_operator(m, s, op, a, b) is not None and not m.is_tensor(a):
            return call(m, s, m.shim("reflected"), (a, b, *_user_operator(m, s, op, a, b), _SIGNS.get(op, op)), {})
        return m.recorder.call(_operator(op, inplace and m.is_tensor(a)), (a, b), {})
    if isinstance(a, RtScalar) or isinstance(b, RtScalar):
        a, b = _plain_number(a, op), _plain_number(b, f"r{op}")
        if op in ("truediv", "floordiv", "mod") and isinstance(b, RtScalar) and m.in_try():
            if m.decide(m.scalars.compare("eq", b, 0)):
                _operator(op)(1.0 if "float" in (kind_of(a), kind_of(b)) else 1, 0)  # raises, with Python's own words
        if op == "pow" and m.in_try():
            zero, negative = m.scalars.compare("eq", a, 0), m.scalars.compare("lt", b, 0)
            if all(x if isinstance(x, bool) else m.decide(x) for x in (zero, negative)):
                raise ZeroDivisionError("0.0 cannot be raised to a negative power")
        if op == "pow" and isinstance(b, RtScalar) and isinstance(a, (int, RtInt)) and not isinstance(b, RtFloat):
            if not m.decide(m.scalars.compare("ge", b, 0)):  # a negative exponent gives a float
                return m.scalars.power_of_ints(a, b, negative=True)
            return m.scalars.power_of_ints(a, b, negative=False)
        result = m.scalars.binary(op, a, b)
        if result is not NotImplemented:
            return result
        if (dunder := _user_operator(m, s, op, a, b)) is not None:
            return call(m, s, m.shim("reflected"), (a, b, *dunder, _SIGNS.get(op, op)), {})
        return _mixed_binary(m, s, op, a, b)
    if isinstance(a, RtText) or isinstance(b, RtText):
        if op == "add" and isinstance(a, (str, RtText)) and isinstance(b, (str, RtText)):
            return RtText.join([a, b])
    if isinstance(a, str) and op == "mod" and m.has_runtime(b):
        return _percent_format(m, a, b if isinstance(b, tuple) else (b,))
    if isinstance(b, keys.TABLES) and isinstance(a, (set, dict)):
        if inplace:
            keys.make_table(m, a, 0)
        a = keys.as_table(m, a)
    dunder = _user_operator(m, s, op, a, b)
    if dunder is not None:
        return call(m, s, m.shim("reflected"), (a, b, *dunder, _SIGNS.get(op, op)), {})
    if op == "add" and isinstance(a, (torch.Size, m.size_type)) and isinstance(b, tuple) or isinstance(
            b, (torch.Size, m.size_type)) and isinstance(a, tuple) and op == "add":
        return sizes(m, (*a, *b))
    if isinstance(a, (list, dict, set)):
        return _container_binary(m, s, op, a, b, inplace)
    if inplace and isinstance(a, np.ndarray):
        m.heap.touch(a)
        return _operator(op, inplace)(a, b)
    result = _operator(op, inplace)(a, b)
    if type(result) is tuple and op == "mul" and isinstance(a if isinstance(a, tuple) else b, m.size_type):
        return sizes(m, result)
    return ndarrays.made(m, result, []) if isinstance(result, np.ndarray) else result


_NUMBERS = (int, float, RtScalar)


def sizes(m: Machine, extents: tuple) -> tuple:
    """A torch.Size of these."""
    return m.size_type(extents) if any(isinstance(x, RtScalar) for x in extents) else torch.Size(extents)


def _mixed_binary(m, s, op, a, b):
    if op == "mul" and (isinstance(a, (list, tuple, str)) or isinstance(b, (list, tuple, str))):
        sequence, count = (a, b) if isinstance(a, (list, tuple, str)) else (b, a)
        if not sequence:
            return m.new_if_mutable(sequence * 0)
        if isinstance(sequence, list) and all(isinstance(x, _NUMBERS) or m.is_tensor(x) for x in sequence):
            return call(m, s, m.shim("repeat_list"), (sequence, count), {})
        if not m.decide(m.scalars.compare("gt", count, 0)):
            return m.new_if_mutable(sequence * 0)
        count = m.decide_value(count, range(1, 65), "a repeat count")
        return sizes(m, sequence * count) if isinstance(sequence, m.size_type) else m.new_if_mutable(sequence * count)
    if isinstance(a, str) and op == "mod":
        return _percent_format(m, a, (b,))
    if not all(isinstance(x, (RtScalar, str, list, tuple, dict, set, type(None))) or kind_of(x) is not None for x in (a, b)):
        number, other = (a, b) if isinstance(a, RtScalar) else (b, a)
        raise CaptureRefusal(f"the operator {_SIGNS[op]} between a number known only at run time and a {type_of(m, other).__name__}",
                             "use plain numbers or tensors", kind="type", because=number)
    raise TypeError(f"unsupported operand type(s) for {_SIGNS[op]}: '{type_of(m, a).__name__}' and '{type_of(m, b).__name__}'")


_SIGNS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "** or pow()", "and": "&",
          "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "matmul": "@", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _plain_number(x: Any, method: str) -> Any:
    """A member of an IntEnum and the like is the number that it is, unless its class says what the operator does."""
    if type(x) in (int, float, bool) or not isinstance(x, (int, float)) or isinstance(x, np.generic):
        return x
    if python_method(x, f"__{method}__") is not None:
        return x
    return int(x) if isinstance(x, int) else float(x)


def _percent_format(m, text, values):
    return percent(m, text, values)


def _user_operator(m: Machine, s: State, op: str, a: Any, b: Any):
    """(forward, reflected) Python methods, if either class defines one in Python."""
    forward, reflected = python_method(a, f"__{op}__"), python_method(b, f"__r{op}__")
    if forward is None and reflected is None:
        return None
    if forward is None and mro_lookup(type(a), f"__{op}__") is not _MISSING and type(a).__module__ != "builtins" and not isinstance(
            a, RtScalar):
        return None
    return forward, reflected


def _container_binary(m: Machine, s: State, op: str, a: Any, b: Any, inplace: bool) -> Any:
    materialise = iterators.materialise
    if inplace:
        if isinstance(a, list) and op == "add":
            items = materialise(m, b)
            if items is None:
                return call(m, s, m.shim("extend_list"), (a, b), {})
            m.heap.touch(a)
            a.extend(items)
            return a
        if isinstance(a, list) and op == "mul":
            m.heap.touch(a)
            a *= b
            return a
        m.heap.touch(a)
        return _operator(op, True)(a, b)
    return m.new(_operator(op)(a, b))


def _list_binary(m: Machine, s: State, op: str, a: Any, b: Any, inplace: bool) -> Any:
    """+ and += where one side's length is known only at run time."""
    if op != "add":
        m.lists.refuse(a if isinstance(a, RtList) else b, CaptureRefusal(
            f"the operator {op} on a list whose length is known only at run time", kind="list.method"))
    if inplace and isinstance(a, RtList) and not a.frozen:
        if isinstance(b, (list, tuple, RtList)):
            m.lists.extend(a, b)
            return a
        return call(m, s, m.shim("extend_list"), (a, b), {})
    if inplace and type(a) is list:
        return call(m, s, m.shim("extend_list"), (a, b), {})
    kinds = {tuple if isinstance(x, tuple) or isinstance(x, RtList) and x.frozen else list if isinstance(
        x, (list, RtList)) else type(x) for x in (a, b)}
    if len(kinds) > 1:
        raise TypeError("can only concatenate lists with lists and tuples with tuples")
    return m.lists.concat(a, b)


def unary(m: Machine, s: State, op: str, x: Any) -> Any:
    if isinstance(x, RtScalar):
        return m.scalars.unary(op, x)
    if m.is_array(x):
        return m.arrays.unary(op, x)
    if m.is_tensor(x):
        return m.recorder.call(_operator(op), (x,), {})
    method = python_method(x, f"__{op}__")
    if method is not None:
        return call(m, s, method, (x,), {})
    result = getattr(operator, op)(x)
    return ndarrays.made(m, result, []) if isinstance(result, np.ndarray) else result


def compare(m: Machine, s: State, op: str, a: Any, b: Any) -> Any:
    m.note_deep(a, b)
    if isinstance(a, RtList) or isinstance(b, RtList):
        return _compare_containers(m, s, op, a, b)
    if m.arrays.concern(a, b):
        return m.arrays.compare(op, a, b)
    forward, reflected = python_method(a, f"__{op}__"), python_method(b, f"__{TURNED.get(op, op)}__")
    if op == "ne" and forward is None and (_negates_equality(a) or reflected is None and _negates_equality(b)):
        return call(m, s, m.shim("not_equal"), (a, b), {})
    if m.is_tensor(a) or m.is_tensor(b):
        if (forward or reflected) is not None and not any(hasattr(type(x), "__torch_function__") for x in (a, b) if not m.is_tensor(x)):
            return call(m, s, m.shim("compared"), (a, b, forward, reflected, _SIGNS.get(op, op)), {})
        if op in ("eq", "ne") and (a is None or b is None or isinstance(a, str) or isinstance(b, str)):
            return op == "ne"
        return m.recorder.call(getattr(operator, op), (a, b), {})
    if (isinstance(a, RtScalar) or isinstance(b, RtScalar)) and forward is None and reflected is None:
        return _compare_numbers(m, op, _plain_number(a, op), _plain_number(b, TURNED.get(op, op)))
    if op in ("eq", "ne") and (isinstance(a, RtText) or isinstance(b, RtText)):
        found = keys.equal(m, a, b)
        return found if op == "eq" else m.scalars.unary("not", found) if isinstance(found, RtScalar) else not found
    if forward is not None or reflected is not None:
        return call(m, s, m.shim("compared"), (a, b, forward, reflected, _SIGNS.get(op, op)), {})
    if isinstance(a, (list, tuple, dict, set)) and type(a) is not str and m.has_runtime((a, b)):
        return _compare_containers(m, s, op, a, b)
    return getattr(operator, op)(a, b)


def _negates_equality(x: Any) -> bool:
    """`!=` asks __eq__, of the user's: object.__ne__ does, those of list, dict or int do not."""
    return python_method(x, "__eq__") is not None and mro_lookup(type(x), "__ne__") is object.__dict__["__ne__"]


def _compare_numbers(m: Machine, op: str, a: Any, b: Any) -> Any:
    for x in (a, b):
        if isinstance(x, numbers.Number) and kind_of(x) is None:
            raise CaptureRefusal(f"a number known only at run time compared with a {type(x).__name__}", "compare it with plain numbers",
                                 kind="type", because=a if x is b else b)
    result = m.scalars.compare(op, a, b)
    if result is NotImplemented:
        raise TypeError(f"'{_SIGNS[op]}' not supported between instances of '{type_of(m, a).__name__}' and '{type_of(m, b).__name__}'")
    return result


_COMPARED = (list, tuple, dict, set, int, float, str, type(None))  # unequal to each other, but for numbers


def _compare_containers(m, s, op, a, b):
    ours, theirs = (next((kind for kind in _COMPARED if issubclass(type_of(m, x), kind)), None) for x in (a, b))
    sequences = ours is theirs and ours in (list, tuple)
    if op in ("eq", "ne") and ours is not None and theirs is not None and ours is not theirs:
        return op == "ne"
    if sequences and op in ("eq", "ne"):
        return call(m, s, m.shim("equal_sequences" if op == "eq" else "unequal_sequences"), (a, b), {})
    if sequences:
        return call(m, s, m.shim("order_sequences"), (a, b, op), {})
    raise CaptureRefusal("containers holding values known only at run time are compared",
                         "compare their elements", kind="compare")


def same_object(m: Machine, a: Any, b: Any) -> bool:
    if isinstance(a, RtScalar) and isinstance(b, RtScalar) and (a is not b or a.kind == "int"):
        if a.kind == b.kind == "bool":
            return m.decide(m.scalars.compare("eq", a, b))
        raise CaptureRefusal("`is` between numbers known only at run time", "use ==", kind="identity", because=a)
    if isinstance(a, RtScalar) and isinstance(b, (bool, int)) or isinstance(b, RtScalar) and isinstance(a, (bool, int)):
        rt, static = (a, b) if isinstance(a, RtScalar) else (b, a)
        if rt.kind == "bool" and isinstance(static, bool):
            return m.decide(m.scalars.compare("eq", rt, static))
        if rt.kind == type(static).__name__:
            raise CaptureRefusal("`is` with a number known only at run time", "use ==", kind="identity", because=rt)
        return False
    if a is not b and type(a) is type(b) and m.heap.fragile:
        for x in (a, b):
            if id(x) in m.heap.fragile:
                m.heap.refuse_fragile(x)
    if a is not b and m.is_tensor(a) and m.is_tensor(b):
        a, b = (known if (known := m.recorder.handle_of(x)) is not None else x for x in (a, b))
        for tensor in (a, b) if a is not b else ():  # a merge may have hidden that they are one in some paths
            if m.is_symbolic(tensor) and callable(tensor._dycl.cell.note):
                tensor._dycl.cell.note()
        m.told_apart.append((a, b))
        if a is not b and not policy.is_torch_file(m.current.frames[-1].info.code.co_filename):  # torch asks to save work: either answer will do
            m.recorder.refuse_identity(a, b)
    return a is b


def contains(m: Machine, s: State, container: Any, item: Any, negate: bool) -> Any:
    if m.is_tensor(container):
        found = m.recorder.call(torch.Tensor.__contains__, (container, item), {}) if False else \
            m.recorder.call(torch.any, (m.recorder.call(operator.eq, (container, item), {}),), {})
        truth = m.tensor_truth(found)
        if isinstance(truth, bool):
            return truth != negate
        return m.scalars.unary("not", truth) if negate else truth
    if isinstance(container, (dict, list, set)):  # of a name: whether it is there
        m.note_load(container, item if isinstance(container, dict) and type(item) is str else "*")
    if isinstance(item, (dict, list, set, tuple)):
        m.note_deep(item, container)
    method = python_method(container, "__contains__")
    if method is not None:
        return call(m, s, m.shim("contains_not" if negate else "contains_yes"), (method, container, item), {})
    simple = isinstance(container, (list, tuple, range))
    lazily = not simple and not isinstance(container, (dict, set, frozenset, str, bytes)) and (
        python_method(container, "__iter__") is not None or not hasattr(type(container), "__contains__"))
    if lazily or simple and (m.has_runtime((item, container)) or m.is_tensor(item)
                             or python_method(item, "__eq__") is not None):
        return call(m, s, m.shim("not_in" if negate else "is_in"), (container, item), {})
    if isinstance(container, (dict, set, frozenset)) and isinstance(item, RtScalar):
        return call(m, s, m.shim("not_in" if negate else "is_in"), (tuple(container), item), {})
    if isinstance(container, (dict, set, frozenset)) and keys.at_run_time(item):
        try:
            keys.present_key(m, item, container, KeyError())
        except KeyError:
            return negate
        return not negate
    return (item in container) != negate


# ---- subscripts -----------------------------------------------------------------------------

_INDEXED = (list, tuple, str, range, collections.deque)
_INDEX = {tuple: "tuple index", str: "string index", range: "range object index", collections.deque: "deque index"}


def asks_index(key: Any) -> bool:
    """Its class says in Python which number it is where an index is wanted."""
    return not isinstance(key, (int, torch.Tensor)) and python_method(key, "__index__") is not None


def static_index(m: Machine, key: Any, length: int, what: str = "list index") -> Any:
    """A subscript of a Python sequence: a runtime int (or 0-d tensor) is decided, one arm per value."""
    if m.is_array(key):
        key = m.tensor_item(key.tensor)
    if m.is_tensor(key):
        key = m.tensor_index(key)
    if isinstance(key, RtFloat):
        raise TypeError("list indices must be integers or slices, not float")
    if isinstance(key, RtScalar):
        first = 0 if m.is_nonnegative(key) else -length
        return m.decide_value(key, range(first, length), "an index", IndexError(f"{what} out of range"))
    if isinstance(key, slice) and any(isinstance(x, RtScalar) or m.is_tensor(x)
                                      for x in (key.start, key.stop, key.step)):
        step = _static_bound(m, key.step, length, -length)
        backwards = isinstance(step, int) and step < 0  # then what is before the first element is another bound than the first
        lowest = -length - 1 if backwards and length else -length
        return slice(*(_static_bound(m, x, length, lowest) for x in (key.start, key.stop)), step)
    return key


def _static_bound(m: Machine, bound: Any, length: int, lowest: int) -> Any:
    if m.is_tensor(bound):
        bound = m.tensor_index(bound)
    if not isinstance(bound, RtScalar):
        return bound
    if m.decide(m.scalars.compare("ge", bound, length)):
        return length
    if m.decide(m.scalars.compare("le", bound, lowest)):
        return lowest
    return m.decide_value(bound, range(lowest + 1, length), "a slice bound")


def slice_bounds(m: Machine, key: Any) -> Any:
    """A subscript whose slices are bounded by numbers: x[:n] with a tensor n of one element; its lists as tensors."""
    if isinstance(key, tuple) and any(isinstance(k, (slice, list, tuple, RtList, iterators.RtRange)) for k in key):
        return tuple(_places(m, k) if type(k) in (list, tuple) else slice_bounds(m, k) for k in key)
    if isinstance(key, iterators.RtRange):
        if type(key.step) is not int:
            raise CaptureRefusal("a tensor indexed by a range whose step is known only at run time", "index with a tensor", kind="index")
        ends = m.scalars.compare("le" if key.step > 0 else "ge", key.stop, key.start)
        empty = ends if isinstance(ends, bool) else m.decide(ends)
        return m.recorder.call(torch.arange, (0,) if empty else (key.start, key.stop, key.step), {})
    if isinstance(key, RtList):
        if key.frozen or key.kind != ("int",):
            m.lists.refuse(key, CaptureRefusal("a tensor indexed by a list whose length is known only at run time and which "
                                               "does not hold ints", "index with a tensor", kind="list.native"))
        return m.lists.numbers(key, torch.int64)
    if type(key) is list and any(isinstance(k, RtScalar) for k in key):
        m.note_load(key, "*")
        kinds = {kind_of(k) for k in key}
        if len(kinds) > 1 or kinds <= {"float"}:
            raise CaptureRefusal("a tensor indexed by a list of numbers of different kinds", "index with a tensor", kind="index")
        return m.recorder.call(torch.tensor, (key,), {})
    if isinstance(key, slice) and any(m.is_tensor(x) for x in (key.start, key.stop, key.step)):
        return slice(*(m.tensor_index(x) if m.is_tensor(x) else x for x in (key.start, key.stop, key.step)))
    return key


def _places(m: Machine, items: Any) -> Any:
    """A list or tuple inside a subscript: numbers in a row, of tensors without dims too."""
    if not items or not all(isinstance(x, (RtInt, int)) or m.is_tensor(x) and not x.dim() and not x.is_floating_point() and x.dtype != torch.bool
                            for x in items) or not any(m.is_tensor(x) for x in items):
        return slice_bounds(m, items) if type(items) is list else items
    m.note_read(items)
    numbers = [m.recorder.call(torch.Tensor.to, (x, torch.int64), {}) if m.is_tensor(x) else m.scalar_tensor(x, torch.int64) for x in items]
    return m.recorder.call(torch.stack, (numbers,), {})


def get_item(m: Machine, s: State, container: Any, key: Any) -> Any:
    if isinstance(container, RtScalar):  # Python's own words: t.squeeze().tolist() of one element is a number
        raise TypeError(f"'{container.kind}' object is not subscriptable")
    if asks_index(key) and (isinstance(container, (*_INDEXED, RtList, torch.Tensor)) and python_method(container, "__getitem__") is None):
        return call(m, s, m.shim("item_at"), (container, key), {})
    if isinstance(container, RtList):
        if isinstance(key, slice) and key.step == -1 and key.start is key.stop is None:
            return call(m, s, m.shim("reversed_copy"), (container,), {})
        return m.lists.get(container, key)
    if m.is_array(container):
        return m.arrays.get_item(container, key)
    if m.is_tensor(container):
        if isinstance(key, RtScalar) and m.in_try() and container.dim() and type(container.shape[0]) is int:
            n = container.shape[0]
            if not (m.decide(m.scalars.compare("lt", key, n)) and m.decide(m.scalars.compare("ge", key, -n))):
                raise IndexError(f"index out of bounds for dimension 0 with size {n}")
        m.note_deep(key)
        container, key = narrow(m, container, slice_bounds(m, key))
        return m.recorder.call(operator.getitem, (container, key), {})
    if isinstance(container, torch.nn.ModuleList | torch.nn.Sequential | torch.nn.ParameterList):
        if isinstance(key, RtScalar) or m.is_tensor(key):
            key = static_index(m, key, _length(container))
    if isinstance(key, RtText) and isinstance(container, (torch.nn.ModuleDict, torch.nn.ParameterDict)):
        key = m.decide_text(key, list(container.keys()))
    method = python_method(container, "__getitem__")
    if method is not None:
        return call(m, s, method, (container, key), {})
    if isinstance(container, _INDEXED):
        if isinstance(container, list):
            m.note_load(container, "*")
        found = container[static_index(m, key, _length(container), _INDEX.get(type(container), "list index"))]
        if type(key) is slice and isinstance(container, m.size_type):
            return sizes(m, found)
        return m.new(found) if type(key) is slice and type(found) is list else found
    if isinstance(container, dict):
        if keys.at_run_time(key):
            made_on_demand = hasattr(container, "default_factory") or python_method(container, "__missing__") is not None
            key = keys.any_key(m, key, container) if made_on_demand else keys.present_key(
                m, key, container, KeyError(key))
        if key not in container and python_method(container, "__missing__") is not None:
            m.note_load(container, key)
            return call(m, s, python_method(container, "__missing__"), (container, key), {})
        m.note_load(container, key)
        if hasattr(container, "default_factory") and key not in container:
            return call(m, s, m.shim("default_entry"), (container, key), {})
        return container[key]
    if isinstance(container, type) or not m.has_runtime(key):
        found = container[key]
        return ndarrays.made(m, found, [container]) if isinstance(found, np.ndarray) else m.new_if_mutable(found)
    if type(container) is np.ndarray:
        return m.arrays.get_known(container, key)
    raise CaptureRefusal(f"a {type(container).__name__} is indexed by a value known only at run time",
                         kind="index", because=key)


def _length(sequence: Any) -> int:
    """Of the elements there are, whatever __len__ of a class of the user's says."""
    kind = next((c for c in (list, tuple, str) if isinstance(sequence, c)), None)
    return len(sequence) if kind is None else kind.__len__(sequence)


def set_item(m: Machine, s: State, container: Any, key: Any, value: Any) -> Any:
    if isinstance(container, RtList):
        return m.lists.set(container, key, value)
    if m.is_array(container):
        return m.arrays.set_item(container, key, value)
    if m.is_tensor(container):
        m.recorder.call(operator.setitem, (container, slice_bounds(m, key), value), {})
        return None
    if isinstance(container, np.ndarray) and m.has_runtime((key, value)):
        ndarrays.at_run_time(m, container)
    method = python_method(container, "__setitem__")
    if method is not None:
        return call_then(m, s, method, (container, key, value), {}, _drop)
    if isinstance(container, (list, collections.deque)):
        key = static_index(m, key, _length(container), _INDEX.get(type(container), "list assignment index"))
        if isinstance(key, slice) and not isinstance(value, (list, tuple, str, RtList)):
            return call_then(m, s, m.shim("assign_slice"), (container, key, value), {}, _drop)
        if isinstance(key, slice) and isinstance(value, RtList):
            if key.step not in (None, 1) or type(container) is not list:
                raise CaptureRefusal("every so many elements of a list are replaced by a list whose length is known only at run time",
                                     "replace them one by one", kind="list.slice")
            return call_then(m, s, m.shim("assign_run_time_slice"), (container, key, value), {}, _drop)
    elif isinstance(container, dict) and keys.at_run_time(key):
        key = keys.any_key(m, key, container)
    m.heap.touch(container)
    if isinstance(container, dict):
        m.note_store(container, key)
    operator.setitem(container, key, value)
    return None


def delete_item(m: Machine, s: State, container: Any, key: Any) -> Any:
    if isinstance(container, RtList):
        m.lists.pop(container, key)
        return None
    method = python_method(container, "__delitem__")
    if method is not None:
        return call_then(m, s, method, (container, key), {}, _drop)
    if isinstance(container, (list, collections.deque)):
        key = static_index(m, key, _length(container), _INDEX.get(type(container), "list assignment index"))
    elif isinstance(container, dict) and keys.at_run_time(key):
        key = keys.present_key(m, key, container, KeyError(key))
    if isinstance(container, dict):
        m.note_load(container, "*")
    m.heap.touch(container)
    del container[key]
    return None


# ---- types ------------------------------------------------------------------------------------


def is_instance(m: Machine, value: Any, kinds: Any) -> bool:
    if isinstance(value, RtScalar):
        return isinstance(EXAMPLES[value.kind], kinds)
    if isinstance(value, RtText):
        return isinstance("", kinds)
    if isinstance(value, iterators.MGenerator):
        return isinstance((x for x in ()), kinds)
    if m.is_array(value):
        return m.arrays.is_instance(value, kinds)
    if isinstance(value, RtList):
        return isinstance(() if value.frozen else [], kinds)
    if isinstance(value, keys.TABLES):
        return isinstance(_empty(value), kinds)
    if m.is_symbolic(value):
        return any(parameterness.is_one_of(value, k) for k in _kinds(kinds) if not (isinstance(k, type) and issubclass(k, FakeTensor)))
    if isinstance(value, m.size_type) and any(k is torch.Size for k in _kinds(kinds)):
        return True
    return isinstance(value, kinds)


def _kinds(kinds: Any) -> list:
    """One by one: models ask whether a tensor is one of torch's stand-ins, which it is for us alone."""
    if isinstance(kinds, types.UnionType):
        kinds = kinds.__args__
    return [k for one in kinds for k in _kinds(one)] if isinstance(kinds, tuple) else [kinds]


def type_of(m: Machine, value: Any) -> type:
    if isinstance(value, RtScalar):
        return type(EXAMPLES[value.kind])
    if isinstance(value, RtText):
        return str
    if m.is_symbolic(value):
        return parameterness.kind_of(value)
    if isinstance(value, m.size_type):
        return torch.Size
    if m.is_array(value):
        return m.arrays.type_of(value)
    if isinstance(value, RtList):
        return tuple if value.frozen else list
    if isinstance(value, keys.TABLES):
        return type(_empty(value))
    return type(value)


def _empty(table: Any) -> Any:
    return set() if isinstance(table, tables.RtSet) else table.kind()


assert JUMPED is not PUSHED

from . import builtin_calls, iterators, native_methods  # noqa: E402  (they need this module, and an import per call costs)
