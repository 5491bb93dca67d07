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


# ---- places that only the run knows -------------------------------------------------------------------------


def _rows(step):
    """step(matrix, a number from 1 to 3 that only the run knows)"""

    def program(x):
        matrix = x.clone() + 4 * torch.eye(4)
        step(matrix, int(x[0, 0].clamp(1, 3).item()))
        return matrix

    return program


def _eliminate(m, k):
    i = 0
    while i < k:
        for j in range(4):
            if j != i:
                m[j] -= m[j, i] / m[i, i] * m[i]
        i += 1


def _factor(m, k):
    i = 0
    while i < k:
        p = int(m[i:, i].abs().argmax()) + i
        m[[i, p]] = m[[p, i]]
        m[i + 1:, i] /= m[i, i]
        m[i + 1:, i + 1:] -= m[i + 1:, i:i + 1] * m[i, i + 1:]
        i += 1


def _cholesky(m, k):
    j = 0
    while j < k and m[j, j] > 0:
        m[j, j] = m[j, j].sqrt()
        m[j + 1:, j] /= m[j, j]
        for i in range(1, 4):
            if i > j:
                m[i:, i] -= m[i:, j] * m[i, j]
        j += 1


def _columns(m, k):
    i = 1
    while i <= k:
        m[:, i] += m[:, i - 1]
        m[:, i] -= m[0, i - 1]
        i += 1


def _borders(m, k):
    for _ in range(k):
        m[0], m[-1] = m[1], m[-2]
        m[:, 0], m[:, -1] = m[:, 1], m[:, -2]


BY_ROWS = {
    "elimination": _eliminate,
    "LU with pivots": _factor,
    "Cholesky": _cholesky,
    "a table by columns": _columns,
    "borders": _borders,
    "a column by an element": lambda m, k: m[:, k].copy_(m[0, k - 1]),
    "another row's element": lambda m, k: m[k].sub_(m[k - 1, 1]),
    "a row by its own element": lambda m, k: m[k].div_(m[k, k].clone()),
    "below the pivot": lambda m, k: m[k:, k - 1].div_(m[k - 1, k - 1]),
    "a step of LU": lambda m, k: m[k:, k:].sub_(m[k:, k - 1:k] * m[k - 1, k:]),
    "by the column before": lambda m, k: m[:, k:].mul_(m[:, k - 1:k]),
    "a shift to the left": lambda m, k: m[:, :k].copy_(m[:, 1:k + 1]),
    "behind the last": lambda m, k: m[k, k:].fill_(m[k, k - 1]),
    "two rows": lambda m, k: m[k].add_(m[k]),
}


def _matrices():
    generator = torch.Generator().manual_seed(1)
    return [(torch.randn(4, 4, generator=generator) + torch.eye(4) * k,) for k in (1, 0, 2, -1, 3)]


@pytest.mark.parametrize("name", BY_ROWS)
def test_parts_that_are_apart(name):
    check(_rows(BY_ROWS[name]), _matrices(), paths=1)


MEET = {  # for some k from 1 to 3, not for the first
    "a shift to the right": (lambda m, k: m[:, 1:k + 1].copy_(m[:, :k]), 1),
    "a sum with what is left of it": (lambda m, k: m[:, 1:k + 1].add_(m[:, :k]), 1),
    "rows shifted": (lambda m, k: m[1:k + 1].copy_(m[:k]), 1),
    "the first of some columns": (lambda m, k: m[:, :k].sub_(m[:, :1]), 1),
    "a column of some": (lambda m, k: m[:, 2:].sub_(m[:, k:k + 1]), 1),
    "an element of a row": (lambda m, k: m[2].sub_(m[k, 1]), 1),
    "an element of a column": (lambda m, k: m[:, 2].sub_(m[0, k]), 1),
    "counted from the end": (lambda m, k: m[:, k - 4].sub_(m[0, 2]), 1),
}


@pytest.mark.parametrize("name", MEET)
def test_a_run_ends_where_parts_meet(name):
    step, first = MEET[name]
    program = dycl.compile(_rows(step), (torch.full((4, 4), float(first)),), allow_raise=True)
    for k in (1.0, 2.0, 3.0):
        x = torch.arange(16.0).view(4, 4) + k
        try:
            got = program(x)
        except RuntimeError as error:
            assert "overlapping parts" in str(error) and k != first
        else:
            assert torch.equal(got, _rows(step)(x))
    with pytest.raises(RuntimeError, match="overlapping parts"):
        for k in (2.0, 3.0):
            program(torch.full((4, 4), k))


@pytest.mark.parametrize("step", [lambda m, k: m[k].sub_(m[k, 1]), lambda m, k: m[:, 1:].sub_(m[k, 1:])])
def test_parts_that_always_meet(step):
    with pytest.raises(dycl.CompileError, match="overlapping parts"):
        dycl.compile(_rows(step), _matrices()[0])
