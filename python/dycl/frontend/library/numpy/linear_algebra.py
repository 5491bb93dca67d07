# SPDX-License-Identifier: Apache-2.0
"""numpy.linalg over arrays known only at run time, by torch's ops of linear algebra that say `info`.

numpy computes in 64 bits, whatever it is given, and raises its own LinAlgError: a branch, which a `try` may take.
"""

from __future__ import annotations

import math
from typing import Any, Callable

import numpy as np
import torch

from ...graph import linear_algebra_ops as ops
from ...values.array import RtArray
from ...values.stand_in import made_stand_in
from .algebra import must_hold
from .functions import TABLE, _floats, _named, _parts, _to, _value, refuse

_SINGULAR = "Singular matrix"
_SVD = "SVD did not converge"
_EIGENVALUES = "Eigenvalues did not converge"


# ---- what all have in common -----------------------------------------------------------------------


def _matrices(arrays, *given: Any) -> tuple:
    """(as numbers of 64 bits, each; what makes arrays of a result: of 32 bits where the operands are)"""
    found = _parts(arrays, given)
    own = found[0].dtype if found[0].dtype == torch.float32 else torch.float64

    def made(t: torch.Tensor) -> Any:
        return arrays.wrap(_to(arrays, t, own))

    return *(_to(arrays, t, torch.float64) for t in found), made


def alike(arrays, given: Any) -> list[torch.Tensor]:
    return _parts(arrays, given)


def raise_where(arrays, bad: torch.Tensor, error: Exception) -> None:
    """Where a tensor's one element is not 0: a branch of the program."""
    numbers = arrays.m.recorder.numbers
    if numbers.native_truth(numbers.truth(bad)):
        raise error


def fail_where(arrays, info: torch.Tensor, text: str) -> None:
    """numpy names no matrix of a batch."""
    call = arrays.call
    raise_where(arrays, call(torch.any, call(torch.ne, info, 0)), np.linalg.LinAlgError(text))


def _square(arrays, x: torch.Tensor) -> torch.Tensor:
    if x.dim() < 2:
        raise np.linalg.LinAlgError(f"{x.dim()}-dimensional array given. Array must be at least two-dimensional")
    n, m = x.shape[-2:]
    if type(n) is int and type(m) is int and n != m:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    return x


def _results(kind: str, *parts: Any) -> tuple:
    """numpy's own named tuple of them."""
    return getattr(np.linalg._linalg, kind)(*parts)


# ---- systems -----------------------------------------------------------------------------------------


def _inverse(arrays, x: torch.Tensor) -> torch.Tensor:
    found, info = arrays.call(torch.linalg.inv_ex, _square(arrays, x))
    fail_where(arrays, info, _SINGULAR)
    return found


@_named("linalg.inv")
def inv(arrays, a):
    x, made = _matrices(arrays, a)
    return made(_inverse(arrays, x))


@_named("linalg.solve")
def solve(arrays, a, b):
    x, y, made = _matrices(arrays, a, b)
    if y.dim() > 1 and y.dim() != x.dim() or y.dim() == 1 and x.dim() != 2:
        refuse("linalg.solve", "of such arrays")
    found, info = arrays.call(torch.linalg.solve_ex, _square(arrays, x), y)
    fail_where(arrays, info, _SINGULAR)
    return made(found)


@_named("linalg.det")
def det(arrays, a):
    x, made = _matrices(arrays, a)
    return made(arrays.call(torch.linalg.det, _square(arrays, x)))


@_named("linalg.slogdet")
def slogdet(arrays, a):
    x, made = _matrices(arrays, a)
    return _results("SlogdetResult", *map(made, arrays.call(torch.linalg.slogdet, _square(arrays, x))))


