# SPDX-License-Identifier: Apache-2.0
"""What a program returns is what eager returns: class, attributes, and what containers were made with."""

import collections
import copy
import functools
import types

import pytest
import torch

import dycl
from tests.frontend.support.harness import T, check

UP, DOWN = T(1.0, 2.0, 3.0), T(-1.0, -2.0, -3.0)


class Tagged(list):
    def __init__(self, *items):
        super().__init__(items)
        self.tag = len(items)


class Doubling(list):
    def append(self, item):
        super().append(item)
        super().append(0)


class Defaults(dict):
    def __missing__(self, key):
        return 5


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


class Mixed(Slotted):
    def __init__(self, a):
        super().__init__(a)
        self.more = a + 1


class Callable:
    def __init__(self, a):
        self.a = a

    def __call__(self):
        return self.a


class Failure(Exception):
    def __init__(self, a):
        super().__init__("m", 1)
        self.a = a


class Precise(float):
    pass


def described(value):
    """All there is to a value, as plain data."""
    if isinstance(value, torch.Tensor):
        assert type(value) is torch.Tensor, type(value)
        return ("tensor", value.tolist())
    found = [type(value).__name__]
    if isinstance(value, (list, tuple, collections.deque)):
        found.append([described(x) for x in value])
    if isinstance(value, dict):
        found.append([(k, described(x)) for k, x in value.items()])
    if isinstance(value, (str, int, float, type(None))):
        found.append(repr(value))
    if isinstance(value, BaseException):
        found.append(described(value.args))
    found += [getattr(value, name, None) for name in ("maxlen", "default_factory")]
    found += [(k, described(x)) for k, x in getattr(value, "__dict__", {}).items()]
    found += [(k, described(getattr(value, k))) for base in type(value).__mro__
              for k in getattr(base, "__slots__", ()) if hasattr(value, k)]
    return found


RETURNED = {
    "list with attributes": lambda x, n: Tagged(x, n),
    "list with its own append": lambda x, n: Doubling([x, n]),
    "dict with __missing__": lambda x, n: Defaults(a=x),
    "slots": lambda x, n: Slotted(x),
    "slots and attributes": lambda x, n: Mixed(x),
    "callable": lambda x, n: Callable(x),
    "exception": lambda x, n: ValueError("a", x),
    "exception of a class": lambda x, n: Failure(x),
    "namespace": lambda x, n: types.SimpleNamespace(a=x, b=n),
    "defaultdict": lambda x, n: collections.defaultdict(list, {"a": x}),
    "deque": lambda x, n: collections.deque([x, n], maxlen=5),
    "deque by path": lambda x, n: collections.deque([1], maxlen=2) if x[0] > 0 else collections.deque([1]),
    "float of a class": lambda x, n: Precise(2.5) if x[0] > 0 else 2.5,
}


@pytest.mark.parametrize("name", RETURNED)
def test_returned(name):
    def program(x):
        return RETURNED[name](x, x[0].item())

    compiled = dycl.compile(program, (UP,), verify=False)
    for x in (UP, DOWN):
        assert described(compiled(x)) == described(program(x))
    dycl.compile(program, (UP,))


HOLDING = {
    "function": lambda x: lambda: x,
    "default": lambda x: lambda y=x: y,
    "partial": lambda x: functools.partial(torch.add, x),
    "method": lambda x: Callable(x).__call__,
    "slice": lambda x: slice(int(x[0]), None),
    "range": lambda x: range(int(x[0])),
    "view": lambda x: {"a": x}.values(),
}


@pytest.mark.parametrize("name", HOLDING)
def test_what_would_hold_a_stand_in_is_refused(name):
    with pytest.raises(dycl.CompileError) as caught:
        dycl.compile(lambda x: HOLDING[name](x), (UP,), verify=False)
    assert caught.value.kind == "output"


def test_deepcopy_of_containers_of_the_standard_library():
    def program(x):
        first = collections.defaultdict(list, {"a": [x]})
        second = copy.deepcopy(first)
        second["b"].append(1)
        third = copy.deepcopy(collections.deque([1, [2]], maxlen=2))
        third.append(3)
        if x[0] > 0:
            first["a"][0] = x * 2
        return (first["a"][0], second["a"][0], sorted(second), list(third),
                copy.deepcopy(collections.OrderedDict(b=1, a=2)), copy.deepcopy({1, 2}))

    check(program, [UP, DOWN])


