# SPDX-License-Identifier: Apache-2.0
"""A numpy array, or a number of numpy's, that every call leaves of the same dtype and rank."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ...dtypes import own_name
from ...errors import InputError
from .. import places
from .state import State


class ArrayState(State):
    """`rank`: None of a number."""

    def __init__(self, names: list[str], owner: Any, key: Any, dtype: torch.dtype, rank: int | None):
        super().__init__(names, owner, key)
        self.dtype, self.rank = dtype, rank

    def read(self) -> list:
        found = places.read(self.owner, self.key)
        if not isinstance(found, np.generic if self.rank is None else np.ndarray) or (
                found.ndim != (self.rank or 0) or found.dtype.name != own_name(self.dtype)):
            raise InputError(f"{places.label(self.owner, self.key)}: another kind of numpy array or number than while "
                             "compiling; compile again")
        return [as_tensor(found)]

    def write(self, values: list, in_place: bool) -> None:
        made = values[0].detach().numpy()
        if in_place:
            places.read(self.owner, self.key)[...] = made
        else:
            places.write(self.owner, self.key, made.copy() if self.rank is not None else made[()])

    def save(self, saved: Any) -> None:
        super().save(saved)
        if self.rank is not None:
            saved.elements(places.read(self.owner, self.key))


def as_tensor(x: Any) -> torch.Tensor:
    """In memory of its own."""
    return torch.from_numpy(np.array(x, order="C"))
