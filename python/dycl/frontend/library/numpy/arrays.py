# SPDX-License-Identifier: Apache-2.0
"""numpy arrays known only at run time: a tensor in numpy's clothes.

What is done to them maps to the torch operation with the same meaning; anything else is refused. Views are views and
copies are copies as in numpy: an array may be written (library/numpy/indexing.py),
and so may the tensor whose memory it is.
"""

from __future__ import annotations

import contextlib
import inspect
import operator
import warnings
import weakref
from typing import Any, Iterator

import numpy as np
import torch

from ....dtypes import own_name
from ...diagnostics import CaptureRefusal
from ...semantics import registry, subscripts
from ...state import numpy_memory
from ...values.array import (
    NARROW,
    RtArray,
    dtype_name,
    dtype_of_number,
    floating,
    is_array,
    promoted,
    torch_dtype,
)
from ...values.escape import Escape
from ...values.native_entries import natively, own_fault, refuse_own
from ...values.scalar import kind_of
from ...values.stand_in import is_instance, made_stand_in, number_of, stand_in_of
from . import algebra, functions, indexing

_FUNCTIONS = {
    "abs": torch.abs, "absolute": torch.abs, "exp": torch.exp, "sqrt": torch.sqrt,
    "log": torch.log, "tanh": torch.tanh, "isnan": torch.isnan,
    "isinf": torch.isinf, "isfinite": torch.isfinite, "maximum": torch.maximum, "minimum": torch.minimum,
    "where": torch.where, "floor": torch.floor, "ceil": torch.ceil, "sign": torch.sign, "log2": torch.log2,
    "log10": torch.log10, "log1p": torch.log1p, "expm1": torch.expm1, "sin": torch.sin,
    "cos": torch.cos, "tan": torch.tan, "square": torch.square, "rint": torch.round, "logical_and": torch.logical_and,
    "logical_or": torch.logical_or, "logical_not": torch.logical_not, "arctan2": torch.atan2, "trunc": torch.trunc,
    "logaddexp": torch.logaddexp, "hypot": torch.hypot, "exp2": torch.exp2, "sinh": torch.sinh, "cosh": torch.cosh,
    "arcsin": torch.asin, "arccos": torch.acos, "arctan": torch.atan, "fabs": torch.abs,
    "logical_xor": torch.logical_xor, "arcsinh": torch.asinh, "arccosh": torch.acosh,
    "arctanh": torch.atanh, "fmax": torch.fmax, "fmin": torch.fmin, "copysign": torch.copysign,
    "deg2rad": torch.deg2rad, "rad2deg": torch.rad2deg,
    # of scipy.special
    "expit": torch.sigmoid, "erf": torch.erf, "gammaln": torch.lgamma, "logit": torch.logit, "xlogy": torch.xlogy,
}
_FLOATING = {"exp", "sqrt", "log", "tanh", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "arctan2",
             "logaddexp", "hypot", "exp2", "sinh", "cosh", "arcsin", "arccos", "arctan", "fabs", "arcsinh", "arccosh",
             "arctanh", "copysign", "deg2rad", "rad2deg", "expit", "erf", "gammaln", "logit", "xlogy"}


