# SPDX-License-Identifier: Apache-2.0
"""PYTEST_DONT_REWRITE. Generators suspended inside try or with whose last reference goes: Python closes them then."""

import contextlib

import torch

from tests.frontend.support.harness import Cases, T

case = Cases()
V = T(1.0, 2.0, 3.0), T(-1.0, 4.0, 0.5), T(-1.0, -2.0, -3.0)


def logged(x, log, name="closed"):
    try:
        for k in range(3):
            yield x[k]
    finally:
        log.append(name)


@case(*V)
def left_by_break(x):
    log = []
    for v in logged(x, log):
        if v > 0:
            break
    log.append("after")
    return v, log


@case(*V)
def left_by_return(x):
    log = []

    def first(x):
        for v in logged(x, log):
            if v > 0:
                return v, len(log)
        return x.sum(), -1

    return *first(x), log


@case(*V)
def left_by_an_exception(x):
    log = []
    try:
        for v in logged(x, log):
            if v > 0:
                raise ValueError("found")
            log.append("step")
    except ValueError:
        log.append("caught")
    return v, log


@case(*V)
def left_by_an_exception_of_a_function_called(x):
    log = []

    def search():
        for v in logged(x, log):
            if v > 0:
                raise ValueError("found")

    try:
        search()
    except ValueError:
        log.append("caught")
    return log


@torch.no_grad()
def steps(x):
    for k in range(3):
        x = x * 2
        yield x


@case(*V)
def decorated_with_no_grad(x):
    for v in steps(x):
        if v.sum() > 6:
            break
    return v


def guarded_steps(x):
    with torch.no_grad():
        for k in range(3):
            x = x + 1
            yield x


@case(*V)
def inside_no_grad(x):
    count = 0
    for k, v in enumerate(guarded_steps(x)):
        count += 1
        if v.sum() > 6:
            break
    return v, count


@case(*V)
def inside_another_generator(x):
    log = []

    def outer():
        with contextlib.ExitStack() as stack:
            stack.callback(log.append, "outer")
            for v in logged(x, log, "inner"):
                yield v * 2

    for v in outer():
        if v > 0:
            break
    return v, log


@case(*V)
def held_by_a_variable(x):
    """Closed when the function returns, not where the loop ends; the loop may go on."""
    log = []

    def search():
        values = logged(x, log)
        for v in values:
            if v > 0:
                break
        log.append("between")
        for w in values:
            log.append("again")
            break
        return v

    return search(), log


@case(*V)
def held_by_a_variable_that_is_not_read_again(x):
    log = []

    def search():
        values = logged(x, log)
        for v in values:
            if v > 0:
                break
        log.append("between")
        return v

    return search(), log


@case(*V)
def held_by_an_object(x):
    log = []

    class Held:
        pass

    held = Held()
    held.values = logged(x, log)
    for v in held.values:
        if v > 0:
            break
    log.append("between")
    return v, log, sum(1 for _ in held.values), len(log)


@case(*V)
def that_raises_while_it_is_closed(x):
    """Python tells it on stderr and goes on."""
    log = []

    def stubborn():
        try:
            yield x[0]
            yield x[1]
        finally:
            log.append("closing")
            raise RuntimeError("too late")

    for v in stubborn():
        if v > 0:
            break
        else:
            log.append("step")
            if x[1] > 0:
                break
            return v, log
    return v, log


@contextlib.contextmanager
def scope(log):
    log.append("in")
    try:
        yield
    finally:
        log.append("out")


@case(*V)
def a_context_of_a_generator_between_two_exits(x):
    log = []

    def exits():
        for k in range(3):
            with scope(log):
                yield k, x[k]

    try:
        for k, v in exits():
            if v > 2:
                raise KeyError("sure")
    except KeyError:
        return k, v, log
    return -1, v, log


@case(*V, refuse="left suspended inside try or with")
def assigned_again(x):
    log = []
    values = logged(x, log)
    v = next(values)
    if v > 0:
        values = None
    return v, log


test_dropped_generators = case.test()
