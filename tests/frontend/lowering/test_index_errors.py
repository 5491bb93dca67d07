# SPDX-License-Identifier: Apache-2.0
"""Indices that torch rejects are rejected by the program too, as the same kind of exception; indices that cannot be
negative cost nothing."""

import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import dycl
from dycl.frontend.values import tensor
from tests.frontend.support.harness import I, T, check, refused

X = torch.arange(12.0).reshape(4, 3)


def row(*numbers):
    return I(*numbers)[None]


ROWS = [(X, I(0, 3)), (X, I(-1, 0)), (X, I(4, 0)), (X, I(-5, 0))]
CELLS = [(X, row(0, 3, 1)), (X, row(-1, 0, 0)), (X, row(4, 0, 0)), (X, row(-5, 0, 0))]
FLAT = [(X, I(0, 11)), (X, I(-1, 0)), (X, I(12, 0)), (X, I(-13, 0))]
TARGETS = [(X, I(0, 2, 1, 1)), (X, I(-1, 0, 2, 2)), (X, I(3, 0, 0, 0)), (X, I(-100, 0, 2, 2))]
REPEATS = [(X, I(0, 3, 1, 1)), (X, I(-1, 0, 2, 2)), (X, I(4, 0, 0, 0)), (X, I(-1, -1, 1, 1))]

