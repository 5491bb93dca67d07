# SPDX-License-Identifier: Apache-2.0
"""The Recorder: recorded programs, run with real torch, do what eager execution does."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from dycl.frontend.diagnostics import CaptureRefusal
from dycl.frontend.graph.program import AtenNode, HostNode
from tests.frontend.support.recording import Recorded, check, same

torch.manual_seed(0)
X = torch.randn(4, 6)
Y = torch.randn(4, 6)
I = torch.randint(0, 4, (5,))


def _inplace_on_row(x):
    y = x + 1
    y[1].mul_(3)
    y[:, 2] = 0.5
    return y, y.sum()


def _view_sees_later_write(x):
    y = x.clone()
    v = y.view(-1)[3:9]
    y.add_(1)
    v.neg_()
    return y, v


def _transpose_write(x):
    y = x * 2
    y.t()[2].copy_(torch.arange(4.0))
    y.permute(1, 0)[0:2].add_(5)
    return y


def _chunks(x):
    a, b, c = x.clone().chunk(3, dim=1)
    a.add_(b)
    b.mul_(c)
    return torch.cat([a, b, c], 1)


def _unbind(x):
    y = x.clone()
    for i, row in enumerate(y.unbind(0)):
        row.add_(i)
    return y


def _masked(x):
    y = x.clone()
    y[y > 0] = -1.0
    y.masked_fill_(y < -1, 7.0)
    return y


def _index_put(x, i):
    y = x.clone()
    y[i] = 1.5
    y.index_add_(0, i, torch.ones(5, 6))
    y.index_fill_(1, torch.tensor([0, 2]), 3.0)
    return y, y[i], y[:, [1, 1, 0]]


def _scatter(x, i):
    y = torch.zeros(4, 6)
    y.scatter_(1, i.view(1, 5), 2.0)
    y.scatter_add_(0, torch.tensor([[0, 1, 2, 3, 0, 1]]), x[:1])
    return y


def _out(x, y):
    z = torch.empty(4, 6)
    torch.add(x, y, out=z)
    torch.mul(z, 2, out=z[0:4])
    w = torch.zeros(2, 6)
    torch.sub(x[:2], y[:2], out=w)
    return z, w


def _diagonal(x):
    y = x[:, :4].clone()
    y.diagonal().fill_(9)
    y.diagonal(1).zero_()
    return y


def _squeeze(x):
    y = x.clone().unsqueeze(0)
    y.squeeze(0)[1] = 4
    y.unsqueeze(-1)[0, 2, 3] = 8
    return y, y.squeeze()


def _casts(x):
    i = torch.zeros(4, 6, dtype=torch.int64)
    i.copy_(x * 10)
    b = torch.zeros(4, 6, dtype=torch.bool)
    b.copy_(x)
    f = x.clone()
    f.gt_(0)
    return i, b, f


def _writes_input(x, y):
    x.add_(y)
    x[0] = 1
    y.t().mul_(2)
    return x + y


def _through_detach(x):
    y = x.clone()
    y.detach().add_(1)
    y.data.mul_(2)
    return y


def _expand_read(x):
    return x[0].expand(3, 6) + x[:1].expand_as(x)[1:]


def _clamps(x):
    return x.clone().clamp_(-0.5, 0.5), x.clone().relu_(), x.clone().clamp_min_(0.1), x.clone().sigmoid_()


def _foreach(x, y):
    a, b = x.clone(), y.clone()
    torch._foreach_add_([a, b], 1.0)
    return a, b


def _setitem_broadcast(x):
    y = x.clone()
    y[1:3] = torch.arange(6.0)
    y[..., 0] = y[..., 1]
    y[None, 0] = 2.0
    y[0] = y[1][None]
    return y


def _iadd_slices(x):
    y = x.clone()
    y[::2] += 1
    y[1:, 1:3] *= y[1:, 3:5]
    y[-1] -= y[0]
    return y


def _flag_mask(x):
    y = x.clone()
    flag = x.sum() > 0
    y[flag] = 3.0
    y[0, flag] = 2.0
    y[1, 1][~flag] = 5.0
    return y, y[flag].sum(), tuple(y[1][flag].shape[1:])


def _real_imag(x):
    return torch.stack([x, x * 2], -1)[..., 1]


PROGRAMS_1 = [_inplace_on_row, _view_sees_later_write, _transpose_write, _chunks, _unbind, _masked, _diagonal, _squeeze,
              _casts, _through_detach, _expand_read, _clamps, _setitem_broadcast, _iadd_slices, _real_imag, _flag_mask]


@pytest.mark.parametrize("program", PROGRAMS_1)
def test_one_input(program):
    check(program, X)


@pytest.mark.parametrize("program", [_out, _writes_input, _foreach])
def test_two_inputs(program):
    check(program, X, Y)


@pytest.mark.parametrize("program", [_index_put, _scatter])
def test_indices(program):
    check(program, X, I)


FUNCTIONAL = {
    "arithmetic": lambda x: (x * 2 - 1) / (x.abs() + 1) + 3 ** x - (1 - x),
    "matmul": lambda x: x @ x.t() + torch.matmul(x.t(), x).sum(),
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
    "reductions": lambda x: (x.sum(0), x.mean(1, keepdim=True), x.max(), x.max(1), x.argmax(), x.std(), x.var(0)),
    "sorting": lambda x: (x.sort(1), x.topk(2), x.argsort(0), x.cumsum(1), x.flip(0), x.roll(1, 0)),
    "shapes": lambda x: (x.reshape(2, 12), x.flatten(), x.unflatten(1, (2, 3)), x.movedim(0, 1), x.T, x.repeat(1, 2)),
    "indexing": lambda x: (x[1], x[1:, ::2], x[..., None], x[[0, 2]], x[torch.tensor(2)],
                           x[x.sum(1) > -100], x[-1, -2]),
    "where": lambda x: torch.where(x > 0, x, -x) + torch.where(x > 0, 1.0, x),
    "softmax": lambda x: (F.softmax(x, -1), F.log_softmax(x, 0),
                          torch.softmax(x, 1, dtype=torch.float64), x.softmax(1)),
    "activations": lambda x: (F.gelu(x), F.relu(x), F.silu(x), F.elu(x), F.leaky_relu(x), F.hardtanh(x), F.softplus(x)),
    "factories": lambda x: (torch.zeros(3) + x[0, :3], torch.ones_like(x), torch.full((2,), 3.0), torch.arange(6) * x,
                            torch.eye(4) @ x, torch.tensor([1.0, 2.0]), torch.linspace(0, 1, 6) + x, x.new_zeros(2)),
    "dtypes": lambda x: (x.to(torch.float64), x.long(), x.half().float(), (x > 0).int(), x.type(torch.int32), x.bool()),
    "split": lambda x: (x.split(2), x.split([1, 3]), x.chunk(2, 1), x.tensor_split(2), torch.hsplit(x, 2)),
    "norm": lambda x: (x.norm(), x.norm(dim=1), F.normalize(x, dim=1), F.layer_norm(x, (6,)), torch.cdist(x, x)),
    "stack": lambda x: (torch.stack([x, x]), torch.cat([x, x], 1), torch.hstack([x, x]), torch.block_diag(x, x)),
    "pads": lambda x: (F.pad(x, (1, 2)), F.pad(x, (1, 1), value=3.0), F.pad(x[None], (1, 1), mode="reflect")),
    "triangles": lambda x: (torch.tril(x), torch.triu(x, 1), x.masked_fill(torch.ones(4, 6).tril() == 0, -1e9)),
    "unsafe_views": lambda x: (x.t().reshape(-1), x.t().contiguous().view(-1), x.t().flatten()),
    "outer": lambda x: (torch.outer(x[0], x[1]), torch.dot(x[0], x[1]), torch.mv(x, x[0]), x[0] @ x[1]),
    "len_and_iter": lambda x: [row * i for i, row in enumerate(x.unbind(0))],
    "complex_free": lambda x: (x.floor(), x.round(), x.trunc(), x.frac(), x % 2, x // 2, torch.fmod(x, 2), x.sign()),
}


@pytest.mark.parametrize("name", FUNCTIONAL)
def test_functional(name):
    check(FUNCTIONAL[name], X)


def _modules():
    torch.manual_seed(1)
    nn = torch.nn
    return {
        "linear": (nn.Linear(6, 3), (X,)),
        "conv1d": (nn.Conv1d(3, 4, 3, padding=1), (torch.randn(2, 3, 8),)),
        "conv2d": (nn.Conv2d(3, 4, 3, stride=2, groups=1), (torch.randn(2, 3, 8, 8),)),
        "conv2d_same": (nn.Conv2d(3, 4, 3, padding="same"), (torch.randn(2, 3, 8, 8),)),
        "conv_transpose2d": (nn.ConvTranspose2d(3, 4, 3), (torch.randn(2, 3, 8, 8),)),
        "batch_norm": (nn.BatchNorm2d(3).eval(), (torch.randn(2, 3, 4, 4),)),
        "batch_stats": (nn.BatchNorm2d(3, track_running_stats=False), (torch.randn(2, 3, 4, 4),)),
        "instance_norm": (nn.InstanceNorm2d(3), (torch.randn(2, 3, 4, 4),)),
        "group_norm": (nn.GroupNorm(2, 4), (torch.randn(2, 4, 5),)),
        "layer_norm": (nn.LayerNorm(6), (X,)),
        "rms_norm": (nn.RMSNorm(6), (X,)),
        "lstm": (nn.LSTM(6, 5, 2, batch_first=True, bidirectional=True), (torch.randn(2, 3, 6),)),
        "gru": (nn.GRU(6, 5), (torch.randn(3, 2, 6),)),
        "rnn": (nn.RNN(6, 5, nonlinearity="relu"), (torch.randn(3, 2, 6),)),
        "lstm_cell": (nn.LSTMCell(6, 5), (X,)),
        "gru_cell": (nn.GRUCell(6, 5), (X,)),
        "attention": (nn.MultiheadAttention(6, 2, batch_first=True).eval(), (torch.randn(2, 3, 6),) * 3),
        "embedding": (nn.Embedding(7, 3, padding_idx=0), (I,)),
        "embedding_bag": (nn.EmbeddingBag(7, 3, mode="mean"), (I.view(1, 5),)),
        "embedding_bag_sum": (nn.EmbeddingBag(7, 3, mode="sum"), (I.view(1, 5),)),
        "embedding_bag_offsets": (lambda i, m=nn.EmbeddingBag(7, 3, mode="max"): m(i[:4], torch.tensor([0, 2])), (I,)),
        "embedding_bag_ragged": (lambda i, m=nn.EmbeddingBag(7, 3): m(i, torch.tensor([0, 1])), (I,)),
        "pools": (nn.Sequential(nn.MaxPool2d(2), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1)), (torch.randn(2, 3, 8, 8),)),
        "adaptive": (nn.AdaptiveMaxPool1d(2), (torch.randn(2, 3, 8),)),
        "upsample": (nn.Upsample(scale_factor=2, mode="bilinear"), (torch.randn(1, 2, 3, 3),)),
        "nearest": (nn.Upsample(size=(5, 4)), (torch.randn(1, 2, 3, 3),)),
        "prelu": (nn.PReLU(), (X,)),
        "dropout": (nn.Dropout().eval(), (X,)),
        "bilinear": (nn.Bilinear(6, 6, 2), (X, Y)),
        "pixel_shuffle": (nn.PixelShuffle(2), (torch.randn(1, 8, 3, 3),)),
        "cosine": (nn.CosineSimilarity(), (X, Y)),
        "cross_entropy": (nn.CrossEntropyLoss(), (torch.randn(5, 4), I)),
        "unfold": (nn.Unfold(2), (torch.randn(1, 2, 4, 4),)),
        "encoder_layer": (nn.TransformerEncoderLayer(6, 2, 8, batch_first=True).eval(), (torch.randn(2, 3, 6),)),
    }


@pytest.mark.parametrize("name", _modules())
def test_modules(name):
    module, inputs = _modules()[name]
    torch.backends.mha.set_fastpath_enabled(False)
    check(module, *inputs)


WHOLE = {
    "linear": ("linear.default", lambda x: F.linear(x, x)),
    "matmul": ("matmul.default", lambda x: x @ x.t()),
    "layer_norm": ("layer_norm.default", lambda x: F.layer_norm(x, (6,))),
    "conv": ("conv1d.default", lambda x: F.conv1d(x[None], x[:, :1, None].expand(4, 4, 1), padding=1)),
    "sdpa": ("scaled_dot_product_attention.default",
             lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None])),
    "softmax": ("softmax.int", lambda x: F.softmax(x, dim=-1)),
    "lstm": ("lstm.input", torch.nn.LSTM(6, 5)),
    "gru": ("gru.input", torch.nn.GRU(6, 5)),
    "group_norm": ("group_norm.default", lambda x: F.group_norm(x[None], 2)),
    "pool": ("adaptive_avg_pool1d.default", lambda x: F.adaptive_avg_pool1d(x, 2)),
    "gelu": ("gelu.default", F.gelu),
    "embedding": ("embedding.default", lambda x: F.embedding(torch.tensor([1, 2]), x)),
}


@pytest.mark.parametrize("name", WHOLE)
def test_kept_whole(name):
    wanted, program = WHOLE[name]
    assert wanted in check(program, X).nodes


# -- refusals ------------------------------------------------------------------------------------------------

REFUSED = {
    "unsqueeze_": lambda x: x.unsqueeze_(0),
    "t_": lambda x: x.t_(),
    "resize_": lambda x: x.resize_(2),
    "set_": lambda x: x.set_(x + 1),
    "native_dropout": lambda x: torch.native_dropout(x, 0.5, True),
    "batch_norm": lambda x: torch.batch_norm(x, None, None, torch.zeros(6), torch.ones(6), True, 0.1, 1e-5, False),
    "out_shape": lambda x: torch.add(x, 1, out=torch.empty(0)),
    "unfold_write": lambda x: x.clone().unfold(0, 2, 1).add_(1),
    "dtype_view_write": lambda x: x.clone().view(torch.int32).add_(1),
    "as_strided_write": lambda x: x.clone().as_strided((2, 2), (1, 1)).add_(1),
    "sparse": lambda x: x.to_sparse(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    with pytest.raises(CaptureRefusal) as refusal:
        Recorded(REFUSED[name], [X])
    assert refusal.value.message


EAGER_ERRORS = {
    "int_add_float": lambda x: torch.zeros(3, dtype=torch.long).add_(1.5),
    "shape": lambda x: x + torch.zeros(5),
    "item": lambda x: x.item(),
    "bool": lambda x: bool(x),
    "index": lambda x: x[9],
    "matmul": lambda x: x @ x,
    "view": lambda x: x.t().view(-1),
    "out_dtype": lambda x: torch.add(x, 1, out=torch.zeros(4, 6, dtype=torch.long)),
}


@pytest.mark.parametrize("name", EAGER_ERRORS)
def test_errors_of_eager_torch_are_the_users(name):
    with pytest.raises(Exception) as expected:
        EAGER_ERRORS[name](X.clone())
    with pytest.raises(type(expected.value)):
        Recorded(EAGER_ERRORS[name], [X])


# -- real tensors that share memory ------------------------------------------------------------------------------

SHARED = {
    "same": (lambda b: b.detach(), lambda v: v),
    "row": (lambda b: b[1], lambda v: v),
    "slice": (lambda b: b[1:3, ::2], lambda v: v),
    "transpose": (lambda b: b.t(), lambda v: v),
    "flat": (lambda b: b.view(-1), lambda v: v),
    "piece": (lambda b: b.view(-1)[6:18].view(3, 4), lambda v: v),
    "permuted_slice": (lambda b: b[:, 1:4].t()[None], lambda v: v),
    "column": (lambda b: b[:, 2], lambda v: v),
}


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("view_first", [True, False])
def test_real_tensors_that_share_memory(name, view_first):
    def state():
        buffer = X.clone()
        return buffer, SHARED[name][0](buffer)

    def program(buffer, view, x):
        first = (view + 0).sum() if view_first else buffer.sum()
        buffer.add_(x)
        view.mul_(2)
        return first, buffer + 0, view + 0

    buffer, view = state()
    recorded = Recorded(lambda x: program(buffer, view, x), [Y])
    assert torch.equal(buffer, X)
    got, _ = recorded.run([Y])
    same(got, program(*state(), Y))
    assert len(recorded.recorder.real.written()) == 1


def test_random_ops_draw_from_the_host():
    recorded = Recorded(lambda x: (torch.rand(2, 3), torch.randn(4), torch.randint(2, 5, (3,)), torch.rand_like(x),
                                   torch.empty(50).uniform_(2, 3), torch.empty(3).normal_(1, 0.0),
                                   torch.bernoulli(torch.ones(3)), torch.empty(4).bernoulli_(0.0),
                                   torch.empty(3).exponential_()), [X])
    got, _ = recorded.run([X])
    assert [tuple(t.shape) for t in got] == [(2, 3), (4,), (3,), (4, 6), (50,), (3,), (3,), (4,), (3,)]
    assert got[4].min() >= 2 and got[4].max() < 3 and torch.equal(got[5], torch.ones(3))
    assert torch.equal(got[6], torch.ones(3)) and torch.equal(got[7], torch.zeros(4)) and (got[2] >= 2).all()
    names = [n.op for n in recorded.recorder.block.nodes if isinstance(n, HostNode) and n.op.startswith("rand.")]
    assert len(names) == 9
    assert all("rand" not in str(n.target) for n in recorded.recorder.block.nodes if isinstance(n, AtenNode))
