# SPDX-License-Identifier: Apache-2.0
"""Torch functions that take a list whose length is known only at run time, and tensors made of lists."""

from __future__ import annotations

import torch

from ... import torch_internals
from ...diagnostics import CaptureRefusal
from ...polyfills import torch as torch_polyfills
from ...semantics.registry import handles
from ...values.scalar import kind_of
from ...values.stand_in import is_instance, made_stand_in


def _join_tensors(how):
    def call(m, s, args, kwargs):
        source = args[0] if args else kwargs.get("tensors")
        own = made_stand_in(source)
        if own is None:
            return NotImplemented
        axis = args[1] if len(args) > 1 else kwargs.get("dim", kwargs.get("axis", 0))
        if m.has_runtime(axis) or kwargs.get("out") is not None:
            raise CaptureRefusal(f"torch.{how} of a list whose length is known only at run time with this argument",
                                 kind="list.stack")
        return own.joined_tensors(m, how, axis)

    return call


handles(torch.cat, torch.concat, torch.concatenate)(_join_tensors("cat"))
handles(torch.stack)(_join_tensors("stack"))


@handles(torch.tensor, torch.as_tensor)
def _tensor_of_list(m, s, args, kwargs):
    return _of_numbers(m, args[0], kwargs.get("dtype", args[1] if len(args) > 1 else None)) if args else NotImplemented


def _of_numbers(m, data, dtype):
    """The tensor of a list of run-time length, or of a list of such; another list is for torch itself."""
    if m.lists.has_rows(data):
        return m.lists.rows(data, dtype)
    own = made_stand_in(data)
    return own.tensor_of(m, dtype) if own is not None else NotImplemented


def _legacy_tensor(dtype):
    def call(m, s, args, kwargs):
        return _of_legacy_class(m, args[0], dtype()) if len(args) == 1 else NotImplemented

    return call


def _of_legacy_class(m, data, dtype):
    if m.is_array(data) and not data.scalar:  # its memory, or a copy in another dtype
        return m.recorder.call(torch.as_tensor, (data,), {"dtype": dtype})
    made = _numbers_in(m, data, dtype)
    if made is NotImplemented:
        return NotImplemented
    if made.dtype.is_floating_point and not dtype.is_floating_point:
        raise CaptureRefusal("integers made of floats known only at run time",
                             "round them first", kind="build.data")
    return made if made.dtype == dtype else m.recorder.call(torch.Tensor.to, (made, dtype), {})


def _numbers_in(m, data, dtype):
    """The tensor of a list's numbers; of floats, where integers are wanted, as they are."""
    exact = dtype if dtype.is_floating_point else None
    if m.lists.has_rows(data):
        floats = any(own.holds_floats(m) for row in data if (own := made_stand_in(row)) is not None)
        return m.lists.rows(data, exact if floats else dtype)
    if type(data) in (list, tuple) and m.has_runtime(data):
        return m.recorder.call(torch.tensor, (data,), {"dtype": exact})
    own = made_stand_in(data)
    return own.tensor_of(m, exact if own.holds_floats(m) else dtype) if own is not None else NotImplemented


handles(torch.Tensor)(_legacy_tensor(torch.get_default_dtype))
for _class, _dtype in ((torch.FloatTensor, torch.float32), (torch.DoubleTensor, torch.float64),
                       (torch.LongTensor, torch.int64), (torch.IntTensor, torch.int32), (torch.BoolTensor, torch.bool)):
    handles(_class)(_legacy_tensor(lambda dtype=_dtype: dtype))


@handles(torch.Tensor.new)
def _new_of_list(m, s, args, kwargs):
    """x.new(numbers) is what the class of x makes of them; of a torch.Size and of integers it makes a shape."""
    if len(args) != 2 or kwargs or not is_instance(m, args[1], (list, tuple)):
        return NotImplemented
    if is_instance(m, args[1], torch.Size):
        return m.recorder.call(torch.Tensor.new_empty, (args[0], args[1]), {})
    return _of_legacy_class(m, args[1], args[0].dtype)


@handles(torch.Tensor.new_tensor)
def _new_tensor_of_list(m, s, args, kwargs):
    return _of_numbers(m, args[1], kwargs.get("dtype") or args[0].dtype) if len(args) > 1 else NotImplemented


def _resize_antialiased(cubic):
    def call(m, s, args, kwargs):
        x, size = args[0], args[1] if len(args) > 1 else kwargs.get("output_size")
        factors = args[3:] or [v for k, v in kwargs.items() if k.startswith("scale")]
        if (kwargs.keys() & {"input"} or size is None or any(f is not None for f in factors)
                or x.dtype not in (torch.float32, torch.float64)):
            return NotImplemented
        corners = args[2] if len(args) > 2 else kwargs.get("align_corners", False)
        return m.call(s, torch_polyfills.resize_antialiased, (x, size, cubic, corners), {})

    return call


handles(torch_internals.upsample_bicubic_antialiased)(_resize_antialiased(True))
handles(torch_internals.upsample_bilinear_antialiased)(_resize_antialiased(False))


@handles(torch_internals.native_pad)
def _pad(m, s, args, kwargs):
    """With a number known only at run time around it."""
    given = dict(zip(("input", "pad", "mode", "value"), args), **kwargs)
    x, value = given.get("input"), given.get("value")
    if made_stand_in(value) is None or given.get("mode", "constant") != "constant" or not m.is_tensor(x):
        return NotImplemented
    if not (x.dtype.is_floating_point or x.dtype == torch.int64 and kind_of(value) == "int"):
        raise CaptureRefusal("padding of integers with a number known only at run time that is none",
                             "convert it", kind="native.number", because=value)
    call = m.recorder.call
    inside, filled = (call(torch_internals.native_pad, (t, given["pad"], "constant", 0), {})
                      for t in (call(torch.ones_like, (x,), {}), x))
    return call(torch.where, (call(torch.ne, (inside, 0), {}), filled,
                              call(torch.full, ((), value), {"dtype": x.dtype})), {})


@handles(torch.split, torch.Tensor.split, torch.split_with_sizes, torch.Tensor.split_with_sizes)
def _split(m, s, args, kwargs):
    sizes = args[1] if len(args) > 1 else kwargs.get("split_size_or_sections", kwargs.get("split_size"))
    if isinstance(sizes, (list, tuple)) or not is_instance(m, sizes, (list, tuple)):
        return NotImplemented
    dim = args[2] if len(args) > 2 else kwargs.get("dim", 0)
    return m.call(s, torch_polyfills.split_by, (args[0], sizes, dim), {})
