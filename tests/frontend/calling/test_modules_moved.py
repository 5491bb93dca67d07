# SPDX-License-Identifier: Apache-2.0
"""`Module.to` inside forward, to the device and dtype the module already has."""

import torch

import dycl


def check(f, *inputs):
    program = dycl.compile(f, inputs[0])
    for given in inputs:
        assert torch.equal(program(*given), f(*given))
    return program


def test_modules_moved_to_where_they_are():
    class Router(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = torch.nn.Linear(3, 1)
            self.register_buffer("shift", torch.ones(1))

        def forward(self, x):
            self.to(x.device)
            self.weights.to(torch.float32)
            scores = self.weights(x)[:, 0] + self.shift
            return x[scores > 0] if (scores > 0).any() else x

    model = Router()
    check(model, (torch.randn(4, 3),), (torch.full((4, 3), -9.0),), (torch.full((4, 3), 9.0),))
