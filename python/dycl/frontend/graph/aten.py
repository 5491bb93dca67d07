# SPDX-License-Identifier: Apache-2.0
"""The ops of a captured graph: torch's by name, and our own, which torch has no op for.

Our own are recurrent layers over padded sequences with lengths: (padded [time, batch, ...], lengths, states, params,
has_biases, num_layers, bidirectional) -> padded, states...
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.utils import rnn

aten = torch.ops.aten
LIBRARY = torch.library.Library("dycl", "DEF")
PACKED_LAYERS = {"lstm": torch.lstm, "gru": torch.gru, "rnn_tanh": torch.rnn_tanh, "rnn_relu": torch.rnn_relu}


def _define(name: str, layer: Any) -> Any:
    """(padded [time, batch, ...], lengths, states, params, has_biases, num_layers, bidirectional)
    -> padded, states..."""
    results = "(Tensor, Tensor, Tensor)" if name == "lstm" else "(Tensor, Tensor)"
    LIBRARY.define(f"packed_{name}(Tensor input, Tensor lengths, Tensor[] states, Tensor[] params, bool has_biases, "
                    f"int num_layers, bool bidirectional) -> {results}")

    def real(input: torch.Tensor, lengths: torch.Tensor, states: list, params: list, has_biases: bool,
             num_layers: int, bidirectional: bool) -> tuple:
        packed = rnn.pack_padded_sequence(input, lengths)
        hx = list(states) if name == "lstm" else states[0]
        data, *last = layer(packed.data, packed.batch_sizes, hx, params, has_biases, num_layers,
                            0.0, False, bidirectional)
        padded, _ = rnn.pad_packed_sequence(rnn.PackedSequence(data, packed.batch_sizes), total_length=input.shape[0])
        return padded, *last

    def fake(input: torch.Tensor, lengths: torch.Tensor, states: list, params: list, has_biases: bool,
             num_layers: int, bidirectional: bool) -> tuple:
        width = states[0].shape[-1] * (2 if bidirectional else 1)
        return input.new_empty(input.shape[0], input.shape[1], width), *(torch.empty_like(s) for s in states)

    LIBRARY.impl(f"packed_{name}", real, "CPU")
    torch.library.register_fake(f"dycl::packed_{name}", fake, lib=LIBRARY)
    return getattr(torch.ops.dycl, f"packed_{name}").default


PACKED_OPS = {name: _define(name, layer) for name, layer in PACKED_LAYERS.items()}


def overload(name: str) -> Any:
    """The OpOverload of "add.Tensor" or "relu", or None if this torch does not have it."""
    packet, _, which = name.partition(".")
    return getattr(getattr(aten, packet, None), which or "default", None)
