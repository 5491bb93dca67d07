# SPDX-License-Identifier: Apache-2.0
"""Iterators that may fork at each step, written as generators and interpreted by the machine (as polyfills/builtins.py
is).

What they iterate over is asked for its iterator when they are made, as Python does;
the generators behind them begin with the first item.
"""

from __future__ import annotations

import itertools
from collections import deque

from .registry import substitutes

_MISSING = object()


def enumerated(iterator, n):
    for x in iterator:
        yield n, x
        n = n + 1


@substitutes(enumerate, gives=enumerated, like=enumerate(()))
def enumerate_(iterable, start=0):
    return enumerated(iter(iterable), start)


def zipped(iterators, strict):
    while iterators:
        row = []
        for it in iterators:
            try:
                row.append(next(it))
            except StopIteration:
                if strict:
                    check_lengths(iterators, len(row))
                return
        yield tuple(row)


@substitutes(zip, gives=zipped, like=zip())
def zip_(*iterables, strict=False):
    return zipped([iter(i) for i in iterables], strict)


def check_lengths(iterators, first):
    """zip(strict=True), once the iterator `first` is at its end: all the others must be."""
    if first > 0:
        raise ValueError(
            f"zip() argument {first + 1} is shorter than argument{'s 1-' if first > 1 else ' '}{first}"
        ) from None
    for k in range(1, len(iterators)):
        try:
            next(iterators[k])
        except StopIteration:
            continue
        raise ValueError(f"zip() argument {k + 1} is longer than argument{'s 1-' if k > 1 else ' '}{k}")


def mapped(function, rows):
    for args in rows:
        yield function(*args)


@substitutes(map, gives=mapped, like=map(str, ()))
def map_(function, *iterables):
    if not iterables:
        raise TypeError("map() must have at least two arguments.")
    return mapped(function, zip(*iterables))


def filtered(function, iterator):
    for x in iterator:
        if function is None:
            if x:
                yield x
        elif function(x):
            yield x


@substitutes(filter, gives=filtered, like=filter(None, ()))
def filter_(function, iterable):
    return filtered(function, iter(iterable))


def reversed_(sequence):
    i = len(sequence) - 1
    while i >= 0:
        try:
            x = sequence[i]
        except (IndexError, StopIteration):
            return
        yield x
        i = i - 1


def iterate_by_index(obj):
    i = 0
    while True:
        try:
            x = obj[i]
        except (IndexError, StopIteration):
            return
        yield x
        i = i + 1


def iterate_array(array):
    for i in range(len(array)):
        yield array[i]


def chained(iterables):
    for it in iterables:
        for x in it:
            yield x


@substitutes(itertools.chain, gives=chained, like=itertools.chain())
def chain_(*iterables):
    return chained(iterables)


@substitutes(itertools.chain.from_iterable)
def chain_from_iterable(iterables):
    return chained(iter(iterables))


def taken(predicate, iterator):
    for x in iterator:
        if not predicate(x):
            return
        yield x


@substitutes(itertools.takewhile, gives=taken, like=itertools.takewhile(bool, ()))
def takewhile_(predicate, iterable):
    return taken(predicate, iter(iterable))


def accumulated(iterator, func, total):
    first = total is None
    if not first:
        yield total
    for x in iterator:
        if first:
            total = x
            first = False
        else:
            total = total + x if func is None else func(total, x)
        yield total


@substitutes(itertools.accumulate, gives=accumulated, like=itertools.accumulate(()))
def accumulate_(iterable, func=None, *, initial=None):
    return accumulated(iter(iterable), func, initial)


def dropped(predicate, iterator):
    dropping = True
    for x in iterator:
        if dropping and predicate(x):
            continue
        dropping = False
        yield x


@substitutes(itertools.dropwhile, gives=dropped, like=itertools.dropwhile(bool, ()))
def dropwhile_(predicate, iterable):
    return dropped(predicate, iter(iterable))


def left(function, iterator):
    for x in iterator:
        if not (x if function is None else function(x)):
            yield x


@substitutes(itertools.filterfalse, gives=left, like=itertools.filterfalse(None, ()))
def filterfalse_(function, iterable):
    return left(function, iter(iterable))


def spread(function, iterator):
    for args in iterator:
        yield function(*args)


