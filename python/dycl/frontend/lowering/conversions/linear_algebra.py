# SPDX-License-Identifier: Apache-2.0
"""Factorisations, systems and spectra: ops of our own in the domain "linalg", which call LAPACK as torch does.

What torch composes of several is taken apart before (recording/linear_algebra.py): batches are alike here, and what
fails is said by `info`.
"""

from __future__ import annotations

from ...graph import linear_algebra_ops as ops
from ..registry import CONVERSIONS, converts
from ..tape import ConversionError


def _op(t, name, *operands, n=1, **options):
    for x in operands:
        if x.rank < 1 or x.is_float and x.dims is None:
            raise ConversionError("matrices of an unknown rank")
    return t.op(f"linalg.{name}", *operands, n=n, **{k: int(v) for k, v in options.items()})


def _ours(target):
    def register(function):
        CONVERSIONS[target] = function
        return function

    return register


# ---- LU ------------------------------------------------------------------------------------------------------


@converts("linalg_lu_factor_ex")
def lu_factor_ex(t, A, *, pivot=True, check_errors=False):
    if not pivot:
        raise ConversionError("without pivots")
    return _op(t, "LuFactor", A, n=3)


@converts("lu_unpack")
def lu_unpack(t, LU_data, LU_pivots, unpack_data=True, unpack_pivots=True):
    P, L, U = _op(t, "LuUnpack", LU_data, LU_pivots, n=3)
    empty = t.constant([], LU_data.torch_dtype)
    return [P if unpack_pivots else empty, *((L, U) if unpack_data else (empty, empty))]


@converts("linalg_lu_solve")
def lu_solve(t, LU, pivots, B, *, left=True, adjoint=False):
    return _op(t, "LuSolve", LU, pivots, B, left=left, adjoint=adjoint)


@_ours(ops.SOLVE)
def solve(t, A, B, left):
    return _op(t, "Solve", A, B, n=2, left=left)


@_ours(ops.INVERSE)
def inverse(t, A):
    return _op(t, "Inverse", A, n=2)


@_ours(ops.DET)
def det(t, A, transposed):
    return _op(t, "Det", A, n=3, adjoint=transposed)


# ---- triangular systems and Cholesky -------------------------------------------------------------------------


@converts("linalg_solve_triangular")
def solve_triangular(t, A, B, *, upper, left=True, unitriangular=False):
    return _op(t, "SolveTriangular", A, B, upper=upper, left=left, unit=unitriangular)


@converts("linalg_cholesky_ex")
def cholesky_ex(t, A, *, upper=False, check_errors=False):
    return _op(t, "Cholesky", A, n=2, upper=upper)


@converts("cholesky_solve")
def cholesky_solve(t, B, L, upper=False):
    return _op(t, "CholeskySolve", B, L, upper=upper)


@_ours(ops.CHOLESKY_INVERSE)
def cholesky_inverse(t, L, upper):
    return _op(t, "CholeskyInverse", L, n=2, upper=upper)


@converts("linalg_ldl_factor_ex")
def ldl_factor_ex(t, A, *, hermitian=False, check_errors=False):
    return _op(t, "LdlFactor", A, n=3)


@converts("linalg_ldl_solve")
def ldl_solve(t, LD, pivots, B, *, hermitian=False):
    return _op(t, "LdlSolve", LD, pivots, B)


# ---- QR -------------------------------------------------------------------------------------------------------


@converts("linalg_qr")
def qr(t, A, mode="reduced"):
    modes = ("reduced", "complete", "r")
    return _op(t, "Qr", A, n=2, mode=modes.index(mode))


@_ours(ops.GEQRF)
def geqrf(t, A):
    return _op(t, "Geqrf", A, n=2)


@converts("linalg_householder_product")
def householder_product(t, input, tau):
    return _op(t, "HouseholderProduct", input, tau)


@converts("ormqr")
def ormqr(t, self, input2, input3, left=True, transpose=False):
    return _op(t, "Ormqr", self, input2, input3, left=left, adjoint=transpose)


# ---- spectra, least squares, exponential ------------------------------------------------------------------------


@_ours(ops.SVD)
def svd(t, A, vectors):
    return _op(t, "Svd", A, n=4, vectors=vectors)


@_ours(ops.EIGH)
def eigh(t, A, upper, vectors):
    return _op(t, "Eigh", A, n=3, upper=upper, vectors=vectors)


@_ours(ops.EIG)
def eig(t, A, vectors):
    return _op(t, "Eig", A, n=3, vectors=vectors)


@_ours(ops.LSTSQ)
def lstsq(t, A, B, rcond, driver):
    return _op(t, "LeastSquares", A, B, rcond, n=5, driver=driver)


@converts("linalg_matrix_exp")
def matrix_exp(t, self):
    return _op(t, "MatrixExp", self)


@_ours(ops.FIRST_FAILURE)
def first_failure(t, info):
    return t.op("linalg.FirstFailure", info, n=2)
