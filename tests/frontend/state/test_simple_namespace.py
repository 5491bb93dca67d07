# SPDX-License-Identifier: Apache-2.0
"""Attributes of a SimpleNamespace, and of the context of an autograd.Function, written in some paths."""

import types

import torch

from tests.frontend.support.harness import T, check

INPUTS = [(T(1, 2),), (T(-1, -2),)]


def test_simple_namespace():
    def f(x):
        kept = types.SimpleNamespace(a=x)
        if x.sum() > 0:
            kept.a = x + 1
            kept.b = x
        return kept.a * 2, hasattr(kept, "b")

    check(f, INPUTS)


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        return x * k

    @staticmethod
    def backward(ctx, g):
        return g * ctx.k, None


def test_context_of_a_function():
    check(lambda x: Scaled.apply(x + 1 if x.sum() > 0 else x, 3), INPUTS)
