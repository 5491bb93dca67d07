# SPDX-License-Identifier: Apache-2.0
"""Tensors: what Python's operations on them mean where torch itself does not say it.

Torch's tensors cannot derive from `StandIn`; `TensorHandle` says for one of them what the interface asks. Tensors known
while compiling come here too: an operation on one is recorded where the others are.
"""

from __future__ import annotations

import operator
import types
from typing import Any, Callable

import torch

from ...calling.templates import Template, Tensor
from ..diagnostics import CaptureRefusal
from ..graph.program import Value
from ..torch_internals import FakeTensor
from . import parameters
from .array import is_integer
from .counting import RtTensorIter
from .escape import Escape
from .native_entries import natively, refuse_own
from .scalar import RtFloat, RtInt, RtScalar, kind_of, refuse_nans
from .stand_in import ADAPTERS, StandIn, negated, one_by_one, stand_in_of, type_of
from .text import RtText

_OPERATORS = {"and": "and_", "or": "or_"}


def is_handle(x: Any) -> bool:
    """A fake tensor that knows its value in the graph."""
    return isinstance(x, FakeTensor) and hasattr(x, "_dycl")


def is_of_run_time(x: Any) -> bool:
    """Only a run knows it."""
    return isinstance(x, StandIn) or is_handle(x)


