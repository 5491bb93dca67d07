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


class Stage(nn.Module):
    """A module that says in __init__ which method its forward is."""

    def __init__(self, before, after, answers):
        super().__init__()
        self.linear = nn.Linear(before, after, bias=False)
        if not answers:
            self.forward = self.only_forward

    def forward(self, x):
        x = torch.tanh(self.linear(x))
        return x, 1, x.sum()

    def only_forward(self, x):
        return torch.tanh(self.linear(x)), 0, None


class Stages(nn.Module):
    """A loop over modules whose first iterations cannot leave it: it is begun anew later, at the right module."""

    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList([Stage(4, 5, 0), Stage(5, 6, 0), Stage(6, 7, 1), Stage(7, 8, 1), Stage(8, 8, 0)])

    def forward(self, x):
        for stage in self.stages:
            x, is_output, output = stage(x)
            if is_output and output > 0:
                return x, output
        return x, torch.zeros(())


def test_a_loop_begun_anew_goes_on_with_the_next_module():
    torch.manual_seed(0)
    model, widths = Stages(), set()
    program = dycl.compile(model, (torch.randn(1, 4),))
    for seed in range(12):
        x = 3 * torch.randn(1, 4, generator=torch.Generator().manual_seed(seed))
        torch.testing.assert_close(program(x), model(x))
        widths.add(model(x)[0].shape[1])
    assert widths == {7, 8}


class Decode(nn.Module):
    """Steps of one cell, unrolled: what every step does with constant weights is done once."""

    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(64, 64)

    def forward(self, x):
        h = c = x
        for _ in range(8):
            h, c = self.cell(x, (h, c))
            if h.sum() > 3:
                break
        return h


def test_the_steps_of_a_cell_are_one_artifact():
    torch.manual_seed(0)
    model = Decode()
    program = dycl.compile(model, (torch.randn(1, 64),))
    report = program.report()
    assert report["calls"] == 8 and report["artifacts"] <= 3, report
    assert report["weights"] <= 6, report
    for seed in range(4):
        x = torch.randn(1, 64, generator=torch.Generator().manual_seed(seed))
        torch.testing.assert_close(program(x), model(x))


class Policy(nn.Module):
    """A vector read element by element: the engine makes one Split of it, whose sizes must be in the model."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x, policy):
        for t in range(policy.shape[1]):
            mask = (policy[:, t] > 0.5).float().reshape(-1, 1)
            x = torch.tanh(x + mask.expand_as(x) * self.linear(x))
        return x


def test_a_long_vector_is_read_element_by_element():
    torch.manual_seed(0)
    model, policy = Policy(), torch.rand(1, 60)
    program = dycl.compile(model, (torch.randn(1, 8), policy))
    x = torch.randn(1, 8)
    torch.testing.assert_close(program(x, 1 - policy), model(x, 1 - policy))
