# SPDX-License-Identifier: Apache-2.0
"""Ops that capture takes apart while recording, with torch's own decompositions and those of linalg.py.

They have no conversion, but what torch's decomposition makes of them does. Named one by one: a
decomposition that ends in ops without conversions would only hide the name the user knows.
"""

from __future__ import annotations

import torch
from torch._decomp import get_decompositions

from . import linalg
from .onnx_table import overload

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
"""

_overloads = [target for name in _NAMES.split() if (target := overload(name)) is not None]
NEEDS_DECOMPOSITION: dict[torch._ops.OpOverload, object] = {
    target: function for target, function in get_decompositions(_overloads).items() if target in set(_overloads)
}
NEEDS_DECOMPOSITION.update(linalg.TAKEN_APART)
