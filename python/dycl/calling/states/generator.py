# SPDX-License-Identifier: Apache-2.0
"""A generator of random numbers from which calls draw. It stays that generator."""

from __future__ import annotations

from typing import Any

import torch

from ... import generators
from .buffer import Buffer


class Generator(Buffer):
    """`owner` is the tensor that stands for it while capturing."""

    def __init__(self, names: list[str], owner: torch.Tensor, generator: Any):
        super().__init__(names, owner, None)
        self.generator = generator

    def read(self) -> list:
        return [generators.read(self.generator)]

    def write(self, values: list, in_place: bool) -> None:
        generators.write(self.generator, values[0])

    def save(self, saved: Any) -> None:
        saved.generator(self.generator)
