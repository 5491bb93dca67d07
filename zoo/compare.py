# SPDX-License-Identifier: Apache-2.0
"""How a compiled model's answers are compared with eager's."""

from __future__ import annotations

import copy
import math

import torch

from dycl.verification import compare
from zoo.paths import path_of

WORST = -4.7  # log10 of the largest error relative to the largest value, the paper's own worst


class Worst(compare.Policy):
    """Floating values within WORST; what else there is, equal."""

    def __init__(self):
        super().__init__(10**WORST, 0.0)

    def same_class(self, a, b):
        return a is b

    def same_float(self, a, b):
        return math.isclose(a, b, rel_tol=self.rtol)

    def of_values(self, a, b):
        if a.is_complex():
            return "" if torch.equal(a, b) else f"{a} expected, {b} found"
        error = error_of(a, b)
        return "" if error <= WORST else f"error 10^{error:.2f}"

    def parts(self, x):
        return [*x] if isinstance(x, (list, tuple)) else None

    def same(self, a, b):
        return a == b


def difference(expected, actual):
    """None if the values agree; a sentence otherwise."""
    return next(iter(compare.differences(expected, actual, "result", Worst())), None)


def error_of(expected, actual):
    if expected.numel() == 0:
        return -math.inf
    largest = float(expected.abs().max()) or 1.0
    return math.log10(float((expected - actual).abs().max()) / largest + 1e-10)


FARTHER = 2.0  # how much farther from float64 than eager a program may be


def rounding(call, args, expected, actual, folder=None):
    """Where a program differs from eager beyond WORST: a sentence if eager is as far from the truth, None otherwise.

    The truth is the same model in float64, on the same path. Everything but floating-point values must be equal.
    """
    module = getattr(call, "__self__", call)
    if not isinstance(module, torch.nn.Module) or not same_kind(expected, actual):
        return None
    exact_module = copy.deepcopy(module).double()
    exact_call = getattr(exact_module, call.__name__) if module is not call else exact_module
    exact_args = tuple(a.double() if torch.is_tensor(a) and a.is_floating_point() else a for a in args)
    try:
        with torch.no_grad():
            exact = exact_call(*exact_args)
            if path_of(exact_call, exact_args, folder) != path_of(call, args, folder):
                return None
    except Exception:
        return None
    if not same_kind(exact, expected):
        return None
    eager = max((10 ** error_of(e, a.double()) for e, a in floats(exact, expected)), default=0.0)
    ours = max((10 ** error_of(e, a.double()) for e, a in floats(exact, actual)), default=0.0)
    if ours > FARTHER * eager:
        return None
    return f"rounding: 10^{math.log10(ours + 1e-10):.2f} from float64, eager 10^{math.log10(eager + 1e-10):.2f}"


def same_kind(a, b):
    """Equal but for the values and widths of floating-point numbers."""
    if isinstance(a, torch.Tensor):
        if not isinstance(b, torch.Tensor) or a.shape != b.shape or a.is_floating_point() != b.is_floating_point():
            return False
        return a.is_floating_point() and bool(torch.isfinite(a).all() and torch.isfinite(b).all()) or torch.equal(a, b)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same_kind, a, b))
    return type(a) is type(b) and a == b


def floats(a, b):
    """Pairs of floating-point tensors at the same places."""
    if isinstance(a, torch.Tensor):
        if a.is_floating_point():
            yield a, b
    elif isinstance(a, (list, tuple)):
        for x, y in zip(a, b):
            yield from floats(x, y)


def is_borderline(model, args, folder=None):
    """Does eager itself decide otherwise if its input changes by a hundred-thousandth?"""
    path = path_of(model, args, folder)
    for seed in range(8):
        g = torch.Generator().manual_seed(seed)
        near = [a * (1 + 1e-5 * torch.randn(a.shape, generator=g))
                if torch.is_tensor(a) and a.is_floating_point() else a
                for a in args]
        if path_of(model, tuple(near), folder) != path:
            return True
    return False
