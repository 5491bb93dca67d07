# SPDX-License-Identifier: Apache-2.0
"""functools.singledispatch: which function is for a class, of dispatchers made outside and inside of the model."""

import functools

import pytest
import torch

import dycl

UP, DOWN = torch.ones(2), -torch.ones(2)


@functools.singledispatch
def area(shape):
    return 0


@area.register(int)
def _(shape):
    return 1


@area.register
def _(shape: list):
    return 2


def made_outside(x):
    return x * area(3 if x[0] > 0 else [x]) + area("text")


def registered_on_one_path(x):
    @functools.singledispatch
    def kind(v):
        return 1

    found = kind(5)
    if x[0] > 0:
        kind.register(int, lambda v: 2)
        found = found + kind(1)
    return x * kind(1) + found


@pytest.mark.parametrize("model", [made_outside, registered_on_one_path], ids=lambda f: f.__name__)
def test_a_dispatcher_finds_anew(model):
    """What it found on one path is in its cache, which the other must not see."""
    program = dycl.compile(model, (UP,))
    for x in (UP, DOWN, 3 * UP):
        assert torch.equal(program(x), model(x))
