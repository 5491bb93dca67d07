# SPDX-License-Identifier: Apache-2.0
"""Numbers that only the path decides are results like any other, also for readers without Python."""

import collections

import pytest
import torch

import dycl

Found = collections.namedtuple("Found", "logits level sure")


def by_exit(x):
    if x.sum() > 3:
        return Found(x + 1, 1, True)
    if x.sum() > 0:
        return Found(x * 2, 2, True)
    return Found(-x, 3, False)


def known_and_computed(x):
    if x.sum() > 3:
        return {"y": x, "n": 7, "s": -0.0, "list": [1, x.mean()]}
    return {"y": x + 1, "n": int(x.abs().sum()), "s": 0.0, "list": [1, x.max()]}


def kinds_differ(x):
    if x.sum() > 3:
        return x, 1
    if x.sum() > 0:
        return x, 1.0
    return x, None


def beyond(x):
    if x.sum() > 3:
        return x, 2**70
    if x.sum() > 0:
        return x, float("inf")
    return x, 5


def in_sets(x):
    if x.sum() > 3:
        return {3, 4}, x, 1
    return {3, 5}, x * 2, 2


def with_rows(x):
    rows = []
    while x.sum() > 0:
        rows.append(x)
        x = x - 1
    if len(rows) > 2:
        return rows, 11, x
    return rows, 12, x + 1


INPUTS = [torch.full((4,), v) for v in (2.0, 0.5, -1.0, 0.0, 1.0, 3.0)]


def same(a, b):
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and torch.equal(a, b)
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    return repr(a) == repr(b)


@pytest.mark.parametrize("variants, f",
                         [(1, by_exit), (1, known_and_computed), (3, kinds_differ), (3, beyond), (2, in_sets),
                          (1, with_rows)])
def test_the_number_of_the_path_taken(f, variants, tmp_path):
    program = dycl.compile(f, (INPUTS[0],))
    assert all(same(program(x), f(x)) for x in INPUTS)
    assert len(program._interface.variants) == variants
    if f in (known_and_computed, with_rows):
        program.save(tmp_path / "m.dycl")
        again = dycl.load(tmp_path / "m.dycl")
        assert all(same(again(x), f(x)) for x in INPUTS)
