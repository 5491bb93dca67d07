# SPDX-License-Identifier: Apache-2.0
"""The order of a set's elements known only at run time, where it is Python's."""

import random

import pytest

import dycl
from dycl.frontend.polyfills import set_order
from dycl.frontend.state import set_tables
from tests.frontend.support.harness import I, T, check, refused

INPUTS = [(I(3, 10, 3, 25),), (I(0, 1, 2, 3),), (I(25, 3, 25, 11),), (I(17, 33, 9, 0),)]


def left_of_known(x):
    left, order = {17, 1, 33, 25, 9, 3}, []
    for n in x.tolist():
        left.discard(n)
    for k, n in enumerate(left):
        order.append(n * 10 + k)
    return order, list(left), tuple(left)


def greedy_pairs(x):
    """As graphs are contracted: what no pair took is left in the order of the numbers."""
    left, pairs = set(range(12)), []
    for k in range(3):
        a, b = x[k].item() % 12, x[k + 1].item() % 12
        if a in left and b in left:
            left.remove(a)
            if a != b:
                left.remove(b)
            pairs.append(a * 100 + b)
    return pairs, [n for n in left]


@pytest.mark.parametrize("f", [left_of_known, greedy_pairs])
def test_what_is_left_of_a_known_set(f):
    check(f, INPUTS, by_result=True)


def small(x):
    found, order = set(), 0
    for k in range(4):
        if x[k] > 5:
            found.add((x[k] % 8).item())
    for n in found:
        order = order * 10 + n
    return order, len(found)


def test_integers_that_have_a_place_in_any_set():
    check(small, [(I(7, 30, 9, 12),), (I(1, 2, 3, 4),), (I(14, 15, 14, 6),), (I(6, 13, 12, 3),)], by_result=True)


def changed(x):
    left = {17, 1, 33, 25}
    left.discard(x[0].item())
    total = 0
    for n in left:
        total += n
        if total > 40:
            left.discard(x[1].item())
    return total


def test_changed_while_it_is_iterated():
    """Paths meet between the elements, and how often the set was changed is a number of the run."""
    refused(changed, [(I(0, 0),), (I(17, 1),), (I(33, 1),), (I(33, 0),), (I(25, 33),)], "while it is iterated")


def put_back(x):
    left = {17, 1, 33, 25}
    left.discard(x[0].item())
    left.add(x[1].item())
    return list(left)


def copied(x):
    left = {17, 1, 33, 25}
    left.discard(x[0].item())
    return list(left.copy())


