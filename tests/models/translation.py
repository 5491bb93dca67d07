# SPDX-License-Identifier: Apache-2.0
"""Toolkits of translation (OpenNMT-py, JoeyNMT, Texar): what is finished is kept, beams leave the batch."""

from types import SimpleNamespace

import numpy as np
import torch
from torch import nn

from tests.models.registry import ints, model, rand, randomise, stand_in

stand_in("spacy", "pyonmttok", "fasttext")  # tokenizers
np.float_ = np.float64  # Texar's name for it went with numpy 2

PAD, BOS, EOS, UNK, WORDS = 1, 2, 3, 0, 7


# ---- OpenNMT-py ---------------------------------------------------------------------------------------


class Steps(nn.Module):
    """A recurrent decoder, as small as can be, that a strategy asks for the next words."""

    def __init__(self):
        super().__init__()
        self.embedding, self.cell, self.out = nn.Embedding(WORDS, 6), nn.GRUCell(6, 6), nn.Linear(6, WORDS)

    def forward(self, words, state):
        state = self.cell(self.embedding(words), state)
        return self.out(state).log_softmax(-1), state


def decoded(strategy_of):
    m = randomise(Steps(), scale=3.0)

    def run(memory):
        strategy = strategy_of(memory.shape[0])
        lengths = torch.full((memory.shape[0],), 3)
        map_state, memory, _ = strategy.initialize(memory, lengths)
        state = memory[:, 0]
        for _ in range(strategy.max_length):
            scores, state = m(strategy.current_predictions, state)
            strategy.advance(scores, None)
            if any(finished if isinstance(finished, bool) else any(finished) for finished in strategy.is_finished_list):
                strategy.update_finished()
                if strategy.done:
                    break
            state = state[strategy.select_indices]
        return strategy.scores, strategy.predictions

    return run


def scorer():
    from onmt.translate.beam_search import GNMTGlobalScorer

    return GNMTGlobalScorer(0.7, 0.0, "wu", "none")


@model("OpenNMT-py", "greedy words; rows that have ended leave the batch")
def onmt_greedy():
    from onmt.translate.greedy_search import GreedySearch

    return decoded(
        lambda n: GreedySearch(PAD, BOS, EOS, UNK, BOS, 1, n, scorer(), 0, 0, set(), False, 4, 0.0, 1, 0.0, 1, False)
    ), [(rand(2, 3, 6, seed=s, scale=2.0),) for s in range(4)]


@model("OpenNMT-py", "beams; sentences whose best beam has ended leave the batch")
def onmt_beam_search():
    from onmt.translate.beam_search import BeamSearch

    return decoded(
        lambda n: BeamSearch(2, n, PAD, BOS, EOS, UNK, BOS, 1, scorer(), 0, 3, False, 0, set(), False, -1.0, False)
    ), [(rand(2, 3, 6, seed=s, scale=2.0),) for s in range(4)]


@model("OpenNMT-py", "experts of the tokens that chose them")
def onmt_moe():
    from onmt.modules.moe import MoE

    m = randomise(MoE(4, 2, 8, 12, 0.0, "relu", True, False, "standard", 1e-6), scale=2.0)
    return m, [(rand(1, 3, 8, seed=s, scale=2.0),) for s in range(4)]


@model("OpenNMT-py", "words of the source copied into the vocabulary's place")
def onmt_copy_generator():
    from onmt.modules.copy_generator import CopyGenerator

    m = randomise(CopyGenerator(6, WORDS, PAD))

    def run(hidden, attention, source):
        return m(hidden, attention.softmax(-1), torch.nn.functional.one_hot(source, 5).float())

    return run, [(rand(4, 6, seed=s), rand(4, 3, seed=s + 5), ints(2, 3, high=5, seed=s)) for s in range(3)]


@model("OpenNMT-py", "repeated n-grams found in Python's own dicts and forbidden")
def onmt_block_ngrams():
    from onmt.translate.greedy_search import GreedySearch

    return decoded(
        lambda n: GreedySearch(PAD, BOS, EOS, UNK, BOS, 1, n, scorer(), 2, 2, set(), False, 4, 0.0, 1, 0.0, 1, True)
    ), [(rand(1, 3, 6, seed=s, scale=2.0),) for s in range(3)]


def translated(m, **options):
    from joeynmt.search import beam_search, greedy

    def run(source):
        mask = (source != 1).unsqueeze(1)
        output, hidden, _, _ = m(return_type="encode", src=source, src_length=(source != 1).sum(1), src_mask=mask)
        if "beam_size" in options:
            return beam_search(
                m,
                encoder_output=output,
                encoder_hidden=hidden,
                src_mask=mask,
                max_output_length=3,
                alpha=1.0,
                **options,
            )[:2]
        return greedy(mask, 4, m, output, hidden, **options)[:2]

    return run


def sentences(rows=2):
    found = []
    for s, short in enumerate([4, 2, 3, 4]):
        words = ints(rows, 4, low=4, high=8, seed=s)
        words[-1, short:] = 1
        found.append((words,))
    return found


# ---- JoeyNMT ----------------------------------------------------------------------------------------


