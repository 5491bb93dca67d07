# SPDX-License-Identifier: Apache-2.0
"""What random.Random, numpy's RandomState and its Generator draw in a program is what they draw in eager, and they are
left where eager leaves them. The whole file takes half a minute."""

import random

import numpy as np
import pytest
import torch

import dycl
from dycl import generators

X = torch.ones(3)
OF_PYTHON = random.Random(1)
OF_NUMPY = np.random.RandomState(1)
MODERN = np.random.default_rng(1)


def begin(seed):
    OF_PYTHON.seed(seed)
    OF_NUMPY.seed(seed)
    MODERN.bit_generator.state = np.random.PCG64(seed).state
    random.seed(seed + 1)
    np.random.seed(seed + 1)


def states():
    return [generators.read(g).tolist() for g in (OF_PYTHON, OF_NUMPY, MODERN, random._inst, np.random.mtrand._rand)]


def outcome(call, seed, rounds):
    begin(seed)
    found = []
    for _ in range(rounds):
        result = call(X)
        found += result if isinstance(result, tuple) else (result,)
    return [torch.as_tensor(x) for x in found], states()


def same(model, rounds=3, seeds=(0, 1)):
    before = torch.get_rng_state()
    program = dycl.compile(model, (X,))
    for seed in seeds:
        (expected, left), (found, ours) = outcome(model, seed, rounds), outcome(program, seed, rounds)
        for a, b in zip(expected, found, strict=True):
            assert a.dtype == b.dtype and torch.equal(a, b), f"{a} against {b}"
        assert left == ours, "a generator was left elsewhere"
    assert torch.equal(before, torch.get_rng_state())
    return program


# ---- the standard library ----------------------------------------------------------------------------


def integers(x):
    return (random.randrange(7), random.randrange(3, 30, 4), OF_PYTHON.randint(-5, 5), random.randint(0, 2**40),
            OF_PYTHON.getrandbits(40), random.choice([3, 1, 4, 1, 5]), random.randrange(1))


def reals(x):
    return (random.random(), random.uniform(-2, 3), random.gauss(1, 2), random.gauss(0, 1), OF_PYTHON.gauss(0, 1),
            random.triangular(0, 2, 0.5), random.expovariate(1.5), OF_PYTHON.normalvariate(1, 2),
            OF_PYTHON.lognormvariate(0, 0.5), random.paretovariate(3), random.weibullvariate(1, 1.5))


def shuffled(x):
    items, others = list(range(9)), [0.5, 1.5, 2.5]
    random.shuffle(items)
    OF_PYTHON.shuffle(others)
    return torch.tensor(items), torch.tensor(others), x[torch.tensor(items[:2]) % 3]


def sampled(x):
    few = random.sample(range(12), 3)
    return torch.tensor(few), torch.tensor(OF_PYTHON.choices([5, 6, 7, 8], k=4)), torch.tensor(
        random.choices(range(3), weights=[1, 2, 3], k=5))


def decides(x):
    if random.random() < 0.5:
        x = x + OF_PYTHON.randint(0, 9)
    while random.randrange(6) != 0:
        x = x + 1
    return x


def seeded_inside(x):
    random.seed(7)
    own = random.Random(3)
    return random.random(), own.random(), own.gauss(0, 1), own.choice([1, 2, 3]), own.gauss(0, 1)


# ---- RandomState -------------------------------------------------------------------------------------


def legacy_reals(x):
    between = np.random.uniform(0, np.array([1.0, 2.0]))
    return (np.random.rand(), torch.from_numpy(np.random.rand(2, 3)), np.random.uniform(-1, 4), np.random.normal(),
            torch.from_numpy(np.random.normal(2, 3, 5)), torch.from_numpy(OF_NUMPY.randn(3)),
            OF_NUMPY.standard_normal(), torch.from_numpy(np.random.random((4,))), torch.from_numpy(between))


def legacy_integers(x):
    return (np.random.randint(5), torch.from_numpy(np.random.randint(-3, 10, (2, 4))), OF_NUMPY.randint(0, 2**40),
            torch.from_numpy(np.random.permutation(6)), torch.from_numpy(OF_NUMPY.permutation(np.arange(4.0))),
            np.random.choice(7), torch.from_numpy(np.random.choice(5, 3, replace=False)),
            torch.from_numpy(np.random.choice([4, 5, 6], 4)),
            torch.from_numpy(np.random.choice(3, 6, p=[0.2, 0.5, 0.3])))


def legacy_shuffle(x):
    rows, items = np.arange(12).reshape(4, 3), [1, 2, 3, 4]
    np.random.shuffle(rows)
    OF_NUMPY.shuffle(items)
    return torch.from_numpy(rows), torch.tensor(items)


def legacy_seeded_inside(x):
    np.random.seed(3)
    own = np.random.RandomState(4)
    return np.random.rand(), own.normal(), torch.from_numpy(own.rand(3)), own.randint(9)


# ---- Generator ---------------------------------------------------------------------------------------


