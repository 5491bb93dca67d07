# SPDX-License-Identifier: Apache-2.0
"""Speech: decoders with stop gates, transducers, CTC, streaming encoders, duration-driven synthesis."""

import torch
from torch import nn

from tests.models.registry import ints, model, rand, randomise


@model("torchaudio", "mel frames until every stop gate is open; lengths of each sample", rtol=1e-3, atol=1e-4)
def torchaudio_tacotron2_infer():
    from torchaudio.models import Tacotron2

    m = randomise(Tacotron2(n_mels=4, n_symbol=12, symbol_embedding_dim=8, encoder_embedding_dim=8, encoder_n_convolution=1,
                            encoder_kernel_size=3, decoder_rnn_dim=8, decoder_max_step=8, decoder_dropout=0.0, attention_rnn_dim=8,
                            attention_hidden_dim=8, attention_location_n_filter=2, attention_location_kernel_size=3,
                            attention_dropout=0.0, prenet_dim=6, postnet_n_convolution=2, postnet_kernel_size=3,
                            postnet_embedding_dim=6, gate_threshold=0.5), scale=2.0)
    prenet = m.decoder.prenet  # its dropout is always on
    prenet.forward = lambda x: torch.relu(prenet.layers[1](torch.relu(prenet.layers[0](x))))
    return (lambda t, n: m.infer(t, n)), [(ints(2, 5, high=12, seed=s), torch.tensor([5, 3 + s % 3])) for s in range(5)]


def rnnt():
    from torchaudio.models.rnnt import emformer_rnnt_model

    return randomise(emformer_rnnt_model(
        input_dim=4, encoding_dim=8, num_symbols=6, segment_length=4, right_context_length=2, time_reduction_input_dim=4,
        time_reduction_stride=2, transformer_num_heads=2, transformer_ffn_dim=8, transformer_num_layers=1, transformer_dropout=0.0,
        transformer_activation="relu", transformer_left_context_length=2, transformer_max_memory_size=0,
        transformer_weight_init_scale_strategy="depthwise", transformer_tanh_on_mem=True, symbol_embedding_dim=6, num_lstm_layers=1,
        lstm_layer_norm=True, lstm_layer_norm_epsilon=1e-3, lstm_dropout=0.0), scale=2.0)


@model("torchaudio", "beam search over a transducer: hypotheses in lists, keyed by their text, merged and sorted")
def torchaudio_rnnt_beam_search():
    from torchaudio.models import RNNTBeamSearch

    m = RNNTBeamSearch(rnnt(), blank=5, step_max_tokens=2)
    return (lambda x, n: m(x, n, 2)), [(rand(1, 10, 4, seed=s), torch.tensor([8])) for s in range(3)]


@model("torchaudio", "lengths of each sample cut and mask the encoder")
def torchaudio_conformer():
    from torchaudio.models import Conformer

    m = randomise(Conformer(input_dim=8, num_heads=2, ffn_dim=12, num_layers=1, depthwise_conv_kernel_size=3))
    return m, [(rand(2, 6, 8, seed=s), torch.tensor(n)) for s, n in enumerate([[6, 4], [6, 6], [2, 6]])]


@model("torchaudio", "streaming encoder with memory; lengths of each sample")
def torchaudio_emformer():
    from torchaudio.models import Emformer

    m = randomise(Emformer(8, 2, 12, 1, segment_length=4, left_context_length=4, right_context_length=2, max_memory_size=2))
    return m, [(rand(2, 10, 8, seed=s), torch.tensor(n)) for s, n in enumerate([[8, 5], [8, 8], [3, 7]])]


@model("torchaudio", "the CTC batch is masked by lengths; feature extractor and encoder")
def torchaudio_wav2vec2():
    from torchaudio.models import wav2vec2_model

    m = randomise(wav2vec2_model(
        extractor_mode="layer_norm", extractor_conv_layer_config=[(8, 10, 5), (8, 3, 2)], extractor_conv_bias=True, encoder_embed_dim=8,
        encoder_projection_dropout=0.0, encoder_pos_conv_kernel=4, encoder_pos_conv_groups=2, encoder_num_layers=1, encoder_num_heads=2,
        encoder_attention_dropout=0.0, encoder_ff_interm_features=12, encoder_ff_interm_dropout=0.0, encoder_dropout=0.0,
        encoder_layer_norm_first=True, encoder_layer_drop=0.0, aux_num_out=5))
    return m, [(rand(2, 80, seed=s), torch.tensor(n)) for s, n in enumerate([[80, 60], [80, 80], [40, 80]])]


@model("torchaudio", "frames are dropped by voice activity, measured per frame")
def torchaudio_vad():
    from torchaudio import functional

    return (lambda x: functional.vad(x, 1000, trigger_level=3.0)), [
        (torch.cat([0.01 * rand(1, 600, seed=s), (s + 0.5) * rand(1, 900, seed=s + 1)], 1),) for s in range(2)]


def transducer(beam):
    import speechbrain as sb
    from speechbrain.decoders.transducer import TransducerBeamSearcher
    from speechbrain.nnet.transducer.transducer_joint import Transducer_joint

    emb = sb.nnet.embedding.Embedding(num_embeddings=6, embedding_dim=3, consider_as_one_hot=True, blank_id=0)
    dec = randomise(sb.nnet.RNN.GRU(hidden_size=6, input_shape=(1, 8, 5), bidirectional=False), scale=2.0)
    lin = randomise(sb.nnet.linear.Linear(input_shape=(1, 8, 6), n_neurons=6), scale=3.0)
    joint = Transducer_joint(randomise(sb.nnet.linear.Linear(input_shape=(1, 1, 8, 6), n_neurons=6)), joint="sum")
    return TransducerBeamSearcher(decode_network_lst=[emb, dec], tjoint=joint, classifier_network=[lin], blank_id=0,
                                  beam_size=beam, nbest=1, lm_module=None, lm_weight=0.0).eval()


