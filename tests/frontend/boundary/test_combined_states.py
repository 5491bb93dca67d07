# SPDX-License-Identifier: Apache-2.0
"""Strings, enums, flags, numbers and None that change between calls together with tensors, compiled and loaded."""

import enum

import torch
from torch import nn

from tests.frontend.support.harness import T
from tests.frontend.support.sequences import check_sequence, sequences

CALLS = (T(1, 2), T(-3, 1), T(4, 4), T(-1, -4), T(-1, -2), T(1, 4))
ORDERS = ((0, 1, 2, 3, 4, 5, 2), (3, 4, 0, 1, 5, 2, 3), (2, 2, 1, 3, 3, 4, 5, 0))


class Phase(enum.Enum):
    WARM = 1
    HOT = 2
    COOLING = 3


class Phases(nn.Module):
    def __init__(self):
        super().__init__()
        self.phase, self.h, self.left = Phase.WARM, None, 0

    def forward(self, x):
        if self.phase is Phase.WARM:
            self.h = x * 1 if self.h is None else self.h + x
            if self.h.sum() > 3:
                self.phase, self.left = Phase.HOT, 2
            return x
        if self.phase == Phase.HOT:
            self.left -= 1
            self.h.mul_(0.5)
            if not self.left:
                self.phase = Phase.COOLING
            return self.h + self.left
        self.phase, self.h = Phase.WARM, None
        return x * 2


class Texts(nn.Module):
    def __init__(self):
        super().__init__()
        self.mode, self.last, self.scale, self.done = "idle", None, 1, False

    def forward(self, x):
        before = self.mode
        if self.done:
            self.mode, self.scale, self.done = "idle", 1, False
        elif x.sum() > 4:
            self.mode, self.scale = "up", self.scale * 2
        elif x.sum() < -4 and self.mode == "up":
            self.mode, self.done = "down", True
        if before != self.mode:
            self.last = before
        return x * self.scale, self.mode, self.last, self.done


class Kinds(nn.Module):
    """One attribute is None, a number or a tensor; another holds a text or a pair."""

    def __init__(self):
        super().__init__()
        self.held, self.note, self.n = None, "none", 0

    def forward(self, x):
        self.n += 1
        if self.held is None:
            self.held = float(x.sum())
            self.note = ("number", self.n)
        elif isinstance(self.held, float):
            if self.held > x.sum():
                self.held = x * self.held
                self.note = "tensor"
            else:
                self.held = None
        else:
            x = x + self.held
            if x[0] > 0:
                self.held = None
                self.note = "none"
        return x, self.note, self.n


class Alternating(nn.Module):
    """Two buffers used in turns."""

    def __init__(self):
        super().__init__()
        self.even, self.odd, self.turn, self.flag = torch.zeros(2), None, 0, None

    def forward(self, x):
        self.turn = 1 - self.turn
        if self.turn:
            self.even = self.even + x
            y = self.even * 1
        else:
            if self.odd is None:
                self.odd = torch.ones(2)
            self.odd.add_(x)
            y = self.odd * 1
        self.flag = bool(y.sum() > 0) if self.flag is None else not self.flag
        return y if self.flag else -y


@sequences((Phases, Texts, Kinds, Alternating), ORDERS)
def test_sequences(cls, order, tmp_path):
    check_sequence(cls, CALLS, order, tmp_path)
