# SPDX-License-Identifier: Apache-2.0
"""Readers of documents, tables and pages: entities, boxes of words, contexts of a question."""

import torch

from tests.models.generation.tiny import SPECIAL
from tests.models.registry import ints, model, rand, randomise


@model("transformers", "words and entities attend to each other; entities' places from masked positions")
def luke():
    from transformers import LukeConfig, LukeForEntityPairClassification

    m = randomise(
        LukeForEntityPairClassification(
            LukeConfig(
                vocab_size=12,
                entity_vocab_size=6,
                hidden_size=16,
                entity_emb_size=8,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=24,
                max_position_embeddings=32,
                num_labels=3,
            )
        )
    )

    def run(ids, entities, places, mask):
        return m(input_ids=ids, entity_ids=entities, entity_position_ids=places, entity_attention_mask=mask).logits

    return run, [
        (
            ints(1, 6, low=3, high=12, seed=s),
            ints(1, 2, low=1, high=6, seed=s),
            torch.tensor([[[1, 2, -1, -1], [3 + s % 2, -1, -1, -1]]]),
            torch.tensor([[1, 1 - s % 2]]),
        )
        for s in range(4)
    ]


@model("transformers", "patches where text is are joined with it; positions in the page")
def udop_encoder():
    from transformers import UdopConfig, UdopEncoderModel

    m = randomise(
        UdopEncoderModel(
            UdopConfig(
                vocab_size=12,
                d_model=16,
                d_kv=8,
                d_ff=24,
                num_layers=1,
                num_heads=2,
                max_2d_position_embeddings=64,
                image_size=16,
                patch_size=8,
                is_encoder_decoder=False,
                relative_bias_args=[{"type": "1d"}, {"type": "horizontal"}, {"type": "vertical"}],
            )
        )
    )

    def run(ids, boxes, pixels):
        out = m(input_ids=ids, bbox=boxes, pixel_values=pixels)
        return out.last_hidden_state, out.attention_mask

    def places(s):
        corner = torch.rand(1, 4, 2, generator=torch.Generator().manual_seed(s)) * 0.7
        return torch.cat([corner, corner + 0.2], -1)

    return run, [(ints(1, 4, low=2, high=12, seed=s), places(s), rand(1, 3, 16, 16, seed=s)) for s in range(4)]


@model("transformers", "a reader of documents: text, boxes and image, positions relative in the page")
def layoutlmv3():
    from transformers import LayoutLMv3Config, LayoutLMv3Model

    m = randomise(
        LayoutLMv3Model(
            LayoutLMv3Config(
                vocab_size=12,
                hidden_size=24,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=24,
                max_position_embeddings=32,
                max_2d_position_embeddings=64,
                coordinate_size=4,
                shape_size=4,
                input_size=16,
                patch_size=8,
            )
        )
    )

    def run(ids, boxes, mask, pixels):
        return m(input_ids=ids, bbox=boxes, attention_mask=mask, pixel_values=pixels).last_hidden_state

    return run, [
        (
            ints(1, 4, low=2, high=12, seed=s),
            torch.tensor([[[1, 2, 9 + s, 8], [3, 4, 20, 12 + s], [5, 5, 30, 30], [0, 0, 0, 0]]]),
            (torch.arange(4) < 4 - s)[None].long(),
            rand(1, 3, 16, 16, seed=s),
        )
        for s in range(3)
    ]


@model("transformers", "segment indices reduced over runtime counts")
def tapas():
    from transformers import TapasConfig, TapasForQuestionAnswering

    config = TapasConfig(
        vocab_size=40,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=32,
        type_vocab_sizes=[3, 8, 8, 2, 8, 8, 4],
        max_num_rows=4,
        max_num_columns=4,
    )
    m = randomise(TapasForQuestionAnswering(config))

    def types(s):
        t = torch.zeros(1, 6, 7, dtype=torch.long)
        t[..., 0] = 1
        t[..., 1] = ints(1, 6, high=4, seed=s)
        t[..., 2] = ints(1, 6, high=4, seed=s + 1)
        return t

    return (lambda ids, t: m(ids, token_type_ids=t).logits), [(ints(1, 6, high=40, seed=s), types(s)) for s in range(3)]


@model("transformers", "contexts of a question, scored; words of the spans that fit")
def dpr_reader_scores():
    from transformers import DPRConfig, DPRReader

    m = randomise(
        DPRReader(
            DPRConfig(
                vocab_size=12,
                hidden_size=16,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=24,
                max_position_embeddings=32,
            )
        ),
        scale=2.0,
    )

    def run(ids, mask):
        out = m(ids, attention_mask=mask)
        best = int(out.relevance_logits.argmax())
        start, end = out.start_logits[best], out.end_logits[best]
        found = []
        for i in range(4):
            for j in range(i, 4):
                if start[i] + end[j] > 0.5:
                    found.append((start[i] + end[j]).item())
        return best, found

    return run, [
        (ints(3, 4, low=6, high=12, seed=s), torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 0, 0]])) for s in range(4)
    ]


@model("transformers", "documents weighed by their scores: retrieval-augmented tokens, greedy over given contexts")
def rag_token_generate():
    from transformers import BartConfig, DPRConfig, RagConfig, RagTokenForGeneration

    encoder = DPRConfig(
        vocab_size=12,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=32,
    )
    generator = BartConfig(
        vocab_size=12,
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=24,
        decoder_ffn_dim=24,
        max_position_embeddings=32,
        decoder_start_token_id=5,
        **SPECIAL,
    )
    m = randomise(
        RagTokenForGeneration(RagConfig.from_question_encoder_generator_configs(encoder, generator, n_docs=2)),
        scale=2.0,
    )
    return (
        lambda ids, mask, scores: m.generate(
            context_input_ids=ids,
            context_attention_mask=mask,
            doc_scores=scores,
            n_docs=2,
            max_new_tokens=3,
            do_sample=False,
            num_beams=1,
            decoder_start_token_id=5,
            pad_token_id=0,
            eos_token_id=5,
            bos_token_id=1,
        )
    ), [(ints(2, 4, low=6, high=12, seed=s), torch.ones(2, 4, dtype=torch.long), rand(1, 2, seed=s)) for s in range(3)]
