# SPDX-License-Identifier: Apache-2.0
"""Shapes of layers kept whole, for extents known only at run time.

Left to itself torch would unroll a recurrent layer over a symbolic length, or ask how large the batch
is to choose a convolution kernel. The formulas here ask nothing. Where all extents have hints, the
layer also runs on fake tensors of the hinted sizes: its errors are the user's, and a formula that
disagrees with torch is not used.
"""

from __future__ import annotations

from typing import Any, Callable

import torch

from ..torch_internals import FakeTensor
from .schema import bind

aten = torch.ops.aten


def symbolic_result(recorder, op, positional: tuple, keywords: dict) -> Any:
    """Fake results by formula, or NotImplemented."""
    formula = _FORMULAS.get(op)
    if formula is None:
        return NotImplemented
    shapes = formula(recorder, bind(op, positional, keywords))
    if shapes is None:
        return NotImplemented
    try:
        concrete = recorder.fake(op, _hinted(recorder, positional), _hinted(recorder, keywords))
    except Exception:
        if recorder.symbols.unconditional():
            raise
        return NotImplemented  # the example need not come here
    flat = list(concrete) if isinstance(concrete, (list, tuple)) else [concrete]
    if [tuple(recorder.symbols.hint(s) for s in sizes) for sizes in shapes] != [tuple(t.shape) for t in flat]:
        return NotImplemented
    results = [recorder.fake(torch.empty, (tuple(sizes),), {"dtype": t.dtype, "device": t.device})
               for sizes, t in zip(shapes, flat)]
    return tuple(results) if isinstance(concrete, (list, tuple)) else results[0]


def _hinted(recorder, tree: Any) -> Any:
    """Symbolic numbers and tensors replaced by what their hints say."""
    if isinstance(tree, FakeTensor):
        if not tree._has_symbolic_sizes_strides:
            return tree
        sizes = tuple(recorder.symbols.hint(s) for s in tree.shape)
        return recorder.fake(torch.empty, (sizes,), {"dtype": tree.dtype, "device": tree.device})
    if isinstance(tree, torch.SymInt):
        return recorder.symbols.hint(tree)
    if type(tree) in (list, tuple):
        return type(tree)(_hinted(recorder, x) for x in tree)
    if isinstance(tree, dict):
        return {k: _hinted(recorder, x) for k, x in tree.items()}
    return tree


# -- formulas: arguments by name -> sizes of each result, None if they do not apply ----------------


def _attention(recorder, a: dict) -> list | None:
    query, key, value = a["query"], a["key"], a["value"]
    same = recorder.same_sizes
    if not query.dim() == key.dim() == value.dim() > 2:
        return None
    if not (same(query.shape[:-2], key.shape[:-2]) and same(key.shape[:-1], value.shape[:-1])):
        return None
    if a["attn_mask"] is not None:
        mask = a["attn_mask"]
        full = (*query.shape[:-1], key.shape[-2])[-mask.dim():]
        if not all(same((m,), (1,)) or same((m,), (f,)) for m, f in zip(mask.shape, full)):
            return None
    return [(*query.shape[:-1], value.shape[-1])]


def _convolution(recorder, a: dict) -> list | None:
    x, weight = a["input"], a["weight"]
    n = weight.dim() - 2
    if x.dim() != n + 2 or weight._has_symbolic_sizes_strides or isinstance(x.shape[1], torch.SymInt):
        return None
    stride, dilation = _spread(a["stride"], n), _spread(a["dilation"], n)
    if a["padding"] == "same":
        return [(x.shape[0], weight.shape[0], *x.shape[2:])] if set(stride) == {1} else None
    padding = [0] * n if a["padding"] == "valid" else _spread(a["padding"], n)
    sizes = [(x.shape[i + 2] + 2 * padding[i] - dilation[i] * (weight.shape[i + 2] - 1) - 1) // stride[i] + 1
             for i in range(n)]
    return [(x.shape[0], weight.shape[0], *sizes)]


def _transposed(recorder, a: dict) -> list | None:
    x, weight = a["input"], a["weight"]
    n = weight.dim() - 2
    if x.dim() != n + 2 or weight._has_symbolic_sizes_strides or isinstance(x.shape[1], torch.SymInt):
        return None
    stride, dilation, padding = (_spread(a[k], n) for k in ("stride", "dilation", "padding"))
    extra = _spread(a["output_padding"], n)
    sizes = [(x.shape[i + 2] - 1) * stride[i] - 2 * padding[i] + dilation[i] * (weight.shape[i + 2] - 1) + extra[i] + 1
             for i in range(n)]
    return [(x.shape[0], weight.shape[1] * a["groups"], *sizes)]


def _spread(value: Any, n: int) -> list:
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    return values * n if len(values) == 1 else values


def _recurrent(recorder, a: dict) -> list | None:
    x, hidden = a["input"], a["hx"]
    states = hidden if isinstance(hidden, (list, tuple)) else [hidden]
    if x.dim() != 3:
        return None
    width = states[0].shape[-1] * (2 if a["bidirectional"] else 1)
    return [(*x.shape[:2], width), *(tuple(s.shape) for s in states)]


_FORMULAS: dict[Any, Callable] = {
    aten.scaled_dot_product_attention.default: _attention,
    **{getattr(aten, f"conv{n}d").default: _convolution for n in (1, 2, 3)},
    **{getattr(aten, f"conv{n}d").padding: _convolution for n in (1, 2, 3)},
    aten.conv_transpose1d.default: _transposed,
    aten.conv_transpose2d.input: _transposed,
    aten.conv_transpose3d.input: _transposed,
    **{getattr(aten, name).input: _recurrent for name in ("lstm", "gru", "rnn_tanh", "rnn_relu")},
}
