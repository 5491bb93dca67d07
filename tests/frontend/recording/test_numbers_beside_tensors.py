# SPDX-License-Identifier: Apache-2.0
"""Python numbers beside tensors: rounded to the tensor's dtype in comparisons, promoted as torch promotes them."""

import torch
import torch.nn.functional as F

from tests.frontend.support.harness import Cases, T

case = Cases()
INPUTS = [T(1.0, 2.0, 3.0), T(-1.0, 2.0, -3.0), T(0.0, 0.0, 0.0), T(5.0, -7.0, 2.0), T(0.7, -0.5, 1.5)]


@case(*INPUTS, paths=1)
def number_beside_one_element(x):
    """A Python number is rounded to the dtype of the tensor it is compared with, also if that has no dims."""
    number, t = float(x[0]) * 0.1, x[0] * 0.1
    return (t == number, t < number, t > number, t <= number, t != number, number >= t, torch.eq(t, number),
            (x * 0.1)[:1] == number)


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
    return (n == number, n > number, n < number, x[0].double() * 0.1 == float(x[0]) * 0.1,
            x[0].half() == float(x[0]) * 1.0001, b == int(x[0]), b < int(x[0]))


@case(*INPUTS, values=True)
def truth_subtracted(x):
    truth, found = bool(x[0] > 0), []
    for subtract in (lambda: x - truth, lambda: truth - x, lambda: x - (x > 0), lambda: x.clone().sub_(truth),
                     lambda: (x > 0) - (x < 0)):
        try:
            found.append(subtract())
        except RuntimeError as error:
            found.append(str(error))
    return found, x + truth, x.long() * truth


@case(*INPUTS, paths=1)
def slope_of_the_run(x):
    return F.leaky_relu(x, float(x[0]) * 0.1)


test_values = case.test()
