# SPDX-License-Identifier: Apache-2.0
"""Objects with `__index__`, and tensors, as indices of lists, tuples, deques and tensors."""

import collections

import torch

from tests.frontend.support.harness import Cases, I, T

case = Cases()
UP, DOWN = T(1.0, 2.0, -3.0), T(-1.0, -2.0, 3.0)


@case(UP, DOWN, T(-1.0, -1.0, -1.0), paths=1)
def index_of_elements_found(x):
    return ["a", "b", "c", "d"][x[x > 0].long()]


class Place:
    def __init__(self, t):
        self.t = t

    def __index__(self):
        return 2 if self.t.sum() > 0 else 1


class Asked:
    def __init__(self, t):
        self.t = t

    def __index__(self):
        return int(self.t.argmax())


@case(T(1.0, 2.0, 3.0), -UP, DOWN)
def objects_as_indices(x):
    p = Place(x)
    return [4, 5, 6][p], list(range(p)), x[p], torch.zeros(p), int(p), float(p), ("a", "b", "c")[Asked(x)], x[Asked(x)]


class Window(Place):
    """Torch takes what has items for a sequence before it asks which number it is; lists ask."""

    def __len__(self):
        return 2

    def __getitem__(self, k):
        if k >= 2:
            raise IndexError
        return k * 2


@case(T(1.0, 2.0, 3.0), -UP, DOWN)
def objects_with_items_as_indices(x):
    w = Window(torch.ones(1))
    y = x.clone()
    y[w] = 7
    return (x[w] if x[0] > 0 else x[w] * 2), y, [4, 5, 6][w]


@case(UP, DOWN, refuse="special method")
def objects_asked_by_native_code(x):
    return hex(Place(x)), x


@case((UP, I(1)), (UP, I(-4)), (UP, I(0)), values=True)
def rotated(x, n):
    ring = collections.deque([x, x + 1, x * 2])
    ring.rotate(int(n))
    empty = collections.deque()
    empty.rotate(int(n))
    one = collections.deque([n], maxlen=3)
    one.rotate(n)
    return [y * 1 for y in ring], len(empty), ring[n % 3] + 0, len(one)


@case((UP, I(1)), (UP, I(-2)), (UP, I(2)), (UP, I(3)), values=True)
def deques_by_place(x, n):
    ring = collections.deque([1, 2, 3])
    ring[int(n)] = 7
    if n > 1:
        del ring[int(n)]
    return list(ring), x


test_values = case.test()
