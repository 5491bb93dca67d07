# SPDX-License-Identifier: Apache-2.0
"""Segment Anything: prompts by their labels, masks kept by quality and stability, their boxes and runs."""

import torch

from tests.models.inputs import uniform
from tests.models.registry import ints, model, rand, randomise, with_torchvision_operators


@model("transformers", "prompts embedded by their labels")
def sam_prompts():
    from transformers import SamConfig, SamMaskDecoderConfig, SamModel, SamPromptEncoderConfig, SamVisionConfig

    m = randomise(
        SamModel(
            SamConfig(
                vision_config=SamVisionConfig(
                    hidden_size=16,
                    num_hidden_layers=1,
                    num_attention_heads=2,
                    image_size=32,
                    patch_size=8,
                    output_channels=16,
                    window_size=2,
                    global_attn_indexes=[0],
                    mlp_dim=16,
                    num_pos_feats=8,
                ),
                prompt_encoder_config=SamPromptEncoderConfig(
                    hidden_size=16, image_size=32, patch_size=8, mask_input_channels=4
                ),
                mask_decoder_config=SamMaskDecoderConfig(
                    hidden_size=16, mlp_dim=16, num_hidden_layers=1, num_attention_heads=2, iou_head_hidden_dim=16
                ),
            )
        )
    )
    return (lambda e, points, labels: m(image_embeddings=e, input_points=points, input_labels=labels)[:2]), [
        (rand(1, 16, 4, 4, seed=s), uniform(1, 1, 3, 2, seed=s) * 32, torch.tensor([[n]]))
        for s, n in enumerate([[1, 1, 0], [1, -1, -1], [0, 0, 0], [1, 0, -10]])]


@model("segment-anything", "points, boxes or neither as prompts of masks", rtol=1e-3, atol=1e-3)
def segment_anything_prompts():
    from segment_anything.modeling import MaskDecoder, PromptEncoder, TwoWayTransformer

    prompt = randomise(
        PromptEncoder(embed_dim=8, image_embedding_size=(4, 4), input_image_size=(16, 16), mask_in_chans=4)
    )
    decode = randomise(
        MaskDecoder(transformer_dim=8, transformer=TwoWayTransformer(depth=1, embedding_dim=8, mlp_dim=8, num_heads=2))
    )

    def run(image, points, labels):
        sparse, dense = prompt((points, labels), None, None)
        masks, quality = decode(image, prompt.get_dense_pe(), sparse, dense, True)
        best = quality[0].argmax().item()
        return masks[:, best], quality

    return run, [
        (rand(1, 8, 4, 4, seed=s), uniform(1, 3, 2, seed=s) * 16, ints(1, 3, low=-1, high=2, seed=s)) for s in range(4)
    ]


@model("transformers", "masks kept by quality and stability; their boxes")
def sam_filter_masks():
    from transformers.models.sam.image_processing_sam import _batched_mask_to_box, _compute_stability_score

    def run(masks, scores):
        keep = (scores > 0.5) & (_compute_stability_score(masks, 0.0, 0.5) > 0.3)
        kept = masks[keep] > 0
        return kept, _batched_mask_to_box(kept)

    return run, [(rand(5, 6, 6, seed=s, scale=2), rand(5, seed=s).sigmoid()) for s in range(3)]


@model("segment-anything", "run-length encoding of masks")
def sam_mask_to_rle():
    from segment_anything.utils.amg import mask_to_rle_pytorch

    return (lambda m: mask_to_rle_pytorch(m > 0)), [(rand(2, 4, 5, seed=s),) for s in range(4)]


@model("segment-anything", "boxes of masks, empty ones included")
def sam_mask_to_box():
    from segment_anything.utils.amg import batched_mask_to_box, calculate_stability_score

    return (lambda m: (batched_mask_to_box(m > 1), calculate_stability_score(m, 0.0, 1.0))), [
        (rand(3, 4, 5, seed=s, scale=0.4 + s),) for s in range(4)]


@model("segment-anything", "runs of equal pixels, and the masks that they stand for")
def segment_anything_runs():
    from segment_anything.utils.amg import area_from_rle, mask_to_rle_pytorch, rle_to_mask

    def run(x):
        runs = mask_to_rle_pytorch(x > 0)
        return [rle_to_mask(r) for r in runs], [area_from_rle(r) for r in runs]

    return run, [(rand(1, 2, 3, seed=s),) for s in range(3)]


@model("transformers", "masks that are stable and away from the crop's edge, as runs, without overlaps")
def sam2_mask_generation():
    with_torchvision_operators()
    from transformers import Sam2ImageProcessor

    processor = Sam2ImageProcessor()

    def run(masks, scores):
        kept, scores, boxes = processor.filter_masks(
            masks, scores, (16, 16), [0, 0, 16, 16], pred_iou_thresh=0.3, stability_score_thresh=0.2
        )
        return scores, boxes

    return run, [(rand(2, 2, 16, 16, seed=s, scale=2), rand(2, 2, seed=s).sigmoid()) for s in range(4)]


@model("transformers", "runs of equal pixels of masks, suppressed where their boxes overlap")
def sam2_suppression():
    with_torchvision_operators()
    from transformers.models.sam2.image_processing_sam2 import (
        _batched_mask_to_box,
        _mask_to_rle,
        _post_process_for_mask_generation,
    )

    def run(masks, scores):
        masks = masks > 0.5
        return _post_process_for_mask_generation(_mask_to_rle(masks), scores, _batched_mask_to_box(masks).float(), 0.5)[
            1:
        ]

    return run, [(rand(3, 6, 6, seed=s), rand(3, seed=s)) for s in range(3)]