class TensorHandle(StandIn):
    __slots__ = ("tensor",)
    priority = 30
    indexed = True

    def __init__(self, tensor: torch.Tensor):
        self.tensor = tensor

    def type_of(self, m: Any) -> type:
        return parameters.kind_of(self.tensor) if m.is_symbolic(self.tensor) else type(self.tensor)

    def is_instance(self, m: Any, kinds: Any) -> bool:
        """Models ask whether a tensor is one of torch's stand-ins, which it is for us alone."""
        if not m.is_symbolic(self.tensor):
            return isinstance(self.tensor, kinds)
        return any(parameters.is_one_of(self.tensor, k)
                   for k in one_by_one(kinds) if not (isinstance(k, type) and issubclass(k, FakeTensor)))

    def copied(self, m: Any, deep: bool) -> Any:
        return m.recorder.call(torch.clone if deep else torch.Tensor.detach, (self.tensor,), {})

    def hint(self, m: Any, name: str) -> None:
        if m.is_symbolic(self.tensor) and self.tensor._dycl.parent is None:
            current = self.tensor._dycl.cell.value
            current.hint = current.hint or name

    def truth(self, m: Any) -> Any:
        return m.tensor_truth(self.tensor)

    def length(self, m: Any) -> Any:
        tensor = self.tensor
        if tensor.dim() == 0:
            raise TypeError("len() of a 0-d tensor")
        return tensor.shape[0] if type(tensor.shape[0]) is int else m.recorder.attribute(tensor, "shape")[0]

    def as_index(self, m: Any, error: str) -> Any:
        return m.tensor_index(self.tensor)

    def is_place(self, m: Any) -> bool:
        return is_integer(self.tensor)

    def get_item(self, m: Any, s: Any, key: Any) -> Any:
        tensor = self.tensor
        if isinstance(key, RtScalar) and m.in_try() and tensor.dim() and type(tensor.shape[0]) is int:
            n = tensor.shape[0]
            if not (m.decide(m.scalars.compare("lt", key, n)) and m.decide(m.scalars.compare("ge", key, -n))):
                raise IndexError(RtText.join(["index ", key, f" is out of bounds for dimension 0 with size {n}"]))
        m.note_deep(key)
        tensor, key = _narrowed(m, tensor, subscript(m, key))
        return m.recorder.call(operator.getitem, (tensor, key), {})

    def set_item(self, m: Any, s: Any, key: Any, value: Any) -> Any:
        m.recorder.call(operator.setitem, (self.tensor, subscript(m, key), value), {})

    def delete_item(self, m: Any, s: Any, key: Any) -> Any:
        return NotImplemented

    def as_subscript(self, m: Any) -> Any:
        return self.tensor

    def contains(self, m: Any, s: Any, item: Any, negate: bool) -> Any:
        found = m.recorder.call(torch.any, (m.recorder.call(operator.eq, (self.tensor, item), {}),), {})
        truth = m.tensor_truth(found)
        return negated(m, truth) if negate else truth

    def is_same(self, m: Any, a: Any, b: Any) -> Any:
        if a is b or not m.is_tensor(a) or not m.is_tensor(b):
            return NotImplemented
        a, b = (known if (known := m.recorder.real.handle_of(x)) is not None else x for x in (a, b))
        for tensor in (a, b) if a is not b else ():  # a merge may have hidden that they are one in some paths
            if m.is_symbolic(tensor):
                tensor._dycl.cell.guard()
        m.told_apart.append((a, b))
        if a is not b and not m.in_torch():  # torch asks to save work: either answer will do
            m.recorder.real.refuse_identity(a, b)
        return a is b

    def is_element(self, m: Any, a: Any, b: Any) -> Any:
        """Whoever asks compares them next, and one and the same number is equal to itself."""
        if a is b or not (_is_number(m, a) and _is_number(m, b)) or not any(x._dycl.cell.guard for x in (a, b)):
            return NotImplemented
        numbers = [m.tensor_item(x) for x in (a, b)]
        if all(isinstance(x, RtFloat) for x in numbers):
            refuse_nans(m, *numbers)
        return False

    def iterate(self, m: Any, s: Any) -> Any:
        if len(self.tensor.shape) == 0:
            raise TypeError("iteration over a 0-d tensor")
        rows = self.all_items(m)
        if rows is None:
            return m.new(RtTensorIter(self.tensor, m.recorder.numbers.extent(self.tensor, 0)))
        return m.new(m.iterators.SeqIter(rows))

    def all_items(self, m: Any) -> Any:
        if not len(self.tensor.shape) or type(self.tensor.shape[0]) is not int:
            return None
        return m.recorder.call(type(self.tensor).unbind, (self.tensor, 0), {})

    def attribute(self, m: Any, s: Any, name: str) -> Any:
        found = _ATTRIBUTES.get(name)
        return _method_or_own(m, self.tensor, name) if found is None else found(m, self.tensor, name)

    def store_attribute(self, m: Any, s: Any, name: str, value: Any) -> Any:
        if name == "requires_grad":
            if value is not False or self.tensor.requires_grad:
                m.want_gradients(self.tensor)
        elif name == "grad":
            if value is not None:
                raise CaptureRefusal("a gradient is assigned to a tensor", "compute gradients outside", kind="autograd")
        elif name == "data":
            _store_data(m, self.tensor, value)
        else:
            raise CaptureRefusal(f"the attribute {name} of a tensor is written", "keep it beside the tensor",
                                 kind="tensor.attribute")

    def is_late_key(self) -> bool:
        if is_handle(self.tensor):
            self.tensor._dycl.cell.guard()  # this tensor in some paths and that one in others: they stay apart
        return False

    def equal_key(self, m: Any, a: Any, b: Any) -> Any:
        return m.same_object(a, b)

    def yields(self, a: Any, b: Any, comparing: bool) -> bool:
        """torch compares with what has `__torch_function__`, and computes with whatever is on the right."""
        if not comparing:
            return not isinstance(a, torch.Tensor)
        return not any(hasattr(type(x), "__torch_function__") for x in (a, b) if not isinstance(x, torch.Tensor))

    def binary(self, m: Any, s: Any, op: str, a: Any, b: Any, inplace: bool) -> Any:
        if op == "mod" and isinstance(a, str):
            return NotImplemented  # a format, which takes tensors
        fn = getattr(operator, f"i{op}") if inplace and m.is_tensor(a) else getattr(operator, _OPERATORS.get(op, op))
        try:
            return m.recorder.call(fn, (a, b), {})
        except TypeError as error:  # of operands that torch does not take: Python's words, which name their types
            if not str(error).startswith("unsupported operand type(s) for ") or "'FakeTensor'" not in str(error):
                raise
            names = {TensorHandle(x).type_of(m).__name__ for x in (a, b) if m.is_symbolic(x)}
            if len(names) != 1:
                raise
            raise TypeError(str(error).replace("'FakeTensor'", f"'{names.pop()}'")) from None

    def unary(self, m: Any, s: Any, op: str) -> Any:
        return m.recorder.call(getattr(operator, op), (self.tensor,), {})

    def compare(self, m: Any, s: Any, op: str, a: Any, b: Any) -> Any:
        if op in ("eq", "ne") and any(x is None or isinstance(x, str) for x in (a, b)):
            return op == "ne"
        return m.recorder.call(getattr(operator, op), (a, b), {})

    def small_example(self, m: Any) -> Any:
        raise Escape(self.tensor, "example")

    def as_operand(self, m: Any) -> Any:
        return self.tensor

    def number(self, m: Any) -> Any:
        return m.tensor_number(self.tensor)

    def formatted(self, m: Any, spec: Any, conversion: int) -> Any:
        return m.texts.format_tensor(m, self.tensor, spec, conversion)

    def absolute(self, m: Any) -> Any:
        return m.recorder.call(torch.abs, (self.tensor,), {})

    def rounded(self, m: Any, digits: Any) -> Any:
        raise TypeError("type Tensor doesn't define __round__ method")

    def flattened(self, flattener: Any, path: str) -> Template:
        parameters.refuse_made(self.tensor, path)
        return flattener.leaf(self.tensor, Tensor(), numbered=True)

    def open_leaf(self) -> Template:
        return Tensor(self.tensor.dtype, tuple(d if type(d) is int else None for d in self.tensor.shape))

    def graph_values(self, m: Any) -> list[Value]:
        return [m.recorder.value_of(self.tensor)]

    def memory(self, m: Any) -> list:
        return [m.recorder.real.lift(self.tensor)]


