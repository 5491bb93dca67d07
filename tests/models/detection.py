# SPDX-License-Identifier: Apache-2.0
"""Detectors: proposals and boxes kept by score and by non-maximum suppression; their number varies."""

import torch
from torch import nn

from tests.models.registry import model, rand, randomise, with_torchvision_operators


def pictures(n=4, size=32, channels=3):
    return [(rand(channels, size, size, seed=s, scale=0.5 + s).sigmoid(),) for s in range(n)]


class Backbone(nn.Module):
    """A small pyramid of two levels."""

    out_channels = 8

    def __init__(self):
        super().__init__()
        self.stem, self.deep = nn.Conv2d(3, 8, 3, stride=4, padding=1), nn.Conv2d(8, 8, 3, stride=2, padding=1)

    def forward(self, x):
        low = self.stem(x).relu()
        return {"0": low, "1": self.deep(low).relu()}


def anchors(levels=2):
    from torchvision.models.detection.anchor_utils import AnchorGenerator

    return AnchorGenerator(sizes=((8,), (16,))[:levels], aspect_ratios=((0.5, 1.0),) * levels)


def picked(detector, *names):
    def run(image):
        found = detector([image])[0]
        return tuple(found[n] for n in names or ("boxes", "labels", "scores"))

    return run


@model("torchvision", "proposals filtered, suppressed, pooled and classified: two-stage detection", rtol=1e-3, atol=1e-3)
def faster_rcnn():
    from torchvision.models.detection import FasterRCNN

    with_torchvision_operators()
    m = FasterRCNN(Backbone(), num_classes=3, min_size=32, max_size=32, rpn_anchor_generator=anchors(), rpn_pre_nms_top_n_test=24,
                   rpn_post_nms_top_n_test=8, box_detections_per_img=5, box_score_thresh=0.3)
    return picked(randomise(m, scale=2.0)), pictures()


@model("torchvision", "two-stage detection with masks", rtol=1e-3, atol=1e-3)
def mask_rcnn():
    from torchvision.models.detection import MaskRCNN

    with_torchvision_operators()
    m = MaskRCNN(Backbone(), num_classes=3, min_size=32, max_size=32, rpn_anchor_generator=anchors(), rpn_pre_nms_top_n_test=16,
                 rpn_post_nms_top_n_test=6, box_detections_per_img=3, box_score_thresh=0.3)
    return picked(randomise(m, scale=2.0), "boxes", "labels", "scores", "masks"), pictures()


@model("torchvision", "one-stage detection: candidates by threshold per level, suppressed per class", rtol=1e-3, atol=1e-3)
def retinanet():
    from torchvision.models.detection import RetinaNet

    with_torchvision_operators()
    m = RetinaNet(Backbone(), num_classes=3, min_size=32, max_size=32, anchor_generator=anchors(), score_thresh=0.55,
                  topk_candidates=20, detections_per_img=5)
    return picked(randomise(m, scale=1.0)), pictures()


@model("torchvision", "detection without anchors: centres above a threshold", rtol=1e-3, atol=1e-3)
def fcos():
    from torchvision.models.detection import FCOS
    from torchvision.models.detection.anchor_utils import AnchorGenerator

    with_torchvision_operators()
    backbone = Backbone()
    backbone.lift, backbone.out_channels = nn.Conv2d(8, 32, 1), 32
    backbone.forward = lambda x: {k: backbone.lift(v) for k, v in Backbone.forward(backbone, x).items()}
    m = FCOS(backbone, num_classes=3, min_size=32, max_size=32, score_thresh=0.4, topk_candidates=20, detections_per_img=5,
             anchor_generator=AnchorGenerator(sizes=((8,), (16,)), aspect_ratios=((1.0,),) * 2))
    return picked(randomise(m)), pictures()


