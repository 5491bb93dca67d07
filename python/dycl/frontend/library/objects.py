# SPDX-License-Identifier: Apache-2.0
"""Objects: isinstance, getattr, super, id, str, print, copy; what looks at the running program is refused."""

from __future__ import annotations

import builtins
import collections
import copy
import dis
import functools
import pickle
import types
import typing
import warnings
from typing import Any

import torch

from ...objects import slot_names
from .. import torch_internals
from ..diagnostics import CaptureRefusal
from ..polyfills import builtins as polyfills
from ..semantics import attributes, lookup
from ..semantics.registry import handles, ignore
from ..state import signals
from ..state.kinds import contents_of
from ..torch_internals import FakeTensor
from ..values.guard import Guard
from ..values.native_entries import refuse_own
from ..values.scalar import RtBool, RtFloat, RtInt
from ..values.stand_in import is_instance, stand_in_of, type_of
from ..values.text_formatting import format_value, is_text_of_argument


@handles(typing.cast)
def _cast(m, s, args, kwargs):
    return NotImplemented if kwargs or len(args) != 2 else args[1]


@handles(isinstance)
def _isinstance(m, s, args, kwargs):
    return is_instance(m, *args)


_WITHOUT_OVERRIDES = {FakeTensor, torch.Tensor, torch.nn.Parameter, type(None), bool, int, float,
                      str, RtInt, RtFloat, RtBool}


def _asks_for_overrides(fn: Any) -> None:
    """Functions of torch.nn.functional ask first whether an argument brings its own implementation;
    others are torch's to tell."""

    @handles(fn)
    def answer(m, s, args, kwargs):
        given = (
            args[0] if fn is torch_internals.has_torch_function and len(args) == 1 and type(args[0]) is tuple else args
        )
        return NotImplemented if kwargs or not _WITHOUT_OVERRIDES.issuperset(map(type, given)) else fn(*args)


for _fn in (torch_internals.has_torch_function, torch_internals.has_torch_function_unary,
            torch_internals.has_torch_function_variadic):
    _asks_for_overrides(_fn)


@handles(torch_internals.is_fake)
def _is_fake(m, s, args, kwargs):
    return False if m.is_symbolic(args[0]) else NotImplemented


@handles(polyfills.settle)
def _settle(m, s, args, kwargs):
    args[0].arena.settle(args[0])


@handles(type)
def _type(m, s, args, kwargs):
    if len(args) == 1:
        return type_of(m, args[0])
    raise CaptureRefusal("a class made while the model runs", kind="class-statement")


_READING_CELLS = ("LOAD_CLASSDEREF", "LOAD_DEREF", "LOAD_FROM_DICT_OR_DEREF")


@handles(builtins.__build_class__)
def _build_class(m, s, args, kwargs):
    """Native, for the body is: it may define what it likes, but not compute with values of the run."""
    body = args[0]
    cells = dict(zip(body.__code__.co_freevars, body.__closure__ or ()))
    for used in {i.argval for i in dis.get_instructions(body.__code__) if i.opname in _READING_CELLS} & cells.keys():
        if m.has_runtime(list(contents_of(cells[used]))):
            raise CaptureRefusal(f"the body of a class made while the model runs uses {used}, "
                                 "which is known only at run time",
                                 "use it in the class's methods", kind="class-statement")
    return NotImplemented


@handles(getattr)
def _getattr(m, s, args, kwargs):
    if len(args) == 3:
        obj, name, default = args
        if not _may_run_code(obj, name):
            try:
                return attributes.load_attr(m, s, obj, name)
            except AttributeError as error:
                refuse_own(error)
                return default
        return m.call(s, polyfills.getattr_default, args, {})
    return attributes.load_attr(m, s, *args)


@handles(hasattr)
def _hasattr(m, s, args, kwargs):
    if not _may_run_code(*args):
        try:
            attributes.load_attr(m, s, *args)
            return True
        except AttributeError as error:
            refuse_own(error)
            return False
    return m.call(s, polyfills.has_attribute, args, {})


def _may_run_code(obj: Any, name: Any) -> bool:
    if stand_in_of(name) is not None:
        return True
    own = stand_in_of(obj)
    if isinstance(obj, (types.ModuleType, type)) or own is not None and own.own_class is None:
        return False
    cls = lookup.class_of(obj)
    attr = lookup.mro_lookup(cls, name)
    if isinstance(attr, (property, functools.cached_property)) or isinstance(
            lookup.mro_lookup(type(attr), "__get__"), types.FunctionType):
        return True
    for special in ("__getattr__", "__getattribute__"):
        custom = lookup.mro_lookup(cls, special)
        if isinstance(custom, types.FunctionType) and custom is not torch.nn.Module.__getattr__:
            return True
    return isinstance(obj, super)


