# SPDX-License-Identifier: Apache-2.0
"""A tensor of the model that calls write in place: a buffer, a parameter, a constant. It stays that tensor."""

from __future__ import annotations

from typing import Any

import torch

from .state import State


class Buffer(State):
    """`owner` is the tensor."""

    @property
    def place(self) -> tuple[int, Any]:
        return -1, None  # of no attribute

    def read(self) -> list:
        return [self.owner.detach()]

    def write(self, values: list, in_place: bool) -> None:
        with torch.no_grad():
            self.owner.copy_(values[0])

    def save(self, saved: Any) -> None:
        saved.tensor(self.owner)
