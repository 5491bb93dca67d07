# SPDX-License-Identifier: Apache-2.0
"""heapq and bisect over numbers known only at run time."""

import bisect
import heapq

import pytest
import torch

import dycl


def huffman(x):
    heap = []
    for i, v in enumerate(x):
        heapq.heappush(heap, (float(v), i))
    total = 0.0
    while len(heap) > 1:
        a, i = heapq.heappop(heap)
        b, j = heapq.heappop(heap)
        total += a + b
        heapq.heappush(heap, (a + b, min(i, j)))
    return total


def best(x):
    scores = [float(v) for v in x]
    return heapq.nlargest(2, scores), heapq.nsmallest(1, scores), heapq.heappushpop([0.1, 0.5], scores[0])


def placed(x):
    row = [0.0, 0.5, 1.0]
    bisect.insort(row, float(x[0]))
    return bisect.bisect_left(row, float(x[1])), bisect.bisect(row, float(x[2])), row


def known(x):
    heap = [3, 1, 2]
    heapq.heapify(heap)
    return x + heapq.heappop(heap), heap


@pytest.mark.parametrize("f", [huffman, best, placed, known])
def test_same_as_eager(f):
    torch.manual_seed(0)
    inputs = [torch.randn(4) for _ in range(20)]
    program = dycl.compile(f, (inputs[0],))
    for x in inputs:
        torch.testing.assert_close(program(x), f(x))
