# SPDX-License-Identifier: Apache-2.0
"""Matching: keypoints of two pictures, points of two clouds, anchors and masks to their targets."""

from types import SimpleNamespace

import torch

from tests.models.inputs import boxes, boxes_of, uniform
from tests.models.registry import ints, model, rand, randomise, seeded, with_torchvision_operators


@model("transformers", "optimal transport between the keypoints that a detector found in two images")
def superglue():
    from transformers import SuperGlueConfig, SuperGlueForKeypointMatching, SuperPointConfig

    detector = SuperPointConfig(
        encoder_hidden_sizes=[4, 4, 8, 8],
        decoder_hidden_size=8,
        descriptor_decoder_dim=16,
        keypoint_threshold=0.016,
        nms_radius=2,
        border_removal_distance=2,
        max_keypoints=8,
    )
    m = randomise(
        SuperGlueForKeypointMatching(
            SuperGlueConfig(
                keypoint_detector_config=detector,
                hidden_size=16,
                keypoint_encoder_sizes=[8, 16],
                gnn_layers_types=["self", "cross"],
                num_attention_heads=2,
                sinkhorn_iterations=3,
            )
        ),
        scale=2.0,
    )

    def run(x):
        out = m(x)
        return out.matches, out.matching_scores, out.mask

    return run, [(rand(1, 2, 3, 16, 16, seed=s, scale=1 + s),) for s in range(3)]


@model("transformers", "matches of keypoints with enough score, in both images")
def superglue_post_process():
    from transformers import SuperGlueImageProcessor

    processor = SuperGlueImageProcessor()

    def run(mask, points, matches, scores):
        out = SimpleNamespace(mask=mask, keypoints=points, matches=matches, matching_scores=scores)
        return processor.post_process_keypoint_matching(out, [[(20, 30), (30, 20)]], threshold=0.3)

    return run, [((torch.arange(6) < torch.tensor([[6 - s], [5 - s]])).long()[None], rand(1, 2, 6, 2, seed=s).sigmoid(),
                  ints(1, 2, 6, low=-1, high=5 - s, seed=s), rand(1, 2, 6, seed=s).sigmoid()) for s in range(3)]


@model("transformers", "keypoints matched by Sinkhorn's steps, some masked")
def superglue_with_masks():
    from transformers import SuperGlueConfig, SuperGlueForKeypointMatching

    detector = dict(
        model_type="superpoint",
        encoder_hidden_sizes=[8, 8],
        decoder_hidden_size=8,
        descriptor_decoder_dim=16,
        keypoint_decoder_dim=9,
    )
    m = randomise(
        SuperGlueForKeypointMatching(
            SuperGlueConfig(
                hidden_size=16,
                keypoint_encoder_sizes=[8, 16],
                gnn_layers_types=["self", "cross"],
                num_attention_heads=2,
                sinkhorn_iterations=5,
                keypoint_detector_config=detector,
            )
        )
    )
    return (lambda points, d, scores, mask: m._match_image_pair(points, d, scores, 16, 16, mask=mask)[:2]), [
        (uniform(1, 2, 4, 2, seed=s) * 16, rand(1, 2, 4, 16, seed=s), uniform(1, 2, 4, seed=s),
         (torch.arange(4) < n).int()[None, None].expand(1, 2, 4).contiguous()) for s, n in enumerate([4, 4, 3, 2])]


@model("transformers", "coarse matches that are mutual and above a threshold, then refined")
def efficient_loftr():
    from transformers import EfficientLoFTRConfig, EfficientLoFTRForKeypointMatching

    m = randomise(
        EfficientLoFTRForKeypointMatching(
            EfficientLoFTRConfig(
                stage_num_blocks=[1, 1, 1, 1],
                out_features=[4, 4, 8, 32],
                hidden_size=32,
                num_attention_layers=1,
                num_attention_heads=2,
                q_aggregation_kernel_size=2,
                kv_aggregation_kernel_size=2,
                q_aggregation_stride=2,
                kv_aggregation_stride=2,
                coarse_matching_threshold=0.05,
                coarse_matching_border_removal=1,
                fine_kernel_size=8,
                fine_matching_slice_dim=2,
                rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 1.0},
            )
        ),
        scale=2.0,
    )

    def run(x):
        out = m(x)
        return out.matches, out.matching_scores, out.keypoints

    return run, [(rand(1, 2, 3, 64, 64, seed=s, scale=1 + s),) for s in range(3)]


