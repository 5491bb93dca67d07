# SPDX-License-Identifier: Apache-2.0
"""Values that are easy to get wrong: bools, signs of zero, NaN, integers beyond 2**53, logarithms, half precision."""

import pytest
import torch
from torch import nn

import dycl
from tests.frontend.support.harness import Cases, I, T

case = Cases()
MASKS = [(T(1, 0, 1) > 0,), (T(0, 0, 0) > 0,)]
SIGNS = [(T(-0.0, 0.0, -1),), (T(1, -2, -0.0),)]
LARGE = [(I(2**53 + 1, 2**53 + 3, -(2**53) - 1),), (I(2**62 + 1, -(2**62) - 3, 5),), (I(2**63 - 1, -(2**63), 1),)]
DIVIDED = [(I(7, -7), I(2, 3)), (I(-(2**63), 5), I(-1, -1)), (I(-(2**63), -5), I(3, -2))]
NAN, INF = float("nan"), float("inf")
NANS = [(T(1, 2, 2),), (T(NAN, INF, 0),), (T(INF, NAN, -INF),), (T(-0.0, NAN, NAN),)]
WIDE = [(T(1, 2, 3),), (T(100, -100, 89),), (T(1000, -1000, 20),), (T(1e-8, -1e-8, 1e-4),), (T(INF, -INF, INF),)]
V = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),)]


@case(*MASKS, paths=1)
def argmax_of_bools(m):
    try:
        return m.argmax() if m.any() else m.sum()
    except NotImplementedError as error:
        return str(error)


@case(*MASKS, paths=1)
def topk_of_bools(m):
    try:
        return m.topk(2)[0]
    except NotImplementedError as error:
        return str(error)


@case(*MASKS, paths=1)
def what_bools_do(m):
    return m.max(), m.min(0), m.amax(0), m.cumsum(0), m.prod(), m + m, m * m, m + 1, m / m, m.sort(stable=True)


@case(*SIGNS, paths=1)
def sign_of_zero(x):
    return torch.signbit(x), torch.signbit(x.long()), torch.signbit(x > 0), torch.copysign(torch.ones(3), x)


@case(*LARGE, paths=1)
def sums_of_large_integers(x):
    return (x.sum(), x.expand(2, 3).sum(0), x.prod(), x.prod(0, keepdim=True), x.fmod(7), x % 7, x // 3, x.cumsum(0),
            torch.diag(x).trace())


@case(*DIVIDED, paths=1)
def the_least_integer_by_minus_one(x, y):
    return x // y, x % y, torch.fmod(x, y), x.int() // y.int()


@case(*NANS, paths=1)
def order_of_nan_and_infinity(x):
    return x.sort(descending=True)[0], x.sort(stable=True), x.topk(2)[0], torch.heaviside(x, x * 0 + 2)


@case((T(1, 2, 2),), (T(3, 1, 3),), paths=1)
def distinct(x):
    return torch.unique(x, return_inverse=True, return_counts=True)


@case(*WIDE, paths=1, rtol=1e-4, atol=1e-12)
def logarithms_of_sums(x):
    y = x.flip(0)
    truth = (x > 0).float()
    return (torch.logaddexp(x, y), torch.logaddexp2(x, y), nn.functional.logsigmoid(x), torch.log1p(x.abs()),
            torch.expm1(x),
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


@case(*V)
def torch_checks(x):
    n = int(x[0])
    torch._check_value(n != 0)
    torch._check_index(n < 4, lambda: "large")
    torch._check_is_size(n)
    return x * n


@case(T(3e38, 1e-30, 0.5), T(1e37, -0.5, -1.0), T(float("inf"), 1e-8, 2.0), T(-1e-9, 5.0, 1e20), values=True)
def logarithms(x):
    return x.log1p(), x.double().log1p()


test_program = case.test()


def test_distinct_elements_with_nan_are_refused_in_the_run():
    program = dycl.compile(lambda x: torch.unique(x), (T(1, 2, 2),))
    with pytest.raises(RuntimeError, match="out of range"):
        program(T(NAN, 1, NAN))
