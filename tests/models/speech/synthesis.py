# SPDX-License-Identifier: Apache-2.0
"""Speech one frame or sample after the other, until a stop gate opens."""

import torch

from tests.models.registry import ints, model, rand, randomise, stand_in


@model("transformers", "speech synthesis: frames until the stop probability passes a threshold")
def speecht5_generate_speech():
    from transformers import SpeechT5Config, SpeechT5ForTextToSpeech

    config = SpeechT5Config(
        vocab_size=12,
        hidden_size=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=24,
        decoder_ffn_dim=24,
        num_mel_bins=4,
        speech_decoder_prenet_units=8,
        speaker_embedding_dim=6,
        speech_decoder_postnet_units=8,
        speech_decoder_postnet_layers=1,
        max_text_positions=32,
        max_speech_positions=64,
        positional_dropout=0.0,
        speech_decoder_prenet_dropout=0.0,
    )
    m = randomise(SpeechT5ForTextToSpeech(config), scale=3.0)
    return (lambda ids, speaker: m.generate_speech(ids, speaker, threshold=0.6, minlenratio=0.0, maxlenratio=3.0)), [
        (ints(1, 4, low=4, high=12, seed=s), rand(1, 6, seed=s, scale=3)) for s in range(6)]


@model("torchaudio", "mel frames until every stop gate is open; lengths of each sample", rtol=1e-3, atol=1e-4)
def torchaudio_tacotron2_infer():
    from torchaudio.models import Tacotron2

    m = randomise(
        Tacotron2(
            n_mels=4,
            n_symbol=12,
            symbol_embedding_dim=8,
            encoder_embedding_dim=8,
            encoder_n_convolution=1,
            encoder_kernel_size=3,
            decoder_rnn_dim=8,
            decoder_max_step=8,
            decoder_dropout=0.0,
            attention_rnn_dim=8,
            attention_hidden_dim=8,
            attention_location_n_filter=2,
            attention_location_kernel_size=3,
            attention_dropout=0.0,
            prenet_dim=6,
            postnet_n_convolution=2,
            postnet_kernel_size=3,
            postnet_embedding_dim=6,
            gate_threshold=0.5,
        ),
        scale=2.0,
    )
    prenet = m.decoder.prenet  # its dropout is always on
    prenet.forward = lambda x: torch.relu(prenet.layers[1](torch.relu(prenet.layers[0](x))))
    return (lambda t, n: m.infer(t, n)), [(ints(2, 5, high=12, seed=s), torch.tensor([5, 3 + s % 3])) for s in range(5)]


@model("speechbrain", "mel frames until the stop gates are open", rtol=1e-3, atol=1e-4)
def speechbrain_tacotron2_infer():
    from speechbrain.lobes.models.Tacotron2 import Tacotron2

    m = randomise(
        Tacotron2(
            mask_padding=True,
            n_mel_channels=4,
            n_symbols=12,
            symbols_embedding_dim=8,
            encoder_kernel_size=3,
            encoder_n_convolutions=1,
            encoder_embedding_dim=8,
            attention_rnn_dim=8,
            attention_dim=8,
            attention_location_n_filters=2,
            attention_location_kernel_size=3,
            n_frames_per_step=1,
            decoder_rnn_dim=8,
            prenet_dim=6,
            max_decoder_steps=6,
            gate_threshold=0.5,
            p_attention_dropout=0.0,
            p_decoder_dropout=0.0,
            postnet_embedding_dim=6,
            postnet_kernel_size=3,
            postnet_n_convolutions=2,
            decoder_no_early_stopping=False,
        ),
        scale=2.0,
    )
    prenet = m.decoder.prenet  # its dropout is always on
    prenet.forward = lambda x: torch.relu(prenet.layers[1](torch.relu(prenet.layers[0](x))))
    return (lambda t, n: m.infer(t, n)), [(ints(2, 5, high=12, seed=s), torch.tensor([5, 3 + s % 3])) for s in range(4)]


@model("TTS", "frames until the stop token", rtol=1e-3, atol=1e-4)
def coqui_tacotron2_decoder():
    stand_in("torchcodec")
    from TTS.tts.layers.tacotron.tacotron2 import Decoder

    m = randomise(
        Decoder(
            in_channels=8,
            frame_channels=4,
            r=1,
            attn_type="original",
            attn_win=False,
            attn_norm="softmax",
            prenet_type="original",
            prenet_dropout=False,
            forward_attn=False,
            trans_agent=False,
            forward_attn_mask=False,
            location_attn=True,
            attn_K=2,
            separate_stopnet=True,
            max_decoder_steps=5,
        ),
        scale=2.0,
    )
    return (lambda x: m.inference(x)), [(rand(1, 4, 8, seed=s),) for s in range(4)]


