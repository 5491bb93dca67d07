# SPDX-License-Identifier: Apache-2.0
"""torch.distributions, and what they sample by rejection: the same as in eager under one seed, and torch's generator is
left where eager leaves it. The whole file takes a minute."""

import pytest
import torch
import torch.distributions as D
import torch.nn.functional as F

import dycl
from dycl import generators
from tests.frontend.recording.test_random_numbers import same, seeded

pytestmark = pytest.mark.skipif(not generators.eager_draws_alike(), reason="torch draws from a vendor's library here")

X = torch.linspace(0.1, 4.0, 12).reshape(3, 4)
HELD = torch.Generator()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_poisson_gamma_and_binomial(dtype):
    rates = torch.tensor([0.0, 1e-3, 0.5, 3.0, 9.99, 10.0, 11.5, 250.0, 1e6, 1e12], dtype=dtype)
    shapes = torch.tensor([0.0, 1e-6, 0.05, 0.5, 1.0, 1.5, 30.0, 1e8], dtype=dtype)
    counts = torch.tensor([0.0, 1, 5, 5, 40, 40, 1000, 1000, 7, 7, 100, 1e6], dtype=dtype)
    shares = torch.tensor([0.5, 0.3, 0.2, 0.9, 0.3, 0.7, 0.01, 0.6, 0.0, 1.0, 0.5, 0.25], dtype=dtype)

    def model(x):
        many = (x.sum() * 0).to(dtype)
        return (torch.poisson(rates + many), torch.poisson((rates + many).expand(20, 10)), torch.rand(3),
                torch._standard_gamma((shapes + many).expand(20, 8)), torch.randn(3),
                torch.binomial(counts + many, shares), torch.binomial((counts + many).expand(30, 12),
                                                                      shares.expand(30, 12)))

    same(model, X)


def near(model, *args):
    """Draws are the same; the arithmetic on them (logarithms, powers) is an engine's. Whole numbers are equal."""
    program = dycl.compile(model, args)
    for seed in range(3):
        (expected, left), (found, ours) = seeded(model, seed, *args), seeded(program, seed, *args)
        for a, b in zip(expected, found, strict=True):
            torch.testing.assert_close(b, a)
            assert torch.equal(a, b) or not torch.equal(a, a.round())
        assert torch.equal(left, ours)


def test_distributions_sample_as_in_eager():
    def model(x):
        gamma = D.Gamma(x, 2.0)
        return (D.Normal(x, x).sample(), D.Bernoulli(logits=x).sample((2,)), D.Categorical(logits=x).sample((3,)),
                D.Gumbel(x, 1.0).sample(), gamma.sample(), gamma.rsample((2,)), D.Beta(x, x + 1).sample(),
                D.Poisson(x * 9).sample((2,)), D.Multinomial(5, logits=x).sample(), D.Exponential(x).sample(),
                D.OneHotCategorical(logits=x).sample(), D.RelaxedOneHotCategorical(0.7, logits=x).sample(),
                D.RelaxedBernoulli(0.7, logits=x).sample(), D.Binomial(20, logits=x - 2).sample(),
                D.Laplace(x, 1.0).sample(), D.Chi2(x + 1).sample(), D.StudentT(x + 2).sample(),
                D.Cauchy(x, 1.0).sample(), D.HalfNormal(x).sample(), D.LogNormal(x, 0.3).sample(),
                D.Geometric(torch.sigmoid(x)).sample(), D.Uniform(x, x + 1).sample(), D.Weibull(x, 1.5).sample(),
                D.NegativeBinomial(5, logits=-x).sample())

    near(model, X)


def test_dirichlet():
    """Its sum over an axis is ONNX Runtime's, whose last bit in double may differ."""
    def model(x):
        return D.Dirichlet(x).sample(), torch.rand(2), D.Dirichlet(x * 1e-3).sample((2,))

    same(model, X)

    def in_double(x):
        return D.Dirichlet(x.double()).sample()

    program = dycl.compile(in_double, (X,))
    torch.manual_seed(3)
    expected = in_double(X)
    torch.manual_seed(3)
    torch.testing.assert_close(program(X), expected, rtol=1e-15, atol=0)


def test_what_is_sampled_does_not_depend_on_how_its_parameters_lie():
    def model(x):
        return torch.poisson(x.t() * 3), torch._standard_gamma(x.t()), torch.poisson(x[:, ::2])

    program = same(model, X)
    program(X.t().contiguous().t())


def test_mixtures_and_transformed_distributions():
    def model(x):
        mixture = D.MixtureSameFamily(D.Categorical(logits=x), D.Normal(x, 1.0))
        scaled = D.TransformedDistribution(D.Normal(x, 1.0), [D.transforms.AffineTransform(1.0, 2.0)])
        return mixture.sample(), scaled.sample(), D.Independent(D.Normal(x, 1.0), 1).sample()

    near(model, X)


def test_rrelu_draws_for_what_is_not_positive():
    def model(x):
        y = x - 2
        return (F.rrelu(y, 0.1, 0.4, training=True), F.rrelu(y.clone(), training=True, inplace=True), torch.rand(2),
                F.rrelu(y))

    same(model, X, calls=[(X,), (X + 2,), (X - 5,)])


def test_of_extents_known_only_at_run_time():
    def model(x):
        kept = x[x > 1]
        return (torch.poisson(kept), torch._standard_gamma(kept), D.Categorical(logits=kept).sample((2,)),
                F.rrelu(kept - 2, training=True), D.Gamma(kept, 2.0).sample(), torch.rand(2))

    same(model, X, calls=[(X,), (X + 0.7,), (X - 1,)])


def test_branches_on_samples_and_generators_of_their_own():
    def model(x):
        rounds = 0
        while D.Poisson(x.sum()).sample() > 22:
            rounds += 1
        if D.Bernoulli(0.5).sample() == 1:
            x = torch.poisson(x, generator=HELD)
        return rounds, x, torch.binomial(x.round() * 10, torch.full_like(x, 0.4), generator=HELD)

    HELD.manual_seed(3)
    program = dycl.compile(model, (X,))
    found = []
    for call in (model, program):
        torch.manual_seed(1)
        HELD.manual_seed(3)
        found.append([call(X) for _ in range(4)] + [HELD.get_state()])
    assert torch.equal(found[0].pop(), found[1].pop())
    for (n, a, b), (m, c, d) in zip(*found):
        assert n == m and torch.equal(a, c) and torch.equal(b, d)


def test_a_negative_rate_raises_where_torch_does():
    def model(x):
        return torch.poisson(x - 2)

    program = dycl.compile(model, (X + 2,), allow_raise=True)
    left = []
    for call in (model, program):
        torch.manual_seed(4)
        with pytest.raises(RuntimeError, match="invalid Poisson rate, expected rate to be non-negative"):
            call(torch.tensor([[5.0, 1.0, 7.0, 9.0]] * 3))
        left.append(torch.get_rng_state())
    assert torch.equal(*left)


def test_torchs_generator_is_its_own_where_a_call_raises_that_draws_from_another():
    def model(x):
        return torch.randint(0, int(x.sum().item()), (2,), generator=HELD)

    program = dycl.compile(model, (X,), allow_raise=True)
    before = torch.get_rng_state()
    with pytest.raises(RuntimeError):
        program(-X)
    assert torch.equal(torch.get_rng_state(), before)
