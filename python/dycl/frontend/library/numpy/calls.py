# SPDX-License-Identifier: Apache-2.0
"""Functions of numpy: on known arrays they run as they are, on arrays of run time `m.arrays` answers."""

from __future__ import annotations

import functools

import torch

from ....objects import within
from ...semantics import interpretation, registry
from ...state import numpy_memory


@registry.finds_in("numpy", "numpy.")
def find(fn):
    return functools.partial(call, fn)


def call(fn, m, s, args, kwargs):
    if m.has_runtime(args) or m.has_runtime(kwargs):
        if m.has_tensor(args) and all(
                not m.is_symbolic(a) or m.recorder.numbers.static(a) is not None
                for a in within(args, kinds=(list, tuple))) and not m.has_stand_in(args):
            return numpy_memory.run(m, fn, _static_tree(m, args), kwargs)
        return m.arrays.function(fn, args, kwargs)
    if (getattr(fn, "__module__", "") or "").startswith("numpy.random"):
        interpretation.check_native(fn)
    return numpy_memory.run(m, fn, args, kwargs)


def _static_tree(m, tree):
    if isinstance(tree, torch.Tensor):
        with m.recorder.without_modes():
            real = m.recorder.numbers.static(tree) if m.is_symbolic(tree) else tree
        return numpy_memory.of_tensor(m, tree, real)
    if isinstance(tree, (list, tuple)):
        return type(tree)(_static_tree(m, x) for x in tree)
    return tree
