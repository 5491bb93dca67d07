# SPDX-License-Identifier: Apache-2.0
"""Methods of native objects: tensors, lists, dicts, sets, strings."""

from __future__ import annotations

import array
import collections
import contextvars
import functools
import string
import threading
import types
from typing import Any, Callable

import torch

from ..diagnostics import CaptureRefusal
from ..polyfills import builtins as polyfills
from ..polyfills import keyed_tables
from ..polyfills.registry import POLYFILLS
from ..semantics import attributes, calls, iteration, keys, lookup, native_calls, operators, registry, subscripts
from ..state import numpy_memory, signals
from ..state.contents import ContextCell
from ..state.interpreter import Interpreter
from ..state.state import State
from ..values import text_formatting
from ..values.array import RtArray
from ..values.native_entries import natively, refuse_own
from ..values.stand_in import BoundMethod, StandIn, is_instance, made_stand_in, stand_in_of, type_of
from ..values.text import RtText


@registry.finds(BoundMethod)
def _find_method(fn: BoundMethod) -> Any:
    return lambda m, s, args, kwargs: fn.owner.call_method(m, s, fn.name, args, kwargs)


_MUTABLE = (list, dict, set, collections.deque, bytearray)
_READERS = {
    "__getitem__", "__len__", "__contains__", "__iter__", "get", "keys", "values", "items", "copy", "index", "count",
    "__eq__", "__ne__", "union", "intersection", "difference", "issubset", "issuperset", "isdisjoint", "__repr__",
    "__str__", "__reversed__", "__hash__", "__sizeof__", "__add__", "__mul__", "__or__", "__and__", "__sub__",
    "symmetric_difference", "__getattribute__",
}


@registry.calls(types.BuiltinFunctionType, types.MethodWrapperType, types.MethodDescriptorType,
                types.WrapperDescriptorType, types.ClassMethodDescriptorType)
def call_native(m: Interpreter, s: State, fn: Any, args: tuple, kwargs: dict) -> Any:
    """A builtin function, bound builtin method, slot wrapper or method descriptor."""
    if isinstance(fn, (types.MethodDescriptorType, types.WrapperDescriptorType)) and args:
        owner, rest, home = args[0], args[1:], fn.__objclass__
    else:
        owner, rest, home = getattr(fn, "__self__", None), args, torch.Tensor
        if owner is None or isinstance(owner, (types.ModuleType, type)):
            return _function(m, s, owner, fn, args, kwargs)
    if isinstance(owner, torch.Tensor) and issubclass(torch.Tensor, home):
        return tensor_method(m, s, owner, fn.__name__, rest, kwargs, fn)
    return object_method(m, s, owner, fn.__name__, rest, kwargs, fn, args)


def _function(m: Interpreter, s: State, owner: Any, fn: Any, args: tuple, kwargs: dict) -> Any:
    """A function of a module, or of a class itself."""
    if fn.__name__ == "__new__" and isinstance(owner, type):
        return _new(m, s, owner, fn, args, kwargs)
    if fn.__name__ == "fromkeys" and owner is dict and args and not kwargs:
        items = iteration.materialise(m, args[0])
        if items is None or keys.wanted(m) or any(map(keys.at_run_time, items)):
            given = args[0] if items is None else tuple(items)
            return m.call(s, keyed_tables.from_keys, (given, *args[1:], None)[:2], {})
    return native_calls.native(m, s, fn, args, kwargs)


def _new(m, s, owner, fn, args, kwargs):
    """cls.__new__ called by name: object.__new__(cls), tuple.__new__(cls, items)."""
    if owner is object:
        return m.new(object.__new__(args[0]))
    if owner is tuple and len(args) == 2:
        items = iteration.materialise(m, args[1])
        if items is None:
            return m.call(s, polyfills.tuple_subclass, (fn, args[0], args[1]), {})
        return calls.adopt_instance(m, args[0], tuple.__new__(args[0], items))
    return calls.adopt_instance(m, args[0], natively(fn, *args, **kwargs))


# ---- tensors ---------------------------------------------------------------------------------


