# SPDX-License-Identifier: Apache-2.0
"""array.array of numbers known only at run time, written in Python and interpreted by the machine (as
polyfills/builtins.py is). All arrays that a program makes are of this kind: what a later line puts in is not known."""

from __future__ import annotations

import operator
from array import array

import torch

from ...calling.nodes import Built
from ...calling.templates import Static
from ..values.growing import GROWING, Growing
from ..values.native_entries import natively
from ..values.stand_in import BoundMethod, stand_in_of
from ..values.text import RtText
from ..values.text_formatting import format_value
from .keyed_tables import refuse
from .registry import substitutes

_CODES = "bBhHiIlLqQfd"


def of_numbers(args, kwargs):
    return not kwargs and len(args) in (1, 2) and isinstance(args[0], str) and len(args[0]) == 1 and args[0] in _CODES


@substitutes(array, when=of_numbers)
def make_array(typecode, initial=()):
    if isinstance(initial, str):
        raise TypeError(f"cannot use a str to initialize an array with typecode '{typecode}'")
    if isinstance(initial, (bytes, bytearray)):
        return refuse("an array.array of bytes, made while the model runs")
    made = RtTypedArray(typecode, [])
    for x in initial:
        made.append(x)
    return made


def _faults(code, beyond):
    """[(a 64-bit integer that such an array does not take, what Python says of it and of those farther from 0)]"""
    found = []
    for x in beyond:
        try:
            array(code, [x])
        except OverflowError as error:
            if not found or found[-1][1] != str(error):
                found.append((x, str(error)))
    return found


_BITS = (7, 8, 15, 16, 31, 32)
_ABOVE = {code: _faults(code, [1 << bits for bits in _BITS]) for code in _CODES}
_BELOW = {code: _faults(code, [-1, *((-1 << bits) - 1 for bits in _BITS)]) for code in _CODES}


def fit(typecode, x):
    """A number of run time as such an array holds it."""
    if isinstance(x, str):
        raise TypeError("must be real number, not str" if typecode in "fd"
                        else "'str' object cannot be interpreted as an integer")
    if typecode == "d":
        return float(x)
    if typecode == "f":
        return torch.tensor(float(x), dtype=torch.float32).item()
    x = operator.index(x) + 0  # of a bool the int
    below, above = _BELOW[typecode], _ABOVE[typecode]
    if len(below) > 0 and x <= below[0][0]:
        raise OverflowError([words for bound, words in below if x <= bound][-1])
    if len(above) > 0 and x >= above[0][0]:
        raise OverflowError([words for bound, words in above if x >= bound][-1])
    return x


def place(index):
    if isinstance(index, (float, complex, str, bytes, list, tuple, dict, set)) or index is None:
        raise TypeError("array indices must be integers")
    return operator.index(index)


def same_kind(a, b, what):
    if not isinstance(b, array):
        raise TypeError(f'can only {what} array (not "{type(b).__name__}") to array' if what == "append"
                        else f'can only extend with array (not "{type(b).__name__}")')
    if a.typecode != b.typecode:
        raise TypeError("bad argument type for built-in operation" if what == "append"
                        else "can only extend with array of same kind")


_DTYPES = {"b": torch.int8, "B": torch.uint8, "h": torch.int16, "i": torch.int32, "l": torch.int64, "q": torch.int64,
           "f": torch.float32, "d": torch.float64}


