# SPDX-License-Identifier: Apache-2.0
"""The sweep of special values (`make special`) sees what differs, and finds nothing in a few ops that are used most.
15 seconds; all ops: `make special`."""

import os
import signal

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

from tests.frontend.support import special_sweep as sweep

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("given, wanted, what", [
    ([NAN, 1.0], [NAN, 1.0], ""),
    ([0.75, 1.0], [NAN, 1.0], "NaN: 0.75"),
    ([NAN, 1.0], [0.5, 1.0], "NaN: nan for 0.5"),
    ([INF, 1.0], [-INF, 1.0], "infinity: inf for -inf"),
    ([3e38, 1.0], [INF, 1.0], "infinity: 3"),
    ([1.5, 1.0], [1.0, 1.0], "number: 1.5"),
    ([1.00001, 1.0], [1.0, 1.0], ""),
])
def test_differences_are_seen(given, wanted, what):
    found = sweep.difference(torch.tensor(given), torch.tensor(wanted))
    assert found.startswith(what) and bool(found) == bool(what)


def test_the_allowed_are_named_with_their_reasons():
    differ = [{"sample": "", "dtype": "float32", "compared": 1, "differ": [["greatest, one", "infinity"],
                                                                          ["nan, one", "NaN"]]}]
    left = sweep.differences("bmm", differ)
    assert left[0]["differ"] == [["nan, one", "NaN"]]
    assert sweep.differences("clamp", differ) == differ
    assert all(len(reason) > 20 for reason in sweep.ALLOWED.values())
    divided = [{"sample": "", "dtype": "float32", "compared": 1, "differ": [["denormal, one", "infinity"]]}]
    assert sweep.differences("div.floor_rounding", divided, "openvino") == []
    assert sweep.differences("div.floor_rounding", divided, "ort") == divided


def test_random_ops_are_compared():
    """They draw from one generator, which begins at one seed."""
    (op,) = [op for op in op_db if op.name == "nn.functional.dropout"]
    results = []
    sweep.try_op(op, [torch.float32], 3, "ort", results.append)
    assert sum(r.get("compared", 0) for r in results) > 20
    assert sweep.differences("nn.functional.dropout", [r for r in results if "differ" in r]) == []


def test_a_crash_is_a_difference_and_the_next_op_is_tried(monkeypatch):
    def try_op(op, *_):
        if op.name == "exp":
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(sweep, "try_op", try_op)
    ops = [op for op in op_db if op.name in ("exp", "sin")]
    found = {op.name: results for op, results in sweep.in_child(ops, [torch.float32], 1, "ort", 60)}
    assert found["exp"][0]["differ"] == [["crash", "signal 9"]] and found["sin"] == []


@pytest.mark.parametrize("name", ["sign", "softmax", "nn.functional.max_pool2d", "nn.functional.gelu", "maximum"])
def test_ops_used_most(name):
    (op,) = [op for op in op_db if sweep.name_of(op) == name]
    results = []
    sweep.try_op(op, [torch.float32], 1, "ort", results.append)
    results = [r for r in results if "begin" not in r]
    assert sum(r["compared"] for r in results) > 20
    assert sweep.differences(name, results) == []
