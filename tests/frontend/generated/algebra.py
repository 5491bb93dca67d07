# SPDX-License-Identifier: Apache-2.0
"""Programs that factor matrices and solve systems, and decide by what comes out: branches, loops that iterate until
they are near, exceptions of singular matrices that a `try` takes.

The statements here come on top of wild.py's. Seeds from ALGEBRA on give these programs. Libraries differ in the last
bits, so what is computed is put on the grid again (`settled`), and is compared with numbers that are no fractions of
small ones; what is free in sign or basis is multiplied out first.
"""

from __future__ import annotations

from tests.frontend.generated.wild import WILD_PRELUDE, WildGenerator

ALGEBRA = 1_000_000_000

ALGEBRA_PRELUDE = WILD_PRELUDE + '''\
def settled(x):
    """Quarters; between them lies no fraction of small numbers."""
    return torch.floor(x.clamp(-8, 8) * 4 + 0.3717) / 4


def regular(v, w):
    """Of any two vectors; its diagonal is greater than the rest of a row."""
    return torch.outer(v.clamp(-2, 2), w.clamp(-1, 1)) + torch.diag(w.clamp(-3, 3)) + 12.0 * torch.eye(4)


def symmetric(v, w):
    return torch.outer(v, v) + torch.diag(w) + 0.3717 * torch.eye(4)


def positive(v, w):
    return torch.outer(v, v) + torch.diag(w.abs() + 0.75)


'''


