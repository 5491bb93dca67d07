# SPDX-License-Identifier: Apache-2.0
"""Subscripts for the abstract machine: reading, storing and deleting entries, and indices known only at run time.

As in semantics/calls.py: a value at once, or PUSHED when a frame of user code was pushed.
"""

from __future__ import annotations

import array
import collections
import operator
import types
from typing import Any

import numpy as np
import torch

from ..diagnostics import CaptureRefusal
from ..polyfills import builtins as polyfills
from ..state import numpy_memory, signals
from ..state.interpreter import Interpreter
from ..state.state import State
from ..values import chosen_text
from ..values.native_entries import natively
from ..values.scalar import kind_of
from ..values.stand_in import made_stand_in, stand_in_of
from . import identity, keys, number_lists, opaque_objects, registry
from .lookup import by_type, python_method

_INDEXED = (list, tuple, str, range, collections.deque)
_INDEX = {tuple: "tuple index", str: "string index", range: "range object index", collections.deque: "deque index"}


def asks_index(key: Any) -> bool:
    """Its class says in Python which number it is where an index is wanted."""
    return not isinstance(key, (int, torch.Tensor)) and python_method(key, "__index__") is not None


def static_index(m: Interpreter, key: Any, length: int, what: str = "list index") -> Any:
    """A subscript of a Python sequence: a runtime int (or 0-d tensor) is decided, one arm per value."""
    own = stand_in_of(key)
    if own is not None:
        key = own.as_index(m, "list indices must be integers or slices, not float")
    if made_stand_in(key) is not None:
        first = 0 if m.facts.is_natural(key, m.current.ranges) else -length
        return m.decide_value(key, range(first, length), "an index", IndexError(f"{what} out of range"))
    if isinstance(key, slice) and any(stand_in_of(x) is not None for x in (key.start, key.stop, key.step)):
        step = static_bound(m, key.step, length, -length)
        # then what is before the first element is another bound than the first
        backwards = isinstance(step, int) and step < 0
        lowest = -length - 1 if backwards and length else -length
        return slice(*(static_bound(m, x, length, lowest) for x in (key.start, key.stop)), step)
    return key


def static_bound(m: Interpreter, bound: Any, length: int, lowest: int) -> Any:
    own = stand_in_of(bound)
    if own is not None:
        bound = own.as_index(m, "slice indices must be integers or None or have an __index__ method")
    if made_stand_in(bound) is None:
        return bound
    if m.decide(m.scalars.compare("ge", bound, length)):
        return length
    if m.decide(m.scalars.compare("le", bound, lowest)):
        return lowest
    return m.decide_value(bound, range(lowest + 1, length), "a slice bound")


# ---- reading -----------------------------------------------------------------------------------


def get_item(m: Interpreter, s: State, container: Any, key: Any) -> Any:
    own = stand_in_of(container)
    method = python_method(container, "__getitem__")
    if method is None and asks_index(key) and _takes_index(m, container, key):
        return m.call(s, polyfills.item_at, (container, key), {})
    if own is not None:
        found = own.get_item(m, s, key)
        if found is not NotImplemented:
            return found
    if method is not None:
        return m.call(s, method, (container, _known_key(m, container, key)), {})
    return by_type(_GET, container, _native_item)(m, s, container, key)


def _takes_index(m: Interpreter, container: Any, key: Any) -> bool:
    """It asks the key which number it is. Tensors take what has items for indices, each of them, before they ask."""
    if m.is_tensor(container):
        return python_method(key, "__getitem__") is None
    own = stand_in_of(container)
    return own.indexed if own is not None else isinstance(container, _INDEXED)


def _known_key(m: Interpreter, container: Any, key: Any) -> Any:
    """The modules and parameters of torch's containers are those of the program: one arm for each that there may be."""
    own = stand_in_of(key)
    if own is None:
        return key
    if isinstance(container, (torch.nn.ModuleDict, torch.nn.ParameterDict)):
        return own.among_names(m, list(container.keys())) if made_stand_in(key) is not None else key
    if isinstance(container, (torch.nn.ModuleList, torch.nn.Sequential, torch.nn.ParameterList)):
        return static_index(m, key, length(container))
    return key


