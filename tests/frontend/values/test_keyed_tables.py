# SPDX-License-Identifier: Apache-2.0
"""Dicts and sets whose keys are known only at run time: ints of any range, tuples and strings that hold them."""

import collections
import dataclasses

import pytest
import torch

import dycl
from tests.frontend.support.harness import T, check


def numbers(*rows):
    return [torch.tensor(r) for r in rows]


INPUTS = numbers([3, 3, 5, 3], [1, 2, 3, 4], [700, -700, 700, -700], [9, 9, 9, 9])


def counts(x):
    found = {}
    for k in range(x.shape[0]):
        n = int(x[k])
        found[n] = found.get(n, 0) + 1
    best = max(found, key=found.get)
    return best, found[best], len(found), list(found.keys()), list(found.values())


def pairs(x):
    found = collections.defaultdict(list)
    for k in range(3):
        found[int(x[k]), int(x[k + 1])].append(k)
    total = x * 0
    for (a, b), places in found.items():
        total = total + (a - 2 * b) * len(places) + places[0]
    return total, (3, 5) in found, len(found)


def texts(x):
    found = {}
    for k in range(x.shape[0] - 1):
        found.setdefault(f"{int(x[k])}_{int(x[k + 1])}", x[k] * 10)
    key = "3_5"
    return (found[key] if key in found else x[0]), len(found), str([int(x[0]), int(x[1])]) == str([3, int(x[0])])


def seen(x):
    known = set()
    repeated = 0
    for n in x.tolist():
        if n in known:
            repeated += 1
        known.add(n)
    return len(known), repeated, sorted(known), max(known), len(known | {3}), 5 in known


def comprehension(x):
    table = {n: n * 2 for n in x.tolist()}
    unique = {n % 1000 for n in x.tolist()}
    return sum(table.values()), table[int(x[0])], len(table), len(unique)


def removed(x):
    table = {int(x[0]): 1.0, int(x[1]): 2.0, 8: 3.0}
    value = table.pop(int(x[2]), 7.0)
    table.update([(int(x[3]), 5.0)])
    del table[8]
    return value, len(table), sum(table.values()), dict(table) == table


def missing(x):
    table = {int(x[0]): 1}
    try:
        return table[int(x[1])]
    except KeyError:
        return -1


@dataclasses.dataclass(frozen=True)
class Cell:
    row: int
    column: int


def cells(x):
    grid = {}
    for k in range(3):
        grid[Cell(int(x[k]), int(x[k + 1]))] = k
    return grid.get(Cell(3, 5), -1), len(grid)


def returned(x):
    table = {int(x[0]): x, int(x[1]): x * 2}
    return table, {"inner": table, "all": {n for n in x.tolist()}, "first": table[int(x[0])]}


def counters(x):
    counted = collections.Counter(x[:3].tolist())
    top, times = counted.most_common(1)[0]
    del counted[54321]
    plain = dict(counted)
    return (counted, plain.get(54321), 54321 in plain, top, times, counted[12345], len(counted), counted.total(),
            counted.__class__ is collections.Counter)


def combined(x):
    a, b = collections.Counter(x[:2].tolist()), collections.Counter(x[2:].tolist())
    return [list(found.items()) for found in (a + b, a - b, a & b, a | b, b - a)], a == b, a <= b, a > b


def kept_positive(x):
    a = collections.Counter(x[:2].tolist())
    a.subtract(x[1:3].tolist())
    less = -a
    rest = list(a.items()), list((+a).items()), list(less.items()), a == {}
    a += collections.Counter({3: 2, int(x[0]): 1})
    a &= collections.Counter({3: 1, int(x[3]): 5})
    a |= collections.Counter([4])
    a -= collections.Counter(x[3:].tolist())
    return rest, a, a.total()


def in_order(x):
    unique = list(dict.fromkeys(x.tolist()))
    plain = {3: 1}
    copied = plain.copy()
    copied[int(x[0])] = 2
    known = {3}
    known |= {int(x[1])}
    return len(unique), unique[-1], len(copied), len({1, 3} | known), len({1, 3} - known), len(known), len(plain)


def questions(x):
    table, other = {int(x[0]): 1}, {}
    other[int(x[1])] = 1
    known = {int(x[0]), int(x[1])}
    more = set(x.tolist())
    return (table == other, table != other, bool(table), not {}, known == more, known <= more, len(more - known),
            len(known & {3, 5}), isinstance(table, dict) and type(table) is dict,
            3 in table and table[3] == 1, len({**table, **other}))


def nested(x):
    table = {}
    for k in range(3):
        table.setdefault(int(x[k]), {})[k] = x[k + 1]
    total = x[0] * 0
    for n in table:
        for k, v in table[n].items():
            total = total + n * k * v
    return total


@pytest.mark.parametrize("f", [counts, pairs, texts, seen, comprehension, removed, missing, cells, nested, returned,
                               counters, combined, kept_positive, in_order, questions])
def test_same_as_eager(f):
    check(f, INPUTS, by_result=True)


def histogram(x):
    """A table that grows in a loop decided at run time."""
    found, k = {}, 0
    while x[k] >= 0:
        n = int(x[k])
        found[n] = found.get(n, 0) + 1
        k += 1
    best, most = -1, 0
    for n, c in found.items():
        if c > most:
            best, most = n, c
    return best, most, len(found)


def first_repeat(x):
    known = set()
    for n in x[x > 0].tolist():
        if n in known:
            return n
        known.add(n)
    return -1


