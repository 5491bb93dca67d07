# SPDX-License-Identifier: Apache-2.0
"""An encoder with an exit behind each layer, taken where the entropy is low. In a batch each sentence leaves by itself:
those that stay are gathered, and the layers above see them alone."""

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, words=200, width=48, heads=4, layers=5, classes=3, most=1.02):
        super().__init__()
        self.embed, self.place = nn.Embedding(words, width), nn.Parameter(0.1 * torch.randn(32, width))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, 2 * width, batch_first=True, dropout=0.0) for _ in range(layers))
        self.exits = nn.ModuleList(nn.Linear(width, classes) for _ in range(layers))
        self.most = most  # entropy at which a sentence leaves

    def forward(self, tokens):
        x = self.embed(tokens) + self.place[:tokens.shape[1]]
        result = torch.zeros(tokens.shape[0], self.exits[0].out_features)
        depth = torch.zeros(tokens.shape[0], dtype=torch.int64)
        rows = torch.arange(tokens.shape[0])  # of the sentences that are still here
        for number, (layer, exit) in enumerate(zip(self.layers, self.exits)):
            x = layer(x)
            scores = exit(x[:, 0]).softmax(dim=-1)
            entropy = -(scores * scores.log()).sum(dim=-1)
            leaves = entropy < (self.most if number + 1 < len(self.layers) else float("inf"))
            result[rows[leaves]] = scores[leaves]
            depth[rows[leaves]] = number + 1
            if leaves.all():
                break
            x, rows = x[~leaves], rows[~leaves]
        return result, depth


def make():
    torch.manual_seed(2)
    torch.backends.mha.set_fastpath_enabled(False)
    return Encoder().eval()


OPTIONS = {"dynamic_dims": {"tokens": {0: "B"}}, "ranges": {"B": (2, 64)}}


def inputs(seed):
    return (torch.randint(0, 200, (3 + seed, 16), generator=torch.Generator().manual_seed(seed)),)


def after(model, program, folder):
    _, depth = program(*inputs(9))
    return f"12 sentences left after {depth.tolist()} of 5 layers"
