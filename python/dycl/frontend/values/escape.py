# SPDX-License-Identifier: Apache-2.0
"""What is raised where native code would look inside a value known only at run time."""

from __future__ import annotations

from typing import Any


class Escape(BaseException):
    """Native code tried to look inside a runtime value."""

    def __init__(self, value: Any, how: str):
        super().__init__(how)
        self.value = value
        self.how = how  # "truth", "hash", "str", "index", ...


class Thrown(Exception):
    """An exception that the program itself raises: here, or in the frame just pushed (generator.throw)."""

    def __init__(self, error: BaseException):
        super().__init__(type(error).__name__)  # its text may be known only at run time
        self.error = error


class NeedDecision(BaseException):
    """Native code asked for the truth of a runtime bool; the machine forks and calls it again."""

    def __init__(self, condition: Any):  # an RtBool
        super().__init__("decision")
        self.condition = condition
