# SPDX-License-Identifier: Apache-2.0
"""Texts rewritten by encoder-decoders: T5, BART, Marian, phonemes of words; greedy and with beams."""

import torch

from tests.models.generation.small import ENCODER_DECODER, greedy, prompts
from tests.models.registry import ints, model, randomise


@model("transformers", "encoder-decoder greedy decoding")
def t5_generate():
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(vocab_size=12, d_model=16, d_kv=8, d_ff=24, num_layers=1, num_heads=2, decoder_start_token_id=0,
                      eos_token_id=5, pad_token_id=0)
    m = randomise(T5ForConditionalGeneration(config), scale=2.0)
    return (lambda ids: m.generate(ids, max_new_tokens=6, do_sample=False)), prompts()


@model("transformers", "encoder-decoder greedy decoding of a padded batch")
def t5_generate_batch():
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(vocab_size=12, d_model=16, d_kv=8, d_ff=24, num_layers=1, num_heads=2, decoder_start_token_id=0,
                      eos_token_id=5, pad_token_id=0)
    m = randomise(T5ForConditionalGeneration(config), scale=2.0)
    masks = [torch.ones(2, 4, dtype=torch.long), torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1]])]
    return (lambda ids, mask: m.generate(ids, attention_mask=mask, max_new_tokens=6, do_sample=False)), [
        (ints(2, 4, low=1, high=12, seed=s), masks[s % 2]) for s in range(4)]


@model("transformers", "encoder-decoder beam search")
def bart_beam_search():
    from transformers import BartConfig, BartForConditionalGeneration

    config = BartConfig(vocab_size=12, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
                        decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=32,
                        eos_token_id=5, pad_token_id=0, bos_token_id=1, decoder_start_token_id=5, forced_eos_token_id=5)
    m = randomise(BartForConditionalGeneration(config), scale=2.0)
    return (lambda ids: m.generate(ids, max_new_tokens=5, num_beams=2, do_sample=False)), prompts()


@model("transformers", "translation by beams with a forced end")
def marian_beam_search():
    from transformers import MarianConfig

    config = MarianConfig(
        **ENCODER_DECODER, max_position_embeddings=32, decoder_start_token_id=0, forced_eos_token_id=5
    )
    return greedy("MarianMTModel", config, num_beams=2, new=5)


@model("pytorch-beam-search", "greedy search of a seq2seq model")
def pytorch_beam_search_greedy():
    from pytorch_beam_search import seq2seq

    source, target = seq2seq.Index(["abc", "cab"]), seq2seq.Index(["xyz", "zxy"])
    m = randomise(
        seq2seq.LSTM(
            source,
            target,
            encoder_embedding_dimension=6,
            decoder_embedding_dimension=6,
            encoder_hidden_units=6,
            encoder_layers=1,
            decoder_hidden_units=6,
            decoder_layers=1,
            dropout=0.0,
        )
    )
    return (lambda x: seq2seq.greedy_search(m, x, predictions=5, progress_bar=0)), [
        (ints(1, 4, low=1, high=6, seed=s),) for s in range(4)
    ]


@model("deep-phonemizer", "phonemes until every word has ended")
def deep_phonemizer_generate():
    from dp.model.model import AutoregressiveTransformer

    m = randomise(
        AutoregressiveTransformer(
            10, 8, end_index=2, d_model=16, d_fft=24, encoder_layers=1, decoder_layers=1, heads=2
        ),
        scale=2.0,
    )
    texts = [
        [[4, 5, 6, 7], [8, 9, 0, 0]],
        [[4, 4, 0, 0], [5, 6, 7, 0]],
        [[9, 8, 7, 6], [5, 4, 9, 8]],
        [[7, 0, 0, 0], [6, 0, 0, 0]],
        [[5, 9, 5, 0], [8, 8, 0, 0]],
    ]
    return (lambda text, start: m.generate({"text": text, "start_index": start}, max_len=5)), [
        (torch.tensor(t), torch.tensor([1, 1])) for t in texts]
