# SPDX-License-Identifier: Apache-2.0
"""Iterators that may fork at each step, written as generators and interpreted by the machine (as shims.py is)."""

_MISSING = object()


def enumerate_(iterable, start=0):
    n = start
    for x in iterable:
        yield n, x
        n = n + 1


def zip_(*iterables, strict=False):
    iterators = [iter(i) for i in iterables]
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


def check_lengths(iterators, first):
    """zip(strict=True), once the iterator `first` is at its end: all the others must be."""
    if first > 0:
        raise ValueError(f"zip() argument {first + 1} is shorter than argument{'s 1-' if first > 1 else ' '}{first}") from None
    for k in range(1, len(iterators)):
        try:
            next(iterators[k])
        except StopIteration:
            continue
        raise ValueError(f"zip() argument {k + 1} is longer than argument{'s 1-' if k > 1 else ' '}{k}")


def map_(function, *iterables):
    for args in zip(*iterables):
        yield function(*args)


def filter_(function, iterable):
    for x in iterable:
        if function is None:
            if x:
                yield x
        elif function(x):
            yield x


def reversed_(sequence):
    i = len(sequence) - 1
    while i >= 0:
        yield sequence[i]
        i = i - 1


def iterate_by_index(obj):
    i = 0
    while True:
        try:
            x = obj[i]
        except IndexError:
            return
        yield x
        i = i + 1


def iterate_array(array):
    for i in range(len(array)):
        yield array[i]


def chain_(*iterables):
    for it in iterables:
        for x in it:
            yield x


def chain_from_iterable(iterables):
    for it in iterables:
        for x in it:
            yield x


def takewhile_(predicate, iterable):
    for x in iterable:
        if not predicate(x):
            return
        yield x


def accumulate_(iterable, func=None, *, initial=None):
    total = initial
    first = initial is None
    if not first:
        yield total
    for x in iterable:
        if first:
            total = x
            first = False
        else:
            total = total + x if func is None else func(total, x)
        yield total


def dropwhile_(predicate, iterable):
    dropping = True
    for x in iterable:
        if dropping and predicate(x):
            continue
        dropping = False
        yield x


def filterfalse_(function, iterable):
    for x in iterable:
        if not (x if function is None else function(x)):
            yield x


def starmap_(function, iterable):
    for args in iterable:
        yield function(*args)


def islice_(iterable, *bounds):
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds
    start = 0 if start is None else start
    step = 1 if step is None else step
    if stop is not None and stop <= start:
        return
    n = 0
    for x in iterable:
        if n >= start and (n - start) % step == 0:
            yield x
        n = n + 1
        if stop is not None and n >= stop:
            return


def pairwise_(iterable):
    before = _MISSING
    for x in iterable:
        if before is not _MISSING:
            yield before, x
        before = x


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


def zip_longest_(*iterables, fillvalue=None):
    rows = [list(i) for i in iterables]
    for k in range(max([len(r) for r in rows], default=0)):
        yield tuple([r[k] if k < len(r) else fillvalue for r in rows])


def compress_(data, selectors):
    for x, chosen in zip(data, selectors):
        if chosen:
            yield x


def groupby_(iterable, key=None):
    """Each group is complete when it is handed out (itertools' groups share the source instead)."""
    group = []
    of = _MISSING
    for x in iterable:
        k = x if key is None else key(x)
        if of is _MISSING or k == of:
            group.append(x)
        else:
            yield of, iter(group)
            group = [x]
        of = k
    if of is not _MISSING:
        yield of, iter(group)


def range_by(start, stop, step):
    """range() with a step known only at run time."""
    if step == 0:
        raise ValueError("range() arg 3 must not be zero")
    while (start < stop) if step > 0 else (start > stop):
        yield start
        start = start + step


def iter_sentinel(function, sentinel):
    while True:
        x = function()
        if x == sentinel:
            return
        yield x
