# SPDX-License-Identifier: Apache-2.0
"""The registry of what is answered instead of run: by identity, by type, by the module that it was written in.

`library/` registers; nothing else does. A handler gets (interpreter, state, args, kwargs) and returns a value, PUSHED,
or NotImplemented (then the call takes its usual way). A finder gets a callable and gives its handler, or None.
"""

from __future__ import annotations

import types
from typing import Any, Callable

import numpy as np

from ...objects import IdentityDict
from . import interpretation

_HANDLERS = IdentityDict()
# of class methods of native code, which are other objects each time they are asked for
_OF_CLASSES: dict[tuple[type, str], Any] = {}
_BY_TYPE: list[tuple[type, Callable]] = []
_BY_MODULE: dict[str, Callable] = {}
_CALLERS: dict[type, Callable] = {}
_REWRITTEN: dict[str, Callable] = {}
# they say where they were written
_OF_MODULES = (types.FunctionType, types.BuiltinFunctionType, np.ufunc, type(np.argmax))


def handles(*functions):
    """The decorated handler answers calls of these functions."""
    def register(f):
        for fn in functions:
            place = _place(fn)
            if place is None:
                _HANDLERS[fn] = f
            else:
                _OF_CLASSES[place] = f
        return f

    return register


def finds(*kinds: type):
    """The decorated finder is asked for callables of these types."""
    def register(finder):
        _BY_TYPE.extend((kind, finder) for kind in kinds)
        return finder

    return register


def finds_in(*modules: str):
    """The decorated finder is asked for functions that were written in these modules; "numpy.":
    in that package, at any depth."""
    def register(finder):
        _BY_MODULE.update(dict.fromkeys(modules, finder))
        return finder

    return register


def calls(*kinds: type):
    """The decorated function calls what is of one of these types: caller(interpreter, state, callable,
    args, kwargs)."""
    def register(caller):
        _CALLERS.update(dict.fromkeys(kinds, caller))
        return caller

    return register


def rewrites(package: str):
    """The decorated function writes calls into a package out in torch:
    a function of nothing for (callable, args, kwargs), or None."""
    def register(rewriter):
        _REWRITTEN[package] = rewriter
        return rewriter

    return register


def registered() -> list:
    return [*_HANDLERS, *(getattr(owner, name) for owner, name in _OF_CLASSES)]


def find(fn: Any) -> Any:
    """The handler that is registered for this very function."""
    place = _place(fn)
    return _HANDLERS.get(fn) if place is None else _OF_CLASSES.get(place)


def intercept(fn: Any) -> Any:
    """The handler that answers a call of fn; None: it takes its usual way."""
    found = find(fn)
    if found is not None:
        return found
    kind = type(fn)
    for known, finder in _BY_TYPE:
        if issubclass(kind, known):
            found = finder(fn)
            if found is not None:
                return found
    return _by_module(fn) if issubclass(kind, _OF_MODULES) else None


def _by_module(fn: Any) -> Any:
    of_ufunc = isinstance(fn, np.ufunc) or isinstance(getattr(fn, "__self__", None), np.ufunc)
    module = interpretation.home(fn) or ("numpy" if of_ufunc else "")
    finder = _BY_MODULE.get(module) or _BY_MODULE.get(module.partition(".")[0] + ".")
    return finder(fn) if finder is not None else None


def caller(fn: Any) -> Any:
    """What calls a native callable of fn's type."""
    return next((_CALLERS[kind] for kind in type(fn).__mro__ if kind in _CALLERS), None)


def written_out(fn: Any, args: tuple, kwargs: dict) -> Callable | None:
    rewriter = _REWRITTEN.get(interpretation.home(fn).partition(".")[0])
    return rewriter(fn, args, kwargs) if rewriter is not None else None


def _place(fn: Any) -> tuple[type, str] | None:
    """(class, name) of a class method of native code, such as itertools.chain.from_iterable."""
    owner = fn.__self__ if type(fn) is types.BuiltinFunctionType else None
    return (owner, fn.__name__) if isinstance(owner, type) else None


def ignore(m, s, args, kwargs):
    return None
