# SPDX-License-Identifier: Apache-2.0
"""iter() and next() over real objects and stand-ins; generators resumed and suspended."""

from __future__ import annotations

import collections
from typing import Any

from ..diagnostics import CaptureRefusal
from ..polyfills import itertools as iterator_polyfills
from ..polyfills.range import RtRange
from ..state.interpreter import Interpreter
from ..state.iterators import (
    DONE,
    OURS,
    VIEWS,
    ArrayIter,
    LiveIter,
    MGenerator,
    NativeIter,
    RtRangeIter,
    RtTensorIter,
    SeqIter,
    view_of,
)
from ..state.signals import PUSHED
from ..state.state import Frame, State
from ..values.list import RtList, RtListIter
from ..values.native_entries import natively
from ..values.scalar import RtInt
from . import lookup


def get_iter(m: Interpreter, s: State, obj: Any) -> Any:
    """iter(obj): one of our iterators, or PUSHED when user code makes it."""
    if isinstance(obj, OURS):
        return obj
    if isinstance(obj, RtRange):
        return m.new(RtRangeIter(obj.start, obj.stop, obj.step))
    if isinstance(obj, RtList):
        return m.new(RtListIter(obj))
    if m.is_tensor(obj):
        return tensor_iter(m, obj)
    if m.is_array(obj) and obj.tensor.dim() and type(obj.tensor.shape[0]) is int:
        return m.new(ArrayIter(m.arrays.rows(obj)))
    if m.is_array(obj) and obj.tensor.dim():
        return m.call(s, iterator_polyfills.iterate_array, (obj,), {})
    if lookup.python_method(obj, "__iter__") is not None:
        return m.call(s, lookup.bound_method(obj, "__iter__"), (), {})
    if isinstance(obj, (list, dict, set, collections.deque)):
        m.note_load(obj, "*")
    if isinstance(obj, range) and len(obj) > m.options.max_unroll:
        return m.new(RtRangeIter(obj.start, obj.stop, obj.step))
    if isinstance(obj, (list, tuple, str, range, bytes)):
        return m.new(SeqIter(obj))
    if isinstance(obj, dict):
        return m.new(LiveIter(obj, "keys", tuple(obj)))
    if isinstance(obj, (set, collections.deque)):
        own = isinstance(obj, collections.deque)
        return m.new(LiveIter(obj, "places", range(collections.deque.__len__(obj))) if own
                     else LiveIter(obj, "items of", tuple(obj)))
    if view_of(obj) is not None:
        owner, kind = view_of(obj)
        m.note_load(owner, "*")
        return m.new(LiveIter(owner, kind, tuple(owner)))
    if isinstance(obj, frozenset) or type(obj) in VIEWS:
        return m.new(SeqIter(tuple(obj)))
    if lookup.python_method(obj, "__next__") is not None:
        return obj
    if lookup.python_method(obj, "__getitem__") is not None and not hasattr(type(obj), "__iter__"):
        return m.call(s, iterator_polyfills.iterate_by_index, (obj,), {})
    return m.new(NativeIter(iter(obj)))


def only_counts(m: Interpreter, frame: Frame, obj: range) -> bool:
    """`for _ in range(40)`: nobody reads the numbers, so iterations are alike and a loop that the run leaves early may
    become a back edge at once. Where that is refused, the next attempt unrolls it."""
    loop, stored = frame.info.instrs[frame.pc + 1:frame.pc + 3]
    if len(obj) <= m.options.max_alike or loop.op != "FOR_ITER" or stored.op != "STORE_FAST":
        return False
    place = (frame.info.code, frame.pc)
    if place in m.assumptions.unroll_loops or frame.info.is_live(frame.pc + 3, frame.info.local_index[stored.value]):
        return False
    m.counting.add(place)
    return True


def tensor_iter(m: Interpreter, tensor: Any) -> Any:
    if len(tensor.shape) == 0:
        raise TypeError("iteration over a 0-d tensor")
    extent = tensor.shape[0]
    if type(extent) is int:
        return m.new(SeqIter(m.recorder.call(type(tensor).unbind, (tensor, 0), {})))
    return m.new(RtTensorIter(tensor, m.recorder.extent(tensor, 0)))


def next_item(m: Interpreter, s: State, iterator: Any, exhausted, sent: Any = None) -> Any:
    """The next item, DONE, or PUSHED (the item then arrives on the stack; a generator that ends calls
    `exhausted(machine, state, returned value)`)."""
    if isinstance(iterator, LiveIter):
        m.heap.touch(iterator)
        item = iterator.item()
        iterator.index = iterator.index + 1 if item is not DONE else len(iterator.sequence) + 1
        return item
    if isinstance(iterator, SeqIter):
        if iterator.index >= len(iterator.sequence):
            _exhaust(m, iterator)
            return DONE
        item = iterator.sequence[iterator.index]
        m.heap.touch(iterator)
        iterator.index += 1
        return item if not m.is_array(item) or type(iterator) is not ArrayIter else m.arrays.row(item)
    if isinstance(iterator, MGenerator):
        return resume(m, s, iterator, exhausted, sent)
    if isinstance(iterator, NativeIter):
        return _next_native(m, iterator)
    if isinstance(iterator, RtRangeIter):
        return _next_range(m, iterator)
    if isinstance(iterator, RtTensorIter):
        return _next_row(m, iterator)
    if isinstance(iterator, RtListIter):
        found = m.lists.next(iterator)
        return DONE if found is None else found[0]
    method = lookup.bound_method(iterator, "__next__")
    if method is None:
        raise TypeError(f"'{type(iterator).__name__}' object is not an iterator")
    if lookup.python_method(iterator, "__next__") is None and not m.is_born(iterator):
        raise CaptureRefusal(f"a {type(iterator).__name__} from outside is moved on",
                             "pass in what it gives", kind="iterator")
    return m.call(s, method, (), {})  # StopIteration ends the loop in Machine.unwind


