# SPDX-License-Identifier: Apache-2.0
"""The ops of the domain "linalg" (src/backends/kernels/linear_algebra.h) as the tape knows them: schemas, shapes."""

from __future__ import annotations

from typing import Any, Callable

import onnx
import torch

DOMAIN = "linalg."
_OPTIONS = ("left", "adjoint", "upper", "unit", "vectors", "mode", "driver")
_KINDS = {"T": "T", "i": "tensor(int32)", "l": "tensor(int64)"}
_DTYPES = {"i": torch.int32, "l": torch.int64}


def _spectrum(m, n, k, how, x):
    wide, high = (m, n) if how["vectors"] == 2 else (k, k)
    return [(m, wide), (k,), (high, n), ()] if how["vectors"] else [None, (k,), None, ()]


def _factors(m, n, k, how, x):
    wide = m if how["mode"] == 1 else k
    return [None if how["mode"] == 2 else (m, wide), (wide, n)]


# name: letters of the operands, letters of the results (T: the elements' dtype, i: int32, l: int64), the shapes of the
# results for one matrix of m x n (None: it is empty), k = min(m, n), from the options and all operands' shapes
_FORMS: dict[str, tuple[str, str, Callable]] = {
    "LuFactor": ("T", "Tii", lambda m, n, k, how, x: [(m, n), (k,), ()]),
    "LuUnpack": ("Ti", "TTT", lambda m, n, k, how, x: [(m, m), (m, k), (k, n)]),
    "LuSolve": ("TiT", "T", lambda m, n, k, how, x: [x[2][-2:]]),
    "Solve": ("TT", "Ti", lambda m, n, k, how, x: [x[1][-2:], ()]),
    "Inverse": ("T", "Ti", lambda m, n, k, how, x: [(m, n), ()]),
    "Det": ("T", "TTT", lambda m, n, k, how, x: [(), (), ()]),
    "SolveTriangular": ("TT", "T", lambda m, n, k, how, x: [x[1][-2:]]),
    "Cholesky": ("T", "Ti", lambda m, n, k, how, x: [(m, n), ()]),
    "CholeskySolve": ("TT", "T", lambda m, n, k, how, x: [(m, n)]),
    "CholeskyInverse": ("T", "Ti", lambda m, n, k, how, x: [(m, n), ()]),
    "Qr": ("T", "TT", _factors),
    "Geqrf": ("T", "TT", lambda m, n, k, how, x: [(m, n), (k,)]),
    "HouseholderProduct": ("TT", "T", lambda m, n, k, how, x: [(m, n)]),
    "Ormqr": ("TTT", "T", lambda m, n, k, how, x: [x[2][-2:]]),
    "Svd": ("T", "TTTi", _spectrum),
    "Eigh": ("T", "TTi", lambda m, n, k, how, x: [(n,), (n, n) if how["vectors"] else None, ()]),
    "Eig": ("T", "TTi", lambda m, n, k, how, x: [(n, 2), (n, n, 2) if how["vectors"] else None, ()]),
    "LeastSquares": ("TTT", "TTlTi", lambda m, n, k, how, x: [(n, x[1][-1]), (x[1][-1],), (), (k,), ()]),
    "MatrixExp": ("T", "T", lambda m, n, k, how, x: [(m, n)]),
    "LdlFactor": ("T", "Tii", lambda m, n, k, how, x: [(m, n), (n,), ()]),
    "LdlSolve": ("TiT", "T", lambda m, n, k, how, x: [x[2][-2:]]),
}
FIRST_FAILURE = ("i", "ll")  # of a whole batch: two numbers


def schema(name: str) -> onnx.defs.OpSchema:
    operands, results = (FIRST_FAILURE if name == "linalg.FirstFailure"
                         else _FORMS[name.removeprefix(DOMAIN)][:2])
    formal, kind = onnx.defs.OpSchema.FormalParameter, onnx.defs.OpSchema.AttrType.INT
    has_elements = "T" in operands
    return onnx.defs.OpSchema(
        name, "linalg", 1,
        inputs=[formal(f"in{i}", _KINDS[c]) for i, c in enumerate(operands)],
        outputs=[formal(f"out{i}", _KINDS[c]) for i, c in enumerate(results)],
        type_constraints=[("T", ["tensor(float)", "tensor(double)"], "elements")] if has_elements else [],
        attributes=[onnx.defs.OpSchema.Attribute(o, kind) for o in _OPTIONS])


def infer(name: str, operands: list, attributes: dict) -> list[tuple[torch.dtype, tuple | None]]:
    if name == "linalg.FirstFailure":
        return [(torch.int64, ()), (torch.int64, ())]
    _, letters, shapes = _FORMS[name.removeprefix(DOMAIN)]
    *batch, m, n = operands[0].dims
    k = min(m, n) if isinstance(m, int) and isinstance(n, int) else m if m == n else None
    how = {"vectors": 1, "mode": 0} | attributes
    found: list[Any] = shapes(m, n, k, how, [x.dims for x in operands])
    return [(_DTYPES.get(c, operands[0].torch_dtype), (0,) if s is None else (*batch, *s))
            for c, s in zip(letters, found)]
