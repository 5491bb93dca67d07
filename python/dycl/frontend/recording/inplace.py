# SPDX-License-Identifier: Apache-2.0
"""Ops that write to their arguments: the functional form is recorded, then its result is written.

The functional form is found by schema: `add_.Tensor` is `add.Tensor`, `add.out` is `add.Tensor` without
`out`. The op itself still runs on the fake tensors, so that what eager torch refuses is refused alike.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import numpy as np
import sympy
import torch

from ...dtypes import own_name
from ..diagnostics import CaptureRefusal
from ..graph.program import TensorType, Value
from ..torch_internals import sympy_functions
from ..values.native_entries import imitated
from ..values.tensor import is_handle
from . import schema, value_checks
from .random import run_inplace
from .schema import bind, functional_form, is_out_variant
from .value_checks import expression

aten = torch.ops.aten


def run(recorder, func, args: tuple, kwargs: dict) -> Any:
    arguments = bind(func, args, kwargs)
    _check_overlap(recorder, func, arguments)
    special = _SPECIAL.get(func.overloadpacket)
    if special is not None and is_out_variant(func):
        special = None
    if special is not None:
        _try(recorder, func, args, kwargs)
        target = args[0]
        recorder.write(target, special(recorder, target, arguments))
        return target
    if torch.Tag.nondeterministic_seeded in func.tags:
        return run_inplace(recorder, func, args, kwargs)
    return _by_functional_form(recorder, func, args, kwargs, arguments)


_BY_INDEX = (aten.index_put_, aten.index_add_, aten.index_copy_, aten.index_fill_, aten.put_, aten.scatter_,
             aten.scatter_add_, aten.scatter_reduce_)

_PRODUCTS = (aten.addmm_, aten.addmv_, aten.addr_, aten.addbmm_, aten.baddbmm_)


def _check_overlap(recorder, func, arguments: dict) -> None:
    """Torch refuses to write to memory of which it reads some elements under another index; ops that write by index, to
    any memory that they read. Its own rule (MemoryOverlap.cpp): tensors with gaps are not looked at. Of other ops
    some fail and some read what they have just written. Where only the run knows the places, it ends there."""
    by_index, product = func.overloadpacket in _BY_INDEX, func.overloadpacket in _PRODUCTS
    alike_too = by_index or product
    for target, read in _written_and_read(func, arguments):
        if _is_symbolic(target) or _is_symbolic(read):
            if read is not target or alike_too:
                _require_apart(recorder, func, target, read, alike_too)
            continue
        if (read is not target or alike_too) and _overlap(target, read, alike_too):
            _refuse_overlap(func, torch_refuses=by_index or torch.Tag.pointwise in func.tags
                            or func.overloadpacket is aten.copy_)
        if read is not target and _rereads(target, read, in_order=not product):
            _refuse_overlap(func, torch_refuses=False)


def _written_and_read(func, arguments: dict) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Each tensor that it writes with each that it reads of the same memory."""
    names = {a.name for a in schema.written(func)}
    tensors = _tensors_of(func, arguments)
    written = [x for name, x in tensors if name in names]
    return [(target, x) for target in written for name, x in tensors
            if name not in names and x._dycl.cell is target._dycl.cell]


def _tensors_of(func, arguments: dict) -> list[tuple[str, torch.Tensor]]:
    """The tensors that it reads while it writes, and those that it writes, with the arguments' names."""
    return [(name, x) for name, given in arguments.items()
            for x in (given if isinstance(given, (list, tuple)) else (given,))
            if is_handle(x) and not _taken_as_number(func, name, arguments)]


