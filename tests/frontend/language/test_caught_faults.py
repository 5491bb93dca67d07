# SPDX-License-Identifier: Apache-2.0
"""Exceptions of arithmetic and of tensor kernels inside `try`: caught as in eager, or refused."""

import math

import pytest
import torch

import dycl
from tests.frontend.support.harness import Cases, I, T, check, refused

case = Cases()
V = [(T(1, 2, 3),), (T(-1, 2, -3),), (T(0, 0, 0),), (T(5, -7, 2),), (T(-4, -5, -6),), (T(2.5, -0.5, 1.5),)]
EDGES = [*V, (T(float("nan"), 0, 0),), (T(float("inf"), 0, 0),), (T(-0.0, 1, 1),), (T(-2.5, 3.5, 0.5),)]
INDICES = [(I(0, 1),), (I(3, 1),), (I(-3, 0),), (I(-4, 0),), (I(7, 2),), (I(-1, -1),)]
INPUTS = [T(1.0, 2.0, 3.0), T(-1.0, 2.0, -3.0), T(0.0, 0.0, 0.0), T(5.0, -7.0, 2.0), T(0.7, -0.5, 1.5)]


def powers(x):
    a = x[0].item()
    out = []
    try:
        out.append(a ** -1)
    except ZeroDivisionError:
        out.append("zero")
    try:
        out.append(math.exp(a * 300))
    except OverflowError:
        out.append("overflow")
    try:
        out.append(1 << int(a))
    except ValueError:
        out.append("negative")
    return out


@pytest.mark.parametrize("program", [powers])
def test_exceptions(program):
    check(program, V)


def conversions(x):
    a = x[0].item()
    out = []
    for convert in (int, round, math.floor, math.ceil, math.trunc):
        try:
            out.append(convert(a))
        except ValueError:
            out.append("nan")
        except OverflowError:
            out.append("inf")
    for function in (math.sqrt, math.log, math.acos):
        try:
            out.append(function(a))
        except ValueError:
            out.append("domain")
    return out


def test_faults_of_numbers_are_caught():
    check(conversions, EDGES)


def caught_index(i):
    x = torch.arange(6.0).view(3, 2)
    try:
        return x[i[0]]
    except IndexError:
        return "none"


def caught_in_a_caller(i):
    def pick():
        return torch.arange(6.0).index_select(0, i)

    try:
        return pick()
    except Exception:
        return "none"


def caught_empty(x):
    try:
        return x[x > 2].max()
    except RuntimeError:
        return "none"


def test_faults_of_tensors_that_would_be_caught():
    refused(caught_index, INDICES, "inside `try`")
    refused(caught_in_a_caller, INDICES, "inside `try`")
    refused(caught_empty, V, "inside `try`")


def other_handlers(i):
    x = torch.arange(6.0).view(3, 2)
    try:
        with torch.no_grad():
            y = x[i.clamp(0, 2)]
    except KeyError:
        return "none"
    finally:
        print("done")
    return y.max() if i[0] > 0 else y


def test_handlers_of_other_exceptions():
    check(other_handlers, INDICES)


def safe_select(x, index):
    try:
        return x.index_select(0, index)
    except (IndexError, RuntimeError) as error:
        if index.numel() > 0 and index.min() < 0:
            raise IndexError("negative") from error
        raise error


def selected_in_try(x, index):
    y = safe_select(x, index)
    return y if y.sum() > 0 else y * 2


def swallowed(x, index):
    try:
        return safe_select(x, index)
    except Exception:
        return x


def test_a_handler_that_always_raises_catches_nothing():
    check(selected_in_try, [(T(1, 2, 3), I(0, 2)), (T(-1, -2, 3), I(0, 1)), (T(-1, -2, 3), I(0, 0))])
    with pytest.raises(dycl.CompileError, match="try"):
        dycl.compile(swallowed, (T(1, 2, 3), I(0, 2)))


def _tried(compute):
    try:
        return compute()
    except ArithmeticError as error:
        return str(error)


@case(*INPUTS, values=True)
def divided_by_nothing(x):
    """A run-time number by a zero that is known while compiling, where the program catches it."""
    n, f = int(x[0]), x[0].item()
    return [_tried(c)
            for c in (lambda: n % 0, lambda: n // 0, lambda: n / 0, lambda: f / 0, lambda: f % 0.0, lambda: n / False,
                      lambda: divmod(f, 0), lambda: divmod(n, 0), lambda: divmod(f, x[2].item()),
                      lambda: n // int(x[1]))], n


@case(*INPUTS)
def divided_by_nothing_at_last(x):
    return int(x[0]) // 0 if x[1] > 0 else x


test_values = case.test()
