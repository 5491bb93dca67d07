# SPDX-License-Identifier: Apache-2.0
"""range() with bounds known only at run time, written in Python and interpreted by the machine (as
polyfills/builtins.py is)."""

from __future__ import annotations

import torch

from ..diagnostics import CaptureRefusal
from ..values.counting import RtRangeIter
from ..values.escape import Escape
from ..values.stand_in import InterpretedStandIn
from .keyed_tables import refuse


class RtRange(InterpretedStandIn):
    """Immutable. The step is known while compiling."""

    __slots__ = ("start", "stop", "step")
    late = False

    def example(self, m):
        return range(0)

    def small_example(self, m):
        """What numpy makes of a range depends on whether there is anything in it."""
        raise Escape(self, "dtype")

    def unified(self, union, other):
        return RtRange(union.unify(self.start, other.start), union.unify(self.stop, other.stop),
                       union.unify(self.step, other.step))

    def iterate(self, m, s):
        return m.new(RtRangeIter(self.start, self.stop, self.step))

    def as_subscript(self, m):
        return self.tensor_of(m, torch.int64)

    def tensor_of(self, m, dtype):
        """torch has a rule of its own for no numbers at all."""
        made = self._tensor(m, dtype or torch.get_default_dtype())
        return made if dtype in (None, made.dtype) else m.recorder.call(torch.Tensor.to, (made, dtype), {})

    def _tensor(self, m, of_none):
        """Its numbers; `of_none`: the dtype if there are none."""
        if type(self.step) is not int:
            raise CaptureRefusal("a tensor of a range whose step is known only at run time",
                                 "index with a tensor", kind="index")
        ends = m.scalars.compare("le" if self.step > 0 else "ge", self.stop, self.start)
        if ends if isinstance(ends, bool) else m.decide(ends):
            return m.recorder.call(torch.zeros, (0,), {"dtype": of_none})
        return m.recorder.call(torch.arange, (self.start, self.stop, self.step), {})

    def __init__(self, start, stop, step):
        self.start, self.stop, self.step = start, stop, step

    def __len__(self):
        distance = self.stop - self.start if self.step > 0 else self.start - self.stop
        return max(0, (distance + abs(self.step) - 1) // abs(self.step))

    def __bool__(self):
        return self.start < self.stop if self.step > 0 else self.start > self.stop

    def __getitem__(self, index):
        if isinstance(index, slice):
            return refuse("a slice of a range known only at run time")
        n = len(self)
        if index < 0:
            index = index + n
        if index < 0 or index >= n:
            raise IndexError("range object index out of range")
        return self.start + index * self.step

    def __contains__(self, item):
        if isinstance(item, int):
            inside = self.start <= item < self.stop if self.step > 0 else self.stop < item <= self.start
            return inside and (item - self.start) % self.step == 0
        for x in self:
            if x == item:
                return True
        return False

    def __reversed__(self):
        last = self.start + (len(self) - 1) * self.step
        return iter(range(last, self.start - self.step, -self.step))

    def __eq__(self, other):
        if not isinstance(other, range):
            return NotImplemented
        n = len(self)
        if n != len(other):
            return False
        return n == 0 or self.start == other.start and (n == 1 or self.step == other.step)

    def __hash__(self):
        return refuse("the hash of a range known only at run time")

    def index(self, item):
        if item not in self:
            raise ValueError(f"{item} is not in range")
        return (item - self.start) // self.step

    def count(self, item):
        return 1 if item in self else 0

    def __repr__(self):
        return refuse("a range known only at run time as a string")

    __str__ = __repr__
