# SPDX-License-Identifier: Apache-2.0
"""numpy arrays whose contents are known only at run time."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ...calling.templates import Array, Template
from ...dtypes import own_name
from ..diagnostics import CaptureRefusal
from ..graph.program import Value
from .escape import Escape
from .native_entries import natively
from .scalar import is_same_number, kind_of, plain_number
from .stand_in import StandIn, sealed, stand_in_of


@sealed("bool=truth", "str", "repr", "format", "hash", "index", "int", "float", "len", "iter=iteration", "array=numpy",
        "getitem=subscript", "contains=containment", "reduce_ex=pickle",
        *(f"{op}=comparison" for op in ("eq", "ne", "lt", "le", "gt", "ge")),
        *(f"{side}{op}=operator" for op in ("add", "mul", "sub") for side in ("", "r")))
class RtArray(StandIn):
    """`tensor` is the symbolic tensor that holds the elements. `scalar`: a numpy scalar. `source`: of a copy that is a
    view in numpy, a weak reference to the storage that it would look at."""

    __slots__ = ("tensor", "scalar", "source", "__weakref__")
    priority = 40

    def __init__(self, tensor: torch.Tensor, scalar: bool = False, source: Any = None):
        self.tensor = tensor
        self.scalar = scalar
        self.source = source

    def is_copy(self) -> bool:
        """Whether numpy would have it share memory that somebody still looks at."""
        return self.source is not None and self.source() is not None

    @property
    def origin(self) -> Any:
        return self.tensor._dycl.span

    def example(self, m: Any) -> Any:
        found: Any = np.zeros((), dtype=dtype_name(self.tensor))
        return found[()] if self.scalar else found

    def small_example(self, m: Any) -> Any:
        made: Any = np.ones([d if type(d) is int and d < 2 else 2 for d in self.tensor.shape], dtype_name(self.tensor))
        return made[()] if self.scalar else made

    def truth(self, m: Any) -> Any:
        self.check_one(m, bool)
        return m.tensor_truth(self.tensor)

    def check_one(self, m: Any, function: Any) -> None:
        """numpy's own error of an array that is no number."""
        count = m.element_count(self.tensor)
        if count not in (None, 1):
            natively(function, np.ones(tuple(self.tensor.shape), dtype_name(self.tensor)))

    def length(self, m: Any) -> Any:
        own = stand_in_of(self.tensor)
        return own.length(m) if own is not None else NotImplemented

    def unified(self, union: Any, other: Any) -> Any:
        if self.scalar != other.scalar:
            union.apart("a numpy array in one state, a number in the other")
        alone = self.source is None or other.source is None
        if self.source is not other.source and (alone or self.is_copy() or other.is_copy()):
            union.apart("views of arrays, with a negative step in one state")
        if self.is_copy() and self.tensor is not other.tensor:
            union.apart("views of arrays with a negative step")
        return RtArray(union.unify(self.tensor, other.tensor), self.scalar, self.source)

    def as_index(self, m: Any, error: str) -> Any:
        found = m.tensor_item(self.tensor)
        return found.as_index(m, error) if isinstance(found, StandIn) else found

    def is_place(self, m: Any) -> bool:
        return self.scalar and is_integer(self.tensor)

    def get_item(self, m: Any, s: Any, key: Any) -> Any:
        return m.arrays.get_item(self, key)

    def set_item(self, m: Any, s: Any, key: Any, value: Any) -> Any:
        return m.arrays.set_item(self, key, value)

    def as_subscript(self, m: Any) -> Any:
        if not self.scalar:
            return self.tensor
        return m.tensor_item(self.tensor) if self.is_place(m) else self

    def contains(self, m: Any, s: Any, item: Any, negate: bool) -> Any:
        raise Escape(self, "containment")

    def iterate(self, m: Any, s: Any) -> Any:
        if not self.tensor.dim():
            return NotImplemented
        if type(self.tensor.shape[0]) is int:
            return m.new(m.iterators.ArrayIter(m.arrays.rows(self)))
        return m.call(s, m.iterator_polyfills.iterate_array, (self,), {})

    def all_items(self, m: Any) -> Any:
        if not self.tensor.dim() or type(self.tensor.shape[0]) is not int:
            return None
        return [m.arrays.row(x) for x in m.arrays.rows(self)]

    def is_element(self, m: Any, a: Any, b: Any) -> Any:
        return is_same_number(m, a, b)

    def attribute(self, m: Any, s: Any, name: str) -> Any:
        kind = np.generic if self.scalar else np.ndarray
        if not hasattr(kind, name):
            raise AttributeError(f"'{kind.__module__}.{kind.__name__}' object has no attribute '{name}'")
        return m.arrays.attribute(self, name)

    def is_late_key(self) -> bool:
        return self.scalar

    def as_key(self, m: Any) -> Any:
        """Its hash is that of the number, exactly, whatever numpy's comparisons round."""
        return m.tensor_item(self.tensor) if self.scalar else self

    def yields(self, a: Any, b: Any, comparing: bool) -> bool:
        return False

    def binary(self, m: Any, s: Any, op: str, a: Any, b: Any, inplace: bool) -> Any:
        if inplace and a is self and not self.scalar:
            return m.arrays.inplace(op, a, b)
        return m.arrays.binary(op, a, b, inplace)

    def unary(self, m: Any, s: Any, op: str) -> Any:
        return m.arrays.unary(op, self)

    def as_operand(self, m: Any) -> Any:
        return self.tensor

    def number(self, m: Any) -> Any:
        self.check_one(m, float)
        return m.tensor_item(self.tensor)

    def absolute(self, m: Any) -> Any:
        return m.arrays.function(np.abs, (self,), {})

    def rounded(self, m: Any, digits: Any) -> Any:
        """A numpy scalar without digits gives Python's int, with digits one of its own type."""
        if not self.scalar or self.tensor.dtype == torch.bool:
            raise TypeError(f"type {'numpy.bool' if self.scalar else 'numpy.ndarray'} doesn't define __round__ method")
        if digits is None:
            return m.scalars.round(m.tensor_item(self.tensor))
        if self.tensor.dtype.is_floating_point:
            return m.arrays.function(np.round, (self, digits), {})
        if type(digits) is not int or digits < 0:
            raise CaptureRefusal("round() to these digits of a number known only at run time",
                                 kind="escape.round", because=self)
        return self

    def compare(self, m: Any, s: Any, op: str, a: Any, b: Any) -> Any:
        return m.arrays.compare(op, a, b)

    def held(self) -> tuple:
        return (self.tensor,)

    def flattened(self, flattener: Any, path: str) -> Template:
        return flattener.leaf(self, Array())

    def graph_values(self, m: Any) -> list[Value]:
        return [m.recorder.value_of(self.tensor)]

    def memory(self, m: Any) -> list:
        return [m.recorder.real.lift(self.tensor)]


