# SPDX-License-Identifier: Apache-2.0
"""Drafts that a larger model or the prompt itself makes good: as many tokens kept as were right."""

from tests.models.generation.small import gpt2, prompts
from tests.models.registry import ints, model, randomise


@model("transformers", "speculative decoding: as many tokens as the assistant got right")
def gpt2_assisted_generate():
    m, assistant = gpt2(), gpt2(seed=1)
    return (lambda ids: m.generate(ids, max_new_tokens=6, do_sample=False, assistant_model=assistant)), prompts(4)


@model("transformers", "n-grams of the prompt proposed as drafts, accepted as far as they are right")
def gpt2_prompt_lookup():
    m = gpt2()
    return (lambda ids: m.generate(ids, max_new_tokens=6, do_sample=False, prompt_lookup_num_tokens=2)), prompts(4)


@model(
    "speculative-decoding", "draft tokens verified by the larger net; cut where one was rejected (the draws are random)"
)
def speculative_decoding_lucidrains():
    from speculative_decoding.speculative_decoding import Decoder, speculative_decoding

    big = randomise(Decoder(num_tokens=8, dim=8, depth=1, heads=2, dim_head=4))
    small = randomise(Decoder(num_tokens=8, dim=8, depth=1, heads=1, dim_head=4))
    return (lambda x: speculative_decoding(big, small, x, 7, gamma=2, temperature=1e-9)[0].shape), [
        (ints(1, 3, high=8, seed=s),) for s in range(3)]
