# SPDX-License-Identifier: Apache-2.0
"""Harder programs: nested and shared containers, object graphs, loops that carry them, views through calls, exceptions
across frames, state that appears during a call, mixed dtypes.

The statements here come on top of generate.py's. Seeds from WILD on give these programs.
"""

from __future__ import annotations

from tests.frontend.generated.generate import Generator
from tests.frontend.generated.prelude import PRELUDE

WILD = 1_000_000

WILD_PRELUDE = PRELUDE + '''\
class Node:
    def __init__(self, value, next=None):
        self.value = value
        self.next = next

    def __iter__(self):
        node = self
        while node is not None:
            yield node.value
            node = node.next

    def __len__(self):
        return 1 + (len(self.next) if self.next is not None else 0)


class Acc:
    scale = 2

    def __init__(self):
        self.total = None
        self.parts = {}

    def add(self, key, t):
        if self.total is None:
            self.total = t
        else:
            self.total = (self.total + t).clamp(-8, 8)
        self.parts.setdefault(key, []).append(t)
        return self

    def __bool__(self):
        return self.total is not None

    def __getitem__(self, key):
        return self.parts[key][-1]

    def __contains__(self, key):
        return key in self.parts

    @property
    def count(self):
        return sum(len(p) for p in self.parts.values())

    @count.setter
    def count(self, n):
        self.forced = n


class Quiet:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append(5)
        return self.log

    def __exit__(self, kind, value, trace):
        self.log.append(6 if kind is None else 7)
        return kind is not None and issubclass(kind, Stop)


def head_of(t):
    return t[:2]


def row_of(m, i):
    return m[i]


def same(t):
    return t


def checked(t, limit):
    if t.sum() > limit:
        raise Stop("over")
    return t + 1


def collect(t, into=None):
    if into is None:
        into = []
    into.append(t)
    return into


def apply(f, *args, **kwargs):
    return f(*args, **kwargs)


def compose(f, g):
    return lambda t: g(f(t))


def twice(f):
    def inner(t, n=2):
        for _ in range(n):
            t = f(t).clamp(-8, 8)
        return t
    return inner


@twice
def drift(t):
    if t.max() > 1:
        return t - 1
    return t + 0.5


def pairs(xs):
    prev = None
    for x in xs:
        if prev is not None:
            yield prev, x
        prev = x


'''

WILD_FEATURES = {
    "nested": 0.4, "graph": 0.35, "carry": 0.45, "through_calls": 0.4, "cross_raise": 0.3, "late_state": 0.3,
    "dtypes": 0.35, "strings": 0.3, "torch_ops": 0.5, "iterators": 0.3, "machine": 0.3, "higher": 0.3,
    "input_alias": 0.25, "nonlocal": 0.25, "slices": 0.35, "quiet": 0.25, "keys": 0.35,
}


