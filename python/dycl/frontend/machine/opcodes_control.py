# SPDX-License-Identifier: Apache-2.0
"""Instructions of iteration, exceptions, `with` and `match`."""

from __future__ import annotations

import collections.abc
import operator
import sys

from ..diagnostics import CaptureRefusal
from ..semantics import iteration, lookup, opaque_objects
from ..state import iterators
from ..state.signals import JUMPED
from ..values.arena import Reference
from ..values.counting import RtRangeIter
from ..values.escape import Thrown
from ..values.stand_in import DONE, is_instance, made_stand_in
from .opcode_table import op, push_result

_SINCE_312 = sys.version_info >= (3, 12)


# ---- iteration ---------------------------------------------------------------------------


@op("GET_ITER")
def get_iter(m, s, f, i):
    obj = f.stack.pop()
    if isinstance(obj, range) and iteration.only_counts(m, f, obj):
        return push_result(f, m.new(RtRangeIter(obj.start, obj.stop, obj.step)))
    return push_result(f, iteration.get_iter(m, s, obj))


@op("GET_YIELD_FROM_ITER")
def get_yield_from_iter(m, s, f, i):
    return push_result(f, iteration.get_iter(m, s, f.stack.pop()))


@op("FOR_ITER")
def for_iter(m, s, f, i):
    iterator = f.stack[-1]
    result = iteration.next_item(m, s, iterator, exhausted=_for_iter_done)
    if result is DONE:
        f.stack.pop()
        m.jump(f, i.target)
        return JUMPED
    return push_result(f, result)


def _for_iter_done(m, s, value):
    frame = s.frames[-1]
    frame.stack.pop()
    m.jump(frame, frame.instr.target)
    return JUMPED


@op("RETURN_GENERATOR")
def return_generator(m, s, f, i):
    if f.info.code.co_flags & 0x280:
        raise CaptureRefusal("a coroutine", "call a plain function", kind="async")
    m.advance(f)
    s.frames.pop()
    on_return = f.on_return
    f.on_return = None
    generator = m.new(iterators.MGenerator(f))
    if on_return is not None:
        return on_return(m, s, generator) or _advance_caller(m, s)
    caller = s.frames[-1]
    caller.stack.append(generator)
    m.advance(caller)
    return JUMPED


def _advance_caller(m, s):
    m.advance(s.frames[-1])
    return JUMPED


@op("YIELD_VALUE")
def yield_value(m, s, f, i):
    value = f.stack.pop()
    m.advance(f)
    iteration.suspend(m, s, f, value)
    return JUMPED


@op("SEND")
def send(m, s, f, i):
    sent, iterator = f.stack[-1], f.stack[-2]
    f.stack.pop()
    result = iteration.next_item(m, s, iterator, exhausted=send_done, sent=sent)
    if result is DONE:
        return send_done(m, s, None)
    return push_result(f, result)


def send_done(m, s, value):
    frame = s.frames[-1]
    if _SINCE_312:
        frame.stack.append(value)
    else:
        frame.stack[-1] = value
    m.jump(frame, frame.instr.target)
    return JUMPED


@op("END_SEND")
def end_send(m, s, f, i):
    value = f.stack.pop()
    f.stack[-1] = value


@op("CLEANUP_THROW")
def cleanup_throw(m, s, f, i):
    """3.12: an exception that came out of the iterator of `yield from`. Its StopIteration ends the delegation."""
    error = f.stack[-1]
    if not isinstance(error, StopIteration):
        raise Thrown(error)
    f.stack[-3:] = [None, error.value]


# ---- exceptions and with -------------------------------------------------------------------