PROGRAMS = {
    "index_select": (lambda x, i: x.index_select(0, i), ROWS),
    "index_select of int32": (lambda x, i: x.index_select(0, i.int()), ROWS),
    "embedding": (lambda x, i: F.embedding(i, x), ROWS),
    "embedding of int32": (lambda x, i: F.embedding(i.int(), x), ROWS),
    "getitem": (lambda x, i: x[i], ROWS),
    "getitem of two": (lambda x, i: x[i, i], ROWS),
    "index_put": (lambda x, i: x.index_put((i,), torch.tensor(9.0)), ROWS),
    "index_add": (lambda x, i: x.index_add(0, i, x[:2]), ROWS),
    "index_copy": (lambda x, i: x.index_copy(0, i, x[:2]), ROWS),
    "index_fill": (lambda x, i: x.index_fill(0, i, 5.0), ROWS),
    "one_hot": (lambda x, i: F.one_hot(i, 4), ROWS),
    "one_hot of cells": (lambda x, i: F.one_hot(i, 4), CELLS),
    "one_hot of open length": (lambda x, i: F.one_hot(i), ROWS),
    "bincount": (lambda x, i: torch.bincount(i), ROWS),
    "bincount of minlength": (lambda x, i: torch.bincount(i, minlength=5), ROWS),
    "select": (lambda x, i: x[i[0].item()], ROWS),
    "gather": (lambda x, i: x.gather(0, i), CELLS),
    "scatter of a number": (lambda x, i: x.scatter(0, i, 7.0), CELLS),
    "scatter": (lambda x, i: x.scatter(0, i, x), CELLS),
    "scatter_": (lambda x, i: x.scatter_(0, i, 1.0, reduce="add"), CELLS),
    "scatter_add": (lambda x, i: x.scatter_add(0, i, x), CELLS),
    "scatter_reduce": (lambda x, i: x.scatter_reduce(0, i, x, "amax"), CELLS),
    "scatter_reduce of mean": (lambda x, i: x.scatter_reduce(0, i, x, "mean", include_self=False), CELLS),
    "take_along_dim": (lambda x, i: torch.take_along_dim(x, i, 0), CELLS),
    "take_along_dim of all": (lambda x, i: torch.take_along_dim(x, i), FLAT),
    "take": (lambda x, i: x.take(i), FLAT),
    "put": (lambda x, i: x.put(i, X[0, :2]), FLAT),
    "put in place": (lambda x, i: x.clone().put_(i, X[0, 1:], accumulate=True), FLAT),
    "repeat_interleave": (lambda x, i: torch.repeat_interleave(x, i, 0), REPEATS),
    "repeat_interleave of counts": (lambda x, i: torch.repeat_interleave(i), REPEATS),
    "nll_loss": (lambda x, i: F.nll_loss(x, i), TARGETS),
    "cross_entropy": (lambda x, i: F.cross_entropy(x, i, label_smoothing=0.1, reduction="none"), TARGETS),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_index_that_torch_rejects(name):
    program, inputs = PROGRAMS[name]
    check(program, inputs, paths=1)


def written(write):
    def program(x, n):
        if n > 100:
            return x
        x = x.clone()
        write(x, n)
        return x

    return program


WRITES = {
    "a row by a tensor": lambda x, n: x.__setitem__(n, 9.0),
    "a row by a number": lambda x, n: x.__setitem__(int(n), 9.0),
    "a column": lambda x, n: x.__setitem__((slice(None), n), 9.0),
    "a cell": lambda x, n: x.__setitem__((int(n), n), 9.0),
    "a part of a row": lambda x, n: x[:, 1:][n].zero_(),
    "a row in place": lambda x, n: x[int(n)].mul_(2),
    "select": lambda x, n: x.select(1, int(n)).fill_(7),
    "select_scatter": lambda x, n: x.copy_(torch.select_scatter(x, torch.zeros(3), 0, int(n))),
    "several rows": lambda x, n: x.__setitem__(n[None], 9.0),
}


@pytest.mark.parametrize("dynamic_dims", [None, {"x": {0: "rows"}}], ids=["fixed", "open"])
@pytest.mark.parametrize("name", WRITES)
def test_a_place_to_write_is_counted_from_the_end_once(name, dynamic_dims):
    """-5 of 4 rows is not -1."""
    inputs = [(X, torch.tensor(n)) for n in (1, 0, 2, 3, 4, 8, -1, -3, -4, -5, -6, -7, -8, -9)]
    check(written(WRITES[name]), inputs, paths=1, dynamic_dims=dynamic_dims)


def test_an_exception_fits_both_where_it_may_be_either():
    def program(x, i, j):
        return x.index_add(0, i, x[:2]).index_put((j,), torch.tensor(0.0))

    compiled = dycl.compile(program, (X, I(0, 1), I(0, 1)))
    for bad in ((X, I(4, 0), I(0, 1)), (X, I(0, 1), I(4, 0))):
        with pytest.raises(IndexError) as caught:
            compiled(*bad)
        assert isinstance(caught.value, RuntimeError) and caught.value.__cause__ is not None


def test_a_saved_program_raises_the_same(tmp_path):
    dycl.compile(lambda x, i: x.index_select(0, i), (X, I(0, 1))).save(tmp_path / "p.dycl")
    with pytest.raises(IndexError, match="out of range"):
        dycl.load(tmp_path / "p.dycl")(X, I(-1, 0))


# ---- what an index costs --------------------------------------------------------------------------


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.place, self.head = nn.Embedding(7, 4), nn.Embedding(9, 4), nn.Linear(4, 7)

    def forward(self, x):
        token, out = self.head(x).argmax(-1), []
        while len(out) < 8 and token.item() != 0:
            h = self.embed(token) + self.place(torch.tensor(len(out)))
            token = self.head(torch.tanh(h + x)).argmax(-1)
            out.append(token)
        return token, len(out)


def checks_of(program, *inputs):
    return len(re.findall(r"\bBitwiseAnd\b", dycl.compile(program, inputs).ir_text))


def test_a_decode_loop_pays_nothing():
    torch.manual_seed(3)
    assert checks_of(Decoder().eval(), torch.randn(4)) == 0


NEVER_NEGATIVE = [
    lambda x, i: X.index_select(0, x.argmax(0)),
    lambda x, i: X.index_select(0, x.topk(2, 0)[1][0]),
    lambda x, i: X.index_select(0, x.sort(0)[1][:, 0] % 4),
    lambda x, i: X.index_select(0, (x[:, 0] > 1).nonzero()[:, 0]),
    lambda x, i: X.index_select(0, i.clamp(min=0)),
    lambda x, i: X.index_select(0, i.clamp(0, 3)),
    lambda x, i: X.index_select(0, i % 4),
    lambda x, i: X.index_select(0, torch.arange(x.shape[0])),
    lambda x, i: X.index_select(0, torch.cat([x.argmax(0), torch.tensor([1])])),
    lambda x, i: X.index_select(0, (x[:, 0] > 3).int()),
    lambda x, i: X.gather(0, x.max(0, keepdim=True)[1]),
]
PERHAPS_NEGATIVE = [
    lambda x, i: X.index_select(0, i),
    lambda x, i: X.index_select(0, x.argmax(0) - 1),
    lambda x, i: X.index_select(0, i.clamp(max=3)),
    lambda x, i: X.index_select(0, torch.minimum(i, x.argmax(0)[:2])),
    lambda x, i: X.index_select(0, torch.min(x.argmax(0)[:2], i)),
    lambda x, i: X.index_select(0, torch.where(i > 2, i, 0)),
    lambda x, i: X.index_select(0, i.clamp(0, 2**40).int()),
    lambda x, i: X.index_select(0, x[:, 0].long()),
    lambda x, i: X.index_select(0, i % i),
    lambda x, i: X.index_select(0, torch.arange(-1, x.shape[0] - 1)),
]


@pytest.mark.parametrize("k", range(len(NEVER_NEGATIVE)))
def test_an_index_that_is_never_negative_is_not_checked(k):
    assert checks_of(NEVER_NEGATIVE[k], X / 4, I(1, 2)) == 0


@pytest.mark.parametrize("k", range(len(PERHAPS_NEGATIVE)))
def test_an_index_that_may_be_negative_is_checked(k):
    assert checks_of(PERHAPS_NEGATIVE[k], X / 4 + 1 if k != 7 else X / 4, I(1, 2)) == 1 if k != 9 else True


def counting(x):
    """The index leaves 0 behind in a loop and goes below it."""
    i, total = x.argmax(), torch.zeros(())
    while total < 3:
        total = total + X.index_select(0, i.reshape(1)).sum() * 0 + 1
        i = i - 1
    return i


def test_an_index_that_becomes_negative_in_a_loop():
    check(counting, [(torch.tensor([0.0, 1, 2, 3]),), (torch.tensor([0.0, 3, 1, 2]),)])


# ---- and inside try -------------------------------------------------------------------------------


CATCHING = {
    "index_select": lambda x, i: x.index_select(0, i),
    "embedding": lambda x, i: F.embedding(i, x),
    "take": lambda x, i: torch.take(x, i),
    "put": lambda x, i: torch.put(x, i, x[0, :2]),
    "scatter_reduce": lambda x, i: x.scatter_reduce(0, i[None], x, "sum"),
    "repeat_interleave": lambda x, i: torch.repeat_interleave(x[:2], i, 0),
    "repeat_interleave of counts": lambda x, i: torch.repeat_interleave(i),
    "index_select by name": lambda x, i: x.index_select(0, index=i),
    "nll_loss": lambda x, i: F.nll_loss(x[:2], i),
    "cross_entropy": lambda x, i: F.cross_entropy(x[:2], i),
    "one_hot": lambda x, i: F.one_hot(i, 3),
    "bincount": lambda x, i: torch.bincount(i),
    "getitem": lambda x, i: x[i],
    "setitem": lambda x, i: x.index_put_((i,), torch.tensor(1.0)),
    "index_copy": lambda x, i: x.index_copy(0, i, x[:2]),
}


@pytest.mark.parametrize("name", CATCHING)
def test_a_failing_index_inside_try_is_refused(name):
    act = CATCHING[name]

    def program(x, i):
        try:
            return act(x, i)
        except (IndexError, RuntimeError):
            return x * 0

    refused(program, [(X, I(0, 1)), (X, I(9, 9))], "may fail at run time")


def test_a_range_with_a_run_time_bound_as_an_index():
    def f(x):
        n = int((x > 0).sum())
        y = x.reshape(2, -1).clone()
        z = y[:, range(1, n)]
        y[0, range(n)] = 7.0
        return z, y, x[range(n)], x[range(n, 0, -1)], x[range(0, n, 2)]

    check(f, [(T(1.0, -1.0, 1.0, -1.0, 2.0, -3.0),), (T(1.0, -1.0, -1.0, -1.0, -2.0, -3.0),),
              (T(-1.0, -1.0, -1.0, -1.0, -2.0, -3.0),)],
          by_result=True)


def test_a_stand_in_that_torch_does_not_take_is_no_exception_of_the_model(monkeypatch):
    monkeypatch.setattr(tensor, "subscript", lambda m, key: key)
    with pytest.raises(dycl.CompileError):
        dycl.compile(lambda x: x[range(int(x.sum()))], (torch.ones(3),), verify=False)


def test_names_that_the_compiler_lacks_are_no_exception_of_the_model(monkeypatch):
    def f(x):
        try:
            return x[range(int(x.sum()))]
        except (AttributeError, NameError):
            return x

    for broken in (lambda m, key: tensor.no_such_thing(key), tensor.subscript):
        monkeypatch.setattr(tensor, "subscript", broken)
        with pytest.raises(dycl.CompileError, match="no attribute|not defined"):
            dycl.compile(f, (torch.ones(3),), verify=False)
        monkeypatch.undo()
        monkeypatch.delattr(tensor, "stand_in_of")
