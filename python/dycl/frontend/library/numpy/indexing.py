# SPDX-License-Identifier: Apache-2.0
"""Subscripts of numpy arrays known only at run time, read and written.

An array is a tensor in numpy's clothes, so a view of one is a view of the other, and a write goes where eager's would.
Where the two differ, numpy's meaning is kept or the subscript is refused: a number of an array is a copy, a part that
is assigned from an overlapping part is taken as it was before, steps may be negative. torch has no views with negative
steps: what such a subscript gives is a copy that remembers whose memory it would be (`RtArray.source`), and neither of
the two is written while both are there.
"""

from __future__ import annotations

import math
import operator
import weakref
from typing import Any

import numpy as np
import torch

from ...diagnostics import CaptureRefusal
from ...values.scalar import kind_of, plain_number
from ...values.stand_in import made_stand_in
from ...values.tensor import subscript


def get(arrays, array: Any, key: Any) -> Any:
    m = arrays.m
    items = plain_key(arrays, key)
    basic = all(_is_basic(k) for k in items)
    items, reversed_dims = _forwards(array.tensor, items, basic)
    _refuse_torn(items)
    found = arrays.subscripts.get_item(m, m.current, array.tensor, _one(items))
    if _has_array_of_no_dims(m, key):
        return arrays.wrap(arrays.call(torch.clone, found))
    if not basic:
        return arrays.wrap(found)
    # with an ellipsis it is an array, though one of no dims
    if not found.dim() and all(k is not Ellipsis for k in items):
        return arrays.number(found)
    if not reversed_dims:
        return arrays.view(array, found)
    return backwards(arrays, array, arrays.call(torch.flip, found, tuple(reversed_dims)))


def gives_view(arrays, key: Any) -> bool:
    """Whether numpy's answer looks at the array's own memory."""
    return all(_is_basic(k) for k in plain_key(arrays, key)) and not _has_array_of_no_dims(arrays.m, key)


def _has_array_of_no_dims(m, key: Any) -> bool:
    """numpy takes such an array for a number, and copies; a number of numpy's, or a tensor of one element,
    gives a view."""
    return any(m.is_array(k) and not k.scalar and not k.tensor.dim() or isinstance(k, np.ndarray) and not k.ndim
               for k in (key if isinstance(key, tuple) else (key,)))


def put(arrays, array: Any, key: Any, value: Any) -> None:
    m = arrays.m
    if array.scalar:
        raise TypeError(f"'{arrays.type_of(array).__module__}.{arrays.type_of(array).__name__}' object does not "
                        "support item assignment")
    check_writable(array)
    items = plain_key(arrays, key)
    if any(isinstance(k, slice) and _is_negative(k.step) for k in items):
        raise CaptureRefusal("a numpy array known only at run time is written through a slice with a negative step",
                             "write to the slice without it", kind="numpy")
    _refuse_torn(items)
    found = assigned(arrays, array.tensor, value)
    arrays.call(operator.setitem, array.tensor, subscript(m, _one(items)), found)


def assigned(arrays, target: torch.Tensor, value: Any) -> Any:
    """What is written for `value`: in the target's dtype, and apart from its memory."""
    m = arrays.m
    value = arrays.tensor(value)
    whole = not target.dtype.is_floating_point
    if isinstance(value, torch.Tensor):
        if whole and target.dtype != torch.bool and value.dtype.is_floating_point and not value.dim():
            raise CaptureRefusal("a float known only at run time is written into a numpy array of integers",
                                 "convert it with int()", kind="numpy")
        if m.is_symbolic(value) and value._dycl.cell is target._dycl.cell:
            value = arrays.call(torch.clone, value)
        return value if value.dtype == target.dtype else arrays.call(torch.Tensor.to, value, target.dtype)
    arrays.check_number(value, target.dtype)
    return _number_for(m, target.dtype, value)


def _number_for(m, dtype: torch.dtype, value: Any) -> Any:
    kind, known = kind_of(value), made_stand_in(value) is None
    if dtype == torch.bool and kind != "bool":
        return bool(value) if known else m.scalars.to_bool(value)
    if kind == "float" and not dtype.is_floating_point and dtype != torch.bool and not (known and math.isfinite(value)):
        raise CaptureRefusal("a float known only at run time is written into a numpy array of integers",
                             "convert it with int()", kind="numpy")
    return value


