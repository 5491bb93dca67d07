# SPDX-License-Identifier: Apache-2.0
"""Attributes of dicts, lists, tuples and sets of the user's subclasses: guards of arguments, refused as states."""

import collections
import types

import pytest
import torch

import dycl
from tests.frontend.support.harness import T, refused


class Named(dict):
    pass


class Row(list):
    pass


class Pair(tuple):
    pass


def with_attributes(made, **attributes):
    made.__dict__.update(attributes)
    return made


def positive(x):
    return x.sum() > 0


@pytest.mark.parametrize("cls", [Named, Row, Pair])
def test_attributes_of_containers_are_inputs_and_guards(cls):
    def make(x, factor, shift):
        return with_attributes(cls({"x": x} if cls is Named else [x]), factor=factor, shift=shift)

    def model(given):
        x = given["x"] if cls is Named else given[0]
        return x * given.factor + given.shift if positive(x) else given.shift

    calls = [(make(T(1, 2), 2.0, T(1, 1)),), (make(T(1, 2), 2.0, T(5, 1)),), (make(T(-1, -2), 2.0, T(5, 1)),)]
    program = dycl.compile(model, calls[0])
    for call in calls:
        assert torch.equal(program(*call), model(*call))
    with pytest.raises(dycl.InputError, match="factor"):
        program(make(T(1, 2), 3.0, T(1, 1)))


@pytest.mark.parametrize("cls", [Named, Row, types.new_class("Group", (set,)),
                                 types.new_class("Ordered", (collections.OrderedDict,))])
def test_attributes_written_to_containers_from_outside(cls):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.held = cls()
            self.held.hits = 0

        def forward(self, x):
            if positive(x):
                self.held.hits += 1
            return x * self.held.hits

    refused(Model, [T(1, 2)], "attribute of a")
