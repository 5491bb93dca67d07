# SPDX-License-Identifier: Apache-2.0
"""Tensors built from Python data: torch.tensor, as_tensor and their kin.

Known data becomes a constant. Where runtime scalars or symbolic tensors stand in the data, each becomes
a 0-d tensor and the whole is stacked.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

import numpy as np
import torch

from ...objects import held
from ..diagnostics import CaptureRefusal
from ..graph.dtypes import dtype_name
from ..graph.program import TensorType
from ..state import numpy_memory
from ..torch_internals import FakeTensor
from ..values.array import dtype_name as numpy_name
from ..values.array import is_array, memory_of
from ..values.native_entries import natively
from ..values.scalar import EXAMPLES, kind_of
from ..values.stand_in import is_opaque, made_stand_in
from . import value_checks

aten = torch.ops.aten


def tensor(recorder, fn, args, kwargs):
    data, options = _data_and_options(recorder, args, kwargs)
    if isinstance(data, torch.Tensor):
        return recorder.call(torch.clone, (_converted(recorder, data, options),))
    return build(recorder, data, options.get("dtype"), fn)


def as_tensor(recorder, fn, args, kwargs):
    data, options = _data_and_options(recorder, args, kwargs)
    if isinstance(data, torch.Tensor):
        return _converted(recorder, data, options)
    made = build(recorder, data, options.get("dtype"), fn)
    return _beside(recorder, made, data) if isinstance(data, np.ndarray) else made


def new_tensor(recorder, fn, args, kwargs):
    own, rest = args[0], args[1:]
    data, options = _data_and_options(recorder, rest, kwargs)
    options.setdefault("dtype", own.dtype)
    return tensor(recorder, torch.tensor, (data,), options)


def _data_and_options(recorder, args: tuple, kwargs: dict) -> tuple[Any, dict]:
    options = dict(kwargs)
    if args:
        return _of_arrays(recorder, args[0], options | dict(zip(["dtype", "device"], args[1:])))
    for name in ("data", "obj"):
        if name in options:
            return _of_arrays(recorder, options.pop(name), options)
    raise TypeError("tensor() missing 1 required positional argument: 'data'")


def _of_arrays(recorder, data: Any, options: dict) -> tuple[Any, dict]:
    """Without numpy scalars of run time in its lists; they count for the dtype. Arrays of one form are one tensor."""
    if not isinstance(data, (list, tuple)) or not _has_array(data):
        if is_array(data) and data.scalar:
            own = data.tensor.dtype
            if options.get("dtype") in (None, own):
                return recorder.call(torch.clone, (data.tensor,)), options
            _check_goes_into(own, options["dtype"])
            return recorder.numbers.item(data.tensor), options
        memory = memory_of(data)
        return data if memory is None else memory, options
    items = list(held(data))
    if all(is_array(x) and not x.scalar for x in items):
        parts = [x.tensor for x in items]
        if len({(t.dtype, tuple(t.shape)) for t in parts}) == 1 and all(type(d) is int for d in parts[0].shape):
            return recorder.call(torch.stack, (parts,)), options
    if options.get("dtype") is None:
        options = options | {"dtype": torch.tensor(_example(data)).dtype}
    return _numbers(data, options["dtype"]), options


def _check_goes_into(own: torch.dtype, dtype: torch.dtype) -> None:
    """Of numpy's scalars only those of double precision are Python's floats."""
    fraction = own.is_floating_point and own != torch.float64 and not dtype.is_floating_point
    truth = own == torch.bool and dtype != torch.bool and not dtype.is_floating_point
    if fraction or truth:
        raise TypeError(f"'numpy.{dtype_name(own)}' object cannot be interpreted as an integer")


def _has_array(data: Any) -> bool:
    return any(_has_array(x) if isinstance(x, (list, tuple)) else is_array(x) for x in held(data))


def _example(data: Any) -> Any:
    if is_array(data):
        return np.zeros([], numpy_name(data.tensor))[()]
    if kind_of(data) is not None:
        return EXAMPLES[kind_of(data)]
    if isinstance(data, torch.Tensor):
        raise CaptureRefusal("torch.tensor of tensors and numpy numbers known only at run time",
                             "convert them with float()", kind="build.data")
    return [_example(x) for x in data] if isinstance(data, (list, tuple)) else data


def _numbers(data: Any, dtype: torch.dtype) -> Any:
    if is_array(data):
        if not data.scalar:
            raise CaptureRefusal("torch.tensor of a list of numpy arrays known only at run time",
                                 "use np.stack first", kind="build.data")
        _check_goes_into(data.tensor.dtype, dtype)
        return data.tensor
    return [_numbers(x, dtype) for x in data] if isinstance(data, (list, tuple)) else data


def _converted(recorder, tensor: torch.Tensor, options: dict) -> torch.Tensor:
    kept = {k: v for k, v in options.items() if k in ("dtype", "device") and v is not None}
    return recorder.call(torch.Tensor.to, (tensor,), kept) if kept else recorder.call(torch.Tensor.detach, (tensor,))


def build(recorder, data: Any, dtype: torch.dtype | None, fn: Callable = torch.tensor) -> FakeTensor:
    leaves: list = []
    shape = _walk(data, leaves)
    if shape is None or not any(is_opaque(x) or isinstance(x, FakeTensor) for x in leaves):
        with recorder.without_modes():
            real = natively(torch.tensor, data, dtype=dtype) if fn is not torch.from_numpy else fn(data)
        return recorder.real.constant_handle(real)
    dtype = dtype or _inferred(leaves)
    parts = [_part(recorder, x, dtype) for x in leaves]
    if not shape:
        return recorder.new_handle(dtype, (), parts[0])
    flat = recorder.record(aten.stack.default, (parts, 0), {}, [TensorType(dtype, (len(parts),))])[0]
    if len(shape) > 1:
        flat = recorder.record(aten.view.default, (flat, list(shape)), {}, [TensorType(dtype, tuple(shape))])[0]
    return recorder.new_handle(dtype, tuple(shape), flat)


def _walk(data: Any, leaves: list) -> list[int] | None:
    """The shape of nested lists; None for data that is not lists and numbers (arrays, strings)."""
    if not isinstance(data, (list, tuple)):
        leaves.append(data)
        return [] if kind_of(data) is not None or isinstance(data, (int, float, complex, torch.Tensor)) else None
    shapes = [_walk(x, leaves) for x in data]
    if any(s is None for s in shapes):
        return None
    if any(s != shapes[0] for s in shapes):
        natively(torch.tensor, _skeleton(data))  # which says what is wrong
        raise CaptureRefusal("torch.tensor of lists of different shapes", kind="build.data")
    return [len(data), *(shapes[0] if shapes else [])]


def _skeleton(data: Any) -> Any:
    """The same lists with zeros in them."""
    return [_skeleton(x) for x in data] if isinstance(data, (list, tuple)) else 0.0 if kind_of(data) == "float" else 0


def _inferred(leaves: list) -> torch.dtype:
    """torch.tensor's rule: the dtype that all go into; a tensor without dims counts with its own,
    a number with that of its kind."""
    by_kind = {"float": torch.get_default_dtype(), "int": torch.int64, "bool": torch.bool}
    dtypes = []
    for x in leaves:
        kind = kind_of(x) or type(x).__name__
        if isinstance(x, torch.Tensor):
            dtypes.append(x.dtype)
        elif kind in by_kind:
            dtypes.append(by_kind[kind])
        else:
            raise CaptureRefusal(f"torch.tensor of {kind}", kind="build.data")
    return functools.reduce(torch.promote_types, dtypes, torch.bool)


def _part(recorder, x: Any, dtype: torch.dtype):
    """One element as the value of a 0-d tensor."""
    kind = TensorType(dtype, ())
    if isinstance(x, torch.Tensor):
        if x.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        value = recorder.value_of(x)
        if x.dim():
            value = recorder.record(aten.view.default, (value, []), {}, [TensorType(x.dtype, ())])[0]
        if x.dtype != dtype:
            value = recorder.record(aten._to_copy.default, (value,), {"dtype": dtype}, [kind])[0]
        return value
    if made_stand_in(x) is not None:
        if dtype == torch.uint8 and kind_of(x) == "int":
            return _byte(recorder, x)
        if not (dtype.is_floating_point or dtype.is_complex or dtype in (torch.int64, torch.bool)):
            recorder.refuse_caught(RuntimeError)  # a number that is too large for it
        return recorder.host("to_tensor", [recorder.numbers.scalar_as(x, dtype)], kind, dtype=dtype_name(dtype))
    with recorder.without_modes():
        real = natively(torch.tensor, x, dtype=dtype)
    return recorder.value_of(recorder.real.constant_handle(real))


def _byte(recorder, x: Any):
    """Torch lets -1 be 255."""
    value_checks.require_fitting(recorder, recorder.symbols.to_symbolic(x), torch.uint8,
                                 "value cannot be converted to type uint8 without overflow")
    wide = recorder.host("to_tensor", [recorder.numbers.scalar_as(x, torch.int64)], TensorType(torch.int64, ()),
                         dtype=dtype_name(torch.int64))
    return recorder.record(aten._to_copy.default, (wide,), {"dtype": torch.uint8}, [TensorType(torch.uint8, ())])[0]


def scalar_tensor(recorder, fn, args, kwargs):
    options = dict(kwargs)
    x = args[0] if args else options.pop("s")
    return build(recorder, x, options.get("dtype") or torch.get_default_dtype())


def from_numpy(recorder, fn, args, kwargs):
    memory = memory_of(args[0])
    if memory is not None:
        return memory
    with recorder.without_modes():
        made = recorder.real.constant_handle(torch.from_numpy(args[0]).clone())
    return _beside(recorder, made, args[0])


def _beside(recorder, made: torch.Tensor, array: np.ndarray) -> torch.Tensor:
    """The tensor shares its memory with the array: as long as somebody has that, it is not written."""
    numpy_memory.share(recorder.heap, made._dycl.cell, array)
    return made

