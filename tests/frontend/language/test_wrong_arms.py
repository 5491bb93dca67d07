# SPDX-License-Identifier: Apache-2.0
"""Faults of the program that its own `except` takes, where what answers the call is no native code: each must take the
arm that it takes in eager, or be refused."""

import array
import collections
import functools
import heapq
import itertools
import math

import numpy as np
import pytest
import torch

import dycl
from tests.frontend.support.harness import T, check

INPUTS = [T(2, 0.5, 3), T(-1, 2.5, 0), T(0, -1.5, 1), T(5, float("nan"), -4), T(1, float("inf"), 100)]


class Checked:
    """A descriptor that has a value for some numbers only."""

    def __get__(self, obj, cls=None):
        if obj.v > 1:
            raise AttributeError("no")
        return obj.v

    def __set__(self, obj, value):
        raise AttributeError("never")


class Holder:
    checked = Checked()

    def __init__(self, v):
        self.v = v

    def __len__(self):
        return 5

    def __getitem__(self, k):
        return [self.v, 2, 3][k]


class Announced:
    """It says how long it will be."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __iter__(self):
        return iter([1, 2])


class Hinted:
    def __init__(self, n):
        self.n = n

    def __length_hint__(self):
        return self.n

    def __iter__(self):
        return iter([1, 2])


def _key(n):
    return functools.cmp_to_key(lambda a, b: a - b)(n)


# n, k: ints, f: a float, s: a string, l: a list, x: the tensor
TRIED = {  # each is tried with an `except Exception` around it
    "a text for a number": lambda n, k, f, s, l, x: "%d" % s,
    "too few values": lambda n, k, f, s, l, x: " ".join(["%s"] * 2) % (n,),
    "too many values": lambda n, k, f, s, l, x: "".join(["%s"]) % (n, k),
    "hexadecimal floats": lambda n, k, f, s, l, x: "%x" % f,
    "an encoding": lambda n, k, f, s, l, x: str(n, "utf8"),
    "a step of zero": lambda n, k, f, s, l, x: range(0, 5, n),
    "a float many times": lambda n, k, f, s, l, x: l * f,
    "a text and a number": lambda n, k, f, s, l, x: s + n,
    "backwards by a text": lambda n, k, f, s, l, x: [n, k].sort(reverse=s),
    "no function": lambda n, k, f, s, l, x: iter(l, n),
    "from a float": lambda n, k, f, s, l, x: list(enumerate(l, f)),
    "so many, a float": lambda n, k, f, s, l, x: list(itertools.repeat(n, f)),
    "up to a float": lambda n, k, f, s, l, x: itertools.islice([1, 2], f),
    "up to a negative number": lambda n, k, f, s, l, x: list(itertools.islice([1, 2], n)),
    "no heap": lambda n, k, f, s, l, x: heapq.heappush(n, 1),
    "a heap of two kinds": lambda n, k, f, s, l, x: heapq.heappush([n], s),
    "attributes of a number": lambda n, k, f, s, l, x: vars(n),
    "hasattr": lambda n, k, f, s, l, x: 1 / k if hasattr(Holder(n), "checked") else 0,
    "getattr": lambda n, k, f, s, l, x: getattr(Holder(n), "checked", 1) / k,
    "reversed": lambda n, k, f, s, l, x: list(reversed(Holder(n))),
    "lists of two shapes": lambda n, k, f, s, l, x: torch.tensor([n, [k]]),
    "lists of two lengths": lambda n, k, f, s, l, x: torch.tensor([[n], [k, 1]]),
    "lists of two depths": lambda n, k, f, s, l, x: torch.tensor([[[n]], [k]]),
    "sorted": lambda n, k, f, s, l, x: sorted([n, s]),
    "smallest": lambda n, k, f, s, l, x: min(n, s),
    "sum from a text": lambda n, k, f, s, l, x: sum(l, s),
    "zip": lambda n, k, f, s, l, x: list(zip([1, 2], [n, k, f], strict=True)),
    "bytes": lambda n, k, f, s, l, x: array.array("B", [n]),
    "a root": lambda n, k, f, s, l, x: math.sqrt(n),
    "a root of a text": lambda n, k, f, s, l, x: math.sqrt(s),
    "a key of two parts": lambda n, k, f, s, l, x: {(1, 2): 3}[n, k],
    "an attribute": lambda n, k, f, s, l, x: n.numerator / k,
    "a factory": lambda n, k, f, s, l, x: collections.defaultdict(n),
    "a function": lambda n, k, f, s, l, x: functools.partial(n),
    "a text in an array": lambda n, k, f, s, l, x: array.array("d", [s]),
    "cosh": lambda n, k, f, s, l, x: math.cosh(n * 400),
    "tolerances": lambda n, k, f, s, l, x: math.isclose(f, n, abs_tol=f),
    "truth of some": lambda n, k, f, s, l, x: bool(x[x > n]),
    "truth of an array": lambda n, k, f, s, l, x: bool(x.numpy()),
    "an array as a number": lambda n, k, f, s, l, x: float(x.numpy()),
    "the only one of an array": lambda n, k, f, s, l, x: x.numpy().item(),
    "arrays of two lengths": lambda n, k, f, s, l, x: x.numpy() + x.numpy()[:2],
    "axes of an array": lambda n, k, f, s, l, x: np.concatenate([x.numpy(), x.numpy()[None]]),
    "digits": lambda n, k, f, s, l, x: int(f),
    "one value for two": lambda n, k, f, s, l, x: (lambda a, b: a)(*[n]),
    "a name": lambda n, k, f, s, l, x: (lambda a: a)(**{"a" if n > 1 else "b": 1}),
    "a key and a number": lambda n, k, f, s, l, x: _key(n) < 1,
    "a key like a number": lambda n, k, f, s, l, x: _key(n) == 1,
    "what a key compares with": lambda n, k, f, s, l, x: _key(n).compare,
    "a key in a dict": lambda n, k, f, s, l, x: {_key(n): 1},
    "keys": lambda n, k, f, s, l, x: 1 / (k if _key(n) != _key(2) else n),
    "a number between texts": lambda n, k, f, s, l, x: print("a", "b", sep=n),
    "a number behind a text": lambda n, k, f, s, l, x: print("a", end=f),
    "a tensor between texts": lambda n, k, f, s, l, x: print("a", "b", sep=x),
    "a list of a negative length": lambda n, k, f, s, l, x: list(Announced(n)),
    "a tuple of a negative length": lambda n, k, f, s, l, x: tuple(Announced(n)),
    "a negative length sorted": lambda n, k, f, s, l, x: sorted(Announced(n)),
    "a negative length behind a list": lambda n, k, f, s, l, x: l.extend(Announced(n)),
    "a negative length in a list": lambda n, k, f, s, l, x: [*Announced(n)],
    "a negative length as arguments": lambda n, k, f, s, l, x: max(*Announced(n)),
    "a negative length in two names": lambda n, k, f, s, l, x: [a / k for a, b in [Announced(n)]],
    "a set of a negative length": lambda n, k, f, s, l, x: set(Announced(n)),
    "a length that is no integer": lambda n, k, f, s, l, x: list(Announced(f)),
    "a negative hint": lambda n, k, f, s, l, x: list(Hinted(n)),
    "a hint that is no integer": lambda n, k, f, s, l, x: list(Hinted(f)),
    "no dtype": lambda n, k, f, s, l, x: x.type("torch.NoTensor"),
    "a dtype": lambda n, k, f, s, l, x: x.type("torch.IntTensor" if n > 1 else "torch.NoTensor"),
}
# Whether they fail is known only at run time, and no branch asks: no run writes such texts.
REFUSED = {
    "an integer of a float": lambda n, k, f, s, l, x: "%d" % f,
    "a character": lambda n, k, f, s, l, x: "%c" % n,
    "the only one of some": lambda n, k, f, s, l, x: x[x > n].item(),
    "a width": lambda n, k, f, s, l, x: f"{f:.{n}f}",
}


NO_DTYPE = {  # torch's answer to a stand-in would be another than its answer to the value
    "a text": lambda n, k, f, s, l, x: x.type(s),
    "a number": lambda n, k, f, s, l, x: x.type(n),
}


def _tried(action):
    def program(x):
        n, f, k = int(x[0].item()), x[1].item(), int(x[2].item())
        try:
            action(n, k, f, f"{n}", list(range(3)), x)
        except Exception as error:
            return type(error).__name__
        return "fine"

    return program


@pytest.mark.parametrize("name", TRIED)
def test_the_arm_that_eager_takes(name):
    check(_tried(TRIED[name]), [(x,) for x in INPUTS], paths=1)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    with pytest.raises(dycl.CompileError) as caught:
        dycl.compile(_tried(REFUSED[name]), (INPUTS[0],))
    assert caught.value.kind == "try"


@pytest.mark.parametrize("name", NO_DTYPE)
def test_names_of_dtypes(name):
    with pytest.raises(dycl.CompileError) as caught:
        dycl.compile(_tried(NO_DTYPE[name]), (INPUTS[0],))
    assert caught.value.kind == "native.symbolic"
