# SPDX-License-Identifier: Apache-2.0
"""Common ops over halves and integers, with Python numbers and 0-dim tensors among the operands: dtype and value are
eager's. Integers wrap, halves round at the end of an op; NaN, infinities and numbers out of range are cast as eager
casts them on this processor. 15 seconds."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import dycl

NAN, INF = float("nan"), float("inf")
INTEGERS = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]
HALVES = [torch.float16, torch.bfloat16]
ROWS = torch.tensor([0, 0, 1])

ARITHMETIC = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "floor divide": lambda x, y: x // y,
    "remainder": lambda x, y: x % y,
    "fmod": lambda x, y: torch.fmod(x, y),
    "and a number": lambda x, y: (x + 1, x * 3, 1 - x, x + 100, x // 3, x % 3, x % -3, torch.fmod(x, -3)),
    "and a float": lambda x, y: (x + 1.5, x * 0.1, x / 0.3, 7 / x, x ** 1.5),
    "powers": lambda x, y: (x ** 2, x ** 3, x.square()),
    "and a 0-dim tensor": lambda x, y: (x + torch.tensor(1.5), x + torch.tensor(3), x * y[0, 0], x - x[0, 0]),
    "and one of another dtype": lambda x, y: (x * torch.tensor(0.1, dtype=torch.float64), x + y[0, 1].long()),
    "two dtypes": lambda x, y: (x * y.float(), x * y.long(), x + y.to(torch.uint8), x + y.to(torch.int8)),
    "bools": lambda x, y: ((x > y) * x, (x > y) + (x < y), (x > y) + 1, (x > y) * 0.5, (x > y).sum()),
    "extrema": lambda x, y: (torch.maximum(x, y), torch.minimum(x, y), x.amax(-1), x.amin(0), x.max(-1)[0]),
    "clamp": lambda x, y: (x.clamp(2, 5), x.clamp(1.5, 2.5), x.clamp(min=3), x.clamp(max=3)),
    "compare": lambda x, y: (x == y, x < y, x < 1.5, x == 1.0, x > 1, x < 100, x > 0.1, x == 0.1),
    "choose": lambda x, y: (torch.where(x > y, x, y), torch.where(x > y, x, 1.5), torch.where(x > y, x, y.float())),
    "unary": lambda x, y: (x.abs(), -x, x.sign(), x.relu(), x.float(), x.bool()),
    "of reals": lambda x, y: (x.sqrt(), x.sigmoid(), x.tanh(), x.log(), x.sin(), x.reciprocal(), x.rsqrt(), x.log2()),
    "casts": lambda x, y: tuple(x.to(dtype) for dtype in (*INTEGERS, *HALVES, torch.float64)),
    "reductions": lambda x, y: (x.sum(), x.sum(-1), x[0, :3].prod(), x.argmax(-1), x.argmin(), x.any(), x.all(-1)),
    "running": lambda x, y: (x.cumsum(-1), x.cumprod(-1), x.cummax(-1)[0], x.cummin(-1)[0]),
    "order": lambda x, y: (x.sort(-1)[0], x.argsort(stable=True, dim=-1), x.topk(2)[0], x.median(-1)[0]),
    "in place": lambda x, y: (x.clone().add_(1), x.clone().mul_(2), x.masked_fill(x > y, 7)),
    "duplicates": lambda x, y: (x.scatter_add(1, torch.zeros(3, 4, dtype=torch.int64), y), x.index_add(0, ROWS, y)),
    "together": lambda x, y: (torch.cat([x, y]), torch.cat([x, y.float()]), torch.stack([x, y]), F.pad(x, (1, 1))),
    "rounding": lambda x, y: (x.round(), x.floor(), x.trunc(), torch.div(x, 3, rounding_mode="trunc")),
    "to Python": lambda x, y: (x[1, 2].item() + 1, x[1, 3].item() * 0.5),
}
BITS = {"bits": lambda x, y: (~x, x & y, x | y, x ^ y), "products": lambda x, y: (x @ y.T, x[0] @ y[0])}
SHIFTS = {"shifts": lambda x, y: (x << 1, x >> 1, x << 9, x >> 40)}  # there is no kernel for int16
OF_HALVES = {
    "activations": lambda x, y: (F.gelu(x), F.silu(x), F.elu(x), F.leaky_relu(x, 0.1), F.softplus(x), F.relu6(x)),
    "composed": lambda x, y: (x.abs().log1p(), torch.atan2(x, y), torch.hypot(x, y), torch.xlogy(x, y.abs())),
    "of three": lambda x, y: (torch.lerp(x, y, 0.3), torch.addcmul(x, x, y, value=2), torch.addcdiv(x, x, y, value=3)),
    "roots": lambda x, y: (x ** 0.5, x ** -0.5, x ** -1),
    "along rows": lambda x, y: (x.softmax(-1), x.log_softmax(-1), x.logsumexp(-1), x.nan_to_num(), x.isnan()),
}


def _operands(dtype: torch.dtype):
    """Plain numbers, then those at the ends of the dtype's range."""
    generator = torch.Generator().manual_seed(1)
    if dtype.is_floating_point:
        info = torch.finfo(dtype)
        ends = torch.tensor([[0.1, 1 / 3, info.max, 2.0], [info.tiny, -2.5, 1000.5, -2049], [NAN, INF, -INF, -0.0]],
                            dtype=torch.float64)
        plain = [(torch.randn(3, 4, generator=generator) * 2).to(dtype) for _ in range(2)]
        return [(plain[0], plain[1]), (ends.to(dtype), plain[1]), (ends.to(dtype), ends.flip(1).to(dtype))]
    info = torch.iinfo(dtype)
    ends = torch.tensor([[info.max, info.min, info.max - 1, info.min + 1], [1, 0, 2, 3],
                         [info.max // 2, info.max // 2 + 1, info.max // 3, 7]], dtype=dtype)
    plain = [torch.randint(1, 6, (3, 4), generator=generator).to(dtype) for _ in range(2)]
    return [(plain[0], plain[1]), (ends, plain[1]), (ends, torch.full((3, 4), -1).to(dtype))]


def _functions(dtype: torch.dtype) -> dict:
    if dtype.is_floating_point:
        return ARITHMETIC | OF_HALVES
    return ARITHMETIC | BITS | ({} if dtype == torch.int16 else SHIFTS)


def _same(given, wanted, what: str) -> None:
    if not isinstance(wanted, torch.Tensor):
        assert type(given) is type(wanted), what
        given, wanted = torch.tensor(given), torch.tensor(wanted)
    assert given.dtype == wanted.dtype and given.shape == wanted.shape, (what, given, wanted)
    if not wanted.is_floating_point():
        assert torch.equal(given, wanted), (what, given, wanted)
        return
    info = torch.finfo(wanted.dtype)
    rtol = max(1e-5 if wanted.dtype != torch.float64 else 1e-12, 1.01 * info.eps if info.bits == 16 else 0)
    torch.testing.assert_close(given.double(), wanted.double(), rtol=rtol, atol=max(info.tiny, 1e-30), equal_nan=True,
                               msg=lambda text: f"{what}: {text} {given} {wanted}")


@pytest.mark.parametrize("dtype", [*INTEGERS, *HALVES], ids=lambda dtype: str(dtype)[6:])
def test_against_eager(dtype):
    functions = _functions(dtype)

    def model(x, y):
        return [f(x, y) for f in functions.values()]

    operands = _operands(dtype)
    program = dycl.compile(model, operands[0])
    for number, (x, y) in enumerate(operands):
        for name, given, wanted in zip(functions, program(x, y), model(x, y), strict=True):
            pairs = zip(given, wanted, strict=True) if isinstance(wanted, tuple) else [(given, wanted)]
            for k, (g, w) in enumerate(pairs):
                _same(g, w, f"{name}, {k}, operands {number}")


def test_floats_become_integers_as_in_eager():
    """Also where a decision hangs on it."""
    values = [NAN, INF, -INF, 3e9, -3e9, 1e20, -1e20, 300.7, -300.7, 128.0, -129.0, 2.0**31, -2.0**63, 2.0**63, -0.9]

    def casts(x):
        return [x.to(dtype) for dtype in INTEGERS]

    def decides(x):
        return x + 1 if x[0].int() > 0 else x - 1

    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        x = torch.tensor(values, dtype=torch.float64).to(dtype)
        program, deciding = dycl.compile(casts, (x,)), dycl.compile(decides, (x,))
        for given, wanted in zip(program(x), casts(x), strict=True):
            assert torch.equal(given, wanted), (dtype, given, wanted)
        for value in values:
            x[0] = value
            _same(deciding(x), decides(x), f"{value} in {dtype}")


# Some kernels round a number to the half that its tensor has, others compute with it as it is.
OF_NUMBERS = {
    "remainder": lambda h: h % 0.3, "fmod": lambda h: torch.fmod(h, 0.3), "floor_divide": lambda h: h // 0.3,
    "remainder of a number": lambda h: torch.remainder(0.3, h),
    "remainder by a tensor": lambda h: h % torch.tensor(0.3),
    "remainder by a number of the run": lambda h: h % (h[1].item() * 0.1),
    "remainder_": lambda h: h.clone().remainder_(0.3),
    "threshold": lambda h: F.threshold(h, 0.3, 0.1),
    "gt": lambda h: h > 0.1, "eq": lambda h: h == 0.1,
    "pow": lambda h: h.abs() ** 2.3, "pow of a number": lambda h: 0.3**h, "mul": lambda h: h * 0.1,
    "clamp": lambda h: h.clamp(0.1, 0.3), "where": lambda h: torch.where(h > 0, h, 0.1),
    "hardshrink": lambda h: F.hardshrink(h, 0.3),
    "div": lambda h: torch.div(h, 0.3, rounding_mode="trunc"),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_numbers_beside_halves(name, dtype):
    h = torch.tensor([30.0, -40.0, 7.3, 0.3, 0.1, 1.7], dtype=dtype)
    program = dycl.compile(lambda h: OF_NUMBERS[name](h) if h[0] > 0 else h, (h,))
    for x in (h, h * 0.7):
        torch.testing.assert_close(program(x), OF_NUMBERS[name](x), rtol=2 * torch.finfo(dtype).eps, atol=0)
