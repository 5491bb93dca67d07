# SPDX-License-Identifier: Apache-2.0
"""The smallest forms of what models of the zoo and published ones do and capture once refused."""

import torch
from torch import nn

import dycl


class Ponder(nn.Module):
    """A list made anew in every call and filled behind a loop that the data leave."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.steps = []

    def forward(self, x):
        self.steps = []
        total, remainder, n = 0.0, 1.0, 0
        mean = torch.zeros_like(x)
        while True:
            n += 1
            x = torch.tanh(self.linear(x))
            p = torch.sigmoid(x.sum()).item()
            last = total + p >= 0.99 or n == 5
            weight = remainder if last else p
            mean += weight * x
            if last:
                break
            total += p
            remainder -= p
        self.steps.append(n)
        return mean, list(self.steps)


def test_a_list_made_anew_before_a_loop_is_no_state():
    torch.manual_seed(0)
    model, lengths = Ponder(), set()
    program = dycl.compile(model, (torch.randn(1, 4),))
    for seed in range(12):
        x = 3 * torch.randn(1, 4, generator=torch.Generator().manual_seed(seed))
        mean, steps = model(x)
        found, counted = program(x)
        torch.testing.assert_close(found, mean)
        assert counted == steps == model.steps
        lengths.add(steps[0])
    assert len(lengths) > 1


class Load(nn.Module):
    """An attribute whose shape is one of run time, set before by another call."""

    def __init__(self):
        super().__init__()
        self.load = None

    def forward(self, x):
        self.load = torch.bincount(x)
        return self.load.sum()


def test_an_attribute_of_unknown_shape_is_assigned_after_eager_did():
    model = Load()
    model(torch.tensor([1, 2, 3, 3]))
    program = dycl.compile(model, (torch.tensor([1, 2, 3, 3]),))
    assert program(torch.tensor([5, 0, 5, 5])) == 4
    assert model.load.tolist() == [1, 0, 0, 0, 0, 3]
