# SPDX-License-Identifier: Apache-2.0
"""Tricky forwards, several to a program so that the file stays cheap: aliasing and views, containers and identity, closures and
generators, exceptions as control flow, numbers of every kind, objects with special methods, data-dependent shapes."""

import collections
import copy
import dataclasses
import functools
import itertools
import math
import operator

import torch
import torch.nn.functional as F
from torch import nn

from tests.frontend.support.harness import Call, Cases, I, T

case = Cases()
NAN, INF = float("nan"), float("inf")
V = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),)]
W = [(T([1.0, 2.0], [3.0, 4.0]),), (T([-1.0, 2.0], [-3.0, 4.0]),), (T([0.0, 0.0], [0.0, -1.0]),)]
N = [(T(1, 2, 3),), (T(NAN, 2, -3),), (T(INF, 0, NAN),), (T(-INF, -0.0, 2),), (T(-0.0, 0.0, NAN),)]
Z = [(I(7, 3, -2),), (I(-7, 1, 2),), (I(0, 5, -5),), (I(2**31, 3, 2),)]
BYTES = [(torch.tensor([250, 3, 255], dtype=torch.uint8),), (torch.tensor([0, 1, 2], dtype=torch.uint8),)]

# ---- aliasing -------------------------------------------------------------------------------------


@case(*W)
def a_view_of_one_row_or_the_other(x):
    r = x[0] if x[0, 0] > 0 else x[1]
    r.zero_()
    a, b = x.t(), x.reshape(-1)
    b[3] = 8
    for row in x:
        if row[0] > 0:
            row += 10
    return a, b, x


@case(*V)
def pieces_written_one_by_one(x):
    parts = x.split(1)
    for p in parts:
        if p > 0:
            p.neg_()
    y = x[1:]
    if x.sum() > 0:
        y.mul_(2)
    else:
        x.add_(1)
    return parts[0] + parts[2], y, x.clone(), x


@case(*V)
def an_alias_or_a_copy(x):
    y = x if x[0] > 0 else x.clone()
    y[1] = 50
    d = {"a": x}
    d["b"] = d["a"]
    if x[2] > 0:
        d["b"].mul_(3)
    else:
        d["b"] = d["b"] * 3
    return x, y, d


@case(*W, paths=1)
def conversions_that_share(x):
    y, z, u = x.to(torch.float32), x.to(torch.float64), x.contiguous()
    y[0, 0], z[0, 1], u[1, 0] = 4, 5, 6
    w = x.flatten()
    w -= 1
    v = x.expand(3, 2, 2).clone()
    v[0] += 1
    g = x[[0, 1]]
    g += 1
    x[[0]] += 1
    x[torch.tensor([True, False])] *= 3
    return x, z, v, g


@case(*W)
def swaps_and_masks(x):
    x[:, 0], x[:, 1] = x[:, 1], x[:, 0]
    x[x > 0] *= 2
    a, b = x[0], x[1]
    a.copy_(b)
    b.add_(1)
    y, z = x.permute(1, 0)[0], x.diagonal()
    if y[1] > 0:
        z.fill_(5)
    else:
        y.fill_(6)
    return x, y, z


@case(*W)
def the_loop_writes_through_views(x):
    i, v = 0, x[0]
    while v.sum() > -3 and i < 3:
        v -= 1
        v = x[i % 2]
        i += 1
    return v, x, i


# ---- state over several calls -----------------------------------------------------------------------


@case(*V, *V)
class Remembers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.zeros(3))
        self.table = {"n": 0, "t": torch.zeros(3)}
        self.mode, self.last, self.calls = "a", None, 0

    def forward(self, x):
        self.calls += 1
        previous, self.last = self.last, x
        self.b += x
        if self.b.sum() > 3:
            self.b.zero_()
        if x[0] > 0:
            self.table["n"] += 1
            self.table["t"] = self.table["t"] + x
            self.mode = {"a": "b", "b": "c", "c": "a"}[self.mode]
        change = x if previous is None else x - previous
        return self.b, self.table["t"] * self.table["n"], change * ord(self.mode), self.calls


