# SPDX-License-Identifier: Apache-2.0
"""Arguments given by place where the example gave them by name, and the other way round."""

from __future__ import annotations

import functools

import pytest
import torch
from torch import nn

import dycl


def mixed(x, y, scale=1.0, *, deep=False):
    if x.sum() > 0:
        return x * 2 - y * scale
    return y * 3 - x


X, Y, B = torch.tensor([1.0, 2.0]), torch.tensor([5.0, -7.0]), torch.tensor([0.5, 4.0])


def compiled(fn, *args, **kwargs):
    return dycl.compile(fn, args, kwargs, backend="reference")


@pytest.mark.parametrize("sign", [1, -1])
def test_a_function(sign, tmp_path):
    x = X * sign
    program = dycl.compile(mixed, (X, Y))
    program.save(tmp_path / "p.dycl")
    for p in (program, dycl.load(tmp_path / "p.dycl")):
        for call in (lambda f: f(x, Y), lambda f: f(x, y=Y), lambda f: f(x=x, y=Y), lambda f: f(y=Y, x=x)):
            torch.testing.assert_close(call(p), call(mixed))


def test_the_example_gave_names():
    program = compiled(mixed, x=X, y=Y, scale=2.0, deep=True)
    for call in (lambda f: f(X, Y, 2.0, deep=True), lambda f: f(X, scale=2.0, y=Y, deep=True),
                 lambda f: f(x=X, y=Y, scale=2.0, deep=True)):
        torch.testing.assert_close(call(program), call(mixed))


def test_a_module_and_a_method():
    class Model(nn.Module):
        def forward(self, x, mask=None):
            return x if mask is None else x.masked_fill(mask, 0.0)

    model = Model()
    mask = torch.tensor([True, False])
    for callable in (model, model.forward):
        program = compiled(callable, X, mask)
        torch.testing.assert_close(program(X, mask=mask), model(X, mask))
        torch.testing.assert_close(program(mask=mask, x=X), model(X, mask))


def test_written_arguments_and_one_tensor_twice():
    def f(x, y):
        x.add_(y)
        return x.sum()

    program = compiled(f, X.clone(), Y)
    x, wanted = X.clone(), X.clone()
    torch.testing.assert_close(program(y=Y, x=x), f(wanted, Y))
    torch.testing.assert_close(x, wanted)
    with pytest.raises(dycl.InputError):
        program(y=X, x=X)


def test_a_model_whose_attribute_is_one_of_a_few_values():
    class Model(nn.Module):
        mode = None

        def forward(self, x, **parts):
            if x.sum() > 0:
                self.mode = "seen"
            return x if self.mode is None else sum(parts.values()), list(parts)

    model, program = Model(), compiled(Model(), X, a=Y, b=B)
    for x in (-X, X, -X):
        ours, theirs = program(a=Y, x=x, b=B), model(x, a=Y, b=B)
        torch.testing.assert_close(ours[0], theirs[0])
        assert ours[1] == theirs[1]
    for call in (lambda f: f(X, args=Y), lambda f: f(b=B, a=Y, x=X)):
        with pytest.raises(dycl.InputError):
            call(program)


def test_extra_keywords_keep_their_order():
    def f(x, **parts):
        return x, list(parts), sum(parts.values())

    program = compiled(f, X, a=Y, b=X)
    torch.testing.assert_close(program(a=Y, x=X, b=X)[2], Y + X)
    assert program(a=Y, b=X, x=X)[1] == ["a", "b"]
    with pytest.raises(dycl.InputError, match="order"):
        program(b=X, a=Y, x=X)


@pytest.mark.parametrize("call", [
    lambda f: f(X), lambda f: f(X, Y, Y), lambda f: f(X, Y, x=X), lambda f: f(X, z=Y), lambda f: f(X, Y, deep=True)])
def test_others_are_refused(call):
    with pytest.raises(dycl.InputError, match="positional arguments|compiled with the default"):
        call(compiled(mixed, X, Y))


def test_who_can_tell_is_called_as_in_the_example():
    """A wrapper, a hook, names that belong to places."""

    @functools.wraps(mixed)
    def wrapper(*args, **kwargs):
        return mixed(*args, **kwargs) + len(args)

    def by_place(x, /, y):
        return x - y

    class Hooked(nn.Module):
        def forward(self, x, y):
            return x - y

    hooked = Hooked()
    hooked.register_forward_pre_hook(lambda module, args: tuple(a * 2 for a in args))
    for fn in (wrapper, by_place, hooked, functools.partial(mixed)):
        program = compiled(fn, X, Y)
        torch.testing.assert_close(program(X, Y), fn(X, Y))
        with pytest.raises(dycl.InputError, match="positional arguments"):
            program(X, y=Y)
