# SPDX-License-Identifier: Apache-2.0
"""Language models with experts that write greedily, most of them a batch padded on the left."""

from tests.models.generation.tiny import TINY, causal, greedy, padded, prompts
from tests.models.registry import model, randomise


@model("transformers", "experts chosen per token, a padded batch; greedy")
def qwen3_moe_generate():
    return padded(
        "Qwen3MoeForCausalLM",
        num_key_value_heads=1,
        head_dim=8,
        num_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=12,
        decoder_sparse_step=1,
        max_position_embeddings=32,
        **TINY,
    )


@model("transformers", "experts in groups, latent attention, a padded batch; greedy")
def deepseek_v3_generate():
    return padded(
        "DeepseekV3ForCausalLM",
        num_key_value_heads=2,
        n_routed_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=12,
        n_group=2,
        topk_group=1,
        q_lora_rank=8,
        kv_lora_rank=8,
        qk_rope_head_dim=4,
        qk_nope_head_dim=4,
        v_head_dim=8,
        first_k_dense_replace=1,
        n_shared_experts=1,
        max_position_embeddings=32,
        **TINY,
    )


@model("transformers", "experts chosen per token, a padded batch; greedy")
def olmoe_generate():
    return padded(
        "OlmoeForCausalLM",
        num_key_value_heads=2,
        num_experts=4,
        num_experts_per_tok=2,
        max_position_embeddings=32,
        **TINY,
    )


@model("transformers", "experts beside a shared one, a padded batch; greedy")
def glm4_moe_generate():
    return padded(
        "Glm4MoeForCausalLM",
        num_key_value_heads=1,
        head_dim=8,
        n_routed_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=12,
        n_group=1,
        topk_group=1,
        n_shared_experts=1,
        first_k_dense_replace=1,
        max_position_embeddings=32,
        **TINY,
    )


@model("transformers", "one expert per token, attention in chunks, a padded batch; greedy")
def llama4_generate():
    return padded(
        "Llama4ForCausalLM",
        config_name="Llama4TextConfig",
        num_key_value_heads=1,
        head_dim=8,
        num_local_experts=4,
        num_experts_per_tok=1,
        intermediate_size_mlp=24,
        attention_chunk_size=4,
        interleave_moe_layer_step=2,
        max_position_embeddings=32,
        **TINY,
    )


@model("transformers", "experts, sliding and full attention by turns with sinks, a padded batch; greedy")
def gpt_oss_generate():
    return padded(
        "GptOssForCausalLM",
        num_key_value_heads=1,
        head_dim=8,
        num_local_experts=4,
        num_experts_per_tok=2,
        sliding_window=3,
        layer_types=["sliding_attention", "full_attention"],
        max_position_embeddings=32,
        **TINY,
    )


@model("transformers", "state space and attention layers, experts; greedy")
def jamba_generate():
    return padded(
        "JambaForCausalLM",
        num_key_value_heads=1,
        num_experts=4,
        num_experts_per_tok=2,
        attn_layer_period=2,
        attn_layer_offset=1,
        expert_layer_period=2,
        expert_layer_offset=1,
        mamba_d_state=4,
        mamba_d_conv=2,
        mamba_dt_rank=4,
        use_mamba_kernels=False,
        max_position_embeddings=32,
        **TINY,
    )


@model("transformers", "experts of which a token takes several, beside a shared one; greedy, a padded batch")
def hunyuan_moe_generate():
    return padded(
        "HunYuanMoEV1ForCausalLM",
        num_key_value_heads=1,
        head_dim=8,
        num_experts=4,
        moe_topk=2,
        max_position_embeddings=32,
        **TINY,
    )


@model("transformers", "short convolutions and experts; greedy, a padded batch")
def lfm2_moe_generate():
    return padded(
        "Lfm2MoeForCausalLM",
        num_key_value_heads=1,
        num_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=12,
        num_dense_layers=1,
        layer_types=["conv", "full_attention"],
        max_position_embeddings=32,
        **TINY,
    )


