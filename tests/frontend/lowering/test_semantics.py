# SPDX-License-Identifier: Apache-2.0
"""Where torch's meaning is easily missed: promotion, negative operands, NaN and infinity,
empty and 0-d tensors, ties."""

from __future__ import annotations

import math

import pytest
import torch

from tests.frontend.support.lowering_harness import check

F = torch.nn.functional
aten = torch.ops.aten
nan, inf = math.nan, math.inf
INTS = torch.tensor([-7, -6, -1, 0, 1, 5, 6, 7])
DIVISORS = torch.tensor([3, -3, 2, -2, 5, -5, 7, -1])
FLOATS = torch.tensor([-7.5, -2.5, -1.0, -0.5, 0.5, 1.5, 2.5, 7.25])
ODD = torch.tensor([[1.0, nan, 3.0], [-inf, 2.0, inf], [0.0, -0.0, -1.5], [nan, nan, 1.0]])
FULL = torch.tensor([[1.0, nan, 3.0, 3.0], [-inf, 2.0, -5.0, 0.1]])
EMPTY = torch.empty(0, 3)
LARGE_HALVES = torch.tensor([[300.0, -280.0, 450.0], [-310.0, 290.0, -400.0]], dtype=torch.float16)
MASK = torch.tensor([[True, False, True], [False, False, False], [True, True, True], [False, True, False]])

