# SPDX-License-Identifier: Apache-2.0
"""Tensors whose elements share memory on some paths: expanded, unfolded, copied together with their views."""

import copy

import pytest
import torch

import dycl
from tests.frontend.support.harness import Cases, T, check

case = Cases()
INPUTS = [T(1.0, 2.0, 3.0), T(-1.0, 2.0, -3.0), T(0.0, 0.0, 0.0), T(5.0, -7.0, 2.0), T(0.7, -0.5, 1.5)]


@case(*INPUTS, refuse="share memory")
def expanded_in_one_arm(x):
    y = x.clone()[:1].expand(3)
    if x[0] > 0:
        y = y.contiguous()
    y[1] = 5.0
    return y


@case(*INPUTS, refuse="in place|share memory")
def overlapping_in_one_arm(x):
    y = x.repeat(2).unfold(0, 4, 1)
    if x[0] > 0:
        y = y.clone()
    y[0].fill_(7)
    return y


@case(*INPUTS)
def expanded_and_only_read(x):
    y = x.clone()[:1].expand(3)
    if x[0] > 0:
        y = y.contiguous()
    return y * x


@case(*INPUTS, refuse="copied together")
def views_copied_and_written(x):
    """Copies of a tensor and of a view of it share memory."""
    y = x.clone()
    copied = copy.deepcopy({"whole": y, "rest": y[1:]})
    if x[0] > 0:
        copied["rest"].add_(5)
    return copied


@case(*INPUTS)
def views_copied(x):
    y = x.clone()
    copied = copy.deepcopy([y, y[1:], y, x * 2])
    copied[3].add_(1)
    return copied, copied[0] is copied[2], copied[1].sum() if x[0] > 0 else 0


test_values = case.test()


def _on_a_table(write):
    def program(x):
        table = torch.arange(12.0).view(3, 4) + x
        write(table, *(int(n) for n in x.clamp(0, 2).tolist()[:2]))
        return table

    return program


TABLES = [(T(2, 0.5, 3, -1),), (T(-1, 2.5, 0, 4),), (T(1, 1, 7, 2),)]
READ_BEFORE = {  # each element that they read and write is read first: torch goes through memory in its order
    "a shift to the left": lambda t, i, j: t[:, :-1].copy_(t[:, 1:]),
    "a shift by assignment": lambda t, i, j: t.__setitem__((slice(None), slice(0, -1)), t[:, 1:]),
    "by the last column": lambda t, i, j: t.div_(t[:, -1:]),
    "other columns": lambda t, i, j: t[:, 1:].sub_(t[:, :1]),
    "an element beside": lambda t, i, j: t[:, 0].add_(t[1, 1]),
    "the same column": lambda t, i, j: t[:, 0].add_(t[:, 0]),
    "two columns": lambda t, i, j: t[:, i].add_(t[:, j]),
    "two rows": lambda t, i, j: t[i].add_(t[j]),
    "two elements": lambda t, i, j: t[0, i].add_(t[2, j]),
}
READ_AFTER = {
    "the first column": lambda t, i, j: t.sub_(t[:, :1]),
    "the first column of two": lambda t, i, j: t[:, :2].sub_(t[:, :1]),
    "a shift to the right": lambda t, i, j: t[:, 1:].copy_(t[:, :-1]),
    "the first of a column": lambda t, i, j: t[:, 0].add_(t[0, 0]),
    "some element of a column": lambda t, i, j: t[:, i].add_(t[0, j]),
    "rows as columns": lambda t, i, j: t[:, :3].add_(t[:, :3].t()),
    "a product": lambda t, i, j: t[:, :3].addmm_(t[:, :3], t[:, :3]),
    "a dense product": lambda t, i, j: t.view(-1)[:9].view(3, 3).addmm_(t.view(-1)[:9].view(3, 3), t[:, :3]),
}


@pytest.mark.parametrize("name", READ_BEFORE)
def test_what_is_read_before_it_is_written(name):
    check(_on_a_table(READ_BEFORE[name]), TABLES, paths=1)


@pytest.mark.parametrize("name", READ_AFTER)
def test_what_is_read_after_it_was_written(name):
    with pytest.raises(dycl.CompileError, match="overlapping parts") as caught:
        dycl.compile(_on_a_table(READ_AFTER[name]), TABLES[0])
    assert caught.value.kind == "tensor.overlap"