def tensor_method(m: Interpreter, s: State, t: torch.Tensor, name: str, args: tuple, kwargs: dict, fn: Any) -> Any:
    special = _TENSOR.get(name)
    result = special(m, s, t, args, kwargs) if special is not None else NotImplemented
    if result is not NotImplemented:
        return result
    m.note_deep(*args, *kwargs.values())
    if name in ("new", "new_tensor"):
        made = registry.find(getattr(torch.Tensor, name))(m, s, (t, *args), kwargs)
        if made is not NotImplemented:
            return made
    method = getattr(torch.Tensor, name, None) or fn
    return m.adopt_lists(m.recorder.call(method, (t, *args), kwargs))


def _want_gradients(m, s, t, args, kwargs):
    if args[:1] != (False,) and kwargs.get("requires_grad") is not False or t.requires_grad:
        m.want_gradients(t)
    return t


def _refusing(text, remedy, kind):
    def refuse(m, s, owner, args, kwargs):
        raise CaptureRefusal(text, remedy, kind=kind)

    return refuse


def _numpy(m: Interpreter, t: torch.Tensor) -> Any:
    real = m.recorder.numbers.static(t)
    return RtArray(t) if real is None or numpy_memory.is_lifted(m) else numpy_memory.of_tensor(m, t, real)


_as_text = _refusing("a tensor as a string", "use tensor.item()", "escape.str")
_TENSOR = {
    "tolist": lambda m, s, t, args, kwargs: m.tolist(t),
    "numpy": lambda m, s, t, args, kwargs: _numpy(m, t),
    "__len__": lambda m, s, t, args, kwargs: m.call(s, len, (t,), {}),
    "__iter__": lambda m, s, t, args, kwargs: iteration.get_iter(m, s, t),
    "__contains__": lambda m, s, t, args, kwargs: operators.contains(m, s, t, args[0], negate=False),
    "__hash__": lambda m, s, t, args, kwargs: id(t),
    "requires_grad_": _want_gradients, "retain_grad": _want_gradients,
    "register_hook": lambda m, s, t, args, kwargs: None,
    "backward": _refusing("backward() inside the model", None, "autograd"),
    "__format__": _as_text, "__repr__": _as_text, "__str__": _as_text,
    **dict.fromkeys(("dim", "ndimension"), lambda m, s, t, args, kwargs: NotImplemented if args else t.dim()),
    **dict.fromkeys(("__reduce_ex__", "__deepcopy__"),
                    lambda m, s, t, args, kwargs: m.recorder.call(torch.clone, (t,), {})),
}


# ---- containers and text ---------------------------------------------------------------------------


def object_method(m: Interpreter, s: State, owner: Any, name: str, args: tuple, kwargs: dict,
                  fn: Any, full: tuple) -> Any:
    if isinstance(owner, str):
        return _str_method(m, s, owner, name, args, kwargs, fn, full)
    _note_use(m, owner, name)
    special = lookup.by_type(_METHODS, owner, {}).get(name)
    result = special(m, s, owner, args, kwargs) if special is not None else NotImplemented
    if result is not NotImplemented:
        return result
    if isinstance(owner, _MUTABLE) and (name not in _BLIND or name == "clear" and isinstance(owner, dict)):
        m.note_load(owner, "*")
    if name == "__setattr__":
        return signals.as_call(s, attributes.store_default(m, s, owner, *args))
    if name == "__getattribute__":
        return attributes.default_attr(m, s, owner, *args, fallback=False)
    if name == "__init__" and not isinstance(owner, _MUTABLE):
        return _init(m, owner, fn, args, kwargs, full)
    return _native_method(m, s, owner, name, kwargs, fn, full)


def _note_use(m: Interpreter, owner: Any, name: str) -> None:
    if name in _SHOWING:
        m.note_objects(owner)
    if isinstance(owner, list) and name in _LIST_USES:
        (m.note_store if name == "clear" else m.note_load)(owner, "*")


def _init(m: Interpreter, owner: Any, fn: Any, args: tuple, kwargs: dict, full: tuple) -> Any:
    if type(owner).__init__ is object.__init__ or not args and not kwargs:
        return None
    if hasattr(owner, "__dict__"):
        m.heap.touch(owner)
    return natively(fn, *full, **kwargs)


