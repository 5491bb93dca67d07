# SPDX-License-Identifier: Apache-2.0
"""Objects whose truth is computed, classes with a metaclass, generators that are left before they end."""

import contextlib

from tests.frontend.support.harness import Cases, T

case = Cases()
V = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),)]


class Truthful:
    def __init__(self, t):
        self.t = t

    def __bool__(self):
        return bool(self.t.sum() > 0)


@case(*V)
def and_or_give_the_object(x):
    a, b = Truthful(x), Truthful(-x)
    return (a and b).t, (a or b).t, not a


@case(*V)
def loop_while_an_object_is_true(x):
    n, v = 0, Truthful(x)
    while v and n < 5:
        v, n = Truthful(v.t - 1), n + 1
    return n, v.t


class Tagging(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.tag = 3
        return made


class Tagged(metaclass=Tagging):
    def __init__(self, v):
        self.v = v


@case(*V)
def made_by_a_metaclass(x):
    made = Tagged(x)
    if x[0] > 0:
        made.tag += 1
    return made.v * made.tag, made.tag


@case(*V)
def left_generator(x):
    def numbers():
        try:
            yield x
            yield x + 1
        finally:
            log.append(1)

    log = []
    for v in numbers():
        if x[0] > 0:
            break
    return v, log


@case(*V)
def left_generator_without_clean_up(x):
    def numbers():
        for i in range(3):
            try:
                yield x[i]
            except ValueError:
                pass

    for v in numbers():
        if v > 0:
            break
    return v


@case(*V)
def context_of_a_generator(x):
    @contextlib.contextmanager
    def scaled(k):
        log.append(k)
        try:
            yield k * 2
        finally:
            log.append(-k)

    log = []
    with scaled(3) as k:
        if x[0] > 0:
            return x * k, log
    return x, log


test_program = case.test()
