# SPDX-License-Identifier: Apache-2.0
"""numpy's reckoning with places in arrays."""

import numpy as np
import pytest
import torch

import dycl
from tests.frontend.support.harness import I, T, check


def place_of_the_greatest(x):
    a = x.numpy()
    row, column = np.unravel_index(np.argmax(a), a.shape)
    if a[row, column] > 2:
        rows, columns = np.unravel_index(np.flatnonzero(a > 0), a.shape)
        return row * 10 + column, torch.from_numpy(rows - columns), np.ravel_multi_index((row, column), (2, 3))
    place = np.unravel_index(x.argmin().item(), a.shape)
    return place[0] + place[1], place


def test_places_of_elements():
    inputs = [T([1, 5, 0], [0, -1, 2]), T([1, 0, 0], [0, -1, 2]), T([1, 0, -5], [0, 3, 2])]
    check(place_of_the_greatest, [(x,) for x in inputs])


def triangles(x):
    n = len(x[x > 0])
    rows, columns = np.triu_indices(n, 1)
    t = torch.tril_indices(n, n + 1, -1 if n > 2 else 0)
    i, j = torch.triu_indices(n, n, offset=1)
    return rows * 10 + columns, t, x[i] * x[j] if n > 1 else i


def test_indices_of_triangles():
    check(triangles, [(T(1, 2, 3, -1),), (T(1, -2, 3, -1),), (T(-1, -2, -3, -1),), (T(1, 2, 3, 4),)])


@pytest.mark.parametrize("place", [6, -1])
def test_a_place_outside(place):
    def of_place(i):
        return np.unravel_index(i.item(), (2, 3))

    program = dycl.compile(of_place, (I(4),))
    with pytest.raises(ValueError):
        of_place(I(place))
    with pytest.raises(ValueError, match="out of bounds"):
        program(I(place))