def _native_method(m: Interpreter, s: State, owner: Any, name: str, kwargs: dict, fn: Any, full: tuple) -> Any:
    """As it is, on the real object."""
    if isinstance(owner, _MUTABLE) and name not in _READERS:
        m.heap.touch(owner)
    elif name == "__delattr__":
        attributes.touch_attributes(m, owner)
    if made_stand_in(owner) is not None:
        raise CaptureRefusal(f"the method {name} of a {type_of(m, owner).__name__} known only at run time",
                             kind="native.method", because=owner)
    if isinstance(owner, _MUTABLE) and name in _CARRIERS:  # what is put in must stay the object it is
        result = natively(fn, *full, **kwargs)
    else:
        result = native_calls.native(m, s, fn, full, kwargs)
    if name in _MAKING and type(result) in (dict, set):
        return keys.made(m, result)
    return m.new_if_mutable(result) if name in ("copy", "split", "fromkeys") else result


def _turns(m: Interpreter, ring: collections.deque, count: StandIn) -> int:
    """By how many places a deque is rotated: one arm for each."""
    count = count.as_index(m, "'float' object cannot be interpreted as an integer")
    if stand_in_of(count) is None or len(ring) < 2:
        return count if isinstance(count, int) else 0
    return m.decide_value(m.scalars.binary("mod", m.scalars.to_int(count), len(ring)),
                          range(len(ring)), "a number of places")


_BLIND = {"append", "appendleft", "extend", "extendleft", "insert", "clear", "update", "add", "discard", "__setitem__",
          "__getitem__", "__init__"}  # they look at nothing, or at one entry, which is noted where it is read
_CARRIERS = {"append", "appendleft", "extend", "extendleft", "insert", "pop", "popleft", "popitem",
             "clear", "copy", "update", "setdefault", "__setitem__", "__delitem__", "reverse", "rotate", "add",
             "discard", "keys", "values", "items", "get", "__getitem__", "__len__", "__iter__", "move_to_end",
             "__init__", "__iadd__", "__imul__", "__ior__", "__iand__", "__isub__",
             "__ixor__"}


_MAKING = {"copy", "union", "intersection", "difference", "symmetric_difference"}
_SHOWING = {"__reduce_ex__", "__reduce__", "__getstate__", "__dir__", "__repr__", "__str__", "__format__"}
_LIST_USES = {"insert", "pop", "sort", "reverse", "remove", "copy", "index", "count", "clear"}


# ---- context variables -----------------------------------------------------------------------------


class ContextToken:
    """What ContextVar.set gives: the value before. Immutable."""

    __slots__ = ("var", "before")

    def __init__(self, var: contextvars.ContextVar, before: tuple):
        self.var, self.before = var, before


def _context_method(name: str) -> Callable:
    """A context variable's value is per state, like any other contents."""
    def method(m: Interpreter, s: State, var: contextvars.ContextVar, args: tuple, kwargs: dict) -> Any:
        cell = m.contexts.get(var)
        if cell is None:
            found = var.get(m)  # the machine itself: never a value
            cell = m.contexts[var] = ContextCell(() if found is m else (found,), var)
        now = cell.value
        if name == "get":
            return now[0] if now else args[0] if args else var.get()
        m.heap.touch(cell)
        cell.value = args[0].before if name == "reset" else (args[0],)
        return None if name == "reset" else ContextToken(var, now)

    return method


# ---- strings ---------------------------------------------------------------------------------------


def _str_method(m, s, text, name, args, kwargs, fn, full):
    if name == "join":
        own = stand_in_of(args[0])
        made = own.joined(m, text) if own is not None else NotImplemented
        if made is not NotImplemented:
            return made
        items = iteration.materialise(m, args[0])
        if items is None:
            return m.call(s, polyfills.join_text, (text, args[0]), {})
        if any(made_stand_in(x) is not None for x in items) and all(is_instance(m, x, str) for x in items):
            pieces = []
            for k, x in enumerate(items):
                pieces += [text, x] if k else [x]
            return RtText.join(pieces)
        return text.join(items)
    m.note_deep(*args, *kwargs.values())
    m.note_objects(*args, *kwargs.values())
    if m.has_runtime(args) or m.has_runtime(kwargs):
        if name == "format":
            return _format(m, s, text, args, kwargs)
        raise CaptureRefusal(f"str.{name} with a value known only at run time", kind="escape.str")
    return m.new_if_mutable(natively(fn, *full, **kwargs))


