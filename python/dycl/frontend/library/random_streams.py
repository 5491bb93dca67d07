# SPDX-License-Identifier: Apache-2.0
"""Methods of random.Random and numpy.random.RandomState, the modules' own ones included: they draw when the program
runs, the words that they would have drawn in eager. Others of their methods are refused by name, and so is numpy's
Generator, whose words come from elsewhere."""

from __future__ import annotations

import functools
import random
import types

import numpy as np
import torch

from ... import generators
from ..polyfills import generators as polyfills
from ..recording import random as recording
from ..semantics.registry import finds, handles

_OF_PYTHON = {"random": polyfills.random_of, "uniform": polyfills.uniform, "getrandbits": polyfills.bits,
              "randint": polyfills.integer_between, "choice": polyfills.choice}
_OF_NUMPY = {"rand": polyfills.numpy_rand, "random": polyfills.numpy_sample, "random_sample": polyfills.numpy_sample,
             "uniform": polyfills.numpy_uniform}


@finds(types.BuiltinFunctionType, types.MethodType)
def _find(fn):
    owner = fn.__self__
    methods = (_OF_PYTHON if isinstance(owner, random.Random)
               else _OF_NUMPY if isinstance(owner, np.random.RandomState) else None)
    found = methods.get(fn.__name__) if methods is not None and generators.is_known(owner) else None
    return None if found is None else functools.partial(_draw, found, owner)


def _draw(polyfill, stream, m, s, args, kwargs):
    return m.call(s, polyfill, (stream, *args), kwargs)


@handles(polyfills.words)
def _words(m, s, args, kwargs):
    stream, count = args
    recorder = m.recorder
    with recording.lent(recorder, stream):
        return recording.draw_new(recorder, "rand.word", (count,), torch.int64)
