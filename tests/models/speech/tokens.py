# SPDX-License-Identifier: Apache-2.0
"""Sound as tokens: semantic and fine codes, codebooks delayed against each other, a decoder over the depth."""

import torch

from tests.models.registry import ints, model, rand, randomise


@model("transformers", "semantic tokens of a text until the end token")
def bark_semantic():
    from transformers.models.bark.generation_configuration_bark import BarkSemanticGenerationConfig
    from transformers.models.bark.modeling_bark import BarkSemanticConfig, BarkSemanticModel

    m = randomise(
        BarkSemanticModel(
            BarkSemanticConfig(
                block_size=32, input_vocab_size=12, output_vocab_size=12, num_layers=1, num_heads=2, hidden_size=16
            )
        ),
        scale=2.0,
    )
    config = BarkSemanticGenerationConfig(
        eos_token_id=5,
        text_encoding_offset=2,
        text_pad_token=0,
        semantic_infer_token=11,
        semantic_vocab_size=5,
        max_input_semantic_length=4,
        semantic_rate_hz=1.0,
        max_new_tokens=5,
        do_sample=False,
    )
    return (lambda ids: m.generate(ids, semantic_generation_config=config)), [
        (ints(1, 4, low=1, high=8, seed=s),) for s in range(5)
    ]


@model("transformers", "fine codes one codebook after the other")
def bark_fine():
    from transformers.models.bark.modeling_bark import BarkFineConfig, BarkFineModel

    m = randomise(
        BarkFineModel(
            BarkFineConfig(
                block_size=16,
                input_vocab_size=12,
                output_vocab_size=12,
                num_layers=1,
                num_heads=2,
                hidden_size=16,
                n_codes_total=4,
                n_codes_given=1,
            )
        ),
        scale=2.0,
    )

    def run(codes):
        for k in range(1, 4):
            codes = torch.cat([codes[..., :k], m(k, codes).logits.argmax(-1, keepdim=True), codes[..., k + 1:]], -1)
        return codes

    return run, [(ints(1, 6, 4, high=12, seed=s),) for s in range(3)]


@model("transformers", "codebooks delayed against each other; greedy")
def musicgen_decoder_generate():
    from transformers import MusicgenForCausalLM
    from transformers.models.musicgen.configuration_musicgen import MusicgenDecoderConfig

    m = randomise(
        MusicgenForCausalLM(
            MusicgenDecoderConfig(
                vocab_size=12,
                max_position_embeddings=32,
                num_hidden_layers=1,
                ffn_dim=24,
                num_attention_heads=2,
                hidden_size=16,
                num_codebooks=2,
                pad_token_id=12,
                bos_token_id=12,
            )
        ),
        scale=2.0,
    )
    m.generation_config.pad_token_id = m.generation_config.bos_token_id = m.generation_config.decoder_start_token_id = (
        12
    )
    return (lambda ids: m.generate(ids, max_new_tokens=6, do_sample=False, guidance_scale=1, num_return_sequences=1)), [
        (ints(2, 1, high=12, seed=s),) for s in range(3)
    ]


@model("transformers", "speech and text tokens, a decoder over the depth; greedy")
def moshi_depth_generate():
    from transformers.models.moshi.modeling_moshi import MoshiDepthConfig, MoshiDepthDecoder

    m = randomise(
        MoshiDepthDecoder(
            MoshiDepthConfig(
                vocab_size=12,
                hidden_size=16,
                input_size=16,
                num_hidden_layers=1,
                num_attention_heads=2,
                audio_vocab_size=12,
                max_position_embeddings=5,
                sliding_window=4,
                ffn_dim=24,
                num_codebooks=4,
                pad_token_id=0,
            )
        ),
        scale=2.0,
    )
    return (
        lambda x, ids: m.generate(last_hidden_state=x, input_ids=ids, min_length=5, max_length=5, do_sample=False)
    ), [(rand(1, 1, 16, seed=s), ints(1, 1, high=12, seed=s)) for s in range(4)]


@model("transformers", "speech tokens of a text until the end token")
def clvp_generate():
    from transformers import ClvpConfig, ClvpModelForConditionalGeneration

    part = dict(
        vocab_size=12,
        hidden_size=16,
        intermediate_size=24,
        projection_dim=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        bos_token_id=1,
        eos_token_id=5,
        pad_token_id=0,
    )
    decoder = dict(
        vocab_size=12,
        max_position_embeddings=32,
        max_text_tokens=32,
        hidden_size=16,
        n_inner=24,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_mel_attn_blocks=1,
        bos_token_id=1,
        eos_token_id=5,
        pad_token_id=0,
        feature_size=8,
        decoder_fixing_codes=[8, 4, 4, 7],
    )
    m = randomise(
        ClvpModelForConditionalGeneration(
            ClvpConfig(text_config=part, speech_config=part, decoder_config=decoder, projection_dim=16)
        ),
        scale=2.0,
    )

    def run(ids, features):
        out = m.generate(
            ids, input_features=features, max_new_tokens=4, do_sample=False, num_beams=1, return_dict_in_generate=True
        )
        return out.speech_ids, out.logits_per_text

    return run, [(ints(1, 4, low=6, high=12, seed=s), rand(1, 8, 16, seed=s)) for s in range(3)]


@model("transformers", "a start and an end put into each row where its padding begins")
def clvp_tokens():
    from transformers.models.clvp.modeling_clvp import _pad_extra_bos_eos_tokens

    rows = ([[1, 2, 3, 4], [5, 6, 7, 1]], [[1, 2, 0, 0], [5, 6, 7, 0]], [[1, 0, 0, 0], [2, 3, 4, 5]])
    return (lambda ids, mask: _pad_extra_bos_eos_tokens(ids, mask, pad_token_id=0, bos_token_id=8, eos_token_id=9)), [
        (torch.tensor(i), torch.tensor(i).ne(0).long()) for i in rows]
