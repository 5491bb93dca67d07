# SPDX-License-Identifier: Apache-2.0
"""Loops: while on tensors, for with break/continue/else, run-time bounds, what loops carry.

PYTEST_DONT_REWRITE (the machine reads these programs as they are written).
"""

import itertools

import torch
from torch import nn

from tests.frontend.support.harness import Cases, I, T, check, factory

case = Cases()
POS, NEG, MIX = T(1.0, 2.0, 3.0, 0.5), T(-1.0, -2.0, -3.0, -0.5), T(-4.0, 1.0, 2.0, -1.5)
V = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),)]


@case(T(1.0), T(7.0), T(100.0), T(0.01))
def while_on_a_tensor(x):
    while x < 50:
        x = x * 2 + 1
    return x


@case(POS, NEG, MIX)
def while_on_a_norm(x):
    n = 0
    while x.abs().sum() > 1:
        x = x * 0.5
        n += 1
    return x, n


@case(I(0), I(1), I(27), I(7))
def collatz(n):
    steps = 0
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps, n


@case((I(48), I(18)), (I(7), I(0)), (I(17), I(5)))
def euclid_on_python_ints(a, b):
    a, b = int(a), int(b)
    while b:
        a, b = b, a % b
    return a


@case(T(1.0), T(300.0), T(-5.0))
def while_true_with_break(x):
    k = 0
    while True:
        if x > 100 or k >= 6:
            break
        x = x * 3
        k += 1
    return x, k


@case(T(1.0), T(300.0), T(-5.0))
def while_with_else(x):
    k = 0
    while k < 4:
        x = x + k
        if x > 5:
            break
        k += 1
    else:
        x = x - 100
    return x, k


@case(T(1.0), T(3.0), T(-50.0))
def while_never_entered(x):
    out = x
    while out > 2:
        out = out - 1
    return out


@case(MIX, POS, NEG)
def while_with_continue(x):
    i = 0
    total = torch.zeros(())
    while i < 4:
        i += 1
        if x[i - 1] < 0:
            continue
        total = total + x[i - 1]
    return total


@case(T(9.0), T(2.0), T(40.0))
def two_loops_in_a_row(x):
    a = 0
    while x > 1:
        x = x / 2
        a += 1
    while x < 3:
        x = x + 1
        a += 10
    return x, a


@case((T(3.0), T(2.0)), (T(1.0), T(5.0)), (T(0.0), T(0.0)))
def nested_whiles(x, y):
    count = 0
    while x > 0:
        z = y
        while z > 0:
            z = z - 1
            count += 1
        x = x - 1
    return count, x


@case(I(0), I(1), I(5))
def range_of_a_runtime_int(n):
    x = torch.ones(2)
    for i in range(int(n)):
        x = x * 2 + i
    return x


@case((I(1), I(6)), (I(4), I(4)), (I(5), I(2)), (I(-3), I(1)))
def range_with_two_runtime_bounds(a, b):
    s = 0
    for i in range(a.item(), b.item()):
        s += i
    return s


@case((I(0), I(7), I(2)), (I(7), I(0), I(-3)), (I(1), I(1), I(1)), may_refuse="step")
def range_with_runtime_step(a, b, c):
    s = []
    total = 0
    for i in range(int(a), int(b), int(c)):
        total = total * 10 + i
    return total, s


@case(I(0), I(3), I(4))
def loop_variable_after_the_loop(n):
    i = -1
    for i in range(int(n)):
        pass
    return i


@case(I(0), I(2), I(9))
def range_capped_by_min(n):
    out = torch.zeros(3)
    for i in range(min(int(n), 3)):
        out[i] = i + 1.0
    return out


@case(POS, NEG, MIX)
def for_with_break(x):
    y = torch.zeros(())
    for i in range(4):
        if x[i] < 0:
            break
        y = y + x[i]
    return y, i


@case(POS, NEG, MIX)
def for_with_continue(x):
    y = torch.zeros(())
    for v in x:
        if v < 0:
            continue
        y = y + v
    return y


@case(POS, NEG, MIX)
def for_with_else(x):
    for i, v in enumerate(x):
        if v < 0:
            found = i
            break
    else:
        found = -1
    return found


@case(T([1.0, 2, 3], [4, 5, 6]), T([1.0, -2, 3], [4, 5, 6]), T([1.0, 2, 3], [4, 5, -6]))
def break_out_of_two_loops(m):
    hit = None
    for i in range(2):
        for j in range(3):
            if m[i, j] < 0:
                hit = (i, j)
                break
        if hit is not None:
            break
    return hit


@case(T([1.0, 2, 3], [4, 5, 6]), T([1.0, -2, 3], [4, 5, 6]), T([1.0, 2, 3], [4, 5, -6]))
def return_from_nested_loops(m):
    for i, row in enumerate(m):
        for j, v in enumerate(row):
            if v < 0:
                return row * 2, i * 10 + j
    return m.sum(0), -1


@case(I(5), I(2), I(0), I(11))
def return_from_a_runtime_loop(n):
    total = 0
    for i in range(int(n)):
        total += i
        if total > 8:
            return total, i
    return total, None


