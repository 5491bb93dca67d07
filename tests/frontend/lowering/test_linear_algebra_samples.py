# SPDX-License-Identifier: Apache-2.0
"""A part of torch's own samples of linear algebra, and of matrices of other sizes; `make test-long` takes all
(tests/frontend/support/linear_algebra_sweep.py)."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("expecttest", reason="torch's OpInfo database needs it")

from tests.frontend.support.linear_algebra_sweep import FAILURES, describe, names, run, run_sizes, samples_of  # noqa: E402

MOST = 8


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", names())
def test_samples(name, dtype):
    agreed = 0
    for op, sample in samples_of(name, dtype, MOST):
        status, note = run(name, op, sample)
        assert status not in (*FAILURES, "refused"), f"{status} {describe(sample)}: {note}"
        agreed += status == "ok"
    assert agreed


def test_a_large_and_a_small_size_are_as_exact_as_eager():
    """Sixteen programs for each size: half a minute."""
    said = []
    assert run_sizes((1, 33), said.append) == 0, said
