# SPDX-License-Identifier: Apache-2.0
"""Linear algebra over torch's own samples: equal to eager within torch's tolerances, or equal where what is free (signs
of vectors, bases of a subspace) is multiplied out."""

from __future__ import annotations

import warnings

import pytest
import torch

pytest.importorskip("expecttest", reason="torch's OpInfo database needs it")

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

from tests.frontend.support.opinfo_sweep import FAILURES, describe, run_sample  # noqa: E402

NAMES = """
linalg.inv linalg.inv_ex linalg.solve linalg.solve_ex linalg.solve_triangular linalg.det linalg.slogdet linalg.lu
linalg.lu_factor linalg.lu_factor_ex linalg.lu_solve linalg.cholesky linalg.cholesky_ex linalg.ldl_factor
linalg.ldl_factor_ex linalg.ldl_solve linalg.qr linalg.householder_product linalg.svd linalg.svdvals linalg.eigh
linalg.eigvalsh linalg.lstsq linalg.pinv linalg.matrix_rank linalg.matrix_power linalg.matrix_norm linalg.norm
linalg.cond linalg.multi_dot linalg.tensorinv linalg.tensorsolve logdet cholesky cholesky_inverse
cholesky_solve qr geqrf ormqr svd lu lu_solve lu_unpack triangular_solve matrix_exp pinverse
""".split()
MOST = 8


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


def _scaled_exponential(a):
    """To the size of the result, which is what it is exact to."""
    found = torch.matrix_exp(a)
    return found / found.abs().amax() if found.numel() else found


MULTIPLIED = {"linalg.svd": _svd(torch.linalg.svd), "svd": _svd(torch.svd), "linalg.eigh": _eigh,
              "matrix_exp": _scaled_exponential}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", NAMES)
def test_samples(name, dtype):
    torch.manual_seed(0)
    agreed = 0
    for op in (op for op in op_db if op.name == name):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            samples = list(op.sample_inputs("cpu", dtype, requires_grad=False))
            for sample in samples[:: max(1, -(-len(samples) // MOST))]:
                status, note, ops, what = run_sample(MULTIPLIED.get(name, op.op), sample, False, levels=(True,))
                assert status not in (*FAILURES, "refused"), f"{status} {describe(sample)}: {note} {ops}"
                agreed += status == "ok"
    assert agreed