CASES = {
    "rows to where they begin": (lambda r: (torch._convert_indices_from_coo_to_csr(r, 5),
                                            torch._convert_indices_from_coo_to_csr(r, 4, out_int32=True)),
                                 torch.tensor([0, 0, 2, 3])),
    # integers
    "floor_divide": (lambda a, b: a // b, INTS, DIVISORS),
    "floor_divide scalar": (lambda a: a // -4, INTS),
    "remainder": (lambda a, b: a % b, INTS, DIVISORS),
    "remainder scalar": (lambda a: a % -4, INTS),
    "fmod": (torch.fmod, INTS, DIVISORS),
    "trunc division": (lambda a, b: torch.div(a, b, rounding_mode="trunc"), INTS, DIVISORS),
    "true division": (lambda a, b: a / b, INTS, DIVISORS),
    "int32 division": (lambda a, b: a // b, INTS.int(), DIVISORS.int()),
    "int8 wraps": (lambda a: a * 100, INTS.to(torch.int8)),
    "uint8": (lambda a: a + 250, torch.arange(9, dtype=torch.uint8)),
    "int power": (lambda a: a**3, INTS),
    "int power 0": (lambda a: a**0, INTS),
    "big power": (lambda a: a**5, torch.tensor([3_000_000_001, -3])),
    "shift": (lambda a: a << 2, INTS),
    "shift right": (lambda a: a >> 1, INTS),
    "bitwise": (lambda a, b: (a & b) ^ (a | ~b), INTS, DIVISORS),
    "big integers": (lambda a: a + 1 > 2**53, torch.tensor([2**53 - 1, 2**53, 2**53 + 1])),
    "bool sum": (lambda m: m.sum(1), MASK),
    "bool add": (lambda m: m + m, MASK),
    "bool mul": (lambda m: m * 3, MASK),
    "bool max": (lambda m: m.max(1), MASK),
    # floats
    "float floor_divide": (lambda a: a // 0.7, FLOATS),
    "float remainder": (lambda a: a % -0.7, FLOATS),
    "float fmod": (lambda a: torch.fmod(a, 0.7), FLOATS),
    "round half even": (torch.round, FLOATS),
    "round decimals": (lambda a: torch.round(a, decimals=1), FLOATS),
    "trunc": (torch.trunc, FLOATS),
    "to int": (lambda a: a.int(), FLOATS),
    "to bool": (lambda a: a.bool(), ODD),
    "negative power": (lambda a: a**-2, FLOATS),
    "sqrt power": (lambda a: a**0.5, ODD),
    # promotion
    "int + float": (lambda a: a + 0.5, INTS),
    "int + float 0-d": (lambda a, b: a + b, INTS, torch.tensor(0.5)),
    "f32 + f64 0-d": (lambda a, b: a + b, FLOATS, torch.tensor(0.1, dtype=torch.float64)),
    "f32 + f64": (lambda a, b: a + b, FLOATS, FLOATS.double()),
    "0-d + 0-d": (lambda a, b: a + b, torch.tensor(1), torch.tensor(2.5)),
    "bool + float": (lambda m: m + 0.5, MASK),
    "int32 + int64": (lambda a, b: a * b, INTS.int(), INTS),
    "compare mixed": (lambda a, b: a < b, INTS, FLOATS),
    "compare int with fraction": (lambda a: a >= 0.5, INTS),
    "where mixed": (lambda m, a: torch.where(m[0], a[:3], 1), MASK, FLOATS),
    "cat mixed": (lambda a, b: torch.cat([a, b]), INTS, FLOATS),
    "stack": (lambda a, b: torch.stack([a, b], -1), INTS, DIVISORS),
    "clamp mixed": (lambda a: a.clamp(-1.5, 2), INTS),
    "maximum mixed": (torch.maximum, INTS, FLOATS),
    "int mean": (lambda a: a.float().mean(), INTS),
    "int sqrt": (lambda a: a.abs().sqrt(), INTS),
    "lerp": (torch.lerp, FLOATS, FLOATS * 2, FLOATS / 4),
    # NaN and infinity
    "isnan": (torch.isnan, ODD),
    "isinf": (torch.isinf, ODD),
    "isfinite": (torch.isfinite, ODD),
    "isnan int": (torch.isnan, INTS),
    "nan_to_num": (torch.nan_to_num, ODD),
    "compare nan": (lambda a, b: torch.stack([a < b, a >= b, a == b, a != b]), ODD, ODD.flip(0)),
    "maximum nan": (torch.maximum, ODD, ODD.flip(0)),
    "minimum nan": (torch.minimum, ODD, ODD.flip(1)),
    "fmax nan": (torch.fmax, ODD, ODD.flip(0)),
    "relu nan": (torch.relu, ODD),
    "clamp nan": (lambda a: a.clamp(-1, 1), ODD),
    "sign nan": (torch.sign, ODD),
    "amax nan": (lambda a: a.amax(1), ODD),
    "amin nan": (lambda a: a.amin(0), ODD),
    "max nan": (lambda a: a.max(), ODD),
    "max.dim nan": (lambda a: a.max(1), FULL),
    "min.dim nan": (lambda a: a.min(1), FULL),
    "argmax nan": (lambda a: a.argmax(1), ODD),
    "argmin nan": (lambda a: a.argmin(), ODD),
    "sort nan": (lambda a: a.sort(1), FULL),
    "sort nan down": (lambda a: a.sort(1, descending=True), FULL),
    "topk nan": (lambda a: a.topk(2, 1)[0], FULL),
    "median nan": (lambda a: a.median(1), FULL),
    "nanmedian": (lambda a: a.nanmedian(1), ODD),
    "nanmedian of all": (lambda a: a.nanmedian(), FULL),
    "nanmedian of integers": (lambda a: a.nanmedian(0), INTS),
    "nansum of large integers": (lambda a: torch.nansum(a * (1 << 59) + 1), INTS),
    "norm of halves": (lambda a: a.norm(dim=1), LARGE_HALVES),
    "norm of halves of order 6": (lambda a: torch.linalg.vector_norm(a, 6, 1), LARGE_HALVES),
    "std of halves": (lambda a: torch.std_mean(a, 1), LARGE_HALVES),
    "lerp of halves": (lambda a: torch.lerp(a * 100, a.flip(0) * 100, 0.3), LARGE_HALVES),
    "cosine of halves": (lambda a: torch.nn.functional.cosine_similarity(a, a.flip(0)), LARGE_HALVES),
    "angle nan": (torch.angle, ODD),
    "xlogy": (torch.xlogy, ODD, ODD.flip(0).clamp(min=-1)),
    "xlogy of integers": (lambda a: torch.xlogy(a, a.abs()), INTS),
    "logit nan": (lambda a: torch.logit(a, 0.2), ODD),
    "prelu of zeros": (torch.nn.functional.prelu, ODD, torch.tensor([nan, inf, 0.25])),
    "logcumsumexp inf": (lambda a: a.logcumsumexp(1), torch.tensor([[-inf, -inf, 2.0, 1.0], [1.0, inf, 0.5, nan]])),
    "logcumsumexp large": (lambda a: a.logcumsumexp(0), torch.tensor([1000.0, 999.0, -1000.0])),
    "angle of integers": (torch.angle, INTS),
    "any nan": (lambda a: a.any(1), ODD),
    "logsumexp inf": (lambda a: a.logsumexp(1), torch.tensor([[-inf, -inf], [inf, 1.0], [0.5, 2.0]])),
    "softmax masked": (lambda a: a.softmax(1), torch.tensor([[-inf, 1.0, 2.0], [0.0, -inf, -inf]])),
    "atan2": (torch.atan2, ODD, ODD.flip(0)),
    "remainder inf": (lambda a: a.remainder(2.0), ODD),
    "floor_divide inf": (lambda a: a.floor_divide(0.7), ODD),
    "divide by zero": (lambda a: a / 0, ODD),
    "where nan": (lambda a: torch.where(a.isnan(), 0.0, a), ODD),
    "copysign": (torch.copysign, ODD, ODD.flip(0)),
    # ties
    "argmax first": (lambda a: a.argmax(-1), torch.tensor([[1, 3, 3], [2, 2, 2]])),
    "max.dim first": (lambda a: a.max(-1), torch.tensor([[1.0, 3, 3], [2, 2, 2]])),
    "stable sort": (lambda a: torch.sort(a, stable=True), torch.tensor([2, 1, 2, 1, 1])),
    "stable sort down": (lambda a: torch.sort(a, stable=True, descending=True), torch.tensor([2, 1, 2, 1, 1])),
    # nothing, and 0-d
    "sum empty": (lambda a: a.sum(), EMPTY),
    "sum empty dim": (lambda a: a.sum(0), EMPTY),
    "mean empty": (lambda a: a.mean(), EMPTY),
    "any empty": (lambda a: a.any(), EMPTY),
    "all empty": (lambda a: a.all(0), EMPTY),
    "prod empty": (lambda a: a.prod(0), EMPTY),
    "cat empty": (lambda a, b: torch.cat([a, b]), EMPTY, torch.ones(2, 3)),
    "matmul empty": (lambda a: a @ torch.ones(3, 2), EMPTY),
    "inner extent 0": (lambda a: a.t() @ a, EMPTY),
    "linear empty": (lambda a: F.linear(a, torch.ones(2, 3), torch.ones(2)), EMPTY),
    "var of one": (lambda a: a[:1].var(0), FLOATS),
    "0-d sum": (lambda a: a.sum(), torch.tensor(2.0)),
    "0-d max": (lambda a: a.max(0), torch.tensor(2.0)),
    "0-d softmax": (lambda a: a.softmax(0), torch.tensor(2.0)),
    "0-d cumsum": (lambda a: a.cumsum(0), torch.tensor(2.0)),
    "0-d index": (lambda a, i: aten.index.Tensor(a, [i]), FLOATS, torch.tensor(-2)),
    "0-d sort": (lambda a: a.sort(), torch.tensor(2.0)),
    "masked nothing": (lambda a: a[a > 100], FLOATS),
    "nonzero nothing": (lambda a: (a > 100).nonzero(), FLOATS),
    "sum of nothing selected": (lambda a: a[a > 100].sum(), FLOATS),
    "mean of nothing selected": (lambda a: a[a > 100].mean(), FLOATS),
    "any of nothing selected": (lambda a: (a[a > 100] > 1).any(), FLOATS),
    # indexing
    "mask": (lambda a, m: a[m], ODD, MASK),
    "mask rows": (lambda a: a[a[:, 0] > 0], FLOATS.reshape(4, 2)),
    "mask then column": (lambda a, m: a[m[:, 0], 1], ODD, MASK),
    "rows": (lambda a: a[torch.tensor([3, -1, 0])], ODD),
    "two indices": (lambda a: a[torch.tensor([0, 1]), torch.tensor([2, -1])], ODD),
    "apart": (lambda a: a[torch.tensor([0, 1]), :, torch.tensor([1, 0])], torch.arange(24.0).reshape(2, 3, 4)),
    "adjacent later": (
        lambda a: a[:, torch.tensor([[0], [2]]), torch.tensor([1, 0])],
        torch.arange(24.0).reshape(2, 3, 4),
    ),
    "column list": (lambda a: a[:, [2, 0]], ODD),
    "put": (lambda a: a.index_put((torch.tensor([0, 2]),), torch.ones(3)), ODD),
    "put two": (lambda a: a.index_put((torch.tensor([0, -1]), torch.tensor([1, 2])), torch.tensor([5.0, 6.0])), ODD),
    "put mask scalar": (lambda a, m: a.index_put((m,), torch.tensor(9.0)), ODD, MASK),
    "put mask values": (lambda a, m: a.index_put((m,), torch.arange(6.0)), ODD, MASK),
    "put mask rows": (lambda a: a.index_put((a[:, 0] > 0,), torch.arange(2.0)), FLOATS.reshape(4, 2)),
    "accumulate": (
        lambda a: a.index_put((torch.tensor([1, 1, 0]),), torch.ones(3, 3), accumulate=True),
        torch.zeros(4, 3),
    ),
    "put later axis": (
        lambda a: aten.index_put.default(a, [None, torch.tensor([0, 2])], torch.ones(2, 2, 4)),
        torch.arange(24.0).reshape(2, 3, 4),
    ),
    "put middle": (
        lambda a: aten.index_put.default(
            a, [None, torch.tensor([0, 2]), torch.tensor([1, 3])], torch.tensor([7.0, 8.0])
        ),
        torch.arange(24.0).reshape(2, 3, 4),
    ),
    "repeat_interleave": (lambda a: a.repeat_interleave(torch.tensor([2, 0, 1, 3]), 0), ODD),
    "masked_scatter": (lambda a, m: a.masked_scatter(m, torch.arange(12.0)), ODD, MASK),
    "one_hot": (lambda a: (a.unsqueeze(-1) == torch.arange(5)).long(), torch.tensor([0, 4, 2])),
    "bincount": (lambda a: torch.bincount(a, minlength=7), torch.tensor([0, 4, 2, 4])),
    "unique": (lambda a: torch.unique(a, return_inverse=True, return_counts=True), torch.tensor([[3, 1], [1, 2]])),
    "einsum": (lambda a, b: torch.einsum("bij,bkj->bik", a, b), torch.randn(2, 3, 4), torch.randn(2, 5, 4)),
}


@pytest.mark.parametrize("name", CASES)
def test_as_torch_means_it(name):
    function, *args = CASES[name]
    check(function, *args)


UNKNOWN = [
    n
    for n in CASES
    if n != "median nan"
    and any(
        w in n
        for w in (
            "empty",
            "nothing",
            "mask",
            "nan",
            "put",
            "index",
            "indices",
            "sort",
            "row",
            "promotion",
            "division",
            "remainder",
            "inner",
            "unique",
            "apart",
            "adjacent",
        )
    )
]


@pytest.mark.parametrize("name", UNKNOWN)
def test_extents_known_only_at_run_time(name):
    function, *args = CASES[name]
    check(function, *args, symbolic=True)


def test_the_largest_of_nothing_is_an_error():
    for function in (lambda a: a[a > 3].max(), lambda a: a[a > 3].argmin(), lambda a: a[a > 3].amax(0)):
        for data in (FLOATS, INTS):
            recorded = check_program(function, data.abs() + 4)
            with pytest.raises(Exception, match="(?i)reduc|bounds|empty|zero"):
                recorded([-data.abs()])


def check_program(function, data):
    """The program recorded on `data`, to be run on other data: extents after a mask are known only at run time."""
    from tests.frontend.support.lowering_harness import record, run_onnx
    from tests.frontend.support.onnx_model import nodes_to_onnx

    recorder, results = record(function, data, symbolic=True)
    model = nodes_to_onnx(recorder.nodes, recorder.inputs, [recorder.values[id(r)] for r in results])
    extra = recorder.feeds[1:]
    return lambda feeds: run_onnx(model, [*feeds, *extra], True)
