# SPDX-License-Identifier: Apache-2.0
"""Iterators as Python has them: when they ask for what they iterate over, where they end, what they are; native ones that several paths
use. Sorting makes the comparisons that Python makes, which shows where a key is no number; a comparison that a class leaves to others goes
on. Copies are what their classes say."""

import collections
import collections.abc
import copy
import functools
import itertools
import types

from tests.frontend.support.harness import Cases, I, T

case = Cases()
NAN = float("nan")
V = [(T(1.0, 2.0, 3.0),), (T(-1.0, 2.0, -3.0),), (T(0.0, 0.0, 0.0),), (T(5.0, -7.0, 2.0),), (T(-4.0, 9.0, 0.5),)]
W = [(T(1.0, 2.0, 3.0, 4.0, 5.0),), (T(1.0, NAN, 1.0, 2.0, 0.0),), (T(NAN, NAN, 3.0, 1.0, 2.0),), (T(5.0, 4.0, 3.0, NAN, 1.0),),
     (T(3.0, 1.0, NAN, 2.0, 0.5),), (T(2.0, 2.0, 1.0, 1.0, 2.0),), (T(5.0, 4.0, 3.0, 2.0, 1.0),)]


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
def native_iterator_of_tensors_used_on_every_path(x):
    pairs = itertools.combinations([x, x + 1, x * 2], 2)
    again = itertools.repeat(x, 2)
    first = next(pairs)
    if x[0] > 0:
        next(pairs)
        next(again)
    return first, [a - b for a, b in pairs], list(again)


@case(*V)
def what_iterators_are(x):
    made = (iter([x]), (v for v in [1]), zip([1], [2]), iter({"a": 1}), map(str, [1]), enumerate([1]), reversed([1]), iter(range(3)),
            iter((1,)), iter("ab"), filter(None, [1]), itertools.chain([1]), iter({1}))
    abc = collections.abc
    told = [(hasattr(o, "__next__"), hasattr(o, "__len__"), hasattr(o, "send"), isinstance(o, abc.Iterator), isinstance(o, abc.Iterable),
             isinstance(o, types.GeneratorType), isinstance(o, (zip, map)), type(o).__name__, iter(o) is o) for o in made]
    return told, made[0].__next__() if x[0] > 0 else 0


@case(*V)
def functions_that_end_an_iteration(x):
    rows = [iter([1, 2, 3]), iter([4, 5]), iter([6, 7, 8])]
    if x[0] > 0:
        next(rows[0])
    found = [list(map(next, rows)) for _ in range(4)]
    it = iter([1, 2, 3])
    return found, list(iter(functools.partial(next, it), 2 if x[0] > 0 else 9)), list(it)


@case(*V)
def passed_over(x):
    it = iter([1, 2, 3, 4, 5])
    n = 2 if x[0] > 0 else 3
    next(itertools.islice(it, n, n), None)
    try:
        cut = list(itertools.islice([1, 2], -1 if x[0] > 0 else 1))
    except ValueError:
        cut = "negative"
    return next(it), list(itertools.islice(it, 1)), list(it), cut


@case(*V)
def groups_kept_too_long(x):
    kept = list(itertools.groupby([v > 0 for v in x.tolist()]))
    parts = [(k, next(g), next(g, None)) for k, g in itertools.groupby([1, 1, 1, 2, 2, 3] if x[0] > 0 else [1, 2, 2, 2])]
    return [(k, list(g)) for k, g in kept], parts


@case(*V)
def ended_iterators_stay_ended(x):
    l = [1, 2]
    it, other = iter(l), iter(l)
    first = list(it)
    for _ in other:
        pass
    l.append(3)
    if x[0] > 0:
        l.append(4)
    return first, list(it), list(other), l


@case(*V)
def asked_when_made(x):
    d = {"a": 1}
    row = zip(d, [1, 2])
    if x[0] > 0:
        d["b"] = 2
    try:
        found = list(row)
    except RuntimeError as error:
        found = str(error)
    try:
        made = map(str, 5 if x[0] > 0 else [2])
    except TypeError:
        return found, "not iterable"
    return found, list(made)


@case(*V, refuse="keys change while it is iterated")
def moved_to_the_end_while_iterated(x):
    d = {"a": 1, "b": 2}
    for k in d:
        if x[0] > 0 and k == "a":
            d[k] = d.pop(k)
    return list(d)


