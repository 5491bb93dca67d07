# SPDX-License-Identifier: Apache-2.0
"""Matrices solved, inverted and factored at run time: decomposed into ops that engines have."""

import pytest
import torch

import dycl
from tests.frontend.support.compare import differences
from tests.frontend.support.harness import check


def matrices(*shape, count=4, dtype=torch.float32):
    torch.manual_seed(0)
    return [torch.randn(*shape, dtype=dtype) for _ in range(count)]


def solves(a):
    b = a[..., :2] + 1
    return torch.linalg.solve(a, b), torch.linalg.solve(a, b.mT, left=False), torch.linalg.solve(a, a[..., 0])


def inverts(a):
    return torch.linalg.inv(a), a.inverse(), torch.linalg.det(a), torch.slogdet(a), torch.linalg.lu_factor(a)


def solves_by_factors(a):
    lu, pivots = torch.linalg.lu_factor(a)
    return [torch.linalg.lu_solve(lu, pivots, a[..., :2] if left else a[..., :2].mT, left=left, adjoint=adjoint)
            for left in (True, False) for adjoint in (True, False)]


def positive(a):
    s = a @ a.mT + torch.eye(a.shape[-1], dtype=a.dtype)
    l = torch.linalg.cholesky(s)
    u = torch.linalg.cholesky(s, upper=True)
    return l, u, torch.cholesky_solve(a, l), torch.cholesky_inverse(u, upper=True)


def triangular(a):
    b = a + 1
    return [torch.linalg.solve_triangular(a.triu() if upper else a.tril(), b, upper=upper, left=left)
            for upper in (True, False) for left in (True, False)]


def factors(a):
    return torch.linalg.qr(a), torch.linalg.qr(a[..., :2], mode="complete")


@pytest.mark.parametrize("f", [solves, inverts, solves_by_factors, positive, triangular, factors])
def test_same_as_eager(f):
    check(f, matrices(2, 3, 3, dtype=torch.float64), paths=1, rtol=1e-9, atol=1e-9)


def test_single_precision():
    check(lambda a: (torch.linalg.solve(a, a[:, 0]), torch.det(a)), [m + 2 * torch.eye(4) for m in matrices(4, 4)],
          paths=1, rtol=1e-3, atol=1e-4)


def test_exchanges_are_of_run_time():
    a = torch.tensor([[0.0, 1.0], [2.0, 0.0]])
    check(lambda x: torch.linalg.solve(x, x.sum(0)), [a, torch.eye(2), a.T, torch.tensor([[1.0, 4.0], [3.0, 2.0]])],
          paths=1)


def jitter(x):
    """As libraries of Gaussian processes do: more on the diagonal until it is positive definite."""
    added = 0.0
    for k in range(4):
        l, info = torch.linalg.cholesky_ex(x + added * torch.eye(3))
        if not torch.any(info):
            return l, added
        added = 0.5 * 10 ** k
    return x, added


def test_decisions_on_info():
    check(jitter, [torch.eye(3), -0.1 * torch.eye(3), -2 * torch.eye(3), -1e6 * torch.eye(3),
                   torch.diag(torch.tensor([1.0, -4.0, 1.0]))])


@pytest.mark.parametrize("f", [torch.linalg.inv, torch.linalg.cholesky, lambda x: torch.linalg.solve(x, x)])
def test_unsuitable_matrices_raise(f):
    check(f, [torch.eye(3), torch.zeros(3, 3), torch.eye(3)], paths=1)


def test_known_matrices_are_computed_while_compiling():
    w = torch.randn(40, 40, generator=torch.Generator().manual_seed(0))
    check(lambda x: x @ torch.linalg.inv(w), matrices(2, 40), paths=1, rtol=1e-3, atol=1e-3)


def test_refusals():
    with pytest.raises(dycl.CompileError, match="more than 32 rows"):
        dycl.compile(torch.linalg.inv, (torch.eye(40),))
    with pytest.raises(dycl.CompileError, match="size is known only at run time"):
        dycl.compile(lambda x: torch.linalg.inv(x[x[:, 0] > 0] @ x[x[:, 0] > 0].T), (torch.eye(3),))


def caught(x):
    try:
        return torch.linalg.inv(x)
    except RuntimeError:
        return x


def test_caught_errors_are_refused():
    with pytest.raises(dycl.CompileError):
        dycl.compile(caught, (torch.eye(2),))


LAID_OUT = {
    "cholesky_inverse": (lambda a, b: torch.cholesky_inverse(torch.linalg.cholesky(a))),
    "cholesky_solve": (lambda a, b: torch.cholesky_solve(b, torch.linalg.cholesky(a))),
    "lu_solve": (lambda a, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b)),
    "lu_solve from the right": (lambda a, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b.mT, left=False)),
    "solve from the right": (lambda a, b: torch.linalg.solve(a, b.mT, left=False)),
    "inv": (lambda a, b: torch.linalg.inv(a)),
    "solve_triangular": (lambda a, b: torch.linalg.solve_triangular(a, b, upper=True)),
}


@pytest.mark.parametrize("name", LAID_OUT)
def test_how_results_lie_in_memory(name):
    torch.manual_seed(0)
    a, b = torch.rand(4, 4), torch.rand(4, 3)
    a = a @ a.mT + torch.eye(4)

    def model(a, b):
        if a.sum() < 0:
            return b
        x = LAID_OUT[name](a, b)
        return x, x.stride(), x.is_contiguous()

    program = dycl.compile(model, (a, b))
    for a_, b_ in ((a, b), (a * 2, b), (-a, b)):
        assert not differences(model(a_, b_), program(a_, b_), "result", 1e-4, 1e-4)


def test_logspace_with_a_base():
    program = dycl.compile(lambda a: torch.logspace(a, 2, 5, 2.0) if a > 0 else a, (torch.tensor(1.0),))
    torch.testing.assert_close(program(torch.tensor(0.5)), torch.logspace(0.5, 2, 5, 2.0))


def test_triangular_systems_of_chunks():
    def f(A, B):
        return torch.linalg.solve_triangular(A.tril(-1) * 0.1, B, upper=False, unitriangular=True) if A.sum() > 0 else B

    program = dycl.compile(f, (torch.ones(2, 64, 64), torch.randn(2, 64, 3)))
    for A in (torch.randn(2, 64, 64).abs(), -torch.ones(2, 64, 64)):
        B = torch.randn(2, 64, 3)
        torch.testing.assert_close(program(A, B), f(A, B))