def test_deepcopy_of_a_module():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 3)

        def forward(self, x):
            twin = copy.deepcopy(self.linear)
            if x[0] > 0:
                twin.bias = None
            return twin(x), self.linear(x)

    check(Model, [UP, DOWN])


class Noting(list):
    """Every method of its own ends in that of list, once."""

    def __init__(self, *items):
        super().__init__(*items)
        self.n = 0

    def pop(self, index=-1):
        self.n += 10
        return super().pop(index)

    def extend(self, items):
        self.n += 100
        super().extend(items)

    def insert(self, index, item):
        self.n += 1000
        super().insert(index, item)

    def sort(self, **choices):
        self.n += 1
        super().sort(**choices)

    def __contains__(self, item):
        self.n += 6
        return super().__contains__(item)

    def __len__(self):
        self.n += 14
        return super().__len__()

    def __eq__(self, other):
        self.n += 16
        return super().__eq__(other)

    __hash__ = None


class Books(dict):
    def __init__(self, **entries):
        super().__init__(**entries)
        self.n = 0

    def __setitem__(self, key, value):
        self.n += 1
        super().__setitem__(key, value)

    def __getitem__(self, key):
        self.n += 10
        return super().__getitem__(key)

    def __contains__(self, key):
        self.n += 7
        return super().__contains__(key)

    def setdefault(self, key, default=None):
        self.n += 6
        return super().setdefault(key, default)

    def values(self):
        self.n += 11
        return super().values()


DONE = {
    "pop": lambda o, b: o.pop(0),
    "extend": lambda o, b: o.extend([1, 2]),
    "insert": lambda o, b: o.insert(1, 9),
    "sort": lambda o, b: o.sort(),
    "in": lambda o, b: 2 in o,
    "reversed": lambda o, b: list(reversed(o)),
    "unequal": lambda o, b: o != [1],
    "setdefault": lambda o, b: (b.setdefault("a", 3), b.setdefault("z", 4)),
    "values": lambda o, b: list(b.values()),
    "items": lambda o, b: (b["a"], "a" in b, list(b.items())),
}


@pytest.mark.parametrize("name", DONE)
def test_methods_of_subclasses_run_once(name):
    def program(x):
        o, b = Noting([3, 1, 2]), Books(a=1, b=2)
        found = DONE[name](o, b) if x[0] > 0 else None
        return found, o.n, b.n, tuple(list.__iter__(o)), tuple(dict.items(b)), x + 1

    check(program, [UP, DOWN])


class Pair(list):
    def __new__(cls, a, b):
        return list.__new__(cls)

    def __init__(self, a, b):
        list.__init__(self, [a, b])


class Named(collections.OrderedDict):
    def __new__(cls, a):
        return collections.OrderedDict.__new__(cls)

    def __init__(self, a):
        super().__init__(a=a)


class Only(set):
    def __new__(cls, a):
        return set.__new__(cls)

    def __init__(self, a):
        set.__init__(self, [a])


class Failed(Exception):
    def __new__(cls, a):
        return Exception.__new__(cls, a)

    def __init__(self, a):
        super().__init__(a)


class Label(str):
    pass


def test_classes_whose_instances_are_not_made_without_arguments(tmp_path):
    def program(x):
        if x[0] > 0:
            return Pair(x, 1), Named(x), Only(3), Failed(4)
        if x[1] < -5:
            raise Failed("low")
        return Pair(2, x), Named(1), Only(2), Failed(x)

    program_of_file = check(program, [UP, DOWN, DOWN * 3], paths=3)
    program_of_file.save(tmp_path / "p.dycl")
    loaded = dycl.load(tmp_path / "p.dycl", classes=[Pair, Named, Only, Failed])
    assert isinstance(loaded(UP)[0], Pair) and isinstance(loaded(DOWN)[1], Named)
    with pytest.raises(Failed, match="low"):
        loaded(DOWN * 3)


def test_attributes_of_texts_are_not_lost():
    def program(x):
        found = Label("a")
        found.tag = 1 if x[0] > 0 else 2
        return found

    with pytest.raises(dycl.CompileError, match="a Label with attributes"):
        dycl.compile(program, (UP,))


def positive(x):
    return x.sum() > 0


def test_equal_keys_of_different_types_in_results():
    program = dycl.compile(lambda x: {1: x} if positive(x) else {True: x}, (T(1, 2),))
    assert [*program(T(1, 2))] == [1] and type([*program(T(1, 2))][0]) is int
    assert type([*program(T(-1, -2))][0]) is bool
