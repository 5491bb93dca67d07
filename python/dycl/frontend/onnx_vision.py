# SPDX-License-Identifier: Apache-2.0
"""Torchvision's own operators. They exist only once that package is imported, so the tables go by name."""

from __future__ import annotations

import torch

from .onnx_shape import slice_
from .onnx_table import dim_value, squeeze, static, unsqueeze

BY_NAME: dict = {}


def converts_named(name: str):
    def register(function):
        BY_NAME[name] = function
        return function

    return register


@converts_named("torchvision.nms.default")
def nms(t, dets, scores, iou_threshold):
    """Both keep the first of equal scores and drop what overlaps by more than the threshold."""
    threshold = static(iou_threshold, "the threshold")
    boxes = unsqueeze(t, t.cast(dets, torch.float32), [0])
    given = unsqueeze(t, t.cast(scores, torch.float32), [0, 1])
    most = t.ints([dim_value(t, dets, 0)])
    chosen = t.op("NonMaxSuppression", boxes, given, most, t.constant([float(threshold)], torch.float32))
    return squeeze(t, slice_(t, chosen, 1, 2, 3), [1])


# ---- taken apart while recording ----------------------------------------------------------------


def roi_align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned=False):
    """Bilinear samples are products of weights along the two axes, and so are their means: two matrix products."""
    offset = 0.5 if aligned else 0.0
    left, top, right, bottom = (rois[:, k] * spatial_scale - offset for k in (1, 2, 3, 4))
    width, height = right - left, bottom - top
    if not aligned:
        width, height = width.clamp(min=1.0), height.clamp(min=1.0)
    down = _axis_weights(top, height, pooled_height, input.shape[2], sampling_ratio)
    across = _axis_weights(left, width, pooled_width, input.shape[3], sampling_ratio)
    images = input[rois[:, 0].to(torch.int64)]  # [rois, channels, height, width]
    return torch.matmul(torch.matmul(down.unsqueeze(1), images), across.unsqueeze(1).transpose(-1, -2))


def _axis_weights(start, length, bins: int, extent: int, ratio: int):
    """[rois, bins, extent]: how much each place of the axis counts in each bin."""
    size = (length / bins)[:, None, None]
    if ratio > 0:
        samples, count = torch.arange(ratio, dtype=start.dtype), float(ratio)
        inside = None
    else:
        count = torch.ceil(length / bins)[:, None, None]
        samples = torch.arange(torch.clamp(count.max(), min=0).to(torch.int64).item(), dtype=start.dtype)
        inside = samples < count
    places = torch.arange(bins, dtype=start.dtype)[None, :, None]
    at = start[:, None, None] + places * size + (samples + 0.5) * size / count  # [rois, bins, samples]
    valid = (at >= -1.0) & (at <= extent)
    if inside is not None:
        valid = valid & inside
    at = at.clamp(0, extent - 1)
    weights = (1 - (at[..., None] - torch.arange(extent, dtype=start.dtype)).abs()).clamp(min=0) * valid[..., None]
    total = count if ratio > 0 else count.clamp(min=1)
    return weights.sum(2) / total


TAKEN_APART = {"torchvision.roi_align.default": roi_align}
