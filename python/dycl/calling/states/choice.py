# SPDX-License-Identifier: Apache-2.0
"""An attribute that holds one of a few values: its number is a state of the program, and so is each open leaf of each
value."""

from __future__ import annotations

from typing import Any

import torch

from ...errors import InputError
from .. import places
from ..same_contents import same
from ..state_values import empty, filled
from ..templates import Static, Template
from .state import State


class Choice(State):
    """`values`: templates. `number`: which of them the attribute has as a call begins, if that is known."""

    number: int | None = None

    def __init__(self, names: list[str], owner: Any, key: Any, values: list[Template]):
        super().__init__(names, owner, key)
        self.values = values

    def fitting(self) -> list[bool]:
        value = places.read(self.owner, self.key)
        return [t.fits(value, _same) for t in self.values]

    def read(self) -> list:
        value, fitting = places.read(self.owner, self.key), self.fitting()
        if self.number is None and True not in fitting:
            raise InputError(f"{type(self.owner).__name__}.{self.key}: has another value than while compiling; "
                             "compile again")
        number = fitting.index(True) if self.number is None else self.number
        found = [number]
        for t, fits in zip(self.values, fitting):
            found += t.taken(value) if fits else map(empty, t.leaves())
        return [x.detach() if isinstance(x, torch.Tensor) else x for x in found]

    def tensors(self) -> list[torch.Tensor | None]:
        value, found = places.read(self.owner, self.key), [None]
        for k, t in enumerate(self.values):
            found += t.taken(value) if k == self.number else [None for _ in t.leaves()]
        return [x if isinstance(x, torch.Tensor) else None for x in found]

    def write(self, values: list, in_place: bool) -> None:
        leaves = iter(values[1:])
        for k, t in enumerate(self.values):
            own = [next(leaves) for _ in t.leaves()]
            if k != int(values[0]):
                continue
            if not isinstance(t, Static):
                places.write(self.owner, self.key, filled(t, iter(own)))
            elif not same(places.read(self.owner, self.key), t.value):
                places.write(self.owner, self.key, t.value)


def _same(a: Any, b: Any) -> bool:
    """In another order it is another set to a loop."""
    return same(a, b) and (not isinstance(a, set) or [*a] == [*b])


def recognise(states: list[State], combinations: list[tuple]) -> None:
    """Which of its few values each attribute has: together one of the combinations that calls leave,
    if they are one."""
    choices = [s for s in states if isinstance(s, Choice)]
    fitting = [s.fitting() for s in choices]
    found = next((c for c in combinations if all(fits[k] for fits, k in zip(fitting, c))), None)
    for k, s in enumerate(choices):
        s.number = None if found is None else found[k]
