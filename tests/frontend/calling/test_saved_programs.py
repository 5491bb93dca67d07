# SPDX-License-Identifier: Apache-2.0
"""Programs saved to a file and loaded: what they write to their arguments, and results that no file can hold."""

import enum

import pytest
import torch

import dycl
from dycl.calling.classes import Classes
from dycl.calling.package_interface import to_json
from tests.frontend.support.harness import Call, T


def long_range(x):
    for i in range(1000):
        x = x * 0.9
        if x.abs().max() < 0.1:
            break
    return x, i


def test_a_package_is_loaded_and_called(tmp_path):
    program = dycl.compile(long_range, (T(1, 2),))
    program.save(tmp_path / "p.dycl")
    loaded = dycl.load(tmp_path / "p.dycl")
    x, i = long_range(T(3, 2))
    y, j = loaded(T(3, 2))
    assert i == j and torch.allclose(x, y)


class Plain:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


def loaded(model, args, tmp_path, **given):
    path = tmp_path / "program.dycl"
    dycl.compile(model, args).save(path)
    return dycl.load(path, **given)


def writes_to_arguments(x, rows, table, o):
    rows.append(x * 2)
    table["last"] = x + 1
    o.last = rows
    if x.sum() < 0:
        raise ValueError("negative")
    table["again"] = rows[-1]
    return x


def test_a_loaded_program_writes_to_its_arguments(tmp_path):
    def given(*values):
        return Call(T(*values), [T(0, 0)], {"first": T(9, 9)}, Plain(x=T(1, 1)))

    program = loaded(writes_to_arguments, given(1, 2).args, tmp_path)
    for values in ((1, 2), (3, 4), (-1, -2)):
        ours, theirs = given(*values).args, given(*values).args
        for call, args in ((writes_to_arguments, ours), (program, theirs)):
            if sum(values) < 0:
                with pytest.raises(ValueError):
                    call(*args)
            else:
                call(*args)
        assert len(ours[1]) == len(theirs[1]) and torch.equal(ours[1][-1], theirs[1][-1])
        assert list(ours[2]) == list(theirs[2]) and all(map(torch.equal, ours[2].values(), theirs[2].values()))
        assert theirs[3].last is theirs[1]


class Kind(enum.IntEnum):
    A = 1
    B = 2


def positive(x):
    return x.sum() > 0


def test_results_that_no_file_can_hold(tmp_path):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.config = Plain(a=1)

        def forward(self, x):
            return x if positive(x) else -x, self.config

    with pytest.raises(dycl.InputError, match="gives back a Plain"):
        loaded(Model(), (T(1, 2),), tmp_path)
    with pytest.raises(dycl.InputError, match="key of type tuple"):
        loaded(lambda x: {(1, 2): x if positive(x) else -x}, (T(1, 2),), tmp_path)
    program = loaded(lambda x: (x, Kind.A) if positive(x) else (x, Kind.B), (T(1, 2),), tmp_path, classes=[Kind])
    assert program(T(1, 2))[1] is Kind.A and program(T(-1, -2))[1] is Kind.B


class Checked(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 10:
            raise dycl.InputError("too much")
        return x * 2


def test_errors_of_dycl_have_public_names(tmp_path):
    """A package keeps the name of a class, and these classes may be defined elsewhere one day."""
    program = dycl.compile(Checked().eval(), (torch.ones(2),))
    program.save(tmp_path / "checked.dycl")
    loaded = dycl.load(tmp_path / "checked.dycl")
    for run in (program, loaded):
        with pytest.raises(dycl.InputError, match="too much"):
            run(torch.full((2,), 9.0))
    assert "dycl:InputError" in str(to_json(program._interface))
    assert Classes({}).exception("dycl.frontend.inputs:InputError") is dycl.InputError  # as packages of 0.1.0 have it
    assert {cls.__module__ for cls in (dycl.InputError, dycl.CompileError, dycl.CompileWarning)} == {"dycl"}
