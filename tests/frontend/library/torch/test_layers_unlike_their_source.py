# SPDX-License-Identifier: Apache-2.0
"""Layers of torch.nn whose eager kernel does something that their Python source does not show."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.frontend.support.harness import Cases, I

case = Cases()
torch.manual_seed(0)
X = torch.randn(2, 5, 8)


def padded(*lengths):
    return torch.arange(5)[None] >= I(*lengths)[:, None]


class Encoder(nn.Module):
    """Without gradients torch computes sequences with padding as nested tensors: what is padded becomes 0."""

    def __init__(self, norm=None):
        super().__init__()
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, norm=norm)

    def forward(self, x, padding):
        y = self.encoder(x, src_key_padding_mask=padding)
        return y.sum(1) if x.sum() > 0 else y


class NormedEncoder(Encoder):
    def __init__(self):
        super().__init__(nn.LayerNorm(8))
        nn.init.ones_(self.encoder.norm.bias)


NOT_LAST = padded(5, 5)
NOT_LAST[0, 1] = True
for _model in (Encoder, NormedEncoder):
    case((X, padded(5, 5)), (X, padded(3, 5)), (-X, padded(2, 3)), (X, padded(0, 4)), (X, NOT_LAST))(_model)


class ShortRows(nn.Module):
    """An embedding with max_norm writes its weights."""

    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(6, 3, max_norm=1.0, padding_idx=0)
        self.bag = nn.EmbeddingBag(6, 3, max_norm=0.5, norm_type=1.0)

    def forward(self, i):
        return (self.e(i), self.bag(i[None])) if i[0] > 1 else (self.e(i) * 2, self.e.weight.norm(dim=1))


case(I(1, 2), I(3, 0), I(1, 5), I(2, 2))(ShortRows)


@case(X[None], -X[None], values=True)
def unpooled(x):
    return F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)


@case(X, -X)
def attributes_that_are_not_there(x):
    try:
        y = x.nothing_here
    except AttributeError as e:
        y = x + hasattr(x, "nothing")
        return str(e), y if x.sum() > 0 else -y, getattr(x, "none", 3)


test_layers = case.test()
