# SPDX-License-Identifier: Apache-2.0
"""Resizing with antialias: to sizes known while compiling and to sizes known only at run time."""

import pytest
import torch
import torch.nn.functional as F

from tests.frontend.support.harness import check


@pytest.mark.parametrize("mode", ["bicubic", "bilinear"])
@pytest.mark.parametrize("corners", [False, True])
def test_known_sizes(mode, corners):
    x = torch.randn(2, 3, 9, 7, generator=torch.Generator().manual_seed(0))

    def f(x):
        small, large, one = (F.interpolate(x, size=s, mode=mode, antialias=True, align_corners=corners)
                             for s in ((4, 3), (13, 11), (1, 9)))
        return (small, large, one) if x.sum() > 0 else (large, one, small)

    check(f, [x, -x], rtol=1e-4, atol=1e-5)


def test_sizes_of_a_run():
    def f(x, n):
        h, w = int(n[0]), int(n[1])
        return F.interpolate(x, size=(h, w), mode="bicubic", antialias=True, align_corners=False)[:, :, :h].flatten(2)

    x = torch.randn(1, 2, 6, 6, generator=torch.Generator().manual_seed(0))
    check(f, [(x, torch.tensor(n)) for n in ([3, 4], [6, 6], [9, 2], [1, 1], [24, 5])], by_result=True, rtol=1e-4,
          atol=1e-5)
