# SPDX-License-Identifier: Apache-2.0
"""Random inputs that differ from each other as real ones do: pictures with shapes, contrast and colour, sentences."""

from __future__ import annotations

import torch
import torch.nn.functional as F


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def picture(seed: int, size: int) -> torch.Tensor:
    """One normalised picture [1, 3, size, size]: blobs of a random scale, a colour cast, a contrast, some grain.

    White noise would not do: after a few convolutions one image of it looks like any other.
    """
    g = generator(seed)
    cells = int(torch.randint(2, 9, (1,), generator=g))
    blobs = F.interpolate(torch.randn(1, 3, cells, cells, generator=g), (size, size),
                          mode="bilinear", align_corners=False)
    texture = F.interpolate(torch.randn(1, 3, size // 4, size // 4, generator=g), (size, size))
    contrast = torch.exp(0.4 * torch.randn(1, generator=g))
    roughness = 0.5 * torch.rand(1, generator=g)
    cast = 0.6 * torch.randn(1, 3, 1, 1, generator=g)
    return contrast * (blobs + roughness * texture) + cast + 0.05 * torch.randn(1, 3, size, size, generator=g)


def pictures(seeds: range, size: int) -> torch.Tensor:
    return torch.cat([picture(s, size) for s in seeds])


def sentence(seed: int, length: int, words: int, first: int = 4) -> torch.Tensor:
    """Word numbers [1, length], the frequent ones frequent (Zipf); numbers below `first` are special."""
    g = generator(seed)
    rank = torch.exp(torch.rand(1, length, generator=g) * torch.log(torch.tensor(float(words - first))))
    return (rank.long() - 1 + first).clamp(first, words - 1)
