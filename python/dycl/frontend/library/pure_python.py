# SPDX-License-Identifier: Apache-2.0
"""Modules of the standard library that are written in Python and replaced by C at import:
heapq, bisect, collections.Counter.

The machine interprets the Python they are written in, so that comparisons of values known only at run time can be
decided.
"""

from __future__ import annotations

import bisect
import collections
import heapq
import importlib.util
import sys
import types
from typing import Any, Iterator


def functions() -> Iterator[tuple[Any, types.FunctionType]]:
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
