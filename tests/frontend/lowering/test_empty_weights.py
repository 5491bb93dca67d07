# SPDX-License-Identifier: Apache-2.0
"""Weights without elements, as layers of no width have them."""

import importlib.util
import warnings

import pytest
import torch

from tests.frontend.support.harness import check

ENGINES = ["ort"] + [
    pytest.param(b, marks=pytest.mark.skipif(importlib.util.find_spec(b) is None, reason=f"{b} is not installed"))
    for b in ("openvino", "tvm")
]


class NoWidth(torch.nn.Module):
    def __init__(self):
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.down, self.up = torch.nn.Linear(4, 0), torch.nn.Linear(0, 3)

    def forward(self, x):
        return self.up(torch.relu(self.down(x))) if x.sum() > 0 else self.down(x)


class Rare(torch.nn.Module):
    """Its last cluster is projected to nothing: 4 // 4**2 channels."""

    def __init__(self):
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.words = torch.nn.AdaptiveLogSoftmaxWithLoss(4, 20, [5, 10])

    def forward(self, x):
        return self.words.predict(x) if x.sum() > 0 else self.words.log_prob(x)


@pytest.mark.parametrize("backend", ENGINES)
@pytest.mark.parametrize("model", [NoWidth, Rare])
def test_layers_of_no_width(model, backend):
    torch.manual_seed(1)
    x = torch.randn(3, 4)
    check(model, [(x,), (-x,), (x * 3,), (-x.abs(),), (x.abs(),)], backend=backend)
