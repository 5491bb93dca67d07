# SPDX-License-Identifier: Apache-2.0
"""Where ONNX Runtime 1.31's CPU engine lacks kernels of an ONNX op (opset 23) for some dtypes.

Only the ops and type parameters whose kernels do not cover what ONNX allows are listed. `detour`
gives a dtype that has a kernel and holds every value of the one asked for, so that a computation can
be cast there and back; where there is none the conversion is refused, for example float64, whose
digits single precision would lose.
"""

from __future__ import annotations

import torch

_NAMES = {
    "f32": torch.float32,
    "f64": torch.float64,
    "f16": torch.float16,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "u8": torch.uint8,
    "u16": torch.uint16,
    "u32": torch.uint32,
    "u64": torch.uint64,
    "bool": torch.bool,
}
_ALL_BUT_HALVES = "f32 f64 i8 i16 i32 i64 u8 u16 u32 u64"
_TABLE = {  # (type parameter of the op's schema, dtypes with kernels): ops
    ("T", "f32"): "Acos Acosh Asin Asinh Atan Atanh AveragePool Col2Im Conv ConvTranspose Cosh Det Elu Erf Gelu "
    "GlobalAveragePool GlobalMaxPool HardSigmoid HardSwish Mish InstanceNormalization LRN LSTM GRU LeakyRelu LpPool "
    "PRelu RNN Selu Sinh Softplus Softsign Tan ThresholdedRelu",
    (
        "T",
        "f32 f64",
    ): "BatchNormalization Ceil Cos DeformConv Exp Floor Gemm LayerNormalization Log LogSoftmax "
    "LpNormalization Reciprocal Sigmoid Sin Softmax Sqrt Sum Tanh GroupNormalization",
    ("T", "f32 f64 f16"): "RMSNormalization Round",
    ("T", f"{_ALL_BUT_HALVES} f16"): "Mod",
    ("T", f"{_ALL_BUT_HALVES} f16 bool"): "Expand",
    ("T", "f32 f64 f16 i8 i32 i64 u8 u32 u64"): "Clip Max Min",
    ("T", "f32 f64 i32 i64"): "CumSum Einsum Pow ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMean ReduceProd "
    "ReduceSum ReduceSumSquare",
    ("T", "f32 f64 i32 i64 bool"): "Trilu",
    ("T", "f32 f64 i32 i64 u32 u64"): "MatMul",
    ("T", "f32 f64 i8 i16 i32 i64"): "Neg",
    ("T", "f32 f64 i8 i16 i32 i64 u8"): "TopK",
    ("T", _ALL_BUT_HALVES): "Abs Add Div Greater GreaterOrEqual Less LessOrEqual Mul Sub",
    ("T", f"{_ALL_BUT_HALVES} bool"): "Equal Size Tile",
    ("T", "f32 f64 i8 i32"): "Relu",
    ("T", "f32 f64 i8 i32 i64 u8"): "ArgMax ArgMin",
    ("T", "f32 f64 i8 i32 i64 u8 bool"): "ReduceMax ReduceMin",
    ("T", "f32 f64 i8 i32 i64 u8 u32"): "Where",
    ("T", "f32 f64 i8 i32 i64 u8 u32 u64 bool"): "Pad",
    ("T", "f32 f64 i8 i64"): "Unique",
    ("T", "f32 f64 i8 u8"): "DepthToSpace MaxPool SpaceToDepth",
    ("T", "f32 i32 i64 u8 bool"): "NonZero",
    ("T", "u8 u32 u64"): "BitShift",
    ("T1", "f32 f64"): "AffineGrid BatchNormalization GridSample IsInf IsNaN",
    ("T2", "f32 f64"): "BatchNormalization GridSample",
    ("T1", "f32 f64 i32 i64"): "Pow",
    ("T1", "f32 i8 i32 u8"): "Resize",
    ("T1", "f32 f16"): "Attention",
    ("T2", "f32 f16"): "Attention",
}
_KERNELS = {
    (op, parameter): frozenset(_NAMES[d] for d in dtypes.split())
    for (parameter, dtypes), ops in _TABLE.items()
    for op in ops.split()
}
_DETOURS = {
    torch.float16: (torch.float32,),
    torch.bfloat16: (torch.float32,),
    torch.int8: (torch.int32, torch.int64, torch.float32),
    torch.uint8: (torch.int32, torch.int64, torch.float32),
    torch.int16: (torch.int32, torch.int64, torch.float32),
    torch.uint16: (torch.int32, torch.int64, torch.float32),
    torch.uint32: (torch.int64,),
    torch.int32: (torch.int64, torch.float64),
}
_BOOL_MOVES = {"Where": torch.uint8, "Einsum": None}  # a bool has no arithmetic; these only choose


def has_kernel(op: str, parameter: str, dtype: torch.dtype) -> bool:
    known = _KERNELS.get((op, parameter))
    return known is None or dtype in known


def detour(op: str, parameter: str, dtype: torch.dtype) -> torch.dtype | None:
    """Another dtype to compute `op` in, or None."""
    if dtype == torch.bool:
        return _BOOL_MOVES.get(op)
    known = _KERNELS[op, parameter]
    return next((d for d in _DETOURS.get(dtype, ()) if d in known), None)
