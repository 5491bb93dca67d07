# SPDX-License-Identifier: Apache-2.0
"""Grouped matrix products, as mixtures of experts compute them."""

import pytest
import torch

import dycl


@pytest.mark.parametrize("function", [torch._grouped_mm, torch.nn.functional.grouped_mm])
def test_groups_of_rows_by_a_matrix_each(function):
    """Experts' products in libraries; torch's rule for shapes raises for float32, which its kernel takes."""
    weight = torch.randn(3, 4, 8, generator=torch.Generator().manual_seed(0))

    def f(x, chosen):
        chosen, order = chosen.sort(stable=True)
        offs = (chosen[:, None] == torch.arange(3)).sum(0).cumsum(0).int()
        return function(x[order], weight, offs=offs)

    x = torch.randn(6, 4)
    inputs = [(x, torch.tensor(c))
              for c in ([0, 1, 2, 0, 1, 2], [2, 2, 2, 2, 2, 2], [0, 0, 2, 2, 0, 0], [1, 1, 1, 0, 1, 1])]
    program = dycl.compile(f, inputs[0])
    for given in inputs:
        torch.testing.assert_close(program(*given), f(*given))
