# SPDX-License-Identifier: Apache-2.0
"""Texts about pictures, read until an end token; pictures drawn pixel by pixel."""

import torch

from tests.models.generation.tiny import SPECIAL, TINY, greedy, prompts
from tests.models.registry import ints, model, rand, randomise


@model("transformers", "image captioning: decoding until the end token")
def vit_gpt2_captioning():
    from transformers import GPT2Config, VisionEncoderDecoderConfig, VisionEncoderDecoderModel, ViTConfig

    encoder = ViTConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, image_size=8,
                        patch_size=4)
    decoder = GPT2Config(vocab_size=12, n_positions=32, n_embd=16, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=5,
                         pad_token_id=0, is_decoder=True, add_cross_attention=True)
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder)
    config.decoder_start_token_id, config.pad_token_id, config.eos_token_id = 1, 0, 5
    m = randomise(VisionEncoderDecoderModel(config), scale=2.0)
    return (
        lambda pixels: m.generate(
            pixels, max_new_tokens=6, do_sample=False, decoder_start_token_id=1, pad_token_id=0, eos_token_id=5
        )
    ), [(rand(1, 3, 8, 8, seed=s, scale=2),) for s in range(5)]


@model("transformers", "text read from an image until the end token")
def trocr_generate():
    from transformers import TrOCRConfig, TrOCRForCausalLM, VisionEncoderDecoderModel, ViTConfig, ViTModel

    encoder = ViTModel(
        ViTConfig(
            hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, image_size=8, patch_size=4
        )
    )
    decoder = TrOCRForCausalLM(
        TrOCRConfig(
            vocab_size=12,
            d_model=16,
            decoder_layers=1,
            decoder_attention_heads=2,
            decoder_ffn_dim=24,
            max_position_embeddings=32,
            is_decoder=True,
            add_cross_attention=True,
            cross_attention_hidden_size=16,
            **SPECIAL,
        )
    )
    m = randomise(VisionEncoderDecoderModel(encoder=encoder, decoder=decoder), scale=2.0)
    return (
        lambda x: m.generate(
            x, max_new_tokens=5, do_sample=False, decoder_start_token_id=1, pad_token_id=0, eos_token_id=5
        )
    ), [(rand(1, 3, 8, 8, seed=s, scale=2),) for s in range(5)]


@model("transformers", "captions of an image until the separator")
def blip_caption():
    from transformers import BlipConfig, BlipForConditionalGeneration

    config = BlipConfig(
        text_config=dict(
            vocab_size=12,
            hidden_size=16,
            encoder_hidden_size=16,
            intermediate_size=24,
            projection_dim=8,
            num_hidden_layers=1,
            num_attention_heads=2,
            max_position_embeddings=32,
            sep_token_id=5,
            bos_token_id=1,
            eos_token_id=2,
            pad_token_id=0,
        ),
        vision_config=dict(
            hidden_size=16,
            intermediate_size=24,
            num_hidden_layers=1,
            num_attention_heads=2,
            image_size=8,
            patch_size=4,
            projection_dim=8,
        ),
        projection_dim=8,
        image_text_hidden_size=8,
    )
    m = randomise(BlipForConditionalGeneration(config), scale=2.0)
    return (lambda x: m.generate(x, max_new_tokens=5, do_sample=False)), [
        (rand(1, 3, 8, 8, seed=s, scale=2),) for s in range(5)
    ]


@model("transformers", "queries that read an image, then words until one ends the text")
def blip2_generate():
    from transformers import Blip2Config, Blip2ForConditionalGeneration

    config = Blip2Config(
        vision_config=dict(
            hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=8, patch_size=4
        ),
        qformer_config=dict(
            vocab_size=12,
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            encoder_hidden_size=16,
        ),
        text_config=dict(
            model_type="opt",
            vocab_size=12,
            hidden_size=16,
            ffn_dim=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            max_position_embeddings=32,
            word_embed_proj_dim=16,
            **SPECIAL,
        ),
        num_query_tokens=3,
        image_token_id=11,
    )
    m = randomise(Blip2ForConditionalGeneration(config), scale=2.0)
    return (lambda x, ids: m.generate(pixel_values=x, input_ids=ids, max_new_tokens=4, do_sample=False)), [
        (rand(1, 3, 8, 8, seed=s), torch.cat([torch.full((1, 3), 11), ints(1, 2, low=6, high=11, seed=s)], 1))
        for s in range(3)
    ]


