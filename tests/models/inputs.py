# SPDX-License-Identifier: Apache-2.0
"""Inputs that models of several files are given: tokens, edges, pictures, boxes."""

import torch

from tests.models.registry import ints, rand, seeded


def tokens(*shape, high, n=4):
    return [(ints(*shape, high=high, seed=s),) for s in range(n - 1)] + [(torch.full(shape, 3),)]


def blocks(*shape, n=6, scale=2.0):
    """Hidden states; the last ones send all tokens to the same experts."""
    inputs = [(rand(*shape, seed=s, scale=scale),) for s in range(n - 2)]
    same = rand(1, 1, shape[-1], seed=99, scale=scale)
    return inputs + [(same.expand(*shape).contiguous(),), (-same.expand(*shape).contiguous(),)]


def edges(s, n=6, e=9):
    return ints(2, e, high=n, seed=s)


def images(*shape, n=4, scale=1.0):
    return [(rand(*shape, seed=s, scale=scale * (1 + s)),) for s in range(n)]


def uniform(*shape, seed=0):
    return torch.rand(*shape, generator=seeded(seed))


def boxes(n, seed):
    corner = uniform(n, 2, seed=seed) * 4
    return torch.cat((corner, corner + uniform(n, 2, seed=100 + seed) * 4 + 0.5), 1)


def boxes_of(seed, n=6, batch=1):
    centre = torch.rand(batch, n, 2, generator=torch.Generator().manual_seed(seed)) * 0.6 + 0.2
    return torch.cat([centre, torch.full((batch, n, 2), 0.2) + 0.1 * rand(batch, n, 2, seed=seed).abs()], -1)
