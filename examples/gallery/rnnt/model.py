# SPDX-License-Identifier: Apache-2.0
"""An RNN transducer with greedy decoding: for each frame, words are emitted until the joint network says blank."""

import torch
from torch import nn

BLANK = 0


class Transducer(nn.Module):
    def __init__(self, features=20, width=48, words=30, most_per_frame=4):
        super().__init__()
        self.encoder = nn.LSTM(features, width, num_layers=1, batch_first=True)
        self.embed = nn.Embedding(words, width)
        self.predictor = nn.LSTMCell(width, width)
        self.joint = nn.Sequential(nn.Linear(2 * width, width), nn.Tanh(), nn.Linear(width, words))
        self.most_per_frame = most_per_frame

    def forward(self, audio):
        frames, _ = self.encoder(audio)
        said, times = [], []
        h = torch.zeros(1, frames.shape[2])
        c = torch.zeros(1, frames.shape[2])
        h, c = self.predictor(self.embed(torch.tensor([BLANK])), (h, c))
        for time in range(frames.shape[1]):
            emitted = 0
            while emitted < self.most_per_frame:
                word = self.joint(torch.cat([frames[:, time], h], dim=1)).argmax(dim=1)
                if word.item() == BLANK:
                    break
                said.append(word.item())
                times.append(time)
                h, c = self.predictor(self.embed(word), (h, c))
                emitted += 1
        return said, times


def make():
    torch.manual_seed(0)
    model = Transducer().eval()
    with torch.no_grad():
        model.joint[2].bias[BLANK] += 0.1  # blank is said most
    return model


OPTIONS = {"dynamic_dims": {"audio": {1: "T"}}, "ranges": {"T": (2, 400)}}


def inputs(seed):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(1, 20 + 5 * seed, 20, generator=generator),)


def after(model, program, folder):
    said, times = program(*inputs(5))
    return f"45 frames: {len(said)} words in frames {sorted(set(times))[:8]} ..."