@model("transformers", "image tokens before the text, greedy until the end token")
def git_caption():
    from transformers import GitConfig, GitForCausalLM

    m = randomise(
        GitForCausalLM(
            GitConfig(
                vision_config=dict(
                    hidden_size=16,
                    intermediate_size=24,
                    num_hidden_layers=1,
                    num_attention_heads=2,
                    image_size=8,
                    patch_size=4,
                ),
                max_position_embeddings=32,
                **TINY,
            )
        ),
        scale=2.0,
    )
    return (lambda ids, x: m.generate(ids, pixel_values=x, max_new_tokens=4, do_sample=False)), [
        (ints(1, 2, low=6, high=12, seed=s), rand(1, 3, 8, 8, seed=s, scale=2)) for s in range(5)]


@model("transformers", "text of an image of run-time patches, until the end token")
def pix2struct_generate():
    from transformers import Pix2StructConfig, Pix2StructForConditionalGeneration

    config = Pix2StructConfig(
        text_config=dict(
            vocab_size=12,
            hidden_size=16,
            d_kv=8,
            d_ff=24,
            num_layers=1,
            num_heads=2,
            decoder_start_token_id=0,
            pad_token_id=0,
            eos_token_id=5,
        ),
        vision_config=dict(
            hidden_size=16,
            patch_embed_hidden_size=12,
            d_ff=24,
            d_kv=8,
            num_hidden_layers=1,
            num_attention_heads=2,
            seq_len=16,
        ),
    )
    m = randomise(Pix2StructForConditionalGeneration(config), scale=2.0)

    def patches(n, s):
        x = rand(1, 4, 12, seed=s)
        place = torch.tensor([[[1.0, 1.0], [1.0, 2.0], [2.0, 1.0], [2.0, 2.0]]])
        return torch.cat([place, x], -1) * (torch.arange(4) < n)[None, :, None], (torch.arange(4) < n)[None].float()

    return (lambda x, mask: m.generate(flattened_patches=x, attention_mask=mask, max_new_tokens=4, do_sample=False)), [
        patches(n, s) for s, n in enumerate([4, 2, 3, 1, 4])]


@model("transformers", "image tokens put where the mask says; greedy")
def kosmos2_generate():
    from transformers import Kosmos2Config, Kosmos2ForConditionalGeneration

    config = Kosmos2Config(
        text_config=dict(
            vocab_size=12,
            max_position_embeddings=32,
            embed_dim=16,
            layers=1,
            ffn_dim=24,
            attention_heads=2,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=5,
        ),
        vision_config=dict(
            hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2, image_size=8, patch_size=4
        ),
        latent_query_num=2,
    )
    m = randomise(Kosmos2ForConditionalGeneration(config), scale=2.0)
    places = [[0, 1, 1, 0], [0, 1, 1, 0], [1, 1, 0, 0]]
    return (
        lambda x, ids, place: m.generate(
            pixel_values=x,
            input_ids=ids,
            image_embeds_position_mask=place,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=3,
            do_sample=False,
        )
    ), [(rand(1, 3, 8, 8, seed=s), ints(1, 4, low=6, high=12, seed=s), torch.tensor([k])) for s, k in enumerate(places)]


@model("transformers", "image features in the places of image tokens; greedy")
def florence2_generate():
    from transformers import Florence2Config, Florence2ForConditionalGeneration

    config = Florence2Config(
        text_config=dict(
            model_type="bart",
            vocab_size=12,
            d_model=16,
            encoder_layers=1,
            decoder_layers=1,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=24,
            decoder_ffn_dim=24,
            max_position_embeddings=32,
            decoder_start_token_id=5,
            **SPECIAL,
        ),
        vision_config=dict(
            depths=[1],
            patch_size=[3],
            patch_stride=[4],
            patch_padding=[1],
            patch_prenorm=[False],
            embed_dim=[8],
            num_heads=[2],
            num_groups=[2],
            window_size=2,
            projection_dim=16,
            max_temporal_embeddings=4,
            max_position_embeddings=8,
        ),
        image_token_id=11,
    )
    m = randomise(Florence2ForConditionalGeneration(config), scale=2.0)
    return (lambda x, ids: m.generate(pixel_values=x, input_ids=ids, max_new_tokens=4, do_sample=False, num_beams=1)), [
        (rand(1, 3, 8, 8, seed=s), torch.cat([torch.full((1, 5), 11), ints(1, 2, low=6, high=11, seed=s)], 1))
        for s in range(3)
    ]


@model("transformers", "pixels drawn one after the other, the likeliest each time")
def imagegpt_generate():
    from transformers import ImageGPTConfig, ImageGPTForCausalImageModeling

    m = randomise(
        ImageGPTForCausalImageModeling(
            ImageGPTConfig(vocab_size=12, n_positions=32, n_embd=16, n_layer=1, n_head=2, **SPECIAL)
        ),
        scale=2.0,
    )
    return greedy(m, 4), prompts(4, high=11)
