# SPDX-License-Identifier: Apache-2.0
"""Packed sequences (torch.nn.utils.rnn) whose lengths are known only at run time.

A packed sequence is what a mask selects from the padded one: `mask[t, b] = t < lengths[b]`, row by row, because lengths
descend. `batch_sizes` counts the mask's rows; what is known of a packed sequence is therefore kept by its batch_sizes
(which every op on the data passes on), and by the data for the padded form it was selected from. Recurrent layers over
one run on the padded form with lengths, as one op of ours that engines know (`sequence_lens` of ONNX).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy
import torch

from ..diagnostics import CaptureRefusal
from ..graph.aten import PACKED_OPS
from .tensor_to_number import size_expression


@dataclass(eq=False)
class _Pack:
    """What batch_sizes stand for. `padded`: by the data's value, the padded form that it was selected from."""

    lengths: torch.Tensor
    mask: torch.Tensor  # [time, batch]
    padded: dict


def pack(recorder, input: torch.Tensor, lengths: torch.Tensor, batch_first: bool) -> Any:
    if recorder.numbers.static(lengths) is not None and recorder.numbers.static(input) is not None:
        return NotImplemented
    if lengths.dim() != 1 or input.dim() < 2:
        return NotImplemented  # torch says what is wrong
    time_major = recorder.calls.native(torch.transpose, (input, 0, 1), {}) if batch_first else input
    lengths = _one_each(recorder, lengths, time_major.shape[1])
    _check(recorder, lengths, time_major.shape[0])

    def select():
        mask = torch.arange(time_major.shape[0])[:, None] < lengths[None, :]
        return mask, time_major[mask], mask.sum(1)[:lengths.max().item()]

    mask, data, batch_sizes = recorder.calls.native(select, (), {})
    found = _Pack(lengths, mask, {recorder.value_of(data): time_major})
    recorder.packs[recorder.value_of(batch_sizes)] = found
    return data, batch_sizes


def _one_each(recorder, lengths: torch.Tensor, batch: Any) -> torch.Tensor:
    """The lengths, with the batch's own extent: that they are as many (x[:n] and lengths[:n].tolist())
    is checked in the run."""
    count = lengths.shape[0]
    if type(count) is int and type(batch) is int or recorder.same_sizes((count,), (batch,)):
        return lengths
    fits = recorder.symbols.lower(sympy.Eq(size_expression(count), size_expression(batch)))
    recorder.check(fits, "Expected `len(lengths)` to be equal to batch_size", "RuntimeError")
    return recorder.new_handle(lengths.dtype, (batch,), recorder.value_of(lengths), lengths.device)


def _check(recorder, lengths: torch.Tensor, time: Any) -> None:
    def holds():
        if type(lengths.shape[0]) is not int:  # slices of it would ask for their extents
            return (
                (lengths.sort(descending=True).values == lengths).all() & (lengths.min() > 0) & (lengths.max() <= time)
            )
        descending = (lengths[:-1] >= lengths[1:]).all()
        return descending & (lengths[-1] > 0) & (lengths[0] <= time)

    real = recorder.numbers.static(lengths)
    if real is not None and bool((real[:-1] >= real[1:]).all()) and real[-1] > 0 and real[0] <= time:
        return
    if type(lengths.shape[0]) is not int:
        recorder.check(recorder.symbols.lower(sympy.Gt(size_expression(lengths.shape[0]), 0)),
                       "Cannot pack empty tensors.", "RuntimeError")
    fine = recorder.numbers.item(recorder.calls.native(holds, (), {}))
    if isinstance(fine, bool):
        if not fine:
            raise RuntimeError("lengths of a packed sequence must descend, be positive and fit the input")
        return
    recorder.check(fine.value, "lengths of a packed sequence must descend, be positive and fit the input",
                   "RuntimeError")


def pad(recorder, data: torch.Tensor, batch_sizes: torch.Tensor, batch_first: bool, padding_value: float = 0.0,
        total_length: int = -1) -> Any:
    found = _known(recorder, batch_sizes)
    if found is None:
        return NotImplemented
    whole = _padded(recorder, found, data)
    time = found.mask.shape[0]

    def laid_out():
        mask = found.mask.view(*found.mask.shape, *[1] * (whole.dim() - 2))
        x = torch.where(mask, whole, torch.full((), padding_value, dtype=whole.dtype))
        if total_length > 0 and total_length == time:
            pass
        elif total_length > 0 and total_length > time:
            rest = torch.full((total_length - time, *x.shape[1:]), padding_value, dtype=x.dtype)
            x = torch.cat([x, rest])
        else:
            x = x[:total_length if total_length > 0 else found.lengths.max().item()]
        return x.transpose(0, 1) if batch_first else x

    if total_length > 0 and total_length < time:
        longest = recorder.calls.native(lambda: found.lengths[0] <= total_length, (), {})
        recorder.check(recorder.numbers.item(longest).value,
                       "total_length is less than the longest of the sequences", "ValueError")
    return recorder.calls.native(laid_out, (), {}), found.lengths


def layer(name: str):
    def compose(recorder, *args) -> Any:
        if len(args) != 9 or not isinstance(args[1], torch.Tensor) or isinstance(args[3], bool):
            return NotImplemented  # not packed
        data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional = args
        found = _known(recorder, batch_sizes)
        if found is None:
            raise CaptureRefusal("a recurrent layer over a packed sequence of unknown origin",
                                 "pack it in the model, by pack_padded_sequence", kind="packed")
        states = list(hx) if isinstance(hx, (list, tuple)) else [hx]
        whole = _padded(recorder, found, data)
        padded, *last = recorder.calls.native(
            PACKED_OPS[name], (whole, found.lengths, states, list(params), has_biases, num_layers, bidirectional), {})
        selected = recorder.calls.native(lambda: padded[found.mask], (), {})
        found.padded[recorder.value_of(selected)] = padded
        return selected, *last

    return compose


def first_batch_size(recorder, tensor: torch.Tensor, index: Any) -> Any:
    """batch_sizes[0] is the batch: no sequence is empty."""
    if not recorder.packs or type(index) is not int or index != 0 or tensor.dim() != 1:
        return NotImplemented
    found = _known(recorder, tensor)
    batch = found.mask.shape[1] if found is not None else None
    return recorder.real.constant_handle(torch.tensor(batch)) if type(batch) is int else NotImplemented


def _known(recorder, batch_sizes: torch.Tensor) -> _Pack | None:
    return recorder.packs.get(recorder.value_of(batch_sizes)) if recorder.packs else None


def _padded(recorder, found: _Pack, data: torch.Tensor) -> torch.Tensor:
    known = found.padded.get(recorder.value_of(data))
    if known is not None:
        return known

    def scatter():
        mask, rest = found.mask.view(*found.mask.shape, *[1] * (data.dim() - 1)), data.shape[1:]
        if all(type(d) is int for d in found.mask.shape):
            return torch.zeros((*found.mask.shape, *rest), dtype=data.dtype).masked_scatter(mask, data)
        places = (found.mask.flatten().cumsum(0) - 1).clamp(min=0)  # masked_scatter asks for extents that are numbers
        return torch.where(mask, data.index_select(0, places).view(*found.mask.shape, *rest),
                           torch.zeros((), dtype=data.dtype))

    found.padded[recorder.value_of(data)] = padded = recorder.calls.native(scatter, (), {})
    return padded
