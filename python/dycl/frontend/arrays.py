# SPDX-License-Identifier: Apache-2.0
"""numpy arrays known only at run time: a tensor in numpy's clothes.

Only what small results need (argmax over confidences, max, mean, comparisons, indexing): each maps to
the torch operation with the same meaning; anything else is refused.
"""

from __future__ import annotations

import inspect
import operator
import warnings
from typing import Any

import numpy as np
import torch

from . import array_functions
from .diagnostics import CaptureRefusal
from .values import Escape, RtScalar


class RtArray:
    """Immutable: `tensor` is the symbolic tensor that holds the elements. `scalar`: a numpy scalar."""

    __slots__ = ("tensor", "scalar")

    def __init__(self, tensor: torch.Tensor, scalar: bool = False):
        self.tensor = tensor
        self.scalar = scalar

    @property
    def origin(self):
        return self.tensor._dycl.span


def _refuse(how: str):
    def method(self, *args, **kwargs):
        raise Escape(self, how)

    return method


for _name, _how in {
    "__bool__": "truth", "__str__": "str", "__repr__": "repr", "__format__": "format", "__hash__": "hash",
    "__index__": "index", "__int__": "int", "__float__": "float", "__len__": "len", "__iter__": "iteration",
    "__array__": "numpy", "__getitem__": "subscript", "__eq__": "comparison", "__ne__": "comparison",
    "__lt__": "comparison", "__le__": "comparison", "__gt__": "comparison", "__ge__": "comparison",
    "__add__": "operator", "__radd__": "operator", "__mul__": "operator", "__rmul__": "operator",
    "__sub__": "operator", "__rsub__": "operator", "__contains__": "containment", "__reduce_ex__": "pickle",
}.items():
    setattr(RtArray, _name, _refuse(_how))


_FUNCTIONS = {
    "argmax": torch.argmax, "argmin": torch.argmin, "max": torch.amax, "amax": torch.amax, "min": torch.amin,
    "amin": torch.amin, "sum": torch.sum, "abs": torch.abs, "absolute": torch.abs, "exp": torch.exp, "sqrt": torch.sqrt,
    "log": torch.log, "tanh": torch.tanh, "any": torch.any, "all": torch.all, "isnan": torch.isnan,
    "isinf": torch.isinf, "isfinite": torch.isfinite, "maximum": torch.maximum, "minimum": torch.minimum,
    "where": torch.where, "floor": torch.floor, "ceil": torch.ceil, "sign": torch.sign, "log2": torch.log2,
    "log10": torch.log10, "log1p": torch.log1p, "expm1": torch.expm1, "sin": torch.sin, "cos": torch.cos, "tan": torch.tan,
    "square": torch.square, "rint": torch.round, "logical_and": torch.logical_and, "logical_or": torch.logical_or,
    "logical_not": torch.logical_not, "arctan2": torch.atan2, "trunc": torch.trunc,
}
_FLOATING = {"exp", "sqrt", "log", "tanh", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "arctan2"}


