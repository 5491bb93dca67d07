# SPDX-License-Identifier: Apache-2.0
"""Writes random Python programs that terminate and, on almost all inputs, run without error.

A program is source text with `make()`, which builds a function or an nn.Module, and `SIGNATURE`, the
kinds of its inputs. Programs are typed while they are generated: a scope maps variable names to kinds
(see KINDS), and every expression asked for by kind uses variables of the right kind only. Variables
bound in one arm are forgotten at the join unless every arm bound them.

Values stay on a grid of small dyadic numbers (inputs are multiples of 0.5, products are clamped), so
that float32 arithmetic is exact whatever the order of summation and decisions can't flip by rounding.
Loops end because a counter that nothing else may write bounds them.

Each seed first draws which features it may use (swarm testing): programs that use everything would
nearly all be refused for the least supported construct, and bugs hide between few features anyway.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

PRELUDE = '''\
import collections
import contextlib
import dataclasses
import math
from typing import NamedTuple, Optional

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


class Box:
    def __init__(self, t, n=0):
        self.t = t
        self.n = n
        self.items = []

    def bump(self, k=1):
        self.n += k
        return self

    def scaled(self, s):
        return self.t * s

    @property
    def total(self):
        return self.t.sum()


@dataclasses.dataclass
class Rec:
    x: torch.Tensor
    k: int = 0
    opt: Optional[torch.Tensor] = None


class Pair(NamedTuple):
    a: torch.Tensor
    b: int


class Guard:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append(1)
        return self

    def __exit__(self, kind, value, trace):
        self.log.append(2)
        return False


class Stop(Exception):
    pass


@contextlib.contextmanager
def scoped(log):
    log.append(3)
    try:
        yield len(log)
    finally:
        log.append(4)


def evens(ts, limit):
    for i, t in enumerate(ts):
        if t.sum() > limit:
            yield t
        elif i % 2 == 0:
            yield t * 2


def countdown(n):
    while n > 0:
        yield n
        n -= 1
    return


'''

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


class Generator:
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

    # ---------------------------------------------------------------- text
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

    def program(self) -> str:
        out = [PRELUDE]
        if "helper" in self.has:
            for _ in range(self.r.randint(1, 2)):
                self.helper()
        if "recursion" in self.has:
            self.recursion()
        if "module" in self.has:
            self.module()
        else:
            self.function()
        out.append("\n".join(self.lines))
        return "".join(out) + "\n"

    # ---------------------------------------------------------------- program forms
    def signature(self) -> list[tuple[str, str]]:
        kinds = ["vec"] + [k for k in ("vec", "mat", "k") if self.chance(0.5)]
        if "container_input" in self.has:
            kinds.append(self.pick(["lvec", "dvec"]))
        return [(f"{'xymkd'[i] if i < 5 else 'z'}{'' if i < 5 else i}", kind) for i, kind in enumerate(kinds)]

    def enter_body(self, params: list[tuple[str, str]]) -> None:
        for name, kind in params:
            self.scope.inputs.add(name)
            self.scope.vars[name] = {"k": "kten"}.get(kind, kind)
        for name, kind in params:
            if kind == "k":
                self.emit(f"n0 = {self.pick(['int({0})', '{0}.item()', 'int({0}.item())']).format(name)}")
                self.scope.vars["n0"] = "int"
        if "input_write" not in self.has:
            # written tensors are fresh ones, so that in-place ops stay common
            self.emit(f"w = {params[0][0]}.clone()")
            self.scope.vars["w"] = "vec"

    def function(self) -> None:
        params = self.signature()
        self.scope = Scope(returns="any")
        self.emit(f"def f({', '.join(n for n, _ in params)}):")
        self.depth += 1
        self.enter_body(params)
        self.body(self.budget // 2)
        self.s_if(self.budget // 2)  # at least one, and not first
        self.body(self.budget // 4)
        self.emit(f"return {self.result()}")
        self.depth -= 1
        self.emit("")
        self.emit("")
        self.emit("def make():")
        self.emit("    return f")
        self.emit("")
        self.emit("")
        self.emit(f"SIGNATURE = {params!r}")

    def module(self) -> None:
        params = self.signature()
        linear = "inexact" in self.has
        self.emit("class Sub(nn.Module):")
        self.depth += 1
        self.emit("def __init__(self, s):")
        self.emit("    super().__init__()")
        self.emit("    self.s = nn.Parameter(torch.full((4,), s))")
        self.emit("    self.hits = 0")
        self.emit("")
        self.emit("def forward(self, t, scale=1.0):")
        self.depth += 1
        if self.chance(0.5):
            self.emit(f"if t.sum() > {self.grid()}:")
            if "state" in self.has:
                self.emit("    self.hits += 1")
            self.emit(f"    return (t * self.s).clamp(-8, 8) * {self.pick(['scale', '0.5', '1'])}")
        self.emit(f"return t + self.s{self.pick(['', ' * scale'])}")
        self.depth -= 2
        self.emit("")
        self.emit("")
        self.emit("class Net(nn.Module):")
        self.depth += 1
        self.emit("def __init__(self):")
        self.depth += 1
        self.emit("super().__init__()")
        self.emit("self.subs = nn.ModuleList([Sub(0.5), Sub(1.0), Sub(-0.5)])")
        self.emit("self.one = Sub(1.5)")
        self.emit("self.seq = nn.Sequential(Sub(0.5), nn.ReLU(), Sub(1.0))")
        if linear:
            self.emit("self.lin = nn.Linear(4, 4)")
        self.emit("self.register_buffer('buf', torch.zeros(4))")
        self.emit("self.w = nn.Parameter(torch.tensor([1.0, -0.5, 0.5, 2.0]))")
        self.emit("self.steps = 0")
        self.emit("self.last = None")
        self.emit("self.log = []")
        self.emit(f"self.limit = {self.grid()}")
        self.depth -= 1
        self.emit("")
        if self.chance(0.5):
            self.emit("def gate(self, t, limit=0.5, *, strict=False):")
            self.depth += 1
            self.scope = Scope(returns="vec", self_name="self")
            self.scope.vars.update({"t": "vec", "limit": "float"})
            self.scope.inputs.add("t")
            self.body(max(1, self.budget // 4))
            self.emit(f"return {self.vec(2)}")
            self.depth -= 1
            self.emit("")
            self.helpers.append("gate")
        self.scope = Scope(returns="any", self_name="self")
        self.emit(f"def forward(self, {', '.join(n for n, _ in params)}):")
        self.depth += 1
        self.enter_body(params)
        self.body(self.budget // 2)
        self.s_if(self.budget // 2)  # at least one, and not first
        self.body(self.budget // 4)
        self.emit(f"return {self.result()}")
        self.depth -= 2
        self.emit("")
        self.emit("")
        self.emit("def make():")
        self.emit("    torch.manual_seed(0)")
        self.emit("    return Net().eval()")
        self.emit("")
        self.emit("")
        self.emit(f"SIGNATURE = {params!r}")

    def helper(self) -> None:
        name = self.fresh("h")
        self.scope = Scope(returns="vec")
        self.scope.vars.update({"t": "vec", "k": "int", "s": "float"})
        self.scope.inputs.add("t")
        self.emit(f"def {name}(t, k=1, s={self.grid()}):")
        self.depth += 1
        self.body(max(1, self.budget // 4))
        self.emit(f"return {self.vec(2)}")
        self.depth -= 1
        self.emit("")
        self.emit("")
        self.helpers.append(name)

    def recursion(self) -> None:
        self.recursive = True
        self.emit("def rec(t, n):")
        self.emit(f"    if n <= 0 or t.sum() > {self.grid(0, 6)}:")
        self.emit("        return t")
        self.emit(f"    return rec((t {self.pick(['+ 1', '* 2', '- 0.5'])}).clamp(-8, 8), n - 1)")
        self.emit("")
        self.emit("")

    # ---------------------------------------------------------------- blocks
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

    # name -> (weight, features that enable it)
    STATEMENTS = {
        "s_assign": (5, None), "s_rebind": (5, None), "s_if": (8, "if"), "s_while": (3, "while"), "s_for": (3, "for"),
        "s_for_rt": (3, "for_rt"), "s_leave": (2, "breaks"), "s_return": (3, "return"), "s_list": (4, "list"),
        "s_dict": (3, "dict"), "s_box": (3, "box"), "s_rec": (3, "rec"), "s_tuple": (2, "tuple"), "s_set": (2, "set"),
        "s_alias": (3, "alias"), "s_compr": (3, "compr"), "s_gen": (3, "gen"), "s_inplace": (4, "inplace"),
        "s_view": (4, "view"), "s_index": (4, "index"), "s_masked": (3, "masked"), "s_scalar": (4, "scalar"),
        "s_try": (3, "try"), "s_with": (3, "with"), "s_raise": (2, "raise"), "s_optional": (4, "none"),
        "s_shapes": (4, "shapes"), "s_state": (4, "state"), "s_closure": (3, "closure"), "s_lambda": (3, "lambda"),
        "s_rt_index": (3, "rt_index"), "s_numpy": (3, "numpy"), "s_match": (3, "match"), "s_tolist": (3, "tolist"),
        "s_sorting": (3, "sorting"), "s_walrus": (3, "walrus"), "s_star": (2, "star"), "s_print": (1, "print"),
        "s_int_tensor": (3, "int_tensor"), "s_builtin": (3, "builtin"), "s_del": (1, "del"), "s_assert": (1, "assert"),
        "s_call": (4, "helper"), "s_submodule": (3, "module"),
    }

    def statement(self, budget: int) -> int:
        names = [n for n, (_, f) in self.STATEMENTS.items() if f is None or f in self.has]
        weights = [self.STATEMENTS[n][0] for n in names]
        before = len(self.lines)
        if self.nesting and self.chance(0.35):
            self.s_rebind(budget)  # what an arm does should be seen outside
        else:
            getattr(self, self.r.choices(names, weights)[0])(budget)
        return max(1, sum(1 for line in self.lines[before:] if not line.strip().startswith(("else", "def"))))

    # ---------------------------------------------------------------- statements
    def s_assign(self, budget: int) -> None:
        kind = self.pick(["vec", "vec", "vec", "mat", "sc", "mask", "int", "float", "bool"])
        if kind == "mat" and not self.scope.names("mat"):
            kind = "vec"
        if kind in ("int", "float", "bool") and "scalar" not in self.has:
            kind = "vec"
        name = self.fresh({"vec": "t", "mat": "g", "sc": "s", "mask": "q", "int": "i", "float": "r", "bool": "b"}[kind])
        self.emit(f"{name} = {self.expr(kind, 2)}")
        self.scope.vars[name] = kind

    def s_rebind(self, budget: int) -> None:
        names = [n for n in self.scope.names("vec", "int", "float", "bool", "sc", "mat") if self.may_rebind(n)]
        if not names:
            return self.s_assign(budget)
        name = self.pick(names)
        kind = self.scope.vars[name]
        if kind == "vec" and self.chance(0.3):
            self.emit(f"{name} = ({name} {self.pick('+-*')} {self.vec(1)}).clamp(-8, 8)")
        elif kind == "int" and self.chance(0.4):
            self.emit(f"{name} {self.pick(['+=', '-='])} {self.r.randint(1, 3)}")
        elif kind == "float" and self.chance(0.3):
            self.emit(f"{name} = ({name} {self.pick('+-*')} {self.grid()}) % 8.0")
        else:
            self.emit(f"{name} = {self.expr(kind, 2)}")

    def may_rebind(self, name: str) -> bool:
        return name not in self.scope.frozen

    def s_if(self, budget: int) -> None:
        share = max(1, (budget - 1) // 2)
        self.emit(f"if {self.cond(2)}:")
        arms = [self.block(share)]
        while self.chance(0.25):
            self.emit(f"elif {self.cond(1)}:")
            arms.append(self.block(max(1, share // 2)))
        if self.chance(0.6):
            self.emit("else:")
            arms.append(self.block(share))
            self.join(arms)

    def s_while(self, budget: int) -> None:
        if self.scope.loop >= 2:
            return self.s_rebind(budget)
        counter = self.fresh("c")
        limit = self.r.randint(2, 5)
        self.emit(f"{counter} = 0")
        self.scope.vars[counter] = "int"
        style = self.r.random()
        if style < 0.6:
            self.emit(f"while {counter} < {limit} and {self.cond(1)}:")
        elif style < 0.8:
            vecs = [n for n in self.scope.names("vec") if self.may_rebind(n)]
            if vecs:
                name = self.pick(vecs)
                self.emit(f"while {name}.sum() < {self.grid(1, 6)} and {counter} < {limit}:")
                self.depth += 1
                self.emit(f"{name} = {name} + {self.pick(['0.5', '1', '1.5'])}")
                self.depth -= 1
            else:
                self.emit(f"while {counter} < {limit} and {self.cond(1)}:")
        else:
            self.emit("while True:")
            self.emit(f"    if {counter} >= {limit} or {self.cond(1)}:")
            self.emit("        break")
        self.scope.frozen.add(counter)
        self.scope.loop += 1
        self.emit(f"    {counter} += 1")
        self.block((budget - 2) // 2)
        self.scope.loop -= 1
        self.loop_else(budget)

    def loop_else(self, budget: int) -> None:
        if "loop_else" in self.has and self.chance(0.5):
            self.emit("else:")
            self.block(max(1, budget // 4))

    def s_for(self, budget: int) -> None:
        if self.scope.loop >= 2:
            return self.s_rebind(budget)
        index = self.fresh("j")
        bound: dict[str, str] = {}
        lists = self.scope.names("lvec")
        mats = self.scope.names("mat")
        choice = self.r.random()
        frozen = set(self.scope.frozen)
        if choice < 0.4 or not (lists or mats):
            text = self.pick([f"range({self.r.randint(1, 4)})", f"range({self.r.randint(1, 3)}, 5)", "range(4, 0, -2)",
                              "(2, 0, 1)", "reversed(range(3))"])
            self.emit(f"for {index} in {text}:")
            bound[index] = "int"
        elif choice < 0.8 and lists:
            name = self.pick(lists)
            item = self.fresh("e")
            form = self.pick(["plain", "enumerate", "zip", "reversed", "slice"])
            self.scope.frozen.add(name)
            if form == "plain":
                self.emit(f"for {item} in {name}:")
            elif form == "enumerate":
                self.emit(f"for {index}, {item} in enumerate({name}{self.pick(['', ', 1'])}):")
                bound[index] = "int"
            elif form == "zip":
                self.emit(f"for {index}, {item} in zip(range(9), {name}):")
                bound[index] = "int"
            elif form == "reversed":
                self.emit(f"for {item} in reversed({name}):")
            else:
                self.emit(f"for {item} in {name}[:2]:")
            bound[item] = "vec"
        elif mats:
            item = self.fresh("e")
            self.emit(f"for {item} in {self.pick(mats)}:")
            bound[item] = "vec"
        else:
            self.emit(f"for {index} in range(2):")
            bound[index] = "int"
        self.scope.frozen |= {index}
        self.scope.loop += 1
        before = dict(self.scope.vars)
        self.scope.vars.update(bound)
        self.block((budget - 1) // 2)
        self.scope.vars = before
        self.scope.loop -= 1
        self.scope.frozen = frozen
        self.loop_else(budget)

    def s_for_rt(self, budget: int) -> None:
        if self.scope.loop >= 1:
            return self.s_rebind(budget)
        index = self.fresh("j")
        bound = self.pick([f"{self.int_(1)} % 4", f"min({self.int_(1)}, 3)", f"int({self.mask(1)}.sum())"])
        self.emit(f"for {index} in range({bound}):")
        self.scope.loop += 1
        before = dict(self.scope.vars)
        self.scope.vars[index] = "int"
        self.scope.frozen.add(index)
        self.block((budget - 1) // 2)
        self.scope.vars = before
        self.scope.loop -= 1
        self.loop_else(budget)

    def s_leave(self, budget: int) -> None:
        if not self.scope.loop:
            return self.s_if(budget) if "if" in self.has else self.s_assign(budget)
        self.emit(f"if {self.cond(1)}:")
        if self.chance(0.3):
            self.block(1)
        self.emit(f"    {self.pick(['break', 'continue'])}")

    def s_return(self, budget: int) -> None:
        if self.scope.returns is None:
            return self.s_rebind(budget)
        self.emit(f"if {self.cond(2)}:")
        if self.chance(0.3):
            self.block(1)
        value = self.vec(1) if self.scope.returns == "vec" else self.result(early=True)
        self.emit(f"    return {value}")

    def s_list(self, budget: int) -> None:
        names = [n for n in self.scope.names("lvec") if self.may_rebind(n)]
        if not names or self.chance(0.2):
            name = self.fresh("l")
            items = ", ".join(self.vec(1) for _ in range(self.r.randint(1, 3)))
            self.emit(f"{name} = [{items}]")
            self.scope.vars[name] = "lvec"
            return
        name = self.pick(names)
        in_arm = self.chance(0.5)
        pre = ""
        if in_arm:
            self.emit(f"if {self.cond(1)}:")
            pre = "    "
        self.emit(pre + self.pick([
            f"{name}.append({self.vec(1)})", f"{name}[0] = {self.vec(1)}", f"{name}[-1] = {name}[-1] + {self.vec(0)}",
            f"{name}.insert(0, {self.vec(1)})", f"{name} = {name} + [{self.vec(1)}]", f"{name}.extend([{self.vec(0)}])",
            f"{name}.reverse()", f"{name} = {name}[:] ", f"{name} = [{self.vec(0)}, *{name}[:1]]",
            f"{name}.pop() if len({name}) > 1 else None", f"{name} += [{self.vec(0)}]",
        ]).rstrip())

    def s_dict(self, budget: int) -> None:
        names = [n for n in self.scope.names("dvec") if self.may_rebind(n)]
        if not names or self.chance(0.2):
            name = self.fresh("d")
            self.emit(f"{name} = " + self.pick(["{{'a': {0}, 'b': {1}}}", "dict(a={0}, b={1})"])
                      .format(self.vec(1), self.vec(1)))
            self.scope.vars[name] = "dvec"
            return
        name = self.pick(names)
        pre = ""
        if self.chance(0.5):
            self.emit(f"if {self.cond(1)}:")
            pre = "    "
        out = self.fresh("t")
        text = self.pick([
            f"{name}['a'] = {self.vec(1)}", f"{name}['b'] = {name}['a']", f"{name}['c'] = {self.vec(1)}",
            f"{name}.setdefault('c', {self.vec(0)})", f"{name}.update(b={self.vec(0)})", f"{name}.pop('c', None)",
            f"{name}['a'] = {name}['a'] + {name}.get('c', {name}['b'])",
            f"{name} = {{k: v + 1 for k, v in {name}.items()}}", f"{out} = sum({name}.values())",
            f"{out} = {name}.get('c')",
        ])
        self.emit(pre + text)
        if text.startswith(f"{out} = sum") and not pre:
            self.scope.vars[out] = "vec"

    def s_box(self, budget: int) -> None:
        names = [n for n in self.scope.names("box") if self.may_rebind(n)]
        if not names or self.chance(0.15):
            name = self.fresh("o")
            self.emit(f"{name} = Box({self.vec(1)}{self.pick(['', ', 2', f', n={self.int_(0)}'])})")
            self.scope.vars[name] = "box"
            return
        name = self.pick(names)
        pre = ""
        if self.chance(0.5):
            self.emit(f"if {self.cond(1)}:")
            pre = "    "
        self.emit(pre + self.pick([
            f"{name}.t = {self.vec(1)}", f"{name}.n += 1", f"{name}.bump(2)", f"{name}.items.append({self.vec(0)})",
            f"{name}.t = {name}.scaled({self.grid()}).clamp(-8, 8)", f"{name}.bump().bump(k={self.int_(0)} % 3)",
            f"setattr({name}, 'n', {self.int_(1)})", f"{name}.extra = {self.vec(0)}",
            f"{name} = Box({name}.t + 1, {name}.n)",
        ]))

    def s_rec(self, budget: int) -> None:
        names = [n for n in self.scope.names("rec") if self.may_rebind(n)]
        if not names or self.chance(0.15):
            name = self.fresh("z")
            self.emit(f"{name} = Rec({self.vec(1)}{self.pick(['', f', k={self.int_(0)}', f', 3, {self.vec(0)}'])})")
            self.scope.vars[name] = "rec"
            return
        name = self.pick(names)
        pre = ""
        if self.chance(0.5):
            self.emit(f"if {self.cond(1)}:")
            pre = "    "
        self.emit(pre + self.pick([
            f"{name}.x = {self.vec(1)}", f"{name}.k += 2", f"{name}.opt = {self.vec(0)}", f"{name}.opt = None",
            f"{name} = dataclasses.replace({name}, x={self.vec(0)})", f"{name}.x = {name}.x * 0.5",
        ]))

    def s_tuple(self, budget: int) -> None:
        form = self.r.random()
        a, b = self.fresh("t"), self.fresh("i")
        if form < 0.3:
            self.emit(f"{a}, {b} = {self.vec(1)}, {self.int_(1)}")
        elif form < 0.5:
            self.emit(f"({a}, {b}) = ({self.vec(0)}, {self.int_(0)}) if {self.cond(1)} else ({self.vec(1)}, 7)")
        elif form < 0.8:
            name = self.fresh("p")
            self.emit(f"{name} = Pair({self.vec(1)}, {self.int_(1)})")
            self.emit(f"{a}, {b} = {name}.a, {name}.b")
            self.scope.vars[name] = "pair"
        else:
            vecs = [n for n in self.scope.names("vec") if self.may_rebind(n)]
            if len(vecs) >= 2:
                x, y = self.r.sample(vecs, 2)
                self.emit(f"if {self.cond(1)}:")
                self.emit(f"    {x}, {y} = {y}, {x}")
                return
            self.emit(f"{a}, {b} = ({self.vec(0)}, 1)")
        self.scope.vars[a] = "vec"
        self.scope.vars[b] = "int"

    def s_set(self, budget: int) -> None:
        name, out = self.fresh("u"), self.fresh("i")
        self.emit(f"{name} = {{1, 2}}")
        self.emit(f"if {self.cond(1)}:")
        self.emit(f"    {name}.{self.pick(['add(5)', 'discard(1)', 'update((7, 8))'])}")
        self.emit(f"{out} = {self.pick([f'len({name})', f'int(5 in {name})', f'sum({name})'])}")
        self.scope.vars[out] = "int"

    def s_alias(self, budget: int) -> None:
        """Two names for one object in one arm only; then a change through one of them."""
        form = self.pick(["list", "tensor", "box", "tensor_arm", "list_arm"])
        a, b = self.fresh("l"), self.fresh("l")
        if form == "list":
            self.emit(f"{a} = [{self.vec(1)}]")
            self.emit(f"{b} = {a} if {self.cond(1)} else [{self.vec(0)}]")
            self.emit(f"{a}.append({self.vec(0)})")
            self.scope.vars.update({a: "lvec", b: "lvec"})
        elif form == "list_arm":
            self.emit(f"{a} = [{self.vec(1)}]")
            self.emit(f"{b} = {a}")
            self.emit(f"if {self.cond(1)}:")
            self.emit(f"    {b} = list({a})")
            self.emit(f"{b}[0] = {self.vec(1)}")
            self.scope.vars.update({a: "lvec", b: "lvec"})
        elif form == "box":
            self.emit(f"{a} = Box({self.vec(1)})")
            self.emit(f"{b} = {a}")
            self.emit(f"if {self.cond(1)}:")
            self.emit(f"    {b} = Box({self.vec(1)}, 3)")
            self.emit(f"{b}.n += 1")
            self.scope.vars.update({a: "box", b: "box"})
        elif form == "tensor":
            self.emit(f"{a} = {self.vec(1)} + 0")
            self.emit(f"{b} = {a} if {self.cond(1)} else {a}.clone()")
            self.emit(f"{b}.{self.inplace_call()}")
            self.scope.vars.update({a: "vec", b: "vec"})
        else:
            self.emit(f"{a} = {self.vec(1)} + 0")
            self.emit(f"{b} = {self.vec(1)} * 1")
            self.emit(f"if {self.cond(1)}:")
            self.emit(f"    {b} = {self.pick([a, f'{a}.view(4)', f'{a}[:]'])}")
            self.emit(f"{a}.{self.inplace_call()}")
            self.scope.vars.update({a: "vec", b: "vec"})

    def s_compr(self, budget: int) -> None:
        name = self.fresh("t")
        lists = self.scope.names("lvec")
        source = self.pick(lists) if lists and self.chance(0.7) else f"[{self.vec(0)}, {self.vec(1)}]"
        form = self.pick(["sum", "list", "filter", "dict", "nested", "any", "gensum"])
        if form == "sum":
            self.emit(f"{name} = sum([e * {self.grid(1, 2)} for e in {source}])")
            self.scope.vars[name] = "vec"
        elif form == "list":
            self.emit(f"{name} = [e + i for i, e in enumerate({source})]")
            self.scope.vars[name] = "lvec"
        elif form == "filter":
            self.emit(f"{name} = [e for e in {source} if e.sum() > {self.grid()}] + [{self.vec(0)}]")
            self.scope.vars[name] = "lvec"
        elif form == "dict":
            self.emit(f"{name} = {{key: ({self.vec(0)} if {self.cond(0)} else {self.vec(1)}) for key in 'ab'}}")
            self.scope.vars[name] = "dvec"
        elif form == "nested":
            self.emit(f"{name} = [e * j for e in {source} for j in (1, 2)]")
            self.scope.vars[name] = "lvec"
        elif form == "any":
            self.emit(f"{name} = {self.pick(['any', 'all'])}({self.pick(['', 'bool'])}(e.sum() > {self.grid()}) for e in {source})")
            self.scope.vars[name] = "bool"
        else:
            self.emit(f"{name} = sum(e.abs().clamp(max=2) for e in {source})")
            self.scope.vars[name] = "vec"

    def s_gen(self, budget: int) -> None:
        name = self.fresh("t")
        lists = self.scope.names("lvec")
        source = self.pick(lists) if lists and self.chance(0.6) else f"[{self.vec(0)}, {self.vec(1)}, {self.vec(1)}]"
        form = self.pick(["sum", "next", "for", "partial", "countdown"])
        if form == "sum":
            self.emit(f"{name} = sum(evens({source}, {self.grid()}), {self.vec(0)})")
            self.scope.vars[name] = "vec"
        elif form == "next":
            self.emit(f"{name} = next(evens({source}, {self.grid()}), {self.vec(0)})")
            self.scope.vars[name] = "vec"
        elif form == "partial":
            g = self.fresh("it")
            self.emit(f"{g} = iter([{self.vec(0)}, {self.vec(1)}, {self.vec(0)}])")
            self.emit(f"if {self.cond(1)}:")
            self.emit(f"    next({g})")
            self.emit(f"{name} = next({g})")
            self.scope.vars[name] = "vec"
        elif form == "countdown":
            self.emit(f"{name} = sum(countdown({self.r.randint(1, 3)}))")
            self.scope.vars[name] = "int"
        else:
            self.emit(f"{name} = {self.vec(0)}")
            e = self.fresh("e")
            self.emit(f"for {e} in evens({source}, {self.grid()}):")
            self.emit(f"    {name} = ({name} + {e}).clamp(-8, 8)")
            self.scope.vars[name] = "vec"

    def inplace_call(self) -> str:
        return self.pick([f"add_({self.grid()})", "mul_(0.5)", "relu_()", "neg_()", "clamp_(-1, 2)", "abs_()",
                          f"sub_({self.grid()})", "zero_()", f"fill_({self.grid()})", f"copy_({self.vec(0)})",
                          f"add_({self.vec(0)})", f"masked_fill_({self.mask(0)}, {self.grid()})"])

    def writable(self) -> str | None:
        names = [n for n in self.scope.names("vec") if n not in self.scope.frozen
                 and (n not in self.scope.inputs or "input_write" in self.has)]
        return self.pick(names) if names else None

    def s_inplace(self, budget: int) -> None:
        name = self.writable()
        if name is None:
            return self.s_assign(budget)
        pre = ""
        if self.chance(0.4):
            self.emit(f"if {self.cond(1)}:")
            pre = "    "
        form = self.r.random()
        if form < 0.6:
            self.emit(f"{pre}{name}.{self.inplace_call()}")
        elif form < 0.85:
            self.emit(f"{pre}{name} {self.pick(['+=', '-='])} {self.vec(0)}")
        elif form < 0.93:
            self.emit(f"{pre}torch.add({self.vec(0)}, 1, out={name})")
        else:
            self.emit(f"{pre}F.relu({name}, inplace=True)")

    def s_view(self, budget: int) -> None:
        v = self.fresh("v")
        mats = [n for n in self.scope.names("mat") if n not in self.scope.inputs or "input_write" in self.has]
        form = self.r.random()
        if mats and form < 0.4:
            m = self.pick(mats)
            self.emit(f"{v} = {m}[{self.r.randint(0, 2)}]")
            self.scope.vars[v] = "vec"
            if self.chance(0.5):
                self.emit(f"if {self.cond(1)}:")
                self.emit(f"    {v}.{self.inplace_call()}")
            else:
                self.emit(f"{v}.{self.inplace_call()}")
            return
        if form < 0.6:
            m = self.fresh("g")
            self.emit(f"{m} = torch.stack([{self.vec(0)}, {self.vec(1)}, {self.vec(0)}])")
            self.scope.vars[m] = "mat"
            self.emit(f"{m}{self.pick(['[1]', '[:, 0]', '[0, 2:]', '.t()[1]', '.view(-1)[3:5]', '[1:, 1:3]', '.view(12)'])}"
                      f".{self.pick(['add_(1)', 'mul_(0.5)', 'zero_()', 'neg_()', 'fill_(1.5)'])}")
            return
        name = self.writable()
        if name is None:
            return self.s_assign(budget)
        self.emit(f"{v} = {name}{self.pick(['[1:3]', '[::2]', '[:2]', '.view(2, 2)', '.unsqueeze(0)', '[2:]', '.view(2, 2)[0]', '.view(2, 2).t()', '.detach()', '.flip(0)', '.reshape(2, 2)'])}")
        action = f"{v}.{self.pick(['add_(1)', 'mul_(2)', 'zero_()', 'neg_()', 'fill_(0.5)', 'clamp_(-1, 1)'])}"
        if self.chance(0.5):
            self.emit(f"if {self.cond(1)}:")
            self.emit(f"    {action}")
        else:
            self.emit(action)

    def s_index(self, budget: int) -> None:
        name = self.writable()
        if name is None:
            return self.s_assign(budget)
        pre = ""
        if self.chance(0.4):
            self.emit(f"if {self.cond(1)}:")
            pre = "    "
        self.emit(pre + self.pick([
            f"{name}[{self.r.randint(-4, 3)}] = {self.grid()}", f"{name}[1:3] = {self.grid()}",
            f"{name}[::2] += 1", f"{name}[0] = {self.vec(0)}.sum().clamp(-4, 4)", f"{name}[2:] = {self.vec(0)}[:2]",
            f"{name}[{self.r.randint(0, 3)}] += {self.grid()}", f"{name}[...] = {self.vec(0)}",
            f"{name}[torch.tensor([0, 2])] = {self.grid()}", f"{name}[[3, 1]] = {self.vec(0)}[:2]",
        ]))

    def s_masked(self, budget: int) -> None:
        name = self.writable()
        if name is None:
            return self.s_assign(budget)
        self.emit(self.pick([
            f"{name}[{self.mask(1)}] = {self.grid()}", f"{name}[{name} > {self.grid()}] *= 0.5",
            f"{name} = torch.where({self.mask(1)}, {name}, {self.vec(0)})",
            f"{name} = {name}.masked_fill({self.mask(1)}, {self.grid()})",
            f"{name}[{self.mask(1)}] += 1",
        ]))

    def s_scalar(self, budget: int) -> None:
        kind = self.pick(["int", "float", "bool", "int", "float"])
        name = self.fresh({"int": "i", "float": "r", "bool": "b"}[kind])
        self.emit(f"{name} = {self.expr(kind, 3)}")
        self.scope.vars[name] = kind

    def s_try(self, budget: int) -> None:
        form = self.r.random()
        name = self.fresh("t")
        if form < 0.4:
            log = self.fresh("log")
            self.emit(f"{log} = []")
            self.emit("try:")
            self.block(max(1, budget // 3))
            self.emit("finally:")
            self.emit(f"    {log}.append(1)")
        elif form < 0.8:
            self.emit("try:")
            self.emit(f"    if {self.cond(1)}:")
            self.emit(f"        raise {self.pick(['Stop', 'ValueError'])}('stop')")
            self.emit(f"    {name} = {self.vec(1)}")
            self.emit(f"except {self.pick(['(Stop, ValueError)', 'Exception'])}:")
            self.emit(f"    {name} = {self.vec(1)}")
            if self.chance(0.3):
                self.emit("else:")
                self.emit(f"    {name} = {name} + 1")
            self.scope.vars[name] = "vec"
        else:
            self.emit("try:")
            self.emit(f"    {name} = {self.vec(1)}")
            self.emit(f"    if {self.cond(1)}:")
            self.emit("        raise Stop")
            self.emit("except Stop as e:")
            self.emit(f"    {name} = {self.vec(0)} - 1")
            self.emit("finally:")
            self.emit(f"    {name} = {self.vec(0)} * 0.5 if {self.cond(0)} else {self.vec(0)}")
            self.scope.vars[name] = "vec"

    def s_with(self, budget: int) -> None:
        form = self.pick(["no_grad", "guard", "scoped", "null"])
        log = self.fresh("log")
        if form == "no_grad":
            self.emit("with torch.no_grad():")
        elif form == "null":
            self.emit("with contextlib.nullcontext():")
        else:
            self.emit(f"{log} = []")
            self.emit(f"with {'Guard' if form == 'guard' else 'scoped'}({log}){self.pick(['', ' as ctx'])}:")
        self.block(max(1, budget // 3))
        if form in ("guard", "scoped"):
            name = self.fresh("i")
            self.emit(f"{name} = sum({log})")
            self.scope.vars[name] = "int"

    def s_raise(self, budget: int) -> None:
        if self.scope.loop:
            return self.s_rebind(budget)
        self.emit(f"if {self.vec(0)}.sum() > {self.grid(5, 9)}:")
        self.emit(f"    raise {self.pick(['ValueError', 'RuntimeError', 'Stop'])}('too large')")

    def s_assert(self, budget: int) -> None:
        self.emit(f"assert {self.vec(0)}.abs().max() < {self.r.randint(50, 900)}, 'out of range'")

    def s_optional(self, budget: int) -> None:
        name, out = self.fresh("maybe"), self.fresh("t")
        self.emit(f"{name} = None")
        self.emit(f"if {self.cond(1)}:")
        self.emit(f"    {name} = {self.vec(1)}")
        if self.chance(0.7):
            self.emit(self.pick([
                f"{out} = {name} if {name} is not None else {self.vec(0)}",
                f"{out} = {self.vec(0)} if {name} is None else {name} + 1",
            ]))
            self.scope.vars[out] = "vec"
        self.scope.vars[name] = "ovec"

    def s_shapes(self, budget: int) -> None:
        name = self.fresh("vv")
        form = self.r.random()
        if form < 0.35:
            self.emit(f"{name} = {self.vec(0)}[{self.mask(1)}]")
        elif form < 0.5:
            self.emit(f"{name} = torch.nonzero({self.mask(1)}).flatten().float()")
        elif form < 0.65:
            self.emit(f"{name} = {self.vec(0)}[:{self.int_(0)} % 4]")
        elif form < 0.8:
            self.emit(f"{name} = torch.cat([{self.vec(0)}, {self.vec(0)}]) if {self.cond(1)} else {self.vec(0)}")
        else:
            self.emit(f"if {self.cond(1)}:")
            self.emit(f"    {name} = {self.vec(0)}[:2]")
            self.emit("else:")
            self.emit(f"    {name} = {self.vec(0)}")
        self.scope.vars[name] = "vv"
        if self.chance(0.7):
            out = self.fresh("s")
            self.emit(f"{out} = {self.pick([f'{name}.sum()', f'({name} * 2).relu().sum()', f'torch.cat([{name}, {self.vec(0)}]).max()'])}")
            self.scope.vars[out] = "sc"
        if self.chance(0.3):
            out = self.fresh("i")
            self.emit(f"{out} = {self.pick([f'{name}.numel()', f'{name}.shape[0]', f'len({name})', f'{name}.size(0)'])}")
            self.scope.vars[out] = "int"

    def s_state(self, budget: int) -> None:
        me = self.scope.self_name
        if not me:
            return self.s_rebind(budget)
        pre = ""
        if self.chance(0.5):
            self.emit(f"if {self.cond(1)}:")
            pre = "    "
        in_loop = self.scope.loop > 0
        options = [
            f"{me}.steps += 1", f"{me}.steps = {self.int_(1)}", f"{me}.buf = {self.vec(1)}",
            f"{me}.buf.add_({self.grid()}).clamp_(-8, 8)", f"{me}.buf[0] = {self.grid()}", f"{me}.last = {self.vec(1)}",
            f"{me}.last = None", f"{me}.one.hits += 2", f"{me}.buf.copy_({self.vec(0)})",
            f"{me}.limit = {self.grid()}",
        ]
        if not in_loop:
            options += [f"{me}.log = [{self.vec(0)}]", f"{me}.log.append({self.pick(['1', self.vec(0)])})"]
        self.emit(pre + self.pick(options))
        if self.chance(0.3):
            out = self.fresh("t")
            self.emit(f"{out} = {self.vec(0)} if {me}.last is None else {me}.last")
            self.scope.vars[out] = "vec"

    def s_closure(self, budget: int) -> None:
        name = self.fresh("fn")
        outer = self.scope
        counters = [n for n in outer.names("int") if n not in outer.frozen and n not in outer.inputs]
        self.emit(f"def {name}(t, s={self.grid()}):")
        self.depth += 1
        inner = Scope(vars=dict(outer.vars), returns="vec", self_name=outer.self_name)
        inner.frozen = set(outer.vars)
        inner.vars.update({"t": "vec", "s": "float"})
        inner.frozen -= {"t", "s"}
        inner.inputs = {"t"} | outer.inputs
        self.scope = inner
        if counters and self.chance(0.5):
            c = self.pick(counters)
            self.emit(f"nonlocal {c}")
            self.emit(f"{c} += 1")
        self.body(max(1, budget // 4))  # outer names are frozen: binding one here would make it local
        self.emit(f"return {self.vec(1)}")
        self.depth -= 1
        self.scope = outer
        self.scope.vars[name] = "fn"
        out = self.fresh("t")
        self.emit(f"{out} = {name}({self.vec(0)}{self.pick(['', ', s=0.5', ', 2.0'])})")
        self.scope.vars[out] = "vec"

    def s_lambda(self, budget: int) -> None:
        name, out = self.fresh("fn"), self.fresh("t")
        form = self.r.random()
        if form < 0.4:
            self.emit(f"{name} = lambda t, s={self.grid()}: t * s if {self.cond(0)} else t + s")
        elif form < 0.7:
            self.emit(f"{name} = (lambda t: t + 1) if {self.cond(1)} else (lambda t: {self.vec(0)} - t)")
        else:
            table = self.fresh("fs")
            self.emit(f"{table} = [lambda t: t.relu(), lambda t: t.neg(), lambda t: t * 0.5]")
            self.emit(f"{name} = {table}[{self.pick(['1', '-1', f'{self.int_(0)} % 3'])}]")
        self.scope.vars[name] = "fn"
        self.emit(f"{out} = {name}({self.vec(0)})")
        self.scope.vars[out] = "vec"

    def s_rt_index(self, budget: int) -> None:
        out = self.fresh("t")
        i = f"{self.int_(1)} % {{}}"
        me = self.scope.self_name
        form = self.pick(["list", "tensor", "slice", "mat", "row", "write", "argmax"] + (["modules"] if me else []))
        if form == "list":
            self.emit(f"{out} = [{self.vec(0)}, {self.vec(1)}, {self.vec(0)}][{i.format(3)}]")
            self.scope.vars[out] = "vec"
        elif form == "tensor":
            self.emit(f"{out} = {self.vec(0)}[{i.format(4)}]")
            self.scope.vars[out] = "sc"
        elif form == "slice":
            self.emit(f"{out} = {self.vec(0)}[{i.format(3)}:].sum()")
            self.scope.vars[out] = "sc"
        elif form in ("mat", "row") and self.scope.names("mat"):
            self.emit(f"{out} = {self.pick(self.scope.names('mat'))}[{i.format(3)}]")
            self.scope.vars[out] = "vec"
        elif form == "write" and self.writable():
            self.emit(f"{self.writable()}[{i.format(4)}] = {self.grid()}")
        elif form == "modules":
            self.emit(f"{out} = {me}.subs[{i.format(3)}]({self.vec(0)})")
            self.scope.vars[out] = "vec"
        else:
            self.emit(f"{out} = int({self.vec(0)}.argmax())")
            self.scope.vars[out] = "int"

    def s_numpy(self, budget: int) -> None:
        out = self.fresh("i")
        form = self.r.random()
        if form < 0.4:
            self.emit(f"{out} = int(np.argmax([{self.float_(1)}, {self.float_(0)}, {self.grid()}]))")
            self.scope.vars[out] = "int"
        elif form < 0.7:
            self.emit(f"{out} = int({self.vec(0)}.numpy().argmax())")
            self.scope.vars[out] = "int"
        else:
            self.emit(f"{out} = float(np.max({self.vec(0)}.cpu().numpy()))")
            self.scope.vars[out] = "float"

    def s_match(self, budget: int) -> None:
        out = self.fresh("t")
        self.emit(f"match {self.int_(1)} % 4:")
        self.emit("    case 0:")
        self.emit(f"        {out} = {self.vec(1)}")
        self.emit("    case 1 | 2:")
        self.emit(f"        {out} = {self.vec(0)}")
        bound = self.fresh("k")
        self.emit(f"    case {bound} if {self.cond(0)}:")
        self.emit(f"        {out} = {self.vec(0)} + {bound}")
        self.emit("    case _:")
        self.emit(f"        {out} = {self.vec(1)}")
        self.scope.vars[out] = "vec"

    def s_tolist(self, budget: int) -> None:
        name, out = self.fresh("xs"), self.fresh("r")
        self.emit(f"{name} = {self.vec(0)}.tolist()")
        form = self.r.random()
        if form < 0.3:
            self.emit(f"{out} = {self.pick(['max', 'min', 'sum'])}({name})")
            self.scope.vars[out] = "float"
        elif form < 0.6:
            e = self.fresh("e")
            self.emit(f"{out} = 0")
            self.emit(f"for {e} in {name}:")
            self.emit(f"    if {e} > {self.grid()}:")
            self.emit(f"        {out} += 1")
            self.scope.vars[out] = "int"
        elif form < 0.8:
            self.emit(f"{out} = {name}[{self.r.randint(-4, 3)}]")
            self.scope.vars[out] = "float"
        else:
            self.emit(f"{out} = torch.tensor({name}) + {self.vec(0)}")
            self.scope.vars[out] = "vec"

    def s_sorting(self, budget: int) -> None:
        out = self.fresh("t")
        lists = self.scope.names("lvec")
        source = self.pick(lists) if lists else f"[{self.vec(0)}, {self.vec(1)}, {self.vec(0)}]"
        form = self.pick(["min", "max", "sorted", "torch"])
        if form in ("min", "max"):
            self.emit(f"{out} = {form}({source}, key=lambda e: {self.pick(['e.sum()', 'float(e[0])', 'e.max().item()'])})")
            self.scope.vars[out] = "vec"
        elif form == "sorted":
            self.emit(f"{out} = sorted({source}, key=lambda e: e.sum().item(){self.pick(['', ', reverse=True'])})[0]")
            self.scope.vars[out] = "vec"
        else:
            self.emit(f"{out} = {self.vec(0)}.sort().values")
            self.scope.vars[out] = "vec"

    def s_walrus(self, budget: int) -> None:
        name = self.fresh("s")
        self.emit(f"if ({name} := {self.vec(1)}.sum()) > {self.grid()}:")
        self.scope.vars[name] = "sc"
        self.block(max(1, budget // 4))

    def s_star(self, budget: int) -> None:
        a, rest = self.fresh("t"), self.fresh("l")
        self.emit(f"{a}, *{rest} = [{self.vec(0)}, {self.vec(1)}, {self.vec(0)}]")
        self.scope.vars[a] = "vec"
        self.scope.vars[rest] = "lvec"

    def s_print(self, budget: int) -> None:
        if self.scope.loop:
            return self.s_rebind(budget)
        self.emit(f"if {self.cond(1)}:")
        self.emit(f"    print({self.pick([repr('here'), repr('a') + ', 1'])})")

    def s_int_tensor(self, budget: int) -> None:
        name = self.fresh("iv")
        self.emit(f"{name} = {self.ivec(2)}")
        self.scope.vars[name] = "ivec"
        if self.chance(0.4):
            out = self.fresh("t")
            self.emit(f"{out} = {self.vec(0)}[{name} % 4]")
            self.scope.vars[out] = "vec"

    def s_builtin(self, budget: int) -> None:
        out = self.fresh("r")
        form = self.pick(["minmax", "round", "divmod", "math", "abs", "isinstance", "hasattr", "in", "sumlist"])
        if form == "minmax":
            self.emit(f"{out} = {self.pick(['min', 'max'])}({self.float_(1)}, {self.float_(0)}, {self.grid()})")
            self.scope.vars[out] = "float"
        elif form == "round":
            self.emit(f"{out} = round({self.float_(1)})")
            self.scope.vars[out] = "int"
        elif form == "divmod":
            b = self.fresh("i")
            self.emit(f"{b}, {out} = divmod({self.int_(1)}, {self.pick([3, -3, 2, 5])})")
            self.scope.vars.update({b: "int", out: "int"})
        elif form == "math":
            self.emit(f"{out} = math.{self.pick(['floor', 'ceil', 'trunc'])}({self.float_(1)})")
            self.scope.vars[out] = "int"
        elif form == "abs":
            self.emit(f"{out} = abs({self.float_(1)})")
            self.scope.vars[out] = "float"
        elif form == "isinstance":
            value = self.pick([self.vec(0), self.int_(0), self.float_(0)])
            self.emit(f"{out} = isinstance({value}, {self.pick(['torch.Tensor', 'int', '(int, float)'])})")
            self.scope.vars[out] = "bool"
        elif form == "hasattr":
            boxes = self.scope.names("box")
            self.emit(f"{out} = hasattr({self.pick(boxes) if boxes else self.vec(0)}, 'extra')")
            self.scope.vars[out] = "bool"
        elif form == "in":
            self.emit(f"{out} = {self.int_(1)} {self.pick(['in', 'not in'])} {self.pick(['(1, 2, 5)', '[0, -1, 3]', '{2, 4}', 'range(3)'])}")
            self.scope.vars[out] = "bool"
        else:
            self.emit(f"{out} = sum([{self.int_(0)}, {self.int_(0)}, 2])")
            self.scope.vars[out] = "int"

    def s_del(self, budget: int) -> None:
        names = [n for n in self.scope.names("vec") if n.startswith("t") and n != "t" and n not in self.scope.frozen]
        if names and self.depth == (2 if self.scope.self_name else 1) and not self.scope.loop:
            name = self.pick(names)
            self.emit(f"del {name}")
            del self.scope.vars[name]
        else:
            self.s_assign(budget)

    def s_call(self, budget: int) -> None:
        name = self.fresh("t")
        self.emit(f"{name} = {self.call()}")
        self.scope.vars[name] = "vec"

    def s_submodule(self, budget: int) -> None:
        me = self.scope.self_name
        if not me:
            return self.s_assign(budget)
        name = self.fresh("t")
        form = self.pick(["one", "seq", "loop", "index", "scale"])
        if form == "loop":
            e = self.fresh("sub")
            self.emit(f"{name} = {self.vec(0)}")
            self.emit(f"for {e} in {me}.subs:")
            self.emit(f"    {name} = {e}({name})")
            if "breaks" in self.has:
                self.emit(f"    if {name}.sum() > {self.grid()}:")
                self.emit("        break")
        else:
            self.emit(f"{name} = " + {"one": f"{me}.one({self.vec(1)})", "seq": f"{me}.seq({self.vec(0)})",
                                      "index": f"{me}.subs[{self.r.randint(-1, 2)}]({self.vec(0)})",
                                      "scale": f"{me}.one({self.vec(0)}, scale={self.grid()})"}[form])
        self.scope.vars[name] = "vec"

    def call(self) -> str:
        options = []
        me = self.scope.self_name
        for h in self.helpers:
            if h == "gate":
                if me and self.scope.returns == "any":
                    options.append(f"{me}.gate({self.vec(0)}{self.pick(['', ', 1.0', ', limit=-0.5', ', strict=True'])})")
            elif self.scope.returns == "any":  # not from helpers: calls would nest without end
                options.append(f"{h}({self.vec(0)}{self.pick(['', f', {self.int_(0)}', ', s=1.5', f', k={self.int_(0)}'])})")
        if self.recursive and self.scope.returns == "any":
            options.append(f"rec({self.vec(0)}, {self.r.randint(1, 4)})")
        options += [f"{n}({self.vec(0)})" for n in self.scope.names("fn")]
        return self.pick(options) if options else self.vec(1)

    # ---------------------------------------------------------------- expressions
    def expr(self, kind: str, d: int) -> str:
        return {"vec": self.vec, "mat": self.mat, "sc": self.sc, "mask": self.mask, "int": self.int_,
                "float": self.float_, "bool": self.bool_, "ivec": self.ivec}[kind](d)

    def vec(self, d: int) -> str:
        names = self.scope.names("vec")
        if d <= 0 or self.chance(0.25):
            if names:
                return self.pick(names)
            return f"torch.full((4,), {self.grid()})"
        d -= 1
        options = [
            lambda: f"({self.vec(d)} {self.pick('+-')} {self.vec(d)})",
            lambda: f"({self.vec(d)} * {self.grid(-2, 2)})",
            lambda: f"({self.vec(d)} + {self.grid()})",
            lambda: f"({self.vec(d)} * {self.vec(d)}).clamp(-8, 8)",
            lambda: f"({self.vec(d)}).{self.pick(['relu()', 'abs()', 'neg()', 'clamp(-2, 2)', 'floor()', 'sign()', 'flip(0)', 'clone()', 'roll(1)'])}",
            lambda: f"torch.{self.pick(['maximum', 'minimum'])}({self.vec(d)}, {self.vec(d)})",
            lambda: f"torch.where({self.mask(d)}, {self.vec(d)}, {self.vec(d)})",
        ]
        scope = self.scope
        for name in scope.names("mat"):
            options += [lambda name=name: f"{name}[{self.r.randint(-1, 2)}]",
                        lambda name=name: f"{name}.{self.pick(['sum(0)', 'amax(0)', 'mean(0).floor()'])}.clamp(-8, 8)"]
        for name in scope.names("lvec"):
            options.append(lambda name=name: f"{name}[{self.pick(['0', '-1'])}]")
        for name in scope.names("dvec"):
            options.append(lambda name=name: f"{name}['{self.pick('ab')}']")
        for name in scope.names("box"):
            options.append(lambda name=name: f"{name}.t")
        for name in scope.names("rec"):
            options.append(lambda name=name: f"{name}.x")
        for name in scope.names("pair"):
            options.append(lambda name=name: f"{name}.a")
        if scope.self_name:
            options.append(lambda: f"{scope.self_name}.{self.pick(['w', 'buf'])}")
            options.append(lambda: f"{scope.self_name}.one({self.vec(d)})")
        if "ternary" in self.has:
            options.append(lambda: f"({self.vec(d)} if {self.cond(d)} else {self.vec(d)})")
        if "scalar" in self.has:
            options.append(lambda: f"({self.vec(d)} * ({self.float_(d)} % 2.0))")
            options.append(lambda: f"({self.vec(d)} + {self.int_(d)} % 3)")
        if "helper" in self.has or scope.names("fn"):
            options.append(self.call)
        if "inexact" in self.has:
            options.append(lambda: f"({self.vec(d)}).{self.pick(['sigmoid()', 'tanh()', 'softmax(0)', 'exp().clamp(max=8)'])}")
            if scope.self_name:
                options.append(lambda: f"{scope.self_name}.lin({self.vec(d)})")
        return self.pick(options)()

    def mat(self, d: int) -> str:
        names = self.scope.names("mat")
        if not names:
            return f"torch.stack([{self.vec(0)}, {self.vec(d - 1)}, {self.vec(0)}])"
        if d <= 0 or self.chance(0.3):
            return self.pick(names)
        d -= 1
        return self.pick([
            lambda: f"({self.mat(d)} + {self.vec(d)})", lambda: f"({self.mat(d)} * {self.grid(-2, 2)})",
            lambda: f"{self.mat(d)}.{self.pick(['relu()', 'abs()', 'clone()', 'clamp(-3, 3)', 'flip(1)'])}",
            lambda: f"({self.mat(d)} + {self.vec(d)}.unsqueeze(0).expand(3, 4))",
            lambda: f"torch.stack([{self.vec(d)}, {self.vec(0)}, {self.vec(0)}])",
        ])()

    def ivec(self, d: int) -> str:
        names = self.scope.names("ivec")
        if names and (d <= 0 or self.chance(0.3)):
            return self.pick(names)
        return self.pick([f"{self.vec(0)}.long()", f"torch.arange(4) + {self.int_(0)} % 3", f"{self.mask(0)}.long()",
                          f"{self.vec(0)}.argsort(stable=True)", f"({self.vec(0)} > {self.grid()}).cumsum(0)"])

    def sc(self, d: int) -> str:
        names = self.scope.names("sc")
        if names and self.chance(0.4):
            return self.pick(names)
        v = self.vec(d - 1)
        return f"({v}).{self.pick(['sum()', 'max()', 'min()', 'sum().abs()', 'mean()'])}"

    def mask(self, d: int) -> str:
        names = self.scope.names("mask")
        if names and self.chance(0.3):
            return self.pick(names)
        form = self.r.random()
        if form < 0.7 or d <= 0:
            return f"({self.vec(d - 1)} {self.pick(['>', '<', '>=', '<=', '!='])} {self.grid()})"
        if form < 0.85:
            return f"({self.mask(d - 1)} {self.pick('&|^')} {self.mask(d - 1)})"
        return f"~{self.mask(d - 1)}"

    def int_(self, d: int) -> str:
        names = self.scope.names("int")
        if d <= 0 or self.chance(0.25):
            if names and self.chance(0.85):
                return self.pick(names)
            if self.chance(0.7):
                return f"int({self.sc(0)})"
            return str(self.r.randint(-3, 5))
        d -= 1
        options = [
            lambda: f"int({self.sc(d)})", lambda: f"({self.int_(d)} {self.pick('+-')} {self.int_(d)})",
            lambda: f"int(({self.vec(d)} > {self.grid()}).sum())", lambda: f"int({self.float_(d)})",
            lambda: f"int({self.vec(d)}.argmax())",
        ]
        if "arith" in self.has:
            options += [
                lambda: f"({self.int_(d)} // {self.pick([2, 3, -2, -3])})", lambda: f"({self.int_(d)} % {self.pick([3, 4, -3, 5])})",
                lambda: f"(({self.int_(d)} % 7) * ({self.int_(d)} % 5))", lambda: f"abs({self.int_(d)})",
                lambda: f"(({self.int_(d)} % 4) ** 2)", lambda: f"(2 ** ({self.int_(d)} % 4))", lambda: f"-{self.int_(d)}",
                lambda: f"{self.pick(['min', 'max'])}({self.int_(d)}, {self.int_(d)})",
                lambda: f"({self.int_(d)} & 3)", lambda: f"({self.int_(d)} >> 1)", lambda: f"(~{self.int_(d)})",
            ]
        if "ternary" in self.has:
            options.append(lambda: f"({self.int_(d)} if {self.cond(d)} else {self.int_(d)})")
        for name in self.scope.names("lvec"):
            options.append(lambda name=name: f"len({name})")
        for name in self.scope.names("box"):
            options.append(lambda name=name: f"{name}.n")
        for name in self.scope.names("rec"):
            options.append(lambda name=name: f"{name}.k")
        if self.scope.self_name:
            options.append(lambda: f"{self.scope.self_name}.steps")
        return self.pick(options)()

    def float_(self, d: int) -> str:
        names = self.scope.names("float")
        if d <= 0 or self.chance(0.25):
            if names and self.chance(0.8):
                return self.pick(names)
            return self.grid() if self.chance(0.4) else f"{self.sc(0)}.item()"
        d -= 1
        options = [lambda: f"float({self.sc(d)})", lambda: f"({self.sc(d)}).item()",
                   lambda: f"({self.float_(d)} {self.pick('+-')} {self.float_(d)})",
                   lambda: f"({self.float_(d)} * {self.grid()})", lambda: f"float({self.int_(d)})"]
        if "arith" in self.has:
            options += [
                lambda: f"({self.float_(d)} // {self.pick(['1.5', '2', '-0.5'])})",
                lambda: f"({self.float_(d)} % {self.pick(['1.5', '2', '-0.75'])})",
                lambda: f"({self.int_(d)} / {self.pick([2, 4, -8])})", lambda: f"(({self.float_(d)} % 4) ** 2)",
                lambda: f"({self.int_(d)} + {self.float_(d)})", lambda: f"abs({self.float_(d)})",
                lambda: f"{self.pick(['min', 'max'])}({self.float_(d)}, {self.float_(d)})",
            ]
        if "ternary" in self.has:
            options.append(lambda: f"({self.float_(d)} if {self.cond(d)} else {self.float_(d)})")
        return self.pick(options)()

    def bool_(self, d: int) -> str:
        names = self.scope.names("bool")
        if names and self.chance(0.3):
            return self.pick(names)
        return self.pick([
            lambda: f"bool({self.cond(d - 1)})", lambda: f"({self.int_(d - 1)} {self.pick(['<', '>', '==', '!=', '>='])} {self.r.randint(-2, 4)})",
            lambda: f"({self.float_(d - 1)} {self.pick(['<', '>', '<='])} {self.grid()})", lambda: f"not {self.cond(d - 1)}",
        ])()

    def cond(self, d: int) -> str:
        """Anything truthy; mostly decided by tensors."""
        options = [
            lambda: f"{self.vec(0)}.sum() {self.pick(['>', '<', '>='])} {self.grid()}",
            lambda: f"{self.vec(max(0, d - 1))}.{self.pick(['max()', 'min()', 'sum()', 'mean()'])} {self.pick(['>', '<', '<='])} {self.grid()}" if d <= 0
            else f"({self.vec(d - 1)}).{self.pick(['max()', 'min()', 'sum()', 'mean()'])} {self.pick(['>', '<', '<='])} {self.grid()}",
            lambda: f"({self.vec(0)} > {self.grid()}).{self.pick(['any()', 'all()'])}",
            lambda: f"{self.vec(0)}[{self.r.randint(0, 3)}] > {self.vec(0)}[{self.r.randint(0, 3)}]",
        ]
        scope = self.scope
        if "scalar" in self.has:
            options += [lambda: f"{self.int_(d)} {self.pick(['>', '<', '==', '!='])} {self.r.randint(-2, 4)}",
                        lambda: f"{self.float_(d)} {self.pick(['>', '<'])} {self.grid()}",
                        lambda: f"{self.int_(d)} % {self.pick([2, 3])}"]
            options += [lambda n=n: n for n in scope.names("bool", "int")]
        if "boolop" in self.has and d > 0:
            options += [
                lambda: f"({self.cond(d - 1)} {self.pick(['and', 'or'])} {self.cond(d - 1)})",
                lambda: f"not ({self.cond(d - 1)})",
                lambda: f"{self.grid(-3, 0)} < {self.vec(0)}.sum() {self.pick(['<', '<='])} {self.grid(1, 4)}",
                lambda: f"({self.cond(0)} and {self.cond(0)} or {self.cond(0)})",
            ]
        if "builtin" in self.has:
            options += [lambda: f"torch.equal({self.vec(0)}, {self.vec(0)}.relu())",
                        lambda: f"torch.is_nonzero({self.vec(0)}.sum())",
                        lambda: f"torch.allclose({self.vec(0)}, {self.vec(0)}.floor())"]
        for name in scope.names("ovec"):
            options.append(lambda name=name: f"{name} is {self.pick(['', 'not '])}None")
        for name in scope.names("lvec"):
            options.append(lambda name=name: f"len({name}) > {self.r.randint(1, 3)}")
        if scope.self_name:
            options.append(lambda: f"{self.vec(0)}.sum() > {scope.self_name}.limit")
            if "state" in self.has:
                options.append(lambda: f"{scope.self_name}.steps {self.pick(['>', '<'])} {self.r.randint(0, 3)}")
        return self.pick(options)()

    def result(self, early: bool = False) -> str:
        """The expression of a return: a structure over what is in scope."""
        pool = [n for n, k in self.scope.vars.items() if k not in ("fn", "kten", "gen")]
        self.r.shuffle(pool)
        chosen = pool[: self.pick([2, 4, 12, 12])]  # most of the time everything, so that every effect is seen
        if early and "ret_diff" not in self.has:
            return f"({self.vec(1)}, {self.pick(['1', self.int_(0)])})"
        if early:
            return self.pick(["None", self.vec(1), f"({self.vec(0)},)", f"[{self.vec(0)}, {self.int_(0)}]",
                              f"{{'early': {self.vec(0)}}}", "0"])
        form = self.r.random()
        if form < 0.12:
            return self.vec(2)
        if form < 0.75:
            return "(" + ", ".join(chosen) + ",)"
        if form < 0.88:
            return "{" + ", ".join(f"'{n}': {n}" for n in chosen) + "}"
        if form < 0.94:
            return f"[{', '.join(chosen)}]"
        return f"Rec({self.vec(1)}, {self.int_(0)})"


def generate(seed: int) -> str:
    """The source of program number `seed`; from wild.WILD on, a harder one."""
    from tests.frontend.fuzz.wild import WILD, generate_wild

    return generate_wild(seed) if seed >= WILD else Generator(seed).program()
