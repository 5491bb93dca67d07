# SPDX-License-Identifier: Apache-2.0
"""Layers that engines know whole: linear, convolution, normalisation, attention, embedding."""

from __future__ import annotations

import math

import torch

from ...graph.aten import aten
from .. import torchlib
from ..registry import axis_of, converts, dim_value, reshape, squeeze, static, unsqueeze
from ..tape import ConversionError, Sym
from .activations import log_sigmoid
from .indexing import checked_index
from .pointwise import scalar_as
from .reductions import average, reduce

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
    return product if bias is None else t.op("Add", product, bias)


def _gemm(t, a, b, c, **attrs):
    return t.op("Gemm", a, b, c, **attrs)


@converts("matmul", "mm", "bmm", "mv", "dot", "vdot")
def matmul(t, a, b):
    if a.rank == 2 and b.rank > 2 and not all(isinstance(d, int) for d in b.dims[:-2]):
        # ONNX Runtime fails where one matrix meets a batch of none; a batch of none meets one matrix well.
        turned = [*range(b.rank - 2), b.rank - 1, b.rank - 2]
        product = t.op("MatMul", t.op("Transpose", b, perm=turned), t.op("Transpose", a, perm=[1, 0]))
        return t.op("Transpose", product, perm=turned)
    return t.op("MatMul", a, b)


@converts("addmm")
def addmm(t, self, mat1, mat2, beta=1, alpha=1):
    static_factors = isinstance(beta, (int, float)) and isinstance(alpha, (int, float)) and beta != 0
    inner = mat1.dims[1] or mat2.dims[0]  # of nothing, ONNX Runtime's Gemm forgets beta
    if mat1.torch_dtype == torch.float32 and static_factors and (beta == 1 or (isinstance(inner, int) and inner > 0)):
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
    product = t.op("Mul", unsqueeze(t, a, [1]), unsqueeze(t, b, [0]))
    return _blend(t, t.cast(self, dtype), product, beta, alpha)


def _blend(t, c, product, beta, alpha):
    """beta * c + alpha * product; a beta of 0 drops c, NaN or not, as torch does."""
    if not (isinstance(alpha, (int, float)) and alpha == 1):
        product = t.op("Mul", product, scalar_as(t, alpha, product.torch_dtype))
    if isinstance(beta, (int, float)) and beta == 0:
        return t.op("Expand", product, t.ints(_sizes(t, t.outputs[0][1])))
    if not (isinstance(beta, (int, float)) and beta == 1):
        c = t.op("Mul", c, scalar_as(t, beta, c.torch_dtype))
    return t.op("Add", c, product)


def _sizes(t, shape):
    return [d if isinstance(d, int) else 1 for d in shape]  # 1 leaves an extent of Expand's operand alone


@converts("_trilinear")
def trilinear(t, i1, i2, i3, expand1, expand2, expand3, sumdim, unroll_dim=1):
    factors = [unsqueeze(t, x, list(e)) for x, e in ((i1, expand1), (i2, expand2), (i3, expand3))]
    product = t.op("Mul", t.op("Mul", factors[0], factors[1]), factors[2])
    if sumdim and not product.is_float:
        raise ConversionError("there is no exact kernel for such sums of products of integers")
    return t.op("ReduceSum", product, t.ints(sumdim), keepdims=0) if sumdim else product


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
        if any(e >= s for e, s in zip(extra, attrs["strides"])):
            raise ConversionError("a transposed convolution whose output_padding is not less than its stride")
        return _conv(t, "ConvTranspose", input, weight, bias, n, pads=pads + pads, output_padding=extra, **attrs)
    return _conv(t, "Conv", input, weight, bias, n, pads=pads + pads, **attrs)


