# SPDX-License-Identifier: Apache-2.0
"""PYTEST_DONT_REWRITE (the machine reads these programs as they are written). In-place ops, views and writes through
them, out=, indexed and masked assignment, written inputs and modules."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.frontend.support.harness import Cases, I, T, check, factory, refused

case = Cases()
POS, NEG, MIX = T(1.0, 2.0, 3.0, 0.5), T(-1.0, -2.0, -3.0, -0.5), T(-4.0, 1.0, 2.0, -1.5)
GRID = torch.arange(12.0).view(3, 4) - 5


@case(POS, NEG)
def inplace_in_one_arm(x):
    y = x.clone()
    if x.sum() > 0:
        y.mul_(2).add_(1)
    return y


@case(POS, NEG)
def inplace_on_an_alias(x):
    y = x.clone()
    z = y
    if x.sum() > 0:
        z.add_(10)
    return y, z, y is z


@case(POS, NEG)
def alias_in_one_arm_then_inplace(x):
    a = x + 1
    b = x * 2
    if x.sum() > 0:
        b = a
    b.add_(100)
    return a, b


@case(POS, NEG)
def view_in_one_arm_copy_in_the_other(x):
    a = x + 1
    b = a[:2] if x.sum() > 0 else a[:2].clone()
    b.zero_()
    return a, b


@case(POS, NEG)
def different_views_per_arm_then_written(x):
    a = x + 1
    v = a[:2] if x.sum() > 0 else a[2:]
    v.fill_(9)
    return a, v


@case(POS, NEG)
def different_bases_per_arm_then_written(x):
    a, b = x + 1, x - 1
    v = (a if x.sum() > 0 else b)[1:3]
    v.mul_(-1)
    return a, b, v


@case(POS, NEG)
def base_written_after_the_view(x):
    a = x.clone()
    v = a[1:]
    if x.sum() > 0:
        a.add_(5)
    return v * 2, v


@case(POS, NEG)
def base_rebound_view_kept(x):
    a = x.clone()
    v = a[1:]
    if x.sum() > 0:
        a = a + 5
    a[1] = 77.0
    return a, v


@case(GRID, -GRID)
def chain_of_views(m):
    a = m.clone()
    v = a.t()[1:3].unsqueeze(0)
    w = v.squeeze(0)[0]
    if m.sum() > 0:
        w.add_(1)
    else:
        v[0, 1, :2] = -7.0
    return a, v, w


@case(GRID, -GRID)
def view_and_reshape_and_flatten(m):
    a = m.clone()
    if m[0, 0] > 0:
        a.view(-1)[3] = 50.0
        a.reshape(4, 3)[1] += 1
    else:
        a.flatten()[2:4].zero_()
        a.view(2, 6)[:, 1].neg_()
    return a


@case(GRID, -GRID)
def transpose_reshape_copies(m):
    a = m.clone()
    b = a.t().reshape(-1)
    if m[0, 0] > 0:
        b.zero_()
    else:
        a.zero_()
    return a, b


@case(GRID, -GRID)
def expand_select_narrow_chunk(m):
    a = m.clone()
    parts = a.chunk(2, dim=1)
    n = a.narrow(0, 1, 2)
    s = a.select(1, 2)
    first, second, third = a.unbind(0)
    if m.sum() > 0:
        parts[1].add_(1)
        n.mul_(2)
        third.zero_()
    else:
        s.fill_(0.5)
        first.add_(second)
    return a, parts, n, s, first


@case(GRID, -GRID)
def split_unfold_diagonal(m):
    a = m.clone()
    p, q = a.split([1, 2])
    d = torch.diagonal(a)
    if m.sum() > 0:
        d.zero_()
    else:
        q[0].add_(p[0])
    return a, d


@case(GRID, -GRID)
def rows_written_in_a_for(m):
    a = m.clone()
    for i, row in enumerate(a):
        if row.sum() > 0:
            row.mul_(2)
        else:
            a[i, 0] = 100.0
    return a


@case(POS, NEG)
def integer_index_assignment(x):
    a = x.clone()
    if x.sum() > 0:
        a[0] = 9.0
        a[-1] += 1
    else:
        a[1:3] = torch.tensor([5.0, 6.0])
        a[::2] *= 3
    return a


@case((MIX, I(0)), (POS, I(3)), (POS, I(-2)))
def runtime_index_assignment(x, n):
    a = x.clone()
    k = int(n)
    a[k] = 42.0
    if k > 0:
        a[:k] = 0.0
    return a


@case((GRID, I(0), I(3)), (GRID, I(2), I(1)), values=True)
def runtime_index_pairs(m, i, j):
    a = m.clone()
    a[i.item(), j.item()] = 99.0
    a[i, j] += 1
    return a, a[i.item()], a[:, int(j)], m[int(i), 1:]


@case(MIX, POS, NEG, values=True)
def masked_assignment(x):
    a = x.clone()
    a[x > 0] = 7.0
    b = x.clone()
    b[x < 0] *= -2
    c = x.clone()
    c[x > 1] = x[x > 1] + 100
    return a, b, c


@case(MIX, POS, NEG)
def masked_assignment_in_an_arm(x):
    a = x.clone()
    mask = x > 1
    if mask.any():
        a[mask] = -1.0
        a.masked_fill_(~mask, 0.5)
    return a


@case(GRID, -GRID)
def masked_rows(m):
    a = m.clone()
    keep = a.sum(1) > 0
    a[keep] = 0.0
    a[~keep, 1] = 5.0
    if keep[0]:
        a[keep] += torch.arange(4.0)
    return a


@case((POS, I(0, 2)), (NEG, I(3, 1)), values=True)
def advanced_indexing(x, index):
    a = x.clone()
    a[index] = torch.tensor([10.0, 20.0])
    b = x[index] * 2
    a.index_add_(0, index, b)
    return a, b, x.index_select(0, index), torch.gather(x, 0, index), a.scatter(0, index, 1.5)


@case((POS, I(0, 0)), (NEG, I(3, 1)), values=True)
def repeated_indices(x, index):
    a = x.clone()
    a.index_add_(0, index, torch.ones(2))
    b = x.clone().index_put_((index,), torch.ones(2), accumulate=True)
    c = torch.zeros(4).scatter_add_(0, index, torch.tensor([1.0, 2.0]))
    return a, b, c


@case(POS, NEG)
def out_argument(x):
    y = torch.empty(4)
    if x.sum() > 0:
        torch.mul(x, 2, out=y)
    else:
        torch.add(x, 1, out=y)
    z = torch.zeros(4)
    torch.relu_(y)
    torch.sub(y, 1, out=z[:])
    return y, z


@case(POS, NEG)
def functional_inplace(x):
    y = x.clone()
    F.relu(y, inplace=True)
    h = y
    if x.sum() > 0:
        F.leaky_relu_(h, 0.1)
    nn.ReLU(inplace=True)(h.sub_(1))
    return y


@case(POS, NEG)
def input_written(x):
    if x.sum() > 0:
        x.add_(1)
    else:
        x[0] = 100.0
    return x.sum()


@case((POS, POS.clone()), (NEG, POS.clone()))
def one_of_two_inputs_written(x, y):
    target = x if x.sum() > 0 else y
    target.zero_()
    return x + y


@case([POS.clone(), NEG.clone()], [NEG.clone(), NEG.clone()])
def input_list_changed(xs):
    if xs[0].sum() > 0:
        xs.append(xs[0] * 2)
        xs[1] = xs[0]
    xs[0].mul_(3)
    return len(xs)


@case({"a": POS.clone()}, {"a": NEG.clone()})
def input_dict_changed(d):
    if d["a"].sum() > 0:
        d["b"] = d["a"] + 1
    else:
        d["a"] = d["a"] * 0
    return d


@case(POS, NEG)
def augmented_assignment_rebinding(x):
    y = x
    y = y + 1
    y += x
    if x.sum() > 0:
        y -= 1
    else:
        y *= 2
    return x, y


@case(POS, NEG)
def plus_equals_mutates_an_alias(x):
    y = x.clone()
    z = y
    z += 1
    if x.sum() > 0:
        z = z + 1
    return y, z


@case(POS, NEG)
def detach_and_data_share_storage(x):
    y = x.clone()
    d = y.detach()
    if x.sum() > 0:
        d.add_(1)
    else:
        y.data.mul_(2)
    return y, d


@case(POS, NEG)
def to_and_contiguous_may_alias(x):
    y = x.clone()
    a, b, c = y.to(torch.float32), y.contiguous(), y.to("cpu")
    d = y.double().float()
    if x.sum() > 0:
        a.add_(1)
        b.mul_(2)
        c.sub_(3)
        d.zero_()
    return y, a, d


@case(POS, NEG)
def setitem_with_broadcast_and_ellipsis(x):
    m = torch.zeros(2, 4)
    if x.sum() > 0:
        m[:] = x
        m[..., 0] = 1.0
    else:
        m[1, ...] = x
        m[:, None, 2] = 4.0
    return m


@case(POS, NEG)
def copy_between_views(x):
    a = x.clone()
    if x.sum() > 0:
        a[:2].copy_(a[2:])
    else:
        a[1:] = a[:-1].clone()
    return a


@case(POS, NEG)
def resize_like_growth(x):
    a = torch.cat([x, x.new_zeros(2)])
    if x.sum() > 0:
        a[4:] = x[:2]
    return a


@case(POS, NEG)
def fill_and_zero_of_a_list(x):
    ts = [x.clone(), x.clone()]
    ts.append(ts[0])
    for i, t in enumerate(ts):
        if t.sum() > 0:
            t.sub_(i + 1)
    return ts


@case(POS, NEG)
def swap_through_a_temporary(x):
    a = x.clone()
    t = a[0]
    u = a[0].clone()
    a[0] = a[1]
    if x.sum() > 0:
        a[1] = t
    else:
        a[1] = u
    return a


# ------------------------------------------------------------------------------------------------ module state
class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.register_buffer("total", torch.zeros(4))
        self.last = None
        self.history = []

    def forward(self, x):
        self.calls += 1
        if x.sum() > 0:
            self.total += x
            self.last = x
        else:
            self.last = None
        return self.total * self.calls, self.calls


case(POS, NEG, MIX, POS, NEG)(Counter)


class Ema(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("steps", torch.tensor(0))
        self.frozen = False

    def forward(self, x):
        if self.steps == 0:
            self.mean.copy_(x)
        elif not self.frozen:
            self.mean.lerp_(x, 0.25)
        self.steps += 1
        if self.steps > 2:
            self.frozen = True
        return x - self.mean


case(POS, NEG, MIX, POS, NEG, paths=3)(Ema)


class BufferReplaced(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.zeros(2))

    def forward(self, x):
        if x.sum() > 0:
            self.state = torch.cat([self.state[:1], x[:1]])
        return self.state + 1


case(POS, NEG, POS * 2)(BufferReplaced)


class CacheGrows(nn.Module):
    """A key/value cache: the buffer's length changes from call to call."""

    def __init__(self):
        super().__init__()
        self.cache = None

    def forward(self, x):
        row = x[None]
        self.cache = row if self.cache is None else torch.cat([self.cache, row])
        return self.cache.sum(0)


