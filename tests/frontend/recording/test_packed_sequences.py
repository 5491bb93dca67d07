# SPDX-License-Identifier: Apache-2.0
"""Packed sequences with lengths known only at run time: recurrent layers over them, and back to padded ones."""

import pytest
import torch
from torch import nn
from torch.nn.utils import rnn

import dycl
from tests.frontend.support.harness import check


class Encoder(nn.Module):
    """As published: pack, run, pad. The lengths come with the input."""

    def __init__(self, layer, **options):
        super().__init__()
        self.rnn = layer(6, 5, **options)
        self.batch_first = options.get("batch_first", False)

    def forward(self, x, lengths):
        packed = rnn.pack_padded_sequence(x, lengths, batch_first=self.batch_first, enforce_sorted=False)
        y, state = self.rnn(packed)
        y, n = rnn.pad_packed_sequence(y, batch_first=self.batch_first, padding_value=-1.0)
        return y, state, n


def lengths_of(seed, least=1):
    return torch.randint(least, 8, (4,), generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("layer, options", [
    (nn.LSTM, {}), (nn.LSTM, {"batch_first": True, "bidirectional": True, "num_layers": 2}),
    (nn.GRU, {"batch_first": True}), (nn.GRU, {"bidirectional": True}), (nn.RNN, {"num_layers": 2}),
    (nn.RNN, {"nonlinearity": "relu", "bias": False}),
])
def test_encoders(layer, options):
    torch.manual_seed(0)
    model = Encoder(layer, **options).eval()
    shape = (4, 7, 6) if options.get("batch_first") else (7, 4, 6)
    program = dycl.compile(model, (torch.randn(shape), lengths_of(0)))
    for seed in range(12):
        x, lengths = torch.randn(shape), lengths_of(seed)
        with torch.no_grad():
            torch.testing.assert_close(program(x, lengths), model(x, lengths), rtol=1e-4, atol=1e-5)


class Between(nn.Module):
    """Ops on the packed data, two layers one after the other, a given state, a decision on what came out."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LSTM(6, 4), nn.GRU(4, 4)
        self.linear = nn.Linear(4, 4)

    def forward(self, x, lengths):
        packed = rnn.pack_padded_sequence(x, lengths)
        y, (h, c) = self.first(packed)
        y = rnn.PackedSequence(torch.relu(self.linear(y.data)), y.batch_sizes)
        z, last = self.second(y, h)
        padded, n = rnn.pad_packed_sequence(z, total_length=9)
        if last.sum() > 0:
            return padded, n, z.data.sum(0), z.batch_sizes
        return padded * 2, n, z.data.mean(0), y.batch_sizes


def test_layers_one_after_the_other():
    torch.manual_seed(0)
    model = Between().eval()
    sort = lambda n: n.sort(descending=True).values
    program = dycl.compile(model, (torch.randn(7, 4, 6), sort(lengths_of(0))))
    for seed in range(12):
        x, lengths = torch.randn(7, 4, 6), sort(lengths_of(seed))
        with torch.no_grad():
            torch.testing.assert_close(program(x, lengths), model(x, lengths), rtol=1e-4, atol=1e-5)
    for wrong in ([3, 5, 2, 1], [3, 2, 1, 0], [8, 2, 1, 1]):
        with pytest.raises(RuntimeError):
            model(torch.randn(7, 4, 6), torch.tensor(wrong))
        with pytest.raises(RuntimeError):
            program(torch.randn(7, 4, 6), torch.tensor(wrong))


def test_lengths_that_are_known():
    torch.manual_seed(0)
    layer = nn.LSTM(6, 5, batch_first=True).eval()

    def f(x):
        y, (h, _) = layer(rnn.pack_padded_sequence(x, [7, 4, 2], batch_first=True))
        return rnn.pad_packed_sequence(y, batch_first=True)[0], h

    program = dycl.compile(f, (torch.randn(3, 7, 6),))
    x = torch.randn(3, 7, 6)
    with torch.no_grad():
        torch.testing.assert_close(program(x), f(x), rtol=1e-4, atol=1e-5)


def test_sizes_that_are_tensors():
    def f(x):
        n = (x > 0).sum()
        return torch.zeros(2, n) + 1, x.new_ones(n, 2), torch.full((n,), 3.0)

    program = dycl.compile(f, (torch.randn(5),))
    for _ in range(4):
        x = torch.randn(5)
        torch.testing.assert_close(program(x), f(x))


def test_only_the_sequences_that_are_not_empty():
    """As allennlp does: sorted, cut to those with something in them, lengths as a list."""
    torch.manual_seed(0)
    layer = nn.LSTM(6, 5, batch_first=True, bidirectional=True).eval()

    def f(x, mask):
        n = mask[:, 0].sum().item()
        lengths, order = mask.sum(-1).sort(0, descending=True)
        packed = rnn.pack_padded_sequence(x.index_select(0, order)[:n], lengths[:n].tolist(), batch_first=True)
        y, (h, _) = layer(packed)
        return rnn.pad_packed_sequence(y, batch_first=True)[0], h

    program = dycl.compile(f, (torch.randn(4, 7, 6), torch.ones(4, 7).bool()))
    for lengths in ([7, 0, 3, 2], [1, 2, 3, 4], [0, 0, 0, 1], [5, 5, 0, 7]):
        x, mask = torch.randn(4, 7, 6), torch.arange(7)[None] < torch.tensor(lengths)[:, None]
        with torch.no_grad():
            torch.testing.assert_close(program(x, mask), f(x, mask), rtol=1e-4, atol=1e-5)
    none = torch.zeros(4, 7).bool()
    for run in (f, program):
        with pytest.raises(RuntimeError):
            run(torch.randn(4, 7, 6), none)


def test_not_as_many_lengths_as_sequences():
    def f(x, n):
        kept = x[:, :int(n[0])]
        return rnn.pack_padded_sequence(kept, n[n > 1].tolist()).data

    program = dycl.compile(f, (torch.randn(5, 4, 2), torch.tensor([3, 2, 2, 1])))
    x = torch.randn(5, 4, 2)
    torch.testing.assert_close(program(x, torch.tensor([3, 2, 2, 1])), f(x, torch.tensor([3, 2, 2, 1])))
    for run in (f, program):
        with pytest.raises(RuntimeError):
            run(x, torch.tensor([3, 2, 1, 1]))


def packed_by_hand(keys, lengths):
    """Rows without anything are left out, and what is in the packed sequence is computed step by step."""
    there = lengths > 0
    if not there.any():
        return keys[:, 0]
    packed = rnn.pack_padded_sequence(keys[there], lengths[there], batch_first=True, enforce_sorted=False)
    out, begin = torch.zeros(packed.data.size(0), 2), 0
    for size in packed.batch_sizes:
        out[begin:begin + size] = packed.data[begin:begin + size] * (begin + 1)
        begin += size
    packed = rnn.PackedSequence(out, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices)
    return rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1.0, total_length=4)[0]


def test_packed_sequences_made_by_hand_of_batches_of_run_time():
    check(packed_by_hand, [(torch.randn(3, 4, 2), torch.tensor(n))
                           for n in ([4, 2, 1], [1, 0, 3], [0, 0, 0], [0, 4, 4], [2, 3, 3])])
