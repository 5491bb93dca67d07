# SPDX-License-Identifier: Apache-2.0
"""numpy over values known only at run time gives numpy's answers: values, dtypes, plain numbers."""

import numpy as np
import pytest
import torch

import dycl
from tests.frontend.support.harness import T, check

FUNCTIONS = {
    "argsort": lambda a: np.argsort(-a)[:3],
    "argsort rows": lambda a: np.argsort(a.reshape(2, 3), axis=1),
    "sort": lambda a: (np.sort(a), a.reshape(2, 3).argsort(axis=None)),
    "clip": lambda a: (np.clip(a, -0.5, 0.5), a.clip(0, 1)),
    "clip between numbers": lambda a: (np.clip(float(a[0]), 0.1 * float(a[1]), 2.0), np.clip(a, float(a[0]), a[1]),
                                       np.clip(int(np.argmax(a)), 1, 4),
                                       np.clip(np.argsort(a), int(np.argmax(a)), None),
                                       np.clip(a.astype(np.float64)[3], -0.25, float(a[2]))),
    "sums": lambda a: (np.cumsum(a), np.prod(a), a.reshape(3, 2).cumsum(axis=0)),
    "spread": lambda a: (np.std(a), np.var(a), a.std(ddof=1), a.reshape(2, 3).var(axis=1)),
    "shapes": lambda a: (np.expand_dims(a, 0), np.squeeze(a.reshape(1, 6)), np.transpose(a.reshape(2, 3)), np.flip(a),
                         np.ravel(a)),
    "products": lambda a: (np.dot(a, a), a.reshape(2, 3) @ a.reshape(3, 2), np.linalg.norm(a)),
    "counts": lambda a: (np.count_nonzero(a > 0), np.flatnonzero(a > 0), np.nonzero(a > 0)[0], np.argwhere(a > 0)),
    "likes": lambda a: (np.zeros_like(a), np.ones_like(a), np.unique(np.sign(a))),
    "logarithms and angles": lambda a: (np.logaddexp(a, 0.5), np.logaddexp(float(a[0]), float(a[1])),
                                        np.hypot(a, a[::-1].copy()), np.exp2(a), np.sinh(a), np.cosh(a), np.arctan(a),
                                        np.fabs(a), np.arcsin(np.tanh(a)), np.arccos(np.tanh(a)),
                                        np.logaddexp(a, -np.inf), np.hypot(3, int(np.argmax(a)))),
    "rounded": lambda a: (np.round(a, 2), np.round(a.astype(np.float64), 3), np.around(a * 1000, -2),
                          a.round(decimals=1), round(a[0], 2), round(a[1]), round(a.astype(np.float64)[2] * 100, 4),
                          round(np.argmax(a), 1), round(np.argmax(a)), round(a[3], -1),
                          type(round(a[0], 2)) is np.float32, type(round(a[0])) is int),
    "in a row": lambda a: (np.r_[a[:2], a[4:]], np.r_[a[:2], np.zeros(2, np.float32)], np.r_[np.argsort(a), a]),
    "promotion": lambda a: (np.argsort(a) * a, np.argsort(a) + np.float32(0.5), (a > 0) + np.argsort(a),
                            np.argsort(a) > a),
}
V = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),), (T(-4, -5, -6),), (T(2.5, -0.5, 1.5),)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpys_answers(name):
    agree(FUNCTIONS[name])


def agree(function):
    """The program of a function of an array gives what the function gives."""
    def f(x):
        return function(x.numpy())

    torch.manual_seed(0)
    inputs = [torch.randn(6) for _ in range(8)]
    program = dycl.compile(f, (inputs[0],))
    for x in inputs:
        same(program(x), f(x))


def same(got, wanted):
    if isinstance(wanted, tuple):
        assert type(got) is tuple and len(got) == len(wanted)
        for a, b in zip(got, wanted):
            same(a, b)
        return
    assert type(got) is type(wanted), (got, wanted)
    if isinstance(wanted, (np.ndarray, np.generic)):
        assert got.dtype == wanted.dtype and got.shape == wanted.shape, (got, wanted)
    if np.asarray(wanted).dtype == bool:
        return np.testing.assert_array_equal(got, wanted)
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_tensors_of_numpy_numbers():
    def f(x):
        a = x.numpy()
        worst = torch.as_tensor(a.min())
        worst += 1
        wide = torch.tensor(a.astype(np.float64)[1])
        return worst * 2 if a.max() > 1 else worst, wide, torch.tensor(np.argmax(a)), wide_as_int(a)

    def wide_as_int(a):
        wide, place = a.astype(np.float64)[0] * 10, np.argmax(a)
        return torch.tensor(wide, dtype=torch.int64), torch.tensor(place, dtype=torch.float32)

    torch.manual_seed(0)
    check(f, [(torch.randn(6) * s,) for s in (0.1, 4.0)])