class WildGenerator(Generator):
    STATEMENTS = {
        **Generator.STATEMENTS,
        "w_nested": (5, "nested"), "w_graph": (5, "graph"), "w_carry": (6, "carry"), "w_through": (5, "through_calls"),
        "w_cross": (4, "cross_raise"), "w_late": (4, "late_state"), "w_dtypes": (5, "dtypes"),
        "w_strings": (4, "strings"), "w_torch": (6, "torch_ops"), "w_iter": (4, "iterators"),
        "w_machine": (4, "machine"), "w_higher": (4, "higher"), "w_input_alias": (3, "input_alias"),
        "w_nonlocal": (4, "nonlocal"), "w_slices": (4, "slices"), "w_quiet": (3, "quiet"),
        "w_acc": (4, "graph"), "w_keys": (6, "keys"),
    }

    def __init__(self, seed: int):
        super().__init__(seed)
        self.has |= {f for f, p in WILD_FEATURES.items() if self.r.random() < p}
        if "input_alias" in self.has:
            self.has.add("input_write")
        self.budget = self.pick([8, 12, 16, 24, 32])

    def program(self) -> str:
        text = super().program()
        return WILD_PRELUDE + text[len(PRELUDE):]

    def when(self) -> str:
        """Half of the time the next statement is in an arm: emits the test and returns the indent."""
        if self.chance(0.5):
            self.emit(f"if {self.cond(1)}:")
            return "    "
        return ""

    # ------------------------------------------------------------------ containers in containers
    def w_nested(self, budget: int) -> None:
        name, out = self.fresh("nest"), self.fresh("t")
        form = self.pick(["list_dict", "dict_list", "shared_rows", "tuple_list", "swap"])
        if form == "list_dict":
            self.emit(f"{name} = [{{'a': {self.vec(1)}}}, {{'a': {self.vec(0)}, 'n': 1}}]")
            pre = self.when()
            self.emit(pre + self.pick([f"{name}[0]['b'] = {self.vec(0)}", f"{name}[1]['n'] += 1",
                                       f"{name}.append(dict({name}[0]))", f"{name}[0] = {name}[1]",
                                       f"{name}[-1]['a'] = {name}[0]['a']"]))
            self.emit(f"{name}[0]['a'] = {name}[0]['a'] + 1")
            self.emit(f"{out} = sum(d['a'] for d in {name})")
        elif form == "dict_list":
            self.emit(f"{name} = {{'p': [{self.vec(1)}], 'q': []}}")
            pre = self.when()
            self.emit(pre + self.pick([f"{name}['q'].append({self.vec(0)})", f"{name}['q'] = {name}['p']",
                                       f"{name}['p'], {name}['q'] = {name}['q'] + [{self.vec(0)}], {name}['p']"]))
            self.emit(f"{name}['q'].append({self.vec(0)})")
            self.emit(f"{out} = {name}['p'][-1] + len({name}['q'])")
        elif form == "shared_rows":
            row = self.fresh("row")
            self.emit(f"{row} = [{self.vec(0)}, {self.vec(1)}]")
            self.emit(f"{name} = [{row}, {row} if {self.cond(0)} else list({row}), {row}]")
            self.emit(f"{name}[1][0] = {self.vec(1)}")
            self.emit(f"{out} = {name}[0][0] - {row}[1]")
        elif form == "tuple_list":
            self.emit(f"{name} = ([{self.vec(0)}], {{'k': {self.int_(1)}}}, {self.vec(1)})")
            pre = self.when()
            self.emit(pre + self.pick([f"{name}[0].append({self.vec(0)})", f"{name}[1]['k'] = {self.int_(0)}",
                                       f"{name}[1].update(z=1.5)"]))
            self.emit(f"{out} = {name}[2] + len({name}[0]) + {name}[1]['k'] % 3")
        else:
            other = self.fresh("nest")
            self.emit(f"{name}, {other} = [{self.vec(0)}], [{self.vec(1)}, {self.vec(0)}]")
            self.emit(f"if {self.cond(1)}:")
            self.emit(f"    {name}, {other} = {other}, {name}")
            self.emit(f"{name}.append({self.vec(0)})")
            self.emit(f"{out} = {name}[-1] + len({other})")
            self.scope.vars[other] = "lvec"
            self.scope.vars[name] = "lvec"
            self.scope.vars[out] = "vec"
            return
        self.scope.vars[name] = "nest"
        self.scope.vars[out] = "vec"

    # ------------------------------------------------------------------ object graphs
    def w_graph(self, budget: int) -> None:
        name, out = self.fresh("node"), self.fresh("t")
        form = self.pick(["chain", "loop_chain", "rewire", "cycle"])
        if form == "chain":
            self.emit(f"{name} = Node({self.vec(1)}, Node({self.vec(0)}))")
            pre = self.when()
            self.emit(pre + self.pick([f"{name}.next = None",
                                       f"{name}.next.next = Node({self.vec(0)})", f"{name} = {name}.next",
                                       f"{name}.next = Node({self.vec(0)}, {name}.next)",
                                       f"{name}.value = {self.vec(0)}"]))
            self.emit(f"{out} = sum({name}) + len({name})")
        elif form == "loop_chain":
            j = self.fresh("j")
            self.emit(f"{name} = Node({self.vec(0)})")
            self.emit(f"for {j} in range(3):")
            self.emit(f"    if {self.cond(0)}:")
            self.emit(f"        {name} = Node({self.vec(0)} + {j}, {name})")
            self.emit(f"{out} = sum({name}).clamp(-8, 8)")
        elif form == "rewire":
            other = self.fresh("node")
            self.emit(f"{name} = Node({self.vec(0)})")
            self.emit(f"{other} = Node({self.vec(1)}, {name})")
            self.emit(f"if {self.cond(1)}:")
            self.emit(f"    {other}.next, {name}.next = None, {other}")
            self.emit(f"{name}.value = {name}.value * 2")
            self.emit(f"{out} = sum({other}).clamp(-8, 8) + len({name})")
        else:
            self.emit(f"{name} = Node({self.vec(0)})")
            self.emit(f"{name}.next = {name} if {self.cond(0)} else Node({self.vec(0)})")
            self.emit(f"{name}.next.value = {self.vec(1)}")
            self.emit(f"{out} = {name}.value + ({name}.next is {name})")
        if form != "cycle":
            self.scope.vars[name] = "nest"
        self.scope.vars[out] = "vec"

    def w_acc(self, budget: int) -> None:
        name, out = self.fresh("acc"), self.fresh("t")
        self.emit(f"{name} = Acc()")
        for _ in range(self.r.randint(1, 3)):
            pre = self.when()
            self.emit(f"{pre}{name}.add('{self.pick('ab')}', {self.vec(1)})"
                      + self.pick(["", f".add('b', {self.vec(0)})"]))
        if self.chance(0.3):
            self.emit(f"{name}.count = {self.int_(0)}")
        self.emit(f"{out} = {self.vec(0)} + {name}.count")
        self.emit(f"if {name} and '{self.pick('ab')}' in {name}:")
        self.emit(f"    {out} = {out} + {name}.total * Acc.scale")
        self.scope.vars[out] = "vec"
        self.scope.vars[name] = "nest"

    # ------------------------------------------------------------------ loops that carry objects
    def w_carry(self, budget: int) -> None:
        if self.scope.loop >= 1:
            return self.s_rebind(budget)
        c, out = self.fresh("c"), self.fresh("t")
        limit = self.r.randint(2, 4)
        form = self.pick(["box", "optional", "list", "swap", "view", "ints", "best", "dict", "flag"])
        head = f"while {c} < {limit} and {self.cond(1)}:"
        self.emit(f"{c} = 0")
        self.scope.vars[c] = "int"
        self.scope.frozen.add(c)
        if form == "box":
            box = self.fresh("o")
            self.emit(f"{box} = Box({self.vec(0)}, {self.int_(0)})")
            self.emit(head)
            self.emit(f"    {c} += 1")
            self.emit(f"    {box}.t = ({box}.t + {self.vec(0)}).clamp(-8, 8)")
            self.emit(f"    {self.pick([f'{box}.n += {c}', f'{box} = Box({box}.t, {box}.n + 1)', f'{box}.bump()'])}")
            self.emit(f"{out} = {box}.t + {box}.n % 3")
            self.scope.vars[box] = "box"
        elif form == "optional":
            m = self.fresh("maybe")
            self.emit(f"{m} = None")
            self.emit(head)
            self.emit(f"    {c} += 1")
            self.emit(f"    if {self.cond(0)}:")
            self.emit(f"        {m} = {self.vec(0)} + {c}")
            self.emit(f"{out} = {self.vec(0)} if {m} is None else {m}")
            self.scope.vars[m] = "ovec"
        elif form == "list":
            xs = self.fresh("xs")
            self.emit(f"{xs} = []")
            self.emit(head)
            self.emit(f"    {c} += 1")
            self.emit(f"    {xs}.append({self.pick([self.vec(0), c, f'({self.vec(0)} + {c})'])})")
            self.emit(f"{out} = {self.vec(0)} + len({xs})")
            self.scope.vars[xs] = "nest"
        elif form == "swap":
            a, b = self.fresh("t"), self.fresh("t")
            self.emit(f"{a}, {b} = {self.vec(1)}, {self.vec(0)}")
            self.emit(head)
            self.emit(f"    {c} += 1")
            self.emit(f"    {a}, {b} = {b}, ({a} + {b}).clamp(-8, 8)")
            self.emit(f"{out} = {a} - {b}")
        elif form == "view":
            a, v = self.fresh("t"), self.fresh("v")
            self.emit(f"{a} = {self.vec(0)} + 0")
            self.emit(f"{v} = {a}{self.pick(['[1:3]', '[::2]', '.view(2, 2)[0]', '[2:]'])}")
            self.emit(head)
            self.emit(f"    {c} += 1")
            self.emit(f"    {v}.{self.pick(['add_(0.5)', 'mul_(0.5)', 'neg_()', f'add_({c})'])}")
            self.emit(f"{out} = {a} * 2")
            self.scope.vars[a] = "vec"
        elif form == "ints":
            p, q = self.fresh("i"), self.fresh("i")
            self.emit(f"{p}, {q} = {self.int_(1)}, 1")
            self.emit(head)
            self.emit(f"    {c} += 1")
            self.emit(f"    {p}, {q} = ({q} + {p}) % 11, "
                      f"{self.pick([f'{p} // 2', f'-{p} % 7', f'{q} * 2 % 9', f'abs({p} - {q})'])}")
            self.emit(f"{out} = {self.vec(0)} + {p} - {q}")
            self.scope.vars.update({p: "int", q: "int"})
        elif form == "best":
            best, where = self.fresh("r"), self.fresh("i")
            j = self.fresh("j")
            self.emit(f"{best}, {where} = None, -1")
            self.emit(f"for {j} in range(4):")
            self.emit(f"    {c} = {self.vec(0)}[{j}].item()")
            self.emit(f"    if {best} is None or {c} {self.pick('<>')} {best}:")
            self.emit(f"        {best}, {where} = {c}, {j}")
            self.emit(f"{out} = {self.vec(0)} + {where}")
            self.scope.vars[best] = "float"
            self.scope.vars[where] = "int"
            self.scope.vars[c] = "float"
        elif form == "dict":
            d = self.fresh("d")
            self.emit(f"{d} = {{'a': {self.vec(0)}, 'b': {self.vec(0)}}}")
            self.emit(head)
            self.emit(f"    {c} += 1")
            self.emit(f"    {d}['{self.pick('ab')}'] = ({d}['a'] - {d}['b']).clamp(-8, 8)")
            self.emit(f"{out} = {d}['a']")
            self.scope.vars[d] = "dvec"
        else:
            going = self.fresh("b")
            self.emit(f"{going} = True")
            self.emit(f"while {going} and {c} < {limit}:")
            self.emit(f"    {c} += 1")
            self.emit(f"    {going} = bool({self.cond(0)})")
            self.emit(f"    if not {going} and {c} > 1:")
            self.emit(f"        {c} += 10")
            self.emit(f"{out} = {self.vec(0)} * ({c} % 3)")
            self.scope.vars[going] = "bool"
        self.scope.vars[out] = "vec"

    # ------------------------------------------------------------------ tensors through calls
    def w_through(self, budget: int) -> None:
        a, v = self.fresh("t"), self.fresh("v")
        self.emit(f"{a} = {self.vec(1)} + 0")
        form = self.pick(["head", "same", "closure", "list", "arm", "default"])
        if form == "head":
            self.emit(f"{v} = head_of({a})")
        elif form == "same":
            self.emit(f"{v} = same({a}) if {self.cond(0)} else same({a}.clone())")
        elif form == "closure":
            f = self.fresh("fn")
            self.emit(f"{f} = lambda: {a}[1:]")
            self.emit(f"{v} = {f}()")
        elif form == "list":
            xs = self.fresh("xs")
            self.emit(f"{xs} = collect({a})")
            self.emit(f"collect({self.vec(0)}, {xs}) if {self.cond(0)} else None")
            self.emit(f"{v} = {xs}[0]")
        elif form == "default":
            self.emit(f"{v} = apply(torch.clone, {a}) if {self.cond(0)} else apply(same, t={a})")
        else:
            self.emit(f"if {self.cond(1)}:")
            self.emit(f"    {v} = {a}[:2]")
            self.emit("else:")
            self.emit(f"    {v} = {self.pick([f'{a}[2:]', f'{a}.view(2, 2)[1]', f'{a}[:2].clone()'])}")
        pre = self.when()
        self.emit(f"{pre}{v}.{self.pick(['add_(1)', 'mul_(-1)', 'zero_()', 'fill_(2.5)', 'clamp_(0, 1)'])}")
        self.scope.vars[a] = "vec"

    # ------------------------------------------------------------------ exceptions across frames
    def w_cross(self, budget: int) -> None:
        out = self.fresh("t")
        form = self.pick(["helper", "loop", "finally", "nested", "rethrow"])
        if form == "helper":
            self.emit("try:")
            self.emit(f"    {out} = checked({self.vec(1)}, {self.grid()})")
            self.emit(f"    {out} = checked({out}, {self.grid()})")
            self.emit("except Stop:")
            self.emit(f"    {out} = {self.vec(0)} * 0.5")
        elif form == "loop":
            j = self.fresh("j")
            self.emit(f"{out} = {self.vec(0)}")
            self.emit("try:")
            self.emit(f"    for {j} in range(3):")
            self.emit(f"        {out} = checked({out}, {self.grid()})")
            self.emit("except Stop as stop:")
            self.emit(f"    {out} = {out} - len(stop.args)")
            self.emit("else:")
            self.emit(f"    {out} = {out} + 10")
        elif form == "finally":
            i = self.fresh("i")
            self.emit(f"{i} = 0")
            self.emit(f"{out} = {self.vec(0)}")
            self.emit("try:")
            self.emit("    try:")
            self.emit(f"        {out} = checked({out}, {self.grid()})")
            self.emit(f"        {i} += 1")
            self.emit("    finally:")
            self.emit(f"        {i} += 2")
            self.emit("except Stop:")
            self.emit(f"    {i} += 4")
            self.scope.vars[i] = "int"
        elif form == "nested":
            self.emit("try:")
            self.emit("    try:")
            self.emit(f"        {out} = checked({self.vec(0)}, {self.grid()})")
            self.emit(f"        if {self.cond(0)}:")
            self.emit("            raise KeyError('k')")
            self.emit("    except KeyError:")
            self.emit(f"        {out} = checked({self.vec(0)}, {self.grid()})")
            self.emit("except Stop:")
            self.emit(f"    {out} = {self.vec(0)}")
        else:
            self.emit("try:")
            self.emit("    try:")
            self.emit(f"        {out} = checked({self.vec(0)}, {self.grid()})")
            self.emit("    except Stop as stop:")
            self.emit("        raise ValueError('again') from stop")
            self.emit("except ValueError as error:")
            self.emit(f"    {out} = {self.vec(0)} + (error.__cause__ is not None)")
        self.scope.vars[out] = "vec"

    def w_quiet(self, budget: int) -> None:
        log, out = self.fresh("log"), self.fresh("i")
        self.emit(f"{log} = []")
        self.emit(f"with Quiet({log}) as q{log}:")
        self.emit(f"    if {self.cond(1)}:")
        self.emit("        raise Stop('quiet')")
        self.emit(f"    q{log}.append({self.r.randint(8, 9)})")
        self.emit(f"{out} = {log}[-1] * 10 + len({log})")
        self.scope.vars[out] = "int"

    # ------------------------------------------------------------------ state that appears
    def w_late(self, budget: int) -> None:
        me = self.scope.self_name
        if not me or self.scope.loop:
            return self.s_rebind(budget)
        name = self.fresh("made")
        pre = self.when()
        self.emit(f"{pre}{me}.{name} = {self.pick([self.vec(1), self.int_(1), self.float_(1), 'None'])}")
        form = self.r.random()
        if form < 0.3:
            self.emit(f"{me}.one.hits = {me}.one.hits + {self.pick(['1', self.int_(0)])}")
        elif form < 0.5:
            self.emit(f"{me}.buf = {me}.buf * 0.5 + {self.vec(0)}")
        elif form < 0.65:
            self.emit(f"{me}.buf.mul_(0.5)")
            self.emit(f"{me}.last = {me}.buf")
        elif form < 0.8:
            out = self.fresh("t")
            self.emit(f"{out} = getattr({me}, '{name}', None)")
            self.emit(f"if {out} is None or not isinstance({out}, torch.Tensor):")
            self.emit(f"    {out} = {self.vec(0)}")
            self.scope.vars[out] = "vec"

    def w_input_alias(self, budget: int) -> None:
        """State or containers that alias an input, then written."""
        me = self.scope.self_name
        inputs = [n for n in self.scope.names("vec") if n in self.scope.inputs]
        if not inputs:
            return self.s_rebind(budget)
        x = self.pick(inputs)
        if me and self.chance(0.4) and not self.scope.loop:
            self.emit(f"{me}.last = {x}")
            self.emit(f"{x}.{self.pick(['add_(1)', 'mul_(0.5)'])}")
            return
        name = self.fresh("t")
        self.emit(f"{name} = {self.pick([x, f'{x}[:]', f'{x}.view(4)', f'{x}.detach()'])}")
        pre = self.when()
        self.emit(f"{pre}{name}.{self.pick(['add_(1)', 'mul_(0.5)', 'neg_()', 'zero_()'])}")
        self.scope.vars[name] = "vec"

    # ------------------------------------------------------------------ dtypes and torch functions
    def w_dtypes(self, budget: int) -> None:
        iv, out = self.fresh("iv"), self.fresh("t")
        self.emit(f"{iv} = " + self.pick([
            f"{self.vec(0)}.long()", f"({self.vec(0)} > 0).int()", f"{self.vec(0)}.to(torch.int64)",
            f"torch.round({self.vec(0)}).to(torch.int32)"]))
        form = self.pick([
            f"({iv} // {self.pick([2, -2, 3])}).float()", f"({iv} % {self.pick([3, -3])}).float()",
            f"({iv} / 2)", f"({iv} + 0.5)", f"({iv} * {self.int_(0)}).float().clamp(-8, 8)",
            f"({iv} ** 2).float().clamp(-8, 8)", f"({iv}.bool() & ({self.vec(0)} > 0)).float()",
            f"torch.where({iv} > 0, {self.vec(0)}, 0.0)", f"({iv} + {self.float_(0)}).clamp(-8, 8)",
            f"({iv} == {self.r.randint(-1, 2)}).to(torch.float32)", f"(-{iv}).abs().float()", f"{iv}.double().float()",
            f"({iv} - {iv}.max()).float()", f"({iv} & 3).float()", f"({iv} << 1).float()",
            f"{iv}.cumsum(0).float().clamp(-8, 8)", f"torch.clamp({iv}, 0, 2).float()",
            f"torch.bitwise_xor({iv}, 1).float()",
        ])
        self.emit(f"{out} = {form}")
        self.scope.vars[out] = "vec"
        if self.chance(0.3):
            s = self.fresh("i")
            self.emit(
                f"{s} = "
                f"{self.pick([f'int({iv}.sum())', f'{iv}.max().item()', f'{iv}[0].item()', f'int({iv}.argmin())'])}"
            )
            self.scope.vars[s] = "int"

    def w_torch(self, budget: int) -> None:
        out = self.fresh("t")
        a, b = self.vec(1), self.vec(0)
        self.emit(f"{out} = " + self.pick([
            f"torch.stack([{a}, {b}]).max(0).values", f"torch.cat([{b}[:2], {b}[2:].flip(0)])",
            f"torch.cumsum({a}, 0).clamp(-8, 8)", f"({a}).sort(descending=True)[0]",
            f"torch.outer({b}, {b}).diagonal().clamp(-8, 8)", f"({a}).topk(4).values",
            f"F.pad({b}[:3], (0, 1), value={self.grid()})", f"torch.where({self.mask(1)}, {b}, -{b})",
            f"({a}).masked_fill({self.mask(0)}, 0.5)", f"torch.gather({b}, 0, torch.tensor([3, 0, 0, 1]))",
            f"{b}.index_select(0, torch.tensor([1, 1, 2, 3]))", f"sum(({a}).split(2)).repeat(2)",
            f"torch.tensor([1.0, 2.0, 0.5, -1.0]) * {b}", f"({a}).reshape(2, 2).t().flatten()",
            f"torch.zeros(4).index_add(0, torch.tensor([0, 0, 3, 2]), {b})", f"torch.full_like({b}, 0.5) + {b}",
            f"({a}).expand(3, 4).sum(0).clamp(-8, 8)", f"({a}).unsqueeze(1).squeeze(-1)",
            f"torch.ones(4, 4).tril() @ {b}", f"torch.einsum('i,j->i', {b}, torch.ones(4)).clamp(-8, 8)",
            f"({a}).roll(-1)", f"torch.clamp_min({a}, 0)", f"torch.lerp({b}, {b}.relu(), 0.5)",
            f"({a}).norm(p=1).expand(4)", f"torch.amin(torch.stack([{a}, {b}]), 0)", f"({a} > {b}).float()",
            f"torch.addcmul({b}, {b}, {b}, value=0.5).clamp(-8, 8)",
            f"({a}).view(2, 2).sum(-1).repeat_interleave(2).clamp(-8, 8)", f"{b}.new_tensor([1.0, 0.0, 2.0, -1.0])",
            f"torch.empty_like({b}).copy_({a})",
        ]))
        self.scope.vars[out] = "vec"

    def w_slices(self, budget: int) -> None:
        out = self.fresh("s")
        i, j = f"{self.int_(0)} % 4", f"{self.int_(1)} % 5"
        self.emit(f"{out} = " + self.pick([
            f"{self.vec(0)}[{i}:].sum()", f"{self.vec(0)}[:{j}].sum()", f"{self.vec(0)}[-({i}) - 1]",
            f"{self.vec(0)}[{i}::2].sum()", f"{self.vec(0)}[({i}) // 2:({j})].sum()",
            f"{self.vec(0)}.narrow(0, {i}, 1).sum()", f"torch.arange({j}).float().sum()",
            f"torch.ones({j}).sum() + {self.vec(0)}[0]", f"{self.vec(0)}[{self.mask(0)}].sum()",
            f"{self.vec(0)}.flip(0)[:{j}].max() if {j} else {self.vec(0)}.min()",
        ]))
        self.scope.vars[out] = "sc"

    # ------------------------------------------------------------------ text, iterators, machines, functions
    def w_strings(self, budget: int) -> None:
        name, out = self.fresh("name"), self.fresh("t")
        self.emit(f"{name} = 'low'")
        self.emit(f"if {self.cond(1)}:")
        self.emit(f"    {name} = {self.pick(['{!r}'.format('high'), name + ' + ' + repr('er'), repr('mid')])}")
        self.emit(f"{out} = " + self.pick([
            f"{{'low': {self.vec(0)}, 'high': {self.vec(0)}}}.get({name}, {self.vec(0)})",
            f"{self.vec(0)} * len({name})", f"({self.vec(0)} if {name}.startswith('l') else {self.vec(0)})",
            f"({self.vec(0)} if {name} == 'low' else {self.vec(0)} + 1)", f"{self.vec(0)} + ('h' in {name})",
        ]))
        self.scope.vars[name] = "nest"
        self.scope.vars[out] = "vec"

    def w_iter(self, budget: int) -> None:
        it, out = self.fresh("it"), self.fresh("t")
        form = self.pick(["iter", "enumerate", "zip", "pairs", "gen", "sentinel"])
        xs = f"[{self.vec(0)}, {self.vec(1)}, {self.vec(0)}]"
        if form == "iter":
            self.emit(f"{it} = iter({xs})")
            self.emit(f"{out} = next({it})")
            self.emit(f"if {self.cond(1)}:")
            self.emit(f"    {out} = {out} + next({it})")
            self.emit(f"{out} = {out} + sum({it}, {self.vec(0)})")
        elif form == "enumerate":
            self.emit(f"{it} = enumerate({xs}, {self.r.randint(0, 2)})")
            self.emit(f"if {self.cond(1)}:")
            self.emit(f"    next({it})")
            j, e = self.fresh("j"), self.fresh("e")
            self.emit(f"{out} = {self.vec(0)}")
            self.emit(f"for {j}, {e} in {it}:")
            self.emit(f"    {out} = ({out} + {e} * {j}).clamp(-8, 8)")
        elif form == "zip":
            self.emit(f"{it} = list(zip({xs}, (1, 2, 3), 'abc'))")
            self.emit(f"{out} = sum(t * k for t, k, c in {it} if c != 'b' or t.sum() > {self.grid()})")
        elif form == "pairs":
            self.emit(f"{out} = sum((b - a for a, b in pairs({xs}) if b.sum() > a.sum()), {self.vec(0)}).clamp(-8, 8)")
        elif form == "gen":
            self.emit(f"{it} = (t + 1 for t in {xs} if t.max() > {self.grid()})")
            self.emit(f"{out} = next({it}, None)")
            self.emit(f"if {out} is None:")
            self.emit(f"    {out} = {self.vec(0)}")
            self.emit("else:")
            self.emit(f"    {out} = {out} - len(list({it}))")
        else:
            self.emit(f"{it} = evens({xs}, {self.grid()})")
            self.emit(f"{out} = {self.vec(0)}")
            e = self.fresh("e")
            self.emit(f"while ({e} := next({it}, None)) is not None:")
            self.emit(f"    {out} = ({out} + {e}).clamp(-8, 8)")
        self.scope.vars[out] = "vec"

    def w_machine(self, budget: int) -> None:
        if self.scope.loop >= 1:
            return self.s_rebind(budget)
        state, j, out = self.fresh("state"), self.fresh("j"), self.fresh("i")
        self.emit(f"{state}, {out} = 0, 0")
        self.emit(f"for {j} in range(4):")
        self.emit(f"    if {state} == 0 and {self.vec(0)}[{j}] > {self.grid()}:")
        self.emit(f"        {state} = 1")
        self.emit(f"    elif {state} == 1:")
        self.emit(f"        {state} = 2 if {self.vec(0)}[{j}] < {self.grid()} else 0")
        self.emit(f"        {out} += {j}")
        self.emit(f"    elif {state} == 2:")
        self.emit(f"        {self.pick(['break', 'continue', f'{state} = 0'])}")
        self.emit(f"    {out} = {out} * 2 % 17 + {state}")
        self.scope.vars.update({out: "int", state: "int"})

    def w_higher(self, budget: int) -> None:
        out = self.fresh("t")
        f = self.fresh("fn")
        form = self.pick(["compose", "drift", "table", "partial", "map", "sorted"])
        if form == "compose":
            self.emit(f"{f} = compose(lambda t: t + 1, (lambda t: t * 0.5) if {self.cond(0)} else drift)")
            self.emit(f"{out} = {f}({self.vec(0)})")
        elif form == "drift":
            self.emit(f"{out} = drift({self.vec(1)}, n={self.r.randint(1, 3)})")
        elif form == "table":
            self.emit(f"{f} = {{'r': torch.relu, 'n': torch.neg, 'd': drift}}['d' if {self.cond(0)} "
                      f"else '{self.pick('rn')}']")
            self.emit(f"{out} = {f}({self.vec(0)})")
        elif form == "partial":
            self.emit("import functools")
            self.emit(f"{f} = functools.partial(torch.add, alpha={self.r.randint(1, 3)})")
            self.emit(f"{out} = {f}({self.vec(0)}, {self.vec(0)})")
        elif form == "map":
            self.emit(f"{out} = sum(map(lambda t: t if t.sum() > {self.grid()} else -t, "
                      f"[{self.vec(0)}, {self.vec(1)}]))")
        else:
            self.emit(f"{out} = sorted([({self.float_(1)}, 0), ({self.float_(0)}, 1)])[0][1] + {self.vec(0)}")
        self.scope.vars[out] = "vec"

    def w_keys(self, budget: int) -> None:
        """One index of run time asked about several times: lists, dicts, sets, slices, in arms and after them."""
        if self.scope.loop:
            return self.s_rebind(budget)
        k, table, out, i = self.fresh("k"), self.fresh("table"), self.fresh("t"), self.fresh("i")
        self.emit(f"{k} = int({self.vec(0)}[:3].{self.pick(['argmax', 'argmin'])}())")
        self.emit(f"{i} = [{self.r.randint(0, 9)}, {self.r.randint(0, 9)}, {self.int_(0)}][{k}] % 7")
        self.emit(f"{table} = {self.pick(['{}', '{0: 5}', '{1: 2, 7: 1}', '{2: 3, 0: 1, 1: 4}'])}")
        for _ in range(self.r.randint(1, 3)):
            pre = self.when()
            self.emit(pre + self.pick([
                f"{table}[{k}] = {table}.get({k}, 0) + 1", f"{table}[{k}] = {i}", f"{table}.setdefault({k}, 8)",
                f"{table}.pop({k}, None)", f"{i} += {table}.get({k}, 2)", f"{i} = [1, 2, 3][{k}] + [4, 5, 6][{k} - 3]",
                f"{i} += len({{{k}, 1}})", f"{i} += {k} in {table}", f"{table}[({k} + 1) % 3] = 1",
                f"{i} = {{0: 1, 1: 5, 2: 7}}[{k}] if {k} != 1 else [3, 4, 5][{k}]"]))
        self.emit(f"{out} = {self.pick([f'{self.vec(0)}[{k}:{k} + 1].sum()', f'{self.vec(0)}[{k}]'])} + {self.vec(0)} "
                  f"+ sum({table}.values()) % 5 + len({table})")
        self.scope.vars.update({out: "vec", i: "int"})

    def w_nonlocal(self, budget: int) -> None:
        if self.scope.loop or self.scope.returns != "any" and self.scope.returns is None:
            return self.s_rebind(budget)
        count, last, f, out = self.fresh("i"), self.fresh("maybe"), self.fresh("fn"), self.fresh("t")
        self.emit(f"{count}, {last} = 0, None")
        self.emit(f"def {f}(t):")
        self.emit(f"    nonlocal {count}, {last}")
        self.emit(f"    if t.sum() > {self.grid()}:")
        self.emit(f"        {count} += 1")
        self.emit(f"        {last} = t")
        self.emit(f"    return t {self.pick(['+', '*'])} {self.pick([count, '0.5', '2'])}")
        self.emit(f"{out} = {f}({self.vec(0)})")
        self.emit(f"{out} = {f}({out})" if self.chance(0.5) else f"{out} = {out} + {f}({self.vec(0)})")
        self.emit(f"{out} = {out}.clamp(-8, 8)")
        self.scope.vars.update({count: "int", last: "ovec", out: "vec", f: "fn"})
        self.scope.frozen |= {count, last}


def generate_wild(seed: int) -> str:
    return WildGenerator(seed).program()
