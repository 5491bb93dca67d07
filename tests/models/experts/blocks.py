# SPDX-License-Identifier: Apache-2.0
"""Blocks of experts in transformers: loops over the experts that were hit, gathers of the tokens routed to each."""

import torch

from tests.models.inputs import blocks, tokens
from tests.models.registry import model, rand, randomise

HIT = "loop over the experts that were hit; tokens gathered by a data-dependent index"

SMALL = dict(vocab_size=40, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
             num_key_value_heads=1, max_position_embeddings=32)


@model("transformers", HIT)
def mixtral_block():
    from transformers.models.mixtral.modeling_mixtral import MixtralConfig, MixtralSparseMoeBlock

    config = MixtralConfig(**SMALL, num_local_experts=6, num_experts_per_tok=2)
    config._experts_implementation = "eager"
    return randomise(MixtralSparseMoeBlock(config)), blocks(2, 5, 16)


def causal_lm(cls, config, high=40):
    config._experts_implementation = "eager"
    config.use_cache = False
    m = randomise(cls(config))
    return (lambda ids: m(input_ids=ids, use_cache=False).logits), tokens(1, 5, high=high)


@model("transformers", HIT)
def mixtral_lm():
    from transformers import MixtralConfig, MixtralForCausalLM

    return causal_lm(MixtralForCausalLM, MixtralConfig(**SMALL, num_local_experts=4, num_experts_per_tok=2))


@model("transformers", HIT + "; the expert is looked up by a name made of its number")
def switch_transformers_block():
    from transformers.models.switch_transformers.modeling_switch_transformers import (
        SwitchTransformersConfig,
        SwitchTransformersSparseMLP,
    )

    config = SwitchTransformersConfig(d_model=16, d_ff=24, num_experts=4, expert_capacity=3, vocab_size=40)
    return randomise(SwitchTransformersSparseMLP(config), scale=2.0), blocks(2, 5, 16)


@model("transformers", HIT + "; top-2 routing with capacity")
def nllb_moe_block():
    from transformers.models.nllb_moe.modeling_nllb_moe import NllbMoeConfig, NllbMoeSparseMLP

    config = NllbMoeConfig(d_model=16, num_experts=4, expert_capacity=3, vocab_size=40, second_expert_policy="all",
                           router_bias=False, encoder_ffn_dim=24, decoder_ffn_dim=24)
    return randomise(NllbMoeSparseMLP(config, ffn_dim=24), scale=2.0), blocks(2, 5, 16)


@model("transformers", HIT + "; shared expert with a gate")
def qwen2_moe_block():
    from transformers.models.qwen2_moe.modeling_qwen2_moe import Qwen2MoeConfig, Qwen2MoeSparseMoeBlock

    config = Qwen2MoeConfig(**SMALL, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=12,
                            shared_expert_intermediate_size=12)
    config._experts_implementation = "eager"
    return randomise(Qwen2MoeSparseMoeBlock(config)), blocks(2, 5, 16)


@model("transformers", HIT)
def qwen3_moe_lm():
    from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

    return causal_lm(Qwen3MoeForCausalLM, Qwen3MoeConfig(**SMALL, num_experts=4, num_experts_per_tok=2, head_dim=8,
                                                         moe_intermediate_size=12))


@model("transformers", HIT + "; grouped routing with a score correction")
def deepseek_v3_block():
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Config, DeepseekV3MoE

    config = DeepseekV3Config(**SMALL, n_routed_experts=8, n_group=2, topk_group=1, num_experts_per_tok=2,
                              moe_intermediate_size=12, n_shared_experts=1)
    config._experts_implementation = "eager"
    return randomise(DeepseekV3MoE(config)), blocks(2, 5, 16)


@model("transformers", HIT)
def deepseek_v2_block():
    from transformers.models.deepseek_v2 import modeling_deepseek_v2 as m

    config = m.DeepseekV2Config(**SMALL, n_routed_experts=6, n_group=1, topk_group=1, num_experts_per_tok=2,
                                moe_intermediate_size=12, n_shared_experts=1, topk_method="greedy")
    config._experts_implementation = "eager"
    cls = getattr(m, "DeepseekV2Moe", None) or m.DeepseekV2MoE
    return randomise(cls(config)), blocks(2, 5, 16)


@model("transformers", HIT)
def olmoe_block():
    from transformers.models.olmoe.modeling_olmoe import OlmoeConfig, OlmoeSparseMoeBlock

    config = OlmoeConfig(**SMALL, num_experts=6, num_experts_per_tok=2)
    config._experts_implementation = "eager"
    return randomise(OlmoeSparseMoeBlock(config)), blocks(2, 5, 16)


@model("transformers", HIT + "; sparsemixer routing")
def phimoe_block():
    from transformers.models.phimoe.modeling_phimoe import PhimoeConfig, PhimoeSparseMoeBlock

    config = PhimoeConfig(**SMALL, num_local_experts=4, num_experts_per_tok=2)
    config._experts_implementation = "eager"
    return randomise(PhimoeSparseMoeBlock(config)), blocks(2, 5, 16)


