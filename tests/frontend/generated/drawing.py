# SPDX-License-Identifier: Apache-2.0
"""Programs that draw random numbers: tensors, conditions of branches and loops, from torch's generator, from those that
the model holds or makes, and from the standard library's and numpy's; states read, put back and seeded.

The statements here come on top of wild.py's. Seeds from DRAWING on give these programs. Each call is made under one
seed on both sides, and must leave all generators alike.
"""

from __future__ import annotations

from tests.frontend.generated.wild import WILD_PRELUDE, WildGenerator

DRAWING = 100_000_000

DRAWING_PRELUDE = WILD_PRELUDE + '''\
import random

HELD = torch.Generator().manual_seed(7)
STREAM = random.Random(3)


'''


class DrawingGenerator(WildGenerator):
    STATEMENTS = {**WildGenerator.STATEMENTS, "r_draw": (12, None), "r_inplace": (5, None), "r_branch": (8, None),
                  "r_loop": (5, None), "r_state": (5, None), "r_stream": (3, None)}

    def program(self) -> str:
        text = super().program()
        text = text.replace("def make():\n", "def make():\n    HELD.manual_seed(7)\n    STREAM.seed(3)\n")
        return DRAWING_PRELUDE + text[len(WILD_PRELUDE):]

    def source(self) -> str:
        """The generator that draws, as a keyword; made before if it is the program's own."""
        form = self.r.random()
        if form < 0.5:
            return ""
        if form < 0.8:
            return ", generator=HELD"
        made = self.fresh("gen")
        self.emit(f"{made} = torch.Generator().manual_seed({self.pick(['3', '7', 'int(' + self.int_(0) + ')'])})")
        return f", generator={made}"

    def drawn(self) -> str:
        """A vector of four numbers."""
        g = self.source()
        first = g.removeprefix(", ")
        return self.pick([
            f"torch.rand(4{g})", f"torch.randn(4{g})", f"torch.randint(-4, 5, (4,){g}).float()",
            f"torch.randperm(4{g}).float()", f"torch.bernoulli(torch.full((4,), 0.5){g})", f"torch.randn(5, 4{g})[1]",
            f"torch.empty(4).exponential_({first}).clamp(0, 8)", f"torch.empty(4).uniform_(-2, 2{g})",
            f"torch.multinomial(torch.arange(1.0, 6), 4{g}).float()", f"torch.normal({self.vec(0)}, 0.5{g})",
            f"torch.rand_like({self.vec(0)})", f"torch.randn_like({self.vec(0)})",
            f"F.dropout({self.vec(0)}, 0.5, training=True)", f"torch.empty(4).normal_(1.0, 0.5{g})",
            f"torch.empty(4).cauchy_({first}).clamp(-8, 8)", f"torch.empty(4).random_(0, 5{g})",
            f"torch.empty(4, dtype=torch.float64).normal_({first}).float()",
            f"torch.multinomial(torch.tensor([1.0, 2, 0, 3]), 4, replacement=True{g}).float()",
            f"torch.empty(4).geometric_(0.4{g}).clamp(0, 8)",
        ])

    def number(self) -> str:
        """A condition."""
        g = self.source()
        return self.pick([f"torch.rand((){g}) < {self.pick(['0.3', '0.5', '0.8'])}",
                          f"torch.randint(0, 3, (){g}) == 1", f"torch.randn((){g}).item() > {self.grid()}",
                          "random.random() < 0.5", "STREAM.random() < 0.6", "np.random.rand() < 0.5"])

    def r_draw(self, budget: int) -> None:
        name, value = self.fresh("v"), self.drawn()
        self.emit(f"{name} = {value}")
        self.scope.vars[name] = "vec"

    def r_inplace(self, budget: int) -> None:
        name = self.writable()
        if name is None:
            return self.r_draw(budget)
        g = self.source()
        part = self.pick(["", "[1:]", "[::2]"])
        self.emit(f"{name}{part}.{self.pick(['normal_(0.0, 2.0', 'uniform_(-2.0, 2.0', 'bernoulli_(0.5'])}{g})")

    def r_branch(self, budget: int) -> None:
        name, condition = self.fresh("v"), self.number()
        yes, no = self.vec(1), self.drawn()
        self.emit(f"if {condition}:")
        self.emit(f"    {name} = {yes}")
        self.emit("else:")
        self.emit(f"    {name} = {no}")
        self.scope.vars[name] = "vec"

    def r_loop(self, budget: int) -> None:
        name, count, value = self.fresh("v"), self.fresh("c"), self.vec(0)
        self.emit(f"{name}, {count} = {value}, 0")
        self.emit(f"while {count} < {self.r.randint(2, 5)} and torch.rand(()) < 0.7:")
        more = self.pick(["torch.randn(4)", "torch.rand(4, generator=HELD)"])
        self.emit(f"    {name} = ({name} + {more}).clamp(-8, 8)")
        self.emit(f"    {count} += 1")
        self.scope.vars.update({name: "vec", count: "int"})

    def r_state(self, budget: int) -> None:
        name, state = self.fresh("v"), self.fresh("state")
        form = self.pick(["seed", "held", "again", "fork"])
        if form == "seed":
            self.emit(f"torch.manual_seed({self.pick(['5', '6', f'int({self.int_(0)})'])})")
            self.emit(f"{name} = torch.rand(4)")
        elif form == "held":
            self.emit(f"HELD.manual_seed({self.r.randint(0, 9)})")
            self.emit(f"{name} = torch.rand(4, generator=HELD)")
        elif form == "again":
            self.emit(f"{state} = torch.get_rng_state()")
            self.emit(f"{name} = torch.rand(4)")
            self.emit(f"torch.set_rng_state({state})")
        else:
            self.emit("with torch.random.fork_rng(devices=[]):")
            self.emit(f"    {name} = torch.randn(4)")
        self.scope.vars[name] = "vec"

    def r_stream(self, budget: int) -> None:
        name, value = self.fresh("r"), self.pick(["random.uniform(-2, 2)", "STREAM.random()", "random.random() * 3",
                                                  "float(np.random.uniform(-1, 1))"])
        self.emit(f"{name} = {value}")
        self.scope.vars[name] = "float"


def generate_drawing(seed: int) -> str:
    return DrawingGenerator(seed).program()
