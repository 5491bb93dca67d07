# SPDX-License-Identifier: Apache-2.0
"""Closures, generators and functions passed as values: nonlocal variables, defaults, functools and itertools."""

import functools
import itertools
import operator

import torch

from tests.frontend.support.harness import Cases, T

case = Cases()
V = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),)]


@case(*V)
def closures_and_generators(x):
    n = 0

    def count():
        nonlocal n
        if x[0] > 0:
            n += 1
        return n

    def rising():
        for v in x:
            if v < 0:
                return
            yield v

    def total():
        t = 0
        while True:
            r = yield t
            if r is None:
                break
            t = t + r

    count()
    g, h = rising(), total()
    first = next(g, None)
    next(h)
    late = [lambda v: v * k for k in range(3)]
    return count(), -1 if first is None else first, len(list(g)), [h.send(v) for v in x.unbind()], late[0](x)


@case(*V)
def functions(x):
    def f(a, /, b, *c, d=4, **e):
        return a, b, c, d, e

    return (f(1, 2), f(1, b=2, z=3), f(*[1, 2], **{"d": x[0] > 0}),
            functools.reduce(lambda a, b: a * 2 + b, x.unbind()), functools.partial(torch.add, alpha=2)(x, x),
            list(itertools.accumulate(x.tolist())), list(itertools.chain([1], [x])),
            list(itertools.takewhile(lambda v: v > 0, x.tolist())), sorted(range(3), key=lambda i: x[i].item()),
            max(x, key=lambda v: -v), any(v > 1 for v in x), sum(1 for v in x if v > 0),
            next((i for i in range(3) if x[i] < 0), None), functools.reduce(operator.add, [1, 2, int(x[0])]))


test_program = case.test()
