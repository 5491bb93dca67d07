# SPDX-License-Identifier: Apache-2.0
"""Factorisations that fail at run time raise what eager raises, and the program may catch it."""

import pytest
import torch
from torch.linalg import LinAlgError

import dycl
from tests.frontend.support.compare import differences


def by_name(x):
    try:
        return torch.linalg.cholesky(x)
    except LinAlgError:
        return x * 2


def by_attribute(x):
    try:
        return torch.linalg.cholesky(x)
    except torch.linalg.LinAlgError:
        return x * 2


def by_base(x):
    try:
        return torch.linalg.inv(x)
    except RuntimeError:
        return x * 2


def raised_anew(x):
    try:
        return torch.linalg.cholesky(x)
    except LinAlgError as error:
        raise ValueError("not positive definite") from error


def words(x):
    try:
        return torch.linalg.inv(x), "none"
    except RuntimeError as error:
        return x, str(error)


def again_with_jitter(x):
    for _ in range(4):
        try:
            return torch.linalg.cholesky(x)
        except LinAlgError:
            x = x + torch.eye(2)
    return x


def least_squares(x):
    try:
        return torch.linalg.lstsq(x, x[:, :1], driver="gels").solution
    except LinAlgError:
        return x * 2


@pytest.mark.parametrize("f", [by_name, by_attribute, by_base, words, again_with_jitter, least_squares])
def test_caught(f):
    program = dycl.compile(f, (torch.eye(2),))
    eye = torch.eye(2)
    # gels takes columns for independent; of those that are not, the last bits of the processor's sums decide
    dependent = [torch.tensor([[1.0, 2], [2, 4]])] if f is not least_squares else []
    for x in (eye * 4, -eye, torch.zeros(2, 2), -2.5 * eye, *dependent):
        assert not differences(f(x), program(x), "result", 1e-5, 1e-6), x


def test_another_error_is_not_caught():
    def f(x):
        try:
            return torch.linalg.cholesky(x)
        except KeyError:
            return x

    program = dycl.compile(f, (torch.eye(2),))
    assert torch.equal(program(torch.eye(2) * 4), torch.eye(2) * 2)
    for run in (f, program):
        with pytest.raises(LinAlgError):
            run(-torch.eye(2))


def test_raised_anew():
    program = dycl.compile(raised_anew, (torch.eye(2),))
    assert torch.equal(program(torch.eye(2) * 4), torch.eye(2) * 2)


FACTORED = {
    "cholesky": torch.linalg.cholesky,
    "cholesky_ex": lambda x: torch.linalg.cholesky_ex(x).info,
    "eigh": lambda x: torch.linalg.eigh(x).eigenvalues,
    "svd": torch.linalg.svdvals,
    "pinv": torch.linalg.pinv,
    "lstsq": lambda x: torch.linalg.lstsq(x, torch.ones(3, 1)).solution,
}
SURE_OF_NAN = ("cholesky", "cholesky_ex", "svd", "pinv")


def _tried(op):
    def f(x):
        a = x.diag()
        try:
            return op(a)
        except RuntimeError:
            return a * 2

    return f


@pytest.mark.parametrize("name", FACTORED)
def test_of_infinities_a_run_says_nothing(name):
    """Which arm eager takes depends on the library beneath."""
    bare = lambda x: FACTORED[name](x.diag())  # noqa: E731
    for f in (_tried(FACTORED[name]), bare):
        program = dycl.compile(f, (torch.ones(3),), allow_raise=True)
        for x in (torch.tensor([2.0, 0.5, 3]), torch.tensor([4.0, 1, 9])):
            assert not differences(f(x), program(x), name, 1e-5, 1e-6), x
        for x in (torch.tensor([2, float("inf"), 3]), torch.tensor([1, 1, -float("inf")])):
            with pytest.raises(LinAlgError, match="depends on the LAPACK library"):
                program(x)


@pytest.mark.parametrize("name", FACTORED)
def test_of_a_nan_in_a_try(name):
    f, x = _tried(FACTORED[name]), torch.tensor([2, float("nan"), 3])
    program = dycl.compile(f, (torch.ones(3),))
    if name in SURE_OF_NAN:
        assert not differences(f(x), program(x), name, 1e-5, 1e-6)
    else:
        with pytest.raises(LinAlgError, match="depends on the LAPACK library"):
            program(x)