def _refuse_overlap(func, torch_refuses: bool) -> None:
    if not torch_refuses:
        raise CaptureRefusal(f"{func.overloadpacket.__name__} reads and writes overlapping parts of one tensor",
                             "clone() what it reads", kind="tensor.overlap")
    raise RuntimeError("unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                       "single memory location. Please clone() the tensor before performing the operation.")


def _taken_as_number(func, name: str, arguments: dict) -> bool:
    """A value that the op reads before it writes."""
    if func.overloadpacket in (aten.index_fill_, aten.fill_, aten.masked_fill_):
        return name == "value"
    if func.overloadpacket is not aten.index_put_ or name != "values" or arguments.get("accumulate"):
        return False
    masks = [i for i in arguments["indices"] if i is not None]
    count = arguments["values"].numel()
    return type(count) is int and count == 1 and len(masks) == 1 and masks[0].dtype in (torch.bool, torch.uint8)


def _overlap(a: torch.Tensor, b: torch.Tensor, also_alike: bool) -> bool:
    """Whether they share elements; tensors that lie alike, element by element, only if that is asked for."""
    if a.untyped_storage()._cdata != b.untyped_storage()._cdata:  # handles of one storage that were made apart
        return False
    if not a.numel() or not b.numel() or a is not b and not all(map(_without_gaps, (a, b))):
        return False
    (a_first, a_end), (b_first, b_end) = ((x.storage_offset(), x.storage_offset() + x.numel()) for x in (a, b))
    if (a_first, a_end) == (b_first, b_end):
        return also_alike or a.stride() != b.stride()
    return a_first < b_end and b_first < a_end


def _rereads(target: torch.Tensor, read: torch.Tensor, in_order: bool) -> bool:
    """Whether an op reads elements that it has written before, if it goes through memory in its order: where tensors
    have gaps, torch lets it, and what it then reads depends on the width of vectors and on threads."""
    if target.untyped_storage()._cdata != read.untyped_storage()._cdata or not target.numel() or not read.numel():
        return False
    behind = read.storage_offset() - target.storage_offset()
    if in_order and behind >= 0 and (read.shape, read.stride()) == (target.shape, target.stride()):
        return False
    written, seen = _addresses(target), _addresses(read)
    shared = np.isin(seen, written)
    if in_order and shared.any() and _spreads(seen.shape, written.shape):
        shared = shared & (seen < written)
    return bool(shared.any())


def _spreads(shape: tuple, over: tuple) -> bool:
    """Whether numpy and torch broadcast it to that shape."""
    return len(shape) <= len(over) and all(n in (1, m) for n, m in zip(reversed(shape), reversed(over)))


def _addresses(x: torch.Tensor) -> np.ndarray:
    """Of all its elements."""
    found = np.array(x.storage_offset())
    for size, stride in zip(x.shape, x.stride()):
        found = found[..., None] + np.arange(size) * stride
    return found


def _require_apart(recorder, func, target: torch.Tensor, read: torch.Tensor, alike_too: bool) -> None:
    """The same where only the run knows the places: what is not known to be apart is asked there."""
    boxes = _Box(recorder.symbols, target._dycl), _Box(recorder.symbols, read._dycl)
    apart = _apart(*boxes) if alike_too else sympy.Or(_apart(*boxes), _in_step(*boxes))
    apart = _simplified(recorder.symbols, apart)
    if apart == sympy.false:
        _refuse_overlap(func, torch_refuses=False)
    if apart != sympy.true:
        recorder.check(recorder.symbols.lower(apart), f"{func.overloadpacket.__name__} reads and writes overlapping "
                       "parts of one tensor: clone() what it reads", "RuntimeError", in_try=True)


def _simplified(symbols, expr: sympy.Basic) -> sympy.Basic:
    """Without the parts whose answer is known on this path."""
    if isinstance(expr, (sympy.And, sympy.Or)):
        return expr.func(*(_simplified(symbols, part) for part in expr.args))
    if symbols.follows(expr):
        return sympy.true
    return sympy.false if symbols.follows(sympy.Not(expr)) else expr


class _Box:
    """The part of a storage that a view shows: (first place, extent, distance) along each of the storage's axes, and
    which axis each dim of the view goes along (None: no axis). `is_exact`: else only that it lies in there."""

    def __init__(self, symbols, info):
        path = info.path()
        self.symbols = symbols
        self.whole = [expression(n) for n in (path[0].parent if path else info).sizes]
        self.axes = [(sympy.Integer(0), n, 1) for n in self.whole]
        self.dims: list[int | None] = list(range(len(self.whole)))
        self.inside: list[sympy.Basic] = []  # what must hold of places counted from the end
        self.is_exact = True
        for view in path:
            if self.is_exact:
                self._step(view)

    def _step(self, view) -> None:
        func, args, kwargs = view.step
        given = bind(func, args, kwargs)
        packet = func.overloadpacket
        if packet in (aten.select, aten.slice):
            self.is_exact = self._cut(packet is aten.select, given, view.sizes)
        elif packet is aten.permute:
            self.dims = [self.dims[d] for d in given["dims"]]
        elif packet in (aten.transpose, aten.t):
            i, j = (given["dim0"], given["dim1"]) if packet is aten.transpose else (0, len(self.dims) - 1)
            self.dims[i], self.dims[j] = self.dims[j], self.dims[i]
        elif packet is aten.expand:
            kept = [None if type(n) is int and n == 1 else d for d, n in zip(self.dims, view.parent.sizes)]
            self.dims = [None] * (len(view.sizes) - len(kept)) + kept
        elif packet is aten.unsqueeze:
            self.dims.insert(given["dim"] % (len(self.dims) + 1), None)
        elif packet is not aten.view or any(
                expression(a) != expression(b) for a, b in zip_longest(view.sizes, view.parent.sizes, fillvalue=-1)):
            self.is_exact = False

    def _cut(self, one: bool, given: dict, sizes: tuple) -> bool:
        dim = given["dim"] % len(self.dims)
        axis = self.dims[dim]
        at, distance = (given["index"], 1) if one else (given["start"] or 0, given["step"])
        if axis is None or not isinstance(at, (int, torch.SymInt)) or type(distance) is not int:
            return False
        first, extent, before = self.axes[axis]
        place, size = expression(at), sympy.Integer(1) if one else expression(sizes[dim])
        if not self.symbols.follows(sympy.Ge(place, 0)):
            place = sympy_functions.PythonMod(place, extent)
            self.inside.append(sympy.Le(place + size, extent))
        self.axes[axis] = (first + place * before, size, before * distance)
        if one:
            del self.dims[dim]
        return True

    def has_gaps(self) -> sympy.Basic:
        """As torch asks it, of a storage that lies row by row."""
        return sympy.Or(*(sympy.And(sympy.Gt(outer, 1), sympy.Lt(inner, n)) for k, (_, outer, _) in enumerate(self.axes)
                          for (_, inner, _), n in zip(self.axes[k + 1:], self.whole[k + 1:])))


def _apart(a: _Box, b: _Box) -> sympy.Basic:
    """Whether they are apart along one of the axes."""
    apart = []
    for (at, size, distance), (other, extent, step) in zip(a.axes, b.axes):
        apart += [sympy.Le(at + (size - 1) * distance + 1, other), sympy.Le(other + (extent - 1) * step + 1, at)]
        apart += [sympy.Eq(n, 0) for n in (size, extent)]
    return sympy.And(*a.inside, *b.inside, sympy.Or(*apart))


def _in_step(target: _Box, read: _Box) -> sympy.Basic:
    """Whether each element is read before it is written, if an op goes through memory in its order: two parts that lie
    alike, or ones with gaps of which the read one lies behind the other."""
    if not target.is_exact or not read.is_exact or target.dims != read.dims:
        return sympy.false
    ahead, alike, same = [], [], []
    for (at, size, distance), (other, extent, step) in zip(target.axes, read.axes):
        alike.append(sympy.Eq(at, other))
        ahead.append(sympy.Ge(other, at))
        same += [sympy.Eq(size, extent), sympy.Or(sympy.Eq(size, 1), sympy.Eq(distance, step))]
    return sympy.And(*same, *target.inside, *read.inside,
                     sympy.Or(sympy.And(*alike), sympy.And(*ahead, target.has_gaps())))


def _is_symbolic(x: torch.Tensor) -> bool:
    return any(isinstance(n, torch.SymInt) for n in (*x.shape, *x.stride(), x.storage_offset()))


def _without_gaps(x: torch.Tensor) -> bool:
    expected = 1
    for stride, size in sorted((stride, size) for size, stride in zip(x.shape, x.stride()) if size != 1):
        if stride != expected:
            return False
        expected *= size
    return True


def _by_functional_form(recorder, func, args, kwargs, arguments) -> Any:
    functional = functional_form(func)
    written = schema.written(func)
    outs = is_out_variant(func)
    if not outs:
        _try(recorder, func, args, kwargs)
    positional, named = _functional_arguments(func, functional, arguments, written if outs else [])
    result = recorder.calls.dispatched(functional, positional, named)
    results = list(result) if isinstance(result, (list, tuple)) else [result]
    targets = [arguments[a.name] for a in written]
    if len(targets) == 1 and isinstance(targets[0], (list, tuple)):
        targets = list(targets[0])
    fresh = [r for r in func._schema.returns if r.alias_info is None]
    if len(results) != len(fresh) + len(targets):  # the functional form gives results first, new contents last
        raise CaptureRefusal(f"{func} writes in a way that is not supported", kind="inplace.op")
    for target, new in zip(targets, results[len(fresh):]):
        if target is not None:
            recorder.write(target, fitted(recorder, func, target, new, outs))
    return _returned(func, results[:len(fresh)], targets)


def _functional_arguments(func, functional, arguments: dict, outs: list) -> tuple[tuple, dict]:
    """(positional, by name); `outs`: the arguments that only take the result."""
    given = {a.name: arguments[a.name] for a in func._schema.arguments if a not in outs}
    positional = tuple(given.pop(a.name) for a in functional._schema.arguments if not a.kwarg_only)
    if outs and "dtype" not in given and any(a.name == "dtype" for a in functional._schema.arguments):
        given["dtype"] = arguments[outs[0].name].dtype
    return positional, given


def _try(recorder, func, args: tuple, kwargs: dict) -> None:
    """For its errors."""
    key = recorder.forms.key(func, args, kwargs)
    if not recorder.forms.passed(key):
        recorder.choose_cache((args, kwargs))
        operands, named = recorder.broadcasting.stretched(func, args, kwargs)
        imitated(func, operands, named)
        recorder.forms.passed(key, func)


def _returned(func, results: list, targets: list) -> Any:
    if not func._schema.returns:
        return None
    returned = results or targets
    return returned[0] if len(func._schema.returns) == 1 and len(returned) == 1 else tuple(returned)


# Ops whose out= may have any dtype that their result can be cast to; others have rules of their own in their kernels.
CONVERT_OUT = (aten.add, aten.sub, aten.mul, aten.div, aten.pow, aten.remainder, aten.maximum, aten.minimum, aten.exp,
               aten.log, aten.sqrt, aten.sin, aten.cos, aten.tanh, aten.sigmoid, aten.eq, aten.ne, aten.lt, aten.le,
               aten.gt, aten.ge, aten.logical_and, aten.logical_or, aten.logical_not)


def fitted(recorder, func, target: torch.Tensor, new: torch.Tensor, outs: bool) -> Value:
    """The value of `new` in target's dtype; its shape must be target's."""
    _check_shape(recorder, func, target, new, outs)
    if new.dtype != target.dtype:
        if outs and func.overloadpacket not in CONVERT_OUT:
            raise CaptureRefusal(f"out= of {func.overloadpacket.__name__} has another dtype than the result",
                                 f"allocate out with dtype={own_name(new.dtype)}", kind="inplace.out")
        if not torch.can_cast(new.dtype, target.dtype):
            raise RuntimeError(f"result type {_type_word(new.dtype)} can't be cast to the desired output type "
                               f"{_type_word(target.dtype)}")
        return recorder.record(aten._to_copy.default, (new,), {"dtype": target.dtype}, [target._dycl.type])[0]
    return recorder.value_of(new)


def _check_shape(recorder, func, target: torch.Tensor, new: torch.Tensor, outs: bool) -> None:
    differ = len(new.shape) != len(target.shape)
    for a, b in zip(new.shape, target.shape):
        if isinstance(a, torch.SymInt) or isinstance(b, torch.SymInt):
            if outs:  # an op in place has already made sure of it
                recorder.symbols.require_equal(a, b)
        else:
            differ |= a != b
    if differ and outs:
        raise CaptureRefusal(f"out= of {func.overloadpacket.__name__} has another shape than the result",
                             "allocate out with the result's shape", kind="inplace.out")
    if differ:
        raise CaptureRefusal(f"{func} would change the shape of the tensor it writes", kind="inplace.metadata")


_WORDS = {torch.float32: "Float", torch.float64: "Double", torch.float16: "Half", torch.bfloat16: "BFloat16",
          torch.int64: "Long", torch.int32: "Int", torch.int16: "Short", torch.int8: "Char", torch.uint8: "Byte",
          torch.bool: "Bool", torch.complex64: "ComplexFloat", torch.complex128: "ComplexDouble"}


def _type_word(dtype: torch.dtype) -> str:
    return _WORDS.get(dtype, str(dtype))


# -- ops with simpler parts than their functional form -----------------------------------------


def _copy(recorder, target, arguments) -> Value:
    return spread(recorder, arguments["src"], target)


def _copy_to(recorder, target, arguments) -> Value:
    return spread(recorder, arguments["b"], target)


def _fill(recorder, target, arguments) -> Value:
    value = arguments["value"]
    if isinstance(value, torch.Tensor):
        return spread(recorder, value, target)
    value_checks.require_number(recorder, aten.fill_.Scalar, (target, value), {}, target.dtype)
    return recorder.full(target, value)


def _zero(recorder, target, arguments) -> Value:
    return recorder.full(target, 0)


def spread(recorder, source: torch.Tensor, target: torch.Tensor) -> Value:
    """source's value in target's dtype and shape (broadcast)."""
    value, sizes = recorder.value_of(source), tuple(source.shape)
    if source.dtype != target.dtype:
        converted = TensorType(target.dtype, value.type.shape)
        value = recorder.record(aten._to_copy.default, (value,), {"dtype": target.dtype}, [converted])[0]
    while len(sizes) > len(target.shape):  # leading ones of a source with more dims, as in x[0] = y[None]
        sizes = sizes[1:]
        squeezed = TensorType(target.dtype, value.type.shape[1:])
        value = recorder.record(aten.squeeze.dim, (value, 0), {}, [squeezed])[0]
    if not recorder.same_sizes(sizes, tuple(target.shape)):
        value = recorder.record(aten.expand.default, (value, list(target.shape)), {}, [target._dycl.type])[0]
    return value


_SPECIAL = {aten.copy_: _copy, aten.fill_: _fill, aten.zero_: _zero,
            torch.ops.prims.copy_to: _copy_to}
