# SPDX-License-Identifier: Apache-2.0
"""Segments: masks kept, painted over each other, merged, pasted, and written as runs of equal pixels."""

from types import SimpleNamespace

import torch

from tests.models.inputs import boxes, uniform
from tests.models.registry import model, rand, randomise


@model("transformers", "segments above a threshold painted one after the other; their number varies")
def detr_panoptic_segments():
    from transformers.models.detr.image_processing_detr import compute_segments

    return (lambda masks, scores, labels: compute_segments(masks, scores, labels, 0.5, 0.5, set())), [
        (rand(3, 4, 4, seed=s).sigmoid(), rand(3, seed=s).sigmoid(), torch.tensor([0, 1, 1])) for s in range(3)]


@model("transformers", "segments of classes: low scores and the empty class are dropped, the rest painted and merged")
def oneformer_panoptic():
    from transformers.models.oneformer.image_processing_oneformer import OneFormerImageProcessor as Processor

    def run(classes, masks):
        outputs = SimpleNamespace(class_queries_logits=classes, masks_queries_logits=masks)
        return Processor.post_process_panoptic_segmentation(
            SimpleNamespace(metadata=None), outputs, threshold=0.5, label_ids_to_fuse={1}
        )

    return run, [(rand(1, 4, 4, seed=s, scale=4), rand(1, 4, 5, 5, seed=20 + s, scale=3)) for s in range(5)]


def segment_inputs():
    return [(rand(1, 4, 4, seed=s, scale=2 + s), rand(1, 4, 8, 8, seed=s + 3, scale=3)) for s in range(3)]


@model("transformers", "instances: masks with a score above a threshold painted over each other")
def mask2former_instances():
    from transformers import Mask2FormerImageProcessor

    processor = Mask2FormerImageProcessor()
    return (
        lambda classes, masks: processor.post_process_instance_segmentation(
            SimpleNamespace(class_queries_logits=classes, masks_queries_logits=masks),
            threshold=0.4,
            target_sizes=[(6, 6)],
        )
    ), segment_inputs()


@model("transformers", "segments with labels fused, overlaps resolved, small ones dropped")
def mask2former_panoptic():
    from transformers import Mask2FormerImageProcessor

    processor = Mask2FormerImageProcessor()
    return (
        lambda classes, masks: processor.post_process_panoptic_segmentation(
            SimpleNamespace(class_queries_logits=classes, masks_queries_logits=masks),
            threshold=0.3,
            overlap_mask_area_threshold=0.5,
            label_ids_to_fuse={0},
            target_sizes=[(6, 6)],
        )
    ), segment_inputs()


@model("transformers", "one class per pixel")
def mask2former_semantic():
    from transformers import Mask2FormerImageProcessor

    processor = Mask2FormerImageProcessor()
    return (
        lambda classes, masks: processor.post_process_semantic_segmentation(
            SimpleNamespace(class_queries_logits=classes, masks_queries_logits=masks), target_sizes=[(6, 6)]
        )
    ), segment_inputs()


@model("torchvision", "masks pasted where their boxes are, cut at the border")
def torchvision_paste_masks():
    from torchvision.models.detection.roi_heads import paste_masks_in_image

    return (lambda masks, found: paste_masks_in_image(masks, found, (8, 9))), [
        (uniform(3, 1, 4, 4, seed=s), boxes(3, s)) for s in range(4)
    ]


@model("torchvision", "boxes around masks")
def masks_to_boxes():
    from torchvision.ops import masks_to_boxes as boxes

    def mask(s):
        return rand(3, 6, 6, seed=s) > 1.0

    return boxes, [(mask(s),) for s in range(3)]


@model("monai", "the box around what is there; a crop to it")
def monai_foreground_box():
    from monai.transforms.utils import generate_spatial_bounding_box

    def run(image):
        start, end = generate_spatial_bounding_box(image, margin=1, allow_smaller=True)
        return image[:, start[0]:end[0], start[1]:end[1]], start, end

    images = []
    for s in range(5):
        image = torch.zeros(1, 6, 7)
        if s:
            image[:, s % 3:s % 3 + s, 1:1 + s] = uniform(1, s, s, seed=s)[:, :6 - s % 3]
        images.append(image)
    return run, [(image,) for image in images[1:] + images[:1]]


@model("diffusers", "pictures near forbidden concepts are blackened; a stricter limit after a first one")
def safety_checker():
    from diffusers.pipelines.stable_diffusion.safety_checker import StableDiffusionSafetyChecker
    from transformers import CLIPConfig

    tiny = dict(hidden_size=8, intermediate_size=12, num_hidden_layers=1, num_attention_heads=2, projection_dim=6)
    m = randomise(
        StableDiffusionSafetyChecker(
            CLIPConfig(text_config=tiny, vision_config=dict(image_size=8, patch_size=4, **tiny), projection_dim=6)
        )
    )
    with torch.no_grad():
        m.concept_embeds_weights.fill_(0.75)
        m.special_care_embeds_weights.fill_(0.4)
    return m, [(rand(2, 3, 8, 8, seed=s, scale=3), rand(2, 3, 4, 4, seed=s)) for s in range(5)]
