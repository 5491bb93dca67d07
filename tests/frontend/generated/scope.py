# SPDX-License-Identifier: Apache-2.0
"""What a program in the making knows: the kinds of its variables, and the text so far."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

# kind -> what it is. "cond" is anything that can be asked for its truth.
KINDS = {
    "vec": "float tensor (4,)", "mat": "float tensor (3, 4)", "ivec": "int64 tensor (4,)", "mask": "bool tensor (4,)",
    "sc": "float tensor ()", "vv": "float tensor (n,)", "int": "int", "float": "float", "bool": "bool",
    "lvec": "non-empty list of vec", "lint": "non-empty list of int", "dvec": "dict with keys a, b (and perhaps c)",
    "box": "Box", "rec": "Rec", "pair": "Pair", "ovec": "vec or None", "fn": "function from vec to vec",
    "nest": "anything that is only returned", "kten": "int64 tensor ()",
}

FEATURES = {
    # feature: probability that a program may use it
    "if": 1.0, "nest": 0.7, "ternary": 0.5, "boolop": 0.5, "while": 0.45, "for": 0.6, "for_rt": 0.35, "breaks": 0.4,
    "loop_else": 0.2, "return": 0.45, "ret_diff": 0.15, "helper": 0.5, "closure": 0.3, "lambda": 0.25,
    "module": 0.5, "state": 0.35, "list": 0.5, "dict": 0.35, "box": 0.35, "rec": 0.3, "tuple": 0.3, "set": 0.15,
    "alias": 0.35, "compr": 0.35, "gen": 0.2, "inplace": 0.4, "view": 0.35, "index": 0.35, "masked": 0.25,
    "scalar": 0.6, "arith": 0.5, "try": 0.2, "with": 0.25, "raise": 0.15, "none": 0.3, "shapes": 0.25,
    "input_write": 0.15, "rt_index": 0.3, "numpy": 0.15, "match": 0.15, "tolist": 0.2, "recursion": 0.12,
    "inexact": 0.15, "container_input": 0.15, "sorting": 0.15, "walrus": 0.1, "star": 0.1, "print": 0.05,
    "int_tensor": 0.25, "builtin": 0.3, "del": 0.08, "assert": 0.12,
}


@dataclass
class Scope:
    vars: dict[str, str] = field(default_factory=dict)
    frozen: set[str] = field(default_factory=set)  # may be read, not rebound nor changed
    inputs: set[str] = field(default_factory=set)  # written only with the feature input_write
    loop: int = 0  # depth of loops that break/continue would leave
    returns: str | None = None  # kind to return early: "vec", "any", or None when forbidden
    self_name: str | None = None  # name of the module when inside a method
    static: dict[str, int] = field(default_factory=dict)

    def names(self, *kinds: str) -> list[str]:
        return [n for n, k in self.vars.items() if k in kinds]


class Writer:
    """Text, choices and blocks; statements and expressions are added by the classes that derive from it."""

    def __init__(self, seed: int):
        self.seed = seed
        self.r = random.Random(seed)
        self.has = {f for f, p in FEATURES.items() if self.r.random() < p}
        self.lines: list[str] = []
        self.depth = 0
        self.count = 0
        self.budget = self.r.choice([4, 6, 8, 8, 12, 16, 24])
        self.helpers: list[str] = []
        self.recursive = False
        self.scope = Scope()
        self.nesting = 0  # blocks around the current statement

    def emit(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def chance(self, p: float) -> bool:
        return self.r.random() < p

    def pick(self, options):
        return self.r.choice(options)

    def grid(self, low: float = -3, high: float = 3) -> str:
        """A literal on the grid."""
        value = self.r.randint(int(low * 2), int(high * 2)) / 2
        return repr(value)

    def body(self, budget: int) -> None:
        start = len(self.lines)
        while budget > 0:
            budget -= self.statement(budget)
        if len(self.lines) == start:
            self.emit("pass")

    def block(self, budget: int) -> dict[str, str]:
        """An indented body with a scope of its own; returns the variables it bound."""
        before = dict(self.scope.vars)
        self.depth += 1
        self.nesting += 1
        self.body(max(1, budget))
        self.nesting -= 1
        self.depth -= 1
        bound = dict(self.scope.vars)
        self.scope.vars = before
        return bound

    def join(self, arms: list[dict[str, str]]) -> None:
        """After all arms: keep what every arm bound with the same kind."""
        for name, kind in arms[0].items():
            if name not in self.scope.vars and all(arm.get(name) == kind for arm in arms):
                self.scope.vars[name] = kind
