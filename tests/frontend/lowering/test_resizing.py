# SPDX-License-Identifier: Apache-2.0
"""Adaptive pools and resizing by whole factors, of extents known only at run time."""

import pytest
import torch
import torch.nn.functional as F

import dycl


def resized(x):
    pooled = F.adaptive_avg_pool2d(x, (3, 2)) if x.sum() > 0 else F.adaptive_max_pool2d(x, (3, 2))
    return (pooled, F.adaptive_avg_pool1d(x[0], 4), F.interpolate(x, scale_factor=3),
            F.interpolate(x, scale_factor=2, mode="bilinear"),
            F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True),
            F.interpolate(x, scale_factor=(1, 2), mode="bicubic"))


def test_of_any_height_and_width():
    program = dycl.compile(resized, (torch.randn(1, 2, 6, 8),), dynamic_dims={"x": {2: "H", 3: "W"}})
    torch.manual_seed(0)
    for height in range(2, 9):
        for width in (2, 3, 5, 8, 11):
            x = torch.randn(1, 2, height, width)
            for want, got in zip(resized(x), program(x)):
                torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


def test_by_a_fraction_is_refused():
    with pytest.raises(dycl.CompileError, match="resizing by a factor"):
        dycl.compile(lambda x: F.interpolate(x, scale_factor=1.5), (torch.randn(1, 2, 6, 8),),
                     dynamic_dims={"x": {2: "H"}})
