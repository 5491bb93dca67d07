# SPDX-License-Identifier: Apache-2.0
"""Statements over tensors and state: in-place ops, views, indices, masks, run-time shapes,
numbers read from tensors."""

from __future__ import annotations

from tests.frontend.generated.expressions import Expressions


class Tensors(Expressions):
    """Each writes one statement, with bodies within the budget."""

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
            self.emit(
                f"{m}{self.pick(['[1]', '[:, 0]', '[0, 2:]', '.t()[1]', '.view(-1)[3:5]', '[1:, 1:3]', '.view(12)'])}"
                f".{self.pick(['add_(1)', 'mul_(0.5)', 'zero_()', 'neg_()', 'fill_(1.5)'])}"
            )
            return
        name = self.writable()
        if name is None:
            return self.s_assign(budget)
        self.emit(f"{v} = {name}" + self.pick([
            "[1:3]", "[::2]", "[:2]", ".view(2, 2)", ".unsqueeze(0)", "[2:]", ".view(2, 2)[0]", ".view(2, 2).t()",
            ".detach()", ".flip(0)", ".reshape(2, 2)"]))
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
            self.emit(f"{out} = " + self.pick([
                f"{name}.sum()", f"({name} * 2).relu().sum()", f"torch.cat([{name}, {self.vec(0)}]).max()"]))
            self.scope.vars[out] = "sc"
        if self.chance(0.3):
            out = self.fresh("i")
            self.emit(f"{out} = "
                      f"{self.pick([f'{name}.numel()', f'{name}.shape[0]', f'len({name})', f'{name}.size(0)'])}")
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

    def s_int_tensor(self, budget: int) -> None:
        name = self.fresh("iv")
        self.emit(f"{name} = {self.ivec(2)}")
        self.scope.vars[name] = "ivec"
        if self.chance(0.4):
            out = self.fresh("t")
            self.emit(f"{out} = {self.vec(0)}[{name} % 4]")
            self.scope.vars[out] = "vec"
