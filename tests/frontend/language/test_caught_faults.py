# SPDX-License-Identifier: Apache-2.0
"""Exceptions of arithmetic and of tensor kernels inside `try`: caught as in eager, or refused."""

import contextlib
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


class Quiet:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return kind is not None and issubclass(kind, IndexError)


class Loud(Quiet):
    def __exit__(self, kind, error, trace):
        if kind is not None:
            self.seen = kind
        return None


@contextlib.contextmanager
def caught():
    try:
        yield
    except IndexError:
        pass


@contextlib.contextmanager
def tidied():
    try:
        yield
    finally:
        print("done")


def stacked(*contexts):
    stack = contextlib.ExitStack()
    stack.callback(print, "left")
    for context in contexts:
        stack.enter_context(context)
    return stack


def indexed_inside(make):
    def program(x):
        y = x
        with make():
            y = x[[int(x[0].item()) + 1]]
        return y

    return program


CATCHING = {"suppress": lambda: contextlib.suppress(KeyError, IndexError), "own class": Quiet, "generator": caught,
            "stack": lambda: stacked(Loud(), caught())}
LETTING_THROUGH = {"suppress of others": lambda: contextlib.suppress(KeyError), "own class": Loud, "generator": tidied,
                   "no_grad": torch.no_grad, "stack": lambda: stacked(Loud(), tidied())}


@pytest.mark.parametrize("name", CATCHING)
def test_faults_inside_a_context_that_takes_them_are_refused(name):
    """A run that fails in a kernel cannot be caught: the program raised where eager goes on."""
    with pytest.raises(dycl.CompileError, match="`try` or `with` that might catch it"):
        dycl.compile(indexed_inside(CATCHING[name]), (torch.zeros(3),))


@pytest.mark.parametrize("name", LETTING_THROUGH)
def test_faults_inside_a_context_that_lets_them_through(name):
    check(indexed_inside(LETTING_THROUGH[name]), [(T(0, 1, 2),), (T(1, 5, 6),), (T(7, 1, 2),)], by_result=True)


def test_what_python_raises_inside_a_context_is_suppressed():
    def program(x):
        kept = [v for v in x.tolist() if v > 0]
        with contextlib.suppress(IndexError):
            kept.append(kept[1] * 2)
        return kept

    check(program, V)


def test_the_text_of_an_index_that_is_out_of_range():
    def program(x):
        try:
            return x[int(x[0].item())] * 2
        except IndexError as error:
            return str(error)

    check(program, V)


def test_the_text_of_a_list_of_another_length():
    def unpacked(x):
        try:
            a, b = x[x > 0]
        except ValueError as error:
            return str(error), error.args
        return a - b

    check(unpacked, [*V, (T(-1, 2, 3),), (T(1, 3, -1),)], by_result=True)
