# SPDX-License-Identifier: Apache-2.0
"""Numbers known only at run time as arguments of tensor ops: sizes, bounds, indices, factors."""

from __future__ import annotations

import pytest
import torch

from tests.frontend.support.lowering_harness import Scalar, check_op

aten = torch.ops.aten
X = torch.arange(24.0).reshape(4, 6) - 7
I = torch.arange(24).reshape(4, 6) - 7  # noqa: E741
S = Scalar

CASES = [
    (aten.add.Tensor, X, S(2)),
    (aten.add.Tensor, X, S(0.1)),
    (aten.add.Tensor, I, S(3)),
    (aten.add.Tensor, I, S(0.5)),
    (aten.add.Tensor, I, S(True)),
    (aten.mul.Tensor, X, S(0.3)),
    (aten.mul.Tensor, I, S(-2)),
    (aten.sub.Tensor, X, S(2)),
    (aten.div.Tensor, I, S(4)),
    (aten.div.Tensor_mode, I, S(4), {"rounding_mode": "floor"}),
    (aten.floor_divide.default, I, S(-4)),
    (aten.remainder.Scalar, I, S(-4)),
    (aten.fmod.Scalar, I, S(4)),
    (aten.pow.Tensor_Scalar, X.abs(), S(1.5)),
    (aten.gt.Scalar, X, S(3)),
    (aten.eq.Scalar, I, S(3)),
    (aten.lt.Scalar, I, S(2.5)),
    (aten.clamp.default, X, S(-1.5), S(6)),
    (aten.where.ScalarOther, X > 0, X, S(0.5)),
    (aten.masked_fill.Scalar, X, X > 0, S(9.0)),
    (aten.full.default, [S(2), 3], S(1.5)),
    (aten.full.default, [S(2), 3], 7),
    (aten.zeros.default, [S(0), 3]),
    (aten.ones.default, [S(2)], {"dtype": torch.int64}),
    (aten.arange.default, S(5)),
    (aten.arange.start, S(2), S(9)),
    (aten.arange.start_step, S(9), S(2), S(-3)),
    (aten.arange.start_step, S(0.5), S(3.0), 0.5),
    (aten.eye.default, S(3)),
    (aten.scalar_tensor.default, S(3)),
    (aten.scalar_tensor.default, S(0.3), {"dtype": torch.float32}),
    (aten.select.int, X, 0, S(2)),
    (aten.select.int, X, 1, S(-2)),
    (aten.slice.Tensor, X, 1, S(1), S(4)),
    (aten.slice.Tensor, X, 1, S(-3), S(99)),
    (aten.slice.Tensor, X, 0, S(3), S(1)),
    (aten.slice.Tensor, X, 1, None, S(-2), 2),
    (aten.narrow.default, X, 1, S(1), S(3)),
    (aten.select_scatter.default, X, torch.ones(6), 0, S(2)),
    (aten.select_scatter.default, X, torch.ones(6), 0, S(-1)),
    (aten.select_scatter.default, X, torch.ones(4), 1, S(0)),
    (aten.slice_scatter.default, X, torch.ones(4, 2), 1, S(2), S(4)),
    (aten.slice_scatter.default, X, torch.ones(4, 2), 1, S(-3), S(-1)),
    (aten.view.default, X, [S(3), 8]),
    (aten.view.default, X, [S(2), S(2), -1]),
    (aten.expand.default, X[:1], [S(3), 6]),
    (aten.expand.default, X, [S(2), -1, 6]),
    (aten.repeat.default, X, [S(2), 1]),
    (aten.tril.default, X, S(-1)),
    (aten.triu.default, X, S(2)),
    (aten.topk.default, X, S(2), 1),
    (aten.roll.default, X, [1], [0]),
    (aten.repeat_interleave.self_int, X, S(2), 1),
    (aten.split_with_sizes.default, X, [S(2), 4], 1),
    (aten.leaky_relu.default, X, 0.1),
    (aten.constant_pad_nd.default, X, [S(1), 2], 0.0),
    (aten.index_add.default, X, 0, torch.tensor([1, 1]), torch.ones(2, 6), {"alpha": S(2)}),
    (aten.addcmul.default, X, X, X, {"value": S(0.5)}),
    (aten.add.Tensor, X, X, {"alpha": S(3)}),
    (aten.lerp.Scalar, X, X + 1, S(0.3)),
    (aten.threshold.default, X, S(1.0), S(-1.0)),
    (aten.fill.Scalar, X, S(2)),
    (aten.one_hot.default, torch.tensor([0, 2]), S(4)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: str(c[0]))
def test_a_runtime_number(case):
    target, *args = case
    options = args.pop() if isinstance(args[-1], dict) else {}
    check_op(target, *args, **options)
