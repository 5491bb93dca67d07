# SPDX-License-Identifier: Apache-2.0
"""Dicts and sets whose keys are known only at run time, written in Python and interpreted by the machine (as
polyfills/builtins.py is).

A dict that gets such a key is made as a table instead: capture begins anew, and the place in the program that made the
dict makes an `RtDict` (see semantics/keys.py). Its keys and values are two lists in the order of insertion; a look-up
compares with one key after the other, so each comparison may split the state, and a table that grows in a loop decided
at run time becomes two lists of run-time length that a loop walks over. Keys of one table are different from each other
on every path. A set has one list (polyfills/keyed_sets.py).
"""

from __future__ import annotations

import collections
import operator

from ...calling.nodes import Table
from ...calling.templates import Live
from ..diagnostics import CaptureRefusal
from ..values.escape import Escape
from ..values.growing import GROWING, Growing
from ..values.stand_in import InterpretedStandIn, drop_result


def same_key(a, b):
    """Answered by the machine: whether a dict takes the two for one key."""
    raise NotImplementedError


def check_key(key):
    """Answered by the machine: fails for what cannot be a key."""
    raise NotImplementedError


def new_table(like):
    """Answered by the machine: an empty table of the same kind."""
    raise NotImplementedError


def elements(source):
    """Answered by the machine: what may stand in a `for`; a set's elements, in any order."""
    raise NotImplementedError


def refuse(what):
    """Answered by the machine; native code that calls a method here is refused as well."""
    raise Escape(None, "str")


def fill(table, keys, values):
    for i in range(len(keys)):
        table[keys[i]] = values[i]
    return table


def fill_set(table, items):
    table.update(items)
    return table


def copy_with(made, source, extra):
    """`made`: an empty table."""
    made.found_keys.extend(source.found_keys)
    made.found_values.extend(source.found_values)
    made.update(extra)
    return made


_MISSING = object()
_KEYS_VIEW = type({}.keys())


class RtKeyed(InterpretedStandIn):
    """What has keys known only at run time."""

    late = False

    def refuse_native(self, m, name):
        raise CaptureRefusal(f"{name} with a dict or set whose keys are known only at run time",
                             "use a loop over it", kind="escape.hash")


class RtTable(RtKeyed, Growing):
    """A dict or set. One whose keys are known takes operators as a table with the same entries."""

    def check_key(self, m):
        raise TypeError(f"unhashable type: '{self.type_of(m).__name__}'")

    def yields(self, a, b, comparing):
        return comparing or not isinstance(a, (set, dict))

    def binary(self, m, s, op, a, b, inplace):
        if not isinstance(a, (set, dict)):
            return NotImplemented
        if inplace:
            m.keys.make_table(m, a, 0)
        return m.call(s, m.polyfills.plain_binary, (op, m.keys.as_table(m, a), b), {})


