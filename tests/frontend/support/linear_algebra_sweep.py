# SPDX-License-Identifier: Apache-2.0
"""All of torch's samples of linear algebra, and matrices of 1 x 1 to 200 x 200, compiled and compared with eager.

    python -m tests.frontend.support.linear_algebra_sweep [--ops REGEX] [--no-sizes] [--no-samples]

Samples: every op of torch.linalg and those under older names, float32 and float64, through the lowering; equal within
torch's tolerances, or equal where what is free (signs of vectors, bases of a subspace) is multiplied out.
Sizes: square, wide, tall, batched and singular matrices through whole programs. What is computed from them must be as
near to the answer in float64 as eager's is, to a factor and a few roundings. The exit status is the number of failures.
"""

from __future__ import annotations

import argparse
import collections
import re
import sys
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db

import dycl
from tests.frontend.support.opinfo_sweep import FAILURES, describe, run_sample

LEGACY = """logdet cholesky cholesky_inverse cholesky_solve qr geqrf ormqr svd lu lu_solve lu_unpack triangular_solve
matrix_exp pinverse svd_lowrank pca_lowrank trapz addmm baddbmm bmm""".split()
DRAWS = ("svd_lowrank", "pca_lowrank")  # compared by tests/frontend/recording/test_linear_algebra.py under a seed


def _svd(op):
    def multiplied(a, *args, **kwargs):
        u, s, v = op(a, *args, **kwargs)
        vh = v.mT if op is torch.svd else v
        k = s.shape[-1]
        if not kwargs.get("compute_uv", True):
            return s
        return s, (u[..., :k] * s[..., None, :]) @ vh[..., :k, :], u.mT @ u, v.mT @ v

    return multiplied


def _eigh(a, *args, **kwargs):
    values, vectors = torch.linalg.eigh(a, *args, **kwargs)
    return values, (vectors * values[..., None, :]) @ vectors.mT, vectors.mT @ vectors


def _eig(a):
    """What A does to the vectors, less what their values do, is nothing; values come in any order."""
    values, vectors = torch.linalg.eig(a)
    rest = a.to(vectors.dtype) @ vectors - vectors * values[..., None, :]
    lengths = torch.view_as_real(vectors).square().sum((-3, -1))
    return torch.view_as_real(rest), torch.view_as_real(values.sum(-1)), lengths


def _eigvals(a):
    values = torch.linalg.eigvals(a)
    return torch.view_as_real(values.sum(-1)), torch.view_as_real((values * values).sum(-1))


def _scaled_exponential(a):
    """To the size of the result, which is what it is exact to."""
    found = torch.matrix_exp(a)
    return found / found.abs().amax() if found.numel() else found


MULTIPLIED = {"linalg.svd": _svd(torch.linalg.svd), "svd": _svd(torch.svd), "linalg.eigh": _eigh, "linalg.eig": _eig,
              "linalg.eigvals": _eigvals, "matrix_exp": _scaled_exponential}


def names() -> list[str]:
    return sorted({op.name for op in op_db if op.name.startswith("linalg.") or op.name in LEGACY} - set(DRAWS))


