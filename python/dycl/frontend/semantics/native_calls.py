# SPDX-License-Identifier: Apache-2.0
"""Calls of native code: it runs with the real objects; what it may change is touched before,
what it makes is adopted after."""

from __future__ import annotations

import collections
import functools
import operator
import types
from typing import Any

import torch

from ...objects import IdentityDict, held, reached
from ..diagnostics import CaptureRefusal
from ..recording import eager_errors
from ..state import iterators, numpy_memory
from ..state.interpreter import Interpreter
from ..state.state import State
from ..values.native_entries import enters_native_code, refuse_own
from ..values.stand_in import stand_in_of
from . import callbacks, interpretation, opaque_objects, registry
from .lookup import getattr_dict

_STORING = {"append", "appendleft", "insert", "add", "extend", "__setitem__", "setdefault",
            "__init__", "__new__", "__setattr__"}


def native(m: Interpreter, s: State, fn: Any, args: tuple, kwargs: dict) -> Any:
    """Calls code that runs outside the machine."""
    interpretation.check_native(fn)
    interpretation.check_drawing(fn, args, kwargs)
    if not isinstance(fn, type) and getattr(fn, "__name__", "") not in _STORING:
        m.note_deep(*args, *kwargs.values())
        if not interpretation.is_torch(fn):
            m.note_objects(*args, *kwargs.values())
            if isinstance(fn, (operator.attrgetter, operator.methodcaller)):
                _note_getter(m, fn, args)
    own = not interpretation.is_torch(fn) and callbacks.given_methods(fn, args, kwargs)
    if own or callbacks.expected(fn, args, kwargs):
        with callbacks.watched(m, fn, anywhere=own):
            return _run_native(m, fn, args, kwargs)
    return _run_native(m, fn, args, kwargs)


def _note_getter(m: Interpreter, fn: Any, args: tuple) -> None:
    """operator.attrgetter("a.b") reads attributes on the way, also of modules."""
    for path in fn.__reduce__()[1]:
        x = args[0] if args else None
        for name in path.split(".") if isinstance(path, str) else ():
            m.note_load(x, name)
            x = (getattr_dict(x) or {}).get(name)


@enters_native_code
def _run_native(m: Interpreter, fn: Any, args: tuple, kwargs: dict) -> Any:
    for x in (*args, *kwargs.values()):
        own = stand_in_of(x)
        if own is not None:
            own.refuse_native(m, getattr(fn, "__qualname__", fn))
    if _only_keeps(fn, args):
        for value in args:
            touch_argument(m, value)
        return m.new_if_mutable(opaque_objects.born(m, fn(*args, **kwargs)))
    if interpretation.is_torch(fn) or m.has_tensor(args) or m.has_tensor(kwargs):
        for value in (*args, *kwargs.values()):
            if isinstance(value, (list, dict, set)):
                m.note_load(value, "*")
        return _run_recorded(m, fn, args, kwargs)
    for value in (*args, *kwargs.values()):
        touch_argument(m, value)
    owner = getattr(fn, "__self__", None)
    watched = opaque_objects.watch(args if owner is None else (owner, *args), kwargs)
    try:
        result = numpy_memory.run(m, fn, args, kwargs)
    except Exception as error:
        opaque_objects.check(m, watched)
        m.refuse_native_failure(fn, args, kwargs, error)
        raise
    opaque_objects.check(m, watched)
    if opaque_objects.is_native_iterator(result):
        return m.new(iterators.NativeIter(result))
    return m.new_if_mutable(opaque_objects.born(m, result))


@enters_native_code
def _run_recorded(m: Interpreter, fn: Any, args: tuple, kwargs: dict) -> Any:
    try:
        if interpretation.is_native_package(fn) and m.recorder.is_symbolic(args):
            written = registry.written_out(fn, args, kwargs)
            if written is not None:
                return m.recorder.transaction(lambda: m.recorder.calls.native(written, (), {}))
        result = m.recorder.call(fn, args, kwargs)
        return (m.new(iterators.NativeIter(result)) if opaque_objects.is_native_iterator(result)
                else _adopt(m, result, (args, kwargs)))
    except AssertionError as error:  # shape functions assert what the kernels check
        refuse_own(error)
        raise RuntimeError(str(error)) from error
    except (AttributeError, KeyError, NotImplementedError, OSError) as error:
        if eager_errors.is_retold(error):
            raise
        raise CaptureRefusal(f"{getattr(fn, '__qualname__', fn)} cannot be followed with symbolic tensors "
                             f"({type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''})",
                             kind="native.torch") from error


def _only_keeps(fn: Any, args: tuple) -> bool:
    """Whether it is a class whose instances keep what they are made of, as it is."""
    return isinstance(fn, type) and (issubclass(fn, _HOLDING) or issubclass(fn, _KEEPING)
                                     and all(type(a) in (list, tuple, dict) for a in args))


def _adopt(m: Interpreter, result: Any, given: Any) -> Any:
    """The lists and dicts that a call with tensors gives (dict.fromkeys, tree_map) are new ones,
    but for those that it was given."""
    if isinstance(result, (list, dict, tuple)) and not isinstance(result, torch.Size):
        known = _containers(given)
        for made in _containers(result):
            if made not in known and type(made) in (list, dict):
                m.new(made)
    return result


def _containers(tree: Any) -> IdentityDict:
    return reached([tree], lambda x: held(x) if isinstance(x, (list, dict, tuple)) else None)


_KEEPING = (list, dict, set, types.SimpleNamespace)  # what they are made of they only keep
_HOLDING = (functools.partial, BaseException)  # the same, of all arguments


def touch_argument(m: Interpreter, value: Any) -> None:
    """Native code might change a container it is given."""
    if isinstance(value, (list, dict, set, collections.deque, bytearray)):
        m.heap.touch(value)
        m.note_load(value, "*")