def lightglue_model(**options):
    from transformers import LightGlueConfig, LightGlueForKeypointMatching, SuperPointConfig

    detector = SuperPointConfig(encoder_hidden_sizes=[4, 4, 8, 8], decoder_hidden_size=8, descriptor_decoder_dim=16,
                                keypoint_threshold=0.016, nms_radius=2, border_removal_distance=2, max_keypoints=12)
    config = LightGlueConfig(
        keypoint_detector_config=detector, descriptor_dim=16, num_hidden_layers=3, num_attention_heads=2, **options
    )
    return randomise(LightGlueForKeypointMatching(config), scale=2.0)


@model("transformers", "matching stops early when confident, and prunes points that can't match")
def lightglue():
    m = lightglue_model(depth_confidence=0.5, width_confidence=0.5)
    return (lambda x: (m(x).matches, m(x).matching_scores)), [
        (rand(1, 2, 3, 16, 16, seed=s, scale=1 + s),) for s in range(4)
    ]


@model("kornia", "matching stops early when confident, and prunes points that can't match")
def kornia_lightglue():
    from kornia.feature.lightglue import LightGlue

    m = LightGlue(
        features=None,
        input_dim=16,
        descriptor_dim=16,
        n_layers=3,
        num_heads=2,
        flash=False,
        depth_confidence=0.5,
        width_confidence=0.5,
        filter_threshold=0.05,
        weights=None,
    )
    randomise(m, scale=2.0)

    def run(k0, d0, k1, d1):
        size = torch.tensor([[32.0, 32.0]])
        out = m({"image0": {"keypoints": k0, "descriptors": d0, "image_size": size},
                 "image1": {"keypoints": k1, "descriptors": d1, "image_size": size}})
        return out["matches0"], out["matching_scores0"], out["stop"]

    return run, [(rand(1, 7, 2, seed=s).abs() * 10, rand(1, 7, 16, seed=s + 5), rand(1, 6, 2, seed=s + 9).abs() * 10,
                  rand(1, 6, 16, seed=s + 7)) for s in range(4)]


@model("kornia", "mutual nearest neighbours: as many matches as there are")
def kornia_match_mnn():
    from kornia.feature import match_mnn

    return (lambda a, b: match_mnn(a, b)), [(rand(6, 4, seed=s), rand(5, 4, seed=s + 20)) for s in range(4)]


@model("kornia", "second-nearest-neighbour ratio, with an answer for the empty case")
def kornia_match_smnn():
    from kornia.feature import match_smnn

    return (lambda a, b: match_smnn(a, b, 0.9)), [
        (rand(6, 4, seed=s, scale=0.2 + s), rand(5, 4, seed=s + 20)) for s in range(5)
    ]


@model("kornia", "nearest descriptors, the second of which lies elsewhere in the picture")
def kornia_match_fginn():
    from kornia.feature import laf_from_center_scale_ori, match_fginn

    def run(a, b, places_a, places_b):
        return match_fginn(
            a,
            b,
            laf_from_center_scale_ori(places_a),
            laf_from_center_scale_ori(places_b),
            th=0.9,
            spatial_th=2.0,
            mutual=True,
        )

    return run, [
        (rand(5, 4, seed=s), rand(6, 4, seed=50 + s), uniform(1, 5, 2, seed=s) * 8, uniform(1, 6, 2, seed=9 + s) * 8)
        for s in range(5)
    ]


@model("kornia", "matches kept where their neighbours agree")
def kornia_adalam():
    from kornia.feature import match_adalam

    def frames(s):
        centres = torch.rand(1, 12, 2, generator=seeded(s)) * 40
        return torch.cat([torch.eye(2).expand(1, 12, 2, 2) * 3, centres.unsqueeze(-1)], -1)

    return (lambda d1, d2, f1, f2: match_adalam(d1, d2, f1, f2, hw1=(40, 40), hw2=(40, 40))), [
        (rand(12, 8, seed=s), rand(12, 8, seed=s) + 0.3 * rand(12, 8, seed=s + 5), frames(s), frames(s + k))
        for s, k in enumerate([0, 1, 0])
    ]


@model("kornia", "four-point estimates by weighted DLT, refined while weights change", rtol=1e-2, atol=1e-2)
def kornia_homography_iterated():
    from kornia.geometry.homography import find_homography_dlt_iterated

    grid = torch.tensor([[[0.0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.3]]])
    return (lambda a, b, w: find_homography_dlt_iterated(a, b, w, n_iter=2)), [
        (grid + 0.05 * rand(1, 5, 2, seed=s), grid * 1.2 + 0.1, torch.ones(1, 5)) for s in range(2)]


@model("pypose", "points matched to their nearest until the error stays")
def pypose_icp():
    import pypose as pp

    m = pp.module.ICP()
    return (lambda a, b: m(a, b).tensor()), [
        (rand(8, 3, seed=s), rand(8, 3, seed=s) + 0.1 * rand(8, 3, seed=s + 9)) for s in range(4)
    ]


