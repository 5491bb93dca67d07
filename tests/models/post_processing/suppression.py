# SPDX-License-Identifier: Apache-2.0
"""Non-maximum suppression: boxes removed by better ones that overlap them, until none is left."""

import torch

from tests.models.registry import model, rand, with_torchvision_operators


@model("torchvision", "non-maximum suppression per class, by offsets of the boxes")
def batched_nms():
    from torchvision.ops import batched_nms, remove_small_boxes

    with_torchvision_operators()

    def run(corners, sizes, scores, labels):
        boxes = torch.cat([corners, corners + sizes], 1)
        large = remove_small_boxes(boxes, 0.7)
        return boxes[large][batched_nms(boxes[large], scores[large], labels[large], 0.3)]

    return run, [
        (
            rand(6, 2, seed=s).abs() * 2,
            rand(6, 2, seed=s + 1).abs() * 2 + 0.5,
            rand(6, seed=s),
            torch.tensor([0, 1, 0, 1, 0, 0]),
        )
        for s in range(4)
    ]


@model("ultralytics", "candidates by confidence, suppressed per class, a list per image", rtol=1e-3, atol=1e-3)
def ultralytics_nms():
    with_torchvision_operators()
    from ultralytics.utils.nms import non_max_suppression

    return (lambda p: non_max_suppression(p, conf_thres=0.6, iou_thres=0.5, max_det=5)), [
        (torch.cat([rand(2, 4, 12, seed=s).abs() * 20 + 4, rand(2, 3, 12, seed=s + 9).sigmoid()], 1),) for s in range(4)
    ]


@model("kornia", "non-maximum suppression of boxes: a loop over the sorted scores")
def kornia_box_nms():
    from kornia.geometry.bbox import nms

    def run(corners, sizes, scores):
        return nms(torch.cat([corners, corners + sizes], 1), scores, 0.3)

    return run, [
        (rand(6, 2, seed=s).abs() * 3, rand(6, 2, seed=s + 1).abs() * 2 + 0.5, rand(6, seed=s)) for s in range(4)
    ]


@model("effdet", "soft suppression: boxes removed one by one while any remain")
def effdet_soft_nms():
    from effdet.soft_nms import soft_nms

    def run(corners, sizes, scores):
        return soft_nms(torch.cat([corners, corners + sizes], 1), scores, score_threshold=0.1)

    return run, [
        (rand(6, 2, seed=s).abs() * 3, rand(6, 2, seed=s + 1).abs() * 2 + 0.5, rand(6, seed=s).sigmoid())
        for s in range(4)
    ]


def boxes(seed):
    corner = torch.rand(6, 2, generator=torch.Generator().manual_seed(seed)) * 10
    return torch.cat([corner, corner + 4 + rand(6, 2, seed=seed).abs()], 1)


@model("facenet-pytorch", "boxes suppressed one after the other, until none is left")
def facenet_nms():
    from facenet_pytorch.models.utils.detect_face import batched_nms_numpy

    return (lambda b, s, i: batched_nms_numpy(b, s, i, 0.3, "Min")), [
        (boxes(s), rand(6, seed=s), torch.tensor([0, 0, 1, 0, 1, 0])) for s in range(4)]


@model("monai", "boxes of a detector by score and level, suppressed per class", rtol=1e-3, atol=1e-3)
def monai_box_selector():
    with_torchvision_operators()
    from monai.apps.detection.utils.box_selector import BoxSelector

    m = BoxSelector(nms_thresh=0.4, score_thresh=0.4, detections_per_img=4, topk_candidates_per_level=6)
    return (
        lambda corner, size, logits: m.select_boxes_per_image([torch.cat([corner, corner + size], 1)], [logits], (8, 8))
    ), [
        (rand(8, 2, seed=s).abs() * 3, rand(8, 2, seed=s + 1).abs() * 3 + 0.1, rand(8, 3, seed=s + 2)) for s in range(4)
    ]
