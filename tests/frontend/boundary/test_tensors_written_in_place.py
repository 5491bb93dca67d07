# SPDX-License-Identifier: Apache-2.0
"""Attributes that are assigned in some calls and written in place in others:
running averages, caches allocated when first used.

Every program runs sequences of calls in several orders beside eager, as it is compiled and loaded from a file. What
earlier calls returned is compared after every call: a tensor that was given to the caller and is written in place later
changes there, too.
"""

import pytest
import torch
from torch import nn

import dycl
from tests.frontend.support.harness import T, refused
from tests.frontend.support.sequences import check_sequence, sequences

CALLS = (T(1, 2), T(-3, 1), T(4, 4), T(-1, -4), T(-1, -2), T(1, 4))
ORDERS = ((0, 1, 2, 3, 4, 5), (3, 4, 0, 1, 5, 2), (1, 3, 2, 0, 4, 5, 0))
TAKEN: list = []


def taken(cls):
    TAKEN.append(cls)
    return cls


class Module(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = None


@taken
class Average(Module):
    def forward(self, x):
        if self.h is None:
            self.h = x.detach().clone()
        else:
            self.h.mul_(0.9).add_(x * 0.1)
        return self.h * 2 if self.h.sum() > 0 else self.h - 1


@taken
class AverageReturned(Module):
    def forward(self, x):
        if self.h is None:
            self.h = torch.zeros(2)
        if x.sum() > 0:
            self.h.add_(x)
        elif x.sum() < -4:
            self.h = x * 2
        return self.h


@taken
class ReturnedDetached(Module):
    def forward(self, x):
        if self.h is None:
            self.h = torch.zeros(2)
        if x.sum() > 0:
            self.h += x
        return self.h.detach()


@taken
class ReturnedInSomePaths(Module):
    def forward(self, x):
        if self.h is None:
            self.h = torch.zeros(2)
        self.h.add_(1)
        if x.sum() > 0:
            r = self.h
        else:
            r = x * 2
        return r


@taken
class ReturnedAsArray(Module):
    def forward(self, x):
        if self.h is None:
            self.h = torch.zeros(2)
        self.h.add_(x if x.sum() > 0 else -x)
        return self.h.numpy()


@taken
class Rows(Module):
    """A cache filled row by row."""

    def __init__(self):
        super().__init__()
        self.n = 0

    def forward(self, x):
        if self.h is None:
            self.h = torch.zeros(8, 2)
        self.h[self.n] = x
        self.n += 1
        return self.h[:self.n].sum(0) if x.sum() > 0 else self.h.mean(0)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = self.v = None
        self.linear = nn.Linear(2, 2)

    def forward(self, x, place):
        if self.k is None:
            self.k, self.v = torch.zeros(8, 2), torch.zeros(8, 2)
        self.k[place] = self.linear(x)
        self.v[place] = x
        weights = torch.softmax(self.k[:place + 1] @ x, 0)
        return x + weights @ self.v[:place + 1]


@taken
class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.place = nn.ModuleList(Layer() for _ in range(3)), 0

    def forward(self, x):
        for layer in self.layers:
            x = layer(x, self.place)
        self.place += 1
        return x if x.sum() > 0 else -x


@taken
class Statistics(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean, self.n = torch.zeros(2), 0

    def forward(self, x):
        self.n += 1
        if self.n == 1:
            self.mean = x * 1
        elif x.sum() > 0:
            self.mean.copy_(self.mean + (x - self.mean) / self.n)
        else:
            self.mean.mul_(0.5)
        return x - self.mean


@taken
class Membrane(Module):
    """Written, then replaced in the same call, and returned."""

    def forward(self, x):
        if self.h is None:
            self.h = torch.zeros(2)
        self.h += x
        spikes = (self.h > 1).float()
        if spikes.sum() > 0:
            self.h = self.h * (1 - spikes)
        return spikes, self.h


@taken
class InADict(Module):
    def forward(self, x):
        if self.h is None:
            self.h = {"k": torch.zeros(2), "v": [torch.ones(2)]}
        if x.sum() > 0:
            self.h["k"].add_(x)
        else:
            self.h["v"][0].sub_(x)
            self.h["k"] = self.h["k"] * 2
        return self.h["k"] + self.h["v"][0]


@taken
class InAList(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = [None] * 3

    def forward(self, x):
        for i in range(3):
            if self.h[i] is None:
                self.h[i] = torch.zeros(2)
            self.h[i].mul_(0.5).add_(x)
            x = x + self.h[i]
            if x.sum() < 0:
                break
        return x


@taken
class OfAList(Module):
    def forward(self, x):
        if self.h is None:
            self.h = [torch.zeros(2), torch.ones(2)]
        for i, t in enumerate(self.h):
            t.add_(x)
            if t.sum() > 5:
                self.h[i] = x * 3
        return self.h[0]


@taken
class Swapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.zeros(2), torch.ones(2)

    def forward(self, x):
        self.a, self.b = self.b, self.a
        if x.sum() > 0:
            self.a.add_(x)
        return self.a


@taken
class Longer(Module):
    def forward(self, x):
        n = int(x[0].abs()) + 1
        if self.h is None or self.h.size(0) < n:
            self.h = torch.zeros(n, 2)
        self.h[:n] += x
        return self.h.sum(0)


@taken
class Shorter(Module):
    def forward(self, x):
        if self.h is None or self.h.size(0) < 2:
            self.h = torch.zeros(5)
        self.h.add_(x[0])
        if x.sum() > 0:
            self.h = self.h[1:]
        return self.h * 1


@taken
class Raising(Module):
    def forward(self, x):
        if self.h is None:
            self.h = torch.zeros(2)
        self.h.add_(x)
        if x.sum() < -4:
            raise ValueError("below")
        if x.sum() < -2:
            self.h = x * 2
            raise ValueError("below, too")
        return self.h


@taken
class InALoop(Module):
    def forward(self, x):
        if self.h is None:
            self.h = torch.zeros(2)
        i = 0
        while i < int(x[0].abs()):
            self.h.add_(x)
            i += 1
            if self.h.sum() > 20:
                self.h = torch.zeros(2)
        return self.h


@taken
class ThroughViews(Module):
    def forward(self, x):
        if self.h is None:
            self.h = torch.zeros(2, 2)
        row = self.h[0]
        row.add_(x)
        self.h.t()[0] += 1
        torch.add(self.h, x, out=self.h)
        self.h.data.view(-1)[:2] = x
        return self.h.sum(0) if x.sum() > 0 else self.h[1] * 1


@taken
class Modes(Module):
    def __init__(self):
        super().__init__()
        self.mode = "cold"

    def forward(self, x):
        if self.mode == "cold":
            self.h, self.mode = x.clone(), "warm"
        elif self.mode == "warm":
            self.h.add_(x)
            if x.sum() < -3:
                self.mode = "hot"
        else:
            self.h, self.mode = None, "cold"
            return x
        return self.h * 2


@taken
class Buffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("h", None)
        self.register_buffer("n", torch.zeros(()))

    def forward(self, x):
        if self.h is None:
            self.h = torch.zeros(2)
        self.n += 1
        self.h[0] += x[0]
        if x.sum() > 0:
            self.h, self.n = self.h * 2, self.n * 2
        return self.h / self.n


@taken
class NotThereAtFirst(nn.Module):
    def forward(self, x):
        if not hasattr(self, "h"):
            self.h = torch.zeros(2)
        self.h += x
        return self.h if x.sum() > 0 else self.h.clone()


@taken
class LeftElsewhere(Module):
    """In an attribute that nobody reads."""

    def forward(self, x):
        if self.h is None:
            self.h = torch.zeros(2)
        if x.sum() > 0:
            self.seen = self.h
        self.h.add_(x)
        return x * 2


@taken
class SecondNameAtFirst(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.zeros(2)
        self.b = self.a

    def forward(self, x):
        if x.sum() > 0:
            self.a.add_(x)
        else:
            self.a = x * 2
        return self.a * 1


@taken
class MovedAtFirst(nn.Module):
    """What another name holds comes into the attribute that is written."""

    def __init__(self):
        super().__init__()
        self.a = torch.zeros(2)
        self.b, self.d = self.a, torch.ones(2)

    def forward(self, x):
        self.d.add_(x)
        y = self.d * 1
        if x[0] > 0:
            self.d = self.a
        self.a = x * 2
        return y + self.a


@taken
class EqualValues(Module):
    """An engine may give one tensor for both."""

    def forward(self, x):
        y = x * 2
        if self.h is None:
            self.h = y.clone()
        else:
            self.h.copy_(y)
        if x.sum() > 0:
            self.h.add_(1)
        return y


@taken
class WrittenAndMoved(nn.Module):
    """What was returned before is written, and then another attribute holds it."""

    def __init__(self):
        super().__init__()
        self.a, self.n, self.old = torch.zeros(2), 0, torch.ones(2)

    def forward(self, x):
        y = self.old * 1
        if self.n % 2 == 0:
            self.a[0] += 1.0
            self.old = self.a
            self.a = x.clone()
        self.n += 1
        return self.a, y if x.sum() > 0 else -y


@taken
class WrittenUntilEqual(nn.Module):
    """The tensor that is assigned equals the old one as it is by then."""

    def __init__(self):
        super().__init__()
        self.b, self.d = torch.ones(2), {"k": None}

    def forward(self, x):
        if self.b is None or self.d.get("k") is None:
            self.d["k"] = torch.zeros(2)
        self.b.copy_(self.d["k"])
        self.b = self.d["k"] * 1
        return x if x.sum() > 0 else self.b + 1


@taken
class SetToNone(nn.Module):
    """Not in place: a tensor first, and None later."""

    def __init__(self):
        super().__init__()
        self.a, self.kept = torch.ones(2), [torch.zeros(2)]

    def forward(self, x):
        if self.a is None:
            self.a = x.clone()
        self.a = x + self.a
        self.kept[0] = self.a
        if x.sum() > 0:
            self.a = None
        return x * 1


@sequences(TAKEN, ORDERS)
def test_sequences(cls, order, tmp_path):
    check_sequence(cls, CALLS, order, tmp_path)


class KeptArgument(Module):
    def forward(self, x):
        if self.h is None:
            self.h = x
        else:
            self.h.add_(x)
        return self.h * 2


class TwoNames(Module):
    def __init__(self):
        super().__init__()
        self.g = None

    def forward(self, x):
        if self.h is None:
            self.h = torch.zeros(2)
            self.g = self.h
        self.h.add_(x)
        return self.g * 2


class TwoNamesOfAKnownTensor(Module):
    """Its contents are the same in every first call."""

    def __init__(self):
        super().__init__()
        self.g = None

    def forward(self, x):
        if self.h is None:
            self.h = torch.zeros(2)
        if self.g is None:
            self.g = self.h
        self.h[1:].sub_(1)
        return self.h, self.g


class OneTensorTwice(Module):
    def forward(self, x):
        if self.h is None:
            self.h = [torch.zeros(2)] * 2
        self.h[0].add_(x)
        return self.h[1] * 1


class ViewReturned(Module):
    def forward(self, x):
        if self.h is None:
            self.h = torch.zeros(2, 2)
        self.h[0] = x
        return self.h[0]


class NamedByAnother(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.zeros(2)
        self.b, self.d = self.a, torch.ones(2)

    def forward(self, x):
        self.d.add_(x)
        y = self.b * 1 + self.d
        if x[0] > 0:
            self.d = self.a
        self.a = x * 2
        return y + self.a


class Parameter(Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2), requires_grad=False)

    def forward(self, x):
        if self.h is None:
            self.h = self.weight
        self.h.add_(x)
        return self.weight * 2


class Spread(Module):
    def forward(self, x):
        if self.h is None:
            self.h = x[:1].clone().expand(2)
        if x.sum() > 0:
            self.h.add_(1)
        return self.h * 1


class Resized(Module):
    def forward(self, x):
        if self.h is None:
            self.h = torch.zeros(2)
        if x.sum() > 0:
            self.h.resize_(3).fill_(1)
        return self.h.sum()


ARGUMENT, BOTH = (
    "an argument, or a tensor that the model holds elsewhere",
    "is left with .* later writes would change both",
)


@pytest.mark.parametrize("cls, match", [(KeptArgument, ARGUMENT), (TwoNames, BOTH), (TwoNamesOfAKnownTensor, BOTH),
                                        (OneTensorTwice, BOTH), (ViewReturned, "another view, is returned"),
                                        (NamedByAnother, "another name holds, too, at first"),
                                        (Parameter, "."), (Spread, "share memory"),
                                        (Resized, "resize_ changes a tensor's shape")],
                         ids=lambda p: getattr(p, "__name__", ""))
def test_refused(cls, match):
    refused(cls, CALLS, match)


def test_calls_that_share_memory_are_refused():
    model = AverageReturned()
    program = dycl.compile(model, (CALLS[0],))
    given = program(CALLS[0])
    with pytest.raises(dycl.InputError, match="shares memory with AverageReturned.h"):
        program(given)
    model = Swapped()
    program = dycl.compile(model, (CALLS[0],))
    model.a = model.b
    with pytest.raises(dycl.InputError, match="shares memory with another tensor of the model"):
        program(CALLS[0])


def test_the_caller_may_set_the_state():
    model, eager = AverageReturned(), AverageReturned()
    program = dycl.compile(model, (CALLS[0],))
    for k, x in enumerate(CALLS):
        if k in (2, 4):
            mine, other = (torch.arange(2.0) if k == 2 else None for _ in range(2))
            model.h, eager.h = mine, other
        assert torch.equal(program(x), eager(x)) and torch.equal(model.h, eager.h)
        if k == 2:
            assert model.h is mine and torch.equal(mine, other)
