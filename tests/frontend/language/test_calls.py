# SPDX-License-Identifier: Apache-2.0
"""Calls: functions, closures, defaults, decorators, classes, properties, recursion, nested modules, hooks.

PYTEST_DONT_REWRITE (the machine reads these programs as they are written).
"""

import functools
import operator

import torch
import torch.nn.functional as F
from torch import nn

from tests.frontend.support.harness import Call, Cases, I, T, check, factory

case = Cases()
POS, NEG, MIX = T(1.0, 2.0, 3.0, 0.5), T(-1.0, -2.0, -3.0, -0.5), T(-4.0, 1.0, 2.0, -1.5)
INPUTS = [T(1.0, 2.0, 3.0), T(-1.0, 2.0, -3.0), T(0.0, 0.0, 0.0), T(5.0, -7.0, 2.0), T(0.7, -0.5, 1.5)]


def helper(t, scale=2.0, *, shift=0.0):
    if t.sum() > 0:
        return t * scale + shift
    return t - shift


@case(POS, NEG)
def function_with_defaults(x):
    return helper(x), helper(x, 3.0), helper(x, shift=1.0), helper(t=x, scale=0.5)


@case(POS, NEG)
def star_arguments(x):
    def total(*ts, **named):
        s = sum(ts)
        for key, t in named.items():
            s = s + t if key != "minus" else s - t
        return s

    args, kwargs = (x, x + 1), {"minus": x * 3}
    if x.sum() > 0:
        kwargs["more"] = x
    return total(*args, **kwargs)


@case(POS, NEG)
def closure_reads_the_latest_value(x):
    scale = 1.0

    def apply(t):
        return t * scale

    if x.sum() > 0:
        scale = 5.0
    return apply(x)


@case(POS, NEG)
def closure_writes_nonlocal_in_one_arm(x):
    hits, last = 0, None

    def note(t):
        nonlocal hits, last
        if t.sum() > 0:
            hits += 1
            last = t
        return t

    note(x)
    note(x * 3)
    note(-x)
    return hits, last


@case(POS, NEG)
def closure_over_a_list_cell(x):
    log = []

    def add(t):
        if t.max() > 1:
            log.append(t)

    add(x)
    add(x + 1)
    return log, len(log)


@case(POS, NEG)
def two_closures_share_a_cell(x):
    value = x

    def put(t):
        nonlocal value
        value = t

    def get():
        return value

    if x.sum() > 0:
        put(x * 10)
    return get() + 1


@case(POS, NEG)
def late_binding_in_a_loop(x):
    fs = [lambda t: t + i for i in range(3)]
    gs = [lambda t, i=i: t + i for i in range(3)]
    if x.sum() > 0:
        return [f(x) for f in fs]
    return [g(x) for g in gs]


@case(POS, NEG)
def function_returned_from_an_arm(x):
    def double(t):
        return t * 2

    def pick(t):
        if t.sum() > 0:
            return double
        return lambda v: v - 1

    return pick(x)(x)


@case(POS, NEG)
def lambdas_on_one_line(x):
    f, g = lambda t: t + 1, lambda t: t * 3
    return (f if x.sum() > 0 else g)(x)


@case(POS, NEG)
def partial_and_reduce(x):
    scaled = functools.partial(helper, scale=4.0, shift=1.0)
    total = functools.reduce(lambda a, b: a + b, [x, x * 2, scaled(x)])
    return total, functools.reduce(operator.mul, [1, 2, 3])


@case(POS, NEG, values=True)
def map_and_filter(x):
    doubled = list(map(lambda t: t * 2, [x, x + 1]))
    kept = list(filter(lambda t: t.sum() > 0, doubled))
    return kept, len(kept)


