# SPDX-License-Identifier: Apache-2.0
"""Statements of control flow: assignments, branches, loops, exits, exceptions, calls."""

from __future__ import annotations

from tests.frontend.generated.expressions import Expressions
from tests.frontend.generated.scope import Scope


class Control(Expressions):
    """Each writes one statement, with bodies within the budget."""

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

    def s_walrus(self, budget: int) -> None:
        name = self.fresh("s")
        self.emit(f"if ({name} := {self.vec(1)}.sum()) > {self.grid()}:")
        self.scope.vars[name] = "sc"
        self.block(max(1, budget // 4))

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

    def s_print(self, budget: int) -> None:
        if self.scope.loop:
            return self.s_rebind(budget)
        self.emit(f"if {self.cond(1)}:")
        self.emit(f"    print({self.pick([repr('here'), repr('a') + ', 1'])})")

    def s_del(self, budget: int) -> None:
        names = [n for n in self.scope.names("vec") if n.startswith("t") and n != "t" and n not in self.scope.frozen]
        if names and self.depth == (2 if self.scope.self_name else 1) and not self.scope.loop:
            name = self.pick(names)
            self.emit(f"del {name}")
            del self.scope.vars[name]
        else:
            self.s_assign(budget)
