# SPDX-License-Identifier: Apache-2.0
"""Metrics and losses that rank, match or mine: their sums run over as many pairs as the data give."""

import torch

from tests.models.inputs import boxes, uniform
from tests.models.registry import ints, model, rand, seeded


@model("torchmetrics", "ROC curve: thresholds are the distinct scores")
def torchmetrics_auroc():
    from torchmetrics.functional.classification import binary_auroc

    return (lambda p, t: binary_auroc(p, t, thresholds=None, validate_args=False)), [
        (rand(8, seed=s).sigmoid(), ints(8, high=2, seed=s)) for s in range(4)]


@model("torchmetrics", "average precision of a ranking; zero if nothing is relevant")
def torchmetrics_retrieval():
    from torchmetrics.functional.retrieval import retrieval_average_precision

    return (lambda p, t: retrieval_average_precision(p, t)), [
        (rand(6, seed=s).sigmoid(), (ints(6, high=2, seed=s) * (s != 2)).bool()) for s in range(4)]


@model("torchmetrics", "segments matched by their overlap: panoptic quality")
def panoptic_quality():
    from torchmetrics.functional.detection import panoptic_quality

    def picture(s):
        return torch.stack([ints(1, 2, 3, low=0, high=3, seed=s), ints(1, 2, 3, high=2, seed=s + 3)], -1)

    return (lambda p, t: panoptic_quality(p, t, things={0, 1}, stuffs={2})), [
        (picture(s), picture(s + 1)) for s in range(3)
    ]


@model("torchmetrics", "pixels of two surfaces, the farthest pair")
def hausdorff_distance():
    from torchmetrics.functional.segmentation import hausdorff_distance

    return (lambda p, t: hausdorff_distance(p, t, num_classes=2, include_background=True)), [
        (
            (torch.rand(1, 2, 5, 5, generator=seeded(s)) > 0.5).long(),
            (torch.rand(1, 2, 5, 5, generator=seeded(s + 3)) > 0.5).long(),
        )
        for s in range(3)
    ]


@model("kornia", "average precision: detections ranked, each takes the object that it overlaps most unless it is taken")
def kornia_mean_average_precision():
    from kornia.metrics import mean_average_precision

    def run(found, labels, scores, truth, true_labels):
        return mean_average_precision([found], [labels], [scores], [truth], [true_labels], 3, 0.4)

    return run, [
        (
            boxes(4, s),
            ints(4, low=1, high=3, seed=s),
            uniform(4, seed=s),
            boxes(3, s + 40) if s else boxes(4, 0)[:3],
            ints(3, low=1, high=3, seed=s + 1),
        )
        for s in range(4)
    ]


@model("pytorch-metric-learning", "hard pairs mined; zero loss if there are none")
def contrastive_with_miner():
    from pytorch_metric_learning import losses, miners

    miner, loss = miners.MultiSimilarityMiner(), losses.ContrastiveLoss()
    labels = [torch.tensor([0, 0, 1, 1, 2]), torch.tensor([0, 1, 2, 3, 4]), torch.tensor([0, 0, 0, 0, 0])]
    return (lambda x, y: loss(x, y, miner(x, y))), [(rand(5, 4, seed=i), y) for i, y in enumerate(labels)]


@model("pytorch-metric-learning", "triplets within a margin")
def triplet_margin():
    from pytorch_metric_learning import losses

    loss = losses.TripletMarginLoss(margin=0.3)
    labels = [torch.tensor([0, 0, 1, 1, 2]), torch.tensor([0, 1, 2, 3, 4]), torch.tensor([0, 0, 1, 0, 1])]
    return (lambda x, y: loss(x, y)), [(rand(5, 4, seed=i), y) for i, y in enumerate(labels)]
