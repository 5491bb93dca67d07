# SPDX-License-Identifier: Apache-2.0
"""Model and program side by side on many inputs, with the arms of branches that these took."""

from __future__ import annotations

import copy
import math
from typing import Any

from .compare import Policy, compare
from .drive import drive as drive_arms


def verify(program: Any, model: Any, inputs: list, rtol: float, atol: float, drive: bool, budget: int) -> dict:
    """{"inputs", "mismatches": [(number, text)], "log10_error", "arms"}."""
    policy, mismatches, flat = Policy(rtol, atol), [], []
    for number, given in enumerate(inputs):
        args = given if isinstance(given, tuple) else (given,)
        for text in compare(program, model, args, {}, policy):
            mismatches.append((number, text))
        flat.append((program._interface.collect(copy.deepcopy(args), {})[0], program._interface.read_states() or []))
    report: dict = {"inputs": len(inputs), "mismatches": mismatches}
    if program._graph is not None:
        report["arms"] = drive_arms(program, flat, rtol, atol, budget if drive else len(flat))
        policy.worst = max(policy.worst, report["arms"].pop("error"))
        mismatches += report["arms"].pop("mismatches")
    report["log10_error"] = math.log10(policy.worst + 1e-10)
    return report
