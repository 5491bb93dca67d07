# SPDX-License-Identifier: Apache-2.0
"""What most decoders of the first families are made of: small configurations, GPT-2, prompts of any token."""

from tests.models.registry import ints, randomise

SMALL = dict(vocab_size=12, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
             max_position_embeddings=32, bos_token_id=1, eos_token_id=5, pad_token_id=0)

ENCODER_DECODER = dict(
    vocab_size=12,
    d_model=16,
    encoder_layers=1,
    decoder_layers=1,
    encoder_attention_heads=2,
    decoder_attention_heads=2,
    encoder_ffn_dim=24,
    decoder_ffn_dim=24,
    eos_token_id=5,
    pad_token_id=0,
)


def prompts(n=6, high=12, length=3):
    return [(ints(1, length, low=1, high=high, seed=s),) for s in range(n)]


def gpt2(seed=0, **options):
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=12, n_positions=32, n_embd=16, n_layer=2, n_head=2, bos_token_id=1, eos_token_id=5,
                        pad_token_id=0, **options)
    return randomise(GPT2LMHeadModel(config), seed=seed, scale=2.0)


def greedy(kind, config, new=6, n=5, **options):
    import transformers

    m = randomise(getattr(transformers, kind)(config), scale=2.0)
    return (lambda ids: m.generate(ids, max_new_tokens=new, do_sample=False, **options)), prompts(n)
