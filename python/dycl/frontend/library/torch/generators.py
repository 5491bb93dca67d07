# SPDX-License-Identifier: Apache-2.0
"""Generators of random numbers: what their methods mean is in polyfills/generators.py, the state itself here."""

from __future__ import annotations

import functools
import types

import torch

from ....generators import STATE_BYTES
from ...diagnostics import CaptureRefusal
from ...polyfills import generators as polyfills
from ...polyfills.generators import RtGenerator
from ...recording import random
from ...semantics.registry import finds, handles

_METHODS = ("manual_seed", "get_state", "set_state", "initial_seed", "seed", "clone_state")


@handles(torch.Generator)
def _make(m, s, args, kwargs):
    device = torch.device(args[0] if args else kwargs.get("device", "cpu"))
    if device.type != "cpu":
        raise CaptureRefusal(f"a generator on {device}: programs run on the CPU", "make one on the CPU",
                             kind="random.generator")
    made = m.new(object.__new__(RtGenerator))
    made.state = m.recorder.call(torch.clone, (torch.Generator().get_state(),), {})
    return made


@finds(types.BuiltinFunctionType)
def _method(fn):
    owner = fn.__self__
    return functools.partial(_call_method, owner, fn.__name__) if isinstance(owner, torch.Generator) else None


def _call_method(generator, name, m, s, args, kwargs):
    """Of one that is not the program's own."""
    if name not in _METHODS:
        raise CaptureRefusal(f"{name} of a torch.Generator", "use manual_seed, get_state, set_state or initial_seed",
                             kind="random.generator")
    if generator is torch.default_generator:
        return m.call(s, _OF_DEFAULT[name], args, kwargs)
    standing_in = m.new(object.__new__(RtGenerator))
    standing_in.state = random.state_tensor(m.recorder, generator)
    result = m.call(s, getattr(RtGenerator, name), (standing_in, *args), kwargs)
    return result


_OF_DEFAULT = {
    "manual_seed": polyfills.manual_seed, "get_state": polyfills.get_rng_state, "seed": polyfills.seed,
    "set_state": polyfills.set_default_state, "initial_seed": polyfills.initial_seed,
    "clone_state": polyfills.clone_default,
}


@handles(polyfills.state_of_run)
def _state_of_run(m, s, args, kwargs):
    recorder = m.recorder
    return recorder.adopt(recorder.blank((STATE_BYTES,), (1,), torch.uint8, torch.device("cpu")),
                          random.state_of_run(recorder))


@handles(polyfills.set_state_of_run)
def _set_state_of_run(m, s, args, kwargs):
    (state,) = args
    if not isinstance(state, torch.Tensor):
        raise TypeError("expected a torch.ByteTensor")
    if state.dtype != torch.uint8:
        raise TypeError("expected a torch.ByteTensor, but got another dtype")
    if state.dim() != 1 or state.shape[0] != STATE_BYTES:
        raise RuntimeError(f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found the input RNG state "
                           f"size to be {state.numel()}")
    random.set_state_of_run(m.recorder, m.recorder.value_of(state))


@handles(polyfills.seed_run)
def _seed_run(m, s, args, kwargs):
    (seed,) = args
    if isinstance(seed, int):
        if not -2**63 <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        seed = (seed + 2**63) % 2**64 - 2**63
    random.seed_run(m.recorder, seed)


@handles(polyfills.refuse_seed)
def _refuse_seed(m, s, args, kwargs):
    raise CaptureRefusal("a seed that torch takes from the outside world", "seed with a number: manual_seed(0)",
                         kind="random.seed")
