# SPDX-License-Identifier: Apache-2.0
"""PYTEST_DONT_REWRITE (the machine reads these programs as they are written). Branches: if/elif/else, ternaries,
boolean operators, comparisons, early returns, arms that differ."""

import torch
from torch import nn

from tests.frontend.support.harness import Cases, I, T

case = Cases()
POS, NEG, MIX = T(1.0, 2.0, 3.0, 0.5), T(-1.0, -2.0, -3.0, -0.5), T(-4.0, 1.0, 2.0, -1.5)
ZERO = torch.zeros(4)


@case(POS, NEG, MIX)
def if_without_else(x):
    y = x + 1
    if x.sum() > 0:
        y = y * 2
    return y


@case(POS, NEG)
def if_else(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 3
    return y + 1


@case(POS, NEG, ZERO, paths=3)
def if_elif_else(x):
    if x.sum() > 0:
        return x * 2
    elif x.sum() < 0:
        return x - 1
    else:
        return x + 7


@case(T(5.0), T(3.0), T(1.0), T(-1.0), T(-9.0), paths=5)
def long_elif_chain(x):
    if x > 4:
        y = 1
    elif x > 2:
        y = 2
    elif x > 0:
        y = 3
    elif x > -2:
        y = 4
    else:
        y = 5
    return x * y, y


@case((T(1.0), T(1.0)), (T(1.0), T(-1.0)), (T(-1.0), T(1.0)), (T(-1.0), T(-1.0)), paths=4)
def nested(x, y):
    if x > 0:
        if y > 0:
            r = x + y
        else:
            r = x - y
    else:
        if y > 0:
            r = x * 3
        else:
            r = y * 5
    return r


@case((T(1.0), T(1.0)), (T(1.0), T(-1.0)), (T(-1.0), T(1.0)), (T(-1.0), T(-1.0)), paths=4)
def sequential(x, y):
    r = torch.zeros(())
    if x > 0:
        r = r + 1
    else:
        r = r - 1
    if y > 0:
        r = r * 10
    else:
        r = r * 100
    return r


@case(*[T(*[1.0 if (i >> b) & 1 else -1.0 for b in range(4)]) for i in range(16)], paths=16)
def four_gates_in_a_row(x):
    h = torch.ones(3)
    if x[0] > 0:
        h = h * 2
    if x[1] > 0:
        h = h + 3
    if x[2] > 0:
        h = h * 5
    if x[3] > 0:
        h = h - 7
    return h


@case(POS, NEG)
def identity_arm_then_inplace(x):
    h = x + 1
    if h.sum() > 2:
        h = h
    else:
        h = h.neg()
    h.relu_()
    return h


@case(POS, NEG)
def identity_arm_of_an_input_then_inplace(x):
    y = x if x.sum() > 0 else x.clone()
    y.add_(1)
    return y


@case(POS, NEG)
def pass_arm(x):
    if x.sum() > 0:
        pass
    else:
        x = x.abs()
    return x


@case(POS, NEG, values=True)
def ternary(x):
    return x * 2 if x.sum() > 0 else x - 1


@case(T(3.0), T(1.0), T(-1.0), values=True, paths=3)
def nested_ternary(x):
    return x + 1 if x > 2 else x + 2 if x > 0 else x + 3


@case(POS, NEG, values=True)
def ternary_as_argument(x):
    return torch.add(x, 1 if x.sum() > 0 else 2, alpha=3 if x[0] > 0 else 4)


@case(POS, NEG)
def ternary_of_functions(x):
    return (torch.relu if x.sum() > 0 else torch.neg)(x)


@case((T(1.0), T(1.0)), (T(1.0), T(-1.0)), (T(-1.0), T(1.0)), (T(-1.0), T(-1.0)))
def and_or_not(x, y):
    if x > 0 and y > 0:
        r = x * 2
    elif x > 0 or not y > 0:
        r = x * 3
    else:
        r = y * 5
    return r


@case((T(1.0), T(1.0)), (T(1.0), T(-1.0)), (T(-1.0), T(1.0)), values=True, paths=3)
def and_gives_the_last_operand(x, y):
    return (x > 0 and y + 1, x > 0 or y * 2)


@case(I(0), I(3), values=True)
def or_default_on_a_runtime_int(n):
    k = int(n) or 5
    return k * 2


@case(I(0), I(3), I(7), values=True, paths=3)
def and_chain_of_runtime_ints(n):
    k = int(n)
    return k and k > 4 and k - 7, k and k + 1


@case((T(1.0), T(0.0)), (T(-1.0), T(0.0)))
def short_circuit_skips_effects(x, y):
    seen = []

    def probe(v):
        seen.append(1)
        return v > 0

    if x > 0 and probe(y):
        return x, len(seen)
    return y, len(seen)


@case(T(-2.0), T(0.5), T(5.0), values=True, paths=3)
def chained_comparison(x):
    a = 0 < x < 1
    b = bool(x < 1) < 1
    return (1 if a else 2) * 10 + (1 if b else 2), (1 if -3 < x <= 0 else 0)


@case(T(-2.0), T(0.5), T(5.0), paths=3)
def chained_comparison_of_scalars(x):
    v = x.item()
    if -1 <= v < 1 <= 2:
        return v * 2
    if not (v < 3):
        return v - 1
    return v


@case(I(2), I(3), I(9), paths=2)
def in_a_tuple_of_ints(n):
    if n.item() in (2, 5, 9):
        return n * 2
    return n + 1


@case(I(2), I(3), I(4), paths=2)
def in_a_list_that_grew(n):
    seen = [1, 2]
    k = int(n)
    if k > 3:
        seen.append(k)
    if k in seen:
        return torch.ones(2)
    return torch.zeros(2)


@case(I(2), I(3), values=True)
def not_in_a_set_and_range(n):
    k = int(n)
    return k not in {3, 4}, k in range(0, 10, 2)


@case((POS, MIX), (NEG, MIX))
def tensor_in_list_by_identity(x, y):
    items = [x, y]
    if x.sum() > 0:
        items = [y]
    return any(t is y for t in items), any(t is x for t in items), len(items)


@case(POS, NEG, MIX, values=True, paths=3)
def any_and_all_over_a_generator(x):
    return any(v > 1 for v in x), all(v > -2 for v in x), any(x > 2.5), all(x < 0)


@case(POS, NEG, MIX, values=True, paths=2)
def any_all_of_python_bools(x):
    flags = [bool(v > 0) for v in x]
    return any(flags), all(flags), sum(flags)


@case(POS, NEG)
def any_stops_early(x):
    calls = []

    def test(v):
        calls.append(v)
        return v > 0

    found = any(test(v) for v in x)
    if found:
        return len(calls)
    return -len(calls)


@case(POS, NEG)
def arms_with_different_shapes(x):
    if x.sum() > 0:
        y = x[:2]
    else:
        y = x
    return y * 2


@case(POS, NEG)
def arms_with_different_ranks(x):
    if x.sum() > 0:
        y = x.view(2, 2)
    else:
        y = x
    return y.sum(), y


@case(POS, NEG)
def arms_with_different_dtypes(x):
    if x.sum() > 0:
        y = x.long()
    else:
        y = x
    return y + 1


@case(POS, NEG)
def int_in_one_arm_float_in_the_other(x):
    if x.sum() > 0:
        k = 1
    else:
        k = 2.5
    return k, x * k


@case(POS, NEG)
def int_in_one_arm_tensor_in_the_other(x):
    k = 0
    if x.sum() > 0:
        k = x.sum()
    return k + 1


@case(POS, NEG)
def none_or_tensor_result(x):
    if x.sum() > 0:
        return x * 2
    return None


@case(POS, NEG)
def falls_off_the_end(x):
    if x.sum() > 0:
        return x


@case(POS, NEG)
def optional_used_later(x):
    best = None
    if x.sum() > 0:
        best = x * 3
    y = x + 1
    if best is not None:
        y = y + best
    return y, best


@case(POS, NEG, MIX, paths=2)
def optional_tested_by_equality(x):
    mode = None
    if x[0] > 0:
        mode = "a"
    elif x[1] > 0:
        mode = "b"
    if mode == "a":
        return x + 1
    if mode == "b":
        return x + 2
    return x + 3


@case(POS, NEG)
def string_per_arm(x):
    kind = "up" if x.sum() > 0 else "down"
    scale = {"up": 2.0, "down": -1.0}[kind]
    return x * scale, kind


@case(POS, NEG)
def different_structures_returned(x):
    if x.sum() > 0:
        return x, 1
    return {"neg": x, "more": [x + 1, None]}


@case(POS, NEG, MIX, paths=3)
def several_early_returns(x):
    if x.min() > 0:
        return x * 2, "all"
    y = x.relu()
    if y.sum() > 1:
        return y, "some"
    return y - 1, "none"


@case(POS, NEG)
def early_return_from_a_call(x):
    def inner(t):
        if t.sum() > 0:
            return t * 2
        t = t + 1
        return t.abs()

    return inner(x) + inner(x + 1)


@case(POS, NEG)
def condition_kept_in_a_variable(x):
    big = x.sum() > 0
    y = x + 1
    if big:
        y = y * 2
    z = y - 1
    if not big:
        z = z * 3
    return z, big


@case(POS, NEG)
def the_same_condition_twice(x):
    if x.sum() > 0:
        name = "a"
    else:
        name = "b"
    if x.sum() > 0:
        assert name == "a"
    else:
        assert name == "b"
    return x, name


@case(POS, NEG)
def variable_defined_in_one_arm_only(x):
    if x.sum() > 0:
        extra = x * 2
    y = x + 1
    if x.sum() > 0:
        y = y + extra
    return y


@case(POS, NEG)
def unbound_in_one_arm_raises(x):
    if x.sum() > 0:
        extra = x * 2
    return extra + 1


@case(T(True), T(False))
def bool_tensor_input(flag):
    if flag:
        return torch.ones(2)
    return torch.zeros(2)


@case(I(1), I(0), I(-4))
def truth_of_an_int_tensor(n):
    if n:
        return n + 1
    return n - 1


@case(T(0.5), T(0.0))
def truth_of_a_float_tensor(v):
    if not v:
        return v + 10
    return v


@case(T([[2.0]]), T([[-2.0]]))
def truth_of_a_one_element_matrix(v):
    if v > 0:
        return v * 2
    return v


@case((POS, torch.tensor(True)), (POS, torch.tensor(False)))
def condition_read_by_item(x, flag):
    if flag.item():
        return x + 1
    return x - 1


@case(POS, NEG, values=True)
def condition_times_tensor(x):
    gate = bool(x.sum() > 0)
    return x * gate, gate + 1, gate * 2.5


@case(POS, NEG)
def is_none_default_argument(x, mask=None):
    if mask is None:
        mask = x > 0
    if mask.all():
        return x
    return x.masked_fill(~mask, 0.0)


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 2), nn.Linear(4, 3)
        self.gate = nn.Linear(4, 1, bias=False)
        self.gate.weight.data.fill_(1.0)

    def forward(self, x):
        if self.gate(x) > 0:
            return self.a(x)
        return self.b(x)


