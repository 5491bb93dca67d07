# SPDX-License-Identifier: Apache-2.0
"""Deques, dicts, sets, arrays and fractions in attributes that calls change;
compiled, loaded from a file, and executed by dycl.runtime."""

import array
import collections
import enum
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch import nn

import dycl
from dycl import runtime
from tests.frontend.support.compare import differences
from tests.frontend.support.harness import T
from tests.frontend.support.sequences import check_sequence, run, sequences

CALLS = (T(1, 2), T(-3, 1), T(4, 4), T(-1, -4), T(-1, -2), T(1, 4))
ORDERS = ((0, 1, 2, 3, 4, 5), (2, 2, 1, 3, 0, 4, 5, 0))
TAKEN: list = []


def taken(cls):
    TAKEN.append(cls)
    return cls


class Mode(enum.Enum):
    A = 1
    B = 2


@taken
class Frames(nn.Module):
    def __init__(self):
        super().__init__()
        self.buf = collections.deque(maxlen=3)

    def forward(self, x):
        self.buf.append(x * 2)
        return torch.stack(list(self.buf)).mean(0) if x.sum() > 0 else x + len(self.buf)


@taken
class FromBothEnds(nn.Module):
    def __init__(self):
        super().__init__()
        self.buf = collections.deque()

    def forward(self, x):
        if x.sum() > 0:
            self.buf.appendleft(x)
        elif len(self.buf) > 1:
            return self.buf.popleft() + self.buf[-1]
        y = x * 0
        for b in self.buf:
            y = y + b
        return y


@taken
class Averages(nn.Module):
    def __init__(self):
        super().__init__()
        self.buf = collections.deque([0.0], maxlen=4)

    def forward(self, x):
        self.buf.append(x.sum().item())
        if max(self.buf) > 7:
            self.buf.clear()
            return x
        return x * sum(self.buf) / len(self.buf)


@taken
class Numbered(nn.Module):
    def __init__(self):
        super().__init__()
        self.buf = collections.deque([(torch.zeros(2), 0)], maxlen=3)

    def forward(self, x):
        self.buf.append((x, len(self.buf)))
        y = x
        for a, n in reversed(self.buf):
            y = y + a * n
        return y


@taken
class ChangedWhileIterated(nn.Module):
    def __init__(self):
        super().__init__()
        self.buf = collections.deque()

    def forward(self, x):
        self.buf.append(x)
        y = x
        for b in self.buf:
            y = y + b
            if y.sum() > 8:
                self.buf.pop()
        return y


@taken
class Rotated(nn.Module):
    def __init__(self):
        super().__init__()
        self.buf = collections.deque([torch.zeros(2), torch.ones(2)], maxlen=3)

    def forward(self, x):
        self.buf.rotate(1)
        self.buf[0] = self.buf[0] + x
        if x.sum() > 0:
            self.buf.extend([x, x * 2])
        del self.buf[0]
        self.buf.insert(1, x)
        self.buf.reverse()
        return torch.stack(tuple(self.buf)).sum(0) * len(self.buf), self.buf[-1]


@taken
class NewDeque(nn.Module):
    def __init__(self):
        super().__init__()
        self.buf = collections.deque(maxlen=3)

    def forward(self, x):
        if x.sum() < -4:
            self.buf = collections.deque(maxlen=3)
        self.buf.append(x)
        return sum(self.buf)


@taken
class Raising(nn.Module):
    def __init__(self):
        super().__init__()
        self.buf = collections.deque(maxlen=3)

    def forward(self, x):
        self.buf.append(x)
        if x.sum() < -4:
            raise ValueError("small")
        return sum(self.buf)


@taken
class Unread(nn.Module):
    def __init__(self):
        super().__init__()
        self.buf = collections.deque(maxlen=3)

    def forward(self, x):
        self.buf.append(x)
        return x


@taken
class DequesInDict(nn.Module):
    def __init__(self):
        super().__init__()
        self.bufs = {"a": collections.deque(maxlen=2), "b": collections.deque(maxlen=3)}

    def forward(self, x):
        k = "a" if x.sum() > 0 else "b"
        self.bufs[k].append(x.sum())
        return x * len(self.bufs["a"]) + sum(self.bufs["b"])


