# SPDX-License-Identifier: Apache-2.0
"""Lists, tuples, named tuples, dicts and sets.

PYTEST_DONT_REWRITE (the machine reads these programs as they are written).
"""

import collections
import copy
import dataclasses
from typing import NamedTuple

import torch

from tests.frontend.support.harness import Call, Cases, I, T

case = Cases()
POS, NEG, MIX = T(1.0, 2.0, 3.0, 0.5), T(-1.0, -2.0, -3.0, -0.5), T(-4.0, 1.0, 2.0, -1.5)
V = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),)]
Pair = collections.namedtuple("Pair", "a b")


# ------------------------------------------------------------------------------------------------ lists
@case(POS, NEG)
def append_in_one_arm(x):
    out = [x]
    if x.sum() > 0:
        out.append(x * 2)
    return out


@case(POS, NEG)
def append_in_both_arms(x):
    out = []
    if x.sum() > 0:
        out.append(x * 2)
    else:
        out.append(x - 1)
    return out, len(out)


@case(POS, NEG)
def length_as_condition_later(x):
    out = [x]
    if x.sum() > 0:
        out.append(x * 2)
    if len(out) > 1:
        return out[1]
    return out[0] - 1


@case(POS, NEG)
def list_stacked_after_growth(x):
    out = [x]
    if x.sum() > 0:
        out.append(x * 2)
    return torch.stack(out)


@case(POS, NEG)
def alias_of_a_list_in_one_arm(x):
    a, b = [x], [x + 1]
    c = a
    if x.sum() > 0:
        c = b
    c.append(x * 2)
    return a, b


@case(POS, NEG)
def alias_kept_after_the_join(x):
    a = [x]
    b = a
    if x.sum() > 0:
        a.append(x + 1)
    else:
        b.insert(0, x - 1)
    b.append(x * 3)
    return a, b, a is b


@case(POS, NEG)
def nested_lists_share_rows(x):
    row = [x, x]
    grid = [row, row, list(row)]
    if x.sum() > 0:
        grid[0][1] = x * 5
    return grid, grid[0] is grid[1]


@case(POS, NEG)
def list_methods(x):
    a = [x, x + 1, x + 2]
    if x.sum() > 0:
        last = a.pop()
        a.insert(1, last)
        a.reverse()
    else:
        del a[0]
        a.extend([x, x * 2])
        a += [x - 5]
        first = a.pop(0)
        a.append(first)
    b = a[::-1]
    c = a * 2
    d = a.copy()
    d.clear()
    return a, b, len(c), d


@case(POS, NEG)
def list_slices_assigned(x):
    a = [x, x + 1, x + 2, x + 3]
    if x.sum() > 0:
        a[1:3] = [x * 9]
    else:
        a[:0] = [x * 7, x * 8]
    return a


@case(POS, NEG)
def index_and_count_of_ints(x):
    a = [3, 1, 2]
    if x.sum() > 0:
        a.append(1)
    a.sort()
    return a, a.index(2), a.count(1), a[-1]


@case(I(0), I(2), I(-1), values=True)
def runtime_index_into_a_list_of_tensors(n):
    items = [torch.zeros(2), torch.ones(2), torch.full((2,), 2.0)]
    if n > 5:
        return items
    return items[int(n)] + 1


@case(I(0), I(2), I(1), values=True)
def runtime_index_into_a_list_of_ints(n):
    return [10, 20, 30][n.item()] * 2, "abc"[1]


@case(I(0), I(1), I(5), I(-3), values=True)
def runtime_index_out_of_range_raises(n):
    return [10, 20][int(n)]


@case(I(0), I(2), I(1), values=True)
def runtime_index_assignment_into_a_list(n):
    items = [1, 2, 3]
    items[int(n)] = 9
    return items


@case(I(0), I(2), I(3), values=True)
def runtime_slice_of_a_list(n):
    items = [torch.zeros(1), torch.ones(1), torch.ones(1) * 2]
    k = int(n)
    return items[:k], items[k:]


@case(I(2), I(0), values=True)
def list_times_a_runtime_int(n):
    return [0] * int(n)


@case((T(1.0), T(2.0), T(3.0)), (T(3.0), T(2.0), T(1.0)), (T(2.0), T(3.0), T(1.0)), values=True, paths=3)
def sorted_by_tensor_keys(a, b, c):
    items = sorted([("a", a), ("b", b), ("c", c)], key=lambda p: p[1].item())
    return [name for name, _ in items], items[0][1]


@case((T(1.0), T(2.0), T(3.0)), (T(3.0), T(2.5), T(1.0)), values=True)
def sorted_floats(a, b, c):
    values = [a.item(), b.item(), c.item()]
    return sorted(values), sorted(values, reverse=True), min(values), max(values), sum(values)


@case((T(1.0), T(2.0)), (T(3.0), T(2.0)), values=True)
def list_sort_in_place_with_key(a, b):
    items = [(a, 0), (b, 1)]
    items.sort(key=lambda p: -p[0])
    return items


