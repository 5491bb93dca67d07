# SPDX-License-Identifier: Apache-2.0
"""Tensors that share memory: views, aliases and copies, written through one name and read through another."""

import torch
from torch import nn

from tests.frontend.support.harness import Cases, T

case = Cases()
W = [(T([1.0, 2.0], [3.0, 4.0]),), (T([-1.0, 2.0], [-3.0, 4.0]),), (T([0.0, 0.0], [0.0, -1.0]),)]
V = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),)]


@case(*W)
def a_view_of_one_row_or_the_other(x):
    r = x[0] if x[0, 0] > 0 else x[1]
    r.zero_()
    a, b = x.t(), x.reshape(-1)
    b[3] = 8
    for row in x:
        if row[0] > 0:
            row += 10
    return a, b, x


@case(*V)
def pieces_written_one_by_one(x):
    parts = x.split(1)
    for p in parts:
        if p > 0:
            p.neg_()
    y = x[1:]
    if x.sum() > 0:
        y.mul_(2)
    else:
        x.add_(1)
    return parts[0] + parts[2], y, x.clone(), x


@case(*V)
def an_alias_or_a_copy(x):
    y = x if x[0] > 0 else x.clone()
    y[1] = 50
    d = {"a": x}
    d["b"] = d["a"]
    if x[2] > 0:
        d["b"].mul_(3)
    else:
        d["b"] = d["b"] * 3
    return x, y, d


@case(*W, paths=1)
def conversions_that_share(x):
    y, z, u = x.to(torch.float32), x.to(torch.float64), x.contiguous()
    y[0, 0], z[0, 1], u[1, 0] = 4, 5, 6
    w = x.flatten()
    w -= 1
    v = x.expand(3, 2, 2).clone()
    v[0] += 1
    g = x[[0, 1]]
    g += 1
    x[[0]] += 1
    x[torch.tensor([True, False])] *= 3
    return x, z, v, g


@case(*W)
def swaps_and_masks(x):
    x[:, 0], x[:, 1] = x[:, 1], x[:, 0]
    x[x > 0] *= 2
    a, b = x[0], x[1]
    a.copy_(b)
    b.add_(1)
    y, z = x.permute(1, 0)[0], x.diagonal()
    if y[1] > 0:
        z.fill_(5)
    else:
        y.fill_(6)
    return x, y, z


@case(*W)
def the_loop_writes_through_views(x):
    i, v = 0, x[0]
    while v.sum() > -3 and i < 3:
        v -= 1
        v = x[i % 2]
        i += 1
    return v, x, i


@case(*V)
class ReplacesData(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(torch.ones(3))

    def forward(self, x):
        self.p.data = self.p.data * 0.5 + x
        return self.p.sum() if x[0] > 0 else self.p * 2


@case(*W, refuse="memory of a tensor is replaced")
def shares_data(x):
    y = x.new_zeros(2)
    y.data = x[0]
    y += 1
    return x, y


test_program = case.test()
