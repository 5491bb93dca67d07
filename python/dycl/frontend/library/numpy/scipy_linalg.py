# SPDX-License-Identifier: Apache-2.0
"""scipy.linalg over arrays known only at run time. It computes in the dtype that it is given, and raises numpy's
LinAlgError, with numbers of its own in the words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from ...graph import linear_algebra_ops as ops
from ...values.array import RtArray
from ...values.text import RtText
from . import linear_algebra
from .functions import TABLE, _to, _value, refuse
from .linear_algebra import not_positive, raise_where
from .scipy import floats, named


def _matrix(arrays, name: str, a: Any, check: bool, square: bool = False) -> torch.Tensor:
    (t,) = floats(arrays, a)
    if t.dim() != 2:
        refuse(name, "(of scipy) of batches")
    if square and all(type(n) is int for n in t.shape) and t.shape[0] != t.shape[1]:
        raise ValueError("expected square matrix")
    _finite(arrays, check, t)
    return t


def _finite(arrays, check: bool, *tensors: torch.Tensor) -> None:
    call = arrays.call
    for t in tensors if check else ():
        bad = call(torch.logical_not, call(torch.all, call(torch.isfinite, t)))
        raise_where(arrays, bad, ValueError("array must not contain infs or NaNs"))


def _default(name: str, *given: Any) -> None:
    """What is not done otherwise."""
    if any(given):
        refuse(name, "(of scipy) with such arguments, of arrays")


def _fail_at(arrays, place: torch.Tensor, before: str, after: str) -> None:
    """Where `place`, a number, is not 0: that number is said, or the one before it if nothing comes after."""
    numbers = arrays.m.recorder.numbers
    if not numbers.native_truth(numbers.truth(place)):
        return
    number = numbers.item(place if after else arrays.call(torch.sub, place, 1))
    pieces = [before, number, after]
    text = "".join(map(str, pieces)) if isinstance(number, int) else RtText.join(pieces)
    raise np.linalg.LinAlgError(text)


def _regular(arrays, info: torch.Tensor) -> None:
    text = "A singular matrix detected: slice(s) [0] are singular."
    raise_where(arrays, info, np.linalg.LinAlgError(text))


# ---- systems -----------------------------------------------------------------------------------------


@named("linalg.inv")
def inv(arrays, a, overwrite_a=False, check_finite=True):
    found, info = arrays.call(torch.linalg.inv_ex, _matrix(arrays, "inv", a, check_finite, True))
    _regular(arrays, info)
    return RtArray(found)


@named("linalg.solve")
def solve(arrays, a, b, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True):
    x, y = floats(arrays, a, b)
    if y.dim() > 2:
        refuse("solve", "(of scipy) of batches")
    x = _matrix(arrays, "solve", RtArray(x), check_finite, True)
    _finite(arrays, check_finite, y)
    found, info = arrays.call(torch.linalg.solve_ex, x, y)
    _regular(arrays, info)
    return RtArray(found)


def _triangle(arrays, x: torch.Tensor, y: torch.Tensor, turned: bool, lower: bool, unit: bool) -> RtArray:
    call, flat = arrays.call, y.dim() == 1
    x = call(torch.transpose, x, 0, 1) if turned else x
    y = call(torch.unsqueeze, y, 1) if flat else y
    found = call(torch.linalg.solve_triangular, x, y, upper=lower == turned, unitriangular=unit)
    return RtArray(call(torch.squeeze, found, 1) if flat else found)


@named("linalg.solve_triangular")
def solve_triangular(arrays, a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True):
    x, y = floats(arrays, a, b)
    call, lower, unit = arrays.call, bool(lower), bool(unit_diagonal)
    if trans not in (0, 1, "N", "T") or y.dim() > 2:
        refuse("solve_triangular", "of such a kind, of arrays")
    x = _matrix(arrays, "solve_triangular", RtArray(x), check_finite, True)
    _finite(arrays, check_finite, y)
    if not unit:
        zero = call(torch.eq, call(torch.diagonal, x), 0)
        steps = call(torch.add, call(torch.arange, x.shape[0]), 1)
        first = call(torch.amin, call(torch.where, zero, steps, x.shape[0] + 1))
        place = call(torch.masked_fill, first, call(torch.gt, first, x.shape[0]), 0)
        _fail_at(arrays, place, "singular matrix: resolution failed at diagonal ", "")
    return _triangle(arrays, x, y, trans in (1, "T"), lower, unit)


# ---- factors -------------------------------------------------------------------------------------------


def _cholesky(arrays, t: torch.Tensor, lower: bool) -> torch.Tensor:
    call = arrays.call
    factor, info = call(torch.linalg.cholesky_ex, t, upper=not lower)
    _fail_at(arrays, not_positive(call, factor, info), "", "-th leading minor of the array is not positive definite")
    return factor


@named("linalg.cholesky")
def cholesky(arrays, a, lower=False, overwrite_a=False, check_finite=True):
    return RtArray(_cholesky(arrays, _matrix(arrays, "cholesky", a, check_finite, True), bool(lower)))


@named("linalg.cho_factor")
def cho_factor(arrays, a, lower=False, overwrite_a=False, check_finite=True):
    t = _matrix(arrays, "cho_factor", a, check_finite, True)
    rest = arrays.call(torch.triu if lower else torch.tril, t, 1 if lower else -1)  # stays as it was
    return RtArray(arrays.call(torch.add, _cholesky(arrays, t, bool(lower)), rest)), bool(lower)


@named("linalg.cho_solve")
def cho_solve(arrays, c_and_lower, b, overwrite_b=False, check_finite=True):
    x, y = floats(arrays, c_and_lower[0], b)
    lower = bool(c_and_lower[1])
    _finite(arrays, check_finite, x, y)
    first = _triangle(arrays, x, y, not lower, lower, False)
    return _triangle(arrays, x, first.tensor, lower, lower, False)


@named("linalg.lu_factor")
def lu_factor(arrays, a, overwrite_a=False, check_finite=True):
    found = arrays.call(torch.linalg.lu_factor_ex, _matrix(arrays, "lu_factor", a, check_finite))
    return RtArray(found[0]), RtArray(arrays.call(torch.sub, found[1], 1))  # it counts from 0


@named("linalg.lu_solve")
def lu_solve(arrays, lu_and_piv, b, trans=0, overwrite_b=False, check_finite=True):
    call = arrays.call
    x, y = floats(arrays, lu_and_piv[0], b)
    if trans not in (0, 1) or y.dim() > 2:
        refuse("lu_solve", "of such a kind, of arrays")
    _finite(arrays, check_finite, y)
    pivots = _to(arrays, call(torch.add, _value(arrays, lu_and_piv[1]), 1), torch.int32)
    right = call(torch.unsqueeze, y, 1) if y.dim() == 1 else y
    found = call(torch.linalg.lu_solve, x, pivots, right, adjoint=trans == 1)
    return RtArray(call(torch.squeeze, found, 1) if y.dim() == 1 else found)


@named("linalg.lu")
def lu(arrays, a, permute_l=False, overwrite_a=False, check_finite=True, p_indices=False):
    _default("lu", p_indices)
    p, lower, upper = arrays.call(torch.linalg.lu, _matrix(arrays, "lu", a, check_finite))
    if permute_l:
        return RtArray(arrays.call(torch.matmul, p, lower)), RtArray(upper)
    return RtArray(p), RtArray(lower), RtArray(upper)


@named("linalg.qr")
def qr(arrays, a, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True):
    _default("qr", pivoting, mode not in ("full", "economic", "r"))
    t = _matrix(arrays, "qr", a, check_finite)
    q, r = arrays.call(torch.linalg.qr, t, "reduced" if mode == "economic" else "complete")
    return (RtArray(r),) if mode == "r" else (RtArray(q), RtArray(r))


@named("linalg.det")
def det(arrays, a, overwrite_a=False, check_finite=True):
    t = _to(arrays, _matrix(arrays, "det", a, check_finite, True), torch.float64)
    return arrays.wrap(arrays.call(torch.linalg.det, t))


# ---- spectra and functions -----------------------------------------------------------------------------


@named("linalg.svd")
def svd(arrays, a, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True):
    t = _matrix(arrays, "svd", a, check_finite)
    u, s, vh, info = arrays.call(ops.SVD, t, (2 if full_matrices else 1) if compute_uv else 0)
    raise_where(arrays, info, np.linalg.LinAlgError("SVD did not converge"))
    return (RtArray(u), RtArray(s), RtArray(vh)) if compute_uv else RtArray(s)


@named("linalg.svdvals")
def svdvals(arrays, a, overwrite_a=False, check_finite=True):
    return svd(arrays, a, compute_uv=False, check_finite=check_finite)


@named("linalg.eigh")
def eigh(arrays, a, b=None, *, lower=True, eigvals_only=False, overwrite_a=False, overwrite_b=False,
         check_finite=True):
    _default("eigh", b is not None)
    t = _matrix(arrays, "eigh", a, check_finite, True)
    values, vectors, info = arrays.call(ops.EIGH, t, not lower, not eigvals_only)
    raise_where(arrays, info, np.linalg.LinAlgError("eigenvalues did not converge"))
    return RtArray(values) if eigvals_only else (RtArray(values), RtArray(vectors))


@named("linalg.eigvalsh")
def eigvalsh(arrays, a, b=None, *, lower=True, overwrite_a=False, overwrite_b=False, check_finite=True):
    return eigh(arrays, a, b, lower=lower, eigvals_only=True, check_finite=check_finite)


@named("linalg.pinv")
def pinv(arrays, a, *, atol=None, rtol=None, return_rank=False, check_finite=True):
    t = _matrix(arrays, "pinv", a, check_finite)
    _default("pinv", atol, return_rank, not isinstance(rtol, (int, float, type(None))),
             any(type(n) is not int for n in t.shape))
    limit = max(t.shape) * torch.finfo(t.dtype).eps if rtol is None else rtol
    u, s, vh, info = arrays.call(ops.SVD, t, 1)
    raise_where(arrays, info, np.linalg.LinAlgError("SVD did not converge"))
    return RtArray(linear_algebra.pseudo_inverse(arrays.call, (u, s, vh), limit))


@named("linalg.expm")
def expm(arrays, A):
    return RtArray(arrays.call(torch.linalg.matrix_exp, _matrix(arrays, "expm", A, False, True)))


@named("linalg.norm")
def norm(arrays, a, ord=None, axis=None, keepdims=False, check_finite=True):
    (t,) = floats(arrays, a)
    _finite(arrays, check_finite, t)
    if ord is not None and ord in (math.inf, -math.inf) and axis is None and t.dim() == 1:
        return arrays.wrap(arrays.call(torch.linalg.vector_norm, t, ord, keepdim=bool(keepdims)))
    found = TABLE["norm"](arrays, RtArray(t), ord, axis, keepdims)
    by_lapack = ord in (None, 2) if t.dim() == 1 else t.dim() == 2 and ord in (1, math.inf)
    return arrays.m.tensor_item(found.tensor) if by_lapack and axis is None and not keepdims else found


# ---- matrices made of others --------------------------------------------------------------------------------


@named("linalg.block_diag")
def block_diag(arrays, *arrs):
    parts = linear_algebra.alike(arrays, arrs)
    if any(p.dim() > 2 for p in parts):
        refuse("block_diag", "(of scipy) of batches")
    return RtArray(arrays.call(torch.block_diag, *parts))


@named("linalg.toeplitz")
def toeplitz(arrays, c, r=None):
    call = arrays.call
    column, row = linear_algebra.alike(arrays, (c, c if r is None else r))
    if column.dim() != 1 or row.dim() != 1 or any(type(t.shape[0]) is not int for t in (column, row)):
        refuse("toeplitz", "(of scipy) of matrices, or whose extents are")
    m, n = column.shape[0], row.shape[0]
    line = call(torch.cat, [call(torch.flip, column, (0,)), call(torch.narrow, row, 0, 1, n - 1)])
    places = torch.arange(n)[None, :] - torch.arange(m)[:, None] + m - 1
    return RtArray(call(torch.Tensor.__getitem__, line, call(torch.as_tensor, places)))