class AlgebraGenerator(WildGenerator):
    STATEMENTS = {**WildGenerator.STATEMENTS, "l_solve": (12, None), "l_factor": (12, None), "l_branch": (10, None),
                  "l_loop": (7, None), "l_try": (7, None), "l_info": (4, None)}

    def program(self) -> str:
        return ALGEBRA_PRELUDE + super().program()[len(WILD_PRELUDE):]

    def of_two(self, form: str) -> str:
        return f"{form}({self.vec(1)}, {self.vec(0)})"

    def threshold(self) -> str:
        return self.pick(["0.6123", "2.7173", "5.1187", "-1.3371", "9.8713", "0.0917"])

    def vector(self, value: str) -> None:
        name = self.fresh("v")
        self.emit(f"{name} = settled({value})")
        self.scope.vars[name] = "vec"

    def l_solve(self, budget: int) -> None:
        a, v = self.fresh("a"), self.vec(1)
        self.emit(f"{a} = {self.of_two(self.pick(['regular', 'positive']))}")
        self.vector(self.pick([
            f"8 * torch.linalg.solve({a}, {v})", f"8 * torch.linalg.inv({a}) @ {v}",
            f"8 * torch.linalg.solve({a}, torch.stack([{v}, {self.vec(0)}], 1))[:, 1]",
            f"8 * torch.linalg.solve({a}, {v}.unsqueeze(0), left=False)[0]",
            f"8 * torch.linalg.lu_solve(*torch.linalg.lu_factor({a}), {v}.unsqueeze(1)).squeeze(1)",
            f"8 * torch.linalg.solve_triangular({a}, {v}.unsqueeze(1), upper={self.pick(['True', 'False'])})[:, 0]",
            f"8 * torch.linalg.lstsq({a}, {v}.unsqueeze(1)).solution.flatten()",
            f"8 * torch.linalg.pinv({a}) @ {v}", f"8 * torch.linalg.tensorsolve({a}, {v})",
            f"8 * torch.linalg.solve(torch.stack([{a}, {a}.mT]), {v}.expand(2, 4)[..., None])[1].flatten()",
            f"8 * torch.linalg.solve({a}.double(), {v}.double()).float()",
        ]))

    def l_factor(self, budget: int) -> None:
        m, v = self.mat(1), self.vec(0)
        one, two, three = (self.fresh("f") for _ in range(3))
        form = self.pick(["eigh", "svd", "qr", "cholesky", "lu", "values", "exp", "power"])
        if form == "eigh":
            self.emit(f"{one}, {two} = torch.linalg.eigh({self.of_two('symmetric')})")
            self.vector(self.pick([one, f"({two} * {one}.clamp(-3, 3)) @ {two}.mT @ {v}"]))
        elif form == "svd":
            self.emit(f"{one}, {two}, {three} = torch.linalg.svd({m}, full_matrices=False)")
            self.vector(self.pick([f"F.pad(({one} * {two}) @ {three} @ {v} / 4, (0, 1))", f"{two}.sum() + {v}",
                                   f"F.pad({two}, (0, 1))"]))
        elif form == "qr":
            a = self.pick([f"{m}.mT", self.of_two("regular")])
            self.emit(f"{one}, {two} = torch.linalg.qr({a})")
            product, diagonal = f"({one} @ {two})[:, 0]", f"{two}.diagonal().abs().sum() + {v}"
            value = self.pick([product, diagonal])
            self.vector(value if a.startswith("regular") else product)  # of lower rank, R is not the only one
        elif form == "cholesky":
            self.emit(f"{one} = torch.linalg.cholesky({self.of_two('positive')})")
            self.vector(self.pick([f"{one} @ {v} / 2", f"torch.cholesky_solve({v}.unsqueeze(1), {one})[:, 0]",
                                   f"{one}.diagonal()"]))
        elif form == "lu":
            self.emit(f"{one}, {two}, {three} = torch.linalg.lu({self.of_two('regular')})")
            self.vector(self.pick([f"({one} @ {two} @ {three})[1]", f"{three}.diagonal() / 4", f"{two}[3]"]))
        elif form == "values":
            self.vector(self.pick([f"torch.linalg.eigvalsh({self.of_two('symmetric')})",
                                   f"torch.linalg.svdvals({self.of_two('regular')}) - 8",
                                   f"torch.linalg.matrix_norm({m}, {self.pick(['2', repr('nuc')])}) + {v}"]))
        elif form == "exp":
            self.vector(f"torch.linalg.matrix_exp({self.of_two('regular')} / 16) @ {v}")
        else:
            power = self.pick(["2", "3", "-1"])
            self.vector(f"torch.linalg.matrix_power({self.of_two('regular')} / 12, {power}) @ {v}")

    def number(self) -> str:
        """A condition."""
        regular, symmetric = self.of_two("regular"), self.of_two("symmetric")
        value = self.pick([
            f"torch.linalg.det({regular}) / 4096", f"torch.linalg.slogdet({regular})[1] - 9",
            f"torch.linalg.det({symmetric})",
            f"torch.linalg.eigvalsh({symmetric})[{self.r.randint(0, 3)}]", f"torch.linalg.svdvals({self.mat(0)}).max()",
            f"torch.linalg.solve({regular}, {self.vec(0)}).sum()", f"torch.linalg.eigh({symmetric})[0].abs().min()",
            f"torch.linalg.cond({regular}) * 2", f"torch.linalg.eigvals({symmetric}).real.sum()",
            f"torch.linalg.inv({regular}).trace() * 6",
        ])
        return f"{self.pick([value, f'({value}).item()'])} {self.pick('<>')} {self.threshold()}"

    def l_branch(self, budget: int) -> None:
        name, condition = self.fresh("v"), self.number()
        yes, no = self.vec(1), f"settled(torch.linalg.inv({self.of_two('regular')}) @ {self.vec(1)} * 4)"
        self.emit(f"if {condition}:")
        self.emit(f"    {name} = {yes}")
        self.emit("else:")
        self.emit(f"    {name} = {no}")
        self.scope.vars[name] = "vec"

    def l_loop(self, budget: int) -> None:
        name, count, a, value = self.fresh("v"), self.fresh("c"), self.fresh("a"), self.vec(0)
        self.emit(f"{name}, {count}, {a} = {value}, 0, {self.of_two(self.pick(['regular', 'positive']))}")
        until, step = self.pick([
            (f"{name}.norm() > {self.pick(['2.3717', '4.1193', '0.5171'])}", f"8 * torch.linalg.solve({a}, {name})"),
            (f"torch.linalg.vector_norm({name} - torch.linalg.eigvalsh({a} + {a}.mT)) > 1.1713",
             f"torch.linalg.qr({a})[1].diagonal().abs() - {name}"),
            (f"torch.linalg.det({a}) > 7.1173", f"torch.linalg.inv({a}) @ {name} * 4 + 0.5"),
            (f"torch.linalg.cholesky({a} @ {a}.mT + torch.eye(4)).trace() > 3.1713", f"{name} - 0.5"),
        ])
        self.emit(f"while {count} < {self.r.randint(2, 5)} and {until}:")
        self.emit(f"    {name} = settled({step})")
        if self.chance(0.5):
            self.emit(f"    {a} = {a} / 2 + torch.diag({name}.abs())")
        self.emit(f"    {count} += 1")
        self.scope.vars.update({name: "vec", count: "int"})

    def l_try(self, budget: int) -> None:
        """A row of zeros: every library sees that it is singular. Less the diagonal: none is positive definite."""
        name, a, condition = self.fresh("v"), self.fresh("a"), self.cond(1)
        v, other = self.vec(0), self.vec(1)
        self.emit(f"{a} = {self.of_two('positive')}")
        spoilt, use = self.pick([
            (f"{a}[{self.r.randint(0, 3)}] = 0", f"torch.linalg.solve({a}, {v})"),
            (f"{a}[:, {self.r.randint(0, 3)}] = 0", f"torch.linalg.inv({a}) @ {v}"),
            (f"{a} = {a} - 200 * torch.eye(4)", f"torch.linalg.cholesky({a}) @ {v}"),
            (f"{a} = {a} * 0", f"torch.linalg.inv({a})[1] + {v}"),
        ])
        self.emit(f"if {condition}:")
        self.emit(f"    {spoilt}")
        self.emit("try:")
        self.emit(f"    {name} = settled({use})")
        self.emit(f"except {self.pick(['torch.linalg.LinAlgError', 'RuntimeError', 'torch._C._LinAlgError'])}:")
        self.emit(f"    {name} = {other}")
        self.scope.vars[name] = "vec"

    def l_info(self, budget: int) -> None:
        one, info = self.fresh("f"), self.fresh("i")
        ask = self.pick(["cholesky_ex({})", "inv_ex({})", "lu_factor_ex({})"])
        form = "symmetric" if ask.startswith("chol") else "regular"
        self.emit(f"{one} = torch.linalg.{ask.format(self.of_two(form))}")
        self.emit(f"{info} = {one}.info.item()")
        self.emit(f"if {info} {self.pick(['> 0', '== 0', '> 2'])}:")
        name = self.fresh("v")
        self.emit(f"    {name} = {self.vec(1)}")
        self.emit("else:")
        self.emit(f"    {name} = {self.vec(0)} + {info}")
        self.scope.vars[name] = "vec"


def generate_algebra(seed: int) -> str:
    return AlgebraGenerator(seed).program()
