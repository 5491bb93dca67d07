# SPDX-License-Identifier: Apache-2.0
"""A quick part of the OpInfo sweep (tests/frontend/support/opinfo_sweep.py): common ops, a few samples each."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("expecttest", reason="torch's OpInfo database needs it")

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

from tests.frontend.support.opinfo_sweep import FAILURES, describe, run_sample  # noqa: E402

NAMES = """
add sub mul div floor_divide remainder fmod pow clamp where masked_fill maximum minimum eq lt logical_and bitwise_and
round floor sign abs exp log1p atan2 copysign sum mean prod var std_mean any all amax argmax max min median cumsum sort
topk argsort unique cat stack split chunk unbind narrow slice_scatter select_scatter diagonal_scatter diag_embed flip
roll tril repeat
repeat_interleave unfold gather scatter scatter_add scatter_reduce index_select index_add index_copy index_fill
index_put masked_select masked_scatter nonzero take bincount einsum baddbmm addmm matmul linalg.vector_norm logsumexp
searchsorted nn.functional.one_hot nn.functional.pad nn.functional.avg_pool2d nn.functional.max_pool2d
nn.functional.interpolate nn.functional.conv2d nn.functional.group_norm nn.functional.unfold nn.functional.cross_entropy
""".split()
DTYPES = (torch.float32, torch.int64, torch.bool)
MOST = 4


@pytest.mark.parametrize("name", NAMES)
def test_samples_agree_or_are_refused(name):
    torch.manual_seed(0)
    agreed, refused = 0, 0
    for op in (op for op in op_db if op.name == name):
        for dtype in DTYPES:
            if not op.supports_dtype(dtype, "cpu"):
                continue
            samples = list(op.sample_inputs("cpu", dtype, requires_grad=False))
            for sample in samples[:: max(1, -(-len(samples) // MOST))]:
                status, note, ops, what = run_sample(op.op, sample, False)
                assert status not in FAILURES, f"{status} {describe(sample)}: {note} {ops}"
                agreed += status == "ok"
                refused += status == "refused"
    assert agreed or name in ("nn.functional.one_hot",), f"nothing agreed, {refused} refused"


@pytest.mark.parametrize(
    "name", ["add", "mean", "cat", "gather", "index_put", "amax", "sort", "var", "matmul", "cumsum", "where"]
)
def test_extents_known_only_at_run_time(name):
    torch.manual_seed(0)
    for op in (op for op in op_db if op.name == name):
        samples = list(op.sample_inputs("cpu", torch.float32, requires_grad=False))
        for sample in samples[:: max(1, -(-len(samples) // MOST))]:
            status, note, ops, _ = run_sample(op.op, sample, True)
            assert status not in FAILURES, f"{status} {describe(sample)}: {note} {ops}"
