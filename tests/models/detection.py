# SPDX-License-Identifier: Apache-2.0
"""Detectors: proposals, queries and anchors kept by score and by non-maximum suppression; their number varies."""

import torch
from torch import nn

from tests.models.registry import model, rand, randomise, with_torchvision_operators


class Backbone(nn.Module):
    """A small pyramid of two levels."""

    out_channels = 8

    def __init__(self):
        super().__init__()
        self.stem, self.deep = nn.Conv2d(3, 8, 3, stride=4, padding=1), nn.Conv2d(8, 8, 3, stride=2, padding=1)

    def forward(self, x):
        low = self.stem(x).relu()
        return {"0": low, "1": self.deep(low).relu()}


def picked(detector, *names):
    def run(image):
        found = detector([image])[0]
        return tuple(found[n] for n in names or ("boxes", "labels", "scores"))

    return run


def pictures(n=4, size=32, channels=3):
    return [(rand(channels, size, size, seed=s, scale=0.5 + s).sigmoid(),) for s in range(n)]


def anchors(levels=2):
    from torchvision.models.detection.anchor_utils import AnchorGenerator

    return AnchorGenerator(sizes=((8,), (16,))[:levels], aspect_ratios=((0.5, 1.0),) * levels)


@model(
    "torchvision", "proposals filtered, suppressed, pooled and classified: two-stage detection", rtol=1e-3, atol=1e-3
)
def faster_rcnn():
    from torchvision.models.detection import FasterRCNN

    with_torchvision_operators()
    m = FasterRCNN(
        Backbone(),
        num_classes=3,
        min_size=32,
        max_size=32,
        rpn_anchor_generator=anchors(),
        rpn_pre_nms_top_n_test=24,
        rpn_post_nms_top_n_test=8,
        box_detections_per_img=5,
        box_score_thresh=0.3,
    )
    return picked(randomise(m, scale=2.0)), pictures()


@model("torchvision", "two-stage detection with masks", rtol=1e-3, atol=1e-3)
def mask_rcnn():
    from torchvision.models.detection import MaskRCNN

    with_torchvision_operators()
    m = MaskRCNN(
        Backbone(),
        num_classes=3,
        min_size=32,
        max_size=32,
        rpn_anchor_generator=anchors(),
        rpn_pre_nms_top_n_test=16,
        rpn_post_nms_top_n_test=6,
        box_detections_per_img=3,
        box_score_thresh=0.3,
    )
    return picked(randomise(m, scale=2.0), "boxes", "labels", "scores", "masks"), pictures()


@model("torchvision", "key points of the people found")
def keypoint_rcnn():
    from tests.models.registry import with_torchvision_operators

    with_torchvision_operators()
    from torchvision.models.detection import KeypointRCNN
    from torchvision.models.detection.anchor_utils import AnchorGenerator

    class Backbone(torch.nn.Module):
        out_channels = 8

        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 8, 8, 8)

        def forward(self, x):
            return self.conv(x)

    m = KeypointRCNN(
        Backbone(),
        num_classes=2,
        num_keypoints=3,
        min_size=32,
        max_size=32,
        rpn_anchor_generator=AnchorGenerator(((8, 16),), ((1.0,),)),
        rpn_pre_nms_top_n_test=8,
        rpn_post_nms_top_n_test=4,
        box_detections_per_img=2,
        keypoint_layers=(8,),
        keypoint_roi_pool=None,
        box_score_thresh=0.5,
    )
    m = randomise(m, scale=2.0)
    return (lambda x: m([x])[0]), [(rand(3, 32, 32, seed=s),) for s in range(4)]


@model(
    "torchvision", "one-stage detection: candidates by threshold per level, suppressed per class", rtol=1e-3, atol=1e-3
)
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
    m = FCOS(
        backbone,
        num_classes=3,
        min_size=32,
        max_size=32,
        score_thresh=0.4,
        topk_candidates=20,
        detections_per_img=5,
        anchor_generator=AnchorGenerator(sizes=((8,), (16,)), aspect_ratios=((1.0,),) * 2),
    )
    return picked(randomise(m)), pictures()


