# SPDX-License-Identifier: Apache-2.0
"""Programs made of what dynamic models do: decode loops, beams, caches, routing, suppression, halting, parsing, trees.

The statements here come on top of wild.py's, as small variants of the idiom; the rest of the program is as random as
before, so that idioms stand in arms, in loops, after early returns and beside shared containers. Seeds from IDIOMS on
give these programs.
"""

from __future__ import annotations

from tests.frontend.generated.idioms_prelude import IDIOM_PRELUDE
from tests.frontend.generated.idioms_sets import SetIdioms
from tests.frontend.generated.wild import WILD_PRELUDE, WildGenerator

IDIOMS = 50_000_000

IDIOM_FEATURES = {
    "decode": 0.35, "beam": 0.25, "cache": 0.25, "rows": 0.35, "route": 0.35, "nms": 0.25, "halt": 0.3, "solver": 0.2,
    "counts": 0.3, "queues": 0.25, "vals": 0.3, "views2": 0.35, "arrays": 0.25, "memory": 0.3, "coroutine": 0.2,
    "shrinks": 0.3, "labels": 0.25, "trees": 0.2, "tools": 0.3, "scatter": 0.35, "collapse": 0.3, "records": 0.3,
    "stack": 0.25, "caught": 0.3, "padded": 0.25,
    "sets": 0.3, "tallies": 0.2, "digits": 0.2,
}