@pytest.mark.parametrize("of", [lambda n: torch.tensor(n, dtype=torch.int64),
                                lambda n: torch.tensor([n], dtype=torch.bool)])
def test_a_single_precision_number_is_no_integer(of):
    def f(x):
        try:
            return of(x.numpy()[0])
        except TypeError:
            return x * 2 if x[1] > 0 else x

    check(f, [(T(1.5, 2),), (T(1.5, -2),)])


def test_published_style():
    """Confidences in a list, numpy in between, a decision on the largest."""
    def f(x):
        a = x.detach().cpu().numpy()
        best = np.argsort(-a)[:3]
        sure = [float(a[i]) for i in best]
        if np.max(sure) > 1:
            return x[torch.from_numpy(best.copy())] * 2
        return torch.tensor(sure)

    torch.manual_seed(0)
    inputs = [torch.randn(6) for _ in range(12)]
    program = dycl.compile(f, (inputs[0],))
    assert {bool(x.max() > 1) for x in inputs} == {True, False}
    for x in inputs:
        torch.testing.assert_close(program(x), f(x))


def test_what_differs_is_refused():
    def f(x):
        return np.argsort(x.numpy(), axis=0, kind="heapsort", order=None)

    with pytest.raises(dycl.CompileError, match="numpy.argsort with such arguments"):
        dycl.compile(f, (torch.ones(3),))


def test_tensors_of_arrays():
    def made(x, mask):
        a = torch.as_tensor(mask.numpy(), dtype=torch.bool).reshape(x.shape)
        b = torch.tensor(x.numpy() * 2)
        shared = torch.as_tensor(x.numpy())
        if a.any():
            b.add_(1)
            shared.mul_(3)
        return torch.where(a, b, -b), x

    check(made,
          [(torch.arange(4.0), torch.tensor([1, 0, 1, 0])), (torch.arange(4.0), torch.zeros(4, dtype=torch.int64))])


def test_argsort_of_equal_elements_fails():
    """In which order numpy leaves them depends on the machine, unless the sort is stable."""

    def ranked(x):
        order = np.argsort(-x[x > 0].numpy())
        return (torch.from_numpy(order), x.numpy().argsort(kind="stable").tolist()) if x.sum() > 0 else (x, [])

    program = dycl.compile(ranked, (torch.tensor([1.0, -2.0, 3.0, 0.5]),))
    for values in ([1.0, -2.0, 3.0, 0.5], [-1.0, -1.0, -1.0, 3.0], [5.0, -1.0, -1.0, -1.0], [-1.0, -1.0, -1.0, -3.0]):
        x = torch.tensor(values)
        eager, ours = ranked(x), program(x)
        assert torch.equal(eager[0], ours[0]) and eager[1] == ours[1]
    with pytest.raises(RuntimeError, match="depends on the machine"):
        program(torch.tensor([1.0, 1.0, 2.0, 3.0]))
    everything = dycl.compile(lambda x: torch.from_numpy(np.argsort(x.numpy())), (torch.tensor([1.0, -2.0, 3.0, 0.5]),))
    assert everything(torch.tensor([2.0, float("nan"), 1.0, -1.0])).tolist() == [3, 2, 0, 1]
    with pytest.raises(RuntimeError, match="depends on the machine"):
        everything(torch.tensor([2.0, float("nan"), 1.0, float("nan")]))


def test_attributes_that_arrays_do_not_have():
    """Models ask what they were given: `hasattr(x, "cpu")`."""
    names = ("cpu", "detach", "numpy", "to", "keys", "shape", "tolist", "__len__", "__array__")

    def asked(x):
        a = x.numpy()
        number = a.sum()
        y = a + 1 if x[0] > 0 else a - 1
        return [hasattr(a, name) for name in names], [hasattr(number, name) for name in names], getattr(a, "iloc", 5), y

    check(asked, [torch.tensor([1.0, 2.0]), torch.tensor([-1.0, 2.0])])
    with pytest.raises(dycl.CompileError, match="the attribute strides of a numpy array"):
        dycl.compile(lambda x: x.numpy().strides, (torch.ones(2),))


def through_numpy(x):
    array = x.numpy() * 2
    back = torch.from_numpy(array)
    return back * 2 if x.sum() > 0 else back


def test_a_run_time_array_becomes_a_tensor():
    check(through_numpy, V)


def numpy_numbers(x):
    b = np.log(x.abs().max().item())
    n = int(np.ceil(b)) + 1
    if np.maximum(b, 1) > 2:
        return x * n, np.sqrt(x.long().numpy())
    return x * n


def test_numpy_functions_of_numbers():
    check(numpy_numbers, [(T(1, 2),), (T(1, 20),), (T(0, 0.5),)])
