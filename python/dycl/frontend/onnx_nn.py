# SPDX-License-Identifier: Apache-2.0
"""Layers that engines know whole: linear, convolution, normalisation, attention, embedding."""

from __future__ import annotations

import math

import torch

from .onnx_pointwise import arithmetic, scalar_as
from .onnx_table import ConversionError, Sym, axis_of, converts, dim_value, reshape, static, unsqueeze

_HALVES = (torch.float16, torch.bfloat16)


# ---- products --------------------------------------------------------------------------------


@converts("linear")
def linear(t, input, weight, bias=None):
    if input.rank == 2 and weight.rank == 2 and input.is_float:
        return _gemm(t, input, weight, bias, transB=1)
    if weight.rank == 1:
        product = matmul(t, input, weight)
    else:
        product = matmul(t, input, t.op("Transpose", weight, perm=[1, 0]))
    return product if bias is None else arithmetic(t, "Add", product, bias)


def _gemm(t, a, b, c, **attrs):
    if a.torch_dtype in _HALVES:
        a, b, c = (None if x is None else t.cast(x, torch.float32) for x in (a, b, c))
    return t.op("Gemm", a, b, c, **attrs)


@converts("matmul", "mm", "bmm", "mv", "dot", "vdot")
def matmul(t, a, b):
    dtype = a.torch_dtype
    if dtype in _HALVES:
        a, b = t.cast(a, torch.float32), t.cast(b, torch.float32)
    elif dtype in (torch.int16, torch.int8, torch.uint8, torch.bool):
        a, b = t.cast(a, torch.int64), t.cast(b, torch.int64)
    return t.cast(t.op("MatMul", a, b), dtype)


@converts("addmm")
def addmm(t, self, mat1, mat2, beta=1, alpha=1):
    if mat1.torch_dtype == torch.float32 and isinstance(beta, (int, float)) and isinstance(alpha, (int, float)) and beta != 0:
        return t.op("Gemm", mat1, mat2, self, alpha=float(alpha), beta=float(beta))
    return _blend(t, self, matmul(t, mat1, mat2), beta, alpha)


@converts("addmv")
def addmv(t, self, mat, vec, beta=1, alpha=1):
    return _blend(t, self, matmul(t, mat, vec), beta, alpha)


@converts("baddbmm")
def baddbmm(t, self, batch1, batch2, beta=1, alpha=1):
    return _blend(t, self, matmul(t, batch1, batch2), beta, alpha)


@converts("addbmm")
def addbmm(t, self, batch1, batch2, beta=1, alpha=1):
    product = matmul(t, batch1, batch2)
    return _blend(t, self, t.op("ReduceSum", product, t.ints([0]), keepdims=0), beta, alpha)


@converts("addr")
def addr(t, self, vec1, vec2, beta=1, alpha=1):
    dtype = t.outputs[0][0]
    a, b = t.cast(vec1, dtype), t.cast(vec2, dtype)
    product = arithmetic(t, "Mul", unsqueeze(t, a, [1]), unsqueeze(t, b, [0]))
    return _blend(t, t.cast(self, dtype), product, beta, alpha)


def _blend(t, c, product, beta, alpha):
    """beta * c + alpha * product; a beta of 0 drops c, NaN or not, as torch does."""
    if not (isinstance(alpha, (int, float)) and alpha == 1):
        product = arithmetic(t, "Mul", product, scalar_as(t, alpha, product.torch_dtype))
    if isinstance(beta, (int, float)) and beta == 0:
        return t.op("Expand", product, t.ints(_sizes(t, t.outputs[0][1])))
    if not (isinstance(beta, (int, float)) and beta == 1):
        c = arithmetic(t, "Mul", c, scalar_as(t, beta, c.torch_dtype))
    return arithmetic(t, "Add", c, product)


def _sizes(t, shape):
    return [d if isinstance(d, int) else 1 for d in shape]  # 1 leaves an extent of Expand's operand alone


# ---- convolution -----------------------------------------------------------------------------


def _tuple(value, n: int) -> list[int]:
    static(value, "an argument of the convolution or pool")
    value = [value] if isinstance(value, int) else list(value)
    return value * n if len(value) == 1 else value


@converts("convolution", "_convolution", "convolution_overrideable")
def convolution(t, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, *_):
    n = weight.rank - 2
    pads = _tuple(padding, n)
    attrs = {"strides": _tuple(stride, n), "dilations": _tuple(dilation, n), "group": static(groups, "groups")}
    if transposed:
        extra = _tuple(output_padding, n)
        return _conv(t, "ConvTranspose", input, weight, bias, n, pads=pads + pads, output_padding=extra, **attrs)
    return _conv(t, "Conv", input, weight, bias, n, pads=pads + pads, **attrs)


