# SPDX-License-Identifier: Apache-2.0
"""Linear algebra that ONNX has no op for, taken apart while recording:
solve, inverse, LU, Cholesky, triangular systems, QR.

The methods are LAPACK's (LU with partial pivoting, Cholesky, Householder), one step per row or column, each step a few
ops over whole batches. So the size of a matrix must be known and small; batches may be of any extent. Which rows are
exchanged is decided by data, with gather instead of branches. `info` is what LAPACK says:
0, or the number of the first step that failed.
"""

from __future__ import annotations

from typing import Any

import torch

from ..diagnostics import CaptureRefusal
from ..graph.aten import overload
from ..torch_internals import linalg_check_errors

_MOST_ROWS = 32
_MOST_SUBSTITUTED = 128  # rows of a triangular system: a few steps each


def _order(A: torch.Tensor, name: str, most: int = _MOST_ROWS) -> int:
    """The matrices' number of rows."""
    n = A.shape[-1]
    if A.dtype not in (torch.float32, torch.float64):
        raise CaptureRefusal(f"torch.linalg.{name} of {str(A.dtype).removeprefix('torch.')}",
                             "use float32 or float64", kind="linalg")
    if not all(isinstance(d, int) for d in A.shape[-2:]):
        raise CaptureRefusal(f"torch.linalg.{name} of matrices whose size is known only at run time",
                             "pad them with the identity to a known size", kind="linalg")
    if min(A.shape[-2:]) == 0:
        raise CaptureRefusal(f"torch.linalg.{name} of matrices without rows or columns", "leave it out", kind="linalg")
    if max(A.shape[-2:]) > most:
        raise CaptureRefusal(f"torch.linalg.{name} of {A.shape[-2]} x {n} matrices: more than {most} rows",
                             "mark the function that calls it with @dycl.host_function", kind="linalg")
    return n


# ---- elimination ----------------------------------------------------------------------------------


def _eliminate(A: torch.Tensor, n: int, B: torch.Tensor | None = None) -> tuple:
    """(LU of A, L^-1 P B, pivots counted from 1, info)."""
    W = A if B is None else torch.cat([A, B], -1)
    places = torch.arange(n)
    pivots, failed = [], []
    for k in range(n):
        p = W[..., k:, k].abs().argmax(-1) + k
        order = torch.where(places == k, p[..., None], torch.where(places == p[..., None], k, places))
        W = torch.gather(W, -2, order[..., None].expand(W.shape))
        pivots.append((p + 1).to(torch.int32))
        top = W[..., k, k:]
        zero = top[..., :1] == 0
        failed.append(zero[..., 0])
        if k + 1 < n:
            column, below = W[..., k + 1:, k], W[..., k + 1:, :k]
            factors = torch.where(zero, column, column / top[..., :1])[..., None]
            rest = W[..., k + 1:, k + 1:] - factors * top[..., None, 1:]
            W = torch.cat([W[..., :k + 1, :], torch.cat([below, factors, rest], -1)], -2)
    return W[..., :n], W[..., n:], torch.stack(pivots, -1), _first(failed)


def _first(failed: list) -> torch.Tensor:
    """The number, from 1, of the first true one; 0 if there is none."""
    flags = torch.stack(failed, -1)
    return torch.where(flags.any(-1), flags.to(torch.int32).argmax(-1) + 1, 0).to(torch.int32)


def _backward(U: torch.Tensor, Y: torch.Tensor, n: int, unit: bool = False) -> torch.Tensor:
    """X with triu(U) X = Y."""
    rows: list = []
    for k in reversed(range(n)):
        y = Y[..., k:k + 1, :]
        if rows:
            y = y - torch.matmul(U[..., k:k + 1, k + 1:], torch.cat(rows, -2))
        rows.insert(0, y if unit else y / U[..., k:k + 1, k:k + 1])
    return torch.cat(rows, -2)


def _forward(L: torch.Tensor, Y: torch.Tensor, n: int, unit: bool = False) -> torch.Tensor:
    """X with tril(L) X = Y."""
    rows: list = []
    for k in range(n):
        y = Y[..., k:k + 1, :]
        if rows:
            y = y - torch.matmul(L[..., k:k + 1, :k], torch.cat(rows, -2))
        rows.append(y if unit else y / L[..., k:k + 1, k:k + 1])
    return torch.cat(rows, -2)


def _batched(*matrices: torch.Tensor) -> tuple:
    """All with the same dims before the last two."""
    shape = torch.broadcast_shapes(*(m.shape[:-2] for m in matrices))
    return tuple(m.expand(*shape, *m.shape[-2:]) for m in matrices)


