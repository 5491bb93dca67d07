# SPDX-License-Identifier: Apache-2.0
"""Shape metadata of results: what the cache and the rules answer is what torch answers."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor

from dycl.frontend.recording.recorder import Recorder
from dycl.frontend.recording.shape_rules import contiguous_strides, result_shape
from tests.frontend.support.recording import new_recorder

aten = torch.ops.aten


def _form(x: torch.Tensor) -> tuple:
    return tuple(x.shape), x.stride(), x.storage_offset(), x.dtype, x.device, x.untyped_storage().nbytes()


def _calls():
    extents = itertools.product((1, 2), (1, 4), (1, 5), (1, 6))
    for shape in [*extents, (2, 4), (1, 1), (3, 4, 5), (1, 1, 1), (2, 4, 3, 2, 3)]:
        x, of_channels = torch.randn(shape), torch.rand(shape[1])
        for scale in (of_channels, None):
            yield aten.batch_norm.default, (x, scale, scale, of_channels, of_channels, False, 0.1, 1e-5, True)
        yield aten.relu.default, (x,)
        yield aten.sigmoid.default, (x,)
        yield aten.tanh.default, (x,)
        for dim in range(-len(shape), len(shape)):
            yield aten.cat.default, ([x, x, torch.randn(*shape[:dim % len(shape)], 3, *shape[dim % len(shape) + 1:])],
                                     dim)
        if len(shape) == 4:
            yield aten.upsample_bilinear2d.vec, (x, [7, 9], True, None)
            yield aten.upsample_bilinear2d.vec, (x, None, False, [2.0, 1.7])
            yield aten.upsample_nearest2d.vec, (x, None, [2.0, 1.7])
            yield aten.conv2d.default, (x, torch.randn(6, shape[1], 1, 1))
            yield aten.conv2d.default, (x, torch.randn(6, shape[1], 3, 2), torch.randn(6), [2, 1], [2, 1], [1, 2], 1)
            yield aten.conv2d.default, (x, torch.randn(2 * shape[1], 1, 3, 3), None, [1], [1], [1], shape[1])
        if len(shape) == 3:
            yield aten.conv1d.default, (x, torch.randn(6, shape[1], 1), torch.randn(6), [2], [3])


def test_rules_say_what_torch_says():
    recorder, seen = new_recorder(), set()
    for op, args in _calls():
        eager = op(*args)
        given = tuple(recorder.real.lift(a) if isinstance(a, torch.Tensor) else [recorder.real.lift(x) for x in a]
                      if isinstance(a, list) and isinstance(a[0], torch.Tensor) else a for a in args)
        shape = result_shape(op, given, {})
        assert shape is not None, (op, args[0])
        assert (tuple(shape), contiguous_strides(shape)) == (tuple(eager.shape), eager.stride())
        fake = recorder.fake(op, given, {})
        assert _form(recorder.forms.blank(tuple(shape), contiguous_strides(shape), torch.float32)) == _form(fake)
        seen.add(op)
    assert len(seen) == 9


WRONG = [
    (aten.conv2d.default, (torch.randn(1, 3, 4, 4), torch.randn(2, 4, 1, 1))),  # channels
    (aten.conv2d.default, (torch.randn(1, 3, 2, 2), torch.randn(2, 3, 3, 3))),  # a kernel larger than the image
    (aten.conv2d.default, (torch.randn(1, 3, 4, 4), torch.randn(2, 3, 1, 1), torch.randn(3))),  # bias
    (aten.batch_norm.default, (torch.randn(1, 3, 4), None, None, torch.rand(2), torch.rand(2), False, 0.1, 1e-5, True)),
    (aten.cat.default, ([torch.randn(2, 3), torch.randn(3, 2)], 0)),
    (aten.cat.default, ([torch.randn(2, 3), torch.randn(2, 3)], 2)),
]


@pytest.mark.parametrize("op, args", WRONG)
def test_rules_leave_errors_to_torch(op, args):
    with pytest.raises((RuntimeError, IndexError)):
        op(*args)
    assert result_shape(op, args, {}) is None


def test_rules_are_for_contiguous_float32():
    x = torch.randn(2, 3, 4, 4).contiguous(memory_format=torch.channels_last)
    assert result_shape(aten.relu.default, (x,), {}) is None
    assert result_shape(aten.relu.default, (torch.randn(2, 3).double(),), {}) is None
    assert result_shape(aten.relu.default, (torch.randn(4, 4).t(),), {}) is None


SAME = [
    lambda x: x.permute(0, 2, 3, 1).relu(),
    lambda x: x.transpose(1, 2)[:, 1:],
    lambda x: x.permute(0, 2, 3, 1).contiguous().view(2, -1),
    lambda x: torch.split(x, 2, 1)[1],
    lambda x: torch.unsafe_split(x, 2, 1)[1] + 1,
    lambda x: x.max(1)[1],
    lambda x: (x[0, 1:].unsqueeze(0) > 0).to(torch.int32).sum(-1),
    lambda x: x.clone().add_(x[:1]),
    lambda x: x[:, torch.tensor([0, 0, 2])],
    lambda x: torch.nn.functional.layer_norm(x.flatten(2).mT, (4,)),
]


@pytest.mark.parametrize("fn", SAME)
def test_a_remembered_form_is_torchs(fn):
    recorder, x = new_recorder(), torch.randn(2, 4, 6, 5)
    first, again = (_through(recorder, fn, x.clone()) for _ in range(2))
    expected = fn(x)
    assert _form(first)[:4] == _form(again)[:4] == _form(expected)[:4]
    assert type(again) is FakeTensor and again.fake_mode is recorder.fake_mode


def _through(recorder: Recorder, fn, x: torch.Tensor) -> torch.Tensor:
    """fn run under the recording modes."""
    return recorder.transaction(lambda: recorder.calls.native(fn, (recorder.real.lift(x),), {}))


def test_the_default_dtype_counts():
    recorder, x = new_recorder(), torch.ones(3, dtype=torch.int64)
    mean = lambda t: torch.true_divide(t, 2)
    assert _through(recorder, mean, x).dtype is torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert _through(recorder, mean, x).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
