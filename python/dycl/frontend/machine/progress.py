# SPDX-License-Identifier: Apache-2.0
"""Tells somebody who waits, once a second, how far a capture is."""

from __future__ import annotations

import time
from typing import Any

_STEPS = 256  # between two looks at the clock


class Progress:
    def __init__(self, machine: Any):
        self.m = machine
        self._next_look, self._told = _STEPS, time.perf_counter()

    def step(self) -> None:
        m = self.m
        if m.steps < self._next_look:
            return
        self._next_look, now = m.steps + _STEPS, time.perf_counter()
        if now - self._told >= 1:
            self._told = now
            m.options.heard(f"capture: {m.steps:,} instructions, {len(m.ready) + len(m.group) + 1:,} states, "
                            f"{len(m.graph.reachable_blocks()):,} blocks")
