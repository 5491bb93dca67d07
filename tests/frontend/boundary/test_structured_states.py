# SPDX-License-Identifier: Apache-2.0
"""Attributes that hold tuples, lists, dicts and objects of tensors and numbers between calls: caches of keys and
values, hidden states."""

from collections import defaultdict, namedtuple
from dataclasses import dataclass

import torch
from torch import nn

from tests.frontend.support.harness import Cases, T

case = Cases()
CALLS = (T(1, 2), T(-3, 1), T(4, 4), T(-1, -4), T(-1, -2), T(1, 4))


class Module(nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = None


@case(*CALLS)
class Pair(Module):
    def forward(self, x):
        if self.cache is None:
            self.cache = (x, x * 2)
        else:
            k, v = self.cache
            if x.sum() > 0:
                self.cache = (k + x, v)
        return self.cache[0] + self.cache[1]


@case(*CALLS)
class KeysAndValues(Module):
    def forward(self, x):
        k, v = x[None], x[None] * 2
        if self.cache is not None:
            k, v = torch.cat([self.cache[0], k]), torch.cat([self.cache[1], v])
        self.cache = (k, v)
        if k.size(0) > 4:
            self.cache = None
        return (k * v).sum(0) if x.sum() > 0 else k.sum(0)


@case(*CALLS)
class Layers(Module):
    """A cache for each layer, in a list made anew by each call."""

    def forward(self, x):
        new, h = [], x[None]
        for i in range(2):
            k, v = h, h * 2
            if self.cache is not None:
                k, v = torch.cat([self.cache[i][0], k]), torch.cat([self.cache[i][1], v])
            new.append((k, v))
            h = h + (k * v).sum(0)
            if h.sum() < -50:
                self.cache = None
                return h
        self.cache = new
        return h


@case(*CALLS)
class Entries(Module):
    """Dicts in a list of fixed length, changed in place."""

    def __init__(self):
        super().__init__()
        self.cache = [None] * 2

    def forward(self, x):
        for i in range(2):
            if self.cache[i] is None:
                self.cache[i] = {"self": {"k": x[None]}, "n": 0}
            else:
                entry = self.cache[i]["self"]
                entry["k"] = torch.cat([entry["k"], x[None]])
                self.cache[i]["n"] += 1
            x = x + self.cache[i]["self"]["k"].sum(0) + self.cache[i]["n"]
            if x.sum() < 0:
                break
        return x


@case(*CALLS)
class Hidden(Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(2, 2)

    def forward(self, x):
        if self.cache is None:
            self.cache = (torch.zeros(1, 2), torch.zeros(1, 2))
        self.cache = self.cell(x[None], self.cache)
        if self.cache[0].sum() > 0:
            return self.cache[0]
        self.cache = None
        return x[None]


@dataclass
class Hypothesis:
    h: torch.Tensor
    score: float


@case(*CALLS)
class Object(Module):
    def forward(self, x):
        if self.cache is None:
            self.cache = Hypothesis(torch.zeros(2), 0.0)
        if x.sum() > 0:
            self.cache = Hypothesis(self.cache.h + x, self.cache.score + 1.5)
        else:
            self.cache.score = self.cache.score - x[0].item()
        return self.cache.h + self.cache.score


Step = namedtuple("Step", "h n")


@case(*CALLS)
class Named(Module):
    def forward(self, x):
        s = Step(x, 0) if self.cache is None else self.cache._replace(h=self.cache.h * 0.5 + x, n=self.cache.n + 1)
        if x.sum() > 0:
            self.cache = s
        return s.h * s.n


@case(*CALLS)
class Number(Module):
    def forward(self, x):
        before, self.cache = self.cache, x.sum().item()
        return x * 2 if before is not None and before > self.cache else x


@case(*CALLS)
class Statistics(nn.Module):
    def __init__(self):
        super().__init__()
        self.stats = defaultdict(int)

    def forward(self, x):
        self.stats["above" if x.sum() > 0 else "below"] += 1
        return x


@case(*CALLS)
class Returned(Module):
    def forward(self, x):
        self.cache = ((x, 0) if self.cache is None
                      else (self.cache[0] + x, self.cache[1] + 1) if x.sum() > 0 else self.cache)
        return self.cache


@case(*CALLS, refuse="left in two places, or returned")
class ReturnedDict(Module):
    def forward(self, x):
        if self.cache is None:
            self.cache = {"h": x}
        if x.sum() > 0:
            self.cache["h"] = self.cache["h"] + x
        return self.cache


@case(*CALLS, refuse="left in two places, or returned")
class Shared(Module):
    def __init__(self):
        super().__init__()
        self.other = None

    def forward(self, x):
        if self.cache is None:
            inner = [x, x]
            self.cache, self.other = (inner, 1), (inner, 2)
        if x.sum() > 0:
            self.cache[0][0] = x * 3
        return self.other[0][0]


@case(*CALLS)
class InPlace(Module):
    def forward(self, x):
        if self.cache is None:
            self.cache = (x.clone(), x.clone())
        if x.sum() > 0:
            self.cache[0].add_(x)
        return self.cache[0] + self.cache[1]


@case(*CALLS, refuse="replaced in some calls and changed in place in others")
class ReplacedOrWritten(Module):
    def __init__(self):
        super().__init__()
        self.cache = [torch.zeros(2), torch.zeros(2)]

    def forward(self, x):
        if x.sum() > 0:
            self.cache = [x, x * 2]
        else:
            self.cache[0] = self.cache[0] + 1
        return self.cache[0] + self.cache[1]


@case(*CALLS, refuse="replaced in some calls and changed in place in others")
class AppendedOrReset(Module):
    def __init__(self):
        super().__init__()
        self.cache = []

    def forward(self, x):
        if x.sum() > 4:
            self.cache = []
        self.cache.append(x)
        return x


@case(*CALLS, refuse="state between calls")
class Cyclic(Module):
    def forward(self, x):
        if self.cache is None:
            self.cache = Hypothesis(x, None)
            self.cache.score = self.cache
        self.cache.h = self.cache.h + x
        return self.cache.h if x.sum() > 0 else x


class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = {}


@case(*CALLS)
class EntryThatBegins(Table):
    def forward(self, x):
        if "h" not in self.table:
            self.table["h"] = torch.zeros(2)
        if x.sum() > 0:
            self.table["h"] = self.table["h"] + x
        return self.table["h"]


@case(*CALLS)
class EntriesOfLayers(Table):
    def forward(self, x):
        for name in ("a", "b"):
            if name in self.table:
                k, n = self.table[name]
                self.table[name] = (torch.cat([k, x[None]]), n + 1)
            else:
                self.table[name] = (x[None], 0)
            x = x + self.table[name][0].sum(0) * self.table[name][1]
            if x.sum() < 0:
                break
        return x


@case(*CALLS[1:])
class EntryAskedFor(Table):
    def forward(self, x):
        if x.sum() > 0:
            self.table["h"] = x
        return x * 2 if "h" in self.table else x


@case(*CALLS)
class EntriesCounted(Table):
    def forward(self, x):
        if x.sum() > 0:
            self.table["h"] = x
        return x + len(self.table)


@case(*CALLS)
class History(Table):
    def __init__(self):
        super().__init__()
        self.history = []

    def forward(self, x):
        self.history.append(x)
        return torch.stack(self.history).mean(0) if x.sum() > 0 else x


# What paths change in an object that an attribute got before they parted.


@case(*CALLS)
class ListInAttribute(Module):
    def forward(self, x):
        self.cache = [x]
        if x.sum() > 0:
            self.cache[0] = x * 2
        return x + 1


@case(*CALLS)
class NumberInAttribute(Module):
    def forward(self, x):
        self.cache = ([0],)
        if x.sum() > 0:
            self.cache[0][0] = 1
        return x + 1


@case(*CALLS)
class TensorInAttribute(Module):
    def forward(self, x):
        self.cache = x * 1
        if x.sum() > 0:
            self.cache.add_(1)
        return x + 1


@case(*CALLS)
class ObjectInAttribute(Module):
    def keep(self, x):
        self.cache = Hypothesis(x, 0)
        if x.sum() > 0:
            self.cache.score = 1

    def forward(self, x):
        self.keep(x)
        return x if x.sum() > 2 else -x


test_programs = case.test()


def test_the_caller_may_set_the_state():
    model = Hidden().eval()
    eager = Hidden().eval()
    eager.load_state_dict(model.state_dict())
    import dycl

    program = dycl.compile(model, (CALLS[0],))
    with torch.no_grad():
        for k, x in enumerate(CALLS):
            if k == 2:
                model.cache = eager.cache = None
            if k == 4:
                model.cache, eager.cache = ((torch.ones(1, 2), torch.ones(1, 2) * 3) for _ in range(2))
            torch.testing.assert_close(program(x), eager(x))
            assert (model.cache is None) == (eager.cache is None)
    model.cache = (torch.zeros(3),)
    try:
        program(CALLS[0])
    except dycl.InputError as error:
        assert "cache" in str(error)
    else:
        raise AssertionError("a state of another structure was taken")


def test_a_package_keeps_its_states(tmp_path):
    import dycl

    program = dycl.compile(KeysAndValues().eval(), (CALLS[0],))
    program.save(tmp_path / "p.dycl")
    loaded, eager = dycl.load(tmp_path / "p.dycl"), KeysAndValues().eval()
    for x in CALLS:
        torch.testing.assert_close(loaded(x), eager(x))
