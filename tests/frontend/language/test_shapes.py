# SPDX-License-Identifier: Apache-2.0
"""Shapes that depend on data, run-time integers as index and bound, dimensions declared dynamic; engines' layers.

PYTEST_DONT_REWRITE (the machine reads these programs as they are written).
"""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.frontend.support.compare import copy_value, differences
from tests.frontend.support.harness import Cases, I, T, factory

case = Cases()
POS, NEG, MIX = T(1.0, 2.0, 3.0, 0.5), T(-1.0, -2.0, -3.0, -0.5), T(-4.0, 1.0, 2.0, -1.5)
GRID = torch.arange(12.0).view(3, 4) - 5
V = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),)]


def rand(*shape, seed=0, scale=1.0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * scale


@case(MIX, POS, NEG, values=True)
def boolean_mask(x):
    return x[x > 0] * 2


@case(MIX, POS, NEG, values=True)
def nonzero_and_where(x):
    (index,) = torch.where(x > 0)
    pairs = torch.nonzero(x > 0)
    return index, pairs, x[index].sum(), torch.nonzero(x > 1, as_tuple=True)[0].numel()


@case(MIX, POS, NEG)
def masked_shape_across_a_branch(x):
    kept = x[x > 0]
    if kept.numel() > 2:
        y = kept * 2
    else:
        y = torch.cat([kept, x[:1]])
    return y + 1, y.shape[0]


@case(MIX, POS, NEG)
def empty_selection(x):
    kept = x[x > 1.5]
    if kept.numel() == 0:
        return None
    return kept.max()


@case(MIX, POS, NEG)
def dynamic_shape_merges_with_static(x):
    y = x
    if x.sum() > 0:
        y = x[x > 0.75]
    return y.sum(), y * 2, len(y)


@case(MIX, POS, NEG)
def loop_over_a_dynamic_length(x):
    kept = x[x > 0]
    total = 0.0
    for i in range(kept.shape[0]):
        total = total + kept[i].item() * (i + 1)
    return total


@case(MIX, POS, NEG)
def iteration_over_a_dynamic_tensor(x):
    total = torch.zeros(())
    for v in x[x > 0]:
        total = total * 2 + v
    return total


@case(I(0, 2, 2, 1), I(1, 1, 1, 1), I(2, 0, 2, 0), values=True)
def unique_values(n):
    u, inverse, counts = torch.unique(n, return_inverse=True, return_counts=True)
    return u, inverse, counts, u.numel()


@case((GRID, I(0)), (GRID, I(2)), values=True)
def runtime_row_and_slices(m, n):
    k = int(n)
    return m[k], m[:k], m[k:], m[:, k:k + 2], m[k, k], m[-k - 1], m[:k + 1].sum()


@case((GRID, I(1), I(3)), (GRID, I(0), I(2)), values=True)
def slices_with_two_runtime_bounds(m, a, b):
    i, j = a.item(), b.item()
    return m[:, i:j], m[:, i:j].mean(), m.narrow(1, i, 2), m[i:j, ::2]


@case((GRID, I(1)), (GRID, I(2)), values=True)
def runtime_sizes_in_ops(m, n):
    k = int(n)
    return m.repeat(k, 1), m.topk(k, dim=1).values, torch.zeros(k, 4) + m[:1], torch.linspace(0, 1, k + 1)


@case(I(1), I(3), values=True)
def view_by_a_runtime_factor(n):
    x = torch.arange(6.0)
    k = n.item()
    return x.view(k, -1), x.reshape(-1, k).sum(0)


@case((rand(5, 4), I(0, 1, 0, 1, 1)), (rand(5, 4), I(0, 0, 0, 0, 0)), (rand(5, 4), I(1, 1, 1, 1, 1)), values=True)
def group_by_expert(x, expert):
    out = torch.zeros_like(x)
    for e in range(2):
        index = (expert == e).nonzero().flatten()
        out[index] = x[index] * (e + 1) + e
    return out


class Experts(nn.Module):
    """A mixture that runs only the experts that were hit."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(4, 3)
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        weights, chosen = torch.softmax(self.router(x), -1).topk(2)
        out = torch.zeros_like(x)
        mask = F.one_hot(chosen, 3).permute(2, 1, 0)
        for e in torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero():
            slot, row = torch.where(mask[e.item()])
            y = self.experts[e.item()](x[row]) * weights[row, slot, None]
            out.index_add_(0, row, y)
        return out


case(rand(5, 4, scale=3), rand(5, 4, seed=3, scale=5), rand(5, 4, seed=9) * 0 + 1)(Experts)


class SkipEmptyExperts(Experts):
    def forward(self, x):
        chosen = self.router(x).argmax(-1)
        out = torch.zeros_like(x)
        used = []
        for e, expert in enumerate(self.experts):
            rows = chosen == e
            if not rows.any():
                continue
            out[rows] = expert(x[rows])
            used.append(e)
        return out, used


case(rand(5, 4, scale=3), rand(5, 4, seed=3, scale=5), rand(5, 4, seed=9) * 0 + 1)(SkipEmptyExperts)


@case((rand(6, 4).abs().sort(1).values, rand(6)), (rand(6, 4, seed=5).abs().sort(1).values, rand(6, seed=5)))
def non_maximum_suppression(boxes, scores):
    boxes = boxes[:, [0, 1, 2, 3]]
    order = scores.argsort(descending=True)
    keep = []
    while order.numel() > 0:
        i = order[0]
        keep.append(i)
        if order.numel() == 1:
            break
        rest = boxes[order[1:]]
        lo = torch.maximum(rest[:, :2], boxes[i, :2])
        hi = torch.minimum(rest[:, 2:], boxes[i, 2:])
        inter = (hi - lo).clamp(min=0).prod(1)
        area = (rest[:, 2:] - rest[:, :2]).prod(1) + (boxes[i, 2:] - boxes[i, :2]).prod()
        order = order[1:][inter / (area - inter) < 0.3]
    return torch.stack(keep)


@case(MIX, POS, NEG)
def split_by_threshold_and_process(x):
    hi, lo = x[x > 0], x[x <= 0]
    if hi.numel() > lo.numel():
        return hi.flip(0), lo
    return torch.cat([lo, hi]), hi


@case(rand(3, 4), rand(3, 4, seed=2))
def arms_change_rank_and_length(m):
    if m.sum() > 0:
        y = m.flatten()
    else:
        y = m[:2].sum(0)
    return y.cumsum(0)[-1], y


@case((I(4, 2, 3), rand(3, 4)), (I(1, 1, 4), rand(3, 4)), values=True)
def padding_masks_from_lengths(lengths, x):
    longest = int(lengths.max())
    mask = torch.arange(longest)[None] < lengths[:, None]
    return x[:, :longest].masked_fill(~mask, 0.0), mask.sum()


# ------------------------------------------------------------------------------------------------ dynamic dims
def dynamic(make, inputs, dims):
    """Compiles with declared dynamic dimensions and compares on inputs of other sizes."""
    import dycl

    program = dycl.compile(make, copy_value(inputs[0]), dynamic_dims=dims)
    for given in inputs:
        with torch.no_grad():
            expected, actual = make(*copy_value(given)), program(*copy_value(given))
        assert not differences(expected, actual), (given, differences(expected, actual))


def batch_gate(x):
    if x.mean() > 0:
        return torch.relu(x) @ torch.ones(4, 2)
    return x[:, :2] - x.shape[0]


def test_batch_dimension():
    dynamic(batch_gate, [(rand(3, 4) + 3,), (rand(5, 4) - 3,), (rand(2, 4) + 3,), (rand(7, 4) - 3,)], {0: {0: "batch"}})


def length_loop(x):
    total = x.new_zeros(4)
    for t in range(x.shape[1]):
        if x[:, t].sum() > 0:
            total = total + x[0, t]
    return total / x.shape[1]


def test_length_dimension():
    dynamic(length_loop, [(rand(2, 3, 4),), (rand(2, 5, 4, seed=1),), (rand(2, 2, 4, seed=2),)], {0: {1: "length"}})


def two_lengths(x, y):
    if x.shape[0] > y.shape[0]:
        return x[: y.shape[0]] + y
    return torch.cat([x, y])


def test_branch_on_a_dynamic_length():
    dynamic(two_lengths, [(rand(5), rand(3)), (rand(2), rand(3)), (rand(4), rand(4))], {0: {0: "n"}, 1: {0: "m"}})


def test_a_different_static_size_is_an_error():
    import dycl

    program = dycl.compile(batch_gate, (rand(3, 4),))
    with pytest.raises(Exception, match="(?i)shape|size|dim"):
        program(rand(5, 4))


def scaled_by(x, k, mode="a"):
    if x.sum() > 0:
        return x * k
    return x if mode == "a" else -x


def test_a_different_python_value_is_an_error():
    import dycl

    program = dycl.compile(scaled_by, (POS, 2), {"mode": "a"})
    assert not differences(scaled_by(POS, 2), program(POS, 2, mode="a"))
    with pytest.raises(Exception, match="2|k"):
        program(POS, 3, mode="a")
    with pytest.raises(Exception, match="mode|'a'"):
        program(POS, 2, mode="b")


# ------------------------------------------------------------------------------------------------ layers
class Gated(nn.Module):
    """A layer kept whole for the engines, inside a branch on its own output."""

    def __init__(self, layer, reduce=lambda y: y):
        super().__init__()
        self.layer, self.reduce, self.limit = layer, reduce, 0.0

    def forward(self, x):
        y = self.reduce(self.layer(x))
        if y.flatten()[0] > self.limit:
            return y * 2
        return y - 1


def layer(name, build, *inputs, **options):
    def make():
        model = build().eval()
        with torch.no_grad():  # halfway between what the inputs give, so that both arms are taken
            firsts = sorted(model.reduce(model.layer(x)).flatten()[0].item() for x in inputs)
        model.limit = (firsts[1] + firsts[2]) / 2
        return model

    make.__name__ = name
    case(*inputs, **{"rtol": 1e-4, "atol": 1e-5, **options})(factory(make))


SEQ = [rand(2, 5, 4, seed=s, scale=2) for s in range(4)]
IMG = [rand(1, 3, 8, 8, seed=s, scale=2) + (1 if s % 2 else -1) for s in range(4)]
layer("linear", lambda: Gated(nn.Linear(4, 3)), *SEQ)
layer("lstm", lambda: Gated(nn.LSTM(4, 6, batch_first=True), lambda y: y[0]), *SEQ)
layer("lstm_two_layers_both_ways", lambda: Gated(nn.LSTM(4, 3, 2, bidirectional=True), lambda y: y[1][0]), *SEQ)
layer("gru", lambda: Gated(nn.GRU(4, 6, batch_first=True), lambda y: y[0]), *SEQ)
layer("rnn", lambda: Gated(nn.RNN(4, 6), lambda y: y[0]), *SEQ)
layer("attention", lambda: Gated(SelfAttention()), *SEQ)
layer("encoder_layer", lambda: Gated(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)), *SEQ)
layer("encoder", lambda: Gated(nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2,
                                                     enable_nested_tensor=False)), *SEQ)
layer("layer_norm", lambda: Gated(nn.LayerNorm(4)), *SEQ)
layer("rms_norm", lambda: Gated(nn.RMSNorm(4)), *SEQ)
layer("group_norm", lambda: Gated(nn.GroupNorm(1, 3)), *IMG)
layer("batch_norm", lambda: Gated(nn.BatchNorm2d(3)), *IMG)
layer("conv", lambda: Gated(nn.Conv2d(3, 4, 3, padding=1)), *IMG)
layer("conv_stack",
      lambda: Gated(nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                                  nn.AdaptiveAvgPool2d(1), nn.Flatten())), *IMG)
layer("conv_transpose", lambda: Gated(nn.ConvTranspose2d(3, 2, 2, stride=2)), *IMG)
layer("gelu_silu", lambda: Gated(nn.Sequential(nn.GELU(), nn.SiLU(), nn.Hardswish())), *SEQ)
layer("upsample", lambda: Gated(nn.Upsample(scale_factor=2, mode="bilinear")), *IMG)
layer("dropout_in_eval", lambda: Gated(nn.Dropout(0.5)), *SEQ)
layer("pixel_shuffle", lambda: Gated(nn.PixelUnshuffle(2)), *IMG)
layer("embedding", lambda: Gated(nn.Embedding(9, 4), lambda y: y[0]), I(0, 3), I(8, 1), I(4, 4), I(2, 2))
layer("embedding_bag", lambda: Gated(nn.EmbeddingBag(9, 4)),
      *[torch.tensor([[a, b]]) for a, b in ((0, 3), (8, 1), (4, 4), (2, 2))])


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x):
        y, weights = self.inner(x, x, x, need_weights=True)
        return y


@case(*SEQ)
def scaled_dot_product_attention(x):
    y = F.scaled_dot_product_attention(x, x, x, is_causal=True)
    if y.mean() > 0:
        return F.scaled_dot_product_attention(y, x, x, attn_mask=torch.ones(5, 5, dtype=torch.bool).tril())
    return y


class PackedLstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 3, batch_first=True)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        out, _ = self.rnn(packed)
        y, n = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
        return y, n


case((SEQ[0], I(5, 3)), (SEQ[1], I(2, 4)), values=True, may_refuse="", rtol=1e-4, atol=1e-5)(PackedLstm)


@case(POS, NEG)
def sine_position_table(x):
    table = torch.tensor([math.sin(i) for i in range(4)])
    if x.sum() > 0:
        return x + table
    return x - table


@case(*V)
def shapes_by_data(x):
    y, z = x[x > 0], x[x < 0]
    if y.numel() == 0:
        return x.sum(), z
    out = torch.zeros(3)
    at = (x > 0).nonzero(as_tuple=True)[0]
    out[at] = x[at] * 2
    while y.shape[0] > 1:
        y = y[1:] + y[:-1]
    return y, torch.cat([z, y]), out, len(at), y[:, None] * z[None, :]


@case((torch.ones(4, 3),), (-torch.ones(6, 3),), (torch.ones(1, 3),), dynamic_dims={"x": {0: "N"}})
def extents_of_run_time(x):
    h, n = torch.zeros(3), x.shape[0] // 2
    for row in x:
        h = torch.tanh(h + row)
    if n > 2:
        return h, n
    return h, x[:n].sum(0) - x[n:].sum(0), n / 3, -n // 3, tuple(x.shape), x.size()


@case((torch.zeros(0, 3),), (torch.zeros(0, 3),), paths=1)
def nothing(x):
    return (x.sum(0), x.sum(1), x @ torch.ones(3, 2), x.softmax(1), x.amax(1), x.mean(), x.any(), x.all(),
            torch.cat([x, x]))


@case((T(3),), (T(-2),), paths=1)
def without_dimensions(x):
    return (x.item(), x.max(), x.argmax(), x[None], x.view(1), x.expand(2), x.sort()[0], x.cumsum(0), x.softmax(0),
            x[...], x.flatten())


test_shapes = case.test()
