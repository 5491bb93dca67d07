# SPDX-License-Identifier: Apache-2.0
"""Faults that torch's kernels find and its rules for shapes do not, inside a `try` that takes them: each must take the
arm that it takes in eager, or be refused."""

import pytest
import torch

import dycl
from dycl.frontend.recording.inplace import CONVERT_OUT
from tests.frontend.support.harness import T, check

nn = torch.nn.functional
INPUTS = [T(2, 0.5, 3), T(-1, 2.5, 0), T(0, -1.5, 1), T(5, 3, -4), T(1, float("inf"), 100)]
BYTES = torch.tensor([1, 1, 1], dtype=torch.uint8)

# n, k: ints, f: a float, x: the tensor
KNOWN = {
    "a mask of another shape": lambda n, k, f, x: x.masked_select(torch.ones(2) > 0),
    "a mask of another rank": lambda n, k, f, x: x.masked_select(torch.ones(2, 2) > 0),
    "a mask of numbers": lambda n, k, f, x: x.masked_select(torch.ones(3)),
    "a mask of bytes": lambda n, k, f, x: x.masked_scatter(BYTES, x),
    "a mask that fits": lambda n, k, f, x: x.masked_select(torch.ones(2, 1) > 0).sum() / 2,
    "parts of two dtypes": lambda n, k, f, x: torch.complex(x, x.double()).real,
    "a table of boundaries": lambda n, k, f, x: torch.bucketize(x, x.view(1, 3)),
    "behind the memory": lambda n, k, f, x: (x * 1).as_strided((2,), (200,)),
    "all of the memory": lambda n, k, f, x: (x * 1).as_strided((2, 2), (1, 1)),
    "a negative stride": lambda n, k, f, x: (x * 1).as_strided((2,), (-1,)),
    "no rate": lambda n, k, f, x: torch.zeros(3).exponential_(0).shape,
    "no probability": lambda n, k, f, x: torch.zeros(3).geometric_(1.5).shape,
    "upside down": lambda n, k, f, x: torch.zeros(3).uniform_(2, 1).shape,
    "no deviation": lambda n, k, f, x: torch.zeros(3).normal_(0, -1).shape,
    "no samples": lambda n, k, f, x: torch.multinomial(x.abs(), 0),
}
REFUSED = {  # only the run knows
    "a mask of some shape": lambda n, k, f, x: x.masked_select(x[x > n] > 0),
    "a negative size": lambda n, k, f, x: (x * 1).as_strided((n,), (1,)),
    "a stride": lambda n, k, f, x: (x + 1).as_strided((2,), (n,)),
    "an offset": lambda n, k, f, x: (x + 1).as_strided((2,), (1,), n),
    "too few values": lambda n, k, f, x: x.masked_scatter(x > 0, x[x > 1]),
    "values of a mask": lambda n, k, f, x: x.__setitem__(x > n, torch.ones(2)),
    "integers by zero": lambda n, k, f, x: x.long() // n,
    "what is left of integers by zero": lambda n, k, f, x: x.long() % n,
    "rounded down": lambda n, k, f, x: x.long().div(x.long(), rounding_mode="floor"),
    "a byte": lambda n, k, f, x: torch.tensor(n, dtype=torch.uint8),
    "a float beyond float32": lambda n, k, f, x: torch.full((2,), f * 1e300),
    "pivots": lambda n, k, f, x: torch.linalg.lu_solve(x.diag(), x.int(), x[:, None]),
    "the most frequent of none": lambda n, k, f, x: x[:n].mode().values,
    "weights": lambda n, k, f, x: torch.multinomial(x, 1),
    "an end": lambda n, k, f, x: torch.zeros(3).uniform_(f, 1).shape,
    "a rate": lambda n, k, f, x: torch.zeros(3).exponential_(f).shape,
    "a probability": lambda n, k, f, x: torch.zeros(3).geometric_(f).shape,
    "rates": lambda n, k, f, x: torch.poisson(x),
}
FINE = {  # it cannot fail
    "integers by two": lambda n, k, f, x: x.long() // 2,
    "floats by zero": lambda n, k, f, x: x // n,
    "one value for a mask": lambda n, k, f, x: x.clone().__setitem__(x > n, 1.0),
}


def _tried(action):
    def program(x):
        n, f, k = int(x[0].item()), x[1].item(), int(x[2].item())
        try:
            return action(n, k, f, x)
        except Exception as error:
            return type(error).__name__

    return program


@pytest.mark.parametrize("name", KNOWN | FINE)
def test_the_arm_that_eager_takes(name):
    check(_tried((KNOWN | FINE)[name]), [(x,) for x in INPUTS], paths=1)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    with pytest.raises(dycl.CompileError) as caught:
        dycl.compile(_tried(REFUSED[name]), (INPUTS[0],))
    assert caught.value.kind == "try"


DTYPES = (torch.float64, torch.float16, torch.int64, torch.uint8, torch.bool)


def _into(op, dtype):
    """The op's result in a tensor of that dtype."""
    unary = op in (torch.exp, torch.log, torch.sqrt, torch.sin, torch.cos, torch.tanh, torch.sigmoid, torch.logical_not)
    return lambda n, k, f, x: op(*(x,) if unary else (x, x + 1), out=torch.zeros(3, dtype=dtype))