@case((T(1.0), T(2.0)), (T(3.0), T(2.0)), values=True)
def min_max_of_tensors(a, b):
    return min(a, b), max(a, b, key=lambda t: -t), max([a, b]), min(a.item(), b.item(), 2.5)


@case((T(1.0), T(2.0)), (T(3.0), T(2.0)), (T(2.0), T(2.0)), values=True, paths=3)
def comparing_lists_and_tuples_of_scalars(a, b):
    p, q = (1, a.item()), (1, b.item())
    return p < q, p == q, [a.item()] == [2.0], p >= q


@case(POS, NEG)
def sum_with_start(x):
    parts = [x]
    if x.sum() > 0:
        parts.append(x * 2)
    return sum(parts), sum(parts, torch.ones(4)), sum([])


# ------------------------------------------------------------------------------------------------ tuples
@case(POS, NEG)
def tuple_per_arm(x):
    p = (x, 1) if x.sum() > 0 else (x + 1, 2)
    a, b = p
    return a * b, p


@case(POS, NEG)
def tuple_concatenated(x):
    p = (x,)
    if x.sum() > 0:
        p = p + (x + 1, x + 2)
    first, *rest = p
    return first, rest, len(p)


class Point(NamedTuple):
    x: torch.Tensor
    y: torch.Tensor = None
    n: int = 0


@case(POS, NEG)
def named_tuples(x):
    p = Point(x, n=2)
    if x.sum() > 0:
        p = p._replace(y=x * 2, n=3)
    a, b, n = p
    return p, p.x + 1, n, p._asdict()["n"], p[0]


# ------------------------------------------------------------------------------------------------ dicts
@case(POS, NEG)
def key_added_in_one_arm(x):
    d = {"a": x}
    if x.sum() > 0:
        d["b"] = x * 2
    return d


@case(POS, NEG)
def key_tested_later(x):
    d = {"a": x}
    if x.sum() > 0:
        d["b"] = x * 2
    if "b" in d:
        return d["b"]
    return d.get("b", x - 1)


@case(POS, NEG)
def missing_key_raises(x):
    d = {"a": x}
    if x.sum() > 0:
        d["b"] = x * 2
    return d["b"]


@case(POS, NEG)
def dict_methods(x):
    d = dict(a=x, b=x + 1)
    if x.sum() > 0:
        d.pop("a")
        d.setdefault("c", x * 3)
    else:
        d.update({"a": x * 2, "z": None})
    e = {**d, "last": 1}
    for key in list(d):
        if key == "b":
            del d[key]
    return d, list(e), e | {"m": 2}, [k for k, v in e.items() if v is None]


@case(POS, NEG)
def dict_order_differs_per_arm(x):
    d = {}
    if x.sum() > 0:
        d["p"] = x
        d["q"] = x + 1
    else:
        d["q"] = x + 1
        d["p"] = x
    return d, list(d)


@case(POS, NEG)
def dict_comprehension_with_condition(x):
    return {k: x * k for k in (1, 2, -3) if (x * k).sum() > 0}


@case(POS, NEG)
def counters_and_defaultdicts(x):
    d = collections.defaultdict(list)
    d["a"].append(x)
    if x.sum() > 0:
        d["b"].append(x * 2)
    c = collections.Counter("aab")
    o = collections.OrderedDict(a=1)
    if x.sum() > 0:
        c["z"] += 3
        o["b"] = 2
    return dict(d), dict(c), o


@case(I(1), I(2), values=True)
def dict_keyed_by_a_runtime_int(n):
    d = {}
    d[int(n)] = 5
    return d


@case(I(1), I(2), I(7), may_refuse="key|hash|dict", values=True)
def static_dict_read_by_a_runtime_int(n):
    table = {1: 10.0, 2: 20.0, 7: 70.0}
    return table[int(n)]


@case(I(1), I(9), may_refuse="key|hash|dict", values=True)
def static_dict_get_by_a_runtime_int(n):
    return {1: 10.0, 2: 20.0}.get(int(n), -1.0)


# ------------------------------------------------------------------------------------------------ sets
@case(POS, NEG)
def set_changed_in_one_arm(x):
    s = {1, 2}
    if x.sum() > 0:
        s.add(7)
        s.discard(1)
    return s, len(s), 7 in s, s | {3}, s & {2, 7}


@case(I(1), I(2), may_refuse="hash|set", values=True)
def set_of_runtime_ints(n):
    s = {int(n), 1}
    return len(s)


@case(POS, NEG)
def frozen_set_and_deque(x):
    f = frozenset(("a",)) if x.sum() > 0 else frozenset()
    q = collections.deque([x], maxlen=2)
    q.append(x + 1)
    if x.sum() > 0:
        q.appendleft(x + 2)
    return len(f), list(q), q[0]


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


@case(Call({"a": T(1, 2), "b": [T(3), 5]}, k=T(2)), Call({"a": T(-1, 2), "b": [T(3), 5]}, k=T(2)))
def arguments_that_are_containers(d, *, k):
    if d["a"][0] > 0:
        d["c"] = d["a"] * k
        d["b"].append(d["b"][0])
    return d["a"] + d["b"][0] * d["b"][1], len(d)


test_containers = case.test()