@case(*V)
class Overrides(nn.Module):
    factor = 3

    def __init__(self):
        super().__init__()
        self.n, self._v = 0, 1.0

    def __getattr__(self, name):
        return 42 if name == "magic" else super().__getattr__(name)

    def __setattr__(self, name, value):
        super().__setattr__(name, int(value) if name == "n" else value)

    @property
    def v(self):
        return self._v

    @v.setter
    def v(self, value):
        self._v = value + 1

    def forward(self, x):
        if x[0] > 0:
            self.n, self.v = self.n + 1.0, x[0].item()
        else:
            self.v = self.v * 2
        return x * self.magic + self.n * self.factor, self.v


@case(*V)
class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(3))
        self.layers[1].register_forward_hook(lambda m, i, o: o * 2 if o.sum() > 0 else None)
        self.layers[1].register_forward_pre_hook(lambda m, i: (i[0] + 1,))

    def forward(self, x):
        return self.layers[int(x[0]) % 3](x), self.layers[1](x)


# ---- closures, generators, exceptions -------------------------------------------------------------------


@case(*V)
def closures_and_generators(x):
    n = 0

    def count():
        nonlocal n
        if x[0] > 0:
            n += 1
        return n

    def rising():
        for v in x:
            if v < 0:
                return
            yield v

    def total():
        t = 0
        while True:
            r = yield t
            if r is None:
                break
            t = t + r

    count()
    g, h = rising(), total()
    first = next(g, None)
    next(h)
    late = [lambda v: v * k for k in range(3)]
    return count(), -1 if first is None else first, len(list(g)), [h.send(v) for v in x.unbind()], late[0](x)


