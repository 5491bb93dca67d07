# SPDX-License-Identifier: Apache-2.0
"""The TypeError that a function of Python's own raises for the classes of its arguments, whatever their values.

What answers a call in the place of native code need not check what that checks: the function itself is tried on
examples of the same classes. Only where it takes none of them the error is the program's: that of `ord("")` is about a
value.
"""

from __future__ import annotations

import operator
import types
from typing import Any

from ..state.interpreter import Interpreter
from ..values.native_entries import natively
from ..values.stand_in import made_stand_in, stand_in_of, type_of

_EXAMPLES: dict[type, tuple] = {
    bool: (False, True, True), int: (0, 1, 2), float: (0.0, 1.0, 2.5), str: ("", "a", "1"), list: ([], [], [])}
_KNOWN = (type(None), bool, int, float, complex, str, bytes)
_EMPTY = (list, dict, set)
_TRIED = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, type)
_MODULES = ("builtins", "itertools", "math", "cmath", "_operator", "_heapq", "_bisect", "_struct", "_collections",
            "collections", "functools")
# They look at the frame that they are called in, at files, or run code of the program; of some the values decide.
_NEVER = {print, input, open, exec, eval, compile, __import__, setattr, getattr, delattr, hasattr, globals, locals,
          dir, super, type, object, classmethod, staticmethod, property, next, id}
_LARGEST = 1000
_tried: dict[tuple, tuple | None] = {}  # -> the arguments of the error


def check_call(m: Interpreter, fn: Any, args: tuple, kwargs: dict) -> None:
    """fn(*args, **kwargs), something in which is known only at run time."""
    if not isinstance(fn, _TRIED):
        return
    given = (*args, *kwargs.values())
    if not any(made_stand_in(x) is not None for x in given) or not _may_be_tried(fn):
        return
    owner = getattr(fn, "__self__", None)
    if isinstance(fn, types.BuiltinFunctionType) and owner is not None and not isinstance(
            owner, (types.ModuleType, type)):  # a class method is called as it is
        fn, given = getattr(type(owner), fn.__name__), (owner, *given)
    _check(m, fn, given, tuple(kwargs))


def check_operator(m: Interpreter, op: str, a: Any, b: Any) -> None:
    _check(m, getattr(operator, {"and": "and_", "or": "or_"}.get(op, op)), (a, b), ())


def _may_be_tried(fn: Any) -> bool:
    if isinstance(fn, type) and any(isinstance(f, types.FunctionType) for f in (fn.__new__, fn.__init__)):
        return False
    module = getattr(fn, "__module__", None) or getattr(getattr(fn, "__objclass__", None), "__module__", None)
    owner = getattr(fn, "__self__", None)
    if module is None and owner is not None and not isinstance(owner, types.ModuleType):
        module = type(owner).__module__
    return module in _MODULES and fn not in _NEVER


def _check(m: Interpreter, fn: Any, given: tuple, names: tuple) -> None:
    shapes = [_shape(m, x) for x in given]
    if None in shapes:
        return
    key = (fn, tuple(shapes), names)
    if len(_tried) > 10_000:
        _tried.clear()
    if key not in _tried:
        _tried[key] = _error_of_all(fn, [_examples(shape) for shape in shapes], names)
    if (found := _tried[key]) is not None:
        raise TypeError(*found)


def _shape(m: Interpreter, x: Any) -> Any:
    """What its examples are made from; None: no such value."""
    if m.is_tensor(x):  # to ask for its class is to ask whether it is a parameter
        return None
    if stand_in_of(x) is not None:
        cls = type_of(m, x)
        return (cls,) if cls in _EXAMPLES else None
    if type(x) is tuple:
        parts = tuple(_shape(m, y) for y in x)
        return None if None in parts else (tuple, parts)
    if type(x) in _EMPTY:
        return ("empty", type(x))
    small = not isinstance(x, int) or abs(x) < _LARGEST  # "a" * x is made
    return ("known", type(x), x) if type(x) in _KNOWN and small else None


def _examples(shape: tuple) -> list:
    if shape[0] == "known":
        return [shape[2]] * 3
    if shape[0] == "empty":
        return [shape[1]() for _ in range(3)]
    if shape[0] is tuple:
        return [*zip(*map(_examples, shape[1]))] if shape[1] else [()] * 3
    return [x.copy() if isinstance(x, list) else x for x in _EXAMPLES[shape[0]]]


def _error_of_all(fn: Any, columns: list, names: tuple) -> tuple | None:
    """The arguments of the first TypeError, if each example raises one."""
    first = None
    for given in zip(*columns):
        args, kwargs = given[:len(given) - len(names)], dict(zip(names, given[len(given) - len(names):]))
        try:
            natively(fn, *args, **kwargs)
        except TypeError as error:
            first = first or error.args
        except Exception:
            return None
        else:
            return None
    return first
