# SPDX-License-Identifier: Apache-2.0
"""Attributes that models fill in their first call: combinations of them that calls leave behind,
not all there could be."""

import time

import pytest
import torch
from torch import nn

import dycl
from tests.frontend.support.harness import T, check


class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = self.levels = None

    def forward(self, x):
        if self.scales is None or self.levels is None:
            self.scales, self.levels = [0.5 ** k for k in range(2)], (1, 2)
        return x * self.scales[1] + self.levels[1]


class Pools(nn.Module):
    """Twelve attributes, of which two combinations occur."""

    def __init__(self):
        super().__init__()
        self.pools = nn.ModuleList(Pool() for _ in range(6))

    def forward(self, x):
        for pool in self.pools:
            x = pool(x)
            if x.sum() > 8:
                x = x - 5
        return x


def by_length(x):
    return x.shape[0]


def by_shape(x):
    return x.shape


def by_kind(x):
    return x.shape[0], x.dtype, x.device


def by_sign(x):
    return 1 if x.sum() > 0 else -1


def cached(key, way, value):
    """A model that keeps what it has computed in a dict: masks by length, tables by dtype."""

    class Cached(nn.Module):
        def __init__(self):
            super().__init__()
            self.cache = {}

        def forward(self, x):
            return x * way(self.cache, key(x), lambda: value(x))

    return Cached


def looked_for(cache, key, make):
    if key not in cache:
        cache[key] = make()
    return cache[key]


def got(cache, key, make):
    found = cache.get(key)
    if found is None:
        found = cache[key] = make()
    return found


def tried(cache, key, make):
    try:
        return cache[key]
    except KeyError:
        cache[key] = make()
        return cache[key]


def set_by_default(cache, key, make):
    return cache.setdefault(key, make())


@pytest.mark.parametrize("way", [looked_for, got, tried, set_by_default])
@pytest.mark.parametrize("key", [by_length, by_shape, by_kind, by_sign])
def test_entries_of_a_dict_under_keys_that_are_no_names(key, way):
    check(cached(key, way, lambda x: x.sum() + torch.ones(2).cumsum(0)), [T(1, 2), T(-1, -2), T(30, 2), T(-5, 2)],
          paths=1)


def test_filled_together():
    start = time.process_time()
    program = check(Pools, [T(1, 2), T(-1, -2), T(30, 2)])
    assert time.process_time() - start < 60  # each of 2 ** 12 combinations by itself would take hours
    assert len(program.ir_text) < 60_000


class ByPath(nn.Module):
    """Which attributes are filled depends on the input."""

    def __init__(self):
        super().__init__()
        self.first, self.second = Pool(), Pool()

    def forward(self, x):
        if x.sum() > 0:
            x = self.first(x)
        if x[0] > 0:
            x = self.second(x)
        return x


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 1, 3)])
def test_filled_by_path(order):
    inputs = [T(1, 2), T(-1, -2), T(-9, 20), T(3, -20)]
    check(ByPath, [inputs[k] for k in order] + inputs)


class ByHand(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = self.b = None

    def forward(self, x):
        if self.a is None:
            self.a, self.b = "a", "b"
        return x * 2 if self.b == "b" else x if x[0] > 0 else -x


def test_combinations_that_no_call_leaves():
    model = ByHand()
    program = dycl.compile(model, (T(1, 2),))
    assert torch.equal(program(T(1, 2)), T(2, 4))
    model.b = None
    with pytest.raises(ValueError, match="compile it again"):
        program(T(1, 2))
    model.a, model.b = None, None
    assert torch.equal(program(T(1, 2)), T(2, 4))


class Noted(nn.Module):
    """Notes what it did, in one arm only; nobody reads that."""

    def __init__(self):
        super().__init__()
        self.log, self.names = [], None

    def forward(self, x):
        if x.sum() > 0:
            self.log = [x * 2, "above"]
            self.names = {"x": x}
        return x + 1


def test_written_in_one_arm():
    check(Noted, [T(1, 2), T(-1, -2), T(3, 4)])


class Reads(Noted):
    def forward(self, x):
        y = super().forward(x)
        return y * len(self.log)


def test_written_in_one_arm_and_read():
    check(Reads, [T(-1, -2), T(1, 2), T(-3, 1), T(3, 4)])
