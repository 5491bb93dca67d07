# SPDX-License-Identifier: Apache-2.0
"""The generators of torch, numpy and the standard library while a program is captured: nothing may draw from them.

What native code drew meanwhile would be the same number in each call of the program. Functions that draw are refused by
name (semantics/interpretation.py); here it is seen where others draw inside, out of the generators that all share.
"""

from __future__ import annotations

import contextlib
import pickle
import random
from collections.abc import Iterator

import numpy as np
import torch

from ..diagnostics import CaptureRefusal


def states() -> bytes:
    return pickle.dumps((torch.get_rng_state().numpy(), np.random.get_state(), random.getstate()))


def refuse_drawn(before: bytes) -> None:
    """`before`: the states as capture began."""
    if states() != before:
        raise CaptureRefusal("native code draws random numbers while the program is compiled: they would be the same "
                             "in each call", "compute them outside and pass them in, or draw with torch.rand",
                             kind="nondeterministic")


@contextlib.contextmanager
def put_back() -> Iterator[None]:
    """What is drawn meanwhile is not drawn from the caller."""
    before = states()
    try:
        yield
    finally:
        of_torch, of_numpy, of_python = pickle.loads(before)
        torch.set_rng_state(torch.from_numpy(of_torch))
        np.random.set_state(of_numpy)
        random.setstate(of_python)
