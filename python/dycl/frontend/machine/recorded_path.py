# SPDX-License-Identifier: Apache-2.0
"""What the machine answers where recording asks about the path that it is on."""

from __future__ import annotations

from typing import Any

from ..library import lru_cache
from ..recording.recorder import Path
from ..values.scalar import RtBool, RtInt


class RecordedPath(Path):
    def __init__(self, m: Any):
        super().__init__(m.recorder)
        self.m = m
        self.line, self.may_catch = m.line_of_model, m.may_catch

    def decide(self, expression: Any) -> bool:
        """Native torch code asks about a size or number known only at run time."""
        return self.m.decide(RtBool(self.recorder.symbols.lower(expression), self.recorder.span))

    def range_of(self, number: RtInt) -> tuple[int | None, int | None]:
        return self.m.facts.of(number, self.m.current.ranges)

    def is_remembering(self) -> bool:
        return lru_cache.inside(self.m)

    def refuse_remembered(self, what: str) -> None:
        lru_cache.check(self.m, what)
