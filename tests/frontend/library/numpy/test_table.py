# SPDX-License-Identifier: Apache-2.0
"""The table of numpy's functions: rows that hand over to one function of torch have numpy's own parameters."""

import inspect

import numpy as np
import pytest
import torch

import dycl
from dycl.frontend.library.numpy.functions import TABLE


def own_parameters(name: str) -> list[str]:
    try:
        return list(inspect.signature(getattr(np, name)).parameters)
    except (ValueError, AttributeError, TypeError):
        return []


@pytest.mark.parametrize("name", sorted(n for n in TABLE if own_parameters(n) and not isinstance(
    getattr(np, n), np.ufunc)))
def test_parameters_stand_where_numpys_do(name):
    """A number that is given by place must not be taken for another parameter."""
    mine = [p.name for p in list(inspect.signature(TABLE[name]).parameters.values())[1:]
            if p.kind is p.POSITIONAL_OR_KEYWORD]
    numpys = own_parameters(name)
    wrong = [(n, place) for place, n in enumerate(mine) if n in numpys and numpys.index(n) != place]
    assert wrong == []


def test_a_row_refuses_what_it_does_not_take():
    x = torch.arange(6.0).reshape(2, 3)
    with pytest.raises(dycl.CompileError, match="numpy.triu with such arguments"):
        dycl.compile(lambda x: torch.from_numpy(np.triu(x.numpy(), 0, 1)), (x,))
    with pytest.raises(dycl.CompileError, match="numpy.add with such arguments"):
        dycl.compile(lambda x: torch.from_numpy(np.add(x.numpy(), 1.0, x.numpy())), (x,))


def test_numbers_by_place_are_not_taken_for_others():
    x = torch.tensor([1.0, 2.0, 3.0])
    with pytest.raises(dycl.CompileError, match="numpy.isin with such arguments"):  # numpy's third: assume_unique
        dycl.compile(lambda x: torch.from_numpy(np.isin(x.numpy(), np.array([2.0], np.float32), True)), (x,))
    with pytest.raises(dycl.CompileError, match="numpy.std with such arguments"):
        dycl.compile(lambda x: torch.from_numpy(np.std(x[None].numpy(), 1, np.float32)), (x,))


def test_stacks_take_the_rows_of_an_array():
    x = torch.arange(12.0).reshape(2, 2, 3)

    def program(x):
        a = x.numpy()
        return torch.from_numpy(np.vstack(a)), torch.from_numpy(np.hstack(a)), torch.from_numpy(np.dstack(a))

    for found, wanted in zip(dycl.compile(program, (x,))(x), program(x)):
        assert torch.equal(found, wanted)
