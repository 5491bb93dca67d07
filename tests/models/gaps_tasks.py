# SPDX-License-Identifier: Apache-2.0
"""What follows a network in transformers (post-processing of detectors and segmenters), matchers, documents, time series."""

from types import SimpleNamespace

import torch

from tests.models.generation import SPECIAL
from tests.models.registry import ints, model, rand, randomise, with_torchvision_operators


def boxes_of(seed, n=6, batch=1):
    centre = torch.rand(batch, n, 2, generator=torch.Generator().manual_seed(seed)) * 0.6 + 0.2
    return torch.cat([centre, torch.full((batch, n, 2), 0.2) + 0.1 * rand(batch, n, 2, seed=seed).abs()], -1)


@model("transformers", "the best boxes above a threshold, as many as there are")
def conditional_detr_post_process():
    from transformers import ConditionalDetrImageProcessor

    processor = ConditionalDetrImageProcessor()
    return (lambda logits, boxes, sizes: processor.post_process_object_detection(
        SimpleNamespace(logits=logits, pred_boxes=boxes), threshold=0.6, target_sizes=sizes, top_k=10)), [
        (rand(2, 6, 4, seed=s, scale=1 + s), boxes_of(s, batch=2), torch.tensor([[10, 20], [30, 15 + s]])) for s in range(4)]


@model("transformers", "boxes matched to targets by the least cost, and the loss of the pairs", rtol=1e-3, atol=1e-4)
def detr_hungarian_loss():
    from transformers.loss.loss_for_object_detection import ForObjectDetectionLoss

    config = SimpleNamespace(class_cost=1, bbox_cost=5, giou_cost=2, num_labels=3, eos_coefficient=0.1, bbox_loss_coefficient=5,
                             giou_loss_coefficient=2, auxiliary_loss=False)

    def run(logits, boxes, *targets):
        labels = [{"class_labels": classes, "boxes": wanted} for classes, wanted in zip(targets[::2], targets[1::2])]
        return ForObjectDetectionLoss(logits, labels, torch.device("cpu"), boxes, config)[:2]

    return run, [(rand(2, 6, 4, seed=s), boxes_of(s, batch=2), ints(2, low=0, high=3, seed=s), boxes_of(s + 9, 2)[0], ints(3, low=0, high=3, seed=s + 1),
                  boxes_of(s + 5, 3)[0]) for s in range(4)]


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
    return (lambda logits, boxes, sizes: processor.post_process_object_detection(
        SimpleNamespace(logits=logits, pred_boxes=boxes), threshold=0.6, target_sizes=sizes)), [
        (rand(2, 6, 3, seed=s, scale=1 + s), boxes_of(s, batch=2), torch.tensor([[10, 20], [30, 15 + s]])) for s in range(4)]


@model("transformers", "classes that exist, above a threshold, without overlaps")
def omdet_turbo_post_process():
    with_torchvision_operators()
    from transformers.models.omdet_turbo.processing_omdet_turbo import _post_process_boxes_for_image

    def run(boxes, scores, classes):
        labels = torch.arange(3).unsqueeze(0).repeat(6, 1).flatten(0, 1)
        return _post_process_boxes_for_image(boxes, scores, labels, int(classes), (20, 30), 0.4, 0.3)

    return run, [(boxes_of(s)[0], rand(6, 3, seed=s, scale=2).sigmoid(), torch.tensor(1 + s % 3)) for s in range(4)]


def segment_inputs():
    return [(rand(1, 4, 4, seed=s, scale=2 + s), rand(1, 4, 8, 8, seed=s + 3, scale=3)) for s in range(3)]


@model("transformers", "instances: masks with a score above a threshold painted over each other")
def mask2former_instances():
    from transformers import Mask2FormerImageProcessor

    processor = Mask2FormerImageProcessor()
    return (lambda classes, masks: processor.post_process_instance_segmentation(
        SimpleNamespace(class_queries_logits=classes, masks_queries_logits=masks), threshold=0.4, target_sizes=[(6, 6)])), segment_inputs()


@model("transformers", "segments with labels fused, overlaps resolved, small ones dropped")
def mask2former_panoptic():
    from transformers import Mask2FormerImageProcessor

    processor = Mask2FormerImageProcessor()
    return (lambda classes, masks: processor.post_process_panoptic_segmentation(
        SimpleNamespace(class_queries_logits=classes, masks_queries_logits=masks), threshold=0.3, overlap_mask_area_threshold=0.5,
        label_ids_to_fuse={0}, target_sizes=[(6, 6)])), segment_inputs()


