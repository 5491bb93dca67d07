# SPDX-License-Identifier: Apache-2.0
"""Sorting, searching and comparing make Python's own comparisons, visible where a key is NaN or a class counts them."""

import collections.abc

from tests.frontend.support.harness import Cases, T

case = Cases()
NAN = float("nan")
W = [(T(1.0, 2.0, 3.0, 4.0, 5.0),), (T(1.0, NAN, 1.0, 2.0, 0.0),), (T(NAN, NAN, 3.0, 1.0, 2.0),),
     (T(5.0, 4.0, 3.0, NAN, 1.0),), (T(3.0, 1.0, NAN, 2.0, 0.5),), (T(2.0, 2.0, 1.0, 1.0, 2.0),),
     (T(5.0, 4.0, 3.0, 2.0, 1.0),)]
V = [(T(1.0, 2.0, 3.0),), (T(-1.0, 2.0, -3.0),), (T(0.0, 0.0, 0.0),), (T(5.0, -7.0, 2.0),), (T(-4.0, 9.0, 0.5),)]


@case(*W, values=True)
def sorted_with_no_numbers(x):
    l = x.tolist()
    return sorted(l), sorted(range(5), key=lambda i: l[i])


@case(*W, values=True)
def sorted_backwards_with_no_numbers(x):
    l = x.tolist()
    l.sort(reverse=True)
    return l


class Counted:
    def __init__(self, value, log):
        self.value, self.log = value, log

    def __lt__(self, other):
        self.log.append("<")
        return self.value < other.value

    def __add__(self, other):
        self.log.append("+")
        return Counted(self.value + getattr(other, "value", other), self.log)

    __radd__ = __add__


@case(*V)
def comparisons_counted(x):
    log = []
    found = sorted([Counted(v, log) for v in x.tolist()])
    return [c.value for c in found], log


@case(*V)
def sum_of_objects(x):
    log = []
    items = [Counted(v if v > 0 else -v, log) for v in x]
    if x[0] > 0:
        items.append(Counted(x.sum(), log))
    return sum(items).value, sum(items[1:], items[0]).value, log


@case(*V)
def searched_from_the_end(x):
    l = x.tolist() + x.tolist()
    return l.index(l[0], -4), l.index(l[2], 1, -1), l.index(l[1], -100), 1 if x[0] > 0 else 2


class Row(list):
    def __eq__(self, other):
        return list.__eq__(self, other) if isinstance(other, Row) else NotImplemented

    def __lt__(self, other):
        return NotImplemented


class Place(tuple):
    def __eq__(self, other):
        return NotImplemented

    __hash__ = tuple.__hash__


class Names(set):
    def __le__(self, other):
        return NotImplemented


@case(*V)
def comparisons_left_to_native_classes(x):
    c = collections.Counter("aab" if x[0] > 0 else "ab")
    row, place = Row([1, 2] if x[0] > 0 else [1]), Place((1, 2) if x[0] > 0 else (3,))
    return (c == {"a": 2, "b": 1}, {"a": 2, "b": 1} == c, c != {"a": 1, "b": 1}, c == 5, row == [1, 2], [1, 2] == row,
            row != [1, 2], row == (1, 2), row < [1, 3], place == (1, 2), (3,) == place, place == [1],
            Names({1}) <= {1, 2}, Row(x.tolist()) == [1.0, 2.0, 3.0], Place(x.tolist()) == (-1.0, 2.0, -3.0))


@case(*V)
def dicts_of_run_time_values(x):
    d = {"a": x[0].item(), "b": 2.0}
    return (d == {"b": 2.0, "a": -1.0}, d != {"a": 1.0, "b": 2.0}, d == {"a": 1.0}, d == {"a": 1.0, "c": 2.0},
            1 if x[0] > 0 else 2)


test_sorting = case.test()
