# SPDX-License-Identifier: Apache-2.0
"""Activations: elementwise ops that networks put between their layers."""

from __future__ import annotations

import functools

import torch

from ..registry import HALVES, converts, static
from ..tape import Sym
from .pointwise import clamp, expm1, extreme, log_of_one_plus, scalar_as


@converts("relu")
def relu(t, self):
    if self.torch_dtype in (torch.int64, torch.int16, torch.uint8):
        return extreme(t, "Max", self, t.constant(0, self.torch_dtype))
    return t.op("Relu", self)


@converts("hardtanh")
def hardtanh(t, self, min_val=-1, max_val=1):
    return clamp(t, self, min_val, max_val)


@converts("relu6")
def relu6(t, self):
    return clamp(t, self, 0, 6)


@converts("threshold")
def threshold(t, self, threshold, value):
    dtype = self.torch_dtype
    wide = torch.float32 if dtype in HALVES else dtype  # kernels do not round the threshold
    below = t.op("LessOrEqual", t.cast(self, wide), scalar_as(t, threshold, wide))
    return t.op("Where", below, scalar_as(t, value, dtype), self)


def log_sigmoid(t, x: Sym) -> Sym:
    zero = t.constant(0.0, x.torch_dtype)
    return t.op("Sub", t.op("Min", zero, x), log_of_one_plus(t, t.op("Exp", t.op("Neg", t.op("Abs", x)))))


@converts("log_sigmoid_forward", single=True)
def log_sigmoid_forward(t, self):
    return [log_sigmoid(t, self), None]


@functools.cache
def _doubles(dtype: torch.dtype) -> bool:
    """Whether torch's kernel for several elements doubles before it halves: not for each dtype on each machine."""
    great = torch.full((2,), torch.inf, dtype=dtype)
    return dtype != torch.float64 and bool(torch.nn.functional.gelu(great).isnan().all())


@converts("gelu")
def gelu(t, self, approximate="none"):
    """2y - y where the kernel doubles: the greatest numbers become infinite and infinity NaN. The one for a single
    element does not."""
    x = t.cast(self, torch.float32) if self.torch_dtype in HALVES else self
    result = t.op("Gelu", x, approximate=approximate)
    if approximate != "none" or not _doubles(self.torch_dtype):
        return result
    extents = self.dims if self.known else ()
    if self.known and all(d == 1 for d in extents):
        return result
    doubled = t.op("Sub", t.op("Add", result, result), result)
    if any(isinstance(d, int) and d > 1 for d in extents):
        return doubled
    return t.op("Where", t.op("Equal", t.op("Size", self), t.constant(1, torch.int64)), result, doubled)


@converts("silu", single=True)
def silu(t, self):
    return t.op("Mul", self, t.op("Sigmoid", self))


@converts("celu")
def celu(t, self, alpha=1.0):
    """Where x is negative alone: x / alpha of a great number is infinite."""
    dtype = t.outputs[0][0]
    alpha = t.constant(float(static(alpha, "alpha")), torch.float64 if dtype == torch.float64 else torch.float32)
    x = t.cast(self, alpha.torch_dtype)
    scaled = t.op("Div", t.op("Min", x, t.constant(0.0, x.torch_dtype)), alpha)
    below = expm1(t, scaled) if x.torch_dtype == torch.float64 else t.op("Elu", scaled, alpha=1.0)
    return t.op("Where", t.op("Greater", x, t.constant(0.0, x.torch_dtype)), x, t.op("Mul", below, alpha))


@converts("elu", single=True)
def elu(t, self, alpha=1.0, scale=1.0, input_scale=1.0):
    """`input_scale` is for what is negative alone."""
    x = t.cast(self, t.outputs[0][0])
    alpha, scale, input_scale = (float(static(n, "the slope")) for n in (alpha, scale, input_scale))
    if input_scale == 1.0:
        bent = t.op("Elu", x, alpha=alpha)
    else:
        zero = t.constant(0.0, x.torch_dtype)
        below = t.op("Elu", t.op("Mul", t.op("Min", x, zero), t.constant(input_scale, x.torch_dtype)), alpha=alpha)
        bent = t.op("Where", t.op("Greater", x, zero), x, below)
    return bent if scale == 1.0 else t.op("Mul", bent, t.constant(scale, x.torch_dtype))


@converts("leaky_relu")
def leaky_relu(t, self, negative_slope=0.01):
    if isinstance(negative_slope, Sym):
        zero = t.constant(0, self.torch_dtype)
        return t.op("Where", t.op("Greater", self, zero), self,
                    t.op("Mul", self, t.cast(negative_slope, self.torch_dtype)))
    return t.op("LeakyRelu", self, alpha=negative_slope)