@model("transformers", "one class per pixel")
def mask2former_semantic():
    from transformers import Mask2FormerImageProcessor

    processor = Mask2FormerImageProcessor()
    return (lambda classes, masks: processor.post_process_semantic_segmentation(
        SimpleNamespace(class_queries_logits=classes, masks_queries_logits=masks), target_sizes=[(6, 6)])), segment_inputs()


@model("transformers", "masks that are stable and away from the crop's edge, as runs, without overlaps")
def sam2_mask_generation():
    with_torchvision_operators()
    from transformers import Sam2ImageProcessor

    processor = Sam2ImageProcessor()

    def run(masks, scores):
        kept, scores, boxes = processor.filter_masks(masks, scores, (16, 16), [0, 0, 16, 16], pred_iou_thresh=0.3, stability_score_thresh=0.2)
        return scores, boxes

    return run, [(rand(2, 2, 16, 16, seed=s, scale=2), rand(2, 2, seed=s).sigmoid()) for s in range(4)]


@model("transformers", "runs of equal pixels of masks, suppressed where their boxes overlap")
def sam2_suppression():
    with_torchvision_operators()
    from transformers.models.sam2.image_processing_sam2 import _batched_mask_to_box, _mask_to_rle, _post_process_for_mask_generation

    def run(masks, scores):
        masks = masks > 0.5
        return _post_process_for_mask_generation(_mask_to_rle(masks), scores, _batched_mask_to_box(masks).float(), 0.5)[1:]

    return run, [(rand(3, 6, 6, seed=s), rand(3, seed=s)) for s in range(3)]


@model("transformers", "matches of keypoints with enough score, in both images")
def superglue_post_process():
    from transformers import SuperGlueImageProcessor

    processor = SuperGlueImageProcessor()

    def run(mask, points, matches, scores):
        out = SimpleNamespace(mask=mask, keypoints=points, matches=matches, matching_scores=scores)
        return processor.post_process_keypoint_matching(out, [[(20, 30), (30, 20)]], threshold=0.3)

    return run, [((torch.arange(6) < torch.tensor([[6 - s], [5 - s]])).long()[None], rand(1, 2, 6, 2, seed=s).sigmoid(),
                  ints(1, 2, 6, low=-1, high=5 - s, seed=s), rand(1, 2, 6, seed=s).sigmoid()) for s in range(3)]


@model("transformers", "optimal transport between the keypoints that a detector found in two images")
def superglue():
    from transformers import SuperGlueConfig, SuperGlueForKeypointMatching, SuperPointConfig

    detector = SuperPointConfig(encoder_hidden_sizes=[4, 4, 8, 8], decoder_hidden_size=8, descriptor_decoder_dim=16, keypoint_threshold=0.016,
                                nms_radius=2, border_removal_distance=2, max_keypoints=8)
    m = randomise(SuperGlueForKeypointMatching(SuperGlueConfig(keypoint_detector_config=detector, hidden_size=16, keypoint_encoder_sizes=[8, 16],
                                                              gnn_layers_types=["self", "cross"], num_attention_heads=2, sinkhorn_iterations=3)),
                  scale=2.0)

    def run(x):
        out = m(x)
        return out.matches, out.matching_scores, out.mask

    return run, [(rand(1, 2, 3, 16, 16, seed=s, scale=1 + s),) for s in range(3)]


@model("transformers", "coarse matches that are mutual and above a threshold, then refined")
def efficient_loftr():
    from transformers import EfficientLoFTRConfig, EfficientLoFTRForKeypointMatching

    m = randomise(EfficientLoFTRForKeypointMatching(EfficientLoFTRConfig(
        stage_num_blocks=[1, 1, 1, 1], out_features=[4, 4, 8, 32], hidden_size=32, num_attention_layers=1, num_attention_heads=2,
        q_aggregation_kernel_size=2, kv_aggregation_kernel_size=2, q_aggregation_stride=2, kv_aggregation_stride=2,
        coarse_matching_threshold=0.05, coarse_matching_border_removal=1, fine_kernel_size=8, fine_matching_slice_dim=2,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 1.0})), scale=2.0)

    def run(x):
        out = m(x)
        return out.matches, out.matching_scores, out.keypoints

    return run, [(rand(1, 2, 3, 64, 64, seed=s, scale=1 + s),) for s in range(3)]