class IdiomGenerator(SetIdioms):
    STATEMENTS = {**WildGenerator.STATEMENTS, **{f"i_{name}": (5, name) for name in IDIOM_FEATURES}}

    def __init__(self, seed: int):
        super().__init__(seed)
        self.has |= {f for f, p in IDIOM_FEATURES.items() if self.r.random() < p}
        self.budget = self.pick([6, 8, 12, 16, 24])

    def program(self) -> str:
        text = super().program()
        return IDIOM_PRELUDE + text[len(WILD_PRELUDE):]

    # ------------------------------------------------------------------ per row, per expert, per box
    def i_rows(self, budget: int) -> None:
        g, rows, i, out = self.matrix(), self.fresh("rows"), self.fresh("j"), self.fresh("t")
        form = self.pick(["stack", "write", "masks", "zip", "inplace"])
        if form == "stack":
            self.text(f"""
                {rows} = []
                for {i} in range({self.pick([f'{g}.size(0)', f'{g}.shape[0]', f'len({g})'])}):
                    if {g}[{i}].sum() > {self.grid()}:
                        {rows}.append({g}[{i}] * {self.grid()})
                    {self.pick(['else:', f'elif {g}[{i}, 0] < 0:'])}
                        {rows}.append({self.vec(0)})
                {out} = {self.pick([
                    f'torch.stack({rows}).sum(0)', f'sum({rows})', f'torch.cat({rows})[:4]'
                ])}.clamp(-8, 8) if {rows} else {self.vec(0)}
            """)
            self.bind(nest=rows)
        elif form == "write":
            self.text(f"""
                for {i}, row in enumerate({g}):
                    if row.max() > {self.grid()}:
                        {g}[{i}] = {self.pick([f'{g}[{i} - 1]', 'row.flip(0)', self.vec(0), '0.5'])}
                        {self.pick(['continue', 'break', 'pass'])}
                    {g}[{i}, {i}] += 1
                {out} = {g}.sum(0).clamp(-8, 8)
            """)
        elif form == "masks":
            self.text(f"""
                {rows} = {g}.sum(1) > {self.grid()}
                {out} = torch.zeros(3, 4)
                if {rows}.any():
                    {out}[{rows}] = {g}[{rows}] * 2
                if not {rows}.all():
                    {out}[~{rows}] = {self.pick([f'{g}[~{rows}] - 1', self.vec(0), '1.5'])}
                {out} = {out}.sum(0).clamp(-8, 8)
            """)
        elif form == "zip":
            self.text(f"""
                {out} = {self.vec(0)}
                for row, k in zip({g}.unbind({self.pick(['', '0'])}), {g}.argmax(1).tolist()):
                    {out} = ({out} + (row if k > 1 else EMB[k])).clamp(-8, 8)
            """)
        else:
            self.text(f"""
                for row in {g}:
                    row.{self.inplace_call()}
                    if row.sum() > {self.grid()}:
                        row[{self.pick(['0', '1:3', 'row > 0'])}] = {self.grid()}
                {out} = {g}[{self.r.randint(0, 2)}]
            """)
        self.bind(vec=out)

    def i_route(self, budget: int) -> None:
        g, which, acc, e, out = self.matrix(), self.fresh("which"), self.fresh("g"), self.fresh("e"), self.fresh("t")
        sel = self.fresh("sel")
        form = self.pick(["where", "mask", "onehot", "topk", "hit"])
        self.emit(f"{which} = "
                  f"{self.pick([f'{g}.argmax(1)', f'({g}.sum(1) > {self.grid()}).long()', f'{g}.abs().argmin(-1)'])}")
        self.emit(f"{acc} = torch.zeros_like({g})")
        if form == "where":
            self.text(f"""
                for {e} in range(4):
                    {sel} = torch.where({which} == {e})[0]
                    if {self.pick([f'{sel}.numel() == 0', f'len({sel}) == 0', f'{sel}.shape[0] == 0'])}:
                        continue
                    {self.pick([
                        f'{acc}[{sel}] += {g}[{sel}] * EMB[{e}]', f'{acc}.index_add_(0, {sel}, {g}[{sel}] + {e})',
                        f'{acc}[{sel}] = {g}[{sel}] - EMB[{e}]'])}
            """)
        elif form == "mask":
            self.text(f"""
                for {e} in range(4):
                    {sel} = {which} == {e}
                    if {sel}.any():
                        {acc}[{sel}] = ({g}[{sel}] + EMB[{e}]).clamp(-8, 8)
            """)
        elif form == "onehot":
            self.text(f"""
                {sel} = F.one_hot({which}, 4).t()
                for {e} in {sel}.sum(1).nonzero():
                    places = torch.where({sel}[{e}.item()])[0]
                    {acc}.index_add_(0, places, ({g}[places] * {e}).clamp(-8, 8))
            """)
        elif form == "topk":
            self.text(f"""
                values, {sel} = {g}.topk(2, dim=-1)
                for i in range(3):
                    for {e} in range(2):
                        {acc}[i] += values[i, {e}] * EMB[{sel}[i, {e}]]
            """)
        else:
            self.text(f"""
                for {e} in {self.pick([
                    f'{which}.unique().tolist()', f'sorted(set({which}.tolist()))', f'torch.unique({which})'])}:
                    {sel} = ({which} == {e}).nonzero({self.pick(['', 'as_tuple=False'])}).flatten()
                    {acc}[{sel}] = {g}[{sel}] + EMB[{e}] * {sel}.numel()
            """)
        self.emit(f"{out} = {acc}.sum(0).clamp(-8, 8)")
        self.bind(vec=out, mat=acc)

    def i_nms(self, budget: int) -> None:
        if self.scope.loop:
            return self.s_rebind(budget)
        order, keep, i, out, s = (self.fresh(p) for p in ("order", "keep", "i", "t", "t"))
        form = self.pick(["order", "mask", "pairs"])
        self.emit(f"{s} = {self.vec(1)}")
        if form == "order":
            self.text(f"""
                {order} = {s}.argsort(descending=True, stable=True)
                {keep} = []
                while {self.pick([f'{order}.numel() > 0', f'len({order})', f'{order}.shape[0] > 0'])}:
                    {i} = {order}[0]{self.pick(['.item()', ''])}
                    {keep}.append({i})
                    if {order}.numel() == 1{self.pick(['', f' or {s}[{i}] < {self.grid()}'])}:
                        break
                    {order} = {order}[1:]
                    {order} = {order}[({s}[{order}] - {s}[{i}]).abs() > {self.grid(0, 2)}]
                {out} = {s} + len({keep})
            """)
            self.bind(nest=keep)
        elif form == "mask":
            self.text(f"""
                {keep} = torch.ones(4, dtype=torch.bool)
                for {i} in {s}.argsort(descending=True, stable=True).tolist():
                    if not {keep}[{i}]:
                        continue
                    {keep} &= ({s} - {s}[{i}]).abs() > {self.grid(0, 2)}
                    {keep}[{i}] = True
                {out} = {s} * {keep} + {keep}.sum()
            """)
            self.bind(mask=keep)
        else:
            self.text(f"""
                {keep} = []
                for {i} in range(4):
                    if all(abs({s}[{i}].item() - {s}[k].item()) > {self.grid(0, 2)} for k in {keep}):
                        {keep}.append({i})
                {out} = {s}{self.pick([
                    f'[{keep}].sum() + {s}', f' + len({keep})',
                    f'.index_select(0, torch.tensor({keep})).sum() + {s}'])}
            """)
            self.bind(nest=keep)
        self.bind(vec=f"{s} {out}")

    def i_halt(self, budget: int) -> None:
        if self.scope.loop:
            return self.s_rebind(budget)
        p, n, out, c, g = self.fresh("t"), self.fresh("t"), self.fresh("t"), self.fresh("c"), self.fresh("live")
        limit = self.r.randint(2, 5)
        self.text(f"""
            {out}, {c} = {self.vec(1)}, 0
            {p}, {n} = torch.zeros(4), torch.zeros(4)
            while {self.pick([
                f'({p} < 1).any() and {c} < {limit}',
                f'{c} < {limit} and bool(({p} < 1).sum() > {self.r.randint(0, 2)})'])}:
                {g} = ({p} < 1).float()
                {p} {self.pick(['+=', f'= {p} +'])} ({out}.abs() * 0.25).clamp(0.25, 1) * {g}
                {n} += {g}
                {out} = {self.pick([
                    f'torch.where({g} > 0, {out} - 1, {out})', f'({out} * (1 - {g}) + ({out} + 0.5) * {g})',
                    f'{out}.masked_fill({p} > 1, 0.5)'])}
                {c} += 1
            {out} = ({out} + {n}).clamp(-8, 8)
        """)
        self.bind(vec=f"{out} {n}", int=c)

    def i_solver(self, budget: int) -> None:
        if self.scope.loop:
            return self.s_rebind(budget)
        y, t, dt, c, err, log = (self.fresh(p) for p in ("t", "r", "r", "c", "e", "log"))
        self.text(f"""
            {y}, {t}, {dt}, {c}, {log} = {self.vec(1)}, 0.0, {self.pick(['0.5', '1.0', 'torch.tensor(0.5)'])}, 0, []
            while {t} < 2.0 and {c} < 6:
                {c} += 1
                step = ({y} * {dt}).clamp(-2, 2)
                {err} = {self.pick(['step.abs().max()', 'float(step.abs().max())', 'step.norm(p=1) / 4'])}
                if {err} > {self.grid(1, 2)}:
                    {dt} = {dt} * 0.5
                    {self.pick(['continue', f'{log}.append({c})'])}
                else:
                    {y}, {t} = ({y} - step).clamp(-8, 8), {t} + {dt}
                    if {err} < 0.5:
                        {dt} = min({dt} * 2, 1.0)
            {y} = {y} + {c} + {t}
        """)
        self.bind(vec=y, int=c, nest=log)

    # ------------------------------------------------------------------ containers keyed and ordered by run-time values
    def i_counts(self, budget: int) -> None:
        if self.scope.loop:
            return self.s_rebind(budget)
        d, k, out = self.fresh("d"), self.fresh("k"), self.fresh("i")
        source = self.pick([f"{self.vec(0)}.clamp(-2, 2).long().tolist()", f"({self.vec(0)} > 0).long().tolist()"])
        form = self.pick(["counter", "default", "plain", "seen", "groups"])
        if form == "counter":
            self.text(f"""
                {d} = collections.Counter({source})
                {out} = {self.pick([
                    f'{d}.most_common(1)[0][1]', f'{d}[1]', f'max({d}.values())', f'len({d})',
                    f'max({d}, key={d}.get)'])}
            """)
        elif form == "default":
            self.text(f"""
                {d} = collections.defaultdict({self.pick(['int', 'lambda: 1'])})
                for {k} in {source}:
                    {d}[{k}] += 1
                {out} = {d}[0] + len({d})
            """)
        elif form == "plain":
            self.text(f"""
                {d} = {{}}
                for {k} in {source}:
                    {self.pick([f'{d}[{k}] = {d}.get({k}, 0) + 1', f'{d}.setdefault({k}, len({d}))'])}
                {out} = {self.pick([f'len({d})', f'sum({d}.values())', f'{d}.get(0, 7)', f'max({d}, key={d}.get)'])}
            """)
        elif form == "seen":
            self.text(f"""
                {d}, {out} = set(), 0
                for {k} in {source}:
                    if {k} in {d}:
                        {self.pick(['break', 'continue', f'{out} += 10'])}
                    {d}.add({k})
                    {out} += {k}
            """)
        else:
            self.text(f"""
                {d} = {{'pos': [], 'neg': []}}
                for {k} in {self.vec(0)}:
                    {d}['pos' if {k} > {self.grid()} else 'neg'].append({self.pick([k, f'{k}.item()'])})
                {out} = len({d}['pos']) * 5 + len({d}['neg'])
            """)
        self.bind(int=out, nest=d)

    def i_queues(self, budget: int) -> None:
        if self.scope.loop:
            return self.s_rebind(budget)
        q, j, out = self.fresh("q"), self.fresh("j"), self.fresh("t")
        form = self.pick(["deque", "heap", "work", "bisect"])
        if form == "deque":
            self.text(f"""
                {q} = collections.deque([{self.vec(0)}], maxlen={self.r.randint(2, 3)})
                for {j} in range(3):
                    if {q}[{self.pick(['0', '-1'])}].sum() > {self.grid()}:
                        {q}.append({self.vec(0)} + {j})
                    else:
                        {q}.appendleft({q}[-1] * 0.5)
                {out} = sum({q}).clamp(-8, 8) + len({q})
            """)
        elif form == "heap":
            self.text(f"""
                {q} = []
                for {j}, v in enumerate({self.vec(0)}.tolist()):
                    heapq.heappush({q}, (v, {j}))
                    if len({q}) > {self.r.randint(1, 3)}:
                        heapq.heappop({q})
                {out} = {self.vec(0)} + {q}[0][1]
            """)
        elif form == "work":
            self.text(f"""
                {q}, {out} = [({self.vec(0)}, 0)], {self.vec(0)}
                while {q}:
                    item, level = {q}.pop({self.pick(['', '0'])})
                    if level < 2 and item.sum() > {self.grid()}:
                        {q}.append((item * 0.5, level + 1))
                        {q}.append((item - 1, level + {self.r.randint(1, 2)}))
                    else:
                        {out} = ({out} + item).clamp(-8, 8)
            """)
            return self.bind(vec=out)
        else:
            self.text(f"""
                import bisect
                {q} = [-1.0, 0.5, 2.0]
                {j} = bisect.{self.pick(['bisect', 'bisect_left'])}({q}, {self.float_(1)})
                {out} = {self.vec(0)} + {j}
            """)
        self.bind(vec=out, nest=q)

    def i_vals(self, budget: int) -> None:
        a, b, out = self.fresh("val"), self.fresh("val"), self.fresh("t")
        self.text(f"""
            {a}, {b} = Val({self.vec(1)}, 'a'), Val({self.vec(0)}, 'b')
            if {self.cond(1)}:
                {self.pick([
                    f'{a} = {a} + {b}', f'{a}, {b} = {b}, {a}', f'{a}.t = {b}.t', f'{b} = -{a}', f'{a} += 1',
                    f'{b}.name = {a}.name'])}
        """)
        self.emit(f"{out} = " + self.pick([
            f"sum([{a}, {b}]).t.clamp(-8, 8)", f"max({a}, {b}).t", f"sorted([{a}, {b}, -{a}])[1].t",
            f"({a} + 1).t + len({b})", f"{a}({b}.t)", f"{a}[1:3].sum() + {b}[0] + {self.vec(0)}",
            f"{self.vec(0)} + ({a} == {b}) + ({a} < {b})", f"{self.vec(0)} + [{a}, {b}].index({b})",
            f"{self.vec(0)} + ({b} in [{a}])", f"functools.reduce(operator.add, [{a}, {b}, 2]).t",
            f"{{'a': {a}, 'b': {b}}}[max('ab', key=lambda n: {{'a': {a}, 'b': {b}}}[n].score())].t"]))
        self.bind(vec=out, nest=f"{a} {b}")

    # ------------------------------------------------------------------ memory
    def i_views2(self, budget: int) -> None:
        g, v, out = self.matrix(), self.fresh("v"), self.fresh("t")
        view = self.pick([f"{g}.unbind(1)[{self.r.randint(0, 3)}]", f"{g}.split(2, dim=1)[1]",
                          f"{g}.chunk(3)[0]", f"{g}[:, 1:].diagonal()", f"{g}.t()", f"{g}.T[1]", f"{g}.view(4, 3)",
                          f"{g}.flatten()[2:9]", f"{g}.narrow(1, 1, 2)", f"{g}.select(0, -1)", f"{g}.permute(1, 0)[:2]",
                          f"{g}[..., -1]", f"{g}.unsqueeze(0)[0, 1:]", f"{g}[1].unfold(0, 2, 2)",
                          f"{g}.as_strided((2, 2), (4, 1), 1)", f"{g}.movedim(0, 1)[3]", f"{g}.swapaxes(0, 1)[0]",
                          f"{g}.tensor_split(2)[1]", f"{g}.view(3, 2, 2)[:, 0]", f"{g}[{self.int_(0)} % 3]",
                          f"{g}[:{self.int_(0)} % 3 + 1]", f"{g}.reshape(2, 6)[1]"])
        self.emit(f"{v} = {view}")
        if self.chance(0.4):
            self.emit(f"if {self.cond(1)}:")
            self.emit(f"    {v} = {self.pick([f'{v}.clone()', f'{v} * 1', f'{g}[0]', f'{v}[:1]'])}")
        pre = self.when()
        self.emit(pre + self.pick([f"{v}.add_(1)", f"{v}.mul_(-0.5)", f"{v}.zero_()",
                                   f"{v}[0] = {self.grid()}", f"{v} += {v}", f"{v}.copy_({v}.flip(0))",
                                   f"{v}[{v} > {self.grid()}] = 0.5", f"{v}.clamp_(max={self.grid()})", f"{v}[:] = 2.5",
                                   f"{g}[1] = {g}[0]", f"{g}.fill_diagonal_({self.grid()})",
                                   f"torch.neg({v}, out={v})", f"{g}.neg_()"]))
        self.emit(f"{out} = {g}.sum(0).clamp(-8, 8) + {v}.sum()")
        self.bind(vec=out)

    def i_arrays(self, budget: int) -> None:
        a, t, out = self.fresh("a"), self.fresh("t"), self.fresh("t")
        self.text(f"""
            {t} = {self.vec(1)} + 0
            {a} = {t}.{self.pick(['numpy()', 'detach().cpu().numpy()', 'numpy().copy()'])}
        """)
        pre = self.when()
        self.emit(pre + self.pick([f"{a}[1] = {self.grid()}", f"{a} += 1", f"{a}[{a} > {self.grid()}] = 0.5",
                                   f"{t}.add_(1)", f"{a}[::2] *= 2", f"{a} = {a} * 2"]))
        self.emit(f"{out} = {self.vec(0)} + " + self.pick([
            f"float({a}.sum())", f"int({a}.argmax())", f"float(np.clip({a}, -1, 1).max())", f"torch.from_numpy({a})",
            f"torch.as_tensor({a} * 0.5)", f"int((np.where({a} > 0)[0]).size)", f"float({a}[{a} > 0].sum())",
            f"int(np.count_nonzero({a}))", f"torch.tensor(np.sort({a}))", f"float(np.median({a}))",
            f"len(np.flatnonzero({a} > 1))"]))
        self.bind(vec=f"{t} {out}")

    def i_memory(self, budget: int) -> None:
        """State that the module makes or keeps between calls."""
        me = self.scope.self_name
        if not me or self.scope.loop:
            return self.s_rebind(budget)
        out = self.fresh("t")
        form = self.pick(["lazy", "ema", "history", "table", "count", "best"])
        if form == "lazy":
            self.text(f"""
                if getattr({me}, 'kept', None) is None{self.pick(['', f' or {self.cond(0)}'])}:
                    {me}.kept = {self.vec(0)}
                else:
                    {me}.kept = ({me}.kept * 0.5 + {self.vec(0)}).clamp(-8, 8)
                {out} = {me}.kept + 1
            """)
        elif form == "ema":
            self.text(f"""
                if {self.cond(1)}:
                    {me}.buf.{self.pick([
                        f'mul_(0.5).add_({self.vec(0)})', f'copy_({self.vec(0)})', f'lerp_({self.vec(0)}, 0.5)'])}
                {out} = {me}.buf.clamp(-8, 8) - {self.vec(0)}
            """)
        elif form == "history":
            self.text(f"""
                {me}.log.append({self.pick([self.vec(0), self.float_(0)])})
                if len({me}.log) > {self.r.randint(1, 3)}:
                    {me}.log{self.pick(['.pop(0)', '.clear()', f' = {me}.log[-1:]'])}
                {out} = {self.vec(0)} + len({me}.log)
            """)
        elif form == "table":
            self.text(f"""
                {me}.named = {{'a': {self.vec(0)}, 'n': {self.int_(0)}}}
                if {self.cond(0)}:
                    {me}.named['n'] += 1
                {out} = {me}.named['a'] + {me}.named['n'] % 3
            """)
        elif form == "count":
            self.text(f"""
                {me}.steps += {self.pick(['1', self.int_(0)])}
                {out} = {self.vec(0)} + {me}.steps % 4
                if {me}.steps > {self.r.randint(2, 6)}:
                    {me}.steps = 0
            """)
        else:
            self.text(f"""
                if {me}.last is None or {self.vec(0)}.sum() > {me}.last.sum():
                    {me}.last = {self.vec(0)}{self.pick(['', '.clone()', ' + 0'])}
                {out} = {me}.last * 2
            """)
        self.bind(vec=out)

    # ------------------------------------------------------------------ generators, tools, trees
    def i_coroutine(self, budget: int) -> None:
        g, out, t = self.fresh("co"), self.fresh("t"), self.fresh("t")
        form = self.pick(["send", "return", "close"])
        self.text(f"""
            {g} = averager({self.vec(0)})
            {out} = next({g})
            if {self.cond(1)}:
                {out} = {g}.send({self.vec(0)})
        """)
        if form == "send":
            self.emit(f"{t} = {out} + {g}.send({self.vec(0)})")
        elif form == "return":
            self.text(f"""
                try:
                    {g}.send(None)
                except StopIteration as stop:
                    {t} = {out} + stop.value
            """)
        else:
            self.text(f"""
                {g}.close()
                {t} = {out} + len(list({g}))
            """)
        self.bind(vec=f"{out} {t}")

    def i_shrinks(self, budget: int) -> None:
        if self.scope.loop:
            return self.s_rebind(budget)
        v, c, out = self.fresh("vv"), self.fresh("c"), self.fresh("t")
        self.text(f"""
            {v}, {c} = {self.vec(1)}, 0
            while {self.pick([f'{v}.numel() > 1', f'len({v}) > 1', f'{v}.shape[0] > 1'])} and {c} < 4:
                {c} += 1
                {v} = {self.pick([
                    f'{v}[{v} > {v}.min()]', f'{v}[1:]', f'{v}[{v} >= {v}.mean()]', f'{v}[: {v}.shape[0] // 2]',
                    f'{v}[({v} > 0).nonzero().squeeze(1)]', f'{v}.sort().values[1:]'])}
                if {v}.numel() == 0{self.pick(['', f' or {v}.sum() > {self.grid(2, 5)}'])}:
                    {self.pick(['break', f'{v} = {self.vec(0)}', f'{v} = torch.zeros(1)'])}
            {out} = {self.vec(0)} + {v}.sum() + {v}.shape[0]
        """)
        self.bind(vec=out, int=c, nest=v)

    def i_labels(self, budget: int) -> None:
        k, s, out = self.fresh("k"), self.fresh("name"), self.fresh("i")
        form = self.pick(["pick", "join", "enum", "tuple", "text"])
        self.emit(f"{k} = int({self.vec(0)}[:3].argmax())")
        if form == "pick":
            self.emit(f"{s} = ['cat', 'bird', 'ox'][{k}]")
            self.emit(f"{out} = len({s}) + ('b' in {s}) * 10")
        elif form == "join":
            self.emit(f"{s} = {self.pick([repr(''), repr('-')])}.join('xyzw'[i] for i in "
                      f"({self.vec(0)}.clamp(0, 3).long()).tolist())")
            self.emit(f"{out} = {s}.count('x')" if self.chance(0.5) else f"{out} = len({s})")
        elif form == "enum":
            self.emit(f"{s} = Mode.WARM if {self.cond(0)} else Mode.COLD")
            self.emit(f"{out} = {{Mode.WARM: 3, Mode.COLD: 5}}[{s}] + ({s} is Mode.WARM)")
        elif form == "tuple":
            self.emit(f"{s} = {{(0, 'a'): 1, (1, 'a'): 4, (2, 'a'): 9}}")
            self.emit(f"{out} = {s}[({k}, 'a')]")
        else:
            self.emit(f"{s} = f'{{{k}}}:{{{k} * 2}}'")
            self.emit(f"{out} = int({s}.split(':')[1]) if {k} else 7")
        self.bind(int=f"{out} {k}", nest=s)

    def i_trees(self, budget: int) -> None:
        out, depth = self.fresh("t"), self.fresh("i")
        if self.chance(0.5):
            self.text(f"""
                {out}, {depth} = tree({self.vec(1)})
                {out} = {self.vec(0)} + {out}.clamp(-8, 8)
            """)
        else:
            walk = self.fresh("fn")
            self.text(f"""
                def {walk}(node, level):
                    if not isinstance(node, tuple):
                        return node, 1
                    left, a = {walk}(node[0], level + 1)
                    right, b = {walk}(node[1], level + 1)
                    if (left - right).sum() > {self.grid()}:
                        return left, a
                    return (left + right + level).clamp(-8, 8), a + b
                {out}, {depth} = {walk}((({self.vec(0)}, {self.vec(1)}), {self.vec(0)}), 0)
            """)
        self.bind(vec=out, int=depth)

    def i_tools(self, budget: int) -> None:
        out = self.fresh("t")
        a, b = self.vec(0), self.vec(1)
        self.emit(f"{out} = " + self.pick([
            f"functools.reduce(lambda p, q: p if p.sum() > q.sum() else p + q, [{a}, {b}, {a}]).clamp(-8, 8)",
            f"list(itertools.accumulate([{a}, {b}, {a}], lambda p, q: (p + q).clamp(-8, 8)))[{self.r.randint(0, 2)}]",
            f"sum(itertools.chain([{a}], (t for t in [{b}, {a}] if t.max() > {self.grid()}))).clamp(-8, 8)",
            f"{a} + len(list(itertools.takewhile(lambda v: v > {self.grid()}, {b}.tolist())))",
            f"sum(t * i for i, t in itertools.product((1, 2), [{a}, {b}])).clamp(-8, 8)",
            f"[p if p.sum() > {self.grid()} else q for p, q in itertools.zip_longest([{a}, {b}], "
            f"[{a}], fillvalue={b})][-1]",
            f"next(filter(lambda t: t.sum() > {self.grid()}, [{a}, {b}]), {a} * 2)",
            f"dict(zip('ab', [{a}, {b}]))['a' if {self.cond(0)} else 'b']",
            f"torch.stack([t for t in ({a}, {b}, {a}) if t.sum() > {self.grid()}] or [{a}]).amax(0)",
            f"{a} + sum(1 for _ in itertools.dropwhile(lambda v: v < 0, {b}.tolist()))",
            f"(lambda *ts, k=1: sum(ts) * k)(*[t for t in ({a}, {b}) if t[0] > 0], {a}, "
            f"k={self.r.randint(1, 2)}).clamp(-8, 8)",
            f"min(({a}, {b}), key=functools.cmp_to_key(lambda p, q: 1 if p.sum() > q.sum() else -1))",
            f"operator.itemgetter({self.int_(0)} % 2)([{a}, {b}])",
            f"{a} + (any(v > 2 for v in {b}.tolist()) and not all(v > -1 for v in {a}.tolist()))",
            f"max(enumerate([{a}, {b}]), key=lambda p: (p[1].sum().item(), -p[0]))[1]"]))
        self.bind(vec=out)

    def i_scatter(self, budget: int) -> None:
        out, iv = self.fresh("t"), self.fresh("iv")
        a, b = self.vec(1), self.vec(0)
        self.emit(f"{iv} = " + self.pick([
            f"{b}.clamp(0, 3).long()", f"{b}.argsort(stable=True)", f"({b} > 0).long()", "torch.tensor([1, 1, 0, 3])"]))
        self.emit(f"{out} = " + self.pick([
            f"torch.zeros(4).scatter_add_(0, {iv}, {a})", f"torch.zeros(4).index_put_(({iv},), {a}, accumulate=True)",
            f"({a}).scatter_reduce(0, {iv}, {b}, '{self.pick(['sum', 'amax', 'amin'])}', "
            f"include_self={self.pick(['True', 'False'])})",
            f"{b}.masked_scatter({self.mask(0)}, {a})", f"torch.bincount({iv}, minlength=4).float()",
            f"torch.searchsorted(torch.tensor([-1.0, 0.0, 1.0]), {a}{self.pick(['', ', right=True'])}).float()",
            f"torch.bucketize({a}, torch.tensor([-1.0, 0.5]){self.pick(['', ', right=True'])}).float()",
            f"torch.unique({iv}).float().sum() + {b}", f"torch.unique({iv}, return_counts=True)[1].max() + {b}",
            f"({a}).take_along_dim({iv}, 0)", f"{b}.clone().index_copy_(0, {iv}[:1], {b}[:1] * 2)",
            f"{b}.clone().index_fill_(0, {iv}, 0.5)", f"F.one_hot({iv}, 4).float().sum(0)",
            f"{b}.put(torch.tensor([0]), {b}[:1])", f"torch.cummax({a}, 0).values", f"({a}).kthvalue(2).values + {b}",
            f"{b}.nonzero().numel() + {b}", f"torch.unique_consecutive({iv}).numel() + {b}", f"({a}).argmax() + {b}",
            f"torch.isin({iv}, torch.tensor([0, 3])).float()", f"torch.multinomial(torch.tensor([0.0, 1.0]), 1) + {b}",
            f"torch.tensor_split({a}, 2)[0].repeat(2)", f"torch.median({a}) + {b}", f"({a}).diff(prepend={b}[:1])"]))
        self.bind(vec=out, ivec=iv)

    def i_records(self, budget: int) -> None:
        r, out = self.fresh("p"), self.fresh("i")
        form = self.pick(["span", "step", "replace", "spans"])
        if form == "span":
            self.text(f"""
                {r} = Span({self.int_(0)}, {self.r.randint(3, 9)}, 'l' if {self.cond(0)} else 'r')
                {out} = {r}.width() + ({r}.label == 'l')
            """)
        elif form == "step":
            self.text(f"""
                {r} = Step({self.float_(0)}, (1, {self.int_(0)}), {self.vec(0)})
                if {self.cond(1)}:
                    {r} = {r}._replace(score={self.float_(0)}, tokens={r}.tokens + (2,))
                {out} = len({r}.tokens) + int({r}.score > 0)
            """)
        elif form == "replace":
            self.text(f"""
                {r} = Rec({self.vec(0)}, {self.int_(0)})
                if {self.cond(1)}:
                    {r} = dataclasses.replace({r}, k={r}.k + 1, opt={self.vec(0)})
                {out} = {r}.k + ({r}.opt is None)
            """)
        else:
            self.text(f"""
                {r} = [Span(i, i + 1) for i, v in enumerate({self.vec(0)}.tolist()) if v > {self.grid()}]
                {out} = sum(s.end for s in {r}) + len({r})
            """)
        self.bind(int=out, nest=r)

    def i_stack(self, budget: int) -> None:
        if self.scope.loop:
            return self.s_rebind(budget)
        st, op, out = self.fresh("st"), self.fresh("op"), self.fresh("t")
        self.text(f"""
            {st} = [{self.vec(0)}]
            for {op} in {self.pick([
                f'{self.vec(0)}.sign().long().tolist()', f'({self.vec(0)} > {self.grid()}).tolist()',
                f'{self.vec(0)}'])}:
                if {op} > 0{self.pick(['', f' or len({st}) < 2'])}:
                    {st}.append({self.pick([self.vec(0), f'{st}[-1] * 0.5', 'EMB[1]'])})
                elif len({st}) > 1:
                    right, left = {st}.pop(), {st}.pop()
                    {st}.append((left - right).clamp(-8, 8))
            {out} = {st}[-1] + len({st})
        """)
        self.bind(vec=out, nest=st)

    def i_caught(self, budget: int) -> None:
        k, out, xs = self.fresh("i"), self.fresh("t"), self.fresh("xs")
        body, kind = self.pick([
            (f"[{self.vec(0)}, {self.vec(1)}][{{k}}]", "IndexError"),
            (f"{{{{0: {self.vec(0)}, 2: {self.vec(0)}}}}}[{{k}}]", "KeyError"),
            (f"{self.vec(0)} + 4 // {{k}}", "ZeroDivisionError"),
            (f"next(iter([{self.vec(0)}][:{{k}}]))", "StopIteration"),
            (f"{self.vec(0)} + [3, 1].index({{k}})", "ValueError"),
            (f"{self.vec(0)} + (None if {{k}} else 1)", "TypeError"),
            (f"({self.vec(0)} if {{k}} else Mode).relu()", "AttributeError")])
        self.text(f"""
            {k} = {self.int_(1)} % 4
            try:
                {xs} = 1
                {out} = {body.format(k=k)}
                {xs} += 1
            except {self.pick([
                kind, f'({kind}, OverflowError)', 'Exception',
                'LookupError' if kind in ('IndexError', 'KeyError') else kind])}:
                {out} = {self.vec(0)} - 0.5
            {self.pick(['finally:', 'else:'])}
                {xs} *= 3
        """)
        self.bind(vec=out, int=f"{k} {xs}")

    def i_padded(self, budget: int) -> None:
        rows, out, g, n = self.fresh("rows"), self.fresh("t"), self.fresh("g"), self.fresh("n")
        self.emit(f"{rows} = [{self.vec(0)}[:{self.r.randint(1, 3)}], {self.vec(1)}[{self.mask(0)}], "
                  f"{self.vec(0)}[: {self.int_(0)} % 4]]")
        form = self.pick(["fill", "pad_sequence", "lengths", "pad"])
        if form == "fill":
            self.text(f"""
                {g} = torch.zeros(3, 4)
                for i, row in enumerate({rows}):
                    {g}[i, :{self.pick(['len(row)', 'row.shape[0]', 'row.numel()'])}] = row
                {out} = {g}.sum(0).clamp(-8, 8)
            """)
        elif form == "pad_sequence":
            self.emit(f"{out} = {self.vec(0)} + torch.nn.utils.rnn.pad_sequence({rows}, "
                      "batch_first=True).sum().clamp(-8, 8)")
        elif form == "lengths":
            self.text(f"""
                {n} = torch.tensor([len(row) for row in {rows}])
                {g} = torch.arange(4)[None, :] < {n}[:, None]
                {out} = {self.vec(0)} + {g}.sum(0)
            """)
        else:
            padded = f"F.pad(row, (0, {n} - len(row)))"
            self.text(f"""
                {n} = max(len(row) for row in {rows})
                {out} = {self.vec(0)} + torch.stack([{padded} for row in {rows}]).sum().clamp(-8, 8)
            """)
        self.bind(vec=out)


def generate_idioms(seed: int) -> str:
    return IdiomGenerator(seed).program()
