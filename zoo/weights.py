# SPDX-License-Identifier: Apache-2.0
"""Weights that behave: seeded, with statistics of batch norm that fit them, and calibrated decisions.

Nobody publishes weights with this zoo, and untrained networks decide the same for every input. So a model is built in
three steps: seeded random weights; batch-norm statistics from a few random inputs, so that activations keep their size
through any depth; and constants (biases of gates, scales of exits) that `python -m zoo.calibrate` found once over
random inputs and that lie in calibration.json. Random layers lack one thing more that trained ones have: they blow up
small differences, eager's own rounding among them. `keep_differences` and `smooth` are for networks in which that adds
up.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Callable

import torch
from torch import nn

CONSTANTS = Path(__file__).with_name("calibration.json")


def seeded(make: Callable[[], nn.Module], seed: int = 0) -> nn.Module:
    """make() under a seed of its own; the caller's generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make().eval()


def keep_differences(model: nn.Module) -> None:
    """For deep networks without residual sums, before their statistics are settled. Random layers of batch norm and
    ReLU double small differences every few layers; around a positive mean, where ReLU cuts off little,
    they nearly keep them."""
    for m in model.modules():
        if isinstance(m, nn.modules.batchnorm._BatchNorm):
            m.bias.data.fill_(1.0)


def smooth(model: nn.Module) -> None:
    """Makes depthwise filters weigh their neighbourhood instead of differentiating it. One of random signs all but
    cancels the one smooth channel it sees, and the batch norm behind it blows up what is left: grain and rounding."""
    for m in model.modules():
        if isinstance(m, nn.Conv2d) and m.groups == m.in_channels > 1:
            m.weight.data.abs_()


def settle(model: nn.Module, run: Callable[[], object]) -> nn.Module:
    """Sets every batch norm's statistics to those of the activations that `run` sends through it."""
    norms = [m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    momenta = [m.momentum for m in norms]
    for m in norms:
        m.train()
        m.momentum = 1.0
    with torch.no_grad():
        run()
    for m, momentum in zip(norms, momenta):
        m.momentum = momentum
    return model.eval()


def constants(name: str) -> dict:
    """What was calibrated for a model; empty before it was."""
    if not CONSTANTS.exists():
        return {}
    return json.loads(CONSTANTS.read_text()).get(name, {})


def set_exit_heads(heads: list[nn.Linear], values: dict) -> None:
    """Centres and scales the last layers of exits, so that their confidences straddle the threshold."""
    with torch.no_grad():
        for head, scale, bias in zip(heads, values.get("scales", []), values.get("biases", [])):
            head.weight.mul_(scale)
            head.bias.copy_(torch.tensor(bias))
