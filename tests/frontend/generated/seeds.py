# SPDX-License-Identifier: Apache-2.0
"""The generators that all share, before and after a call."""

from __future__ import annotations

import random

import numpy as np
import torch


def seed_all(number: int) -> None:
    torch.manual_seed(number)
    random.seed(number)
    np.random.seed(number)


def drawn_so_far() -> list:
    _, words, place, *_ = np.random.get_state()
    return [torch.get_rng_state().tolist(), random.getstate(), words.tolist(), place]