@model(
    "torchvision", "single-shot detection: per class, candidates by threshold, then suppression", rtol=1e-3, atol=1e-3
)
def ssd():
    from torchvision.models.detection.anchor_utils import DefaultBoxGenerator
    from torchvision.models.detection.ssd import SSD

    with_torchvision_operators()
    backbone = Backbone()
    backbone.out_channels = [8, 8]
    m = SSD(
        backbone,
        DefaultBoxGenerator([[2], [2]], scales=[0.2, 0.5, 0.9]),
        (32, 32),
        num_classes=3,
        score_thresh=0.35,
        topk_candidates=20,
        detections_per_img=5,
    )
    return picked(randomise(m)), pictures()


@model("transformers", "queries from the best places of an encoder; boxes refined layer by layer")
def d_fine():
    from transformers import DFineConfig, DFineForObjectDetection, HGNetV2Config

    backbone = HGNetV2Config(
        stage_in_channels=[8, 8, 16, 16],
        stage_mid_channels=[8, 8, 8, 8],
        stage_out_channels=[8, 16, 16, 16],
        stage_num_blocks=[1, 1, 1, 1],
        stage_downsample=[False, True, True, True],
        stage_light_block=[False] * 4,
        stage_kernel_size=[3] * 4,
        stage_numb_of_layers=[1] * 4,
        stem_channels=[3, 8, 8],
        depths=[1, 1, 1, 1],
        hidden_sizes=[8, 16, 16, 16],
        embedding_size=8,
        out_features=["stage3", "stage4"],
    )
    m = randomise(
        DFineForObjectDetection(
            DFineConfig(
                backbone_config=backbone,
                encoder_hidden_dim=16,
                encoder_in_channels=[16, 16],
                feat_strides=[16, 32],
                encoder_layers=1,
                encoder_ffn_dim=16,
                encoder_attention_heads=2,
                encode_proj_layers=[1],
                d_model=16,
                num_queries=6,
                decoder_in_channels=[16, 16],
                decoder_ffn_dim=16,
                num_feature_levels=2,
                decoder_n_points=[2, 2],
                decoder_layers=2,
                decoder_attention_heads=2,
                num_denoising=0,
                num_labels=3,
            )
        )
    )

    def run(x):
        out = m(x)
        return out.logits, out.pred_boxes

    return run, [(rand(1, 3, 64, 64, seed=s),) for s in range(3)]


@model(
    "transformers",
    "queries are the anchors with the highest scores; boxes refined layer by layer",
    rtol=1e-3,
    atol=1e-3,
)
def rt_detr_decode():
    from types import SimpleNamespace

    from transformers.models.rt_detr.image_processing_rt_detr import RTDetrImageProcessor

    p = RTDetrImageProcessor()
    return (lambda l, b: p.post_process_object_detection(SimpleNamespace(logits=l, pred_boxes=b), threshold=0.6)), [
        (rand(2, 5, 3, seed=s), rand(2, 5, 4, seed=s + 1).sigmoid()) for s in range(4)]


@model("facenet-pytorch", "the first net of a cascade: boxes above a threshold", rtol=1e-3, atol=1e-3)
def mtcnn_first_stage():
    from facenet_pytorch.models.mtcnn import PNet
    from facenet_pytorch.models.utils.detect_face import generateBoundingBox

    m = randomise(PNet(pretrained=False), scale=1.5)

    def run(x):
        reg, probs = m(x)
        return generateBoundingBox(reg, probs[:, 1], 1.0, 0.5)

    return run, [(rand(1, 3, 24, 24, seed=s, scale=1 + s),) for s in range(4)]


@model("retinaface-pytorch", "boxes decoded from priors")
def retinaface_decode():
    from retinaface.box_utils import decode

    priors = rand(6, 4, seed=9).sigmoid()
    return (lambda loc: decode(loc, priors, [0.1, 0.2])), [(rand(6, 4, seed=s),) for s in range(2)]
