# SPDX-License-Identifier: Apache-2.0
"""Containers that calls change and that are no states: they have a second name, are returned, or change their kind."""

import array
import collections

import pytest
from torch import nn

import dycl
from tests.frontend.support.harness import T, refused

CALLS = (T(1, 2), T(-3, 1), T(4, 4), T(-1, -4), T(-1, -2), T(1, 4))


class DequeReturned(nn.Module):
    def __init__(self):
        super().__init__()
        self.buf = collections.deque(maxlen=3)

    def forward(self, x):
        self.buf.append(x)
        return self.buf


class TwoNames(nn.Module):
    def __init__(self):
        super().__init__()
        self.buf = collections.deque(maxlen=3)
        self.alias = self.buf

    def forward(self, x):
        self.buf.append(x)
        return x + len(self.alias)


class ElementWritten(nn.Module):
    def __init__(self):
        super().__init__()
        self.buf = collections.deque(maxlen=2)

    def forward(self, x):
        y = x * 2
        self.buf.append(y)
        y.add_(1)
        return sum(self.buf)


class OtherMaxlen(nn.Module):
    def __init__(self):
        super().__init__()
        self.buf = collections.deque(maxlen=3)

    def forward(self, x):
        if x.sum() < -4:
            self.buf = collections.deque(maxlen=2)
        self.buf.append(x)
        return sum(self.buf)


class DictReturned(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = {}

    def forward(self, x):
        self.d[int(x[0].item())] = x
        return self.d


BUF: object = None


class GlobalDeque(nn.Module):
    def __init__(self):
        super().__init__()
        self.buf = collections.deque()
        global BUF
        BUF = self.buf

    def forward(self, x):
        n = len(BUF)
        self.buf.append(x)
        return x + n


class GlobalSet(nn.Module):
    def __init__(self):
        super().__init__()
        self.buf = set()
        global BUF
        BUF = self.buf

    def forward(self, x):
        n = len(BUF) if x.sum() > 0 else 1 in BUF
        self.buf.add(int(x[0].item()))
        return x + n


class GlobalDict(nn.Module):
    def __init__(self):
        super().__init__()
        self.buf = {}
        global BUF
        BUF = self.buf

    def forward(self, x):
        n = len(BUF)
        self.buf[int(x[0].item())] = 1
        return x + n


class GlobalArr(nn.Module):
    def __init__(self):
        super().__init__()
        self.buf = array.array("d")
        global BUF
        BUF = self.buf

    def forward(self, x):
        n = len(BUF)
        self.buf.append(x[0].item())
        return x + n


class ClosureDeque(nn.Module):
    def __init__(self):
        super().__init__()
        h = self.buf = collections.deque([1.0])
        self.f = lambda: sum(h)

    def forward(self, x):
        n = self.f()
        self.buf.append(x[0].item())
        return x + n


class MethodOfDeque(nn.Module):
    def __init__(self):
        super().__init__()
        self.buf = collections.deque([1.0])
        self.add = self.buf.append

    def forward(self, x):
        self.add(x[0].item())
        return x + len(self.buf)


class MethodOfDeque2(nn.Module):
    def __init__(self):
        super().__init__()
        self.buf = collections.deque([1.0])
        self.count = self.buf.__len__

    def forward(self, x):
        self.buf.append(x[0].item())
        return x + self.count()


class DequeShare(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = collections.deque(maxlen=2)
        self.b = collections.deque(maxlen=2)

    def forward(self, x):
        self.a.append(x)
        if x.sum() > 0:
            self.b = self.a
        return x + len(self.a) * 2 + len(self.b)


class EmptiedOfAnotherKind(nn.Module):
    def __init__(self):
        super().__init__()
        self.buf = collections.deque()

    def forward(self, x):
        self.buf.append(x if x.sum() > 0 else 1)
        return x + len(self.buf)


def _append_to(items, x):
    items.append(x)
    return x


@pytest.mark.parametrize("cls, match", [
    (DequeReturned, "returned or has a second name"), (TwoNames, "a deque from outside is changed"),
    (ElementWritten, "is written in place"), (OtherMaxlen, "something else in others"),
    (DictReturned, "returned or has a second name"), (EmptiedOfAnotherKind, "elements of different kinds|deque"),
    (GlobalDeque, "second name"), (GlobalSet, "second name"), (GlobalDict, "second name"),
    (GlobalArr, "second name"), (ClosureDeque, "from outside"), (MethodOfDeque, "from outside"),
    (MethodOfDeque2, "second name"), (DequeShare, "second name")],
    ids=lambda p: getattr(p, "__name__", ""))
def test_refused(cls, match):
    refused(cls, CALLS, match)


def test_an_argument_is_no_state():
    with pytest.raises(dycl.CompileError, match="a deque from outside is changed"):
        dycl.compile(_append_to, (collections.deque(), CALLS[0]))