def last_seen(x):
    last, gaps, k = {}, [], 0
    while x[k] != 0:
        key = (int(x[k]), int(x[k + 1]))
        if key in last:
            gaps.append(k - last[key])
        last[key] = k
        k += 1
    return gaps, len(last)


@pytest.mark.parametrize("f", [histogram, first_repeat, last_seen])
def test_run_time_loops(f):
    long = torch.randint(1, 9, (140,), generator=torch.Generator().manual_seed(1))
    ended = torch.cat([long[:30], torch.tensor([-1, 0]), long[:108]])
    falling = torch.cat([torch.arange(138).flip(0), torch.tensor([0, -1])])
    rows = [ended, falling, torch.cat([torch.arange(1, 138), torch.tensor([-1, 0, 1])])]
    program = check(f, rows, by_result=True)
    assert len(program.ir_text) < 40_000  # loops, not copies


def lookup(x):
    table = {(1, 2): 5, (3, 3): 7, "3-5": 1}
    return (table.get((int(x[0]), int(x[1])), 0), table[f"{int(x[0])}-{int(x[2])}"] if x[2] == 5 else 0,
            (int(x[0]), 2) in table)


def test_static_dict_by_tuple():
    check(lookup, INPUTS, by_result=True)


def ambiguous(x):
    table = {"123": 1}
    return table.get(f"{int(x[0])}{int(x[1])}", 0)


def order(x):
    return list({(n, 1) for n in x.tolist()})


def shown(x):
    return f"{ {int(x[0]): 1} }"


@pytest.mark.parametrize("f", [ambiguous, order, shown])
def test_refused(f):
    with pytest.raises(dycl.CompileError) as error:
        dycl.compile(f, (INPUTS[0],))
    assert error.value.kind in ("escape.hash", "escape.str", "output"), error.value


def counted(x):
    table = {}
    for k in range(x.shape[0]):
        table[x[k].item()] = table.get(x[k].item(), 0) + 1
    return table, len(table), 1.0 in table, 1 in table


def beside_numbers(x):
    found = {1, x[0].item()}
    return len(found), x[1].item() in found, 1.0 in found, found


def in_tuples(x):
    seen = set()
    for k in range(x.shape[0]):
        seen.add((k % 2, x[k].item()))
    return len(seen), sorted(seen)


def of_numpy(x):
    a, table = x.numpy(), {}
    for k in range(a.shape[0]):
        table[a[k]] = k
    return table, a[1] in {0, a[0]}, {0.1: 1, 0.5: 2, 3: 4}.get(a[2], 5), a[0] in {0.1: 1}


FLOATS = [T(1, 2, 1), T(0.0, -0.0, 0.5), T(0.1, 0.1, 3), T(2, 2, 2), T(-1, 0.25, 1)]


@pytest.mark.parametrize("f", [counted, beside_numbers, in_tuples, of_numpy])
def test_floats_as_keys(f):
    check(f, [(x,) for x in FLOATS], by_result=True)


@pytest.mark.parametrize("f", [counted, of_numpy])
def test_no_key_is_nan(f):
    with pytest.raises(RuntimeError, match="a NaN as a key"):
        dycl.compile(f, (FLOATS[0],))(T(float("nan"), 1, 2))


def places_as_key(x):
    return x + {(0, 1): 5, (1, 2): 7}[tuple(x.nonzero()[:, 0].tolist())]


def places_inside_a_key(x):
    return x + {((0, 1), 2): 5, ((1, 2), 2): 7}[tuple(x.nonzero()[:, 0].tolist()), 2]


@pytest.mark.parametrize("f", [places_as_key, places_inside_a_key])
def test_a_tuple_of_run_time_length_is_not_taken_for_another_key(f):
    with pytest.raises(dycl.CompileError, match="a tuple whose length is known only at run time"):
        dycl.compile(f, (torch.tensor([1.0, 1, 0]),))


def asked_for_what_is_there(x):
    found = {int(x[0]): 1.0, int(x[1]): 2.0}
    try:
        return found.keys().isdisjoint([1])
    except AttributeError:
        return -1


def test_a_method_that_no_polyfill_has_is_refused_and_not_missing():
    with pytest.raises(dycl.CompileError, match="dict_keys.isdisjoint of a value known only at run time"):
        dycl.compile(asked_for_what_is_there, (T(1, 2),))


class Skim(torch.nn.Module):
    """Reads on, or jumps, and counts how often it has been where."""

    def __init__(self):
        super().__init__()
        self.embed, self.cell, self.jump = torch.nn.Embedding(9, 4), torch.nn.GRUCell(4, 4), torch.nn.Linear(4, 3)

    def forward(self, ids):
        h, at, since, seen = torch.zeros(1, 4), 0, 0, {}
        while at < len(ids):
            h = self.cell(self.embed(ids[at:at + 1]), h)
            seen[at] = seen.get(at, 0) + 1
            since += 1
            if since == 2:
                since, step = 0, self.jump(h).argmax(-1).item()
                if step == 0:
                    break
                at += step
            else:
                at += 1
        return len(seen), sum(seen.values()), h


def test_look_ups_are_loops_where_paths_differ_in_the_number_of_keys():
    torch.manual_seed(0)
    inputs = [(torch.randint(0, 9, (8,)),) for _ in range(6)]
    assert check(Skim().eval(), inputs).report()["blocks"] < 300  # 593 with a path for each number
