# SPDX-License-Identifier: Apache-2.0
"""Generators keep seed and state as in eager: made by the program, held by the model, torch's own; those of the
standard library and numpy, too. What would draw while compiling is refused."""

import random

import numpy as np
import pytest
import torch

import dycl
from dycl import generators

pytestmark = pytest.mark.skipif(not generators.eager_draws_alike(), reason="torch draws from a vendor's library here")

X = torch.ones(3)
HELD = torch.Generator()
PYTHON = random.Random(1)
NUMPY = np.random.RandomState(1)
MODERN = np.random.default_rng(1)


def begin():
    torch.manual_seed(4)
    HELD.manual_seed(9)
    PYTHON.seed(5)
    NUMPY.seed(6)
    random.seed(7)
    np.random.seed(8)


def states():
    of_numpy = [state[1:3] for state in (NUMPY.get_state(), np.random.get_state())]
    return [torch.get_rng_state().tolist(), HELD.get_state().tolist(), PYTHON.getstate(), random.getstate(),
            [(words.tolist(), place) for words, place in of_numpy]]


def outcome(call, rounds):
    begin()
    found = []
    for _ in range(rounds):
        result = call(X)
        found += result if isinstance(result, tuple) else (result,)
    return [torch.as_tensor(x) for x in found], states()


def same(model, rounds=3):
    begin()
    program = dycl.compile(model, (X,))
    (expected, left), (found, ours) = outcome(model, rounds), outcome(program, rounds)
    for a, b in zip(expected, found, strict=True):
        assert a.dtype == b.dtype and torch.equal(a, b), f"{a} against {b}"
    assert left == ours
    return program


def made(x):
    g = torch.Generator().manual_seed(5)
    return torch.rand(3, generator=g), torch.rand(3), torch.randn(20, generator=g)


def held(x):
    return (torch.rand(3, generator=HELD) + torch.rand(3), torch.randperm(5, generator=HELD),
            torch.multinomial(x, 2, generator=HELD), torch.empty(3).exponential_(generator=HELD))


def held_in_one_arm(x):
    return torch.rand(3, generator=HELD) if torch.rand(()) < 0.5 else x * 2


def read_alone(x):
    return HELD.get_state(), HELD.initial_seed()


def seeded_inside(x):
    torch.manual_seed(3)
    return torch.rand(3), torch.initial_seed()


def seeded_by_the_function_of_torch_random(x):
    torch.random.manual_seed(int(x.sum()))
    return torch.rand(3), torch.random.initial_seed()


def seeded_by_data(x):
    torch.manual_seed(int(x.sum()) + 2**40)
    HELD.manual_seed(int(x.sum()))
    return torch.rand(3), torch.rand(2, generator=HELD)


def seeded_with_odd_numbers(x):
    found = [torch.rand(2, generator=torch.Generator().manual_seed(s)) for s in (-1, 2**64 - 1, 2**63, 0)]
    return tuple(found)


def state_kept_and_put_back(x):
    before = torch.get_rng_state()
    a = torch.rand(3)
    torch.set_rng_state(before)
    return a, torch.rand(3)


def forked(x):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        a = torch.rand(3)
    return a, torch.rand(3)


def methods(x):
    g = torch.Generator(device="cpu")
    g.manual_seed(int(x.sum()))
    before = g.get_state()
    a = torch.rand(3, generator=g)
    g.set_state(before)
    HELD.set_state(g.get_state())
    known = isinstance(g, torch.Generator) and g.device.type == HELD.device.type == "cpu"
    return a, torch.rand(3, generator=g, device=g.device), g.initial_seed(), known


def branches(x):
    g = torch.Generator().manual_seed(1)
    for _ in range(4):
        if torch.rand((), generator=g) < 0.5:
            x = x + torch.randn(3, generator=HELD)
        else:
            x = x * torch.rand(3)
    return x, torch.rand(2, generator=g)


def loops(x):
    g, rounds = torch.Generator().manual_seed(int(x[0])), 0
    while torch.rand((), generator=g) + torch.rand((), generator=HELD) < 1.6:
        rounds += 1
    return rounds, torch.rand(1, generator=g)


def torchs_own(x):
    return torch.rand(2, generator=torch.default_generator), torch.default_generator.initial_seed()


def initialised(x):
    return torch.nn.init.xavier_uniform_(torch.empty(4, 5), generator=HELD)


def of_the_standard_library(x):
    a, b = random.random(), random.uniform(2, 3)
    return (x if b < 2.5 else -x), a, b, PYTHON.random(), random.getrandbits(20), random.getrandbits(40)


def integers_of_the_standard_library(x):
    return random.randint(1, 6), PYTHON.choice([3, 1, 4, 1, 5]), random.randint(0, 2**40)


