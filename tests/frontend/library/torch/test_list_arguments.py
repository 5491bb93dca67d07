# SPDX-License-Identifier: Apache-2.0
"""torch functions given a list whose length is known only at run time, which may be empty."""

import pytest
import torch

import dycl
from tests.frontend.support.harness import check


def counted(n, number):
    found = []
    for k in range(n.item()):
        found.append(number(k))
    return found


@pytest.mark.parametrize("number", [lambda k: k * 2, lambda k: k > 1, lambda k: k * 0.5, lambda k: (k, k + 1)],
                         ids=["int", "bool", "float", "pair"])
def test_a_tensor_of_no_numbers(number):
    check(lambda n: torch.tensor(counted(n, number)), [torch.tensor(n) for n in (3, 0, 5)])


def test_concatenations_that_torch_rejects():
    check(lambda n: torch.cat(counted(n, lambda k: torch.ones(k + 1))), [torch.tensor(n) for n in (3, 0)])
    check(lambda n: torch.stack(counted(n, lambda k: torch.ones(2))), [torch.tensor(n) for n in (3, 0)])
    check(lambda n: torch.cat(counted(n, lambda k: torch.ones(()))), [torch.tensor(n) for n in (3, 4)])


def check_exactly(f, *inputs):
    program = dycl.compile(f, inputs[0])
    for given in inputs:
        assert torch.equal(program(*given), f(*given))
    return program


def test_joining_an_empty_list_raises_as_torch_does():
    def f(x):
        parts = []
        if x.sum() > 0:
            parts.append(x)
        return torch.cat(parts, dim=0)

    program = check_exactly(f, (torch.ones(3),))
    for call in (f, program):
        with pytest.raises(ValueError):
            call(-torch.ones(3))
