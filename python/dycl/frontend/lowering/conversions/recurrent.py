# SPDX-License-Identifier: Apache-2.0
"""LSTM, GRU and RNN layers as ONNX's own ops, one per layer.

torch keeps the gates' rows in another order than ONNX (LSTM: i f g o against i o f g; GRU: r z n
against z r n). The rows are put in order by ops on the weights alone, which lowering computes once.
"""

from __future__ import annotations

import torch

from ...graph.aten import PACKED_OPS
from ..registry import CONVERSIONS, converts, dim_value, reshape, squeeze, static, unsqueeze
from ..tape import ConversionError, Sym, Tape
from .shapes import slice_

_ORDERS = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}


class _Layers:
    def __init__(
        self, t: Tape, op: str, input: Sym, params, has_biases, num_layers, bidirectional, batch_first, **attrs
    ):
        self.t, self.op, self.attrs = t, op, attrs
        self.directions = 2 if bidirectional else 1
        self.layers, self.biases = num_layers, has_biases
        each = 4 if has_biases else 2
        if len(params) != each * num_layers * self.directions:
            raise ConversionError(f"{op} with projections")
        self.params = [params[i : i + each] for i in range(0, len(params), each)]
        self.hidden = static(self.params[0][1].dims[1], "the hidden size")
        self.batched = input.rank == 3
        self.batch_first = batch_first and self.batched
        x = input if self.batched else unsqueeze(t, input, [1])
        self.x = t.op("Transpose", x, perm=[1, 0, 2]) if self.batch_first else x

    def rows(self, weight: Sym) -> Sym:
        order = _ORDERS[self.op]
        if len(order) == 1:
            return weight
        n = self.hidden
        index = torch.cat([torch.arange(gate * n, (gate + 1) * n) for gate in order])
        return self.t.op("Gather", weight, self.t.constant(index), axis=0)

    def stacked(self, parts: list[Sym]) -> Sym:
        return self.t.op("Concat", *[unsqueeze(self.t, p, [0]) for p in parts], axis=0)

    def state(self, states: Sym, layer: int) -> Sym:
        s = states if self.batched else unsqueeze(self.t, states, [1])
        d = self.directions
        return s if self.layers == 1 else slice_(self.t, s, 0, layer * d, (layer + 1) * d)

    def bias(self, params: list) -> Sym:
        """Of one layer: its input's and its state's, for each direction."""
        return self.stacked([self.t.op("Concat", self.rows(p[2]), self.rows(p[3]), axis=0) for p in params])

    def run(self, states: list[Sym], lengths: Sym | None = None) -> list[Sym]:
        """[output, final states...]"""
        t, x, finals = self.t, self.x, [[] for _ in states]
        direction = "bidirectional" if self.directions == 2 else "forward"
        attrs = dict(self.attrs, hidden_size=self.hidden, direction=direction)
        for layer in range(self.layers):
            mine = self.params[layer * self.directions : (layer + 1) * self.directions]
            w, r = (self.stacked([self.rows(p[i]) for p in mine]) for i in (0, 1))
            b = self.bias(mine) if self.biases else None
            y, *last = t.op(
                self.op, x, w, r, b, lengths, *[self.state(s, layer) for s in states], n=1 + len(states), **attrs
            )
            x = self.joined(y)
            for final, value in zip(finals, last):
                final.append(value)
        output = x if self.batched else squeeze(t, x, [1])
        output = t.op("Transpose", output, perm=[1, 0, 2]) if self.batch_first else output
        last = [f[0] if len(f) == 1 else t.op("Concat", *f, axis=0) for f in finals]
        return [output, *(v if self.batched else squeeze(t, v, [1]) for v in last)]

    def joined(self, y: Sym) -> Sym:
        """[time, directions, batch, hidden] -> [time, batch, directions * hidden]"""
        t = self.t
        if self.directions == 1:
            return squeeze(t, y, [1])
        y = t.op("Transpose", y, perm=[0, 2, 1, 3])
        return reshape(t, y, [dim_value(t, self.x, 0), dim_value(t, self.x, 1), self.directions * self.hidden])


def _check(dropout, train) -> None:
    if train and dropout:
        raise ConversionError("dropout between recurrent layers (training mode)")


@converts("lstm.input")
def lstm(t, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    _check(dropout, train)
    return _Layers(t, "LSTM", input, params, has_biases, num_layers, bidirectional, batch_first).run(list(hx))


@converts("gru.input")
def gru(t, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    _check(dropout, train)
    return _Layers(
        t, "GRU", input, params, has_biases, num_layers, bidirectional, batch_first, linear_before_reset=1
    ).run([hx])


def _rnn(activation: str):
    def convert(t, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
        _check(dropout, train)
        activations = [activation] * (2 if bidirectional else 1)
        return _Layers(
            t, "RNN", input, params, has_biases, num_layers, bidirectional, batch_first, activations=activations
        ).run([hx])

    return convert


converts("rnn_tanh.input")(_rnn("Tanh"))
converts("rnn_relu.input")(_rnn("Relu"))


_PACKED = {"lstm": ("LSTM", {}), "gru": ("GRU", {"linear_before_reset": 1}),
           "rnn_tanh": ("RNN", {"activation": "Tanh"}), "rnn_relu": ("RNN", {"activation": "Relu"})}


def convert_packed(name: str):
    """Of our own ops: a padded input and the lengths of its sequences."""
    op, options = _PACKED[name]

    def convert(t, input, lengths, states, params, has_biases, num_layers, bidirectional):
        attrs = dict(options)
        if "activation" in attrs:
            attrs = {"activations": [attrs["activation"]] * (2 if bidirectional else 1)}
        layers = _Layers(t, op, input, params, has_biases, num_layers, bidirectional, False, **attrs)
        return layers.run(list(states), t.cast(lengths, torch.int32))

    return convert


CONVERSIONS.update((op, convert_packed(name)) for name, op in PACKED_OPS.items())
