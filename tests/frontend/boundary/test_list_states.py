# SPDX-License-Identifier: Apache-2.0
"""Lists in attributes that grow and shrink from call to call: histories, windows, stacks;
compiled, and loaded from a file."""

import pytest
import torch
from torch import nn

import dycl
from tests.frontend.support.compare import differences
from tests.frontend.support.harness import T, refused
from tests.frontend.support.sequences import check_sequence, run, sequences

CALLS = (T(1, 2), T(-3, 1), T(4, 4), T(-1, -4), T(-1, -2), T(1, 4))
ORDERS = ((0, 1, 2, 3, 4, 5), (3, 4, 0, 1, 5, 2, 2), (2, 2, 1, 3, 0, 4, 5, 0))
TAKEN: list = []


def taken(cls):
    TAKEN.append(cls)
    return cls


class Module(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = []


@taken
class History(Module):
    def forward(self, x):
        self.kept.append(x)
        return torch.stack(self.kept).mean(0) if x.sum() > 0 else x


@taken
class Window(Module):
    def forward(self, x):
        self.kept.append(x * 2)
        if len(self.kept) > 3:
            self.kept.pop(0)
        return sum(self.kept) if x.sum() > 0 else self.kept[0] + 1


@taken
class LastThree(Module):
    def forward(self, x):
        self.kept.append(x * 2)
        self.kept = self.kept[-3:]
        return torch.stack(self.kept).sum(0) + len(self.kept)


@taken
class Reset(Module):
    def forward(self, x):
        if x.sum() > 6:
            self.kept = []
        self.kept.append(x)
        return x * len(self.kept)


@taken
class Cleared(Module):
    def forward(self, x):
        if len(self.kept) >= 3:
            self.kept.clear()
        self.kept.append(x)
        return x * len(self.kept)


@taken
class Losses(Module):
    def forward(self, x):
        self.kept.append(x.sum().item())
        if len(self.kept) > 2 and self.kept[-1] < self.kept[-2]:
            return x * max(self.kept)
        return x + sum(self.kept) / len(self.kept)


@taken
class Pairs(Module):
    def forward(self, x):
        self.kept.append((x, x.sum().item()))
        y = x
        for t, s in self.kept:
            y = y + t * s
        return y


@taken
class Entries(Module):
    def forward(self, x):
        self.kept.append({"a": x, "n": len(self.kept)})
        y = x
        for entry in self.kept:
            y = y + entry["a"] * entry["n"]
        return y


@taken
class MadeAnew(Module):
    def forward(self, x):
        self.kept = self.kept + [x]
        return torch.cat(self.kept).sum() * x


@taken
class Stack(Module):
    def forward(self, x):
        if x.sum() > 0:
            self.kept.append(x)
        elif self.kept:
            return self.kept.pop()
        return x * 0


@taken
class CopyReturned(Module):
    def forward(self, x):
        self.kept.append(x)
        return list(self.kept) if x.sum() > 0 else self.kept[-1]


@taken
class BeginsWithSome(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept, self.numbers = [torch.zeros(2), torch.ones(2)], [1, 2]

    def forward(self, x):
        self.kept.append(x)
        self.numbers.append(len(self.numbers))
        if len(self.kept) > 4:
            self.kept.pop(0)
            self.numbers.pop(0)
        return torch.stack(self.kept).sum(0) * sum(self.numbers)


@taken
class InADict(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = {"kept": [], "n": 0}

    def forward(self, x):
        self.table["kept"].append(x)
        self.table["n"] += 1
        return self.table["kept"][0] + self.table["n"]


@taken
class OfDifferentLengths(Module):
    def forward(self, x):
        self.kept.append(x[x > 0])
        return torch.cat(self.kept).sum()


@taken
class Raising(Module):
    def forward(self, x):
        self.kept.append(x)
        if len(self.kept) == 3:
            raise ValueError("three")
        return x * len(self.kept)


@taken
class BesideATensor(Module):
    """And a tensor that is written in place."""

    def __init__(self):
        super().__init__()
        self.h = None

    def forward(self, x):
        if self.h is None:
            self.h = torch.zeros(2)
        self.h.add_(x)
        self.kept.append(self.h.clone())
        if x.sum() > 6:
            self.h = self.kept[0] * 2
        return self.kept[0] + self.kept[-1]


@taken
class EqualToTheFirst(nn.Module):
    """What is appended equals what the list begins with."""

    def __init__(self):
        super().__init__()
        self.kept = [1]

    def forward(self, x):
        self.kept.append(len(self.kept))
        return x * self.kept[-1] if x.sum() > 0 else x + len(self.kept)


@taken
class ClearedAndFilled(Module):
    """Nobody reads it."""

    def forward(self, x):
        self.kept.append(x)
        self.kept.clear()
        if x.sum() > 0:
            self.kept.append((x, 1, "up"))
        return x * 2


@taken
class ClearedInSomeCalls(Module):
    def forward(self, x):
        if x.sum() > 6:
            self.kept.clear()
        else:
            self.kept.append(x)
        return x * 2


@taken
class FilledAnew(Module):
    def forward(self, x):
        if x.sum() > 0:
            self.kept[:] = [x]
        else:
            self.kept.append(x * 2)
        return x * 2


@taken
class Deleted(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = [1, 2]

    def forward(self, x):
        del self.kept[0]
        self.kept.append(int(x[0]))
        return x * 2


@taken
class DictReturned(nn.Module):
    """The model's own dict: later calls change it."""

    def __init__(self):
        super().__init__()
        self.table = {"n": 0}

    def forward(self, x):
        self.table["n"] += 1
        if x.sum() > 0:
            self.table["last"] = x * 2
        return x * 3, self.table


@taken
class FixedListReturned(nn.Module):
    def __init__(self):
        super().__init__()
        self.counts = [0, 0]

    def forward(self, x):
        self.counts[0 if x.sum() > 0 else 1] += 1
        return self.counts


@sequences(TAKEN, ORDERS)
def test_sequences(cls, order, tmp_path):
    check_sequence(cls, CALLS, order, tmp_path)


def test_the_list_stays_the_one_it_was():
    for cls, same in ((Window, True), (Cleared, True), (LastThree, False), (Raising, True)):
        model = cls()
        program, before = dycl.compile(model, (CALLS[0],)), model.kept
        for x in CALLS:
            run(program, x)
            assert (model.kept is before) is same
        model.kept = [torch.zeros(2)]
        eager = cls()
        eager.kept = [torch.zeros(2)]
        assert differences(run(eager, CALLS[2]), run(program, CALLS[2]), "after the caller set it") == []
        model.kept = [torch.zeros(3)]
        with pytest.raises(dycl.InputError, match="another kind of list"):
            program(CALLS[0])


class Returned(Module):
    def forward(self, x):
        self.kept.append(x)
        return self.kept, len(self.kept)


class SecondName(Module):
    def __init__(self):
        super().__init__()
        self.other = self.kept

    def forward(self, x):
        self.kept.append(x * 2)
        return x * len(self.other)


class Written(Module):
    def forward(self, x):
        self.kept.append(x * 2)
        self.kept[0].add_(1)
        return self.kept[0] * 1


class WrittenBuffer(Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("buffer", torch.zeros(2))

    def forward(self, x):
        self.buffer.add_(x)
        self.kept.append(self.buffer)
        return self.kept[0] * 1


class WrittenAttribute(Module):
    def __init__(self):
        super().__init__()
        self.h = None

    def forward(self, x):
        if self.h is None:
            self.h = torch.zeros(2)
        self.h.add_(x)
        self.kept.append(self.h)
        return self.kept[0] * 1


class TakenOutAndWritten(WrittenAttribute):
    def forward(self, x):
        if self.h is None:
            self.h = torch.zeros(2)
        self.h.add_(x)
        self.kept.append(self.h.clone())
        self.h = self.kept[0] if x.sum() > 6 else self.h
        return self.kept[0] * 1


class Mixed(Module):
    def forward(self, x):
        self.kept.append(x if x.sum() > 0 else None)
        return x * len(self.kept)


@pytest.mark.parametrize("cls, match", [(Returned, "returned or has a second name"),
                                        (SecondName, "state between calls"), (Written, "written in place"),
                                        (WrittenBuffer, "written in place"), (WrittenAttribute, "written in place"),
                                        (TakenOutAndWritten, "written in place"), (Mixed, "state between calls")],
                         ids=lambda p: getattr(p, "__name__", ""))
def test_refused(cls, match):
    refused(cls, CALLS, match)
