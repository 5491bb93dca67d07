# SPDX-License-Identifier: Apache-2.0
"""The Recorder: recorded programs, run with real torch, do what eager execution does."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from dycl.frontend.diagnostics import CaptureRefusal
from dycl.frontend.graph import AtenNode, Block, HostNode, TensorType, Value
from dycl.frontend.values import NeedDecision, RtBool, RtFloat, RtInt
from recording import Recorded, check, new_recorder, same
from graph_eval import CheckFailed, look, run_block

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
    "indexing": lambda x: (x[1], x[1:, ::2], x[..., None], x[[0, 2]], x[torch.tensor(2)], x[x.sum(1) > -100], x[-1, -2]),
    "where": lambda x: torch.where(x > 0, x, -x) + torch.where(x > 0, 1.0, x),
    "softmax": lambda x: (F.softmax(x, -1), F.log_softmax(x, 0), torch.softmax(x, 1, dtype=torch.float64), x.softmax(1)),
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
    "sdpa": ("scaled_dot_product_attention.default", lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None])),
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


# -- scalars -----------------------------------------------------------------------------------


def test_item_of_input_is_a_runtime_scalar():
    recorded = Recorded(lambda x: (x.sum().item(), (x > 0).any().item(), x.argmax().item()), [X])
    assert [type(s) for s in recorded.result] == [RtFloat, RtBool, RtInt]
    same(recorded.run([X])[0], (X.sum().item(), (X > 0).any().item(), X.argmax().item()))


def test_item_of_constants_is_static():
    def program(x):
        t = torch.tensor(3)
        t += 1
        u = torch.zeros(3)
        u[1] = 5
        return t.item(), bool((u > 1).any()), u.tolist(), torch.arange(4).sum().item(), int(t), float(t)

    assert Recorded(program, [X]).result == (4, True, [0.0, 5.0, 0.0], 6, 4, 4.0)


def test_random_is_never_static():
    recorded = Recorded(lambda x: (torch.rand(3).sum().item(), torch.randint(0, 5, (1,)).item()), [X])
    assert [type(s) for s in recorded.result] == [RtFloat, RtInt]


def test_static_reads_name_the_real_tensor():
    flag, other = torch.tensor(1), torch.tensor(2)
    recorded = Recorded(lambda x: ((flag + 1).item(), x * other), [X])
    assert recorded.result[0] == 2
    assert recorded.recorder.static_reads == {id(flag)}


def test_written_real_is_not_static():
    count = torch.zeros(())

    def program(x):
        count.add_(x.sum())
        return count.item()

    recorded = Recorded(program, [X])
    assert isinstance(recorded.result, RtFloat)
    (root,) = recorded.recorder.written()
    assert root.real is count and count.item() == 0


def test_declared_state_is_an_input():
    count = torch.zeros(())
    recorder = new_recorder()
    handle, value = recorder.declare_state(count, "count")
    x, xv = recorder.input_tensor(X, "x")
    scalar = recorder.call(torch.Tensor.item, (count,))
    assert isinstance(scalar, RtFloat) and value.constant is None
    recorder.call(torch.Tensor.add_, (count, 1))
    env = run_block(recorder.block, {value: torch.tensor(4.0), xv: X})
    assert look(env, scalar.value) == 4.0 and look(env, recorder.value_of(handle)) == 5.0


def test_tolist_and_truth():
    recorded = check(lambda x: (x[:2, :2].tolist(), torch.is_nonzero(x.sum() > 0), x[0, 1].item()), X)
    assert recorded.nodes.count("item") == 6


def test_tolist():
    recorder = new_recorder()
    x, value = recorder.input_tensor(X, "x")
    rows = recorder.call(torch.Tensor.tolist, (x,))
    assert recorder.call(torch.Tensor.tolist, (torch.eye(2),)) == [[1.0, 0.0], [0.0, 1.0]]
    env = run_block(recorder.block, {value: Y})
    assert [[look(env, s.value) for s in row] for row in rows] == Y.tolist()
    with pytest.raises(CaptureRefusal):
        recorder.call(torch.Tensor.tolist, (recorder.call(torch.Tensor.repeat, (x, 1000, 1)),))
    with pytest.raises(CaptureRefusal):
        recorder.call(torch.Tensor.tolist, (recorder.call(torch.nonzero, (x,)),))
    assert recorder.tolist(recorder.call(torch.nonzero, (x,))) is None


def test_equal_and_allclose():
    check(lambda x, y: (torch.equal(x, y), torch.equal(x, x), torch.allclose(x, x + 1e-9), torch.equal(x, y[:2])), X, Y)


def _runtime(recorder, x):
    number = recorder.call(torch.Tensor.item, (recorder.call(torch.sum, (x,)),))
    index = recorder.call(torch.Tensor.item, (recorder.call(torch.argmax, (recorder.call(torch.sum, (x, 1)),)),))
    return number, index


def _with_runtime(body):
    """Runs body(recorder, x, float, int) on the recorder, and the same on eager values."""
    recorder = new_recorder()
    x, value = recorder.input_tensor(X, "x")
    number, index = _runtime(recorder, x)
    result = body(recorder.call, x, number, index)
    outputs = [recorder.value_of(r) for r in result]
    for trial in (X, Y, torch.randn(4, 6)):
        got = run_block(recorder.block, {value: trial})
        eager = body(lambda f, args, kwargs=None: f(*args, **(kwargs or {})), trial.clone(), trial.sum().item(),
                     trial.sum(1).argmax().item())
        same([look(got, v) for v in outputs], eager)
    return recorder


def test_runtime_floats_as_arguments():
    _with_runtime(lambda call, x, f, i: [
        call(torch.mul, (x, f)), call(torch.Tensor.__rsub__, (x, f)), call(torch.clamp, (x, f, None)),
        call(torch.full, ((2,), f)), call(torch.where, (call(torch.gt, (x, 0)), x, f)),
        call(torch.Tensor.masked_fill, (x, call(torch.gt, (x, f)), f)), call(torch.add, (x, x), {"alpha": f}),
        call(torch.tensor, ([f, 1.0],)), call(torch.tensor, ([[i, 2], [3, i]],)), call(torch.tensor, (f,)),
        call(torch.addcmul, (x, x, x), {"value": f}), call(torch.lerp, (x, x, f)),
    ])


def test_runtime_ints_as_indices_and_sizes():
    _with_runtime(lambda call, x, f, i: [
        call(torch.Tensor.__getitem__, (x, i)), call(torch.Tensor.__getitem__, (x, (slice(None), i))),
        call(torch.Tensor.__getitem__, (x, (i, slice(1, 3)))), call(torch.Tensor.__getitem__, (x, slice(i, None))),
        call(torch.Tensor.__getitem__, (x, slice(None, i))), call(torch.zeros, (i, 3)), call(torch.arange, (i,)),
        call(torch.Tensor.__getitem__, (x, (Ellipsis, i))), call(torch.Tensor.narrow, (x, 0, i, 1)),
        call(torch.mul, (x, i)), call(torch.roll, (x, i, 0)), call(torch.Tensor.repeat, (x, i, 1)),
        call(torch.linspace, (0, 1, i)), call(torch.linspace, (-1, f, i)), call(F.pad, (x, (0, i))), call(torch.Tensor.__getitem__, (x, (None, i, None))),
    ])


def test_runtime_index_assignment():
    def body(call, x, f, i):
        y = call(torch.clone, (x,))
        call(torch.Tensor.__setitem__, (y, i, 1.0))
        call(torch.Tensor.__setitem__, (y, (slice(None), i), f))
        call(torch.Tensor.__setitem__, (y, (i, slice(0, 2)), call(torch.Tensor.__getitem__, (x, (0, slice(0, 2))))))
        row = call(torch.Tensor.__getitem__, (y, i))
        call(torch.Tensor.add_, (row, 1))
        return [y, row]

    _with_runtime(body)


def test_tensor_index_is_a_view():
    def program(x, i):
        y = x.clone()
        y[i[0]] = 3
        y[i[1]].add_(2)
        return y, x[i[0], i[1]]

    check(program, X, torch.tensor([1, 2]))


# -- shapes known only at run time ------------------------------------------------------------------

DATA_DEPENDENT = {
    "nonzero": lambda x: (x > 0).nonzero() + 1,
    "mask": lambda x: x[x > 0] * 2,
    "masked_select": lambda x: torch.masked_select(x, x > 0).sum(),
    "where": lambda x: torch.where(x > 0)[0] * 2,
    "unique": lambda x: (x > 0).int().unique(),
    "mask_rows": lambda x: x[x.sum(1) > 0].sum(0),
    "mask_rows_linear": lambda x: F.linear(x[x.sum(1) > 0], torch.ones(2, 6)),
    "mask_then_cat": lambda x: torch.cat([x[x.sum(1) > 0], x]),
    "mask_then_view": lambda x: x[x.sum(1) > 0].t().reshape(3, -1),
    "repeat_interleave": lambda x: x[:, 0].repeat_interleave((x[:, 0] > 0).long() + 1),
    "mask_size": lambda x: x[x > 0].numel(),
    "mask_shape": lambda x: x[x > 0].shape[0],
    "masked_assign_tensor": lambda x: x.clone().masked_scatter_(x > 0, x.flatten()),
    "twice": lambda x: (lambda y: (y.nonzero(), y.add_(1).nonzero()))(x.clone().clamp_(0)),
}


@pytest.mark.parametrize("name", DATA_DEPENDENT)
def test_data_dependent_shapes(name):
    check(DATA_DEPENDENT[name], X)


def test_index_add_over_hit_rows():
    """The mixture-of-experts pattern."""

    def program(x, w):
        out = torch.zeros_like(x)
        for expert in range(2):
            rows = torch.where(w[:, expert] > 0)[0]
            out.index_add_(0, rows, x[rows] * w[rows, expert, None])
        return out

    check(program, X, torch.randn(4, 2))


# -- declared dynamic dims ----------------------------------------------------------------------------

DYNAMIC = {
    "pointwise": lambda x: x * 2 + x.mean(0),
    "linear": lambda x: F.linear(x, torch.ones(2, 6)),
    "reshape": lambda x: x.view(x.shape[0], 2, 3).transpose(1, 2).reshape(x.size(0), -1),
    "flatten": lambda x: x.flatten().view(-1, 3),
    "cat": lambda x: torch.cat([x, x]),
    "slice": lambda x: x[1:] - x[:-1],
    "zeros": lambda x: torch.zeros(x.shape[0], 3) + x[:, :3],
    "arange": lambda x: torch.arange(x.shape[0]) * x.sum(1),
    "size_factor": lambda x: x / x.shape[0],
    "inplace": lambda x: x.clone().add_(1).t().mul_(2),
    "row_write": lambda x: x.clone().index_fill_(0, torch.tensor([0]), 5.0),
    "softmax": lambda x: F.softmax(x @ x.t(), 0),
    "expand": lambda x: x[:1].expand(x.shape[0], 6) + x,
    "iadd_part": lambda x: (lambda y: (y[:, 0].add_(1), y))(x.clone()),
    "where": lambda x: torch.where(x > 0, x, torch.zeros_like(x)),
    "stack": lambda x: torch.stack([x, x], 1).flatten(0, 1),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "tril": lambda x: torch.ones(x.shape[0], x.shape[0]).tril() @ x,
}


@pytest.mark.parametrize("name", DYNAMIC)
def test_dynamic_dims(name):
    others = [(torch.randn(n, 6),) for n in (2, 3, 7)]
    recorded = check(DYNAMIC[name], X, others=others, dynamic=[{0: "N"}])
    assert recorded.recorder.guards == [] or name == "slice", recorded.recorder.guards
    assert recorded.recorder.symbols.declared.keys() == {"N"}


def test_dynamic_dim_of_one():
    for name in ("pointwise", "linear", "reshape", "cat", "zeros", "softmax", "inplace"):
        check(DYNAMIC[name], X, others=[(torch.randn(1, 6),)], dynamic=[{0: "N"}])


def test_types_name_symbols():
    recorded = check(lambda x: (torch.cat([x, x[:2]]), x.flatten(), x.shape[0]), X, dynamic=[{0: "N"}])
    a, b, n = recorded.outputs
    assert a.type.shape == ("N+min(2,N)", 6) and b.type.shape == ("6*N",)
    assert isinstance(recorded.result[2], RtInt)


def test_guard_on_declared_symbol():
    recorded = Recorded(lambda x, y: x + y, [X, Y], [{0: "N"}, {0: "M"}])
    assert recorded.recorder.guards in (["N == M"], ["M == N"])


# -- native decisions -------------------------------------------------------------------------------------


def test_native_truth_asks_for_a_decision():
    recorder = new_recorder()
    x, value = recorder.input_tensor(X, "x")
    keep = recorder.call(torch.Tensor.item, (recorder.call(torch.any, (recorder.call(torch.gt, (x, 0)),)),))
    with pytest.raises(NeedDecision) as asked:
        recorder.call(torch.sum, (x, 0), {"keepdim": keep})
    assert asked.value.condition.value is keep.value
    entry = recorder.block
    for answer in (True, False):
        recorder.block = Block(entry)
        recorder.decisions = [answer]
        assert recorder.call(torch.sum, (x, 0), {"keepdim": keep}).dim() == (2 if answer else 1)
    recorder.block = entry
    recorder.decisions = ()
    recorder.known = {keep.value.id: True}
    assert recorder.call(torch.sum, (x, 0), {"keepdim": keep}).dim() == 2


def test_decision_inside_native_code_keeps_the_condition():
    recorder = new_recorder()
    x, value = recorder.input_tensor(X, "x")
    fn = lambda t: t.add_(1) if bool((t * 2).sum() > 0) else t
    fn.__name__ = "user"
    with pytest.raises(NeedDecision) as asked:
        recorder.call(fn, (x,))
    env = run_block(recorder.block, {value: X})
    assert look(env, asked.value.condition.value) == bool((X * 2).sum() > 0)
    assert recorder.written() == []


def test_failed_call_leaves_no_trace():
    recorder = new_recorder()
    x, _ = recorder.input_tensor(X, "x")
    before = recorder.value_of(x)

    def broken(t):
        t.add_(1)
        t[0].mul_(2)
        raise KeyError("user")

    with pytest.raises(KeyError):
        recorder.call(broken, (x,))
    assert recorder.block.nodes == [] and recorder.value_of(x) is before
    with pytest.raises(RuntimeError):
        recorder.call(torch.add, (x, torch.randn(3, 7)))
    assert recorder.block.nodes == []
    view = recorder.call(torch.Tensor.__getitem__, (x, 0))
    with pytest.raises(KeyError):
        recorder.call(broken, (view,))
    recorder.call(torch.mul, (view, 2))
    assert [n.target for n in recorder.block.nodes] == [torch.ops.aten.select.int, torch.ops.aten.mul.Tensor]


def test_what_was_checked_is_known_below():
    recorder = new_recorder()
    x, value = recorder.input_tensor(X, "x")
    n = recorder.call(torch.Tensor.item, (recorder.call(torch.argmax, (x,)),))
    entry = recorder.block
    for _ in range(2):  # what one arm has checked, the other must check again
        recorder.block = Block(entry)
        recorder.call(torch.zeros, (n,))
        recorder.call(torch.ones, (n,))
        recorder.block = Block(recorder.block)
        recorder.call(torch.zeros, (n,))
        checks = [sum(getattr(node, "op", "") == "check" for node in b.nodes) for b in (recorder.block.idom, recorder.block)]
        assert checks == [1, 0]


def test_negative_size_is_checked_at_run_time():
    recorder = new_recorder()
    x, value = recorder.input_tensor(X, "x")
    n = recorder.call(torch.Tensor.item, (recorder.call(torch.Tensor.long, (recorder.call(torch.sum, (x,)),)),))
    recorder.call(torch.zeros, (n,))
    run_block(recorder.block, {value: torch.ones(4, 6)})
    with pytest.raises((CheckFailed, RuntimeError)):
        run_block(recorder.block, {value: -torch.ones(4, 6)})


# -- refusals ------------------------------------------------------------------------------------------------

REFUSED = {
    "unsqueeze_": lambda x: x.unsqueeze_(0),
    "t_": lambda x: x.t_(),
    "resize_": lambda x: x.resize_(2),
    "set_": lambda x: x.set_(x + 1),
    "dropout": lambda x: F.dropout(x, 0.5, True),
    "batch_norm": lambda x: torch.batch_norm(x, None, None, torch.zeros(6), torch.ones(6), True, 0.1, 1e-5, False),
    "out_shape": lambda x: torch.add(x, 1, out=torch.empty(0)),
    "unfold_write": lambda x: x.clone().unfold(0, 2, 1).add_(1),
    "dtype_view_write": lambda x: x.clone().view(torch.int32).add_(1),
    "as_strided_write": lambda x: x.clone().as_strided((2, 2), (1, 2)).add_(1),
    "sparse": lambda x: x.to_sparse(),
    "generator": lambda x: torch.rand(3, generator=torch.Generator()),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    with pytest.raises(CaptureRefusal) as refusal:
        Recorded(REFUSED[name], [X])
    assert refusal.value.message


EAGER_ERRORS = {
    "expand_write": lambda x: x[0].expand(3, 6).add_(1),
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
    assert len(recorded.recorder.written()) == 1


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


def test_operators_with_runtime_scalars():
    ops = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.gt, operator.eq]
    _with_runtime(lambda call, x, f, i: [call(op, pair) for op in ops
                                         for pair in ((call(torch.abs, (x,)), f), (call(torch.abs, (x,)), i))]
                  + [call(op, (i, call(torch.abs, (x,)))) for op in ops]
                  + [call(op, (f, x)) for op in ops[:4]]
                  + [call(operator.getitem, (x, i)), call(operator.matmul, (x, call(torch.t, (x,))))])


def test_operator_matmul_is_kept_whole():
    recorder = new_recorder()
    x, _ = recorder.input_tensor(X, "x")
    recorder.call(operator.matmul, (x, recorder.call(torch.t, (x,))))
    assert "matmul" in str(recorder.block.nodes[-1].target)


# -- many states ----------------------------------------------------------------------------------------------------


def test_states_see_their_own_contents():
    """Two arms write one storage; views made before the fork read what their own arm wrote."""
    recorder = new_recorder()
    heap = recorder.heap
    x, value = recorder.input_tensor(X, "x")
    y = recorder.call(torch.clone, (x,))
    row = recorder.call(operator.getitem, (y, 1))
    recorder.call(torch.add, (row, 0))
    entry, trunk = recorder.block, heap.active
    heap.save()
    arms = []
    for factor in (2.0, 5.0):
        heap.activate(trunk.fork())
        recorder.block = Block(entry)
        recorder.call(torch.Tensor.mul_, (y, factor))
        arms.append((heap.active, recorder.block, recorder.value_of(row)))
    for (overlay, block, seen), factor in zip(arms, (2.0, 5.0)):
        heap.activate(overlay)
        recorder.block = block
        again = recorder.value_of(row)
        recorder.call(torch.Tensor.zero_, (row,))
        env = run_block(block, run_block(entry, {value: X}))
        same(look(env, seen), X[1] * factor)
        same(look(env, again), X[1] * factor)
        expected = X * factor
        expected[1] = 0
        same(look(env, recorder.value_of(y)), expected)
    heap.activate(trunk)
    recorder.block = entry
    same(look(run_block(entry, {value: X}), recorder.value_of(y)), X)


def test_a_views_value_is_not_used_where_it_was_not_computed():
    recorder = new_recorder()
    x, value = recorder.input_tensor(X, "x")
    row = recorder.call(operator.getitem, (x, 1))
    entry = recorder.block
    for _ in range(2):
        recorder.block = Block(entry)
        recorder.call(torch.mul, (row, 2))
        assert len(recorder.block.nodes) == 2  # the select is recorded in each arm
        recorder.call(torch.mul, (row, 3))
        assert len(recorder.block.nodes) == 3


def test_merged_handle_with_unknown_extent():
    recorder = new_recorder()
    block = Block(recorder.block)
    param = Value(TensorType(torch.float32, (None, 6)), block)
    block.params.append(param)
    recorder.block = block
    t = recorder.new_handle(torch.float32, (None, 6), param)
    y = recorder.call(torch.mul, (t, recorder.extent(t, 0)))
    z = recorder.call(operator.getitem, (y, slice(1, None)))
    total = recorder.value_of(recorder.call(torch.sum, (z,)))
    for n in (1, 3):
        data = torch.randn(n, 6)
        same(look(run_block(block, {param: data}), total), (data * n)[1:].sum())


RANDOM = {
    "multinomial_one": lambda x: torch.multinomial(torch.tensor([0.0, 1.0, 0.0]), 1),
    "multinomial_distinct": lambda x: torch.multinomial(torch.tensor([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0]]), 2).sort(1)[0],
    "multinomial_replacement": lambda x: torch.multinomial(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), 5, replacement=True),
    "permutation": lambda x: torch.randperm(7).sort()[0],
    "constant_normal": lambda x: torch.normal(torch.tensor([1.0, 2.0]), torch.zeros(2)),
    "categorical": lambda x: torch.distributions.Categorical(probs=torch.tensor([0.0, 1.0]), validate_args=False).sample(),
}


@pytest.mark.parametrize("name", RANDOM)
def test_random_ops_with_one_possible_result(name):
    recorded = check(RANDOM[name], X)
    assert any(node.startswith("rand.") for node in recorded.nodes)


# -- questions that only the memory layout depends on -----------------------------------------------------------------


def test_squeeze_of_a_dynamic_dim_is_guarded():
    recorded = check(lambda x: x[:, None].squeeze() * 2, X, others=[(torch.randn(3, 6),)], dynamic=[{0: "N"}])
    assert recorded.recorder.guards == ["N != 1"]
    recorded = check(lambda x: x[:, None].squeeze(1) * 2, X, others=[(torch.randn(1, 6),)], dynamic=[{0: "N"}])
    assert recorded.recorder.guards == []


def test_contiguity_is_no_guard_until_somebody_writes():
    def reads(x):
        return x.t().contiguous() + 1, x.t().reshape(-1) * 2

    assert check(reads, X, others=[(torch.randn(1, 6),)], dynamic=[{0: "N"}]).recorder.guards == []

    def writes_copy(x):
        x.t().contiguous().add_(1)
        return x * 2

    recorded = check(writes_copy, X, others=[(torch.randn(3, 6),)], dynamic=[{0: "N"}])
    assert recorded.recorder.guards == ["N != 1"]

    def writes_source(x):
        y = x.t().reshape(-1)
        x.add_(1)
        return y

    recorded = check(writes_source, X, others=[(torch.randn(3, 6),)], dynamic=[{0: "N"}])
    assert recorded.recorder.guards == ["N != 1"]


def _layers():
    nn = torch.nn
    image, sequence = torch.randn(2, 3, 16, 16), torch.randn(2, 5, 6)
    attention = nn.MultiheadAttention(6, 2, batch_first=True).eval()
    return {
        "conv2d": (nn.Conv2d(3, 4, 3, padding=1), image, {0: "N", 2: "H", 3: "W"}),
        "conv2d_stride": (nn.Conv2d(3, 4, 3, stride=2), image, {0: "N", 2: "H", 3: "W"}),
        "conv2d_same": (nn.Conv2d(3, 4, 3, padding="same"), image, {0: "N", 2: "H", 3: "W"}),
        "conv_transpose2d": (nn.ConvTranspose2d(3, 4, 3, stride=2), image, {0: "N", 2: "H", 3: "W"}),
        "batch_norm": (nn.BatchNorm2d(3).eval(), image, {0: "N", 2: "H", 3: "W"}),
        "max_pool": (nn.MaxPool2d(3, 2, 1), image, {0: "N", 2: "H", 3: "W"}),
        "adaptive_pool": (nn.AdaptiveAvgPool2d(1), image, {0: "N", 2: "H", 3: "W"}),
        "upsample": (nn.Upsample(scale_factor=2, mode="bilinear"), image, {0: "N", 2: "H", 3: "W"}),
        "pad": (nn.ZeroPad2d(1), image, {0: "N", 2: "H", 3: "W"}),
        "flatten": (nn.Flatten(), image, {0: "N"}),
        "lstm": (nn.LSTM(6, 5, batch_first=True), sequence, {0: "N", 1: "T"}),
        "gru": (nn.GRU(6, 5, 2, bidirectional=True, batch_first=True), sequence, {0: "N", 1: "T"}),
        "attention": (lambda x: attention(x, x, x), sequence, {0: "N", 1: "T"}),
        "encoder": (nn.TransformerEncoderLayer(6, 2, 8, batch_first=True).eval(), sequence, {0: "N", 1: "T"}),
        "layer_norm": (nn.LayerNorm(6), sequence, {0: "N", 1: "T"}),
        "heads": (lambda x: x.view(*x.shape[:2], 2, 3).transpose(1, 2).reshape(-1, x.shape[1], 3), sequence,
                  {0: "N", 1: "T"}),
        "einsum": (lambda x: torch.einsum("btd,bsd->bts", x, x), sequence, {0: "N", 1: "T"}),
        "causal": (lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), sequence, {0: "N", 1: "T"}),
        "chunk": (lambda x: x.chunk(3, -1), sequence, {0: "N", 1: "T"}),
        "last": (lambda x: x[:, -1], sequence, {0: "N", 1: "T"}),
    }


@pytest.mark.parametrize("name", _layers())
def test_layers_with_dynamic_dims(name):
    """Recorded for one size, right for others, a batch of one included, and no guard for it."""
    torch.backends.mha.set_fastpath_enabled(False)
    layer, x, dynamic = _layers()[name]

    def other(batch: int, longer: int) -> tuple:
        sizes = [n + longer if d in dynamic else n for d, n in enumerate(x.shape)]
        return (torch.randn(batch, *sizes[1:]),)

    recorded = check(layer, x, others=[other(1, 1), other(5, 4)], dynamic=[dynamic])
    assert recorded.recorder.guards == []


def test_unbinding_a_dynamic_dim_fixes_it():
    recorded = check(lambda x: [row * 2 for row in x.unbind(0)], X, dynamic=[{0: "N"}])
    assert recorded.recorder.guards == ["N == 4"]


# -- native code that looks inside -----------------------------------------------------------------------------------


def test_decisions_survive_torchscript():
    """TorchScript makes a RuntimeError of every exception; the decision must not be lost in it."""

    @torch.jit.script
    def scripted(x):
        if bool(x.sum() > 0):
            return x * 2
        return x

    recorder = new_recorder()
    x, _ = recorder.input_tensor(X, "x")
    with pytest.raises(NeedDecision):
        recorder.call(scripted, (x,))
    recorder.decisions = [True]
    assert "mul" in str(recorder.call(scripted, (x,)) is not x and recorder.block.nodes[-1].target)


def test_a_swallowed_decision_is_raised_again():
    def curious(t):
        try:
            return t * 2 if bool(t.sum() > 0) else t
        except BaseException:
            return t

    recorder = new_recorder()
    x, _ = recorder.input_tensor(X, "x")
    with pytest.raises(NeedDecision):
        recorder.call(curious, (x,))


ESCAPES = {
    "index": lambda x: list(range(x.argmax())),
    "int": lambda x: int(x.sum()),
    "float_format": lambda x: math.sqrt(x.sum()),
    "numpy": lambda x: x.numpy(),
    "array": lambda x: np.asarray(x),
    "gradient": lambda x: x.sum().backward(),
    "cond": lambda x: torch.cond(x.sum() > 0, lambda a: a * 2, lambda a: a, (x,)),
}


@pytest.mark.parametrize("name", ESCAPES)
def test_native_code_cannot_bake_a_runtime_value(name):
    recorder = new_recorder()
    x, _ = recorder.input_tensor(X, "x")
    with pytest.raises(CaptureRefusal):
        recorder.call(ESCAPES[name], (x,))


@pytest.mark.parametrize("name", ["data_ptr", "numpy", "__repr__", "untyped_storage", "__array__", "backward"])
def test_methods_that_look_inside_are_refused(name):
    recorder = new_recorder()
    x, _ = recorder.input_tensor(X, "x")
    with pytest.raises(CaptureRefusal):
        recorder.call(getattr(torch.Tensor, name), (x,))


def test_shapes_from_known_contents_are_static():
    mask = torch.tensor([True, False, True, False])

    def program(x):
        rows = x[mask]
        return (rows, mask.nonzero(), torch.repeat_interleave(x, torch.tensor([1, 2, 0, 1]), dim=0),
                torch.tensor([3, 1, 3]).unique(), x[:, torch.tensor([True, False] * 3)])

    recorded = check(program, X)
    assert all(all(isinstance(d, int) for d in v.type.shape) for v in recorded.outputs)
    assert recorded.recorder.static_reads == {id(mask)}


def test_questions_about_extents_in_an_arm_are_not_answered_by_the_example():
    """n > m holds in the arm, not in the example: nothing may be concluded from the example's sizes."""
    recorder = new_recorder()
    x, xv = recorder.input_tensor(torch.randn(2), "x", {0: "n"})
    y, yv = recorder.input_tensor(torch.randn(3), "y", {0: "m"})
    recorder.block = Block(recorder.block)
    head = recorder.call(operator.getitem, (x, slice(None, recorder.extent(y, 0))))
    total = recorder.value_of(recorder.call(torch.add, (head, y)))
    assert recorder.guards == []
    entry = recorder.block.idom
    for n, m in ((5, 3), (4, 4)):
        a, b = torch.randn(n), torch.randn(m)
        env = run_block(recorder.block, run_block(entry, {xv: a, yv: b}), {"n": n, "m": m})
        same(look(env, total), a[:m] + b)
    with pytest.raises(CheckFailed):
        run_block(recorder.block, run_block(entry, {xv: torch.randn(2), yv: torch.randn(3)}), {"n": 2, "m": 3})
