# SPDX-License-Identifier: Apache-2.0
"""Native functions written out in other torch functions, where torch itself would need a plain number
or back ends have no such op. NotImplemented: the call needs no help."""

from __future__ import annotations

from typing import Any

import torch

from ..diagnostics import CaptureRefusal
from ..graph.known_values import is_known
from . import value_checks


def linspace(recorder, start, end, steps=100, *, dtype=None, out=None, **options) -> Any:
    """torch takes `steps` as a plain integer only. As torch does: from the start up to the middle,
    from the end after."""
    numbers = (int, float, torch.SymInt, torch.SymFloat)
    if not isinstance(steps, torch.SymInt) or out is not None or not all(isinstance(x, numbers) for x in (start, end)):
        return NotImplemented
    dtype = dtype or torch.get_default_dtype()
    if not dtype.is_floating_point:
        return NotImplemented

    def compute():
        places = torch.arange(steps)
        divisor = torch.clamp(torch.full((), steps - 1, dtype=dtype), min=1)
        step = torch.full((), end - start, dtype=dtype) / divisor
        return torch.where(places < steps // 2, start + step * places, end - step * (steps - 1 - places))

    def one_or_more():
        result = compute()
        return torch.where(torch.full((), steps, dtype=torch.int64) == 1, torch.full((), start, dtype=dtype), result)

    return recorder.calls.native(one_or_more, (), {})


def triangle_indices(part: str) -> Any:
    """torch takes plain integers only."""

    def indices(recorder, row, col, offset=0, **options) -> Any:
        if not any(isinstance(n, torch.SymInt) for n in (row, col, offset)):
            return NotImplemented

        def compute():
            places = torch.arange(col) - torch.arange(row)[:, None]
            inside = places >= offset if part == "triu" else places <= offset
            return torch.nonzero(inside).t().to(options.get("dtype") or torch.int64)

        return recorder.calls.native(compute, (), {})

    return indices


def embedding_bag(recorder, weight, indices, offsets=None, scale_grad_by_freq=False, mode=0, sparse=False,
                   per_sample_weights=None, include_last_offset=False, padding_idx=-1) -> Any:
    """Bags of one known length: an embedding and a reduction."""
    length = None if offsets is None else _bag_length(recorder, indices, offsets, include_last_offset)
    if length is None or padding_idx not in (-1, None) or indices.dim() != 1:
        value_checks.bag_offsets(recorder, indices, offsets)
        return NotImplemented

    def compute():
        rows = torch.index_select(weight, 0, indices).view(-1, length, weight.shape[1])
        if per_sample_weights is not None:
            rows = rows * per_sample_weights.view(-1, length, 1)
        reduced = rows.sum(1) if mode == 0 else rows.mean(1) if mode == 1 else rows.amax(1)
        rest = torch.zeros(0, dtype=torch.int64)
        return reduced, rest, rest, rest

    return recorder.calls.native(compute, (), {})


def _bag_length(recorder, indices, offsets, include_last_offset: bool) -> int | None:
    if recorder.is_symbolic((indices, offsets)) or not is_known(recorder.value_of(offsets)):
        return None
    starts = recorder.numbers.static(offsets).tolist()
    ends = starts[1:] if include_last_offset else [*starts[1:], indices.numel()]
    lengths = {b - a for a, b in zip(starts, ends)}
    return max(lengths) if len(lengths) == 1 and starts[0] == 0 and max(lengths) > 0 else None


def diff(recorder, input, n=1, dim=-1, prepend=None, append=None, out=None) -> Any:
    """torch slices by plain integers only."""
    if not recorder.is_symbolic((input, prepend, append)) or out is not None or not isinstance(n, int):
        return NotImplemented

    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")

    def compute():
        if n == 0:
            return input.clone()  # without the two others
        x = torch.cat([t for t in (prepend, input, append) if t is not None], dim)
        for _ in range(n):
            size = x.shape[dim]
            rest = size - 1 if isinstance(size, int) and size > 0 else torch.sym_max(size - 1, 0)  # of nothing: nothing
            later, earlier = x.narrow(dim, size - rest, rest), x.narrow(dim, 0, rest)
            x = torch.logical_xor(later, earlier) if x.dtype == torch.bool else later - earlier
        return x

    return recorder.calls.native(compute, (), {})


def squeeze_copy(recorder, input, *dims, out=None, **named) -> Any:
    """Which dims there are afterwards is decided for `squeeze`."""
    if not recorder.is_symbolic(input) or out is not None:
        return NotImplemented
    return recorder.calls.native(lambda: torch.squeeze(input, *dims, **named).clone(), (), {})


def fill_diagonal(recorder, tensor, fill_value, wrap=False) -> Any:
    """torch writes through a view by strides, which cannot be traced; a diagonal can."""
    sizes = tensor.shape
    if (recorder.is_symbolic(tensor) or len(sizes) < 2 or wrap and sizes[0] > sizes[1]
            or len(sizes) > 2 and len(set(sizes)) > 1):
        return NotImplemented

    def compute():
        diagonal = tensor
        for _ in range(len(sizes) - 1):
            diagonal = diagonal.diagonal(0, 0, -1)
        diagonal.fill_(fill_value)
        return tensor

    return recorder.calls.native(compute, (), {})


def grouped_mm(recorder, input, mat2, offs=None, bias=None, out_dtype=None) -> Any:
    """Rows of each group times the group's matrix. torch's rule for shapes knows one dtype, its kernel others too."""
    if input.dim() != 2 or mat2.dim() != 3 or offs is None or bias is not None or out_dtype not in (None, input.dtype):
        raise CaptureRefusal("torch's grouped_mm other than rows in groups by a matrix per group",
                             "use a loop over the groups", kind="native.torch")

    def compute():
        group = (torch.arange(input.shape[0])[:, None] >= offs[None, :]).sum(1)
        result = torch.zeros(input.shape[0], mat2.shape[2], dtype=input.dtype)
        for k in range(mat2.shape[0]):
            rows = torch.nonzero(group == k)[:, 0]
            result = result.index_copy(0, rows, input[rows] @ mat2[k])
        return result

    return recorder.calls.native(compute, (), {})
