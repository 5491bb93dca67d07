# SPDX-License-Identifier: Apache-2.0
"""Programs that draw random numbers go on where torch's default generator is, and leave it where eager would.

A call takes the generator's state in, and gives it back also if it raises. A function of the host that the program
calls meanwhile sees the generator as it is then. Calls of programs that draw take turns: the generator is one.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import Any, Callable

import torch

_turn = threading.RLock()
_running = threading.local()  # .run: that of this thread which draws


def _state() -> bytes:
    return torch.default_generator.get_state().numpy().tobytes()


def _leave(run: Any) -> None:
    state = torch.frombuffer(bytearray(run.random_state()), dtype=torch.uint8)
    torch.default_generator.set_state(state)


@contextlib.contextmanager
def lent_to(run: Any) -> Iterator[None]:
    """Torch's generator is this run's."""
    with _turn:
        outer = getattr(_running, "run", None)
        run.set_random_state(_state())
        _running.run = run
        try:
            yield
        finally:
            _running.run = outer
            _leave(run)


def returned_while(function: Callable) -> Callable:
    """A function of the host, during which torch has its generator back."""

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        run = getattr(_running, "run", None)
        if run is None:
            return function(*args)
        _leave(run)
        _running.run = None
        try:
            return function(*args)
        finally:
            _running.run = run
            run.set_random_state(_state())

    return call
