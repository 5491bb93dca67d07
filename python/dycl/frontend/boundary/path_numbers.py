# SPDX-License-Identifier: Apache-2.0
"""Numbers that a program returns and that only its path decides: `return y, 3` here, `return y, 7` there.

Ends whose results differ in nothing but such numbers share one structure, and the number becomes a result like
any other: a reader without Python gets the 3 or the 7, not the number of a variant. A number that is the same at
all those ends stays part of the structure.
"""

from __future__ import annotations

from typing import Any, Callable

from ...calling.templates import NUMBERS, Leaf, Number, Rows, Static, Template, is_finite_number


def share_structures(ends: list, constant: Callable[[Any, Any], Any]) -> None:
    """Changes templates and values of `ends` in place; `constant(end, number)` gives the value of a number."""
    groups: dict[tuple, list] = {}
    for end in ends:
        groups.setdefault((end.template[0].map(_blank), end.template[1]), []).append(end)
    for group in groups.values():
        if len({end.template[0] for end in group}) > 1:
            _share(group, constant)


def _share(group: list, constant: Callable[[Any, Any], Any]) -> None:
    found = [_numbers(end.template[0]) for end in group]
    varies = [len(set(column)) > 1 for column in zip(*found)]
    for end in group:
        place, values = iter(varies), iter(end.values)
        merged: list = []

        def replace(leaf: Template) -> Template:
            made = next(place) if _is_number(leaf) else False
            if isinstance(leaf, (Leaf, Rows)):
                merged.extend(next(values) for _ in leaf.leaves())
            elif made and isinstance(leaf, Static):
                merged.append(constant(end, leaf.value))
                return _blank(leaf)
            return leaf

        end.template = (end.template[0].map(replace), end.template[1])
        end.values = [*merged, *values]


def _numbers(template: Template) -> list[Template]:
    found: list[Template] = []

    def note(leaf: Template) -> Template:
        if _is_number(leaf):
            found.append(leaf)
        return leaf

    template.map(note)
    return found


def _is_number(leaf: Template) -> bool:
    """A number known only at run time, or one that can be made so without loss."""
    return isinstance(leaf, Number) or is_finite_number(leaf)


def _blank(leaf: Template) -> Template:
    return Number(NUMBERS[type(leaf.value)]) if isinstance(leaf, Static) and is_finite_number(leaf) else leaf
