# SPDX-License-Identifier: Apache-2.0
"""What states that meet hold, where it differs in ways that == does not tell:
order, identity, reasons of exceptions."""

import dataclasses
import math

import pytest

import dycl
from tests.frontend.support.harness import Cases, T, check

case = Cases()
UP, DOWN = T(1.0, 2.0), T(-1.0, -2.0)


class Plain:
    pass


@dataclasses.dataclass(frozen=True)
class Key:
    a: int
    tag: int = dataclasses.field(compare=False, default=0)


@case(UP, DOWN)
def attributes_in_another_order(x):
    o = Plain()
    if x.sum() > 0:
        o.a = x
        o.b = x * 2
    else:
        o.b = x * 2
        o.a = x
    return list(vars(o)), [v for v in o.__dict__.values()]


@case(UP, DOWN)
def keys_that_are_only_equal(x):
    key = (1,) if x.sum() > 0 else (1.0,)
    zero = 0.0 if x.sum() > 0 else -0.0
    table = {key: x, zero: 2}
    y = x * 2
    return [type(k) for k in next(iter(table))], math.copysign(1.0, list(table)[1]), y


@case(UP, DOWN)
def elements_that_are_only_equal(x):
    chosen, kept = ({Key(1, 2)}, frozenset([Key(1, 4)])) if x.sum() > 0 else ({Key(1, 3)}, frozenset([Key(1, 5)]))
    y = x + 1
    return next(iter(chosen)).tag, next(iter(kept)).tag, y


@case(UP, DOWN)
def exceptions_of_different_causes(x):
    if x.sum() > 0:
        try:
            raise ValueError("x") from KeyError(1)
        except ValueError as error:
            found = error
    else:
        try:
            raise ValueError("x") from IndexError(1)
        except ValueError as error:
            found = error
    y = x + 1
    return isinstance(found.__cause__, KeyError), y


@case(UP, DOWN, refuse="a ValueError made before the last decision")
def one_exception_of_two_causes(x):
    error = ValueError("x")
    try:
        if x.sum() > 0:
            raise error from KeyError(1)
        raise error
    except ValueError as found:
        return found.__cause__ is None, x + 1


@case(UP, DOWN)
def a_set_with_a_history(x):
    """15 came after 7 and stands before it."""
    found = {7}
    found.add(15)
    y = x
    if x.sum() > 0:
        found.add(3)
    for i in found:
        y = y * i + 1
    return y, list(found)


class Text(str):
    pass


class Pair(tuple):
    def __new__(cls, a, b):
        made = super().__new__(cls, (a, b))
        made.extra = a * 2
        return made


class Quantity(float):
    def __new__(cls, value, unit):
        made = float.__new__(cls, value)
        made.unit = unit
        return made


class Row(list):
    def __new__(cls, *args):
        made = list.__new__(cls, *args)
        made.count_of = 1
        return made


@case(UP, DOWN)
def attributes_of_texts_numbers_and_tuples(x):
    text, other = Text("a"), Text("a")
    text.v, other.v = 1, 2
    chosen = text if x.sum() > 0 else other
    pair = Pair(x, 1) if x.sum() > 0 else Pair(x + 1, 2)
    length = Quantity(1.5, "m") if x.sum() > 0 else Quantity(1.5, "s")
    row = Row([x])
    if x.sum() > 0:
        row.count_of = 2
        row.append(x)
    y = x + 1
    return chosen.v, pair.extra, pair[1], length.unit, length + 1, row.count_of, list(row), y


test_merged_contents = case.test()


def test_the_identity_of_what_is_no_number_is_not_guessed():
    def f(x):
        nan = float("nan")
        found = [nan]
        if x.sum() > 0:
            found = [float("nan")]
        y = x + 1
        return nan in found, y

    program = dycl.compile(f, (UP,), verify=False)
    with pytest.raises(RuntimeError, match="one object"):
        program(DOWN)


def test_a_set_whose_order_only_its_history_explains():
    def f(x):
        found = set(range(100))
        for i in range(100):
            if i not in (1, 2, 64, 65, 66, 67, 68):
                found.discard(i)
        if x.sum() > 0:
            found.add(200)
        return list(found), x + 1

    check(f, [(UP,), (DOWN,)])
