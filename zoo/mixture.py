# SPDX-License-Identifier: Apache-2.0
"""A sparsely gated mixture of experts (Shazeer et al.: "Outrageously Large Neural Networks", ICLR 2017), as the
feed-forward layer of a small transformer encoder: each token goes to the best two of eight experts;
an expert nobody chose does not run.
"""

from __future__ import annotations

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from zoo import data
from zoo.registry import model
from zoo.weights import seeded


class Expert(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.w1 = nn.Linear(dim, hidden)
        self.w2 = nn.Linear(hidden, dim)

    def forward(self, x):
        return self.w2(F.gelu(self.w1(x)))


class SparseMoE(nn.Module):
    def __init__(self, dim, hidden, num_experts, top_k):
        super().__init__()
        self.num_experts = num_experts
        self.top_k = top_k
        self.gate = nn.Linear(dim, num_experts, bias=False)
        self.experts = nn.ModuleList(Expert(dim, hidden) for _ in range(num_experts))
        self.load = None  # how many tokens each expert got, kept for inspection

    def forward(self, x):
        batch, length, dim = x.shape
        x = x.view(-1, dim)
        weights, selected = torch.topk(self.gate(x), self.top_k, dim=-1)
        weights = F.softmax(weights, dim=1)
        self.load = torch.bincount(selected.flatten(), minlength=self.num_experts)

        results = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            token_idx, nth_expert = torch.where(selected == i)
            if token_idx.numel() == 0:
                continue
            results[token_idx] += weights[token_idx, nth_expert, None] * expert(x[token_idx])
        return results.view(batch, length, dim)


class Layer(nn.Module):
    def __init__(self, dim, heads, hidden, num_experts, top_k):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.moe = SparseMoE(dim, hidden, num_experts, top_k)

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.moe(self.norm2(x))


class MoETransformer(nn.Module):
    def __init__(self, vocab_size=8000, dim=512, heads=8, hidden=1024, layers=2, num_experts=8, top_k=2, classes=10):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, dim)
        self.layers = nn.ModuleList(Layer(dim, heads, hidden, num_experts, top_k) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, 0, 1 / math.sqrt(m.in_features))

    def forward(self, tokens):
        """(logits of the sequence, tokens per expert and layer)."""
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        loads = [layer.moe.load for layer in self.layers]
        return self.head(self.norm(x).mean(1)), torch.stack(loads)


def tokens(seed):
    return (data.sentence(seed, 6, 8000),)


@model("mixture of experts", tokens, "which of eight experts run, with which tokens, in each of two layers")
def mixture_of_experts():
    return seeded(MoETransformer)
