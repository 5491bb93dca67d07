# SPDX-License-Identifier: Apache-2.0
"""Attributes that calls write, and that only a path reads which an earlier call opens.

`if self.k is None: self.k, self.v = ..., ...` reads k alone, so k becomes a state first. The path on which k is a
tensor then meets the v of the example, None, and may be refused for it.
`declare` makes v a state, too, and capture begins anew.
"""

from __future__ import annotations

from typing import Any

from ...objects import is_entry_name
from .attribute_values import UNKNOWN, LeftValues
from .states import attribute, choice
from .states.attribute import is_plain
from .states.declared import is_declared


def note(left_values: LeftValues, owner: Any, name: Any, initial: Any, value: Any) -> None:
    """An attribute that a path leaves written; nobody reads what it held."""
    unread = left_values.m.assumptions.unread
    if isinstance(owner, list) or not is_entry_name(name) or name in ("*", "+"):
        return
    if (id(owner), name) not in unread:
        known = UNKNOWN if is_plain(initial) else left_values.alternative(value)
        unread[id(owner), name] = (owner, initial, known)


def declare(machine: Any) -> None:
    """Called where capture refuses a path."""
    assumptions = machine.assumptions
    for (owner_id, name), (owner, initial, value) in assumptions.unread.items():
        if (owner_id, name) not in machine.loaded or is_declared(assumptions, owner, name, "attribute", "choice"):
            continue
        if is_plain(initial):
            label = attribute.declare(assumptions, owner, name, initial)
        else:
            known = LeftValues(machine).alternative(initial)
            if known is UNKNOWN or value is UNKNOWN:
                continue
            label = choice.declare(assumptions, owner, name, [known, value])
        assumptions.first.setdefault((owner_id, name), initial)
        assumptions.states.begin_anew(f"{label} is read late")
