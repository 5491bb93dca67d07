# SPDX-License-Identifier: Apache-2.0
"""collections.deque whose length is known only at run time, written in Python and interpreted by the machine (as
polyfills/builtins.py is). A deque of the model that calls change is one (boundary/states/container.py)."""

from __future__ import annotations

import operator
from collections import deque

from ...calling.nodes import Built
from ...calling.templates import Static
from ..values.escape import Escape
from ..values.growing import GROWING, Growing
from ..values.stand_in import stand_in_of
from .keyed_tables import refuse


def place(index):
    if isinstance(index, (float, complex, str, bytes, list, tuple, dict, set, slice)) or index is None:
        raise TypeError(f"sequence index must be integer, not '{type(index).__name__}'")
    return operator.index(index)


def walk(items, found, back):
    """Each change but of an element gives the deque another list."""
    if items.found is not found:
        raise RuntimeError("deque mutated during iteration")
    for x in reversed(found) if back else found:
        yield x
        if items.found is not found:
            raise RuntimeError("deque mutated during iteration")


class RtDeque(Growing):
    """Attributes: maxlen, found (a list of what is in it, which nobody else holds)."""

    late = False
    maxlen = None

    # ---- what the interpreter asks -------------------------------------------------------------------

    def example(self, m):
        return deque(maxlen=self.maxlen)

    def columns_of(self):
        return (self.found,)

    def put_columns(self, columns):
        (self.found,) = columns

    def described(self, parts):
        return Built(deque, (*parts, Static(self.maxlen)))

    def check_key(self, m):
        raise TypeError("unhashable type: 'collections.deque'")

    def copied(self, m, deep):
        if deep:
            raise Escape(self, "deepcopy")
        own = stand_in_of(self.found)
        made = m.new(object.__new__(RtDeque))
        made.maxlen = self.maxlen
        made.found = m.new(list(self.found)) if own is None else own.rebuilt_as(m, None, list, {})
        return made

    def all_items(self, m):
        return list(self.found) if type(self.found) is list else None

    def rebuilt_as(self, m, s, kind, more):
        own = stand_in_of(self.found)
        if own is not None:
            return own.rebuilt_as(m, s, kind, more)
        return m.new(list(self.found)) if kind is list else tuple(self.found) if kind is tuple else NotImplemented

    # ---- what is interpreted --------------------------------------------------------------------------

    def _become(self, items):
        """`items`: a new list."""
        self.found = items

    def append(self, x):
        items = list(self.found)
        items.append(x)
        self._become(items if self.maxlen is None else items[max(len(items) - self.maxlen, 0):])

    def appendleft(self, x):
        items = list(self.found)
        items.insert(0, x)
        self._become(items if self.maxlen is None else items[:self.maxlen])

    def extend(self, others):
        for x in list(others):
            self.append(x)

    def extendleft(self, others):
        for x in list(others):
            self.appendleft(x)

    def pop(self):
        if len(self.found) == 0:
            raise IndexError("pop from an empty deque")
        items = list(self.found)
        x = items.pop()
        self._become(items)
        return x

    def popleft(self):
        if len(self.found) == 0:
            raise IndexError("pop from an empty deque")
        items = list(self.found)
        x = items.pop(0)
        self._become(items)
        return x

    def clear(self):
        self._become([])

    def insert(self, index, x):
        if self.maxlen is not None and len(self.found) >= self.maxlen:
            raise IndexError("deque already at its maximum size")
        items = list(self.found)
        items.insert(place(index), x)
        self._become(items)

    def rotate(self, n=1):
        n = operator.index(n)
        if len(self.found) > 1:
            cut = -n % len(self.found)
            self._become(self.found[cut:] + self.found[:cut])

    def reverse(self):
        self._become(list(reversed(self.found)))

    def remove(self, x):
        for i in range(len(self.found)):
            if self.found[i] == x:
                items = list(self.found)
                items.pop(i)
                self._become(items)
                return
        raise ValueError("deque.remove(x): x not in deque")

    def count(self, x):
        return self.found.count(x)

    def index(self, x, *bounds):
        if len(bounds) > 0:
            return refuse("index() with bounds of a deque whose length is known only at run time")
        for i in range(len(self.found)):
            if self.found[i] == x:
                return i
        raise ValueError(f"{x!r} is not in deque")

    def copy(self):
        made = deque(maxlen=self.maxlen)
        made.extend(self.found)
        return made

    def _check(self, index):
        n = len(self.found)
        if index < -n or index >= n:
            raise IndexError("deque index out of range")

    def __len__(self):
        return len(self.found)

    def __iter__(self):
        return walk(self, self.found, False)

    def __reversed__(self):
        return walk(self, self.found, True)

    def __contains__(self, x):
        return x in self.found

    def __getitem__(self, index):
        self._check(place(index))
        return self.found[index]

    def __setitem__(self, index, x):
        self._check(place(index))
        self.found[index] = x

    def __delitem__(self, index):
        self._check(place(index))
        items = list(self.found)
        del items[index]
        self._become(items)

    def __iadd__(self, others):
        self.extend(others)
        return self

    def __add__(self, other):
        return refuse("+ of a deque whose length is known only at run time")

    __radd__ = __mul__ = __rmul__ = __imul__ = __add__

    def __eq__(self, other):
        return self.found == list(other) if isinstance(other, deque) else NotImplemented

    def __lt__(self, other):
        return refuse("deques whose length is known only at run time compared by size")

    __le__ = __gt__ = __ge__ = __lt__
    __hash__ = None

    def __repr__(self):
        return refuse("a deque whose length is known only at run time as a string")

    __str__ = __repr__


def of_known(m, x):
    made = m.new(object.__new__(RtDeque))
    made.maxlen, made.found = x.maxlen, m.new(list(x))
    return made


GROWING[deque] = of_known
