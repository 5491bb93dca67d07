# SPDX-License-Identifier: Apache-2.0
"""Adaptive computation time (Graves: "Adaptive Computation Time for Recurrent Neural Networks", 2016): at every step of
a sequence the network ponders, i.e. applies its cell again and again until its halting units add up to one. The
addition task's network: an LSTM of 512 units over five numbers of five digits, at most 20 ponderings a step.
"""

from __future__ import annotations

import math

import torch
import torch.nn as nn

from zoo import data
from zoo.registry import model
from zoo.weights import seeded


class ACTCell(nn.Module):
    def __init__(self, input_size, hidden_size, epsilon=0.01, max_ponder=20):
        super().__init__()
        self.cell = nn.LSTMCell(input_size + 1, hidden_size)  # one more input says: this is the first pondering
        self.halting = nn.Linear(hidden_size, 1)
        self.epsilon = epsilon
        self.max_ponder = max_ponder
        self.steps = []

    def forward(self, x, state):
        h, c = state
        mean_h, mean_c = torch.zeros_like(h), torch.zeros_like(c)
        total, remainder = 0.0, 1.0
        n = 0
        while True:
            n += 1
            flag = torch.full((x.size(0), 1), float(n == 1), device=x.device)
            h, c = self.cell(torch.cat([x, flag], dim=1), (h, c))
            p = torch.sigmoid(self.halting(h)).item()
            last = total + p >= 1 - self.epsilon or n == self.max_ponder
            weight = remainder if last else p
            mean_h += weight * h
            mean_c += weight * c
            if last:
                break
            total += p
            remainder -= p
        self.steps.append(n)
        return (mean_h, mean_c), n + remainder


class Adder(nn.Module):
    def __init__(self, digits=5, hidden_size=512):
        super().__init__()
        self.hidden_size = hidden_size
        self.act = ACTCell(digits * 10, hidden_size)
        self.out = nn.Linear(hidden_size, 6 * 11)
        for p in self.act.cell.parameters():
            nn.init.normal_(p, 0, 2.5 / math.sqrt(hidden_size))

    def forward(self, numbers):
        """(scores of the digits of the sums, ponder cost, ponderings of each step); numbers:
        [steps, 1, digits * 10]."""
        self.act.steps = []
        state = (numbers.new_zeros(1, self.hidden_size), numbers.new_zeros(1, self.hidden_size))
        outputs, ponder_cost = [], 0.0
        for x in numbers:
            state, cost = self.act(x, state)
            outputs.append(self.out(state[0]))
            ponder_cost += cost
        return torch.stack(outputs).view(len(numbers), 6, 11), ponder_cost, list(self.act.steps)


def numbers(seed):
    """Three numbers of up to five digits, one-hot; a missing digit is zeros."""
    g = data.generator(seed)
    digits = torch.randint(0, 10, (3, 5), generator=g)
    lengths = torch.randint(1, 6, (3, 1), generator=g)
    there = torch.arange(5)[None] < lengths
    return ((nn.functional.one_hot(digits, 10) * there[..., None]).float().view(3, 1, 50),)


@model("adaptive computation time", numbers, "how often the cell is applied at each of three steps, at most 20 times")
def adaptive_computation_time():
    net = seeded(Adder)
    with torch.no_grad():
        net.act.halting.weight.normal_(0, 3 / math.sqrt(512), generator=data.generator(1))
        net.act.halting.bias.fill_(-1.0)
    return net
