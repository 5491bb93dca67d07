# SPDX-License-Identifier: Apache-2.0
"""`copy.deepcopy` of objects that say how they are copied."""

import copy

from tests.frontend.support.harness import Cases, T

case = Cases()
V = [(T(1.0, 2.0, 3.0),), (T(-1.0, 2.0, -3.0),), (T(0.0, 0.0, 0.0),), (T(5.0, -7.0, 2.0),), (T(-4.0, 9.0, 0.5),)]


class Linked:
    def __init__(self, x):
        self.x = self.y = [x]
        self.me = self

    def __deepcopy__(self, memo):
        made = Linked.__new__(Linked)
        memo[id(self)] = made
        made.x, made.y, made.me = copy.deepcopy(self.x, memo), copy.deepcopy(self.y, memo), copy.deepcopy(self.me, memo)
        return made


@case(*V)
def copies_that_hand_on_their_memo(x):
    a = Linked(x)
    b = copy.deepcopy(a)
    if x[0] > 0:
        b.x.append(1)
    return b.x, b.y, b.x is b.y, b.me is b, a.x


class Partly:
    def __init__(self, x):
        self.x, self.other = x, x * 2

    def __getstate__(self):
        return {"x": self.x}


@case(*V, refuse="copy.deepcopy of a Partly")
def copies_of_a_part(x):
    made = copy.deepcopy(Partly(x))
    return hasattr(made, "other"), made.x + 1 if x[0] > 0 else made.x


@case(*V)
def copies_of_lists_of_run_time_length(x):
    """As beam searches copy their hypotheses."""
    beams = [{"tokens": [0], "score": 0.0}]
    for v in x:
        longer = []
        for beam in beams:
            other = copy.deepcopy(beam)
            if v > 0:
                other["tokens"].append(1)
                other["score"] += v.item()
            longer.append(other)
        beams = sorted(beams + longer, key=lambda beam: -beam["score"])[:2]
    return beams[0]["tokens"], copy.copy(beams[0]["tokens"]), beams[0]["score"]


test_copies = case.test()
