# SPDX-License-Identifier: Apache-2.0
"""Dtypes that torch's kernels reject, that only its shape functions reject, and that Python numbers get."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import dycl
from tests.frontend.support.harness import Cases, T, check

FLOATS, DOUBLES = T([[1.5, -2, 3], [0, 5, -1]]), T([[1.5, -2, 3], [0, 5, -1]], dtype=torch.float64)
INTS, BYTES = FLOATS.long(), (FLOATS > 0).to(torch.uint8)
PLACES = torch.tensor([0, 1])


def copied(x, y):
    return x.index_copy(0, PLACES, y)


def added(x, y):
    return x.index_add(0, PLACES, y)


def put(x, y):
    x = x.clone()
    x[PLACES] = y
    return x


def filled(x, y):
    return x.index_fill(0, PLACES.int(), 1.0) + y


def classified(x, y):
    return F.cross_entropy(x, y[:, 0].int())


def likelihood(x, y):
    return F.nll_loss(x, y[:, 0].int())


def selected(x, y):
    return x.masked_select(y)


def varied(x, y):
    return y.var()


def normed(x, y):
    return F.layer_norm(x, (3,), y[0])


def batch_normed(x, y):
    return F.batch_norm(x, y[0], y[0].abs())


@pytest.mark.parametrize("program, x, y", [
    (copied, INTS, FLOATS), (added, INTS, FLOATS), (added, FLOATS, DOUBLES), (put, FLOATS, DOUBLES),
    (put, FLOATS, INTS), (filled, FLOATS, FLOATS), (classified, FLOATS, INTS.abs() % 3),
    (likelihood, FLOATS, INTS.abs() % 3), (varied, FLOATS, INTS),
    (normed, FLOATS, DOUBLES), (batch_normed, FLOATS, DOUBLES)])
def test_dtypes_that_kernels_reject(program, x, y):
    """They answered."""
    with pytest.raises((RuntimeError, IndexError)):
        program(x.clone(), y.clone())
    check(program, [(x, y)], paths=1)


SAME = {  # x: integers
    "huber_loss": lambda x: F.huber_loss(x, x), "smooth_l1_loss": lambda x: F.smooth_l1_loss(x, x),
    "mse_loss": lambda x: F.mse_loss(x, x), "gelu": F.gelu, "softplus": F.softplus, "hardswish": F.hardswish,
    "glu": lambda x: F.glu(x.repeat(1, 2)), "hypot": lambda x: torch.hypot(x, x), "var": lambda x: x.var(),
    "softmax": lambda x: F.softmax(x, 0), "layer_norm": lambda x: F.layer_norm(x, (3,)),
    "heaviside of two": lambda x: torch.heaviside(x.float(), x), "cross of two": lambda x: torch.cross(x.float(), x),
    "bits of floats": lambda x: x & x.float(), "index_copy of two": lambda x: x.index_copy(0, PLACES, x.float()),
    "topk of bools": lambda x: (x > 0).topk(1), "argmax of bools": lambda x: (x > 0).argmax(),
    "grid_sample": lambda x: F.grid_sample(x.view(1, 1, 2, 3), x[:1, :2].view(1, 1, 1, 2), align_corners=False),
}
FITTING = {
    "sum of two": lambda x: x + x.float(), "one of two": lambda x: torch.where(x > 0, x, x.float()),
    "joined": lambda x: torch.cat([x, x.float()]), "relu": F.relu, "median": lambda x: x.median(),
    "sigmoid": torch.sigmoid, "product": lambda x: x @ x.T, "count": lambda x: (x > 0).sum(),
    "placed": lambda x: x.float().index_add(0, PLACES, x.float()),
}


@pytest.mark.parametrize("name", SAME | FITTING)
def test_kernels_that_torch_lacks_in_an_op_that_nobody_reads(name):
    """The op was left out of the program, or computed by its parts: the `try` took the other arm."""
    op = (SAME | FITTING)[name]

    def tried(x):
        try:
            op(x)
        except RuntimeError as error:
            return type(error).__name__, str(error), x
        return "fine", "", x

    assert (tried(INTS)[0] == "fine") == (name in FITTING)
    check(tried, [(INTS,)], paths=1)


def test_a_mask_of_bytes_raises_as_in_eager():
    check(selected, [(FLOATS, BYTES)], paths=1)


case = Cases()
ARGUMENTS = (FLOATS, -FLOATS, FLOATS * 0, FLOATS + 2)


@case(*ARGUMENTS)
def truths_subtracted(x):
    return 1 - (x > 0) if x[0, 0] > 0 else x


@case(*ARGUMENTS, values=True)
def masks_of_bytes(x):
    mask = (x > 0).to(torch.uint8)
    y = x.clone()
    y[mask[:, 0]] = torch.arange(3.0)
    return x[mask], y, x[mask[:, 0]], x[:, mask[0]]


@case(*ARGUMENTS)
def one_number_under_a_mask_of_bytes(x):
    y = x.clone()
    try:
        y[(x > 0).to(torch.uint8)] = 7 if x[0, 0] > 0 else torch.tensor(7.0)
    except RuntimeError as error:
        return str(error), bool(x[0, 0] > 0)
    return y


@case(*ARGUMENTS, values=True)
def one_number_of_another_dtype_under_a_mask(x):
    y = x.clone()
    y[x > 0] = torch.tensor(3.0, dtype=torch.float64)
    y[0] = torch.tensor(2)
    y[1, :2] = torch.tensor([4, 5])
    return y


@case(*ARGUMENTS)
def places_that_are_no_integers(x):
    try:
        return x[x[0]] if x[0, 0] > 0 else x[x[1].to(torch.int8)]
    except IndexError as error:
        return str(error), bool(x[0, 0] > 0)


@case(*ARGUMENTS, values=True)
def equal_across_dtypes(x):
    return torch.equal(x, x.double()), torch.equal(x, x.long()), torch.equal(x * 0.1, x.double() * 0.1)


test_dtypes_that_kernels_take = case.test()


def arrays_of_rows(x):
    found = [v for v in x.tolist() if v > 0]
    return (np.array(found), np.array([[v, v * 2] for v in found]), np.array([int(v) for v in found]),
            np.array([(int(v), 1) for v in found]))


def test_arrays_of_lists_of_run_time_length():
    """Rows were float32, nothing was int64."""
    check(arrays_of_rows, [T(1, -2, 3), T([-1.0]), torch.zeros(0), T([2.5])], dynamic_dims={"x": {0: "n"}},
          ranges={"n": (0, 100)})


def spaced(x):
    return (torch.arange(x[0].item(), x[0].item() + 2, 0.5), torch.arange(x[0].item(), x[1].item()),
            torch.arange(x[0].item(), 4.0))


def test_ranges_from_a_float_of_the_run():
    """They were not compiled: a difference of floats was one of ints."""
    check(spaced, [T(1, 3), T(0.3, 3.7), T(-2.5, -1), T(0, -1)], paths=1)


def positive(x):
    return x.sum() > 0


def test_complex_tensors_are_refused_with_a_place_or_a_name():
    for model, args in [(lambda z, x: z if positive(x) else z, (torch.ones(2, dtype=torch.complex64), T(1, 2))),
                        (lambda x: torch.zeros(2, dtype=torch.complex64) if positive(x) else x, (T(1, 2),))]:
        with pytest.raises(dycl.CompileError, match="complex"):
            dycl.compile(model, args)
