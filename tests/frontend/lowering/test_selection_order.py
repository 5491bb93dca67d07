# SPDX-License-Identifier: Apache-2.0
"""Orderings with equal elements: torch's own order of them, whatever its algorithm leaves."""

from __future__ import annotations

import math

import onnx
import pytest
import torch

import dycl
from tests.frontend.support.lowering_harness import check, ops_of, record, run_onnx
from tests.frontend.support.onnx_model import nodes_to_onnx

EXTENTS = (1, 2, 16, 17, 64, 129, 300)  # around 16 (std::sort) and k * 64 (torch.topk)
FLOATS = (torch.float32, torch.float64, torch.float16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def lines(extent: int, dtype: torch.dtype, values: int, special: bool = True) -> torch.Tensor:
    """[3, extent] with few different values, and NaN, infinities and both zeros among floats."""
    g = torch.Generator().manual_seed(extent * 100 + values)
    x = torch.randint(0, values, (3, extent), generator=g)
    if dtype == torch.bool:
        return x % 2 == 0
    x = x.to(dtype)
    if dtype.is_floating_point and special:
        for special_value in (math.nan, math.inf, -math.inf, -0.0):
            x[torch.rand(x.shape, generator=g) < 0.06] = special_value
    return x


def agrees(function, x: torch.Tensor) -> None:
    """Bit for bit but for the payload of NaN."""
    recorder, expected = record(function, x)
    model = nodes_to_onnx(recorder.nodes, recorder.inputs, [recorder.values[id(r)] for r in expected])
    for got, wanted in zip(run_onnx(model, recorder.feeds, True), expected):
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
        assert torch.equal(got.isnan(), wanted.isnan()) if got.is_floating_point() else True
        got, wanted = got.nan_to_num(9, 1e4, -1e4), wanted.nan_to_num(9, 1e4, -1e4)
        assert torch.equal(got, wanted) and torch.equal(got.signbit(), wanted.signbit())


def both(function, x: torch.Tensor) -> None:
    """Along the last dim, and along the first of its transpose; all results in one model."""
    agrees(lambda x: [r for pair in (function(x, -1), function(x.t(), 0)) for r in pair], x)


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS, ids=str)
def test_topk(dtype):
    for extent in EXTENTS:
        chosen = {1, 2, extent // 64, extent // 64 + 1, extent // 2, extent}
        ways = [(k, largest, order) for k in chosen for largest in (False, True) for order in (False, True)]
        both(
            lambda x, dim: [r for k, *how in ways if 0 < k <= extent for r in torch.topk(x, k, dim, *how)],
            lines(extent, dtype, 4),
        )


@pytest.mark.parametrize("dtype", (*FLOATS, *INTEGERS, torch.bool), ids=str)
def test_sort_and_mode(dtype):
    def every(x, dim):
        found = [*torch.mode(x, dim)]
        for descending in (False, True):
            found += [*torch.sort(x, dim, descending), *torch.sort(x, stable=True, dim=dim, descending=descending)]
            found.append(torch.argsort(x, dim, descending))
        return found

    for extent in EXTENTS:
        both(every, lines(extent, dtype, 5))


@pytest.mark.parametrize("dtype", FLOATS[:2] + INTEGERS, ids=str)
def test_kth_value_and_median(dtype):
    for extent in EXTENTS:
        places = (1, extent // 3 + 1, extent)
        both(
            lambda x, dim: [*torch.median(x, dim), *(r for k in places for r in torch.kthvalue(x, k, dim, True))],
            lines(extent, dtype, 3),
        )


@pytest.mark.parametrize("extent", [32767, 32768])
@pytest.mark.parametrize("dtype", [torch.int64, torch.float32, torch.bool], ids=str)
def test_long_lines_of_integers_are_sorted_by_radix(dtype, extent):
    x = lines(extent, dtype, 7)
    for descending in (False, True):
        agrees(lambda x: torch.sort(x, 0, descending), x[0].clone())
    agrees(lambda x: torch.sort(x, -1), x)


def test_extents_and_k_known_only_at_run_time():
    check(lambda x: torch.sort(x, -1), lines(40, torch.float32, 3, special=False), symbolic=True)
    check(lambda x: torch.topk(x, 5, sorted=False), lines(40, torch.float32, 3, special=False), symbolic=True)


def test_nothing_is_chosen():
    x = torch.randn(3, 5)
    check(lambda x: torch.topk(x, 0), x)
    check(lambda x: torch.sort(x, -1), torch.randn(3, 0))
    check(lambda x: torch.sort(x, 0), torch.randn(3, 0))
    model = check(lambda x: torch.topk(x, 2), x)
    assert ops_of(model) == ["TopK"] and model.graph.node[0].domain == "torch"


class Router(torch.nn.Module):
    """Experts by group, as mixtures of experts choose them; halves in between."""

    def __init__(self, order: bool):
        super().__init__()
        self.order = order

    def forward(self, x):
        if x.sum() > 0:
            x = x + 1
        values, experts = torch.topk(x, 6, sorted=self.order)
        return values, experts, x.argsort(-1), x.to(torch.bfloat16).sort(-1)[1], x.mode(0)[1], x.kthvalue(3, 0)[1]


@pytest.mark.parametrize("backend", ["ort", "openvino"])
def test_programs(backend):  # another back end leaves such ops to ONNX Runtime
    router = Router(False)
    program = dycl.compile(router, (lines(64, torch.float32, 4),), backend=backend)
    for values in (2, 3, 9):
        for sign in (1, -1):
            x = lines(64, torch.float32, values, special=False) * sign
            for got, wanted in zip(program(x), router(x)):
                assert torch.equal(got, wanted)


def test_k_out_of_range_raises():
    def chosen(x, k):
        return torch.topk(x, int(k.sum()))[1]

    x = torch.randn(20)
    program = dycl.compile(chosen, (x, torch.tensor([2, 3])))
    assert torch.equal(program(x, torch.tensor([4, 3])), chosen(x, torch.tensor([4, 3])))
    with pytest.raises(RuntimeError, match="k out of range|requires"):
        program(x, torch.tensor([20, 1]))


def test_emitted_models_hold_onnx_ops_alone(tmp_path):
    def ordered(x):
        return torch.topk(x, 3), torch.sort(x, 0), torch.kthvalue(x, 2)

    x = torch.randn(4, 9)
    x[1, 2] = math.nan
    notices = dycl.compile(ordered, (x,)).emit_onnx(tmp_path / "m.onnx")
    assert any("order of their places" in n for n in notices)
    model = onnx.load(tmp_path / "m.onnx")
    assert {o.domain for o in model.opset_import} <= {"", "ai.onnx"}
    got = run_onnx(_fed(model), [x], True)
    for one, wanted in zip(got, [t for pair in ordered(x) for t in pair]):
        torch.testing.assert_close(one, wanted, rtol=0, atol=0, equal_nan=True)
    with pytest.raises(dycl.CompileError, match="sorted=False"):
        dycl.compile(lambda x: torch.topk(x, 3, sorted=False), (x,)).emit_onnx(tmp_path / "n.onnx")


def _fed(model: onnx.ModelProto) -> onnx.ModelProto:
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            if name == model.graph.input[0].name:
                node.input[i] = "i0"
    model.graph.input[0].name = "i0"
    return model
