# SPDX-License-Identifier: Apache-2.0
"""numpy.linalg over values known only at run time: numpy's answers, dtypes and errors, which a `try` may take."""

import numpy as np
import pytest
import torch

import dycl
from tests.frontend.library.numpy.test_functions import same

L = np.linalg


def definite(a):
    return a @ np.swapaxes(a, -1, -2) + np.eye(a.shape[-1], dtype=a.dtype)


def signs_aside(left, middle, right=None):
    """What vectors that are free up to their signs make."""
    return left * middle[..., None, :] @ (np.swapaxes(left, -1, -2) if right is None else right)


FUNCTIONS = {
    "systems": lambda a: (L.inv(a), L.solve(a, a[0]), L.solve(a, a[:, :2]), L.matrix_power(a, -3),
                          L.matrix_power(a, 2), L.det(a), *L.slogdet(a)),
    "positive": lambda a: (L.cholesky(definite(a)), L.cholesky(definite(a), upper=True)),
    "singular values": lambda a: (L.svd(a, compute_uv=False), L.svd(a).S, signs_aside(*L.svd(a)),
                                  signs_aside(*L.svd(a[:2], full_matrices=False)), L.svdvals(a)),
    "symmetric": lambda a: (L.eigh(a + a.T)[0], signs_aside(*L.eigh(a + a.T)[::-1]), L.eigvalsh(a, UPLO="U"),
                            L.eigh(a, "U").eigenvalues),
    "real eigenvalues": lambda a: (np.sort(L.eigvals(definite(a))), np.sort(L.eig(definite(a))[0])),
    "qr": lambda a: (*L.qr(a), *L.qr(a[:, :2], "complete"), L.qr(a, mode="r")),
    "rank": lambda a: (L.matrix_rank(a), L.matrix_rank(a, 1.5), L.matrix_rank(a[:1] * a[:, :1]),
                       L.matrix_rank(a, rtol=0.5)),
    "pseudo-inverse": lambda a: (L.pinv(a), L.pinv(a[:2]), L.pinv(a, 0.4), L.pinv(a[:, :2], rtol=None)),
    "condition": lambda a: (L.cond(a), L.cond(a, -2), L.cond(a, 1), L.cond(a, np.inf), L.cond(a, "fro"),
                            L.cond(a[:2])),
    "least squares": lambda a: (*L.lstsq(a[:, :2], a[:, 2]), *L.lstsq(a, a[:, :2], rcond=None), *L.lstsq(a[:2], a[:2]),
                                *L.lstsq(a[:, :1] * np.ones((1, 2), a.dtype), a, rcond=1e-5)),
    "norms": lambda a: (L.norm(a), L.norm(a, "fro"), L.norm(a, "nuc"), L.norm(a, 2), L.norm(a, -2), L.norm(a, 1),
                        L.norm(a, -np.inf), L.norm(a, axis=1), L.norm(a, 3, 0), L.norm(a[0], np.inf),
                        L.norm(a[0], ord=1), L.norm(a, axis=(0, 1), keepdims=True)),
    "products": lambda a: L.multi_dot((a, a, a[:, :2])),
    "batches": lambda a: (L.inv(np.stack([a, a + a])), L.det(np.stack([a, a.T])),
                          L.svd(np.stack([a, a]), compute_uv=False), L.cond(np.stack([a, a])),
                          L.matrix_rank(np.stack([a, a * 0])), L.pinv(np.stack([a, a]))),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpys_answers(name, dtype):
    def f(x):
        return FUNCTIONS[name](x.numpy())

    torch.manual_seed(0)
    inputs = [torch.randn(3, 3, dtype=dtype) + 2 * torch.eye(3, dtype=dtype) for _ in range(5)]
    program = dycl.compile(f, (inputs[0],))
    for x in inputs:
        same(program(x), f(x))


def test_integers_are_floats_of_64_bits():
    def f(x):
        a = x.numpy().astype(np.int64)
        return L.inv(a), L.det(a), L.norm(a.astype(np.float64))

    program = dycl.compile(f, (torch.tensor([[2.0, 1.0], [1.0, 3.0]]),))
    x = torch.tensor([[4.0, 1.0], [2.0, 7.0]])
    same(program(x), f(x))


# ---- what fails -------------------------------------------------------------------------------------------

EYE, NAN = torch.eye(3), torch.eye(3).index_fill(0, torch.tensor([1]), float("nan"))
ONES = torch.ones(3, 3)
FAILING = {
    "inv": (L.inv, "Singular matrix"),
    "solve": (lambda a: L.solve(a, a), "Singular matrix"),
    "power": (lambda a: L.matrix_power(a, -1), "Singular matrix"),
    "cholesky": (lambda a: L.cholesky(a - 0.5 * np.eye(3, dtype=np.float32)), "Matrix is not positive definite"),
    "svd": (lambda a: L.svd(a, compute_uv=False), "SVD did not converge"),
    "pinv": (L.pinv, "SVD did not converge"),
    "rank": (lambda a: np.array([L.matrix_rank(a)]), "SVD did not converge"),
    "eigvalsh": (L.eigvalsh, "Eigenvalues did not converge"),
    "eigvals": (L.eigvals, "infs or NaNs"),
}


def outcome(f, x):
    try:
        return f(x)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", FAILING)
def test_what_numpy_raises(name):
    function, words = FAILING[name]

    def f(x):
        return function(x.numpy())

    program = dycl.compile(f, (EYE + torch.diag(torch.arange(3.0)),), allow_raise=True)
    seen = []
    for x in (EYE * 2, ONES, ONES * 0, NAN):
        wanted, got = outcome(f, x), outcome(program, x)
        if isinstance(wanted, tuple):
            assert got == wanted
            seen.append(wanted)
        else:
            same(got, wanted)
    assert seen and all(kind is L.LinAlgError and words in text for kind, text in seen)


# Of eigvals only a run knows that no eigenvalue is complex, which no `try` of the program may take.
@pytest.mark.parametrize("name", sorted(FAILING.keys() - {"eigvals"}))
def test_a_try_takes_what_fails(name):
    def f(x):
        a = x.numpy()
        try:
            found = FAILING[name][0](a)
        except np.linalg.LinAlgError as error:
            return np.zeros(2), str(error)
        except ValueError:
            return np.ones(2), "a wrong arm"
        return found, "none"

    program = dycl.compile(f, (EYE * 3,))
    arms = set()
    for x in (EYE * 2, ONES, ONES * 0, NAN):
        wanted, got = f(x), program(x)
        same(got[0], wanted[0])
        assert got[1] == wanted[1]
        arms.add(wanted[1])
    assert len(arms) == 2


def test_shapes_that_numpy_refuses():
    def f(x):
        try:
            return L.inv(x.numpy())
        except L.LinAlgError as error:
            return str(error)

    x = torch.ones(2, 3)
    assert dycl.compile(f, (x,))(x) == f(x) == "Last 2 dimensions of the array must be square"


def test_what_is_not_finite():
    """An infinity or a NaN that numpy does not refuse goes on as in numpy."""
    def f(x):
        a = x.numpy()
        return L.inv(a), L.det(a), L.slogdet(a).logabsdet, L.norm(a), L.cond(a, 1)

    program = dycl.compile(f, (EYE * 2,))
    for x in (NAN, EYE * float("inf"), EYE * 2):
        same(program(x), f(x))


def test_complex_eigenvalues_fail():
    program = dycl.compile(lambda x: np.linalg.eigvals(x.numpy()), (EYE,))
    with pytest.raises(RuntimeError, match="complex eigenvalues"):
        program(torch.tensor([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_empty_matrices(shape):
    def f(x):
        a = x.numpy() + 1
        found = L.svd(a, compute_uv=False), L.pinv(a), L.norm(a), L.qr(a).R
        return (*found, L.inv(a), L.det(a), L.eigvalsh(a)) if shape[0] == shape[1] else found

    x = torch.zeros(shape)
    same(dycl.compile(f, (x,))(x), f(x))
