# SPDX-License-Identifier: Apache-2.0
"""Instructions that make containers, take them apart, and call."""

from __future__ import annotations

import functools
import types
import typing

from ..diagnostics import CaptureRefusal
from ..polyfills import builtins as polyfills
from ..polyfills import keyed_tables
from ..semantics import iteration, keys, operators
from ..state import signals
from ..state.signals import JUMPED
from ..state.state import NULL
from ..values.stand_in import made_stand_in
from ..values.text import RtText
from ..values.text_formatting import format_value
from . import dropped
from .exceptions import ended_by
from .opcode_table import ASYNC, HANDLERS, REFUSED, op, push_result

# ---- building -------------------------------------------------------------------------


def _take(f, n):
    if n == 0:
        return []
    items = f.stack[-n:]
    del f.stack[-n:]
    return items


@op("BUILD_TUPLE")
def build_tuple(m, s, f, i):
    f.stack.append(tuple(_take(f, i.arg)))


@op("BUILD_LIST")
def build_list(m, s, f, i):
    f.stack.append(m.new(_take(f, i.arg)))


def _key(m, x, container=None):
    """An element of a set or key of a dict that is about to be made; one known only at run time is decided."""
    if not keys.at_run_time(x):
        return x
    return keys.any_key(m, x, container if container is not None else keys.site(m))


@op("BUILD_SET")
def build_set(m, s, f, i):
    if keys.wanted(m) and any(map(keys.at_run_time, f.stack[len(f.stack) - i.arg:])):
        items = _take(f, i.arg)
        return push_result(f, m.call(s, keyed_tables.fill_set, (keys.as_table(m, set()), tuple(items)), {}))
    found = {_key(m, x) for x in f.stack[len(f.stack) - i.arg:]}
    _take(f, i.arg)
    f.stack.append(keys.made(m, found))


@op("BUILD_MAP")
def build_map(m, s, f, i):
    if keys.wanted(m):
        items = _take(f, 2 * i.arg)
        return push_result(f, m.call(s, keyed_tables.fill,
                                     (keys.as_table(m, {}), tuple(items[::2]), tuple(items[1::2])), {}))
    names = [_key(m, x) for x in f.stack[len(f.stack) - 2 * i.arg::2]]
    f.stack.append(keys.made(m, dict(zip(names, _take(f, 2 * i.arg)[1::2]))))


@op("BUILD_CONST_KEY_MAP")
def build_const_key_map(m, s, f, i):
    names = f.stack.pop()
    f.stack.append(keys.made(m, dict(zip(names, _take(f, i.arg)))))


@op("BUILD_SLICE")
def build_slice(m, s, f, i):
    f.stack.append(slice(*_take(f, i.arg)))


@op("BUILD_STRING")
def build_string(m, s, f, i):
    f.stack.append(RtText.join(_take(f, i.arg)))


@op("FORMAT_VALUE")
def format_value_op(m, s, f, i):
    spec = f.stack.pop() if i.arg & 4 else ""
    value = f.stack.pop()
    return push_result(f, format_value(m, value, spec, i.arg & 3))


@op("LIST_TO_TUPLE")
def list_to_tuple(m, s, f, i):
    items = f.stack.pop()
    own = made_stand_in(items)
    f.stack.append(tuple(items) if own is None else own.rebuilt_as(m, s, tuple, {}))


@op("LIST_APPEND")
def list_append(m, s, f, i):
    value = f.stack.pop()
    target = f.stack[-i.arg]
    own = made_stand_in(target)
    if own is not None:
        return own.add_entry(m, s, value)
    m.heap.touch(target)
    target.append(value)


@op("SET_ADD")
def set_add(m, s, f, i):
    target = f.stack[-i.arg - 1]
    own = made_stand_in(target)
    if own is not None:
        return own.add_entry(m, s, f.stack.pop())
    value = _key(m, f.stack[-1], target)
    f.stack.pop()
    m.heap.touch(target)
    target.add(value)


@op("MAP_ADD")
def map_add(m, s, f, i):
    target = f.stack[-i.arg - 2]
    own = made_stand_in(target)
    if own is not None:
        return own.add_entry(m, s, *_take(f, 2))
    key = _key(m, f.stack[-2], target)
    value = f.stack.pop()
    f.stack.pop()
    m.heap.touch(target)
    target[key] = value


@op("LIST_EXTEND")
def list_extend(m, s, f, i):
    source = f.stack[-1]
    target = f.stack[-i.arg - 1]
    own = made_stand_in(source)
    made = own.extend_display(m, target) if own is not None else NotImplemented
    if made is not NotImplemented:  # nobody else knows the target
        f.stack.pop()
        f.stack[-i.arg] = made
        return None
    items = iteration.materialise(m, source)
    if items is None or made_stand_in(target) is not None:
        f.stack.pop()
        return m.call_then(s, polyfills.extend_list, (target, source), {}, signals.drop)
    f.stack.pop()
    m.heap.touch(target)
    target.extend(items)


