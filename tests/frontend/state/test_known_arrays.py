# SPDX-License-Identifier: Apache-2.0
"""numpy arrays that are known while compiling: written in some paths, sharing memory with tensors."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from tests.frontend.support.harness import T, check, refused

INPUTS = [T(1, 2, 3), T(-1, 2, -3), T(5, -7, 2), T(-4, -5, -6)]


def _added(a):
    a += 1


def _set(a):
    a[1] = 8


def _in_a_view(a):
    a.reshape(3, 1)[:2] -= 4


@pytest.mark.parametrize("write", [
    _added, _set, _in_a_view, lambda a: a.fill(4), lambda a: a.sort(), lambda a: np.add(a, 1, out=a),
    lambda a: np.add(a, 1, a), lambda a: np.put(a, [0], [9]), lambda a: np.copyto(a, 0),
    lambda a: np.add.at(a, [0, 0], 1)])
def test_written_in_one_arm(write):
    def program(x):
        a = np.array([3, 1, 2], dtype=np.float32)
        if x[0] > 0:
            write(a)
        if x[1] > 0:
            a *= 3
        return x + torch.from_numpy(a)

    check(program, INPUTS)


def test_a_tensor_does_not_change_behind_an_array():
    def by_numpy(x):
        t = torch.zeros(3)
        first, second = t.numpy(), np.asarray(t)
        if x[0] > 0:
            t[0] = 7
        return float(first.sum()) + x, second.sum()

    refused(by_numpy, INPUTS, "shares its memory with a numpy array")

    def in_one_arm(x):
        a = np.zeros(3, dtype=np.float32)
        t = torch.from_numpy(a) if x[0] > 0 else torch.ones(3)
        t.add_(x)
        return float(a.sum()), t

    refused(in_one_arm, INPUTS, "shares its memory with a numpy array")

    def array_written(x):
        a = np.zeros(3, dtype=np.float32)
        t = torch.from_numpy(a)
        if x[0] > 0:
            a[0] = 1
        return t + x

    refused(array_written, INPUTS, "a write to a numpy array that shares its memory with a tensor")


SHARED = np.ones(3, dtype=np.float32)
VIEW = torch.from_numpy(SHARED)


def test_arrays_from_outside():
    class Attribute(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.zeros(3))
            self.a = self.b.numpy()

        def forward(self, x):
            if x[0] > 0:
                self.b.add_(x)
            return float(self.a.sum()) + x

    refused(Attribute, INPUTS, "shares its memory with a tensor which the model writes")

    def of_a_module(x):
        VIEW.add_(x)
        return float(SHARED.sum())

    refused(of_a_module, INPUTS, "shares its memory with a tensor which the model writes")


def test_places_where_a_condition_holds():
    def program(x):
        found = np.where(x.numpy() > 0)
        return found[0], len(found), type(found[0]) is np.ndarray

    check(program, INPUTS, by_result=True)
