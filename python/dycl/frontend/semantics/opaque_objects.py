# SPDX-License-Identifier: Apache-2.0
"""What native code changes in objects whose contents no state keeps.

The heap follows containers and plain objects. Behind others (a StringIO, a queue, a hash being computed, an exception's
cause) native code keeps contents that all states would share: what one arm of a branch writes there, the other would
read. Such a change is allowed only while no other state can know the object: where it is made and changed within one
block, and nothing has been decided since. `watch` tells what an object is like before a native call,
`check` what it is like after.
"""

from __future__ import annotations

import collections
import contextlib
import datetime
import decimal
import functools
import io
import re
import sys
import threading
import types
import weakref
from typing import Any, Iterator

import numpy as np
import torch

from ...objects import held
from ..diagnostics import CaptureRefusal
from ..state.contents import unfollowed

# Of the standard library, but without contents that a program could read back, or none that change.
_HARMLESS = {"logging", "warnings", "typing", "inspect", "importlib", "enum", "abc", "_abc", "re", "pathlib",
             "posix", "types", "operator", "_operator", "string", "fractions", "numbers", "dataclasses",
             "contextlib", "functools", "copy", "traceback", "linecache", "ast", "dis", "tokenize", "keyword",
             "platform", "sysconfig", "json", "uuid", "textwrap", "pprint", "struct",
             "_struct", "_thread", "gc", "sys", "locale", "codecs", "zipimport", "collections", "unittest",
             "_contextvars", "contextvars"}
_UNCHANGING = (str, bytes, int, float, complex, bool, type(None), tuple, frozenset, range,
               slice, type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType,
               types.CodeType, types.MappingProxyType, functools.partial, torch.Tensor, torch.nn.Module, torch.dtype,
               torch.device, torch.Size, np.generic, np.ndarray, np.dtype, np.ufunc, property,
               re.Pattern, re.Match, datetime.date, datetime.timedelta, datetime.tzinfo, decimal.Decimal,
               type(Ellipsis), type(NotImplemented), super, staticmethod, classmethod,
               weakref.ReferenceType, *weakref.ProxyTypes,
               type(threading.Lock()), type(threading.RLock()))
_CONTAINERS = (list, dict, set, collections.deque, bytearray)
_ITERATORS_OF = ("itertools", "builtins", "re", "_sre", "_collections", "collections")
_ENOUGH = 2000  # parts of an object that are looked at


def hides(cls: type) -> bool:
    """Its instances have contents that native code keeps, beside attributes, items and slots."""
    known = _hiding.get(cls)
    if known is None:
        known = _hiding[cls] = any(_is_native(base) and base not in _OPEN and not issubclass(base, BaseException)
                                   for base in cls.__mro__)
    return known


_hiding: dict[type, bool] = {}
_OPEN = {object, list, dict, set, bytearray, collections.deque, collections.OrderedDict,
         collections.defaultdict, types.SimpleNamespace, types.FunctionType, types.CellType,
         types.MethodType, types.ModuleType, type}
_HEAP_TYPE, _IMMUTABLE_TYPE, _NOT_INSTANTIATED = 1 << 9, 1 << 8, 1 << 7


def _is_native(cls: type) -> bool:
    """Not made by a class statement."""
    flags = cls.__flags__
    return not flags & _HEAP_TYPE or bool(flags & (_IMMUTABLE_TYPE | _NOT_INSTANTIATED)) or isinstance(
        vars(cls).get("__new__"), types.BuiltinFunctionType)


def is_native_iterator(obj: Any) -> bool:
    """An iterator that native code has made: it cannot be at two places at once, as states would have it."""
    cls = type(obj)
    return cls.__module__ in _ITERATORS_OF and hasattr(cls, "__next__")


def born(m: Any, obj: Any) -> Any:
    """The result of native code; where it was made is kept, if it can change."""
    if _may_change(obj):
        m.made_at[obj] = m.current.block if m.current is not None else None
    return obj


def is_alone(m: Any, obj: Any) -> bool:
    """No other state knows it: it was made in the block that is being recorded."""
    return m.current is not None and obj in m.made_at and m.made_at[obj] is m.current.block


