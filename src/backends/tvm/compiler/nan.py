# SPDX-License-Identifier: Apache-2.0
"""Minima and maxima as ONNX has them: NaNs are handed on, and those over windows and axes start from infinity.

TVM's own compare and choose, so that a NaN on one side is lost, and start from the largest finite number.
"""

from __future__ import annotations

from tvm import tirx
from tvm_ffi.structural import structural_map

LARGEST = 3.4028234663852886e38


def _chosen(node):
    """max(a, b): a where it is greater or a NaN, else b, which may be one itself."""
    if not str(node.ty.dtype).startswith("float"):
        return node
    a, b = node.a, node.b
    if isinstance(b, tirx.FloatImm):
        a, b = b, a
    better = a > b if isinstance(node, tirx.Max) else a < b
    if not isinstance(a, tirx.FloatImm):
        better = tirx.Or(better, tirx.isnan(a))
    return tirx.Select(better, a, b)


def _unbounded(node):
    if str(node.ty.dtype) == "float32" and abs(node.value) == LARGEST:
        return tirx.FloatImm("float32", float("inf") if node.value > 0 else float("-inf"))
    return node


def _starts(block):
    """Where a reduction starts, and what its windows see outside of the image."""
    from tvm.s_tir import SBlock

    init, body = block.init, block.body
    if init is not None:
        init = structural_map(init, (tirx.FloatImm, _unbounded))
    elif "pad_temp" in str(block.name_hint):
        body = structural_map(body, (tirx.FloatImm, _unbounded))
    else:
        return block
    return SBlock(block.iter_vars, block.reads, block.writes, block.name_hint, body, init, block.alloc_buffers,
                  block.match_buffers, block.annotations)  # fmt: skip


def handed_on(function: tirx.PrimFunc) -> tirx.PrimFunc:
    from tvm.s_tir import SBlock

    found = []
    structural_map(function.body, ((tirx.Max, tirx.Min), lambda node: (found.append(node), node)[1]))
    if not found:
        return function
    body = structural_map(function.body, [((tirx.Max, tirx.Min), _chosen), (SBlock, _starts)])
    return function.with_body(body)
