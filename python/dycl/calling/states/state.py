# SPDX-License-Identifier: Apache-2.0
"""A place of the live module that is kept from call to call: an attribute, an entry of a dict, an element of a list, or
a buffer."""

from __future__ import annotations

from typing import Any

import torch

from .. import places


class State:
    """`names`: of the program's states that hold it, one after the other from number `first` on."""

    first = 0

    def __init__(self, names: list[str], owner: Any, key: Any):
        self.names, self.owner, self.key = names, owner, key

    @property
    def place(self) -> tuple[int, Any]:
        return id(self.owner), self.key

    def read(self) -> list:
        """The values of the program's states as a call begins. Raises InputError where there are none."""
        raise NotImplementedError(type(self))

    def write(self, values: list, in_place: bool) -> None:
        """What a call leaves. `in_place`: in the list that was there, which the call has changed."""
        raise NotImplementedError(type(self))

    def tensors(self) -> list[torch.Tensor | None]:
        """For each of the program's states the tensor in the live module that stands for it, which calls may write."""
        return [None for _ in self.names]

    def save(self, saved: Any) -> None:
        """Tells `saved` what calls change (verification/compare.py)."""
        saved.slot(self.owner, self.key)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({places.label(self.owner, self.key)})"
