# SPDX-License-Identifier: Apache-2.0
"""Searches over hypotheses of transducers and decoders: expanded, merged, sorted, scored by prefixes."""

import torch

from tests.models.registry import model, rand, randomise

SYMBOLS = 5


def frames(length, count=4):
    return [(rand(length, 4, seed=s, scale=2.0),) for s in range(count)]


def transducer(**options):
    from espnet.nets.beam_search_transducer import BeamSearchTransducer
    from espnet.nets.pytorch_backend.transducer.joint_network import JointNetwork
    from espnet.nets.pytorch_backend.transducer.rnn_decoder import RNNDecoder

    decoder = randomise(RNNDecoder(SYMBOLS, "lstm", 1, 6, 4), scale=2.0)
    decoder.set_device(torch.device("cpu"))
    joint = randomise(JointNetwork(SYMBOLS, 4, 6, 6, "tanh"), seed=1, scale=3.0)
    search = BeamSearchTransducer(decoder, joint, **options)

    def run(frames):
        return [(hyp.score, hyp.yseq) for hyp in search(frames)]

    return run


@model("espnet", "symbols where the blank is not the best; states in a cache under the text of what was said")
def espnet_transducer_greedy():
    return transducer(beam_size=1), frames(4)


@model("espnet", "hypotheses expanded until enough are better than the rest")
def espnet_transducer_beam():
    return transducer(beam_size=2), frames(2)


@model("espnet", "hypotheses expanded together, frame by frame")
def espnet_transducer_time_synchronous():
    return transducer(beam_size=2, search_type="tsd", max_sym_exp=1), frames(2)


@model("espnet", "hypotheses of one length, expanded together")
def espnet_transducer_length_synchronous():
    return transducer(beam_size=2, search_type="alsd", u_max=2), frames(2)


@model("espnet", "n steps of expansion, prefixes joined")
def espnet_transducer_n_step():
    return transducer(beam_size=2, search_type="nsc", nstep=1), frames(2)


@model("espnet", "expansions by how far they are below the best")
def espnet_transducer_adaptive_expansion():
    return transducer(beam_size=2, search_type="maes", nstep=2, prefix_alpha=1), frames(2)


@model("espnet", "a transducer: the best of a few hypotheses, frame by frame", rtol=1e-3, atol=1e-4)
def espnet2_transducer_time_synchronous():
    from espnet2.asr_transducer.beam_search_transducer import BeamSearchTransducer
    from espnet2.asr_transducer.decoder.rnn_decoder import RNNDecoder
    from espnet2.asr_transducer.joint_network import JointNetwork

    decoder, joint = randomise(RNNDecoder(5, 4, 4), scale=2.0), randomise(JointNetwork(5, 4, 4, 6), scale=3.0)
    decoder.set_device(torch.device("cpu"))
    m = BeamSearchTransducer(decoder, joint, 1, search_type="tsd", max_sym_exp=2)
    return (lambda x: [(h.score, h.yseq) for h in m(x)]), [(rand(3, 4, seed=s, scale=3),) for s in range(4)]


def attention_decoder():
    from espnet.nets.pytorch_backend.transformer.decoder import Decoder

    return randomise(
        Decoder(
            odim=SYMBOLS,
            selfattention_layer_type="selfattn",
            attention_dim=8,
            attention_heads=2,
            linear_units=12,
            num_blocks=1,
        ),
        scale=2.0,
    )


@model("espnet", "beams of a decoder until all have ended")
def espnet_beam_search():
    from espnet.nets.beam_search import BeamSearch

    m = BeamSearch({"decoder": attention_decoder()}, {"decoder": 1.0}, beam_size=2, vocab_size=SYMBOLS, sos=4, eos=4)
    return (lambda x: [(h.yseq, h.score) for h in m(x, maxlenratio=-3)]), [
        (rand(4, 8, seed=s, scale=2.0),) for s in range(4)
    ]


@model("espnet", "beams of a decoder as one batch until all have ended")
def espnet_batch_beam_search():
    from espnet.nets.batch_beam_search import BatchBeamSearch

    m = BatchBeamSearch(
        {"decoder": attention_decoder()}, {"decoder": 1.0}, beam_size=2, vocab_size=SYMBOLS, sos=4, eos=4
    )
    return (lambda x: [(h.yseq, h.score) for h in m(x, maxlenratio=-3)]), [
        (rand(4, 8, seed=s, scale=2.0),) for s in range(4)
    ]


