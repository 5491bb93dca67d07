# SPDX-License-Identifier: Apache-2.0
"""Where something stands in the user's source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """A place in the user's file; lines and columns count from 1."""

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0