@_named("linalg.cholesky")
def cholesky(arrays, a, *, upper=False):
    x, made = _matrices(arrays, a)
    call = arrays.call
    found, info = call(torch.linalg.cholesky_ex, _square(arrays, x), upper=bool(upper))
    fail_where(arrays, not_positive(call, found, info), "Matrix is not positive definite")
    return made(found)


def not_positive(call: Callable, factor: torch.Tensor, info: torch.Tensor) -> torch.Tensor:
    """`info` where a pivot is not positive; a NaN there is no error of numpy's."""
    missing = call(torch.isnan, call(torch.diagonal, factor, 0, -2, -1))
    steps = call(torch.add, call(torch.arange, factor.shape[-1]), 1)
    here = call(torch.logical_and, call(torch.eq, call(torch.unsqueeze, info, -1), steps), missing)
    return call(torch.masked_fill, info, call(torch.any, here, -1), 0)


@_named("linalg.matrix_power")
def matrix_power(arrays, a, n):
    x, made = _matrices(arrays, a)
    if type(n) is not int or not _value(arrays, a).dtype.is_floating_point:
        refuse("linalg.matrix_power", "of integers, or by a number")
    base = _inverse(arrays, x) if n < 0 else _square(arrays, x)
    return made(arrays.call(torch.linalg.matrix_power, base, abs(n)))


@_named("linalg.multi_dot")
def multi_dot(arrays, items):
    parts = _parts(arrays, items)
    if any(p.dim() != 2 or not p.dtype.is_floating_point for p in parts):
        refuse("linalg.multi_dot", "of arrays other than matrices of floats")
    made = parts[0]
    for p in parts[1:]:
        made = arrays.call(torch.matmul, made, p)
    return RtArray(made)


TABLE["linalg.matmul"] = TABLE["matmul"]


# ---- spectra -------------------------------------------------------------------------------------------


def _svd(arrays, x: torch.Tensor, vectors: int) -> tuple:
    u, s, vh, info = arrays.call(ops.SVD, x, vectors)
    fail_where(arrays, info, _SVD)
    return u, s, vh


@_named("linalg.svd")
def svd(arrays, a, full_matrices=True, compute_uv=True, hermitian=False):
    x, made = _matrices(arrays, a)
    if hermitian:
        refuse("linalg.svd", "with hermitian=True, of arrays")
    if not compute_uv:
        return made(_svd(arrays, x, 0)[1])
    return _results("SVDResult", *map(made, _svd(arrays, x, 2 if full_matrices else 1)))


@_named("linalg.svdvals")
def svdvals(arrays, x):
    return svd(arrays, x, compute_uv=False)


