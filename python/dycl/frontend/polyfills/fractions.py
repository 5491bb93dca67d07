# SPDX-License-Identifier: Apache-2.0
"""fractions.Fraction of integers known only at run time, written in Python and interpreted by the machine (as
polyfills/builtins.py is)."""

from __future__ import annotations

import math
import operator
from fractions import Fraction

from ...calling.nodes import Built
from ...calling.templates import Number
from ..diagnostics import CaptureRefusal
from ..values.escape import Escape
from ..values.stand_in import KINDS, OF_PARTS, InterpretedStandIn, key_refusal, made_stand_in
from ..values.text import RtText
from .keyed_tables import refuse
from .registry import substitutes


def with_stand_ins(args, kwargs):
    return any(made_stand_in(x) is not None for x in (*args, *kwargs.values()))


@substitutes(Fraction, when=with_stand_ins)
def make_fraction(numerator=0, denominator=None):
    if denominator is None:
        found = ratio_of(numerator)
        return RtFraction(*found) if found is not None else refuse("a fraction of such a value known only at run time")
    a, b = ratio_of(numerator), ratio_of(denominator)
    if a is None or b is None:
        raise TypeError("both arguments should be Rational instances")
    return reduced(a[0] * b[1], a[1] * b[0])


def ratio_of(x):
    """Numerator and denominator; None: Python has no exact arithmetic with it and a fraction."""
    if isinstance(x, Fraction):
        return x.numerator, x.denominator
    if isinstance(x, int):
        return int(x), 1
    if x is None or isinstance(x, (float, complex, str, bytes, list, tuple, dict, set)):
        return None
    return refuse("a fraction known only at run time with such a value")


def reduced(numerator, denominator):
    if denominator == 0:
        raise ZeroDivisionError(f"Fraction({numerator}, 0)")
    divisor = math.gcd(numerator, denominator)
    if denominator < 0:
        divisor = -divisor
    return RtFraction(numerator // divisor, denominator // divisor)


def _messages():
    """What Python says of a division of fractions by zero, by the sign of what is divided."""
    found = {}
    for sign in (-1, 0, 1):
        try:
            Fraction(sign) / 0
        except ZeroDivisionError as error:
            found[sign] = str(error)
    return found


_BY_ZERO = _messages()


def added(na, da, nb, db):
    return reduced(na * db + nb * da, da * db)


def subtracted(na, da, nb, db):
    return reduced(na * db - nb * da, da * db)


def multiplied(na, da, nb, db):
    return reduced(na * nb, da * db)


def divided(na, da, nb, db):
    if nb == 0:
        raise ZeroDivisionError(_BY_ZERO[(na > 0) - (na < 0)])
    return reduced(na * db, da * nb)


def floored(na, da, nb, db):
    return (na * db) // (da * nb)


def left_over(na, da, nb, db):
    return reduced((na * db) % (nb * da), da * db)


def _operator(exact, with_float):
    """The two methods of a binary operator."""
    def forward(a, b):
        other = ratio_of(b)
        if other is not None:
            return exact(a.numerator, a.denominator, *other)
        return with_float(float(a), b) if isinstance(b, float) else _not_taken(b)

    def reflected(b, a):
        other = ratio_of(a)
        if other is not None:
            return exact(*other, b.numerator, b.denominator)
        return with_float(a, float(b)) if isinstance(a, float) else _not_taken(a)

    return forward, reflected


def _not_taken(x):
    if isinstance(x, complex):
        return refuse("a complex number with a fraction known only at run time")
    return NotImplemented


def _comparison(op):
    def method(a, b):
        other = ratio_of(b)
        if other is not None:
            return op(a.numerator * other[1], other[0] * a.denominator)
        if isinstance(b, float):
            return refuse("a fraction known only at run time compared with a float")
        return _not_taken(b)

    return method


class RtFraction(InterpretedStandIn):
    """Immutable, in lowest terms."""

    __slots__ = ("numerator", "denominator")
    dycl_built = Fraction

    def __init__(self, numerator, denominator):
        self.numerator, self.denominator = numerator, denominator

    @staticmethod
    def of(known):
        return RtFraction(known.numerator, known.denominator)

    # ---- what the interpreter asks -------------------------------------------------------------------

    def example(self, m):
        return Fraction()

    def is_same(self, m, a, b):
        if a is b or type(a) is not type(b):
            return a is b
        raise CaptureRefusal("`is` between fractions known only at run time", "use ==", kind="identity", because=None)

    def is_element(self, m, a, b):
        return a is b  # equal to itself in any case

    def copied(self, m, deep):
        return self

    def unified(self, union, other):
        return RtFraction(union.unify(self.numerator, other.numerator),
                          union.unify(self.denominator, other.denominator))

    def open_leaf(self):
        return Built(Fraction, (Number("int"), Number("int")))

    def flattened(self, flattener, path):
        return flattener.node(self, path, lambda each: Built(
            Fraction, (each(self.numerator, ".numerator"), each(self.denominator, ".denominator"))))

    def formatted(self, m, spec, conversion):
        if spec:
            raise Escape(self, "format")
        if conversion > 1:
            return RtText.of(["Fraction(", *_shown(self.numerator), ", ", *_shown(self.denominator), ")"])
        whole = m.scalars.compare("eq", self.denominator, 1)
        if whole is True or whole is not False and m.decide(whole):
            return RtText.of(_shown(self.numerator))
        return RtText.of([*_shown(self.numerator), "/", *_shown(self.denominator)])

    def is_late_key(self):
        return True

    def check_key(self, m):
        raise key_refusal("a fraction known only at run time as a key", None)

    # ---- what is interpreted --------------------------------------------------------------------------

    __add__, __radd__ = _operator(added, operator.add)
    __sub__, __rsub__ = _operator(subtracted, operator.sub)
    __mul__, __rmul__ = _operator(multiplied, operator.mul)
    __truediv__, __rtruediv__ = _operator(divided, operator.truediv)
    __floordiv__, __rfloordiv__ = _operator(floored, operator.floordiv)
    __mod__, __rmod__ = _operator(left_over, operator.mod)
    __eq__, __lt__, __le__, __gt__, __ge__ = map(_comparison, (operator.eq, operator.lt, operator.le, operator.gt,
                                                               operator.ge))
    __hash__ = None

    def __pow__(self, power):
        if not isinstance(power, int):
            return refuse("a fraction known only at run time to the power of something other than an integer")
        n, d = self.numerator, self.denominator
        if power >= 0:
            return RtFraction(n ** power, d ** power)
        return reduced(d ** -power, n ** -power)

    def __neg__(self):
        return RtFraction(-self.numerator, self.denominator)

    def __pos__(self):
        return RtFraction(self.numerator, self.denominator)

    def __abs__(self):
        return RtFraction(abs(self.numerator), self.denominator)

    def __float__(self):
        return self.numerator / self.denominator

    def __int__(self):
        return -(-self.numerator // self.denominator) if self.numerator < 0 else self.numerator // self.denominator

    def __bool__(self):
        return self.numerator != 0

    def as_integer_ratio(self):
        return self.numerator, self.denominator


def _shown(x):
    return [x] if made_stand_in(x) is not None else [str(x)]


KINDS[Fraction] = RtFraction.of
OF_PARTS[Fraction] = RtFraction
