# SPDX-License-Identifier: Apache-2.0
"""Generators of random numbers outside programs: torch's, and those of the standard library and numpy. Programs know a
state as torch.Generator.get_state gives it, that of numpy's PCG64 in the same bytes (src/support/random.h); for capture
a tensor stands for it.
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
_NORMAL = struct.Struct("<d8xI")  # the second of two normal numbers, which is drawn next; whether there is one
_NORMAL_AT = 5024
_PCG_MARK = 0x50434736

KINDS = (torch.Generator, random.Random, np.random.RandomState, np.random.Generator)  # whose draws a program can make


def read(generator: Any) -> torch.Tensor:
    if isinstance(generator, torch.Generator):
        return generator.get_state()
    words, place, normal = _words_of(generator)
    state = bytearray(STATE_BYTES)
    _HEAD.pack_into(state, 0, 0, WORDS + 1 - place, 1, place)
    _WORDS.pack_into(state, _HEAD.size, *words)
    _NORMAL.pack_into(state, _NORMAL_AT, normal or 0.0, normal is not None)
    return torch.frombuffer(state, dtype=torch.uint8)


def write(generator: Any, state: torch.Tensor) -> None:
    if isinstance(generator, torch.Generator):
        generator.set_state(state)
        return
    content = state.numpy().tobytes()
    _, left, _, place = _HEAD.unpack_from(content)
    words, place = _WORDS.unpack_from(content, _HEAD.size), WORDS if left == 1 else place
    kept, has_kept = _NORMAL.unpack_from(content, _NORMAL_AT)
    if isinstance(generator, random.Random):
        version, _, _ = generator.getstate()
        generator.setstate((version, (*words, place), kept if has_kept else None))
    elif isinstance(generator, np.random.Generator):
        generator.bit_generator.state = {
            "bit_generator": "PCG64", "state": {"state": _joined(words[:4]), "inc": _joined(words[4:8])},
            "has_uint32": words[8], "uinteger": words[9]}
    else:
        name, *_ = generator.get_state()
        generator.set_state((name, np.array(words, np.uint32), place, has_kept, kept))


def _words_of(generator: Any) -> tuple:
    """(the words, how many of them are gone, a normal number that is kept)."""
    if isinstance(generator, np.random.Generator):
        return _pcg_words(generator), WORDS, None
    if isinstance(generator, random.Random):
        _, (*words, place), normal = generator.getstate()
    else:
        _, words, place, has_normal, normal = generator.get_state()
        normal = normal if has_normal else None
    return [int(word) for word in words], place, normal


def _pcg_words(generator: Any) -> list[int]:
    """Of PCG64: state and increment, 4 words each, whether half a word is kept, it, a mark."""
    state = generator.bit_generator.state
    halves = [state["state"][name] >> 32 * k & 0xFFFFFFFF for name in ("state", "inc") for k in range(4)]
    words = [*halves, state["has_uint32"], state["uinteger"] if state["has_uint32"] else 0, _PCG_MARK]
    return words + [0] * (WORDS - len(words))


def is_pcg(state: torch.Tensor) -> bool:
    """Whether this state is one of PCG64."""
    words = _WORDS.unpack_from(state.numpy().tobytes(), _HEAD.size)
    return words[10] == _PCG_MARK and not any(words[11:])


def _joined(words: Any) -> int:
    return sum(word << 32 * k for k, word in enumerate(words))


def is_known(generator: Any) -> bool:
    """Whether it is one of these, and not of a class that draws otherwise."""
    if isinstance(generator, np.random.RandomState):
        state = generator.get_state()
        return isinstance(state, tuple) and state[0] == "MT19937"
    if isinstance(generator, np.random.Generator):
        return type(generator.bit_generator) is np.random.PCG64
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
