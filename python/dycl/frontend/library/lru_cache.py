# SPDX-License-Identifier: Apache-2.0
"""Functions under `functools.lru_cache` or `cache` that the model finds outside.

Eager calls such a function once for equal arguments, in this call of the model or in an earlier one; the compiled
program computes it each time. That is the same only if the function does nothing but compute: what it would change,
print or draw is refused, and so are later changes of what it gave, or of what it has read.
"""

from __future__ import annotations

import functools
import types
from typing import Any

from ..diagnostics import CaptureRefusal
from ..polyfills import functools as functools_polyfills
from ..semantics import interpretation, registry
from ..state.kinds import held_by
from ..values.guard import Guard

_MARK = functools_polyfills.call_remembered.__code__


@registry.calls(functools._lru_cache_wrapper)
def call(m, s, fn: functools._lru_cache_wrapper, args: tuple, kwargs: dict) -> Any:
    inner = fn.__wrapped__
    if (not isinstance(inner, types.FunctionType) or not interpretation.interpreted(inner)
            or not interpretation.is_user_file(inner.__code__.co_filename)):
        return m.call(s, inner, args, kwargs)
    m.remembers = m.recorder.remembers = True
    return m.call(s, functools_polyfills.call_remembered, (inner, args, kwargs), {})


def inside(m) -> bool:
    """Such a function is being called."""
    return m.current is not None and any(frame.info.code is _MARK for frame in m.current.frames)


def check(m, what: str) -> None:
    if inside(m):
        raise _refusal(f"a function under functools.lru_cache {what}: eager does that once, "
                       "and then remembers the result")


def keep(m, result: Any) -> Any:
    """What such a function gives is one object for all its calls: it must not change."""
    seen: set[int] = set()
    work = [result]
    while work:
        x = work.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        if m.is_symbolic(x):
            cell = x._dycl.cell
            if cell not in m.recorder.real.root_cells and cell.note is None:
                cell.note = _changed
        elif isinstance(x, tuple):
            work.extend(x)
        elif m.is_born(x) and not isinstance(x, (types.FunctionType, type)):
            m.heap.fragile.setdefault(x, _changed)
            work.extend(held_by(x))
    return result


_changed = Guard(lambda: _refusal("what a function under functools.lru_cache gave is changed or compared by identity: "
                                  "eager gives the same object again"))


def refuse_changing(m, roots: list, changed: set) -> None:
    """At the end of capture: what such functions have read must be the same in every call."""
    found = next((r for r in roots if r.cell in m.remembered_cells), None)
    names = [name for owner, name in changed
             if (owner, name) in m.remembered_loads or (owner, "*") in m.remembered_loads]
    if found is not None or names:
        what = f"the attribute {names[0]}" if names else "a tensor"
        raise _refusal(f"a function under functools.lru_cache reads {what}, which the model changes: "
                       "eager remembers an old result",
                       m.heap.written_at.get(id(found.cell)) if found is not None else None)


def _refusal(text: str, span: Any = None) -> CaptureRefusal:
    return CaptureRefusal(text, "call the function without the cache (its __wrapped__)", span=span, kind="state.cache")
