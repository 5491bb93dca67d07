# SPDX-License-Identifier: Apache-2.0
"""PYTEST_DONT_REWRITE. States between calls in lists and dicts of the model, and in global variables."""

import collections
import copy

import pytest
import torch
from torch import nn

import dycl
from tests.frontend.support.compare import differences
from tests.frontend.support.harness import T, check

V = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),), (T(-4, -5, -6),), (T(2.5, -0.5, 1.5),)]


class Counters(nn.Module):
    """How often each exit was taken: what published early-exit models keep."""

    def __init__(self):
        super().__init__()
        self.counts, self.stats = [0] * 3, {"arms": [0, 0], "calls": 0}

    def forward(self, x):
        k = int((x > 0).sum())
        self.counts[k] += 1
        self.stats["calls"] += 1
        self.stats["arms"][0 if x.sum() > 0 else 1] += 1
        return x * self.counts[k]


class HiddenStates(nn.Module):
    """A list of hidden states, None at first."""

    def __init__(self):
        super().__init__()
        self.hidden = [None] * 2
        self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(2))

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if self.hidden[i] is None:
                self.hidden[i] = torch.zeros(2)
            if x.sum() > 0:
                self.hidden[i] = self.hidden[i] * 0.5 + x
            x = x + self.hidden[i]
        return x


class Swapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.pair = [torch.zeros(2), torch.ones(2)]

    def forward(self, x):
        self.pair[0], self.pair[1] = self.pair[1] * 0.5, x + self.pair[0]
        if self.pair[0].sum() > 1:
            self.pair.reverse()
        return self.pair[0]


class Window(nn.Module):
    def __init__(self):
        super().__init__()
        self.window = [1.0, 2.0, 3.0]

    def forward(self, x):
        self.window.pop(0)
        self.window.append(float(x.sum()))
        return x * sum(self.window)


class Best(nn.Module):
    def __init__(self):
        super().__init__()
        self.best, self.call = [-1e9, 0], 0

    def forward(self, x):
        self.call += 1
        if x.sum().item() > self.best[0]:
            self.best[:] = [x.sum().item(), self.call]
        return x, self.best[1]


class NewEntry(nn.Module):
    def __init__(self):
        super().__init__()
        self.notes = {"calls": 0}

    def forward(self, x):
        self.notes["calls"] += 1
        if x.sum() > 0:
            self.notes["last"] = x * self.notes["calls"]
        return x


def attributes(model):
    return {k: v for k, v in vars(model).items() if isinstance(v, (list, dict)) and not k.startswith("_")}


@pytest.mark.parametrize("kind", [Counters, HiddenStates, Swapped, Window, Best, NewEntry], ids=lambda c: c.__name__)
def test_states_in_containers(kind):
    torch.manual_seed(0)
    model = kind().eval()
    eager = copy.deepcopy(model)
    with torch.no_grad():
        program = dycl.compile(model, (torch.ones(2),))
        for _ in range(10):
            x = torch.randn(2)
            assert differences(eager(x), program(x)) == []
            assert differences(attributes(eager), attributes(model)) == []


def test_a_saved_program_keeps_them(tmp_path):
    torch.manual_seed(1)
    model = Counters()
    eager = copy.deepcopy(model)
    dycl.compile(model, (torch.ones(2),)).save(tmp_path / "m.dycl")
    program = dycl.load(tmp_path / "m.dycl")
    for _ in range(6):
        x = torch.randn(2)
        assert torch.equal(program(x), eager(x))


def test_a_container_that_was_replaced_is_noticed():
    model = Counters()
    program = dycl.compile(model, (torch.ones(2),))
    model.counts = [0] * 3
    with pytest.raises(dycl.InputError, match="Counters.counts is another list"):
        program(torch.ones(2))


def test_others_entries_of_a_dict_stay():
    model = NewEntry()
    program = dycl.compile(model, (torch.ones(2),))
    model.notes["of another"] = 7
    program(torch.ones(2))
    assert (model.notes["of another"] == 7 and model.notes["calls"] == 1
            and torch.equal(model.notes["last"], torch.ones(2)))


def count_positive(x):
    global positive
    positive = 0
    for v in x:
        if v > 0:
            positive += 1
    return x * positive


def test_a_global_variable_that_is_not_there_at_first():
    globals().pop("positive", None)
    program = dycl.compile(count_positive, (torch.ones(3),))
    globals()["made_since"] = 1
    assert torch.equal(program(torch.tensor([1.0, -1.0, 2.0])), torch.tensor([2.0, -2.0, 4.0]))
    assert positive == 2 and globals().pop("made_since") == 1


class Cleared(nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = {}

    def forward(self, x):
        self.cache.clear()
        self.cache["x"] = x
        return x


def test_a_dict_that_is_cleared():
    model = Cleared()
    program = dycl.compile(model, (torch.ones(2),))
    program(torch.ones(2))
    assert list(model.cache) == ["x"]
    model.cache["old"] = 1
    with pytest.raises(dycl.InputError, match="has another value than while compiling"):
        program(torch.ones(2))


def _remembering(initial, body):
    class Remembering(nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = initial()

        def forward(self, x):
            result = body(self.kept, x)
            return x * 2 + result if x.sum() > 0 else x - result

    return Remembering


def _then(result, change):
    change()
    return result


READS = {
    "truth of a dict": (dict, lambda c, x: _then(0 if c else 1, lambda: c.update(k=1))),
    "sum": (lambda: [0], lambda c, x: _then(sum(c), lambda: c.append(1))),
    "concatenation": (lambda: [0], lambda c, x: _then(len(c + [1]), lambda: c.append(1))),
    "pop": (lambda: list(range(9)), lambda c, x: c.pop()),
    "insert": (list, lambda c, x: _then(1, lambda: c.insert(0, 1))),
    "an iterator": (lambda: iter([1, 2, 3, 4]), lambda c, x: next(c)),
    "order of a dict": (lambda: {"a": 1, "b": 2}, lambda c, x: c.setdefault("a", c.pop("a"))),
    "order of an OrderedDict": (lambda: collections.OrderedDict(a=1, b=2),
                                lambda c, x: _then(1, lambda: c.move_to_end("a" if x[0] > 0 else "b"))),
}


@pytest.mark.parametrize("name", READS)
def test_containers_read_and_changed(name):
    if type(READS[name][0]()) in (list, dict):
        check(_remembering(*READS[name]), V + V)
        return
    with pytest.raises(dycl.CompileError) as caught:
        dycl.compile(_remembering(*READS[name])().eval(), V[0])
    assert caught.value.kind in ("state.type", "iterator")


def test_an_element_of_a_list_compared_and_changed():
    check(_remembering(lambda: [0], lambda c, x: _then(1 if c == [0] else 2,
                                                       lambda: c.__setitem__(0, 5 if x[0] > 0 else 0))), V)


def test_containers_that_are_only_added_to():
    check(_remembering(list, lambda c, x: _then(1, lambda: c.append(x) if x[0] > 0 else c.extend([x, 1]))), V)
