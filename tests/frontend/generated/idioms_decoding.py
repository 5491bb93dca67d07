# SPDX-License-Identifier: Apache-2.0
"""Decode loops, beams, caches and what becomes of token sequences; and how statements of several lines are written."""

from __future__ import annotations

import textwrap

from tests.frontend.generated.wild import WildGenerator


class DecodingIdioms(WildGenerator):
    """Each writes one idiom, in one of its forms."""

    def text(self, source: str) -> None:
        """Several lines at once; the first of them gives the indent."""
        for line in textwrap.dedent(source).strip("\n").splitlines():
            self.emit(line)

    def bind(self, **kinds: str) -> None:
        for kind, names in kinds.items():
            for name in names.split():
                self.scope.vars[name] = kind

    def matrix(self) -> str:
        """A (3, 4) tensor of its own memory, in a new variable."""
        name = self.fresh("g")
        self.emit(f"{name} = torch.stack([{self.vec(0)}, {self.vec(1)}, {self.vec(0)}])")
        self.bind(mat=name)
        return name

    # ------------------------------------------------------------------ decoding
    def i_decode(self, budget: int) -> None:
        if self.scope.loop:
            return self.s_rebind(budget)
        h, seq, step, nxt, out = (self.fresh(p) for p in ("t", "seq", "j", "nxt", "t"))
        limit, eos = self.r.randint(3, 5), self.r.randint(0, 3)
        form = self.pick(["list", "cat", "batch", "while", "filled"])
        self.emit(f"{h} = {self.vec(1)}")
        if form == "list":
            self.text(f"""
                {seq} = [{self.r.randint(0, 3)}]
                for {step} in range({limit}):
                    {h} = ({h} * 0.5 + EMB[{seq}[-1]]).clamp(-8, 8)
                    {nxt} = {self.pick([f'int({h}.argmax())', f'{h}.argmax().item()', f'{h}.argmax(-1).tolist()'])}
                    {seq}.append({nxt})
                    if {nxt} == {eos}{self.pick(['', f' and {step} > 0', f' or {h}.sum() > {self.grid(2, 6)}'])}:
                        break
                {out} = {self.pick([
                    f'torch.tensor({seq}).float().sum() + {h}', f'{h} + len({seq})',
                    f'{h} + {seq}[-1] - {seq}.count({eos})'])}
            """)
        elif form == "cat":
            self.text(f"""
                {seq} = torch.tensor([{self.r.randint(0, 3)}])
                for {step} in range({limit}):
                    {h} = ({h} * 0.5 + EMB[{seq}[-1]]).clamp(-8, 8)
                    {nxt} = {h}.argmax({self.pick(['dim=0, keepdim=True', '-1, True'])})
                    {self.pick([f'if {nxt}.item() == {eos}:', f'if ({nxt} == {eos}).all():', f'if {eos} in {nxt}:'])}
                        break
                    {seq} = torch.cat([{seq}, {nxt}])
                {out} = {h} + {self.pick([
                    f'{seq}.shape[0]', f'len({seq})', f'{seq}.float().mean().floor()', f'{seq}[-1]'])}
            """)
        elif form == "batch":
            g, live = self.matrix(), self.fresh("live")
            self.text(f"""
                {live} = torch.ones(3, dtype=torch.long)
                {seq} = torch.zeros(3, 1, dtype=torch.long)
                for {step} in range({limit}):
                    {nxt} = ({g} * 0.5 + EMB[{seq}[:, -1]]).argmax(-1) * {live} + 3 * (1 - {live})
                    {seq} = torch.cat([{seq}, {nxt}[:, None]], dim=-1)
                    {live} = {self.pick([f'{live}.mul(({nxt} != {eos}).long())', f'{live} & ({nxt} != {eos}).long()'])}
                    if {self.pick([f'{live}.max() == 0', f'not {live}.any()', f'{live}.sum().item() < 2'])}:
                        break
                {out} = {h} + {seq}.shape[1] + {seq}.sum() % 3
            """)
        elif form == "while":
            done = self.fresh("b")
            self.text(f"""
                {seq}, {done} = [], False
                while not {done} and len({seq}) < {limit}:
                    {nxt} = {h}.argmax()
                    {h} = ({h} + EMB[{nxt}]).clamp(-4, 4).roll(1)
                    {seq}.append({self.pick([f'{nxt}', f'{nxt}.item()', f'{h}'])})
                    {done} = {self.pick([
                        f'bool({nxt} == {eos})', f'int({nxt}) == {eos}', f'({h} > {self.grid(1, 3)}).all()'])}
                {out} = {h} + len({seq})
            """)
        else:
            n = self.fresh("i")
            self.text(f"""
                {seq} = torch.full(({limit},), -1, dtype=torch.long)
                {n} = 0
                for {step} in range({limit}):
                    {h} = ({h} * 0.5 + EMB[{seq}[{step} - 1] % 4]).clamp(-8, 8)
                    {seq}[{self.pick([step, n])}] = {h}.argmax()
                    {n} += 1
                    if {seq}[{step}] == {eos}:
                        break
                {out} = {h} + {self.pick([f'{seq}[:{n}].sum()', f'{seq}[{n} - 1]', f'({seq} >= 0).sum()'])} % 5
            """)
            self.bind(int=n)
        self.bind(nest=seq, vec=f"{h} {out}")

    def i_beam(self, budget: int) -> None:
        if self.scope.loop:
            return self.s_rebind(budget)
        beams, step, grown, done, out = (self.fresh(p) for p in ("beams", "j", "grown", "done", "t"))
        record = self.chance(0.5)
        start = f"Step(0.0, (1,), {self.vec(0)})" if record else f"(0.0, (1,), {self.vec(0)})"
        stop = f"if ids[-1] == {self.r.randint(0, 3)}:" if self.chance(0.6) else f"if score > {self.grid(1, 5)}:"
        order = self.pick(["sorted({0}, key=lambda b: b[0], reverse=True)[:2]", "sorted({0}, key=lambda b: -b[0])[:2]",
                           "heapq.nlargest(2, {0}, key=lambda b: b[0])"]).format(grown)
        self.text(f"""
            {beams}, {done} = [{start}], []
            for {step} in range({self.r.randint(1, 2)}):
                {grown} = []
                for score, ids, h in {beams}:
                    {stop}
                        {done}.append((score, ids))
                        continue
                    values, places = (h + EMB[ids[-1]]).topk(2)
                    for v, p in zip({self.pick(['values.tolist(), places.tolist()', 'values, places'])}):
                        new = (score + float(v), ids + (int(p),), (h * 0.5 + EMB[int(p)]).clamp(-8, 8))
                        {grown}.append({'Step(*new)' if record else 'new'})
                if not {grown}:
                    break
                {beams} = {order}
            {out} = {beams}[0][2] + len({done}) + {beams}[0][1][-1]
        """)
        self.bind(nest=f"{beams} {done}", vec=out)

    def i_cache(self, budget: int) -> None:
        if self.scope.loop:
            return self.s_rebind(budget)
        kv, j, h, out = self.fresh("kv"), self.fresh("j"), self.fresh("t"), self.fresh("t")
        form = self.pick(["object", "none", "tuples", "dict"])
        stop = f"if {h}.sum() > {self.grid(0, 6)}:\n                        break"
        self.emit(f"{h} = {self.vec(1)}")
        if form == "object":
            self.text(f"""
                {kv} = Cache()
                for {j} in range(3):
                    for layer in range(2):
                        {h} = ({h} + {kv}.update({h}.unsqueeze(0), layer).mean(0).floor()).clamp(-8, 8)
                        if layer == 0 and {h}.max() > {self.grid()}:
                            break
                {out} = {h} + {kv}.seen + len({kv})
            """)
        elif form == "none":
            self.text(f"""
                {kv} = None
                for {j} in range(4):
                    {kv} = {h}[None] if {kv} is None else torch.cat(({kv}, {h}[None]), 0)
                    {h} = ({kv}.sum(0) - {h}).clamp(-8, 8)
                    {stop}
                {out} = {h} + {kv}.shape[0]
            """)
        elif form == "tuples":
            self.text(f"""
                {kv} = ()
                for {j} in range(3):
                    if {h}.sum() > {self.grid()}:
                        {kv} = {kv} + (({h}, {j}),)
                    {h} = ({h} + 1).roll(1)
                {out} = {h} + sum(k * n for k, n in {kv}) + len({kv})
            """)
        else:
            self.text(f"""
                {kv} = {{}}
                for {j} in range(4):
                    if {j} % 2 not in {kv} or {h}.sum() > {self.grid()}:
                        {kv}[{j} % 2] = {h}
                    {h} = ({h} * 0.5 + {kv}[{j} % 2]).clamp(-8, 8)
                {out} = {h} - {kv}[{self.r.randint(0, 1)}]
            """)
        self.bind(vec=f"{h} {out}", nest=kv)

    def i_collapse(self, budget: int) -> None:
        """CTC: repeats and blanks go; runs become spans."""
        g, out, prev, k, xs = self.matrix(), self.fresh("ids"), self.fresh("prev"), self.fresh("k"), self.fresh("t")
        source = self.pick([f"{g}.argmax(1).tolist()", f"{g}.argmax(-1)", f"({g} > 0).sum(1).tolist()"])
        form = self.pick(["loop", "groupby", "spans"])
        if form == "loop":
            self.text(f"""
                {out}, {prev} = [], {self.pick(['-1', 'None'])}
                for {k} in {source}:
                    if {k} != {prev} and {k} != {self.r.randint(0, 1)}:
                        {out}.append({self.pick([k, f'int({k})'])})
                    {prev} = {k}
            """)
        elif form == "groupby":
            self.emit(f"{out} = [key for key, group in itertools.groupby({g}.argmax(1).tolist()) if key != 0]")
        else:
            start = self.fresh("start")
            self.text(f"""
                {out}, {start} = [], None
                for {k}, {prev} in enumerate({self.vec(0)}.tolist()):
                    if {prev} > {self.grid()} and {start} is None:
                        {start} = {k}
                    elif {prev} <= 0 and {start} is not None:
                        {out}.append({self.pick([f'({start}, {k})', f'Span({start}, {k})'])})
                        {start} = None
                if {start} is not None:
                    {out}.append(({start}, 4))
            """)
        self.emit(f"{xs} = {self.vec(0)} + len({out})")
        self.bind(nest=out, vec=xs)
