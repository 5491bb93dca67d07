# SPDX-License-Identifier: Apache-2.0
"""Encoder-decoders of further families: two BERTs, n-grams, forced tokens, two vocabularies, raw audio."""

import torch

from tests.models.generation.tiny import SPECIAL, TINY, bart, greedy, prompts
from tests.models.registry import ints, model, rand, randomise


@model("transformers", "multilingual translation: a forced first token, beams, until the end token")
def m2m_100_beam():
    from transformers import M2M100Config, M2M100ForConditionalGeneration

    config = M2M100Config(
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
    )
    m = randomise(M2M100ForConditionalGeneration(config), scale=2.0)
    return (
        lambda ids: m.generate(ids, max_new_tokens=4, num_beams=2, do_sample=False, forced_bos_token_id=7)
    ), prompts()


@model("transformers", "encoder-decoder of two BERTs, greedy until the end token")
def bert_to_bert():
    from transformers import BertConfig, EncoderDecoderConfig, EncoderDecoderModel

    config = EncoderDecoderConfig.from_encoder_decoder_configs(
        BertConfig(max_position_embeddings=32, **TINY), BertConfig(max_position_embeddings=32, **TINY)
    )
    config.decoder_start_token_id, config.pad_token_id, config.eos_token_id = 1, 0, 5
    m = randomise(EncoderDecoderModel(config), scale=2.0)
    return (
        lambda ids: m.generate(
            ids, max_new_tokens=5, do_sample=False, decoder_start_token_id=1, pad_token_id=0, eos_token_id=5
        )
    ), prompts()


@model("transformers", "encoder and decoder of Gemma's kind; greedy")
def t5gemma_generate():
    from transformers import T5GemmaConfig, T5GemmaForConditionalGeneration

    part = dict(
        num_key_value_heads=1,
        head_dim=8,
        sliding_window=4,
        layer_types=["sliding_attention", "full_attention"],
        max_position_embeddings=32,
        **TINY,
    )
    m = randomise(
        T5GemmaForConditionalGeneration(T5GemmaConfig(encoder=part, decoder=part, vocab_size=12, **SPECIAL)), scale=2.0
    )
    return greedy(m, 5, decoder_start_token_id=1), prompts()


@model("transformers", "a forced first token and a forced last one; greedy, a batch padded on the right")
def bart_forced_ends():
    m = bart(forced_bos_token_id=7, forced_eos_token_id=5)
    masks = [torch.tensor(k) for k in ([[1, 1, 1, 0], [1, 1, 1, 1]], [[1, 1, 1, 1]] * 2, [[1, 0, 0, 0], [1, 1, 0, 0]])]
    return (lambda ids, mask: m.generate(ids, attention_mask=mask, max_new_tokens=5, do_sample=False, num_beams=1)), [
        (ints(2, 4, low=6, high=12, seed=s) * k, k) for s, k in enumerate(masks)]


@model("transformers", "n-gram prediction, greedy until the end token")
def prophetnet_generate():
    from transformers import ProphetNetConfig, ProphetNetForConditionalGeneration

    config = ProphetNetConfig(
        vocab_size=20,
        hidden_size=8,
        encoder_ffn_dim=12,
        num_encoder_layers=1,
        num_encoder_attention_heads=2,
        decoder_ffn_dim=12,
        num_decoder_layers=1,
        num_decoder_attention_heads=2,
        max_position_embeddings=16,
        ngram=2,
        num_buckets=4,
        relative_max_distance=8,
        decoder_start_token_id=0,
        eos_token_id=2,
        pad_token_id=0,
    )
    m = randomise(ProphetNetForConditionalGeneration(config), scale=2.0)
    return (lambda ids: m.generate(ids, max_new_tokens=4, do_sample=False, num_beams=1)), [
        (ints(1, 4, low=3, high=20, seed=s),) for s in range(3)
    ]


@model("transformers", "encoder and decoder with different vocabularies; greedy")
def fsmt_generate():
    from transformers import FSMTConfig, FSMTForConditionalGeneration

    config = FSMTConfig(
        src_vocab_size=20,
        tgt_vocab_size=18,
        langs=["en", "de"],
        d_model=8,
        encoder_layers=1,
        decoder_layers=1,
        encoder_ffn_dim=12,
        decoder_ffn_dim=12,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        max_position_embeddings=16,
        max_length=8,
        num_beams=1,
    )
    m = randomise(FSMTForConditionalGeneration(config), scale=2.0)
    return (lambda ids: m.generate(ids, max_new_tokens=3, do_sample=False, num_beams=1)), [
        (ints(1, 4, low=3, high=18, seed=s),) for s in range(3)
    ]


@model("transformers", "raw audio, then tokens until the end token", rtol=1e-3, atol=1e-4)
def moonshine_generate():
    from transformers import MoonshineConfig, MoonshineForConditionalGeneration

    config = MoonshineConfig(
        vocab_size=20,
        hidden_size=8,
        intermediate_size=12,
        encoder_num_hidden_layers=1,
        decoder_num_hidden_layers=1,
        encoder_num_attention_heads=2,
        decoder_num_attention_heads=2,
        max_position_embeddings=32,
        decoder_start_token_id=1,
        eos_token_id=2,
        bos_token_id=1,
        pad_token_id=0,
    )
    m = randomise(MoonshineForConditionalGeneration(config), scale=2.0)
    return (lambda x: m.generate(x, max_new_tokens=3, do_sample=False)), [(rand(1, 1500, seed=s),) for s in range(2)]