@case(T(1.0), T(5.0), T(-2.0))
def return_from_while_in_a_call(x):
    def settle(t):
        k = 0
        while k < 5:
            if t > 4:
                return t, k
            t = t + 1
            k += 1
        return -t, k

    a, k = settle(x)
    return a * 2, k


@case(POS, NEG, MIX)
def loop_over_a_list_with_early_exit(x):
    layers = [lambda t: t * 2, lambda t: t - 1, lambda t: t.abs(), lambda t: t + 10]
    for number, layer in enumerate(layers):
        x = layer(x)
        if x.sum() > 5:
            return x, number
    return x, -1


@case(POS, NEG, MIX)
def carried_optional(x):
    best = None
    for v in x:
        if v > 0:
            if best is None or v > best:
                best = v
    return best


@case(I(0), I(1), I(4))
def carried_optional_in_a_runtime_loop(n):
    last = None
    for i in range(int(n)):
        last = torch.full((2,), float(i))
    return last


@case(I(0), I(3), I(6))
def carried_int_and_float(n):
    k, f = 1, 0.5
    for _ in range(int(n)):
        k = k * 2
        f = f + k
    return k, f


@case(I(0), I(3))
def int_that_becomes_float_in_the_loop(n):
    k = 1
    for _ in range(int(n)):
        k = k * 0.5
    return k


@case(I(0), I(3))
def tensor_that_starts_as_an_int(n):
    total = 0
    for i in range(int(n)):
        total = total + torch.ones(2) * i
    return total


@case(I(0), I(1), I(3))
def list_that_grows_by_a_runtime_count(n):
    out = []
    for i in range(int(n)):
        out.append(torch.ones(2) * i)
    return out


@case(I(0), I(1), I(3))
def ints_collected_in_a_runtime_loop(n):
    out = []
    for i in range(int(n)):
        out.append(i * i)
    return out, len(out), sum(out)


@case(I(1), I(2), I(4))
def stack_of_a_runtime_list(n):
    out = []
    for i in range(int(n)):
        out.append(torch.ones(2) * i)
    return torch.stack(out)


@case(T(1.0), T(30.0), T(9.0))
def list_appended_while(x):
    trace = []
    while x < 20 and len(trace) < 6:
        x = x * 2
        trace.append(x)
    return x, trace, len(trace)


@case(I(1), I(2), I(5))
def concatenation_grows_in_a_loop(n):
    x = torch.zeros(1)
    for i in range(int(n)):
        x = torch.cat([x, x[-1:] + 1])
    return x


@case(POS, NEG)
def list_popped_until_empty(x):
    stack = [x, x + 1, x - 5]
    seen = 0
    while stack:
        t = stack.pop()
        if t.sum() > 0:
            seen += 1
    return seen


@case(POS, NEG)
def worklist_that_grows(x):
    stack = [(x, 2)]
    total = torch.zeros(())
    while stack:
        t, depth = stack.pop()
        total = total + t.sum()
        if depth > 0 and t.sum() > 0:
            stack.append((t - 2, depth - 1))
            stack.append((t * 0.5, depth - 1))
    return total


@case((POS, NEG), (NEG, POS))
def enumerate_zip_reversed(x, y):
    r = torch.zeros(4)
    for i, (a, b) in enumerate(zip(x, reversed([y[0], y[1], y[2], y[3]])), start=1):
        if a > b:
            r = r + i
        else:
            r = r - a * i
    return r


@case((POS, NEG), (NEG, POS), (MIX, MIX))
def zip_of_tensors(x, y):
    n = 0
    for a, b in zip(x, y):
        if a > b:
            n += 1
    return n


@case(POS, NEG)
def itertools_in_a_loop(x):
    total = 0.0
    for a, b in itertools.product((1, 2), (3, 4)):
        if x[a] > 0:
            total += a * b
    for a, b in itertools.pairwise((1, 2, 3)):
        total += a
    for v in itertools.chain([1], (2,)):
        total -= v
    for v in itertools.islice(itertools.count(), 3):
        if x[v] > 1:
            total += v
    return total


@case(POS, NEG)
def loop_over_dict_items(x):
    scale = {"a": 1.0, "b": -2.0, "c": 0.5}
    out = {}
    for key, s in scale.items():
        t = x * s
        if t.sum() > 0:
            out[key] = t
    return out


@case(T(1.0), T(9.0), T(-3.0))
def modified_condition_variable(x):
    going = True
    k = 0
    while going:
        x = x - 2
        k += 1
        going = bool(x > 0) and k < 10
    return x, k


@case(T(1.0), T(9.0), T(-3.0))
def do_while(x):
    k = 0
    while True:
        x = x - 2
        k += 1
        if not x > 0:
            break
    return x, k


@case(T(5.0), T(1.0), T(0.0))
def loop_that_swaps(x):
    a, b = torch.zeros(()), torch.ones(())
    while x > 0:
        a, b = b, a + b
        x = x - 1
    return a


