# SPDX-License-Identifier: Apache-2.0
"""Rows of numpy arrays at places known only at run time: views where numpy gives views,
copies where it gives copies."""

import numpy as np
import pytest
import torch

from tests.frontend.support.harness import check


def by_numpys_number(a, x):
    a[np.argmax(x.numpy())][1] = 1


def by_a_tensor(a, x):
    a[x.argmax()][1] = 1


def by_an_int(a, x):
    a[int(x.argmax())][1] = 1


def by_an_array_of_no_dims(a, x):
    a[x.argmax().numpy()][1] = 1  # numpy copies: nothing is written
    a[np.array(1)][1] = 2


def by_what_was_found(a, x):
    """As a session's graph is made: the place of an item among those that are there."""
    items = np.unique(x.numpy())
    u = np.where(items == x.numpy()[0])[0][0]
    a[u][1] = 1
    row = a[u]
    row[2] = 3


def made_here(write):
    def f(x):
        a = np.zeros((3, 3))
        write(a, x)
        return torch.from_numpy(a) if x[0] > 1 else torch.from_numpy(a * 2)

    return f


def made_of_the_input(write):
    def f(x):
        a = x.numpy()[:, None] * np.ones((3, 3), np.float32)
        write(a, x)
        return torch.from_numpy(a) if x[0] > 1 else torch.from_numpy(a * 2)

    return f


@pytest.mark.parametrize("write", [by_numpys_number, by_a_tensor, by_an_int, by_an_array_of_no_dims, by_what_was_found],
                         ids=lambda f: f.__name__)
@pytest.mark.parametrize("make", [made_here, made_of_the_input], ids=lambda f: f.__name__)
def test_written_through_a_row(make, write):
    check(make(write), [(torch.tensor(v),) for v in ([1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [1.0, 3.0, 2.0])])


def parts(x):
    a = x.numpy()[:, None, None] * np.ones((3, 3, 2), np.float32)
    p = np.argmax(x.numpy())
    a[p, 1][0] = 1
    a[p, 0:2][0] = 2
    a[x.argmax().numpy(), 1][0] = 7
    return torch.from_numpy(a) if x[0] > 1 else torch.from_numpy(a * 2)


def test_written_through_parts_of_rows():
    check(parts, [(torch.tensor(v),) for v in ([1.0, 2.0, 3.0], [3.0, 2.0, 1.0])])
