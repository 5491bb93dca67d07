# SPDX-License-Identifier: Apache-2.0
"""Torchvision's own operators. They exist only once that package is imported, so the tables go by name."""

from __future__ import annotations

import torch

from ..registry import dim_value, squeeze, static, unsqueeze
from .shapes import slice_

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
