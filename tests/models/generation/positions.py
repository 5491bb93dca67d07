# SPDX-License-Identifier: Apache-2.0
"""Positions that depend on the length of the text: frequencies that change when it outgrows what was trained."""

from tests.models.registry import ints, model, randomise


def small_llama(**options):
    from transformers import LlamaConfig, LlamaForCausalLM

    return randomise(
        LlamaForCausalLM(
            LlamaConfig(
                vocab_size=32,
                hidden_size=16,
                intermediate_size=16,
                num_hidden_layers=1,
                num_attention_heads=2,
                num_key_value_heads=1,
                bos_token_id=1,
                eos_token_id=2,
                pad_token_id=0,
                **options,
            )
        )
    )


@model("transformers", "frequencies that change when the text outgrows what was trained")
def llama_dynamic_rope():
    m = small_llama(
        max_position_embeddings=6, rope_parameters={"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}
    )
    return (lambda ids: m(ids, use_cache=False).logits), [(ints(1, 8, low=3, high=32, seed=s),) for s in range(3)]


@model("transformers", "a text that outgrows what was trained while it is written")
def llama_dynamic_rope_generate():
    m = small_llama(
        max_position_embeddings=6, rope_parameters={"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}
    )
    return (lambda ids: m.generate(ids, max_new_tokens=5, do_sample=False)), [
        (ints(1, 3, low=3, high=32, seed=s),) for s in range(3)
    ]


@model("transformers", "long or short factors of the positions, by the length of the text")
def phi3_long_rope_generate():
    from transformers import Phi3Config, Phi3ForCausalLM

    rope = {
        "rope_type": "longrope",
        "rope_theta": 10000.0,
        "short_factor": [1.0] * 4,
        "long_factor": [2.0] * 4,
        "original_max_position_embeddings": 5,
    }
    m = randomise(
        Phi3ForCausalLM(
            Phi3Config(
                vocab_size=32,
                hidden_size=16,
                intermediate_size=16,
                num_hidden_layers=1,
                num_attention_heads=2,
                num_key_value_heads=1,
                bos_token_id=1,
                eos_token_id=2,
                pad_token_id=0,
                max_position_embeddings=20,
                original_max_position_embeddings=5,
                rope_parameters=rope,
            )
        )
    )
    return (lambda ids: m.generate(ids, max_new_tokens=4, do_sample=False)), [
        (ints(1, 3, low=3, high=32, seed=s),) for s in range(3)
    ]
