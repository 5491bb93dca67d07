# SPDX-License-Identifier: Apache-2.0
"""Iterators as Python has them: when they read their source, where they end, what type they have."""

import collections.abc
import functools
import itertools
import types

from tests.frontend.support.harness import Cases, I, T, check

case = Cases()
V = [(T(1.0, 2.0, 3.0),), (T(-1.0, 2.0, -3.0),), (T(0.0, 0.0, 0.0),), (T(5.0, -7.0, 2.0),), (T(-4.0, 9.0, 0.5),)]


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
    made = (iter([x]), (v for v in [1]), zip([1], [2]), iter({"a": 1}), map(str, [1]), enumerate([1]), reversed([1]),
            iter(range(3)), iter((1,)), iter("ab"), filter(None, [1]), itertools.chain([1]), iter({1}))
    abc = collections.abc
    told = [(hasattr(o, "__next__"), hasattr(o, "__len__"), hasattr(o, "send"), isinstance(o, abc.Iterator),
             isinstance(o, abc.Iterable), isinstance(o, types.GeneratorType), isinstance(o, (zip, map)),
             type(o).__name__, iter(o) is o) for o in made]
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
    parts = [(k, next(g), next(g, None))
             for k, g in itertools.groupby([1, 1, 1, 2, 2, 3] if x[0] > 0 else [1, 2, 2, 2])]
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
def by_generators(x):
    a, b = itertools.tee(v for v in x.tolist() if v > 0)
    ring = collections.deque((v for v in x.tolist() if v > 0), maxlen=2)
    ring.append(7.0)
    grid = itertools.product((v for v in (1, 2)), repeat=2)
    if x[0] > 0:
        next(grid)
    return (list(zip(a, itertools.islice(b, 1, None))), list(ring), ring.maxlen, list(grid),
            list(itertools.permutations(iter(x.tolist()), 2)))


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


test_iterators = case.test()


def grouped(x):
    runs = [(k, list(group)) for k, group in itertools.groupby(x.tolist(), key=lambda v: v % 2)]
    first = list(itertools.islice(itertools.dropwhile(lambda v: v < 2, x.tolist()), 2))
    return len(runs), runs, first, [a - b for a, b in itertools.pairwise(x.tolist())]


def test_itertools_over_numbers_of_run_time():
    check(grouped, [(I(1, 1, 2),), (I(1, 2, 5),), (I(2, 4, 6),)])