def _format(m, s, text, args, kwargs):
    pieces: list = []
    auto = 0
    for literal, field, spec, conversion in string.Formatter().parse(text):
        pieces.append(literal)
        if field is None:
            continue
        if field == "":
            value, auto = args[auto], auto + 1
        elif field.isdigit():
            value = args[int(field)]
        elif field in kwargs:
            value = kwargs[field]
        else:
            raise CaptureRefusal(f"the format field {{{field}}} with a value known only at run time",
                                 kind="escape.format")
        pieces.append(text_formatting.format_value(m, value, spec or "",
                                                   {None: 0, "s": 1, "r": 2, "a": 3}[conversion]))
    return RtText.join(pieces)


def _list_extend(m, s, target, args, kwargs):
    items = iteration.materialise(m, args[0])
    if items is None:
        return m.call_then(s, polyfills.extend_list, (target, args[0]), {}, signals.push_none)
    m.heap.touch(target)
    natively(list.extend, target, items)  # not what a class of the user's makes of it: that has been run
    return None


def _list_init(m, s, target, args, kwargs):
    if kwargs or len(args) > 1:
        return NotImplemented
    m.heap.touch(target)
    list.clear(target)
    return _list_extend(m, s, target, args, kwargs) if args else None


def _list_pop(m, s, target, args, kwargs):
    index = -1
    if args and subscripts.length(target):
        index = subscripts.static_index(m, args[0], subscripts.length(target), "pop index")
    m.heap.touch(target)
    return natively(list.pop, target, index)


def _list_insert(m, s, target, args, kwargs):
    index = args[0]
    if stand_in_of(index) is not None:
        index = subscripts.static_bound(m, index, subscripts.length(target), -subscripts.length(target))
    m.heap.touch(target)
    list.insert(target, index, args[1])
    return None


def _needs_equality(m, target, args):
    items = tuple(target) if isinstance(target, collections.deque) else target
    return m.has_runtime(items) or m.has_runtime(args) or lookup.python_method(args[0], "__eq__") is not None


def _by_equality(method):
    def call(m, s, target, args, kwargs):
        if not _needs_equality(m, target, args):
            return NotImplemented
        return m.call(s, POLYFILLS[method], (target, *args), {})

    return call


def _list_sort(m, s, target, args, kwargs):
    if kwargs.get("key") is None and not m.has_runtime(target) and all(
            type(x) in (int, float, str, bool, tuple) for x in list.__iter__(target)):
        return NotImplemented
    return m.call(s, polyfills.sort_list, (target,), kwargs)


_LIST = {
    "__init__": _list_init, "extend": _list_extend, "pop": _list_pop, "insert": _list_insert, "sort": _list_sort,
    "index": _by_equality(list.index), "count": _by_equality(list.count), "remove": _by_equality(list.remove),
    "__getitem__": lambda m, s, t, args, kwargs: (
        subscripts.get_item(m, s, t, args[0]) if type(t) is list else NotImplemented),
    "__setitem__": lambda m, s, t, args, kwargs: (
        signals.as_call(s, subscripts.set_item(m, s, t, *args)) if type(t) is list else NotImplemented),
    "__contains__": lambda m, s, t, args, kwargs: operators.contains(
        m, s, t if type(t) is list else tuple(list.__iter__(t)), args[0], False),
}


def _dict_get(m, s, table, args, kwargs):
    key = args[0]
    if keys.at_run_time(key):
        m.note_load(table, "*")
        try:
            return table[keys.present_key(m, key, table, KeyError())]
        except KeyError as error:
            refuse_own(error)
            return args[1] if len(args) > 1 else None
    m.note_load(table, key)
    return dict.get(table, *args)


def _dict_update(m, s, table, args, kwargs):
    m.note_read(*args)
    if args and not isinstance(args[0], dict) and lookup.python_method(args[0], "keys") is not None:
        return m.call_then(s, polyfills.update_mapping, (table, args[0], kwargs), {}, signals.push_none)
    if args and not isinstance(args[0], dict) and not hasattr(args[0], "keys"):
        items = iteration.materialise(m, args[0])
        if items is None or any(map(_at_run_time, items)):
            return m.call_then(s, polyfills.update_dict,
                               (table, args[0] if items is None else tuple(items)), {}, signals.push_none)
        args = (items,)
    m.heap.touch(table)
    dict.update(table, *args, **kwargs) if lookup.python_method(table, "__setitem__") is None else None
    if lookup.python_method(table, "__setitem__") is not None:
        return NotImplemented
    return None


