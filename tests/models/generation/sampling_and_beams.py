# SPDX-License-Identifier: Apache-2.0
"""Sampling within what the cut-offs leave, beams with their options, rules, guidance, full outputs."""

from tests.models.generation.tiny import SPECIAL, bart, greedy, llama, prompts
from tests.models.registry import ints, model, randomise


@model("transformers", "sampling among the best one: warpers and a draw at every step")
def gpt2_sampling_top_1():
    from transformers import GPT2Config, GPT2LMHeadModel

    m = randomise(
        GPT2LMHeadModel(GPT2Config(vocab_size=12, n_positions=32, n_embd=16, n_layer=1, n_head=2, **SPECIAL)), scale=2.0
    )
    return (lambda ids: m.generate(ids, max_new_tokens=5, do_sample=True, top_k=1, temperature=0.7)), prompts(batch=2)


@model("transformers", "sampling within a nucleus so small that one token is left")
def llama_sampling_nucleus():
    m = llama()
    return (
        lambda ids: m.generate(ids, max_new_tokens=5, do_sample=True, top_p=1e-4, top_k=0, temperature=0.5)
    ), prompts(batch=2)


@model("transformers", "sampling with a least probability, typicality and cut-offs that leave one token")
def gpt2_sampling_cutoffs():
    from transformers import GPT2Config, GPT2LMHeadModel

    m = randomise(
        GPT2LMHeadModel(GPT2Config(vocab_size=12, n_positions=32, n_embd=16, n_layer=1, n_head=2, **SPECIAL)), scale=2.0
    )
    return (
        lambda ids: m.generate(
            ids,
            max_new_tokens=4,
            do_sample=True,
            min_p=1.0,
            epsilon_cutoff=1e-3,
            eta_cutoff=1e-3,
            typical_p=0.95,
            renormalize_logits=True,
            remove_invalid_values=True,
        )
    ), prompts()


@model(
    "transformers", "a batch whose sequences end at different steps; forbidden words, a growing end, a biased sequence"
)
def gpt2_batch_with_rules():
    from transformers import GPT2Config, GPT2LMHeadModel

    m = randomise(
        GPT2LMHeadModel(GPT2Config(vocab_size=12, n_positions=32, n_embd=16, n_layer=1, n_head=2, **SPECIAL)), scale=2.0
    )
    return greedy(
        m,
        6,
        bad_words_ids=[[7], [8, 9]],
        exponential_decay_length_penalty=(2, 1.5),
        sequence_bias={(10,): -2.0, (6, 11): 3.0},
        suppress_tokens=[2],
    ), prompts(batch=3)


@model("transformers", "guidance by a second, unconditional pass")
def gpt2_with_guidance():
    from transformers import GPT2Config, GPT2LMHeadModel

    m = randomise(
        GPT2LMHeadModel(GPT2Config(vocab_size=12, n_positions=32, n_embd=16, n_layer=1, n_head=2, **SPECIAL)), scale=2.0
    )
    return (
        lambda ids, negative: m.generate(
            ids, negative_prompt_ids=negative, guidance_scale=1.5, max_new_tokens=4, do_sample=False
        )
    ), [(ints(1, 3, low=6, high=12, seed=s), ints(1, 2, low=6, high=12, seed=s + 9)) for s in range(5)]


@model("transformers", "logits of every step and attentions returned; rows end at different steps")
def gpt2_full_output():
    from transformers import GPT2Config, GPT2LMHeadModel

    m = randomise(
        GPT2LMHeadModel(GPT2Config(vocab_size=12, n_positions=32, n_embd=16, n_layer=1, n_head=2, **SPECIAL)), scale=2.0
    )

    def run(ids):
        out = m.generate(
            ids, max_new_tokens=4, do_sample=False, return_dict_in_generate=True, output_scores=True, output_logits=True
        )
        scores = m.compute_transition_scores(out.sequences, out.scores, normalize_logits=True)
        return out.sequences, scores

    return run, prompts(batch=2)


@model("transformers", "beams that return several sequences with their scores")
def gpt2_beams_with_scores():
    from transformers import GPT2Config, GPT2LMHeadModel

    m = randomise(
        GPT2LMHeadModel(GPT2Config(vocab_size=12, n_positions=32, n_embd=16, n_layer=1, n_head=2, **SPECIAL)), scale=2.0
    )

    def decode(ids):
        out = m.generate(
            ids,
            max_new_tokens=4,
            num_beams=3,
            num_return_sequences=2,
            do_sample=False,
            return_dict_in_generate=True,
            output_scores=True,
            length_penalty=0.7,
            early_stopping=True,
        )
        return out.sequences, out.sequences_scores

    return decode, prompts(batch=2)


@model("transformers", "words forbidden by a function of the prefix: constrained beams")
def gpt2_prefix_allowed():
    from transformers import GPT2Config, GPT2LMHeadModel

    m = randomise(
        GPT2LMHeadModel(GPT2Config(vocab_size=12, n_positions=32, n_embd=16, n_layer=1, n_head=2, **SPECIAL)), scale=2.0
    )
    return (
        greedy(
            m, 4, num_beams=2, prefix_allowed_tokens_fn=lambda row, ids: [5, 7, 9] if ids[-1] % 2 == 0 else [5, 6, 8]
        ),
        prompts(),
    )


@model("transformers", "beams with a penalty of the length that stop as soon as enough are finished")
def bart_beams_early():
    return greedy(bart(), 5, num_beams=3, length_penalty=2.0, early_stopping=True), prompts(batch=2)


@model("transformers", "beams that go on until nothing better can come, short sequences favoured")
def bart_beams_never():
    return (
        greedy(bart(), 5, num_beams=2, length_penalty=-1.0, early_stopping="never", num_return_sequences=2),
        prompts(),
    )


@model("transformers", "beams with forbidden pairs and a least length")
def t5_beams_with_rules():
    from transformers import T5Config, T5ForConditionalGeneration

    m = randomise(
        T5ForConditionalGeneration(
            T5Config(
                vocab_size=12,
                d_model=16,
                d_kv=8,
                d_ff=24,
                num_layers=1,
                num_heads=2,
                decoder_start_token_id=0,
                eos_token_id=5,
                pad_token_id=0,
            )
        ),
        scale=2.0,
    )
    return greedy(m, 5, num_beams=2, no_repeat_ngram_size=2, min_length=3, encoder_repetition_penalty=1.2), prompts()
