# SPDX-License-Identifier: Apache-2.0
"""Convolutions and products with weights in panels: the channels that one tile computes stand together, row after row.

Weights in rows of all channels are read in pieces that lie far apart, which caches, their prefetching and page tables
take badly once there are many. Panels are made while compiling (weights.py); a panel is as wide as two vectors.
"""

from __future__ import annotations

import math

import tvm
from tvm import relax, te, tirx

import layout
import schedule
from layout import shape

PREFIX = schedule.IN_PANELS
WORTH = 16 << 10  # bytes of weights
OUT_ELEMENTWISE = 4  # TVM's name for what elementwise steps may be fused to


def convolution(data: te.Tensor, weight: te.Tensor, strides: list[int], padding: list[int],
                dilation: list[int]) -> te.Tensor:
    """(N, H, W, C) and (K / V, R, S, C, V) to (N, H', W', K); padding: top, left, bottom, right."""
    n, h, w, c = (int(d) for d in data.shape)
    panels, rows, columns, _, v = (int(d) for d in weight.shape)
    top, left, bottom, right = padding
    source = layout.padded(data, padding, PREFIX + "padded") if any(padding) else data
    high = (h + top + bottom - (rows - 1) * dilation[0] - 1) // strides[0] + 1
    wide = (w + left + right - (columns - 1) * dilation[1] - 1) // strides[1] + 1
    i, j, s = te.reduce_axis((0, rows), "i"), te.reduce_axis((0, columns), "j"), te.reduce_axis((0, c), "c")
    at = lambda n, y, x: source[n, y * strides[0] + i * dilation[0], x * strides[1] + j * dilation[1], s]
    return te.compute(
        (n, high, wide, panels * v),
        lambda n, y, x, k: te.sum(at(n, y, x) * weight[tirx.floordiv(k, v), i, j, s, tirx.floormod(k, v)],
                                  axis=[i, j, s]),
        name=PREFIX + "conv2d",
    )


def product(data: te.Tensor, weight: te.Tensor) -> te.Tensor:
    """(..., C) and (K / V, C, V) to (..., K)."""
    panels, c, v = (int(d) for d in weight.shape)
    s = te.reduce_axis((0, c), "c")
    return te.compute(
        (*data.shape[:-1], panels * v),
        lambda *at: te.sum(data[(*at[:-1], s)] * weight[tirx.floordiv(at[-1], v), s, tirx.floormod(at[-1], v)], axis=s),
        name=PREFIX + "matmul",
    )


@relax.expr_functor.mutator
class _Rewritten(relax.PyExprMutator):
    """Where weights are parameters, or computed from parameters alone."""

    def __init__(self, module: tvm.IRModule, panel: int):
        super().__init__(module)
        self.panel, self.weights = panel, layout.weights_of(module)

    def visit_call_(self, call):
        call = super().visit_call_(call)
        name = call.op.name if isinstance(call.op, tvm.ir.Op) else ""
        if name == "relax.nn.conv2d" and str(call.attrs.data_layout) == "NHWC" and int(call.attrs.groups) == 1:
            return self.convolution(call)
        return self.product(call) if name == "relax.matmul" else call

    def convolution(self, call):
        a, weight = call.attrs, call.args[1]
        if not self.fits(weight):
            return call
        strides, padding, dilation = ([int(n) for n in v] for v in (a.strides, a.padding, a.dilation))
        make = lambda d, w: convolution(d, w, strides, padding, dilation)
        return self.made(make, "conv2d", call.args[0], self.in_panels(weight))

    def product(self, call):
        extents = shape(call.args[1]) or []
        if len(extents) != 2 or len(shape(call.args[0]) or []) < 2 or not self.fits(call.args[1]):
            return call
        return self.made(product, "matmul", call.args[0], self.in_panels(call.args[1]))

    def made(self, make, name, *operands):
        return self.builder_.call_te(make, *operands, primfunc_name_hint=PREFIX + name,
                                     primfunc_attrs={"op_pattern": OUT_ELEMENTWISE})

    def fits(self, weight) -> bool:
        extents = shape(weight) or [1]
        large = 4 * math.prod(extents) >= WORTH
        return (large and extents[-1] % self.panel == 0 and str(weight.ty.dtype) == "float32"
                and layout.is_of(self, weight, self.weights))

    def in_panels(self, weight):
        extents, last = shape(weight), len(shape(weight)) - 1
        split = self.builder_.emit(relax.op.reshape(weight, [*extents[:-1], extents[-1] // self.panel, self.panel]))
        return self.builder_.emit(relax.op.permute_dims(split, [last, *range(last), last + 1]))


def rewritten(module: tvm.IRModule, machine: schedule.Machine) -> tvm.IRModule:
    mutator = _Rewritten(module, machine.panel)
    main = mutator.visit_expr(module["main"])
    changed = mutator.builder_.get()
    changed["main"] = main
    return relax.transform.Normalize()(changed)