def joey(kind):
    from joeynmt.model import build_model
    from joeynmt.vocabulary import Vocabulary

    special = SimpleNamespace(
        unk_token="<unk>",
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        sep_token=None,
        unk_id=0,
        pad_id=1,
        bos_id=2,
        eos_id=3,
        sep_id=None,
        lang_tags=[],
    )
    vocabulary = Vocabulary(list("abcd"), special)
    if kind == "transformer":
        part = dict(type="transformer", num_layers=1, num_heads=2, hidden_size=8, ff_size=12, dropout=0.0,
                    embeddings=dict(embedding_dim=8, scale=True, dropout=0.0))
        config = dict(encoder=part, decoder=dict(part))
    else:
        config = dict(
            encoder=dict(
                type="recurrent",
                rnn_type="gru",
                hidden_size=6,
                num_layers=1,
                bidirectional=True,
                dropout=0.0,
                embeddings=dict(embedding_dim=6, dropout=0.0),
            ),
            decoder=dict(
                type="recurrent",
                rnn_type="gru",
                hidden_size=6,
                num_layers=1,
                attention="luong",
                input_feeding=True,
                init_hidden="bridge",
                dropout=0.0,
                embeddings=dict(embedding_dim=6, dropout=0.0),
            ),
        )
    return randomise(build_model(config, vocabulary, vocabulary), scale=2.0)


@model("joeynmt", "greedy words until every sentence has ended")
def joeynmt_greedy():
    return translated(joey("transformer"), return_prob="hyp"), sentences()


@model("joeynmt", "greedy words of a recurrent decoder until every sentence has ended")
def joeynmt_recurrent_greedy():
    return translated(joey("recurrent"), return_prob="hyp"), sentences()


@model("joeynmt", "beams; sentences that have ended leave the batch, their hypotheses are kept")
def joeynmt_beam_search():
    return translated(joey("transformer"), beam_size=2), sentences(1)


@model("joeynmt", "beams of a recurrent decoder")
def joeynmt_recurrent_beam_search():
    return translated(joey("recurrent"), beam_size=2), sentences(1)


@model("joeynmt", "greedy words without repeated n-grams, repetition made unlikely")
def joeynmt_greedy_with_rules():
    return translated(joey("transformer"), no_repeat_ngram_size=2, repetition_penalty=1.5), sentences()


# ---- Texar ----------------------------------------------------------------------------------------


def texar_embedding():
    return randomise(nn.Embedding(WORDS, 6), scale=2.0)


@model("texar-pytorch", "a recurrent decoder with its helper until every row has ended")
def texar_rnn_greedy():
    import texar.torch as tx

    embedding = texar_embedding()
    m = randomise(tx.modules.BasicRNNDecoder(input_size=6, vocab_size=WORDS, token_embedder=embedding, hparams=dict(
        rnn_cell=dict(type="GRUCell", kwargs=dict(num_units=6)), max_decoding_length_infer=4)), scale=3.0)

    def run(state):
        outputs, final, lengths = m(
            decoding_strategy="infer_greedy", start_tokens=torch.full((2,), BOS), end_token=EOS, initial_state=state
        )
        return outputs.sample_id, lengths, final

    return run, [(rand(2, 6, seed=s, scale=2.0),) for s in range(4)]


@model("texar-pytorch", "a decoder with attention over memories of different lengths")
def texar_attention_greedy():
    import texar.torch as tx

    m = randomise(
        tx.modules.AttentionRNNDecoder(
            encoder_output_size=6,
            input_size=6,
            vocab_size=WORDS,
            token_embedder=texar_embedding(),
            hparams=dict(
                rnn_cell=dict(type="GRUCell", kwargs=dict(num_units=6)),
                attention=dict(type="LuongAttention", kwargs=dict(num_units=6)),
                max_decoding_length_infer=4,
            ),
        ),
        scale=3.0,
    )

    def run(memory, lengths):
        outputs, _, found = m(
            memory=memory,
            memory_sequence_length=lengths,
            decoding_strategy="infer_greedy",
            start_tokens=torch.full((2,), BOS),
            end_token=EOS,
        )
        return outputs.sample_id, found

    return run, [
        (rand(2, 3, 6, seed=s, scale=2.0), torch.tensor(n)) for s, n in enumerate([[3, 3], [3, 2], [1, 3], [2, 2]])
    ]


@model("texar-pytorch", "a transformer's greedy words with a cache")
def texar_transformer_greedy():
    import texar.torch as tx

    m = randomise(
        tx.modules.TransformerDecoder(
            token_embedder=texar_embedding(),
            vocab_size=WORDS,
            output_layer=nn.Linear(6, WORDS),
            hparams=dict(
                dim=6,
                num_blocks=1,
                multihead_attention=dict(num_heads=2, num_units=6, output_dim=6),
                poswise_feedforward=dict(
                    layers=[
                        dict(type="Linear", kwargs=dict(in_features=6, out_features=8, bias=True)),
                        dict(type="ReLU"),
                        dict(type="Linear", kwargs=dict(in_features=8, out_features=6, bias=True)),
                    ]
                ),
            ),
        ),
        scale=2.0,
    )

    def run(memory, lengths):
        outputs, found = m(memory=memory, memory_sequence_length=lengths, decoding_strategy="infer_greedy",
                           start_tokens=torch.full((2,), BOS), end_token=EOS, max_decoding_length=4)
        return outputs.sample_id, found

    return run, [
        (rand(2, 3, 6, seed=s, scale=2.0), torch.tensor(n)) for s, n in enumerate([[3, 3], [3, 2], [1, 3], [2, 2]])
    ]