@taken
class CountedCache(nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = {}

    def forward(self, x):
        k = "pos" if x.sum() > 0 else "neg"
        if k not in self.cache:
            self.cache[k] = x
        return x + self.cache[k] + len(self.cache)


@taken
class Popped(nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = {}

    def forward(self, x):
        k = "pos" if x.sum() > 0 else "neg"
        if k in self.cache:
            return self.cache.pop(k) + x
        self.cache[k] = x
        y = x
        for name, v in self.cache.items():
            y = y + v
        return y


@taken
class ClearedDict(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = {}

    def forward(self, x):
        if x.sum() > 6:
            self.d.clear()
        elif x.sum() > 0:
            self.d["k"] = x
        else:
            self.d["v"] = x * 2
        return x + len(self.d) + sum(self.d.values())


@taken
class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = {}

    def forward(self, x):
        k = int(x.sum().item())
        if k in self.memory:
            return self.memory[k] + x
        self.memory[k] = x * 2
        return x + len(self.memory)


@taken
class TuplesInDict(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = {}

    def forward(self, x):
        k = int(x[0].item())
        if k not in self.d:
            self.d[k] = (x, 0)
        t, n = self.d[k]
        self.d[k] = (t + x, n + 1)
        y = x
        for k, (t, n) in self.d.items():
            y = y + t * n + k
        return y


@taken
class Deleted(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = {7: 1.0}

    def forward(self, x):
        k = int(x[0].item())
        self.d[k] = self.d.get(k, 0.0) + 1.0
        if len(self.d) > 3:
            del self.d[k]
        return x + sum(self.d.values()) + max(self.d)


@taken
class LeastRecentlyUsed(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = collections.OrderedDict()

    def forward(self, x):
        k = int(x[0].item())
        if k in self.d:
            self.d.move_to_end(k)
            return x + self.d[k]
        self.d[k] = x
        if len(self.d) > 2:
            self.d.popitem(last=False)
        return x * 2


@taken
class DefaultInts(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = collections.defaultdict(int)

    def forward(self, x):
        self.d[int(x.sum().item())] += 1
        return x + self.d[int(x.sum().item())] + self.d[3]


@taken
class DefaultTensors(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = collections.defaultdict(lambda: torch.zeros(2))

    def forward(self, x):
        k = int(x[0].item())
        self.d[k] = self.d[k] + x
        return self.d[k] + len(self.d)


@taken
class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = collections.Counter()

    def forward(self, x):
        self.d[int(x.sum().item())] += 1
        return x + self.d[3]


@taken
class MostCommon(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = collections.Counter()

    def forward(self, x):
        self.c[int(x[0].item())] += 1
        k, n = self.c.most_common(1)[0]
        return x + k * n


@taken
class SeenInts(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = set()

    def forward(self, x):
        k = int(x.sum().item())
        if k in self.seen:
            return x * 0
        self.seen.add(k)
        return x + len(self.seen)


@taken
class SetOfInts(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = {1, 2}

    def forward(self, x):
        k = int(x[0].item())
        if k in self.s:
            self.s.remove(k)
        else:
            self.s |= {k, 5}
        return x + len(self.s)


@taken
class KnownInts(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = set()

    def forward(self, x):
        k = 1 if x.sum() > 0 else 2
        if k in self.seen:
            self.seen.discard(k)
            return x * 0
        self.seen.add(k)
        return x + len(self.seen)


@taken
class KnownStrings(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = set()

    def forward(self, x):
        self.s.add("p" if x.sum() > 0 else "n")
        return x + len(self.s) + ("p" in self.s)


@taken
class Floats(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = array.array("d")

    def forward(self, x):
        self.a.append(x.sum().item())
        return x * sum(self.a) / len(self.a)


@taken
class Ints(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = array.array("i", [1, 2])

    def forward(self, x):
        self.a[0] += int(x[0].item())
        if x.sum() > 0:
            self.a.append(3)
        elif len(self.a) > 1:
            self.a.pop()
        return x + sum(self.a) + len(self.a)


@taken
class Sum(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = Fraction(0)

    def forward(self, x):
        self.f = self.f + Fraction(int(x.sum().item()), 3)
        return x * float(self.f) if self.f > 0 else x


@taken
class InTuple(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = Fraction(1, 2)
        self.p = None

    def forward(self, x):
        y = x * float(self.f) if self.p is None else x * float(self.p[0] + self.f)
        self.p = (self.f, x)
        self.f = self.f * 2 if x.sum() > 0 else Fraction(int(x[0].item()), 7)
        return y, self.f.numerator


@taken
class Slots(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = [0.0] * 4

    def forward(self, x):
        k = int(x.abs().sum().item()) % 4
        self.memory[k] = self.memory[k] + x.sum().item()
        return x * self.memory[k]


@taken
class Modes(nn.Module):
    def __init__(self):
        super().__init__()
        self.mode = Mode.A

    def forward(self, x):
        y = x * 2 if self.mode is Mode.A else x * 3
        self.mode = Mode.B if x.sum() > 0 else Mode.A
        return y


@taken
class DictReturnedKnown(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = {}

    def forward(self, x):
        if x.sum() > 6:
            self.d.clear()
        elif x.sum() > 0:
            self.d["k"] = x
        else:
            self.d["v"] = x * 2
        return self.d


@taken
class DictWrittenIn(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = {}

    def forward(self, x):
        if x.sum() > 6:
            self.d.clear()
        elif "k" in self.d:
            self.d["k"] += x
        else:
            self.d["k"] = x * 1
        return x + len(self.d) + sum(self.d.values())


@taken
class DictWrittenReturned(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = {}

    def forward(self, x):
        if x.sum() > 6:
            self.d.clear()
        elif "k" in self.d:
            self.d["k"] += x
        else:
            self.d["k"] = x * 1
        return self.d.get("k"), len(self.d)


@taken
class DequeMany(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = collections.deque(maxlen=2)
        self.b = collections.deque(maxlen=2)

    def forward(self, x):
        self.a.append(x)
        if x.sum() > 0:
            self.a, self.b = self.b, self.a
        return x + len(self.a) * 2 + len(self.b)


@taken
class FractionsInLoop(nn.Module):
    def forward(self, x):
        out = []
        n = int(x.abs().sum().item())
        while n > 0:
            out.append(Fraction(n, 3))
            n = n - 2
        total = Fraction(0)
        for f in out:
            total = total + f
        return out, total, len(out)


@taken
class FractionDeque(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = collections.deque(maxlen=3)

    def forward(self, x):
        self.d.append(Fraction(int(x[0].item()), 4))
        return x * float(sum(self.d)), self.d[0], max(self.d)


@taken
class FractionPairs(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = []

    def forward(self, x):
        self.d.append((x, Fraction(int(x[0].item()), 4), {"a": Fraction(1, 2)}))
        y = x
        for t, f, d in self.d:
            y = y + t * float(f + d["a"])
        return y


@taken
class FractionTable(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = {}

    def forward(self, x):
        k = int(x[0].item())
        self.d[k] = self.d.get(k, Fraction(0)) + Fraction(1, 3)
        return x * float(self.d[k]), list(self.d.values())


@sequences(TAKEN, ORDERS)
def test_sequences(cls, order, tmp_path):
    check_sequence(cls, CALLS, order, tmp_path)


@pytest.mark.parametrize("cls, name, same", [(Frames, "buf", True), (NewDeque, "buf", False), (Memory, "memory", True),
                                             (SeenInts, "seen", True), (Floats, "a", True), (KnownInts, "seen", True)])
def test_the_container_stays_the_one_it_was(cls, name, same):
    model = cls()
    program, before = dycl.compile(model, (CALLS[0],)), getattr(model, name)
    for x in CALLS:
        run(program, x)
    assert (getattr(model, name) is before) is same


def test_what_the_caller_puts_there():
    eager, model = Frames(), Frames()
    program = dycl.compile(model, (CALLS[0],))
    for m in (eager, model):
        m.buf = collections.deque([torch.ones(2)], maxlen=3)
    assert differences(run(eager, CALLS[2]), run(program, CALLS[2]), "after the caller set it") == []
    for other in ([], collections.deque(maxlen=2), collections.deque([torch.ones(3)], maxlen=3)):
        model.buf = other
        with pytest.raises(dycl.InputError, match="Frames.buf: another kind of"):
            program(CALLS[0])


@pytest.mark.parametrize("cls", [Frames, Memory, CountedCache, SeenInts, Sum])
def test_without_torch(cls, tmp_path):
    dycl.compile(cls(), (CALLS[0],)).save(tmp_path / "p.dycl")
    eager, program = cls(), runtime.load(tmp_path / "p.dycl")
    for x in CALLS:
        (got,) = program(x.numpy()).values()
        assert np.allclose(got, eager(x).numpy())


def counted(x):
    found = collections.defaultdict(int)
    for k in range(2):
        found[int(x[k].item())] += 1
    return found


def test_a_result_keeps_its_factory(tmp_path):
    program = dycl.compile(counted, (T(3, 4),))
    program.save(tmp_path / "p.dycl")
    for target in (program, dycl.load(tmp_path / "p.dycl")):
        found = target(T(3, 3))
        assert found == counted(T(3, 3)) and found.default_factory is int
