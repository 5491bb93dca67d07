# SPDX-License-Identifier: Apache-2.0
"""Subscripts for the abstract machine: reading, storing and deleting entries, and indices known only at run time.

As in semantics/calls.py: a value at once, or PUSHED when a frame of user code was pushed.
"""

from __future__ import annotations

import collections
import operator
from typing import Any

import numpy as np
import torch

from ..diagnostics import CaptureRefusal
from ..polyfills import builtins as polyfills
from ..polyfills.range import RtRange
from ..state import numpy_memory, signals
from ..state.interpreter import Interpreter
from ..state.state import State
from ..values.list import EMPTY, RtList
from ..values.scalar import RtFloat, RtInt, RtScalar, kind_of
from ..values.text import RtText
from . import chosen_text, identity, keys
from .lookup import python_method

_INDEXED = (list, tuple, str, range, collections.deque)
_INDEX = {tuple: "tuple index", str: "string index", range: "range object index", collections.deque: "deque index"}


def asks_index(key: Any) -> bool:
    """Its class says in Python which number it is where an index is wanted."""
    return not isinstance(key, (int, torch.Tensor)) and python_method(key, "__index__") is not None


def static_index(m: Interpreter, key: Any, length: int, what: str = "list index") -> Any:
    """A subscript of a Python sequence: a runtime int (or 0-d tensor) is decided, one arm per value."""
    if m.is_array(key):
        key = m.tensor_item(key.tensor)
    if m.is_tensor(key):
        key = m.tensor_index(key)
    if isinstance(key, RtFloat):
        raise TypeError("list indices must be integers or slices, not float")
    if isinstance(key, RtScalar):
        first = 0 if m.is_nonnegative(key) else -length
        return m.decide_value(key, range(first, length), "an index", IndexError(f"{what} out of range"))
    if isinstance(key, slice) and any(isinstance(x, RtScalar) or m.is_tensor(x)
                                      for x in (key.start, key.stop, key.step)):
        step = static_bound(m, key.step, length, -length)
        # then what is before the first element is another bound than the first
        backwards = isinstance(step, int) and step < 0
        lowest = -length - 1 if backwards and length else -length
        return slice(*(static_bound(m, x, length, lowest) for x in (key.start, key.stop)), step)
    return key


def static_bound(m: Interpreter, bound: Any, length: int, lowest: int) -> Any:
    if m.is_tensor(bound):
        bound = m.tensor_index(bound)
    if not isinstance(bound, RtScalar):
        return bound
    if m.decide(m.scalars.compare("ge", bound, length)):
        return length
    if m.decide(m.scalars.compare("le", bound, lowest)):
        return lowest
    return m.decide_value(bound, range(lowest + 1, length), "a slice bound")


def slice_bounds(m: Interpreter, key: Any) -> Any:
    """A subscript whose slices are bounded by numbers: x[:n] with a tensor n of one element; its lists as tensors."""
    if m.is_array(key) and not key.scalar:
        return key.tensor
    if isinstance(key, tuple) and any(isinstance(k, (slice, list, tuple, RtList, RtRange)) or m.is_array(k)
                                      for k in key):
        return tuple(_places(m, k) if type(k) in (list, tuple) else slice_bounds(m, k) for k in key)
    if isinstance(key, RtRange):
        return range_tensor(m, key)
    if isinstance(key, RtList):
        if key.frozen or key.kind != ("int",):
            m.lists.refuse(key, CaptureRefusal("a tensor indexed by a list whose length is known only at run time "
                                               "and which does not hold ints",
                                               "index with a tensor", kind="list.native"))
        return m.lists.numbers(key, torch.int64)
    if type(key) is list and any(isinstance(k, RtScalar) for k in key):
        m.note_load(key, "*")
        kinds = {kind_of(k) for k in key}
        if len(kinds) > 1 or kinds <= {"float"}:
            raise CaptureRefusal("a tensor indexed by a list of numbers of different kinds",
                                 "index with a tensor", kind="index")
        return m.recorder.call(torch.tensor, (key,), {})
    if isinstance(key, slice) and any(m.is_tensor(x) for x in (key.start, key.stop, key.step)):
        return slice(*(m.tensor_index(x) if m.is_tensor(x) else x for x in (key.start, key.stop, key.step)))
    return key


def range_tensor(m: Interpreter, numbers: RtRange, of_none: torch.dtype = torch.int64) -> torch.Tensor:
    """The numbers of a range; `of_none`: the dtype if there are none."""
    if type(numbers.step) is not int:
        raise CaptureRefusal("a tensor of a range whose step is known only at run time",
                             "index with a tensor", kind="index")
    ends = m.scalars.compare("le" if numbers.step > 0 else "ge", numbers.stop, numbers.start)
    if ends if isinstance(ends, bool) else m.decide(ends):
        return m.recorder.call(torch.zeros, (0,), {"dtype": of_none})
    return m.recorder.call(torch.arange, (numbers.start, numbers.stop, numbers.step), {})