def check_writable(array: Any) -> None:
    if array.is_copy():
        raise CaptureRefusal("a numpy array known only at run time is written through a view with a negative step",
                             "copy() it first", kind="numpy")


def backwards(arrays, of: Any, flipped: torch.Tensor) -> Any:
    """The array of a reversed view: a copy, of memory that is not to be written as long as both are there."""
    source = of.source if of.source is not None else weakref.ref(of.tensor._dycl.cell)
    return arrays.guarded(flipped, source)


def plain_key(arrays, key: Any) -> tuple:
    """As torch takes it: numbers for numpy's, tensors of int64 or bool for arrays."""
    return tuple(_plain(arrays, k) for k in (key if isinstance(key, tuple) else (key,)))


def _plain(arrays, k: Any) -> Any:
    m = arrays.m
    if isinstance(k, slice):
        return slice(*(_plain(arrays, x) for x in (k.start, k.stop, k.step)))
    if m.is_array(k):
        if not k.tensor.dim() and k.tensor.dtype != torch.bool:
            return m.tensor_item(k.tensor)
        return _as_index(m, k.tensor)
    if isinstance(k, (np.bool_, np.integer)):
        return k.item()
    if isinstance(k, torch.Tensor):
        return _as_index(m, k) if k.dim() else m.tensor_item(k)
    if type(k) is list and not m.has_runtime(k):
        if not any(isinstance(x, (list, tuple, np.ndarray)) for x in k):
            return k
        k = np.array(k)  # torch takes a list of lists for several subscripts
    return _as_index(m, arrays.tensor(k)) if isinstance(k, (np.ndarray, list)) else k


def _as_index(m, t: torch.Tensor) -> torch.Tensor:
    if t.dtype.is_floating_point:
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return t if t.dtype in (torch.int64, torch.bool) else m.recorder.call(torch.Tensor.to, (t, torch.int64), {})


def _is_basic(k: Any) -> bool:
    return k is None or k is Ellipsis or isinstance(k, slice) or _is_number(k) and kind_of(k) != "bool"


def _is_number(k: Any) -> bool:
    return kind_of(plain_number(k)) is not None


def _refuse_torn(items: tuple) -> None:
    """A number beside arrays that a slice parts it from: numpy counts it among the arrays, torch does not."""
    if all(map(_is_basic, items)):
        return
    places = [k for k, x in enumerate(items) if not (x is None or x is Ellipsis or isinstance(x, slice))]
    if places[-1] - places[0] >= len(places) and any(_is_number(items[k]) for k in places):
        raise CaptureRefusal("a numpy array known only at run time is indexed by a number and an array "
                             "with a slice in between",
                             "index twice", kind="numpy")


def _is_negative(step: Any) -> bool:
    if made_stand_in(step) is not None:
        raise CaptureRefusal("a slice of a numpy array whose step is known only at run time", kind="numpy")
    return step is not None and step < 0


def _forwards(t: torch.Tensor, items: tuple, basic: bool) -> tuple[tuple, list[int]]:
    """The subscript with positive steps, and the dims of its result that are to be turned."""
    if not any(isinstance(k, slice) and _is_negative(k.step) for k in items):
        return items, []
    if not basic:
        raise CaptureRefusal("a numpy array known only at run time is indexed by arrays and a "
                             "slice with a negative step",
                             "index twice", kind="numpy")
    given = sum(k is not None and k is not Ellipsis for k in items)
    made, turned, axis, out = [], [], 0, 0
    for k in items:
        if isinstance(k, slice) and _is_negative(k.step):
            k = _turned(k, t.shape[axis])
            turned.append(out)
        made.append(k)
        wide = t.dim() - given if k is Ellipsis else 1
        axis += 0 if k is None else wide
        out += 0 if _is_number(k) else wide
    return tuple(made), turned


def _turned(k: slice, extent: Any) -> slice:
    """The slice whose elements, from the last to the first, are those of one with a negative step."""
    if type(extent) is int and all(x is None or type(x) is int for x in (k.start, k.stop)):
        places = range(*k.indices(extent))
        return slice(places[-1], places[0] + 1, -k.step) if len(places) else slice(0, 0, 1)
    if k.step == -1 and k.start is None and k.stop is None:
        return slice(None, None, 1)
    raise CaptureRefusal("a slice of a numpy array with a negative step and bounds known only at run time",
                         "slice first, then reverse by [::-1]", kind="numpy")


def _one(items: tuple) -> Any:
    return items if len(items) != 1 else items[0]
