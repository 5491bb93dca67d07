# SPDX-License-Identifier: Apache-2.0
"""Architectures of transformers whose state, routing or attention is of a further kind; most of them generate greedily."""

import torch

from tests.models.generation import SPECIAL, TINY, causal, greedy, prompts
from tests.models.registry import ints, model, rand, randomise


@model("transformers", "convolutions in the attention, one expert per token")
def zaya_generate():
    return causal("ZayaForCausalLM", tokens=3, num_key_value_heads=1, head_dim=8, moe_intermediate_size=8, num_experts=4, router_hidden_size=8,
                  **{k: v for k, v in TINY.items() if k != "intermediate_size"})


@model("transformers", "attention layers beside state-space layers, experts in each")
def granite_moe_hybrid_generate():
    return causal("GraniteMoeHybridForCausalLM", tokens=3, num_key_value_heads=2, num_local_experts=4, num_experts_per_tok=2, shared_intermediate_size=8,
                  layer_types=["mamba", "attention"], mamba_n_heads=4, mamba_d_state=4, mamba_d_head=8, mamba_d_conv=2, mamba_chunk_size=4, **TINY)


@model("transformers", "experts of several encoders' and decoders' layers; greedy")
def switch_transformers_generate():
    from transformers import SwitchTransformersConfig, SwitchTransformersForConditionalGeneration

    m = randomise(SwitchTransformersForConditionalGeneration(SwitchTransformersConfig(
        vocab_size=12, d_model=16, d_kv=8, d_ff=24, num_layers=2, num_sparse_encoder_layers=1, num_decoder_layers=2, num_sparse_decoder_layers=1,
        num_heads=2, num_experts=3, expert_capacity=8, decoder_start_token_id=0, pad_token_id=0, eos_token_id=5)), scale=2.0)
    return greedy(m, 3), prompts(4, 4)


@model("transformers", "four streams beside each other, one of them active; sparse activations")
def gemma3n_generate():
    from transformers import Gemma3nForCausalLM, Gemma3nTextConfig

    m = randomise(Gemma3nForCausalLM(Gemma3nTextConfig(
        num_key_value_heads=1, head_dim=8, sliding_window=4, vocab_size_per_layer_input=12, hidden_size_per_layer_input=4, altup_num_inputs=2,
        num_kv_shared_layers=0, laurel_rank=4, activation_sparsity_pattern=[0.5, 0.0], layer_types=["sliding_attention", "full_attention"], **TINY)),
        scale=2.0)
    return greedy(m, 3), prompts(4)


@model("transformers", "the letters of a word, each attending to the picture")
def mgp_str():
    from transformers import MgpstrConfig, MgpstrForSceneTextRecognition

    m = randomise(MgpstrForSceneTextRecognition(MgpstrConfig(
        image_size=[8, 16], patch_size=4, max_token_length=4, num_character_labels=6, num_bpe_labels=7, num_wordpiece_labels=7, hidden_size=16,
        num_hidden_layers=1, num_attention_heads=2, mlp_ratio=2.0)), scale=2.0)

    def run(x):
        letters = m(x).logits[0].argmax(-1)
        words = []
        for row in letters.tolist():
            words.append(row[:row.index(1)] if 1 in row else row)
        return words

    return run, [(rand(2, 3, 8, 16, seed=s, scale=2.0),) for s in range(4)]


@model("transformers", "experts by the data set that a picture is from")
def vitpose_experts():
    from transformers import VitPoseBackboneConfig, VitPoseConfig, VitPoseForPoseEstimation

    backbone = VitPoseBackboneConfig(image_size=[16, 16], patch_size=[8, 8], hidden_size=16, num_hidden_layers=1, num_attention_heads=2, mlp_ratio=2,
                                     num_experts=3, part_features=4, out_features=["stage1"])
    m = randomise(VitPoseForPoseEstimation(VitPoseConfig(backbone_config=backbone, num_labels=3, use_simple_decoder=True, scale_factor=2)))
    return (lambda x, which: m(x, dataset_index=which).heatmaps), [(rand(2, 3, 16, 16, seed=s), torch.tensor(k)) for s, k in enumerate([[0, 1], [2, 2], [1, 0]])]


def boxes_found(processor, shape):
    from types import SimpleNamespace

    def run(logits, boxes):
        return processor.post_process_object_detection(SimpleNamespace(logits=logits, pred_boxes=boxes.sigmoid()), threshold=0.6,
                                                       target_sizes=torch.tensor([[10, 20], [20, 10]]))

    return run, [(rand(*shape, seed=s), rand(*shape[:2], 4, seed=s + 3)) for s in range(3)]


