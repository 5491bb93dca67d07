# SPDX-License-Identifier: Apache-2.0
"""The table of the zoo: what a model is called, how it is built, and what it is fed.

`@model(...)` registers a builder under its own name. A builder takes no arguments and returns a module in eval mode
whose weights, statistics and thresholds are settled; building twice gives the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

import torch

MODELS: dict[str, "Entry"] = {}


@dataclass(frozen=True)
class Entry:
    name: str
    family: str
    build: Callable[[], torch.nn.Module]
    inputs: Callable[[int], tuple]  # seed -> the arguments of one call
    note: str  # what the input decides
    paper: bool = False  # one of the nine of the paper's evaluation

    def __call__(self) -> torch.nn.Module:
        return self.build()


def model(family: str, inputs: Callable[[int], tuple], note: str, paper: bool = False) -> Callable:
    def register(build):
        assert build.__name__ not in MODELS, build.__name__
        build.inputs = inputs  # `dycl compile zoo:name` finds its example here
        MODELS[build.__name__] = Entry(build.__name__, family, build, inputs, note, paper)
        return build

    return register
