# SPDX-License-Identifier: Apache-2.0
"""The form of a tensor (extents, strides, offset, dtype), and what ops give for arguments of a form.

What torch computes for shapes, an unrolled loop or equal layers ask for again and again. `Forms` keeps, per capture,
the forms of an op's results by the op and the forms of its arguments, and makes further results from them. Only where
that is all they depend on: strided tensors on the CPU without symbolic extents, results that are new tensors or views
of the first argument. Whatever else comes up (an error too) is torch's to answer each time.
"""

from __future__ import annotations

import types
from typing import Any

import torch

from ..torch_internals import (
    FakeTensor,
    FakeTensorMode,
    OpOverload,
    forbid_data_pointer,
    make_subclass,
    tree_iter,
    without_dispatch,
)
from .shape_rules import contiguous_strides, result_shape

_META, _CPU = torch.device("meta"), torch.device("cpu")
PLAIN = {bool, int, float, str, types.NoneType, torch.dtype, torch.device, torch.memory_format, torch.layout}
_OTHER = type("_Other", (), {"__repr__": lambda self: "<other>"})()  # has no form


def form_of(x: Any) -> Any:
    """What the form of a result depends on, hashable; None if something else is in it.
    A handle counts by its own form."""
    kind = type(x)
    if kind is FakeTensor:
        info = x._dycl
        if info.form is None:
            info.form = _form_of_tensor(x)
        return None if info.form is _OTHER else info.form
    if kind in PLAIN:
        return (kind, x) if kind is not float or x else (kind, repr(x))  # 0.0 is not -0.0
    if kind is list or kind is tuple:
        forms = [kind]
        for item in x:
            form = form_of(item)
            if form is None:
                return None
            forms.append(form)
        return tuple(forms)
    if kind is torch.Size:
        return kind, tuple(x)
    if kind is dict:
        form = form_of(list(x.items()))
        return form and (dict, form)
    return None


def _form_of_tensor(x: torch.Tensor) -> Any:
    plain = not x._has_symbolic_sizes_strides and x.layout is torch.strided and x.device == _CPU
    if not plain or x.is_conj() or x.is_neg() or x.is_quantized:
        return _OTHER
    return FakeTensor, tuple(x.shape), x.stride(), x.storage_offset(), x.dtype


class Forms:
    def __init__(self, mode: FakeTensorMode):
        self.mode = mode
        self._known: dict[Any, tuple] = {}
        self._attributes: dict | None = None  # of a fake tensor that is nothing but that

    def key(self, func: Any, args: tuple, kwargs: dict) -> Any:
        """For `again` and `keep`; None: the result must be torch's."""
        forms = form_of(args)
        if forms is None:
            return None
        if kwargs:
            named = form_of(kwargs)
            return None if named is None else (id(func), forms, named, torch.get_default_dtype())
        return id(func), forms, None, torch.get_default_dtype()

    def again(self, key: Any, func: Any, args: tuple, kwargs: dict) -> Any:
        """New results as an earlier call with this key gave, or a rule gives; or NotImplemented."""
        known = self._known.get(key)
        if known is None:
            shape = result_shape(func, args, kwargs) if key is not None else None
            if shape is None:
                return NotImplemented
            form = (tuple(shape), contiguous_strides(shape), torch.float32, None)
            known = self._known[key] = (func, None, (form,))
        kind, forms = known[1:]
        if kind is None:
            return self._made(forms[0], args)
        return kind(self._made(form, args) for form in forms)

    def _made(self, form: tuple, args: tuple) -> FakeTensor:
        shape, stride, dtype, offset = form
        return self.blank(shape, stride, dtype) if offset is None else self._view(args[0], shape, stride, dtype, offset)

    def keep(self, key: Any, func: Any, args: tuple, kwargs: dict, result: Any) -> Any:
        """Remembers what the call gave if its form says all; returns it."""
        kind = None if type(result) is FakeTensor else type(result)
        results = [result] if kind is None else result
        if key is None or kind not in (None, tuple, list) or not results or not _is_built_in(func):
            return result
        storages = {x.untyped_storage()._cdata for x in tree_iter((args, kwargs)) if isinstance(x, FakeTensor)}
        forms = []
        for x in results:
            form = self._form_of_result(x, args[0] if args else None, storages)
            if form is None:
                return result
            forms.append(form)
        self._known[key] = (func, kind, tuple(forms))  # func: its id stays its own
        return result

    def _form_of_result(self, x: Any, first: Any, storages: set[int]) -> tuple | None:
        """For `_made`: of a new tensor, or of a view of the first argument; None if it is neither."""
        form = _form_of_tensor(x) if type(x) is FakeTensor else _OTHER
        if form is _OTHER or x is first:
            return None
        _, shape, stride, offset, dtype = form
        storage = x.untyped_storage()._cdata
        if type(first) is FakeTensor and storage == first.untyped_storage()._cdata:
            return shape, stride, dtype, offset
        if offset or storage in storages or not self._is_blank(x, shape, stride, dtype):
            return None
        return shape, stride, dtype, None

    def _is_blank(self, x: torch.Tensor, shape: tuple, stride: tuple, dtype: torch.dtype) -> bool:
        return self.blank(shape, stride, dtype).untyped_storage().nbytes() == x.untyped_storage().nbytes()

    def knows(self, key: Any) -> bool:
        return key in self._known

    def passed(self, key: Any, func: Any = None) -> bool:
        """Whether an op that writes, and gives nothing new, was run with this key before; `func`: it was now."""
        if func is not None and key is not None and _is_built_in(func):
            self._known[key] = (func, None, ())
        return key in self._known

    def blank(self, shape: tuple, stride: tuple, dtype: torch.dtype) -> FakeTensor:
        """torch.empty_strided on the CPU, as the mode gives it."""
        with without_dispatch():
            return self._fake(torch.empty_strided(shape, stride, dtype=dtype, device=_META))

    def _view(self, base: FakeTensor, shape: tuple, stride: tuple, dtype: torch.dtype, offset: int) -> FakeTensor:
        storage = base.untyped_storage()
        with without_dispatch():
            return self._fake(torch.empty((), dtype=dtype, device=_META).set_(storage, offset, shape, stride))

    def like(self, x: FakeTensor) -> FakeTensor:
        """A fake tensor of x's form, on x's storage."""
        with without_dispatch():
            fake = make_subclass(FakeTensor, x, False, dispatch_device=True, device_for_backend_keys=x.fake_device)
        fake.__dict__.update({name: value for name, value in x.__dict__.items() if name != "_dycl"})
        return fake

    def _fake(self, meta: torch.Tensor) -> FakeTensor:
        if self._attributes is None:
            self._attributes = dict(FakeTensor(self.mode, meta, _CPU).__dict__)
        fake = make_subclass(FakeTensor, meta, False, dispatch_device=True, device_for_backend_keys=_CPU)
        forbid_data_pointer(fake)
        fake.__dict__.update(self._attributes)
        return fake


def _is_built_in(func: Any) -> bool:
    """torch's own: its result depends on nothing but the arguments, and not on what they hold."""
    found = _built_in.get(func)
    if found is None:
        tags = func.tags if isinstance(func, OpOverload) else (torch.Tag.data_dependent_output,)
        plain = not {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape,
                     torch.Tag.inplace_view} & set(tags) \
            or func is torch.ops.aten.index.Tensor  # by a mask: extents are symbolic
        found = _built_in[func] = plain and func.namespace in ("aten", "prims") and func.overloadpacket not in (
            torch.ops.aten.as_strided, torch.ops.aten.lift, torch.ops.aten.lift_fresh)
    return found


_built_in: dict[Any, bool] = {}
