# SPDX-License-Identifier: Apache-2.0
"""random.Random, numpy's RandomState and its Generator: what their methods draw, interpreted by the machine.

A class here stands for one that the program makes, and lists the methods that programs may call of any. What numpy and
Python make of words is in the runtime (src/support/random_libraries.h); each is an op `rand.<name>`.
"""

from __future__ import annotations

from random import Random

import numpy as np
import torch

from .generators import RtSource


def drawn(stream, op, shape, *parameters):
    """Answered by the machine: a tensor of this shape, drawn from the stream."""
    raise NotImplementedError


def begin_anew(stream, seed):
    """Answered by the machine: the stream goes on as a new one of its class with this seed."""
    raise NotImplementedError


def refused(what):
    """Answered by the machine: no program draws this."""
    raise NotImplementedError


# ---- Python's ------------------------------------------------------------------------------------


class RtRandom(RtSource):
    """A random.Random: the standard library's own methods over these."""

    def example(self, m):
        return Random(0)

    def random(self):
        return drawn(self, "library_double", ()).item()

    def getrandbits(self, k):
        if k > 62:
            refused("more than 62 random bits at once")
        if k <= 32:
            return drawn(self, "word", ()).item() >> (32 - k)
        words = drawn(self, "word", (2,))
        return words[0].item() + (words[1].item() >> (64 - k)) * 4294967296

    def _randbelow_with_getrandbits(self, n):
        if n <= 0:
            raise ValueError("empty range")
        if isinstance(n, int) and n >= 2**62:
            refused("an integer of more than 62 random bits")
        return drawn(self, "python_below", (), n).item()

    def gauss(self, mu=0.0, sigma=1.0):
        return mu + drawn(self, "python_normal", ()).item() * sigma

    def shuffle(self, x):
        order = drawn(self, "python_permutation", (len(x),)).tolist()
        x[:] = [x[i] for i in order]

    def seed(self, a=None, version=2):
        begin_anew(self, a)

    _randbelow = _randbelow_with_getrandbits
    randrange, randint, choice = Random.randrange, Random.randint, Random.choice
    sample, choices, uniform = Random.sample, Random.choices, Random.uniform
    triangular, expovariate = Random.triangular, Random.expovariate
    normalvariate, lognormvariate = Random.normalvariate, Random.lognormvariate
    gammavariate, betavariate = Random.gammavariate, Random.betavariate
    paretovariate, weibullvariate = Random.paretovariate, Random.weibullvariate
    vonmisesvariate = Random.vonmisesvariate


# ---- numpy's -------------------------------------------------------------------------------------


def numbers(stream, op, size, *parameters):
    if size is None:
        return drawn(stream, op, (), *parameters).item()
    return drawn(stream, op, (size,) if isinstance(size, int) else tuple(size), *parameters).numpy()


def shape_for(size, *parameters):
    """That of the parameters, where numpy is not given one."""
    if size is not None or not any(isinstance(x, np.ndarray) for x in parameters):
        return size
    return np.broadcast_shapes(*[np.shape(x) for x in parameters])


def below(stream, low, high, size, endpoint):
    if isinstance(low, np.ndarray) or isinstance(high, np.ndarray):
        refused("random integers whose bounds are arrays")
    if high is None:
        low, high = 0, low
    last = high if endpoint else high - 1
    if low > last:
        if low == 0:
            raise ValueError("high < 0" if endpoint else "high <= 0")
        raise ValueError("low > high" if endpoint else "low >= high")
    return numbers(stream, "numpy_int", size, low, last)


def shuffled(stream, x):
    """A permutation of 0 to x - 1, or the array in such an order."""
    if isinstance(x, int):
        return numbers(stream, "numpy_permutation", x)
    x = np.asarray(x)
    return x[numbers(stream, "numpy_permutation", len(x))]


def shuffle(stream, x):
    if isinstance(x, np.ndarray):
        x[:] = shuffled(stream, x)
    else:
        order = drawn(stream, "numpy_permutation", (len(x),)).tolist()
        x[:] = [x[i] for i in order]


