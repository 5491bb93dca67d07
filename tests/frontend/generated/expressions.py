# SPDX-License-Identifier: Apache-2.0
"""Expressions by kind: each uses variables in scope of the right kind only."""

from __future__ import annotations

from tests.frontend.generated.scope import Writer


class Expressions(Writer):
    """One method per kind; `d` bounds how deep an expression nests."""

    def call(self) -> str:
        options = []
        me = self.scope.self_name
        for h in self.helpers:
            if h == "gate":
                if me and self.scope.returns == "any":
                    options.append(
                        f"{me}.gate({self.vec(0)}{self.pick(['', ', 1.0', ', limit=-0.5', ', strict=True'])})"
                    )
            elif self.scope.returns == "any":  # not from helpers: calls would nest without end
                options.append(
                    f"{h}({self.vec(0)}{self.pick(['', f', {self.int_(0)}', ', s=1.5', f', k={self.int_(0)}'])})"
                )
        if self.recursive and self.scope.returns == "any":
            options.append(f"rec({self.vec(0)}, {self.r.randint(1, 4)})")
        options += [f"{n}({self.vec(0)})" for n in self.scope.names("fn")]
        return self.pick(options) if options else self.vec(1)

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
            lambda: f"({self.vec(d)})." + self.pick([
                "relu()", "abs()", "neg()", "clamp(-2, 2)", "floor()", "sign()", "flip(0)", "clone()", "roll(1)"]),
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
            options.append(
                lambda: f"({self.vec(d)}).{self.pick(['sigmoid()', 'tanh()', 'softmax(0)', 'exp().clamp(max=8)'])}"
            )
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
                lambda: f"({self.int_(d)} // {self.pick([2, 3, -2, -3])})",
                lambda: f"({self.int_(d)} % {self.pick([3, 4, -3, 5])})",
                lambda: f"(({self.int_(d)} % 7) * ({self.int_(d)} % 5))", lambda: f"abs({self.int_(d)})",
                lambda: f"(({self.int_(d)} % 4) ** 2)", lambda: f"(2 ** ({self.int_(d)} % 4))",
                lambda: f"-{self.int_(d)}", lambda: f"{self.pick(['min', 'max'])}({self.int_(d)}, {self.int_(d)})",
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
            lambda: f"bool({self.cond(d - 1)})",
            lambda: f"({self.int_(d - 1)} {self.pick(['<', '>', '==', '!=', '>='])} {self.r.randint(-2, 4)})",
            lambda: f"({self.float_(d - 1)} {self.pick(['<', '>', '<='])} {self.grid()})",
            lambda: f"not {self.cond(d - 1)}",
        ])()

    def cond(self, d: int) -> str:
        """Anything truthy; mostly decided by tensors."""
        options = [
            lambda: f"{self.vec(0)}.sum() {self.pick(['>', '<', '>='])} {self.grid()}",
            lambda: f"{self.vec(max(0, d - 1))}.{self.pick(['max()', 'min()', 'sum()', 'mean()'])} "
                    f"{self.pick(['>', '<', '<='])} {self.grid()}" if d <= 0
            else f"({self.vec(d - 1)}).{self.pick(['max()', 'min()', 'sum()', 'mean()'])} "
                 f"{self.pick(['>', '<', '<='])} {self.grid()}",
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