def _is_vector(A: torch.Tensor, B: torch.Tensor) -> bool:
    return B.dim() == 1 or A.dim() - 1 == B.dim() and all(a is b or a == b for a, b in zip(B.shape, A.shape[:-1]))


def solve_ex(A, B, *, left=True, check_errors=False):
    n = _order(A, "solve")
    vector = _is_vector(A, B)
    right = B[..., None] if vector else B
    A_, right = _batched(A if left else A.mT, right if left or vector else right.mT)
    LU, Y, pivots, info = _eliminate(A_, n, right)
    X = _backward(LU, Y, n)
    _check(info, "torch.linalg.solve", A.dim() == 2, check_errors)
    return (X[..., 0] if vector else X if left else X.mT).clone(), LU.clone(), pivots, info


def inv_ex(A, *, check_errors=False):
    n = _order(A, "inv")
    LU, Y, _, info = _eliminate(A, n, torch.eye(n, dtype=A.dtype).expand(A.shape))
    _check(info, "torch.linalg.inv", A.dim() == 2, check_errors)
    return _backward(LU, Y, n), info


def lu_factor_ex(A, *, pivot=True, check_errors=False):
    if not pivot or A.shape[-1] != A.shape[-2]:
        raise CaptureRefusal("torch.linalg.lu_factor without pivots, or of matrices that are not square", kind="linalg")
    LU, _, pivots, info = _eliminate(A, _order(A, "lu_factor"))
    _check(info, "torch.linalg.lu_factor", A.dim() == 2, check_errors)
    return LU.clone(), pivots, info


def lu_solve(LU, pivots, B, *, left=True, adjoint=False):
    n = _order(LU, "lu_solve")
    Y = B if left else B.mT
    shape = torch.broadcast_shapes(LU.shape[:-2], Y.shape[:-2])
    LU, Y, pivots = LU.expand(*shape, n, n), Y.expand(*shape, *Y.shape[-2:]), pivots.expand(*shape, n)
    if adjoint == left:  # with the transposed matrix, since X A = B is A' X' = B'
        X = _exchange_rows(_backward(LU.mT, _forward(LU.mT, Y, n), n, unit=True), pivots, n, True)
    else:
        X = _backward(LU, _forward(LU, _exchange_rows(Y, pivots, n, False), n, unit=True), n)
    return X.clone() if left else X.mT.clone()


def _exchange_rows(Y: torch.Tensor, pivots: torch.Tensor, n: int, backward: bool) -> torch.Tensor:
    """The exchanges that pivots name, one after the other."""
    places = torch.arange(n)
    for k in reversed(range(n)) if backward else range(n):
        p = (pivots[..., k:k + 1] - 1).to(torch.int64)
        order = torch.where(places == k, p, torch.where(places == p, k, places))
        Y = torch.gather(Y, -2, order[..., None].expand(Y.shape))
    return Y


def _exchanges(pivots: torch.Tensor, n: int) -> torch.Tensor:
    """1 or -1: the sign of the permutation."""
    moved = (pivots != torch.arange(1, n + 1, dtype=pivots.dtype)).to(torch.int64).sum(-1)
    return 1 - 2 * (moved % 2)


def det(A):
    if A.dtype == torch.float32:
        return NotImplemented  # ONNX has it
    n = _order(A, "det")
    LU, _, pivots, _ = _eliminate(A, n)
    return LU.diagonal(0, -2, -1).prod(-1) * _exchanges(pivots, n).to(A.dtype), LU.clone(), pivots


def slogdet(A):
    n = _order(A, "slogdet")
    LU, _, pivots, _ = _eliminate(A, n)
    diagonal = LU.diagonal(0, -2, -1)
    sign = diagonal.sign().prod(-1) * _exchanges(pivots, n).to(A.dtype)
    return sign, diagonal.abs().log().sum(-1), LU.clone(), pivots


# ---- triangular systems and Cholesky -----------------------------------------------------------------


def _triangular(A, B, upper: bool, unit: bool, n: int):
    return (_backward if upper else _forward)(A, B, n, unit)


def solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    n = _order(A, "solve_triangular", _MOST_SUBSTITUTED)
    A, B = _batched(A if left else A.mT, B if left else B.mT)
    X = _triangular(A, B, upper == left, unitriangular, n)
    return X if left else X.mT.clone()


