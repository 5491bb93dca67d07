# SPDX-License-Identifier: Apache-2.0
"""Functions under functools.lru_cache outside the model: computed anew in each call,
or refused where eager would remember."""

from __future__ import annotations

import functools

import pytest
import torch
from torch import nn

from tests.frontend.support.harness import T, check, refused

INPUTS = [T(1, 2, 3), T(-1, 2, -3), T(5, -7, 2)]


@functools.cache
def table(n):
    return [0] * n


@functools.lru_cache(maxsize=4)
def zeros(n):
    return torch.zeros(n)


@functools.cache
def printed(n):
    print("computed", n)
    return n


@functools.cache
def drawn(n):
    return torch.rand(n)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(2))
        self.calls, self.scale = 0, 2.0

    @functools.lru_cache(None)
    def row(self, k):
        return torch.ones(3) * k * self.scale

    def forward(self, x):
        self.calls += 1
        return x + (self.row(1) if x[0] > 0 else self.row(2)), self.calls


def test_what_only_computes():
    def program(x):
        n = int(x.sum().clamp(0, 4).item())
        if x[0] > 0:
            return zeros(3) + x + zeros(n).sum(), table(2)[0]
        return table(3), zeros(3)

    check(program, INPUTS)
    check(Scaled, INPUTS)


class Counts(Scaled):
    @functools.lru_cache(None)
    def row(self, k):
        self.scale += 1
        return torch.ones(3) * k


class Writes(Scaled):
    @functools.lru_cache(None)
    def row(self, k):
        self.seen[k - 1] += 1
        return torch.ones(3) * k


class ReadsWhatChanges(Scaled):
    def forward(self, x):
        self.scale = self.scale + 1
        return super().forward(x)


class ReadsTensor(Scaled):
    @functools.lru_cache(None)
    def row(self, k):
        return torch.ones(3) * self.seen.sum()

    def forward(self, x):
        self.seen.add_(1)
        return super().forward(x)


def _list_changed(x):
    found = table(3)
    if x[0] > 0:
        found.append(1)
    return x * len(found)


def _tensor_changed(x):
    found = zeros(3)[1:]
    if x[0] > 0:
        found.add_(1)
    return found + x[1:]


@pytest.mark.parametrize("program", [
    Counts, Writes, ReadsWhatChanges, ReadsTensor, _list_changed, _tensor_changed,
    lambda x: x * (printed(1) if x[0] > 0 else printed(2)), lambda x: drawn(3) - drawn(3) + x,
    lambda x: (table(3) is table(3), -x), lambda x: (zeros(3) is zeros(3), -x),
    lambda x: x * table(3)[0] + table.cache_info().hits])
def test_what_eager_remembers(program):
    refused(program, INPUTS, "under functools.lru_cache")
