# SPDX-License-Identifier: Apache-2.0
"""Detection, matching, segmentation: keypoints and boxes found by threshold, early stopping, adaptive tokens."""

import torch

from tests.models.registry import ints, model, rand, randomise


def images(*shape, n=4, scale=1.0):
    return [(rand(*shape, seed=s, scale=scale * (1 + s)),) for s in range(n)]


@model("transformers", "which metric head runs is decided by a classifier over the image")
def zoedepth_two_heads():
    from transformers.models.zoedepth import modeling_zoedepth as m

    config = m.ZoeDepthConfig(
        backbone_config=dict(model_type="beit", image_size=32, patch_size=8, hidden_size=16, num_hidden_layers=4,
                             num_attention_heads=2, intermediate_size=24, out_features=["stage1", "stage2", "stage3", "stage4"],
                             reshape_hidden_states=False),
        neck_hidden_sizes=[8, 8, 8, 8], fusion_hidden_size=8, bottleneck_features=8, num_relative_features=4,
        bin_embedding_dim=8, num_attractors=[2, 2, 2, 2], num_patch_transformer_layers=1, patch_transformer_hidden_size=8,
        patch_transformer_intermediate_size=12, patch_transformer_num_attention_heads=2,
        bin_configurations=[dict(n_bins=4, min_depth=0.001, max_depth=10.0, name="indoor"),
                            dict(n_bins=4, min_depth=0.001, max_depth=80.0, name="outdoor")])
    head = randomise(m.ZoeDepthMultipleMetricDepthEstimationHeads(config), scale=1.5)

    def run(bottleneck, *blocks):
        return head(outconv_activation=blocks[0], bottleneck=bottleneck, feature_blocks=list(blocks[1:5]), relative_depth=blocks[5])

    def inputs(s):
        sizes = [4, 8, 16, 32]
        return (rand(1, 8, 2, 2, seed=s, scale=3), rand(1, 4, 32, 32, seed=s), *[rand(1, 8, k, k, seed=s) for k in sizes],
                rand(1, 1, 32, 32, seed=s))

    return run, [inputs(s) for s in range(8)]


@model("transformers", "keypoints by threshold after non-maximum suppression; their number varies")
def superpoint():
    from transformers import SuperPointConfig, SuperPointForKeypointDetection

    config = SuperPointConfig(encoder_hidden_sizes=[4, 4, 8, 8], decoder_hidden_size=8, descriptor_decoder_dim=8,
                              keypoint_threshold=0.02, nms_radius=2, border_removal_distance=2)
    m = randomise(SuperPointForKeypointDetection(config), scale=2.0)
    return (lambda x: tuple(m(x)[k] for k in ("keypoints", "scores", "mask"))), images(1, 3, 16, 16)


def lightglue_model(**options):
    from transformers import LightGlueConfig, LightGlueForKeypointMatching, SuperPointConfig

    detector = SuperPointConfig(encoder_hidden_sizes=[4, 4, 8, 8], decoder_hidden_size=8, descriptor_decoder_dim=16,
                                keypoint_threshold=0.016, nms_radius=2, border_removal_distance=2, max_keypoints=12)
    config = LightGlueConfig(keypoint_detector_config=detector, descriptor_dim=16, num_hidden_layers=3, num_attention_heads=2,
                             **options)
    return randomise(LightGlueForKeypointMatching(config), scale=2.0)


@model("transformers", "matching stops early when confident, and prunes points that can't match")
def lightglue():
    m = lightglue_model(depth_confidence=0.5, width_confidence=0.5)
    return (lambda x: (m(x).matches, m(x).matching_scores)), [(rand(1, 2, 3, 16, 16, seed=s, scale=1 + s),) for s in range(4)]


@model("kornia", "matching stops early when confident, and prunes points that can't match")
def kornia_lightglue():
    from kornia.feature.lightglue import LightGlue

    m = LightGlue(features=None, input_dim=16, descriptor_dim=16, n_layers=3, num_heads=2, flash=False, depth_confidence=0.5,
                  width_confidence=0.5, filter_threshold=0.05, weights=None)
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

    return (lambda a, b: match_smnn(a, b, 0.9)), [(rand(6, 4, seed=s, scale=0.2 + s), rand(5, 4, seed=s + 20)) for s in range(5)]


@model("kornia", "roots of cubics by case, over masks that may be empty")
def kornia_solve_cubic():
    from kornia.geometry.solvers import solve_cubic

    coefficients = [torch.tensor([[1.0, -6, 11, -6], [0, 1, -3, 2]]), torch.tensor([[1.0, 0, 0, 0], [0, 0, 2, -4]]),
                    torch.tensor([[2.0, 1, 5, 1], [1, 2, 3, 4]])]
    return (lambda c: solve_cubic(c)), [(c,) for c in coefficients]


@model("kornia", "non-maximum suppression of boxes: a loop over the sorted scores")
def kornia_box_nms():
    from kornia.geometry.bbox import nms

    def run(corners, sizes, scores):
        return nms(torch.cat([corners, corners + sizes], 1), scores, 0.3)

    return run, [(rand(6, 2, seed=s).abs() * 3, rand(6, 2, seed=s + 1).abs() * 2 + 0.5, rand(6, seed=s)) for s in range(4)]


@model("effdet", "soft suppression: boxes removed one by one while any remain")
def effdet_soft_nms():
    from effdet.soft_nms import soft_nms

    def run(corners, sizes, scores):
        return soft_nms(torch.cat([corners, corners + sizes], 1), scores, score_threshold=0.1)

    return run, [(rand(6, 2, seed=s).abs() * 3, rand(6, 2, seed=s + 1).abs() * 2 + 0.5, rand(6, seed=s).sigmoid()) for s in range(4)]


