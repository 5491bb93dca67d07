# SPDX-License-Identifier: Apache-2.0
"""What the ops `rand.*` of a recorded graph draw, by torch, numpy and the standard library themselves: the generator is
torch's, whose state each of them goes on from."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any, Callable

import numpy as np
import torch

from ... import generators
from ..torch_internals import standard_gamma
from .dtypes import dtype_of_name

# torch's own draws, by their names here: how a tensor is filled, given the parameters
_FILLS: dict[str, Callable] = {
    "rand.uniform": torch.Tensor.uniform_, "rand.normal": torch.Tensor.normal_, "rand.int": torch.Tensor.random_,
    "rand.any_int": torch.Tensor.random_, "rand.exponential": torch.Tensor.exponential_,
    "rand.geometric": torch.Tensor.geometric_, "rand.cauchy": torch.Tensor.cauchy_,
    "rand.log_normal": torch.Tensor.log_normal_,
}
_PARAMETERS = {"rand.any_int": 0, "rand.exponential": 1, "rand.geometric": 1}


def _words(shape: list[int]) -> torch.Tensor:
    """Torch gives remainders of words: by two moduli they say the whole."""
    state, few = torch.get_rng_state(), 2**27
    low = torch.randint(0, few, shape)
    torch.set_rng_state(state)
    return low + (torch.randint(0, few - 1, shape) - low) % (few - 1) * few


# of which the parameters are tensors
_SAMPLES: dict[str, Callable] = {"rand.poisson": torch.poisson, "rand.gamma": standard_gamma,
                                 "rand.binomial": torch.binomial}
_OPERANDS = {"rand.binomial": 2}

# (parameters, how a generator of numpy or the standard library draws that many)
_OF_LIBRARIES: dict[str, tuple[int, Callable]] = {
    "rand.library_double": (0, lambda g, n: g.random(n)),
    "rand.numpy_int": (2, lambda g, n, low, last: (
        g.integers(low, last, n, endpoint=True) if isinstance(g, np.random.Generator)
        else g.randint(low, last + 1, n, dtype=np.int64))),
    "rand.numpy_normal": (0, lambda g, n: g.standard_normal(n)),
    "rand.numpy_permutation": (0, lambda g, n: g.permutation(n)),
    "rand.numpy_choice": (1, lambda g, n, population: g.choice(population, n, replace=False)),
    "rand.python_below": (1, lambda g, n, end: [g.randrange(end) for _ in range(n)]),
    "rand.python_normal": (0, lambda g, n: [g.gauss(0.0, 1.0) for _ in range(n)]),
    "rand.python_permutation": (0, lambda g, n: _shuffled(g, list(range(n)))),
}

_own: list[torch.Tensor] = []  # the state of torch's generator while another is lent


@contextlib.contextmanager
def given_back() -> Iterator[None]:
    """Where an execution ends while a generator is lent, torch's is as it was."""
    depth = len(_own)
    try:
        yield
    finally:
        if len(_own) > depth:
            torch.set_rng_state(_own[depth])
            del _own[depth:]


def _shuffled(generator: random.Random, items: list) -> list:
    generator.shuffle(items)
    return items


def _of_library(op: str, x: list) -> torch.Tensor:
    count, of = _OF_LIBRARIES[op]
    state = torch.get_rng_state()
    made: Any = random.Random() if "python" in op else np.random.RandomState()
    if generators.is_pcg(state):
        made = np.random.default_rng(0)
    generators.write(made, state)
    drawn = of(made, int(np.prod(x[count:])), *x[:count])
    torch.set_rng_state(generators.read(made))
    return torch.as_tensor(np.asarray(drawn)).reshape(x[count:])


def draw(op: str, x: list, attrs: dict) -> Any:
    if op == "rand.state":
        return torch.get_rng_state()
    if op == "rand.set_state":
        return torch.set_rng_state(x[0].contiguous())
    if op == "rand.seed":
        torch.manual_seed(x[0])
        return None
    if op == "rand.lend":
        _own.append(torch.get_rng_state())
        return torch.set_rng_state(x[0].contiguous())
    if op == "rand.give_back":
        state = torch.get_rng_state()
        torch.set_rng_state(_own.pop())
        return state
    if op in _SAMPLES:
        return _SAMPLES[op](*x[:_OPERANDS.get(op, 1)])
    if op in _OF_LIBRARIES:
        return _of_library(op, x)
    dtype = dtype_of_name(attrs["dtype"])
    if op == "rand.word":
        return _words(x)
    if op == "rand.permutation":
        return torch.randperm(*x, dtype=dtype)
    if op == "rand.normal_each":  # as torch fills what has gaps: one by one
        return torch.empty(*x[2:], 2, dtype=dtype).select(-1, 0).normal_(*x[:2]).contiguous()
    count = _PARAMETERS.get(op, 2)
    return _FILLS[op](torch.empty(x[count:], dtype=dtype), *x[:count])
