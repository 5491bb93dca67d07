# SPDX-License-Identifier: Apache-2.0
"""The logarithm of the gamma function, which ONNX has not: densities of Student's t, gamma,
beta and negative binomial laws need it.

Lanczos' sum with nine terms, computed with 64 bits whatever the tensor's type; left of 1/2 by the reflection formula.
The error is about 1e-15, so that of 32 bits is what rounding leaves.
"""

from __future__ import annotations

import math

import torch

from ..registry import converts

_G = 7.0
_TERMS = (0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
          -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7)


@converts("lgamma", "special_gammaln")
def lgamma(t, self):
    x = t.cast(t.cast(self, t.outputs[0][0]), torch.float64)
    half, one = _number(t, 0.5), _number(t, 1.0)
    left = t.op("Less", x, half)
    right = _lanczos(t, t.op("Sub", t.op("Where", left, t.op("Sub", one, x), x), one))
    size = t.op("Abs", x)
    part = t.op("Sub", size, t.op("Floor", size))  # |sin(pi x)| repeats with x, and is the same from either end
    part = t.op("Min", part, t.op("Sub", one, part))
    sine = t.op("Sin", t.op("Mul", part, _number(t, math.pi)))
    mirrored = t.op("Sub", t.op("Sub", _number(t, math.log(math.pi)), t.op("Log", sine)), right)
    mirrored = t.op("Where", t.op("Equal", part, _number(t, 0.0)), _number(t, math.inf), mirrored)  # the poles
    found = t.op("Where", left, mirrored, right)
    endless = t.op("Equal", size, _number(t, math.inf))
    return t.cast(t.op("Where", endless, _number(t, math.inf), found), t.outputs[0][0])


def _number(t, value: float):
    return t.constant(value, torch.float64)


def _lanczos(t, z):
    """log(gamma(z + 1)) for z of at least -1/2."""
    total = _number(t, _TERMS[0])
    for k, c in enumerate(_TERMS[1:], 1):
        total = t.op("Add", total, t.op("Div", _number(t, c), t.op("Add", z, _number(t, float(k)))))
    base = t.op("Add", z, _number(t, _G + 0.5))
    power = t.op("Mul", t.op("Add", z, _number(t, 0.5)), t.op("Log", base))
    return t.op("Add", t.op("Sub", power, base),
                t.op("Add", t.op("Log", total), _number(t, 0.5 * math.log(2 * math.pi))))
