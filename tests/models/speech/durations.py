# SPDX-License-Identifier: Apache-2.0
"""Speech from durations: each token repeated as often as a predictor says; they give the length."""

import sys

import torch

from tests.models.inputs import tokens
from tests.models.registry import ints, model, rand, randomise, stand_in


@model("transformers", "text to speech: each token repeated by its predicted duration")
def fastspeech2_conformer():
    from transformers import FastSpeech2ConformerConfig, FastSpeech2ConformerModel

    config = FastSpeech2ConformerConfig(
        hidden_size=16,
        vocab_size=12,
        num_mel_bins=4,
        encoder_num_attention_heads=2,
        encoder_layers=1,
        encoder_linear_units=24,
        decoder_layers=1,
        decoder_num_attention_heads=2,
        decoder_linear_units=24,
        speech_decoder_postnet_layers=1,
        speech_decoder_postnet_units=8,
        duration_predictor_layers=1,
        duration_predictor_channels=8,
        energy_predictor_layers=1,
        energy_predictor_channels=8,
        pitch_predictor_layers=1,
        pitch_predictor_channels=8,
    )
    m = randomise(FastSpeech2ConformerModel(config))
    return (lambda ids: m(ids, return_dict=True).spectrogram), tokens(1, 4, high=12)


@model("transformers", "text to speech: frame count from predicted durations; noise scaled by zero")
def vits():
    from transformers import VitsConfig, VitsModel

    config = VitsConfig(
        vocab_size=12,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        ffn_dim=24,
        flow_size=16,
        spectrogram_bins=9,
        upsample_initial_channel=16,
        upsample_rates=[2, 2],
        upsample_kernel_sizes=[4, 4],
        resblock_kernel_sizes=[3],
        resblock_dilation_sizes=[[1, 1, 1]],
        prior_encoder_num_flows=1,
        prior_encoder_num_wavenet_layers=1,
        posterior_encoder_num_wavenet_layers=1,
        duration_predictor_num_flows=1,
        depth_separable_num_layers=1,
        use_stochastic_duration_prediction=False,
        noise_scale=0.0,
        noise_scale_duration=0.0,
    )
    m = randomise(VitsModel(config), scale=0.1)  # durations are exponentials of it
    return (lambda ids: m(ids).waveform), tokens(1, 5, high=12)


@model("kokoro", "durations of phonemes: the length of the speech")
def kokoro_durations():
    stand_in("misaki", "misaki.en", "misaki.espeak")
    sys.modules["misaki.en"].MToken = object
    from kokoro.modules import ProsodyPredictor, TextEncoder

    predictor = randomise(ProsodyPredictor(style_dim=8, d_hid=8, nlayers=1, max_dur=5, dropout=0.0))
    encoder = randomise(TextEncoder(channels=8, kernel_size=3, depth=1, n_symbols=12))

    def run(ids, style):  # as KModel.forward_with_tokens, without its BERT and its vocoder
        lengths = torch.full((ids.shape[0],), ids.shape[-1], dtype=torch.long)
        mask = torch.arange(lengths.max()).unsqueeze(0).expand(lengths.shape[0], -1).type_as(lengths)
        mask = torch.gt(mask + 1, lengths.unsqueeze(1))
        text = encoder(ids, lengths, mask)
        d = predictor.text_encoder(text, style, lengths, mask)
        duration = torch.sigmoid(predictor.duration_proj(predictor.lstm(d)[0])).sum(axis=-1)
        counts = torch.round(duration).clamp(min=1).long().squeeze()
        indices = torch.repeat_interleave(torch.arange(ids.shape[1]), counts)
        alignment = torch.zeros((ids.shape[1], indices.shape[0]))
        alignment[indices, torch.arange(indices.shape[0])] = 1
        en = d.transpose(-1, -2) @ alignment.unsqueeze(0)
        return predictor.F0Ntrain(en, style), text @ alignment.unsqueeze(0), counts

    return run, [(ints(1, 5, high=12, seed=s), rand(1, 8, seed=s, scale=3.0)) for s in range(4)]


@model("coqui-tts", "durations of letters: frames of a flow run backwards")
def glow_tts_inference():
    stand_in("torchcodec")
    from TTS.tts.configs.glow_tts_config import GlowTTSConfig
    from TTS.tts.models.glow_tts import GlowTTS

    config = GlowTTSConfig(
        num_chars=12,
        out_channels=8,
        hidden_channels_enc=8,
        hidden_channels_dec=8,
        num_flow_blocks_dec=2,
        num_block_layers=2,
        hidden_channels_dp=8,
        inference_noise_scale=0.0,
        encoder_params=dict(
            kernel_size=3, dropout_p=0.0, num_layers=1, num_heads=2, hidden_channels_ffn=16, input_length=None
        ),
    )
    m = randomise(GlowTTS(config), scale=0.7)
    for flow in m.decoder.flows:
        if hasattr(flow, "initialized"):
            flow.initialized = True
    m.store_inverse()
    return (lambda x, n: m.inference(x, {"x_lengths": n, "d_vectors": None, "speaker_ids": None})["model_outputs"]), [
        (ints(2, 5, high=12, seed=s), torch.tensor(n)) for s, n in enumerate([[5, 5], [5, 3], [4, 5]])]


