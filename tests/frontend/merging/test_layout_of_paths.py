# SPDX-License-Identifier: Apache-2.0
"""Tensors that lie in memory differently on different paths, and programs that ask; slices that go backwards."""

from __future__ import annotations

import pytest
import torch

import dycl
from dycl.frontend.recording.memory_layout import ASKS, ASKS_OFFSET, MAY_COPY, Layout
from tests.frontend.support.compare import differences
from tests.frontend.support.harness import Cases, I, T, check

case = Cases()
M = [T([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), T([[-1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]]),
     T([[0.0, 0.5, 0.0], [0.0, 0.0, 1.0]])]
BOUNDS = [(I(a), I(b)) for a, b in ((1, 4), (-9, 3), (3, -9), (3, -6), (3, -7), (99, -99), (-1, 0), (-6, -7))]


@case(*M)
def asked_after_the_arms(x):
    y = x.t()
    if x[0, 1] > 0:
        y = y.contiguous()
    z = y + 1
    return y.stride(), y.is_contiguous(), z.stride(), z


@case(*M)
def alike_on_both_paths(x):
    y = x.t() + 1
    if x[0, 1] > 0:
        y = y * 2
    return y.relu().stride(), y


@case(*M)
def written_behind_reshape(x):
    y = x.t() if x[0, 1] > 0 else x.reshape(3, 2)
    z = y.reshape(-1)
    z[0] = 50
    return x, y


@case(*M)
def turned_in_a_loop(x):
    y, n = x.new_ones(3, 3), 0
    while y.sum() < x.sum().abs() * 4 and n < 5:
        y, n = y.t() + 1, n + 1
    return y.is_contiguous(), y.stride(), n


@case(*M)
def turned_and_cut_by_the_run(x):
    """The axes lie alike on both paths; how long they are, the run knows."""
    n = int((x > 0).sum())
    y = x.repeat(4, 1)[: n + 2].t()
    if x[0, 1] > 0:
        y = torch.cat([y, y[:1]]).t().contiguous().t()
    z = y * 2
    return y.stride(), z.stride(), z.is_contiguous(), z


@case(*M)
def growing_beside_what_is_asked(x):
    """A tensor that grows is contiguous whatever its length, also where something else is asked about."""
    kept = x[:, :1].clone()
    while kept.sum() < 20 and kept.shape[1] < 30:
        y = x.t() * kept.sum()
        kept = torch.cat([kept, (y if y.is_contiguous() else y.contiguous()).relu()[:1, :].t() + 1], 1)
    return kept, kept.is_contiguous(), kept.stride()


@case(*M)
def turned_and_growing(x):
    y, n = x.t() + 1, 0
    while y.sum() < 100 and n < 8:
        y, n = torch.cat([y.t(), y.t()[:1]]).t() * 1.5, n + 1
    return y.stride(), y, y.contiguous().stride()


@case(*M)
def written_behind_a_turned_one(x):
    y, n = x.t() + 1, 0
    while y.sum() < 60 and n < 8:
        y, n = torch.cat([y.t(), y.t()[:1]]).t() * 1.5, n + 1
    z = y.t().reshape(-1)
    z[0] = -50
    return y


@case(*BOUNDS, values=True)
def backwards(a, b):
    values = [0, 1, 2, 3, 4, 5]
    return values[int(a) : int(b) : -1]


@case(*BOUNDS[:3], values=True)
def step_of_the_run(a, b):
    return [0, 1, 2][:: int(b)], ()[int(a) : int(b) : -1], "ab"[int(a) :: -1]


test_layouts = case.test()


def test_a_loop_whose_tensor_grows_is_a_loop_where_layouts_matter():
    """torch writes the strides of a new tensor as 2*Max(1, n): it was taken for one that lies otherwise,
    and the loop was unrolled."""

    def f(x):
        kept = x[:, None, :1].expand(-1, 2, -1).contiguous()
        while kept.sum() < 40:
            kept = torch.cat([kept, kept[:, :, -1:] + 1], 2)
        return kept, kept.is_contiguous()

    program = check(f, M[:2])
    assert program.report()["blocks"] < 12


def test_elements_of_lists_of_run_time_length_lie_as_they_do():
    def f(x):
        rows = []
        for i in range(6):
            if x[i % 2, i % 3] > i * 0.4:
                rows.append((x * i).t())
        return [y.stride() for y in rows], [y.is_contiguous() for y in rows]

    check(f, M, max_variants=1)


def a_part_or_a_copy(x):
    y = x[1] if x[0, 1] > 0 else x[0] * 2
    return y.storage_offset()


def a_part_or_nothing(x):
    y = x[1] if x[0, 1] > 0 else None
    z = y if x[0, 0] > 0 else None
    return z, None if y is None else y.storage_offset()


def parts_in_a_list(x):
    rows = []
    for i in range(6):
        if x[i % 2, i % 3] > i * 0.4:
            rows.append(x[1])
    return [y.storage_offset() for y in rows]


@pytest.mark.parametrize("f", [a_part_or_a_copy, a_part_or_nothing, parts_in_a_list])
def test_where_a_tensor_begins_is_refused_or_right(f):
    inputs = [M[1], M[0], M[2]]
    try:
        program = dycl.compile(f, (inputs[0],), max_variants=1)
    except dycl.CompileError as error:
        assert "storage_offset" in str(error)
        return
    for x in inputs:
        assert not differences(f(x), program(x), "result")


@pytest.mark.parametrize("one", [lambda place: place.reshape(1), lambda place: place.to(torch.int64).contiguous(),
                                 lambda place: place.long().to(torch.int32)], ids=["reshape", "contiguous", "dtype"])
def test_writes_to_one_element_do_not_ask_how_tensors_lie(one, monkeypatch):
    """Of one element `reshape` gives a view in any layout, another dtype is a copy in any: nothing is asked."""
    noted = []
    monkeypatch.setattr(Layout, "_matters", lambda self: noted.append(1))

    def f(x):
        place = torch.zeros(1, dtype=torch.int64)
        seen = one(place)
        place[0] += (x > 0).sum()
        seen += 1
        return place, seen

    check(f, M, by_result=True)
    assert not noted


def test_the_first_line_that_asks_is_kept():
    """A refusal names it: later lines ask of what the same program does."""
    lines = iter(["first", "second", "third"])
    layout = Layout(lambda: next(lines))
    layout.note(MAY_COPY, torch.ones(2), torch.ones(2))
    assert layout.asked is None
    layout.note(ASKS, (2, 1), None)
    layout.note(ASKS_OFFSET, 0, None)
    assert layout.asked == "first" and layout.matters and layout.offset_matters
