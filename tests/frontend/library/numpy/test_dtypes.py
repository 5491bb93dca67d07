# SPDX-License-Identifier: Apache-2.0
"""Run-time arrays have the dtypes that numpy gives them, not torch's."""

import numpy as np
import pytest
import torch

import dycl
from tests.frontend.support.harness import check


def ints_and_floats(x):
    a = x.long().numpy()
    return (torch.from_numpy(a * 0.5), torch.from_numpy(a / 2), torch.from_numpy(a - 0.5),
            torch.from_numpy(np.maximum(a, 0.5)), (a * 2).dtype == np.int64)


def numbers_of_numpy(x):
    a = x.numpy()
    return (torch.from_numpy(a * np.float64(0.1)), torch.from_numpy(a * 0.1), torch.from_numpy((a > 0) * 0.5),
            (a.sum() * 2).dtype == np.float32)


def chosen(x):
    a = x.numpy()
    return (torch.from_numpy(np.where(a > 0, 0.1, 0.0)), torch.from_numpy(np.where(a > 0, a, 0)),
            torch.from_numpy(np.where(a > 0, a, np.float64(0.1))))


def two_precisions(x):
    a, b = x.numpy(), x.double().numpy()
    return torch.from_numpy(a + b), torch.from_numpy(np.maximum(a, b)), torch.from_numpy(np.stack([a, b]))


class Counted(list):
    def __len__(self):
        raise NotImplementedError


def own_length(x):
    a, b = Counted([2, 3])
    return x * (a if x.sum() > 0 else b) * Counted([4, 5])[1]


@pytest.mark.parametrize("f", [ints_and_floats, numbers_of_numpy, chosen, two_precisions, own_length],
                         ids=lambda f: f.__name__)
def test_as_in_eager(f):
    program = dycl.compile(f, (torch.tensor([1.0, -2.0, 3.0]),), verify=False)
    for x in (torch.tensor([1.0, -2.0, 3.0]), torch.tensor([-1.0, 2.0, -7.0])):
        found, expected = program(x.clone()), f(x.clone())
        for ours, theirs in zip(found, expected) if isinstance(expected, tuple) else [(found, expected)]:
            if isinstance(theirs, torch.Tensor):
                assert ours.dtype == theirs.dtype and torch.equal(ours, theirs)
            else:
                assert ours == theirs


def as_bytes(x):
    return x.numpy().astype(np.uint8)


def written(a, number):
    a[0] = number
    return a


NUMPY = {
    "nested lists": lambda x, n: x.numpy()[[[0, 1], [1, 2]]],
    "beyond the dtype": lambda x, n: as_bytes(x) + 300,
    "beyond the dtype at run time": lambda x, n: as_bytes(x) + n.item(),
    "compared": lambda x, n: (as_bytes(x) < 300, as_bytes(x) == 257, as_bytes(x) > -1, n.item() > as_bytes(x),
                              as_bytes(x) == n.item()),
    "maximum": lambda x, n: np.maximum(as_bytes(x), n.item()),
    "full": lambda x, n: np.full(3, n.item(), dtype=np.uint8),
    "array": lambda x, n: np.array([n.item(), 1], dtype=np.uint8),
    "assigned": lambda x, n: written(as_bytes(x), n.item()),
    "minus bools": lambda x, n: -(x.numpy() > 1),
}


@pytest.mark.parametrize("name", NUMPY)
def test_integers_of_numpy(name):
    def model(flag, x, n):
        return NUMPY[name](x, n) if flag > 0 else None

    x = torch.tensor([3, 1, 2])
    check(model, [(torch.tensor(flag), x, torch.tensor(n)) for flag, n in ((-1, 5), (1, 5), (1, 300), (1, -3))])