@model("transformers", HIT + "; expert sizes as a list, tokens split by them")
def granite_moe_block():
    from transformers.models.granitemoe import modeling_granitemoe as m

    config = m.GraniteMoeConfig(**SMALL, num_local_experts=4, num_experts_per_tok=2)
    config._experts_implementation = "eager"
    return randomise(m.GraniteMoeMoE(config)), blocks(2, 5, 16)


@model("transformers", "tokens sorted by expert and split by runtime counts (tolist)")
def jetmoe_block():
    from transformers.models.jetmoe import modeling_jetmoe as m

    config = m.JetMoeConfig(
        vocab_size=40,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_local_experts=4,
        num_experts_per_tok=2,
        num_key_value_heads=2,
        kv_channels=8,
    )
    return randomise(m.JetMoeMoE(config)), blocks(2, 5, 16)


@model("transformers", HIT)
def gpt_oss_mlp():
    from transformers.models.gpt_oss.modeling_gpt_oss import GptOssConfig, GptOssMLP

    config = GptOssConfig(**SMALL, num_local_experts=4, num_experts_per_tok=2, head_dim=8)
    config._experts_implementation = "eager"
    return randomise(GptOssMLP(config)), blocks(2, 5, 16)


@model("transformers", HIT)
def jamba_block():
    from transformers.models.jamba.modeling_jamba import JambaConfig, JambaSparseMoeBlock

    config = JambaConfig(**SMALL, num_experts=4, num_experts_per_tok=2)
    config._experts_implementation = "eager"
    return randomise(JambaSparseMoeBlock(config)), blocks(2, 5, 16)


@model("transformers", HIT)
def dbrx_block():
    from transformers.models.dbrx import modeling_dbrx as m

    config = m.DbrxConfig(d_model=16, n_heads=2, n_layers=1, max_seq_len=32, vocab_size=40,
                          ffn_config=dict(ffn_hidden_size=24, moe_num_experts=4, moe_top_k=2, hidden_size=16),
                          attn_config=dict(kv_n_heads=1))
    config._experts_implementation = "eager"
    config.ffn_config._experts_implementation = "eager"
    return randomise(m.DbrxFFN(config)), blocks(2, 5, 16)


@model("transformers", HIT)
def glm4_moe_block():
    from transformers.models.glm4_moe import modeling_glm4_moe as m

    config = m.Glm4MoeConfig(**SMALL, n_routed_experts=6, n_group=1, topk_group=1, num_experts_per_tok=2,
                             moe_intermediate_size=12, n_shared_experts=1)
    config._experts_implementation = "eager"
    return randomise(m.Glm4MoeMoE(config)), blocks(2, 5, 16)


@model("transformers", HIT + "; zero experts pass through")
def longcat_flash_moe():
    from transformers.models.longcat_flash import modeling_longcat_flash as m

    config = m.LongcatFlashConfig(
        vocab_size=40,
        hidden_size=16,
        ffn_hidden_size=24,
        expert_ffn_hidden_size=12,
        num_layers=1,
        num_attention_heads=2,
        n_routed_experts=4,
        zero_expert_num=2,
        moe_topk=2,
        q_lora_rank=8,
        kv_lora_rank=8,
    )
    config._experts_implementation = "eager"
    return randomise(m.LongcatFlashMoE(config)), blocks(2, 5, 16)


@model("transformers", "tokens per expert counted at run time, sequential products over them")
def aria_experts():
    from transformers.models.aria import modeling_aria as m

    config = m.AriaTextConfig(**SMALL, moe_num_experts=4, moe_topk=2, moe_num_shared_experts=1)
    config._experts_implementation = "eager"
    return randomise(m.AriaTextMoELayer(config)), blocks(2, 5, 16)


@model("transformers", "experts that a token is sent to")
def llama4_moe():
    from transformers import Llama4TextConfig
    from transformers.models.llama4.modeling_llama4 import Llama4TextMoe

    m = randomise(
        Llama4TextMoe(Llama4TextConfig(hidden_size=16, intermediate_size=8, num_local_experts=4, num_experts_per_tok=1))
    )
    return m, [(rand(1, 5, 16, seed=s),) for s in range(4)]


@model("transformers", "experts by the data set that a picture is from")
def vitpose_experts():
    from transformers import VitPoseBackboneConfig, VitPoseConfig, VitPoseForPoseEstimation

    backbone = VitPoseBackboneConfig(
        image_size=[16, 16],
        patch_size=[8, 8],
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        mlp_ratio=2,
        num_experts=3,
        part_features=4,
        out_features=["stage1"],
    )
    m = randomise(
        VitPoseForPoseEstimation(
            VitPoseConfig(backbone_config=backbone, num_labels=3, use_simple_decoder=True, scale_factor=2)
        )
    )
    return (lambda x, which: m(x, dataset_index=which).heatmaps), [
        (rand(2, 3, 16, 16, seed=s), torch.tensor(k)) for s, k in enumerate([[0, 1], [2, 2], [1, 0]])
    ]