class RtDict(RtTable):
    """Attributes: kind (the class it stands for), factory (of a defaultdict), found_keys, found_values, removals."""

    def example(self, m):
        return self.kind()

    def empty_like(self, m):
        return m.keys.as_table(m, self.kind(), self.factory)

    def columns_of(self):
        return self.found_keys, self.found_values

    def put_columns(self, columns):
        self.found_keys, self.found_values = columns

    def described(self, parts):
        return Table(self.kind, parts, (), None if self.factory is None else Live(self.factory))

    def flattened(self, flattener, path):
        if self.factory is not None:
            flattener.code(self.factory, path)  # refuses one that holds what a run computes
        return super().flattened(flattener, path)

    def add_entry(self, m, s, key, value):
        return m.call_then(s, RtDict.__setitem__, (self, key, value), {}, drop_result)

    def rebuilt_as(self, m, s, kind, more):
        if not issubclass(kind, dict):
            return NotImplemented
        return m.call(s, copy_with, (m.keys.as_table(m, kind()), self, more), {})

    def __getitem__(self, key):
        check_key(key)
        for i in range(len(self.found_keys)):
            if same_key(self.found_keys[i], key):
                return self.found_values[i]
        if self.factory is None:
            raise KeyError(key)
        value = self.factory()
        self[key] = value
        return value

    def __setitem__(self, key, value):
        check_key(key)
        for i in range(len(self.found_keys)):
            if same_key(self.found_keys[i], key):
                self.found_values[i] = value
                return
        self.found_keys.append(key)
        self.found_values.append(value)

    def __delitem__(self, key):
        self.pop(key)

    def __contains__(self, key):
        check_key(key)
        for known in self.found_keys:
            if same_key(known, key):
                return True
        return False

    def __len__(self):
        return len(self.found_keys)

    def __iter__(self):
        return walk(self, "keys")

    def __reversed__(self):
        return reversed(list(self.found_keys))

    def keys(self):
        return view(self, "keys")

    def values(self):
        return view(self, "values")

    def items(self):
        return view(self, "items")

    def get(self, key, default=None):
        check_key(key)
        for i in range(len(self.found_keys)):
            if same_key(self.found_keys[i], key):
                return self.found_values[i]
        return default

    def setdefault(self, key, default=None):
        check_key(key)
        for i in range(len(self.found_keys)):
            if same_key(self.found_keys[i], key):
                return self.found_values[i]
        self.found_keys.append(key)
        self.found_values.append(default)
        return default

    def pop(self, key, default=_MISSING):
        check_key(key)
        for i in range(len(self.found_keys)):
            if same_key(self.found_keys[i], key):
                self.removals = self.removals + 1
                self.found_keys.pop(i)
                return self.found_values.pop(i)
        if default is _MISSING:
            raise KeyError(key)
        return default

    def popitem(self):
        if len(self.found_keys) == 0:
            raise KeyError("popitem(): dictionary is empty")
        self.removals = self.removals + 1
        return (self.found_keys.pop(), self.found_values.pop())

    def update(self, other=(), **extra):
        if isinstance(other, dict) or hasattr(other, "keys"):
            for key in other.keys():
                self[key] = other[key]
        else:
            for key, value in other:
                self[key] = value
        for key in extra:
            self[key] = extra[key]

    def clear(self):
        self.removals = self.removals + 1
        self.found_keys.clear()
        self.found_values.clear()

    def copy(self):
        made = new_table(self)
        made.found_keys.extend(self.found_keys)
        made.found_values.extend(self.found_values)
        return made

    __copy__ = copy

    def __or__(self, other):
        made = self.copy()
        made.update(other)
        return made

    def __ior__(self, other):
        self.update(other)
        return self

    def __eq__(self, other):
        if not isinstance(other, dict):
            return NotImplemented
        if len(self) != len(other):
            return False
        for i in range(len(self.found_keys)):
            key = self.found_keys[i]
            if key not in other or self.found_values[i] != other[key]:
                return False
        return True

    __hash__ = None

    def __repr__(self):
        return refuse("a dict with keys known only at run time as a string")

    __str__ = __repr__


class RtCounter(RtDict):
    """A collections.Counter."""

    def __getitem__(self, key):
        return self.get(key, 0)

    def update(self, other=(), **extra):
        if isinstance(other, dict) or hasattr(other, "keys"):
            for key in other.keys():
                self[key] = self[key] + other[key]
        else:
            for key in other:
                self[key] = self[key] + 1
        for key in extra:
            self[key] = self[key] + extra[key]

    def most_common(self, n=None):
        ranked = sorted(self.items(), key=second, reverse=True)
        return ranked if n is None else ranked[:max(n, 0)]

    def __delitem__(self, key):
        self.pop(key, None)

    def __eq__(self, other):
        return self._all(other, operator.eq) if isinstance(other, collections.Counter) else RtDict.__eq__(self, other)

    __hash__ = None

    def __le__(self, other):
        return self._all(other, operator.le) if isinstance(other, collections.Counter) else NotImplemented

    def __ge__(self, other):
        return self._all(other, operator.ge) if isinstance(other, collections.Counter) else NotImplemented

    def __lt__(self, other):
        return self <= other and self != other if isinstance(other, collections.Counter) else NotImplemented

    def __gt__(self, other):
        return self >= other and self != other if isinstance(other, collections.Counter) else NotImplemented

    def _all(self, other, holds):
        for key in self:
            if not holds(self.get(key, 0), other.get(key, 0)):
                return False
        for key in other:
            if not holds(self.get(key, 0), other.get(key, 0)):
                return False
        return True

    def total(self):
        return sum(self.found_values)

    def elements(self):
        for i in range(len(self.found_keys)):
            for _ in range(self.found_values[i]):
                yield self.found_keys[i]

    def subtract(self, other=(), /, **extra):
        if isinstance(other, dict) or hasattr(other, "keys"):
            for key in other.keys():
                self[key] = self[key] - other[key]
        elif other is not None:
            for key in other:
                self[key] = self[key] - 1
        for key in extra:
            self[key] = self[key] - extra[key]

    def __add__(self, other):
        return self._combined(other, operator.add) if isinstance(other, collections.Counter) else NotImplemented

    def __sub__(self, other):
        return self._combined(other, operator.sub) if isinstance(other, collections.Counter) else NotImplemented

    def __or__(self, other):
        return self._combined(other, max) if isinstance(other, collections.Counter) else NotImplemented

    def __and__(self, other):
        return self._combined(other, min) if isinstance(other, collections.Counter) else NotImplemented

    def _combined(self, other, combine):
        """What is more than none, in the order of the keys here, then of the other's."""
        made = new_table(self)
        for i in range(len(self.found_keys)):
            key = self.found_keys[i]
            count = combine(self.found_values[i], other.get(key, 0))
            if count > 0:
                made.found_keys.append(key)
                made.found_values.append(count)
        for key in other:
            if key not in self:
                count = combine(0, other[key])
                if count > 0:
                    made[key] = count
        return made

    def __pos__(self):
        return self._combined(collections.Counter(), operator.add)

    def __neg__(self):
        return new_table(self)._combined(self, operator.sub)

    def __iadd__(self, other):
        for key in list(other):
            self[key] = self[key] + other[key]
        return self._keep_positive()

    def __isub__(self, other):
        for key in list(other):
            self[key] = self[key] - other[key]
        return self._keep_positive()

    def __ior__(self, other):
        for key in list(other):
            if other[key] > self[key]:
                self[key] = other[key]
        return self._keep_positive()

    def __iand__(self, other):
        for key in list(self):
            if other.get(key, 0) < self[key]:
                self[key] = other.get(key, 0)
        return self._keep_positive()

    def _keep_positive(self):
        for key in list(self):
            if not self[key] > 0:
                del self[key]
        return self