def _at_run_time(item: Any) -> bool:
    return isinstance(item, (tuple, list)) and len(item) > 0 and keys.at_run_time(item[0])


def _dict_setdefault(m, s, table, args, kwargs):
    own = any(lookup.python_method(table, n) is not None for n in ("__contains__", "__getitem__", "__setitem__"))
    raw = own and not isinstance(table, collections.OrderedDict)
    return m.call(s, polyfills.setdefault_raw if raw else polyfills.setdefault, (table, *args), kwargs)


def _dict_pop(m, s, table, args, kwargs):
    if not keys.at_run_time(args[0]):
        return NotImplemented
    m.note_load(table, "*")
    try:
        key = keys.present_key(m, args[0], table, KeyError(args[0]))
    except KeyError as error:
        if len(args) > 1:
            refuse_own(error)
            return args[1]
        raise
    m.heap.touch(table)
    m.note_store(table, key)
    return natively(dict.pop, table, key)


_DICT = {"get": _dict_get, "pop": _dict_pop, "update": _dict_update, "setdefault": _dict_setdefault}


def _set_by_key(name):
    """An element known only at run time is one of those that there are, or a new one."""
    def method(m, s, target, args, kwargs):
        if not args or not keys.at_run_time(args[0]):
            return NotImplemented
        m.note_load(target, "*")
        key = keys.any_key(m, args[0], target)
        m.heap.touch(target)
        return natively(getattr(set, name), target, key)

    return method


def _set_contains(m, s, target, args, kwargs):
    if not keys.at_run_time(args[0]):
        return NotImplemented
    m.note_load(target, "*")
    return operators.contains(m, s, target, args[0], negate=False)


def _set_update(m, s, target, args, kwargs):
    return operators.update_set(m, s, target, args, signals.push_none)


_SET = {"update": _set_update, "__contains__": _set_contains,
        **{name: _set_by_key(name) for name in ("add", "discard", "remove")}}


def _deque_extend(name):
    def method(m, s, target, args, kwargs):
        items = iteration.materialise(m, args[0]) if args else []
        if items is None:
            raise CaptureRefusal(f"deque.{name} by a generator", "make a list of it first", kind="iterator")
        m.heap.touch(target)
        return getattr(collections.deque, name)(target, *([items] if args else []))

    return method


def _deque_rotate(m, s, target, args, kwargs):
    if not args or stand_in_of(args[0]) is None:
        return NotImplemented
    m.note_load(target, "*")
    m.heap.touch(target)
    return collections.deque.rotate(target, _turns(m, target, stand_in_of(args[0])))


_DEQUE = {"rotate": _deque_rotate, "extend": _deque_extend("extend"), "extendleft": _deque_extend("extendleft"),
          **{name: _by_equality(getattr(collections.deque, name)) for name in ("count", "index", "remove")}}


def _array_from_outside(m, s, target, args, kwargs):
    """array.array: those that the program makes are of a kind of their own (polyfills/array.py)."""
    m.keep_between_calls(target)
    return NotImplemented


def _keep_arguments(m, s, error, args, kwargs):
    error.args = args
    return None


# one run is one thread: nobody to wait for
_LOCK = {"acquire": lambda m, s, lock, args, kwargs: True, "__enter__": lambda m, s, lock, args, kwargs: True,
         "release": lambda m, s, lock, args, kwargs: None, "__exit__": lambda m, s, lock, args, kwargs: None}
_METHODS: dict[type, dict] = {
    list: _LIST, tuple: {name: _by_equality(getattr(tuple, name)) for name in ("count", "index")}, dict: _DICT,
    set: _SET, collections.deque: _DEQUE,
    array.array: dict.fromkeys(("append", "extend", "fromlist", "insert", "pop", "remove", "reverse"),
                               _array_from_outside),
    BaseException: {"__init__": _keep_arguments},
    contextvars.ContextVar: {name: _context_method(name) for name in ("get", "set", "reset")},
    type(threading.Lock()): _LOCK, type(threading.RLock()): _LOCK,
    # the program computes what eager remembers
    functools._lru_cache_wrapper: {"cache_info": _refusing(
        "cache_info() of a function under functools.lru_cache: how often eager has called and remembered it",
        "count the calls in an attribute of the module", "state.cache")},
}
