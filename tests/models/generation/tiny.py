# SPDX-License-Identifier: Apache-2.0
"""What decoders of later families are made of: tiny configurations, prompts without special tokens, padded batches."""

import torch

from tests.models.registry import ints, randomise

SPECIAL = dict(bos_token_id=1, eos_token_id=5, pad_token_id=0)

TINY = dict(vocab_size=12, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, **SPECIAL)

ENCODER_DECODER = dict(
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

MASKS = [
    [[1, 1, 1, 1], [1, 1, 1, 1]],
    [[0, 1, 1, 1], [1, 1, 1, 1]],
    [[0, 0, 1, 1], [0, 1, 1, 1]],
    [[1, 1, 1, 1], [0, 0, 0, 1]],
]


def prompts(n=5, length=3, batch=1, high=12):
    return [(ints(batch, length, low=6, high=high, seed=s),) for s in range(n)]


def greedy(m, tokens=5, **options):
    return lambda ids: m.generate(ids, max_new_tokens=tokens, do_sample=False, **options)


def causal(name, tokens=5, scale=2.0, config_name=None, **options):
    """A causal language model, generating greedily."""
    import transformers

    config = getattr(
        transformers, config_name or name.replace("ForCausalLM", "").replace("LMHeadModel", "") + "Config"
    )(**options)
    return greedy(randomise(getattr(transformers, name)(config), scale=scale), tokens), prompts()


def padded(name, tokens=4, config_name=None, **options):
    """A causal language model, generating greedily for a batch padded on the left."""
    import transformers

    config = getattr(transformers, config_name or name.replace("ForCausalLM", "Config"))(**options)
    m = randomise(getattr(transformers, name)(config), scale=2.0)
    masks = [torch.tensor(k) for k in MASKS]
    return (lambda ids, mask: m.generate(ids, attention_mask=mask, max_new_tokens=tokens, do_sample=False)), [
        (ints(2, 4, low=6, high=12, seed=s) * k, k) for s, k in enumerate(masks)]


def llama(**options):
    from transformers import LlamaConfig, LlamaForCausalLM

    return randomise(
        LlamaForCausalLM(LlamaConfig(num_key_value_heads=1, max_position_embeddings=64, **TINY, **options)), scale=2.0
    )


def bart(**options):
    from transformers import BartConfig, BartForConditionalGeneration

    return randomise(BartForConditionalGeneration(BartConfig(**ENCODER_DECODER, **options)), scale=2.0)
