# SPDX-License-Identifier: Apache-2.0
"""Causal language models that write greedily or with beams until the end token, alone or in a padded batch."""

import torch

from tests.models.generation.small import SMALL, gpt2, greedy, prompts
from tests.models.registry import ints, model, randomise


@model("transformers", "greedy decoding until the end token")
def gpt2_generate():
    m = gpt2()
    return (lambda ids: m.generate(ids, max_new_tokens=8, do_sample=False)), prompts()


@model("transformers", "greedy decoding without a cache until the end token")
def gpt2_generate_without_cache():
    m = gpt2()
    return (lambda ids: m.generate(ids, max_new_tokens=6, do_sample=False, use_cache=False)), prompts()


@model("transformers", "beam search: beams reordered, finished ones kept")
def gpt2_beam_search():
    m = gpt2()
    return (lambda ids: m.generate(ids, max_new_tokens=5, num_beams=3, do_sample=False)), prompts()


@model("transformers", "padded batch: the mask decides how attention is computed")
def gpt2_with_padding():
    m = gpt2()
    masks = [
        torch.ones(2, 4, dtype=torch.long),
        torch.tensor([[0, 1, 1, 1], [1, 1, 1, 1]]),
        torch.tensor([[0, 0, 1, 1]] * 2),
    ]
    return (lambda ids, mask: m(ids, attention_mask=mask, use_cache=False).logits), [
        (ints(2, 4, low=1, high=12, seed=i), mask) for i, mask in enumerate(masks)]


@model("transformers", "greedy decoding: rotary positions, grouped keys")
def llama_generate():
    from transformers import LlamaConfig

    return greedy("LlamaForCausalLM", LlamaConfig(**SMALL, num_key_value_heads=1))


@model("transformers", "greedy decoding with a sliding window of keys")
def mistral_generate():
    from transformers import MistralConfig

    return greedy("MistralForCausalLM", MistralConfig(**SMALL, num_key_value_heads=1, sliding_window=4))


@model("transformers", "greedy decoding with two end tokens")
def qwen2_generate():
    from transformers import Qwen2Config

    return greedy("Qwen2ForCausalLM", Qwen2Config(**SMALL, num_key_value_heads=1), eos_token_id=[5, 7])


@model("transformers", "greedy decoding: layers with and without a window of keys, capped logits")
def gemma2_generate():
    from transformers import Gemma2Config

    return greedy("Gemma2ForCausalLM", Gemma2Config(**SMALL, num_key_value_heads=1, head_dim=8, sliding_window=4))


@model("transformers", "greedy decoding: positions counted from the mask")
def opt_generate():
    from transformers import OPTConfig

    return greedy(
        "OPTForCausalLM",
        OPTConfig(
            vocab_size=12,
            hidden_size=16,
            num_hidden_layers=1,
            ffn_dim=24,
            num_attention_heads=2,
            max_position_embeddings=32,
            word_embed_proj_dim=16,
            bos_token_id=1,
            eos_token_id=5,
            pad_token_id=0,
        ),
    )


@model("transformers", "greedy decoding: distances to the keys from the mask")
def bloom_generate():
    from transformers import BloomConfig

    return greedy(
        "BloomForCausalLM",
        BloomConfig(vocab_size=12, hidden_size=16, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=5, pad_token_id=0),
    )


@model("transformers", "greedy decoding with a recurrent state instead of keys")
def mamba_generate():
    from transformers import MambaConfig

    return greedy(
        "MambaForCausalLM",
        MambaConfig(
            vocab_size=12,
            hidden_size=8,
            state_size=4,
            num_hidden_layers=1,
            bos_token_id=1,
            eos_token_id=5,
            pad_token_id=0,
        ),
    )


@model("transformers", "greedy decoding with a list of recurrent states")
def rwkv_generate():
    from transformers import RwkvConfig

    return greedy(
        "RwkvForCausalLM",
        RwkvConfig(
            vocab_size=12,
            context_length=32,
            hidden_size=8,
            num_hidden_layers=2,
            attention_hidden_size=8,
            intermediate_size=16,
            rescale_every=2,
            bos_token_id=1,
            eos_token_id=5,
            pad_token_id=0,
        ),
        new=5,
    )


@model("transformers", "greedy decoding of a padded batch: rows end at different steps")
def llama_generate_batch():
    from transformers import LlamaConfig, LlamaForCausalLM

    m = randomise(LlamaForCausalLM(LlamaConfig(**SMALL, num_key_value_heads=2)), scale=2.0)
    masks = [
        torch.ones(2, 4, dtype=torch.long),
        torch.tensor([[0, 1, 1, 1], [1, 1, 1, 1]]),
        torch.tensor([[0, 0, 1, 1], [0, 1, 1, 1]]),
    ]
    return (lambda ids, mask: m.generate(ids, attention_mask=mask, max_new_tokens=6, do_sample=False)), [
        (ints(2, 4, low=1, high=12, seed=i) * mask, mask) for i, mask in enumerate(masks)]


@model("x-transformers", "greedy generation until the end token")
def x_transformers_generate():
    from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

    net = AutoregressiveWrapper(
        TransformerWrapper(num_tokens=12, max_seq_len=24, attn_layers=Decoder(dim=16, depth=1, heads=2))
    )
    m = randomise(net, scale=2.0)
    return (lambda ids: m.generate(ids, 6, eos_token=5, temperature=0.0, cache_kv=False)), prompts(5)


@model("x-transformers", "greedy with a cache until every sequence has its end token")
def x_transformers_eos_generate():
    from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

    m = AutoregressiveWrapper(
        TransformerWrapper(
            num_tokens=10, max_seq_len=16, attn_layers=Decoder(dim=16, depth=1, heads=2, attn_dim_head=8)
        )
    )
    m = randomise(m, scale=3.0)
    return (lambda p: m.generate(p, 6, temperature=0.0, eos_token=3, cache_kv=True)), [
        (ints(2, 3, high=10, seed=s),) for s in range(5)
    ]


@model("local-attention", "greedy, the cache cut to whole windows")
def local_transformer_generate():
    from local_attention import LocalTransformer

    m = randomise(
        LocalTransformer(
            num_tokens=12, dim=16, depth=1, max_seq_len=16, local_attn_window_size=4, causal=True, heads=2, dim_head=8
        ),
        scale=2.0,
    )
    return (lambda ids: m.generate(ids, 6, temperature=0.0)), [(ints(2, 3, high=12, seed=s),) for s in range(4)]


@model("litgpt", "tokens until the end token, a cache written in place")
def litgpt_generate():
    from litgpt import GPT, Config
    from litgpt.generate.base import generate

    m = randomise(
        GPT(
            Config(
                block_size=16,
                vocab_size=12,
                padded_vocab_size=12,
                n_layer=1,
                n_head=2,
                n_embd=16,
                rotary_percentage=1.0,
            )
        ),
        scale=3.0,
    )
    m.max_seq_length = 12
    m.set_kv_cache(batch_size=1)
    return (lambda ids: generate(m, ids, 9, temperature=1.0, top_k=1, eos_id=5)), [
        (ints(4, high=12, seed=s),) for s in range(4)
    ]
