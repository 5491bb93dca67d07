# SPDX-License-Identifier: Apache-2.0
"""PYTEST_DONT_REWRITE (the machine reads these programs as they are written). Lists, tuples, dicts, sets, dataclasses, named tuples, user objects; comprehensions and generators."""

import collections
import copy
import dataclasses
import enum
from typing import NamedTuple, Optional

import torch

from tests.frontend.support.harness import Cases, I, T

case = Cases()
POS, NEG, MIX = T(1.0, 2.0, 3.0, 0.5), T(-1.0, -2.0, -3.0, -0.5), T(-4.0, 1.0, 2.0, -1.5)


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


# ------------------------------------------------------------------------------------------------ objects
@dataclasses.dataclass
class Rec:
    x: torch.Tensor
    k: int = 0
    notes: list = dataclasses.field(default_factory=list)
    best: Optional[torch.Tensor] = None

    def bump(self):
        self.k += 1
        return self


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: torch.Tensor
    k: int = 1


class Node:
    def __init__(self, value, next=None):
        self.value, self.next = value, next


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a, self.b = a, None


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@case(POS, NEG)
def dataclass_changed_in_one_arm(x):
    r = Rec(x)
    if x.sum() > 0:
        r.x = x * 2
        r.notes.append(1)
        r.best = x
    else:
        r.bump().bump()
    return r


@case(POS, NEG)
def frozen_dataclass_replaced(x):
    r = Frozen(x)
    if x.sum() > 0:
        r = dataclasses.replace(r, k=5)
    return r, r.x * r.k


@case((POS, Rec(NEG, 3)), (NEG, Rec(POS, 3)))
def dataclass_as_input(x, r):
    if r.x.sum() > 0:
        return Rec(r.x + x, r.k + 1)
    return r


@case(POS, NEG)
def two_names_for_one_object(x):
    a = Rec(x)
    b = a
    if x.sum() > 0:
        b = Rec(x, 10)
    b.k += 1
    a.k += 100
    return a, b, a is b


@case(POS, NEG)
def object_in_two_containers(x):
    r = Rec(x)
    d, items = {"r": r}, [r]
    if x.sum() > 0:
        items[0].k = 7
        d["r"].x = x * 3
    return d["r"].k, items[0].x, r.k


@case(POS, NEG)
def linked_list(x):
    head = None
    for i in range(4):
        if x[i] > 0:
            head = Node(x[i], head)
    total = torch.zeros(())
    node = head
    while node is not None:
        total = total * 2 + node.value
        node = node.next
    return total


@case(POS, NEG)
def cyclic_object(x):
    a = Node(x)
    a.next = a
    if x.sum() > 0:
        a.next.value = x * 2
    return a.next.next.value, a.next is a


@case(POS, NEG)
def slots_and_attributes_added(x):
    s = Slots(x)
    n = Node(1)
    if x.sum() > 0:
        s.b = x + 1
        n.extra = 5
    return s.a, s.b is None, hasattr(n, "extra"), getattr(n, "extra", 0)


@case(POS, NEG)
def enum_per_arm(x):
    c = Color.RED if x.sum() > 0 else Color.BLUE
    if c is Color.RED:
        return x, c.name
    return x * c.value, c


@case(POS, NEG)
def copies_of_objects(x):
    r = Rec(x, 1, [x])
    s, d = copy.copy(r), copy.deepcopy(r)
    if x.sum() > 0:
        r.notes.append(2)
        r.k = 9
    return len(s.notes), len(d.notes), s.k, d.k


@case(POS, NEG)
def object_replaced_by_none(x):
    r = Rec(x)
    if x.sum() > 0:
        r = None
    if r:
        return r.x
    return 0


@case(POS, NEG)
def attribute_deleted_in_one_arm(x):
    n = Node(x, 1)
    if x.sum() > 0:
        del n.next
    return hasattr(n, "next")


# ------------------------------------------------------------------------------------------------ comprehensions
@case(MIX, POS, NEG)
def filtered_comprehension(x):
    return [v * 2 for v in x if v > 0]


@case(MIX, POS, NEG)
def comprehension_with_ternary(x):
    return [v if v > 0 else -v for v in x], torch.stack([v if v > 0 else v * 0.5 for v in x])


@case(MIX, POS)
def nested_comprehension(x):
    return [[a * b for b in (1, 2)] for a in x if a > 0], {i: v for i, v in enumerate(x) if v < 0}


@case(MIX, POS, NEG)
def comprehension_calls_a_helper(x):
    def f(v):
        if v > 0:
            return v * 2
        return None

    out = [f(v) for v in x]
    return [v for v in out if v is not None], sum(1 for v in out if v is None)


@case(MIX, POS, NEG)
def set_and_generator_expressions(x):
    return {i for i in range(4) if x[i] > 0}, sum(v for v in x if v > 0), max(v.item() for v in x)


@case(MIX, POS)
def comprehension_scopes(x):
    v = 100
    out = [v for v in x if v > 1]
    return v, out


# ------------------------------------------------------------------------------------------------ generators
def positives(x):
    for v in x:
        if v > 0:
            yield v


def counting(x):
    total = torch.zeros(())
    while total < 5:
        total = total + x
        yield total


def both(x):
    yield from positives(x)
    yield x.sum()
    return 5


@case(MIX, POS, NEG)
def generator_in_a_for(x):
    total = torch.zeros(())
    for v in positives(x):
        total = total + v
    return total, list(positives(x))


@case(MIX, POS, NEG)
def generator_by_next(x):
    g = positives(x)
    first = next(g, None)
    if first is None:
        return "nothing"
    second = next(g, first * 10)
    return first, second


@case(MIX, POS, NEG)
def stop_iteration_caught(x):
    g = positives(x)
    out = []
    try:
        while True:
            out.append(next(g))
    except StopIteration:
        out.append(-1)
    return out


@case(MIX, POS)
def generator_partly_consumed_across_a_fork(x):
    g = iter([x, x + 1, x + 2, x + 3])
    if x.sum() > 0:
        next(g)
        next(g)
    return next(g), [t.sum() for t in g]


@case(T(1.0), T(3.0), T(9.0))
def generator_with_a_runtime_loop(x):
    out = []
    for v in counting(x):
        out.append(v)
        if len(out) > 3:
            break
    return out


@case(MIX, POS, NEG)
def yield_from(x):
    return list(both(x))


@case(MIX, POS)
def generator_send_and_close(x):
    def talk():
        got = yield x
        while got is not None:
            got = yield x * got if x.sum() > 0 else x + got

    g = talk()
    first = next(g)
    a = g.send(2)
    b = g.send(3)
    g.close()
    return first, a, b


@case(MIX, POS)
def generator_return_value(x):
    def inner():
        if x.sum() > 0:
            yield x
            return 1
        return 2

    def outer():
        k = yield from inner()
        yield k

    return list(outer())


@case(MIX, POS)
def iterator_class(x):
    class Halves:
        def __init__(self, t):
            self.t = t

        def __iter__(self):
            return self

        def __next__(self):
            if self.t.abs().sum() < 2:
                raise StopIteration
            self.t = self.t / 2
            return self.t

    return len(list(Halves(x)))


@case(MIX, POS, NEG)
def zip_of_generator_and_list(x):
    return [a * b for a, b in zip(positives(x), [1, 10, 100, 1000])], dict(enumerate(positives(x)))


test_containers = case.test()
