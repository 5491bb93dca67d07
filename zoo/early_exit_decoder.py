# SPDX-License-Identifier: Apache-2.0
"""A transformer decoder that leaves early (Schuster et al.: "Confident Adaptive Language Modeling", NeurIPS 2022): each
token runs through layers until the softmax over the vocabulary is sure; the keys and values of the layers it skipped
are made from the state it left with. A decoder of the width and depth of T5 small (8 layers, 512 wide),
with a KV cache.
"""

from __future__ import annotations

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from zoo import data
from zoo.registry import model
from zoo.weights import constants, seeded

EOS = 1


class Block(nn.Module):
    def __init__(self, dim, heads, hidden):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(dim)
        self.q = nn.Linear(dim, dim, bias=False)
        self.kv = nn.Linear(dim, 2 * dim, bias=False)
        self.o = nn.Linear(dim, dim, bias=False)
        self.norm2 = nn.LayerNorm(dim)
        self.wi = nn.Linear(dim, hidden, bias=False)
        self.wo = nn.Linear(hidden, dim, bias=False)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, -1).transpose(1, 2)

    def keys_values(self, x, past=None):
        k, v = (self.split(t) for t in self.kv(self.norm1(x)).chunk(2, dim=-1))
        if past is not None:
            k = torch.cat([past[0], k], dim=2)
            v = torch.cat([past[1], v], dim=2)
        return k, v

    def forward(self, x, past=None, mask=None):
        present = self.keys_values(x, past)
        q = self.split(self.q(self.norm1(x)))
        scores = q @ present[0].transpose(-1, -2) / math.sqrt(q.size(-1))
        if mask is not None:
            scores = scores + mask
        y = (scores.softmax(-1) @ present[1]).transpose(1, 2).reshape(x.shape)
        x = x + self.o(y)
        x = x + self.wo(F.gelu(self.wi(self.norm2(x))))
        return x, present


class EarlyExitDecoder(nn.Module):
    def __init__(self, vocab_size=8192, dim=512, heads=8, hidden=1024, layers=8, max_new_tokens=4, threshold=0.5):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, dim)
        self.positions = nn.Embedding(64, dim)
        self.blocks = nn.ModuleList(Block(dim, heads, hidden) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, vocab_size, bias=False)
        self.max_new_tokens = max_new_tokens
        self.confidence_threshold = threshold
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, 0, 1 / math.sqrt(m.in_features))

    def logits(self, x):
        return self.lm_head(self.norm(x[:, -1]))

    def prefill(self, tokens):
        length = tokens.size(1)
        x = self.embedding(tokens) + self.positions(torch.arange(length, device=tokens.device))
        mask = torch.full((length, length), float("-inf"), device=tokens.device).triu(1)
        cache = []
        for block in self.blocks:
            x, present = block(x, mask=mask)
            cache.append(present)
        return self.logits(x).argmax(-1), cache

    def step(self, token, position, cache):
        """One token through as many layers as it needs: (the next token, layers used)."""
        x = self.embedding(token[:, None]) + self.positions.weight[position]
        for i, block in enumerate(self.blocks):
            x, cache[i] = block(x, cache[i])
            logits = self.logits(x)
            confidence = F.softmax(logits, dim=-1).max()
            if confidence >= self.confidence_threshold:
                for j in range(i + 1, len(self.blocks)):
                    cache[j] = self.blocks[j].keys_values(x, cache[j])
                return logits.argmax(-1), i + 1
        return logits.argmax(-1), len(self.blocks)

    def forward(self, tokens):
        """(the tokens generated, layers used for each) after a prompt [1, length]."""
        token, cache = self.prefill(tokens)
        generated, used = [token], []
        for n in range(self.max_new_tokens - 1):
            if token.item() == EOS:
                break
            token, layers = self.step(token, tokens.size(1) + n, cache)
            generated.append(token)
            used.append(layers)
        return torch.stack(generated, dim=1), used

    def exit_features(self, tokens):
        """What the last layer reads after every layer of every token, if none exits."""
        token, cache = self.prefill(tokens)
        features = []
        for n in range(self.max_new_tokens - 1):
            x = self.embedding(token[:, None]) + self.positions.weight[tokens.size(1) + n]
            for i, block in enumerate(self.blocks):
                x, cache[i] = block(x, cache[i])
                features.append(self.norm(x[:, -1]))
            token = self.logits(x).argmax(-1)
        return torch.cat(features)


def prompt(seed):
    return (data.sentence(seed, 8, 8192),)


@model("early exit", prompt, "for each of up to four tokens, after which of eight layers it leaves")
def early_exit_decoder():
    net = seeded(EarlyExitDecoder)
    net.lm_head.weight.data.mul_(constants("early_exit_decoder").get("scale", 10.0))
    return net
