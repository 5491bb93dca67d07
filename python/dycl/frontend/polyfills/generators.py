# SPDX-License-Identifier: Apache-2.0
"""Generators of random numbers, written in Python and interpreted by the machine (as polyfills/builtins.py is).

The state of a torch.Generator is a tensor, as get_state gives it: drawing writes it in place. One made by the program
is such an object here; one from outside has its tensor beside it (calling/generator.py), a state between calls. The
default generator is the run's own.
"""

from __future__ import annotations

import torch

from ..values.stand_in import InterpretedStandIn
from .registry import substitutes


def state_of_run():
    """Answered by the machine: the state of the default generator."""
    raise NotImplementedError


def set_state_of_run(state):
    """Answered by the machine: it goes on from there."""
    raise NotImplementedError


def seed_run(seed):
    """Answered by the machine: the default generator begins anew."""
    raise NotImplementedError


def refuse_seed():
    """Answered by the machine: a seed from the outside world is none of the program's."""
    raise NotImplementedError


def state_after(action, argument):
    """Of a generator to which this happened; the default one stays as it is."""
    before = state_of_run()
    action(argument)
    result = state_of_run()
    set_state_of_run(before)
    return result


def seed_in(state):
    """The first eight bytes."""
    parts = state[:8].to(torch.int64)
    if parts[7] > 127:
        raise OverflowError("a seed above 2**63 - 1 read in a compiled program")
    return (parts * torch.tensor([256**k for k in range(8)])).sum().item()


class RtSource(InterpretedStandIn):
    """What random numbers are drawn from. Attribute: state, a tensor that is written in place."""


class RtGenerator(RtSource):
    """A torch.Generator."""

    def example(self, m):
        return torch.Generator()

    @property
    def device(self):
        return torch.device("cpu")

    def manual_seed(self, seed):
        self.state.copy_(state_after(seed_run, seed))
        return self

    def get_state(self):
        return state_after(set_state_of_run, self.state)

    def set_state(self, state):
        self.state.copy_(state_after(set_state_of_run, state))
        return self

    def initial_seed(self):
        return seed_in(self.state)

    def seed(self):
        return refuse_seed()

    def clone_state(self):
        made = torch.Generator()
        made.set_state(self.state)
        return made


@substitutes(torch.manual_seed, torch.random.manual_seed)  # torch.compile's import makes the first a wrapper
def manual_seed(seed):
    seed_run(int(seed))
    return torch.default_generator


@substitutes(torch.get_rng_state)
def get_rng_state():
    return state_of_run()


@substitutes(torch.set_rng_state)
def set_rng_state(new_state):
    set_state_of_run(new_state)


def set_default_state(new_state):
    set_state_of_run(new_state)
    return torch.default_generator


def clone_default():
    made = torch.Generator()
    made.set_state(state_of_run())
    return made


@substitutes(torch.initial_seed)
def initial_seed():
    return seed_in(state_of_run())


@substitutes(torch.seed)
def seed():
    return refuse_seed()


class Forked:
    """A context after which the default generator goes on from where it was before."""

    def __init__(self, enabled):
        self.enabled = enabled

    def __enter__(self):
        if self.enabled:
            self.state = state_of_run()

    def __exit__(self, kind, error, trace):
        if self.enabled:
            set_state_of_run(self.state)


@substitutes(torch.random.fork_rng)
def fork_rng(devices=None, enabled=True, *more, **others):
    return Forked(enabled)