case(POS, NEG, MIX, may_refuse="")(CacheGrows)


class ParameterWritten(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(4))

    def forward(self, x):
        with torch.no_grad():
            if x.sum() > 0:
                self.w.mul_(2)
            self.w.data[0] = 3.0
        return self.w * x


case(POS, NEG, POS)(ParameterWritten)


class StateOfAChild(nn.Module):
    def __init__(self):
        super().__init__()
        self.child = Counter()
        self.config = {"limit": 1.0, "seen": 0}

    def forward(self, x):
        if x.sum() > self.config["limit"]:
            self.config["seen"] += 1
            self.child.calls = 10
        return self.child(x), self.config["seen"]


case(POS, NEG, POS)(StateOfAChild)


class AppendsToAList(nn.Module):
    def __init__(self):
        super().__init__()
        self.log = []

    def forward(self, x):
        self.log = []
        y = x
        for _ in range(3):
            y = y * 2
            if y.sum() > 9:
                self.log.append(y)
        return len(self.log)


case(POS, NEG, MIX * 2)(AppendsToAList)


class TensorAttribute(nn.Module):
    """A plain tensor attribute (no buffer), aliased by another attribute."""

    def __init__(self):
        super().__init__()
        self.a = torch.zeros(4)
        self.b = self.a

    def forward(self, x):
        if x.sum() > 0:
            self.a.add_(x)
        else:
            self.b = x.clone()
        return self.a + self.b


