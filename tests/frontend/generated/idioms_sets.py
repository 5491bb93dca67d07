# SPDX-License-Identifier: Apache-2.0
"""Sets of integers in Python's order, counters that meet, numbers as text and back."""

from __future__ import annotations

from tests.frontend.generated.idioms_decoding import DecodingIdioms


class SetIdioms(DecodingIdioms):
    def some(self) -> str:
        """A few integers, most of which stand in each other's way. Known ones: what run-time ones cost to compile,
        tests/frontend/values/test_order_of_sets.py pays."""
        return self.pick(["[8, 0, 16]", "range(5)", "[24, 1, 3]", "[-1, 7, 9, 17]", "[0, 1]", "(16,)"])

    def i_sets(self, budget: int) -> None:
        if self.scope.loop:
            return self.s_rebind(budget)
        u, k, out, first = self.fresh("u"), self.fresh("k"), self.fresh("order"), self.fresh("i")
        self.emit(f"{u}, {out} = {self.pick([f'set({self.some()})', '{0, 8}', '{3, 8, 1, 5, 2}', 'set()'])}, []")
        for _ in range(self.r.randint(1, 3)):
            self.set_step(u, k, out)
        self.text(f"""
            {out}.append({self.pick([f'list({u})', f'[v for v in {u}]', f'list({u}.copy())', f'sorted({u})'])})
            {first} = {self.pick([f'next(iter({u}), 9)', f'len({u})', f'{u}.pop() if {u} else 7'])}
        """)
        self.bind(int=first, nest=out)

    def set_step(self, u: str, k: str, out: str) -> None:
        other = f"set({self.some()})"
        before = f"if {self.cond(1)}:\n                    " if self.chance(0.4) else ""
        form = self.pick(["change", "operator", "loop", "drain"])
        if form == "change":
            change = self.pick([f"{u}.add(24)", f"{u}.discard(3)", f"{u}.update({other})", f"{u}.update({self.some()})",
                                f"{u} |= {{3, 16}}", f"{u}.discard(8)", f"{u}.add(16)",
                                f"{u}.difference_update({{0, 8}})"])
            return self.text(f"""
                {before}{change}
            """)
        if form == "operator":
            return self.text(f"""
                {before}{u} = {self.pick([f'{u} | {other}', f'{u} - {other}', f'{u} & {other}', f'{u} ^ {{8, 1}}'])}
            """)
        if form == "loop":
            return self.text(f"""
                for {k} in {self.some()}:
                    if {k} in {u}:
                        {u}.remove({k})
                    {self.pick(['else:', 'elif len(' + u + ') < 3:'])}
                        {u}.add({self.pick([k, f'{k} + 8'])})
            """)
        self.text(f"""
            while len({u}) > {self.r.randint(0, 2)}:
                {out}.append({u}.pop())
        """)

    def i_tallies(self, budget: int) -> None:
        if self.scope.loop:
            return self.s_rebind(budget)
        a, b, out = self.fresh("d"), self.fresh("d"), self.fresh("i")
        few = [f"{self.vec(0)}[:3].clamp(-2, 2).long().tolist()", f"[{self.int_(0)}, {self.int_(0)}, 1]", "[1, 2, 1]"]
        op = self.pick(["+", "-", "&", "|"])
        self.text(f"""
            {a}, {b} = collections.Counter({self.pick(few)}), collections.Counter({self.pick(few)})
            if {self.cond(1)}:
                {self.pick([f'{a} {op}= {b}', f'{a}.subtract({b})', f'{b}[1] += 2', f'{a}.update({b})'])}
            {b} = {a} {self.pick(['+', '-', '&', '|'])} {b}
            {out} = {self.pick([f'sum({b}.values())', f'int({a} == {b})', f'int({a} >= {b})', f'{a}[1] + len({b})'])}
        """)
        self.bind(int=out, nest=b)

    def i_digits(self, budget: int) -> None:
        n, f, out, text = self.int_(0), f"{self.vec(0)}.sum().item()", self.fresh("i"), self.fresh("text")
        self.text(f"""
            {text} = {self.pick([f'bin({n})', f'hex({n})', f'format({n}, "03d")', f'format({f}, ".2f")'])}
            {out} = {self.pick([f'({n}).bit_count()', f'int(f"{{{n}:04d}}")', f'int(float(f"{{{f} / 8:.2f}}") * 4)',
                                f'math.comb(abs({n}) % 6, 2)', f'math.isqrt(abs({n}))'])}
        """)
        self.bind(int=out, nest=text)
