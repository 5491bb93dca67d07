# SPDX-License-Identifier: Apache-2.0
"""Text to speech: VITS of transformers, from a small configuration with random weights."""

import torch
from transformers import VitsConfig, VitsModel


def make():
    torch.manual_seed(0)
    config = VitsConfig(
        vocab_size=40, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, ffn_dim=64, flow_size=32,
        spectrogram_bins=33, upsample_initial_channel=32, upsample_rates=[4, 4], upsample_kernel_sizes=[8, 8],
        resblock_kernel_sizes=[3], resblock_dilation_sizes=[[1, 3]], prior_encoder_num_flows=2,
        prior_encoder_num_wavenet_layers=2, posterior_encoder_num_wavenet_layers=1, duration_predictor_num_flows=2,
        depth_separable_num_layers=2)
    model = VitsModel(config).eval()
    with torch.no_grad():  # as trained weights do, different phonemes get different durations
        for parameter in model.duration_predictor.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return Speech(model)


class Speech(torch.nn.Module):
    """What a voice is asked for: the waveform alone."""

    def __init__(self, vits):
        super().__init__()
        self.vits = vits

    def forward(self, phonemes):
        return self.vits(phonemes).waveform


OPTIONS = {"dynamic_dims": {"phonemes": {1: "N"}}, "ranges": {"N": (2, 200)}}


def inputs(seed):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randint(1, 40, (1, 6 + 2 * seed), generator=generator),)


def after(model, program, folder):
    lengths = []
    for seed in range(5):
        torch.manual_seed(seed)
        ours = program(*inputs(0))
        torch.manual_seed(seed)
        with torch.no_grad():
            assert ours.shape == model(*inputs(0)).shape
        lengths.append(ours.shape[1])
    return f"samples of one text under five seeds: {lengths}"