case(POS, NEG)(TwoHeads)


class SkipBlocks(nn.Module):
    """Layer skipping: an identity arm at every step."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))
        self.gates = nn.ModuleList(nn.Linear(4, 1) for _ in range(4))

    def forward(self, x):
        taken = 0
        for layer, gate in zip(self.layers, self.gates):
            if torch.sigmoid(gate(x)).item() > 0.5:
                x = x + torch.relu(layer(x))
                taken += 1
        return x, taken


case(POS, NEG, MIX, ZERO)(SkipBlocks)


@case(POS, NEG)
def del_in_one_arm(x):
    y = x * 2
    z = x + 1
    if x.sum() > 0:
        del y
        y = z
    return y


@case((POS, POS.clone()), (POS, NEG))
def is_between_tensors(x, y):
    z = x if y.sum() > 0 else y
    if z is x:
        return x + 1
    return y - 1


@case(POS, NEG, MIX, values=True)
def walrus(x):
    if (s := x.sum()) > 0:
        return s * 2
    return s - 1


@case(T(1.0, 2.0), T(2.0, 1.0))
def swap_in_one_arm(x):
    a, b = x[0], x[1]
    if a > b:
        a, b = b, a
    return a - b, torch.stack([a, b])


@case(POS, NEG)
def arms_swap_two_lists(x):
    a, b = [x], [x + 1]
    if x.sum() > 0:
        a, b = b, a
    a.append(x * 2)
    return a, b


test_branches = case.test()
