# SPDX-License-Identifier: Apache-2.0
"""Which parameter, buffer or module was chosen, asked by `is`;
classes with metaclasses that are changed for a while."""

from __future__ import annotations

import torch
from torch import nn

from tests.frontend.support.harness import Cases, T

case = Cases()
V = [T(1, 2, 3), T(-1, 2, -3), T(5, -7, 2)]


@case(*V)
class Chosen(nn.Module):
    def __init__(self):
        super().__init__()
        self.w, self.v = nn.Parameter(torch.ones(3)), nn.Parameter(torch.zeros(3))

    def forward(self, x):
        w = self.w if x[0] > 0 else self.v
        return x * w, w is self.w, self.v is w, w is not x


@case(*V)
class AParameterInSomePaths(nn.Module):
    """Arithmetic does not ask whether it is one."""

    def __init__(self):
        super().__init__()
        self.w, self.v = nn.Parameter(torch.ones(3)), torch.zeros(3)

    def forward(self, x):
        w = self.w if x[0] > 0 else self.v
        return w * x + (w - 1.0), w % 2, len(w)


@case(*V)
class InAList(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))
        self.all = [self.w, torch.zeros(3)]

    def forward(self, x):
        found = list(self.all)
        if x[0] > 0:
            found.reverse()
        return found[0] is self.w, x is found[0], any(t is self.w for t in found)


class _Sized(type):
    def __len__(cls):
        return 3


class _OfMeta(metaclass=_Sized):
    scale = 1


@case(*V)
def class_of_a_metaclass(x):
    if x[0] > 0:
        _OfMeta.scale = 2
    found = _OfMeta.scale
    _OfMeta.scale = 1
    return x * found, len(_OfMeta)


test_chosen = case.test()