@model("transformers", "boxes matched to targets by the least cost, and the loss of the pairs", rtol=1e-3, atol=1e-4)
def detr_hungarian_loss():
    from transformers.loss.loss_for_object_detection import ForObjectDetectionLoss

    config = SimpleNamespace(
        class_cost=1,
        bbox_cost=5,
        giou_cost=2,
        num_labels=3,
        eos_coefficient=0.1,
        bbox_loss_coefficient=5,
        giou_loss_coefficient=2,
        auxiliary_loss=False,
    )

    def run(logits, boxes, *targets):
        labels = [{"class_labels": classes, "boxes": wanted} for classes, wanted in zip(targets[::2], targets[1::2])]
        return ForObjectDetectionLoss(logits, labels, torch.device("cpu"), boxes, config)[:2]

    return run, [
        (
            rand(2, 6, 4, seed=s),
            boxes_of(s, batch=2),
            ints(2, low=0, high=3, seed=s),
            boxes_of(s + 9, 2)[0],
            ints(3, low=0, high=3, seed=s + 1),
            boxes_of(s + 5, 3)[0],
        )
        for s in range(4)
    ]


@model("transformers", "costs of each pair of mask and target")
def maskformer_costs():
    from transformers.models.maskformer.modeling_maskformer import pair_wise_dice_loss, pair_wise_sigmoid_focal_loss

    return (lambda a, b: (pair_wise_dice_loss(a, b), pair_wise_sigmoid_focal_loss(a, b))), [
        (rand(3, 6, seed=s), (rand(2, 6, seed=s + 1) > 0).float()) for s in range(3)]


@model("torchvision", "a detector's anchors matched to boxes, low-quality matches kept")
def torchvision_matcher():
    from torchvision.models.detection._utils import Matcher
    from torchvision.ops import box_iou

    with_torchvision_operators()
    match = Matcher(0.6, 0.3, allow_low_quality_matches=True)

    def run(a, b):
        return match(box_iou(torch.cat([a, a + 1], 1), torch.cat([b, b + 1], 1)))

    return run, [(rand(3, 2, seed=s, scale=0.7), rand(5, 2, seed=s + 9, scale=0.7)) for s in range(4)]


@model("monai", "anchors assigned to boxes by adaptive thresholds")
def monai_atss_matcher():
    from monai.apps.detection.utils.ATSS_matcher import ATSSMatcher

    m = ATSSMatcher(num_candidates=2, center_in_gt=False)

    def boxes(n, s):
        corner = rand(n, 2, seed=s).abs() * 4
        return torch.cat([corner, corner + 1 + rand(n, 2, seed=s + 5).abs() * 3], 1)

    return (lambda b, a: m(b, a, [8], 1)), [(boxes(3, s), boxes(8, s + 20)) for s in range(5)]


@model("ultralytics", "the cheapest assignment by shortest augmenting paths")
def ultralytics_assignment():
    from ultralytics.utils.ops import _linear_sum_assignment_numpy

    return (lambda cost: _linear_sum_assignment_numpy(cost.numpy())), [
        (uniform(3, 4, seed=s).double(),) for s in range(5)
    ]


@model("ultralytics", "anchors assigned to boxes: the best ones inside, one box per anchor")
def ultralytics_task_aligned():
    from ultralytics.utils.tal import TaskAlignedAssigner

    m = TaskAlignedAssigner(topk=3, num_classes=3)
    places = torch.stack(torch.meshgrid(torch.arange(4) + 0.5, torch.arange(4) + 0.5, indexing="ij"), -1).reshape(-1, 2)
    return (lambda scores, found, labels, truth, mask: m(scores, found, places, labels, truth, mask)), [
        (uniform(1, 16, 3, seed=s), boxes(16, s)[None], ints(1, 2, 1, high=3, seed=s), boxes(2, 60 + s)[None],
         torch.tensor([[[1.0], [float(s % 2)]]])) for s in range(4)]


@model("ultralytics", "turned boxes suppressed by those that overlap them more")
def ultralytics_rotated_suppression():
    from ultralytics.utils.metrics import batch_probiou
    from ultralytics.utils.nms import TorchNMS

    return (lambda found, scores: TorchNMS.fast_nms(found, scores, 0.3, iou_func=batch_probiou)), [
        (torch.cat((boxes(6, s), rand(6, 1, seed=s)), 1), uniform(6, seed=s)) for s in range(5)]


@model("pyro-ppl", "marginals of assignments, by belief propagation")
def pyro_assignment():
    from pyro.contrib.tracking.assignment import MarginalAssignment

    def run(exists, assign):
        found = MarginalAssignment(exists, assign, bp_iters=5)
        return found.exists_dist.probs, found.assign_dist.probs

    return run, [(rand(3, seed=s), rand(4, 3, seed=s + 3)) for s in range(3)]
