# SPDX-License-Identifier: Apache-2.0
"""Numbers that a program returns and that only its path decides: `return y, 3` here, `return y, 7` there.

Ends whose results differ in nothing but such numbers share one structure, and the number becomes a result like
any other: a reader without Python gets the 3 or the 7, not the number of a variant. A number that is the same at
all those ends stays part of the structure.
"""

from __future__ import annotations

import math
from typing import Any, Callable

from ...calling.templates import count_leaves

_KINDS = ("int", "float", "bool")
_LEAVES = ("tensor", "array", *_KINDS)


def share_structures(ends: list, constant: Callable[[Any, Any], Any]) -> None:
    """Changes templates and values of `ends` in place; `constant(end, number)` gives the value of a number."""
    groups: dict[tuple, list] = {}
    for end in ends:
        groups.setdefault((_map(end.template[0], _blank), end.template[1]), []).append(end)
    for group in groups.values():
        if len({end.template[0] for end in group}) > 1:
            _share(group, constant)


def _share(group: list, constant: Callable[[Any, Any], Any]) -> None:
    found = [_numbers(end.template[0]) for end in group]
    varies = [len(set(column)) > 1 for column in zip(*found)]
    for end in group:
        place, values = iter(varies), iter(end.values)
        merged: list = []

        def replace(leaf: tuple) -> tuple:
            if leaf[0] == "rows":
                merged.extend(next(values) for _ in range(count_leaves(leaf[2])))
                return leaf
            made = next(place) if _is_number(leaf) else False
            if leaf[0] in _LEAVES:
                merged.append(next(values))
            elif made:
                merged.append(constant(end, _number(leaf)))
                return (leaf[1],)
            return leaf

        end.template = (_map(end.template[0], replace), end.template[1])
        end.values = [*merged, *values]


def _numbers(template: tuple) -> list[tuple]:
    found: list[tuple] = []

    def note(leaf: tuple) -> tuple:
        if _is_number(leaf):
            found.append(leaf)
        return leaf

    _map(template, note)
    return found


def _is_number(leaf: tuple) -> bool:
    """A number known only at run time, or one that can be made so without loss."""
    if leaf[0] in _KINDS:
        return True
    if leaf[0] != "static" or leaf[1] not in _KINDS:
        return False
    return -(2**63) <= leaf[2] < 2**63 if leaf[1] == "int" else leaf[1] == "bool" or math.isfinite(float(leaf[2]))


def _number(leaf: tuple) -> Any:
    return float(leaf[2]) if leaf[1] == "float" else leaf[2]


def _blank(leaf: tuple) -> tuple:
    return (leaf[1],) if leaf[0] == "static" and _is_number(leaf) else leaf


def _map(template: tuple, change: Callable[[tuple], tuple]) -> tuple:
    """The template with its leaves changed, in the order of flattening."""
    kind = template[0]
    if kind == "argument":
        return (kind, template[1], _map(template[2], change))
    if kind == "set":  # its elements' order says nothing: what is known stays
        return (kind, template[1], tuple(_map(t, lambda x: x if x[0] == "static" else change(x)) for t in template[2]),
                *_rest(template, change))
    if kind in ("tuple", "list", "table", "text"):
        return (kind, template[1], tuple(_map(t, change) for t in template[2]), *_rest(template, change))
    if kind == "dict":
        return (kind, template[1], tuple((k, _map(t, change)) for k, t in template[2]), *_rest(template, change))
    if kind in ("object", "exception"):
        return (kind, template[1], tuple((k, _map(t, change)) for k, t in template[2]))
    return change(template)


def _rest(template: tuple, change: Callable[[tuple], tuple]) -> tuple:
    """Attributes of an instance of a subclass, and what the container was made with (a length, a factory):
    that stays."""
    return (*(tuple((k, _map(t, change)) for k, t in part) for part in template[3:4]), *template[4:])
