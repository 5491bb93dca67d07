# SPDX-License-Identifier: Apache-2.0
"""functools.singledispatch. Which function is for a class is kept in a WeakKeyDictionary, whose contents no state has.
It says nothing that the registry beside it does not: in the dispatcher's own code it is empty when it is asked."""

from __future__ import annotations

import functools
import types
import weakref
from typing import Any

from ..semantics.registry import handles

_CODE = {code for code in functools.singledispatch.__code__.co_consts if isinstance(code, types.CodeType)}


def _is_in_dispatcher(m: Any) -> bool:
    return m.current.frames[-1].info.code in _CODE


@handles(weakref.WeakKeyDictionary.__getitem__)
def _look_up(m, s, args, kwargs):
    if not _is_in_dispatcher(m):
        return NotImplemented
    raise KeyError(args[1])


@handles(weakref.WeakKeyDictionary.__setitem__, weakref.WeakKeyDictionary.clear)
def _change(m, s, args, kwargs):
    return None if _is_in_dispatcher(m) else NotImplemented
