# SPDX-License-Identifier: Apache-2.0
"""Programs at the edges of dtypes and of extents: integers of 8 to 64 bits that wrap, numbers that a dtype cannot hold,
indices, lengths and places out of range, and decisions about all of these.

The statements here come on top of wild.py's. Seeds from EDGES on give these programs. They may fail where eager does:
a call that raises is compared by that alone, and is the last one. What a statement computes is added to `acc`, which is
returned, because an op whose result nobody reads is not executed.
"""

from __future__ import annotations

from tests.frontend.generated.wild import WildGenerator

EDGES = 200_000_000

DTYPES = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-(2**15), 2**15 - 1), "int32": (-(2**31), 2**31 - 1),
          "int64": (-(2**63), 2**63 - 1), "bool": (0, 1)}
OF_ONE = ["{a}.abs()", "-{a}", "~{a}", "{a}.sign()", "{a} * {a}", "{a}.cumsum(0)", "{a}.sum(0, keepdim=True)",
          "{a}.prod(0, keepdim=True)", "{a}.cummax(0)[0]", "{a}.sort(descending=True)[0]", "{a}.flip(0)",
          "{a}.relu()", "{a}.diff()", "{a}.topk(2)[0]", "{a}.unique()", "{a}.square()", "{a} // {a}.clamp(min=1)",
          "{a}.roll(1)", "{a}.sum(0, dtype=torch.int8)[None]", "{a}.max()[None]", "{a}.argsort(stable=True)",
          "{a}.bool()", "{a}[{a} > 0]", "{a}.count_nonzero()[None]", "{a}.nonzero().flatten()", "{a} - {a}.amin(0)"]
OF_NUMBER = ["{a} + {n}", "{a} - {n}", "{n} - {a}", "{a} * {n}", "{a} // {n}", "{a} % {n}", "torch.fmod({a}, {n})",
             "{a}.clamp(max={n})", "{a}.clamp({n}, {n} + 3)", "{a}.clamp_min({n})", "{a} & {n}", "{a} | {n}",
             "{a} ^ {n}", "{a} > {n}", "{a} == {n}", "torch.full_like({a}, {n})", "{a}.masked_fill({a} > 1, {n})",
             "{a} << ({n} % 5)", "torch.where({a} > 1, {a}, {n})", "{a}.clone().fill_({n})",
             "torch.add({a}, {a}, alpha={n})", "{a} >> ({n} % 5)", "torch.isin({a}, {n})",
             "{a}.index_fill(0, torch.tensor([1]), {n})", "torch.full((3,), {n}, dtype={a}.dtype)",
             "{a}.clone().add_({n})", "{a}.clone().clamp_(max={n})", "F.pad({a}, (1, 0), value={n})"]
OF_TWO = ["{a} + {b}", "{a} * {b}", "{a} - {b}", "torch.minimum({a}, {b})", "torch.maximum({a}, {b})", "{a} & {b}",
          "torch.where({a} > {b}, {a}, {b})", "torch.cat([{a}, {b}])", "{a}.clamp({b}, {b} + 2)", "{a} // {b}",
          "{a} % {b}", "{a} == {b}", "torch.zeros_like({a}).copy_({b})"]
READS = ["{x}[{k}]", "{x}[int({k}):].sum()", "{x}[:{k}].sum()", "{x}.narrow(0, {k}, 1).sum()", "{x}.select(0, {k})",
         "{x}.index_select(0, torch.tensor([{k}]))[0]", "{x}[torch.tensor([{k}, 0])].sum()",
         "{x}.take(torch.tensor({k}))", "{x}.gather(0, torch.tensor([{k}]))[0]", "F.pad({x}, ({k}, 1)).sum()",
         "torch.ones({k}).sum()", "{x}.roll({k})[0]", "torch.arange({k}).sum()",
         "{x}.repeat_interleave(torch.tensor({k})).sum()", "{x}.topk({k})[0].sum()",
         "torch.bincount(torch.tensor([1, 2]), minlength={k}).sum()", "{x}.split([{k}, 4 - {k}])[0].sum()",
         "F.one_hot(torch.tensor({k}), 4)[0]", "{x}[{k}:{k} + 2].mean()", "{x}[{k}:].max()", "{x}[1:][{k}]",
         "{x}.tensor_split(({k},))[1].sum()", "torch.select_scatter({x}, torch.zeros(()), 0, {k}).sum()",
         "torch.slice_scatter({x}, torch.zeros(2), 0, {k}, {k} + 2).sum()", "{x}.repeat({k}).sum()",
         "{x}.view({k}, -1).sum()", "{x}.kthvalue({k})[0]", "{x}.expand({k}, 4).sum()"]