@handles(setattr)
def _setattr(m, s, args, kwargs):
    return signals.as_call(s, attributes.store_attr(m, s, *args))


@handles(object.__setattr__)
def _object_setattr(m, s, args, kwargs):
    return signals.as_call(s, attributes.store_default(m, s, *args))


@handles(object.__getattribute__)
def _object_getattribute(m, s, args, kwargs):
    return attributes.default_attr(m, s, *args, fallback=False)


@handles(torch.nn.Module.__setattr__)
def _module_setattr(m, s, args, kwargs):
    return signals.as_call(s, attributes.store_default(m, s, *args))


@handles(torch.nn.Module.__getattr__)
def _module_getattr(m, s, args, kwargs):
    obj, name = args
    for table in ("_parameters", "_buffers", "_modules"):
        entries = obj.__dict__.get(table)
        if entries is not None:
            m.note_load(entries, name)
            if name in entries:
                return entries[name]
    raise AttributeError(f"'{type(obj).__name__}' object has no attribute '{name}'")


@handles(delattr)
def _delattr(m, s, args, kwargs):
    return signals.as_call(s, attributes.delete_attr(m, s, *args))


@handles(super)
def _super(m, s, args, kwargs):
    if args:
        return super(*args)
    frame = s.frames[-1]
    index = frame.info.local_index
    cls = frame.locals[index["__class__"]].cell_contents
    me = frame.locals[0]
    return super(cls, me.cell_contents if isinstance(me, types.CellType) else me)


@handles(callable)
def _callable(m, s, args, kwargs):
    own = stand_in_of(args[0])
    return callable(args[0]) if own is None else lookup.mro_lookup(own.type_of(m), "__call__") is not lookup.MISSING


@handles(id)
def _id(m, s, args, kwargs):
    own = stand_in_of(args[0])
    found = own.identity(m) if own is not None else NotImplemented
    if found is not NotImplemented:
        return found
    if args[0] in m.heap.fragile:
        m.heap.refuse_fragile(args[0])
    return id(args[0])


@handles(hash)
def _hash(m, s, args, kwargs):
    user = lookup.python_method(args[0], "__hash__")
    return m.call(s, user, (args[0],), {}) if user is not None else NotImplemented


@handles(str)
def _str(m, s, args, kwargs):
    if not args:
        return NotImplemented
    x = args[0]
    if m.has_runtime(x) or isinstance(x, BaseException) and is_text_of_argument(x):
        return format_value(m, x, "", 1)
    user = lookup.python_method(x, "__str__") or lookup.python_method(x, "__repr__")
    if user is not None and not isinstance(x, torch.nn.Module):
        return m.call(s, user, (x,), {})
    return NotImplemented


@handles(repr)
def _repr(m, s, args, kwargs):
    if m.has_runtime(args[0]):
        return format_value(m, args[0], "", 2)
    user = lookup.python_method(args[0], "__repr__")
    if user is not None and not isinstance(args[0], torch.nn.Module):
        return m.call(s, user, (args[0],), {})
    return NotImplemented


@handles(dir)
def _dir(m, s, args, kwargs):
    for x in args:
        m.note_load(x, "*")
    return NotImplemented


def _refuse(what: str, help: str, m, s, args, kwargs):
    raise CaptureRefusal(what, help, kind="builtin")


for _builtins, _what, _help in (
        ((open,), "a file is opened", "read it before the model runs, and pass or keep what is in it"),
        ((input,), "somebody is asked", "ask before the model runs, and pass the answer"),
        ((eval, exec, compile), "code is made from text", "write it as a function"),
        ((breakpoint,), "the debugger is called", "remove the call"),
        ((locals, globals, vars), "variables are looked up by names that a run makes", "name those that are meant")):
    for _builtin in _builtins:
        handles(_builtin)(functools.partial(_refuse, f"{_what} ({_builtin.__name__})", _help))


@handles(pickle.dumps, pickle.dump, torch.save)
def _pickled(m, s, args, kwargs):
    if m.has_runtime((args, kwargs)):
        raise CaptureRefusal("a value known only at run time is pickled", "return it, and save it after the call",
                             kind="outside")
    return NotImplemented


@handles(builtins.vars)
def _vars(m, s, args, kwargs):
    if len(args) == 1:
        return attributes.load_attr(m, s, args[0], "__dict__")
    raise CaptureRefusal("vars() of the running function", kind="builtin")


handles(warnings.warn)(ignore)


@handles(copy.copy)
def _copy(m, s, args, kwargs):
    x = args[0]
    own = stand_in_of(x)
    if own is not None:
        return own.copied(m, False)
    if type(x) in (list, dict, set):
        m.note_load(x, "*")
        return m.new(x.copy())
    return NotImplemented


