# SPDX-License-Identifier: Apache-2.0
"""Generated Python programs, eager against compiled: none may differ or crash. `make fuzz-capture` runs 20,000."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from dycl import generators
from tests.frontend.generated import __main__ as generated
from tests.frontend.generated import rounding
from tests.frontend.generated.algebra import ALGEBRA
from tests.frontend.generated.drawing import DRAWING
from tests.frontend.generated.edges import EDGES
from tests.frontend.generated.execute import load

ROOT = Path(__file__).resolve().parents[3]
COUNT = 2000
DRAWN = 40  # of those that draw random numbers
FACTORED = 30  # of those that factor matrices
AT_EDGES = 60  # of those at the edges of dtypes and extents


def run(tmp_path, *options: str) -> tuple[dict, str]:
    summary = tmp_path / "summary.json"
    command = [sys.executable, "-m", "tests.frontend.generated", *options, "--limit", "120",
               "--jobs", str(os.cpu_count() or 1), "--json", str(summary)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return json.loads(summary.read_text()), done.stdout


def equal(tmp_path, count: int, first: int) -> int:
    """How many of so many programs are equal; none differs or crashes."""
    report, said = run(tmp_path, "--count", str(count), "--seed", str(first))
    counts = report["status"]
    bad = {kind: n for kind, n in counts.items() if kind not in ("equal", "refused", "unusable", "slow") and n}
    assert not bad, said[-6000:]
    return counts.get("equal", 0)


@pytest.mark.skipif(not generators.eager_draws_alike(), reason="torch draws from a vendor's library here")
def test_programs_that_draw(tmp_path):
    """About a minute."""
    assert equal(tmp_path, DRAWN, DRAWING + 1) >= 0.9 * DRAWN


def test_programs_that_factor_matrices(tmp_path):
    """Half a minute."""
    assert equal(tmp_path, FACTORED, ALGEBRA + 1) >= 0.9 * FACTORED


def test_programs_at_the_edges_of_dtypes_and_extents(tmp_path):
    """Half a minute."""
    assert equal(tmp_path, AT_EDGES, EDGES + 1) >= 0.85 * AT_EDGES


def test_generated_programs(tmp_path):
    report, said = run(tmp_path, "--count", str(COUNT), "--seed", "1", "--mixed")
    counts = report["status"]
    # Documented: what a run wrote before it raised is not kept (docs/supported_python.md).
    known = sum(n for what, n in report["classes"].get("mismatch", {}).items() if what.endswith("after a raise"))
    counts["mismatch"] = counts.get("mismatch", 0) - known
    bad = {kind: n for kind, n in counts.items() if kind not in ("equal", "refused", "unusable", "slow") and n}
    assert not bad, said[-6000:]
    assert counts.get("equal", 0) >= 0.9 * COUNT, counts
    assert counts.get("slow", 0) <= 0.02 * COUNT, counts


def test_a_log_counts_for_the_code_that_it_was_made_with(tmp_path):
    log = tmp_path / "log.jsonl"
    entry = {"seed": 7, "status": "equal", "kind": "", "detail": "", "paths": 1, "calls": 1, "seconds": {}}
    lines = [json.dumps(entry | {"seed": seed, "code": code}) for seed, code in ((7, "this"), (8, "another"))]
    log.write_text("\n".join([*lines, '{"seed": 9, "code": "th']))
    assert generated.read_log(log, "this").keys() == {7}
    assert generated.read_log(tmp_path / "none", "this") == {}
    assert generated.version() == generated.version() != ""


ROUNDED = ["torch.softmax(x, 0).sum() > 1.0", "(x / 3).sum() * 3 >= x.sum()", "torch.floor(x.exp().log()[0]) > 1"]
EXACT = ["x.sum() > 1.0", "torch.floor(x)[0] > 0", "(x * 2).sum() == x.sum() * 2", "torch.softmax(x, 0)[0] > 0.9"]


@pytest.mark.parametrize("condition", ROUNDED + EXACT)
def test_programs_that_the_last_bit_decides(condition):
    """Only what torch rounds is nudged: exact decisions, and those far from their threshold, are nobody's rounding."""
    module = load(f"import torch\ndef make():\n    return lambda x: x if {condition} else -x\n", "fuzz/last_bit")
    inputs = [(torch.tensor([2.0, -0.5, 0.5, 1.5]),), (torch.tensor([2.0, -1.0, 0.0, 0.0]),)]
    assert rounding.decides(module.make, inputs) == (condition in ROUNDED)
