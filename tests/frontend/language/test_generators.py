# SPDX-License-Identifier: Apache-2.0
"""Comprehensions, generators and classes that iterate.

PYTEST_DONT_REWRITE (the machine reads these programs as they are written).
"""

import torch

from tests.frontend.support.harness import Cases, T

case = Cases()
POS, NEG, MIX = T(1.0, 2.0, 3.0, 0.5), T(-1.0, -2.0, -3.0, -0.5), T(-4.0, 1.0, 2.0, -1.5)


@case(MIX, POS, NEG)
def filtered_comprehension(x):
    return [v * 2 for v in x if v > 0]


@case(MIX, POS, NEG)
def comprehension_with_ternary(x):
    return [v if v > 0 else -v for v in x], torch.stack([v if v > 0 else v * 0.5 for v in x])


@case(MIX, POS)
def nested_comprehension(x):
    return [[a * b for b in (1, 2)] for a in x if a > 0], {i: v for i, v in enumerate(x) if v < 0}


@case(MIX, POS, NEG)
def comprehension_calls_a_helper(x):
    def f(v):
        if v > 0:
            return v * 2
        return None

    out = [f(v) for v in x]
    return [v for v in out if v is not None], sum(1 for v in out if v is None)


@case(MIX, POS, NEG)
def set_and_generator_expressions(x):
    return {i for i in range(4) if x[i] > 0}, sum(v for v in x if v > 0), max(v.item() for v in x)


@case(MIX, POS)
def comprehension_scopes(x):
    v = 100
    out = [v for v in x if v > 1]
    return v, out


def positives(x):
    for v in x:
        if v > 0:
            yield v


@case(MIX, POS, NEG)
def generator_in_a_for(x):
    total = torch.zeros(())
    for v in positives(x):
        total = total + v
    return total, list(positives(x))


@case(MIX, POS, NEG)
def generator_by_next(x):
    g = positives(x)
    first = next(g, None)
    if first is None:
        return "nothing"
    second = next(g, first * 10)
    return first, second


@case(MIX, POS, NEG)
def stop_iteration_caught(x):
    g = positives(x)
    out = []
    try:
        while True:
            out.append(next(g))
    except StopIteration:
        out.append(-1)
    return out


@case(MIX, POS)
def generator_partly_consumed_across_a_fork(x):
    g = iter([x, x + 1, x + 2, x + 3])
    if x.sum() > 0:
        next(g)
        next(g)
    return next(g), [t.sum() for t in g]


def counting(x):
    total = torch.zeros(())
    while total < 5:
        total = total + x
        yield total


@case(T(1.0), T(3.0), T(9.0))
def generator_with_a_runtime_loop(x):
    out = []
    for v in counting(x):
        out.append(v)
        if len(out) > 3:
            break
    return out


def both(x):
    yield from positives(x)
    yield x.sum()
    return 5


@case(MIX, POS, NEG)
def yield_from(x):
    return list(both(x))


@case(MIX, POS)
def generator_send_and_close(x):
    def talk():
        got = yield x
        while got is not None:
            got = yield x * got if x.sum() > 0 else x + got

    g = talk()
    first = next(g)
    a = g.send(2)
    b = g.send(3)
    g.close()
    return first, a, b


@case(MIX, POS)
def generator_return_value(x):
    def inner():
        if x.sum() > 0:
            yield x
            return 1
        return 2

    def outer():
        k = yield from inner()
        yield k

    return list(outer())


@case(MIX, POS)
def iterator_class(x):
    class Halves:
        def __init__(self, t):
            self.t = t

        def __iter__(self):
            return self

        def __next__(self):
            if self.t.abs().sum() < 2:
                raise StopIteration
            self.t = self.t / 2
            return self.t

    return len(list(Halves(x)))


@case(MIX, POS, NEG)
def zip_of_generator_and_list(x):
    return [a * b for a, b in zip(positives(x), [1, 10, 100, 1000])], dict(enumerate(positives(x)))


test_generators = case.test()
