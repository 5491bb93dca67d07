# SPDX-License-Identifier: Apache-2.0
"""The first of a run-time number of elements beside all of them: by an index it is taken; as a slice, which may be empty and would be
stretched, it is refused (the program would ask for equal lengths)."""

import torch

from tests.frontend.harness import T, check, refused


def test_by_index():
    def f(x):
        y = x[x > 0]
        return y - y[0] if len(y) > 0 else y

    check(f, [(T(1, 2, -1),), (T(3, -1, -1),), (T(-1, -1, -1),)])


def test_as_slice():
    def f(x):
        y = x[x > 0]
        return torch.maximum(y, y[:1])

    refused(f, [(T(1, 2, -1),)], "x\\[0\\]")
