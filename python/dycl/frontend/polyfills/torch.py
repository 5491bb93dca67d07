# SPDX-License-Identifier: Apache-2.0
"""Functions and classes of torch written out in Python and interpreted by the machine (as polyfills/builtins.py is)."""

from __future__ import annotations

import torch
from functorch.experimental import control_flow

from ...calling.nodes import Tuple
from .. import torch_internals
from ..torch_internals import canonical_mask
from ..values.stand_in import InterpretedStandIn, made_stand_in, one_by_one
from .registry import substitutes, with_run_time_list


def make_size(iterable):
    return torch.Size([x for x in iterable])


def split_by(x, sizes, dim):
    total = 0
    for n in sizes:
        total = total + n
    if total != x.shape[dim]:
        raise RuntimeError("split_with_sizes expects split_sizes to sum exactly to the extent of the dim")
    found = []
    start = 0
    for n in sizes:
        found.append(x.narrow(dim, start, n))
        start = start + n
    return tuple(found)


def resize_antialiased(x, size, cubic, align_corners):
    """The resizing that filters: rows and columns are sums with weights of their own, so two products of matrices."""
    rows = antialiased_weights(x.shape[2], size[0], cubic, align_corners, x)
    columns = antialiased_weights(x.shape[3], size[1], cubic, align_corners, x)
    return torch.matmul(torch.matmul(rows, x), columns.transpose(0, 1))


@substitutes(torch.rrelu)
def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """While training each element that is not positive has a slope of its own, drawn in order."""
    if not training:
        return torch.nn.functional.leaky_relu(input, (lower + upper) / 2)
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    flat = input.reshape(-1)
    leaks = flat <= 0
    drawn = torch.empty(int(leaks.sum()), dtype=torch.float64).uniform_(generator=generator)
    least, most = torch.tensor([lower, upper], dtype=flat.dtype).to(torch.float64)  # as exact as the elements
    slopes = torch.ones_like(flat)
    slopes[leaks] = (drawn * (most - least) + least).to(flat.dtype)
    return torch.where(leaks, flat * slopes, flat).reshape(input.shape)


