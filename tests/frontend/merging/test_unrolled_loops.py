# SPDX-License-Identifier: Apache-2.0
"""Loops over what is known while compiling are unrolled at once: attempts to find a header must not stop merges."""

import pytest
import torch

from dycl.frontend.capture import capture
from dycl.frontend.options import Options
from tests.frontend.support.harness import check

BOUNDS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)


def step(x, bound):
    return torch.cat([x, x[:1]]) if x[0] > bound else x * 2


def over_tuple(x):
    for bound in BOUNDS:
        if x.sum() > 40 * bound:
            break
        x = step(x, bound)
    return x


def over_enumerate(x):
    n = 0
    for n, bound in enumerate(BOUNDS):
        if x.sum() > 40 * bound:
            break
        x = step(x, bound)
    return x, n


def over_zip(x):
    for scale, bound in zip((40, 40, 50, 50, 60, 60), BOUNDS):
        if x.sum() > scale * bound:
            break
        x = step(x, bound)
    return x


def over_map(x):
    for limit in map(lambda bound: 40 * bound, BOUNDS):
        if x.sum() > limit:
            break
        x = step(x, limit / 40)
    return x


def over_dict(x):
    for bound in {b: b for b in BOUNDS}.values():
        if x.sum() > 40 * bound:
            break
        x = step(x, bound)
    return x


LOOPS = [over_tuple, over_enumerate, over_zip, over_map, over_dict]


@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
def test_loops_over_known_sequences(loop):
    check(loop, [(torch.tensor(v),) for v in ([1.0, 1.0, 1.0], [30.0, 20.0, 10.0], [0.1, 0.2, -4.0], [2.5, 1.0, 5.0],
                                              [5.5, 0.0, 0.0])])


@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
def test_paths_meet_from_the_first_iteration_on(loop):
    """Up to seven lengths of x are alive at a time; paths of one length are one path."""
    assert capture(loop, (torch.ones(3),), {}, Options()).steps < 3000