@op("RAISE_VARARGS")
def raise_varargs(m, s, f, i):
    if i.arg == 0:
        active = s.being_handled()
        if active is None:
            raise RuntimeError("No active exception to reraise")
        raise Thrown(active)
    error = f.stack[-1 - (i.arg == 2)]
    made = isinstance(error, type) and issubclass(error, BaseException)
    if made:
        error = error()
    if not isinstance(error, BaseException):
        raise TypeError("exceptions must derive from BaseException")
    if i.arg == 2:
        cause = f.stack[-1]
        cause = cause() if isinstance(cause, type) and issubclass(cause, BaseException) else cause
        if cause is not None and not isinstance(cause, BaseException):
            raise TypeError("exception causes must derive from BaseException")
        if not made and (error.__cause__ is not cause or not error.__suppress_context__):
            opaque_objects.check_raised(m, error)
        error.__cause__ = cause  # None too: it keeps the context from being told
    if not isinstance(error, Exception):
        raise CaptureRefusal(f"raising {type(error).__name__}", kind="raise")
    raise Thrown(error)


@op("PUSH_EXC_INFO")
def push_exc_info(m, s, f, i):
    error = f.stack.pop()
    f.stack.append(f.handled[-1] if f.handled else None)
    f.stack.append(error)
    f.handled.append(error)


@op("POP_EXCEPT")
def pop_except(m, s, f, i):
    f.stack.pop()
    if f.handled:
        f.handled.pop()


@op("CHECK_EXC_MATCH")
def check_exc_match(m, s, f, i):
    kind = f.stack.pop()
    f.stack.append(isinstance(f.stack[-1], kind))


@op("RERAISE")
def reraise(m, s, f, i):
    raise Thrown(f.stack.pop())


@op("BEFORE_WITH")
def before_with(m, s, f, i):
    manager = f.stack.pop()
    leave = lookup.bound_method(manager, "__exit__")
    enter = lookup.bound_method(manager, "__enter__")
    if enter is None or leave is None:
        raise TypeError(f"'{type(manager).__name__}' object does not support the context manager protocol")
    f.stack.append(leave)
    return push_result(f, m.call(s, enter, (), {}))


@op("WITH_EXCEPT_START")
def with_except_start(m, s, f, i):
    error = f.stack[-1]
    leave = f.stack[-4]
    return push_result(f, m.call(s, leave, (type(error), error, error.__traceback__), {}))


# ---- match ------------------------------------------------------------------------------------


@op("GET_LEN")
def get_len(m, s, f, i):
    f.stack.append(len(f.stack[-1]))


@op("MATCH_MAPPING")
def match_mapping(m, s, f, i):
    _refuse_pattern(m, f.stack[-1])
    f.stack.append(is_instance(m, f.stack[-1], collections.abc.Mapping))


def _refuse_pattern(m, subject):
    own = made_stand_in(subject)
    if own is not None:
        own.refuse_native(m, "a `match`")


@op("MATCH_SEQUENCE")
def match_sequence(m, s, f, i):
    subject = f.stack[-1]
    _refuse_pattern(m, subject)
    f.stack.append(is_instance(m, subject, collections.abc.Sequence)
                   and not is_instance(m, subject, (str, bytes, bytearray)))


@op("MATCH_KEYS")
def match_keys(m, s, f, i):
    keys, subject = f.stack[-1], f.stack[-2]
    f.stack.append(tuple(subject[k] for k in keys) if all(k in subject for k in keys) else None)


@op("MATCH_CLASS")
def match_class(m, s, f, i):
    names = f.stack.pop()
    cls = f.stack.pop()
    subject = f.stack.pop()
    if issubclass(type(subject), Reference):  # neither its class nor its attributes are those of the stand-in
        raise CaptureRefusal("a `match` by class on one of many objects that the program keeps in a table",
                             "ask isinstance() and its attributes with `if`", kind="list.element")
    f.stack.append(_match_class(m, subject, cls, i.arg, names))


_SELF_MATCH = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def _match_class(m, subject, cls, positional, names):
    if not is_instance(m, subject, cls):
        return None
    values = []
    if positional:
        if issubclass(cls, _SELF_MATCH) and positional == 1:
            values.append(subject)
        else:
            names = (*cls.__match_args__[:positional], *names)
    for name in names:
        if not hasattr(subject, name):
            return None
        values.append(operator.attrgetter(name)(subject))
    return tuple(values)
