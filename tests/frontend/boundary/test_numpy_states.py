# SPDX-License-Identifier: Apache-2.0
"""numpy arrays and numbers in attributes, which calls replace or write in place;
compiled, and loaded from a file."""

import numpy as np
import pytest
import torch
from torch import nn

import dycl
from tests.frontend.support.harness import T, refused
from tests.frontend.support.sequences import check_sequence, sequences

CALLS = (T(1, 2), T(-3, 1), T(4, 4), T(-1, -4), T(-1, -2), T(1, 4))
ORDERS = ((0, 1, 2, 3, 4, 5), (2, 2, 1, 3, 0, 4, 5, 0))
TAKEN: list = []


def taken(cls):
    TAKEN.append(cls)
    return cls


@taken
class Appended(nn.Module):
    def __init__(self):
        super().__init__()
        self.history = np.zeros(0)

    def forward(self, x):
        self.history = np.append(self.history, x.sum().item())
        return x * float(self.history.mean())


@taken
class Ring(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = np.zeros(4, dtype=np.float32)
        self.n = 0

    def forward(self, x):
        self.h[self.n % 4] = x.sum().item()
        self.n += 1
        return x + float(self.h.sum())


@taken
class Returned(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = np.zeros(2)

    def forward(self, x):
        self.h = self.h + x.numpy()
        return self.h


@taken
class WrittenRows(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = np.zeros((2, 2), dtype=np.float32)

    def forward(self, x):
        self.h[0] += x.numpy()
        self.h[1, 0] = 3.0
        if x.sum() > 6:
            self.h = np.zeros((2, 2), dtype=np.float32)
        return x + torch.from_numpy(self.h.copy()).sum()


@taken
class CountsCalls(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = np.zeros(3)
        self.n = 0

    def forward(self, x):
        self.h[1] += 1.0
        return x + float(self.h.sum())


@taken
class RunningMean(nn.Module):
    def __init__(self):
        super().__init__()
        self.m = np.float64(0.0)

    def forward(self, x):
        self.m = self.m * 0.5 + np.mean(x.numpy())
        return x * float(self.m)


@taken
class Window(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = np.zeros((0, 2), dtype=np.float32)

    def forward(self, x):
        self.h = np.concatenate([self.h, x.numpy()[None]])[-3:]
        return torch.from_numpy(self.h.mean(0)) if x.sum() > 0 else x


@taken
class NpMerged(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = np.zeros(2)

    def forward(self, x):
        if x.sum() > 0:
            self.h = np.append(self.h, x.sum().item())
        else:
            self.h[0] = self.h[1] + 1
        return x * float(self.h.sum())


@taken
class NpViewKept(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = np.zeros(4)

    def forward(self, x):
        self.h[0] += x.sum().item()
        if x.sum() > 6:
            self.h = self.h[::-1]
        return x * float(self.h[3])


@taken
class NpInt(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = np.zeros(4, dtype=np.int64)

    def forward(self, x):
        self.h[int(x.abs()[0].item()) % 4] += 1
        return x + int(self.h.argmax())


@sequences(TAKEN, ORDERS)
def test_sequences(cls, order, tmp_path):
    check_sequence(cls, CALLS, order, tmp_path)


class ReturnedAndWritten(nn.Module): 
    def __init__(self):
        super().__init__()
        self.h = np.zeros(2)

    def forward(self, x):
        self.h += x.numpy()
        return self.h


class SharedWithTensor(nn.Module): 
    def __init__(self):
        super().__init__()
        self.h = np.zeros(2)
        self.t = torch.from_numpy(self.h)

    def forward(self, x):
        self.h[0] = x.sum().item()
        return x + self.t


class SharedWithView(nn.Module): 
    def __init__(self):
        super().__init__()
        self.h = np.zeros(2)
        self.t = self.h[1:]

    def forward(self, x):
        self.h[1] = x.sum().item()
        return x + float(self.t[0])


class TwoAttributes(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = np.zeros(2)
        self.t = np.ones(2)

    def forward(self, x):
        self.h[1] = x.sum().item()
        y = float(self.t[0])
        self.t = self.h
        return x + y


class OfArgument(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = np.zeros(2, dtype=np.float32)

    def forward(self, x):
        y = x + float(self.h[0])
        self.h = x.numpy()
        return y


BUF: object = None


class GlobalNp(nn.Module):
    def __init__(self):
        super().__init__()
        self.buf = np.zeros(2)
        global BUF
        BUF = self.buf

    def forward(self, x):
        n = float(BUF[0])
        self.buf[0] = x[0].item()
        return x + n


class GlobalNp2(nn.Module):
    def __init__(self):
        super().__init__()
        self.buf = np.zeros(2)
        global BUF
        BUF = self.buf

    def forward(self, x):
        self.buf[0] = x[0].item()
        return x + float(BUF.sum())


class ClosureNp(nn.Module):
    def __init__(self):
        super().__init__()
        h = self.buf = np.zeros(2)
        self.f = lambda: float(h.max())

    def forward(self, x):
        n = self.f()
        self.buf[0] = x[0].item()
        return x + n


class ClosureNp2(nn.Module):
    def __init__(self):
        super().__init__()
        h = self.buf = np.zeros(2)
        self.f = lambda: torch.from_numpy(h).sum()

    def forward(self, x):
        n = self.f()
        self.buf[0] += 1.0
        return x + n


class NpInContainer(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = np.zeros(4)
        self.last = None

    def forward(self, x):
        y = x if self.last is None else x + float(self.last[0][0])
        self.h[0] += x.sum().item()
        self.last = (self.h, 1)
        return y


@pytest.mark.parametrize("cls, match", [
    (ReturnedAndWritten, "has a second name, or is returned"), (SharedWithTensor, "did not make itself"),
    (SharedWithView, "did not make itself"), (TwoAttributes, "has a second name"), (OfArgument, "has a second name"),
    (GlobalNp, "has a second name"), (GlobalNp2, "has a second name"), (ClosureNp, "did not make itself"),
    (ClosureNp2, "from outside"), (NpInContainer, "state between calls")],
    ids=lambda p: getattr(p, "__name__", ""))
def test_refused(cls, match):
    refused(cls, CALLS, match)


def test_the_array_stays_the_one_it_was():
    for cls, same in ((Ring, True), (CountsCalls, True), (Appended, False)):
        model = cls()
        name = "history" if cls is Appended else "h"
        program, before = dycl.compile(model, (CALLS[0],)), getattr(model, name)
        program(CALLS[0])
        assert (getattr(model, name) is before) is same
        setattr(model, name, np.zeros((2, 2)))
        with pytest.raises(dycl.InputError, match="another kind of numpy array"):
            program(CALLS[0])
