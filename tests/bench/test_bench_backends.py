# SPDX-License-Identifier: Apache-2.0
"""The judgement of bench/backends.py: auto against the best single back end, beyond what the control shows."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import backends  # noqa: E402
import backends_correct  # noqa: E402


def bounds(ratio, apart=0.01):
    return {"ratio": ratio, "low": ratio - apart, "high": ratio + apart}


def row(auto, control=1.0, apart=0.01, **more):
    made = {b: {"seconds": 1.0, "engines": {"ort": 3}, "notices": []} for b in backends.BACKENDS}
    return {"auto": bounds(auto), "control": bounds(control, apart), "best": "ort", "compile": made,
            "ratios": {"openvino": bounds(1.5), "auto": bounds(auto)}, **more}


@pytest.mark.parametrize("auto, control, apart, wanted", [
    (1.00, 1.00, 0.01, "equal"),
    (1.02, 1.00, 0.01, "equal"),  # its lower bound is within the control
    (1.05, 1.00, 0.01, "slower"),
    (1.05, 1.00, 0.06, "equal"),  # the control itself moves as much
    (1.05, 0.95, 0.01, "equal"),  # in either direction
    (0.90, 1.00, 0.01, "better"),
    (0.98, 1.00, 0.01, "equal"),
    (0.97, 0.95, 0.01, "equal"),
])
def test_what_counts_is_beyond_the_control(auto, control, apart, wanted):
    assert backends.verdict(row(auto, control, apart)) == wanted


def test_the_table_names_every_model_and_what_failed():
    machine = {"cpu": "a CPU", "cores": 2, "load": 0.1, "date": "today"}
    models = {"a": row(0.9, tuned=bounds(0.95)), "b": {"failed": "no\nmemory"}, "c": row(1.2)}
    page = backends.page({"machine": machine, "models": models})
    assert "| `a` |" in page and "better on 1" in page and "slower on 1" in page
    assert "| `b` | failed: memory" in page and "not compiled" in page and "Tuned TVM" in page


def test_wrong_answers_are_told():
    good = {"inputs": 3, "mismatches": [], "flips": [], "log10_error": -6.5, "engines": {"ort": 2}}
    bad = {**good, "mismatches": [{"seed": 1}]}
    assert not backends_correct.is_wrong(good) and backends_correct.is_wrong(bad)
    assert backends_correct.is_wrong({"failed": "it crashed"})
    machine = {"cpu": "a CPU", "date": "today"}
    page = backends_correct.page({"machine": machine,
                                  "models": {"m": {"ort": good, "tvm": bad, "auto": {"failed": "x"}}}})
    assert "3: 0 wrong" in page and "3: 1 wrong" in page and "not run" in page and "failed: x" in page