def _places(m: Interpreter, items: Any) -> Any:
    """A list or tuple inside a subscript: numbers in a row, of tensors without dims too."""
    if not items or not all(isinstance(x, (RtInt, int))
                            or m.is_tensor(x) and not x.dim() and not x.is_floating_point() and x.dtype != torch.bool
                            for x in items) or not any(m.is_tensor(x) for x in items):
        return slice_bounds(m, items) if type(items) is list else items
    m.note_read(items)
    numbers = [m.recorder.call(torch.Tensor.to, (x, torch.int64), {}) if m.is_tensor(x)
               else m.scalar_tensor(x, torch.int64) for x in items]
    return m.recorder.call(torch.stack, (numbers,), {})


def get_item(m: Interpreter, s: State, container: Any, key: Any) -> Any:
    if isinstance(container, RtScalar):  # Python's own words: t.squeeze().tolist() of one element is a number
        raise TypeError(f"'{container.kind}' object is not subscriptable")
    if asks_index(key) and (isinstance(container, (*_INDEXED, RtList, torch.Tensor))
                            and python_method(container, "__getitem__") is None):
        return m.call(s, polyfills.item_at, (container, key), {})
    if isinstance(container, RtList):
        if isinstance(key, slice) and type(key.step) is int and key.step != 1 and container.kind != EMPTY:
            start, stop = (m.tensor_index(x) if m.is_tensor(x) else x for x in (key.start, key.stop))
            return m.call(s, polyfills.stepped, (container, start, stop, key.step), {})
        return m.lists.get(container, key)
    if m.is_array(container):
        return m.arrays.get_item(container, key)
    if m.is_tensor(container):
        if isinstance(key, RtScalar) and m.in_try() and container.dim() and type(container.shape[0]) is int:
            n = container.shape[0]
            if not (m.decide(m.scalars.compare("lt", key, n)) and m.decide(m.scalars.compare("ge", key, -n))):
                raise IndexError(f"index out of bounds for dimension 0 with size {n}")
        m.note_deep(key)
        container, key = narrow(m, container, slice_bounds(m, key))
        return m.recorder.call(operator.getitem, (container, key), {})
    if isinstance(container, torch.nn.ModuleList | torch.nn.Sequential | torch.nn.ParameterList):
        if isinstance(key, RtScalar) or m.is_tensor(key):
            key = static_index(m, key, length(container))
    if chosen_text.is_chosen(container) and isinstance(key, (int, slice)) and not m.has_runtime(key):
        return chosen_text.lifted(m, container, lambda text: text[key])
    if isinstance(key, RtText) and isinstance(container, (torch.nn.ModuleDict, torch.nn.ParameterDict)):
        key = m.decide_text(key, list(container.keys()))
    method = python_method(container, "__getitem__")
    if method is not None:
        return m.call(s, method, (container, key), {})
    if isinstance(container, _INDEXED):
        if isinstance(container, list):
            m.note_load(container, "*")
        what = _INDEX.get(type(container), "list index")
        place = _run_time_place(m, key) if type(container) in (list, tuple, str) else None
        if place is not None and chosen_text.are_chosen(m, tuple(container)):
            return chosen_text.at(m, tuple(container), place, IndexError(f"{what} out of range"))
        if place is not None and len(container) > m.options.max_switch and _are_numbers(container):
            return chosen_text.looked_up(m, list(container),
                                         chosen_text.place_in(m, container, place, IndexError(f"{what} out of range")))
        found = container[static_index(m, key, length(container), what)]
        if type(key) is slice and isinstance(container, m.size_type):
            return identity.sizes(m, found)
        return m.new(found) if type(key) is slice and type(found) is list else found
    if isinstance(container, dict):
        if keys.at_run_time(key):
            if (isinstance(key, RtInt) and type(container) in (dict, collections.OrderedDict)
                    and chosen_text.are_chosen(m, tuple(container.values()))):
                found = chosen_text.entry(m, container, key, KeyError(key))
                if found is not None:
                    m.note_load(container, "*")
                    return found
            made_on_demand = (hasattr(container, "default_factory")
                              or python_method(container, "__missing__") is not None)
            key = keys.any_key(m, key, container) if made_on_demand else keys.present_key(
                m, key, container, KeyError(key))
        if key not in container and python_method(container, "__missing__") is not None:
            m.note_load(container, key)
            return m.call(s, python_method(container, "__missing__"), (container, key), {})
        m.note_load(container, key)
        if hasattr(container, "default_factory") and key not in container:
            return m.call(s, polyfills.default_entry, (container, key), {})
        return container[key]
    if isinstance(container, type) or not m.has_runtime(key):
        found = container[key]
        return numpy_memory.made(m, found, [container]) if isinstance(found, np.ndarray) else m.new_if_mutable(found)
    if type(container) is np.ndarray:
        return m.arrays.get_known(container, key)
    if container is np.r_ and isinstance(key, tuple) and all(_has_axes(m, part, 1) for part in key):
        return m.arrays.function(np.hstack, (list(key),), {})
    if container is np.c_ and isinstance(key, tuple) and all(_has_axes(m, part, 1, 2) for part in key):
        return m.arrays.function(np.column_stack, (list(key),), {})
    raise CaptureRefusal(f"a {type(container).__name__} is indexed by a value known only at run time",
                         kind="index", because=key)


