# SPDX-License-Identifier: Apache-2.0
"""numpy arrays of the model that share memory with what a program changes: refused."""

from __future__ import annotations

import array
from typing import Any, Iterator

import numpy as np

from ..diagnostics import CaptureRefusal
from ..state.numpy_memory import arrays_in


def refuse_shared(m, roots: list) -> None:
    """Tensors from outside that the program writes must not share their memory with arrays that it looks at."""
    spans = [(r.real.untyped_storage().data_ptr(), r.real.untyped_storage().nbytes(), r)
             for r in roots if not r.real.is_meta]
    for found in seen(m) if spans else ():
        if not isinstance(found, np.ndarray):
            continue
        start, end = np.lib.array_utils.byte_bounds(found)
        root = next((r for first, size, r in spans if first < end and start < first + size), None)
        if root is not None:
            raise CaptureRefusal("a numpy array that shares its memory with a tensor which the model writes is read",
                                 "use the tensor alone", span=m.heap.written_at.get(id(root.cell)),
                                 kind="inplace.shared")


def seen(m) -> Iterator[Any]:
    """Arrays from outside, numpy's and Python's, that the program has looked at by a name of theirs."""
    yield from m.arrays_seen.values()
    for (_, name), owner in m.loaded.items():
        value = owner.get(name) if isinstance(owner, dict) else getattr(owner, "__dict__", {}).get(name) if isinstance(
            name, str) and name != "*" else None
        yield from arrays_in(owner if name == "*" and isinstance(owner, (list, dict)) else value, _ARRAYS)
        if isinstance(owner, list) and isinstance(name, int) and -len(owner) <= name < len(owner):
            yield from arrays_in(owner[name], _ARRAYS)


_ARRAYS = (np.ndarray, array.array)
