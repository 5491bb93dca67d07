# SPDX-License-Identifier: Apache-2.0
"""How a compiled model's answers are compared with eager's."""

from __future__ import annotations

import copy
import math

import torch

from zoo.paths import path_of

WORST = -4.7  # log10 of the largest error relative to the largest value, the paper's own worst


def difference(expected, actual):
    """None if the values agree; a sentence otherwise."""
    if isinstance(expected, torch.Tensor):
        if not isinstance(actual, torch.Tensor) or expected.shape != actual.shape or expected.dtype != actual.dtype:
            return f"{describe(expected)} expected, {describe(actual)} found"
        if not expected.is_floating_point():
            return None if torch.equal(expected, actual) else f"{expected} expected, {actual} found"
        error = error_of(expected, actual)
        return None if error <= WORST else f"error 10^{error:.2f}"
    if isinstance(expected, (list, tuple)):
        if type(expected) is not type(actual) or len(expected) != len(actual):
            return f"{describe(expected)} expected, {describe(actual)} found"
        return next((d for d in map(difference, expected, actual) if d), None)
    if isinstance(expected, float):
        return None if math.isclose(expected, actual, rel_tol=10**WORST) else f"{expected} expected, {actual} found"
    return None if expected == actual else f"{expected} expected, {actual} found"


def error_of(expected, actual):
    if expected.numel() == 0:
        return -math.inf
    largest = float(expected.abs().max()) or 1.0
    return math.log10(float((expected - actual).abs().max()) / largest + 1e-10)


def describe(value):
    return f"{type(value).__name__}{tuple(value.shape) if isinstance(value, torch.Tensor) else ''}"


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