def logged(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        result = fn(*args, **kwargs)
        if result.sum() > 10:
            return result.clamp(max=2)
        return result

    return wrapper


def times(n):
    def decorate(fn):
        def wrapper(t):
            for _ in range(n):
                t = fn(t)
            return t

        return wrapper

    return decorate


@case(POS, NEG, POS * 9)
def decorators(x):
    @logged
    def f(t, k=1):
        return t * 2 + k

    @times(3)
    @logged
    def g(t):
        return t + 1 if t.sum() > 0 else t - 1

    return f(x, k=2), g(x)


def grow(t, limit):
    """Recursion whose depth depends on the data; `limit` bounds it."""
    if limit == 0 or t.sum() > 20:
        return t, limit
    return grow(t * 2, limit - 1)


@case(POS, NEG, POS * 3, POS * 9)
def recursion_with_a_bound(x):
    return grow(x, 5)


def fold(ts):
    if len(ts) == 1:
        return ts[0]
    middle = len(ts) // 2
    a, b = fold(ts[:middle]), fold(ts[middle:])
    return a + b if a.sum() > b.sum() else a - b


@case(MIX, POS, NEG)
def static_recursion_over_a_list(x):
    return fold([x[0:1], x[1:2], x[2:3], x[3:4], x[0:1] + 1])


def even(n, t):
    return t if n == 0 else odd(n - 1, t + 1)


def odd(n, t):
    return -t if n == 0 else even(n - 1, t * 2)


@case(I(3), I(4), I(0))
def mutual_recursion_on_a_runtime_int(n):
    return even(min(int(n), 6), torch.ones(2))


class InParallel(nn.Module):
    """As published models are often wrapped; without a GPU it calls its module."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.inner = nn.DataParallel(nn.Linear(4, 2))

    def forward(self, x):
        return self.inner(x) if x.sum() > 0 else self.inner.module(x) * 2


case(POS, NEG)(InParallel)


class Tree:
    def __init__(self, left=None, right=None):
        self.left, self.right = left, right


TREE = Tree(Tree(None, Tree()), Tree())


@case(POS, NEG)
def recursion_over_a_static_tree(x):
    def walk(node, t):
        if node is None:
            return t * 0.5
        a = walk(node.left, t + 1)
        if a.sum() > 3:
            return a
        return a + walk(node.right, t - 1)

    return walk(TREE, x)


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def step(self, x):
        return self.lin(x)

    def forward(self, x):
        return self.step(x) + 1


class WithSuper(Base):
    def step(self, x):
        y = super().step(x)
        if y.sum() > 0:
            return y * 2
        return super(WithSuper, self).step(-x)

    def forward(self, x):
        return super().forward(x) - 1


case(POS, NEG, MIX)(WithSuper)


class WithProperties(nn.Module):
    def __init__(self):
        super().__init__()
        self._scale = 2.0
        self.register_buffer("mean", torch.ones(4))

    @property
    def scale(self):
        return self._scale if self.mean.sum() > 0 else -1.0

    @scale.setter
    def scale(self, value):
        self._scale = value

    @staticmethod
    def clip(x, low=-1.0):
        return x.clamp(min=low)

    @classmethod
    def name(cls):
        return cls.__name__

    def forward(self, x):
        if x.sum() > 0:
            self.scale = 3.0
        return self.clip(x) * self.scale, self.name()


case(POS, NEG)(WithProperties)


class Callable_:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return x * self.k if x.sum() > 0 else x + self.k

    def __getitem__(self, i):
        return self.k + i

    def __len__(self):
        return 3

    def __contains__(self, v):
        return v == self.k

    def __eq__(self, other):
        return isinstance(other, Callable_) and self.k == other.k

    def __add__(self, other):
        return Callable_(self.k + other)

    def __bool__(self):
        return self.k > 2


@case(POS, NEG)
def user_object_with_special_methods(x):
    c = Callable_(2)
    d = c + 1
    y = c(x) + d(x)
    if x.sum() > 0:
        c = d
    return y, c[4], len(c), 2 in c, c == d, bool(c)


class Dynamic(nn.Module):
    def __init__(self):
        super().__init__()
        self.head_a, self.head_b = nn.Linear(4, 2), nn.Linear(4, 2)
        self.names = ["a", "b"]

    def forward(self, x):
        name = self.names[0] if x.sum() > 0 else self.names[1]
        return getattr(self, "head_" + name)(x), getattr(self, "missing", 5), hasattr(self, "head_c")


case(POS, NEG)(Dynamic)


class Fallback:
    def __init__(self):
        self.known = 2.0

    def __getattr__(self, name):
        if name.startswith("times"):
            return float(name[5:])
        raise AttributeError(name)


@case(POS, NEG)
def getattr_fallback(x):
    f = Fallback()
    y = x * f.times3 if x.sum() > 0 else x * f.known
    return y, getattr(f, "nothing", None)


class Rebound(nn.Module):
    def __init__(self, other=True):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        if other:
            self.forward = self.early_exit

    def forward(self, x):
        raise AssertionError("never called")

    def early_exit(self, x):
        if x.sum() > 0:
            return x
        return self.lin(x)


case(POS, NEG)(Rebound)


@factory
def bound_method():
    model = Rebound().eval()
    return model.early_exit


case(POS, NEG)(bound_method)


class Gate(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.lin, self.k = nn.Linear(4, 4), k

    def forward(self, x):
        if x.mean() > self.k:
            return self.lin(x)
        return x * 0.5


class Containers(nn.Module):
    def __init__(self):
        super().__init__()
        self.seq = nn.Sequential(Gate(0.0), nn.ReLU(), Gate(0.3))
        self.list = nn.ModuleList([Gate(0.1), nn.Identity(), Gate(-0.2)])
        self.dict = nn.ModuleDict({"up": Gate(0.5), "down": Gate(-0.5)})
        self.params = nn.ParameterList([nn.Parameter(torch.ones(4)), nn.Parameter(torch.zeros(4))])

    def forward(self, x):
        x = self.seq(x)
        for i, layer in enumerate(self.list):
            x = layer(x) + i
        key = "up" if x.sum() > 3 else "down"
        x = self.dict[key](x)
        for p in self.params:
            x = x + p
        return x, len(self.list), list(self.dict.keys()), self.seq[-1](x)


case(POS, NEG, MIX, POS * 5)(Containers)


class RuntimeIndex(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList([nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU()), Gate(0.0)])
        self.router = nn.Linear(4, 3)

    def forward(self, x):
        k = self.router(x).argmax().item()
        return self.experts[k](x), k


case(*[torch.randn(4, generator=torch.Generator().manual_seed(s)) * 2 for s in range(8)])(RuntimeIndex)


@factory
def pre_and_forward_hooks():
    model = nn.Sequential(Gate(0.0), Gate(0.2)).eval()

    def before(module, args):
        return (args[0] + 1,) if args[0].sum() < 0 else None

    def after(module, args, output):
        if output.sum() > 2:
            return output * 0.5

    model[0].register_forward_pre_hook(before)
    model[1].register_forward_hook(after)
    return model


case(POS, NEG, POS * 4)(pre_and_forward_hooks)


@factory
def hook_that_collects():
    model = nn.Sequential(Gate(0.0), Gate(0.2)).eval()
    model.seen = []
    model[0].register_forward_hook(lambda module, args, output: model.seen.append(output))
    return model


case(POS, NEG)(hook_that_collects)


class WithKwargs(nn.Module):
    def forward(self, x, *, mask=None, scale: float = 1.0, **rest):
        if mask is not None:
            x = x.masked_fill(mask, 0.0)
        if x.sum() > 0:
            x = x * scale
        return x, sorted(rest)


case(Call(POS, mask=POS > 1, extra=1), Call(NEG, mask=NEG < -1, extra=1))(WithKwargs)
case(Call(x=POS, scale=2.0), Call(x=NEG, scale=2.0))(type("ByName", (WithKwargs,), {"__doc__": "inputs by name"}))


@case(((POS, NEG), {"k": [MIX, 2]}), ((NEG, POS), {"k": [MIX, 2]}))
def nested_inputs(pair, named):
    a, b = pair
    if a.sum() > b.sum():
        return named["k"][0] * named["k"][1]
    return {"a": a, **named}


@case(POS, NEG)
def default_argument_mutated(x):
    def collect(t, into=[]):
        into.append(t)
        return into

    collect(x)
    if x.sum() > 0:
        collect(x * 2)
    return len(collect(x))


@case(POS, NEG)
def class_defined_inside(x):
    class Acc:
        total = 0

        def __init__(self, t):
            self.t = t

        def add(self, t):
            self.t = self.t + t
            return self

    acc = Acc(x)
    if x.sum() > 0:
        acc.add(x).add(x)
    return acc.t, Acc.total


@case(POS, NEG)
def isinstance_and_type(x):
    value = x if x.sum() > 0 else 3.0
    if isinstance(value, torch.Tensor):
        return value + 1
    return type(value) is float, value


@case(POS, NEG)
def functional_calls(x):
    y = F.relu(x)
    if y.sum() > 0:
        y = F.softmax(y, dim=-1)
    return F.normalize(y, dim=0), F.pad(y, (1, 1))


class Weird(nn.Module):
    """Name mangling, class attributes, a method reached through the class, a module kept outside _modules."""

    factor = 2.0

    def __init__(self):
        super().__init__()
        self.__hidden = 3.0
        self.box = [nn.Linear(4, 4)]
        self.act = torch.tanh

    def __twist(self, x):
        return x * self.__hidden

    def forward(self, x):
        if x.sum() > 0:
            return Weird.__twist(self, x) * self.factor
        return self.act(self.box[0](x))


case(POS, NEG)(Weird)


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Gate(0.0)
        self.b = self.a

    def forward(self, x):
        return self.b(self.a(x)), self.a is self.b


case(POS, NEG)(Shared)


@factory
def apply_function_of_autograd():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2 if x.sum() > 0 else x - 1

        @staticmethod
        def backward(ctx, g):
            return g * 2

    def f(x):
        return Double.apply(x) + 1

    return f


case(POS, NEG)(apply_function_of_autograd)

def _take(x, y=0, z=0):
    return x + y * z


@case(*INPUTS)
def arguments_twice(x):
    extra = {"z": 1} if x[0] > 0 else {"y": 2}
    try:
        return _take(x, **{"z": 3}, **extra)
    except TypeError as error:
        return str(error)


test_calls = case.test()


@torch.jit.script
def scripted_gate(a, b, n):
    s = a + b
    if bool(s.sum() > 0):
        return torch.tanh(s[:, :n]) * torch.sigmoid(s[:, n:])
    steps = 0
    while bool(s.abs().max() < 10) and steps < 50:
        s = s * 2 - 1
        steps += 1
    return s[:, n:] + steps


class CallsScripted(nn.Module):
    def forward(self, x):
        kept = x[x[:, 0] != 0]  # as many rows as the run says
        return scripted_gate(kept, kept, torch.IntTensor([2])[0])


def test_scripted_functions_are_followed():
    program = check(factory(CallsScripted),
                    [(T([[1, 2, 3, 4], [0, 1, 1, 1]]),), (T([[-1, -2, -3, -4], [-1, 0, 0, 0]]),),
                     (T([[-1, 0, 0, 0]]),)], by_result=True, dynamic_dims={"x": {0: "n"}})
    assert not program.report()["warnings"]
