# SPDX-License-Identifier: Apache-2.0
"""Packages of earlier releases are read, and answer as they did (docs/package_format.md promises it)."""

from pathlib import Path

import numpy as np
import pytest
import torch

import dycl
import dycl.runtime

PACKAGES = sorted(Path(__file__).resolve().parent.glob("*/*.dycl"))
IDS = [f"{path.parent.name}-{path.stem}" for path in PACKAGES]


def calls(path):
    """(inputs, results by name), call by call."""
    kept = np.load(path.with_suffix(".npz"))
    count = len({name.split("/")[0] for name in kept.files})
    for call in range(count):
        inputs = [kept[f"{call}/in/{i}"] for i in range(sum(n.startswith(f"{call}/in/") for n in kept.files))]
        yield inputs, {n.split("/")[2]: kept[n] for n in kept.files if n.startswith(f"{call}/out/")}


def same(given, wanted, name):
    if wanted.dtype.kind == "U":
        assert given == str(wanted), name
        return
    given = np.asarray(given)
    assert given.shape == wanted.shape and given.dtype.kind == wanted.dtype.kind, name
    np.testing.assert_allclose(given, wanted, rtol=1e-4, atol=1e-5, err_msg=name)


def test_each_release_left_packages():
    assert {path.parent.name for path in PACKAGES} >= {"0.1.0"}
    assert all(path.stat().st_size < 20_000 for path in PACKAGES)


@pytest.mark.parametrize("path", PACKAGES, ids=IDS)
def test_loaded_with_torch(path):
    program = dycl.load(path)
    for inputs, wanted in calls(path):
        result = program(*map(torch.from_numpy, inputs))
        items = dict(result.items() if isinstance(result, dict) else enumerate(result))
        assert {str(name) for name in items} == set(wanted)
        for name, value in items.items():
            same(value, wanted[str(name)], f"{path.stem}: {name}")


@pytest.mark.parametrize("path", PACKAGES, ids=IDS)
def test_loaded_with_numpy(path):
    program = dycl.runtime.load(path)
    for inputs, wanted in calls(path):
        arrays = [value for value in program(*inputs).values() if isinstance(value, np.ndarray)]
        for name, expected in wanted.items():
            if expected.dtype.kind == "f":
                assert any(a.shape == expected.shape and np.allclose(a, expected, rtol=1e-4, atol=1e-5)
                           for a in arrays), f"{path.stem}: {name}"
