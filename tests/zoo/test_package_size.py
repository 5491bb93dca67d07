# SPDX-License-Identifier: Apache-2.0
"""A package is hardly larger than the model's state dict: weights are stored once, the rest is deflated."""

import torch
from torch import nn

import dycl


class Exits(nn.Module):
    """Channels that fill no block: the engine wants its weights padded."""

    def __init__(self, channels: int = 60, depth: int = 6):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.layers = nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=1) for _ in range(depth))

    def forward(self, x):
        x = self.stem(x)
        for layer in self.layers:
            x = torch.relu(layer(x))
            if x.mean() > 10:
                return x
        return x


def test_package_against_state_dict(tmp_path):
    torch.manual_seed(0)
    model = Exits().eval()
    package = tmp_path / "model.dycl"
    dycl.compile(model, (torch.randn(1, 3, 8, 8),), threads=1).save(package)
    state = sum(t.numel() * t.element_size() for t in model.state_dict().values())
    assert package.stat().st_size <= 1.03 * state