@substitutes(torch.rrelu_)
def rrelu_in_place(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    return input.copy_(rrelu(input, lower, upper, training, generator))


def antialiased_weights(extent, wanted, cubic, align_corners, like):
    if wanted <= 0:
        raise RuntimeError("Input and output sizes should be greater than 0")
    if align_corners:
        scale = (extent - 1) / (wanted - 1) if wanted > 1 else 0.0
    else:
        scale = extent / wanted
    width = max(scale, 1.0)
    centre = (torch.arange(wanted, device=like.device).to(like.dtype) + 0.5) * scale
    place = torch.arange(extent, device=like.device).to(like.dtype) + 0.5
    t = ((place.unsqueeze(0) - centre.unsqueeze(1)) / width).abs()
    if cubic:
        near = (1.5 * t - 2.5) * t * t + 1.0
        far = ((-0.5 * t + 2.5) * t - 4.0) * t + 2.0
        weights = torch.where(t < 1.0, near, torch.where(t < 2.0, far, torch.zeros_like(t)))
    else:
        weights = (1.0 - t).clamp(min=0.0)
    return weights / weights.sum(1, keepdim=True)


@substitutes(torch_internals.native_pad_sequence, when=with_run_time_list)
def pad_list(items, batch_first=False, padding_value=0.0, padding_side="right"):
    longest = 0
    for x in items:
        if x.shape[0] > longest:
            longest = x.shape[0]
    rows = []
    for x in items:
        padding = torch.full((longest - x.shape[0], *x.shape[1:]), padding_value, dtype=x.dtype, device=x.device)
        rows.append(torch.cat([x, padding] if padding_side == "right" else [padding, x]))
    found = torch.stack(rows)
    return found if batch_first else found.transpose(0, 1)


@substitutes(torch.cond)
def cond(pred, true_fn, false_fn, operands=()):
    if pred:
        return true_fn(*operands)
    return false_fn(*operands)


@substitutes(torch_internals.while_loop)
def while_loop(cond_fn, body_fn, carried_inputs):
    state = tuple(carried_inputs)
    while cond_fn(*state):
        state = body_fn(*state)
        if not isinstance(state, tuple):
            state = (state,)
    return state


@substitutes(control_flow.map)
def map_over(f, xs, *args):
    return torch.stack([f(x, *args) for x in xs])


@substitutes(torch_internals.scan)
def scan(combine_fn, init, xs, *, dim=0, reverse=False):
    leaves, kind = torch_internals.tree_flatten(xs)
    if not leaves:
        return init, []
    first = []
    for x in leaves:
        if x.ndim <= dim or x.shape[dim] == 0:
            raise RuntimeError("All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0")
        moved = torch.movedim(x, dim, 0)
        first.append(moved.flip(0) if reverse else moved)
    carry, y = combine_fn(init, torch_internals.tree_unflatten([x[0] for x in first], kind))
    results, kind_of_results = torch_internals.tree_flatten(y)
    rows = [[result] for result in results]
    for k in range(1, first[0].shape[0]):
        carry, y = combine_fn(carry, torch_internals.tree_unflatten([x[k] for x in first], kind))
        for row, result in zip(rows, torch_internals.tree_leaves(y)):
            row.append(result)
    stacked = [torch.stack(row) for row in rows]
    if reverse:
        stacked = [x.flip(0) for x in stacked]
    stacked = [torch.movedim(x, 0, dim) if dim < x.ndim else x for x in stacked]
    return carry, torch_internals.tree_unflatten(stacked, kind_of_results)


# What torch.export makes of these four: flat lists of tensors, and beside them what the functions closed over.


@substitutes(torch_internals.higher_order.cond)
def exported_cond(pred, true_graph, false_graph, operands=()):
    if pred:
        return true_graph(*operands)
    return false_graph(*operands)


@substitutes(torch_internals.higher_order.while_loop)
def exported_while_loop(cond_graph, body_graph, carried_inputs, additional_inputs):
    state = tuple(carried_inputs)
    while cond_graph(*state, *additional_inputs):
        state = body_graph(*state, *additional_inputs)
    return state


@substitutes(torch_internals.higher_order.map_impl)
def exported_map(graph, xs, args):
    rows = [[result] for result in graph(*[x[0] for x in xs], *args)]
    for k in range(1, xs[0].shape[0]):
        for row, result in zip(rows, graph(*[x[k] for x in xs], *args)):
            row.append(result)
    return tuple([torch.stack(row) for row in rows])


@substitutes(torch_internals.higher_order.scan)
def exported_scan(graph, init, xs, additional_inputs):
    found = graph(*init, *[x[0] for x in xs], *additional_inputs)
    carry = found[:len(init)]
    rows = [[result] for result in found[len(init):]]
    for k in range(1, xs[0].shape[0]):
        found = graph(*carry, *[x[k] for x in xs], *additional_inputs)
        carry = found[:len(init)]
        for row, result in zip(rows, found[len(init):]):
            row.append(result)
    return (*carry, *[torch.stack(row) for row in rows])


class RtSize(InterpretedStandIn, tuple):
    """A torch.Size with extents known only at run time."""

    late = False
    indexed = True

    def example(self, m):
        return torch.Size(())

    def held(self):
        return tuple(self)

    def flattened(self, flattener, path):
        return flattener.node(self, path, lambda each: Tuple.of(self, each, torch.Size))

    def is_instance(self, m, kinds):
        return isinstance(self, kinds) or torch.Size in one_by_one(kinds)

    def is_late_key(self):
        return any(made_stand_in(x) is not None for x in self)

    def as_key(self, m):
        return tuple(self)

    @staticmethod
    def of(extents):
        """A torch.Size of these."""
        return RtSize(extents) if any(made_stand_in(x) is not None for x in extents) else torch.Size(extents)

    def binary(self, m, s, op, a, b, inplace):
        if op == "add" and isinstance(a, tuple) and isinstance(b, tuple):
            return RtSize.of((*a, *b))
        return RtSize.of(tuple.__mul__(self, b if a is self else a)) if op == "mul" else NotImplemented

    def numel(self):
        n = 1
        for extent in self:
            n = n * extent
        return n


def encode_padded(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
    """nn.TransformerEncoder without gradients: eager computes what is not padded alone, as nested tensors, and gives 0
    where it is, if padding comes last in every sequence."""
    hidden = canonical_mask(mask=src_key_padding_mask, mask_name="src_key_padding_mask", other_type=None,
                                                 other_name="mask", target_type=src.dtype)
    kept = hidden.logical_not()
    output = src
    for layer in self.layers:
        output = layer(output, src_mask=None, is_causal=False, src_key_padding_mask=hidden)
    places = torch.arange(kept.shape[1], device=kept.device)
    aligned = (kept == (places < kept.sum(1, keepdim=True))).all()
    output = output.masked_fill((aligned & kept.logical_not()).unsqueeze(2), 0.0)
    return output if self.norm is None else self.norm(output)


@substitutes(torch.embedding_renorm_)
def renorm_rows(weight, indices, max_norm, norm_type):
    """torch.embedding_renorm_: the rows asked for that are longer than max_norm are shortened, in place."""
    asked = torch.zeros(weight.shape[0], dtype=torch.bool,
                        device=weight.device).index_fill(0, indices.reshape(-1).long(), True)
    norms = torch.linalg.vector_norm(weight, norm_type, dim=1)
    scales = torch.where(asked & (norms > max_norm), max_norm / (norms + 1e-7), 1.0)
    weight.mul_(scales.unsqueeze(1))
    return weight


class NullContext:
    """What torch.no_grad() and its like mean to a program that never differentiates."""

    def __init__(self, value=None):
        self.value = value

    def __enter__(self):
        return self.value

    def __exit__(self, *exc):
        return False

    def __call__(self, function):
        return function

    def clone(self):
        return self
