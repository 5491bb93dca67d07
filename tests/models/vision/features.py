# SPDX-License-Identifier: Apache-2.0
"""Features of pictures: keypoints and edges by threshold, components, histograms, distances."""

import torch

from tests.models.inputs import images
from tests.models.registry import model, rand, randomise, seeded


@model("transformers", "keypoints by threshold after non-maximum suppression; their number varies")
def superpoint():
    from transformers import SuperPointConfig, SuperPointForKeypointDetection

    config = SuperPointConfig(encoder_hidden_sizes=[4, 4, 8, 8], decoder_hidden_size=8, descriptor_decoder_dim=8,
                              keypoint_threshold=0.02, nms_radius=2, border_removal_distance=2)
    m = randomise(SuperPointForKeypointDetection(config), scale=2.0)
    return (lambda x: tuple(m(x)[k] for k in ("keypoints", "scores", "mask"))), images(1, 3, 16, 16)


@model("kornia", "key points of a heat map, as many as there are")
def kornia_disk():
    from kornia.feature.disk.detector import heatmap_to_keypoints

    return (
        lambda h: [
            (k.xys, k.detection_logp) for k in heatmap_to_keypoints(h, n=None, window_size=3, score_threshold=0.5)
        ]
    ), [(rand(1, 1, 12, 12, seed=s),) for s in range(4)]


@model("kornia", "key points are refined until none moves")
def kornia_sift():
    import kornia.feature as kf

    return kf.SIFTFeature(8, upright=True).eval(), [(rand(1, 1, 32, 32, seed=s).sigmoid(),) for s in range(2)]


def pictures(*shape, count=4):
    return [(torch.rand(*shape, generator=seeded(s)),) for s in range(count)]


@model("kornia", "keypoints above a threshold, as many as there are")
def kornia_aliked_keypoints():
    from kornia.feature.aliked.aliked import DKD

    m = DKD(radius=2, top_k=-1, scores_th=0.9, n_limit=20)
    return (lambda x: m(x)[0]), pictures(1, 1, 16, 16)


@model("kornia", "line segments from junctions and a heatmap")
def kornia_sold2_detector():
    from kornia.feature import SOLD2_detector

    m = SOLD2_detector(pretrained=False).eval()
    return (lambda x: m(x)["line_segments"]), pictures(1, 1, 64, 64, count=2)


@model("kornia", "local maxima of a response map, the strongest kept")
def kornia_nms2d():
    from kornia.geometry.subpix import nms2d

    return (lambda x: (nms2d(x, (3, 3)), nms2d(x, (3, 3), mask_only=True))), [
        (rand(1, 1, 6, 6, seed=s),) for s in range(3)
    ]


@model("kornia", "weak edges that touch strong ones, until none is added")
def kornia_canny():
    from kornia.filters import canny

    return (lambda x: canny(x, 0.3, 0.9)), pictures(1, 1, 10, 10)


@model("kornia", "the threshold that parts the grey values best")
def kornia_otsu():
    from kornia.filters import otsu_threshold

    return (lambda x: otsu_threshold(x, nbins=8)), pictures(1, 1, 6, 6)


@model("kornia", "equalised by the histogram of each channel")
def kornia_equalize():
    from kornia.enhance import equalize

    return (lambda x: equalize(x)), [(rand(1, 1, 5, 5, seed=s).sigmoid(),) for s in range(2)] + [
        (torch.zeros(1, 1, 5, 5),)
    ]


@model("kornia", "connected components by iterated maxima")
def kornia_connected_components():
    from kornia.contrib import connected_components

    return (lambda x: connected_components(x, num_iterations=6)), [
        ((rand(1, 1, 6, 6, seed=s) > 0.3).float(),) for s in range(3)
    ]


@model("kornia", "distances to the nearest pixel, widened until all are reached")
def kornia_distance_transform():
    from kornia.contrib import distance_transform

    return (lambda x: distance_transform((x > 0.9).float())), pictures(1, 1, 9, 9)