def _conv(t, name, input, weight, bias, n, **attrs):
    operands = [input, weight] + ([bias] if bias is not None else [])
    dtype = input.torch_dtype
    if not input.is_float:
        raise ConversionError("a convolution of integers")
    if dtype in _HALVES:  # ONNX Runtime's CPU kernels know f32 alone
        operands = [t.cast(x, torch.float32) for x in operands]
    single = input.rank == n + 1
    if single:
        operands[0] = unsqueeze(t, operands[0], [0])
    result = t.op(
        name, *operands, kernel_shape=[static(weight.dims[2 + i], "the kernel's size") for i in range(n)], **attrs
    )
    result = t.op("Squeeze", result, t.ints([0])) if single else result
    return t.cast(result, dtype)


@converts("conv1d", "conv2d", "conv3d")
def conv(t, input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    n = weight.rank - 2
    return convolution(
        t, input, weight, bias, _tuple(stride, n), _tuple(padding, n), _tuple(dilation, n), False, 0, groups
    )


@converts("conv1d.padding", "conv2d.padding", "conv3d.padding")
def conv_padding(t, input, weight, bias=None, stride=1, padding="valid", dilation=1, groups=1):
    n = weight.rank - 2
    if padding == "valid":
        return conv(t, input, weight, bias, stride, 0, dilation, groups)
    dilation = _tuple(dilation, n)
    total = [d * (static(weight.dims[2 + i], "the kernel's size") - 1) for i, d in enumerate(dilation)]
    low = [p // 2 for p in total]
    pads = low + [p - q for p, q in zip(total, low)]
    return _conv(
        t, "Conv", input, weight, bias, n, pads=pads, strides=_tuple(stride, n), dilations=dilation, group=groups
    )


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
    if training and running_mean is None:
        return _batch_statistics(t, input, weight, bias, eps)
    if training:
        raise ConversionError("batch_norm with the statistics of the batch (training mode)")
    return native_batch_norm_no_training(t, input, weight, bias, running_mean, running_var, momentum, eps)


@converts("_native_batch_norm_legit.no_stats")
def batch_norm_no_stats(t, input, weight, bias, training, momentum, eps):
    return _batch_statistics(t, input, weight, bias, eps)


def _batch_statistics(t, input, weight, bias, eps):
    """Normalisation over everything but the channels, without running statistics (instance_norm comes this way)."""
    dtype = input.torch_dtype
    x = t.cast(input, torch.float32) if dtype in _HALVES else input
    axes = [i for i in range(x.rank) if i != 1]
    mean = t.op("ReduceMean", x, t.ints(axes), keepdims=1)
    centred = t.op("Sub", x, mean)
    variance = t.op("ReduceMean", t.op("Mul", centred, centred), t.ints(axes), keepdims=1)
    deviation = t.op(
        "Reciprocal", t.op("Sqrt", t.op("Add", variance, t.constant(float(static(eps, "eps")), x.torch_dtype)))
    )
    result = t.op("Mul", centred, deviation)
    trailing = list(range(1, x.rank - 1))
    if weight is not None:
        result = t.op("Mul", result, unsqueeze(t, t.cast(weight, x.torch_dtype), trailing))
    if bias is not None:
        result = t.op("Add", result, unsqueeze(t, t.cast(bias, x.torch_dtype), trailing))
    return [t.cast(result, dtype), squeeze(t, mean, axes), squeeze(t, deviation, axes)]


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


@converts("embedding", index_error="IndexError")
def embedding(t, weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    return t.op("Gather", weight, indices if indices.nonnegative else checked_index(t, indices), axis=0)


@converts("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(t, self, target, weight=None, pos_weight=None, reduction=1):
    x, y = self, t.cast(target, self.torch_dtype)
    one = t.constant(1.0, x.torch_dtype)
    log = log_sigmoid(t, x)
    if pos_weight is not None:
        log = t.op("Mul", log, t.op("Add", t.op("Mul", t.op("Sub", t.cast(pos_weight, x.torch_dtype), one), y), one))
    loss = t.op("Sub", t.op("Mul", t.op("Sub", one, y), x), log)
    loss = loss if weight is None else t.op("Mul", loss, t.cast(weight, x.torch_dtype))
    return (loss if reduction == 0 else average(t, loss, None, False) if reduction == 1
            else reduce(t, "ReduceSum", loss, None))


@converts("nll_loss_forward", index_error="IndexError")
def nll_loss_forward(t, self, target, weight, reduction, ignore_index):
    """torchlib's, with targets that torch rejects out of every engine's range."""
    wide = t.cast(target, torch.int64)
    ignored = t.op("Equal", wide, t.ints(ignore_index) if isinstance(ignore_index, Sym)
                   else t.constant(ignore_index, torch.int64))
    safe = wide if target.nonnegative else t.op("Where", ignored, wide, checked_index(t, target))
    return torchlib.call(t, aten.nll_loss_forward.default, [self, safe, weight, reduction, ignore_index], {})


@converts("softmax.int", "_softmax")
def softmax(t, self, dim, dtype=None, half_to_float=False):
    return _softmax(t, "Softmax", self, dim)


@converts("log_softmax.int", "_log_softmax")
def log_softmax(t, self, dim, dtype=None, half_to_float=False):
    """In f64 taken apart: ONNX Runtime's kernel makes numbers of a row with a NaN."""
    if t.outputs[0][0] != torch.float64 or self.rank == 0:
        return _softmax(t, "LogSoftmax", self, dim)
    x = t.cast(self, torch.float64)
    axes = t.ints([axis_of(x, dim)])
    shifted = t.op("Sub", x, t.op("ReduceMax", x, axes, keepdims=1))
    return t.op("Sub", shifted, t.op("Log", t.op("ReduceSum", t.op("Exp", shifted), axes, keepdims=1)))


def _softmax(t, name, self, dim):
    x = t.cast(self, t.outputs[0][0])
    axis = axis_of(x, dim)
    if x.rank == 0:
        return t.op("Squeeze", t.op(name, unsqueeze(t, x, [0]), axis=0), t.ints([0]))
    return t.op(name, x, axis=axis)


@converts("native_layer_norm")
def native_layer_norm(t, input, normalized_shape, weight, bias, eps):
    result = layer_norm(t, input, normalized_shape, weight, bias, eps)
    axes = list(range(input.rank - len(normalized_shape), input.rank))
    x = t.cast(input, torch.float32) if input.torch_dtype in _HALVES else input
    mean = t.op("ReduceMean", x, t.ints(axes), keepdims=1)
    centred = t.op("Sub", x, mean)
    variance = t.op("ReduceMean", t.op("Mul", centred, centred), t.ints(axes), keepdims=1)
    deviation = t.op("Reciprocal", t.op("Sqrt", t.op("Add", variance, t.constant(float(eps), x.torch_dtype))))
    return [result, mean, deviation]


@converts("group_norm")
def group_norm(t, input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    """As InstanceNormalization over groups, then scale and shift: ONNX's GroupNormalization has no kernel."""
    groups = static(num_groups, "the number of groups")
    if input.known and 0 in input.dims:
        return input
    dtype = input.torch_dtype
    x = t.cast(input, torch.float32) if dtype in _HALVES else input
    grouped = _grouped(t, x, groups)
    ones, zeros = torch.ones(groups, dtype=x.torch_dtype), torch.zeros(groups, dtype=x.torch_dtype)
    normal = t.op(
        "InstanceNormalization", grouped, t.constant(ones), t.constant(zeros), epsilon=float(static(eps, "eps"))
    )
    result = (
        reshape(t, normal, [dim_value(t, x, i) for i in range(x.rank)])
        if not _one_unknown(x)
        else reshape(t, normal, [d if isinstance(d, int) else -1 for d in x.dims])
    )
    trailing = list(range(1, x.rank - 1))
    if weight is not None:
        result = t.op("Mul", result, unsqueeze(t, t.cast(weight, x.torch_dtype), trailing))
    if bias is not None:
        result = t.op("Add", result, unsqueeze(t, t.cast(bias, x.torch_dtype), trailing))
    return t.cast(result, dtype)


def _grouped(t, x, groups: int):
    """[batch, groups, the rest]; the batch may be empty at run time, so the -1 stands for it where it can."""
    if all(isinstance(d, int) for d in x.dims[1:]):
        return reshape(t, x, [-1, groups, math.prod(x.dims[1:]) // groups])
    return reshape(t, x, [dim_value(t, x, 0), groups, -1])


def _one_unknown(x) -> bool:
    return sum(not isinstance(d, int) for d in x.dims) <= 1


@converts("native_group_norm")
def native_group_norm(t, input, weight, bias, N, C, HxW, group, eps):
    result = group_norm(t, input, group, weight, bias, eps)
    if input.known and 0 in input.dims:
        raise ConversionError("group_norm of nothing")
    x = t.cast(input, torch.float32) if input.torch_dtype in _HALVES else input
    grouped = _grouped(t, x, group)
    mean = t.op("ReduceMean", grouped, t.ints([2]), keepdims=1)
    centred = t.op("Sub", grouped, mean)
    variance = t.op("ReduceMean", t.op("Mul", centred, centred), t.ints([2]), keepdims=0)
    deviation = t.op("Reciprocal", t.op("Sqrt", t.op("Add", variance, t.constant(float(eps), x.torch_dtype))))
    return [result, squeeze(t, mean, [2]), deviation]


@converts("instance_norm")
def instance_norm(
    t, input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled=False
):
    if not use_input_stats:
        return batch_norm(t, input, weight, bias, running_mean, running_var, False, momentum, eps)
    if running_mean is not None:
        raise ConversionError("instance_norm that updates its running statistics")
    channels = static(input.dims[1], "the number of channels")
    dtype = input.torch_dtype
    x = t.cast(input, torch.float32) if dtype in _HALVES else input
    scale = t.constant(torch.ones(channels, dtype=x.torch_dtype)) if weight is None else t.cast(weight, x.torch_dtype)
    shift = t.constant(torch.zeros(channels, dtype=x.torch_dtype)) if bias is None else t.cast(bias, x.torch_dtype)
    return t.cast(t.op("InstanceNormalization", x, scale, shift, epsilon=float(static(eps, "eps"))), dtype)


@converts("rms_norm")
def rms_norm(t, input, normalized_shape, weight=None, eps=None):
    shape = static(list(normalized_shape), "the normalised shape")
    dtype = input.torch_dtype
    eps = torch.finfo(torch.float32 if dtype in _HALVES else dtype).eps if eps is None else eps
    x = t.cast(input, torch.float32) if dtype in _HALVES else input
    scale = t.constant(torch.ones(shape, dtype=x.torch_dtype)) if weight is None else t.cast(weight, x.torch_dtype)
    return t.cast(t.op("RMSNormalization", x, scale, axis=-len(shape), epsilon=float(static(eps, "eps"))), dtype)


@converts("_fused_rms_norm")
def fused_rms_norm(t, input, normalized_shape, weight, eps):
    result = rms_norm(t, input, normalized_shape, weight, eps)
    axes = list(range(input.rank - len(normalized_shape), input.rank))
    x = t.cast(input, torch.float32) if input.torch_dtype in _HALVES else input
    eps = torch.finfo(x.torch_dtype).eps if eps is None else eps
    square = t.op("ReduceMean", t.op("Mul", x, x), t.ints(axes), keepdims=1)
    return [result, t.op("Reciprocal", t.op("Sqrt", t.op("Add", square, t.constant(float(eps), x.torch_dtype))))]


# ---- attention -------------------------------------------------------------------------------


@converts("scaled_dot_product_attention")
def attention(t, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    if dropout_p:
        raise ConversionError("attention with dropout (training mode)")
    dtype = query.torch_dtype
    q, k, v = (t.cast(x, torch.float32) if dtype in _HALVES else x for x in (query, key, value))
    if enable_gqa:
        k, v = _repeat_heads(t, q, k), _repeat_heads(t, q, v)
    width = static(query.dims[-1], "the width of a head")
    factor = (width**-0.5 if width else 1.0) if scale is None else scale
    perm = list(range(k.rank))
    perm[-2:] = perm[-1], perm[-2]
    scores = t.op("MatMul", t.op("Mul", q, scalar_as(t, factor, q.torch_dtype)), t.op("Transpose", k, perm=perm))
    if is_causal:
        scores = _masked_scores(t, scores, _causal(t, q, k))
    if attn_mask is not None:
        scores = (
            _masked_scores(t, scores, attn_mask)
            if attn_mask.torch_dtype == torch.bool
            else t.op("Add", scores, t.cast(attn_mask, scores.torch_dtype))
        )
    weights = t.op("Softmax", scores, axis=-1)
    if attn_mask is not None:  # a row with nothing to attend to gives zeros, not NaN
        weights = _without_dead_rows(t, weights, scores)
    return t.cast(t.op("MatMul", weights, v), dtype)


def _masked_scores(t, scores, mask):
    return t.op("Where", mask, scores, t.constant(float("-inf"), scores.torch_dtype))


def _without_dead_rows(t, weights, scores):
    dead = t.op(
        "Equal", t.op("ReduceMax", scores, t.ints([-1]), keepdims=1), t.constant(float("-inf"), scores.torch_dtype)
    )
    return t.op("Where", dead, t.constant(0.0, weights.torch_dtype), weights)


def _causal(t, q, k):
    rows, columns = q.dims[-2], k.dims[-2]
    if isinstance(rows, int) and isinstance(columns, int):
        return t.constant(torch.ones(rows, columns, dtype=torch.bool).tril())
    shape = t.ints([dim_value(t, q, q.rank - 2), dim_value(t, k, k.rank - 2)])
    return t.op("Trilu", t.op("Expand", t.constant(True), shape), upper=0)


def _repeat_heads(t, q, x):
    heads, own = static(q.dims[-3], "the number of heads"), static(x.dims[-3], "the number of heads")
    if heads == own:
        return x
    index = torch.arange(own).repeat_interleave(heads // own)
    return t.op("Gather", x, t.constant(index), axis=x.rank - 3)


@converts("_scaled_dot_product_flash_attention_for_cpu")
def flash_attention_cpu(t, query, key, value, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    result = attention(t, query, key, value, attn_mask, dropout_p, is_causal, scale=scale)
    return [result, None]


@converts("_scaled_dot_product_attention_math")
def math_attention(
    t,
    query,
    key,
    value,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    dropout_mask=None,
    *,
    scale=None,
    enable_gqa=False,
):
    return [attention(t, query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa), None]


# ---- small layers ------------------------------------------------------------------------------


@converts("prelu", "_prelu_kernel")
def prelu(t, self, weight):
    slope = t.cast(weight, self.torch_dtype)
    if slope.rank == 1 and self.rank > 1:
        slope = unsqueeze(t, slope, list(range(1, self.rank - 1))) if self.rank > 2 else slope
    elif slope.rank == 1:
        slope = squeeze(t, slope, [0]) if slope.dims[0] == 1 else slope
    positive = t.op("Greater", self, t.constant(0.0, self.torch_dtype))
    return t.op("Where", positive, self, t.op("Mul", self, slope))


@converts("cosine_similarity")
def cosine_similarity(t, x1, x2, dim=1, eps=1e-8):
    dtype = t.outputs[0][0] if t.outputs[0][0] == torch.float64 else torch.float32  # halves cannot hold their squares
    a, b = t.cast(x1, dtype), t.cast(x2, dtype)
    axis = dim % max(a.rank, b.rank, 1)
    if a.rank != b.rank or a.rank and (a.dims[axis] != b.dims[axis] or not isinstance(a.dims[axis], int)):
        # the lengths are those of what is compared
        a, b = t.op("Expand", a, t.op("Shape", b)), t.op("Expand", b, t.op("Shape", a))
    floor = t.constant(float(static(eps, "eps")), dtype)

    def direction(x):
        length = t.op("Sqrt", t.op("ReduceSum", t.op("Mul", x, x), t.ints([axis]), keepdims=1))
        return t.op("Div", x, t.op("Max", length, floor))

    return t.op("ReduceSum", t.op("Mul", direction(a), direction(b)), t.ints([axis]), keepdims=0)
