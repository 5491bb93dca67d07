# SPDX-License-Identifier: Apache-2.0
"""Real tensors that share memory: one as a chain of view steps of the other.

A buffer and a view of it kept in another attribute must stay one storage during capture. `steps_between`
finds the steps from sizes, strides and offsets; None if it cannot, and then writes are refused.
"""

from __future__ import annotations

import torch

from .views import BASE

aten = torch.ops.aten


def steps_between(base: torch.Tensor, view: torch.Tensor) -> list[tuple] | None:
    """Steps (op, args, kwargs) that turn `base` into `view`; both live in one storage."""
    if base.dtype != view.dtype:
        return None
    offset = view.storage_offset() - base.storage_offset()
    if offset == 0 and base.shape == view.shape and base.stride() == view.stride():
        return []
    if offset < 0:
        return None
    return _by_dims(base, view, offset) or _by_flat_range(base, view, offset)


def _by_flat_range(base: torch.Tensor, view: torch.Tensor, offset: int) -> list[tuple] | None:
    if not (base.is_contiguous() and view.is_contiguous()) or offset + view.numel() > base.numel():
        return None
    steps = [(aten.view.default, (BASE, [base.numel()]), {})]
    if view.numel() != base.numel():
        steps.append((aten.slice.Tensor, (BASE, 0, offset, offset + view.numel()), {}))
    return steps + [(aten.view.default, (BASE, list(view.shape)), {})]


def _by_dims(base: torch.Tensor, view: torch.Tensor, offset: int) -> list[tuple] | None:
    """Each dim of the view walks along one dim of the base; the other dims of the base are selected."""
    order = sorted((d for d in range(base.dim()) if base.shape[d] > 1), key=lambda d: -base.stride(d))
    if any(base.stride(d) == 0 for d in order):
        return None
    starts, rest = {}, offset
    for d in order:
        starts[d], rest = divmod(rest, base.stride(d))
    if rest or any(starts[d] >= base.shape[d] for d in order):
        return None
    walks: dict[int, tuple[int, int]] = {}  # dim of the view -> (dim of the base, step)
    for v in range(view.dim()):
        if view.shape[v] == 1:
            continue
        found = next((d for d in order if view.stride(v) >= base.stride(d)), None)
        if found is None or view.stride(v) % base.stride(found) or found in [d for d, _ in walks.values()]:
            return None
        walks[v] = (found, view.stride(v) // base.stride(found))
        if starts[found] + (view.shape[v] - 1) * walks[v][1] >= base.shape[found]:
            return None
    return _write_steps(base, view, starts, walks)


def _write_steps(base, view, starts, walks) -> list[tuple]:
    used = {d: (v, step) for v, (d, step) in walks.items()}
    steps, kept = [], []
    for d in reversed(range(base.dim())):
        if d in used:
            v, step = used[d]
            start = starts[d]
            stop = start + (view.shape[v] - 1) * step + 1
            if (start, stop, step) != (0, base.shape[d], 1):
                steps.append((aten.slice.Tensor, (BASE, d, start, stop, step), {}))
            kept.insert(0, v)
        else:
            steps.append((aten.select.int, (BASE, d, starts.get(d, 0)), {}))
    order = sorted(range(len(kept)), key=lambda i: kept[i])
    if order != list(range(len(kept))):
        steps.append((aten.permute.default, (BASE, order), {}))
    for v in range(view.dim()):
        if view.shape[v] == 1:
            steps.append((aten.unsqueeze.default, (BASE, v), {}))
    return steps
