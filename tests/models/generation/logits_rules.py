# SPDX-License-Identifier: Apache-2.0
"""Rules on logits: sets of tokens kept by threshold, repetitions forbidden, criteria that stop the text."""

from tests.models.generation.small import gpt2, prompts
from tests.models.registry import ints, model, rand


@model("transformers", "repetition penalty, forbidden n-grams, minimum length")
def gpt2_generate_with_processors():
    m = gpt2()
    return (
        lambda ids: m.generate(
            ids, max_new_tokens=6, do_sample=False, repetition_penalty=1.5, no_repeat_ngram_size=2, min_new_tokens=2
        )
    ), prompts()


@model("transformers", "decoding stopped by a criterion of the user's")
def gpt2_stopping_criteria():
    from transformers import StoppingCriteria, StoppingCriteriaList

    class Thrice(StoppingCriteria):
        def __call__(self, ids, scores, **kwargs):
            return (ids == ids[:, -1:]).sum(-1) > 2

    m = gpt2()
    return (
        lambda ids: m.generate(
            ids, max_new_tokens=8, do_sample=False, stopping_criteria=StoppingCriteriaList([Thrice()])
        )
    ), prompts()


@model("transformers", "logits warpers: sets of tokens kept by threshold")
def logits_warpers():
    from transformers.generation.logits_process import (
        LogitsProcessorList,
        MinPLogitsWarper,
        RepetitionPenaltyLogitsProcessor,
        TopKLogitsWarper,
        TopPLogitsWarper,
        TypicalLogitsWarper,
    )

    ps = LogitsProcessorList([RepetitionPenaltyLogitsProcessor(1.3), TopKLogitsWarper(6), TopPLogitsWarper(0.8),
                              MinPLogitsWarper(0.1), TypicalLogitsWarper(0.9)])
    return (lambda ids, scores: ps(ids, scores)), [
        (ints(2, 4, high=12, seed=s), rand(2, 12, seed=s, scale=3)) for s in range(4)
    ]


@model("transformers", "n-grams seen so far, kept in dicts of runtime integers")
def no_repeat_ngram():
    from transformers.generation.logits_process import NoRepeatNGramLogitsProcessor

    p = NoRepeatNGramLogitsProcessor(2)
    return (lambda ids, scores: p(ids, scores)), [(ints(2, 5, high=3, seed=s), rand(2, 12, seed=s)) for s in range(4)]


@model("labml-nn", "nucleus: as few tokens as hold the probability; the draw is replaced by the best")
def labml_nucleus_sampler():
    from labml_nn.sampling.nucleus import NucleusSampler

    class Greedy:
        def __call__(self, logits):
            return logits.argmax(-1)

    m = NucleusSampler(0.7, Greedy())
    return (lambda x: m(x)), [(rand(2, 8, seed=s),) for s in range(3)]


@model("labml-nn", "nucleus: as few tokens as hold the probability; the draw is replaced by their mask")
def labml_top_k_sampler():
    from labml_nn.sampling.top_k import TopKSampler

    class Greedy:
        def __call__(self, logits):
            return logits.argmax(-1)

    m = TopKSampler(3, Greedy())
    return (lambda x: m(x)), [(rand(2, 8, seed=s),) for s in range(3)]


@model("self-rewarding-lm-pytorch", "nucleus filter: sorted, summed, cut")
def self_rewarding_top_p():
    from self_rewarding_lm_pytorch.sampling_utils import top_p

    return (lambda x: top_p(x)), [(rand(2, 8, seed=s, scale=2),) for s in range(3)]
