# SPDX-License-Identifier: Apache-2.0
"""ESPnet: searches over hypotheses of transducers and decoders, prefix scores, synthesis with a stop token, durations."""

import torch

from tests.models.registry import ints, model, rand, randomise

SYMBOLS = 5


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


def frames(length, count=4):
    return [(rand(length, 4, seed=s, scale=2.0),) for s in range(count)]


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


def attention_decoder():
    from espnet.nets.pytorch_backend.transformer.decoder import Decoder

    return randomise(Decoder(odim=SYMBOLS, selfattention_layer_type="selfattn", attention_dim=8, attention_heads=2, linear_units=12, num_blocks=1), scale=2.0)


@model("espnet", "beams of a decoder until all have ended")
def espnet_beam_search():
    from espnet.nets.beam_search import BeamSearch

    m = BeamSearch({"decoder": attention_decoder()}, {"decoder": 1.0}, beam_size=2, vocab_size=SYMBOLS, sos=4, eos=4)
    return (lambda x: [(h.yseq, h.score) for h in m(x, maxlenratio=-3)]), [(rand(4, 8, seed=s, scale=2.0),) for s in range(4)]


@model("espnet", "beams of a decoder as one batch until all have ended")
def espnet_batch_beam_search():
    from espnet.nets.batch_beam_search import BatchBeamSearch

    m = BatchBeamSearch({"decoder": attention_decoder()}, {"decoder": 1.0}, beam_size=2, vocab_size=SYMBOLS, sos=4, eos=4)
    return (lambda x: [(h.yseq, h.score) for h in m(x, maxlenratio=-3)]), [(rand(4, 8, seed=s, scale=2.0),) for s in range(4)]


@model("espnet", "beams scored by a decoder and by the prefixes of CTC")
def espnet_joint_beam_search():
    from espnet.nets.beam_search import BeamSearch
    from espnet.nets.scorers.ctc import CTCPrefixScorer
    from espnet.nets.scorers.length_bonus import LengthBonus
    from espnet2.asr.ctc import CTC

    ctc = randomise(CTC(odim=SYMBOLS, encoder_output_size=8), scale=2.0)
    scorers = {"decoder": attention_decoder(), "ctc": CTCPrefixScorer(ctc, 4), "length_bonus": LengthBonus(SYMBOLS)}
    m = BeamSearch(scorers, {"decoder": 0.6, "ctc": 0.4, "length_bonus": 0.1}, beam_size=2, vocab_size=SYMBOLS, sos=4, eos=4,
                   pre_beam_score_key="full")
    return (lambda x: [(h.yseq, h.score) for h in m(x, maxlenratio=-3)]), [(rand(4, 8, seed=s, scale=2.0),) for s in range(3)]


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


@model("espnet", "frames until the stop probability passes a threshold; attention held near where it was")
def espnet_tacotron2_decoder():
    from espnet.nets.pytorch_backend.rnn.attentions import AttLoc
    from espnet.nets.pytorch_backend.tacotron2.decoder import Decoder

    m = randomise(Decoder(6, 4, AttLoc(6, 8, 6, 3, 2), dlayers=2, dunits=8, prenet_layers=0, postnet_layers=1, postnet_chans=6, dropout_rate=0.0),
                  scale=2.0)
    return (lambda h: m.inference(h, threshold=0.7, maxlenratio=2.0, use_att_constraint=True, backward_window=1, forward_window=2)), [
        (rand(4, 6, seed=s, scale=2.0),) for s in range(4)]


@model("espnet", "frames until the stop probability passes a threshold; forward attention with a transition agent")
def espnet_tacotron2_forward_attention():
    from espnet.nets.pytorch_backend.rnn.attentions import AttForwardTA
    from espnet.nets.pytorch_backend.tacotron2.decoder import Decoder

    m = randomise(Decoder(6, 4, AttForwardTA(6, 8, 6, 3, 2, 4), dlayers=1, dunits=8, prenet_layers=0, postnet_layers=0, dropout_rate=0.0), scale=2.0)
    return (lambda h: m.inference(h, threshold=0.7, minlenratio=0.5, maxlenratio=2.0)), [(rand(4, 6, seed=s, scale=2.0),) for s in range(4)]


@model("espnet", "vectors repeated as often as durations say, all of them zero once")
def espnet_length_regulator():
    from espnet.nets.pytorch_backend.fastspeech.length_regulator import LengthRegulator

    durations = [[[1, 2, 0], [2, 2, 1]], [[0, 0, 0], [0, 0, 0]], [[3, 0, 0], [0, 1, 1]], [[0, 0, 0], [1, 1, 1]]]
    return LengthRegulator(), [(rand(2, 3, 4, seed=s), torch.tensor(d)) for s, d in enumerate(durations)]