@model("speechbrain", "greedy transducer: symbols per frame until blank, samples updated by which emitted")
def speechbrain_transducer_greedy():
    m = transducer(1)
    return (lambda x: m(x)[:2]), [(rand(2, 4, 6, seed=s, scale=2),) for s in range(4)]


@model("speechbrain", "CTC: repeated and blank symbols dropped, lengths of each sample")
def speechbrain_ctc_greedy():
    from speechbrain.decoders.ctc import ctc_greedy_decode

    return (lambda p, n: ctc_greedy_decode(p, n, blank_id=0)), [
        (rand(2, 6, 4, seed=s).softmax(-1), torch.tensor(n)) for s, n in enumerate([[1.0, 0.5], [1.0, 1.0], [0.34, 1.0]])]


def seq2seq(cls, **options):
    import speechbrain as sb

    emb = randomise(nn.Embedding(5, 3))
    dec = randomise(sb.nnet.RNN.AttentionalRNNDecoder(rnn_type="gru", attn_type="content", hidden_size=6, attn_dim=6, num_layers=1,
                                                      enc_dim=6, input_size=3), scale=2.0)
    lin = randomise(sb.nnet.linear.Linear(n_neurons=5, input_size=6), scale=4.0)
    return cls(embedding=emb, decoder=dec, linear=lin, bos_index=0, eos_index=1, min_decode_ratio=0, max_decode_ratio=1, **options).eval()


@model("speechbrain", "tokens until every sample has ended; hypotheses of different lengths")
def speechbrain_rnn_greedy():
    from speechbrain.decoders.seq2seq import S2SRNNGreedySearcher

    m = seq2seq(S2SRNNGreedySearcher)
    return (lambda x, n: m(x, n)), [(rand(2, 6, 6, seed=s, scale=2), torch.tensor([1.0, 0.5 + 0.1 * s])) for s in range(5)]


@model("speechbrain", "beam search: ended beams are collected in lists until all are full")
def speechbrain_rnn_beam():
    from speechbrain.decoders.seq2seq import S2SRNNBeamSearcher

    m = seq2seq(S2SRNNBeamSearcher, beam_size=2)
    return (lambda x, n: m(x, n)), [(rand(2, 5, 6, seed=s, scale=2), torch.tensor([1.0, 0.6])) for s in range(4)]


@model("speechbrain", "mel frames until the stop gates are open", rtol=1e-3, atol=1e-4)
def speechbrain_tacotron2_infer():
    from speechbrain.lobes.models.Tacotron2 import Tacotron2

    m = randomise(Tacotron2(mask_padding=True, n_mel_channels=4, n_symbols=12, symbols_embedding_dim=8, encoder_kernel_size=3,
                            encoder_n_convolutions=1, encoder_embedding_dim=8, attention_rnn_dim=8, attention_dim=8,
                            attention_location_n_filters=2, attention_location_kernel_size=3, n_frames_per_step=1, decoder_rnn_dim=8,
                            prenet_dim=6, max_decoder_steps=6, gate_threshold=0.5, p_attention_dropout=0.0, p_decoder_dropout=0.0,
                            postnet_embedding_dim=6, postnet_kernel_size=3, postnet_n_convolutions=2, decoder_no_early_stopping=False),
                  scale=2.0)
    prenet = m.decoder.prenet  # its dropout is always on
    prenet.forward = lambda x: torch.relu(prenet.layers[1](torch.relu(prenet.layers[0](x))))
    return (lambda t, n: m.infer(t, n)), [(ints(2, 5, high=12, seed=s), torch.tensor([5, 3 + s % 3])) for s in range(4)]


@model("speechbrain", "phonemes repeated by predicted durations", rtol=1e-3, atol=1e-4)
def speechbrain_upsample():
    from speechbrain.lobes.models.FastSpeech2 import upsample

    return (lambda x, d: upsample(x, d)), [(rand(2, 4, 3, seed=s), ints(2, 4, low=1, high=4, seed=s)) for s in range(4)]


@model("speechbrain", "masks as long as the longest sample")
def speechbrain_masks():
    from speechbrain.lobes.models.transformer.Transformer import get_key_padding_mask, get_mask_from_lengths

    return (lambda n, x: (get_mask_from_lengths(n), get_key_padding_mask(x, 0))), [
        (torch.tensor(n), ints(2, 4, high=3, seed=s)) for s, n in enumerate([[4, 2], [3, 3], [1, 5]])]


@model("torchaudio", "an alignment cut where the token changes; blanks left out", rtol=1e-3)
def torchaudio_merge_tokens():
    from torchaudio.functional import merge_tokens

    return (lambda t, s: [(x.token, x.start, x.end, x.score) for x in merge_tokens(t, s)]), [
        (torch.tensor(t), rand(6, seed=s).sigmoid()) for s, t in enumerate([[0, 1, 1, 0, 2, 2], [1, 2, 3, 0, 0, 3], [0, 0, 0, 0, 0, 0]])]


@model("encodec", "residual codebooks; the number of codebooks follows from the bandwidth", rtol=1e-3, atol=1e-4)
def encodec_quantizer():
    from encodec.quantization import ResidualVectorQuantizer

    m = randomise(ResidualVectorQuantizer(dimension=6, n_q=3, bins=8))
    for layer in m.vq.layers:
        layer._codebook.embed.copy_(rand(8, 6, seed=3))
        layer._codebook.inited.fill_(1)
    return (lambda x: tuple(m(x, 50, 0.4).__dict__[k] for k in ("quantized", "codes"))), [(rand(1, 6, 5, seed=s),) for s in range(3)]