@model("transformers", "the best boxes above a threshold, image by image")
def deformable_boxes_of_two_images():
    from transformers import DeformableDetrImageProcessor

    return boxes_found(DeformableDetrImageProcessor(), (2, 5, 3))


@model("transformers", "queries from the best places of an encoder; boxes refined layer by layer")
def d_fine():
    from transformers import DFineConfig, DFineForObjectDetection, HGNetV2Config

    backbone = HGNetV2Config(stage_in_channels=[8, 8, 16, 16], stage_mid_channels=[8, 8, 8, 8], stage_out_channels=[8, 16, 16, 16],
                             stage_num_blocks=[1, 1, 1, 1], stage_downsample=[False, True, True, True], stage_light_block=[False] * 4,
                             stage_kernel_size=[3] * 4, stage_numb_of_layers=[1] * 4, stem_channels=[3, 8, 8], depths=[1, 1, 1, 1],
                             hidden_sizes=[8, 16, 16, 16], embedding_size=8, out_features=["stage3", "stage4"])
    m = randomise(DFineForObjectDetection(DFineConfig(
        backbone_config=backbone, encoder_hidden_dim=16, encoder_in_channels=[16, 16], feat_strides=[16, 32], encoder_layers=1, encoder_ffn_dim=16,
        encoder_attention_heads=2, encode_proj_layers=[1], d_model=16, num_queries=6, decoder_in_channels=[16, 16], decoder_ffn_dim=16,
        num_feature_levels=2, decoder_n_points=[2, 2], decoder_layers=2, decoder_attention_heads=2, num_denoising=0, num_labels=3)))

    def run(x):
        out = m(x)
        return out.logits, out.pred_boxes

    return run, [(rand(1, 3, 64, 64, seed=s),) for s in range(3)]


@model("transformers", "pixels drawn one after the other, the likeliest each time")
def imagegpt_generate():
    from transformers import ImageGPTConfig, ImageGPTForCausalImageModeling

    m = randomise(ImageGPTForCausalImageModeling(ImageGPTConfig(vocab_size=12, n_positions=32, n_embd=16, n_layer=1, n_head=2, **SPECIAL)), scale=2.0)
    return greedy(m, 4), prompts(4, high=11)


@model("transformers", "queries that read an image, then words until one ends the text")
def blip2_generate():
    from transformers import Blip2Config, Blip2ForConditionalGeneration

    config = Blip2Config(
        vision_config=dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=8, patch_size=4),
        qformer_config=dict(vocab_size=12, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, encoder_hidden_size=16),
        text_config=dict(model_type="opt", vocab_size=12, hidden_size=16, ffn_dim=16, num_hidden_layers=1, num_attention_heads=2,
                         max_position_embeddings=32, word_embed_proj_dim=16, **SPECIAL), num_query_tokens=3, image_token_id=11)
    m = randomise(Blip2ForConditionalGeneration(config), scale=2.0)
    return (lambda x, ids: m.generate(pixel_values=x, input_ids=ids, max_new_tokens=4, do_sample=False)), [
        (rand(1, 3, 8, 8, seed=s), torch.cat([torch.full((1, 3), 11), ints(1, 2, low=6, high=11, seed=s)], 1)) for s in range(3)]


@model("transformers", "speech read by an encoder, words until one ends the text")
def speech_encoder_decoder_generate():
    from transformers import BertConfig, SpeechEncoderDecoderConfig, SpeechEncoderDecoderModel, Wav2Vec2Config

    encoder = Wav2Vec2Config(vocab_size=12, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, conv_dim=[8, 8],
                             conv_stride=[4, 4], conv_kernel=[4, 4], num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2)
    decoder = BertConfig(vocab_size=12, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, max_position_embeddings=32,
                         is_decoder=True, add_cross_attention=True, **SPECIAL)
    config = SpeechEncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder)
    config.decoder_start_token_id, config.pad_token_id, config.eos_token_id = 1, 0, 5
    m = randomise(SpeechEncoderDecoderModel(config=config), scale=2.0)
    return (lambda x: m.generate(x, max_new_tokens=3, do_sample=False, num_beams=1, decoder_start_token_id=1, pad_token_id=0, eos_token_id=5)), [
        (rand(1, 96, seed=s),) for s in range(3)]