case(POS, NEG, POS, POS, may_refuse="attribute")(TensorAttribute)


class FlagState(nn.Module):
    """What a call does depends on a Python flag that an earlier call set."""

    def __init__(self):
        super().__init__()
        self.warm = False
        self.name = "cold"

    def forward(self, x):
        if self.warm:
            return x * 2, self.name
        if x.sum() > 0:
            self.warm = True
            self.name = "warm"
        return x, self.name


case(NEG, POS, NEG, POS, paths=3, may_refuse="state|attribute|self\\.")(FlagState)


class BatchNormEval(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm1d(4)
        self.bn.running_mean.fill_(0.5)

    def forward(self, x):
        y = self.bn(x[None])
        if y.sum() > 0:
            return y
        return y * 2


case(POS, NEG)(BatchNormEval)


@factory
def closure_state_across_calls():
    calls = 0
    best = None

    def f(x):
        nonlocal calls, best
        calls += 1
        if best is None or x.sum() > best.sum():
            best = x
        return best, calls

    return f


case(NEG, POS, MIX, may_refuse="nonlocal|closure|state")(closure_state_across_calls)

GLOBAL = {"calls": 0}


@case(POS, NEG, may_refuse="global|state")
def global_state_written(x):
    GLOBAL["calls"] = 0
    if x.sum() > 0:
        GLOBAL["calls"] += 1
    return GLOBAL["calls"]


test_mutation = case.test()


def reshaped_in_place(x, y):
    mask = torch.einsum("i,j->ij", x, y)
    same = mask
    mask.unsqueeze_(1)
    row = (x + 1).unsqueeze(0)
    shown = row[0]
    row.t_()
    if x.sum() > 0:
        z = y * 2
        z.unsqueeze_(0).squeeze_(0).unsqueeze_(-1)
        return mask + z, same.shape[1], row, shown
    return mask - 1, same.shape[1], row * 2, shown


def reshaped_in_an_arm(x):
    y = x * 2
    if x.sum() > 0:
        y.unsqueeze_(0)  # the other arm knows y as well
    return y.sum(0)


def reshaped_alias(x):
    y = (x * 2).reshape(2, 2)
    z = y.contiguous()  # y itself
    z.unsqueeze_(0)
    return y.sum(0) if x.sum() > 0 else y


def test_shapes_changed_in_place():
    check(reshaped_in_place, [(T(1, 2, 3), T(1, 1, 2)), (T(-1, 2, -3), T(1, 1, 2))])
    refused(reshaped_in_an_arm, [(T(1, 2, 3),), (T(-1, -2, -3),)], "shape in place")
    check(reshaped_alias, [(T(1, 2, 3, 4),), (T(-1, -2, -3, -4),)])
