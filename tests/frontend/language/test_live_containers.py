# SPDX-License-Identifier: Apache-2.0
"""Containers that change while they are iterated, or while a view, a bound method or an iterator of theirs is held."""

import pytest

from tests.frontend.support.harness import T, check

V = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),), (T(-4, -5, -6),), (T(2.5, -0.5, 1.5),)]


def items_change(x):
    d = {"a": 1, "b": 2, "c": 3}
    for _, v in d.items():
        if x[0] > 0:
            d["b"] += v
            d["c"] = d["c"] * 2
    return d


def values_change(x):
    d, total = {"a": x, "b": x + 1}, 0
    for v in d.values():
        d["b"] = d["b"] * 2 if x[0] > 0 else d["b"]
        total = total + v
    return total


def dict_grows(x):
    d = {"a": 1, "b": 2}
    for _ in d:
        if x[0] > 0:
            d["z"] = 1
    return d


def set_grows(x):
    s = {1, 2}
    for _ in s:
        if x[0] > 0:
            s.add(9)
    return s


def reversed_changes(x):
    values, seen = [1, 2, 3], []
    for v in reversed(values):
        seen.append(v)
        if x[0] > 0:
            values[0] = values[0] + v
    return values, seen


def views_held(x):
    d = {"a": 1}
    keys, values, items = d.keys(), d.values(), d.items()
    if x[0] > 0:
        d["b"] = 2
    return list(keys), list(values), list(items), len(keys), "b" in keys


def methods_held(x):
    d, values = {"a": 1}, [1]
    get, append, pop = d.get, values.append, values.pop
    if x[0] > 0:
        d["b"] = 2
        append(5)
    if x[1] > 0:
        d["a"] = 9
    return get("b", 0), get("a"), pop()


def iterator_held(x):
    d = {"a": 1, "b": 2}
    it = iter(d.items())
    first = next(it)
    if x[0] > 0:
        d["b"] = 5
    return first, next(it), next(it, "end"), next(it, "end")


@pytest.mark.parametrize("program", [items_change, values_change, dict_grows, set_grows, reversed_changes, views_held,
                                     methods_held, iterator_held])
def test_containers_seen_as_they_are_now(program):
    check(program, V)
