# SPDX-License-Identifier: Apache-2.0
"""Why two states stay apart."""

from __future__ import annotations


class Apart(Exception):
    """The states cannot be merged; says which variable keeps them apart."""

    def __init__(self, path: str, why: str, of_strings: bool = False, origin: tuple | None = None):
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why
        self.of_strings = of_strings  # two strings differ, and nothing else was looked at
        self.origin = origin  # of numbers that must stay static


class Permuted(Apart):
    """The states have the same objects in each other's places (two that one arm swapped, a list that was sorted)."""