@case(T(5.0), T(1.0), T(0.0))
def loop_with_inplace_update(x):
    acc = torch.zeros(3)
    k = 0
    while k < x:
        acc.add_(k)
        acc[0] += 1
        k += 1
    return acc


@case(T(5.0), T(1.0), T(0.0))
def loop_with_alias_written(x):
    acc = torch.zeros(3)
    view = acc[1:]
    k = 0
    while k < x:
        view += 1
        k += 1
    return acc, view


@case(I(3), I(1), I(0))
def loop_with_closure_counter(n):
    count = 0

    def bump():
        nonlocal count
        count += 2

    for _ in range(int(n)):
        bump()
    return count


@case(I(3), I(1), I(0))
def loop_over_object_state(n):
    class Counter:
        def __init__(self):
            self.value, self.t = 0, torch.zeros(2)

        def step(self, k):
            self.value += k
            self.t = self.t + k

    c = Counter()
    for i in range(n.item()):
        c.step(i)
    return c.value, c.t


class AdaptiveSteps(nn.Module):
    """Ponder-style halting: run a cell until the halting sum passes a limit."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 4)
        self.halt = nn.Linear(4, 1)
        self.max_steps = 8

    def forward(self, x):
        h = torch.zeros_like(x)
        total, steps = 0.0, 0
        while total < 0.99 and steps < self.max_steps:
            h = self.cell(x, h)
            total += torch.sigmoid(self.halt(h) * 4).max().item()
            steps += 1
        return h, steps


case(POS[None], NEG[None], MIX[None] * 3, paths=1)(AdaptiveSteps)


class GreedyDecoder(nn.Module):
    """Feeds its own argmax back until an end token."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(7, 8)
        self.rnn = nn.GRUCell(8, 8)
        self.out = nn.Linear(8, 7)
        self.end = 2

    def forward(self, h):
        token, words = torch.tensor([3]), []
        for _ in range(12):
            h = self.rnn(self.embed(token), h)
            token = self.out(h).argmax(-1)
            if token.item() == self.end:
                break
            words.append(token)
        return torch.cat(words) if words else None, len(words)


case(*[torch.randn(1, 8, generator=torch.Generator().manual_seed(s)) * 3 for s in range(8)])(GreedyDecoder)


class EarlyExit(nn.Module):
    """Shallow-deep: an exit after each block, by confidence."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(6, 6), nn.Tanh()) for _ in range(4))
        self.exits = nn.ModuleList(nn.Linear(6, 3) for _ in range(4))

    def forward(self, x):
        outputs = []
        for i, (block, head) in enumerate(zip(self.blocks, self.exits)):
            x = block(x * 2)
            logits = head(x)
            outputs.append(logits)
            if torch.softmax(logits, -1).max() > 0.56:
                return outputs, i, True
        return outputs, i, False


case(*[torch.randn(1, 6, generator=torch.Generator().manual_seed(s)) * 2 for s in range(8)])(EarlyExit)


@factory
def bisection():
    def solve(target):
        low, high = torch.zeros(()), torch.tensor(4.0)
        steps = 0
        while (high - low) > 0.125 and steps < 20:
            mid = (low + high) / 2
            if mid * mid > target:
                high = mid
            else:
                low = mid
            steps += 1
        return low, high, steps

    return solve


case(T(2.0), T(9.0), T(0.25))(bisection)


@case(T(4.0), T(100.0))
def newton_until_converged(x):
    y = x / 2
    for i in range(20):
        z = 0.5 * (y + x / y)
        if torch.allclose(z, y, atol=1e-4):
            break
        y = z
    return y, i


@case(T(1.0, 2.0, 3.0), T(0.0, 2.0, 3.0), T(2.0, 2.0, 0.0))
def loop_over_tolist(x):
    best, where = -1.0, None
    for i, v in enumerate(x.tolist()):
        if v > best:
            best, where = v, i
    return best, where


@case(I(3, 1, 2), I(2, 0, 0), I(0, 0, 0))
def nested_runtime_ranges(lengths):
    total = 0
    for n in lengths.tolist():
        for i in range(n):
            total += i + 1
    return total


@case(I(3, 1, 2), I(2, 0, 3), values=True)
def per_row_lengths(lengths):
    x = torch.arange(12.0).view(3, 4)
    rows = []
    for i in range(3):
        n = int(lengths[i])
        rows.append(x[i, :n].sum())
    return torch.stack(rows)


@case(T(3.0), T(40.0))
def loop_invariant_tensor_and_module_constant(x):
    w = torch.arange(3.0)
    while w.sum() < x:
        w = w + torch.ones(3)
    return w


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


test_loops = case.test()


def rows_at_most_two(x):
    chosen = ()
    for row in (x[:2] > 0).nonzero()[:, 0]:  # two at most
        if x[row] > 5:
            return chosen, x[0]
        chosen = (*chosen, x[row] * 2)  # grows: the loop is unrolled
    return chosen, x[1]


def test_rows_of_a_tensor_end_where_its_greatest_extent_does():
    check(rows_at_most_two, [(T(1, 2, 3),), (T(-1, 2, 3),), (T(-1, -2, 3),), (T(9, 2, 3),), (T(1, 9, 3),)])
