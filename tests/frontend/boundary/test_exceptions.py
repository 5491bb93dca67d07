# SPDX-License-Identifier: Apache-2.0
"""Exceptions arrive as they were raised: class, arguments, attributes, message; also those whose classes share a name,
and those that torch raises for memory that is read and written at once."""

import contextlib

import numpy as np
import pytest
import torch

import dycl
from tests.frontend.support.harness import Cases, T, outcome

case = Cases()
V = [(T(-4, -5, -6),), (T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),), (T(3, 1, 1),)]


class Coded(Exception):
    def __init__(self, code):
        super().__init__(f"code {code}")
        self.code = code


class Own(Exception):
    def __str__(self):
        return "own " + self.args[0]


class Told(Exception):
    def __init__(self, code, **extra):
        super().__init__(code)
        self.code, self.extra = code, extra

    def __str__(self):
        return f"told {self.code}"


class Shown(ValueError):
    def __init__(self, n):
        self.message, self.n = f"bad {n}", n
        super().__init__(self.message)


class Library:
    class IndexError(Exception):
        pass


def known(x):
    if x[0] > 4:
        raise Coded(3)
    if x[0] > 2:
        raise Own("text")
    if x[0] > 0:
        raise ValueError("a", 1, None)
    if x[0] < -3:
        raise AssertionError
    if x[0] < 0:
        raise KeyError("key {}")
    raise Library.IndexError("mine")


def with_numbers(x):
    n = int(x[1])
    if x[0] > 4:
        raise KeyError(n)
    if x[0] > 2:
        raise ValueError("n", n, x[2].item())
    if x[0] > 0:
        raise RuntimeError(f"{n} of {{}} and {x[2].item()}")
    if x[0] < -3:
        raise KeyError(f"key {n}")
    return {1: "one"}[n] if x[0] < 0 else (1, 2)[n + 3]


def with_attributes(x):
    if x[0] > 2:
        raise Told(int(x[1]), why=[1, None])
    if x[0] > 0:
        raise Shown(int(x[1]))
    if x[0] < -3:
        raise Shown(x[1].item())
    if x[0] < 0:
        raise Told((2, [1, ("a", None)]), size=(3, 1))
    raise Told(-1)


def by_python(x):
    def two(a, b, c=1, *, d=2):
        return a, b, c, d

    if x[0] > 2:
        return two(*[1] * int(x[2] > 1))
    if x[0] > 0:
        return two(1, e=2)
    if x[0] < -3:
        return next(i for i in x if i > 0)
    return [7, 8].index(int(x[1]))


def overlapping(x):
    y = torch.cat([x, x])
    if x[0] > 0:
        y[:3] = y[3:]
        y[::2] = y[1::2]
        return y
    y[1:] += y[:-1]
    return y


@pytest.mark.parametrize("function", [known, with_numbers, with_attributes, by_python, overlapping])
def test_exceptions_as_they_were_raised(function, tmp_path):
    program = dycl.compile(function, V[-1], allow_raise=True)
    program.save(tmp_path / "p.dycl")
    for callee in (program, dycl.load(tmp_path / "p.dycl", trust="classes")):
        for (x,) in V:
            expected, actual = outcome(function, (x.clone(),), {}), outcome(callee, (x.clone(),), {})
            assert expected[0] == actual[0]
            if expected[0] == "raised":
                a, b = expected[1], actual[1]
                assert type(a) is type(b) and a.args == b.args and str(a) == str(b) and vars(a) == vars(b), x


@case(*V, refuse="shares its memory with a numpy array")
def array_beside_a_tensor(x):
    a = np.zeros(3, dtype=np.float32)
    t = torch.from_numpy(a)
    if x[0] > 0:
        t.add_(x)
    return a.sum()


@case(*V)
def array_that_nobody_has(x):
    t, u = torch.from_numpy(np.arange(3.0)), torch.as_tensor(np.ones(3))
    if x[0] > 0:
        t.add_(x)
        u[0] = 4
    return t, u


@contextlib.contextmanager
def watched():
    try:
        yield
    finally:
        pass


@case(*V)
def text_of_run_time_through_a_generator(x):
    with watched():
        if x[0] > 0:
            raise ValueError(f"bad {x.sum().item()} of {x}")
    return x


@case(*V)
def end_of_an_iteration_through_a_generator(x):
    with watched():
        if x[0] > 0:
            raise StopIteration("here")
    return x


def _words(compute):
    try:
        return compute().shape
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@case(*V)
def torch_in_its_own_words(x):
    """Torch's rules for shapes and dtypes, which run while recording, word errors otherwise than its kernels."""
    i = x.long()
    found = [_words(c) for c in (
        lambda: i.add_(1.5), lambda: i.div_(2), lambda: (x > 0).add_(1), lambda: i.clamp_(min=1.5),
        lambda: torch.cat([x, x[None]]), lambda: x + torch.ones(2), lambda: torch.stack([x, x[:2]]),
        lambda: x @ torch.ones(4), lambda: x.view(2, 2), lambda: x.clamp(), lambda: x.sum(3), lambda: x.expand(2, 4),
        lambda: x.topk(9), lambda: x.narrow(0, 2, 5), lambda: x.masked_fill(x, 1),
        lambda: torch.nn.functional.linear(x, torch.ones(2, 5)))]
    return found if x[0] > 0 else found[::-1]


test_program = case.test()
