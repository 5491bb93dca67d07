# SPDX-License-Identifier: Apache-2.0
"""The first or last of a run-time number of elements beside all of them: by an index, or as a slice, which may be empty
and is stretched where it is not."""

import pytest
import torch

from tests.frontend.support.harness import T, check

INPUTS = [(T(1, 2, -1),), (T(3, -1, -1),), (T(-1, -1, -1),), (T(1, 2, 3),)]


def test_by_index():
    def f(x):
        y = x[x > 0]
        return y - y[0] if len(y) > 0 else y

    check(f, INPUTS)


@pytest.mark.parametrize("where", [slice(None, 1), slice(0, 1), slice(-1, None)])
@pytest.mark.parametrize("op", [torch.add, torch.maximum, torch.sub, torch.pow], ids=lambda op: op.__name__)
def test_as_slice(op, where):
    def f(x):
        y = x[x > 0]
        return op(y, y[where])

    check(f, INPUTS, paths=1)


def test_beside_what_is_known_not_to_be_empty():
    def f(x):
        y = x[x > 0][None, :, None].expand(2, -1, 3)
        if y.shape[1] == 0:
            return y
        return torch.where(y[:, 0:1] > 1, y, y - y[:, :1]) + y[:, -1:, :]

    check(f, INPUTS)


def test_asked_of_both():
    def f(x):
        y, z = x[x > 0], x[x > 1]
        if len(y) == 0 or len(z) == 0:
            return y
        return y[:1] * z[:1], y[:1, None] + z[None, :1]

    check(f, INPUTS)


def test_least_of_two_lengths():
    def f(x):
        y, z = x[x > 0], x[x > 1]
        n = min(len(y), len(z))
        if n < 2:
            return y
        return y[:n] + z[:n] if min(n, 2) == 2 else y - 1

    check(f, INPUTS)


def test_expanded_to_the_extent_of_a_slice():
    """It was refused: eager stretches nothing else there."""

    def f(x):
        y = x[x > 0]
        q = y[:1].shape[0]
        places = torch.arange(q)[None, :, None] + y[None, None, :] * 0
        return places.expand(2, q, y.shape[0]), y[:1, None].expand(y[:1].shape[0], 4), q

    check(f, [(T(1, -1, 2),), (T(-1, -1, -1),), (T(1, 1, 1),), (T(-1, -1, 4),)], paths=1)
