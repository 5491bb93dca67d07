# SPDX-License-Identifier: Apache-2.0
"""Elementwise ops and expand on extents known only at run time: one may be 1 there, and is then stretched as in eager.

torch's rules for shapes take two such extents for equal. So they are asked about operands that have the extents of the
result already. Where neither operand gives the extent, it is a number of its own, read off the result at run time. A
check makes sure that the extents fit, and the engine broadcasts.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import sympy
import torch

from ..graph.program import dominates
from ..values.native_entries import imitated
from . import schema

aten = torch.ops.aten

_ELEMENTWISE = {aten.copy_.default, aten.floor_divide.default, aten.rsub.Tensor,
                aten.masked_fill.Tensor, aten.masked_fill_.Tensor, aten.masked_fill_.Scalar}
_SAID = "The size of tensor a must match the size of tensor b"


class Broadcasting:
    """The extents that two extents gave, for one capture."""

    def __init__(self, recorder):
        self.recorder = recorder
        self.symbols = recorder.symbols
        self._known: dict[frozenset, tuple] = {}  # two extents -> (block, what they gave)
        self._parts: dict[sympy.Basic, frozenset] = {}  # an extent that two others gave -> what it is as large as, or 1

    def stretched(self, func: Any, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """The arguments as torch's rule for the shape of the result gets them."""
        if func is aten.expand.default:
            return self._expanded(*args), kwargs
        tensors = [x for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor)]
        if len(tensors) < 2 or not any(x._has_symbolic_sizes_strides for x in tensors):
            return args, kwargs
        if torch.Tag.pointwise not in func.tags and func not in _ELEMENTWISE or schema.is_out_variant(func):
            return args, kwargs
        in_place = bool(schema.written(func))
        columns = list(zip_longest(*(reversed(x.shape) for x in tensors), fillvalue=1))
        extents = [self._of_dim(len(columns) - 1 - k, column, in_place) for k, column in enumerate(columns)]
        spread = lambda x: self._spread(x, extents) if isinstance(x, torch.Tensor) else x
        return tuple(map(spread, args)), {name: spread(x) for name, x in kwargs.items()}

    def _expanded(self, x: torch.Tensor, sizes: list, *rest: Any) -> tuple:
        """Where x is as large as wanted, or 1, it is taken to be as large."""
        said = "The expanded size of the tensor must match the existing size"
        extents = [None if type(size) is int and (size == -1 or type(extent) is int)
                   else self._of_two(len(sizes) - 1 - k, size, extent, True, said)
                   for k, (size, extent) in enumerate(zip(reversed(sizes), reversed(x.shape)))]
        return self._spread(x, extents), sizes, *rest

    def _of_dim(self, dim: int, column: tuple, in_place: bool) -> Any:
        """The result's extent; None: torch decides, and says what is wrong."""
        if not any(isinstance(x, torch.SymInt) for x in column):
            return None
        result = column[0]
        for other in column[1:]:
            result = self._of_two(dim, result, other, in_place)
            if result is None:
                return None
        return result

    def _of_two(self, dim: int, a: Any, b: Any, in_place: bool, said: str = _SAID) -> Any:
        x, y = (n.node.expr if isinstance(n, torch.SymInt) else sympy.Integer(n) for n in (a, b))
        follows = self.symbols.follows
        if x == y or follows(sympy.Eq(x, y)) or follows(sympy.Eq(y, 1)) or y in self._parts.get(x, ()):
            return a
        if not in_place and (follows(sympy.Eq(x, 1)) or x in self._parts.get(y, ())):
            return b
        if x.free_symbols | y.free_symbols <= self.symbols.names.keys():
            return None  # the user's dims: what must hold of them is asked of the arguments
        pair = frozenset((x, y))
        block, known = self._known.get(pair, (None, None))
        if known is not None and dominates(block, self.recorder.block) and (not in_place or known is a):
            return known
        first_is_one, second_is_one = not in_place and not follows(sympy.Ne(x, 1)), not follows(sympy.Ne(y, 1))
        if not first_is_one and not second_is_one:
            return None
        self._require(f"{said} at non-singleton dimension {dim}", x, y, first_is_one, second_is_one)
        result = a if not first_is_one else b if not second_is_one else self._new(a, b, pair)
        self.recorder.remember(self._known, pair, (self.recorder.block, result))
        return result

    def _new(self, a: Any, b: Any, pair: frozenset) -> torch.SymInt:
        low = min(self.symbols.least(n) or 0 for n in (a, b))
        result = self.symbols.fresh_dim(low)
        self._parts[result.node.expr] = pair.union(*(self._parts.get(x, ()) for x in pair))
        return result

    def _require(self, dim: int, x: Any, y: Any, first_is_one: bool, second_is_one: bool) -> None:
        ones = [sympy.Eq(n, 1) for n, may_be in ((x, first_is_one), (y, second_is_one)) if may_be]
        message = f"The size of tensor a must match the size of tensor b at non-singleton dimension {dim}"
        if not self.symbols.require(sympy.Or(sympy.Eq(x, y), *ones), message):
            raise RuntimeError(message)

    def _spread(self, x: torch.Tensor, extents: list) -> torch.Tensor:
        sizes = [size if wanted is None or type(size) is int and size == 1 else wanted
                 for size, wanted in zip(reversed(x.shape), extents)][::-1]
        if self.recorder.same_sizes(tuple(sizes), tuple(x.shape)):
            return x
        return imitated(aten.new_empty.default, (x, sizes), {})