def _sequence_item(m: Interpreter, s: State, container: Any, key: Any) -> Any:
    if isinstance(container, list):
        m.note_load(container, "*")
    what = _INDEX.get(type(container), "list index")
    place = _run_time_place(m, key) if type(container) in (list, tuple, str) else None
    if place is not None and chosen_text.are_chosen(m, tuple(container)):
        return chosen_text.at(m, tuple(container), place, IndexError(f"{what} out of range"))
    kind = number_lists.chosen(m, container, place)
    if kind is not None:
        return number_lists.read(m, container, kind, place, IndexError(f"{what} out of range"))
    if place is not None and len(container) > m.options.max_switch and _are_numbers(container):
        return chosen_text.looked_up(m, list(container),
                                     chosen_text.place_in(m, container, place, IndexError(f"{what} out of range")))
    found = natively(operator.getitem, container, static_index(m, key, length(container), what))
    if type(key) is slice and isinstance(container, m.size_type):
        return identity.sizes(m, found)
    return m.new(found) if type(key) is slice and type(found) is list else found


def _run_time_place(m: Interpreter, key: Any) -> Any:
    """An index that is one integer known only at run time."""
    own = stand_in_of(key)
    if own is None or not own.is_place(m):
        return None
    found = own.as_index(m, "")
    return found if made_stand_in(found) is not None else None


def _are_numbers(items: Any) -> bool:
    """Known ones, all of one kind."""
    kinds = set(map(type, items))
    return kinds in ({float}, {bool}) or kinds == {int} and all(-2**63 <= x < 2**63 for x in items)


def _entry(m: Interpreter, s: State, container: dict, key: Any) -> Any:
    missing = python_method(container, "__missing__")
    if keys.at_run_time(key):
        found = _chosen_entry(m, container, key)
        if found is not None:
            return found
        on_demand = hasattr(container, "default_factory") or missing is not None
        key = keys.any_key(m, key, container) if on_demand else keys.present_key(m, key, container, KeyError(key))
    m.note_load(container, key)
    if key not in container and missing is not None:
        return m.call(s, missing, (container, key), {})
    if hasattr(container, "default_factory") and key not in container:
        return m.call(s, polyfills.default_entry, (container, key), {})
    return natively(operator.getitem, container, key)


def _chosen_entry(m: Interpreter, container: dict, key: Any) -> Any:
    """Of a dict whose values are strings under integers: one that is chosen at run time. None: another dict."""
    if not (kind_of(key) == "int" and type(container) in (dict, collections.OrderedDict)
            and chosen_text.are_chosen(m, tuple(container.values()))):
        return None
    found = chosen_text.entry(m, container, key, KeyError(key))
    if found is not None:
        m.note_load(container, "*")
    return found


def _answered(m: Interpreter, s: State, name: str, container: Any, *args: Any) -> Any:
    """By the handler of a special method that a class has in Python; NotImplemented: by none."""
    method = getattr(type(container), name, None)
    handler = registry.find(method) if isinstance(method, types.FunctionType) else None
    return NotImplemented if handler is None else handler(m, s, (container, *args), {})


def _native_item(m: Interpreter, s: State, container: Any, key: Any) -> Any:
    answered = _answered(m, s, "__getitem__", container, key)
    if answered is not NotImplemented:
        return answered
    if isinstance(container, type) or not m.has_runtime(key):
        found = natively(operator.getitem, container, key)
        return numpy_memory.made(m, found, [container]) if isinstance(found, np.ndarray) else m.new_if_mutable(found)
    if type(container) is np.ndarray:
        return m.arrays.get_known(container, key)
    for joiner, joined, axes in ((np.r_, np.hstack, (1,)), (np.c_, np.column_stack, (1, 2))):
        if container is joiner and isinstance(key, tuple) and all(_has_axes(m, part, *axes) for part in key):
            return m.arrays.function(joined, (list(key),), {})
    raise CaptureRefusal(f"a {type(container).__name__} is indexed by a value known only at run time",
                         kind="index", because=key)


_GET = {**dict.fromkeys(_INDEXED, _sequence_item), dict: _entry}


def _has_axes(m: Interpreter, part: Any, *axes: int) -> bool:
    """An array, or a list that becomes one, of so many axes: numpy.r_ joins such as hstack does, numpy.c_ as
    column_stack. Python's numbers count for the dtype in another way."""
    if isinstance(part, np.ndarray):
        return part.ndim in axes
    return (m.is_array(part) or type(part) in (list, tuple) and len(part) > 0) and m.arrays.tensor(part).dim() in axes


