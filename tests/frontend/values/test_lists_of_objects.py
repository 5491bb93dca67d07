# SPDX-License-Identifier: Apache-2.0
"""Lists of dataclasses, named tuples and fixed-length lists, of a length known only at run time: spans, boxes."""

import collections
import dataclasses
from typing import Any

import pytest
import torch

from tests.frontend.support.harness import check


def rows(*seeds):
    return [torch.randn(140, 2, generator=torch.Generator().manual_seed(s)) for s in seeds] + [-torch.ones(140, 2)]


@dataclasses.dataclass
class Span:
    start: int
    score: float
    row: Any = None

    def __len__(self):
        return self.start + 1

    @property
    def double(self):
        return self.score * 2


Point = collections.namedtuple("Point", "k weight")


def spans(x):
    found = []
    for k, row in enumerate(x[x[:, 0] > 0]):
        found.append(Span(k, row.sum().item(), row))
    return found


def best_span(x):
    found = [Span(k, float(row[0]), row * 2) for k, row in enumerate(x[x[:, 0] > 0])]
    chosen = None
    for span in found:
        if chosen is None or span.double > chosen.double:
            chosen = span
    total = sum([len(s) for s in found])
    return total, (chosen.start, chosen.row) if chosen is not None else None


def boxes(x):
    found = [[k, k + 1, k * 2] for k, row in enumerate(x[x[:, 0] > 0.5])]
    wide = 0
    for a, b, c in found:
        if c > b:
            wide = wide + a
    return torch.tensor(found), wide, len(found), found


def pairs(x):
    found = []
    for row in x[x[:, 0] > 0]:
        if row[1] > 0:
            found.append((float(row[0]), float(row[1])))
    return torch.tensor(found, dtype=torch.float64).sum(), found[-1][0] if found else 0.0


def points(x):
    found = []
    for k, row in enumerate(x[x[:, 0] > 0]):
        found.append(Point(k, row))
    return found[-1] if found else None, [p.k for p in found]


@pytest.mark.parametrize("f", [spans, best_span, boxes, pairs, points])
def test_same_as_eager(f):
    program = check(f, rows(0, 1, 2), by_result=True)
    assert len(program.ir_text) < 20_000  # loops, not 140 copies


def few(*seeds):
    return [torch.randn(6, 2, generator=torch.Generator().manual_seed(s)) for s in seeds] + [-torch.ones(6, 2)]


def changed_later(x):
    found = []
    for row in x[:5][x[:5, 0] > 0]:
        span = Span(1, 2.0)
        found.append(span)
        if row[1] > 0:
            span.start = 5
    return sum([s.start for s in found])


def grouped(x):
    groups, last = [], None
    for row in x[:5][x[:5, 0] > 0]:
        if last is not None and row[1] > 0:
            last.append(1)
        else:
            last = [0]
            groups.append(last)
    return [len(g) for g in groups]


def same_one(x):
    found = [Span(k, 1.0) for k, _ in enumerate(x[:5][x[:5, 0] > 0])]
    return sum([1 for s in found if s is found[0]]), sum([1 for s in found if s == Span(1, 1.0)])


@pytest.mark.parametrize("f", [changed_later, grouped, same_one])
def test_kept_apart(f):
    check(f, few(0, 1, 2), by_result=True)
