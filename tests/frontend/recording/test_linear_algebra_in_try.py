# SPDX-License-Identifier: Apache-2.0
"""Factorisations that fail at run time end the execution: refused where the program would catch the error."""

import pytest
import torch
from torch.linalg import LinAlgError

import dycl


def by_name(x):
    try:
        return torch.linalg.cholesky(x)
    except LinAlgError:
        return x * 2


def by_attribute(x):
    try:
        return torch.linalg.cholesky(x)
    except torch.linalg.LinAlgError:
        return x * 2


def by_base(x):
    try:
        return torch.linalg.inv(x)
    except RuntimeError:
        return x * 2


def raised_anew(x):
    try:
        return torch.linalg.cholesky(x)
    except LinAlgError as error:
        raise ValueError("not positive definite") from error


@pytest.mark.parametrize("f", [by_name, by_attribute, by_base])
def test_caught(f):
    with pytest.raises(dycl.CompileError, match="may fail at run time"):
        dycl.compile(f, (torch.eye(2),))


def test_another_error_is_not_caught():
    def f(x):
        try:
            return torch.linalg.cholesky(x)
        except KeyError:
            return x

    program = dycl.compile(f, (torch.eye(2),))
    assert torch.equal(program(torch.eye(2) * 4), torch.eye(2) * 2)
    for run in (f, program):
        with pytest.raises(LinAlgError):
            run(-torch.eye(2))


def test_raised_anew():
    program = dycl.compile(raised_anew, (torch.eye(2),))
    assert torch.equal(program(torch.eye(2) * 4), torch.eye(2) * 2)