def modern_reals(x):
    return (MODERN.random(), torch.from_numpy(MODERN.random((2, 3))), MODERN.uniform(-1, 4), MODERN.standard_normal(),
            torch.from_numpy(MODERN.normal(2, 3, 300)), torch.from_numpy(MODERN.normal(np.zeros(3), 2.0)))


def modern_integers(x):
    return (MODERN.integers(5).item(), torch.from_numpy(MODERN.integers(-3, 10, (2, 4))),
            torch.from_numpy(MODERN.integers(0, 2**40, 3)), torch.from_numpy(MODERN.integers(1, 6, 5, endpoint=True)),
            torch.from_numpy(MODERN.integers(2**32, size=2)), torch.from_numpy(MODERN.permutation(6)),
            torch.from_numpy(MODERN.permutation(np.arange(6.0).reshape(3, 2))), MODERN.random())


def modern_choices(x):
    rows = np.arange(12).reshape(4, 3)
    MODERN.shuffle(rows)
    return (MODERN.choice(7), torch.from_numpy(MODERN.choice(50, 8, replace=False)),
            torch.from_numpy(MODERN.choice(20000, 500, replace=False)), torch.from_numpy(rows),
            torch.from_numpy(MODERN.choice(np.array([4.0, 5.0]), 4)),
            torch.from_numpy(MODERN.choice(3, (2, 3), p=[0.2, 0.5, 0.3])))


def modern_made_inside(x):
    own = np.random.default_rng(5)
    if own.random() < 2:
        x = x * own.normal()
    return x, torch.from_numpy(own.integers(0, 9, 4))


MODELS = (integers, reals, shuffled, sampled, decides, seeded_inside, legacy_reals, legacy_integers, legacy_shuffle,
          legacy_seeded_inside, modern_reals, modern_integers, modern_choices, modern_made_inside)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_streams(model):
    same(model)


def test_the_graph_itself_draws_the_same():
    program = dycl.compile(lambda x: (random.gauss(0, 1), np.random.randn(), MODERN.normal(), random.randrange(9)),
                           (X,), backend="reference")
    begin(3)
    expected = [(random.gauss(0, 1), np.random.randn(), MODERN.normal(), random.randrange(9)) for _ in range(3)]
    begin(3)
    assert [tuple(map(float, program(X))) for _ in range(3)] == expected


class Augments(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rng = np.random.default_rng(11)
        self.python = random.Random(2)

    def forward(self, x):
        return x + self.rng.normal() * self.python.random()


def test_a_stream_in_an_attribute_is_a_state():
    model, other = Augments(), Augments()
    program = dycl.compile(model, (X,))
    for _ in range(3):
        assert torch.equal(program(X), other(X))
    assert torch.equal(model(X), other(X))


def test_normal_numbers_beyond_the_last_layer_and_between_the_layers():
    """Some of 200,000 are of each; their widths are measured (tests/support/make_ziggurat_table.py)."""
    program = dycl.compile(lambda x: torch.from_numpy(MODERN.standard_normal(200_000)), (X,))
    begin(5)
    expected = MODERN.standard_normal(200_000)
    begin(5)
    found = program(X).numpy()
    assert np.array_equal(expected, found) and np.abs(expected).max() > 3.66


REFUSED = {
    "another bit generator": lambda x: x * np.random.Generator(np.random.MT19937(1)).random(),
    "a function that is not there": lambda x: x * MODERN.gamma(2.0),
    "one of RandomState's": lambda x: x * OF_NUMPY.poisson(3.0),
    "numbers in float32": lambda x: x * torch.from_numpy(MODERN.random(3, dtype=np.float32)),
    "the operating system's": lambda x: x * random.SystemRandom().random(),
    "an unseeded one": lambda x: x * np.random.default_rng().random(),
    "an unseeded Random": lambda x: x * random.Random().random(),
    "a state that is read": lambda x: (random.getstate(), x)[1],
    "a seed known only at run time": lambda x: np.random.seed(int(x.sum())) or x,
    "different elements, not equally likely": lambda x: x * MODERN.choice(3, 2, replace=False, p=[0.1, 0.2, 0.7])[0],
}


@pytest.mark.parametrize("model", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_drawn_is_refused_by_name(model):
    begin(1)
    before = states()
    with pytest.raises(dycl.CompileError) as refused:
        dycl.compile(model, (X,))
    assert refused.value.kind in ("nondeterministic", "random.op", "random.seed")
    assert states() == before


def test_what_numpy_raises_the_program_raises():
    def model(x):
        high = int(x.sum().item())
        return x + (MODERN.integers(0, high, 2) if high > -5 else np.random.randint(2, high, 2))[0]

    program = dycl.compile(model, (X,), allow_raise=True)
    before = torch.get_rng_state()
    for call in (model, program):
        with pytest.raises(ValueError, match="high <= 0"):
            call(-X)
        with pytest.raises(ValueError, match="low >= high"):
            call(-2 * X)
    assert torch.equal(before, torch.get_rng_state())
