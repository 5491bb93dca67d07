# SPDX-License-Identifier: Apache-2.0
"""functools, of functions that must be able to fork: reduce, cmp_to_key, lru_cache."""

from __future__ import annotations

import functools

from .registry import substitutes

MISSING = object()


@substitutes(functools.reduce)
def reduce_(function, iterable, initial=MISSING):
    it = iter(iterable)
    if initial is MISSING:
        try:
            value = next(it)
        except StopIteration:
            raise TypeError("reduce() of empty iterable with no initial value") from None
    else:
        value = initial
    for x in it:
        value = function(value, x)
    return value


class Compared:
    """What functools.cmp_to_key makes of an element."""

    __slots__ = ("__compare", "obj")
    __hash__ = None

    def __init__(self, compare, obj):
        self.__compare = compare
        self.obj = obj

    def __with(self, other):
        if type(other) is not Compared:
            raise TypeError("other argument must be K instance")
        return self.__compare(self.obj, other.obj)

    def __lt__(self, other):
        return self.__with(other) < 0

    def __gt__(self, other):
        return self.__with(other) > 0

    def __le__(self, other):
        return self.__with(other) <= 0

    def __ge__(self, other):
        return self.__with(other) >= 0

    def __eq__(self, other):
        return self.__with(other) == 0

    def __ne__(self, other):
        return self.__with(other) != 0


@substitutes(functools.cmp_to_key)
def cmp_to_key(mycmp):
    def key(obj):
        return Compared(mycmp, obj)

    return key


@substitutes(functools.lru_cache)
def lru_cache(maxsize=128, typed=False):
    if callable(maxsize) and isinstance(typed, bool):
        return remembering(maxsize, 128, False)
    return lambda function: remembering(function, maxsize, typed)


def call_remembered(function, args, kwargs):
    """A function under lru_cache from outside: library/lru_cache.py finds this frame."""
    return keep_remembered(function(*args, **kwargs))


def keep_remembered(result):
    """Answered by the machine."""
    raise NotImplementedError


def remembering(function, maxsize, typed):
    """A function made while the model runs that is called once for equal arguments;
    the one used last is forgotten last."""
    known = {}

    def call(*args, **kwargs):
        if maxsize is not None and maxsize <= 0:
            return function(*args, **kwargs)
        key = args if not kwargs else (args, "keywords", tuple(kwargs.items()))
        if typed:
            key = (key, tuple([type(a) for a in args]), tuple([type(a) for a in kwargs.values()]))
        elif len(args) == 1 and not kwargs and type(args[0]) in (int, str):
            key = args[0]
        if key in known:
            value = known.pop(key)
        else:
            value = function(*args, **kwargs)
            if maxsize is not None and len(known) >= maxsize and key not in known:
                del known[next(iter(known))]
        known[key] = value
        return value

    call.__name__, call.__qualname__, call.__doc__ = function.__name__, function.__qualname__, function.__doc__
    call.__wrapped__ = function
    call.cache_clear = known.clear
    return call