class Arrays:
    def __init__(self, machine):
        self.m = machine

    # -- conversions ----------------------------------------------------------------

    def tensor(self, x: Any) -> Any:
        """A tensor (or plain number) for an operand."""
        if isinstance(x, RtArray):
            return x.tensor
        if isinstance(x, torch.Tensor) or isinstance(x, (bool, int, float, RtScalar)) and not isinstance(x, np.generic):
            return x
        if isinstance(x, (np.ndarray, np.generic)):
            return self.m.recorder.call(torch.from_numpy, (np.array(x, order="C"),), {})
        if isinstance(x, (list, tuple)):
            return self.stack(x)
        raise CaptureRefusal(f"numpy with a {type(x).__name__} among values known only at run time", kind="numpy")

    def stack(self, items: Any) -> torch.Tensor:
        """np.array([...]) of runtime parts."""
        parts = []
        for item in items:
            part = self.tensor(item)
            if not isinstance(part, torch.Tensor):
                dtype = {"bool": torch.bool, "int": torch.int64, "float": torch.float64}[
                    part.kind if isinstance(part, RtScalar) else type(part).__name__]
                part = self.m.scalar_tensor(part, dtype)
            parts.append(part)
        kinds = {p.dtype for p in parts}
        if len(kinds) > 1:
            common = parts[0].dtype
            for p in parts[1:]:
                common = _numpy_promote(common, p.dtype)
            parts = [self.m.recorder.call(torch.Tensor.to, (p, common), {}) for p in parts]
        return self.m.recorder.call(torch.stack, (parts,), {})

    def wrap(self, x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            return RtArray(x, scalar=x.dim() == 0)
        return tuple(map(self.wrap, x)) if type(x) is tuple else x  # numpy.where of one array

    # -- numpy functions -----------------------------------------------------------------

    def function(self, fn: Any, args: tuple, kwargs: dict) -> Any:
        name = getattr(fn, "__name__", "?")
        wanted = _dtype_of(fn, args, kwargs)
        if name == "where" and len(args) == 3 and wanted is not None:
            args = (args[0], *(RtArray(self._in(x, wanted) if isinstance(x, torch.Tensor) else self.m.scalar_tensor(x, wanted))
                               for x in map(self.tensor, args[1:])))
        return self._as_numpy_has_it(self._function(name, args, kwargs), wanted, name)

    def _function(self, name: str, args: tuple, kwargs: dict) -> Any:
        if name in ("array", "asarray", "stack") and len(args) == 1 and not kwargs:
            source = args[0]
            return RtArray(source.tensor) if isinstance(source, RtArray) else self.wrap(self.tensor(source))
        if name == "concatenate" and not kwargs.get("axis"):
            return self.wrap(self.m.recorder.call(torch.cat, ([self.tensor(a) for a in args[0]],), {}))
        if name in ("mean",) and set(kwargs) <= {"axis"}:
            return self._mean(*args, **kwargs)
        if name in ("argmax", "argmin") and set(kwargs) <= {"axis"}:
            x = self.tensor(args[0])
            axis = kwargs.get("axis", args[1] if len(args) > 1 else None)
            return self.wrap(self.m.recorder.call(_FUNCTIONS[name], (x, axis) if axis is not None else (x,), {}))
        if name in ("max", "amax", "min", "amin", "sum", "any", "all") and set(kwargs) <= {"axis"}:
            return self._reduce(name, *args, **kwargs)
        if name in _FUNCTIONS and not kwargs:
            operands = self._matched(tuple(self._operand(a, name in _FLOATING) for a in args), name)
            if any(isinstance(o, torch.Tensor) for o in operands):
                return self.wrap(self.m.recorder.call(_FUNCTIONS[name], operands, {}))
        special = array_functions.TABLE.get(name)
        if special is not None:
            try:
                inspect.signature(special).bind(self, *args, **kwargs)
            except TypeError:
                array_functions.refuse(name, "with such arguments, of arrays")
            return special(self, *args, **kwargs)
        raise CaptureRefusal(f"numpy.{name} of values known only at run time",
                             "use the torch function of the same meaning", kind="numpy")

    def _matched(self, operands: tuple, name: str) -> tuple:
        """A Python number beside an array takes the array's dtype if that can hold its kind."""
        arrays = [x for x in operands if isinstance(x, torch.Tensor)]
        if name in ("floor", "ceil", "trunc", "rint") and arrays and not arrays[0].dtype.is_floating_point:
            raise CaptureRefusal(f"numpy.{name} of integers known only at run time", "leave it out", kind="numpy")
        if len(operands) < 2 or len(arrays) in (0, len(operands)) or name == "where":
            return operands
        dtype = arrays[0].dtype
        if not dtype.is_floating_point and any(isinstance(x, float) for x in operands):
            dtype = torch.float64
        return tuple(x if isinstance(x, torch.Tensor) else self.m.scalar_tensor(x, dtype) for x in operands)

    def _operand(self, x: Any, floating: bool) -> Any:
        """numpy computes with 64 bits what is a Python number or, in functions that give floats, an integer."""
        x = self.tensor(x)
        if isinstance(x, (RtScalar, bool, int, float)):
            kind = x.kind if isinstance(x, RtScalar) else type(x).__name__
            x = self.m.scalar_tensor(x, {"bool": torch.bool, "int": torch.int64, "float": torch.float64}[kind]) if isinstance(
                x, RtScalar) or floating else x
        if floating and isinstance(x, torch.Tensor) and not x.dtype.is_floating_point:
            x = self.m.recorder.call(torch.Tensor.to, (x, torch.float64), {})
        return x

    def _mean(self, x: Any, axis: Any = None) -> Any:
        x = self.tensor(x)
        if not x.dtype.is_floating_point:
            x = self.m.recorder.call(torch.Tensor.to, (x, torch.float64), {})
        return self.wrap(self.m.recorder.call(torch.mean, (x,) if axis is None else (x, axis), {}))

    def _reduce(self, name: str, x: Any, axis: Any = None) -> Any:
        x = self.tensor(x)
        if name == "sum" and x.dtype in (torch.int32, torch.uint8, torch.int16, torch.int8):
            raise CaptureRefusal("numpy.sum of small integers known only at run time", "use torch.sum", kind="numpy")
        if name in ("max", "amax", "min", "amin") and axis is None:
            fn = torch.max if name.endswith("max") else torch.min
            return self.wrap(self.m.recorder.call(fn, (x,), {}))
        return self.wrap(self.m.recorder.call(_FUNCTIONS[name], (x,) if axis is None else (x, axis), {}))

    # -- methods and attributes ----------------------------------------------------------------

    def attribute(self, array: RtArray, name: str) -> Any:
        t = array.tensor
        if name in ("shape", "ndim"):
            found = self.m.recorder.attribute(t, name)
            return tuple(found) if name == "shape" else found
        if name == "dtype":
            return np.dtype(str(t.dtype).removeprefix("torch."))
        if name == "size":
            return self.m.recorder.call(torch.Tensor.numel, (t,), {})
        if name == "T":
            return self.wrap(self.m.recorder.attribute(t, "T"))
        return BoundArrayMethod(array, name)

    def method(self, bound: "BoundArrayMethod", args: tuple, kwargs: dict) -> Any:
        array, name = bound.array, bound.name
        if name == "item" and not args:
            return self.m.tensor_item(array.tensor)
        if name == "tolist":
            return self.m.tolist(array.tensor)
        if name == "copy" or name == "squeeze" and not args or name in ("flatten", "ravel"):
            fn = {"copy": torch.clone, "squeeze": torch.squeeze}.get(name, torch.flatten)
            return self.wrap(self.m.recorder.call(fn, (array.tensor,), {}))
        if name in ("argmax", "argmin", "max", "min", "sum", "mean", "any", "all", "argsort", "clip", "cumsum", "prod", "std", "var",
                    "squeeze", "nonzero", "dot"):
            return self.function(getattr(np, name), (array, *args), kwargs)
        if name in ("reshape", "transpose"):
            shape = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
            return self.function(getattr(np, name), (array, shape), kwargs)
        if name == "astype" and args[0] in (int, float, bool, np.float32, np.float64, np.int64):
            dtype = {int: torch.int64, float: torch.float64, bool: torch.bool, np.float32: torch.float32,
                     np.float64: torch.float64, np.int64: torch.int64}[args[0]]
            return self.wrap(self.m.recorder.call(torch.Tensor.to, (array.tensor, dtype), {}))
        raise CaptureRefusal(f"the numpy method {name} on an array known only at run time",
                             "use the torch method before .numpy()", kind="numpy")

    # -- operators ------------------------------------------------------------------------------

    def binary(self, op: str, a: Any, b: Any, inplace: bool) -> Any:
        if inplace:
            raise CaptureRefusal("an in-place operation on a numpy array known only at run time", kind="numpy")
        fn = getattr(operator, {"and": "and_", "or": "or_"}.get(op, op))
        wanted = _dtype_of(fn, (a, b), {})
        x, y = (self._in(t, wanted) for t in self._alike(self.tensor(a), self.tensor(b)))
        if op in ("pow", "floordiv", "mod") and not _floating(x, y):
            raise CaptureRefusal(f"numpy {op} of integers known only at run time", "use torch", kind="numpy")
        return self._as_numpy_has_it(self.wrap(self.m.recorder.call(fn, (x, y), {})), wanted, op)

    def _in(self, x: Any, dtype: torch.dtype | None) -> Any:
        if dtype is None or not dtype.is_floating_point or not isinstance(x, torch.Tensor) or x.dtype == dtype:
            return x
        return self.m.recorder.call(torch.Tensor.to, (x, dtype), {})

    def _as_numpy_has_it(self, result: Any, wanted: torch.dtype | None, name: str) -> Any:
        """The result, whose dtype must be the one that numpy gives."""
        if wanted is not None and isinstance(result, RtArray) and result.tensor.dtype != wanted:
            raise CaptureRefusal(f"numpy {name} of such operands, which gives {str(wanted).removeprefix('torch.')}",
                                 "use arrays of one dtype, or torch", kind="numpy")
        return result

    def _alike(self, x: Any, y: Any) -> tuple:
        """Arrays of several dtypes in the one that numpy computes in: int64 beside float32 is float64."""
        if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor) and x.dtype != y.dtype:
            common = _numpy_promote(x.dtype, y.dtype)
            return tuple(t if t.dtype == common else self.m.recorder.call(torch.Tensor.to, (t, common), {}) for t in (x, y))
        return x, y

    def unary(self, op: str, x: RtArray) -> Any:
        return self.wrap(self.m.recorder.call(getattr(operator, op), (x.tensor,), {}))

    def compare(self, op: str, a: Any, b: Any) -> Any:
        x, y = self._alike(self.tensor(a), self.tensor(b))
        return self.wrap(self.m.recorder.call(getattr(operator, op), (x, y), {}))

    def get_item(self, array: RtArray, key: Any) -> Any:
        key = tuple(self.tensor(k) if isinstance(k, RtArray) else k for k in key) if isinstance(key, tuple) else (
            key.tensor if isinstance(key, RtArray) else key)
        return self.wrap(self.m.recorder.call(operator.getitem, (array.tensor, key), {}))

    def rows(self, array: RtArray) -> tuple:
        return tuple(self.wrap(row) for row in self.m.recorder.call(torch.unbind, (array.tensor, 0), {}))

    def set_item(self, array: RtArray, key: Any, value: Any) -> None:
        raise CaptureRefusal("a numpy array known only at run time is written", "write to the tensor", kind="numpy")

    def is_instance(self, array: RtArray, kinds: Any) -> bool:
        example = np.zeros((), dtype=str(array.tensor.dtype).removeprefix("torch."))
        return isinstance(example[()] if array.scalar else example, kinds)

    def type_of(self, array: RtArray) -> type:
        return np.dtype(str(array.tensor.dtype).removeprefix("torch.")).type if array.scalar else np.ndarray


