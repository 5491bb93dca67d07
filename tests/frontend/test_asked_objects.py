# SPDX-License-Identifier: Apache-2.0
"""Special methods of the user's classes that native code runs: what they write must not be written while compiling alone."""

import math
import operator

import pytest

import dycl
from tests.frontend.harness import T, check, instantiate

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