ADAPTERS[torch.Tensor] = TensorHandle


# ---- attributes --------------------------------------------------------------------------------


def _as_it_is(m: Any, t: torch.Tensor, name: str) -> Any:
    return getattr(t, name)


def _recorded(m: Any, t: torch.Tensor, name: str) -> Any:
    return m.recorder.attribute(t, name)


def _shape(m: Any, t: torch.Tensor, name: str) -> Any:
    return t.shape if all(type(d) is int for d in t.shape) else m.recorder.attribute(t, "shape")


def _of_gradients(m: Any, t: torch.Tensor, name: str) -> Any:
    m.ask_about_gradients()
    return getattr(t, name) if name != "grad_fn" else None


def _method_or_own(m: Any, t: torch.Tensor, name: str) -> Any:
    own = t.__dict__.get(name, NotImplemented) if hasattr(t, "__dict__") else NotImplemented
    if own is not NotImplemented and not name.startswith("_"):
        return own
    found = next((vars(cls)[name] for cls in torch.Tensor.__mro__ if name in vars(cls)), None)
    if isinstance(found, types.FunctionType):
        return types.MethodType(found, t)
    if isinstance(found, types.MethodDescriptorType) and name in vars(FakeTensor):
        return found.__get__(t)  # torch's own, not the stand-in's
    try:
        return natively(getattr, t, name)
    except AttributeError as error:
        refuse_own(error)
        raise AttributeError(f"'{type_of(m, t).__name__}' object has no attribute '{name}'") from None


_ATTRIBUTES: dict[str, Callable[[Any, torch.Tensor, str], Any]] = {
    **dict.fromkeys(("dtype", "device", "layout", "ndim", "is_cuda", "is_sparse", "is_quantized", "is_meta",
                     "is_mkldnn", "is_mps", "is_xla", "is_xpu", "is_nested", "names", "itemsize", "_is_param"),
                    _as_it_is),
    **dict.fromkeys(("T", "mT", "H", "mH", "real", "imag", "nbytes"), _recorded),
    **dict.fromkeys(("requires_grad", "is_leaf", "grad_fn"), _of_gradients),
    **dict.fromkeys(("grad", "_grad"), lambda m, t, name: None),
    "shape": _shape,
    "__class__": lambda m, t, name: type_of(m, t),
    "data": lambda m, t, name: m.recorder.call(torch.Tensor.detach, (t,), {}),
}


def _is_number(m: Any, x: Any) -> bool:
    """One number, in a tensor."""
    return m.is_symbolic(x) and m.element_count(x) == 1 and not x.dtype.is_complex


def _is_root(m: Any, t: torch.Tensor) -> bool:
    """It stands for a tensor that was there before the call."""
    return any(root.handle is t for root in m.recorder.real.roots)


