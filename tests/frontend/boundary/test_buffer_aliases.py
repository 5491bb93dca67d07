# SPDX-License-Identifier: Apache-2.0
"""A buffer that is written in place and left under a second name: later calls change what that name holds."""

import pytest
import torch
from torch import nn

import dycl

INPUTS = [torch.ones(4), torch.full((4,), -2.0), torch.full((4,), 3.0), -torch.ones(4), torch.zeros(4)]


class Model(nn.Module):
    def __init__(self, first=None):
        super().__init__()
        self.register_buffer("buf", torch.zeros(4))
        self.last = first
        self.kept = []


class SecondName(Model):
    def forward(self, x):
        self.buf.copy_(x)
        if x.sum() > 0:
            self.last = self.buf
        return self.buf.clone() + 1


class SecondNameAlways(Model):
    def forward(self, x):
        self.buf.add_(x)
        self.last = self.buf
        return x if x.sum() > 0 else x * 2


class View(Model):
    def forward(self, x):
        self.buf.copy_(x)
        if x.sum() > 0:
            self.last = self.buf[1:]
        return x + 1


class ReadBack(Model):
    def forward(self, x):
        self.buf.copy_(x)
        y = x if self.last is None else self.last + x
        if x.sum() > 0:
            self.last = self.buf
        return y


class OneOfTwo(Model):
    def forward(self, x):
        self.buf.copy_(x)
        self.last = self.buf if x.sum() > 0 else x * 2
        return x + 1


class InAList(Model):
    def forward(self, x):
        self.buf.copy_(x)
        self.kept = [self.buf] if x.sum() > 0 else [x * 2]
        return x + 1


class Clone(Model):
    def forward(self, x):
        self.buf.copy_(x)
        self.last = self.buf.clone() if x.sum() > 0 else self.buf * 2
        return x + 1


CASES = [(cls, first) for cls in (SecondName, SecondNameAlways, View, ReadBack, OneOfTwo, InAList, Clone)
         for first in (None, torch.zeros(4))]


@pytest.mark.parametrize("cls, first", CASES, ids=lambda c: getattr(c, "__name__", "none" if c is None else "tensor"))
@pytest.mark.parametrize("example", [0, 1])
def test_a_second_name_of_a_buffer_follows_it_or_is_refused(cls, first, example):
    def make():
        return cls(None if first is None else first.clone())

    model, eager = make(), make()
    try:
        program = dycl.compile(model, (INPUTS[example],))
    except dycl.CompileError as problem:
        assert "verification" not in str(problem) and problem.kind != "internal"
        assert cls is not Clone and cls is not SecondNameAlways
        return
    for x in INPUTS:
        assert torch.equal(program(x), eager(x))
        assert torch.equal(model.buf, eager.buf)
        assert (model.last is None) == (eager.last is None)
        if eager.last is not None:
            assert torch.equal(model.last, eager.last)
        assert len(model.kept) == len(eager.kept) and all(map(torch.equal, model.kept, eager.kept))


class OfItsClass(nn.Module):
    scale = 2.0

    def forward(self, x):
        y = x * self.scale
        if x.sum() > 0:
            self.scale = 3.0
        return y


@pytest.mark.parametrize("example", [0, 1])
def test_an_attribute_of_the_class_until_a_path_sets_it(example):
    model, eager = OfItsClass(), OfItsClass()
    program = dycl.compile(model, (INPUTS[example],))
    for x in (INPUTS[1], INPUTS[0], INPUTS[3]):
        assert torch.equal(program(x), eager(x))
        assert model.scale == eager.scale and ("scale" in vars(model)) == ("scale" in vars(eager))
