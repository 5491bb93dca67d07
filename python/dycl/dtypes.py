# SPDX-License-Identifier: Apache-2.0
"""The IR's names of torch's dtypes, as docs/ir.md writes them."""

from __future__ import annotations

import torch

NAMES = {
    torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16", torch.int8: "i8",
    torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.uint8: "u8", torch.bool: "bool",
    torch.uint16: "u16", torch.uint32: "u32", torch.uint64: "u64", torch.complex64: "c64", torch.complex128: "c128",
}
BY_NAME = {name: dtype for dtype, name in NAMES.items()}