def _store_data(m: Any, obj: torch.Tensor, value: Any) -> None:
    """t.data = value: a copy, where nobody can tell; value and t share memory afterwards."""
    if (value is obj or isinstance(value, torch.Tensor) and m.is_symbolic(value) and not m.is_symbolic(obj)
            and m.recorder.real.lift(obj) is value):
        return  # as module.to() does where nothing is to be changed
    made = (m.is_symbolic(value) and value._dycl.parent is None and value is not obj
            and not _is_root(m, value))
    own = isinstance(obj, torch.nn.Parameter) or _is_root(m, obj)
    if not (made and own and m.recorder.same_shape(obj, value) and obj.dtype == value.dtype):
        raise CaptureRefusal("the memory of a tensor is replaced (`.data = ...`)",
                             "write into it with copy_", kind="tensor.attribute")
    m.recorder.call(torch.Tensor.copy_, (obj, value), {})


# ---- subscripts --------------------------------------------------------------------------------


def subscript(m: Any, key: Any) -> Any:
    """What torch takes in brackets: numbers as bounds of slices, lists of them as tensors."""
    own = stand_in_of(key)
    if own is not None:
        return own.as_subscript(m)
    if isinstance(key, tuple) and any(isinstance(k, (slice, list, tuple)) or stand_in_of(k) is not None for k in key):
        return tuple(_places(m, k) if type(k) in (list, tuple) else subscript(m, k) for k in key)
    if type(key) is list and any(isinstance(k, RtScalar) for k in key):
        return _of_numbers(m, key)
    if isinstance(key, slice) and any(stand_in_of(x) is not None for x in (key.start, key.stop, key.step)):
        return slice(*(_bound(m, x) for x in (key.start, key.stop, key.step)))
    return key


def _bound(m: Any, x: Any) -> Any:
    own = stand_in_of(x)
    return x if own is None else own.as_index(m, "slice indices must be integers or None or have an __index__ method")


def _of_numbers(m: Any, key: list) -> torch.Tensor:
    m.note_load(key, "*")
    kinds = {kind_of(k) for k in key}
    if len(kinds) > 1 or kinds <= {"float"}:
        raise CaptureRefusal("a tensor indexed by a list of numbers of different kinds",
                             "index with a tensor", kind="index")
    return m.recorder.call(torch.tensor, (key,), {})


def _places(m: Any, items: Any) -> Any:
    """A list or tuple inside a subscript: numbers in a row, of tensors without dims too."""
    places = all(is_integer(x) if isinstance(x, torch.Tensor) else isinstance(x, (RtInt, int)) for x in items)
    if not places or not any(map(m.is_tensor, items)):
        return subscript(m, items) if type(items) is list else items
    m.note_read(items)
    numbers = [m.recorder.call(torch.Tensor.to, (x, torch.int64), {}) if m.is_tensor(x)
               else m.scalar_tensor(x, torch.int64) for x in items]
    return m.recorder.call(torch.stack, (numbers,), {})


def _narrowed(m: Any, tensor: Any, key: Any) -> tuple[Any, Any]:
    """The tensor narrowed by slices between numbers known only at run time, and the subscript that is left.
    Others stay as they are."""
    keys = key if isinstance(key, tuple) else (key,)
    if not any(isinstance(k, slice) and (isinstance(k.start, RtInt) or isinstance(k.stop, RtInt)) for k in keys):
        return tensor, key
    left = list(keys)
    for axis, k in enumerate(keys):  # one subscript to a dim, up to one that is several or none
        if not isinstance(k, (slice, int, RtInt)) or isinstance(k, bool) or axis >= tensor.dim():
            break
        length = _length(m, k, tensor.shape[axis]) if isinstance(k, slice) else None
        if isinstance(k, slice) and length is not None:
            tensor = m.recorder.call(torch.narrow, (tensor, axis, k.start, length), {})
            left[axis] = slice(None)
    return tensor, tuple(left) if isinstance(key, tuple) else left[0]


def _length(m: Any, bounds: slice, extent: Any) -> int | None:
    """Known, and all of it inside the tensor."""
    if bounds.step not in (None, 1) or type(extent) is not int or not isinstance(bounds.start, RtInt):
        return None
    if not isinstance(bounds.stop, RtInt):
        return None
    symbols = m.recorder.symbols
    length = symbols.difference(bounds.stop, bounds.start)
    least, greatest = symbols.least(bounds.start), symbols.greatest(bounds.stop)
    if length is None or length < 0 or least is None or least < 0 or greatest is None or greatest > extent:
        return None
    return length