def _eigh(arrays, a: Any, UPLO: Any, vectors: bool) -> tuple:
    x, made = _matrices(arrays, a)
    if UPLO not in ("L", "U", "l", "u"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    values, found, info = arrays.call(ops.EIGH, _square(arrays, x), UPLO in "Uu", vectors)
    fail_where(arrays, info, _EIGENVALUES)
    return made(values), made(found)


@_named("linalg.eigh")
def eigh(arrays, a, UPLO="L"):
    return _results("EighResult", *_eigh(arrays, a, UPLO, True))


@_named("linalg.eigvalsh")
def eigvalsh(arrays, a, UPLO="L"):
    return _eigh(arrays, a, UPLO, False)[0]


def _eig(arrays, a: Any, vectors: bool) -> list:
    """numpy gives real numbers where all are, complex ones otherwise, of which there are no arrays here."""
    call = arrays.call
    x, made = _matrices(arrays, a)
    finite = call(torch.all, call(torch.isfinite, _square(arrays, x)))
    raise_where(arrays, call(torch.logical_not, finite),
                np.linalg.LinAlgError("Array must not contain infs or NaNs"))
    values, found, info = call(ops.EIG, x, vectors)
    fail_where(arrays, info, _EIGENVALUES)
    none = call(torch.all, call(torch.eq, call(torch.select, values, -1, 1), 0))
    must_hold(arrays, none, RuntimeError, "numpy.linalg.eig with complex eigenvalues is not compiled: use torch")
    return [made(call(torch.select, t, -1, 0)) for t in ((values, found) if vectors else (values,))]


@_named("linalg.eig")
def eig(arrays, a):
    return _results("EigResult", *_eig(arrays, a, True))


@_named("linalg.eigvals")
def eigvals(arrays, a):
    return _eig(arrays, a, False)[0]


@_named("linalg.qr")
def qr(arrays, a, mode="reduced"):
    x, made = _matrices(arrays, a)
    if mode not in ("reduced", "complete", "r"):
        refuse("linalg.qr", "of such a mode, of arrays")
    q, r = arrays.call(torch.linalg.qr, x, mode)
    return made(r) if mode == "r" else _results("QRResult", made(q), made(r))


# ---- what is made of singular values ----------------------------------------------------------------------


def _plain(name: str, *numbers: Any) -> None:
    if any(made_stand_in(n) is not None or not isinstance(n, (int, float, type(None))) for n in numbers):
        refuse(name, "with limits")


def _eps(arrays, a: Any) -> float:
    return torch.finfo(torch.float32 if _value(arrays, a).dtype == torch.float32 else torch.float64).eps


def _count(name: str, t: torch.Tensor) -> int:
    """The greater extent of a matrix."""
    m, n = t.shape[-2:]
    if type(m) is not int or type(n) is not int:
        refuse(name, "whose extents are")
    return max(m, n)


@_named("linalg.matrix_rank")
def matrix_rank(arrays, A, tol=None, hermitian=False, *, rtol=None):
    call = arrays.call
    x, made = _matrices(arrays, A)
    _plain("linalg.matrix_rank", tol, rtol)
    if hermitian or x.dim() < 2:
        refuse("linalg.matrix_rank", "of vectors, or with hermitian=True, of arrays")
    values = made(_svd(arrays, x, 0)[1]).tensor
    if tol is None:
        rtol = _count("linalg.matrix_rank", x) * _eps(arrays, A) if rtol is None else rtol
        if values.shape[-1] == 0:
            return arrays.wrap(call(torch.sum, call(torch.gt, values, 0), -1))
        tol = call(torch.mul, call(torch.amax, values, -1, True), rtol)
    return arrays.wrap(call(torch.sum, call(torch.gt, values, tol), -1))


@_named("linalg.pinv")
def pinv(arrays, a, rcond=None, hermitian=False, *, rtol=np._NoValue):
    call = arrays.call
    x, made = _matrices(arrays, a)
    if rcond is not None and rtol is not np._NoValue:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    limit = rcond if rcond is not None else 1e-15 if rtol is np._NoValue else rtol
    _plain("linalg.pinv", limit)
    if hermitian:
        refuse("linalg.pinv", "with hermitian=True, of arrays")
    if any(type(n) is int and n == 0 for n in x.shape[-2:]):
        return made(call(torch.transpose, x, -2, -1))
    limit = _count("linalg.pinv", x) * _eps(arrays, a) if limit is None else limit
    return made(pseudo_inverse(call, _svd(arrays, x, 1), limit))


def pseudo_inverse(call: Callable, parts: tuple, limit: float) -> torch.Tensor:
    u, s, vh = parts
    large = call(torch.gt, s, call(torch.mul, call(torch.amax, s, -1, True), limit))
    inverted = call(torch.where, large, call(torch.reciprocal, s), call(torch.zeros_like, s))
    turned = call(torch.mul, call(torch.transpose, vh, -2, -1), call(torch.unsqueeze, inverted, -2))
    return call(torch.matmul, turned, call(torch.transpose, u, -2, -1))


@_named("linalg.cond")
def cond(arrays, x, p=None):
    call = arrays.call
    t, made = _matrices(arrays, x)
    if p not in (None, 2, -2, 1, -1, math.inf, -math.inf, "fro"):
        refuse("linalg.cond", "of such an order, of arrays")
    if p in (None, 2, -2):
        values = _svd(arrays, t, 0)[1]
        ends = [made(call(torch.select, values, -1, k)).tensor for k in ((-1, 0) if p == -2 else (0, -1))]
    else:
        inverse, info = call(torch.linalg.inv_ex, _square(arrays, t))
        failed = call(torch.reshape, call(torch.ne, info, 0), (*info.shape, 1, 1))
        inverse = call(torch.masked_fill, inverse, failed, math.nan)
        ends = [made(call(torch.linalg.matrix_norm, m, p)).tensor for m in (t, inverse)]
    found = call(torch.div if p in (None, 2, -2) else torch.mul, *ends)
    missing = call(torch.any, call(torch.flatten, call(torch.isnan, t), -2), -1)
    infinite = call(torch.logical_and, call(torch.isnan, found), call(torch.logical_not, missing))
    return made(call(torch.masked_fill, found, infinite, math.inf))


@_named("linalg.lstsq")
def lstsq(arrays, a, b, rcond=None):
    call = arrays.call
    x, y, made = _matrices(arrays, a, b)
    _plain("linalg.lstsq", rcond)
    if x.dim() != 2 or y.dim() not in (1, 2):
        raise np.linalg.LinAlgError(f"{x.dim()}-dimensional array given. Array must be two-dimensional")
    limit = _count("linalg.lstsq", x) * torch.finfo(torch.float64).eps if rcond is None else rcond
    right = call(torch.unsqueeze, y, 1) if y.dim() == 1 else y
    if right.shape[0] != x.shape[0]:
        raise np.linalg.LinAlgError("Incompatible dimensions")
    limits = call(torch.full, (1,), float(limit), dtype=torch.float64)
    found, rest, rank, values, info = call(ops.LSTSQ, x, right, limits, ops.DRIVERS.index("gelsd"))
    fail_where(arrays, info, "SVD did not converge in Linear Least Squares")
    m, n = x.shape
    numbers = arrays.m.recorder.numbers
    full = m > n and numbers.native_truth(numbers.truth(call(torch.eq, rank, n)))
    rest = made(rest if full else call(torch.zeros, 0, dtype=torch.float64))
    found = call(torch.squeeze, found, 1) if y.dim() == 1 else found
    return made(found), rest, arrays.wrap(_to(arrays, rank, torch.int32)), made(values)


# ---- norms ---------------------------------------------------------------------------------------------------


@_named("norm")
def norm(arrays, x, ord=None, axis=None, keepdims=False):
    t = _floats(arrays, "linalg.norm", x)
    axes = tuple(axis) if isinstance(axis, (list, tuple)) else axis
    if ord is None and (axes is None or type(axes) is int or len(axes) < 3):
        return arrays.wrap(arrays.call(torch.linalg.vector_norm, t, 2, axes, bool(keepdims)))
    if axes is None and t.dim() == 2:
        axes = (0, 1)
    if (axes is None and t.dim() == 1 or type(axes) is int) and type(ord) in (int, float):
        return arrays.wrap(arrays.call(torch.linalg.vector_norm, t, ord, axes, bool(keepdims)))
    if isinstance(axes, tuple) and len(axes) == 2 and ord in ("fro", 1, -1, math.inf, -math.inf):
        return arrays.wrap(arrays.call(torch.linalg.matrix_norm, t, ord, axes, bool(keepdims)))
    if axes == (0, 1) and t.dim() == 2 and ord in ("nuc", 2, -2) and not keepdims:
        values = _svd(arrays, t, 0)[1]
        if ord == "nuc":
            return arrays.wrap(arrays.call(torch.sum, values, -1))
        return arrays.wrap(arrays.call(torch.select, values, -1, 0 if ord == 2 else -1))
    refuse("linalg.norm", "of such an order, of arrays")