class Arrays:
    def __init__(self, machine):
        self.m = machine
        self.subscripts = subscripts

    def call(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        """A function of torch, recorded."""
        return self.m.recorder.call(fn, args, kwargs)

    # -- conversions ----------------------------------------------------------------

    def tensor(self, x: Any) -> Any:
        """A tensor (or plain number) for an operand."""
        own = stand_in_of(x)
        if own is not None:
            return own.as_operand(self.m)
        if isinstance(x, (bool, int, float)) and not isinstance(x, np.generic):
            return x
        if isinstance(x, (np.ndarray, np.generic)):
            return self.call(torch.from_numpy, np.array(x, order="C"))
        if isinstance(x, (list, tuple)):
            self.m.note_read(x)
            return self.stack(x)
        raise CaptureRefusal(f"numpy with a {type(x).__name__} among values known only at run time", kind="numpy")

    def stack(self, items: Any) -> torch.Tensor:
        """np.array([...]) of runtime parts."""
        parts = [self.value(item) for item in items]
        kinds = {p.dtype for p in parts}
        if len(kinds) > 1:
            common = parts[0].dtype
            for p in parts[1:]:
                common = promoted(common, p.dtype)
            parts = [self.call(torch.Tensor.to, p, common) for p in parts]
        return self.call(torch.stack, parts)

    def value(self, x: Any) -> torch.Tensor:
        """An operand as a tensor, a number in the dtype that numpy would have it."""
        x = self.tensor(x)
        return x if isinstance(x, torch.Tensor) else self.m.scalar_tensor(x, dtype_of_number(x))

    def wrap(self, x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            return RtArray(x, scalar=x.dim() == 0)
        return tuple(map(self.wrap, x)) if type(x) is tuple else x  # numpy.where of one array

    def number(self, t: torch.Tensor) -> RtArray:
        """A numpy scalar, which does not change when the array is written that it was taken from."""
        return RtArray(self.call(torch.clone, t), scalar=True)

    def view(self, of: Any, t: torch.Tensor) -> RtArray:
        """An array that looks at the memory of another."""
        source = of.source if self.m.is_array(of) else None
        return RtArray(t) if source is None else self.guarded(t, source)

    def guarded(self, t: torch.Tensor, source: Any) -> RtArray:
        made = RtArray(t, source=source)
        cell = source()
        if cell is not None:
            cell.arrays = (*cell.arrays, weakref.ref(made))
        return made

    # -- numpy functions -----------------------------------------------------------------

    def function(self, fn: Any, args: tuple, kwargs: dict) -> Any:
        with self._failing_as(fn, args, kwargs):
            return self._answered(fn, args, kwargs)

    @contextlib.contextmanager
    def _failing_as(self, fn: Any, args: tuple, kwargs: dict) -> Iterator[None]:
        """What torch refuses by RuntimeError numpy refuses by errors of its own: it is asked, over arrays of the same
        shapes."""
        try:
            yield
        except RuntimeError as error:
            if type(error) is RuntimeError:  # of linear algebra numpy's are of the same kind
                refuse_own(error)
                self._ask_numpy(fn, args, kwargs)
                if self.m.may_catch():
                    raise own_fault(error) from error
            raise

    @staticmethod
    def _ask_numpy(fn: Any, args: tuple, kwargs: dict) -> None:
        with contextlib.suppress(Escape):
            given = [_of_shape(x) for x in (*args, *kwargs.values())]
            natively(fn, *given[:len(args)], **dict(zip(kwargs, given[len(args):])))

    def _answered(self, fn: Any, args: tuple, kwargs: dict) -> Any:
        name = algebra.name_of(fn)
        wanted = _dtype_of(self.m, fn, args, kwargs)
        if name == "where" and len(args) == 3 and wanted is not None:
            chosen = (RtArray(self._in(x, wanted) if isinstance(x, torch.Tensor) else self.m.scalar_tensor(x, wanted))
                      for x in map(self.tensor, args[1:]))
            args = (args[0], *chosen)
        return self._as_numpy_has_it(self._function(name, args, kwargs), wanted, name)

    def _function(self, name: str, args: tuple, kwargs: dict) -> Any:
        if name in _FUNCTIONS and not kwargs:
            self._check_numbers(tuple(map(self.tensor, args)))
            operands = self._matched(tuple(self._operand(a, name in _FLOATING) for a in args), name)
            if any(isinstance(o, torch.Tensor) for o in operands):
                return self.wrap(self.call(_FUNCTIONS[name], *operands))
        special = functions.TABLE.get(name)
        if special is None:
            raise CaptureRefusal(f"numpy.{name} of values known only at run time",
                                 "use the torch function of the same meaning", kind="numpy")
        try:
            inspect.signature(special).bind(self, *args, **kwargs)
        except TypeError:
            functions.refuse(name, "with such arguments, of arrays")
        return special(self, *args, **kwargs)

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
        dtype = dtype_of_number(x)
        if dtype is not None and (floating or made_stand_in(x) is not None):
            x = self.m.scalar_tensor(x, dtype)
        if floating and isinstance(x, torch.Tensor) and not x.dtype.is_floating_point:
            x = self.call(torch.Tensor.to, x, torch.float64)
        return x

    # -- methods and attributes ----------------------------------------------------------------

    def attribute(self, array: RtArray, name: str) -> Any:
        t = array.tensor
        if name in ("shape", "ndim"):
            found = self.m.recorder.attribute(t, name)
            return tuple(found) if name == "shape" else found
        if name == "dtype":
            return np.dtype(dtype_name(t))
        if name == "size":
            return self.call(torch.Tensor.numel, t)
        if name == "T":
            return self.view(array, self.call(torch.permute, t, tuple(reversed(range(t.dim())))))
        if name == "itemsize":
            return t.element_size()
        if name == "device" and hasattr(np.ndarray, name):
            return "cpu"
        cls = self.type_of(array)
        if not callable(getattr(cls, name)):  # raises where numpy's arrays have no such attribute
            raise CaptureRefusal(f"the attribute {name} of a numpy array known only at run time",
                                 "use the torch tensor before .numpy()", kind="numpy")
        return BoundArrayMethod(array, name)

    def method(self, bound: "BoundArrayMethod", args: tuple, kwargs: dict) -> Any:
        array, name = bound.array, bound.name
        if name in _METHODS:
            return self.function(getattr(np, name), (array, *args), kwargs)
        own = _OWN_METHODS.get(name)
        found = own(self, array, *args, **kwargs) if own is not None and _takes(own, array, args, kwargs) else _REFUSED
        if found is _REFUSED:
            raise CaptureRefusal(f"the numpy method {name} on an array known only at run time",
                                 "use the torch method before .numpy()", kind="numpy")
        return found

    def item(self, array: RtArray, *places: Any) -> Any:
        if not all(kind_of(n) == "int" for n in places):
            return _REFUSED
        if not places:
            array.check_one(self.m, np.ndarray.item)
            return self.m.tensor_item(array.tensor)
        source = self.call(torch.flatten, array.tensor) if len(places) == 1 else array.tensor
        return self.m.tensor_item(self.subscripts.get_item(self.m, self.m.current, source, places))

    def reshape(self, array: RtArray, *shape: Any, **kwargs: Any) -> Any:
        shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape
        return self.function(np.reshape, (array, shape), kwargs)

    def transpose(self, array: RtArray, *axes: Any, **kwargs: Any) -> Any:
        axes = axes[0] if len(axes) == 1 and isinstance(axes[0], (list, tuple)) else axes
        return self.function(np.transpose, (array, axes) if axes else (array,), kwargs)

    def copied(self, array: RtArray) -> RtArray:
        return RtArray(self.call(torch.clone, array.tensor), array.scalar)

    def flattened(self, array: RtArray) -> RtArray:
        return RtArray(self.call(torch.flatten, self.copied(array).tensor))

    def astype(self, array: RtArray, dtype: Any, /, *, copy: bool = True) -> Any:
        return self.converted(array, dtype, copy)

    def fill(self, array: RtArray, value: Any, /) -> None:
        return self.set_item(array, Ellipsis, value)

    def sort(self, array: RtArray, *args: Any, **kwargs: Any) -> Any:
        if array.scalar:
            return _REFUSED
        return self.set_item(array, Ellipsis, self.function(np.sort, (array, *args), kwargs))

    # -- operators ------------------------------------------------------------------------------

    def _with_tensor(self, fn: Any, a: Any, b: Any) -> Any:
        """Beside a tensor a numpy scalar counts as a number; an array is refused or not, by the operator."""
        if any(is_instance(self.m, x, np.ndarray) for x in (a, b)):
            raise CaptureRefusal("an operator between a tensor and a numpy array known only at run time",
                                 "convert one of them", kind="numpy")
        a, b = (x if isinstance(x, torch.Tensor) else number_of(self.m, x) for x in (a, b))
        return self.call(fn, a, b)

    def binary(self, op: str, a: Any, b: Any, inplace: bool) -> Any:
        if inplace and isinstance(a, np.ndarray):
            numpy_memory.at_run_time(self.m, a)
        fn = getattr(operator, {"and": "and_", "or": "or_"}.get(op, op))
        if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
            return self._with_tensor(
                getattr(operator, f"i{op}") if inplace and isinstance(a, torch.Tensor) else fn, a, b
            )
        wanted = _dtype_of(self.m, fn, (a, b), {})
        x, y = self._alike(self.tensor(a), self.tensor(b))
        self._check_numbers((x, y))
        x, y = self._in(x, wanted), self._in(y, wanted)
        if op in ("pow", "floordiv", "mod") and not floating(x, y) and not (op != "pow" and type(y) is int and y > 0):
            raise CaptureRefusal(f"numpy {op} of integers known only at run time", "use torch", kind="numpy")
        with self._failing_as(fn, (a, b), {}):
            return self._as_numpy_has_it(self.wrap(self.call(fn, x, y)), wanted, op)

    def inplace(self, op: str, a: RtArray, b: Any) -> RtArray:
        """The array itself, with the result written to it: numpy demands that the result's kind fits."""
        indexing.check_writable(a)
        result = self.binary(op, a, b, False)
        kinds = [np.dtype(dtype_name(t)) for t in (result.tensor, a.tensor)]
        if not np.can_cast(*kinds, "same_kind") or tuple(result.tensor.shape) != tuple(a.tensor.shape):
            raise CaptureRefusal(f"an in-place operation that numpy refuses: {kinds[0]} into {kinds[1]}, "
                                 "or a result of another shape",
                                 "use arrays of one dtype and shape", kind="numpy")
        self.call(torch.Tensor.copy_, a.tensor, indexing.assigned(self, a.tensor, result))
        return a

    def converted(self, array: Any, dtype: Any, copied: bool = True) -> Any:
        """astype: a copy, unless told otherwise."""
        wanted = torch_dtype(dtype)
        if array.tensor.dtype == wanted and not copied:
            return array
        return RtArray(self.call(torch.Tensor.to, array.tensor, wanted, copy=True), array.scalar)

    def _check_numbers(self, operands: tuple) -> None:
        """Python's integers beside an array must fit its dtype."""
        for dtype in (x.dtype for x in operands if isinstance(x, torch.Tensor) and x.dtype in NARROW):
            for x in operands:
                self.check_number(x, dtype)

    def check_number(self, x: Any, dtype: torch.dtype) -> None:
        if dtype not in NARROW or kind_of(x) != "int":
            return
        limits = torch.iinfo(dtype)
        if type(x) is int:
            if not limits.min <= x <= limits.max:
                raise OverflowError(f"Python integer {x} out of bounds for {own_name(dtype)}")
            return
        for op, limit in (("ge", limits.min), ("le", limits.max)):
            fits = self.m.scalars.compare(op, x, limit)
            if not isinstance(fits, bool):
                self.m.recorder.check(
                    fits.value, f"Python integer out of bounds for {own_name(dtype)}", "OverflowError"
                )

    def _in(self, x: Any, dtype: torch.dtype | None) -> Any:
        if dtype is None or not dtype.is_floating_point or not isinstance(x, torch.Tensor) or x.dtype == dtype:
            return x
        return self.call(torch.Tensor.to, x, dtype)

    def _as_numpy_has_it(self, result: Any, wanted: torch.dtype | None, name: str) -> Any:
        """The result, whose dtype must be the one that numpy gives."""
        if wanted is not None and self.m.is_array(result) and result.tensor.dtype != wanted:
            raise CaptureRefusal(f"numpy {name} of such operands, which gives {str(wanted).removeprefix('torch.')}",
                                 "use arrays of one dtype, or torch", kind="numpy")
        return result

    def _alike(self, x: Any, y: Any) -> tuple:
        """Arrays of several dtypes in the one that numpy computes in: int64 beside float32 is float64."""
        if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor) and x.dtype != y.dtype:
            common = promoted(x.dtype, y.dtype)
            return tuple(t if t.dtype == common else self.call(torch.Tensor.to, t, common)
                         for t in (x, y))
        return x, y

    def unary(self, op: str, x: RtArray) -> Any:
        if op == "neg" and x.tensor.dtype == torch.bool:
            raise TypeError("The numpy boolean negative, the `-` operator, is not supported, "
                            "use the `~` operator or the logical_not function instead.")
        return self.wrap(self.call(getattr(operator, op), x.tensor))

    def compare(self, op: str, a: Any, b: Any) -> Any:
        if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
            return self._with_tensor(getattr(operator, op), a, b)
        if a is None or b is None or isinstance(a, str) or isinstance(b, str):
            raise CaptureRefusal("a comparison of a numpy array known only at run time with None or a string",
                                 "use `is`", kind="numpy")
        x, y = self._comparable(*self._alike(self.tensor(a), self.tensor(b)))
        return self.wrap(self.call(getattr(operator, op), x, y))

    def _comparable(self, x: Any, y: Any) -> tuple:
        """In dtypes that hold the numbers of both: a float beside integers, and any integer beside one of few bits."""
        if any(isinstance(t, torch.Tensor) and not t.dtype.is_floating_point for t in (x, y)):
            x, y = self._alike(*(self.m.scalar_tensor(v, torch.float64)
                                 if isinstance(v, float) or kind_of(v) == "float" else v for v in (x, y)))
        if any(kind_of(v) == "int" for v in (x, y)):
            x, y = (self.call(torch.Tensor.to, v, torch.int64) if isinstance(v, torch.Tensor) and v.dtype in NARROW
                    else v for v in (x, y))
        return x, y

    def get_item(self, array: RtArray, key: Any) -> Any:
        return indexing.get(self, array, key)

    def get_known(self, array: np.ndarray, key: Any) -> Any:
        """An array known while compiling, at a place that is not.
        What looks at its memory must see what is written there later."""
        found = self.get_item(RtArray(self.call(torch.from_numpy, array)), key)
        if not found.scalar and indexing.gives_view(self, key):
            numpy_memory.at_run_time(self.m, array)
        return RtArray(self.call(torch.clone, found.tensor), found.scalar)

    def rows(self, array: RtArray) -> tuple:
        """What iteration gives; a number among them is still a view, see `row`."""
        return tuple(RtArray(row, scalar=row.dim() == 0, source=array.source)
                     for row in self.call(torch.unbind, array.tensor, 0))

    def row(self, row: RtArray) -> RtArray:
        """One of `rows`, at the moment when it is asked for."""
        return self.number(row.tensor) if row.scalar else self.view(row, row.tensor)

    def set_item(self, array: RtArray, key: Any, value: Any) -> None:
        indexing.put(self, array, key, value)

    def type_of(self, array: RtArray) -> type:
        return np.dtype(dtype_name(array.tensor)).type if array.scalar else np.ndarray


class BoundArrayMethod:
    __slots__ = ("array", "name")

    def __init__(self, array: RtArray, name: str):
        self.array, self.name = array, name


@registry.finds(BoundArrayMethod)
def _find_method(fn: BoundArrayMethod) -> Any:
    return lambda m, s, args, kwargs: m.arrays.method(fn, args, kwargs)


def _dtype_of(m: Any, fn: Any, args: tuple, kwargs: dict) -> torch.dtype | None:
    """The dtype of numpy's result for such arguments, by small ones of the same kinds;
    None where that cannot be told."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = fn(*(_example(m, x) for x in args), **{k: _example(m, v) for k, v in kwargs.items()})
    except (Exception, Escape):
        return None
    return getattr(torch, found.dtype.name, None) if isinstance(found, (np.ndarray, np.generic)) else None


def _example(m: Any, x: Any) -> Any:
    own = stand_in_of(x)
    if own is not None:
        return own.small_example(m)
    if isinstance(x, np.ndarray):
        return np.ones([min(d, 2) for d in x.shape], x.dtype)
    return type(x)(_example(m, y) for y in x) if type(x) in (list, tuple) else x


def _of_shape(x: Any) -> Any:
    """An array of the same shape; Escape: that is known only at run time, or too large to make."""
    own = stand_in_of(x)
    if is_array(x) and all(type(d) is int for d in x.tensor.shape) and x.tensor.numel() < _LARGEST:
        made = np.ones(tuple(x.tensor.shape), dtype_name(x.tensor))
        return made[()] if x.scalar else made
    if type(x) in (list, tuple):
        return type(x)(map(_of_shape, x))
    if own is not None:
        raise Escape(own, "shape")
    return x


_LARGEST = 1 << 20
_METHODS = frozenset(("argmax", "argmin", "max", "min", "sum", "mean", "any", "all", "argsort", "clip",
                      "cumsum", "prod", "std", "var", "squeeze", "nonzero", "dot", "ravel", "round", "repeat", "take",
                      "swapaxes", "searchsorted", "diagonal", "trace", "cumprod"))
_OWN_METHODS = {"item": Arrays.item, "tolist": lambda arrays, array, *args, **kwargs: arrays.m.tolist(array.tensor),
                "copy": Arrays.copied, "flatten": Arrays.flattened, "reshape": Arrays.reshape,
                "transpose": Arrays.transpose, "astype": Arrays.astype, "fill": Arrays.fill, "sort": Arrays.sort}
_REFUSED = object()


def _takes(method: Any, array: RtArray, args: tuple, kwargs: dict) -> bool:
    try:
        inspect.signature(method).bind(None, array, *args, **kwargs)
    except TypeError:
        return False
    return True