@model("transformers", "words and entities attend to each other; entities' places from masked positions")
def luke():
    from transformers import LukeConfig, LukeForEntityPairClassification

    m = randomise(LukeForEntityPairClassification(LukeConfig(vocab_size=12, entity_vocab_size=6, hidden_size=16, entity_emb_size=8,
                                                             num_hidden_layers=1, num_attention_heads=2, intermediate_size=24,
                                                             max_position_embeddings=32, num_labels=3)))

    def run(ids, entities, places, mask):
        return m(input_ids=ids, entity_ids=entities, entity_position_ids=places, entity_attention_mask=mask).logits

    return run, [(ints(1, 6, low=3, high=12, seed=s), ints(1, 2, low=1, high=6, seed=s),
                  torch.tensor([[[1, 2, -1, -1], [3 + s % 2, -1, -1, -1]]]), torch.tensor([[1, 1 - s % 2]])) for s in range(4)]


def series(name, **options):
    import transformers

    config = getattr(transformers, name + "Config")(
        prediction_length=3, context_length=8, lags_sequence=[1, 2], num_time_features=1, d_model=16, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, **options)
    return randomise(getattr(transformers, name + "ForPrediction")(config), scale=2.0)


def histories():
    return [(rand(2, 10, seed=s), rand(2, 10, 1, seed=s + 1), (torch.arange(10) >= torch.tensor([[s], [0]])).float().expand(2, 10),
             rand(2, 3, 1, seed=s + 2), rand(2, 3, seed=s + 3)) for s in range(4)]


def forecast(m):
    def run(values, features, observed, future_features, future):
        out = m(past_values=values, past_time_features=features, past_observed_mask=observed, future_time_features=future_features,
                future_values=future)
        return out.loss, out.params, out.loc, out.scale

    return run


@model("transformers", "values scaled by what was observed")
def time_series_transformer():
    return forecast(series("TimeSeriesTransformer")), histories()


@model("transformers", "attention of the queries that matter most, keys drawn at random: all of them here")
def informer():
    return forecast(series("Informer", sampling_factor=50, distil=False)), histories()


@model("transformers", "delays with the greatest correlation")
def autoformer():
    return forecast(series("Autoformer", moving_average=3, label_length=4, autocorrelation_factor=1)), histories()


@model("transformers", "samples of a forecast, drawn step by step: their shape")
def time_series_generate():
    m = series("TimeSeriesTransformer", num_parallel_samples=2)

    def run(values, features, observed, future_features, future):
        return m.generate(past_values=values, past_time_features=features, past_observed_mask=observed,
                          future_time_features=future_features).sequences.shape

    return run, histories()


@model("transformers", "image tokens put where the mask says; greedy")
def kosmos2_generate():
    from transformers import Kosmos2Config, Kosmos2ForConditionalGeneration

    config = Kosmos2Config(text_config=dict(vocab_size=12, max_position_embeddings=32, embed_dim=16, layers=1, ffn_dim=24, attention_heads=2,
                                            pad_token_id=0, bos_token_id=1, eos_token_id=5),
                           vision_config=dict(hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2, image_size=8,
                                              patch_size=4), latent_query_num=2)
    m = randomise(Kosmos2ForConditionalGeneration(config), scale=2.0)
    places = [[0, 1, 1, 0], [0, 1, 1, 0], [1, 1, 0, 0]]
    return (lambda x, ids, place: m.generate(pixel_values=x, input_ids=ids, image_embeds_position_mask=place, attention_mask=torch.ones_like(ids),
                                             max_new_tokens=3, do_sample=False)), [
        (rand(1, 3, 8, 8, seed=s), ints(1, 4, low=6, high=12, seed=s), torch.tensor([k])) for s, k in enumerate(places)]


@model("transformers", "patches where text is are joined with it; positions in the page")
def udop_encoder():
    from transformers import UdopConfig, UdopEncoderModel

    m = randomise(UdopEncoderModel(UdopConfig(vocab_size=12, d_model=16, d_kv=8, d_ff=24, num_layers=1, num_heads=2, max_2d_position_embeddings=64,
                                              image_size=16, patch_size=8, is_encoder_decoder=False,
                                              relative_bias_args=[{"type": "1d"}, {"type": "horizontal"}, {"type": "vertical"}])))

    def run(ids, boxes, pixels):
        out = m(input_ids=ids, bbox=boxes, pixel_values=pixels)
        return out.last_hidden_state, out.attention_mask

    def places(s):
        corner = torch.rand(1, 4, 2, generator=torch.Generator().manual_seed(s)) * 0.7
        return torch.cat([corner, corner + 0.2], -1)

    return run, [(ints(1, 4, low=2, high=12, seed=s), places(s), rand(1, 3, 16, 16, seed=s)) for s in range(4)]


