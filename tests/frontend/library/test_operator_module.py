# SPDX-License-Identifier: Apache-2.0
"""operator.itemgetter, attrgetter and methodcaller with run-time keys, items and objects; operands that torch does not
take; writes through windows (unfold) and strides (as_strided)."""

import operator

import pytest
import torch

import dycl
from tests.frontend.support.harness import Cases, T

case = Cases()
V = [(T(*signs),)
     for signs in ((1.0, 2.0, 3.0, 4.0), (-1.0, 2.0, 3.0, 4.0), (1.0, -2.0, 3.0, 4.0), (1.0, 2.0, -3.0, 4.0),
                   (-1.0, -2.0, -3.0, -4.0))]


class Pair:
    def __init__(self, left, right):
        self.left, self.right, self.asked = left, right, 0

    def __getitem__(self, key):
        self.asked += 1
        return self.left if key == 0 else self.right

    def larger(self, by, least=0.0):
        return self.left if self.left.sum() * by > least else self.right


@case(*V, values=True)
def items_at_run_time_keys(x):
    k = int(x[0] > 0)
    table = {0: x, 1: x * 2}
    return operator.itemgetter(k)([x, x + 1]), operator.itemgetter(k, 0)((x, x - 1)), operator.itemgetter(k)(table)


@case(*V, values=True)
def items_of_objects(x):
    pair = Pair(x, x * 2)
    got = operator.itemgetter(int(x[1] > 0), 1)(pair)
    return got, pair.asked


@case(*V)
def attributes_on_the_way(x):
    outer = Pair(Pair(x, x + 1), x)
    if x[0] > 0:
        outer.left.right = x * 3
    return operator.attrgetter("left.right")(outer), operator.attrgetter("right", "left.left")(outer)


@case(*V)
def methods_that_branch(x):
    return operator.methodcaller("larger", 2, least=1.0)(Pair(x, -x))


@case(*V, values=True)
def sorted_by_an_item(x):
    rows = [(x.sum().item(), "sum"), (x[0].item(), "first"), (x[3].item(), "last")]
    return sorted(rows, key=operator.itemgetter(0)), max(rows, key=operator.itemgetter(0))[1]


@case(*V, values=True)
def operands_that_tensors_do_not_take(x):
    try:
        return x + (None if x[0] > 0 else 1)
    except TypeError as error:
        return str(error)


@case(*V, values=True)
def operands_on_the_left(x):
    try:
        return ({} if x[1] > 0 else 2) - x
    except TypeError as error:
        return str(error)


@case(*V)
def windows_written(x):
    y = x.clone()
    windows = y.unfold(0, 2, 2)
    if x[0] > 0:
        windows[1] = 7.0
    else:
        windows.mul_(2)
    windows[0].add_(1)
    return y, windows


@case(*V)
def strides_written(x):
    y = torch.cat([x, x * 2])
    corner = y.as_strided((2, 3), (4, 1), 1)
    if x[2] > 0:
        corner[:, 1] = -1.0
    else:
        corner.neg_()
    return y, corner * 1


def test_windows_that_overlap_are_refused():
    def overlapping(x):
        y = x.clone()
        if x[0] > 0:
            y.unfold(0, 2, 1).mul_(2)
        return y

    with pytest.raises(dycl.CompileError, match="several elements share memory"):
        dycl.compile(overlapping, (torch.ones(4),))


test_cases = case.test()
