# SPDX-License-Identifier: Apache-2.0
"""Attributes under names that hold a run-time number, and views of dicts with run-time keys,
asked for what they are."""

import collections.abc

import torch
from torch import nn

from tests.frontend.support.harness import Cases, I

case = Cases()
NUMBERS = [I(k) for k in (3, 0, 1, 5, -1)]


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        for i in range(4):
            setattr(self, f"layer{i}", nn.Linear(3, 3))


@case(*NUMBERS)
class Raising(Layers):
    def forward(self, n):
        return getattr(self, f"layer{int(n)}")(torch.ones(3))


@case(*NUMBERS)
class Caught(Layers):
    def forward(self, n):
        try:
            return getattr(self, f"layer{int(n)}")(torch.ones(3))
        except AttributeError as error:
            return str(error)


@case(*NUMBERS)
class WithDefault(Layers):
    def forward(self, n):
        layer = getattr(self, f"layer{int(n)}", None)
        return hasattr(self, f"layer{int(n)}"), layer is None, 0 if layer is None else layer(torch.ones(3))


@case(*NUMBERS, refuse="__getattr__")
class Answering(nn.Module):
    def __init__(self):
        super().__init__()
        self.k1 = 10

    def __getattr__(self, name):
        return -1 if name.startswith("k") else super().__getattr__(name)

    def forward(self, n):
        return getattr(self, f"k{int(n)}")


@case(I(1, 2, 1), I(3, 3, 3), I(0, -1, 0), values=True)
def views(x):
    found = {}
    for k in x.tolist():
        found[k] = 1
    return (isinstance(found.keys(), collections.abc.KeysView), isinstance(found.items(), collections.abc.ItemsView),
            isinstance(found.keys(), list), type(found.values()) is type({}.values()), sorted(found.keys()))


test_by_text = case.test()
