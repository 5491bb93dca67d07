# SPDX-License-Identifier: Apache-2.0
"""A model that ends in an exception on its own example is no program that somebody wants, unless they say so."""

import inspect

import pytest
import torch

import dycl


class Positive(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            raise ValueError("only {negative} numbers")  # error
        return x


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 2)

    def forward(self, x):
        return self.inner(x)  # error


def refusal(*args, **options):
    with pytest.raises(dycl.CompileError) as caught:
        dycl.compile(*args, **options)
    assert caught.value.kind == "example" and "allow_raise=True" in caught.value.help
    return str(caught.value)


def marked(cls):
    lines, first = inspect.getsourcelines(cls)
    return f"{__file__}:{first + next(k for k, line in enumerate(lines) if '# error' in line)}:"


@pytest.mark.parametrize("verify", [True, False])
def test_shapes_that_do_not_fit(verify):
    text = refusal(Outer(), (torch.ones(1, 3),), verify=verify)
    assert text.startswith(marked(Outer)), text
    assert "RuntimeError: mat1 and mat2 shapes cannot be multiplied (1x3 and 4x2)" in text and "^" in text


def test_no_arguments():
    text = refusal(torch.nn.Linear(4, 2))
    assert "TypeError: Linear.forward() missing 1 required positional argument: 'input'" in text


@pytest.mark.parametrize("verify", [True, False])
def test_an_exception_that_the_data_decide(verify):
    text = refusal(Positive(), (torch.ones(2),), verify=verify)
    assert text.startswith(marked(Positive)), text
    assert "the model raises on the example: ValueError: only {negative} numbers" in text


def test_it_is_kept_where_it_is_wanted():
    program = dycl.compile(Positive(), (torch.ones(2),), allow_raise=True)
    assert torch.equal(program(-torch.ones(2)), -torch.ones(2))
    with pytest.raises(ValueError, match="only {negative} numbers"):
        program(torch.ones(2))
    program = dycl.compile(torch.nn.Linear(4, 2), allow_raise=True)
    with pytest.raises(TypeError, match="missing 1 required"):
        program()


def test_an_example_that_returns_needs_nothing():
    program = dycl.compile(Positive(), (-torch.ones(2),))
    with pytest.raises(ValueError, match="only {negative} numbers"):
        program(torch.ones(2))


def test_where_a_loaded_program_raised(tmp_path):
    """The line is known without the model, too."""
    dycl.compile(Positive(), (-torch.ones(2),)).save(tmp_path / "p.dycl")
    program = dycl._native.Program.load(tmp_path / "p.dycl")
    with pytest.raises(dycl._native.RunError) as caught:
        dycl._native.Run(program).run([torch.ones(2)])
    assert str(caught.value).startswith(marked(Positive)), caught.value


class Counting(torch.nn.Module):
    """Counts and draws before it may raise."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.calls += 1
        if x.sum() > 0:
            raise ValueError("too much")
        return x + torch.rand(2)


def test_the_example_leaves_no_trace_without_verification():
    model = Counting().eval()
    before = torch.get_rng_state()
    program = dycl.compile(model, (-torch.ones(2),), verify=False)
    assert torch.equal(torch.get_rng_state(), before) and model.calls == 0
    program(-torch.ones(2))
    assert model.calls == 1
    assert "ValueError: too much" in refusal(model, (torch.ones(2),), verify=False)
    assert model.calls == 1
