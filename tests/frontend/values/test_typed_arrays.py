# SPDX-License-Identifier: Apache-2.0
"""array.array of numbers known only at run time."""

import array
import copy

import numpy as np
import torch

import dycl
from tests.frontend.support.harness import Cases, I, T

case = Cases()
V = T(3, 1, 2), T(-3, 1, 2), T(0, -1, 5)


@case(*V, values=True)
def methods(x):
    a = array.array("l", [1, 2])
    a.append(int(x[0]))
    a.extend([int(x[1]), 7])
    a.insert(1, int(x[2]))
    a[0] = int(x[0]) * 2
    kept = copy.copy(a)
    last, first = a.pop(), a.pop(0)
    a.reverse()
    return (a, len(a), a[1], a[-1], a[1:], last, first, kept, a.tolist(), list(a), tuple(a), a.count(2), a.typecode,
            a.itemsize, 7 in kept, kept.index(7), [v + 1 for v in a], isinstance(a, array.array),
            type(a) is array.array)


@case(*V, values=True)
def operators_and_texts(x):
    a, b = array.array("i", [int(x[0])]), array.array("i", (1, 2))
    joined = a + b
    twice = joined * 2
    b += a
    del twice[0]
    same = a == array.array("d", [float(int(x[0]))])
    return joined, twice, b, a == b, a <= b, same, a < b, f"{joined}", str(array.array("b")), bool(a), copy.deepcopy(b)


@case(*V, values=True)
def conversions(x):
    d = array.array("d", [int(x[0]), x[1].item(), True])
    f = array.array("f", [x[1].item() / 3, 0.1])
    whole = array.array("h", [int(x[0]), True])
    return d, f, whole, torch.tensor(d), torch.tensor(whole), np.asarray(f) * 2, sum(d), max(whole)


@case(*V, values=True)
def where_paths_meet(x):
    a = array.array("d")
    if x[0] > 0:
        a.append(x[0].item())
    for v in x:
        if v > 1:
            a.append(v.item())
    b = a
    b.append(0.5)
    return a, sum(a), a is b


def faults_of(make):
    found = []
    for ask in make:
        try:
            found.append(ask())
        except (OverflowError, TypeError, IndexError, ValueError) as error:
            found.append(f"{type(error).__name__}: {error}")
    return found


@case(T(127, 3), T(128, 3), T(-129, 0), T(70000, -1), values=True)
def faults(x):
    n, k = int(x[0]), int(x[1])
    a = array.array("l", [n, 1])
    return faults_of((lambda: array.array("b", [n]), lambda: array.array("B", [n]), lambda: array.array("H", [n]),
                      lambda: array.array("L", [n]), lambda: array.array("I", [n * 70000]),
                      lambda: array.array("i", [x[0].item()]), lambda: a[k], lambda: a.remove(5), lambda: a + [n],
                      lambda: a.append("x"), lambda: a.append(2**70), lambda: array.array("d", ["1"]),
                      lambda: array.array("d", [n]) + a, lambda: a[1.5], lambda: a.pop("a"), lambda: a[:1]["a"]))


def grown(n):
    a, k = array.array("q", [1]), 0
    while k < int(n):
        a.append(a[-1] + k)
        k = k + 1
    a[0] = len(a)
    return a, len(a), sum(a)


class Kept(torch.nn.Module):
    """Left in an attribute by each call."""

    def forward(self, x):
        self.last = array.array("d", [x[0].item()])
        if x[1] > 0:
            self.last.append(1.0)
        return x


case(I(0), I(1), I(4), I(9), values=True)(grown)
case(T(1, 2), T(2, -2))(Kept)
test_typed_arrays = case.test()


def test_a_saved_program_gives_arrays(tmp_path):
    dycl.compile(grown, (I(4),)).save(tmp_path / "a.dycl")
    loaded = dycl.load(tmp_path / "a.dycl")
    for n in (0, 3, 20):
        assert loaded(I(n)) == grown(I(n)) and type(loaded(I(n))[0]) is array.array
