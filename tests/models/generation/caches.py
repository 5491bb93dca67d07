# SPDX-License-Identifier: Apache-2.0
"""Kinds of caches: static, sliding, handed over by the caller, cropped, filled in chunks."""

import torch

from tests.models.generation.tiny import TINY, bart, greedy, llama, prompts
from tests.models.registry import ints, model, randomise


@model("transformers", "a static cache written in place")
def llama_static_cache():
    from transformers import LlamaConfig, LlamaForCausalLM

    m = randomise(LlamaForCausalLM(LlamaConfig(num_key_value_heads=1, max_position_embeddings=32, **TINY)), scale=2.0)
    return greedy(m, 5, cache_implementation="static", disable_compile=True), prompts()


@model("transformers", "a window of the cache; greedy beyond it")
def mistral_sliding_cache():
    from transformers import MistralConfig, MistralForCausalLM

    m = randomise(
        MistralForCausalLM(MistralConfig(num_key_value_heads=1, sliding_window=4, max_position_embeddings=32, **TINY)),
        scale=2.0,
    )
    return greedy(m, 6, cache_implementation="static", disable_compile=True), prompts()


@model("transformers", "an encoder-decoder's static caches")
def bart_static_cache():
    return greedy(bart(), 5, cache_implementation="static", disable_compile=True), prompts()


@model("transformers", "a cache handed over by the caller: prompt first, then the rest")
def llama_prefilled_cache():
    from transformers import DynamicCache

    m = llama()

    def run(first, rest):
        cache = DynamicCache(config=m.config)
        m(first, past_key_values=cache, use_cache=True)
        return m.generate(torch.cat([first, rest], 1), past_key_values=cache, max_new_tokens=4, do_sample=False)

    return run, [(ints(1, 3, low=6, high=12, seed=s), ints(1, 2, low=6, high=12, seed=s + 7)) for s in range(4)]


@model("transformers", "a cache that is cropped when the caller goes back")
def llama_cropped_cache():
    from transformers import DynamicCache

    m = llama()

    def run(ids):
        cache = DynamicCache(config=m.config)
        for step in range(8):
            logits = m(ids[:, cache.get_seq_length():], past_key_values=cache, use_cache=True).logits[:, -1]
            best = logits.argmax(-1, keepdim=True)
            if best.item() == 5:
                break
            if (
                best.item() % 2 and cache.get_seq_length() > 3
            ):  # an odd token: one step back, the even neighbour instead
                cache.crop(-1)
                ids = torch.cat([ids[:, :-1], best - 1], 1)
            else:
                ids = torch.cat([ids, best], 1)
        return ids

    return run, prompts()


@model("transformers", "the prompt in chunks, then greedy")
def llama_chunked_prefill():
    return greedy(llama(), 4, prefill_chunk_size=2), prompts(length=5)
