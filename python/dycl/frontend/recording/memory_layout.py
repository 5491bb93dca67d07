# SPDX-License-Identifier: Apache-2.0
"""Whether a program depends on how its arguments lie in memory.

Values don't. But a model may ask (`is_contiguous`, `stride`), and `contiguous`, `reshape` and their kin give a view of
one layout and a copy of another: which of the two it was shows when one of both is written in place. Such a program
takes only arguments that lie as the example's did.
"""

from __future__ import annotations

from typing import Any, Callable

import torch

from ..source import Span
from ..state.contents import Cell
from ..values.tensor import is_handle

# how a function depends on it (recording/functions.py)
ASKS, ASKS_OFFSET, MAY_COPY = "asks", "asks where it begins", "is a view if the layout allows"


class Layout:
    def __init__(self, here: Callable[[], Span | None]) -> None:
        self.matters = self.offset_matters = False
        self.asked: Span | None = None  # where it began to matter
        self._here = here
        self.lost = False  # states met whose tensors lie in memory differently, or otherwise than the merged one
        self.beginning_lost = False  # so were some that do not begin their memory
        self._cells: set[Cell] = set()  # storages that are one in some layouts and two in others
        self._new: set[Cell] = set()  # storages that lie as they do whatever the arguments are

    def note(self, depends: str, result: Any, source: Any) -> None:
        """A native call that depends on it gave `result`."""
        if depends == ASKS and not isinstance(result, torch.Tensor):
            self._matters()
        elif depends == ASKS_OFFSET:
            self.offset_matters = True
            self.asked = self.asked or self._here()
        elif depends == MAY_COPY and is_handle(result) and is_handle(source) and _is_one_or_the_other(result, source):
            self._cells |= {result._dycl.cell, source._dycl.cell}

    def written(self, cell: Cell) -> None:
        if cell in self._cells:
            self._matters()

    def _matters(self) -> None:
        self.matters = True
        self.asked = self.asked or self._here()

    def copied(self, tensor: torch.Tensor, asked: bool) -> bool:
        """A contiguous copy, as in a list of run-time length, is to stand for the tensor. False: it cannot.
        `asked`: an earlier attempt came upon a question how tensors lie."""
        plain = is_plain(tensor)
        self.lost = self.lost or not plain and not asked
        self.lose_beginning(tensor)
        return plain or not asked

    def lose_beginning(self, *tensors: torch.Tensor) -> None:
        """A tensor that begins its memory is to stand for them."""
        self.beginning_lost = self.beginning_lost or any(
            type(offset) is not int or offset != 0 for offset in (x.storage_offset() for x in tensors))

    def made(self, tensor: torch.Tensor) -> None:
        """Out of extents alone."""
        self._new.add(tensor._dycl.cell)

    def drawn_like(self, target: torch.Tensor) -> None:
        """Random numbers go into it, in the order in which it lies; blocks of normal ones know gaps, too."""
        if target.dim() and not (hasattr(target, "_dycl") and target._dycl.cell in self._new):
            self._matters()

    def of(self, handle: torch.Tensor) -> tuple:
        """What an argument must be like: (strides or None: contiguous, begins its memory)."""
        strides = [int(s) if isinstance(s, int) else None for s in (*handle.shape, *handle.stride())]
        return (None if None in strides else strides[handle.dim():]) if self.matters else [], self.offset_matters


def _is_one_or_the_other(result: torch.Tensor, source: torch.Tensor) -> bool:
    """Not what is a copy in any layout, nor what is a view in any: of one element at most."""
    return result.dtype == source.dtype and not all(type(size) is int and size <= 1 for size in source.shape)


def is_plain(tensor: torch.Tensor) -> bool:
    """Contiguous, as far as its extents tell while compiling."""
    expected: tuple = (1, 1)
    for size, stride in zip(reversed(tensor.shape), reversed(tensor.stride())):
        if not (type(size) is int and size <= 1) and not _is_one_of(stride, expected):
            return False
        expected = _further(expected, size)
    return True


def _further(expected: tuple, size: Any) -> tuple:
    """The stride of the next axis out, in two forms: torch writes 8*Max(1, n) for a new tensor, and 8*n where it
    multiplies extents. They differ only for tensors without elements, which lie as any other."""
    by_extents, by_torch = expected
    return by_extents * size, by_torch * (max(size, 1) if type(size) is int else torch.sym_max(size, 1))


def _is_one_of(stride: Any, expected: tuple) -> bool:
    return any(_is_same(stride, one) for one in expected)


def lie_alike(a: torch.Tensor, b: torch.Tensor) -> bool:
    return all(type(size) is int and size <= 1 or _is_same(x, y) for size, x, y in zip(a.shape, a.stride(), b.stride()))


def overlaps_itself(tensor: torch.Tensor) -> bool:
    """Whether several elements lie at one place, as in what expand and unfold give; extents known only at run time
    count as more than one."""
    span = 1
    counted = [(stride, size) for size, stride in zip(tensor.shape, tensor.stride())
               if type(stride) is int and not (type(size) is int and size <= 1)]
    for stride, size in sorted(counted, key=lambda pair: pair[0]):
        if stride < span:
            return True
        span = span + stride * (size - 1) if type(size) is int else stride + 1
    return False


class Order(tuple):
    """The axes of a tensor without gaps, from the innermost out."""

    def of(self, sizes: tuple) -> tuple:
        """The strides of a tensor with these extents whose axes lie in this order."""
        strides: list = [1] * len(sizes)
        for inner, axis in zip(self, self[1:]):
            strides[axis] = strides[inner] * sizes[inner]
        return tuple(strides)


def order_of(tensor: torch.Tensor) -> Order | None:
    """Of a tensor whose strides are those of its order and extents (a transposed one); None of others."""
    left, order, expected = list(range(tensor.dim())), [], (1, 1)
    while left:
        fitting = [d for d in left if _is_one_of(tensor.stride(d), expected)]
        if not fitting:
            return None
        order.append(max(fitting, key=lambda d: (type(tensor.shape[d]) is int and tensor.shape[d] == 1, d)))
        left.remove(order[-1])
        expected = _further(expected, tensor.shape[order[-1]])
    return Order(order)


def _is_same(a: Any, b: Any) -> bool:
    if type(a) is int or type(b) is int:
        return type(a) is type(b) and a == b
    return a.node.expr == b.node.expr