@substitutes(itertools.starmap, gives=spread, like=itertools.starmap(bool, ()))
def starmap_(function, iterable):
    return spread(function, iter(iterable))


def sliced(iterator, start, stop, step):
    n = 0
    if stop is not None and stop <= start:  # nothing is given, but what comes before is passed over
        stop = start
        start = start + 1
        if stop == 0:
            return
    for x in iterator:
        if n >= start and (n - start) % step == 0:
            yield x
        n = n + 1
        if stop is not None and n >= stop:
            return


@substitutes(itertools.islice, gives=sliced, like=itertools.islice((), 0))
def islice_(iterable, *bounds):
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds
    start = 0 if start is None else start
    step = 1 if step is None else step
    for bound in (start, step) if stop is None else (start, stop, step):
        if not hasattr(type(bound), "__index__"):
            raise ValueError("Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    if start < 0 or stop is not None and stop < 0:
        raise ValueError("Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    if step < 1:
        raise ValueError("Step for islice() must be a positive integer or None.")
    return sliced(iter(iterable), start, stop, step)


def pairs(iterator):
    before = _MISSING
    for x in iterator:
        if before is not _MISSING:
            yield before, x
        before = x


@substitutes(itertools.pairwise, gives=pairs, like=itertools.pairwise(()))
def pairwise_(iterable):
    return pairs(iter(iterable))


@substitutes(getattr(itertools, "batched", None))
def batched_(iterable, n):
    if n < 1:
        raise ValueError("n must be at least one")
    return _batches(iterable, n)


def _batches(iterable, n):
    batch = ()
    for x in iterable:
        batch = (*batch, x)
        if len(batch) == n:
            yield batch
            batch = ()
    if batch:
        yield batch


def filled(iterators, fillvalue):
    rows = [list(i) for i in iterators]
    for k in range(max([len(r) for r in rows], default=0)):
        yield tuple([r[k] if k < len(r) else fillvalue for r in rows])


@substitutes(itertools.zip_longest, gives=filled, like=itertools.zip_longest())
def zip_longest_(*iterables, fillvalue=None):
    return filled([iter(i) for i in iterables], fillvalue)


def compressed(rows):
    for x, chosen in rows:
        if chosen:
            yield x


@substitutes(itertools.compress, gives=compressed, like=itertools.compress((), ()))
def compress_(data, selectors):
    return compressed(zip(data, selectors))


def grouped(iterator, key):
    group = []
    of = _MISSING
    for x in iterator:
        k = x if key is None else key(x)
        if of is _MISSING or k == of:
            group.append(x)
        else:
            yield of, iter(group)
            group.clear()
            group = [x]
        of = k
    if of is not _MISSING:
        yield of, iter(group)
        group.clear()


@substitutes(itertools.groupby, gives=grouped, like=itertools.groupby(()))
def groupby_(iterable, key=None):
    """Each group is complete when it is handed out (itertools' groups share the source instead),
    and empty once the next is asked for."""
    return grouped(iter(iterable), key)


def range_by(start, stop, step):
    """range() with a step known only at run time."""
    if step == 0:
        raise ValueError("range() arg 3 must not be zero")
    return by_steps(start, stop, step)


def by_steps(start, stop, step):
    while (start < stop) if step > 0 else (start > stop):
        yield start
        start = start + step


def iter_sentinel(function, sentinel):
    while True:
        x = function()
        if x == sentinel:
            return
        yield x


@substitutes(itertools.repeat)
def repeat_(object, times=None):
    return repeated(object, times)


def repeated(x, times):
    n = 0
    while times is None or n < times:
        yield x
        n = n + 1


def tee_(iterable, n=2):
    if n < 0:
        raise ValueError("n must be >= 0")
    source = iter(iterable)
    waiting = [[] for _ in range(n)]
    return tuple([teed(source, waiting, k) for k in range(n)])


def teed(source, waiting, k):
    """What this one has not given yet waits in its list, where the others put it as they come by it."""
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


def of_lists(function, iterables, arguments, keywords):
    """itertools.product and its kin, which read what they are given to the end before they begin."""
    return function(*[list(i) for i in iterables], *arguments, **keywords)


def make_deque(iterable, maxlen):
    return deque([x for x in iterable], maxlen)
