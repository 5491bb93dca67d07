# SPDX-License-Identifier: Apache-2.0
"""Linear algebra taken apart while recording, as torch's own code composes it of single factorisations.

What is left are nodes whose kernels are ours (lowering/conversions/linear_algebra.py): torch's ops where they give
`info` instead of raising, and those of graph/linear_algebra_ops.py. `info` is what LAPACK says of a matrix: 0, or the
number of the step that failed; what torch makes of it, an exception with that number, is `failure`.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from ...dtypes import own_name
from ..diagnostics import CaptureRefusal
from ..graph import linear_algebra_ops as ops
from ..graph.aten import overload
from ..torch_internals import linalg_check_errors, linalg_eigh, linalg_svd
from ..values.text import RtText

_MARK = 98765  # a number in torch's own words that the one of run time takes the place of


def _refuse_dtype(A: torch.Tensor, name: str) -> None:
    if A.dtype not in (torch.float32, torch.float64):
        raise CaptureRefusal(f"torch.linalg.{name} of {own_name(A.dtype)}",
                             "use float32 or float64", kind="linalg")


def _batched(*matrices: torch.Tensor) -> tuple:
    """All with the same dims before the last two."""
    shape = torch.broadcast_shapes(*(m.shape[:-2] for m in matrices))
    return tuple(m.expand(*shape, *m.shape[-2:]) for m in matrices)


def _is_vector(A: torch.Tensor, B: torch.Tensor) -> bool:
    return B.dim() == 1 or A.dim() - 1 == B.dim() and all(a is b or a == b for a, b in zip(B.shape, A.shape[:-1]))


def _check(info: torch.Tensor, name: str, A: torch.Tensor, wanted: Any = True) -> None:
    if wanted:
        linalg_check_errors(info, name, is_matrix=A.dim() == 2)


# ---- LU ----------------------------------------------------------------------------------------------------


def solve_ex(A, B, *, left=True, check_errors=False):
    _refuse_dtype(A, "solve")
    vector = _is_vector(A, B)
    square, right = _batched(A, B[..., None] if vector else B)
    X, info = ops.SOLVE(square, right, left or vector)
    LU, pivots, own = torch.ops.aten.linalg_lu_factor_ex(A)
    info = info if tuple(info.shape) == tuple(own.shape) else own
    _check(info, "torch.linalg.solve_ex", A, check_errors)
    return (X[..., 0] if vector else X), LU, pivots, info


def inv_ex(A, *, check_errors=False):
    _refuse_dtype(A, "inv")
    X, info = ops.INVERSE(A)
    _check(info, "linalg.inv_ex", A, check_errors)
    return X, info


def lu_factor_ex(A, *, pivot=True, check_errors=False):
    _refuse_dtype(A, "lu_factor")
    if not check_errors:
        return NotImplemented
    found = torch.ops.aten.linalg_lu_factor_ex(A, pivot=pivot)
    _check(found[2], "torch.linalg.lu_factor_ex", A)
    return tuple(found)


def lu_solve(LU, pivots, B, *, left=True, adjoint=False):
    shape = torch.broadcast_shapes(LU.shape[:-2], B.shape[:-2])
    if all(tuple(x.shape[:-2]) == tuple(shape) for x in (LU, B)):
        return NotImplemented
    return torch.ops.aten.linalg_lu_solve(LU.expand(*shape, *LU.shape[-2:]), pivots.expand(*shape, pivots.shape[-1]),
                                          B.expand(*shape, *B.shape[-2:]), left=left, adjoint=adjoint)


def lu(A, *, pivot=True):
    LU, pivots, _ = torch.ops.aten.linalg_lu_factor_ex(A, pivot=pivot)
    return torch.ops.aten.lu_unpack(LU, pivots)


def det(A):
    _refuse_dtype(A, "det")
    LU, pivots, _ = torch.ops.aten.linalg_lu_factor_ex(A)
    return ops.DET(A, A.is_contiguous())[0], LU, pivots


def slogdet(A):
    _refuse_dtype(A, "slogdet")
    LU, pivots, _ = torch.ops.aten.linalg_lu_factor_ex(A)
    _, sign, logarithm = ops.DET(A, A.is_contiguous())
    return sign, logarithm, LU, pivots


# ---- triangular systems and Cholesky -------------------------------------------------------------------------


def solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    _refuse_dtype(A, "solve_triangular")
    if tuple(A.shape[:-2]) == tuple(B.shape[:-2]):
        return NotImplemented
    A, B = _batched(A, B)
    return torch.ops.aten.linalg_solve_triangular(A, B, upper=upper, left=left, unitriangular=unitriangular)


def triangular_solve(B, A, upper=True, transpose=False, unitriangular=False):
    A, B = _batched(A, B)
    X = torch.ops.aten.linalg_solve_triangular(A.mT if transpose else A, B, upper=upper != transpose,
                                               unitriangular=unitriangular)
    return X, A.clone()


def cholesky_ex(A, *, upper=False, check_errors=False):
    _refuse_dtype(A, "cholesky")
    if not check_errors:
        return NotImplemented
    L, info = torch.ops.aten.linalg_cholesky_ex(A, upper=upper)
    _check(info, "linalg.cholesky_ex", A)
    return L, info


def cholesky(A, upper=False):
    L, info = torch.ops.aten.linalg_cholesky_ex(A, upper=upper)
    _check(info, "cholesky", A)
    return L


def cholesky_solve(B, L, upper=False):
    _refuse_dtype(L, "cholesky_solve")
    if tuple(L.shape[:-2]) == tuple(B.shape[:-2]):
        return NotImplemented
    L, B = _batched(L, B)
    return torch.ops.aten.cholesky_solve(B, L, upper)


def cholesky_inverse(L, upper=False):
    _refuse_dtype(L, "cholesky_inverse")
    X, info = ops.CHOLESKY_INVERSE(L, upper)
    _check(info, "cholesky_inverse", L)
    return X


def ldl_factor_ex(A, *, hermitian=False, check_errors=False):
    _refuse_dtype(A, "ldl_factor")
    if not check_errors:
        return NotImplemented
    found = torch.ops.aten.linalg_ldl_factor_ex(A, hermitian=hermitian)
    _check(found[2], "torch.linalg.ldl_factor_ex", A)
    return tuple(found)


def ldl_solve(LD, pivots, B, *, hermitian=False):
    shape = torch.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    if all(tuple(x.shape[:-2]) == tuple(shape) for x in (LD, B)):
        return NotImplemented
    return torch.ops.aten.linalg_ldl_solve(LD.expand(*shape, *LD.shape[-2:]), pivots.expand(*shape, pivots.shape[-1]),
                                           B.expand(*shape, *B.shape[-2:]), hermitian=hermitian)


# ---- spectra ---------------------------------------------------------------------------------------------------


def geqrf(A):
    if A.dim() < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    _refuse_dtype(A, "geqrf")
    return ops.GEQRF(A)


def svd(A, full_matrices=False, compute_uv=True, *, driver=None):
    _refuse_dtype(A, "svd")
    U, S, V, info = ops.SVD(A, (2 if full_matrices else 1) if compute_uv else 0)
    _check(info, "linalg.svd", A)
    return U, S, V


def eigh(A, UPLO="L", compute_v=True):
    _refuse_dtype(A, "eigh")
    values, vectors, info = ops.EIGH(A, UPLO.upper() == "U", compute_v)
    _check(info, "linalg.eigh", A)
    return values, vectors


def eig(A):
    _refuse_dtype(A, "eig")
    values, vectors, info = ops.EIG(A, True)
    _check(info, "torch.linalg.eig", A)
    return torch.view_as_complex(values), torch.view_as_complex(vectors)


def eigvals(A):
    _refuse_dtype(A, "eigvals")
    values, _, info = ops.EIG(A, False)
    _check(info, "torch.linalg.eig", A)
    return torch.view_as_complex(values)


def pinv(A, *, atol=None, rtol=None, hermitian=False):
    """Where singular values below the greater of atol and rtol times the greatest one count as 0."""
    if A.numel() == 0:
        return A.new_empty((*A.shape[:-2], A.shape[-1], A.shape[-2]))
    zero = torch.zeros((), dtype=A.dtype)
    if rtol is None:
        rtol = torch.full((), torch.finfo(A.dtype).eps * torch.sym_max(*A.shape[-2:]), dtype=A.dtype)
        rtol = rtol if atol is None else torch.where(atol > 0, zero, rtol)
    atol = zero if atol is None else atol
    if hermitian:
        values, U = linalg_eigh(A)
        size, V = values.abs(), U
        greatest = size.amax(-1, keepdim=True)
    else:
        U, size, Vh = linalg_svd(A, False)
        values, V = size, Vh.mT
        greatest = size[..., :1]
    inverted = torch.where(size > torch.maximum(atol[..., None], rtol[..., None] * greatest), values.reciprocal(), zero)
    return torch.matmul(V * inverted.to(A.dtype)[..., None, :], U.mT)


# ---- least squares -----------------------------------------------------------------------------------------------


def _check_least_squares(A: Any, B: Any, driver: Any) -> None:
    """torch's words; its op has no rule for shapes that would say them."""
    if A.dim() < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if B.dim() < 1:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if A.dtype != B.dtype:
        raise CaptureRefusal("torch.linalg.lstsq of tensors of two dtypes", "convert one of them", kind="linalg")
    if not 0 <= A.dim() - B.dim() <= 1:
        raise RuntimeError("torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and "
                           "(input.dim() - other.dim()) <= 1")
    if driver not in (None, *ops.DRIVERS):
        raise RuntimeError("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    _refuse_dtype(A, "lstsq")


def lstsq(A, B, rcond=None, *, driver=None):
    _check_least_squares(A, B, driver)
    driver = driver or "gelsy"
    m, n = A.shape[-2:]
    vector = _is_vector(A, B)
    right = B[..., None] if vector else B
    if right.shape[-2] != m:
        raise RuntimeError("torch.linalg.lstsq: input.size(-2) should match other.size(-1)" if vector else
                           "torch.linalg.lstsq: input.size(-2) should match other.size(-2)")
    if rcond is None:
        rcond = torch.finfo(A.dtype).eps * torch.sym_max(m, n)
    rcond = torch.full((1,), rcond, dtype=A.dtype)
    whole, right = _batched(A, right)
    X, rest, rank, values, info = ops.LSTSQ(whole, right, rcond, ops.DRIVERS.index(driver))
    _check(info, "torch.linalg.lstsq", A)
    none = A.new_empty(0)
    is_known = m > n and (driver == "gels" or driver != "gelsy" and bool((rank == n).all()))
    return (X[..., 0] if vector else X, rest if is_known else none,
            rank if driver != "gels" else none.to(torch.int64), values if driver in ("gelsd", "gelss") else none)


# ---- matrices of which libraries disagree ----------------------------------------------------------------------


def defined(func, A: torch.Tensor, in_try: bool) -> torch.Tensor:
    """Whether an op of LAPACK finds the same in that matrix whatever library computes it. Of infinities some make
    NaNs and some zeros, even of those outside the triangle that is asked for. A NaN makes some fail, which matters
    where a `try` would take that; those of SURE_OF_NAN all find it, in a pivot or in the norm."""
    return torch.isfinite(A) if in_try and func not in SURE_OF_NAN else ~torch.isinf(A)


# ---- memory and errors --------------------------------------------------------------------------------------------


def strides(results: Any) -> list:
    return [x.stride() for x in (results if isinstance(results, tuple) else (results,))]


def laid_out(result: torch.Tensor, wanted: tuple) -> torch.Tensor:
    """The result in memory as LAPACK leaves it: column by column, or row by row."""
    if result.dim() < 2 or result.stride() == wanted or min(result.shape) < 2:
        return result
    if wanted[-2:] == (1, result.shape[-2]):
        return result.mT.contiguous().mT
    return result.contiguous() if wanted[-2:] == (result.shape[-1], 1) else result


def first_failure(info: torch.Tensor, is_matrix: bool) -> tuple[torch.Tensor | None, torch.Tensor]:
    """(which one of the batch failed first, its number)"""
    return (None, info) if is_matrix else ops.FIRST_FAILURE(info)


@functools.lru_cache(maxsize=256)
def _words(name: str, number: int) -> Exception:
    """What torch raises of a matrix with that `info`."""
    if name == "torch.linalg.eig" and number < 0:  # torch asks before it calls LAPACK
        return RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    try:
        linalg_check_errors(torch.tensor(number, dtype=torch.int32), name, is_matrix=True)
    except RuntimeError as error:
        return error
    raise AssertionError(f"torch finds nothing wrong with info {number} of {name}")


def may_be_negative(name: str) -> bool:
    return "svd" in name or "lstsq" in name or name == "torch.linalg.eig"


def failure(name: str, place: Any, number: Any, negative: bool) -> Exception:
    """The exception of torch's, with numbers of run time where they stand; `place`: None, or which one of a batch;
    `number`: without its sign."""
    error = _words(name, -_MARK if negative and "svd" not in name else -4 if negative else _MARK)
    pieces: list = []
    for k, piece in enumerate(str(error).split(str(_MARK))):
        pieces += [number, piece] if k else [piece]
    head, found, tail = pieces[0].partition(f"{name}: ")
    if place is not None and found and "Unknown error code" not in tail and "infs or NaNs" not in tail:
        pieces[:1] = [f"{head}{name}: (Batch element ", place, f"): {tail}"]
    if all(isinstance(p, (str, int)) for p in pieces):
        return type(error)("".join(map(str, pieces)))
    return type(error)(RtText.join([*pieces, ""] if len(pieces) == 1 else pieces))


TAKEN_APART = {overload(name): function for name, function in {
    "_linalg_solve_ex": solve_ex, "linalg_inv_ex": inv_ex, "linalg_lu_factor_ex": lu_factor_ex,
    "linalg_lu_solve": lu_solve, "linalg_lu": lu, "_linalg_det": det, "_linalg_slogdet": slogdet,
    "linalg_solve_triangular": solve_triangular, "triangular_solve": triangular_solve,
    "linalg_cholesky_ex": cholesky_ex, "cholesky": cholesky, "cholesky_solve": cholesky_solve,
    "cholesky_inverse": cholesky_inverse, "linalg_ldl_factor_ex": ldl_factor_ex, "linalg_ldl_solve": ldl_solve,
    "geqrf": geqrf, "_linalg_svd": svd, "_linalg_eigh": eigh, "linalg_eig": eig, "linalg_eigvals": eigvals,
    "_linalg_eigvals": eigvals, "linalg_pinv.atol_rtol_tensor": pinv, "linalg_lstsq": lstsq,
}.items() if overload(name) is not None}
WITHOUT_SHAPES = {overload("geqrf"), overload("linalg_lstsq")}  # torch has no rule for their results' shapes
SURE_OF_NAN = {overload("linalg_cholesky_ex"), overload("_linalg_svd")}
LAPACK = SURE_OF_NAN | {overload(name) for name in ("_linalg_eigh", "linalg_eigvals", "_linalg_eigvals", "linalg_lstsq",
                                                    "linalg_ldl_factor_ex")}
