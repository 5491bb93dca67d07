# SPDX-License-Identifier: Apache-2.0
"""The Recorder: extents known only at run time, and extents declared dynamic."""

from __future__ import annotations

import operator

import pytest
import torch
import torch.nn.functional as F

import dycl
from dycl.frontend.graph.interpret import ProgramRaised, look, run_block
from dycl.frontend.graph.program import Block
from dycl.frontend.values.scalar import RtInt
from tests.frontend.support.recording import Recorded, check, new_recorder, same

torch.manual_seed(0)
X = torch.randn(4, 6)
Y = torch.randn(4, 6)


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


def test_shapes_from_known_contents_are_static():
    mask = torch.tensor([True, False, True, False])

    def program(x):
        rows = x[mask]
        return (rows, mask.nonzero(), torch.repeat_interleave(x, torch.tensor([1, 2, 0, 1]), dim=0),
                torch.tensor([3, 1, 3]).unique(), x[:, torch.tensor([True, False] * 3)])

    recorded = check(program, X)
    assert all(all(isinstance(d, int) for d in v.type.shape) for v in recorded.outputs)
    assert recorded.recorder.real.static_reads == {id(mask)}


def test_questions_about_extents_in_an_arm_are_not_answered_by_the_example():
    """n > m holds in the arm, not in the example: nothing may be concluded from the example's sizes."""
    recorder = new_recorder()
    x, xv = recorder.input_tensor(torch.randn(2), "x", {0: "n"})
    y, yv = recorder.input_tensor(torch.randn(3), "y", {0: "m"})
    recorder.block = Block(recorder.block)
    head = recorder.call(operator.getitem, (x, slice(None, recorder.numbers.extent(y, 0))))
    total = recorder.value_of(recorder.call(torch.add, (head, y)))
    assert recorder.guards == []
    entry = recorder.block.idom
    for n, m in ((5, 3), (4, 4)):
        a, b = torch.randn(n), torch.randn(m)
        env = run_block(recorder.block, run_block(entry, {xv: a, yv: b}), {"n": n, "m": m})
        same(look(env, total), a[:m] + b)
    with pytest.raises(ProgramRaised):
        run_block(recorder.block, run_block(entry, {xv: torch.randn(2), yv: torch.randn(3)}), {"n": 2, "m": 3})


def test_what_no_run_meets_is_an_error_of_eager_too_unless_torch_guessed():
    import sympy
    from torch.fx.experimental.symbolic_shapes import guard_or_false

    recorder = new_recorder()
    symbols = recorder.symbols
    extent = symbols.env.create_unbacked_symint()
    size = extent.node.expr
    symbols._note_fact(sympy.Ne(size, 1))

    def ask(guess):
        def body():
            with symbols.asking(True):
                assert not guess or not guard_or_false(extent == 5)
            return symbols.require(sympy.Eq(16 * size, 16), "")

        return recorder.transaction(body), symbols.answered

    assert ask(guess=False) == (False, True)
    assert ask(guess=True) == (False, False)


def test_differences_of_order_nought_leave_out_what_is_put_around():
    x, before, after = torch.rand(5, 2), torch.rand(1, 2), torch.rand(2, 2)
    for order in (0, 1, 2):
        def program(x, a, b, order=order):
            return torch.diff(x, order, 0, a, b) if x.sum() > 0 else x

        compiled = dycl.compile(program, (x, before, after), dynamic_dims={"x": {0: "n"}})
        for given in (x, x[:3], torch.rand(7, 2)):
            torch.testing.assert_close(compiled(given, before, after), program(given, before, after))
    with pytest.raises((dycl.CompileError, RuntimeError), match="order must be non-negative"):
        dycl.compile(lambda x: torch.diff(x, -1), (x,), dynamic_dims={"x": {0: "n"}})(x)


def test_differences_of_nothing_are_nothing():
    def program(x):
        return [torch.diff(x[x > 0], order) for order in (1, 2, 3)]

    compiled = dycl.compile(program, (torch.tensor([1.0, 2.0, 4.0, -1.0]),))
    for given in ([-1.0, -2.0, -3.0, 0.0], [1.0, -2.0, -3.0, 0.0], [1.0, 3.0, 2.0, 5.0]):
        torch.testing.assert_close(compiled(torch.tensor(given)), program(torch.tensor(given)))


def test_a_copy_without_dims_of_one_is_not_taken_for_one_with_them():
    program = dycl.compile(lambda x: torch.squeeze_copy(x, 0) if x.sum() > 0 else x, (torch.ones(3, 2),),
                           dynamic_dims={"x": {0: "n"}})
    assert program(torch.ones(4, 2)).shape == (4, 2)
    with pytest.raises((ValueError, RuntimeError)):  # it has one dim less
        program(torch.ones(1, 2))
