# SPDX-License-Identifier: Apache-2.0
"""Keys of dicts and elements of sets that are known only at run time: decided, one arm for each value they can have."""

from __future__ import annotations

from typing import Any, Iterable

from .diagnostics import CaptureRefusal
from .values import RtBool, RtInt, RtScalar


def present_key(m, key: RtScalar, present: Iterable, otherwise: BaseException) -> Any:
    """One of the keys that are there; `otherwise` is raised where it is none of them."""
    return m.decide_value(key, _numbers(present), "a dict key", otherwise)


def any_key(m, key: RtScalar, present: Iterable) -> Any:
    """Whatever it is, there or not. Refused if it may be anything."""
    possible = possible_values(m, key)
    if possible is None:
        return present_key(m, key, present, CaptureRefusal(
            "a dict or set entry under a key known only at run time", "use a list or a tensor, or keys known beforehand",
            kind="escape.hash", because=key))
    m.forbid_if_merged(key)
    for value in possible[:-1]:
        if m.decide(m.scalars.compare("eq", key, value)):
            return value
    return possible[-1]


def possible_values(m, key: RtScalar) -> list | None:
    """All values of a number of known range, if they are few."""
    if isinstance(key, RtBool):
        return [False, True]
    if not isinstance(key, RtInt):
        return None
    least, greatest = m.facts.of(key, m.current.ranges)
    if least is None or greatest is None or greatest - least >= m.options.max_switch:
        return None
    return list(range(least, greatest + 1))


def _numbers(present: Iterable) -> list:
    return [k for k in present if type(k) in (int, bool)]
