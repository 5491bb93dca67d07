# SPDX-License-Identifier: Apache-2.0
"""What eager rejects is not answered: parameters of distributions, probabilities, masks and boundaries."""

from __future__ import annotations

import math

import pytest
import torch

import dycl

PARAMETERS = {
    "exponential": lambda x: x.clone().exponential_(0.0),
    "log_normal": lambda x: x.clone().log_normal_(0.0, 0.0),
    "normal": lambda x: x.clone().normal_(0.0, -1.0),
    "uniform": lambda x: x.clone().uniform_(3.0, -1.0),
    "bucketize": lambda x: torch.bucketize(x, torch.ones(2, 2)),
    "masked_scatter": lambda x: x.masked_scatter(torch.ones(5, dtype=torch.uint8), x),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_arguments_that_torch_rejects(name):
    x = torch.rand(5)
    with pytest.raises(RuntimeError):
        PARAMETERS[name](x)
    with pytest.raises((dycl.CompileError, RuntimeError)):
        dycl.compile(PARAMETERS[name], (x,), verify=False)(x)


def drawn(x):
    return torch.multinomial(x, 1), torch.multinomial(x, 3, replacement=True), torch.multinomial(x, 2)


def test_probabilities_that_torch_rejects():
    program = dycl.compile(drawn, (torch.rand(2, 9),), verify=False)
    sure = torch.zeros(2, 9)
    sure[0, 3] = sure[1, 5] = 0.5
    one, several, _ = program(sure)
    assert one.tolist() == [[3], [5]] and several.tolist() == [[3] * 3, [5] * 3]
    for bad in (math.nan, math.inf, -1.0):
        weights = torch.rand(2, 9)
        weights[1, 2] = bad
        for function in (drawn, program):
            with pytest.raises(RuntimeError):
                function(weights)
    with pytest.raises(RuntimeError):
        program(torch.zeros(2, 9))


def test_a_keyword_of_accumulate():
    """torch.unravel_index gives itertools.accumulate its function by name."""
    x = torch.tensor([[3, 7, 39]])
    program = dycl.compile(lambda x: torch.unravel_index(x, (5, 8)), (x,))
    for got, wanted in zip(program(x), torch.unravel_index(x, (5, 8))):
        assert torch.equal(got, wanted)