@model("espnet", "beams scored by a decoder and by the prefixes of CTC")
def espnet_joint_beam_search():
    from espnet.nets.beam_search import BeamSearch
    from espnet.nets.scorers.ctc import CTCPrefixScorer
    from espnet.nets.scorers.length_bonus import LengthBonus
    from espnet2.asr.ctc import CTC

    ctc = randomise(CTC(odim=SYMBOLS, encoder_output_size=8), scale=2.0)
    scorers = {"decoder": attention_decoder(), "ctc": CTCPrefixScorer(ctc, 4), "length_bonus": LengthBonus(SYMBOLS)}
    m = BeamSearch(
        scorers,
        {"decoder": 0.6, "ctc": 0.4, "length_bonus": 0.1},
        beam_size=2,
        vocab_size=SYMBOLS,
        sos=4,
        eos=4,
        pre_beam_score_key="full",
    )
    return (lambda x: [(h.yseq, h.score) for h in m(x, maxlenratio=-3)]), [
        (rand(4, 8, seed=s, scale=2.0),) for s in range(3)
    ]


@model("espnet", "scores of the prefixes of several hypotheses, frames beyond an utterance's end left out")
def espnet_ctc_prefix_scores():
    from espnet.nets.ctc_prefix_score import CTCPrefixScoreTH

    def run(logits, lengths):
        scorer = CTCPrefixScoreTH(logits.log_softmax(-1), lengths, 0, 4)
        beams, state = [[4], [4]], None
        for _ in range(2):
            scores, state = scorer(beams, state)
            best = scores.argmax(-1)
            state = scorer.index_select_state(state, best.unsqueeze(1))
            beams = [b + [int(k)] for b, k in zip(beams, best)]
        return beams, scores

    return run, [(rand(2, 5, SYMBOLS, seed=s), torch.tensor(n)) for s, n in enumerate([[5, 5], [5, 3], [4, 5], [2, 3]])]


@model("espnet", "symbols of low confidence masked and filled in again, a few at a time")
def espnet_mask_ctc():
    from types import SimpleNamespace

    from espnet2.asr.ctc import CTC
    from espnet2.asr.decoder.mlm_decoder import MLMDecoder
    from espnet2.asr.maskctc_model import MaskCTCInference

    mlm = randomise(MLMDecoder(SYMBOLS + 1, 8, attention_heads=2, linear_units=12, num_blocks=1), scale=2.0)
    ctc = randomise(CTC(odim=SYMBOLS + 1, encoder_output_size=8), scale=1.0)
    m = MaskCTCInference(
        SimpleNamespace(ctc=ctc, decoder=mlm, mask_token=SYMBOLS, token_list=["-", "<unk>", *"abc", "#"]),
        n_iterations=2,
        threshold_probability=0.6,
    )
    return (lambda x: m(x)), [(rand(5, 8, seed=s, scale=2.0),) for s in range(4)]


def rnnt():
    from torchaudio.models.rnnt import emformer_rnnt_model

    return randomise(
        emformer_rnnt_model(
            input_dim=4,
            encoding_dim=8,
            num_symbols=6,
            segment_length=4,
            right_context_length=2,
            time_reduction_input_dim=4,
            time_reduction_stride=2,
            transformer_num_heads=2,
            transformer_ffn_dim=8,
            transformer_num_layers=1,
            transformer_dropout=0.0,
            transformer_activation="relu",
            transformer_left_context_length=2,
            transformer_max_memory_size=0,
            transformer_weight_init_scale_strategy="depthwise",
            transformer_tanh_on_mem=True,
            symbol_embedding_dim=6,
            num_lstm_layers=1,
            lstm_layer_norm=True,
            lstm_layer_norm_epsilon=1e-3,
            lstm_dropout=0.0,
        ),
        scale=2.0,
    )


@model("torchaudio", "beam search over a transducer: hypotheses in lists, keyed by their text, merged and sorted")
def torchaudio_rnnt_beam_search():
    from torchaudio.models import RNNTBeamSearch

    m = RNNTBeamSearch(rnnt(), blank=5, step_max_tokens=2)
    return (lambda x, n: m(x, n, 2)), [(rand(1, 10, 4, seed=s), torch.tensor([8])) for s in range(3)]