@case(*V)
def exceptions_as_control_flow(x):
    r = []
    try:
        if x[0] > 0:
            raise ValueError(int(x[0]))
    except ValueError as e:
        r.append(e.args[0] + 1)
    else:
        r.append(-1)
    finally:
        x = x + 1
    for i in range(3):
        try:
            if x[i] < 0:
                continue
            if x[i] == 0:
                break
        finally:
            r.append(i)
    else:
        r.append("else")
    try:
        r.append(10 // int(x[1]))
        r.append([1, 2, 3][int(x[0])])
        r.append({1: "a", 6: "b"}[int(x[0])])
    except (ZeroDivisionError, LookupError) as e:
        r.append(type(e).__name__)
    return r, x


@case(*V)
def raises_by_path(x):
    if x[0] < 0:
        raise IndexError("negative")
    if x[0] == 0:
        raise NotImplementedError
    assert x[1] > 0, "second"
    return math.sqrt(x[0].item())


# ---- numbers -------------------------------------------------------------------------------------------


@case(*Z, paths=1)
def integers(x):
    a, b = int(x[0]), int(x[1])
    y = x.to(torch.int32)
    return (x // 3, x % 3, x // -3, x % -3, torch.fmod(x, 3), torch.div(x, -3, rounding_mode="floor"), x << 2, x >> 1, ~x, x & 5,
            a // b, a % b, -a // b, a % -b, divmod(a, -b), a / b, a >> 1, a & 3, ~a, y * 1000000, y.to(torch.uint8), y.to(torch.int8),
            x.int() + 2147483647, x.char() + 100, x.sum(), x.cumsum(0), x / 2, a == float(a))


@case(*BYTES, paths=1)
def bytes_(x):
    return (x + 10, x - 5, x * 2, -x, x // 3, x % 7, ~x, x >> 1, x / 3, x.sum(), x.cumsum(0), x.max(), x + 1.5, x + True,
            x * torch.tensor(300), torch.cat([x, x.int()]), x.to(torch.int8), torch.maximum(x, x.flip(0)), x.clamp(5, 250))


@case(*N, paths=1)
def nan_and_zero(x):
    a, b = x[0].item(), x[1].item()
    return (x.max(), x.argmin(), x.sort()[0], torch.maximum(x, x.flip(0)), x.clamp(0, 1), x == x, torch.sign(x), x.round(), x.trunc(),
            max(a, b), min(a, b), a < b, a != a, a * 0, (a > b) - (a < b), bool(x[0]), not a, x.softmax(0), F.gelu(x.clamp(-9, 9)),
            torch.where(x > 0, x.log(), x / 0), x.nansum(), torch.nan_to_num(x), x.any(), x.count_nonzero())


@case((T(0.5, 1.5, 2.5),), (T(-0.5, -1.5, 3.5),), paths=1)
def halves_to_even(x):
    a, b, c = x.tolist()
    return x.round(), round(a), round(b), round(c), int(a), math.floor(b), math.ceil(c), a // 1, b % 1, divmod(c, 2), -a // 2


@case(*V, paths=1)
def promotion(x):
    a = int(x[0])
    return (x.long() / 2, x.long() * 2.5, x.bool() + 1, x.int() + x.long(), x.int() * x.half(), torch.tensor(2.0, dtype=torch.float64) * x,
            a * torch.ones(2, dtype=torch.int32), x[0].item() * torch.ones(2, dtype=torch.int64), (x[0] > 0).item() * x, a - x,
            torch.tensor([a, 1.5]), torch.full((2,), a), torch.full((2,), bool(a)), torch.tensor(3) + x, x.half() + x.bfloat16())


@case(*V)
def chains_and_walrus(x):
    log = []

    def told(v):
        log.append(v)
        return v

    r = told(0) < told(x[0].item()) < told(2)
    first, *rest, last = x.unbind()
    return r, len(log), (y := x.sum()), y * 2, x[0].item() or "zero", x[0].item() and "some", len(rest), first + last, 0 < x[0] < 3


# ---- Python's objects ---------------------------------------------------------------------------------


class Vec:
    def __init__(self, t):
        self.t = t

    def __add__(self, o):
        return Vec(self.t + (o.t if isinstance(o, Vec) else o))

    __radd__ = __add__

    def __eq__(self, o):
        return bool((self.t == o.t).all())

    def __len__(self):
        return int((self.t > 0).sum())

    def __contains__(self, v):
        return bool((self.t == v).any())

    def __iter__(self):
        return iter(self.t)

    def __lt__(self, o):
        return bool(self.t.sum() < o.t.sum())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.t = self.t * 0
        return True


@case(*V)
def special_methods(x):
    a, b = Vec(x), 3 + Vec(-x)
    with Vec(x) as v:
        if x[0] > 0:
            raise ValueError
        v.t = v.t + 1
    return len(a), 2.0 in a, a == b, [e * 2 for e in a], min([a, b]).t, sorted([a, b])[0].t, v.t, [a].index(a), bool(a)


Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Data:
    a: object
    b: int = 3


@case(*V)
def structures(x):
    if x[0] > 0:
        return Pair(x, 1), {"b": 1, "a": x}, None, [x, x], x.shape
    return Data(x, b=int(x[1])), {"a": x, "b": 1.0}, (x,), {1, 2}, torch.Size([int(x[0] > 0)])


@case(*V)
def containers(x):
    shared = [1, 2]
    pair = [shared] * 2
    pair[0].append(3)
    d = {"a": 1, "b": 2}
    for k in list(d):
        if x[0] > 0:
            del d[k]
    d.update(c=3)
    return pair, d, copy.deepcopy([x, shared])


@case(*V)
def groups_by_sign(x):
    groups = collections.defaultdict(list)
    for i in range(3):
        groups["p" if x[i] > 0 else "n"].append(i)
    return dict(groups)


@case(*V, values=True)
def places_of_run_time(x):
    queue = collections.deque([1, 2, 3], maxlen=2)
    queue.append(int(x[0]))
    numbers = list(range(5))
    del numbers[int(abs(x[0])) % 5]
    numbers[1:3] = [7]
    return list(queue), numbers


@case(*V)
def functions(x):
    def f(a, /, b, *c, d=4, **e):
        return a, b, c, d, e

    return (f(1, 2), f(1, b=2, z=3), f(*[1, 2], **{"d": x[0] > 0}), functools.reduce(lambda a, b: a * 2 + b, x.unbind()),
            functools.partial(torch.add, alpha=2)(x, x), list(itertools.accumulate(x.tolist())), list(itertools.chain([1], [x])),
            list(itertools.takewhile(lambda v: v > 0, x.tolist())), sorted(range(3), key=lambda i: x[i].item()),
            max(x, key=lambda v: -v), any(v > 1 for v in x), sum(1 for v in x if v > 0), next((i for i in range(3) if x[i] < 0), None),
            functools.reduce(operator.add, [1, 2, int(x[0])]))


@case(*V)
def matched(x):
    match (int(x[0]), "k"):
        case (1, _):
            return "one"
        case (n, "k") if n < 0:
            return n
        case (0, k):
            return k, x
        case _:
            return [x]


@case(*V)
def unbound(x):
    for i in range(3):
        if x[i] < 0:
            w = i
    try:
        return w
    except UnboundLocalError:
        return -1


@case(Call({"a": T(1, 2), "b": [T(3), 5]}, k=T(2)), Call({"a": T(-1, 2), "b": [T(3), 5]}, k=T(2)))
def arguments_that_are_containers(d, *, k):
    if d["a"][0] > 0:
        d["c"] = d["a"] * k
        d["b"].append(d["b"][0])
    return d["a"] + d["b"][0] * d["b"][1], len(d)


# ---- shapes and loops ----------------------------------------------------------------------------------


@case(*V)
def shapes_by_data(x):
    y, z = x[x > 0], x[x < 0]
    if y.numel() == 0:
        return x.sum(), z
    out = torch.zeros(3)
    at = (x > 0).nonzero(as_tuple=True)[0]
    out[at] = x[at] * 2
    while y.shape[0] > 1:
        y = y[1:] + y[:-1]
    return y, torch.cat([z, y]), out, len(at), y[:, None] * z[None, :]


@case(*V)
def loops_by_data(x):
    n, s, out = int(x[0]), 0, []
    for i in range(n):
        s += i
    a, b = 0, 1
    while a < x.abs().sum():
        a, b = b, a + b
    k = abs(n)
    while k > 0:
        out.append(k)
        k //= 2
    best = None
    for i, v in enumerate(x):
        if best is None or v > best:
            best, place = v, i
    return s, a, b, out, best, place


@case((torch.ones(4, 3),), (-torch.ones(6, 3),), (torch.ones(1, 3),), dynamic_dims={"x": {0: "N"}})
def extents_of_run_time(x):
    h, n = torch.zeros(3), x.shape[0] // 2
    for row in x:
        h = torch.tanh(h + row)
    if n > 2:
        return h, n
    return h, x[:n].sum(0) - x[n:].sum(0), n / 3, -n // 3, tuple(x.shape), x.size()


@case((torch.zeros(0, 3),), (torch.zeros(0, 3),), paths=1)
def nothing(x):
    return x.sum(0), x.sum(1), x @ torch.ones(3, 2), x.softmax(1), x.amax(1), x.mean(), x.any(), x.all(), torch.cat([x, x])


@case((T(3),), (T(-2),), paths=1)
def without_dimensions(x):
    return x.item(), x.max(), x.argmax(), x[None], x.view(1), x.expand(2), x.sort()[0], x.cumsum(0), x.softmax(0), x[...], x.flatten()


test_program = case.test()