def is_array(x: Any) -> bool:
    """Whether it is a numpy array or number known only at run time."""
    return isinstance(x, RtArray)


def memory_of(x: Any) -> torch.Tensor | None:
    """The tensor that an array known only at run time is; None: something else, as a number of numpy's is, which has no
    memory to share."""
    if not isinstance(x, RtArray) or x.scalar:
        return None
    if x.source is not None:
        raise CaptureRefusal("a tensor of a numpy array with a negative step, which torch does not take",
                             "copy() the array first", kind="numpy")
    return x.tensor


def is_integer(x: torch.Tensor) -> bool:
    """One integer, in a tensor without dims."""
    return not x.dim() and not x.is_floating_point() and x.dtype != torch.bool


def dtype_name(x: torch.Tensor) -> str:
    """numpy's name of its dtype."""
    return own_name(x.dtype)


def dtype_of_number(x: Any) -> torch.dtype | None:
    """That of a Python number in an array; None: no number."""
    return _DTYPES.get(kind_of(plain_number(x)) or "")


_DTYPES = {"bool": torch.bool, "int": torch.int64, "float": torch.float64}
NARROW = (torch.uint8, torch.int8, torch.int16, torch.int32)
DTYPES = frozenset(("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"))


def torch_dtype(dtype: Any) -> torch.dtype:
    """Of numpy's dtype, or whatever numpy takes for one."""
    name = np.dtype(dtype).name
    if name not in DTYPES:
        raise CaptureRefusal(f"a numpy array of {name} known only at run time", kind="numpy")
    return getattr(torch, name)


def floating(x: Any, y: Any) -> bool:
    return any(isinstance(v, torch.Tensor) and v.dtype.is_floating_point for v in (x, y))


def promoted(a: torch.dtype, b: torch.dtype) -> torch.dtype:
    name = np.promote_types(own_name(a), own_name(b)).name
    return getattr(torch, name)
