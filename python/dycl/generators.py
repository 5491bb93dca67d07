# SPDX-License-Identifier: Apache-2.0
"""Generators of random numbers outside programs: torch's, and those of the standard library and numpy that draw from
the same one (mt19937). Programs know a state as torch.Generator.get_state gives it; for capture a tensor stands for it.
"""

from __future__ import annotations

import functools
import random
import struct
import weakref
from typing import Any

import numpy as np
import torch

WORDS = 624
STATE_BYTES = 5056
_HEAD = struct.Struct("<QiiQ")  # seed, words left and one, whether it is seeded, the next word
_WORDS = struct.Struct(f"<{WORDS}Q")

KINDS = (torch.Generator, random.Random, np.random.RandomState)  # whose draws a program can make


def read(generator: Any) -> torch.Tensor:
    if isinstance(generator, torch.Generator):
        return generator.get_state()
    words, place = _words_of(generator)
    state = bytearray(STATE_BYTES)
    _HEAD.pack_into(state, 0, 0, WORDS + 1 - place, 1, place)
    _WORDS.pack_into(state, _HEAD.size, *words)
    return torch.frombuffer(state, dtype=torch.uint8)


def write(generator: Any, state: torch.Tensor) -> None:
    if isinstance(generator, torch.Generator):
        generator.set_state(state)
        return
    content = state.numpy().tobytes()
    _, left, _, place = _HEAD.unpack_from(content)
    words, place = _WORDS.unpack_from(content, _HEAD.size), WORDS if left == 1 else place
    if isinstance(generator, random.Random):
        version, _, gauss = generator.getstate()
        generator.setstate((version, (*words, place), gauss))
    else:
        name, _, _, *normal = generator.get_state()
        generator.set_state((name, np.array(words, np.uint32), place, *normal))


def _words_of(generator: Any) -> tuple:
    """(the words, how many of them are gone)."""
    if isinstance(generator, random.Random):
        _, (*words, place), _ = generator.getstate()
    else:
        _, words, place, *_ = generator.get_state()
    return [int(word) for word in words], place


def is_known(generator: Any) -> bool:
    """Whether it is one of these, and not of a class that draws otherwise."""
    if isinstance(generator, np.random.RandomState):
        state = generator.get_state()
        return isinstance(state, tuple) and state[0] == "MT19937"
    return type(generator) in (random.Random, torch.Generator)


@functools.cache
def eager_draws_alike() -> bool:
    """Whether torch draws bernoulli_ and exponential_ from its own generator here: on some processors it takes that of
    a vendor's library, which programs do not have."""
    states = []
    with torch.random.fork_rng(devices=[]):
        for draw in (lambda x: x.uniform_(), lambda x: x.bernoulli_(0.5), lambda x: x.exponential_()):
            torch.manual_seed(0)
            draw(torch.empty(16, dtype=torch.float64))
            states.append(torch.get_rng_state())
    return all(torch.equal(state, states[0]) for state in states)


_tensors: dict[int, tuple] = {}  # id -> (what leads to the generator, tensor)


def tensor_of(generator: Any) -> torch.Tensor:
    """The tensor that stands for its state while capturing, the same each time; its elements are not kept up to
    date."""
    found = _tensors.get(id(generator))
    if found is None:
        found = _tensors[id(generator)] = _kept(generator), read(generator)
        found[1].dycl_generator = found[0]  # type: ignore[attr-defined]
    return found[1]


def snapshot(generator: Any) -> torch.Tensor:
    """Its state now, in a tensor that stands for it."""
    state = read(generator)
    state.dycl_generator = lambda: generator  # type: ignore[attr-defined]
    return state


def _kept(generator: Any) -> Any:
    try:
        return weakref.ref(generator, lambda _, key=id(generator): _tensors.pop(key, None))
    except TypeError:  # numpy's
        return lambda: generator


def behind(tensor: torch.Tensor) -> Any:
    """The generator for which this tensor stands; None of others."""
    found = getattr(tensor, "dycl_generator", None)
    return None if found is None else found()
