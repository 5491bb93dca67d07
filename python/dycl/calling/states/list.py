# SPDX-License-Identifier: Apache-2.0
"""A list whose length changes: a state of the program for each leaf of its elements, which holds their values."""

from __future__ import annotations

from typing import Any

import torch

from ...errors import InputError
from .. import places
from ..templates import Made, Template
from .state import State


class ListState(State):
    """`element`: the template of its elements."""

    def __init__(self, names: list[str], owner: Any, key: Any, element: Template):
        super().__init__(names, owner, key)
        self.element = element

    def read(self) -> list:
        items = places.read(self.owner, self.key)
        if type(items) is not list or not all(self.element.fits(x, _is) for x in items):
            raise InputError(f"{places.label(self.owner, self.key)}: another kind of list than while "
                             "compiling; compile again")
        rows = [[y.detach() if isinstance(y, torch.Tensor) else y for y in self.element.taken(x)] for x in items]
        return [[row[k] for row in rows] for k in range(len(self.names))]

    def write(self, values: list, in_place: bool) -> None:
        made = [self.element.rebuild(iter(row), Made()) for row in zip(*values)]
        if in_place:
            places.read(self.owner, self.key)[:] = made
        else:
            places.write(self.owner, self.key, made)

    def save(self, saved: Any) -> None:
        super().save(saved)
        saved.elements(places.read(self.owner, self.key))


def _is(known: Any, value: Any) -> bool:
    return type(value) is type(known) and value == known
