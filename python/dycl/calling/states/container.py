# SPDX-License-Identifier: Apache-2.0
"""A container whose length changes: a state of the program for each leaf of the elements of the lists that it is made
of, which holds their values."""

from __future__ import annotations

from typing import Any

import torch

from ...errors import InputError
from .. import places
from ..nodes import refill
from ..templates import Made, Template
from .state import State


class ContainerState(State):
    """`template`: of the container."""

    def __init__(self, names: list[str], owner: Any, key: Any, template: Template):
        super().__init__(names, owner, key)
        self.template = template

    def read(self) -> list:
        found = places.read(self.owner, self.key)
        if not self.template.fits(found, _is):
            raise InputError(f"{places.label(self.owner, self.key)}: another kind of {type(found).__name__} than while "
                             "compiling; compile again")
        return [[x.detach() if isinstance(x, torch.Tensor) else x for x in column]
                for column in self.template.taken(found)]

    def write(self, values: list, in_place: bool) -> None:
        made = self.template.rebuild(iter(values), Made())
        if in_place:
            refill(places.read(self.owner, self.key), made)
        else:
            places.write(self.owner, self.key, made)

    def save(self, saved: Any) -> None:
        super().save(saved)
        saved.elements(places.read(self.owner, self.key))


def _is(known: Any, value: Any) -> bool:
    return type(value) is type(known) and value == known