@op("SET_UPDATE")
def set_update(m, s, f, i):
    source = f.stack[-1]
    target = f.stack[-i.arg - 1]
    f.stack.pop()
    if made_stand_in(target) is not None:
        return m.call_then(s, keyed_tables.fill_set, (target, source), {}, signals.drop)
    return operators.update_set(m, s, target, (source,), signals.drop)


def _called(function) -> str:
    """How Python's errors about keyword arguments begin."""
    name, module = (getattr(function, key, None) for key in ("__qualname__", "__module__"))
    if not isinstance(name, str):
        return ""
    return f"{name}() " if module in (None, "builtins") else f"{module}.{name}() "


@op("DICT_UPDATE", "DICT_MERGE")
def dict_update(m, s, f, i):
    source = f.stack[-1]
    if made_stand_in(source) is not None or made_stand_in(f.stack[-i.arg - 1]) is not None:
        if i.op == "DICT_MERGE":
            raise CaptureRefusal("a dict with keys known only at run time as keyword arguments", kind="escape.hash")
        f.stack.pop()
        return m.call_then(s, polyfills.update_mapping, (f.stack[-i.arg], source, {}), {}, signals.drop)
    if not isinstance(source, dict):
        f.stack[-1] = None
        return m.call_then(s, polyfills.make_mapping, (source, {}), {}, _retry_at(-1))
    f.stack.pop()
    target = f.stack[-i.arg]
    m.heap.touch(target)
    m.note_load(source, "*")
    if i.op == "DICT_MERGE":
        for key in source:
            if key in target:
                raise TypeError(f"{_called(f.stack[-i.arg - 2])}got multiple values for keyword argument '{key}'")
    target.update(source)


@op("UNPACK_SEQUENCE")
def unpack_sequence(m, s, f, i):
    own = made_stand_in(f.stack[-1])
    found = own.unpacked(m, s, i.arg) if own is not None else NotImplemented
    if found is not NotImplemented:
        f.stack.pop()
        f.stack.extend(reversed(found))
        return None
    items = iteration.materialise(m, f.stack[-1])
    if items is None:
        source = f.stack.pop()
        return m.call_then(s, polyfills.unpacked, (source, i.arg), {}, _retry)
    f.stack.pop()
    if len(items) != i.arg:
        few = len(items) < i.arg
        raise ValueError(f"not enough values to unpack (expected {i.arg}, got {len(items)})" if few
                         else f"too many values to unpack (expected {i.arg})")
    f.stack.extend(reversed(items))


def _retry(m, s, value):
    s.frames[-1].stack.append(value)
    return JUMPED


@op("UNPACK_EX")
def unpack_ex(m, s, f, i):
    _refuse_spread(m, f.stack[-1])
    items = iteration.materialise(m, f.stack[-1])
    if items is None:
        source = f.stack.pop()
        return m.call_then(s, polyfills.spread, (source,), {}, _retry)
    f.stack.pop()
    before, after = i.arg & 0xFF, i.arg >> 8
    if len(items) < before + after:
        raise ValueError(f"not enough values to unpack (expected at least {before + after}, got {len(items)})")
    middle = m.new(list(items[before:len(items) - after]))
    tail = list(items[len(items) - after:]) if after else []
    f.stack.extend(reversed([*items[:before], middle, *tail]))


# ---- calls ------------------------------------------------------------------------------


@op("CALL")
def call(m, s, f, i):
    count = i.arg
    names = f.kw_names
    args = f.stack[len(f.stack) - count:]
    fn, first = f.stack[-count - 2], f.stack[-count - 1]
    if fn is NULL:
        fn = first
    else:
        args = [first, *args]
    kwargs = {}
    if names:
        kwargs = dict(zip(names, args[len(args) - len(names):]))
        args = args[:len(args) - len(names)]
    # The operands are removed first: a pushed frame returns its value onto the cleaned stack.
    del f.stack[-count - 2:]
    f.kw_names = ()
    return push_result(f, m.call(s, fn, tuple(args), kwargs))


def _refuse_spread(m, source):
    own = made_stand_in(source)
    if own is not None:
        own.refuse_spread(m)


def _columns(m, f, i, args, kwargs):
    """What zip(*rows) gives of a list of run-time length whose elements are tuples."""
    own = made_stand_in(args) if f.stack[-3 if i.arg & 1 else -2] is zip and not kwargs else None
    return own.columns(m) if own is not None else None


