# SPDX-License-Identifier: Apache-2.0
"""Attributes and buffers that a model does not have before its first call: made lazily, cached, counted."""

import functools

import pytest
from torch import nn

from tests.frontend.support.harness import Cases, T, check

case = Cases()
V = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),), (T(-4, -5, -6),), (T(2.5, -0.5, 1.5),)]
FOUR = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),)]


class ClassCounter(nn.Module):
    count = 0

    def forward(self, x):
        if x.sum() > 0:
            self.count += 1
        return self.count


class ClassCounterAlways(nn.Module):
    count = 0

    def forward(self, x):
        self.count += 1
        return x * self.count if x[0] > 0 else x


class Cached(nn.Module):
    def forward(self, x):
        if not hasattr(self, "cache"):
            self.cache = x * 2
        return self.cache + x


class LastPositive(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            self.last = x
        if hasattr(self, "last"):
            return self.last + x
        return x


class WrittenOnly(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            self.last = x
        return x * 2


class CachedProperty(nn.Module):
    @functools.cached_property
    def scale(self):
        return 3

    def forward(self, x):
        return x * self.scale if x.sum() > 0 else x


class Counted(nn.Module):
    def forward(self, x):
        try:
            self.calls += 1
        except AttributeError:
            self.calls = 1
        return x * self.calls if x.sum() > 0 else x


@pytest.mark.parametrize("make",
                         [ClassCounter, ClassCounterAlways, Cached, LastPositive, WrittenOnly, CachedProperty, Counted])
def test_an_attribute_that_is_not_there_at_first(make):
    check(make, V)


@case(*FOUR)
class RegistersBuffer(nn.Module):
    def forward(self, x):
        if not hasattr(self, "kept"):
            self.register_buffer("kept", x.clone())
        self.kept.add_(1)
        return self.kept * x


@case(*FOUR)
class BufferFromNone(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", None)

    def forward(self, x):
        if self.kept is None:
            self.kept = x.clone()
        self.kept = self.kept + 1
        return self.kept * x


test_program = case.test()