@model("transformers", "boxes above a threshold, per image")
def detr_post_process():
    from transformers.models.detr.modeling_detr import DetrObjectDetectionOutput
    from transformers.models.detr.image_processing_detr import DetrImageProcessor

    processor = DetrImageProcessor()

    def run(logits, boxes):
        return processor.post_process_object_detection(DetrObjectDetectionOutput(logits=logits, pred_boxes=boxes), threshold=0.5)

    return run, [(rand(2, 5, 4, seed=s, scale=2 + s), rand(2, 5, 4, seed=s).sigmoid()) for s in range(4)]


@model("vit-pytorch", "adaptive token sampling: unique tokens kept, their number varies")
def vit_adaptive_tokens():
    from vit_pytorch.ats_vit import ViT

    m = randomise(ViT(image_size=16, patch_size=4, num_classes=3, dim=16, depth=2, max_tokens_per_depth=(8, 4), heads=2, mlp_dim=24,
                      dim_head=8))
    return (lambda x: m(x)), images(1, 3, 16, 16)


@model("segment-anything", "run-length encoding of masks")
def sam_mask_to_rle():
    from segment_anything.utils.amg import mask_to_rle_pytorch

    return (lambda m: mask_to_rle_pytorch(m > 0)), [(rand(2, 4, 5, seed=s),) for s in range(4)]


@model("segment-anything", "boxes of masks, empty ones included")
def sam_mask_to_box():
    from segment_anything.utils.amg import batched_mask_to_box, calculate_stability_score

    return (lambda m: (batched_mask_to_box(m > 1), calculate_stability_score(m, 0.0, 1.0))), [
        (rand(3, 4, 5, seed=s, scale=0.4 + s),) for s in range(4)]


@model("transformers", "window sizes of the vision tower from the image grid, as lists")
def qwen2_5_vl_windows():
    from transformers.models.qwen2_5_vl import modeling_qwen2_5_vl as m

    config = m.Qwen2_5_VLVisionConfig(depth=1, hidden_size=16, intermediate_size=24, num_heads=2, patch_size=4, window_size=16,
                                      spatial_merge_size=2, out_hidden_size=16)
    v = m.Qwen2_5_VisionTransformerPretrainedModel(config).eval()
    fn = getattr(v, "get_window_index", None)
    return (lambda grid: fn(grid)), [(torch.tensor([[1, 8, 8]]),), (torch.tensor([[1, 4, 12]]),), (torch.tensor([[2, 6, 6]]),)]


@model("transformers", "image features placed where the image tokens are; a mismatch raises")
def llava_merge():
    from transformers import LlavaConfig, LlavaForConditionalGeneration

    config = LlavaConfig(
        vision_config=dict(model_type="clip_vision_model", hidden_size=16, intermediate_size=24, num_hidden_layers=1,
                           num_attention_heads=2, image_size=8, patch_size=4),
        text_config=dict(model_type="llama", vocab_size=40, hidden_size=16, intermediate_size=24, num_hidden_layers=1,
                         num_attention_heads=2, num_key_value_heads=1),
        image_token_index=31, vision_feature_layer=-1)
    m = randomise(LlavaForConditionalGeneration(config))
    good = torch.tensor([[1, 31, 31, 31, 31, 2]])
    return (lambda ids, px: m(input_ids=ids, pixel_values=px, use_cache=False).logits), [
        (good, rand(1, 3, 8, 8)), (torch.tensor([[1, 2, 31, 31, 31, 31]]), rand(1, 3, 8, 8, seed=1)),
        (torch.tensor([[1, 2, 3, 31, 31, 31]]), rand(1, 3, 8, 8, seed=2))]


@model("monai", "sliding windows over a volume, blended")
def monai_sliding_window():
    from monai.inferers import SlidingWindowInferer
    from torch import nn

    net = randomise(nn.Conv2d(1, 2, 3, padding=1))
    inferer = SlidingWindowInferer(roi_size=(8, 8), sw_batch_size=2, overlap=0.25, progress=False)
    return (lambda x: inferer(x, net)), images(1, 1, 16, 12)


@model("monai", "architecture chosen by codes held in tensors")
def monai_dints():
    from monai.networks.nets import DiNTS, TopologyInstance

    space = TopologyInstance(channel_mul=0.25, num_blocks=2, num_depths=2, use_downsample=True, device="cpu", spatial_dims=2)
    m = randomise(DiNTS(space, in_channels=1, num_classes=2, use_downsample=True, spatial_dims=2))
    return (lambda x: m(x)), images(1, 1, 32, 32, n=2)


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


@model("diffusers", "the step is looked up by the timestep; state advances from call to call")
def diffusers_euler_step():
    from diffusers import EulerDiscreteScheduler

    s = EulerDiscreteScheduler(num_train_timesteps=20)
    s.set_timesteps(5)

    def run(sample, noise, t):
        s._step_index = None
        return s.step(noise, t, sample).prev_sample

    return run, [(rand(1, 2, 3, 3, seed=i), rand(1, 2, 3, 3, seed=i + 9), s.timesteps[i].clone()) for i in range(4)]


@model("diffusers", "noise only before the last step")
def diffusers_ddim_step():
    from diffusers import DDIMScheduler

    s = DDIMScheduler(num_train_timesteps=20)
    s.set_timesteps(5)
    return (lambda sample, noise, t: s.step(noise, t, sample).prev_sample), [
        (rand(1, 2, 3, 3, seed=i), rand(1, 2, 3, 3, seed=i + 9), s.timesteps[i].clone()) for i in (0, 2, 4)]
