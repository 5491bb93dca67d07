# SPDX-License-Identifier: Apache-2.0
"""Lists of dicts whose length is known only at run time: segments, detections."""

import pytest
import torch

import dycl
from tests.frontend.support.harness import T, check


def rows(*seeds):
    return [torch.randn(140, 2, generator=torch.Generator().manual_seed(s)) for s in seeds] + [-torch.ones(140, 2)]


def segments(x):
    found, last = [], 0
    for k in range(x.shape[0]):
        if x[k, 0] > 0.5:
            found.append({"start": last, "score": x[k].sum(), "place": (k, float(x[k, 1])),
                          "name": "row", "extra": None})
            last = k
    return found


def best(x):
    found = [{"id": k, "row": row * 2} for k, row in enumerate(x[x[:, 0] > 0])]
    chosen = None
    for item in found:
        if chosen is None or item["row"].sum() > chosen["row"].sum():
            chosen = item
    return len(found), (chosen["id"], chosen["row"]) if chosen is not None else None


def joined(x):
    found = [{"row": row} for row in x[x[:, 0] > 0]]
    if len(found) > 0:
        return torch.stack([item["row"] for item in found]), found[-1]["row"]
    return x, x[0]


@pytest.mark.parametrize("f", [segments, best, joined])
def test_same_as_eager(f):
    program = check(f, rows(0, 1, 2))
    assert f is segments or len(program.ir_text) < 20_000  # loops, not 140 copies


def changed_later(x):
    found = []
    for row in x[x[:, 0] > 0]:
        item = {"row": row, "count": 1}
        found.append(item)
        if row[1] > 0:
            item["count"] = 2
    return sum([item["count"] for item in found])


def changed_inside(x):
    found = [{"row": row, "count": 1} for row in x[x[:, 0] > 0]]
    for item in found:
        if item["row"][1] > 0:
            item["count"] = 2
    return [item["count"] for item in found]


def compared(x):
    found, first = [], None
    for row in x[x[:, 0] > 0]:
        item = {"row": row}
        first = item if first is None else first
        found.append(item)
    return sum([1 if item is first else 0 for item in found])


def written(x):
    found = []
    for row in x[x[:, 0] > 0]:
        y = row * 1
        found.append({"row": y})
        y += 1
    return torch.stack([item["row"] for item in found]) if found else x


@pytest.mark.parametrize("f", [changed_later, changed_inside, compared, written])
def test_changes_are_seen_or_refused(f):
    inputs = [T([1, 1], [-1, 1], [2, -1]), T([-1, 1], [-1, 1], [2, -1]), T([1, 1], [3, 1], [2, 5]),
              T([-1, 1], [-1, 1], [-2, -1])]
    try:
        check(f, inputs)
    except dycl.CompileError:
        pass