@pytest.mark.parametrize("name", [op.__name__ for op in CONVERT_OUT])
def test_results_in_tensors_of_another_dtype(name):
    for dtype in DTYPES:
        check(_tried(_into(getattr(torch, name), dtype)), [(x,) for x in INPUTS], paths=1)


ELSEWHERE = {  # what takes them and what does not stands in torch's kernels
    "both ends": lambda x, d: torch.aminmax(x, out=(torch.zeros((), dtype=d), torch.zeros((), dtype=d))),
    "the greatest": lambda x, d: torch.max(x, 0, out=(torch.zeros((), dtype=d), torch.zeros((), dtype=torch.int64))),
    "its place": lambda x, d: torch.argmax(x, 0, out=torch.zeros((), dtype=d)),
    "a sum": lambda x, d: torch.sum(x, 0, out=torch.zeros((), dtype=d)),
    "a product": lambda x, d: torch.mv(x.diag(), x, out=torch.zeros(3, dtype=d)),
    "a choice": lambda x, d: torch.where(x > 0, x, -x, out=torch.zeros(3, dtype=d)),
    "within bounds": lambda x, d: torch.clamp(x, 0, 1, out=torch.zeros(3, dtype=d)),
    "elements": lambda x, d: torch.gather(x, 0, torch.tensor([0]), out=torch.zeros(1, dtype=d)),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_out_of_another_dtype(name):
    op = ELSEWHERE[name]
    for dtype in (torch.float64, torch.int32):
        with pytest.raises(dycl.CompileError, match="another dtype than the result") as caught:
            dycl.compile(_tried(lambda n, k, f, x: op(x, dtype)), (INPUTS[0],))
        assert caught.value.kind == "inplace.out"


def test_out_of_the_dtype_of_the_result():
    into = lambda n, k, f, x: torch.aminmax(x, out=(torch.zeros(()), torch.zeros(())))  # noqa: E731
    check(_tried(into), [(x,) for x in INPUTS], paths=1)


def I(*values):
    return torch.tensor(values)


OUTSIDE = {  # places that are known and that the tensor does not have
    "index_select": lambda x: x.index_select(0, I(5)),
    "index_select from behind": lambda x: x.index_select(0, I(-1)),
    "gather": lambda x: x.gather(0, I(0, 5)),
    "scatter": lambda x: x.scatter(0, I(5), 1.0),
    "scatter_add_": lambda x: x.clone().scatter_add_(0, I(5), x),
    "scatter_reduce": lambda x: x.scatter_reduce(0, I(5), x, "sum"),
    "embedding": lambda x: nn.embedding(I(5), x[:, None]),
    "embedding_bag": lambda x: nn.embedding_bag(I(5)[None], x[:, None]),
    "cross_entropy": lambda x: nn.cross_entropy(x[None], I(3)),
    "nll_loss": lambda x: nn.nll_loss(x[None], I(-7)),
    "multi_margin_loss": lambda x: nn.multi_margin_loss(x[None], I(3)),
    "an index": lambda x: x[I(1, 5)],
    "two indices": lambda x: x[None][I(0), I(9)],
    "an index computed": lambda x: x[torch.arange(3) + 1],
    "index_put": lambda x: x.index_put((I(5),), torch.tensor(1.0)),
    "setitem": lambda x: x.clone().__setitem__(I(5), 1.0),
    "index_add": lambda x: x.index_add(0, I(5), x[:1]),
    "index_copy": lambda x: x.index_copy(0, I(5), x[:1]),
    "index_fill": lambda x: x.index_fill(0, I(5), 1.0),
    "take": lambda x: x.take(I(50)),
    "put_": lambda x: x.clone().put_(I(50), x[:1]),
    "of one element": lambda x: x[:1].gather(0, I(5)),
}
INSIDE = {
    "an index from behind": lambda x: x[I(-3)],
    "the classes that are ignored": lambda x: nn.cross_entropy(x[None], I(-100)),
    "take": lambda x: x[None].take(I(2)),
    "no places": lambda x: x[:0].index_select(0, I().long()),
}


@pytest.mark.parametrize("name", OUTSIDE | INSIDE)
def test_known_places_in_an_op_that_nobody_reads(name):
    """The op was left out of the program, and its error with it."""
    action = (OUTSIDE | INSIDE)[name]

    def tried(x):
        try:
            action(x)
        except (IndexError, RuntimeError) as error:
            return type(error).__name__, str(error), x
        return "fine", "", x

    assert (tried(INPUTS[0])[0] == "fine") == (name in INSIDE)
    check(tried, [(x,) for x in INPUTS], paths=1)


def test_known_places_in_an_op_that_nobody_reads_without_try():
    def on_one_side(x):
        if x[0] > 0:
            x.index_select(0, I(5))
        return x

    program = dycl.compile(on_one_side, (INPUTS[1],), allow_raise=True)
    assert torch.equal(program(INPUTS[1]), INPUTS[1])
    with pytest.raises(IndexError, match="index out of range in self"):
        program(INPUTS[0])
