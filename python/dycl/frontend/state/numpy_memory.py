# SPDX-License-Identifier: Apache-2.0
"""numpy arrays that are known while compiling, and who may write to them.

Their contents are per state, like those of any object (state/heap.py): a write is announced for the array that owns the
memory. Native code that is given arrays runs with them read-only at first; if it wants to write, the write is announced
and it runs again. An array that a tensor of the program shares its memory with is not written at all.

An array that the program makes and then gives a value of run time begins anew as an array of run time (`at_run_time`):
the place that made it is remembered, and the next attempt of the capture has an RtArray there,
whose contents are known as long as they are.
"""

from __future__ import annotations

import weakref
from typing import Any, Callable

import numpy as np
import torch

from ...objects import within
from ..diagnostics import CaptureRefusal
from ..values.array import DTYPES, RtArray
from .contents import Cell, memory_of
from .heap import Heap
from .interpreter import Interpreter


def arrays_in(tree: Any, kinds: Any = np.ndarray) -> list:
    return [x for x in within(tree, 3, (list, tuple, dict)) if isinstance(x, kinds)]


def run(m: Interpreter, fn: Callable, args: tuple, kwargs: dict) -> Any:
    """fn(*args, **kwargs), of native code."""
    given = arrays_in((getattr(fn, "__self__", None), args, kwargs))
    locked = []
    if isinstance(getattr(fn, "__self__", None), np.ufunc) and fn.__name__ == "at":
        m.heap.touch(args[0])  # writes in any case
        return fn(*args, **kwargs)
    try:
        for array in given:
            if array.flags.writeable and memory_of(array).flags.owndata:  # numpy unlocks no other
                array.flags.writeable = False
                locked.append(array)
        others = [(array, array.tobytes()) for array in given if array.flags.writeable]
        try:
            result = fn(*args, **kwargs)
        except ValueError as error:
            if not locked or "read-only" not in str(error):
                raise
            _unlock(locked)
            for array in locked:
                m.heap.touch(array)
            result = fn(*args, **kwargs)
    finally:
        _unlock(locked)
    if any(array.tobytes() != before for array, before in others):
        raise CaptureRefusal("native code writes to a numpy array whose memory belongs to another object",
                             "copy() the array first", kind="inplace.shared")
    _unlock([array for array in arrays_in(result) if any(memory_of(array) is memory_of(x) for x in locked)])
    return made(m, result, given)


def _unlock(arrays: list) -> None:
    for array in arrays:
        array.flags.writeable = True


def made(m: Interpreter, result: Any, given: list) -> Any:
    """Arrays that native code made are the program's own."""
    place = _place(m)
    for array in arrays_in(result):
        if array.base is None and not any(array is x for x in given):
            m.heap.fresh_arrays[id(array)] = weakref.ref(array)
            m.heap.array_places[id(array)] = (weakref.ref(array), place)
    return _lifted(m, result, given) if m.assumptions.run_time_arrays.holds(place) else result


def _place(m: Interpreter) -> Any:
    """The instruction at hand."""
    frame = m.current.frames[-1] if m.current is not None and m.current.frames else None
    return None if frame is None else (frame.info.code, frame.pc)


def _lifted(m: Interpreter, result: Any, given: list) -> Any:
    """New arrays as arrays of run time."""
    if isinstance(result, np.ndarray):
        if result.dtype.name not in DTYPES or any(memory_of(result) is memory_of(x) for x in given):
            return result
        return RtArray(m.recorder.call(torch.from_numpy, (np.array(result, order="C"),), {}))
    return type(result)(_lifted(m, x, given) for x in result) if type(result) in (list, tuple) else result


def is_lifted(m: Interpreter) -> bool:
    """Whether the instruction at hand makes arrays of run time."""
    return m.assumptions.run_time_arrays.holds(_place(m))


def at_run_time(m: Interpreter, array: np.ndarray) -> None:
    """The array gets contents that only the run knows."""
    root = memory_of(array)
    known, place = m.heap.array_places.get(id(root), (lambda: None, None))
    lifted = m.assumptions.run_time_arrays
    if known() is not root:
        m.keep_between_calls(root)
    if known() is not root or place is None or lifted.holds(place) or root.dtype.name not in DTYPES:
        raise CaptureRefusal("a value known only at run time is put into a numpy array that the "
                             "program did not make itself",
                             "copy() the array first, or use a tensor", kind="numpy")
    lifted.assume(place)


def share(heap: Heap, cell: Cell, array: np.ndarray) -> None:
    """The tensor of `cell` and the array have one memory: while both live, neither is written."""
    cell.arrays = (*cell.arrays, weakref.ref(array))
    root = memory_of(array)
    heap.beside.setdefault(id(root), []).append((weakref.ref(root), weakref.ref(cell)))


def of_tensor(m: Interpreter, t: Any, real: Any) -> np.ndarray:
    """t.numpy() of a tensor whose contents, `real`, are known while compiling."""
    with m.recorder.without_modes():
        array = np.array(real.detach().numpy())
    share(m.heap, m.recorder.real.lift(t)._dycl.cell, array)
    m.heap.array_places[id(array)] = (weakref.ref(array), _place(m))
    return array
