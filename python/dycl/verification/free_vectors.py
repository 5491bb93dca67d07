# SPDX-License-Identifier: Apache-2.0
"""Spectra whose vectors are free: eigenvectors and singular vectors up to signs and the choice within a subspace.

torch's library and ours may choose otherwise, and what a model computes of such vectors then differs, though both are
right. `as_compiled()` is a mode under which eager takes the vectors that compiled programs compute; everything else
stays torch's, so that a comparison under it is as strict as any.
"""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import torch

from ..frontend.torch_internals import TorchDispatchMode, linalg_eigh, linalg_svd
from ..native import native

_OPS = ("linalg.Svd", "linalg.Eigh", "linalg.Eig")
_NAMES = {torch.float32: "f32", torch.float64: "f64"}


def has_free_vectors(program: Any) -> bool:
    try:
        text = program.hcfg
    except Exception:
        return False  # the captured graph runs by torch itself
    return any(op in text for op in _OPS)


@functools.lru_cache(maxsize=64)
def _program(op: str, options: str, dtype: torch.dtype, shape: tuple, results: tuple) -> Any:
    """The interpreter of a program of that one op."""
    name = _NAMES[dtype]
    given = f"{name}[{','.join(map(str, shape))}]"
    types = [f"{'i32' if r is None else name}[{','.join(map(str, r or shape[:-2]))}]" for r in results]
    values = ", ".join(f"%{k}" for k in range(len(types)))
    outputs = ", ".join(f"%out{k}: {t}" for k, t in enumerate(types))
    text = (f"func @main(%a: {given}) -> ({outputs}) {{\n^entry:\n"
            f"  {values} = {op} %a {{{options}}} : {', '.join(types)}\n  return {values}\n}}\n")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "op.dyir"
        path.write_text(text)
        return native().Interpreter(native().read_program(str(path)), "ort")


def _computed(op: str, options: str, A: torch.Tensor, *results: tuple | None) -> list | None:
    """What a program computes; None where it does not go on. A result of shape None: `info`."""
    if A.dtype not in _NAMES or not A.numel():
        return None
    found, _ = _program(op, options, A.dtype, tuple(A.shape), results).run([A.contiguous()])
    return None if found[-1].any() else found[:-1]


def _svd(A: torch.Tensor, full_matrices: bool = False, compute_uv: bool = True, *, driver: Any = None) -> Any:
    *outer, m, n = A.shape
    k = min(m, n)
    wide, high = (m, n) if full_matrices else (k, k)
    if not compute_uv:
        return None
    return _computed("linalg.Svd", f"vectors={2 if full_matrices else 1}", A,
                     (*outer, m, wide), (*outer, k), (*outer, high, n), None)


def _eigh(A: torch.Tensor, UPLO: str = "L", compute_v: bool = True) -> Any:
    if not compute_v:
        return None
    return _computed("linalg.Eigh", f"upper={int(UPLO.upper() == 'U')}, vectors=1", A, tuple(A.shape[:-1]),
                     tuple(A.shape), None)


def _eig(A: torch.Tensor) -> Any:
    found = _computed("linalg.Eig", "vectors=1", A, (*A.shape[:-1], 2), (*A.shape, 2), None)
    return found and [torch.view_as_complex(x) for x in found]


_CHOICES = {linalg_svd.default: _svd, linalg_eigh.default: _eigh, torch.ops.aten.linalg_eig.default: _eig}


class _AsCompiled(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        wanted = func(*args, **(kwargs or {}))
        choice = _CHOICES.get(func)
        found = choice(*args, **(kwargs or {})) if choice else None
        if found is None:
            return wanted
        for ours, torchs in zip(found, wanted):
            torchs.copy_(ours)  # which keeps how they lie in memory
        return wanted


def as_compiled() -> TorchDispatchMode:
    return _AsCompiled()