class BoundArrayMethod:
    __slots__ = ("array", "name")

    def __init__(self, array: RtArray, name: str):
        self.array, self.name = array, name


def _dtype_of(fn: Any, args: tuple, kwargs: dict) -> torch.dtype | None:
    """The dtype of numpy's result for such arguments, by small ones of the same kinds; None where that cannot be told."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = fn(*map(_example, args), **{k: _example(v) for k, v in kwargs.items()})
    except Exception:
        return None
    return getattr(torch, found.dtype.name, None) if isinstance(found, (np.ndarray, np.generic)) else None


def _example(x: Any) -> Any:
    if isinstance(x, RtArray):
        dtype = str(x.tensor.dtype).removeprefix("torch.")
        made = np.ones([d if type(d) is int and d < 2 else 2 for d in x.tensor.shape], dtype)
        return made[()] if x.scalar else made
    if isinstance(x, np.ndarray):
        return np.ones([min(d, 2) for d in x.shape], x.dtype)
    if isinstance(x, RtScalar):
        return {"int": 1, "float": 1.0, "bool": True}[x.kind]
    if isinstance(x, torch.Tensor):
        raise TypeError("a tensor among arrays")
    return type(x)(map(_example, x)) if type(x) in (list, tuple) else x


def _floating(x: Any, y: Any) -> bool:
    return any(isinstance(v, torch.Tensor) and v.dtype.is_floating_point for v in (x, y))


def _numpy_promote(a: torch.dtype, b: torch.dtype) -> torch.dtype:
    name = np.promote_types(str(a).removeprefix("torch."), str(b).removeprefix("torch.")).name
    return getattr(torch, name)
