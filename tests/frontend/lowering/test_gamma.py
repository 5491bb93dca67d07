# SPDX-License-Identifier: Apache-2.0
"""lgamma, and what is computed with it."""

import pytest
import torch

from tests.frontend.support.harness import T, check
from tests.frontend.support.lowering_harness import check_op

aten = torch.ops.aten
AROUND = [-3.5, -2.999, -1.0, -1e-20, 0.0, 1e-30, 0.25, 0.5, 0.999, 1.0, 1.0001, 1.5, 2.0, 2.0001, 3.0, 50.5, 1e10,
          1e30, float("inf"), -float("inf"), float("nan"), -0.5, -1e-3, -7.25]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_all_over_the_line(dtype):
    check_op(aten.lgamma.default, torch.tensor(AROUND, dtype=dtype))
    check_op(aten.lgamma.default, torch.linspace(-6, 9, 301, dtype=dtype))
    check_op(aten.lgamma.default, torch.arange(1, 5))


def test_densities():
    def program(x):
        law = torch.distributions.StudentT(x.abs().sum() + 2, x.mean(), 1.5)
        if law.log_prob(x).sum() > -6:
            return law.log_prob(x) * 2
        return (torch.distributions.Gamma(x.abs() + 0.5, 2.0).log_prob(x.abs() + 0.1)
                + torch.distributions.NegativeBinomial(3, 0.4).log_prob(x.abs().round()))

    check(program, [T(0.1, -0.2, 0.3), T(3, -4, 5), T(1, 1, 1), T(-6, 7, 0.5)])


def test_subscripts_of_tensors_in_a_row():
    def program(x):
        kept = torch.ones(3, 4, dtype=torch.bool)
        rows, columns = zip(*torch.stack([x.argsort(), x.argsort() + 1], 1))
        kept[rows, columns] = False
        if x[0] > 0:
            return kept[[x.argmax(), 1], [0, x.argmin()]], kept
        return kept[rows, :], kept

    check(program, [T(0.1, -0.2, 0.3), T(-3, -4, 5), T(1, 2, 0)])
