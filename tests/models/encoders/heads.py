# SPDX-License-Identifier: Apache-2.0
"""Heads on encoders of text: answers, classes and sentences read from the tokens that are looked for."""

import torch

from tests.models.generation.tiny import ENCODER_DECODER
from tests.models.registry import model, rand, randomise


@model("transformers", "question tokens found in the input")
def splinter_question_answering():
    from transformers import SplinterConfig, SplinterForQuestionAnswering

    config = SplinterConfig(
        vocab_size=30,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=16,
        question_token_id=7,
    )
    m = randomise(SplinterForQuestionAnswering(config))
    ids = [torch.tensor([[1, 7, 3, 4, 5, 2]]), torch.tensor([[1, 3, 4, 5, 2, 2]]), torch.tensor([[1, 3, 4, 7, 5, 2]])]
    return (lambda i: m(i, return_dict=True).start_logits), [(i,) for i in ids]


@model("transformers", "global attention on the question, which the separators end")
def longformer_question_answering():
    from transformers import LongformerConfig, LongformerForQuestionAnswering

    m = randomise(
        LongformerForQuestionAnswering(
            LongformerConfig(
                vocab_size=16,
                hidden_size=16,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=24,
                attention_window=[4],
                max_position_embeddings=40,
                sep_token_id=2,
                pad_token_id=1,
                bos_token_id=0,
                eos_token_id=2,
            )
        ),
        scale=2.0,
    )
    rows = [[0, 7, 8, 2, 2, 9, 10, 2], [0, 7, 2, 2, 8, 9, 10, 2], [0, 2, 2, 11, 8, 9, 10, 2], [0, 7, 8, 9, 10, 2, 2, 2]]
    return (lambda ids, mask: m(ids, attention_mask=mask)), [
        (torch.tensor([a, b]), torch.ones(2, 8, dtype=torch.long)) for a, b in zip(rows, rows[1:] + rows[:1])]


@model("transformers", "the last end token of each row is found; rows that have different numbers of them raise")
def bart_sequence_classification():
    from transformers import BartConfig, BartForSequenceClassification

    m = randomise(BartForSequenceClassification(BartConfig(num_labels=3, **ENCODER_DECODER)), scale=2.0)
    rows = (
        [[6, 7, 5, 0], [8, 9, 10, 5]],
        [[6, 5, 7, 5], [5, 8, 9, 5]],
        [[6, 5, 7, 5], [9, 8, 9, 5]],
        [[5, 0, 0, 0], [11, 5, 0, 0]],
    )
    return m, [(torch.tensor(r),) for r in rows]


@model("transformers", "the last token that is no padding, row by row")
def gpt2_sequence_classification():
    from transformers import GPT2Config, GPT2ForSequenceClassification

    m = randomise(
        GPT2ForSequenceClassification(
            GPT2Config(
                vocab_size=12,
                n_embd=16,
                n_layer=1,
                n_head=2,
                n_positions=16,
                num_labels=3,
                bos_token_id=1,
                eos_token_id=5,
                pad_token_id=0,
            )
        ),
        scale=2.0,
    )
    rows = (
        [[6, 7, 5, 0], [8, 9, 10, 5]],
        [[6, 0, 0, 0], [9, 8, 9, 5]],
        [[0, 0, 6, 7], [0, 6, 0, 0]],
        [[6, 6, 0, 0], [11, 5, 0, 0]],
    )
    return m, [(torch.tensor(r),) for r in rows]


@model("sentence-transformers", "pooling by the mask of each sentence")
def sentence_pooling():
    from sentence_transformers.sentence_transformer.modules import Pooling

    m = Pooling(6, pooling_mode=("mean", "max", "lasttoken")) if False else Pooling(6, pooling_mode="mean")
    masks = [torch.ones(2, 4, dtype=torch.long), torch.tensor([[1, 1, 0, 0], [1, 1, 1, 0]])]
    return (lambda x, mask: m({"token_embeddings": x, "attention_mask": mask})["sentence_embedding"]), [
        (rand(2, 4, 6, seed=i), mask) for i, mask in enumerate(masks)]
