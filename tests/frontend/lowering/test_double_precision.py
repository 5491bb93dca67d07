# SPDX-License-Identifier: Apache-2.0
"""Functions of float64 for which the engine has no kernels: all digits, and NaN and infinity as in eager."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.frontend.support.harness import check
from tests.frontend.support.lowering_harness import check_op

aten = torch.ops.aten
SIZES = [0.0, 1e-300, 1e-9, 0.1, 0.3, 0.49, 0.5, 0.51, 0.9, 0.999999999, 1.0, 1.0000001, 1.5, 2.0, 3.7, 6.0, 10.0, 20.0,
         21.9, 22.1, 26.0, 100.0, 350.0, 700.0, 711.0, 1e5, 1e10, 1e155, 1e200, math.inf]
LINE = torch.tensor([*SIZES, *(-x for x in SIZES), math.nan], dtype=torch.float64)
FUNCTIONS = ("acos acosh asin asinh atan atanh cosh elu erf erfc hardsigmoid leaky_relu mish sinh softplus "
             "tan").split()


def digits(target, values, *args):
    """Compared to 13 digits, and absolutely where eager itself has none left."""
    check_op(target, values, *args, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_over_the_line(name):
    function = getattr(aten, name).default
    digits(function, LINE)
    digits(function, torch.linspace(-7, 7, 1001, dtype=torch.float64))


def test_gelu():
    """Eager's own digits of great negative numbers are lost in 1 + erf(x)."""
    for approximate in ("none", "tanh"):
        check_op(aten.gelu.default, torch.linspace(-12, 12, 501, dtype=torch.float64), approximate=approximate,
                 rtol=1e-13, atol=1e-14)


def test_slopes():
    digits(aten._prelu_kernel.default, LINE.reshape(1, -1), torch.tensor([[0.1]], dtype=torch.float64))


def test_small_values_of_erfc_in_single_precision():
    """1 - erf(x) has none of their digits."""
    check_op(aten.erfc.default, torch.tensor([5.0, 9.0, 0.3, -2.0, math.inf, math.nan]), rtol=1e-6, atol=0.0)


def test_numbers_of_the_conversions_are_not_rounded():
    """onnxscript's functions cast Python's numbers to what the tensor is: of float64 to all digits."""
    values = torch.linspace(-3, 3, 13, dtype=torch.float64)
    digits(aten.deg2rad.default, values)
    digits(aten.rad2deg.default, values)
    digits(aten.elu.default, values, 1.6732632423543772, 1.0507009873554805, 0.3)
    check_op(aten.elu.default, values.float(), 1.5, 2.0, 0.3)


def test_a_solver_in_double_precision():
    """Kepler's equation by Newton's steps, as far as the data ask for."""
    def program(x):
        anomaly, steps = x.clone(), 0
        while steps < 20:
            step = (anomaly - 0.3 * anomaly.sin() - x) / (1 - 0.3 * anomaly.cos())
            anomaly, steps = anomaly - step, steps + 1
            if step.abs().max() < 1e-13:
                break
        return torch.atan(math.sqrt(1.3 / 0.7) * torch.tan(anomaly / 2)) * 2, F.softplus(anomaly), steps

    check(program, [(torch.tensor(v, dtype=torch.float64),) for v in ([0.5, 1.0], [3.0, -2.0], [0.0, 0.0])])


LAYERS = {
    "conv1d": (lambda: nn.Conv1d(3, 4, 3, padding=1), (2, 3, 9)),
    "conv2d": (lambda: nn.Conv2d(3, 4, (3, 2), stride=2, padding=1, bias=False), (2, 3, 9, 8)),
    "groups": (lambda: nn.Conv2d(4, 6, 3, groups=2, dilation=2), (1, 4, 9, 9)),
    "same": (lambda: nn.Conv2d(3, 4, 4, padding="same"), (3, 7, 5)),
    "average": (lambda: nn.AvgPool2d(3, 2, 1), (2, 3, 8, 9)),
    "average_inside": (lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), (2, 3, 8, 9)),
    "instance_norm": (lambda: nn.InstanceNorm2d(3, affine=True), (2, 3, 5, 4)),
    "group_norm": (lambda: nn.GroupNorm(2, 4), (2, 4, 5)),
    "hardswish": (lambda: nn.Hardswish(), (9,)),
    "lstm": (lambda: nn.LSTM(3, 4, 2, bidirectional=True), (5, 2, 3)),
    "gru": (lambda: nn.GRU(3, 4, batch_first=True), (2, 5, 3)),
    "rnn": (lambda: nn.RNN(3, 4), (5, 1, 3)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    make, shape = LAYERS[name]

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.layer = make().double().eval()

        def forward(self, x):
            if x.sum() > 0:
                return self.layer(x)
            return self.layer(x * 2)

    torch.manual_seed(1)
    x = torch.randn(shape, dtype=torch.float64)
    check(Model, [(x - x.mean() + 1,), (x - x.mean() - 1,)], rtol=1e-12, atol=1e-13)


def test_convolutions_of_extents_known_only_at_run_time():
    torch.manual_seed(0)
    images, weight, bias = torch.randn(2, 3, 7, 6), torch.randn(4, 3, 3, 3), torch.randn(4)
    check_op(aten.convolution.default, images.double(), weight.double(), bias.double(), [2, 1], [1, 0], [1, 1], False,
             [0, 0], 1, unknown=True, rtol=1e-12, atol=1e-13)
