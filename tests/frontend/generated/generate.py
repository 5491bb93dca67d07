# SPDX-License-Identifier: Apache-2.0
"""Writes random Python programs that terminate and, on almost all inputs, run without error.

A program is source text with `make()`, which builds a function or an nn.Module, and `SIGNATURE`, the
kinds of its inputs. Programs are typed while they are generated: a scope maps variable names to kinds
(see scope.KINDS), and every expression asked for by kind uses variables of the right kind only. Variables
bound in one arm are forgotten at the join unless every arm bound them.

Values stay on a grid of small dyadic numbers (inputs are multiples of 0.5, products are clamped), so
that float32 arithmetic is exact whatever the order of summation and decisions can't flip by rounding.
Loops end because a counter that nothing else may write bounds them.

Each seed first draws which features it may use (swarm testing): programs that use everything would
nearly all be refused for the least supported construct, and bugs hide between few features anyway.
"""

from __future__ import annotations

from tests.frontend.generated.containers import Containers
from tests.frontend.generated.control import Control
from tests.frontend.generated.prelude import PRELUDE
from tests.frontend.generated.scope import Scope
from tests.frontend.generated.tensors import Tensors


class Generator(Control, Containers, Tensors):
    """The forms of a program, and which statement comes next."""

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


def generate(seed: int) -> str:
    """The source of program number `seed`; from wild.WILD on, a harder one; from idioms.IDIOMS on, what models do; from
    drawing.DRAWING on, one that draws random numbers; from edges.EDGES on, one at the edges of dtypes and extents; from
    algebra.ALGEBRA on, one that factors matrices."""
    from tests.frontend.generated.algebra import ALGEBRA, generate_algebra
    from tests.frontend.generated.drawing import DRAWING, generate_drawing
    from tests.frontend.generated.edges import EDGES, generate_edges
    from tests.frontend.generated.idioms import IDIOMS, generate_idioms
    from tests.frontend.generated.wild import WILD, generate_wild

    if seed >= ALGEBRA:
        return generate_algebra(seed)
    if seed >= EDGES:
        return generate_edges(seed)
    if seed >= DRAWING:
        return generate_drawing(seed)
    if seed >= IDIOMS:
        return generate_idioms(seed)
    return generate_wild(seed) if seed >= WILD else Generator(seed).program()