def _run_time_place(m: Interpreter, key: Any) -> RtInt | None:
    """An index that is one integer known only at run time."""
    if m.is_array(key) and key.scalar:
        key = m.tensor_item(key.tensor)
    if m.is_tensor(key) and not key.dim() and not key.is_floating_point() and key.dtype != torch.bool:
        key = m.tensor_index(key)
    return key if isinstance(key, RtInt) else None


def _are_numbers(items: Any) -> bool:
    """Known ones, all of one kind."""
    kinds = set(map(type, items))
    return kinds in ({float}, {bool}) or kinds == {int} and all(-2**63 <= x < 2**63 for x in items)


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


def set_item(m: Interpreter, s: State, container: Any, key: Any, value: Any) -> Any:
    if isinstance(container, RtList):
        return m.lists.set(container, key, value)
    if m.is_array(container):
        return m.arrays.set_item(container, key, value)
    if m.is_tensor(container):
        m.recorder.call(operator.setitem, (container, slice_bounds(m, key), value), {})
        return None
    if isinstance(container, np.ndarray) and m.has_runtime((key, value)):
        numpy_memory.at_run_time(m, container)
    method = python_method(container, "__setitem__")
    if method is not None:
        return m.call_then(s, method, (container, key, value), {}, signals.drop)
    if isinstance(container, (list, collections.deque)):
        key = static_index(m, key, length(container), _INDEX.get(type(container), "list assignment index"))
        _note_slice(m, container, key)
        if isinstance(key, slice) and not isinstance(value, (list, tuple, str, RtList)):
            return m.call_then(s, polyfills.assign_slice, (container, key, value), {}, signals.drop)
        if isinstance(key, slice) and isinstance(value, RtList):
            if key.step not in (None, 1) or type(container) is not list:
                raise CaptureRefusal("every so many elements of a list are replaced by a list whose length is "
                                     "known only at run time",
                                     "replace them one by one", kind="list.slice")
            return m.call_then(s, polyfills.assign_run_time_slice, (container, key, value), {}, signals.drop)
    elif isinstance(container, dict) and keys.at_run_time(key):
        key = keys.any_key(m, key, container)
    if not hasattr(type(container), "__setitem__"):
        raise TypeError(f"'{type(container).__name__}' object does not support item assignment")
    m.heap.touch(container)
    if isinstance(container, dict):
        m.note_store(container, key)
    operator.setitem(container, key, value)
    return None


def _note_slice(m: Interpreter, container: Any, key: Any) -> None:
    """What is left depends on what there was, unless all of it is replaced."""
    if isinstance(key, slice):
        (m.note_store if key == slice(None) else m.note_load)(container, "*")


def delete_item(m: Interpreter, s: State, container: Any, key: Any) -> Any:
    if isinstance(container, RtList):
        m.lists.delete(container, key)
        return None
    method = python_method(container, "__delitem__")
    if method is not None:
        return m.call_then(s, method, (container, key), {}, signals.drop)
    if isinstance(container, (list, collections.deque)):
        key = static_index(m, key, length(container), _INDEX.get(type(container), "list assignment index"))
        if isinstance(key, slice):
            _note_slice(m, container, key)
        else:
            m.note_load(container, "*")
    elif isinstance(container, dict) and keys.at_run_time(key):
        key = keys.present_key(m, key, container, KeyError(key))
    if isinstance(container, dict):
        m.note_load(container, "*")
    m.heap.touch(container)
    del container[key]
    return None


def narrow(m, tensor: Any, key: Any) -> tuple[Any, Any]:
    """The tensor narrowed by such slices, and the subscript that is left. Others stay as they are."""
    keys = key if isinstance(key, tuple) else (key,)
    if not any(isinstance(k, slice) and (isinstance(k.start, RtInt) or isinstance(k.stop, RtInt)) for k in keys):
        return tensor, key
    left = list(keys)
    for axis, k in enumerate(keys):  # one subscript to a dim, up to one that is several or none
        if not isinstance(k, (slice, int, RtInt)) or isinstance(k, bool) or axis >= tensor.dim():
            break
        length = _length(m, k, tensor.shape[axis]) if isinstance(k, slice) else None
        if length is not None:
            tensor = m.recorder.call(torch.narrow, (tensor, axis, k.start, length), {})
            left[axis] = slice(None)
    return tensor, tuple(left) if isinstance(key, tuple) else left[0]


def _length(m, bounds: slice, extent: Any) -> int | None:
    """Known, and all of it inside the tensor."""
    if bounds.step not in (None, 1) or type(extent) is not int or not isinstance(bounds.start, RtInt):
        return None
    if not isinstance(bounds.stop, RtInt):
        return None
    symbols = m.recorder.symbols
    length = symbols.difference(bounds.stop, bounds.start)
    least, greatest = symbols.least(bounds.start), symbols.greatest(bounds.stop)
    if length is None or length < 0 or least is None or least < 0 or greatest is None or greatest > extent:
        return None
    return length
