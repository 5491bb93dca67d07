# SPDX-License-Identifier: Apache-2.0
"""Random straight-line programs of views and in-place ops: recorded and eager execution agree."""

from __future__ import annotations

import random

import pytest
import torch

from tests.frontend.support.recording import check

PROGRAMS_PER_SEED = 50


def _view(rng: random.Random, t: torch.Tensor) -> torch.Tensor:
    """A random view of t; choices depend only on rng and t's shape."""
    rank = t.dim()
    kinds = ["view", "unsqueeze", "detach", "flatten"]
    if rank:
        kinds += ["select", "slice", "slice", "squeeze", "split", "unbind", "chunk", "narrow", "neg_slice"]
    if rank > 1:
        kinds += ["transpose", "permute", "t_last", "diagonal"]
    kind = rng.choice(kinds)
    dim = rng.randrange(rank) if rank else 0
    size = t.shape[dim] if rank else 1
    if kind == "select" and size:
        return t.select(dim, rng.randrange(-size, size))
    if kind == "slice":
        a, b = sorted((rng.randint(0, size), rng.randint(0, size)))
        return t[(slice(None),) * dim + (slice(a, b, rng.choice([1, 1, 2])),)]
    if kind == "neg_slice":
        return t[(Ellipsis, slice(-rng.randint(1, 3), None))]
    if kind == "narrow" and size:
        start = rng.randrange(size)
        return t.narrow(dim, start, rng.randint(0, size - start))
    if kind == "squeeze":
        return t.squeeze(dim) if rng.random() < 0.5 else t.squeeze()
    if kind == "unsqueeze":
        return t.unsqueeze(rng.randint(-rank - 1, rank))
    if kind == "split" and size:
        return rng.choice(t.split(rng.randint(1, size), dim))
    if kind == "chunk" and size:
        return rng.choice(t.chunk(rng.randint(1, 3), dim))
    if kind == "unbind" and size:
        return rng.choice(t.unbind(dim))
    if kind == "transpose":
        return t.transpose(dim, rng.randrange(rank))
    if kind == "permute":
        return t.permute(rng.sample(range(rank), rank))
    if kind == "t_last":
        return t.mT
    if kind == "diagonal":
        a, b = rng.sample(range(rank), 2)
        return t.diagonal(rng.randint(-1, 1), a, b)
    if kind == "flatten" and rank > 1 and t.is_contiguous():
        return t.flatten(0, 1)
    if kind == "view" and t.is_contiguous() and t.numel() % 2 == 0:
        return t.view(2, -1) if t.numel() else t.view(0, 2)
    return t.detach()


def _operand(rng: random.Random, pool: list[torch.Tensor], target: torch.Tensor):
    """A number or a tensor that broadcasts to target and shares no memory with it."""
    fitting = [t for t in pool if t.dtype == target.dtype and _broadcasts(t.shape, target.shape)]
    if fitting and rng.random() < 0.6:
        return rng.choice(fitting).clone()
    return round(rng.uniform(-2, 2), 2)


def _broadcasts(a, b) -> bool:
    return len(a) <= len(b) and all(x == y or x == 1 for x, y in zip(reversed(a), reversed(b)))


def _write(rng: random.Random, pool: list[torch.Tensor], t: torch.Tensor) -> None:
    kind = rng.choice(["add_", "mul_", "copy_", "fill_", "neg_", "zero_", "clamp_", "setitem", "masked", "sub_out",
                       "relu_", "index_fill_", "gt_", "index_put", "masked_setitem", "cumsum_", "where", "square_"])
    other = _operand(rng, pool, t)
    if kind == "copy_":
        t.copy_(other if isinstance(other, torch.Tensor) else torch.tensor(other))
    elif kind == "fill_":
        t.fill_(1.25)
    elif kind == "clamp_":
        t.clamp_(-1, 1)
    elif kind == "setitem":
        t[...] = other
    elif kind == "masked":
        t.masked_fill_(t > 0.3, -0.5)
    elif kind == "masked_setitem":
        t[t < 0] = 0.75
    elif kind == "sub_out":
        torch.sub(t.clone(), other, out=t)
    elif kind == "index_fill_" and t.dim() and t.shape[0]:
        t.index_fill_(0, torch.tensor([0]), 2.0)
    elif kind == "index_put" and t.dim() and t.shape[-1]:
        t[..., torch.tensor([0, -1])] = 0.5
    elif kind == "cumsum_" and t.dim():
        t.cumsum_(0)
    elif kind in ("neg_", "zero_", "relu_", "square_"):
        getattr(t, kind)()
    elif kind in ("add_", "mul_", "gt_"):
        getattr(t, kind)(other)


def _program(seed: int):
    def run(x, y):
        rng = random.Random(seed)
        pool = [x, y, x.clone()]
        for _ in range(rng.randint(6, 14)):
            choice = rng.random()
            t = rng.choice(pool)
            if choice < 0.45:
                pool.append(_view(rng, t))
            elif choice < 0.85:
                _write(rng, pool, t)
            else:
                pool.append(t * 0.5 + 1)
        return pool

    return run


@pytest.mark.parametrize("block", range(8))
def test_random_view_and_write_programs(block):
    for seed in range(block * PROGRAMS_PER_SEED, (block + 1) * PROGRAMS_PER_SEED):
        rng = random.Random(seed)
        torch.manual_seed(seed)
        x = torch.randn([rng.randint(1, 4) for _ in range(rng.randint(0, 3))])
        y = torch.randn([rng.randint(1, 4) for _ in range(rng.randint(1, 3))])
        try:
            check(_program(seed), x, y)
        except BaseException as error:
            raise AssertionError(f"program {seed}") from error
