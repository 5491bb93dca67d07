# SPDX-License-Identifier: Apache-2.0
"""Programs that were once answered wrongly, or that are easy to answer wrongly: what eager gives, what it leaves behind and
what it raises, over several calls in a row."""

import contextlib

import pytest
import torch
from torch import nn

from tests.frontend.harness import Cases, I, T, factory, refused

case = Cases()
NAN, INF = float("nan"), float("inf")
V = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),)]
W = [(T([1.0, 2.0], [3.0, 4.0]),), (T([-1.0, 2.0], [-3.0, 4.0]),), (T([0.0, 0.0], [0.0, -1.0]),)]
SIGNS = [(T(-0.0, 0.0, -1),), (T(1, -2, -0.0),)]
MASKS = [(T(1, 0, 1) > 0,), (T(0, 0, 0) > 0,)]

# ---- torch has no such kernel: eager raises -----------------------------------------------------


@case(*MASKS, refuse="does not support bool")
def argmax_of_bools(m):
    return m.argmax() if m.any() else m.sum()


@case(*MASKS, refuse="does not support bool")
def topk_of_bools(m):
    return m.topk(2)[0]


@case(*MASKS, paths=1)
def what_bools_do(m):
    return m.max(), m.min(0), m.amax(0), m.cumsum(0), m.prod(), m + m, m * m, m + 1, m / m, m.sort(stable=True)


# ---- signs --------------------------------------------------------------------------------------


@case(*SIGNS, paths=1)
def sign_of_zero(x):
    return torch.signbit(x), torch.signbit(x.long()), torch.signbit(x > 0), torch.copysign(torch.ones(3), x)


# ---- checks of torch ------------------------------------------------------------------------------


@case(*V)
def torch_checks(x):
    n = int(x[0])
    torch._check_value(n != 0)
    torch._check_index(n < 4, lambda: "large")
    torch._check_is_size(n)
    return x * n


# ---- attributes of modules that forward makes ------------------------------------------------------


@case(*V, refuse="state between calls")
class RegistersBuffer(nn.Module):
    def forward(self, x):
        if not hasattr(self, "kept"):
            self.register_buffer("kept", x.clone())
        self.kept.add_(1)
        return self.kept * x


@case(*V)
class BufferFromNone(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", None)

    def forward(self, x):
        if self.kept is None:
            self.kept = x.clone()
        self.kept = self.kept + 1
        return self.kept * x


@case(*V)
class ReplacesData(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(torch.ones(3))

    def forward(self, x):
        self.p.data = self.p.data * 0.5 + x
        return self.p.sum() if x[0] > 0 else self.p * 2


@case(*W, refuse="memory of a tensor is replaced")
def shares_data(x):
    y = x.new_zeros(2)
    y.data = x[0]
    y += 1
    return x, y


# ---- generators that are left ------------------------------------------------------------------------


@case(*V, refuse="left suspended inside try")
def left_generator(x):
    def numbers():
        try:
            yield x
            yield x + 1
        finally:
            log.append(1)

    log = []
    for v in numbers():
        if x[0] > 0:
            break
    return v, log


@case(*V)
def left_generator_without_clean_up(x):
    def numbers():
        for i in range(3):
            try:
                yield x[i]
            except ValueError:
                pass

    for v in numbers():
        if v > 0:
            break
    return v


@case(*V)
def context_of_a_generator(x):
    @contextlib.contextmanager
    def scaled(k):
        log.append(k)
        try:
            yield k * 2
        finally:
            log.append(-k)

    log = []
    with scaled(3) as k:
        if x[0] > 0:
            return x * k, log
    return x, log


test_program = case.test()