def check_raised(m: Any, error: BaseException) -> None:
    """The exception is told what it comes from; other states must not see that."""
    if not is_alone(m, error):
        raise CaptureRefusal(f"a {type(error).__name__} made before the last decision is raised, "
                             "which changes what it comes from",
                             "make it where it is raised", kind="heap")


def watch(args: tuple, kwargs: dict) -> list:
    """[(object, what it is like)] of the arguments whose contents the heap does not follow."""
    found = [x for x in args if _may_change(x)]
    if kwargs:
        found += [x for x in kwargs.values() if _may_change(x)]
    return [(x, _likeness(x)) for x in found]


def check(m: Any, watched: list) -> None:
    for obj, before in watched:
        after = _likeness(obj)
        if (before is None or after != before) and not is_alone(m, obj):
            raise unfollowed(obj)


@contextlib.contextmanager
def watching(m: Any, obj: Any) -> Iterator[None]:
    """Around what native code does to an object."""
    watched = watch((obj,), {})
    yield
    check(m, watched)


def check_store(m: Any, obj: Any, name: str, value: Any) -> None:
    """obj.name = value, where native code takes the value, so that no state keeps it."""
    if name in _NAMES or isinstance(obj, (type, torch.Tensor, np.ndarray)):
        return
    if name == "__dict__":
        if value is obj:
            return
        if not m.is_born(value) or m.heap.owner_of_dict.setdefault(id(value), obj) is not obj:
            raise CaptureRefusal("a __dict__ that several objects share", "set the attributes one by one", kind="heap")
        return
    if name == "__class__" or not is_alone(m, obj) and not (name in _CAUSES and value is None):
        raise CaptureRefusal(f"the attribute {name} of a {type(obj).__name__} is written: "
                             "it is kept where it cannot be followed",
                             "use an attribute of your own", kind="heap")


_NAMES = {"__name__", "__qualname__", "__doc__", "__module__", "__annotations__", "__traceback__",
          "__suppress_context__", "__type_params__", "__wrapped__", "__weakref__"}
_CAUSES = {"__cause__", "__context__"}


def _may_change(obj: Any) -> bool:
    cls = type(obj)
    known = _changing.get(cls)
    if known is None:
        known = _changing[cls] = _is_changing(cls)
    return known


_changing: dict[type, bool] = {}


def _is_changing(cls: type) -> bool:
    """Instances have contents that native code of the standard library may change, and the heap does not follow."""
    if issubclass(cls, (*_UNCHANGING, *_CONTAINERS)):
        return False
    if issubclass(cls, BaseException):
        return True
    homes = {base.__module__.partition(".")[0] for base in cls.__mro__[:-1]}
    return any(home in sys.stdlib_module_names and home != "builtins" and home not in _HARMLESS for home in homes)


def _likeness(obj: Any) -> Any:
    """Something that differs once the object has changed; None where that cannot be told."""
    if isinstance(obj, io.IOBase):
        try:
            return obj.tell(), obj.getvalue()
        except (AttributeError, ValueError, OSError):
            return None
    if isinstance(obj, BaseException):
        parts: list = [id(obj.__cause__), id(obj.__context__)]
        _add_parts(parts, obj.args, set())
        _add_parts(parts, vars(obj), set())
        return tuple(parts)
    parts = []
    if hasattr(obj, "__dict__"):
        _add_parts(parts, vars(obj), set())
    if hides(type(obj)):
        try:
            parts.append(repr(obj.__reduce_ex__(4)[1:]))
        except Exception:
            return None
    return tuple(parts)


def _add_parts(parts: list, obj: Any, seen: set) -> None:
    if len(parts) > _ENOUGH or id(obj) in seen:
        return
    if isinstance(obj, (str, bytes, int, float, bool, type(None))):
        parts.append((type(obj), obj))
        return
    parts.append(id(obj))
    seen.add(id(obj))
    if isinstance(obj, dict):
        for key, value in dict.items(obj):
            parts.append(id(key))
            _add_parts(parts, value, seen)
    elif isinstance(obj, (list, tuple, set, frozenset, collections.deque)):
        inside = list(held(obj))
        parts.append(len(inside))
        for item in inside:
            _add_parts(parts, item, seen)
    elif hasattr(obj, "__dict__") and not isinstance(obj, (type, types.ModuleType, types.FunctionType,
                                                           torch.nn.Module, torch.Tensor)):
        _add_parts(parts, vars(obj), seen)
