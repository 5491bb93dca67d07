# SPDX-License-Identifier: Apache-2.0
"""`match` on numbers, structures, classes and strings.

PYTEST_DONT_REWRITE (the machine reads these programs as they are written).
"""

from dataclasses import dataclass

import torch

from tests.frontend.support.harness import Cases, I, T

case = Cases()
POS, NEG, MIX = T(1.0, 2.0, 3.0, 0.5), T(-1.0, -2.0, -3.0, -0.5), T(-4.0, 1.0, 2.0, -1.5)
V = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),)]


@dataclass
class Event:
    kind: str
    strength: float


@case(*[torch.randn(3, 3, generator=torch.Generator().manual_seed(s)) for s in range(6)], paths=2)
def match_by_class_on_objects_of_a_loop(x):
    """Three of them become rows of a table."""
    found, log = "none", []
    for row in x:
        k = int(row.argmax())
        match Event(("noise", "target", "edge")[k], float(row[k])):
            case Event(kind="target", strength=s) if s > 0.2:
                found = "target"
            case Event("edge"):
                found = "edge"
        log.append(found)
    return log


@case(I(0), I(1), I(2), I(5), I(-3), paths=5)
def match_on_a_runtime_int(n):
    match n.item():
        case 0:
            return torch.zeros(2)
        case 1 | 2 as k:
            return torch.ones(2) * k
        case k if k > 3:
            return torch.full((2,), 9.0)
        case _:
            return -torch.ones(2)


@case(POS, NEG, MIX)
def match_on_structure(x):
    value = (x, 1) if x[0] > 0 else [x, 2, 3] if x[2] > 0 else {"k": x, "z": 1}
    match value:
        case (a, 1):
            return a + 1
        case [a, *rest]:
            return a, rest
        case {"k": a, **more}:
            return a, more


@case(POS, NEG)
def match_on_classes(x):
    class P:
        __match_args__ = ("a", "b")

        def __init__(self, a, b):
            self.a, self.b = a, b

    p = P(1, x) if x.sum() > 0 else P(2, x)
    match p:
        case P(1, b):
            return b * 2
        case P(a=2, b=b):
            return b - 1


@case(POS, NEG)
def match_on_strings(x):
    mode = "fast" if x.sum() > 0 else "slow"
    match mode:
        case "fast":
            return x * 2
        case "slow" | "slower":
            return x - 1


@case(*V)
def matched(x):
    match (int(x[0]), "k"):
        case (1, _):
            return "one"
        case (n, "k") if n < 0:
            return n
        case (0, k):
            return k, x
        case _:
            return [x]


test_match = case.test()
