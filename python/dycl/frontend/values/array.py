# SPDX-License-Identifier: Apache-2.0
"""numpy arrays whose contents are known only at run time."""

from __future__ import annotations

from typing import Any, Callable, NoReturn

import numpy as np
import torch

from ..diagnostics import CaptureRefusal
from .escape import Escape


class RtArray:
    """`tensor` is the symbolic tensor that holds the elements. `scalar`: a numpy scalar. `source`: of a copy that is a
    view in numpy, a weak reference to the storage that it would look at."""

    __slots__ = ("tensor", "scalar", "source", "__weakref__")

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


def _refuse(how: str) -> Callable[..., NoReturn]:
    def method(self: RtArray, *args: Any, **kwargs: Any) -> NoReturn:
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
    name = np.promote_types(str(a).removeprefix("torch."), str(b).removeprefix("torch.")).name
    return getattr(torch, name)