@model("torchvision", "single-shot detection: per class, candidates by threshold, then suppression", rtol=1e-3, atol=1e-3)
def ssd():
    from torchvision.models.detection.anchor_utils import DefaultBoxGenerator
    from torchvision.models.detection.ssd import SSD

    with_torchvision_operators()
    backbone = Backbone()
    backbone.out_channels = [8, 8]
    m = SSD(backbone, DefaultBoxGenerator([[2], [2]], scales=[0.2, 0.5, 0.9]), (32, 32), num_classes=3, score_thresh=0.35,
            topk_candidates=20, detections_per_img=5)
    return picked(randomise(m)), pictures()


@model("torchvision", "non-maximum suppression per class, by offsets of the boxes")
def batched_nms():
    from torchvision.ops import batched_nms, remove_small_boxes

    with_torchvision_operators()

    def run(corners, sizes, scores, labels):
        boxes = torch.cat([corners, corners + sizes], 1)
        large = remove_small_boxes(boxes, 0.7)
        return boxes[large][batched_nms(boxes[large], scores[large], labels[large], 0.3)]

    return run, [(rand(6, 2, seed=s).abs() * 2, rand(6, 2, seed=s + 1).abs() * 2 + 0.5, rand(6, seed=s), torch.tensor([0, 1, 0, 1, 0, 0]))
                 for s in range(4)]


@model("ultralytics", "candidates by confidence, suppressed per class, a list per image", rtol=1e-3, atol=1e-3)
def ultralytics_nms():
    with_torchvision_operators()
    from ultralytics.utils.nms import non_max_suppression

    return (lambda p: non_max_suppression(p, conf_thres=0.6, iou_thres=0.5, max_det=5)), [
        (torch.cat([rand(2, 4, 12, seed=s).abs() * 20 + 4, rand(2, 3, 12, seed=s + 9).sigmoid()], 1),) for s in range(4)]


@model("transformers", "the best boxes above a threshold, per image")
def deformable_detr_post_process():
    import types

    from transformers.models.deformable_detr.image_processing_deformable_detr import DeformableDetrImageProcessor

    p = DeformableDetrImageProcessor()
    return (lambda logits, boxes: p.post_process_object_detection(types.SimpleNamespace(logits=logits, pred_boxes=boxes), threshold=0.7,
                                                                  top_k=8)), [
        (rand(2, 6, 4, seed=s, scale=2), rand(2, 6, 4, seed=s + 5).sigmoid()) for s in range(4)]


@model("transformers", "segments above a threshold painted one after the other; their number varies")
def detr_panoptic_segments():
    from transformers.models.detr.image_processing_detr import compute_segments

    return (lambda masks, scores, labels: compute_segments(masks, scores, labels, 0.5, 0.5, set())), [
        (rand(3, 4, 4, seed=s).sigmoid(), rand(3, seed=s).sigmoid(), torch.tensor([0, 1, 1])) for s in range(3)]


@model("transformers", "masks kept by quality and stability; their boxes")
def sam_filter_masks():
    from transformers.models.sam.image_processing_sam import _batched_mask_to_box, _compute_stability_score

    def run(masks, scores):
        keep = (scores > 0.5) & (_compute_stability_score(masks, 0.0, 0.5) > 0.3)
        kept = masks[keep] > 0
        return kept, _batched_mask_to_box(kept)

    return run, [(rand(5, 6, 6, seed=s, scale=2), rand(5, seed=s).sigmoid()) for s in range(3)]


@model("monai", "boxes of a detector by score and level, suppressed per class", rtol=1e-3, atol=1e-3)
def monai_box_selector():
    with_torchvision_operators()
    from monai.apps.detection.utils.box_selector import BoxSelector

    m = BoxSelector(nms_thresh=0.4, score_thresh=0.4, detections_per_img=4, topk_candidates_per_level=6)
    return (lambda corner, size, logits: m.select_boxes_per_image([torch.cat([corner, corner + size], 1)], [logits], (8, 8))), [
        (rand(8, 2, seed=s).abs() * 3, rand(8, 2, seed=s + 1).abs() * 3 + 0.1, rand(8, 3, seed=s + 2)) for s in range(4)]