@case(*V)
def chained_lazily(x):
    log = []

    def numbers(n):
        for i in range(n):
            log.append(i)
            yield i

    c = itertools.chain.from_iterable(numbers(k) for k in (1, 2, 3))
    first = next(c)
    if x[0] > 0:
        next(c)
    before = list(log)
    return first, before, list(c), list(itertools.chain.from_iterable([[v] * int(max(v, 0)) for v in x.tolist()]))


@case(*V)
def searched_from_the_end(x):
    l = x.tolist() + x.tolist()
    return l.index(l[0], -4), l.index(l[2], 1, -1), l.index(l[1], -100), 1 if x[0] > 0 else 2


@case(*V)
def by_generators(x):
    a, b = itertools.tee(v for v in x.tolist() if v > 0)
    ring = collections.deque((v for v in x.tolist() if v > 0), maxlen=2)
    ring.append(7.0)
    grid = itertools.product((v for v in (1, 2)), repeat=2)
    if x[0] > 0:
        next(grid)
    return list(zip(a, itertools.islice(b, 1, None))), list(ring), ring.maxlen, list(grid), list(itertools.permutations(iter(x.tolist()), 2))


@case((I(3, 1, 2),), (I(-3, 1, 2),), (I(0, 0, 5),), values=True)
def sets_without_order(x):
    s, few = {1, 2, 3}, set(x.tolist())
    for v in x.tolist():
        s.add(v)
    return min(s), max(s), sum(few), any(few), all(few), len(s)


def split(source, waiting, k):
    """A loop in a generator that is left on some paths while others still go through it."""
    mine = waiting[k]
    while True:
        if not mine:
            try:
                x = next(source)
            except StopIteration:
                return
            for other in waiting:
                other.append(x)
        yield mine.pop(0)


@case(*V)
def paths_through_a_loop_in_a_generator(x):
    source, waiting = (v for v in x.tolist() if v > 0), [[], []]
    a, b = split(source, waiting, 0), split(source, waiting, 1)
    return list(zip(a, itertools.islice(b, 1, None)))


@case(*V)
def what_generators_tell(x):
    def talking():
        y = yield 1
        try:
            yield y
        except ValueError:
            yield 2

    g, h = talking(), talking()
    try:
        g.send(x)
    except TypeError as error:
        told = str(error)
    next(g)
    if x[0] > 0:
        next(h)
    try:
        thrown = h.throw(ValueError("now"))
    except ValueError as error:
        thrown = str(error), next(h, "done")
    return g.__name__, told, g.send(x), thrown


class ByPlace:
    def __init__(self, x):
        self.x = x

    def __getitem__(self, i):
        if i > 2:
            raise StopIteration if self.x[0] > 0 else IndexError
        return self.x[i]


@case(*V)
def ended_by_stop_iteration(x):
    return [v for v in ByPlace(x)], list(ByPlace(x))


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
    return (c == {"a": 2, "b": 1}, {"a": 2, "b": 1} == c, c != {"a": 1, "b": 1}, c == 5, row == [1, 2], [1, 2] == row, row != [1, 2], row == (1, 2),
            row < [1, 3], place == (1, 2), (3,) == place, place == [1], Names({1}) <= {1, 2}, Row(x.tolist()) == [1.0, 2.0, 3.0],
            Place(x.tolist()) == (-1.0, 2.0, -3.0))


@case(*V)
def dicts_of_run_time_values(x):
    d = {"a": x[0].item(), "b": 2.0}
    return d == {"b": 2.0, "a": -1.0}, d != {"a": 1.0, "b": 2.0}, d == {"a": 1.0}, d == {"a": 1.0, "c": 2.0}, 1 if x[0] > 0 else 2


class Linked:
    def __init__(self, x):
        self.x = self.y = [x]
        self.me = self

    def __deepcopy__(self, memo):
        made = Linked.__new__(Linked)
        memo[id(self)] = made
        made.x, made.y, made.me = copy.deepcopy(self.x, memo), copy.deepcopy(self.y, memo), copy.deepcopy(self.me, memo)
        return made


@case(*V)
def copies_that_hand_on_their_memo(x):
    a = Linked(x)
    b = copy.deepcopy(a)
    if x[0] > 0:
        b.x.append(1)
    return b.x, b.y, b.x is b.y, b.me is b, a.x


class Partly:
    def __init__(self, x):
        self.x, self.other = x, x * 2

    def __getstate__(self):
        return {"x": self.x}


@case(*V, refuse="copy.deepcopy of a Partly")
def copies_of_a_part(x):
    made = copy.deepcopy(Partly(x))
    return hasattr(made, "other"), made.x + 1 if x[0] > 0 else made.x


test_iterators_and_sorting = case.test()

