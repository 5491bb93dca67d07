# SPDX-License-Identifier: Apache-2.0
"""Attributes that calls write, and that only a path reads which an earlier call opens.

`if self.k is None: self.k, self.v = ..., ...` reads k alone, so k becomes a state first. The path on which k is a
tensor then meets the v of the example, None, and may be refused for it.
`declare` makes v a state, too, and capture begins anew.
"""

from __future__ import annotations

from typing import Any

import torch

from ...calling import places
from ..diagnostics import Restart
from .attribute_values import UNKNOWN, LeftValues


def note(left_values: LeftValues, owner: Any, name: Any, initial: Any, value: Any) -> None:
    """An attribute that a path leaves written; nobody reads what it held."""
    unread = left_values.m.assumptions.unread
    if isinstance(name, str) and name not in ("*", "+") and (id(owner), name) not in unread:
        known = UNKNOWN if _is_plain(initial) else left_values.alternative(value)
        unread[id(owner), name] = (owner, initial, known)


def declare(machine: Any) -> None:
    """Called where capture refuses a path."""
    assumptions = machine.assumptions
    for (owner_id, name), (owner, initial, value) in assumptions.unread.items():
        if ((owner_id, name) not in machine.loaded
                or any((kind, owner_id, name) in assumptions.states for kind in ("attribute", "choice"))):
            continue
        label = places.unique_label(owner, name, assumptions.states)
        if _is_plain(initial):
            assumptions.states["attribute", owner_id, name] = (label, owner, initial)
        else:
            known = LeftValues(machine).alternative(initial)
            if known is UNKNOWN or value is UNKNOWN:
                continue
            assumptions.states["choice", owner_id, name] = (label, owner, [known, value])
            assumptions.combinations = []
        assumptions.first.setdefault((owner_id, name), initial)
        raise Restart(f"{label} is read late")


def _is_plain(initial: Any) -> bool:
    return type(initial) in (bool, int, float) or isinstance(initial, torch.Tensor)