def length(sequence: Any) -> int:
    """Of the elements there are, whatever __len__ of a class of the user's says."""
    kind = next((c for c in (list, tuple, str) if isinstance(sequence, c)), None)
    return len(sequence) if kind is None else kind.__len__(sequence)


# ---- writing -----------------------------------------------------------------------------------


def set_item(m: Interpreter, s: State, container: Any, key: Any, value: Any) -> Any:
    own = stand_in_of(container)
    if own is not None:
        found = own.set_item(m, s, key, value)
        if found is not NotImplemented:
            return found
    if isinstance(container, np.ndarray) and m.has_runtime((key, value)):
        numpy_memory.at_run_time(m, container)
    method = python_method(container, "__setitem__")
    if method is not None:
        return m.call_then(s, method, (container, key, value), {}, signals.drop)
    return by_type(_SET, container, _set_native)(m, s, container, key, value)


def _set_element(m: Interpreter, s: State, container: Any, key: Any, value: Any) -> Any:
    what = _INDEX.get(type(container), "list assignment index")
    place = _run_time_place(m, key) if type(container) is list and m.is_born(container) else None
    kind = number_lists.chosen(m, container, place)
    if kind is not None and kind == kind_of(value):
        return number_lists.write(m, container, kind, place, value, IndexError(f"{what} out of range"))
    key = static_index(m, key, length(container), what)
    _note_slice(m, container, key)
    if isinstance(key, slice):
        own = stand_in_of(value)
        assign = own.assign_slice(m, container, key) if own is not None else None
        if assign is None and not isinstance(value, (list, tuple, str)):
            assign = polyfills.assign_slice
        if assign is not None:
            return m.call_then(s, assign, (container, key, value), {}, signals.drop)
    return _set_native(m, s, container, key, value)


def _set_entry(m: Interpreter, s: State, container: dict, key: Any, value: Any) -> Any:
    if keys.at_run_time(key):
        key = keys.any_key(m, key, container)
    m.heap.touch(container)
    m.note_store(container, key)
    natively(operator.setitem, container, key, value)


def _set_native(m: Interpreter, s: State, container: Any, key: Any, value: Any) -> Any:
    if not hasattr(type(container), "__setitem__"):
        raise TypeError(f"'{type(container).__name__}' object does not support item assignment")
    if _answered(m, s, "__setitem__", container, key, value) is not NotImplemented:
        return
    m.heap.touch(container)
    with opaque_objects.watching(m, container):
        natively(operator.setitem, container, key, value)


def _set_number(m: Interpreter, s: State, container: array.array, key: Any, value: Any) -> Any:
    if m.has_runtime((key, value)):
        m.keep_between_calls(container)
    return _set_native(m, s, container, key, value)


_SET = {list: _set_element, collections.deque: _set_element, dict: _set_entry, array.array: _set_number}


def _note_slice(m: Interpreter, container: Any, key: Any) -> None:
    """What is left depends on what there was, unless all of it is replaced."""
    if isinstance(key, slice):
        (m.note_store if key == slice(None) else m.note_load)(container, "*")


def delete_item(m: Interpreter, s: State, container: Any, key: Any) -> Any:
    own = stand_in_of(container)
    if own is not None:
        found = own.delete_item(m, s, key)
        if found is not NotImplemented:
            return found
    method = python_method(container, "__delitem__")
    if method is not None:
        return m.call_then(s, method, (container, key), {}, signals.drop)
    key = by_type(_DELETED, container, _deleted_native)(m, container, key)
    m.heap.touch(container)
    with opaque_objects.watching(m, container):
        natively(operator.delitem, container, key)
    return None


def _deleted_element(m: Interpreter, container: Any, key: Any) -> Any:
    key = static_index(m, key, length(container), _INDEX.get(type(container), "list assignment index"))
    if isinstance(key, slice):
        _note_slice(m, container, key)
    else:
        m.note_load(container, "*")
    return key


def _deleted_entry(m: Interpreter, container: dict, key: Any) -> Any:
    if keys.at_run_time(key):
        key = keys.present_key(m, key, container, KeyError(key))
    m.note_load(container, "*")
    return key


def _deleted_native(m: Interpreter, container: Any, key: Any) -> Any:
    return key


_DELETED = {list: _deleted_element, collections.deque: _deleted_element, dict: _deleted_entry}