class RtTypedArray(Growing):
    """Attributes: typecode, itemsize, found (a list of what is in it)."""

    typecode, itemsize = "", 0

    def __init__(self, typecode, found):
        self.typecode, self.itemsize, self.found = typecode, array(typecode).itemsize, found

    # ---- what the interpreter asks -------------------------------------------------------------------

    def example(self, m):
        return array(self.typecode)

    def attribute(self, m, s, name):
        return BoundMethod(self, name) if name == "_fitting" else super().attribute(m, s, name)

    def call_method(self, m, s, name, args, kwargs):
        """`_fitting`: what is known Python itself takes or refuses."""
        (x,) = args
        if isinstance(x, (bool, int, float, str, bytes, list, tuple, dict, set, type(None))):
            return natively(array, self.typecode, [x])[0]
        return m.call(s, fit, (self.typecode, x), {})

    def copied(self, m, deep):
        own = stand_in_of(self.found)
        found = m.new(list(self.found)) if own is None else own.rebuilt_as(m, None, list, {})
        return m.new(RtTypedArray(self.typecode, found))

    def check_key(self, m):
        raise TypeError("unhashable type: 'array.array'")

    def all_items(self, m):
        return list(self.found) if type(self.found) is list else None

    def rebuilt_as(self, m, s, kind, more):
        own = stand_in_of(self.found)
        return NotImplemented if own is None else own.rebuilt_as(m, s, kind, more)

    def tensor_of(self, m, dtype):
        own = stand_in_of(self.found)
        if own is not None:
            return own.tensor_of(m, dtype)
        return m.recorder.call(torch.tensor, (self.found,), {"dtype": dtype})

    def holds_floats(self, m):
        return self.typecode in "fd"

    def as_operand(self, m):
        dtype = _DTYPES.get(self.typecode)
        return super().as_operand(m) if dtype is None else self.tensor_of(m, dtype)

    def formatted(self, m, spec, conversion):
        if spec or type(self.found) is not list:
            return NotImplemented
        inside = [", ", format_value(m, self.found, "", 2)] if self.found else []
        return RtText.of([f"array({self.typecode!r}", *inside, ")"])

    def columns_of(self):
        return (self.found,)

    def put_columns(self, columns):
        (self.found,) = columns

    def described(self, parts):
        return Built(array, (Static(self.typecode), *parts))

    # ---- what is interpreted --------------------------------------------------------------------------

    def append(self, x):
        self.found.append(self._fitting(x))

    def extend(self, items):
        if isinstance(items, array):
            same_kind(self, items, "extend")
            self.found.extend(items.tolist())
        else:
            for x in items:
                self.append(x)

    def fromlist(self, items):
        if not isinstance(items, list):
            raise TypeError("arg must be list")
        self.found.extend([self._fitting(x) for x in items])

    def insert(self, index, x):
        self.found.insert(index, self._fitting(x))

    def pop(self, index=-1):
        if len(self.found) == 0:
            raise IndexError("pop from empty array")
        self._check(operator.index(index), "pop index out of range")
        return self.found.pop(index)

    def remove(self, x):
        for i in range(len(self.found)):
            if self.found[i] == x:
                self.found.pop(i)
                return
        raise ValueError("array.remove(x): x not in array")

    def index(self, x, start=0, stop=2 ** 62):
        n = len(self.found)
        start = max(start + n, 0) if start < 0 else start
        stop = stop + n if stop < 0 else stop
        for i in range(start, min(stop, n)):
            if self.found[i] == x:
                return i
        raise ValueError("array.index(x): x not in array")

    def count(self, x):
        return self.found.count(x)

    def reverse(self):
        self.found.reverse()

    def tolist(self):
        return list(self.found)

    def _check(self, index, words):
        n = len(self.found)
        if index < -n or index >= n:
            raise IndexError(words)

    def __len__(self):
        return len(self.found)

    def __iter__(self):
        return iter(self.found)

    def __contains__(self, x):
        return x in self.found

    def __getitem__(self, index):
        if isinstance(index, slice):
            return RtTypedArray(self.typecode, self.found[index])
        self._check(place(index), "array index out of range")
        return self.found[index]

    def __setitem__(self, index, x):
        if isinstance(index, slice):
            return refuse("a slice of an array.array is assigned")
        self._check(place(index), "array assignment index out of range")
        self.found[index] = self._fitting(x)

    def __delitem__(self, index):
        if not isinstance(index, slice):
            self._check(place(index), "array assignment index out of range")
        del self.found[index]

    def __add__(self, other):
        same_kind(self, other, "append")
        return RtTypedArray(self.typecode, self.found + other.tolist())

    def __iadd__(self, other):
        same_kind(self, other, "extend")
        self.found.extend(other.tolist())
        return self

    def __mul__(self, count):
        return RtTypedArray(self.typecode, self.found * count)

    __rmul__ = __mul__

    def __eq__(self, other):
        return self.found == other.tolist() if isinstance(other, array) else NotImplemented

    def __lt__(self, other):
        return self.found < other.tolist() if isinstance(other, array) else NotImplemented

    def __le__(self, other):
        return self.found <= other.tolist() if isinstance(other, array) else NotImplemented

    def __gt__(self, other):
        return self.found > other.tolist() if isinstance(other, array) else NotImplemented

    def __ge__(self, other):
        return self.found >= other.tolist() if isinstance(other, array) else NotImplemented

    __hash__ = None


GROWING[array] = lambda m, x: m.new(RtTypedArray(x.typecode, m.new(x.tolist())))