def _exhaust(m: Interpreter, iterator: SeqIter) -> None:
    """An iterator that has ended stays so, whatever the list gets afterwards."""
    if isinstance(iterator.sequence, list) and type(iterator) is SeqIter:
        m.heap.touch(iterator)
        iterator.sequence, iterator.index = (), 0


def _next_native(m: Interpreter, iterator: NativeIter) -> Any:
    if iterator.index >= len(iterator.buffer):
        try:
            iterator.buffer.append(natively(next, iterator.source))
        except StopIteration:
            return DONE
    m.heap.touch(iterator)
    iterator.index += 1
    return iterator.buffer[iterator.index - 1]


def _less(m: Interpreter, a: Any, b: Any) -> bool:
    """a < b; what the bounds of the two tell is no decision."""
    if not isinstance(a, RtInt) and not isinstance(b, RtInt):
        return a < b
    symbols = m.recorder.symbols
    most, least = symbols.greatest(b), symbols.least(a)
    if most is not None and least is not None and least >= most:
        return False
    return m.decide(m.scalars.compare("lt", a, b))


def _next_range(m: Interpreter, it: RtRangeIter) -> Any:
    if not (_less(m, it.current, it.stop) if it.step > 0 else _less(m, it.stop, it.current)):
        return DONE
    item = it.current
    if isinstance(item, RtInt):
        (first, last), (low, high) = (m.facts.of(x, m.current.ranges) for x in (it.first, it.stop))
        m.facts.narrow(item, *((first, high) if it.step > 0 else (low, last)), m.current.ranges)
    following = m.scalars.binary("add", item, it.step) if isinstance(item, RtInt) else item + it.step
    m.heap.touch(it)
    it.current = following
    return item


def _next_row(m: Interpreter, it: RtTensorIter) -> Any:
    if not _less(m, it.index, it.extent):
        return DONE
    row = m.recorder.call(type(it.tensor).select, (it.tensor, 0, it.index), {})
    following = m.scalars.binary("add", it.index, 1) if isinstance(it.index, RtInt) else it.index + 1
    m.heap.touch(it)
    it.index = following
    return row


def next_of(m, s, iterator, sent):
    result = next_item(m, s, iterator, exhausted=raise_stop, sent=sent)
    if result is DONE:
        raise StopIteration
    return result


def raise_stop(m, s, value):
    raise StopIteration() if value is None else StopIteration(value)


# ---- generators --------------------------------------------------------------------------


def resume(m: Interpreter, s: State, generator: MGenerator, exhausted, sent: Any) -> Any:
    if generator.done:
        return DONE
    if generator.frame is None:
        raise ValueError("generator already executing")
    m.heap.touch(generator)
    frame = generator.frame
    generator.frame = None
    frame.generator = generator
    frame.on_return = exhausted
    frame.stack.append(sent)
    s.frames.append(frame)
    return PUSHED


def suspend(m: Interpreter, s: State, frame: Frame, value: Any) -> None:
    """`yield value` in the top frame, whose position is already behind the yield."""
    s.frames.pop()
    generator = frame.generator
    if generator is None:
        raise CaptureRefusal("yield outside a generator of the compiled code", kind="generator")
    m.heap.touch(generator)
    frame.on_return = None
    frame.generator = None
    generator.frame = frame
    if frame.info.guards(frame.pc):
        m.guarded[id(generator)] = generator
    caller = s.frames[-1]
    caller.stack.append(value)
    m.advance(caller)


def materialise(m: Interpreter, source: Any) -> list | tuple | None:
    """All items at once if no user code and no decision is needed, else None."""
    if isinstance(source, (list, tuple, str, range, dict, set, frozenset, collections.deque, bytes)):
        if lookup.python_method(source, "__iter__") is not None:
            return None
        if isinstance(source, (list, dict, set, collections.deque)):
            m.note_load(source, "*")
        return [x for x in source]  # list(source) would ask __len__ of a class of the user's
    if type(source) in VIEWS:
        return list(source)
    if isinstance(source, LiveIter):
        items = []
        m.heap.touch(source)
        while (item := source.item()) is not DONE:
            items.append(item)
            source.index += 1
        source.index = len(source.sequence) + 1
        return items
    if isinstance(source, SeqIter):
        items = list(source.sequence[source.index:]) if not isinstance(source.sequence, range) else list(
            source.sequence)[source.index:]
        if type(source) is ArrayIter:
            items = [m.arrays.row(x) for x in items]
        m.heap.touch(source)
        source.index += len(items)
        _exhaust(m, source)
        return items
    if m.is_array(source) and source.tensor.dim() and type(source.tensor.shape[0]) is int:
        return [m.arrays.row(x) for x in m.arrays.rows(source)]
    if m.is_tensor(source) and len(source.shape) and type(source.shape[0]) is int:
        return list(m.recorder.call(type(source).unbind, (source, 0), {}))
    return None
