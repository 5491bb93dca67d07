# SPDX-License-Identifier: Apache-2.0
"""numpy's matrices, order statistics, sets and methods of ufuncs over values known only at run time give numpy's
answers."""

import numpy as np
import pytest
import torch

import dycl
from tests.frontend.library.numpy.test_functions import agree, same


def regular(a):
    return a[:4].reshape(2, 2) + 3 * np.eye(2, dtype=np.float32)


def with_gaps(a):
    return np.where(a > 0.5, np.float32(np.nan), a)


FUNCTIONS = {
    "diagonals": lambda a: (np.diag(a[:3]), np.diag(a.reshape(2, 3)), np.diag(a[:2], k=1),
                            a.reshape(2, 3).diagonal(), a.reshape(2, 3).trace()),
    "products": lambda a: (np.linalg.multi_dot((a.reshape(2, 3), a.reshape(3, 2), regular(a))),
                           np.einsum("ij,kj->ik", a.reshape(2, 3), a.reshape(2, 3)),
                           np.tensordot(a.reshape(2, 3), a.reshape(3, 2), 1), np.inner(a, a),
                           np.kron(a[:2], a[2:5]), np.cross(a[:3], a[3:])),
    "order": lambda a: (np.median(a), np.median(a.reshape(2, 3), axis=1), np.ptp(a), np.quantile(a, 0.3),
                        np.percentile(a, 75, axis=0), np.average(a, weights=np.abs(a) + 1), np.average(a),
                        np.cumprod(a), np.median(with_gaps(a)), np.median(np.argsort(a))),
    "order of what a run keeps": lambda a: (np.median(np.where(a > 0)[0]), np.median(np.diff(a[a > 0])),
                                            np.median(np.stack([a[a > 0], a[a > 0] * 2]), axis=1)),
    "lexsort": lambda a: np.lexsort((a, np.sign(a))),
    "bins": lambda a: (np.digitize(a, [-1.0, 0.0, 1.0]), np.digitize(a, np.array([-1.0, 0.0, 1.0]), right=True)),
    "interpolation": lambda a: (np.interp(a, [-0.5, 0.0, 1.0], [1.0, 3.0, 2.0]),
                                np.interp(0.3, np.sort(a).astype(np.float64), np.arange(6.0))),
    "steps": lambda a: np.linspace(float(a[0]), float(a[1]), 5),
    "gaps": lambda a: (np.nan_to_num(with_gaps(a)), np.nansum(with_gaps(a)), np.nanmax(with_gaps(a)),
                       np.nanmin(with_gaps(a).reshape(2, 3), axis=1), np.nanmean(with_gaps(a))),
    "closeness": lambda a: (np.isclose(a, np.round(a), atol=0.1), np.allclose(a, a), np.allclose(a, 0.0)),
    "sets": lambda a: (np.setdiff1d(np.argsort(a)[:4], np.argsort(-a)[:4]),
                       np.intersect1d(np.argsort(a)[:4], np.argsort(-a)[:4]), np.union1d(np.argsort(a)[:2], [5, 7])),
    "unique": lambda a: np.unique(np.sign(a) + (np.abs(a) > 1), return_index=True,
                                  return_inverse=True, return_counts=True),
    "unique counts": lambda a: np.unique((a > 0).astype(np.int64), return_counts=True),
    "delete": lambda a: (np.delete(a, int(np.argmax(a))), np.delete(a, np.where(a > 0)[0]),
                         np.delete(a.reshape(2, 3), [0, 2], axis=1)),
    "extract": lambda a: np.extract(a > 0, a),
    "stacks": lambda a: (np.column_stack((a[:3], a[3:])), np.dstack((a[:3], a[3:])), np.atleast_2d(a),
                         np.atleast_1d(a[0]), np.broadcast_to(a, (2, 6))),
    "parts": lambda a: tuple(np.split(a, 3)) + tuple(np.array_split(a, 4)) + tuple(np.split(a, [1, 4])),
    "rows and columns": lambda a: (np.r_[a[:2], [float(a[0]), 1.0]], np.r_[[float(a[0])], [1, 2]], np.c_[a[:3], a[3:]],
                                   np.c_[a.reshape(2, 3), a[:2]]),
    "grids": lambda a: np.meshgrid(a[:2], a[2:5]) + np.meshgrid(a[:2], a[2:5], indexing="ij"),
    "crossing": lambda a: a.reshape(2, 3)[np.ix_([1, 0], np.argsort(a[:3])[:2])],
    "turned": lambda a: (np.fliplr(a.reshape(2, 3)).copy(), np.flipud(a).copy(), np.size(a),
                         np.isscalar(a[0]), np.isscalar(a)),
    "choices": lambda a: np.select([a > 1, a > 0], [a, a * 2], 0.0),
    "reductions": lambda a: (np.add.reduce(a), np.maximum.reduce(a), np.logical_or.reduce(a > 1),
                             np.maximum.accumulate(a), np.minimum.accumulate(a), np.add.accumulate(a),
                             np.subtract.outer(a[:2], a[2:5]), np.maximum.reduce(a.reshape(2, 3), axis=1)),
    "elementwise": lambda a: (np.logical_xor(a > 0, a > 1), np.arcsinh(a), np.arctanh(np.tanh(a)), np.fmax(a, 0),
                              np.copysign(a, a[::-1].copy()), np.fmin(with_gaps(a), a), np.deg2rad(a)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpys_answers(name):
    agree(FUNCTIONS[name])


def test_places_are_added_to_as_often_as_they_are_named():
    def f(x):
        counts, sums = np.zeros(3, np.int64), np.zeros(3)
        where = x.numpy().astype(np.int64)
        np.add.at(counts, where, 1)
        np.add.at(sums, where, x.numpy())
        return counts, sums

    inputs = [torch.tensor(x) for x in ([0.5, 0.0, 2.0], [1.0, 1.0, 1.0], [0.0, 1.0, 2.0])]
    program = dycl.compile(f, (inputs[0],))
    for x in inputs:
        same(program(x), f(x))


def test_views_see_what_is_written_later():
    def f(x):
        a = x.numpy().copy()
        d, w = np.diag(a), np.broadcast_to(a, (2, 2, 2))
        a[0, 0] = 7
        return d, w

    inputs = [torch.randn(2, 2) for _ in range(3)]
    program = dycl.compile(f, (inputs[0],))
    for x in inputs:
        same(program(x), f(x))


@pytest.mark.parametrize("kind",
                         [torch.FloatTensor, torch.LongTensor, torch.DoubleTensor, torch.Tensor, torch.BoolTensor])
def test_tensors_of_arrays(kind):
    def f(x):
        a = np.array([[float(x[0]), 1.0], [2.0, float(x[1])]])
        if float(x[0]) > 0:
            a = a * 2
        return kind(a), kind(np.array([int(x[0]), 0]))

    inputs = [torch.tensor(x) for x in ([0.5, 1.7], [-3.2, 0.0], [2.6, -1.9])]
    program = dycl.compile(f, (inputs[0],))
    for x in inputs:
        for got, wanted in zip(program(x), f(x)):
            assert got.dtype == wanted.dtype
            torch.testing.assert_close(got, wanted)


def test_a_tensor_of_an_array_of_its_dtype_is_its_memory():
    def f(x):
        a = np.array([float(x[0]), float(x[1])])
        t = torch.DoubleTensor(a)
        if float(x[0]) > 0:
            a[0] = 5
        return t

    inputs = [torch.tensor(x) for x in ([0.5, 1.7], [-3.2, 0.0])]
    program = dycl.compile(f, (inputs[0],))
    for x in inputs:
        torch.testing.assert_close(program(x), f(x))


def test_weights_that_sum_to_zero():
    def f(x):
        a = x.numpy()
        return float(np.average(a, weights=a - a[0]))

    program = dycl.compile(f, (torch.tensor([1.0, 2.0, 4.0]),))
    assert program(torch.tensor([2.0, 2.0, 5.0])) == f(torch.tensor([2.0, 2.0, 5.0]))
    for call in (f, program):
        with pytest.raises(ZeroDivisionError):
            call(torch.tensor([3.0, 3.0, 3.0]))


@pytest.mark.parametrize("fn", [lambda a: np.unique(a), lambda a: np.union1d(a, a),
                                lambda a: np.unique(a, return_counts=True)[0]])
def test_several_nan_are_one_to_numpy(fn):
    def f(x):
        return torch.from_numpy(np.asarray(fn(x.numpy())))

    program = dycl.compile(f, (torch.tensor([1.0, 2.0, 1.0]),), verify=False)
    assert torch.equal(program(torch.tensor([3.0, 2.0, 3.0])), f(torch.tensor([3.0, 2.0, 3.0])))
    with pytest.raises(RuntimeError, match="several NaN"):
        program(torch.tensor([float("nan"), 2.0, float("nan")]))
