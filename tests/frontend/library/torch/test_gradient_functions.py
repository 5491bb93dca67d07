# SPDX-License-Identifier: Apache-2.0
"""torch.func inside a model: its transforms record the ops of derivatives. Costs 20 s."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch.func import grad, jacfwd, jacrev

from tests.frontend.support.harness import T, check

W = torch.tensor([[0.4, -1.1, 0.3], [1.2, 0.2, -0.5], [-0.7, 0.6, 0.9]])
N = torch.arange(3.0)
jacfwd(lambda y: F.softmax(y, -1))(N)  # what it imports when first called, pytest would interfere with

OF = {
    "tanh": torch.tanh, "sigmoid": torch.sigmoid, "gelu": F.gelu, "silu": F.silu, "relu": F.relu,
    "leaky_relu": F.leaky_relu, "elu": F.elu, "softplus": F.softplus, "hardtanh": F.hardtanh,
    "hardsigmoid": F.hardsigmoid, "hardswish": F.hardswish,
    "softmax": lambda x: F.softmax(x, -1) * N, "log_softmax": lambda x: F.log_softmax(x, -1) * N,
    "layer_norm": lambda x: F.layer_norm(x, (3,), W[0], W[1]) * N, "mse_loss": lambda x: F.mse_loss(x, W[0]),
    "select and slice": lambda x: x[1] * x[1:], "linear": lambda x: F.linear(x, W).tanh() @ x,
}


@pytest.mark.parametrize("name", OF)
def test_gradients(name):
    def program(x):
        slope = grad(lambda y: OF[name](y).sum())
        return slope(x) if x.sum() > 0 else slope(x * 2)

    check(program, [T(0.3, -1.2, 2.1), T(-0.7, 0.2, -1.5)], atol=1e-5)


def test_newton_until_it_converges():
    def program(x):
        z = torch.zeros(3)
        for step in range(9):
            f = z - torch.tanh(W @ z * 0.4 + x)
            if f.abs().max() < 1e-5:
                break
            z = z - torch.linalg.solve(jacrev(lambda y: y - torch.tanh(W @ y * 0.4 + x))(z), f)
        return z, step

    check(program, [T(0.3, -1.2, 2.1), T(0.0, 0.0, 0.0), T(0.01, 0.0, 0.01)], rtol=1e-4, atol=1e-5)


def test_zeros_of_forward_mode_are_constants_with_memory():
    check(lambda x: jacfwd(lambda y: F.softmax(y, -1) * N)(x), [T(0.3, -1.2, 2.1)], paths=1, atol=1e-5)
