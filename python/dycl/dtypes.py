# SPDX-License-Identifier: Apache-2.0
"""Names of torch's dtypes: the IR's, as docs/ir.md writes them, and torch's own, which are numpy's."""

from __future__ import annotations

import torch

NAMES = {
    torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16", torch.int8: "i8",
    torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.uint8: "u8", torch.bool: "bool",
    torch.uint16: "u16", torch.uint32: "u32", torch.uint64: "u64", torch.complex64: "c64", torch.complex128: "c128",
}
BY_NAME = {name: dtype for dtype, name in NAMES.items()}


def own_name(dtype: torch.dtype) -> str:
    """torch.float32: "float32"."""
    return str(dtype).removeprefix("torch.")
