# SPDX-License-Identifier: Apache-2.0
"""Sets whose elements are known only at run time: a list of them, in the order in which they were put in, written in
Python and interpreted by the machine.

The order in which Python gives the elements depends on their hashes and on what was done to the set. It is known where
elements were only taken out of a set that was known (which moves none), and where all that was ever put in are integers
so small that each has its place even in the smallest set. Where another order is asked for capture begins anew, with a
history for each set, from which the run finds it, if the elements are integers (polyfills/set_order.py). Of other
elements only what does not ask for the order is taken.
"""

from __future__ import annotations

from ...calling.nodes import Table
from ..values.stand_in import drop_result
from .keyed_tables import RtTable, check_key, elements, is_set, new_table, refuse, same_key
from .set_order import PUT, ROOM, TAKEN, TIDY, growing, merged, order_after, popped_after


def small_integers(items):
    """Answered by the machine: whether all are integers from 0 to 7, which stand in ascending order in any set."""
    raise NotImplementedError


def order_of(items):
    """Answered by the machine: what a set of these has, in its order; None unless it is known."""
    raise NotImplementedError


def history_of(source):
    """Answered by the machine: what was done to a set; None: nobody knows, or it is no set."""
    raise NotImplementedError


def want_histories():
    """Answered by the machine: capture begins anew with histories, unless sets have them already."""
    raise NotImplementedError


def are_integers(items):
    """Answered by the machine: whether all are known to be integers."""
    raise NotImplementedError


def is_dict(x):
    return isinstance(x, dict)


def is_table_of_set(x):
    """Whether it is an RtSet."""
    return is_set(x) and hasattr(x, "grown")


def ordered_for(table, items):
    """The items, in Python's order if `table` asks for it."""
    return elements(items) if table.history is None else [x for x in items]


def unordered(made):
    """Of an operator that asks the other operand first."""
    made.grown, made.history = False, None
    return made


def beside(other, made):
    """Of an operator that keys of a dict answer for, if they are the other operand."""
    return made if isinstance(other, (set, frozenset)) else unordered(made)


def distinct(table, items):
    """The items, each once, as a set like `table`."""
    made = new_table(table)
    made.update(items)
    return made


def common(table, items):
    """As set.intersection goes over the smaller of two sets."""
    made = new_table(table)
    if made.history is not None and is_set(items) and len(items) > len(table):
        table, items = items, table
    for x in ordered_for(made, items):
        if x in table:
            made.add(x)
    return made


def without(table, items):
    """As set.difference makes a new set, or takes a few elements out of a copy."""
    made = new_table(table)
    if made.history is None or not (is_set(items) or is_dict(items)) or len(table) >> 2 > len(items):
        made.update(table)
        for x in elements(items):
            made.discard(x)
        if made.history is not None:
            made.history.append((0, TIDY))
        return made
    for x in table:
        if x not in items:
            made.add(x)
    return made


def update_known(target, iterables, known):
    """set.update of a set whose elements are known so far; `known`: whose are those of the iterables?"""
    for k in range(len(iterables)):
        if known[k]:
            target.update(iterables[k])
        else:
            for x in elements(iterables[k]):
                target.add(x)


def walk_set(table, items):
    n, changes = len(table.found), table.changes
    for x in items:
        yield x
        if len(table.found) != n:
            raise RuntimeError("Set changed size during iteration")
        if table.changes != changes:
            refuse("a set whose elements are taken out and put back while it is iterated")