@op("CALL_FUNCTION_EX")
def call_function_ex(m, s, f, i):
    kwargs = f.stack[-1] if i.arg & 1 else {}
    args = f.stack[-2] if i.arg & 1 else f.stack[-1]
    columns = _columns(m, f, i, args, kwargs)
    if columns is not None:
        del f.stack[-(3 if i.arg & 1 else 2):]
        if f.stack and f.stack[-1] is NULL:
            f.stack.pop()
        return push_result(f, iteration.get_iter(m, s, columns))
    _refuse_spread(m, args)
    items = iteration.materialise(m, args)
    if items is None:
        position = -2 if i.arg & 1 else -1
        f.stack[position] = None
        return m.call_then(s, polyfills.make_tuple, (args,), {}, _retry_at(position))
    if not isinstance(kwargs, dict):
        f.stack[-1] = None
        return m.call_then(s, polyfills.make_mapping, (kwargs, {}), {}, _retry_at(-1))
    del f.stack[-2 if i.arg & 1 else -1:]
    fn = f.stack.pop()
    if f.stack and f.stack[-1] is NULL:
        f.stack.pop()
    return push_result(f, m.call(s, fn, tuple(items), dict(kwargs)))


@functools.lru_cache(None)
def _retry_at(position):
    def place(m, s, value):
        s.frames[-1].stack[position] = value
        return JUMPED

    return place


@op("CALL_INTRINSIC_1")
def call_intrinsic_1(m, s, f, i):
    """3.12: what has no instruction of its own."""
    name = INTRINSICS_1[i.arg]
    if name in HANDLERS:
        return HANDLERS[name](m, s, f, i)
    if name == "STOPITERATION_ERROR":
        error = f.stack.pop()
        f.stack.append(ended_by(error) if isinstance(error, StopIteration) else error)
    elif name in ("TYPEVAR", "PARAMSPEC"):
        kind = typing.TypeVar if name == "TYPEVAR" else typing.ParamSpec
        f.stack.append(kind(f.stack.pop(), infer_variance=True))
    elif name == "TYPEVARTUPLE":
        f.stack.append(typing.TypeVarTuple(f.stack.pop()))
    elif name == "SUBSCRIPT_GENERIC":
        f.stack.append(
            typing.Generic[tuple(typing.Unpack[p] if isinstance(p, typing.TypeVarTuple) else p for p in f.stack.pop())]
        )
    else:
        refuse(name)


INTRINSICS_1 = ("INVALID", "PRINT", "IMPORT_STAR", "STOPITERATION_ERROR", "ASYNC_GEN_WRAP",
                "UNARY_POSITIVE", "LIST_TO_TUPLE",
                 "TYPEVAR", "PARAMSPEC", "TYPEVARTUPLE", "SUBSCRIPT_GENERIC", "TYPEALIAS")
INTRINSICS_2 = ("INVALID", "PREP_RERAISE_STAR", "TYPEVAR_WITH_BOUND", "TYPEVAR_WITH_CONSTRAINTS",
                "SET_FUNCTION_TYPE_PARAMS")


@op("CALL_INTRINSIC_2")
def call_intrinsic_2(m, s, f, i):
    name = INTRINSICS_2[i.arg]
    if name != "SET_FUNCTION_TYPE_PARAMS":
        refuse(name)
    parameters = f.stack.pop()
    f.stack[-1].__type_params__ = parameters


def refuse(name: str):
    """The instruction or intrinsic `name` is not one of ours."""
    what, help = REFUSED.get(name, (f"the Python instruction {name}", ""))
    raise CaptureRefusal(f"{what} is not supported", help, kind="async" if what == ASYNC[0] else "opcode")


@op("MAKE_FUNCTION")
def make_function(m, s, f, i):
    code = f.stack.pop()
    closure = f.stack.pop() if i.arg & 8 else None
    annotations = f.stack.pop() if i.arg & 4 else None
    kwdefaults = f.stack.pop() if i.arg & 2 else None
    defaults = f.stack.pop() if i.arg & 1 else None
    function = types.FunctionType(code, f.globals, code.co_name, defaults, closure)
    function.__kwdefaults__ = kwdefaults
    if annotations:
        function.__annotations__ = (annotations if isinstance(annotations, dict)
                                    else dict(zip(annotations[::2], annotations[1::2])))
    function.__module__ = f.function.__module__
    f.stack.append(m.new(function))


@op("RETURN_VALUE")
def return_value(m, s, f, i):
    value = f.stack.pop()
    closing = dropped.at_return(m, s, f, value) if m.guarded else None
    if closing is None:
        m.return_value(s, value)
    else:
        f.stack.append(value)
    return closing or JUMPED
