# SPDX-License-Identifier: Apache-2.0
"""iter() and next() over real objects and stand-ins; generators suspended."""

from __future__ import annotations

import collections
from typing import Any

from ..diagnostics import CaptureRefusal
from ..polyfills import itertools as iterator_polyfills
from ..state.immutables import VIEWS, view_of
from ..state.interpreter import Interpreter
from ..state.iterators import LiveIter, NativeIter, SeqIter
from ..state.state import Frame, State
from ..values.counting import RtRangeIter
from ..values.iterator import given, raise_stop
from ..values.stand_in import stand_in_of
from . import lookup


def get_iter(m: Interpreter, s: State, obj: Any) -> Any:
    """iter(obj): one of our iterators, or PUSHED when user code makes it."""
    own = stand_in_of(obj)
    found = own.iterate(m, s) if own is not None else NotImplemented
    if found is not NotImplemented:
        return found
    if lookup.python_method(obj, "__iter__") is not None:
        return m.call(s, lookup.bound_method(obj, "__iter__"), (), {})
    return lookup.by_type(_ITERATED, obj, _native_iter)(m, s, obj)


def _over_sequence(m: Interpreter, s: State, obj: Any) -> Any:
    return m.new(SeqIter(obj))


def _over_list(m: Interpreter, s: State, obj: list) -> Any:
    m.note_load(obj, "*")
    return m.new(SeqIter(obj))


def _over_range(m: Interpreter, s: State, obj: range) -> Any:
    return m.new(RtRangeIter(obj.start, obj.stop, obj.step) if len(obj) > m.options.max_unroll else SeqIter(obj))


def _over_dict(m: Interpreter, s: State, obj: dict) -> Any:
    m.note_load(obj, "*")
    return m.new(LiveIter(obj, "keys", tuple(obj)))


def _over_set(m: Interpreter, s: State, obj: set) -> Any:
    m.note_load(obj, "*")
    return m.new(LiveIter(obj, "items of", tuple(obj)))


def _over_deque(m: Interpreter, s: State, obj: collections.deque) -> Any:
    m.note_load(obj, "*")
    return m.new(LiveIter(obj, "places", range(collections.deque.__len__(obj))))


def _over_frozenset(m: Interpreter, s: State, obj: frozenset) -> Any:
    return m.new(SeqIter(tuple(obj)))


def _over_view(m: Interpreter, s: State, obj: Any) -> Any:
    found = view_of(obj)
    if found is None:
        return m.new(SeqIter(tuple(obj)))
    owner, kind = found
    m.note_load(owner, "*")
    return m.new(LiveIter(owner, kind, tuple(owner)))


def _native_iter(m: Interpreter, s: State, obj: Any) -> Any:
    if lookup.python_method(obj, "__next__") is not None:
        return obj
    if lookup.python_method(obj, "__getitem__") is not None and not hasattr(type(obj), "__iter__"):
        return m.call(s, iterator_polyfills.iterate_by_index, (obj,), {})
    return m.new(NativeIter(iter(obj)))


_ITERATED = {list: _over_list, **dict.fromkeys((tuple, str, bytes), _over_sequence), range: _over_range,
             dict: _over_dict, set: _over_set, collections.deque: _over_deque, frozenset: _over_frozenset,
             **dict.fromkeys(VIEWS, _over_view)}


def only_counts(m: Interpreter, frame: Frame, obj: range) -> bool:
    """`for _ in range(40)`: nobody reads the numbers, so iterations are alike and a loop that the run leaves early may
    become a back edge at once. Where that is refused, the next attempt unrolls it."""
    loop, stored = frame.info.instrs[frame.pc + 1:frame.pc + 3]
    if len(obj) <= m.options.max_alike or loop.op != "FOR_ITER" or stored.op != "STORE_FAST":
        return False
    place = (frame.info.code, frame.pc)
    counting = m.assumptions.counting
    if place in counting.refuted or frame.info.is_live(frame.pc + 3, frame.info.local_index[stored.value]):
        return False
    counting.assumed.add(place)
    return True


def next_item(m: Interpreter, s: State, iterator: Any, exhausted, sent: Any = None) -> Any:
    """The next item, DONE, or PUSHED (the item then arrives on the stack; a generator that ends calls
    `exhausted(machine, state, returned value)`)."""
    own = stand_in_of(iterator)
    found = own.next_item(m, s, exhausted, sent) if own is not None else NotImplemented
    if found is not NotImplemented:
        return found
    method = lookup.bound_method(iterator, "__next__")
    if method is None:
        raise TypeError(f"'{type(iterator).__name__}' object is not an iterator")
    if lookup.python_method(iterator, "__next__") is None and not m.is_born(iterator):
        raise CaptureRefusal(f"a {type(iterator).__name__} from outside is moved on",
                             "pass in what it gives", kind="iterator")
    return m.call(s, method, (), {})  # StopIteration ends the loop in Machine.unwind


def next_of(m, s, iterator, sent):
    return given(next_item(m, s, iterator, exhausted=raise_stop, sent=sent))


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
    own = stand_in_of(source)
    return None if own is None else own.all_items(m)