class RtSet(RtTable):
    """Attributes: found; in_order, whether they stand there as in Python's set; changes, how many there were; grown,
    whether nothing was ever taken out; history, a list of what was done (polyfills/set_order.py), None if nobody
    knows; finger, where pop() goes on."""

    def example(self, m):
        return set()

    def empty_like(self, m):
        return m.keys.as_table(m, set())

    def columns_of(self):
        return (self.found,)

    def put_columns(self, columns):
        (self.found,) = columns
        self.in_order, self.grown, self.history = False, False, None

    def described(self, parts):
        return Table(set, parts)

    def add_entry(self, m, s, item):
        return m.call_then(s, RtSet.add, (self, item), {}, drop_result)

    def rebuilt_as(self, m, s, kind, more):
        return m.call(s, RtSet.copy, (self,), {}) if kind is set else NotImplemented

    def in_any_order(self, m):
        return tuple(self.found) if type(self.found) is list else m.lists.frozen(self.found, True)

    def record(self, number, what):
        self.changes = self.changes + 1
        if what == TAKEN:
            self.grown = False
        else:
            self.in_order = False
        if self.history is not None:
            if are_integers((number,)):
                self.history.append((number, what))
            else:
                self.history = None

    def add(self, item):
        if item not in self:
            self.record(item, PUT)
            self.found.append(item)

    def __contains__(self, item):
        check_key(item)
        for known in self.found:
            if same_key(known, item):
                return True
        return False

    def __len__(self):
        return len(self.found)

    def __iter__(self):
        if self.in_order:
            return walk_set(self, self.found)
        if self.grown and small_integers(self.found):
            return walk_set(self, sorted(self.found))
        return walk_set(self, order_after(self._known_history("the order of a set's elements known only at run time")))

    def _known_history(self, what):
        if self.history is None:
            want_histories()
            refuse(what)
        return self.history

    def discard(self, item):
        check_key(item)
        for i in range(len(self.found)):
            if same_key(self.found[i], item):
                self.record(self.found[i], TAKEN)
                self.found.pop(i)
                return

    def remove(self, item):
        n = len(self.found)
        self.discard(item)
        if len(self.found) == n:
            raise KeyError(item)

    def copy(self):
        made = new_table(self)
        if self.history is None:
            made.in_order, made.grown, made.history = False, self.grown, None
            made.found.extend(self.found)
        else:
            made.update(self)
        return made

    __copy__ = copy

    def update(self, *others):
        for other in others:
            if self is other:
                continue
            if self.history is not None and (is_set(other) or is_dict(other)):
                self._merge(other)
            elif self.history is None and self.changes == 0 and len(self.found) == 0 and order_of(other) is not None:
                self.found.extend(order_of(other))
            else:
                self._add_all(other)

    def _add_all(self, items):
        for x in elements(items):
            self.add(x)
        if is_table_of_set(items) and not items.grown:
            self.grown = False  # an element stands where another was, and so it may here

    def _merge(self, other):
        """With a set or a dict, for which Python makes room."""
        if is_dict(other):
            self.history.append((len(other), ROOM))
            return self._add_all(other)
        history = history_of(other)
        if history is None:
            self.history = None
            return self._add_all(other)
        found, copied = merged(self.history, history)
        if is_table_of_set(other) and not other.grown:
            self.grown = False
        if copied:
            self.found.extend(found)
            self.in_order, self.changes, self.history = False, self.changes + 1, growing(history, True)
        elif len(found) > 0:
            self.history.append((len(found), ROOM))
            for x in found:
                self.add(x)

    def union(self, *others):
        made = self.copy()
        made.update(*others)
        return made

    def intersection(self, *others):
        made = self
        for other in others:
            made = made.copy() if made is other else common(made, other)
        return made.copy() if made is self else made

    def difference(self, *others):
        if len(others) == 0:
            return self.copy()
        made = without(self, others[0])
        for other in others[1:]:
            made.difference_update(other)
        return made

    def symmetric_difference(self, other):
        made = distinct(self, other)
        made.symmetric_difference_update(self)
        return made

    def intersection_update(self, *others):
        self._become(self.intersection(*others))

    def difference_update(self, *others):
        for other in others:
            if self is other:
                self.clear()
                continue
            for x in elements(other):
                self.discard(x)
            if self.history is not None:
                self.history.append((0, TIDY))

    def symmetric_difference_update(self, other):
        if self is other:
            return self.clear()
        for x in ordered_for(self, other if is_set(other) or is_dict(other) else distinct(self, other)):
            if x in self:
                self.discard(x)
            else:
                self.add(x)

    def clear(self):
        self._become(new_table(self))
        self.finger = 0

    def _become(self, other):
        self.in_order, self.changes = False, self.changes + 1
        self.grown, self.history = other.grown, other.history
        self.found.clear()
        self.found.extend(other.found)

    def pop(self):
        if len(self.found) == 0:
            raise KeyError("pop from an empty set")
        if self.history is None and len(self.found) == 1:
            self.record(self.found[0], TAKEN)
            return self.found.pop()
        history = self._known_history("which of a set's elements known only at run time pop() takes")
        item, self.finger = popped_after(history, self.finger)
        self.discard(item)
        return item

    def issubset(self, other):
        for x in self.found:
            if x not in other:
                return False
        return True

    def issuperset(self, other):
        for x in elements(other):
            if x not in self:
                return False
        return True

    def isdisjoint(self, other):
        for x in elements(other):
            if x in self:
                return False
        return True

    def __or__(self, other):
        return beside(other, self.union(other)) if is_set(other) else NotImplemented

    def __ror__(self, other):
        return unordered(self.union(other)) if is_set(other) else NotImplemented

    def __ior__(self, other):
        if not is_set(other):
            return NotImplemented
        self.update(other)
        return self

    def __and__(self, other):
        return beside(other, self.intersection(other)) if is_set(other) else NotImplemented

    def __rand__(self, other):
        return unordered(self.intersection(other)) if is_set(other) else NotImplemented

    def __iand__(self, other):
        if not is_set(other):
            return NotImplemented
        self.intersection_update(other)
        return self

    def __sub__(self, other):
        return beside(other, self.difference(other)) if is_set(other) else NotImplemented

    def __isub__(self, other):
        if not is_set(other):
            return NotImplemented
        self.difference_update(other)
        return self

    def __xor__(self, other):
        return beside(other, self.symmetric_difference(other)) if is_set(other) else NotImplemented

    def __rxor__(self, other):
        return unordered(self.symmetric_difference(other)) if is_set(other) else NotImplemented

    def __ixor__(self, other):
        if not is_set(other):
            return NotImplemented
        self.symmetric_difference_update(other)
        return self

    def __le__(self, other):
        return self.issubset(other) if is_set(other) else NotImplemented

    def __ge__(self, other):
        return self.issuperset(other) if is_set(other) else NotImplemented

    def __lt__(self, other):
        return len(self) < len(other) and self.issubset(other) if is_set(other) else NotImplemented

    def __gt__(self, other):
        return len(self) > len(other) and self.issuperset(other) if is_set(other) else NotImplemented

    def __eq__(self, other):
        if not is_set(other):
            return NotImplemented
        return len(self) == len(other) and self.issubset(other)

    __hash__ = None

    def __repr__(self):
        return refuse("a set with elements known only at run time as a string")

    __str__ = __repr__