@model("TTS", "a window of attention that moves with the largest weight", rtol=1e-3, atol=1e-4)
def coqui_windowed_attention():
    stand_in("torchcodec")
    from TTS.tts.layers.tacotron.attentions import OriginalAttention

    m = randomise(
        OriginalAttention(
            query_dim=4,
            embedding_dim=6,
            attention_dim=4,
            location_attention=True,
            attention_location_n_filters=2,
            attention_location_kernel_size=3,
            windowing=True,
            norm="softmax",
            forward_attn=True,
            trans_agent=False,
            forward_attn_mask=True,
        )
    )

    def run(queries, x):
        m.init_states(x)
        m.init_win_idx()
        keys = m.preprocess_inputs(x)
        return torch.stack([m(q, x, keys, None) for q in queries])

    return run, [(rand(3, 1, 4, seed=s, scale=3), rand(1, 8, 6, seed=s + 1, scale=3)) for s in range(3)]


@model("espnet", "frames until the stop probability passes a threshold; attention held near where it was")
def espnet_tacotron2_decoder():
    from espnet.nets.pytorch_backend.rnn.attentions import AttLoc
    from espnet.nets.pytorch_backend.tacotron2.decoder import Decoder

    m = randomise(
        Decoder(
            6,
            4,
            AttLoc(6, 8, 6, 3, 2),
            dlayers=2,
            dunits=8,
            prenet_layers=0,
            postnet_layers=1,
            postnet_chans=6,
            dropout_rate=0.0,
        ),
        scale=2.0,
    )
    return (
        lambda h: m.inference(
            h, threshold=0.7, maxlenratio=2.0, use_att_constraint=True, backward_window=1, forward_window=2
        )
    ), [(rand(4, 6, seed=s, scale=2.0),) for s in range(4)]


@model("espnet", "frames until the stop probability passes a threshold; forward attention with a transition agent")
def espnet_tacotron2_forward_attention():
    from espnet.nets.pytorch_backend.rnn.attentions import AttForwardTA
    from espnet.nets.pytorch_backend.tacotron2.decoder import Decoder

    m = randomise(
        Decoder(
            6,
            4,
            AttForwardTA(6, 8, 6, 3, 2, 4),
            dlayers=1,
            dunits=8,
            prenet_layers=0,
            postnet_layers=0,
            dropout_rate=0.0,
        ),
        scale=2.0,
    )
    return (lambda h: m.inference(h, threshold=0.7, minlenratio=0.5, maxlenratio=2.0)), [
        (rand(4, 6, seed=s, scale=2.0),) for s in range(4)
    ]


@model("espnet", "text to frames until the stop probability passes a threshold")
def espnet_transformer_tts():
    from espnet2.tts.transformer import Transformer

    m = randomise(
        Transformer(
            12,
            4,
            embed_dim=8,
            eprenet_conv_layers=0,
            dprenet_layers=0,
            adim=8,
            aheads=2,
            elayers=1,
            eunits=12,
            dlayers=1,
            dunits=12,
            postnet_layers=0,
            use_guided_attn_loss=False,
        ),
        scale=2.0,
    )
    return (lambda text: m.inference(text, threshold=0.6, maxlenratio=2.0)["feat_gen"]), [
        (ints(4, low=1, high=11, seed=s),) for s in range(4)
    ]


@model("coqui-tts", "frames of a neural hidden Markov model: the state moves on when its duration is used up")
def neural_hmm_inference():
    stand_in("torchcodec")
    from TTS.tts.layers.overflow.neural_hmm import NeuralHMM

    m = randomise(
        NeuralHMM(
            frame_channels=3,
            ar_order=1,
            deterministic_transition=True,
            encoder_dim=6,
            prenet_type="original",
            prenet_dim=6,
            prenet_n_layers=1,
            prenet_dropout=0.0,
            prenet_dropout_at_inference=False,
            memory_rnn_dim=6,
            outputnet_size=[6],
            flat_start_params=dict(mean=0.0, std=1.0, transition_p=0.3),
            std_floor=0.01,
        ),
        scale=2.0,
    )
    return (lambda x, n: m.inference(x, n, 0.0, 9, 0.5)), [
        (rand(1, 4, 6, seed=s, scale=2), torch.tensor([4])) for s in range(5)
    ]


@model("torchaudio", "a sample at a time from the samples before: the draw is certain here")
def torchaudio_wavernn_infer():
    from torchaudio.models import WaveRNN

    m = randomise(
        WaveRNN(
            upsample_scales=[2, 2],
            n_classes=8,
            hop_length=4,
            n_res_block=1,
            n_rnn=8,
            n_fc=8,
            kernel_size=3,
            n_freq=4,
            n_hidden=8,
            n_output=8,
        )
    )
    with torch.no_grad():
        m.fc3.weight.mul_(3000)  # so the best class has all of the probability
    return (lambda x, n: m.infer(x, n)), [(rand(1, 4, 5, seed=s), torch.tensor([5 - s])) for s in range(3)]
