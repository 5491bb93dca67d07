# SPDX-License-Identifier: Apache-2.0
"""Our own conversions: a table from torch ops to functions that write ONNX ops on a tape.

They exist only where onnxscript's torchlib is missing, means something else, or takes apart what
engines want whole. A conversion is called as torch's op is, after the tape: `f(t, *args, **kwargs)`,
with Syms for tensors and runtime scalars; it returns one Sym or a list of them, in torch's order. It
need not get the result's dtype right: the caller casts to what torch says. None in the list stands for
a result it cannot give (one that only a backward pass reads); whoever reads it is refused.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

import torch

from ..graph.aten import overload
from .tape import ConversionError, Sym, Tape

CONVERSIONS: dict[Any, Callable] = {}
INDEX_ERRORS: dict[Any, str] = {}  # what torch raises where an index is out of range; others: IndexError


BOUNDED: set = set()  # conversions that ask what is known of their operands' integers


HALVES = (torch.float16, torch.bfloat16)


def converts(*names: str, index_error: str = "", bounds: bool = False, single: bool = False) -> Callable:
    """Registers a conversion for overloads given as "add.Tensor" (no dot: the default overload). `index_error`: its
    operands hold indices that must not be negative, and the exception torch raises where one is out of range. `bounds`:
    it asks how large its operands' integers may be. `single`: halves go through all of its ops in single precision and
    are rounded at the end, as in torch's kernels."""

    def register(function):
        if single:
            function = in_single_precision(function)
        for name in names:
            target = overload(name)
            if target is not None:
                CONVERSIONS[target] = function
                if index_error:
                    INDEX_ERRORS[target] = index_error
                if index_error or bounds:
                    BOUNDED.add(target)
        return function

    return register


def in_single_precision(conversion: Callable) -> Callable:
    @functools.wraps(conversion)
    def convert(t: Tape, *args: Any, **kwargs: Any) -> Any:
        outputs = t.outputs
        if not any(dtype in HALVES for dtype, _ in outputs):
            return conversion(t, *args, **kwargs)

        def widened(x: Any) -> Any:
            if not isinstance(x, Sym) or x.is_float and x.torch_dtype not in HALVES:
                return x
            return t.cast(x if x.is_float else t.cast(x, outputs[0][0]), torch.float32)  # integers may round first

        t.outputs = [(torch.float32 if dtype in HALVES else dtype, shape) for dtype, shape in outputs]
        try:
            return conversion(t, *map(widened, args), **{k: widened(x) for k, x in kwargs.items()})
        finally:
            t.outputs = outputs

    return convert


def static(value: Any, what: str) -> Any:
    """`value`, a number, an extent or a list of them, which must be known now."""
    if any(isinstance(v, (Sym, str)) or v is None for v in (value if isinstance(value, (list, tuple)) else [value])):
        raise ConversionError(f"{what} is known only at run time")
    return value


def axis_of(x: Sym, dim: Any) -> int:
    dim = static(dim, "the dimension")
    rank = max(x.rank, 1)
    if not -rank <= dim < rank:
        raise ConversionError(f"dimension {dim} of a tensor with {x.rank}")
    return dim % rank


def dim_value(t: Tape, x: Sym, axis: int) -> int | Sym:
    """An extent: an int, or a 1-element 1-d Sym."""
    d = x.dims[axis]
    return d if isinstance(d, int) else t.op("Shape", x, start=axis, end=axis + 1)


def squeeze(t: Tape, x: Sym, axes: list[int]) -> Sym:
    return t.op("Squeeze", x, t.ints(axes)) if axes else x


def unsqueeze(t: Tape, x: Sym, axes: list[int]) -> Sym:
    return t.op("Unsqueeze", x, t.ints(axes)) if axes else x


def reshape(t: Tape, x: Sym, shape: Any) -> Sym:
    """To `shape` as torch means it: zeros are zeros; -1 where there is room for it."""
    sizes = t.ints(shape)
    zeros = sizes.const is None or 0 in sizes.const.tolist()
    if sizes.const is not None and -1 in sizes.const.tolist() and zeros:
        return t.op("Reshape", x, t.constant(_without_minus_one(x, sizes.const.tolist()), torch.int64), allowzero=1)
    if sizes.const is None and isinstance(shape, (list, tuple)) and -1 in [s for s in shape if isinstance(s, int)]:
        return t.op("Reshape", x, sizes)  # a runtime extent of 0 cannot be told from "copy": refused below
    return t.op("Reshape", x, sizes, allowzero=1 if zeros else 0)


def _without_minus_one(x: Sym, sizes: list[int]) -> list[int]:
    if not x.known:
        raise ConversionError("a view to a shape with both 0 and -1, of a shape known only at run time")
    total, rest = 1, 1
    for d in x.dims:
        total *= d
    for s in sizes:
        rest *= s if s != -1 else 1
    return [s if s != -1 else (total // rest if rest else 0) for s in sizes]
