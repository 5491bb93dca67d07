# SPDX-License-Identifier: Apache-2.0
"""@dycl.host_function: capture leaves a call; Python's function runs it; a deployed program needs a registration."""

import itertools
import os
import subprocess
import threading
from pathlib import Path

import numpy
import pytest
import torch

import dycl
import dycl.runtime
from dycl.calling import host_functions

BIN = Path(os.environ.get("DYCL_BIN", Path(__file__).resolve().parents[2] / ".venv" / "bin"))


@pytest.fixture(autouse=True)
def no_functions_of_other_tests():
    before = dict(host_functions.registered)
    host_functions.registered.clear()
    yield
    host_functions.registered.clear()
    host_functions.registered.update(before)


def check(model, *inputs):
    program = dycl.compile(model, inputs[0] if isinstance(inputs[0], tuple) else (inputs[0],))
    for given in inputs:
        given = given if isinstance(given, tuple) else (given,)
        wanted, got = model(*given), program(*given)
        for a, b in zip(wanted if isinstance(wanted, tuple) else (wanted,), got if isinstance(got, tuple) else (got,),
                        strict=True):
            assert type(a) is type(b)
            torch.testing.assert_close(torch.as_tensor(a), torch.as_tensor(b))
    return program


def test_opaque_code_between_branches():
    calls = []

    @dycl.host_function(results=("f32[?]", int))
    def keep_large(x, least):  # numpy, data-dependent sizes, a list: nothing capture would take
        calls.append(float(least))
        found = [v for v in x.numpy().tolist() if v > least]
        return torch.tensor(found), len(found)

    def model(x):
        y, n = keep_large(x * 2, 0.5)
        if n > 2:
            return y.sum() + n
        return x.sum()

    program = check(model, torch.tensor([1.0, 2.0, 3.0, -1.0]), torch.tensor([-1.0, 2.0, -3.0, -1.0]),
                    torch.tensor([1.0, 1.0, 1.0, 1.0]))
    assert "host_call" in program.hcfg and calls
    before = len(calls)
    program(torch.ones(4))
    assert len(calls) == before + 1


def test_types_are_found_on_example_values():
    seen = []

    @dycl.host_function
    def stats(x, k):
        seen.append(tuple(x.shape))
        return numpy.float64(x.double().std().item()), x.argmax().reshape(1) + k, bool(x.max() > 0)

    def model(x):
        deviation, place, positive = stats(x, 3)
        if positive:
            return x * deviation, place
        return x, place * 2

    check(model, torch.tensor([1.0, 5.0]), torch.tensor([-4.0, -2.0]))
    assert seen[0] == (2,)


def test_in_loops_and_with_effects():
    log = []

    @dycl.host_function(results=())
    def note(i, x):
        log.append((i, round(x.item(), 3)))

    def model(x):
        i = 0
        while x.sum() < 100:
            note(i, x.sum())
            x = x * 2
            i += 1
        return x, i

    program = dycl.compile(model, (torch.ones(4),), verify=False)
    log.clear()
    _, n = program(torch.ones(4))
    assert [i for i, _ in log] == list(range(n)) and log[0] == (0, 4.0)


def test_dynamic_dims():
    @dycl.host_function
    def flip(x):
        return torch.from_numpy(x.numpy()[::-1].copy())

    def model(x):
        return flip(x) + 1

    program = dycl.compile(model, (torch.arange(3.0),), dynamic_dims={"x": {0: "N"}}, ranges={"N": (1, 100)})
    for n in (1, 3, 17):
        x = torch.randn(n)
        torch.testing.assert_close(program(x), model(x))


def test_exceptions_are_the_functions_own():
    @dycl.host_function(results="f32[2]")
    def picky(x):
        if x.min() < 0:
            raise ArithmeticError("below zero")
        return x

    program = dycl.compile(lambda x: picky(x) * 2, (torch.ones(2),))
    with pytest.raises(ArithmeticError, match="below zero"):
        program(torch.tensor([1.0, -1.0]))
    torch.testing.assert_close(program(torch.ones(2)), torch.full((2,), 2.0))


def test_a_result_of_another_type_ends_the_run():
    answers = [torch.ones(2), torch.ones(3), torch.ones(2, dtype=torch.float64), 1.5, (torch.ones(2), 1)]

    @dycl.host_function(results="f32[2]")
    def unreliable(x):
        return answers[int(x[0])]

    program = dycl.compile(lambda x: unreliable(x) + 1, (torch.zeros(2),))
    for k in range(1, len(answers)):
        with pytest.raises(Exception, match="host function unreliable"):
            program(torch.full((2,), float(k)))
    torch.testing.assert_close(program(torch.zeros(2)), torch.full((2,), 2.0))


