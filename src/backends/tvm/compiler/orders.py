# SPDX-License-Identifier: Apache-2.0
"""The schedule of a kernel, and what of it may be chosen otherwise: winograd.py's for its convolutions,
schedule.py's for all else."""

from __future__ import annotations

from tvm import tirx

import schedule
import winograd


def scheduled(function: tirx.PrimFunc, machine: schedule.Machine,
              choice: schedule.Choice = schedule.Choice()) -> tirx.PrimFunc:
    of = winograd if winograd.is_one(function) else schedule
    return of.scheduled(function, machine, choice)


def space(function: tirx.PrimFunc, machine: schedule.Machine) -> dict[str, list]:
    """The choices that make a difference to a kernel, the most important first; empty: none."""
    if any(not str(b.dtype).startswith("float32") for b in schedule.operands(function)):
        return {}
    of = winograd if winograd.is_one(function) else schedule
    return of.space(function, machine)