def _conv(t, name, input, weight, bias, n, **attrs):
    operands = [input, weight] + ([bias] if bias is not None else [])
    dtype = input.torch_dtype
    if not input.is_float:
        raise ConversionError("a convolution of integers")
    if dtype != torch.float32:  # ONNX Runtime's CPU kernels know f32 alone; f64 would lose digits
        if dtype == torch.float64:
            raise ConversionError("a convolution in float64")
        operands = [t.cast(x, torch.float32) for x in operands]
    single = input.rank == n + 1
    if single:
        operands[0] = unsqueeze(t, operands[0], [0])
    result = t.op(name, *operands, kernel_shape=[static(weight.dims[2 + i], "the kernel's size") for i in range(n)], **attrs)
    result = t.op("Squeeze", result, t.ints([0])) if single else result
    return t.cast(result, dtype)


@converts("conv1d", "conv2d", "conv3d")
def conv(t, input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    n = weight.rank - 2
    return convolution(t, input, weight, bias, _tuple(stride, n), _tuple(padding, n), _tuple(dilation, n), False, 0, groups)


@converts("conv1d.padding", "conv2d.padding", "conv3d.padding")
def conv_padding(t, input, weight, bias=None, stride=1, padding="valid", dilation=1, groups=1):
    n = weight.rank - 2
    if padding == "valid":
        return conv(t, input, weight, bias, stride, 0, dilation, groups)
    dilation = _tuple(dilation, n)
    total = [d * (static(weight.dims[2 + i], "the kernel's size") - 1) for i, d in enumerate(dilation)]
    low = [p // 2 for p in total]
    pads = low + [p - q for p, q in zip(total, low)]
    return _conv(t, "Conv", input, weight, bias, n, pads=pads, strides=_tuple(stride, n), dilations=dilation, group=groups)


@converts("conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input")
def conv_transpose(t, input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    return convolution(t, input, weight, bias, stride, padding, dilation, True, output_padding, groups)


# ---- normalisation ---------------------------------------------------------------------------


@converts("batch_norm")
def batch_norm(t, input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled=False):
    if training or running_mean is None:
        raise ConversionError("batch_norm with the statistics of the batch (training mode)")
    dtype = input.torch_dtype
    channels = running_mean.dims
    scale = t.op("Expand", t.constant(1.0, running_mean.torch_dtype), t.ints(channels)) if weight is None else weight
    shift = t.op("Expand", t.constant(0.0, running_mean.torch_dtype), t.ints(channels)) if bias is None else bias
    operands = [input, scale, shift, running_mean, running_var]
    if dtype in _HALVES or any(x.torch_dtype != dtype for x in operands):
        operands = [t.cast(x, torch.float32) for x in operands]
    return t.cast(t.op("BatchNormalization", *operands, epsilon=float(static(eps, "eps"))), dtype)


@converts("_native_batch_norm_legit_no_training")
def native_batch_norm_no_training(t, input, weight, bias, running_mean, running_var, momentum, eps):
    result = batch_norm(t, input, weight, bias, running_mean, running_var, False, momentum, eps)
    empty = t.constant(torch.empty(0, dtype=t.outputs[1][0]))
    return [result, empty, empty]


@converts("native_batch_norm")
def native_batch_norm(t, input, weight, bias, running_mean, running_var, training, momentum, eps):
    if training:
        raise ConversionError("batch_norm with the statistics of the batch (training mode)")
    return native_batch_norm_no_training(t, input, weight, bias, running_mean, running_var, momentum, eps)


@converts("cudnn_batch_norm", "miopen_batch_norm")
def refused_batch_norm(t, *_):
    raise ConversionError("batch_norm of a GPU library")


@converts("layer_norm")
def layer_norm(t, input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    shape = static(list(normalized_shape), "the normalised shape")
    dtype = input.torch_dtype
    scale = t.constant(torch.ones(shape, dtype=dtype)) if weight is None else t.cast(weight, dtype)
    operands = [input, scale] + ([] if bias is None else [t.cast(bias, dtype)])
    if dtype in _HALVES:
        operands = [t.cast(x, torch.float32) for x in operands]
    result = t.op("LayerNormalization", *operands, axis=-len(shape), epsilon=float(static(eps, "eps")))
    return t.cast(result, dtype)


@converts("embedding")
def embedding(t, weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    return t.op("Gather", weight, indices, axis=0)


@converts("softmax.int", "_softmax")
def softmax(t, self, dim, dtype=None, half_to_float=False):
    return _softmax(t, "Softmax", self, dim)


@converts("log_softmax.int", "_log_softmax")
def log_softmax(t, self, dim, dtype=None, half_to_float=False):
    return _softmax(t, "LogSoftmax", self, dim)


def _softmax(t, name, self, dim):
    x = t.cast(self, t.outputs[0][0])
    axis = axis_of(x, dim)
    if x.rank == 0:
        return t.op("Squeeze", t.op(name, unsqueeze(t, x, [0]), axis=0), t.ints([0]))
    return arithmetic(t, name, x, axis=axis)


def mean_over(t, x: Sym, axes: list[int], keepdims: int = 1) -> Sym:
    return t.op("ReduceMean", x, t.ints(axes), keepdims=keepdims)


