# SPDX-License-Identifier: Apache-2.0
"""Boxes, keypoints and phrases above a threshold, as many as there are."""

from types import SimpleNamespace

import torch

from tests.models.inputs import boxes_of, uniform
from tests.models.registry import ints, model, rand, randomise, with_torchvision_operators


@model("transformers", "boxes above a threshold, per image")
def detr_post_process():
    from transformers.models.detr.image_processing_detr import DetrImageProcessor
    from transformers.models.detr.modeling_detr import DetrObjectDetectionOutput

    processor = DetrImageProcessor()

    def run(logits, boxes):
        return processor.post_process_object_detection(
            DetrObjectDetectionOutput(logits=logits, pred_boxes=boxes), threshold=0.5
        )

    return run, [(rand(2, 5, 4, seed=s, scale=2 + s), rand(2, 5, 4, seed=s).sigmoid()) for s in range(4)]


@model("transformers", "the best boxes above a threshold, as many as there are")
def conditional_detr_post_process():
    from transformers import ConditionalDetrImageProcessor

    processor = ConditionalDetrImageProcessor()
    return (
        lambda logits, boxes, sizes: processor.post_process_object_detection(
            SimpleNamespace(logits=logits, pred_boxes=boxes), threshold=0.6, target_sizes=sizes, top_k=10
        )
    ), [
        (rand(2, 6, 4, seed=s, scale=1 + s), boxes_of(s, batch=2), torch.tensor([[10, 20], [30, 15 + s]]))
        for s in range(4)
    ]


@model("transformers", "the best boxes above a threshold, per image")
def deformable_detr_post_process():
    import types

    from transformers.models.deformable_detr.image_processing_deformable_detr import DeformableDetrImageProcessor

    p = DeformableDetrImageProcessor()
    return (
        lambda logits, boxes: p.post_process_object_detection(
            types.SimpleNamespace(logits=logits, pred_boxes=boxes), threshold=0.7, top_k=8
        )
    ), [(rand(2, 6, 4, seed=s, scale=2), rand(2, 6, 4, seed=s + 5).sigmoid()) for s in range(4)]


def boxes_found(processor, shape):
    from types import SimpleNamespace

    def run(logits, boxes):
        return processor.post_process_object_detection(
            SimpleNamespace(logits=logits, pred_boxes=boxes.sigmoid()),
            threshold=0.6,
            target_sizes=torch.tensor([[10, 20], [20, 10]]),
        )

    return run, [(rand(*shape, seed=s), rand(*shape[:2], 4, seed=s + 3)) for s in range(3)]


@model("transformers", "the best boxes above a threshold, image by image")
def deformable_boxes_of_two_images():
    from transformers import DeformableDetrImageProcessor

    return boxes_found(DeformableDetrImageProcessor(), (2, 5, 3))


def boxes_above(processor):
    def run(logits, boxes):
        return processor.post_process_object_detection(
            SimpleNamespace(logits=logits, pred_boxes=boxes), threshold=0.6, target_sizes=[(10, 20)]
        )

    return run, [(rand(1, 5, 3, seed=s), uniform(1, 5, 4, seed=s)) for s in range(4)]


@model("transformers", "the best boxes above a threshold")
def rt_detr_boxes():
    from transformers import RTDetrImageProcessor

    return boxes_above(RTDetrImageProcessor())


@model("transformers", "boxes above a threshold")
def owlvit_boxes():
    from transformers import OwlViTImageProcessor

    return boxes_above(OwlViTImageProcessor())


@model("transformers", "the query of the box that overlaps the whole image most, an image at a time")
def owlvit_image_query():
    from transformers import OwlViTConfig, OwlViTForObjectDetection

    shape = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2)
    c = OwlViTConfig(
        text_config=dict(vocab_size=20, max_position_embeddings=8, **shape),
        vision_config=dict(image_size=32, patch_size=8, **shape),
        projection_dim=16,
    )
    m = randomise(OwlViTForObjectDetection(c), scale=2.0)

    def run(x):
        features = m.image_embedder(pixel_values=x)[0]
        return m.embed_image_query(features.reshape(2, 16, -1), features)

    return run, [(rand(2, 3, 32, 32, seed=s, scale=2.0),) for s in range(4)]


@model("transformers", "boxes suppressed one after the other by those with better scores")
def owlv2_image_guided():
    from transformers import Owlv2ImageProcessor

    processor = Owlv2ImageProcessor()
    return (lambda logits, boxes: processor.post_process_image_guided_detection(
        SimpleNamespace(logits=logits, target_pred_boxes=boxes), threshold=0.3, nms_threshold=0.1)), [
        (rand(1, 6, 1, seed=s, scale=2), boxes_of(s)) for s in range(4)]


@model("transformers", "boxes above a threshold")
def owlv2_post_process():
    from transformers import Owlv2ImageProcessor

    processor = Owlv2ImageProcessor()
    return (
        lambda logits, boxes, sizes: processor.post_process_object_detection(
            SimpleNamespace(logits=logits, pred_boxes=boxes), threshold=0.6, target_sizes=sizes
        )
    ), [
        (rand(2, 6, 3, seed=s, scale=1 + s), boxes_of(s, batch=2), torch.tensor([[10, 20], [30, 15 + s]]))
        for s in range(4)
    ]


@model("transformers", "classes that exist, above a threshold, without overlaps")
def omdet_turbo_post_process():
    with_torchvision_operators()
    from transformers.models.omdet_turbo.processing_omdet_turbo import _post_process_boxes_for_image

    def run(boxes, scores, classes):
        labels = torch.arange(3).unsqueeze(0).repeat(6, 1).flatten(0, 1)
        return _post_process_boxes_for_image(boxes, scores, labels, int(classes), (20, 30), 0.4, 0.3)

    return run, [(boxes_of(s)[0], rand(6, 3, seed=s, scale=2).sigmoid(), torch.tensor(1 + s % 3)) for s in range(4)]


@model("transformers", "boxes above a threshold, phrases cut from the tokens above another", rtol=1e-3, atol=1e-4)
def grounding_dino_phrases():
    from transformers.models.grounding_dino.processing_grounding_dino import get_phrases_from_posmap

    return (lambda maps, ids: get_phrases_from_posmap(maps > 0.5, ids)), [
        (rand(3, 6, seed=s), ints(6, low=4, high=12, seed=s)) for s in range(4)]


@model("transformers", "keypoints refined below the grid of the heat map, in numpy")
def vitpose_keypoints():
    from transformers.models.vitpose.image_processing_vitpose import get_keypoint_predictions

    return (lambda heat: get_keypoint_predictions(heat.numpy())), [(rand(1, 2, 5, 4, seed=s),) for s in range(3)] + [
        (-torch.ones(1, 2, 5, 4),)
    ]