WRITES = ["{x}[{k}] = 1.5", "{x}[torch.tensor({k})] = 0.5", "{x}[{k}:] = 0.0", "{x}[{k}:{k} + 2] += 1",
          "{x}[{k}].mul_(2)", "{x}.select(0, {k}).fill_(2.0)", "{x}.index_fill_(0, torch.tensor([{k}]), 3.0)",
          "{x}[1:][{k}] = 1.0", "{x}.index_add_(0, torch.tensor([{k}]), torch.ones(1))",
          "{x}.scatter_(0, torch.tensor([{k}]), 0.5)",
          "{x}.index_put_((torch.tensor([{k}]),), torch.ones(1), accumulate=True)", "{x}.narrow(0, {k}, 2).zero_()",
          "{x}[{x} > {k}] = 0.0", "{x}.view(2, 2)[{k}] = 0.5", "{x}.view(2, 2)[:, {k}] += 1", "{x}[-{k}:] = 1.0"]


class EdgeGenerator(WildGenerator):
    STATEMENTS = {**WildGenerator.STATEMENTS, "e_make": (12, None), "e_number": (14, None), "e_combine": (8, None),
                  "e_decide": (14, None), "e_read": (8, None), "e_write": (8, None)}

    def __init__(self, seed: int):
        super().__init__(seed)
        self.has -= {"state", "late_state", "input_write", "input_alias", "container_input", "try", "quiet", "with"}

    def program(self) -> str:
        return super().program() + "\n\nFAILS = True\n"

    def enter_body(self, params: list[tuple[str, str]]) -> None:
        super().enter_body(params)
        self.emit("acc = torch.zeros(())")
        self.small: list[tuple[str, str]] = []

    def result(self, early: bool = False) -> str:
        return f"({super().result(early)}, acc)"

    def body(self, budget: int) -> None:
        """A small tensor is known in its block alone."""
        known = list(getattr(self, "small", ()))
        super().body(budget)
        if self.nesting:
            self.small = known

    def add(self, expression: str) -> None:
        if self.in_body():
            self.emit(f"acc = (acc + {expression}) % 64")

    def in_body(self) -> bool:
        return self.scope.returns == "any" and hasattr(self, "small")

    def operand(self) -> tuple[str, str]:
        if not self.small:
            self.e_make(1)
        return self.pick(self.small)

    def literal(self, dtype: str) -> str:
        low, high = DTYPES[dtype]
        if dtype == "int64" or self.chance(0.7):
            return str(max(low, min(high, self.pick([1, 2, 3, -1, -3, 5, 7, 100, 4]))))
        return str(self.pick([low - 1, high + 1, 2 * high + 4, high, low, -5, 300, -300]))

    def number(self, dtype: str) -> str:
        """Known, or of the run."""
        if self.chance(0.6):
            return self.literal(dtype)
        return f"({self.int_(0)} % 7 * {self.pick([1, 1, 1, 40, 50, 6000])} - {self.pick([0, 0, 2, 100])})"

    def keep(self, expression: str, dtype: str) -> None:
        name = self.fresh("e")
        self.emit(f"{name} = {expression}")
        self.small.append((name, dtype))
        self.add(f"{name}.long().sum() % 64")

    def e_make(self, budget: int) -> None:
        if not self.in_body():
            return self.s_rebind(budget)
        dtype = self.pick([*DTYPES])
        factor = self.pick([1, 2, 20, 30, 60]) if dtype != "bool" else 1
        source = f"({self.vec(0)} * {factor})"
        if dtype == "uint8":
            source += ".abs()"
        wide = f"{source}.long()" if dtype != "bool" else source
        self.keep(f"{wide}.to(torch.{dtype})", dtype)

    def e_number(self, budget: int) -> None:
        if not self.in_body():
            return self.s_rebind(budget)
        a, dtype = self.operand()
        if dtype == "bool":
            return self.keep(f"{a}.to(torch.int8) + {self.number('int8')}", "int8")
        form = self.r.random()
        template = self.pick(OF_ONE if form < 0.4 else OF_NUMBER)
        self.keep(f"({template.format(a=a, n=self.number(dtype))}).to(torch.{dtype})", dtype)

    def e_combine(self, budget: int) -> None:
        if not self.in_body():
            return self.s_rebind(budget)
        (a, first), (b, second) = self.operand(), self.operand()
        if self.chance(0.3) or "bool" in (first, second):
            target = self.pick([d for d in DTYPES if d != "bool"])
            return self.keep(f"{a}.to(torch.{target})", target)
        self.keep(f"({self.pick(OF_TWO).format(a=f'{a}[:1]', b=b)}).to(torch.{first})", first)

    def e_decide(self, budget: int) -> None:
        """About an element: what capture knows of its range must hold."""
        if not self.in_body():
            return self.s_rebind(budget)
        a, dtype = self.operand()
        k, limit = self.fresh("k"), self.literal(dtype)
        self.emit(f"{k} = int({self.pick([a + '[0]', a + '[-1]', a + '.sum()', a + '.flatten()[:1].max()'])})")
        form = self.pick(["arm", "list", "dict", "range", "chain"])
        if form == "arm":
            self.emit(f"if {k} {self.pick(['<', '>=', '==', '<=', '>', '!='])} {limit}:")
            self.emit(f"    acc = acc + {self.pick(['1', f'{k} % 5', '0.5'])}")
        elif form == "list":
            self.emit(f"acc = acc + [1, 2, 4, 8][{k}{self.pick([' % 4', '', ' & 3', ' % -4', ' // 9 % 2'])}]")
        elif form == "dict":
            self.emit(f"acc = acc + {{0: 1, 1: 2, -1: 4, 5: 8}}.get({k}, 16)")
        elif form == "range":
            self.emit(f"acc = acc + len(range({k} % 9)) + min({k}, 3) + max({k}, -3)")
        else:
            self.emit(f"acc = acc + (1 if {self.literal(dtype)} <= {k} < {limit} else 2) + ({k} >= 0) + abs({k}) % 3")

    def place(self) -> str:
        return f"({self.int_(0)} % {self.pick([4, 5, 6, 12])} - {self.pick([0, 0, 1, 4, 6])})"

    def e_read(self, budget: int) -> None:
        if not self.in_body():
            return self.s_rebind(budget)
        self.add("(" + self.pick(READS).format(x=self.vec_name(), k=self.place_name()) + ")")

    def e_write(self, budget: int) -> None:
        if not self.in_body():
            return self.s_rebind(budget)
        x = self.fresh("x")
        self.emit(f"{x} = {self.vec(0)} * 1")
        place = self.place_name()
        self.emit(self.when() + self.pick(WRITES).format(x=x, k=place))
        self.add(f"{x}.sum() + {x}[1]")

    def vec_name(self) -> str:
        name = self.fresh("x")
        self.emit(f"{name} = {self.vec(0)}")
        return name

    def place_name(self) -> str:
        name = self.fresh("p")
        self.emit(f"{name} = {self.place()}")
        return name


def generate_edges(seed: int) -> str:
    return EdgeGenerator(seed).program()