def labels(x):
    found = set(x[:3].tolist())
    return [n // 2 for n in found], next(iter(found))


def popped(x):
    left, taken = set(x.tolist()), []
    while left:
        taken.append(left.pop())
        if taken[-1] > 20:
            left.discard(taken[-1] - 8)
            left.add(taken[-1] % 8)
    return taken


def frontiers(x):
    seen, frontier, order = {0}, {0}, []
    ends = x.tolist()
    while frontier:
        ahead = set()
        for n in frontier:
            order.append(n)
            for k in range(len(ends) - 1):
                if ends[k] == n and ends[k + 1] not in seen:
                    seen.add(ends[k + 1])
                    ahead.add(ends[k + 1])
        frontier = ahead
    return order, [n for n in seen]


def left_slots(x):
    """What is small no longer has its place where something else was."""
    found = set()
    for n in x.tolist():
        found.add(n)
    found.add(0)
    found.add(1)
    for n in x.tolist():
        found.discard(n)
    found.add(0)
    found.add(1)
    found.add(2)
    return [n for n in found]


MIXED = [(I(8, 16, 3, 25),), (I(0, 1, 0, 1),), (I(-1, -2, 5, -9),), (I(40, 8, 0, 16),), (I(9, 9, 9, 9),),
         (I(2**61, 2**62, -2**63, 7),), (I(100, 200, 300, 400),), (I(17, 25, 1, 33),), (I(1, 3, 33, 17),)]


@pytest.mark.parametrize("f", [put_back, copied, labels, popped, frontiers, left_slots])
def test_an_order_that_hashes_make(f):
    check(f, MIXED, by_result=True)


def merged(x):
    a, b = set(x[:2].tolist()), {8, x[2].item()}
    a |= b
    return list(a)


def common(x):
    a, b = set(x[:2].tolist()), {8, 0, x[2].item()}
    return list(a & b), a - b


def apart(x):
    a, b = set(x[:2].tolist()), {8, 3, 0}
    b -= {3}
    return list(a ^ b)


def updated(x):
    a = set(x[:2].tolist())
    a.difference_update([3, 16])
    a.symmetric_difference_update({8, x[2].item()})
    a.update(dict.fromkeys((17, 9, 1)))
    return list(a)


@pytest.mark.parametrize("f", [merged, common, apart, updated])
def test_the_order_after_operators(f):
    check(f, [(I(8, 16, 3),), (I(0, 1, 2),), (I(5, 5, 5),), (I(16, 0, 24),), (I(24, 8, 0),)], by_result=True)


def made_of_known(x):
    """What operators and methods make of known sets gets elements of the run."""
    left, kept, all_of = {8, 0, 16} ^ {8, 1}, {3, 4}.union({5}), {1: 2} | {3: 4}
    left.discard(x[0].item())
    kept.add(x[1].item())
    all_of[x[2].item()] = 5
    return list(left), list(kept), all_of


def test_sets_that_operators_make():
    check(made_of_known, [(I(8, 16, 3),), (I(0, 3, 1),), (I(1, 5, 7),), (I(16, 0, 24),)], by_result=True)


def floats(x):
    return list(set(x.tolist()))


def words(x):
    return list({"a1", "b", f"a{x[0].item()}"})


@pytest.mark.parametrize("f, x", [(floats, T(1, 2)), (words, I(1, 17))])
def test_an_order_that_is_not_known(f, x):
    with pytest.raises(dycl.CompileError, match="order of a set|different kinds"):
        dycl.compile(f, (x,))


def several(x):
    found = {1}
    found.update([2], {3}, (4,))
    if x[0] > 3:
        found.add(5)
    return sorted(found)


def with_room(x):
    """What is put in with another set stands in a smaller table."""
    made, literal, merged = {1, 2, 3} | {4, 5}, {1, 2, 3, 4, 5}, {1, 2, 3}
    merged.update({4, 5})
    if x[0] > 3:
        made.add(17)
        literal.add(17)
        merged.add(17)
    for found in (made, literal, merged):
        found.add(16)
    return list(made), list(literal), list(merged), list({*made, 24})


def taken_out(x):
    free, out = {0, 1}, []
    for n in x.tolist():
        free.discard(n % 4)
    for n in range(3):
        free.add(n)
    while free:
        out.append(free.pop())
        if x[0] > 3:
            free.add(8) if len(out) < 3 else free.discard(8)
    return out


@pytest.mark.parametrize("f", [several, with_room, taken_out])
def test_known_sets_that_paths_change(f):
    check(f, [(I(1, 2),), (I(5, 2),), (I(0, 1),), (I(1, 0),), (I(4, 5),)])


@pytest.mark.parametrize("seed", range(20))
def test_histories_are_those_of_python(seed):
    """Sets that anything was done to, their copies and what operators make of them."""
    draw = random.Random(seed)
    for _ in range(20):
        real, history, finger, most = set(), [], 0, draw.choice([8, 30, 5000, 2**63 - 1])
        for _ in range(draw.choice([5, 30, 80])):
            n = draw.choice([*real, draw.randint(-most, most)])
            kind = draw.random()
            if kind < 0.2 and real:
                n, finger = set_order.popped_after(history, finger)
                assert real.pop() == n
                history.append((n, set_order.TAKEN))
            elif kind < 0.5 and n in real:
                real.remove(n)
                history.append((n, set_order.TAKEN))
            elif n not in real:
                real.add(n)
                history.append((n, set_order.PUT))
        assert set_order.order_after(history) == list(real)
        order, copied = set_order.merged([], history)
        assert order == list(real)
        assert set_order.order_after(
            history if copied else [(len(order), set_order.ROOM)] + [(n, set_order.PUT) for n in order]
        ) == list(real.copy())
        table = set_tables.table_of(real)
        again = set(range(draw.choice([0, 5, 100])))
        set_tables.put_back(again, tuple(real), table)
        assert set_tables.table_of(again) == table and list(again) == list(real) and again == real
        for n in (8, -3, 16, 17):
            real.add(n), again.add(n)
        assert [real.pop() for _ in range(3)] == [again.pop() for _ in range(3)] and list(real) == list(again)
    assert set_order.is_that_of_python()


def of_another(x):
    known = {24, 8, 16, 1}
    known.discard(8)
    return (list(set(known)), list(set(list(known)))) if x[0] > 3 else list({*known, 9})


def test_a_set_of_a_set():
    check(of_another, [(I(1, 2),), (I(5, 2),)])


def taken(x):
    left = {1, 2, 3}
    try:
        for n in x.clamp(0, 3).tolist():
            left.remove(n)
    except KeyError:
        return len(left) + 10
    return len(left)


def test_an_element_that_is_not_there():
    check(taken, [(I(1, 2),), (I(1, 1),), (I(0, 2),)])
