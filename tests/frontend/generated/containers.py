# SPDX-License-Identifier: Apache-2.0
"""Statements over lists, dicts, sets, tuples and objects, shared and changed."""

from __future__ import annotations

from tests.frontend.generated.expressions import Expressions


class Containers(Expressions):
    """Each writes one statement, with bodies within the budget."""

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
            self.emit(f"{name} = {self.pick(['any', 'all'])}({self.pick(['', 'bool'])}(e.sum() "
                      f"> {self.grid()}) for e in {source})")
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

    def s_sorting(self, budget: int) -> None:
        out = self.fresh("t")
        lists = self.scope.names("lvec")
        source = self.pick(lists) if lists else f"[{self.vec(0)}, {self.vec(1)}, {self.vec(0)}]"
        form = self.pick(["min", "max", "sorted", "torch"])
        if form in ("min", "max"):
            self.emit(f"{out} = {form}({source}, key=lambda e: "
                      f"{self.pick(['e.sum()', 'float(e[0])', 'e.max().item()'])})")
            self.scope.vars[out] = "vec"
        elif form == "sorted":
            self.emit(f"{out} = sorted({source}, key=lambda e: e.sum().item(){self.pick(['', ', reverse=True'])})[0]")
            self.scope.vars[out] = "vec"
        else:
            self.emit(f"{out} = {self.vec(0)}.sort().values")
            self.scope.vars[out] = "vec"

    def s_star(self, budget: int) -> None:
        a, rest = self.fresh("t"), self.fresh("l")
        self.emit(f"{a}, *{rest} = [{self.vec(0)}, {self.vec(1)}, {self.vec(0)}]")
        self.scope.vars[a] = "vec"
        self.scope.vars[rest] = "lvec"

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
            self.emit(f"{out} = {self.int_(1)} {self.pick(['in', 'not in'])} "
                      f"{self.pick(['(1, 2, 5)', '[0, -1, 3]', '{2, 4}', 'range(3)'])}")
            self.scope.vars[out] = "bool"
        else:
            self.emit(f"{out} = sum([{self.int_(0)}, {self.int_(0)}, 2])")
            self.scope.vars[out] = "int"

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
