# SPDX-License-Identifier: Apache-2.0
"""A binary tree LSTM (Tai, Socher, Manning: "Improved Semantic Representations From Tree-Structured Long Short-Term
Memory Networks", ACL 2015) for sentiment: recursion over a tree of nested tuples whose leaves are word numbers. Words
are vectors of 300, states of 150. Trees come padded to one nesting; a leaf of 0 is no word,
and a subtree without words is not computed.
"""

from __future__ import annotations

import torch
import torch.nn as nn

from zoo import data
from zoo.registry import model
from zoo.weights import seeded


class BinaryTreeLSTM(nn.Module):
    def __init__(self, vocab_size=21701, in_dim=300, mem_dim=150, num_classes=5):
        super().__init__()
        self.mem_dim = mem_dim
        self.emb = nn.Embedding(vocab_size, in_dim, padding_idx=0)
        self.cx = nn.Linear(in_dim, mem_dim)
        self.ox = nn.Linear(in_dim, mem_dim)
        self.ilh, self.irh = nn.Linear(mem_dim, mem_dim), nn.Linear(mem_dim, mem_dim)
        self.lflh, self.lfrh = nn.Linear(mem_dim, mem_dim), nn.Linear(mem_dim, mem_dim)
        self.rflh, self.rfrh = nn.Linear(mem_dim, mem_dim), nn.Linear(mem_dim, mem_dim)
        self.ulh, self.urh = nn.Linear(mem_dim, mem_dim), nn.Linear(mem_dim, mem_dim)
        self.output = nn.Linear(mem_dim, num_classes)

    def leaf(self, word):
        x = self.emb(word)
        c = self.cx(x)
        o = torch.sigmoid(self.ox(x))
        return c, o * torch.tanh(c)

    def compose(self, lc, lh, rc, rh):
        i = torch.sigmoid(self.ilh(lh) + self.irh(rh))
        lf = torch.sigmoid(self.lflh(lh) + self.lfrh(rh))
        rf = torch.sigmoid(self.rflh(lh) + self.rfrh(rh))
        update = torch.tanh(self.ulh(lh) + self.urh(rh))
        c = i * update + lf * lc + rf * rc
        return c, torch.tanh(c)

    def node(self, tree):
        """(c, h) of a subtree, or None if no word is in it."""
        if isinstance(tree, tuple):
            left, right = (self.node(child) for child in tree)
            if left is None:
                return right
            if right is None:
                return left
            return self.compose(*left, *right)
        if tree.item() == 0:
            return None
        return self.leaf(tree)

    def forward(self, tree):
        """The log probabilities of the five sentiments."""
        state = self.node(tree)
        if state is None:
            raise ValueError("a tree without words")
        return torch.log_softmax(self.output(state[1]), dim=1)


def tree(seed, depth=3):
    g = data.generator(seed)
    words = data.sentence(seed, 2**depth, 21701, first=1)[0]
    words[torch.rand(len(words), generator=g) < 0.4] = 0
    words[0] = max(1, int(words[0]))

    def grow(low, high):
        if high - low == 1:
            return words[low:high].clone()
        middle = (low + high) // 2
        return (grow(low, middle), grow(middle, high))

    return (grow(0, len(words)),)


@model("recursion", tree, "which leaves of a tree of depth three hold words, and so which nodes are composed")
def tree_lstm():
    return seeded(BinaryTreeLSTM)
