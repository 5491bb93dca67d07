# SPDX-License-Identifier: Apache-2.0
"""When a difference from eager is called rounding, and when it is not."""

import torch

from zoo.compare import difference, rounding


class Cancels(torch.nn.Module):
    """A small difference of large sums: single precision is far from the truth whoever computes it."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(1, 2, 4096))

    def forward(self, x):
        large = self.weight * 1000
        return (x + large) - large, 3


def answers(scale=1.0, other=3):
    torch.manual_seed(0)
    model, x = Cancels(), torch.rand(4096)
    eager, number = model(x)
    exact = model.double()(x.double())[0]
    model.float()
    ours = exact + (exact - eager) * scale  # off to the other side
    return model, (x,), (eager, number), (ours.float(), other)


def test_eager_is_as_far():
    model, args, eager, ours = answers()
    assert difference(eager, ours) is not None
    assert rounding(model, args, eager, ours).startswith("rounding: 10^")


def test_farther_than_eager_is_no_rounding():
    model, args, eager, ours = answers(scale=5.0)
    assert rounding(model, args, eager, ours) is None


def test_another_number_is_no_rounding():
    model, args, eager, ours = answers(other=4)
    assert rounding(model, args, eager, ours) is None


def test_another_shape_or_nan_is_no_rounding():
    model, args, eager, _ = answers()
    assert rounding(model, args, eager, (eager[0][:1], 3)) is None
    assert rounding(model, args, eager, (eager[0] * float("nan"), 3)) is None
