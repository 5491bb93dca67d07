# SPDX-License-Identifier: Apache-2.0
"""What every generated program begins with: imports, classes and functions that its statements use."""

PRELUDE = '''\
import collections
import contextlib
import dataclasses
import math
from typing import NamedTuple, Optional

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


class Box:
    def __init__(self, t, n=0):
        self.t = t
        self.n = n
        self.items = []

    def bump(self, k=1):
        self.n += k
        return self

    def scaled(self, s):
        return self.t * s

    @property
    def total(self):
        return self.t.sum()


@dataclasses.dataclass
class Rec:
    x: torch.Tensor
    k: int = 0
    opt: Optional[torch.Tensor] = None


class Pair(NamedTuple):
    a: torch.Tensor
    b: int


class Guard:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append(1)
        return self

    def __exit__(self, kind, value, trace):
        self.log.append(2)
        return False


class Stop(Exception):
    pass


@contextlib.contextmanager
def scoped(log):
    log.append(3)
    try:
        yield len(log)
    finally:
        log.append(4)


def evens(ts, limit):
    for i, t in enumerate(ts):
        if t.sum() > limit:
            yield t
        elif i % 2 == 0:
            yield t * 2


def countdown(n):
    while n > 0:
        yield n
        n -= 1
    return


'''
