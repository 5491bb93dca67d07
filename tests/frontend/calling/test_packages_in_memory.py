# SPDX-License-Identifier: Apache-2.0
"""Packages given as bytes; and what is done with a loaded program later, when another file lies where it came from."""

import os
import pickle

import numpy as np
import pytest
import torch

import dycl
import dycl.runtime
from tests.frontend.support.harness import T


def twice(x):
    return x * 2


def thrice(x):
    return x * 3


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    path = tmp_path_factory.mktemp("package") / "twice.dycl"
    dycl.compile(twice, (T(1, 2),)).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_package_may_be_bytes(package, kind):
    assert torch.equal(dycl.load(kind(package))(T(1, 2)), T(2, 4))
    program = dycl.runtime.load(kind(package))
    assert program(np.ones(2, np.float32))["out0"].tolist() == [2, 2]


@pytest.mark.parametrize("damaged", [b"", b"no package", lambda p: p[:-1], lambda p: p[:100] + b"?" + p[101:]])
def test_damaged_bytes_are_refused(package, damaged):
    content = damaged(package) if callable(damaged) else damaged
    for load in (dycl.load, dycl.runtime.load):
        with pytest.raises(dycl.PackageError):
            load(content)


def test_bytes_are_copied(package):
    given = bytearray(package)
    program = dycl.load(given)
    given[:] = bytes(len(given))
    assert torch.equal(program(T(1, 2)), T(2, 4))


@pytest.mark.parametrize("place", ["memory", "a file that is replaced", "a file that is removed"])
def test_what_was_loaded_is_what_is_saved(package, tmp_path, place):
    if place == "memory":
        program = dycl.load(package)
    else:
        path = tmp_path / "p.dycl"
        path.write_bytes(package)
        program = dycl.load(path)
        if place == "a file that is replaced":
            dycl.compile(thrice, (T(1, 2),)).save(tmp_path / "other.dycl")
            os.replace(tmp_path / "other.dycl", path)
        else:
            path.unlink()
    program.save(tmp_path / "saved.dycl")
    assert (tmp_path / "saved.dycl").read_bytes() == package
    assert torch.equal(pickle.loads(pickle.dumps(program))(T(1, 2)), T(2, 4))
    program.emit_onnx(tmp_path / "m.onnx")
    program.emit(tmp_path / "cpp")
    assert (tmp_path / "m.onnx").exists() and (tmp_path / "cpp" / "model.dycl").read_bytes() == package
    assert f"{len(package):,} bytes" in repr(program)
