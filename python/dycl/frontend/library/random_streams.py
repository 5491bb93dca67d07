# SPDX-License-Identifier: Apache-2.0
"""random.Random, numpy's RandomState and Generator, the modules' own ones included: they draw when the program runs,
what they would have drawn in eager. Their methods are in polyfills/random_streams.py; others are refused by name."""

from __future__ import annotations

import functools
import random
import types

import numpy as np
import torch

from ... import generators
from ..diagnostics import CaptureRefusal
from ..polyfills import random_streams as polyfills
from ..recording import random as recording
from ..semantics.registry import finds, handles

_STANDS_FOR = {random.Random: polyfills.RtRandom, np.random.RandomState: polyfills.RtRandomState,
               np.random.Generator: polyfills.RtNumpyGenerator}
_MAKE = {polyfills.RtRandom: random.Random, polyfills.RtRandomState: np.random.RandomState,
         polyfills.RtNumpyGenerator: np.random.default_rng}
_REMEDY = "compute it outside and pass it in, or draw with torch.rand"


@finds(types.BuiltinFunctionType, types.MethodType)
def _find(fn):
    kind = next((kind for made, kind in _STANDS_FOR.items() if isinstance(fn.__self__, made)), None)
    if kind is None or _is_users(fn):
        return None
    method = kind.__dict__.get(fn.__name__) or polyfills.RtNumpySource.__dict__.get(fn.__name__)
    if method is None or not generators.is_known(fn.__self__):
        return functools.partial(_refuse, fn)
    return functools.partial(_draw, method, fn.__self__)


def _is_users(fn) -> bool:
    """A method of a class of the user's that derives from one of these."""
    return isinstance(fn, types.MethodType) and isinstance(fn.__func__, types.FunctionType) and (
        fn.__func__.__module__ != "random")


def _refuse(fn, m, s, args, kwargs):
    owner = type(fn.__self__)
    raise CaptureRefusal(f"a call of {owner.__module__}.{owner.__name__}.{fn.__name__}, which programs cannot draw",
                         _REMEDY, kind="nondeterministic")


def _draw(polyfill, stream, m, s, args, kwargs):
    return m.call(s, polyfill, (stream, *args), kwargs)


@handles(polyfills.refused)
def _refused(m, s, args, kwargs):
    raise CaptureRefusal(args[0], _REMEDY, kind="random.op")


@handles(polyfills.drawn)
def _drawn(m, s, args, kwargs):
    stream, op, shape, *parameters = args
    dtype = torch.float64 if op.endswith(("double", "normal")) else torch.int64
    recorder = m.recorder
    with recording.lent(recorder, stream):
        return recording.draw_new(recorder, f"rand.{op}", shape, dtype,
                                  tuple(map(recorder.numbers.int_value, parameters)))


# ---- made, and seeded, by the program ----------------------------------------------------------------


def _state(m, kind, seed) -> torch.Tensor:
    if seed is None:
        raise CaptureRefusal("random numbers seeded from the outside world", "seed with a number", kind="random.seed")
    if not isinstance(seed, (int, str, bytes)):
        raise CaptureRefusal("a seed of random numbers that is known only at run time", _REMEDY,
                             kind="nondeterministic")
    return generators.read(_MAKE[kind](seed))


def _make(kind, m, s, args, kwargs):
    given = [*args, *kwargs.values()]
    state = _state(m, kind, given[0] if len(given) == 1 else None)
    made = m.new(object.__new__(kind))
    made.state = m.recorder.call(torch.clone, (state,), {})
    return made


for _kind, _class in _MAKE.items():
    handles(_class)(functools.partial(_make, _kind))


@handles(np.random.seed)
def _seed_numpy(m, s, args, kwargs):
    return m.call(s, polyfills.RtRandomState.seed, (np.random.mtrand._rand, *args), kwargs)


@handles(polyfills.begin_anew)
def _begin_anew(m, s, args, kwargs):
    stream, seed = args
    kind = _STANDS_FOR.get(type(stream), type(stream))
    target = recording.state_tensor(m.recorder, stream)
    m.recorder.call(torch.Tensor.copy_, (target, _state(m, kind, seed)), {})
