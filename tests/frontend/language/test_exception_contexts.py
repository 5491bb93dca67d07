# SPDX-License-Identifier: Apache-2.0
"""`__cause__` and `__context__` of exceptions that are chained, raised again or raised `from None`."""

import pytest

from tests.frontend.support.harness import Cases, T, check

case = Cases()
SIX = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),), (T(-4, -5, -6),), (T(2.5, -0.5, 1.5),)]
V = (T(1, 2, -3), T(-1, -2, 3), T(0, 0, 0), T(3, -1, 2))


def contexts(x):
    try:
        try:
            if x[0] > 0:
                raise KeyError("a")
            if x[0] < 0:
                raise IndexError("b")
        except KeyError as e:
            raise RuntimeError("c") from e
        except IndexError:
            raise ValueError("d")
    except RuntimeError as e:
        return "from", type(e.__cause__).__name__, type(e.__context__).__name__
    except ValueError as e:
        return "during", e.__cause__, type(e.__context__).__name__
    return "none"


def raised_again_elsewhere(x):
    def again():
        raise

    try:
        try:
            if x[0] > 0:
                raise KeyError("a")
            if x[0] < 0:
                raise IndexError("b")
        except LookupError:
            again()
    except KeyError:
        return "key"
    except IndexError:
        return "index"
    return "none"


@pytest.mark.parametrize("program", [contexts, raised_again_elsewhere])
def test_exceptions(program):
    check(program, SIX)


@case(*V)
def contexts_left_out(x):
    try:
        try:
            if x[0] > 0:
                raise KeyError("a")
            raise IndexError("b")
        except KeyError:
            raise ValueError("c") from None
        except IndexError:
            raise ValueError("d")
    except ValueError as error:
        return error.__cause__, error.__suppress_context__, type(error.__context__).__name__


@case(*V)
def contexts_left_out_of_one(x):
    try:
        try:
            raise KeyError("a")
        except KeyError:
            if x[0] > 0:
                raise ValueError("b") from None
            raise ValueError("b")
    except ValueError as error:
        found = error
    return found.__suppress_context__, type(found.__context__).__name__


@case(*V, refuse="made before the last decision")
def contexts_of_a_shared_exception(x):
    made = ValueError("b")
    try:
        try:
            raise KeyError("a")
        except KeyError:
            if x[0] > 0:
                raise made from None
            raise made
    except ValueError as error:
        return error.__suppress_context__


@case(*V)
def contexts_of_what_is_raised_again(x):
    try:
        try:
            raise KeyError("a")
        except KeyError:
            raise ValueError("b")
    except ValueError as error:
        kept = error
    if x[0] > 0:
        try:
            raise kept
        except ValueError as error:
            return type(error.__context__).__name__
    return ""


@case(*V)
def causes_that_are_none(x):
    try:
        if x[0] > 0:
            raise ValueError("a") from 3
        raise ValueError("b") from int
    except (TypeError, ValueError) as error:
        return type(error).__name__, str(error)


test_program = case.test()
