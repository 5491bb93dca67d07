# SPDX-License-Identifier: Apache-2.0
"""Matrices solved, inverted and factored at run time, of any size, by the routines that eager calls."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

import dycl
from dycl.verification.compare import Policy, compare
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
    with pytest.raises(dycl.CompileError, match="torch.linalg.inv of complex64"):
        dycl.compile(lambda x: torch.view_as_real(torch.linalg.inv(torch.view_as_complex(x))), (torch.ones(2, 2, 2),))


# ---- sizes ---------------------------------------------------------------------------------------------------


def _many(a, b):
    """Of a matrix, what is unique of everything; what is free up to signs and order is multiplied out."""
    tall = a @ b.mT
    square = tall @ tall.mT + 0.5 * torch.eye(a.shape[-2], dtype=a.dtype)
    u, s, vh = torch.linalg.svd(tall, full_matrices=False)
    q, r = torch.linalg.qr(tall)
    values, vectors = torch.linalg.eigh(square)
    w, v = torch.linalg.eig(square)
    p, l, upper = torch.linalg.lu(tall)
    factor = torch.linalg.cholesky(square)
    return (s, (u * s[..., None, :]) @ vh, q @ r, values, (vectors * values[..., None, :]) @ vectors.mT, p @ l @ upper,
            factor @ factor.mT, torch.linalg.solve(square, tall), torch.linalg.inv(square),
            torch.linalg.slogdet(square), torch.linalg.lstsq(square, tall).solution,
            torch.linalg.solve_triangular(factor, tall, upper=False), torch.linalg.matrix_rank(tall),
            torch.view_as_real(w).sum(-2), torch.linalg.pinv(square), torch.linalg.matrix_exp(square / square.norm()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_extents_of_run_time(dtype):
    generator = torch.Generator().manual_seed(0)

    def pair(m, n, *batch):
        a, b = (torch.randn(*batch, k, k + 2, generator=generator, dtype=torch.float64) for k in (m, n))
        return a.to(dtype), b[..., :m + 2].to(dtype) if n >= m else torch.nn.functional.pad(b, (0, m - n)).to(dtype)

    program = dycl.compile(_many, pair(3, 4), dynamic_dims={"a": {0: "M", 1: "K"}, "b": {0: "N", 1: "K"}})
    tolerance = 2e-2 if dtype == torch.float32 else 1e-8
    for m, n in ((1, 1), (2, 5), (7, 3), (33, 33), (64, 20), (200, 200)):
        a, b = pair(m, n)
        for given, wanted in zip(program(a, b), _many(a, b)):
            torch.testing.assert_close(given, wanted, rtol=tolerance, atol=tolerance * 10)


EMPTY = {
    "inv": torch.linalg.inv, "det": torch.linalg.det, "svd": torch.linalg.svd, "qr": torch.linalg.qr,
    "eigh": torch.linalg.eigh, "cholesky": torch.linalg.cholesky, "matrix_exp": torch.linalg.matrix_exp,
    "lu": torch.linalg.lu, "pinv": torch.linalg.pinv, "slogdet": torch.linalg.slogdet,
    "solve": lambda a: torch.linalg.solve(a, a),
}


@pytest.mark.parametrize("name", EMPTY)
def test_without_elements(name):
    f = EMPTY[name]
    shapes = [(0, 0), (0, 2, 2), (2, 0, 0)]
    if name in ("svd", "qr", "lu", "pinv"):
        shapes += [(0, 3), (3, 0), (2, 0, 3)]
    for shape in shapes:
        a = torch.zeros(shape)
        got, wanted = dycl.compile(f, (a,))(a), f(a)
        assert not differences(tuple(wanted) if isinstance(wanted, tuple) else wanted,
                               tuple(got) if isinstance(got, tuple) else got, name, 0, 0)


def test_batches_of_run_time():
    program = dycl.compile(lambda a: (torch.linalg.svdvals(a), torch.linalg.inv(a)), (torch.eye(3).repeat(2, 1, 1),),
                           dynamic_dims={"a": {0: "N"}})
    for count in (1, 5, 2):
        a = torch.randn(count, 3, 3) + 4 * torch.eye(3)
        for given, wanted in zip(program(a), (torch.linalg.svdvals(a), torch.linalg.inv(a))):
            torch.testing.assert_close(given, wanted)


# ---- matrices that torch raises for, and what torch says -------------------------------------------------------

EYE, ZERO, NAN = torch.eye(3), torch.zeros(3, 3), torch.eye(3).index_fill(0, torch.tensor([1]), float("nan"))
RAISING = {
    "inv": torch.linalg.inv,
    "inverse": torch.inverse,
    "cholesky": torch.linalg.cholesky,
    "cholesky of old": torch.cholesky,
    "cholesky_inverse": torch.cholesky_inverse,
    "solve": lambda x: torch.linalg.solve(x, x),
    "lu_factor": lambda x: tuple(torch.linalg.lu_factor(x)),
    "inv_ex": lambda x: torch.linalg.inv_ex(x, check_errors=True)[0],
    "cholesky_ex": lambda x: torch.linalg.cholesky_ex(x).info,
    "matrix_power": lambda x: torch.linalg.matrix_power(x, -2),
    "ldl_factor": lambda x: tuple(torch.linalg.ldl_factor(x))[1] if x.sum() < 100 else x,
    "svdvals": torch.linalg.svdvals,
    "eigvalsh": torch.linalg.eigvalsh,
    "eig": lambda x: torch.view_as_real(torch.linalg.eig(x)[0]),
    "pinv": torch.linalg.pinv,
    "lstsq": lambda x: torch.linalg.lstsq(x, x).solution,
}


def outcome(f, x):
    try:
        return f(x)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", RAISING)
def test_what_torch_says(name):
    f = RAISING[name]
    batch = torch.stack([EYE, EYE])
    for good, bad in ((EYE, [ZERO, NAN, 2 * EYE]), (batch, [torch.stack([EYE, x]) for x in (ZERO, NAN)])):
        program = dycl.compile(f, (good,))
        for x in (good, *bad):
            if name in ("ldl_factor", "cholesky_inverse") and x.isnan().any():
                continue  # pivots of NaN; eager's library leaves some of the numbers
            assert not differences(outcome(f, x), outcome(program, x), name, 1e-5, 1e-6), x


def test_a_matrix_of_which_the_transpose_fails_elsewhere():
    x = torch.tensor([[0.0, 1.0], [0.0, 1.0]])
    for f in (torch.linalg.inv, lambda x: torch.linalg.inv(x.mT)):
        program = dycl.compile(f, (torch.eye(2),))
        assert outcome(f, x) == outcome(program, x)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["det", "slogdet", "inv", "solve", "qr", "matrix_exp", "lu", "householder"])
def test_special_values(name, bad):
    f = {"det": torch.linalg.det, "slogdet": torch.linalg.slogdet, "inv": torch.linalg.inv, "qr": torch.linalg.qr,
         "solve": lambda a: torch.linalg.solve(a, torch.ones(3)), "matrix_exp": torch.linalg.matrix_exp,
         "lu": torch.linalg.lu, "householder": lambda a: torch.linalg.householder_product(*torch.geqrf(a))}[name]
    program = dycl.compile(f, (EYE,))
    for row, column in ((0, 0), (0, 1), (1, 0), (1, 2), (2, 2)):
        x = torch.eye(3) * 2 + 0.1
        x[row, column] = bad
        wanted, given = (tuple(r) if isinstance(r, tuple) else (r,) for r in (f(x), program(x)))
        for w, g in zip(wanted, given):
            if name in ("qr", "householder"):  # eager's library computes numbers of some NaN and infinities
                assert (g.isnan() | ~w.isnan()).all(), (x, w, g)
            else:
                assert torch.equal(w.isnan(), g.isnan()), (x, w, g)


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


# ---- vectors that are free ------------------------------------------------------------------------------------


def _uses_signs(a):
    """What it computes depends on the signs of vectors."""
    s = a + a.mT
    return torch.linalg.eigh(s)[1][:, 0] * 2, torch.linalg.svd(a)[0].sum(0), torch.linalg.eig(a)[1].abs().sum(0)


@pytest.mark.parametrize("n", [3, 8, 20])
def test_verification_takes_the_vectors_that_programs_choose(n):
    torch.manual_seed(n)
    a = torch.randn(n, n, dtype=torch.float64)
    program = dycl.compile(_uses_signs, (a,))  # verifies
    program.verify([(torch.randn(n, n, dtype=torch.float64),) for _ in range(3)])


def test_verification_still_finds_what_is_wrong():
    a = torch.randn(6, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    program = dycl.compile(lambda x: torch.linalg.eigh(x + x.mT)[1], (a,))
    other = lambda x: torch.linalg.eigh(x + x.mT)[1] * 1.01  # noqa: E731
    assert compare(program, other, (a,), {}, Policy(1e-3, 1e-4))


def test_other_forms(tmp_path):
    a = torch.randn(4, 4, generator=torch.Generator().manual_seed(0)) + 4 * torch.eye(4)
    program = dycl.compile(lambda x: torch.linalg.inv(x) @ x, (a,))
    with pytest.raises(dycl.CompileError, match=r"linear algebra \(Inverse\) has no ONNX form"):
        program.emit_onnx(tmp_path / "model.onnx")
    program.save(tmp_path / "model.dycl")
    torch.testing.assert_close(dycl.load(tmp_path / "model.dycl")(a), torch.eye(4), rtol=1e-4, atol=1e-4)


def test_threads():
    """The library beneath is shared by all programs of the process."""
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn(n, n, generator=generator, dtype=torch.float64) for n in (3, 40, 70, 100)]
    programs = [dycl.compile(lambda x: (torch.linalg.svdvals(x), torch.linalg.inv(x), torch.linalg.eigvalsh(x + x.mT)),
                             (x,), threads=1) for x in inputs]
    wanted = [program(x) for program, x in zip(programs, inputs)]

    def once(k):
        program, x, expected = (found[k % len(inputs)] for found in (programs, inputs, wanted))
        return all(torch.equal(a, b) for a, b in zip(program(x), expected))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(once, range(200)))


@pytest.mark.parametrize("upper", [False, True])
def test_a_nan_in_a_cholesky_factor_stays_where_eager_leaves_it(upper):
    factor = torch.tensor([[2.0, 0, 0], [1, 3, 0], [1, 1, 2]])
    factor = factor.mT.contiguous() if upper else factor
    program = dycl.compile(lambda x: torch.cholesky_inverse(x, upper), (factor,), allow_raise=True)
    for place in range(9):
        x = factor.clone()
        x.view(-1)[place] = float("nan")
        torch.testing.assert_close(program(x), torch.cholesky_inverse(x, upper), equal_nan=True)
