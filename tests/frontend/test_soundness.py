# SPDX-License-Identifier: Apache-2.0
"""Programs that were once answered wrongly, or that are easy to answer wrongly: what eager gives, what it leaves behind and
what it raises, over several calls in a row."""

import contextlib

import pytest
import torch
from torch import nn

from tests.frontend.support.harness import Cases, I, T, factory, refused

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


# ---- numbers that engines compute by way of doubles, or not at all ---------------------------------

LARGE = [(I(2**53 + 1, 2**53 + 3, -(2**53) - 1),), (I(2**62 + 1, -(2**62) - 3, 5),), (I(2**63 - 1, -(2**63), 1),)]
DIVIDED = [(I(7, -7), I(2, 3)), (I(-(2**63), 5), I(-1, -1)), (I(-(2**63), -5), I(3, -2))]
NANS = [(T(1, 2, 2),), (T(NAN, INF, 0),), (T(INF, NAN, -INF),), (T(-0.0, NAN, NAN),)]
WIDE = [(T(1, 2, 3),), (T(100, -100, 89),), (T(1000, -1000, 20),), (T(1e-8, -1e-8, 1e-4),), (T(INF, -INF, INF),)]


@case(*LARGE, paths=1)
def sums_of_large_integers(x):
    return x.sum(), x.expand(2, 3).sum(0), x.prod(), x.prod(0, keepdim=True), x.fmod(7), x % 7, x // 3, x.cumsum(0), torch.diag(x).trace()


@case(*DIVIDED, paths=1)
def the_least_integer_by_minus_one(x, y):
    return x // y, x % y, torch.fmod(x, y), x.int() // y.int()


@case(*NANS, paths=1)
def order_of_nan_and_infinity(x):
    return x.sort(descending=True)[0], x.sort(stable=True), x.topk(2)[0], torch.heaviside(x, x * 0 + 2)


@case((T(1, 2, 2),), (T(3, 1, 3),), paths=1)
def distinct(x):
    return torch.unique(x, return_inverse=True, return_counts=True)


def test_distinct_elements_with_nan_are_refused_in_the_run():
    import dycl

    program = dycl.compile(lambda x: torch.unique(x), (T(1, 2, 2),))
    with pytest.raises(RuntimeError, match="out of range"):
        program(T(NAN, 1, NAN))


@case(*WIDE, paths=1, rtol=1e-4, atol=1e-12)
def logarithms_of_sums(x):
    y = x.flip(0)
    truth = (x > 0).float()
    return (torch.logaddexp(x, y), torch.logaddexp2(x, y), nn.functional.logsigmoid(x), torch.log1p(x.abs()), torch.expm1(x),
            nn.functional.binary_cross_entropy_with_logits(x.clamp(-2000, 2000), truth, reduction="none"))


@case(*V, paths=1)
def weighted_cross_entropy(x):
    y, w = (x > 0).float(), torch.tensor([1.0, 2.0, 0.5])
    loss = nn.functional.binary_cross_entropy_with_logits
    return loss(x, y), loss(x, y, pos_weight=w), loss(x, y, weight=w, reduction="sum")


@case(*V, paths=1)
def halves_and_numbers(x):
    h, b = x.half(), x.bfloat16()
    return h * 70000, h / 1e-9, h + 1e-9, b * 70000, b * 0.1, 3 - b


# ---- truth of objects ---------------------------------------------------------------------------------


class Truthful:
    def __init__(self, t):
        self.t = t

    def __bool__(self):
        return bool(self.t.sum() > 0)


@case(*V)
def and_or_give_the_object(x):
    a, b = Truthful(x), Truthful(-x)
    return (a and b).t, (a or b).t, not a


@case(*V)
def loop_while_an_object_is_true(x):
    n, v = 0, Truthful(x)
    while v and n < 5:
        v, n = Truthful(v.t - 1), n + 1
    return n, v.t


class Tagging(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.tag = 3
        return made


class Tagged(metaclass=Tagging):
    def __init__(self, v):
        self.v = v


@case(*V)
def made_by_a_metaclass(x):
    made = Tagged(x)
    if x[0] > 0:
        made.tag += 1
    return made.v * made.tag, made.tag


@case(*V)
def extents_as_a_size(x):
    return torch.Size([3, int(x[1])]) if x[1] > 0 else x[x > 0].shape


# ---- checks of torch ------------------------------------------------------------------------------


@case(*V)
def torch_checks(x):
    n = int(x[0])
    torch._check_value(n != 0)
    torch._check_index(n < 4, lambda: "large")
    torch._check_is_size(n)
    return x * n


# ---- attributes of modules that forward makes ------------------------------------------------------


@case(*V)
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
