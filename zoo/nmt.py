# SPDX-License-Identifier: Apache-2.0
"""Neural machine translation with attention (Luong, Pham, Manning: "Effective Approaches to Attention-based Neural
Machine Translation", EMNLP 2015), at the sizes of the IWSLT English-Vietnamese system of Luong and Manning (2015): a
bidirectional LSTM encoder, a two-layer LSTM decoder with input feeding, 512 units.
Greedy decoding until the end of the sentence.
"""

from __future__ import annotations

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from zoo import data
from zoo.registry import model
from zoo.weights import constants, seeded

PAD, UNK, BOS, EOS = 0, 1, 2, 3


class Encoder(nn.Module):
    def __init__(self, vocab_size, size):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, size, padding_idx=PAD)
        self.rnn = nn.LSTM(size, size // 2, num_layers=2, bidirectional=True, batch_first=True)

    def forward(self, src):
        outputs, (h, c) = self.rnn(self.embedding(src))
        # the directions of a layer, side by side, start the decoder's layer
        h = torch.cat([h[0::2], h[1::2]], dim=2)
        c = torch.cat([c[0::2], c[1::2]], dim=2)
        return outputs, (h, c)


class GlobalAttention(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear_in = nn.Linear(size, size, bias=False)
        self.linear_out = nn.Linear(size * 2, size, bias=False)

    def forward(self, query, memory, mask=None):
        scores = torch.bmm(memory, self.linear_in(query).unsqueeze(2)).squeeze(2)
        if mask is not None:
            scores = scores.masked_fill(mask, -float("inf"))
        weights = F.softmax(scores, dim=1)
        context = torch.bmm(weights.unsqueeze(1), memory).squeeze(1)
        return torch.tanh(self.linear_out(torch.cat([context, query], dim=1))), weights


class Decoder(nn.Module):
    def __init__(self, vocab_size, size):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, size, padding_idx=PAD)
        self.cells = nn.ModuleList([nn.LSTMCell(size * 2, size), nn.LSTMCell(size, size)])
        self.attention = GlobalAttention(size)
        self.out = nn.Linear(size, vocab_size)

    def forward(self, word, feed, hidden, memory, mask=None):
        x = torch.cat([self.embedding(word), feed], dim=1)
        h, c = hidden
        new_h, new_c = [], []
        for layer, cell in enumerate(self.cells):
            h_l, c_l = cell(x, (h[layer], c[layer]))
            new_h.append(h_l)
            new_c.append(c_l)
            x = h_l
        feed, weights = self.attention(x, memory, mask)
        return self.out(feed), feed, (torch.stack(new_h), torch.stack(new_c)), weights


class Translator(nn.Module):
    def __init__(self, src_vocab=17191, tgt_vocab=7709, size=512, max_length=40):
        super().__init__()
        self.encoder = Encoder(src_vocab, size)
        self.decoder = Decoder(tgt_vocab, size)
        self.max_length = max_length
        for m in self.modules():
            if isinstance(m, (nn.LSTM, nn.LSTMCell)):
                for p in m.parameters():
                    nn.init.normal_(p, 0, 1.4 / math.sqrt(size))
            elif isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, 0, 1.4 / math.sqrt(m.in_features))
                if m.bias is not None:
                    nn.init.zeros_(m.bias)

    def forward(self, src, device=None):
        """(the words of the translation, the sum of their log probabilities, the attention of the last step)."""
        if device is not None:
            src = src.to(device)
        mask = src.eq(PAD)
        if not mask.any():
            mask = None
        memory, hidden = self.encoder(src)
        feed = memory.new_zeros(src.size(0), memory.size(2))
        word = src.new_full((src.size(0),), BOS)

        decoded, score, weights = [], 0.0, None
        for _ in range(self.max_length):
            logits, feed, hidden, weights = self.decoder(word, feed, hidden, memory, mask)
            log_probs = F.log_softmax(logits, dim=-1)
            best, word = log_probs.topk(1)
            word = word.squeeze(1)
            score += best.item()
            if word.item() == EOS:
                break
            decoded.append(word.item())
        return decoded, score, weights

    def end_margins(self, src):
        margins = []
        memory, hidden = self.encoder(src)
        mask = src.eq(PAD) if src.eq(PAD).any() else None
        feed, word = memory.new_zeros(1, memory.size(2)), torch.tensor([BOS])
        for _ in range(self.max_length):
            logits, feed, hidden, _ = self.decoder(word, feed, hidden, memory, mask)
            own = logits[:, EOS].clone()
            logits[:, EOS] = -math.inf
            best, word = logits.max(1)
            margins.append(own - best)
        return torch.stack(margins, 1)


def source(seed):
    """A sentence of 8 to 24 words, padded to 24."""
    words = data.sentence(seed, 24, 17191)
    length = 8 + seed % 17
    words[:, length:] = PAD
    return (words,)


@model("translation", source, "greedy decoding, at most 40 words, until the end of the sentence")
def nmt():
    net = seeded(Translator)
    net.decoder.out.bias.data[EOS] = constants("nmt").get("end", 0.0)
    return net