def chosen(stream, a, size, replace, p, different):
    """Places in a population of `a`: `different` draws them where none is drawn twice."""
    count = 1
    for extent in () if size is None else (size,) if isinstance(size, int) else size:
        count = count * extent
    if a <= 0 and count != 0:
        raise ValueError("a must be a positive integer unless no samples are taken")
    if p is not None:
        if not replace:
            refused("a choice of different elements that are not equally likely")
        return by_probability(stream, a, size, p)
    if replace:
        return numbers(stream, "numpy_int", size, 0, a - 1)
    if count > a:
        raise ValueError("Cannot take a larger sample than population when replace is False")
    places = different(count)
    return places[0].item() if size is None else places.reshape(size).numpy()


def by_probability(stream, a, size, p):
    p = np.asarray(p, dtype=np.float64)
    if p.ndim != 1:
        raise ValueError("p must be 1-dimensional")
    if len(p) != a:
        raise ValueError("a and p must have same size")
    if np.any(p < 0):
        raise ValueError("Probabilities are not non-negative")
    if not abs(p.sum() - 1.0) <= 1.4901161193847656e-08:
        raise ValueError("Probabilities do not sum to 1")
    steps = p.cumsum()
    steps = steps / steps[-1]
    u = drawn(stream, "library_double", () if size is None else (size,) if isinstance(size, int) else tuple(size))
    places = torch.searchsorted(torch.from_numpy(steps), u, side="right")
    return places.item() if size is None else places.numpy()


def choice(stream, a, size, replace, p, different):
    if isinstance(a, int):
        return chosen(stream, a, size, replace, p, different)
    a = np.asarray(a)
    return a[chosen(stream, len(a), size, replace, p, different)]


class RtNumpySource(RtSource):
    """What RandomState and Generator share."""

    def standard_normal(self, size=None, dtype=np.float64, out=None):
        if out is not None or dtype is not np.float64 and dtype is not float:
            refused("normal numbers of numpy in another dtype or in an array of yours")
        return numbers(self, "numpy_normal", size)

    def normal(self, loc=0.0, scale=1.0, size=None):
        if np.any(scale < 0):
            raise ValueError("scale < 0")
        return loc + scale * numbers(self, "numpy_normal", shape_for(size, loc, scale))

    def uniform(self, low=0.0, high=1.0, size=None):
        return low + (high - low) * numbers(self, "library_double", shape_for(size, low, high))


class RtRandomState(RtNumpySource):
    def example(self, m):
        return np.random.RandomState(0)

    def random_sample(self, size=None):
        return numbers(self, "library_double", size)

    random = random_sample

    def rand(self, *shape):
        return numbers(self, "library_double", shape or None)

    def randn(self, *shape):
        return numbers(self, "numpy_normal", shape or None)

    def randint(self, low, high=None, size=None, dtype=int):
        if dtype is not int and dtype is not np.int64:
            refused("random integers of numpy in another dtype than int64")
        return below(self, low, high, size, False)

    def permutation(self, x):
        return shuffled(self, x)

    def shuffle(self, x):
        shuffle(self, x)

    def choice(self, a, size=None, replace=True, p=None):
        population = a if isinstance(a, int) else len(a)
        return choice(self, a, size, replace, p,
                      lambda count: drawn(self, "numpy_permutation", (population,))[:count])

    def seed(self, seed=None):
        begin_anew(self, seed)


class RtNumpyGenerator(RtNumpySource):
    def example(self, m):
        return np.random.default_rng(0)

    def random(self, size=None, dtype=np.float64, out=None):
        if out is not None or dtype is not np.float64 and dtype is not float:
            refused("random numbers of numpy in another dtype or in an array of yours")
        return numbers(self, "library_double", size)

    def integers(self, low, high=None, size=None, dtype=np.int64, endpoint=False):
        if dtype is not int and dtype is not np.int64:
            refused("random integers of numpy in another dtype than int64")
        found = below(self, low, high, () if size is None and dtype is np.int64 else size, endpoint)
        return found[()] if size is None and dtype is np.int64 else found

    def permutation(self, x, axis=0):
        if axis != 0:
            refused("a permutation of numpy along another axis than the first")
        return shuffled(self, x)

    def shuffle(self, x, axis=0):
        if axis != 0:
            refused("a shuffle of numpy along another axis than the first")
        shuffle(self, x)

    def choice(self, a, size=None, replace=True, p=None, axis=0, shuffle=True):
        if axis != 0 or not shuffle:
            refused("a choice of numpy along another axis than the first, or in order")
        population = a if isinstance(a, int) else len(a)
        return choice(self, a, size, replace, p, lambda count: drawn(self, "numpy_choice", (count,), population))
