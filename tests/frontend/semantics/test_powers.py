# SPDX-License-Identifier: Apache-2.0
"""`pow` and `**` of run-time numbers: where they may raise, and with a modulus."""

import torch

import dycl
from tests.frontend.support.harness import check, refused


def check_exactly(f, *inputs):
    program = dycl.compile(f, inputs[0])
    for given in inputs:
        assert torch.equal(program(*given), f(*given))
    return program


def test_known_float_to_a_run_time_power_inside_try():
    """Whether 0.0 is raised to a negative power is asked there; of two known numbers of two kinds, too."""
    def f(x):
        try:
            return x * (pow(1.5, x[x > 0].shape[0]) - 1)
        except ZeroDivisionError:
            return x

    check_exactly(f, (torch.tensor([1.0, 2.0, -1.0]),), (torch.tensor([-1.0, -2.0, -1.0]),),
                  (torch.tensor([1.0, 2.0, 3.0]),))


def test_powers_with_a_modulus():
    check(lambda n: pow(n.item(), 2, 7) if n.item() > 3 else pow(n.item(), 3, -7), [torch.tensor(3), torch.tensor(4)])
    refused(lambda n: pow(n.item(), -1, 7), [torch.tensor(3)], "negative")
