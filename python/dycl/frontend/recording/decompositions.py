# SPDX-License-Identifier: Apache-2.0
"""Ops that capture takes apart while recording, with torch's own decompositions and those of
recording/linear_algebra.py.

They have no conversion, but what torch's decomposition makes of them does. Named one by one: a
decomposition that ends in ops without conversions would only hide the name the user knows.
"""

from __future__ import annotations

import math
from typing import Callable

import torch

from ..graph.aten import overload
from ..torch_internals import OpOverload, get_decompositions
from . import linear_algebra

_NAMES = """
_adaptive_avg_pool2d _addmm_activation _chunk_cat _reshape_alias _safe_softmax _unsafe_masked_index
_unsafe_masked_index_put_accumulate _weight_norm_interface addmm.dtype baddbmm.dtype
binary_cross_entropy block_diag channel_shuffle
dist fft_fftshift fft_ifftshift hardshrink hinge_embedding_loss huber_loss isin.Scalar_Tensor
isin.Tensor_Scalar isin.Tensor_Tensor ldexp.Tensor logspace logspace.Scalar_Tensor
logspace.Tensor_Scalar logspace.Tensor_Tensor linspace.Scalar_Tensor linspace.Tensor_Scalar linspace.Tensor_Tensor
margin_ranking_loss max_unpool2d max_unpool3d meshgrid meshgrid.indexing multi_margin_loss
multilabel_margin_loss_forward nll_loss2d_forward pad_sequence pairwise_distance pdist renorm rot90
smooth_l1_loss soft_margin_loss softshrink special_entr special_log_ndtr special_ndtr special_xlog1py
special_xlog1py.other_scalar special_xlog1py.self_scalar trace tril_indices triu_indices unsafe_split_with_sizes
view_copy.dtype

_log_softmax_backward_data _prelu_kernel_backward _softmax_backward_data binary_cross_entropy_backward
diagonal_backward elu_backward embedding_dense_backward gelu_backward glu_backward hardsigmoid_backward
hardswish_backward hardtanh_backward huber_loss_backward leaky_relu_backward log_sigmoid_backward logit_backward
mish_backward mse_loss_backward native_group_norm_backward native_layer_norm_backward nll_loss_backward
select_backward sigmoid_backward silu_backward slice_backward smooth_l1_loss_backward softplus_backward
tanh_backward threshold_backward unfold_backward
"""

_overloads = [target for name in _NAMES.split() if (target := overload(name)) is not None]
NEEDS_DECOMPOSITION: dict[OpOverload, Callable] = {
    target: function for target, function in get_decompositions(_overloads).items() if target in set(_overloads)
}
NEEDS_DECOMPOSITION.update(linear_algebra.TAKEN_APART)


def _isin(by_sorting):
    """Few elements are compared one by one: torch's way through sorted elements has no place for NaN."""

    def isin(elements, test_elements, *, assume_unique=False, invert=False):
        a, b = _beside(elements, test_elements), _beside(test_elements, elements)
        sizes = (*a.shape, *b.shape)
        if not all(isinstance(d, int) for d in sizes) or math.prod(sizes) > _MOST_COMPARED:
            return by_sorting(elements, test_elements, assume_unique=assume_unique, invert=invert)
        found = (a.unsqueeze(-1) == b.reshape(-1)).any(-1)
        return ~found if invert else found

    return isin


def _beside(x, other) -> torch.Tensor:
    """A number in the dtype in which torch compares it with the tensor: it wraps in a small one."""
    if isinstance(x, torch.Tensor):
        return x
    weaker = other.dtype.is_floating_point or type(x) is int and other.dtype != torch.bool
    return torch.tensor(x).to(other.dtype) if weaker else torch.tensor(x)


def _whole_ends(linspace):
    """To integers torch goes from a whole number to a whole number."""

    def converted(start, end, steps, *base, dtype=None, **options):
        if dtype is not None and not dtype.is_floating_point and not dtype.is_complex:
            start, end = (x.to(dtype) if isinstance(x, torch.Tensor) else int(x) if isinstance(x, float) else x
                          for x in (start, end))
        return linspace(start, end, steps, *base, dtype=dtype, **options)

    return converted


