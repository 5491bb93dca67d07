# SPDX-License-Identifier: Apache-2.0
"""Kinds of objects are found by class, and a new one is one class (docs/recipes.md, "A kind of object")."""

import collections
import enum
import operator

import numpy as np
import pytest
import torch

import dycl
from dycl.frontend.state import containers, immutables
from dycl.frontend.state.contents import Cell
from dycl.frontend.state.iterators import SeqIter
from dycl.frontend.state.kind import KINDS, Kind
from dycl.frontend.state.kinds import kind_of_object
from dycl.frontend.values.equality import same_key
from dycl.frontend.values.list import RtList


class Named(list):
    pass


class Error(KeyError):
    pass


class Numbered(enum.IntEnum):
    ONE = 1


class Meta(type):
    pass


@pytest.mark.parametrize("cls, kind", [
    (list, containers.Lists), (Named, containers.Lists), (collections.Counter, containers.Dicts),
    (collections.OrderedDict, containers.OrderedDicts), (np.matrix, containers.Arrays), (Error, immutables.Exceptions),
    (type(len), immutables.NativeMethods), (Numbered, immutables.Plain), (torch.Size, immutables.Sizes),
    (torch.nn.Parameter, immutables.Tensors), (Meta, immutables.Spaces), (torch.nn.Linear, Kind),
    (type(collections.OrderedDict().items()), immutables.Views), (Cell, immutables.Own),
    (SeqIter, immutables.OwnStandIns), (RtList, immutables.RunTimeLists)])
def test_the_kind_of_a_class(cls, kind):
    assert type(kind_of_object(cls)) is kind


class Getters(immutables.Fixed):
    def fixed(self, obj):
        return obj.__reduce__()[1]

    def unified(self, union, a, b):
        if not same_key(self.fixed(a), self.fixed(b)):
            union.apart("getters of different items")
        return a


def with_getters(x):
    get = operator.itemgetter(0) if x.sum() > 0 else operator.itemgetter(0)
    other = operator.itemgetter(0) if x.sum() > 1 else operator.itemgetter(1)
    return get(x * 2), other(x)


@pytest.fixture
def kinds(monkeypatch):
    kind_of_object.cache_clear()
    yield lambda cls, kind: (monkeypatch.setitem(KINDS, cls, kind), kind_of_object.cache_clear())
    monkeypatch.undo()
    kind_of_object.cache_clear()


def test_a_kind_is_one_class(kinds):
    examples = [torch.tensor(x) for x in ([1.0, 2.0], [-1.0, 0.5], [0.25, 0.5])]

    def blocks() -> int:
        program = dycl.compile(with_getters, (examples[0],))
        for x in examples:
            assert all(map(torch.equal, program(x), with_getters(x)))
        return program.report()["blocks"]

    before = blocks()
    kinds(operator.itemgetter, Getters())
    assert blocks() < before
