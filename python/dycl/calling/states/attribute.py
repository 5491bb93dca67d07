# SPDX-License-Identifier: Apache-2.0
"""A number or a tensor that every call leaves of the same kind."""

from __future__ import annotations

import torch

from .. import places
from ..same_contents import same
from ..state_values import ABSENT
from .state import State


class NumberAttribute(State):
    def read(self) -> list:
        value = places.read(self.owner, self.key)
        if value is ABSENT:  # a number of the class, until the first call
            value = getattr(self.owner, self.key)
        if type(value) is int and not -(2**63) <= value < 2**63:
            raise OverflowError(f"{type(self.owner).__name__}.{self.key}: {value} does not fit in 64 bits")
        return [value.detach() if isinstance(value, torch.Tensor) else value]

    def write(self, values: list, in_place: bool) -> None:
        there = places.read(self.owner, self.key) is not ABSENT
        if there or not same(getattr(self.owner, self.key, ABSENT), values[0]):  # else its class has it already
            places.write(self.owner, self.key, values[0])


class TensorAttribute(NumberAttribute):
    def tensors(self) -> list[torch.Tensor | None]:
        value = places.read(self.owner, self.key)
        return [value if isinstance(value, torch.Tensor) else None]
