# SPDX-License-Identifier: Apache-2.0
"""What a call must pass to match the example: keys, attributes, types of numbers, deques, default factories."""

from __future__ import annotations

import collections
import dataclasses
import enum

import numpy as np
import pytest
import torch

import dycl
from tests.frontend.support.harness import T, check


class Plain:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


def positive(x):
    return x.sum() > 0


def test_an_attribute_that_was_asked_for_in_vain():
    def model(o):
        if hasattr(o, "mask"):
            return o.x * o.mask
        return o.x if positive(o.x) else -o.x

    program = dycl.compile(model, (Plain(x=T(1, 2)),))
    assert torch.equal(program(Plain(x=T(-1, -2), other=1)), T(1, 2))  # nobody asks for `other`
    with pytest.raises(dycl.InputError, match="other attributes"):
        program(Plain(x=T(1, 2), mask=2))
    with pytest.raises(dycl.InputError, match="no attribute x"):
        program(Plain())


def test_the_order_of_attributes_that_are_looked_at_together():
    def model(o):
        first = list(vars(o).values())[0]
        return first if positive(first) else -first

    program = dycl.compile(model, (Plain(x=T(1, 2), y=T(3, 4)),))
    assert torch.equal(program(Plain(x=T(-1, -2), y=T(3, 4))), T(1, 2))
    with pytest.raises(dycl.InputError, match="other attributes"):
        program(Plain(y=T(3, 4), x=T(1, 2)))


@dataclasses.dataclass(slots=True)
class Slotted:
    x: torch.Tensor
    factor: int = 2
    last: object = None


def test_objects_with_slots():
    def model(o):
        if positive(o.x):
            o.last = o.x * o.factor
            return o.last
        return -o.x

    program = dycl.compile(model, (Slotted(T(1, 2)),))
    given = Slotted(T(3, 4))
    assert torch.equal(program(given), T(6, 8)) and torch.equal(given.last, T(6, 8))
    given = Slotted(T(-3, 1))
    assert torch.equal(program(given), T(3, -1)) and given.last is None
    with pytest.raises(dycl.InputError, match="factor"):
        program(Slotted(T(1, 2), 3))


def test_deques():
    def model(steps):
        total = T(0.0, 0.0)
        for x in steps:
            total = total + x if positive(x) else total
        return total

    inputs = [collections.deque([T(*a), T(*b)], maxlen=3)
              for a, b in [((1, 2), (3, 4)), ((-1, -2), (3, 4)), ((-1, -2), (-3, 4.5))]]
    check(model, inputs)
    with pytest.raises(dycl.InputError, match="maxlen"):
        dycl.compile(model, (inputs[0],))(collections.deque(inputs[0], maxlen=2))


def test_an_array_changed_in_place_between_calls():
    scale = np.array([1.0, 2.0])
    program = dycl.compile(lambda a, x: x * float(a[0]) if positive(x) else x, (scale, T(1, 2)))
    assert torch.equal(program(scale, T(1, 2)), T(1, 2))
    scale[0] = 5.0
    with pytest.raises(dycl.InputError, match="another object"):
        program(scale, T(1, 2))


class Kind(enum.IntEnum):
    A = 1
    B = 2


@pytest.mark.parametrize("value, other",
                         [(np.float64(2.0), np.float64(3.0)), (Kind.A, Kind.B), (Kind.A, 1), (2.5, np.float64(2.5))])
def test_numbers_of_other_classes(value, other):
    program = dycl.compile(lambda v, x: x * v if positive(x) else x, (value, T(1, 2)))
    assert torch.equal(program(value, T(1, 2)), T(1, 2) * value)
    with pytest.raises(dycl.InputError):
        program(other, T(1, 2))


def test_factories_of_defaultdicts():
    def given(factory):
        return collections.defaultdict(factory, x=T(1, 2))

    program = dycl.compile(lambda d: d["x"] + d["missing"] if positive(d["x"]) else d["x"], (given(int),))
    assert torch.equal(program(given(int)), T(1, 2))
    with pytest.raises(dycl.InputError, match="default_factory"):
        program(given(lambda: 3))


def test_arguments_that_cannot_be_taken():
    with pytest.raises(dycl.CompileError, match="iterator"):
        dycl.compile(lambda it, x: x * next(it), (iter([1.0, 2.0]), T(1, 2)))
    program = dycl.compile(lambda x: x if positive(x) else -x, (T(1, 2),))
    for x in (T(1, 2).to_sparse(), T(1, 2).to("meta")):
        with pytest.raises(dycl.InputError, match="dense"):
            program(x)


def test_keys_of_another_type():
    def model(key, d):
        return d[1] if positive(d[1]) else -d[1]

    program = dycl.compile(model, (0, {1: T(1, 2)}))
    with pytest.raises(dycl.InputError, match="keys"):
        program(0, {True: T(1, 2)})


def test_parameters_among_the_arguments():
    def model(x):
        return (x * 2 if isinstance(x, torch.nn.Parameter) else x * 3) if positive(x) else -x

    parameter = torch.nn.Parameter(T(1, 2))
    for given, other in ((T(1, 2), parameter), (parameter, T(1, 2))):
        program = dycl.compile(model, (given,))
        assert torch.equal(program(given), model(given))
        with pytest.raises(dycl.InputError, match="nn.Parameter"):
            program(other)
    unasked = dycl.compile(lambda x: x if positive(x) else -x, (T(1, 2),))
    assert torch.equal(unasked(parameter), T(1, 2))
