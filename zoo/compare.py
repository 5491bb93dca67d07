# SPDX-License-Identifier: Apache-2.0
"""How a compiled model's answers are compared with eager's."""

from __future__ import annotations

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


def is_borderline(model, args, folder=None):
    """Does eager itself decide otherwise if its input changes by a hundred-thousandth?"""
    path = path_of(model, args, folder)
    for seed in range(8):
        g = torch.Generator().manual_seed(seed)
        near = [a * (1 + 1e-5 * torch.randn(a.shape, generator=g)) if torch.is_tensor(a) and a.is_floating_point() else a
                for a in args]
        if path_of(model, tuple(near), folder) != path:
            return True
    return False
