# SPDX-License-Identifier: Apache-2.0
"""What eager rejects is not answered: parameters of distributions, probabilities, masks and boundaries."""

from __future__ import annotations

import math

import pytest
import torch

import dycl
from tests.frontend.support.harness import check

PARAMETERS = {
    "exponential": lambda x: x.clone().exponential_(0.0),
    "log_normal": lambda x: x.clone().log_normal_(0.0, 0.0),
    "normal": lambda x: x.clone().normal_(0.0, -1.0),
    "uniform": lambda x: x.clone().uniform_(3.0, -1.0),
    "bucketize": lambda x: torch.bucketize(x, torch.ones(2, 2)),
    "masked_scatter": lambda x: x.masked_scatter(torch.ones(5, dtype=torch.uint8), x),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_arguments_that_torch_rejects(name):
    x = torch.rand(5)
    with pytest.raises(RuntimeError):
        PARAMETERS[name](x)
    with pytest.raises((dycl.CompileError, RuntimeError)):
        dycl.compile(PARAMETERS[name], (x,), verify=False)(x)


def I(*values):
    return torch.tensor(values)


def F(*values):
    return torch.tensor(values, dtype=torch.float32)


nn = torch.nn.functional
BYTES = torch.tensor([1, 2], dtype=torch.uint8)
LU, PIVOTS = torch.linalg.lu_factor(torch.tensor([[4.0, 1, 2], [2, 5, 1], [1, 2, 6]]))
TALL = torch.tensor([[1.0], [2], [3]])


def P(*values):
    return torch.tensor(values, dtype=torch.int32)


def D(value):
    return torch.tensor(value, dtype=torch.float64)


REJECTED = {  # the function, arguments that it takes, arguments that it rejects
    "binary_cross_entropy": (nn.binary_cross_entropy, [(F(0.5, 1), F(0, 0.5))],
                             [(F(0.5, 1.5), F(0, 1)), (F(math.nan, 1), F(0, 1)), (F(0.5, 1), F(0, 2))]),
    "quantile": (torch.quantile, [(F(1, 2, 3), F(0.5, 1))],
                 [(F(1, 2, 3), F(0.5, -0.1)), (F(1, 2, 3), F(0.5, 1.01)), (F(1, 2, 3), F(0.5, math.nan))]),
    "nanquantile": (torch.nanquantile, [(F(1, 2, 3), F(0.5, 1))], [(F(1, 2, 3), F(0.5, -0.1))]),
    "histc": (lambda x: torch.histc(x, 4), [(F(1, 2, 3),)], [(F(1, math.nan, 3),), (F(1, math.inf, 3),)]),
    "embedding_bag": (lambda w, i, o: nn.embedding_bag(i, w, o),
                      [(torch.eye(4), I(0, 1, 2), I(0, 2)), (torch.eye(4), I(0, 1, 2), I(0, 3))],
                      [(torch.eye(4), I(0, 1, 2), I(1, 2)), (torch.eye(4), I(0, 1, 2), I(0, 4))]),
    "bernoulli": (lambda p: torch.bernoulli(p) * 0, [(F(0.5, 1),)], [(F(0.5, 1.5),), (F(-0.5, 1),), (F(math.nan, 1),)]),
    "normal": (lambda s: torch.normal(0.0, s) * 0, [(F(0.5, 0),)], [(F(0.5, -1),)]),
    "max_unpool": (lambda x, i: nn.max_unpool1d(x[None, None], i[None, None], 2), [(F(1, 2), I(0, 3))],
                   [(F(1, 2), I(0, -1)), (F(1, 2), I(0, 4))]),
    "multilabel_margin_loss": (nn.multilabel_margin_loss,
                               [(F(1, 2, 4), I(0, 2, 1)), (F(1, 2, 4), I(2, -1, 1)), (F(1, 2, 4), I(-1, 0, 1))],
                               [(F(1, 2, 4), I(0, 2, 3)), (F(1, 2, 4), I(0, -2, 1))]),
    "cholesky_inverse": (torch.cholesky_inverse, [(torch.eye(3),)], [(torch.zeros(3, 3),)]),
    "full of int": (lambda n: torch.full((2,), n.item(), dtype=torch.uint8), [(I(3)[0],), (I(255)[0],)],
                    [(I(256)[0],), (I(-256)[0],)]),
    "full of float": (lambda n: torch.full((2,), n.item(), dtype=torch.int64), [(F(3.5)[0],), (F(-1e9)[0],)],
                      [(F(1e30)[0],), (F(math.nan)[0],), (F(math.inf)[0],)]),
    "a byte": (lambda n: torch.tensor(n.item(), dtype=torch.uint8), [(I(3)[0],), (I(-255)[0],), (I(255)[0],)],
               [(I(256)[0],), (I(-256)[0],)]),
    "bytes": (lambda n: torch.tensor([n.item(), 1], dtype=torch.uint8), [(I(3)[0],), (I(-5)[0],)], [(I(256)[0],)]),
    "masked_fill": (lambda n: BYTES.masked_fill(BYTES > 1, n.item()), [(I(3)[0],)], [(I(300)[0],)]),
    "fill": (lambda n: BYTES.clone().fill_(n.item()), [(I(3)[0],)], [(I(300)[0],)]),
    "setitem": (lambda n: assigned(BYTES.clone(), n.item()), [(I(3)[0],)], [(I(300)[0],)]),
    "clamp": (lambda n: BYTES.clamp(max=n.item()), [(I(1)[0],)], [(I(300)[0],)]),
    "alpha": (lambda n: torch.add(BYTES, BYTES, alpha=n.item()), [(I(3)[0],)], [(I(300)[0],)]),
    "scatter": (lambda n: BYTES.scatter(0, I(1), n.item()), [(I(3)[0],)], [(I(300)[0],)]),
    "full of halves": (lambda x: torch.full((2,), x.item(), dtype=torch.float16),
                       [(F(65504.0)[0],), (F(-math.inf)[0],), (F(7.0)[0],)], [(F(1e6)[0],), (F(-7e4)[0],)]),
    "masked_fill of halves": (lambda x: torch.ones(2, dtype=torch.float16).masked_fill(BYTES > 1, x.item()),
                              [(F(3.0)[0],), (F(math.inf)[0],)], [(F(1e6)[0],)]),
    "full of floats": (lambda x: torch.full((2,), x.item() * 1e300), [(F(0)[0],), (F(1e10)[0],), (F(-math.inf)[0],)],
                       [(F(2.0)[0],), (F(-1.0)[0],)]),
    "full of doubles": (lambda x: torch.full((2,), x.item()), [(D(3e38),), (D(-math.inf),)], [(D(3.5e38),)]),
    "fill of floats": (lambda x: torch.zeros(2).fill_(x.item() * 1e300), [(F(0)[0],)], [(F(2.0)[0],)]),
    "masked_fill of floats": (lambda x: torch.zeros(2).masked_fill(BYTES > 1, x.item()), [(D(3.0),)], [(D(-1e300),)]),
    "clamp of floats": (lambda x: TALL.clamp(max=x.item()), [(D(2.0),)], [(D(1e300),)]),
    "pad of floats": (lambda x: nn.pad(TALL, (1, 1), value=x.item()), [(D(2.0),)], [(D(1e300),)]),
    "full of bfloat16": (lambda x: torch.full((2,), x.item(), dtype=torch.bfloat16).float(), [(F(2.0)[0],)],
                         [(F(3.4e38)[0],)]),
    "multiplied, which gives infinity": (lambda x: TALL * x.item(), [(D(2.0),), (D(1e300),)], []),
    "lu_solve": (lambda p: torch.linalg.lu_solve(LU, p, TALL), [(P(1, 2, 3),), (P(3, 3, 3),)],
                 [(P(0, 2, 3),), (P(1, 4, 3),), (P(1, 2, -1),)]),
    "lu_solve of many": (lambda p: torch.linalg.lu_solve(LU, p, TALL.expand(2, 3, 1)), [(P(2, 2, 3),)],
                         [(P(0, 2, 3),)]),
    "lu_unpack": (lambda p: torch.lu_unpack(LU, p)[0], [(P(2, 2, 3),)], [(P(0, 2, 3),), (P(4, 2, 3),)]),
    "ldl_solve": (lambda p: torch.linalg.ldl_solve(LU, p, TALL), [(P(1, 2, 3),)], [(P(0, 2, 3),), (P(1, 2, 4),)]),
    "add, which wraps": (lambda n: BYTES + n.item(), [(I(3)[0],), (I(300)[0],), (I(-3)[0],)], []),
    "bincount": (lambda n: torch.bincount(I(1, 1), minlength=n.item()), [(I(0)[0],), (I(3)[0],)], [(I(-1)[0],)]),
    "pad": (lambda n: nn.pad(torch.eye(3), (n.item(), 1)), [(I(2)[0],), (I(-3)[0],)], [(I(-4)[0],), (I(-5)[0],)]),
    "slice_scatter": (lambda n: torch.slice_scatter(torch.eye(3), torch.ones(1, 3), 0, n.item(), n.item() + 1),
                      [(I(2)[0],), (I(-2)[0],)], [(I(-1)[0],), (I(3)[0],), (I(-9)[0],)]),
}
SMALL, HALF = torch.tensor([5, -3], dtype=torch.int8), torch.tensor([0.5, 2.0], dtype=torch.float16)
BEYOND = {  # of numbers that a dtype cannot hold, torch takes some as errors and wraps others; classes, sizes
    "clamp": lambda x: x.clamp(0, 200), "clamp_max": lambda x: x.clamp(max=300), "clamp_": lambda x: x.clamp_(0, 200),
    "full": lambda x: torch.full((2,), 200, dtype=torch.int8) + x, "full_like": lambda x: torch.full_like(x, 200),
    "masked_fill": lambda x: x.masked_fill(x > 0, 200), "where": lambda x: torch.where(x > 0, x, 200),
    "fill_": lambda x: x.fill_(200), "setitem": lambda x: assigned(x, 200), "alpha": lambda x: x.add(x, alpha=200),
    "pow": lambda x: x**300, "pad": lambda x: nn.pad(x, (1, 1), value=300), "new_tensor": lambda x: x.new_tensor(300),
    "scatter": lambda x: x.scatter(0, I(0), 300), "add": lambda x: x + 200, "sub": lambda x: 200 - x,
    "mul": lambda x: x * 300, "remainder": lambda x: x % 200, "floor_divide": lambda x: x // 200,
    "bitwise_and": lambda x: x & 300, "isin": lambda x: torch.isin(x, 261), "add_": lambda x: x.add_(300),
    "bytes below 0": lambda x: x.to(torch.uint8).clamp(-3, 250), "bytes filled": lambda x: x.to(torch.uint8).fill_(-1),
    "fill of halves": lambda x: HALF.clone().fill_(1e6) + x,
    "masked_fill of halves": lambda x: HALF.masked_fill(x > 0, 1e6),
    "infinity in halves": lambda x: HALF.masked_fill(x > 0, -math.inf),
    "full of f32": lambda x: torch.full((2,), 1e300),
    "sum of halves": lambda x: HALF + 1e6 + x,
    "one_hot": lambda x: nn.one_hot(I(0, 5), 3), "one_hot below 0": lambda x: nn.one_hot(I(0, -5), 3),
    "one_hot of small integers": lambda x: nn.one_hot(x, 6), "embedding": lambda x: nn.embedding(I(0, 9), torch.eye(3)),
    "ones": lambda x: torch.ones(2, -3), "full of nothing": lambda x: torch.full((-1,), 2.0),
    "zeros": lambda x: torch.zeros(-2),
}


def assigned(x, number):
    x[0] = number
    return x


@pytest.mark.parametrize("name", REJECTED)
def test_values_that_torch_rejects(name):
    function, taken, rejected = REJECTED[name]

    def model(flag, *args):
        return function(*args) if flag > 0 else None

    one = torch.ones(())
    program = dycl.compile(model, (one, *taken[0]))
    assert program(-one, *(rejected or taken)[0]) is None
    for args in taken:
        torch.testing.assert_close(program(one, *args), function(*args))
    for args in rejected:
        for call in (model, program):
            with pytest.raises((RuntimeError, IndexError)):
                call(one, *args)


def test_numbers_that_fit_are_not_checked():
    """Read from a tensor of that dtype, integers, or of an op that gives infinity."""
    for function, x in [(lambda x: torch.full((2,), x.item()), F(2.0)[0]), (lambda x: TALL * (x.item() * 2), F(2.0)[0]),
                        (lambda x: torch.full((2,), float(x.item())), I(3)[0]),
                        (lambda x: TALL.clamp(max=x.item()), I(3)[0]),
                        (lambda x: torch.linalg.lu_solve(*torch.linalg.lu_factor(LU * x), TALL), F(2.0)[0])]:
        def tried(x):
            try:
                return function(x)
            except RuntimeError:
                return None

        torch.testing.assert_close(dycl.compile(tried, (x,))(x), function(x))


@pytest.mark.parametrize("name", BEYOND)
def test_numbers_that_are_known_and_too_large(name):
    def model(flag, x):
        return BEYOND[name](x.clone()) if flag > 0 else x

    check(model, [(-torch.ones(()), SMALL), (torch.ones(()), SMALL), (torch.ones(()), -SMALL)])


def test_matrices_that_torch_rejects():
    x = torch.rand(3, 3)
    for function, other in [(torch.linalg.solve, x.double()), (torch.cholesky_solve, torch.rand(4, 4)),
                            (torch.linalg.inv, None)]:
        args = (x, other) if other is not None else (x[:2],)
        for call in (function, lambda *args: dycl.compile(function, args, allow_raise=True)(*args)):
            with pytest.raises(RuntimeError):
                call(*args)
    empty = dycl.compile(lambda x: torch.linalg.inv(x) if x.sum() >= 0 else x, (torch.rand(0, 0),))
    assert empty(torch.rand(0, 0)).shape == (0, 0)
    with pytest.raises(dycl.CompileError, match="training"):
        dycl.compile(lambda x, m, v: torch.ops.aten._native_batch_norm_legit(x, None, None, m, v, True, 0.1, 1e-5)[0],
                     (x, x[0], x[1]))


def test_elements_among_others_with_nan():
    x, among = torch.tensor([1.0, math.nan, 3.0]), torch.rand(20)
    program = dycl.compile(lambda x, y: torch.isin(x, y) if x[0] > 0 else None, (x, among))
    among[3], among[7] = math.nan, 3.0
    assert program(x, among).tolist() == torch.isin(x, among).tolist() == [False, False, True]


def test_steps_between_whole_numbers():
    for function in (lambda a: torch.linspace(a, 4.7, 9, dtype=torch.int64),
                     lambda a: torch.cdist(a.expand(2, 2), torch.ones(3, 2), 0.0)):
        program = dycl.compile(lambda flag, a: function(a) if flag > 0 else None, (torch.ones(()), torch.tensor(0.5)))
        for a in (0.5, 1.7, -1.7, 1.0):
            torch.testing.assert_close(program(torch.ones(()), torch.tensor(a)), function(torch.tensor(a)))
    assert program(torch.ones(()), torch.tensor(math.nan)).isnan().all()


def drawn(x):
    return torch.multinomial(x, 1), torch.multinomial(x, 3, replacement=True), torch.multinomial(x, 2)


def test_probabilities_that_torch_rejects():
    program = dycl.compile(drawn, (torch.rand(2, 9),), verify=False)
    sure = torch.zeros(2, 9)
    sure[0, 3] = sure[1, 5] = 0.5
    one, several, _ = program(sure)
    assert one.tolist() == [[3], [5]] and several.tolist() == [[3] * 3, [5] * 3]
    for bad in (math.nan, math.inf, -1.0):
        weights = torch.rand(2, 9)
        weights[1, 2] = bad
        for function in (drawn, program):
            with pytest.raises(RuntimeError):
                function(weights)
    with pytest.raises(RuntimeError):
        program(torch.zeros(2, 9))


def test_a_keyword_of_accumulate():
    """torch.unravel_index gives itertools.accumulate its function by name."""
    x = torch.tensor([[3, 7, 39]])
    program = dycl.compile(lambda x: torch.unravel_index(x, (5, 8)), (x,))
    for got, wanted in zip(program(x), torch.unravel_index(x, (5, 8))):
        assert torch.equal(got, wanted)


def test_parts_of_another_size():
    program = dycl.compile(lambda x: torch.slice_scatter(x, x * 2, 0, 0, 5) if x.sum() > 0 else x, (torch.ones(5),),
                           dynamic_dims={"x": {0: "n"}})
    assert program(torch.ones(4)).tolist() == [2.0] * 4 and program(-torch.ones(6)).tolist() == [-1.0] * 6
    with pytest.raises((RuntimeError, ValueError)):
        program(torch.ones(6))


def test_bags_of_open_lengths():
    weight = torch.eye(6)
    program = dycl.compile(lambda i, o: nn.embedding_bag(i, weight, o, mode="sum") if i.sum() >= 0 else None,
                           (I(1, 2, 3, 4), I(0, 2, 3)), dynamic_dims={"i": {0: "n"}, "o": {0: "bags"}})
    for i, o in ((I(1, 2, 3, 4), I(0, 1, 1)), (I(3, 4, 5, 1, 2), I(0, 0)), (I(1, 2), I(0, 2))):
        assert torch.equal(program(i, o), nn.embedding_bag(i, weight, o, mode="sum"))
    for i, o in ((I(1, 2, 3, 4), I(1, 2, 3)), (I(1, 2), I(0, 1, 3))):
        with pytest.raises(RuntimeError):
            program(i, o)


@pytest.mark.parametrize("layer", [torch.nn.GRU, torch.nn.LSTM, torch.nn.RNN], ids=lambda layer: layer.__name__)
@pytest.mark.parametrize("batch_first", [True, False])
def test_sequences_without_steps_or_rows(layer, batch_first):
    layer = layer(3, 4, batch_first=batch_first)

    def model(x, keep, n):
        steps = n.item()
        return layer(x[keep, :steps] if batch_first else x[:steps, keep])[0]

    x, some, none = torch.rand(5, 5, 3), I(1, 0, 1, 1, 0) > 0, torch.zeros(5) > 0
    program = dycl.compile(model, (x, some, I(3)[0]))
    for keep, n in ((some, 1), (~some, 4), (none, 2)):
        torch.testing.assert_close(program(x, keep, I(n)[0]), model(x, keep, I(n)[0]))
    for call in (model, program):
        with pytest.raises(RuntimeError, match="Expected sequence length to be larger than 0 in RNN"):
            call(x, some, I(0)[0])


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_transposed_convolutions_of_no_extent(dims):
    layer = getattr(torch.nn, f"ConvTranspose{dims}d")(2, 2, 3)

    def model(x, keep, n):
        return layer(x[keep, :, :n.item()])

    x, some, none = torch.rand(3, 2, *[4] * dims), I(1, 0, 1) > 0, torch.zeros(3) > 0
    program = dycl.compile(model, (x, some, I(3)[0]))
    for keep, n in ((some, 1), (~some, 4), (none, 2), (none, 0)):
        torch.testing.assert_close(program(x, keep, I(n)[0]), model(x, keep, I(n)[0]))
    for call in (model, program):
        with pytest.raises(RuntimeError):
            call(x, some, I(0)[0])