def test_arguments_are_copies():
    @dycl.host_function(results="f32[2]")
    def scribble(x):
        x.fill_(7.0)
        return x

    program = dycl.compile(lambda x: (scribble(x * 1), x), (torch.zeros(2),), verify=False)
    x = torch.zeros(2)
    y, same = program(x)
    assert y.tolist() == [7.0, 7.0] and same.tolist() == [0.0, 0.0] and x.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("model, message", [
    (lambda f: lambda x: f(x, "text"), "given a str"),
    (lambda f: lambda x: f(x, y=x), "by position"),
    (lambda f: lambda x: f([x]), "given a list"),
])
def test_what_cannot_cross_is_refused(model, message):
    @dycl.host_function(results="f32[2]")
    def take(x, y=None):
        return x

    with pytest.raises(dycl.CompileError, match=message) as caught:
        dycl.compile(model(take), (torch.zeros(2),))
    assert caught.value.kind == "host_function"


def test_refusals():
    @dycl.host_function
    def fails(x):
        raise KeyError("not with zeros")

    with pytest.raises(dycl.CompileError, match="declare what it gives"):
        dycl.compile(lambda x: fails(x), (torch.zeros(2),))

    def guarded(x):
        try:
            return inside(x)
        except ValueError:
            return x

    @dycl.host_function(results="f32[2]")
    def inside(x):
        return x

    with pytest.raises(dycl.CompileError, match="inside try"):
        dycl.compile(guarded, (torch.zeros(2),))

    @dycl.host_function(name="inside", results="f32[2]")
    def other(x):
        return x

    with pytest.raises(dycl.CompileError, match="two host functions"):
        dycl.compile(lambda x: inside(x) + other(x), (torch.zeros(2),))
    with pytest.raises(ValueError, match="no type of a result"):
        dycl.host_function(lambda x: x, results="f31[2]")


def test_a_package_names_what_it_needs(tmp_path):
    @dycl.host_function(name="double_it", results="f32[2]")
    def twice(x):
        return x * 2

    dycl.compile(lambda x: twice(x) + 1, (torch.ones(2),)).save(tmp_path / "h.dycl")
    assert dycl.load(tmp_path / "h.dycl")(torch.ones(2)).tolist() == [3.0, 3.0]
    host_functions.registered.clear()
    with pytest.raises(Exception, match="host function double_it, which is not registered"):
        dycl.load(tmp_path / "h.dycl")
    for load, wrong in itertools.product((dycl.load, dycl.runtime.load), ({"double_it": 3}, {3: abs}, [abs], "abs")):
        with pytest.raises(dycl.InputError, match="give a dict of functions by their names"):
            load(tmp_path / "h.dycl", host_functions=wrong)
    other = dycl.load(tmp_path / "h.dycl", host_functions={"double_it": lambda x: x * 10})
    assert other(torch.ones(2)).tolist() == [11.0, 11.0]
    numpy.save(tmp_path / "x.npy", numpy.ones(2, numpy.float32))
    done = subprocess.run([BIN / "dycl-run", tmp_path / "h.dycl", tmp_path / "x.npy"], capture_output=True, text=True)
    assert done.returncode == 5 and "double_it" in done.stderr


def test_a_program_is_called_from_many_threads(tmp_path):
    class Model(torch.nn.Module):
        def forward(self, x):
            n = 0
            while x.sum() < 50:
                x = x * 1.5
                n += 1
            return x, n

    model = Model()
    program = dycl.compile(model, (torch.ones(3),), threads=1)
    program.save(tmp_path / "m.dycl")
    for callee in (program, dycl.load(tmp_path / "m.dycl", threads=1)):
        wrong = []

        def work(seed):
            generator = torch.Generator().manual_seed(seed)
            for _ in range(50):
                x = torch.rand(3, generator=generator) + 0.01
                wanted, got = model(x), callee(x)
                if wanted[1] != got[1] or not torch.allclose(wanted[0], got[0]):
                    wrong.append(seed)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


def test_threads_take_turns_where_the_program_keeps_states(tmp_path):
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros((), dtype=torch.int64))

        def forward(self, x):
            self.count += 1
            return x + self.count

    dycl.compile(Counter(), (torch.zeros(2),)).save(tmp_path / "c.dycl")
    program = dycl.load(tmp_path / "c.dycl")
    seen = []

    def work():
        for _ in range(25):
            seen.append(program(torch.zeros(2))[0].item())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(1, 101))


@pytest.mark.parametrize("keeps_states", [False, True])
def test_a_function_that_calls_its_own_program_is_refused(tmp_path, keeps_states):
    """It neither overwrites the call that it is in nor waits for its end."""
    refused = []

    @dycl.host_function
    def again(x: torch.Tensor) -> torch.Tensor:
        if program is not None:
            with pytest.raises(RuntimeError, match="in use by another thread, or by a call that its own callback"):
                program(x)
            refused.append(x)
        return x + 1

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.total = torch.zeros(2)

        def forward(self, x):
            if keeps_states:
                self.total = self.total + x
            y = again(x * 2)
            return y * 3 if y.sum() > 0 else y - self.total

    program = None
    dycl.compile(Model(), (torch.ones(2),)).save(tmp_path / "m.dycl")
    program = dycl.load(tmp_path / "m.dycl")
    caller = threading.Thread(target=lambda: refused.append(program(torch.ones(2))), daemon=True)
    caller.start()
    caller.join(60)
    assert not caller.is_alive() and torch.equal(refused[-1], torch.full((2,), 9.0)) and len(refused) == 2
