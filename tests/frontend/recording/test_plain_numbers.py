# SPDX-License-Identifier: Apache-2.0
"""Numbers of few possible values where torch takes plain ones only: an arm for each."""

import pytest
import torch

import dycl
from tests.frontend.support.harness import T, check


def windows(x):
    size = int(x.argmax()) + 1
    return x.unfold(0, size, 1).sum(1)


def halves(x):
    return [part.sum() for part in x.chunk(min(int(x[0].clamp(0, 2)) + 1, 3))]


def matching(x):
    """As prompt lookup does."""
    y = x[x > 0]
    for size in range(min(2, y.shape[0] - 1), 0, -1):
        hits = (y.unfold(0, size, 1) == y[-size:]).all(1)
        if hits.sum() > 1:
            return size, hits.nonzero()[0]
    return None


@pytest.mark.parametrize("f", [windows, halves, matching])
def test_one_arm_for_each(f):
    check(f, [T(1, 2, 3, 4), T(4, 3, 2, 1), T(2, 1, 2, 1), T(0, 1, 0, 0), T(0, 3, 3, 3), T(-1, -1, -1, 2)],
          paths=1, by_result=True)


def test_many_are_refused():
    with pytest.raises(dycl.CompileError, match="torch needs this number"):
        dycl.compile(lambda x: x.unfold(0, int(x.argmax()) + 1, 1).sum(1), (torch.zeros(40),))
    with pytest.raises(dycl.CompileError, match="torch needs this number"):
        dycl.compile(lambda x: x.unfold(0, int(x[0]), 1).sum(1), (torch.ones(4),))
