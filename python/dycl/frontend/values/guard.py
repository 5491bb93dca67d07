# SPDX-License-Identifier: Apache-2.0
"""What a write to something calls whose value is elsewhere as well: in a list of run-time length, in another storage on
some paths, in what a remembered function gave."""

from __future__ import annotations

from typing import Callable

from ..diagnostics import CaptureRefusal


class Guard:
    """Refuses the write, or begins capture anew without what made it wrong."""

    key: tuple | None = None  # of the assumption of a merge that it takes back
    roots: frozenset = frozenset()  # ids of the cells of outside storages that the guarded one is on some paths
    final = False  # its refusal says more than another reason would

    def __init__(self, refusal: Callable[[], CaptureRefusal]):
        self.refusal = refusal

    @property
    def cells(self) -> tuple:
        """The storages that met, of a merge."""
        return ()

    def __call__(self) -> None:
        raise self.refusal()


class _NoGuard(Guard):
    def __init__(self) -> None:
        pass

    def __bool__(self) -> bool:
        return False

    def __call__(self) -> None:
        pass


NO_GUARD = _NoGuard()
