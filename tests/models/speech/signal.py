# SPDX-License-Identifier: Apache-2.0
"""Signals: voice activity, pitch, speakers and sources told apart, long recordings in pieces."""

from types import SimpleNamespace

import torch

from tests.models.registry import model, rand, randomise, stand_in


@model("torchaudio", "frames are dropped by voice activity, measured per frame")
def torchaudio_vad():
    from torchaudio import functional

    return (lambda x: functional.vad(x, 1000, trigger_level=3.0)), [
        (torch.cat([0.01 * rand(1, 600, seed=s), (s + 0.5) * rand(1, 900, seed=s + 1)], 1),) for s in range(2)]


@model("silero-vad", "speech segments: starts and ends by two thresholds, short ones dropped")
def silero_timestamps():
    from silero_vad.utils_vad import get_speech_timestamps

    class Level(torch.nn.Module):
        def reset_states(self):
            pass

        def forward(self, chunk, rate):
            return chunk.abs().mean().clamp(max=1.0)

    m = Level()

    def audio(*levels):
        return (torch.cat([torch.full((512,), l) for l in levels]),)

    return (
        lambda x: get_speech_timestamps(x, m, min_speech_duration_ms=40, min_silence_duration_ms=40, speech_pad_ms=10)
    ), [
        audio(0.1, 0.9, 0.9, 0.9, 0.1, 0.1, 0.1, 0.9),
        audio(*[0.1] * 8),
        audio(*[0.9] * 8),
        audio(0.9, 0.1, 0.9, 0.1, 0.1, 0.9, 0.9, 0.9),
        audio(0.1, 0.9, 0.1, 0.1, 0.1, 0.9, 0.9, 0.1),
    ]


@model("speechbrain", "speech from frames: two thresholds, boundaries, near segments merged, short ones removed")
def speechbrain_vad_segments():
    from speechbrain.inference.VAD import VAD

    own = SimpleNamespace(device="cpu", time_resolution=0.01, sample_rate=16000)

    def run(probabilities):
        active = VAD.apply_threshold(own, probabilities, 0.6, 0.3).float()
        boundaries = VAD.get_boundaries(own, active)
        return VAD.remove_short_segments(own, VAD.merge_close_segments(own, boundaries, 0.02), 0.02)

    return run, [(torch.rand(1, 24, 1, generator=torch.Generator().manual_seed(s)),) for s in range(6)]


@model("funasr", "speech by a window over frames: it begins and ends when enough of them say so")
def funasr_window_detector():
    stand_in("kaldiio")
    from funasr.models.fsmn_vad_streaming.model import FrameState, WindowDetector

    def run(scores):
        detector, changes = WindowDetector(40, 30, 20, 10), []
        for k in range(scores.shape[0]):
            state = FrameState.kFrameStateSpeech if scores[k] > 0 else FrameState.kFrameStateSil
            changes.append(detector.DetectOneFrame(state, k).value)
        return changes

    return run, [(rand(8, seed=s),) for s in range(5)]


@model(
    "torchaudio",
    "pitch: the best lag of a correlation, half of it where that is as good; a median",
    rtol=1e-3,
    atol=1e-3,
)
def torchaudio_pitch():
    from torchaudio.functional import detect_pitch_frequency

    return (lambda x: detect_pitch_frequency(x, 800, frame_time=0.02, win_length=3, freq_low=40, freq_high=300)), [
        (torch.sin(torch.arange(400) * 0.5 * (s + 1))[None] + rand(1, 400, seed=s, scale=0.1),) for s in range(3)]


@model("torchcrepe", "pitch by the weighted neighbourhood of the best bin")
def torchcrepe_weighted():
    import torchcrepe

    return (lambda p: torchcrepe.decode.weighted_argmax(p.sigmoid())), [
        (rand(1, 360, 5, seed=s, scale=3),) for s in range(3)
    ]


@model("demucs", "a long signal cut into overlapping pieces, put together by weight")
def demucs_apply():
    from demucs.apply import apply_model

    class Net(torch.nn.Module):
        samplerate, segment, sources = 8, 2.0, ["a", "b"]
        max_allowed_segment = 2.0

        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv1d(1, 2, 3, padding=1)

        def valid_length(self, length):
            return length

        def forward(self, x):
            return self.conv(x)[:, :, None]

    m = randomise(Net())
    return (lambda x: apply_model(m, x, shifts=0, split=True, overlap=0.25, segment=2.0)), [
        (rand(1, 1, 40, seed=s),) for s in range(3)
    ]


@model("asteroid", "sources matched to targets by the best permutation")
def asteroid_pit():
    from asteroid.losses import PITLossWrapper, pairwise_neg_sisdr

    m = PITLossWrapper(pairwise_neg_sisdr, pit_from="pw_mtx")
    return (lambda a, b: m(a, b, return_est=True)), [
        (rand(2, 3, 20, seed=s), rand(2, 3, 20, seed=s + 9)) for s in range(4)
    ]


@model("asteroid", "four sources: the Hungarian method")
def asteroid_pit_hungarian():
    from asteroid.losses import PITLossWrapper, pairwise_neg_sisdr

    m = PITLossWrapper(pairwise_neg_sisdr, pit_from="pw_mtx")
    return (lambda a, b: m(a, b)), [(rand(1, 4, 20, seed=s), rand(1, 4, 20, seed=s + 9)) for s in range(4)]


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

    return run, [
        (rand(2, 5, 6, seed=s, scale=3.0), torch.tensor(n)) for s, n in enumerate([[5, 5], [5, 3], [5, 4], [5, 1]])
    ]