def triangular_solve(B, A, upper=True, transpose=False, unitriangular=False):
    n = _order(A, "triangular_solve", _MOST_SUBSTITUTED)
    A, B = _batched(A, B)
    return _triangular(A.mT if transpose else A, B, upper != transpose, unitriangular, n), A.clone()


def cholesky_ex(A, *, upper=False, check_errors=False):
    n = _order(A, "cholesky")
    S, columns, failed = A.mT if upper else A, [], []
    for k in range(n):
        d = S[..., :1, :1]
        failed.append(~(d[..., 0, 0] > 0))
        column = torch.cat([d.sqrt(), S[..., 1:, :1] / d.sqrt()], -2)
        columns.append(torch.nn.functional.pad(column, (0, 0, k, 0)))
        if k + 1 < n:
            S = S[..., 1:, 1:] - column[..., 1:, :] * column[..., 1:, :].mT
    L, info = torch.cat(columns, -1), _first(failed)
    _check(info, "torch.linalg.cholesky", A.dim() == 2, check_errors)
    return L.mT.clone() if upper else L, info


def cholesky(A, upper=False):
    return cholesky_ex(A, upper=upper, check_errors=True)[0]


def cholesky_solve(B, L, upper=False):
    n = _order(L, "cholesky_solve")
    L, B = _batched(L.mT if upper else L, B)
    return _backward(L.mT, _forward(L, B, n), n)


def cholesky_inverse(L, upper=False):
    n = _order(L, "cholesky_inverse")
    _check(_first(list((L.diagonal(0, -2, -1) == 0).unbind(-1))), "cholesky_inverse", L.dim() == 2, True)
    return cholesky_solve(torch.eye(n, dtype=L.dtype).expand(L.shape), L, upper)


# ---- QR ---------------------------------------------------------------------------------------------


def qr(A, mode="reduced"):
    """Householder reflections, with LAPACK's signs."""
    _order(A, "qr")
    rows, columns = A.shape[-2:]
    R = A
    Q = torch.eye(rows, dtype=A.dtype).expand(*A.shape[:-2], rows, rows)
    for k in range(min(rows - 1, columns)):
        x = R[..., k:, k:k + 1]
        rest = (x[..., 1:, :] * x[..., 1:, :]).sum(-2, keepdim=True)
        head = x[..., :1, :]
        length = torch.where(head < 0, 1.0, -1.0).to(A.dtype) * (head * head + rest).sqrt()
        idle = rest == 0  # nothing to do: LAPACK reflects nothing
        first = torch.where(idle, 1.0, head - length).to(A.dtype)
        v = torch.cat([torch.ones_like(head), x[..., 1:, :] / first], -2)
        tau = torch.where(idle, 0.0, (length - head) / torch.where(idle, 1.0, length)).to(A.dtype)
        v = torch.nn.functional.pad(v, (0, 0, k, 0))
        R = R - tau * torch.matmul(v, torch.matmul(v.mT, R))
        Q = Q - tau * torch.matmul(torch.matmul(Q, v), v.mT)
    R = R.triu()
    if mode == "complete":
        return Q, R
    least = min(rows, columns)
    return (Q[..., :least].clone() if mode == "reduced" else A.new_zeros(0)), R[..., :least, :].clone()


def strides(results: Any) -> list:
    return [x.stride() for x in (results if isinstance(results, tuple) else (results,))]


def laid_out(result: torch.Tensor, wanted: tuple) -> torch.Tensor:
    """The result in memory as LAPACK leaves it: column by column, or row by row."""
    if result.dim() < 2 or result.stride() == wanted or min(result.shape) < 2:
        return result
    if wanted[-2:] == (1, result.shape[-2]):
        return result.mT.contiguous().mT
    return result.contiguous() if wanted[-2:] == (result.shape[-1], 1) else result


def _check(info: torch.Tensor, name: str, is_matrix: bool, wanted: Any) -> None:
    if wanted:
        linalg_check_errors(info, name, is_matrix=is_matrix)


TAKEN_APART = {overload(name): function for name, function in {
    "_linalg_solve_ex": solve_ex, "linalg_inv_ex": inv_ex, "linalg_lu_factor_ex": lu_factor_ex,
    "linalg_lu_solve": lu_solve, "_linalg_det": det, "_linalg_slogdet": slogdet,
    "linalg_solve_triangular": solve_triangular, "triangular_solve": triangular_solve,
    "linalg_cholesky_ex": cholesky_ex, "cholesky": cholesky, "cholesky_solve": cholesky_solve,
    "cholesky_inverse": cholesky_inverse, "linalg_qr": qr,
}.items() if overload(name) is not None}
