# SPDX-License-Identifier: Apache-2.0
"""Special methods of the user's classes that native code runs:
what they write must not be written while compiling alone."""

import functools
import math
import operator

import pytest
import torch

import dycl
from tests.frontend.support.harness import T, check, instantiate

UP, DOWN = T(1.0, 2.0, 3.0), T(-1.0, -2.0, -3.0)


class Counting:
    def __init__(self):
        self.asked, self.flag = [], False

    def note(self, name):
        self.asked.append(name)
        return 1 if self.flag else 2

    def __repr__(self):
        return f"r{self.note('repr')}"

    def __format__(self, spec):
        return f"f{self.note('format')}"

    def __hash__(self):
        return self.note("hash")

    def __eq__(self, other):
        return self.note("eq") == 1

    def __index__(self):
        return self.note("index")

    def __round__(self, digits=None):
        return self.note("round")

    def __floor__(self):
        return self.note("floor")

    def __radd__(self, other):
        return self.note("radd")


ASKED = {
    "repr": repr,
    "format": lambda o: f"{o:x}",
    "percent": lambda o: "%r" % (o,),
    "in list": lambda o: str([o]),
    "dict": lambda o: {o: 1}[o],
    "set": lambda o: 2 in {o},
    "count": lambda o: [3, o].count(4),
    "tuples": lambda o: (o, 1) == (5, 1),
    "index": lambda o: [4, 5, 6][o],
    "slice": lambda o: [4, 5, 6][:o],
    "tensor index": lambda o: UP[o],
    "operator.index": operator.index,
    "round": round,
    "floor": math.floor,
    "sum": lambda o: sum([o]),
    "hex": hex,
}


@pytest.mark.parametrize("name", ASKED)
def test_what_native_code_makes_the_users_methods_write(name):
    """Taken and right in every arm, or refused: never written once, while compiling."""

    def program(x):
        made = Counting()
        if x[0] > 0:
            made.flag = True
        found = ASKED[name](made)
        return x + 1, found, made.asked

    try:
        dycl.compile(instantiate(program), (UP,))
    except dycl.CompileError as error:
        assert error.kind == "callback.writes", error
        return
    check(program, [UP, DOWN, UP])


def test_methods_that_only_compute_run_natively():
    class Key:
        def __init__(self, k):
            self.k = k

        def __hash__(self):
            return hash(self.k)

        def __eq__(self, other):
            return self.k == other.k

    def program(x):
        table = {Key(1): 10, Key(2): 20}
        return x * table[Key(1) if x[0] > 0 else Key(2)]

    check(program, [UP, DOWN])


class Kept:
    """Read by native code through its special methods, written by the model."""

    def __init__(self):
        self.k = 0

    def __index__(self):
        return self.k

    def __repr__(self):
        return f"K{self.k}"

    def __hash__(self):
        return self.k

    def __eq__(self, other):
        return self.k == other.k

    def __round__(self, digits=None):
        return self.k


READ = {
    "index": lambda o: [4, 5, 6][o],
    "tensor index": lambda o: UP[o],
    "range": lambda o: list(range(o)),
    "format": lambda o: f"{o}" == "K0",
    "round": round,
    "tuples": lambda o: (o, 1) == (Kept(), 1),
    "dict": lambda o: {o: 3}.get(Kept(), 4),
}


@pytest.mark.parametrize("name", READ)
def test_what_native_code_makes_the_users_methods_read(name):
    """An attribute that only native code reads is a state all the same:
    not the value it had when the program was compiled."""

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = Kept()

        def forward(self, x):
            found = READ[name](self.kept)
            if x[0] > 0:
                self.kept.k = 1
            return x + 1, found

    taken_or_refused(Model, ("escape",))


def taken_or_refused(model, kinds):
    try:
        dycl.compile(instantiate(model), (UP,))
    except dycl.CompileError as error:
        assert error.kind.startswith(kinds), error
        return
    check(model, [UP, DOWN, UP, DOWN])


def test_repr_of_a_module_that_tells_a_counter():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.k = 0

        def extra_repr(self):
            return f"k={self.k}"

        def forward(self, x):
            text = repr(self)
            if x[0] > 0:
                self.k = 1
            return x + 1, text

    taken_or_refused(Model, ("escape",))


def test_a_cached_property_is_computed_once():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.count = 0

        @functools.cached_property
        def counted(self):
            self.count += 1
            return 3

        def forward(self, x):
            if x[0] > 0:
                return x * self.counted, self.count
            return x, self.count

    check(Model, [DOWN, UP, DOWN, UP])


def test_a_cached_property_keeps_what_the_first_call_gave():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.flag = False

        @functools.cached_property
        def kept(self):
            return 3 if self.flag else 4

        def forward(self, x):
            self.flag = bool(x[0] > 0)
            return x * self.kept

    check(Model, [UP, DOWN, UP])
    check(Model, [DOWN, UP, DOWN])
