# SPDX-License-Identifier: Apache-2.0
"""scipy's functions of arrays known only at run time give scipy's answers."""

import numpy as np
import pytest
import torch

import dycl
from tests.frontend.library.numpy.test_functions import agree, same

pytest.importorskip("scipy")
import scipy.linalg  # noqa: E402
import scipy.spatial.distance  # noqa: E402
import scipy.special  # noqa: E402


def positive(a):
    b = a[:4].reshape(2, 2)
    return b @ b.T + np.eye(2, dtype=np.float32)


def torn(a):
    """Only one half of it is a matrix's."""
    return np.triu(positive(a)) + np.array([[0, 0], [7, 0]], np.float32)


FUNCTIONS = {
    "softmax": lambda a: (scipy.special.softmax(a), scipy.special.softmax(a.reshape(2, 3), axis=1),
                          scipy.special.log_softmax(a.reshape(2, 3), axis=0)),
    "sums": lambda a: (scipy.special.logsumexp(a), scipy.special.logsumexp(a.reshape(2, 3), axis=1, keepdims=True)),
    "elementwise": lambda a: (scipy.special.expit(a), scipy.special.erf(a), scipy.special.gammaln(np.abs(a) + 1)),
    "triangular": lambda a: (scipy.linalg.solve_triangular(np.tril(positive(a)), a[:2], lower=True),
                             scipy.linalg.solve_triangular(positive(a), a[:4].reshape(2, 2)),
                             scipy.linalg.solve_triangular(positive(a), a[:2], trans=1),
                             scipy.linalg.solve_triangular(positive(a), a[:2], lower=True, trans="T")),
    "factors": lambda a: (scipy.linalg.cho_factor(torn(a))[0], scipy.linalg.cho_factor(positive(a), lower=True)[0],
                          scipy.linalg.cho_solve(scipy.linalg.cho_factor(torn(a)), a[:2]),
                          scipy.linalg.cho_solve(scipy.linalg.cho_factor(positive(a), lower=True),
                                                 a[:4].reshape(2, 2))),
    "systems": lambda a: (scipy.linalg.inv(positive(a)), scipy.linalg.solve(positive(a), a[:2])),
    "distances": lambda a: tuple(scipy.spatial.distance.cdist(a.reshape(2, 3), a[:3].reshape(1, 3) * 2, metric)
                                 for metric in ("euclidean", "sqeuclidean", "cityblock", "cosine")),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_scipys_answers(name):
    agree(FUNCTIONS[name])


def test_what_is_not_finite_raises():
    def f(x):
        return scipy.linalg.inv(x.numpy())

    program = dycl.compile(f, (torch.eye(2),))
    same(program(torch.eye(2) * 2), f(torch.eye(2) * 2))
    with pytest.raises(ValueError, match="infs or NaNs"):
        program(torch.full((2, 2), float("nan")))


def test_a_matrix_whose_failure_would_be_caught_is_refused():
    def f(x):
        try:
            return scipy.linalg.inv(x.numpy())
        except np.linalg.LinAlgError:
            return x.numpy()

    with pytest.raises(dycl.CompileError, match="try"):
        dycl.compile(f, (torch.eye(2),))
