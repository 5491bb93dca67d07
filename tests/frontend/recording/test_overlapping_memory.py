# SPDX-License-Identifier: Apache-2.0
"""Tensors whose elements share memory on some paths: expanded, unfolded, copied together with their views."""

import copy

from tests.frontend.support.harness import Cases, T

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