@model("transformers", "experts in groups beside shared ones; greedy, a padded batch")
def dots1_generate():
    return padded(
        "Dots1ForCausalLM",
        num_key_value_heads=1,
        head_dim=8,
        n_routed_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=12,
        n_group=1,
        topk_group=1,
        n_shared_experts=1,
        first_k_dense_replace=1,
        max_position_embeddings=32,
        **TINY,
    )


@model("transformers", "experts by the sigmoid of their scores; greedy, a padded batch")
def minimax_m2_generate():
    return padded("MiniMaxM2ForCausalLM", num_key_value_heads=1, head_dim=8, num_local_experts=4, num_experts_per_tok=2,
                  max_position_embeddings=32, **TINY)


@model("transformers", "lightning attention blocks and experts; greedy")
def minimax_generate():
    return causal(
        "MiniMaxForCausalLM",
        num_key_value_heads=1,
        num_local_experts=4,
        num_experts_per_tok=2,
        block_size=4,
        head_dim=8,
        layer_types=["linear_attention", "full_attention"],
        max_position_embeddings=32,
        **TINY,
    )


@model("transformers", "state space, attention and experts by turns; greedy")
def nemotron_h_generate():
    return causal(
        "NemotronHForCausalLM",
        layers_block_type=["mamba", "attention", "moe"],
        num_key_value_heads=1,
        head_dim=8,
        ssm_state_size=4,
        mamba_num_heads=4,
        mamba_head_dim=8,
        n_groups=1,
        conv_kernel=2,
        chunk_size=4,
        n_routed_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=12,
        moe_shared_expert_intermediate_size=12,
        n_group=1,
        topk_group=1,
        **{k: v for k, v in TINY.items() if k != "num_hidden_layers"},
    )


@model("transformers", "experts chosen out of a grid of keys; dynamic mask; greedy")
def doge_moe_generate():
    return causal(
        "DogeForCausalLM",
        num_key_value_heads=1,
        is_moe=True,
        num_experts=16,
        num_experts_per_tok=2,
        keep_window_size=4,
        max_position_embeddings=32,
        **TINY,
    )


@model("transformers", "experts with shared ones behind a sigmoid router; greedy")
def ernie_moe_generate():
    return causal(
        "Ernie4_5_MoeForCausalLM",
        config_name="Ernie4_5_MoeConfig",
        num_key_value_heads=1,
        moe_num_experts=4,
        moe_k=2,
        moe_intermediate_size=12,
        moe_num_shared_experts=1,
        moe_layer_start_index=0,
        moe_layer_end_index=1,
        moe_layer_interval=1,
        max_position_embeddings=32,
        **TINY,
    )


@model("transformers", "convolutions in the attention, one expert per token")
def zaya_generate():
    return causal(
        "ZayaForCausalLM",
        tokens=3,
        num_key_value_heads=1,
        head_dim=8,
        moe_intermediate_size=8,
        num_experts=4,
        router_hidden_size=8,
        **{k: v for k, v in TINY.items() if k != "intermediate_size"},
    )


@model("transformers", "attention layers beside state-space layers, experts in each")
def granite_moe_hybrid_generate():
    return causal(
        "GraniteMoeHybridForCausalLM",
        tokens=3,
        num_key_value_heads=2,
        num_local_experts=4,
        num_experts_per_tok=2,
        shared_intermediate_size=8,
        layer_types=["mamba", "attention"],
        mamba_n_heads=4,
        mamba_d_state=4,
        mamba_d_head=8,
        mamba_d_conv=2,
        mamba_chunk_size=4,
        **TINY,
    )


@model("transformers", "experts of several encoders' and decoders' layers; greedy")
def switch_transformers_generate():
    from transformers import SwitchTransformersConfig, SwitchTransformersForConditionalGeneration

    m = randomise(
        SwitchTransformersForConditionalGeneration(
            SwitchTransformersConfig(
                vocab_size=12,
                d_model=16,
                d_kv=8,
                d_ff=24,
                num_layers=2,
                num_sparse_encoder_layers=1,
                num_decoder_layers=2,
                num_sparse_decoder_layers=1,
                num_heads=2,
                num_experts=3,
                expert_capacity=8,
                decoder_start_token_id=0,
                pad_token_id=0,
                eos_token_id=5,
            )
        ),
        scale=2.0,
    )
    return greedy(m, 3), prompts(4, 4)