def _multilabel_margin_loss(input, target, reduction):
    """torch's own decomposition takes what follows the first -1 of a row for targets."""
    count = input.shape[-1] if input.dim() else 1
    x, labels = (y.reshape(-1, count) for y in (input, target))
    chosen = x.gather(-1, torch.where(labels == -1, 0, labels))
    valid = (labels == -1).to(torch.int64).cumsum(-1) == 0
    is_target = ((labels.unsqueeze(-1) == torch.arange(count)) & valid.unsqueeze(-1)).any(-2)
    margins = 1 - chosen.unsqueeze(-1) + x.unsqueeze(-2)
    margins = torch.where(margins > 0, margins, 0.0)  # a NaN counts nothing, as in torch's kernel
    rows = torch.where(valid.unsqueeze(-1) & ~is_target.unsqueeze(-2), margins, 0.0).sum((-1, -2)) / count
    result = rows.mean() if reduction == 1 else rows.sum() if reduction == 2 else rows if input.dim() == 2 else rows[0]
    return result.to(input.dtype), is_target.to(input.dtype).reshape(target.shape)


def _multi_margin_loss(input, target, p=1, margin=1, weight=None, reduction=1):
    """torch's own decomposition hands a NaN on, which torch's kernel counts as nothing."""
    rows, labels = torch.atleast_2d(input), torch.atleast_1d(target).unsqueeze(1)
    margins = margin - rows.gather(1, labels) + rows
    losses = margins if p == 1 else margins * margins
    if weight is not None:
        losses = losses * torch.atleast_1d(weight)[labels]
    counted = (margins > 0) & (torch.arange(rows.shape[1]) != labels)
    means = torch.where(counted, losses, 0.0).mean(1)
    return means.mean() if reduction == 1 else means.sum() if reduction == 2 else means


NEEDS_DECOMPOSITION[torch.ops.aten.multilabel_margin_loss_forward.default] = _multilabel_margin_loss
NEEDS_DECOMPOSITION[torch.ops.aten.multi_margin_loss.default] = _multi_margin_loss
_MOST_COMPARED = 1 << 20
for _target, _function in list(NEEDS_DECOMPOSITION.items()):
    if _target.overloadpacket is torch.ops.aten.isin:
        NEEDS_DECOMPOSITION[_target] = _isin(_function)
    elif _target.overloadpacket in (torch.ops.aten.linspace, torch.ops.aten.logspace):
        NEEDS_DECOMPOSITION[_target] = _whole_ends(_function)


# Operators that exist only once torchvision is imported.


def roi_align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned=False):
    """Bilinear samples are products of weights along the two axes, and so are their means: two matrix products."""
    offset = 0.5 if aligned else 0.0
    left, top, right, bottom = (rois[:, k] * spatial_scale - offset for k in (1, 2, 3, 4))
    width, height = right - left, bottom - top
    if not aligned:
        width, height = width.clamp(min=1.0), height.clamp(min=1.0)
    down = _axis_weights(top, height, pooled_height, input.shape[2], sampling_ratio)
    across = _axis_weights(left, width, pooled_width, input.shape[3], sampling_ratio)
    images = input[rois[:, 0].to(torch.int64)]  # [rois, channels, height, width]
    return torch.matmul(torch.matmul(down.unsqueeze(1), images), across.unsqueeze(1).transpose(-1, -2))


def _axis_weights(start, length, bins: int, extent: int, ratio: int):
    """[rois, bins, extent]: how much each place of the axis counts in each bin."""
    size = (length / bins)[:, None, None]
    if ratio > 0:
        samples, count = torch.arange(ratio, dtype=start.dtype), float(ratio)
        inside = None
    else:
        count = torch.ceil(length / bins)[:, None, None]
        samples = torch.arange(torch.clamp(count.max(), min=0).to(torch.int64).item(), dtype=start.dtype)
        inside = samples < count
    places = torch.arange(bins, dtype=start.dtype)[None, :, None]
    at = start[:, None, None] + places * size + (samples + 0.5) * size / count  # [rois, bins, samples]
    valid = (at >= -1.0) & (at <= extent)
    if inside is not None:
        valid = valid & inside
    at = at.clamp(0, extent - 1)
    weights = (1 - (at[..., None] - torch.arange(extent, dtype=start.dtype)).abs()).clamp(min=0) * valid[..., None]
    total = count if ratio > 0 else count.clamp(min=1)
    return weights.sum(2) / total


_BY_NAME: dict = {"torchvision.roi_align.default": roi_align}


def decomposition_of(func) -> Callable | None:
    return NEEDS_DECOMPOSITION.get(func) or _BY_NAME.get(str(func))