@handles(copy.deepcopy)
def _deepcopy(m, s, args, kwargs):
    given = args[1] if len(args) > 1 else kwargs.get("memo")
    memo = m.new({}) if given is None else given  # what a __deepcopy__ hands on: things that are one stay one
    if type(memo) is not dict:
        raise CaptureRefusal("copy.deepcopy with a memo that is no dict", kind="deepcopy")
    m.note_load(memo, "*")
    user = lookup.python_method(args[0], "__deepcopy__")
    if user is not None and not isinstance(args[0], torch.Tensor) and id(args[0]) not in memo:
        return m.call(s, user, (args[0], memo), {})
    m.heap.touch(memo)
    return _deep(m, args[0], memo)


def _deep(m, x, memo):
    if id(x) in memo:
        return memo[id(x)]
    own = stand_in_of(x)
    made = own.copied(m, True) if own is not None else NotImplemented
    if made is not NotImplemented:
        if made is not x:
            memo[id(x)] = made
        if m.is_tensor(x):
            _note_shared(m, x, made, memo)
        return made
    if type(x) in _COPIED:
        m.note_load(x, "*")
        return _deep_container(m, x, memo)
    if type(x) is tuple:
        return tuple(_deep(m, y, memo) for y in x)
    if x is None or isinstance(x, (int, float, str, bytes, bool, type, types.FunctionType, torch.dtype, torch.device)):
        return x
    if _is_its_attributes(x):
        made = memo[id(x)] = m.new(object.__new__(type(x)))
        for name, value in list(x.__dict__.items()):
            m.note_load(x, name)
            made.__dict__[name] = _deep(m, value, memo)
        return made
    return _natively_copied(m, x)


def _is_its_attributes(x):
    """Nothing but what its attributes hold makes a copy of it."""
    plain = (hasattr(x, "__dict__") and not hasattr(type(x), "__deepcopy__")
             and type(x).__reduce_ex__ is object.__reduce_ex__)
    return plain and type(x).__new__ is object.__new__ and not slot_names(type(x)) and not _says_how(x)


def _natively_copied(m, x):
    if (m.has_runtime(x) or m.has_runtime(getattr(x, "__dict__", None))
            or isinstance(x, (list, dict, set, tuple, collections.deque)) or m.is_born(x)):
        raise CaptureRefusal(f"copy.deepcopy of a {type(x).__name__}", kind="deepcopy")
    return copy.deepcopy(x)


def _note_shared(m, x: torch.Tensor, made: torch.Tensor, memo: dict) -> None:
    """Copies of tensors that share memory share it, too, in Python; here each has its own,
    which must not be written."""
    handle = x if m.is_symbolic(x) else m.recorder.real.lift(x)
    place = ("storage", id(handle._dycl.cell))
    if place in memo:
        for copied in (memo[place], made):
            copied._dycl.cell.note = _WRITTEN_COPY
    memo[place] = made


_WRITTEN_COPY = Guard(lambda: CaptureRefusal(
    "a write to one of several tensors that share memory and were copied together", "clone() them one by one",
    kind="alias"))


def _says_how(x):
    """Whether its class says itself what a copy holds; torch's modules say nothing special."""
    found = (lookup.python_method(x, name)
             for name in ("__reduce__", "__getstate__", "__setstate__", "__getnewargs__", "__getnewargs_ex__"))
    return any(method is not None and not (method.__module__ or "").startswith("torch.") for method in found)


_COPIED = (list, dict, set, frozenset, collections.OrderedDict, collections.defaultdict,
           collections.deque, collections.Counter)


def _deep_container(m, x, memo):
    kind = type(x)
    if kind is frozenset:
        return frozenset(_deep(m, y, memo) for y in x)
    made = memo[id(x)] = m.new(collections.defaultdict(x.default_factory) if kind is collections.defaultdict
                               else collections.deque(
        maxlen=x.maxlen) if kind is collections.deque else kind())
    if isinstance(x, dict):
        for key, value in x.items():
            made[_deep(m, key, memo)] = _deep(m, value, memo)
    elif kind is set:
        made.update(_deep(m, y, memo) for y in x)
    else:
        made.extend(_deep(m, y, memo) for y in x)
    return made


_SHOWING = {"update", "close", "refresh", "clear", "display", "write", "unpause",
            "set_description", "set_description_str", "set_postfix", "set_postfix_str"}


@handles(polyfills.progress_method)
def _progress_method(m, s, args, kwargs):
    if args[0] in _SHOWING:
        return polyfills.shown
    if args[0].startswith("__"):
        raise AttributeError(args[0])
    raise CaptureRefusal(f"{args[0]} of a progress bar", "count yourself", kind="builtin")
