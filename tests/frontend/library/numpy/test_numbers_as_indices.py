# SPDX-License-Identifier: Apache-2.0
"""numpy's numbers, known only at run time, in the brackets of tensors, as places and as bounds of slices."""

import numpy as np
import pytest
import torch

import dycl
from tests.frontend.support.harness import check

UP = torch.arange(12.0).reshape(3, 4)
INPUTS = [(UP,), (-UP,), (UP.flip(1),), (UP.roll(5),)]


def places(x):
    row, column = np.unravel_index(x.argmax().item(), (3, 4))
    best = np.argmax(x.numpy())
    steps = torch.linspace(0, 1, 12)
    return x[row], x[row, column], x[:, column], steps[best], x.flatten()[best - 12], x[None, row % 2]


def bounds(x):
    row, column = np.unravel_index(x.argmax().item(), (3, 4))
    y = x.clone()
    y[max(0, row - 1):row + 2, max(0, column - 1):column + 2] = -5
    y[row, column] = 9
    return y, x[row:].sum(), torch.arange(12)[: row + 1] * 2 if row > 0 else x[0, :column]


def test_places():
    check(places, INPUTS, paths=1)


def test_bounds_of_slices():
    check(bounds, INPUTS)


def test_floats_are_no_bounds():
    """numpy's are none either; eager says so in other words."""
    with pytest.raises((dycl.CompileError, TypeError)):
        dycl.compile(lambda x: x[np.mean(x.numpy()):], (UP,))