def samples_of(name: str, dtype: torch.dtype, most: int | None = None) -> list:
    """(op, sample) of all its variants."""
    found = []
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in (op for op in op_db if op.name == name and op.supports_dtype(dtype, "cpu")):
            samples = list(op.sample_inputs("cpu", dtype, requires_grad=False))
            step = 1 if most is None else max(1, -(-len(samples) // most))
            found += [(op, sample) for sample in samples[::step]]
    return found


def run(name: str, op, sample) -> tuple[str, str]:
    """Complex results are pairs in whole programs only: those are compiled, and compared by their residuals."""
    if name in ("linalg.eig", "linalg.eigvals"):
        try:
            torch.testing.assert_close(dycl.compile(MULTIPLIED[name], (sample.input,))(sample.input),
                                       MULTIPLIED[name](sample.input), rtol=1e-4, atol=1e-5)
        except dycl.CompileError as error:
            return "refused", str(error)
        except AssertionError as error:
            return "mismatch", str(error)
        return "ok", ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        status, note, _, _ = run_sample(MULTIPLIED.get(name, op.op), sample, False, levels=(True,))
    return status, note


# ---- sizes -------------------------------------------------------------------------------------------

EXTENTS = (1, 2, 3, 5, 8, 16, 17, 33, 64, 100, 200)


def of_any(a):
    """For matrices of any rank and extents."""
    q, r = torch.linalg.qr(a)
    s, product, *_ = _svd(torch.linalg.svd)(a, full_matrices=False)
    return q @ r, q.mT @ q, s, product, torch.linalg.svdvals(a), torch.linalg.matrix_norm(a, 2)


def of_square(a):
    symmetric = (a + a.mT) / 2
    p, lower, upper = torch.linalg.lu(a)
    values, product, _ = _eigh(symmetric)
    root = torch.linalg.cholesky(a @ a.mT + a.shape[-1] * torch.eye(a.shape[-1], dtype=a.dtype))
    return (p @ lower @ upper, values, product, root @ root.mT, torch.linalg.eigvalsh(symmetric),
            torch.linalg.matrix_exp(a / a.shape[-1]))


def of_regular(a):
    rest = torch.linalg.solve(a, a.flip(-1))
    return (a @ torch.linalg.inv(a), a @ rest, torch.linalg.slogdet(a)[1], a @ torch.linalg.pinv(a) @ a,
            a @ torch.linalg.lstsq(a, a[..., :1]).solution)


def matrices(n: int, dtype: torch.dtype):
    """(name, function, matrix): of small numbers, so that a bad condition is the matrix's own."""
    g = torch.Generator().manual_seed(n)
    square = torch.randn(n, n, generator=g, dtype=dtype) / n**0.5
    regular = square + 2 * torch.eye(n, dtype=dtype)
    batch = torch.randn(3, n, n, generator=g, dtype=dtype) / n**0.5
    singular = square.clone()
    singular[:, -1] = singular[:, 0] if n > 1 else 0
    yield "square", of_square, square
    yield "regular", of_regular, regular
    yield "batched", of_square, batch
    yield "batched, regular", of_regular, batch + 2 * torch.eye(n, dtype=dtype)
    yield "wide", of_any, torch.randn(n, n + n // 2 + 1, generator=g, dtype=dtype)
    yield "tall", of_any, torch.randn(2, n + n // 2 + 1, n, generator=g, dtype=dtype)
    yield "singular", of_any, singular
    yield "zero", of_any, torch.zeros(n, n, dtype=dtype)


def far(found: torch.Tensor, eager: torch.Tensor, exact: torch.Tensor) -> str | None:
    """How it is further from the answer than eager is, if it is."""
    size = exact.abs().amax().clamp(min=1e-30)
    ours, theirs = ((x.double() - exact).abs().amax() / size for x in (found, eager))
    allowed = 4 * theirs + 16 * torch.finfo(eager.dtype).eps * max(exact.shape[-1:] or (1,))
    return None if ours <= allowed else f"{ours:.1e} from the answer, eager {theirs:.1e}"


def run_sizes(extents=EXTENTS, report=print) -> int:
    failures = 0
    for n in extents:
        for dtype in (torch.float32, torch.float64):
            for name, function, a in matrices(n, dtype):
                program = dycl.compile(function, (a,))
                for k, triple in enumerate(zip(program(a), function(a), function(a.double()), strict=True)):
                    if why := far(*triple):
                        failures += 1
                        report(f"{name} {n} {dtype}: result {k} of {function.__name__}: {why}")
    return failures


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ops", default=".")
    parser.add_argument("--no-sizes", action="store_true")
    parser.add_argument("--no-samples", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    counts: collections.Counter = collections.Counter()
    for name in [] if options.no_samples else names():
        if not re.search(options.ops, name):
            continue
        for dtype in (torch.float32, torch.float64):
            for op, sample in samples_of(name, dtype):
                status, note = run(name, op, sample)
                counts[status] += 1
                if status != "ok":
                    print(f"{name} {dtype} {status} {describe(sample)}: {note}", flush=True)
    failures = sum(counts[status] for status in (*FAILURES, "refused"))
    further = 0 if options.no_sizes else run_sizes()
    print(f"{dict(counts)} samples; {further} results of other sizes further from the answer than eager's")
    return failures + further


if __name__ == "__main__":
    sys.exit(min(main(), 100))
