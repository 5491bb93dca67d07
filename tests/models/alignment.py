# SPDX-License-Identifier: Apache-2.0
"""Decoders and post-processing that packages write in numpy: arrays are filled step by step, in places that the data name."""

import torch

from tests.models.registry import model, rand


@model("transformers", "the cheapest way through a matrix, found backwards")
def whisper_dynamic_time_warping():
    from transformers.models.whisper.generation_whisper import _dynamic_time_warping

    return (lambda x: _dynamic_time_warping(x.numpy())), [(rand(3, 4, seed=s),) for s in range(4)]


def alignments():
    return [(rand(2, 3, 6, seed=s), (torch.arange(3)[None, :, None] < 2 + s % 2) * (torch.arange(6) < 6 - s).float() + torch.zeros(2, 3, 6))
            for s in range(3)]


@model("monotonic-alignment-search", "the best monotonic alignment, followed back from each row's end")
def monotonic_alignment():
    from monotonic_alignment_search.path import maximum_path_numpy

    return maximum_path_numpy, alignments()


@model("speechbrain", "the best monotonic alignment, followed back from each row's end")
def speechbrain_alignment():
    from speechbrain.lobes.models.FastSpeech2 import maximum_path_numpy

    return maximum_path_numpy, alignments()


def boxes(seed):
    corner = torch.rand(6, 2, generator=torch.Generator().manual_seed(seed)) * 10
    return torch.cat([corner, corner + 4 + rand(6, 2, seed=seed).abs()], 1)


@model("facenet-pytorch", "boxes suppressed one after the other, until none is left")
def facenet_nms():
    from facenet_pytorch.models.utils.detect_face import batched_nms_numpy

    return (lambda b, s, i: batched_nms_numpy(b, s, i, 0.3, "Min")), [
        (boxes(s), rand(6, seed=s), torch.tensor([0, 0, 1, 0, 1, 0])) for s in range(4)]


@model("segment-anything", "runs of equal pixels, and the masks that they stand for")
def segment_anything_runs():
    from segment_anything.utils.amg import area_from_rle, mask_to_rle_pytorch, rle_to_mask

    def run(x):
        runs = mask_to_rle_pytorch(x > 0)
        return [rle_to_mask(r) for r in runs], [area_from_rle(r) for r in runs]

    return run, [(rand(1, 2, 3, seed=s),) for s in range(3)]
