# SPDX-License-Identifier: Apache-2.0
"""Functions of numbers known only at run time, written in Python and interpreted by the machine (as
polyfills/builtins.py is)."""

from __future__ import annotations

import math
import operator

from .registry import on_request, substitutes


def number_at(place, kind):
    """int(place) or float(place) of such an object."""
    return kind(type(place).__index__(place))


def round_to(x, digits):
    """round(x, digits) of a float: decimal rounding, exact, with the error of the product taken into account."""
    if math.isnan(x) or math.isinf(x):
        return x
    scale = 10.0**digits
    product = x * scale
    if abs(product) >= 9007199254740992.0:  # numbers of this size lie further apart than the grid's
        return x
    wide = 134217729.0 * x
    high = wide - (wide - x)
    low = x - high
    wide = 134217729.0 * scale
    scale_high = wide - (wide - scale)
    scale_low = scale - scale_high
    error = ((high * scale_high - product) + high * scale_low + low * scale_high) + low * scale_low
    whole = math.floor(product)
    rest = product - whole
    if rest > 0.5 or rest == 0.5 and (error > 0 or error == 0 and whole % 2 == 1):
        whole = whole + 1
    return math.copysign(whole / scale, x)


@substitutes(float.is_integer, when=on_request)
def is_integer(x):
    """Of a float; what is left of an infinity or a NaN is no zero."""
    return x % 1.0 == 0.0


@substitutes(int.bit_length, when=on_request)
def bit_length(x):
    rest = abs(int(x))
    count = 0
    while rest > 0:
        rest = rest >> 1
        count = count + 1
    return count


@substitutes(int.bit_count, when=on_request)
def bit_count(x):
    rest = abs(int(x))
    count = 0
    while rest > 0:
        count = count + (rest & 1)
        rest = rest >> 1
    return count


@substitutes(math.comb, when=on_request)
def comb(n, k):
    n, k = operator.index(n), operator.index(k)
    if n < 0:
        raise ValueError("n must be a non-negative integer")
    if k < 0:
        raise ValueError("k must be a non-negative integer")
    if k > n:
        return 0
    found = 1
    for i in range(min(k, n - k)):
        found = found * (n - i) // (i + 1)
    return found


@substitutes(math.perm, when=on_request)
def perm(n, k=None):
    n = operator.index(n)
    k = n if k is None else operator.index(k)
    if n < 0:
        raise ValueError("n must be a non-negative integer")
    if k < 0:
        raise ValueError("k must be a non-negative integer")
    found = 1
    for i in range(k):
        found = found * (n - i)
    return found


@substitutes(math.factorial, when=on_request)
def factorial(n):
    n = operator.index(n)
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    found = 1
    for i in range(n):
        found = found * (i + 1)
    return found


@substitutes(math.isqrt, when=on_request)
def isqrt(n):
    n = operator.index(n)
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root = int(math.sqrt(n))
    if root > 3037000499 or root * root > n:
        return root - 1
    return root


@substitutes(bin, when=on_request)
def binary_text(n):
    return f"-0b{-n:b}" if n < 0 else f"0b{n:b}"


@substitutes(hex, when=on_request)
def hexadecimal_text(n):
    return f"-0x{-n:x}" if n < 0 else f"0x{n:x}"


@substitutes(oct, when=on_request)
def octal_text(n):
    return f"-0o{-n:o}" if n < 0 else f"0o{n:o}"


@substitutes(float.conjugate, when=on_request)
def itself(x):
    return x


@substitutes(math.gcd, when=on_request)
def gcd(*numbers):
    found = 0
    for n in numbers:
        a = found
        b = abs(operator.index(n))
        while b != 0:
            a, b = b, a % b
        found = a
    return found


@substitutes(math.lcm, when=on_request)
def lcm(*numbers):
    found = 1
    for n in numbers:
        b = abs(operator.index(n))
        if found == 0 or b == 0:
            found = 0
        else:
            found = found // gcd(found, b) * b
    return found


def quotient_and_rest(a, b):
    """divmod() of what is no plain number."""
    return a // b, a % b


def prod(iterable, *, start=1):
    total = start
    for x in iterable:
        total = total * x
    return total


@substitutes(math.log, when=on_request)
def logarithm(x, base):
    return math.log(x) / math.log(base)


@substitutes(math.radians, when=on_request)
def radians(x):
    return x * (math.pi / 180.0)


@substitutes(math.degrees, when=on_request)
def degrees(x):
    return x * (180.0 / math.pi)


@substitutes(math.isclose)
def isclose(a, b, *, rel_tol=1e-09, abs_tol=0.0):
    if rel_tol < 0.0 or abs_tol < 0.0:
        raise ValueError("tolerances must be non-negative")
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    difference = abs(b - a)
    return difference <= abs(rel_tol * b) or difference <= abs(rel_tol * a) or difference <= abs_tol
