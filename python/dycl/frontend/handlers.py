# SPDX-License-Identifier: Apache-2.0
"""The functions that the machine answers itself, found by identity.

The modules `calls_*` register them. A handler gets (machine, state, args, kwargs) and returns a value, PUSHED, or
NotImplemented (then the call takes its usual way).
"""

from __future__ import annotations

import types
from typing import Any

_HANDLERS: dict[Any, Any] = {}
_KEEP: list = []  # so that no other object takes the identity of one that is registered


def handles(*functions):
    def register(f):
        for fn in functions:
            _HANDLERS[_key(fn)] = f
            _KEEP.append(fn)
        return f

    return register


def find(fn: Any) -> Any:
    return _HANDLERS.get(_key(fn))


def _key(fn: Any) -> Any:
    """A class method of native code (itertools.chain.from_iterable) is another object each time it is asked for."""
    owner = fn.__self__ if type(fn) is types.BuiltinFunctionType else None
    return (id(owner), fn.__name__) if isinstance(owner, type) else id(fn)


def ignore(m, s, args, kwargs):
    return None
