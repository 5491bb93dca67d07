# SPDX-License-Identifier: Apache-2.0
"""Causal language models with layers of their own kind: state spaces, convolutions, local attention; greedy."""

import torch

from tests.models.generation.tiny import SPECIAL, TINY, causal, greedy, padded, prompts
from tests.models.registry import ints, model, randomise


@model("transformers", "linear attention and full attention by turns; greedy")
def qwen3_next_generate():
    return causal(
        "Qwen3NextForCausalLM",
        num_key_value_heads=1,
        head_dim=8,
        linear_num_value_heads=2,
        linear_num_key_heads=1,
        linear_key_head_dim=8,
        linear_value_head_dim=8,
        num_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=12,
        shared_expert_intermediate_size=12,
        layer_types=["linear_attention", "full_attention"],
        max_position_embeddings=32,
        **TINY,
    )


@model("transformers", "state space and attention side by side; greedy")
def falcon_h1_generate():
    return causal(
        "FalconH1ForCausalLM",
        num_key_value_heads=1,
        mamba_d_ssm=16,
        mamba_n_heads=2,
        mamba_d_head=8,
        mamba_n_groups=1,
        mamba_d_state=4,
        mamba_chunk_size=4,
        max_position_embeddings=32,
        **TINY,
    )


@model("transformers", "state space layers, shared attention; greedy")
def zamba2_generate():
    return causal(
        "Zamba2ForCausalLM",
        layers_block_type=["mamba", "hybrid"],
        mamba_d_state=4,
        n_mamba_heads=2,
        mamba_ngroups=1,
        chunk_size=4,
        num_key_value_heads=2,
        attention_head_dim=16,
        kv_channels=8,
        num_mem_blocks=1,
        use_mem_rope=True,
        max_position_embeddings=32,
        mamba_expand=2,
        mamba_headdim=16,
        **TINY,
    )


@model("transformers", "short convolutions with a cache, attention; greedy")
def lfm2_generate():
    return causal(
        "Lfm2ForCausalLM",
        num_key_value_heads=1,
        layer_types=["conv", "full_attention"],
        max_position_embeddings=32,
        block_auto_adjust_ff_dim=False,
        **TINY,
    )


@model("transformers", "recurrent blocks between local attention; greedy")
def recurrent_gemma_generate():
    from transformers import RecurrentGemmaConfig, RecurrentGemmaForCausalLM

    config = RecurrentGemmaConfig(
        vocab_size=20,
        hidden_size=8,
        intermediate_size=12,
        num_hidden_layers=3,
        num_attention_heads=2,
        head_dim=4,
        lru_width=8,
        attention_window_size=8,
        eos_token_id=2,
        pad_token_id=0,
        bos_token_id=1,
    )
    m = randomise(RecurrentGemmaForCausalLM(config), scale=2.0)
    return (lambda ids: m.generate(ids, max_new_tokens=3, do_sample=False)), [
        (ints(1, 4, low=3, high=20, seed=s),) for s in range(3)
    ]


@model("transformers", "two recurrent stacks, one slow, one fast; greedy")
def hrm_text_generate():
    return causal(
        "HrmTextForCausalLM",
        head_dim=8,
        max_position_embeddings=32,
        prefix_lm=False,
        **{**TINY, "num_hidden_layers": 4},
    )


@model("transformers", "four streams beside each other, one of them active; sparse activations")
def gemma3n_generate():
    from transformers import Gemma3nForCausalLM, Gemma3nTextConfig

    m = randomise(
        Gemma3nForCausalLM(
            Gemma3nTextConfig(
                num_key_value_heads=1,
                head_dim=8,
                sliding_window=4,
                vocab_size_per_layer_input=12,
                hidden_size_per_layer_input=4,
                altup_num_inputs=2,
                num_kv_shared_layers=0,
                laurel_rank=4,
                activation_sparsity_pattern=[0.5, 0.0],
                layer_types=["sliding_attention", "full_attention"],
                **TINY,
            )
        ),
        scale=2.0,
    )
    return greedy(m, 3), prompts(4)


@model("transformers", "sliding and full attention by turns; greedy over the window's length")
def gemma3_generate():
    return padded(
        "Gemma3ForCausalLM",
        tokens=6,
        config_name="Gemma3TextConfig",
        num_key_value_heads=1,
        head_dim=8,
        sliding_window=3,
        layer_types=["sliding_attention", "full_attention"],
        max_position_embeddings=32,
        **TINY,
    )


@model("transformers", "local and global attention by turns; greedy")
def gpt_neo_generate():
    return causal(
        "GPTNeoForCausalLM",
        vocab_size=12,
        hidden_size=16,
        num_layers=2,
        attention_types=[[["global", "local"], 1]],
        num_heads=2,
        intermediate_size=24,
        window_size=3,
        max_position_embeddings=32,
        **SPECIAL,
    )


@model("transformers", "positions by slopes; greedy")
def mpt_generate():
    return causal(
        "MptForCausalLM", vocab_size=12, d_model=16, n_heads=2, n_layers=1, max_seq_len=32, expansion_ratio=2, **SPECIAL
    )


@model("transformers", "multi-query attention; greedy")
def falcon_generate():
    return causal(
        "FalconForCausalLM",
        vocab_size=12,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        alibi=True,
        max_position_embeddings=32,
        **SPECIAL,
    )


@model("transformers", "control codes; greedy")
def ctrl_generate():
    return causal(
        "CTRLLMHeadModel",
        config_name="CTRLConfig",
        vocab_size=12,
        n_positions=32,
        n_embd=16,
        dff=24,
        n_layer=1,
        n_head=2,
        **SPECIAL,
    )


@model("transformers", "positions counted from the mask; greedy, a padded batch")
def biogpt_generate():
    from transformers import BioGptConfig, BioGptForCausalLM

    m = randomise(BioGptForCausalLM(BioGptConfig(max_position_embeddings=32, **TINY)), scale=2.0)
    masks = [[1, 1, 1], [0, 1, 1], [0, 0, 1], [1, 1, 1]]
    return (lambda ids, mask: m.generate(ids, attention_mask=mask, max_new_tokens=4, do_sample=False)), [
        (ints(2, 3, low=6, high=12, seed=s) * torch.tensor(k), torch.tensor([k, k])) for s, k in enumerate(masks)]
