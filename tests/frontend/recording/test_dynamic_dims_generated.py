# SPDX-License-Identifier: Apache-2.0
"""Random programs over tensors with a dynamic dim: recorded once, right for every size."""

from __future__ import annotations

import random

import pytest
import torch

from dycl.frontend.diagnostics import CaptureRefusal
from dycl.frontend.graph.interpret import ProgramRaised
from tests.frontend.support.recording import Recorded, same

PROGRAMS_PER_SEED = 25
SIZES = (2, 3, 4, 7)


def _view(rng: random.Random, t: torch.Tensor, n) -> torch.Tensor:
    """Choices depend on rng and the rank alone: the extents may be symbolic."""
    rank = t.dim()
    kinds = ["unsqueeze", "detach"]
    if rank:
        kinds += ["select", "slice", "slice", "tail", "narrow", "long_slice"]
    if rank > 1:
        kinds += ["transpose", "permute", "flatten", "rows"]
    kind = rng.choice(kinds)
    dim = rng.randrange(rank) if rank else 0
    full = (slice(None),) * dim
    if kind == "select":
        return t.select(dim, rng.choice([0, 1, -1]))
    if kind == "slice":
        return t[full + (slice(rng.randint(0, 1), rng.choice([None, 2, -1]), rng.choice([1, 1, 2])),)]
    if kind == "long_slice":
        return t[full + (slice(None, 5),)]
    if kind == "tail":
        return t[full + (slice(-2, None),)]
    if kind == "narrow":
        return t.narrow(dim, rng.randint(0, 1), 1)
    if kind == "unsqueeze":
        return t.unsqueeze(rng.randint(-rank - 1, rank))
    if kind == "transpose":
        return t.transpose(dim, rng.randrange(rank))
    if kind == "permute":
        return t.permute(rng.sample(range(rank), rank))
    if kind == "flatten":
        return t.flatten() if t.is_contiguous() else t.reshape(-1)
    if kind == "rows":
        return t.reshape(t.shape[0], -1)
    return t.detach()


def _write(rng: random.Random, t: torch.Tensor) -> None:
    kind = rng.choice(["add_", "mul_", "fill_", "clamp_", "setitem", "masked", "out",
                       "masked_setitem", "cumsum_", "sums"])
    if kind == "fill_":
        t.fill_(1.25)
    elif kind == "clamp_":
        t.clamp_(-1, 1)
    elif kind == "setitem":
        t[...] = -t
    elif kind == "masked":
        t.masked_fill_(t > 0.3, -0.5)
    elif kind == "masked_setitem":
        t[t < 0] = 0.75
    elif kind == "out":
        torch.sub(t.clone(), 0.5, out=t)
    elif kind == "cumsum_" and t.dim():
        t.cumsum_(0)
    elif kind == "sums" and t.dim():
        t.add_(t.mean(-1, keepdim=True))
    elif kind in ("add_", "mul_"):
        getattr(t, kind)(1.5)


def _program(seed: int):
    def run(x):
        rng = random.Random(seed)
        n = x.shape[0]
        pool = [x, x.clone() * 0.5, torch.ones(n, 2) * n]
        for _ in range(rng.randint(5, 11)):
            choice = rng.random()
            t = rng.choice(pool)
            if choice < 0.45:
                pool.append(_view(rng, t, n))
            elif choice < 0.8:
                _write(rng, t)
            elif choice < 0.9:
                pool.append(torch.cat([t, t]) if t.dim() else t * 2)
            else:
                pool.append(t.sum(0) if t.dim() else t + 1)
        return pool

    return run


@pytest.mark.parametrize("block", range(4))
def test_random_programs_with_a_dynamic_dim(block):
    for seed in range(block * PROGRAMS_PER_SEED, (block + 1) * PROGRAMS_PER_SEED):
        try:
            _compare(seed)
        except BaseException as error:
            raise AssertionError(f"program {seed}") from error


def _compare(seed: int) -> None:
    torch.manual_seed(seed)
    program = _program(seed)
    try:
        with torch.no_grad():
            program(torch.randn(4, 2))
    except (IndexError, RuntimeError):
        return  # eager refuses it at the example's size: nothing to record
    try:
        recorded = Recorded(program, [torch.randn(4, 2)], [{0: "N"}], symbolic=True)
    except CaptureRefusal:
        return
    guards = recorded.recorder.guards
    for size in SIZES:
        if not all(eval(g, {"min": min, "max": max}, {"N": size}) for g in guards):
            continue
        x = torch.randn(size, 2)
        mine = x.clone()
        try:
            with torch.no_grad():
                expected = program(mine)
        except (IndexError, RuntimeError):
            with pytest.raises((IndexError, RuntimeError, ProgramRaised)):
                recorded.run([x.clone()])
            continue
        got, written = recorded.run([x.clone()])
        same(got, expected)
        same(written, [mine])