class RtOrderedDict(RtDict):
    """A collections.OrderedDict."""

    def move_to_end(self, key, last=True):
        value = self.pop(key)
        if last:
            self[key] = value
        else:
            self.found_keys.insert(0, key)
            self.found_values.insert(0, value)

    def popitem(self, last=True):
        if len(self.found_keys) == 0:
            raise KeyError("dictionary is empty")
        if last:
            return RtDict.popitem(self)
        self.removals = self.removals + 1
        return (self.found_keys.pop(0), self.found_values.pop(0))

    def __eq__(self, other):
        if isinstance(other, collections.OrderedDict):
            return list(self.found_keys) == list(other.keys()) and list(self.found_values) == list(other.values())
        return RtDict.__eq__(self, other)

    __hash__ = None


def second(pair):
    return pair[1]


def from_keys(items, value):
    found = {}
    for key in items:
        found[key] = value
    return found


def count(counter, items, extra):
    counter.update(() if items is None else items)
    counter.update(extra)
    return counter


def view(table, what):
    """Answered by the machine: a new RtView."""
    raise NotImplementedError


def walk(table, what):
    keys, values = table.found_keys, table.found_values
    n, removals = len(keys), table.removals
    for i in range(n):
        if what == "keys":
            yield keys[i]
        elif what == "values":
            yield values[i]
        else:
            yield keys[i], values[i]
        if len(keys) != n:
            raise RuntimeError("dictionary changed size during iteration")
        if table.removals != removals:
            refuse("a dict whose entries are taken out and put back while it is iterated")


class RtView(RtKeyed):
    """keys(), values() or items(). Attributes: table, what."""

    def example(self, m):
        return getattr({}, self.what)()

    def __iter__(self):
        return walk(self.table, self.what)

    def __len__(self):
        return len(self.table.found_keys)

    def __contains__(self, item):
        if self.what == "keys":
            return item in self.table
        if self.what == "values":
            return item in self.table.found_values
        return refuse("`in` of the items of a dict with keys known only at run time")

    def __reversed__(self):
        return reversed(list(walk(self.table, self.what)))

    def __eq__(self, other):
        return refuse("a comparison of the keys or values of a dict with keys known only at run time")

    __hash__ = None

    def __repr__(self):
        return refuse("a dict with keys known only at run time as a string")

    __str__ = __repr__


def is_set(x):
    return isinstance(x, (set, frozenset, _KEYS_VIEW))


def of_known(m, x):
    return m.keys.as_table(m, x, getattr(x, "default_factory", None))


GROWING.update(dict.fromkeys((dict, collections.defaultdict, collections.Counter,
                              collections.OrderedDict, set), of_known))