def of_numpy(x):
    chosen = x if np.random.rand() < 0.5 else -x
    return chosen, NUMPY.uniform(-2, 5), np.random.random_sample(), torch.from_numpy(NUMPY.rand(2, 3))


def drawn_and_not_used(x):
    skip = np.random.uniform(0, 1)
    return x if not x.shape and skip < 0.5 else x * 2


MODELS = (made, held, held_in_one_arm, read_alone, seeded_inside, seeded_by_the_function_of_torch_random,
          seeded_by_data, seeded_with_odd_numbers,
          state_kept_and_put_back, forked, methods, branches, loops, torchs_own, initialised,
          of_the_standard_library, integers_of_the_standard_library, of_numpy, drawn_and_not_used)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_generators(model):
    same(model)


class Noisy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rng = torch.Generator().manual_seed(11)

    def forward(self, x):
        return x + torch.randn(3, generator=self.rng)


def test_a_generator_in_an_attribute_is_a_state(tmp_path):
    program = dycl.compile(Noisy(), (X,))
    model = Noisy()
    expected = [model(X) for _ in range(3)]
    assert all(torch.equal(a, program(X)) for a in expected)
    program.reset_states()
    program.save(tmp_path / "noisy.dycl")
    loaded = dycl.load(tmp_path / "noisy.dycl")
    assert all(torch.equal(a, loaded(X)) for a in expected)


def test_the_generator_of_the_live_model_is_the_programs():
    model, other = Noisy(), Noisy()
    program = dycl.compile(model, (X,))
    for _ in range(2):
        assert torch.equal(program(X), other(X)) and torch.equal(model(X), other(X))
    model.rng.manual_seed(3)
    other.rng.manual_seed(3)
    assert torch.equal(program(X), other(X))


def given(x, g, others):
    return torch.rand(3, generator=g) + x, torch.randperm(4, generator=others[0]), g.initial_seed()


def test_generators_among_the_arguments(tmp_path):
    program = dycl.compile(given, (X, torch.Generator(), [torch.Generator()]))
    program.save(tmp_path / "given.dycl")
    for call in (program, dycl.load(tmp_path / "given.dycl")):
        ours, theirs = ([torch.Generator().manual_seed(s) for s in (3, 4)] for _ in range(2))
        for _ in range(3):
            found, expected = call(X, ours[0], ours[1:]), given(X, theirs[0], theirs[1:])
            assert torch.equal(found[0], expected[0]) and torch.equal(found[1], expected[1]) and found[2] == expected[2]
        assert [g.get_state().tolist() for g in ours] == [g.get_state().tolist() for g in theirs]
        for wrong in ((ours[0], ours[:1]), (torch.default_generator, ours[1:]), (None, ours[1:])):
            with pytest.raises(dycl.InputError):
                call(X, *wrong)


def test_a_generator_is_the_models_or_an_argument_not_both():
    def model(x, g):
        return torch.rand(3, generator=g) + torch.rand(3, generator=HELD)

    program = dycl.compile(model, (X, torch.Generator()))
    with pytest.raises(dycl.InputError, match="draws elsewhere"):
        program(X, HELD)


def test_a_state_that_is_none_is_an_error():
    def model(x):
        torch.set_rng_state(torch.zeros(5056, dtype=torch.uint8) + x[0].to(torch.uint8))
        return torch.rand(2)

    program = dycl.compile(model, (X,), allow_raise=True)
    for call in (model, program):
        with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
            call(X)
    with pytest.raises(dycl.CompileError, match="of size 5056"):
        dycl.compile(lambda x: torch.set_rng_state(torch.zeros(3, dtype=torch.uint8)), (X,))


REFUSED = {
    "a seed from outside": lambda x: x * torch.seed(),
    "a generator seeded from outside": lambda x: x * torch.Generator().seed(),
    "a distribution in a dtype that is not drawn": lambda x: torch.poisson(x.to(torch.bfloat16)),
}


@pytest.mark.parametrize("model", REFUSED.values(), ids=REFUSED)
def test_what_would_draw_while_compiling_is_refused(model):
    before = MODERN.bit_generator.state, states()
    with pytest.raises(dycl.CompileError) as refused:
        dycl.compile(model, (X,))
    assert refused.value.kind in ("nondeterministic", "random.seed", "random.op")
    assert (MODERN.bit_generator.state, states()) == before


def test_native_code_that_draws_inside_is_refused():
    stats = pytest.importorskip("scipy.stats")
    before = states()
    for model in (lambda x: x * stats.norm.rvs(), lambda x: x * stats.norm.rvs(random_state=MODERN)):
        with pytest.raises(dycl.CompileError) as refused:
            dycl.compile(model, (X,))
        assert refused.value.kind == "nondeterministic"
    assert states() == before
