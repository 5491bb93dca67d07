# SPDX-License-Identifier: Apache-2.0
"""Programs draw what eager draws under one seed, bit for bit, and leave torch's generator where eager leaves it."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import dycl
from dycl import generators, runtime

BIN = Path(os.environ.get("DYCL_TEST_BUILD", Path(__file__).resolve().parents[3] / "build" / "release")) / "bin"
pytestmark = pytest.mark.skipif(not generators.eager_draws_alike(), reason="torch draws from a vendor's library here")

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
X = torch.arange(100.0).reshape(20, 5) / 50


def parts(result):
    return [torch.as_tensor(r) for r in (result if isinstance(result, (tuple, list)) else (result,))]


def seeded(call, seed, *args):
    torch.manual_seed(seed)
    torch.rand(seed % 3)
    return parts(call(*args)), torch.get_rng_state()


def same(model, *args, calls=None, **options):
    program = dycl.compile(model, args, **options)
    for seed, given in enumerate(calls or [args] * 2):
        (expected, left), (found, ours) = seeded(model, seed, *given), seeded(program, seed, *given)
        assert len(expected) == len(found)
        for k, (a, b) in enumerate(zip(expected, found)):
            assert a.dtype == b.dtype and torch.equal(a, b), f"result {k} under seed {seed}: {a} against {b}"
        assert torch.equal(left, ours), "torch's generator was left elsewhere"
    return program


@pytest.mark.parametrize("n", [1, 15, 16, 17, 100])
def test_every_distribution_at_sizes_around_sixteen(n):
    def model(x):
        found = []
        for dtype in FLOATS:
            found += [torch.rand(n, dtype=dtype), torch.randn(n, dtype=dtype),
                      torch.empty(n, dtype=dtype).uniform_(-1.5, 2.3), torch.empty(n, dtype=dtype).normal_(0.3, 1.7),
                      torch.empty(n, dtype=dtype).exponential_(1.3), torch.empty(n, dtype=dtype).cauchy_(0.5, 2.3),
                      torch.empty(n, dtype=dtype).log_normal_(0.5, 1.3), torch.empty(n, dtype=dtype).geometric_(0.3),
                      torch.empty(n, dtype=dtype).bernoulli_(0.3), torch.bernoulli(torch.full((n,), 0.3, dtype=dtype)),
                      torch.empty(n).bernoulli_(torch.full((n,), 0.3, dtype=dtype)),
                      torch.empty(n, dtype=dtype).random_()]
        for dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool, torch.float32):
            found += [torch.randint(0, 2, (n,), dtype=dtype), torch.empty(n, dtype=dtype).random_()]
        return found

    same(model, X)


@pytest.mark.parametrize("n", [1, 16, 100])
def test_integers_orders_and_choices(n):
    def model(x):
        weights = torch.arange(1.0, n + 1)
        return (torch.randint(-5, 2**28 - 6, (n,)), torch.randint(-5, 2**28 - 5, (n,)), torch.randint(2**40, (n,)),
                torch.empty(n, dtype=torch.int64).random_(-2**62, 2**63 - 1), torch.randint_like(weights, 3, 9),
                torch.randperm(n), torch.randperm(n, dtype=torch.int32), torch.multinomial(weights, 1),
                torch.multinomial(weights, n), torch.multinomial(torch.tensor([0.1, 0.5, 2, 0.0]), n, replacement=True),
                torch.multinomial(torch.tensor([[1.0, 2], [3, 0]]), n, replacement=True),
                torch.empty(n, dtype=torch.int64).geometric_(0.2), torch.empty(n, dtype=torch.uint8).random_(200))

    same(model, X)


def test_a_generator_that_is_none_is_the_run_s_own():
    def model(x, generator=None):
        n = int((x > 0.5).sum())
        return (torch.rand(3, 2, generator=generator), torch.randn(n, generator=generator),
                torch.randint(0, 5, (n,), generator=None), torch.randperm(n, generator=generator),
                torch.normal(x, 1.0, generator=generator), torch.bernoulli(x / 4, generator=generator),
                torch.multinomial(x.flatten()[:n], 1, generator=generator), torch.zeros(4).normal_(generator=generator))

    same(model, X, calls=[(X,), (X.flip(0) * 0.7,), (X / 2 + 0.3,)])


def test_parameters_that_are_tensors():
    def model(x):
        y = x + 1
        return (torch.normal(x, y), torch.normal(x, 1.3), torch.normal(0.5, y), torch.normal(0.5, 2.0, (3, 4)),
                torch.bernoulli(x / 4), torch.distributions.Normal(x, y).sample(),
                torch.distributions.Categorical(logits=x).sample(), torch.distributions.Uniform(x, y).sample())

    same(model, X)


def test_dropout_that_is_always_on():
    def model(x):
        image = x.reshape(1, 5, 4, 5)
        return (F.dropout(x, 0.3, training=True), F.dropout(x.t(), 0.4), F.dropout2d(image), F.dropout3d(image[None]),
                F.feature_alpha_dropout(image, training=True), F.dropout(x, 1.0), F.dropout(x, 0.0), x)

    same(model, X)


def test_dropout_between_layers():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Linear(5, 5) for _ in range(3))

        def forward(self, x):
            for layer in self.layers:
                x = F.dropout(layer(x).relu(), 0.5, training=True)
                if x.sum() > 1:
                    x = x * torch.bernoulli(torch.full_like(x, 0.5))
            return x > 0

    torch.manual_seed(0)
    same(Model().eval(), X)


def test_dropout_of_attention_is_drawn_as_eager_does():
    def model(q):
        return F.scaled_dot_product_attention(q, q, q, dropout_p=0.4) == 0, torch.rand(2)

    same(model, X[None])


def test_what_memory_is_like_says_the_order():
    def model(x):
        y = torch.zeros(6, 40)
        y[:, ::2].normal_()
        y.t()[3:5].uniform_()
        y[1].bernoulli_(0.5)
        turned = x.t().clone()
        return (y, torch.randn_like(x.t()), torch.rand_like(turned), torch.empty(4, 5, 3).transpose(0, 2).normal_(),
                torch.empty(2, 3, 4, 5).to(memory_format=torch.channels_last).uniform_(), F.dropout(turned))

    program = same(model, X)
    with pytest.raises(dycl.InputError):  # it would be filled in another order
        program(X.t().contiguous().t())


def test_a_new_tensor_lies_as_its_extents_say():
    program = same(lambda x: (torch.rand(5, 4), torch.empty(4, 5).normal_() + x[:4]), X)
    program(X.t().contiguous().t())


def test_overlapping_elements_cannot_be_drawn():
    def model(x):
        return torch.zeros(3, 1).expand(3, 4).uniform_()

    with pytest.raises(dycl.CompileError, match="single\\s+memory location"):
        dycl.compile(model, (X,))


def test_branches_and_loops_follow_the_draws():
    def model(x):
        rounds = 0
        while torch.rand(()) < 0.8:
            rounds += 1
            x = x + torch.randn(3)[0]
            if torch.randint(0, 2, ()) == 1:
                x = F.dropout(x, 0.3)
        return rounds, x

    same(model, X, calls=[(X,)] * 6)


def test_extents_known_only_at_run_time():
    def model(x):
        kept = x[x > 0.5]
        return (torch.rand_like(kept), torch.randn(len(kept)), torch.randperm(x.shape[0]), torch.randint(0, 7, x.shape),
                F.dropout(x, 0.5), torch.rand(x.shape[0], 2).cumsum(0) > 1)

    same(model, X, calls=[(X,), (X[:2],), (X[:16],)], dynamic_dims={"x": {0: "n"}})


def test_parameters_known_only_at_run_time():
    def model(x):
        low, size = x[0, 1].item(), int(x.sum().item())
        return (torch.empty(20).uniform_(low, low + 2), torch.empty(20).normal_(low, size),
                torch.randint(0, size, (9,)), torch.empty(4).exponential_(size))

    same(model, X)


def test_what_torch_refuses_the_run_refuses_in_the_same_words():
    def model(x):
        return torch.empty(3).normal_(0.0, x.sum().item()), torch.randint(0, int(x.sum().item()), (2,))

    program = dycl.compile(model, (X,))
    for call in (model, program):
        with pytest.raises(RuntimeError, match="normal expects std >= 0.0, but found std -99"):
            call(-X)


def test_the_generator_is_left_where_a_call_raised():
    def model(x):
        y = torch.rand(3)
        if x.sum() < 0:
            raise ValueError("negative")
        return y, torch.rand(3)

    program = dycl.compile(model, (X,))
    left = []
    for call in (model, program):
        torch.manual_seed(5)
        with pytest.raises(ValueError, match="negative"):
            call(-X)
        left.append(torch.get_rng_state())
    assert torch.equal(*left)


def test_calls_go_on_where_the_last_one_ended_and_compiling_draws_nothing():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    program = dycl.compile(lambda x: torch.randn(3) * x, (torch.ones(3),))
    assert torch.equal(before, torch.get_rng_state())
    found = [program(torch.ones(3)), torch.randn(2), program(torch.ones(3))]
    torch.manual_seed(3)
    for ours in found:
        assert torch.equal(ours, torch.randn(len(ours)))


def test_a_program_that_draws_nothing_leaves_the_generator_alone():
    program = dycl.compile(lambda x: x * 2, (X,))
    assert not program._engine.draws
    before = torch.get_rng_state()
    program(X)
    assert torch.equal(before, torch.get_rng_state())


@dycl.host_function(results="f32[2]")
def drawn_outside(x):
    return torch.rand(2) * x[:2]


def test_functions_of_the_host_draw_in_turn():
    def model(x):
        first = torch.rand(2)
        return first, drawn_outside(x), torch.rand(2)

    same(model, torch.ones(4))


def test_verification_compares_programs_that_draw():
    def model(x):
        return x + 1 if torch.rand(()) < 0.5 else x - 1

    program = dycl.compile(model, (X,))
    report = program.verify([(X,), (X + 1,)], drive=True)
    assert not report["mismatches"] and report["arms"]["total"] == 2 and not report["arms"]["never"]


def test_the_graph_itself_draws_the_same():
    def model(x):
        if torch.rand(()) < 2:
            x = x * torch.randn(5)
        return (x, torch.randperm(9), torch.empty(40)[::2].normal_(), torch.empty(3).exponential_(),
                torch.empty(3).random_(), F.dropout(x))

    same(model, X, backend="reference")


def test_a_saved_package_draws_what_torch_does_under_the_seed(tmp_path):
    def model(x):
        return torch.randn(20), torch.rand(3) * x[0, 1], torch.randint(0, 1000, (4,))

    program = dycl.compile(model, (X,))
    path = tmp_path / "drawing.dycl"
    program.save(path)
    expected, left = seeded(model, 0, X)
    found, ours = seeded(dycl.load(path), 0, X)
    assert all(map(torch.equal, expected, found)) and torch.equal(left, ours)

    without_torch = runtime.load(str(path))
    for seed in (0, 7, 2**40 + 1):
        torch.manual_seed(seed)
        without_torch.set_seed(seed)
        for expected, found in zip(model(X), without_torch(X.numpy()).values()):
            assert np.array_equal(expected.numpy(), found)

    np.save(tmp_path / "x.npy", X.numpy())
    torch.manual_seed(9)
    expected = model(X)
    subprocess.run([BIN / "dycl-run", path, tmp_path / "x.npy", "--seed", "9", "-o", tmp_path / "y.npz"], check=True)
    found = np.load(tmp_path / "y.npz")
    assert all(np.array_equal(found[name], x.numpy()) for (name, _), x in zip(program.outputs, expected))


def test_where_eager_draws_otherwise_the_program_is_not_compared(monkeypatch):
    """As on processors where torch takes bernoulli_ from a vendor's library."""
    monkeypatch.setattr(generators, "eager_draws_alike", lambda: False)
    with pytest.warns(dycl.CompileWarning, match="other numbers than eager"):
        program = dycl.compile(lambda x: F.dropout(x, 0.5), (X,))
    torch.manual_seed(0)
    assert (program(X) == 0).float().mean() < 0.9
