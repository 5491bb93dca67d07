# SPDX-License-Identifier: Apache-2.0
"""What programs of idioms.py begin with: classes and functions as models have them."""

from tests.frontend.generated.wild import WILD_PRELUDE

IDIOM_PRELUDE = WILD_PRELUDE + '''\
import enum
import functools
import heapq
import itertools
import operator


class Val:
    """A number of run time in an object that computes."""

    def __init__(self, t, name="v"):
        self.t, self.name = t, name

    def __add__(self, other):
        if isinstance(other, Val):
            return Val(self.t + other.t, self.name + other.name)
        if isinstance(other, (int, float)):
            return Val(self.t + other, self.name)
        return NotImplemented

    __radd__ = __add__

    def __neg__(self):
        return Val(-self.t, "-" + self.name)

    def __lt__(self, other):
        return self.score() < other.score()

    def __eq__(self, other):
        return isinstance(other, Val) and self.score() == other.score()

    def __hash__(self):
        return hash(self.name)

    def __getitem__(self, i):
        return self.t[i]

    def __len__(self):
        return self.t.shape[0]

    def __call__(self, t):
        return t + self.t if self.score() > 0 else t

    def score(self):
        return float(self.t.sum())


class Mode(enum.Enum):
    COLD = 0
    WARM = 1


class Step(NamedTuple):
    score: float
    tokens: tuple
    h: torch.Tensor


@dataclasses.dataclass(frozen=True)
class Span:
    start: int
    end: int
    label: str = "x"

    def width(self):
        return self.end - self.start


class Cache:
    def __init__(self):
        self.keys, self.seen = [], 0

    def update(self, k, layer):
        if len(self.keys) <= layer:
            self.keys.append(k)
        else:
            self.keys[layer] = torch.cat([self.keys[layer], k])
        self.seen += k.shape[0]
        return self.keys[layer]

    def __len__(self):
        return len(self.keys)


def averager(first):
    total, n = first, 1
    while True:
        got = yield total / n
        if got is None:
            return n
        total, n = total + got, n * 2


def tree(t, depth=0):
    if t.numel() <= 1 or depth >= 2 or t.sum() > 3:
        return t.sum(), depth
    left, a = tree(t[: t.numel() // 2], depth + 1)
    right, b = tree(t[t.numel() // 2:], depth + 1)
    return (left - right if left > right else left + right), max(a, b)


EMB = torch.tensor([[0.5, -1.0, 2.0, 0.0], [1.0, 1.5, -0.5, -1.0], [-2.0, 0.5, 0.5, 1.0], [0.0, 2.5, -1.0, 0.5]])


'''
