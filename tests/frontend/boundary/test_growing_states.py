# SPDX-License-Identifier: Apache-2.0
"""Tensor attributes whose extents change from call to call: caches and tables that grow."""

import torch
from torch import nn

from tests.frontend.support.harness import check


def rows(*lengths):
    torch.manual_seed(0)
    return [torch.randn(n, 3) for n in lengths]


class Cache(nn.Module):
    """A cache that begins as nothing."""

    def __init__(self):
        super().__init__()
        self.past = None

    def forward(self, x):
        self.past = x if self.past is None else torch.cat([self.past, x])
        if self.past.sum() > 0:
            return self.past.mean(0)
        return self.past.sum(0)


class Table(nn.Module):
    """A buffer made longer where it does not suffice; how long depends on the input's values."""

    def __init__(self):
        super().__init__()
        self.table = nn.Buffer(torch.arange(2.0).unsqueeze(1).expand(2, 3).clone(), persistent=False)

    def extend(self, length):
        if self.table.size(0) < length:
            self.table = torch.arange(float(length)).unsqueeze(1).expand(length, 3).clone()

    def forward(self, x):
        kept = x[x[:, 0] > 0]
        self.extend(kept.size(0))
        return kept * 2 + self.table[:kept.size(0)]


class Window(nn.Module):
    """Grows to five rows and then moves on."""

    def __init__(self):
        super().__init__()
        self.window = torch.zeros(1, 3)

    def forward(self, x):
        self.window = torch.cat([self.window, x])[-5:]
        if self.window.size(0) == 5:
            return self.window.sum(0)
        return self.window[0]


def test_cache():
    check(Cache, rows(*[2] * 9))


def test_table():
    check(Table, rows(*[6] * 6))


def test_window():
    check(Window, rows(*[1] * 8))


class Kept(nn.Module):
    """Known shapes: one of a few, as before."""

    def __init__(self):
        super().__init__()
        self.state = None

    def forward(self, x):
        if self.state is None:
            self.state = torch.zeros(2, 3)
        self.state = self.state * 0.5 + x
        return self.state


def test_known_shapes():
    check(Kept, rows(2, 2, 2))


class Retyped(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = torch.zeros(1, 3)

    def forward(self, x):
        y = x + self.last.sum()
        self.last = (y > 0) if y.sum() > 0 else y[:1]
        return y


def test_dtypes_that_change():
    check(Retyped, [x.abs() * sign for x, sign in zip(rows(2, 2, 2, 2), (1, -100, 1, 1))])
