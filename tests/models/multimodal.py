# SPDX-License-Identifier: Apache-2.0
"""Models of text with pictures or sound: features put where the tokens say, images of several sizes."""

import torch

from tests.models.registry import ints, model, rand, randomise


@model("transformers", "positions resized to the part of the image that is there, its patches chosen")
def vilt():
    from transformers import ViltConfig, ViltModel

    m = randomise(
        ViltModel(
            ViltConfig(
                vocab_size=20,
                hidden_size=16,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=16,
                image_size=16,
                patch_size=4,
                max_image_length=-1,
            )
        )
    )
    masks = []
    for h, w in [(16, 16), (8, 16), (16, 12), (4, 4)]:
        masks.append(torch.zeros(1, 16, 16, dtype=torch.long))
        masks[-1][:, :h, :w] = 1
    return (lambda ids, pixels, mask: m(input_ids=ids, pixel_values=pixels, pixel_mask=mask).pooler_output), [
        (ints(1, 5, high=20, seed=s), rand(1, 3, 16, 16, seed=s), mask) for s, mask in enumerate(masks)]


@model("transformers", "patches put where the tokens say, none or all of them")
def fuyu_patches():
    from transformers import FuyuConfig, FuyuModel

    m = randomise(
        FuyuModel(
            FuyuConfig(
                vocab_size=20,
                hidden_size=16,
                intermediate_size=16,
                num_hidden_layers=1,
                num_attention_heads=2,
                image_size=8,
                patch_size=4,
                num_channels=3,
                image_token_id=5,
            )
        )
    )
    places = [[0, 1, -1, -1, 2, 3], [-1, -1, -1, 0, 1, 2], [-1] * 6, [3, 2, 1, 0, -1, -1], [0, -1, 2, -1, 1, -1]]
    return (lambda words, patches, at: m.gather_continuous_embeddings(words, [patches], at)), [
        (rand(1, 6, 16, seed=s), rand(4, 16, seed=s + 3), torch.tensor([i])) for s, i in enumerate(places)]


@model("transformers", "image features cut back to the image's shape")
def llava_next_unpad():
    from transformers.models.llava_next.modeling_llava_next import unpad_image

    return (lambda x, size: unpad_image(x, size)), [
        (rand(3, 6, 6, seed=s), torch.tensor(z)) for s, z in enumerate([[6, 6], [6, 3], [3, 6], [2, 5]])
    ]


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


@model("transformers", "positions of text and image tokens found in the input (item, tolist, index)")
def qwen2_vl_rope_index():
    from transformers import Qwen2VLConfig
    from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLModel

    config = Qwen2VLConfig(
        text_config=dict(
            vocab_size=40,
            hidden_size=16,
            intermediate_size=24,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=1,
            rope_parameters={"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 1e4},
        ),
        vision_config=dict(depth=1, embed_dim=16, num_heads=2, hidden_size=16, patch_size=4),
        image_token_id=31,
        video_token_id=32,
        vision_start_token_id=33,
        vision_end_token_id=34,
    )
    m = Qwen2VLModel(config).eval()
    ids = [torch.tensor([[1, 33, 31, 31, 31, 31, 34, 2, 3]]), torch.tensor([[1, 2, 33, 31, 31, 31, 31, 34, 5]])]
    grid = torch.tensor([[1, 4, 4]])
    return (lambda i, kinds, g: m.get_rope_index(input_ids=i, mm_token_type_ids=kinds, image_grid_thw=g)), [
        (i, (i == 31).int(), grid) for i in ids]


@model("transformers", "window sizes of the vision tower from the image grid, as lists")
def qwen2_5_vl_windows():
    from transformers.models.qwen2_5_vl import modeling_qwen2_5_vl as m

    config = m.Qwen2_5_VLVisionConfig(
        depth=1,
        hidden_size=16,
        intermediate_size=24,
        num_heads=2,
        patch_size=4,
        window_size=16,
        spatial_merge_size=2,
        out_hidden_size=16,
    )
    v = m.Qwen2_5_VisionTransformerPretrainedModel(config).eval()
    fn = getattr(v, "get_window_index", None)
    return (lambda grid: fn(grid)), [
        (torch.tensor([[1, 8, 8]]),),
        (torch.tensor([[1, 4, 12]]),),
        (torch.tensor([[2, 6, 6]]),),
    ]


@model("transformers", "images that are all zero are left out")
def idefics3_real_images():
    from transformers import Idefics3Config, Idefics3Model

    config = Idefics3Config(
        vision_config=dict(
            hidden_size=8, image_size=8, patch_size=4, num_hidden_layers=1, num_attention_heads=2, intermediate_size=12
        ),
        text_config=dict(
            model_type="llama",
            vocab_size=20,
            hidden_size=8,
            intermediate_size=12,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=1,
            pad_token_id=0,
        ),
        scale_factor=2,
        image_token_id=19,
    )
    m = randomise(Idefics3Model(config))
    one, two = rand(1, 2, 3, 8, 8), rand(1, 2, 3, 8, 8, seed=1)
    two[:, 1] = 0
    return (lambda x: m.get_image_features(x).pooler_output), [(one,), (two,)]


@model("transformers", "text segments between special tokens, found by nonzero")
def grounding_dino_text_masks():
    from transformers.models.grounding_dino.modeling_grounding_dino import (
        generate_masks_with_special_tokens_and_transfer_map,
    )

    ids = [torch.tensor([[101, 5, 6, 1012, 7, 102]]), torch.tensor([[101, 5, 1012, 6, 1012, 102]]),
           torch.tensor([[101, 5, 6, 7, 8, 102]])]
    return generate_masks_with_special_tokens_and_transfer_map, [(i,) for i in ids]


@model("transformers", "long recordings are fused with their parts, short ones are not", rtol=1e-3, atol=1e-4)
def clap_fusion():
    from transformers import ClapAudioConfig, ClapAudioModel

    m = randomise(
        ClapAudioModel(
            ClapAudioConfig(
                spec_size=32,
                num_mel_bins=8,
                window_size=2,
                patch_size=4,
                patch_stride=[4, 4],
                hidden_size=16,
                projection_dim=8,
                depths=[1, 1],
                num_attention_heads=[2, 2],
                patch_embeds_hidden_size=8,
                enable_fusion=True,
                aff_block_r=2,
            )
        )
    )
    return (lambda x, longer: m(input_features=x, is_longer=longer).pooler_output), [
        (rand(2, 4, 64, 8, seed=s), torch.tensor(k))
        for s, k in enumerate(([[True], [False]], [[False], [False]], [[True], [True]]))
    ]