@model("coqui-tts", "durations of letters: frames of a feed-forward decoder")
def forward_tts_inference():
    stand_in("torchcodec")
    from TTS.tts.configs.fast_pitch_config import FastPitchConfig
    from TTS.tts.models.forward_tts import ForwardTTS, ForwardTTSArgs

    m = randomise(
        ForwardTTS(
            FastPitchConfig(
                text_cleaner=None,
                phonemizer=None,
                model_args=ForwardTTSArgs(
                    num_chars=12,
                    out_channels=6,
                    hidden_channels=8,
                    use_aligner=False,
                    use_pitch=True,
                    duration_predictor_hidden_channels=8,
                    pitch_predictor_hidden_channels=8,
                    encoder_params=dict(hidden_channels_ffn=16, num_heads=1, num_layers=1, dropout_p=0.0),
                    decoder_params=dict(hidden_channels_ffn=16, num_heads=1, num_layers=1, dropout_p=0.0),
                ),
            )
        ),
        scale=0.5,
    )
    return (lambda x: m.inference(x)["model_outputs"]), [(ints(1, 5, high=12, seed=s),) for s in range(4)]


@model("TTS", "durations rounded, phonemes repeated as often", rtol=1e-3, atol=1e-4)
def coqui_generate_path():
    stand_in("torchcodec")
    from TTS.tts.utils.helpers import generate_path, sequence_mask

    def run(durations):
        lengths = durations.sum(1)
        mask = sequence_mask(lengths, int(lengths.max()))[:, None].float()
        return generate_path(durations.float(), mask.expand(-1, durations.shape[1], -1))

    return run, [(ints(2, 4, low=1, high=4, seed=s),) for s in range(3)]


@model("speechbrain", "phonemes repeated by predicted durations", rtol=1e-3, atol=1e-4)
def speechbrain_upsample():
    from speechbrain.lobes.models.FastSpeech2 import upsample

    return (lambda x, d: upsample(x, d)), [(rand(2, 4, 3, seed=s), ints(2, 4, low=1, high=4, seed=s)) for s in range(4)]


@model("espnet", "vectors repeated as often as durations say, all of them zero once")
def espnet_length_regulator():
    from espnet.nets.pytorch_backend.fastspeech.length_regulator import LengthRegulator

    durations = [[[1, 2, 0], [2, 2, 1]], [[0, 0, 0], [0, 0, 0]], [[3, 0, 0], [0, 1, 1]], [[0, 0, 0], [1, 1, 1]]]
    return LengthRegulator(), [(rand(2, 3, 4, seed=s), torch.tensor(d)) for s, d in enumerate(durations)]


@model("espnet", "text to frames: durations predicted, rounded, expanded")
def espnet_fastspeech_inference():
    from espnet2.tts.fastspeech import FastSpeech

    m = randomise(
        FastSpeech(
            12,
            4,
            adim=8,
            aheads=2,
            elayers=1,
            eunits=12,
            dlayers=1,
            dunits=12,
            postnet_layers=0,
            duration_predictor_layers=1,
            duration_predictor_chans=8,
            transformer_enc_dropout_rate=0.0,
        ),
        scale=2.0,
    )
    return (lambda text: m.inference(text, alpha=1.0)["feat_gen"]), [
        (ints(4, low=1, high=11, seed=s),) for s in range(4)
    ]


@model("espnet", "text to frames with durations, pitch and energy")
def espnet_fastspeech2_inference():
    from espnet2.tts.fastspeech2 import FastSpeech2

    m = randomise(
        FastSpeech2(
            12,
            4,
            adim=8,
            aheads=2,
            elayers=1,
            eunits=12,
            dlayers=1,
            dunits=12,
            postnet_layers=0,
            duration_predictor_layers=1,
            duration_predictor_chans=8,
            energy_predictor_layers=1,
            energy_predictor_chans=8,
            pitch_predictor_layers=1,
            pitch_predictor_chans=8,
        ),
        scale=2.0,
    )
    return (lambda text: m.inference(text)["feat_gen"]), [(ints(4, low=1, high=11, seed=s),) for s in range(4)]


@model("transformers", "units repeated by durations that the data give")
def seamless_vocoder():
    from transformers import SeamlessM4TConfig
    from transformers.models.seamless_m4t.modeling_seamless_m4t import SeamlessM4TCodeHifiGan

    m = randomise(
        SeamlessM4TCodeHifiGan(
            SeamlessM4TConfig(
                unit_hifi_gan_vocab_size=20,
                unit_embed_dim=8,
                lang_embed_dim=4,
                spkr_embed_dim=4,
                vocoder_num_langs=3,
                vocoder_num_spkrs=3,
                variance_predictor_kernel_size=3,
                var_pred_dropout=0.0,
                upsample_initial_channel=8,
                upsample_rates=[2, 2],
                upsample_kernel_sizes=[4, 4],
                resblock_kernel_sizes=[3],
                resblock_dilation_sizes=[[1, 3]],
            )
        )
    )
    return m, [(ints(1, 6, low=5, high=20, seed=s), torch.tensor([[s % 3]]), torch.tensor([[s % 3]])) for s in range(4)]
