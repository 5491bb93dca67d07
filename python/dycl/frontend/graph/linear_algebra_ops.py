# SPDX-License-Identifier: Apache-2.0
"""Ops of ours for linear algebra whose form in torch raises, or has no shapes: they say `info` as LAPACK does.

The fake results lie in memory as torch's do: column by column.
"""

from __future__ import annotations

import math
import re
from typing import Any, Callable

import torch

from .aten import LIBRARY

DRIVERS = ("gels", "gelsy", "gelsd", "gelss")
_NOT_FINITE = -4


def _op(name: str, schema: str) -> Callable:
    """Registers (real, fake), the two methods of a class."""

    def register(cls: type) -> Any:
        LIBRARY.define(f"linalg_{name}{schema}")
        LIBRARY.impl(f"linalg_{name}", cls.real, "CPU")  # type: ignore[attr-defined]
        torch.library.register_fake(f"dycl::linalg_{name}", cls.fake, lib=LIBRARY)  # type: ignore[attr-defined]
        return getattr(torch.ops.dycl, f"linalg_{name}").default

    return register


def _columns(like: torch.Tensor, *shape: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
    """An empty tensor whose last dim but one lies closest."""
    return like.new_empty((*shape[:-2], shape[-1], shape[-2]), dtype=dtype).mT


def _info(like: torch.Tensor) -> torch.Tensor:
    return like.new_empty(like.shape[:-2], dtype=torch.int32)


def _each(function: Callable, failed: Callable, *batches: torch.Tensor) -> tuple:
    """function(one matrix of each) for all; where it raises, what `failed` gives, and the number of the error."""
    outer = batches[0].shape[:-2]
    flat = [b.reshape(math.prod(outer), *b.shape[-2:]) for b in batches]
    found = []
    for matrices in zip(*flat):
        try:
            found.append((*function(*matrices), torch.tensor(0, dtype=torch.int32)))
        except torch.linalg.LinAlgError as error:
            code = re.search(r"error code: (\d+)", str(error))
            found.append((*failed(*matrices), torch.tensor(int(code[1]) if code else _NOT_FINITE, dtype=torch.int32)))
    if not found:
        forms = (*failed(*(b.new_zeros(b.shape[-2:]) for b in batches)), torch.tensor(0, dtype=torch.int32))
        return tuple(f.new_empty(outer + f.shape) for f in forms)
    return tuple(torch.stack(column).reshape(outer + column[0].shape) for column in zip(*found))


def _nan(*tensors: torch.Tensor) -> tuple:
    return tuple(torch.full_like(t, torch.nan) for t in tensors)


@_op("solve", "(Tensor A, Tensor B, bool left) -> (Tensor, Tensor)")
class SOLVE:
    @staticmethod
    def real(A: torch.Tensor, B: torch.Tensor, left: bool) -> tuple:
        return tuple(torch.linalg.solve_ex(A, B, left=left))

    @staticmethod
    def fake(A: torch.Tensor, B: torch.Tensor, left: bool) -> tuple:
        return _columns(B, *B.shape) if left else B.new_empty(B.shape), _info(A)


@_op("inverse", "(Tensor A) -> (Tensor, Tensor)")
class INVERSE:
    @staticmethod
    def real(A: torch.Tensor) -> tuple:
        return tuple(torch.linalg.inv_ex(A))

    @staticmethod
    def fake(A: torch.Tensor) -> tuple:
        return _columns(A, *A.shape), _info(A)


@_op("det", "(Tensor A, bool transposed) -> (Tensor, Tensor, Tensor)")
class DET:
    """The determinant, its sign, the logarithm of its absolute value. transposed: the transpose is factored, as torch
    does where a matrix lies row by row."""

    @staticmethod
    def real(A: torch.Tensor, transposed: bool) -> tuple:
        A = A.contiguous() if transposed else A.mT.contiguous().mT
        return torch.linalg.det(A), *torch.linalg.slogdet(A)

    @staticmethod
    def fake(A: torch.Tensor, transposed: bool) -> tuple:
        return tuple(A.new_empty(A.shape[:-2]) for _ in range(3))


@_op("cholesky_inverse", "(Tensor L, bool upper) -> (Tensor, Tensor)")
class CHOLESKY_INVERSE:
    @staticmethod
    def real(L: torch.Tensor, upper: bool) -> tuple:
        def one(matrix: torch.Tensor) -> tuple:
            return (torch.cholesky_inverse(matrix, upper),)

        inverse, _ = _each(one, _nan, L)
        zero = L.diagonal(0, -2, -1) == 0
        first = zero.to(torch.int32).argmax(-1) + 1 if L.shape[-1] else zero.sum(-1)
        return inverse, torch.where(zero.any(-1), first, 0).to(torch.int32)

    @staticmethod
    def fake(L: torch.Tensor, upper: bool) -> tuple:
        return _columns(L, *L.shape), _info(L)


@_op("geqrf", "(Tensor A) -> (Tensor, Tensor)")
class GEQRF:
    @staticmethod
    def real(A: torch.Tensor) -> tuple:
        return tuple(torch.geqrf(A))

    @staticmethod
    def fake(A: torch.Tensor) -> tuple:
        return _columns(A, *A.shape), A.new_empty(*A.shape[:-2], _least(A))


def _least(A: torch.Tensor) -> Any:
    return torch.sym_min(A.shape[-2], A.shape[-1])


@_op("svd", "(Tensor A, int vectors) -> (Tensor, Tensor, Tensor, Tensor)")
class SVD:
    """vectors: 0 none, 1 as many as singular values, 2 all."""

    @staticmethod
    def real(A: torch.Tensor, vectors: int) -> tuple:
        def one(matrix: torch.Tensor) -> tuple:
            if vectors:
                return tuple(torch.linalg.svd(matrix, full_matrices=vectors == 2))
            return A.new_empty(0), torch.linalg.svdvals(matrix), A.new_empty(0)

        found = _each(one, lambda matrix: _nan(*one(torch.zeros_like(matrix))), A)
        return found if vectors else (A.new_empty(0), found[1], A.new_empty(0), found[3])

    @staticmethod
    def fake(A: torch.Tensor, vectors: int) -> tuple:
        *outer, m, n = A.shape
        k = _least(A)
        if not vectors:
            return A.new_empty(0), A.new_empty(*outer, k), A.new_empty(0), _info(A)
        wide, high = (m, n) if vectors == 2 else (k, k)
        return _columns(A, *outer, m, wide), A.new_empty(*outer, k), A.new_empty(*outer, high, n), _info(A)


@_op("eigh", "(Tensor A, bool upper, bool vectors) -> (Tensor, Tensor, Tensor)")
class EIGH:
    @staticmethod
    def real(A: torch.Tensor, upper: bool, vectors: bool) -> tuple:
        def one(matrix: torch.Tensor) -> tuple:
            values, found = torch.linalg.eigh(matrix, "U" if upper else "L")
            return values, found

        values, found, info = _each(one, lambda matrix: _nan(*one(torch.zeros_like(matrix))), A)
        return values, found if vectors else A.new_empty(0), info

    @staticmethod
    def fake(A: torch.Tensor, upper: bool, vectors: bool) -> tuple:
        return A.new_empty(A.shape[:-1]), _columns(A, *A.shape) if vectors else A.new_empty(0), _info(A)


@_op("eig", "(Tensor A, bool vectors) -> (Tensor, Tensor, Tensor)")
class EIG:
    """Complex numbers as pairs."""

    @staticmethod
    def real(A: torch.Tensor, vectors: bool) -> tuple:
        def one(matrix: torch.Tensor) -> tuple:
            if not matrix.isfinite().all():
                raise torch.linalg.LinAlgError("not finite")
            return tuple(torch.view_as_real(x.resolve_conj()) for x in torch.linalg.eig(matrix))

        values, found, info = _each(one, lambda matrix: _nan(*one(torch.zeros_like(matrix))), A)
        return values, found if vectors else A.new_empty(0), info

    @staticmethod
    def fake(A: torch.Tensor, vectors: bool) -> tuple:
        found = A.new_empty((*A.shape, 2)).transpose(-2, -3) if vectors else A.new_empty(0)
        return A.new_empty((*A.shape[:-1], 2)), found, _info(A)


@_op("lstsq", "(Tensor A, Tensor B, Tensor rcond, int driver) -> (Tensor, Tensor, Tensor, Tensor, Tensor)")
class LSTSQ:
    """The solution, the sums of what is left, squared, rank, singular values; driver: its place in DRIVERS."""

    @staticmethod
    def real(A: torch.Tensor, B: torch.Tensor, rcond: torch.Tensor, driver: int) -> tuple:
        def one(a: torch.Tensor, b: torch.Tensor) -> tuple:
            found = torch.linalg.lstsq(a, b, rcond=rcond.item(), driver=DRIVERS[driver])
            left = (a @ found.solution - b).square().sum(-2)
            rank = found.rank if found.rank.numel() else torch.tensor(0)
            values = found.singular_values if found.singular_values.numel() else a.new_zeros(min(a.shape))
            return found.solution, left, rank, values

        def failed(a: torch.Tensor, b: torch.Tensor) -> tuple:
            solution = a.new_full((a.shape[1], b.shape[1]), torch.nan)
            return solution, a.new_zeros(b.shape[1]), torch.tensor(0), a.new_zeros(min(a.shape))

        return _each(one, failed, A, B)

    @staticmethod
    def fake(A: torch.Tensor, B: torch.Tensor, rcond: torch.Tensor, driver: int) -> tuple:
        *outer, m, n = A.shape
        count = B.shape[-1]
        solution = _columns(A, *outer, torch.sym_max(m, n), count)[..., :n, :]
        return (solution.as_strided(solution.shape, solution.stride(), 0), A.new_empty(*outer, count),
                A.new_empty(outer, dtype=torch.int64), A.new_empty(*outer, _least(A)), _info(A))


@_op("first_failure", "(Tensor info) -> (Tensor, Tensor)")
class FIRST_FAILURE:
    """Of a batch: the place of the first `info` that is not 0, and that; 0 and 0 where all are."""

    @staticmethod
    def real(info: torch.Tensor) -> tuple:
        flat = info.reshape(-1).to(torch.int64)
        if not flat.numel():
            return torch.tensor(0), torch.tensor(0)
        at = (flat != 0).to(torch.int8).argmax()
        return at, flat[at].clone()

    @staticmethod
    def fake(info: torch.Tensor) -> tuple:
        return tuple(info.new_empty((), dtype=torch.int64) for _ in range(2))
