# SPDX-License-Identifier: Apache-2.0
"""A small transformer decoder with a cache, and a greedy `generate`: prompt in, words out, one file."""

import torch
from torch import nn
from torch.nn import functional as F

END = 0


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, cache):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.norms[0](x)).chunk(3, dim=-1))
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norms[1](x)))), (k, v)


class Decoder(nn.Module):
    def __init__(self, words=96, width=64, heads=4, layers=3, longest=256):
        super().__init__()
        self.embed, self.place = nn.Embedding(words, width), nn.Embedding(longest, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens, start, caches):
        x = self.embed(tokens) + self.place(torch.arange(tokens.shape[1]) + start)
        kept = []
        for layer, cache in zip(self.layers, caches):
            x, cache = layer(x, cache)
            kept.append(cache)
        return self.head(self.norm(x[:, -1])), kept

    def generate(self, prompt, max_new_tokens: int):
        words, tokens, start = [], prompt, 0
        caches = [None] * len(self.layers)
        while len(words) < max_new_tokens:
            scores, caches = self.forward(tokens, start, caches)
            start += tokens.shape[1]
            word = scores.argmax(dim=-1)
            if word.item() == END:
                break
            words.append(word.item())
            tokens = word[:, None]
        return words


def make():
    torch.manual_seed(4)
    return Decoder().eval().generate


OPTIONS = {"dynamic_dims": {"prompt": {1: "T"}}, "ranges": {"T": (2, 128)}, "dynamic_args": {"max_new_tokens": int}}


def inputs(seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(1, 96, (1, 8 + 2 * seed), generator=generator), 16 + seed


def after(model, program, folder):
    words = program(*inputs(3))
    return f"{len(words)} words from a prompt of 14: {words[:8]} ..."
