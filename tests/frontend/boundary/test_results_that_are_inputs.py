# SPDX-License-Identifier: Apache-2.0
"""Results that are arguments or buffers themselves, and what a comparison of contents takes for the same."""

import math
import re
from array import array

import pytest
import torch
from torch import nn

import dycl
from dycl.calling.same_contents import same
from tests.frontend.support.harness import T, check


def written_and_returned(x, y):
    if y.sum() > 0:
        x.add_(y)
    return {"x": x, "y": y * 2, "again": [x]}


class Buffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(2))

    def forward(self, x):
        if x[0] > 0:
            self.total += x
        return self.total, self.total.clone()


def argument_or_copy(x):
    return x if x[0] > 0 else x.clone()


def only_a_copy(x):
    return (x.clone(), x * 1) if x[0] > 0 else (x.clone(), x + 0)


def test_an_argument_given_back(tmp_path):
    program = check(written_and_returned, [(T(1, 2), T(1, 1)), (T(1, 2), T(-1, -1))])
    program.save(tmp_path / "p.dycl")
    for callee in (program, dycl.load(tmp_path / "p.dycl")):
        x, y = T(1, 2), T(3, 4)
        result = callee(x, y)
        assert result["x"] is x and result["again"][0] is x and torch.equal(x, T(4, 6))


def test_a_buffer_given_back():
    check(Buffer, [(T(1, 2),), (T(-1, 2),), (T(3, 4),)])
    model = Buffer().eval()
    program = dycl.compile(model, (T(1, 2),))
    first, copied = program(T(1, 2))
    program(T(1, 2))
    assert first is model.total and torch.equal(first, T(2, 4)) and torch.equal(copied, T(1, 2))


@pytest.mark.parametrize("function", [argument_or_copy, only_a_copy])
def test_results_of_their_own(function):
    program = check(function, [(T(1, 2),), (T(-1, 2),)])
    for x in (T(1, 2), T(-1, 2)):
        found = program(x)
        for part in found if isinstance(found, tuple) else (found,):
            part.fill_(9)
        assert x[1] == 2


def scaled(x, k=1.0):
    return x * k if x[0] > 0 else torch.copysign(x, torch.tensor(k))


def test_guards_of_plain_values():
    program = dycl.compile(scaled, (T(1, 2),), {"k": 0.0})
    with pytest.raises(ValueError, match="compiled for"):
        program(T(-1, 2), k=-0.0)
    program = dycl.compile(scaled, (T(1, 2),), {"k": math.nan})
    assert program(T(1, 2), k=math.nan).isnan().all()


class Held:
    def __init__(self, value):
        self.value, self.me = value, self


def test_the_same_contents():
    nan, tensor = math.nan, T(1, math.nan)
    assert same([1, {"a": (nan, tensor)}], [1, {"a": (float("nan"), tensor.clone())}])
    assert same(Held(nan), Held(nan)) and not same(Held(1), Held(2))
    for a, b in ((0.0, -0.0), (1, True), (1, 1.0), (T(1), T(1).double()), ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
                 (nn.ReLU(), nn.ReLU()), (array("d", [1]), array("i", [1])), (array("d", [0.0]), array("d", [-0.0]))):
        assert not same(a, b)
    assert same(array("d", [nan]), array("d", [nan])) and same(re.compile("a"), re.compile("a"))


class Plain:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


def positive(x):
    return x.sum() > 0


def test_containers_among_the_arguments_are_given_back_themselves():
    def model(x, rows, o):
        o.rows = rows
        if positive(x):
            rows.append(x * 2)
            return o
        return {"rows": rows, "again": [rows, o]}

    program = dycl.compile(model, (T(1, 2), [T(0, 0)], Plain(x=T(1, 1))))
    rows, o = [T(5, 5)], Plain(x=T(1, 1))
    assert program(T(1, 2), rows, o) is o and o.rows is rows and len(rows) == 2
    rows, o = [T(5, 5)], Plain(x=T(1, 1))
    found = program(T(-1, -2), rows, o)
    assert found["rows"] is rows and found["again"][0] is rows and found["again"][1] is o and len(rows) == 1
