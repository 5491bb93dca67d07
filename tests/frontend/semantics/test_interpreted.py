# SPDX-License-Identifier: Apache-2.0
"""Functions that say of themselves what others are (functools.wraps, a copied __module__):
what counts is where they were written."""

import functools
import logging

import numpy as np
import torch

from tests.frontend.support.harness import T, check


@functools.wraps(np.max)
def largest(x):
    return x.min() if x.sum() > 0 else x.sum()


@functools.wraps(torch.add)
def add(a, b):
    return a - b if a.sum() > 0 else a * b


@functools.wraps(logging.info)
def noted(seen, x):
    seen.append(x * 2)


def dispatched(x):
    return x.min() if x.sum() > 0 else x * 2


dispatched.__module__, dispatched.__name__ = "numpy", "shape"
INPUTS = [(T(1, 2),), (T(-1, -2),)]


def test_wraps_numpy():
    check(lambda x: largest(x) + 1, INPUTS)


def test_wraps_torch():
    check(lambda x: add(x, x + 1), INPUTS)


def test_wraps_logging():
    def f(x):
        seen = []
        if x.sum() > 0:
            noted(seen, x)
        return torch.stack(seen) if seen else x

    check(f, INPUTS)


def test_name_of_a_numpy_function():
    check(lambda x: dispatched(x), INPUTS)
