# SPDX-License-Identifier: Apache-2.0
"""Native functions in whose place the machine interprets Python, so that comparisons of values known only at run time
can be decided: by polyfills, and by what heapq, bisect and collections are written in and C replaces at import."""

from __future__ import annotations

import bisect
import collections
import heapq
import importlib.util
import sys
import types
from typing import Any, Callable, Iterator

from ..polyfills.registry import POLYFILLS, WHEN, on_request
from ..semantics.registry import handles


def _interpret(native: Any, plain: Callable, when: Any = None) -> None:
    @handles(native)
    def call(m, s, args, kwargs):
        return m.call(s, plain, args, kwargs) if when is None or when(args, kwargs) else NotImplemented


def _replaced_by_c() -> Iterator[tuple[Any, types.FunctionType]]:
    """(the C function, the same in Python)"""
    for module, accelerator in ((heapq, "_heapq"), (bisect, "_bisect"), (collections, "_collections")):
        plain = _without(module, accelerator)
        for name, fast in vars(module).items():
            slow = getattr(plain, name, None)
            if isinstance(fast, types.BuiltinFunctionType) and isinstance(slow, types.FunctionType):
                yield fast, slow


def _without(module: types.ModuleType, accelerator: str) -> types.ModuleType:
    spec = importlib.util.find_spec(module.__name__)
    plain = importlib.util.module_from_spec(spec)
    missing = object()
    before = sys.modules.get(accelerator, missing)
    sys.modules[accelerator] = None  # an import of it fails
    try:
        spec.loader.exec_module(plain)
    finally:
        if before is missing:
            del sys.modules[accelerator]
        else:
            sys.modules[accelerator] = before
    return plain


for _native, _plain in _replaced_by_c():
    _interpret(_native, _plain)
for _native, _plain in POLYFILLS.items():
    if WHEN[_plain] is not on_request:
        _interpret(_native, _plain, WHEN[_plain])