@model("espnet", "text to frames: durations predicted, rounded, expanded")
def espnet_fastspeech_inference():
    from espnet2.tts.fastspeech import FastSpeech

    m = randomise(FastSpeech(12, 4, adim=8, aheads=2, elayers=1, eunits=12, dlayers=1, dunits=12, postnet_layers=0, duration_predictor_layers=1,
                             duration_predictor_chans=8, transformer_enc_dropout_rate=0.0), scale=2.0)
    return (lambda text: m.inference(text, alpha=1.0)["feat_gen"]), [(ints(4, low=1, high=11, seed=s),) for s in range(4)]


@model("espnet", "text to frames until the stop probability passes a threshold")
def espnet_transformer_tts():
    from espnet2.tts.transformer import Transformer

    m = randomise(Transformer(12, 4, embed_dim=8, eprenet_conv_layers=0, dprenet_layers=0, adim=8, aheads=2, elayers=1, eunits=12, dlayers=1,
                              dunits=12, postnet_layers=0, use_guided_attn_loss=False), scale=2.0)
    return (lambda text: m.inference(text, threshold=0.6, maxlenratio=2.0)["feat_gen"]), [(ints(4, low=1, high=11, seed=s),) for s in range(4)]


@model("espnet", "text to frames with durations, pitch and energy")
def espnet_fastspeech2_inference():
    from espnet2.tts.fastspeech2 import FastSpeech2

    m = randomise(FastSpeech2(12, 4, adim=8, aheads=2, elayers=1, eunits=12, dlayers=1, dunits=12, postnet_layers=0, duration_predictor_layers=1,
                              duration_predictor_chans=8, energy_predictor_layers=1, energy_predictor_chans=8, pitch_predictor_layers=1,
                              pitch_predictor_chans=8), scale=2.0)
    return (lambda text: m.inference(text)["feat_gen"]), [(ints(4, low=1, high=11, seed=s),) for s in range(4)]


@model("espnet", "symbols of low confidence masked and filled in again, a few at a time")
def espnet_mask_ctc():
    from types import SimpleNamespace

    from espnet2.asr.ctc import CTC
    from espnet2.asr.decoder.mlm_decoder import MLMDecoder
    from espnet2.asr.maskctc_model import MaskCTCInference

    mlm = randomise(MLMDecoder(SYMBOLS + 1, 8, attention_heads=2, linear_units=12, num_blocks=1), scale=2.0)
    ctc = randomise(CTC(odim=SYMBOLS + 1, encoder_output_size=8), scale=1.0)
    m = MaskCTCInference(SimpleNamespace(ctc=ctc, decoder=mlm, mask_token=SYMBOLS, token_list=["-", "<unk>", *"abc", "#"]), n_iterations=2, threshold_probability=0.6)
    return (lambda x: m(x)), [(rand(5, 8, seed=s, scale=2.0),) for s in range(4)]


@model("espnet", "blocks of a stream, each with a vector that carries what came before")
def espnet_contextual_block_encoder():
    from espnet2.asr.encoder.contextual_block_transformer_encoder import ContextualBlockTransformerEncoder

    m = randomise(ContextualBlockTransformerEncoder(6, 8, attention_heads=2, linear_units=12, num_blocks=1, input_layer="linear", block_size=4,
                                                    hop_size=2, look_ahead=1, dropout_rate=0.0, positional_dropout_rate=0.0,
                                                    attention_dropout_rate=0.0))
    return (lambda x, n: m(x, n)[:2]), [(rand(2, 9, 6, seed=s), torch.tensor(n)) for s, n in enumerate([[9, 9], [9, 5], [9, 2]])]


@model("espnet", "speakers as attractors until one does not exist")
def espnet_attractors():
    from espnet2.diar.attractor.rnn_attractor import RnnAttractor

    m = randomise(RnnAttractor(6, unit=6, dropout=0.0), scale=2.0)

    def run(x, lengths):
        attractors, exists = m(x, lengths, torch.zeros(2, 4, 6))
        count = 0
        for p in torch.sigmoid(exists[0, :, 0]):
            if p < 0.35:
                break
            count += 1
        return attractors[:, :count], count

    return run, [(rand(2, 5, 6, seed=s, scale=3.0), torch.tensor(n)) for s, n in enumerate([[5, 5], [5, 3], [5, 4], [5, 1]])]
