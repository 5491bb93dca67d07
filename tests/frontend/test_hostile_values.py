# SPDX-License-Identifier: Apache-2.0
"""Small programs that a compiler answers wrongly if it is careless about kinds of numbers and shared elements."""

import copy

import torch
import torch.nn.functional as F

from tests.frontend.support.harness import Cases, T

case = Cases()
INPUTS = [T(1.0, 2.0, 3.0), T(-1.0, 2.0, -3.0), T(0.0, 0.0, 0.0), T(5.0, -7.0, 2.0), T(0.7, -0.5, 1.5)]


@case(*INPUTS, paths=1)
def number_beside_one_element(x):
    """A Python number is rounded to the dtype of the tensor it is compared with, also if that has no dims."""
    number, t = float(x[0]) * 0.1, x[0] * 0.1
    return t == number, t < number, t > number, t <= number, t != number, number >= t, torch.eq(t, number), (x * 0.1)[:1] == number


@case(*INPUTS)
def decided_by_one_element(x):
    number = float(x[0]) * 0.1
    if x[0] * 0.1 == number:
        return "same", x * 2 if x[1] > number else x
    return "different", x


@case(*INPUTS, values=True)
def number_beside_one_int(x):
    number, n = float(x[0]) * 0.1 + 16777217.0, x[0].long() + 16777217
    b = x[0] > 0
    return n == number, n > number, n < number, x[0].double() * 0.1 == float(x[0]) * 0.1, x[0].half() == float(x[0]) * 1.0001, b == int(x[0]), b < int(x[0])


@case(*INPUTS, refuse="share memory")
def expanded_in_one_arm(x):
    y = x.clone()[:1].expand(3)
    if x[0] > 0:
        y = y.contiguous()
    y[1] = 5.0
    return y


@case(*INPUTS, refuse="in place|share memory")
def overlapping_in_one_arm(x):
    y = x.repeat(2).unfold(0, 4, 1)
    if x[0] > 0:
        y = y.clone()
    y[0].fill_(7)
    return y


@case(*INPUTS)
def expanded_and_only_read(x):
    y = x.clone()[:1].expand(3)
    if x[0] > 0:
        y = y.contiguous()
    return y * x


@case(*INPUTS, values=True)
def truth_subtracted(x):
    truth, found = bool(x[0] > 0), []
    for subtract in (lambda: x - truth, lambda: truth - x, lambda: x - (x > 0), lambda: x.clone().sub_(truth), lambda: (x > 0) - (x < 0)):
        try:
            found.append(subtract())
        except RuntimeError as error:
            found.append(str(error))
    return found, x + truth, x.long() * truth


@case(*INPUTS)
def arguments_twice(x):
    extra = {"z": 1} if x[0] > 0 else {"y": 2}
    try:
        return _take(x, **{"z": 3}, **extra)
    except TypeError as error:
        return str(error)


def _take(x, y=0, z=0):
    return x + y * z


@case(*INPUTS, paths=1)
def slope_of_the_run(x):
    return F.leaky_relu(x, float(x[0]) * 0.1)


@case(T(3e38, 1e-30, 0.5), T(1e37, -0.5, -1.0), T(float("inf"), 1e-8, 2.0), T(-1e-9, 5.0, 1e20), values=True)
def logarithms(x):
    return x.log1p(), x.double().log1p()


def _tried(compute):
    try:
        return compute()
    except ArithmeticError as error:
        return str(error)


@case(*INPUTS, values=True)
def divided_by_nothing(x):
    """A run-time number by a zero that is known while compiling, where the program catches it."""
    n, f = int(x[0]), x[0].item()
    return [_tried(c) for c in (lambda: n % 0, lambda: n // 0, lambda: n / 0, lambda: f / 0, lambda: f % 0.0, lambda: n / False, lambda: divmod(f, 0),
                                lambda: divmod(n, 0), lambda: divmod(f, x[2].item()), lambda: n // int(x[1]))], n


@case(*INPUTS)
def divided_by_nothing_at_last(x):
    return int(x[0]) // 0 if x[1] > 0 else x


@case(*INPUTS, refuse="copied together")
def views_copied_and_written(x):
    """Copies of a tensor and of a view of it share memory."""
    y = x.clone()
    copied = copy.deepcopy({"whole": y, "rest": y[1:]})
    if x[0] > 0:
        copied["rest"].add_(5)
    return copied


@case(*INPUTS)
def views_copied(x):
    y = x.clone()
    copied = copy.deepcopy([y, y[1:], y, x * 2])
    copied[3].add_(1)
    return copied, copied[0] is copied[2], copied[1].sum() if x[0] > 0 else 0


test_values = case.test()
