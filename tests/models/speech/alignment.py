# SPDX-License-Identifier: Apache-2.0
"""Text aligned with frames: the best monotonic path, followed back from each row's end."""

import torch

from tests.models.registry import ints, model, rand


@model("transformers", "the cheapest way through a matrix, found backwards")
def whisper_dynamic_time_warping():
    from transformers.models.whisper.generation_whisper import _dynamic_time_warping

    return (lambda x: _dynamic_time_warping(x.numpy())), [(rand(3, 4, seed=s),) for s in range(4)]


def alignments():
    return [
        (
            rand(2, 3, 6, seed=s),
            (torch.arange(3)[None, :, None] < 2 + s % 2) * (torch.arange(6) < 6 - s).float() + torch.zeros(2, 3, 6),
        )
        for s in range(3)
    ]


@model("monotonic-alignment-search", "the best monotonic alignment, followed back from each row's end")
def monotonic_alignment():
    from monotonic_alignment_search.path import maximum_path_numpy

    return maximum_path_numpy, alignments()


@model("speechbrain", "the best monotonic alignment, followed back from each row's end")
def speechbrain_alignment():
    from speechbrain.lobes.models.FastSpeech2 import maximum_path_numpy

    return maximum_path_numpy, alignments()


def aligner(algorithm):
    from speechbrain.alignment.aligner import HMMAligner

    m = HMMAligner()
    return (lambda x, n, phones, k: m(x, n, phones, k, algorithm)), [
        (rand(2, 6, 5, seed=s).log_softmax(-1), torch.tensor(n), ints(2, 3, high=5, seed=s), torch.tensor(k))
        for s, (n, k) in enumerate((([1.0, 0.5], [1.0, 0.67]), ([1.0, 1.0], [1.0, 1.0]), ([0.67, 1.0], [0.34, 1.0])))]


@model("speechbrain", "phonemes aligned with frames, the best path traced back for each length", rtol=1e-3, atol=1e-4)
def speechbrain_hmm_viterbi():
    return aligner("viterbi")


@model("speechbrain", "likelihood of phonemes over frames, rows of different lengths", rtol=1e-3, atol=1e-4)
def speechbrain_hmm_forward():
    return aligner("forward")


@model("torchaudio", "an alignment cut where the token changes; blanks left out", rtol=1e-3)
def torchaudio_merge_tokens():
    from torchaudio.functional import merge_tokens

    return (lambda t, s: [(x.token, x.start, x.end, x.score) for x in merge_tokens(t, s)]), [
        (torch.tensor(t), rand(6, seed=s).sigmoid())
        for s, t in enumerate([[0, 1, 1, 0, 2, 2], [1, 2, 3, 0, 0, 3], [0, 0, 0, 0, 0, 0]])
    ]
