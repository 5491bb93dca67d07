# SPDX-License-Identifier: Apache-2.0
"""The order in which Python's sets give their integers, as CPython's tables have it (Objects/setobject.c), written in
Python and interpreted by the machine.

Where an element stands follows from all that was put into the set and taken out of it. So a set whose order is asked
keeps its *history*, a list of pairs of a number and what was done, from which `replayed` makes the table: which slots
are free, taken or left (by an element that was taken out), and the elements in them.
"""

from __future__ import annotations

import functools
import itertools
import sys

PUT, TAKEN, ROOM, TIDY, SLOTS = 0, 1, 2, 3, 4  # what was done: put in, taken out, room made for so many, traces of
# what was taken out removed if they are many, a table of so many slots made
_FREE, _TAKEN, _LEFT = 0, 1, 2
_LINEAR = 9  # slots behind the first that are looked at one after the other
_PRIME = 2 ** 61 - 1  # by which hashes of integers are reduced
_SMALLEST = 8


def run_time(number):
    """Answered by the machine: the number as one of run time."""
    return number


def growing(numbers, pairs):
    """Answered by the machine: these integers, or pairs of them, as a list of run-time length."""
    return list(numbers)


def reuses_left_slots():
    """Whether this Python puts elements into slots that others have left: the last such slot on the way."""
    found = {0, 1}
    found.discard(0)
    found.discard(1)
    found.add(0)  # the way to it leads over both
    found.add(1)
    found.add(2)
    return list(found) == [0, 2, 1]


_REUSES = reuses_left_slots()


def hash_of(n):
    if -_PRIME < n < _PRIME:
        return -2 if n == -1 else n
    reduced = n % _PRIME if n >= 0 else -(-(n + _PRIME) % _PRIME)
    return -2 if reduced == -1 else reduced


def slot_of(kinds, numbers, n):
    """Where n stands, or would be put."""
    mask = len(kinds) - 1
    rest = hash_of(n)
    first = rest & mask
    k = first
    steps = _LINEAR if first + _LINEAR <= mask else 0
    left = run_time(-1)
    while kinds[k] != _FREE:
        if kinds[k] == _LEFT:
            left = k
        elif numbers[k] == n:
            return k
        if steps > 0:
            steps = steps - 1
            k = k + 1
        else:
            rest = rest >> 5 if rest >= 0 else (rest >> 5) & 0x7FFFFFFFFFFFFFF
            first = (first * 5 + 1 + rest) & mask
            k = first
            steps = _LINEAR if first + _LINEAR <= mask else 0
    return left if _REUSES and left >= 0 else k


def slots_for(count):
    """As many slots, all free, as a table of more than `count` elements has."""
    slots = growing([_FREE] * _SMALLEST, False)
    while len(slots) <= count:
        slots = slots + slots
    return slots


def elements_in(kinds, numbers):
    """In the order of the slots."""
    return [numbers[k] for k in range(len(kinds)) if kinds[k] == _TAKEN]


def wanted(what, n, filled, used, slots):
    """The number of elements that a new table is made for after a step; -1: none is made."""
    if what == ROOM:
        return (used + n) * 2 if (filled + n) * 5 >= (slots - 1) * 3 else -1
    if what == SLOTS:
        return n - 1
    crowded = filled - used > (slots - 1) // 4 if what == TIDY else filled * 5 >= (slots - 1) * 3
    return (used * 4 if used <= 50000 else used * 2) if crowded else -1


def replayed(history):
    """(what the slots are, the numbers in them, how many are not free, how many are taken)."""
    kinds, numbers = slots_for(0), slots_for(0)
    filled, used = run_time(0), run_time(0)
    again, done, step = growing([], False), run_time(0), run_time(0)  # `again`: what goes into a new table
    while done < len(again) or step < len(history):
        grows = run_time(-1)
        if done < len(again):
            n = again[done]
            done = done + 1
            k = slot_of(kinds, numbers, n)
            kinds[k] = _TAKEN
            numbers[k] = n
        else:
            n, what = history[step]
            step = step + 1
            fresh = what > TAKEN
            if what == TAKEN:
                kinds[slot_of(kinds, numbers, n)] = _LEFT
                used = used - 1
            elif what == PUT:
                k = slot_of(kinds, numbers, n)
                fresh = kinds[k] == _FREE
                kinds[k] = _TAKEN
                numbers[k] = n
                used = used + 1
                filled = filled + 1 if fresh else filled
            grows = wanted(what, n, filled, used, len(kinds)) if fresh else grows
        if grows >= 0:
            again, done = growing(elements_in(kinds, numbers), False), run_time(0)
            kinds, numbers = slots_for(grows), slots_for(grows)
            filled = used
    return kinds, numbers, filled, used


def order_after(history):
    kinds, numbers, _, _ = replayed(growing(history, True))
    return elements_in(kinds, numbers)


def popped_after(history, finger):
    """(what pop() takes, where it goes on the next time); `history`: of a set that is not empty."""
    kinds, numbers, _, _ = replayed(growing(history, True))
    k = finger & (len(kinds) - 1)
    while kinds[k] != _TAKEN:
        k = (k + 1) & (len(kinds) - 1)
    return numbers[k], k + 1


def merged(into, history):
    """(what a set of `history` has in its order, whether update() with it copies its table into the set as it is)."""
    kinds, numbers, filled, used = replayed(growing(history, True))
    mine, _, had, kept = replayed(growing(into, True))
    slots = len(mine)
    if (had + used) * 5 >= (slots - 1) * 3:
        slots = len(slots_for((kept + used) * 2))
    return elements_in(kinds, numbers), had == 0 and slots == len(kinds) and filled == used


# ---- run by the machine itself, over sets that are known ------------------------------------------


def history_of_known(source):
    """What may have been done to a set that was just made; None where that cannot be told, or there are other elements
    than integers."""
    found = list(source)
    if not all(type(x) is int and -2 ** 63 <= x < 2 ** 63 for x in found):
        return None
    start = [(_slots_of(source), SLOTS)] if found else []
    likely = itertools.permutations(found) if len(found) <= _FEW else (found,)
    histories = [start + [(x, PUT) for x in order] for order in likely]
    tables = {str(replayed(history)[:2]): history for history in histories if order_after(history) == found}
    homes = {hash(x) % start[0][0] for x in found} if found else ()
    unique = len(tables) == 1 and (len(found) <= _FEW or len(homes) == len(found))
    return next(iter(tables.values())) if unique else None


def _slots_of(source):
    """How many slots a set has: the smallest are in the object itself."""
    beyond = sys.getsizeof(source) - sys.getsizeof(type(source)())
    return beyond // 16 or _SMALLEST


_FEW = 4


@functools.cache
def is_that_of_python():
    """Whether the sets of this Python are what is said here."""
    real, history, finger = set(), [], 0
    for k in range(400):
        n = k * k * 7919 % (61 if k % 200 < 100 else 100003) - 20
        if k % 5 == 4 and n % 3 == 0 and real:
            taken, finger = popped_after(history, finger)
            if real.pop() != taken:
                return False
            history.append((taken, TAKEN))
        elif n in real:
            real.discard(n)
            history.append((n, TAKEN))
        else:
            real.add(n)
            history.append((n, PUT))
        if k % 100 == 99:
            room = set(range(3, 60, 7))
            real -= room
            history += [(x, TAKEN) for x in room if x in order_after(history)] + [(0, TIDY)]
            history += [(len(room), ROOM)] + [(x, PUT) for x in room]
            real |= room
        if k % 20 == 0 and order_after(history) != list(real):
            return False
    return True