@model("transformers", "a reader of documents: text, boxes and image, positions relative in the page")
def layoutlmv3():
    from transformers import LayoutLMv3Config, LayoutLMv3Model

    m = randomise(LayoutLMv3Model(LayoutLMv3Config(vocab_size=12, hidden_size=24, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24,
                                                   max_position_embeddings=32, max_2d_position_embeddings=64, coordinate_size=4, shape_size=4,
                                                   input_size=16, patch_size=8)))

    def run(ids, boxes, mask, pixels):
        return m(input_ids=ids, bbox=boxes, attention_mask=mask, pixel_values=pixels).last_hidden_state

    return run, [(ints(1, 4, low=2, high=12, seed=s), torch.tensor([[[1, 2, 9 + s, 8], [3, 4, 20, 12 + s], [5, 5, 30, 30], [0, 0, 0, 0]]]),
                  (torch.arange(4) < 4 - s)[None].long(), rand(1, 3, 16, 16, seed=s)) for s in range(3)]


@model("transformers", "image features in the places of image tokens; greedy")
def florence2_generate():
    from transformers import Florence2Config, Florence2ForConditionalGeneration

    config = Florence2Config(
        text_config=dict(model_type="bart", vocab_size=12, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
                         decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=32,
                         decoder_start_token_id=5, **SPECIAL),
        vision_config=dict(depths=[1], patch_size=[3], patch_stride=[4], patch_padding=[1], patch_prenorm=[False], embed_dim=[8], num_heads=[2],
                           num_groups=[2], window_size=2, projection_dim=16, max_temporal_embeddings=4, max_position_embeddings=8),
        image_token_id=11)
    m = randomise(Florence2ForConditionalGeneration(config), scale=2.0)
    return (lambda x, ids: m.generate(pixel_values=x, input_ids=ids, max_new_tokens=4, do_sample=False, num_beams=1)), [
        (rand(1, 3, 8, 8, seed=s), torch.cat([torch.full((1, 5), 11), ints(1, 2, low=6, high=11, seed=s)], 1)) for s in range(3)]


@model("transformers", "documents weighed by their scores: retrieval-augmented tokens, greedy over given contexts")
def rag_token_generate():
    from transformers import BartConfig, DPRConfig, RagConfig, RagTokenForGeneration

    encoder = DPRConfig(vocab_size=12, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, max_position_embeddings=32)
    generator = BartConfig(vocab_size=12, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
                           encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=32, decoder_start_token_id=5, **SPECIAL)
    m = randomise(RagTokenForGeneration(RagConfig.from_question_encoder_generator_configs(encoder, generator, n_docs=2)), scale=2.0)
    return (lambda ids, mask, scores: m.generate(context_input_ids=ids, context_attention_mask=mask, doc_scores=scores, n_docs=2, max_new_tokens=3,
                                                 do_sample=False, num_beams=1, decoder_start_token_id=5, pad_token_id=0, eos_token_id=5,
                                                 bos_token_id=1)), [
        (ints(2, 4, low=6, high=12, seed=s), torch.ones(2, 4, dtype=torch.long), rand(1, 2, seed=s)) for s in range(3)]


@model("transformers", "contexts of a question, scored; words of the spans that fit")
def dpr_reader_scores():
    from transformers import DPRConfig, DPRReader

    m = randomise(DPRReader(DPRConfig(vocab_size=12, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24,
                                      max_position_embeddings=32)), scale=2.0)

    def run(ids, mask):
        out = m(ids, attention_mask=mask)
        best = int(out.relevance_logits.argmax())
        start, end = out.start_logits[best], out.end_logits[best]
        found = []
        for i in range(4):
            for j in range(i, 4):
                if start[i] + end[j] > 0.5:
                    found.append((start[i] + end[j]).item())
        return best, found

    return run, [(ints(3, 4, low=6, high=12, seed=s), torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 0, 0]])) for s in range(4)]
