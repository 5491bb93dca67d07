# SPDX-License-Identifier: Apache-2.0
"""Integer tensors without dimension as sizes for padding and resizing, and numpy's queries of a tensor's shape."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.frontend.support.harness import I, check

POSITIONS = torch.arange(16.0).reshape(1, 1, 4, 4)
SIZES = [(I(3, 4),), (I(1, 2),), (I(4, 4),), (I(2, 1),)]


@pytest.mark.parametrize("options",
                         [dict(mode="bilinear", align_corners=True), dict(mode="nearest"), dict(mode="nearest-exact")],
                         ids=["bilinear", "nearest", "exact"])
def test_resized_and_padded_back(options):
    def resized(n):
        h, w = n
        return F.pad(F.interpolate(POSITIONS, size=(h, w), **options), (0, 4 - w, 0, 4 - h))

    check(resized, SIZES, paths=1)


def test_row_by_row():
    def rows(x, lengths):
        return torch.stack([F.pad(row[:n], (0, 5 - n), value=-1.0) for row, n in zip(x, lengths)])

    x = torch.arange(10.0).reshape(2, 5)
    check(rows, [(x, I(2, 5)), (x, I(0, 1)), (x, I(5, 5))], paths=1)


def test_numpy_asks_for_the_form():
    def form(x):
        rank, columns = np.shape(x * 2)
        return torch.zeros(rank) + columns + np.ndim(x) if x.sum() > 0 else torch.zeros(columns)

    check(form, [(torch.ones(2, 3),), (-torch.ones(2, 3),)])
