# SPDX-License-Identifier: Apache-2.0
"""scipy.linalg over arrays known only at run time: scipy's answers, dtypes and errors, which a `try` may take."""

import numpy as np
import pytest
import torch

import dycl
from tests.frontend.library.numpy.test_functions import same

S = pytest.importorskip("scipy.linalg")


def positive(a):
    return a @ a.T + np.eye(len(a), dtype=a.dtype)


def torn(a):
    """Only one half of it is a matrix's."""
    return np.triu(positive(a)) + np.array([[0, 0, 0], [7, 0, 0], [7, 7, 0]], a.dtype)


def put_together(u, s, vh):
    return u * s @ vh


FUNCTIONS = {
    "systems": lambda a: (S.inv(a), S.solve(a, a[0]), S.solve(a, a[:, :2]), S.det(a)),
    "triangular": lambda a: (S.solve_triangular(np.tril(a), a[0], lower=True), S.solve_triangular(a, a[:, :2]),
                             S.solve_triangular(a, a[0], trans=1), S.solve_triangular(a, a, trans="T", lower=True),
                             S.solve_triangular(a, a[0], unit_diagonal=True)),
    "positive": lambda a: (S.cho_factor(torn(a))[0], S.cho_factor(positive(a), lower=True)[0],
                           S.cho_solve(S.cho_factor(torn(a)), a[0]), S.cholesky(positive(a)),
                           S.cho_solve(S.cho_factor(positive(a), lower=True), a), S.cholesky(positive(a), lower=True)),
    "lu": lambda a: (*S.lu(a), *S.lu(a[:2], permute_l=True), *S.lu_factor(a), S.lu_solve(S.lu_factor(a), a[0]),
                     S.lu_solve(S.lu_factor(a), a, trans=1)),
    "qr": lambda a: (*S.qr(a), *S.qr(a[:, :2], mode="economic"), *S.qr(a[:, :2]), *S.qr(a, mode="r")),
    "spectra": lambda a: (S.svdvals(a), S.svd(a, compute_uv=False), put_together(*S.svd(a)), S.eigvalsh(a + a.T),
                          S.eigh(a, lower=False)[0], put_together(*S.svd(a[:2], full_matrices=False)),
                          put_together(*S.eigh(a + a.T)[::-1], S.eigh(a + a.T)[1].T), S.eigh(a, eigvals_only=True)),
    "functions": lambda a: (S.expm(a), S.pinv(a), S.pinv(a[:2], rtol=0.5), S.norm(a), S.norm(a, 1), S.norm(a[0]),
                            S.norm(a, np.inf), S.norm(a[0], np.inf), S.norm(a, 2)),
    "built": lambda a: (S.block_diag(a, a[:2, :1], a[0]), S.toeplitz(a[0]), S.toeplitz(a[0], a[1, :2])),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_scipys_answers(name, dtype):
    def f(x):
        return FUNCTIONS[name](x.numpy())

    torch.manual_seed(0)
    inputs = [torch.randn(3, 3, dtype=dtype) + 2 * torch.eye(3, dtype=dtype) for _ in range(4)]
    program = dycl.compile(f, (inputs[0],))
    for x in inputs:
        same(program(x), f(x))


EYE = torch.eye(3)
NAN = torch.eye(3).index_fill(0, torch.tensor([1]), float("nan"))
FAILING = {
    "inv": S.inv,
    "solve": lambda a: S.solve(a, a),
    "solve_triangular": lambda a: S.solve_triangular(a - np.array([0, 1, 0], np.float32), a),
    "cholesky": lambda a: S.cholesky(a - np.diag(np.array([0, 1.5, 0], np.float32))),
    "cho_factor": lambda a: S.cho_factor(a, lower=True)[0],
    "svdvals": S.svdvals,
    "expm of none": lambda a: S.norm(a),
}


def outcome(f, x):
    try:
        return f(x)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FAILING)
def test_what_scipy_raises(name):
    def f(x):
        return FAILING[name](x.numpy())

    program = dycl.compile(f, (EYE * 3,), allow_raise=True)
    seen = set()
    for x in (EYE * 2, EYE, torch.zeros(3, 3), NAN):
        wanted, got = outcome(f, x), outcome(program, x)
        seen.add(isinstance(wanted, tuple))
        if isinstance(wanted, tuple):
            assert got == wanted
        else:
            same(got, wanted)
    assert seen == {True, False}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FAILING)
def test_a_try_takes_what_fails(name):
    def f(x):
        a = x.numpy()
        try:
            return FAILING[name](a), "none"
        except np.linalg.LinAlgError as error:
            return a, "not regular: " + str(error)
        except ValueError as error:
            return a, "not finite: " + str(error)

    program = dycl.compile(f, (EYE * 3,))
    arms = set()
    for x in (EYE * 2, EYE, torch.zeros(3, 3), NAN):
        wanted, got = f(x), program(x)
        same(got[0], wanted[0])
        assert got[1] == wanted[1]
        arms.add(wanted[1][:11])
    assert len(arms) >= 2
