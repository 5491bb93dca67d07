# SPDX-License-Identifier: Apache-2.0
"""Where tensors become Python numbers: item, truth, tolist, equal, allclose.

What is known while capturing gives a plain number; everything else an `item` in the current block and
a runtime scalar.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

import torch

from ..diagnostics import CaptureRefusal
from ..graph import known_values
from ..graph.integer_ranges import EXTENT
from ..graph.program import BOOL, FLOAT, INT, ScalarType, TensorType, Value, dominates
from ..values.scalar import BY_KIND, EXAMPLES, RtScalar, graph_number, kind_of

aten = torch.ops.aten

TOLIST_LIMIT = 4096


def scalar_kind(dtype: torch.dtype) -> ScalarType:
    if dtype == torch.bool:
        return BOOL
    if dtype.is_complex:
        raise CaptureRefusal("a complex number read from a tensor", kind="dtype.complex")
    return FLOAT if dtype.is_floating_point else INT


class Numbers:
    """What a recorder knows of the numbers in tensors."""

    def __init__(self, recorder: Any):
        self.recorder = recorder
        self._items: dict[Value, RtScalar] = {}

    # -- reading ------------------------------------------------------------------

    def static(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """The real contents if they are known while capturing; the read is noted."""
        return self.static_value(self.recorder.value_of(tensor))

    def extent(self, tensor: torch.Tensor, axis: int) -> Any:
        """The size of a dim: a plain int or an RtInt."""
        size = self.recorder.real.lift(tensor).shape[axis]
        return self.recorder.symbols.from_symbolic(size) if isinstance(size, torch.SymInt) else size

    def static_value(self, value: Value) -> Any:
        return known_values.known_tensor(value, self.recorder.real.note_static_read)

    def item(self, tensor: torch.Tensor) -> Any:
        """A plain number or a runtime scalar."""
        sizes = tuple(tensor.shape)
        if not any(isinstance(s, torch.SymInt) for s in sizes) and tensor.numel() != 1:
            raise RuntimeError(f"a Tensor with {tensor.numel()} elements cannot be converted to Scalar")
        value = self.recorder.value_of(tensor)
        real = self.static_value(value)
        if real is not None:
            with self.recorder.without_modes():
                return real.item()
        return self.item_of_value(value)

    def item_of_value(self, value: Value) -> RtScalar:
        known = self._items.get(value)
        if known is not None and dominates(known.value.block, self.recorder.block):
            return known.again()
        kind = scalar_kind(value.type.dtype)
        scalar = BY_KIND[kind.kind](self.recorder.host("item", [value], kind), self.recorder.span)
        low, high = self.recorder.ranges.of(value)
        if kind == INT and low is not None and high is not None and high < EXTENT[1]:
            self.recorder.symbols.assume_between(scalar.value, low, high)
        self.recorder.remember(self._items, value, scalar)
        return scalar

    def truth(self, tensor: torch.Tensor) -> Any:
        """bool(t): a plain bool or an RtBool."""
        if not any(isinstance(s, torch.SymInt) for s in tensor.shape):
            if tensor.numel() == 0:
                raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
            if tensor.numel() > 1:
                raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return self.convert_scalar(self.item(tensor), "bool")

    def tolist(self, tensor: torch.Tensor) -> Any:
        """Nested lists of numbers; None if the extents are known only at run time."""
        real = self.static(tensor)
        if real is not None:
            with self.recorder.without_modes():
                return real.tolist()
        if any(isinstance(s, torch.SymInt) for s in tensor.shape):
            return None
        if tensor.dim() == 0:
            return self.item(tensor)
        if tensor.numel() > TOLIST_LIMIT:
            raise CaptureRefusal(f"tolist() of {tensor.numel()} elements known only at run time",
                                 f"at most {TOLIST_LIMIT} are supported; keep the computation in tensors",
                                 kind="tolist.size")
        flat = self.recorder.value_of(tensor)
        if tensor.dim() > 1:
            flat = self.recorder.record(aten.view.default, (flat, [tensor.numel()]), {},
                               [TensorType(tensor.dtype, (tensor.numel(),))])[0]
        numbers = [self._element(flat, i) for i in range(tensor.numel())]
        return _nest(numbers, list(tensor.shape))

    def _element(self, flat: Value, index: int) -> RtScalar:
        one = self.recorder.record(aten.select.int, (flat, 0, index), {}, [TensorType(flat.type.dtype, ())])[0]
        return self.item_of_value(one)

    # -- comparisons that give Python bools ------------------------------------------

    def equal(self, a: torch.Tensor, b: torch.Tensor) -> Any:
        if a.dim() != b.dim():
            return False
        if not self.recorder.same_shape(a, b):
            if any(isinstance(s, torch.SymInt) for s in (*a.shape, *b.shape)):
                raise CaptureRefusal("torch.equal of tensors whose shapes are known only at run time",
                                     "compare the shapes first", kind="exit.equal")
            return False
        return self.truth(self.recorder.calls.native(lambda: (a == b).all(), (), {}))

    def allclose(self, a, b, rtol=1e-05, atol=1e-08, equal_nan=False) -> Any:
        return self.truth(self.recorder.calls.native(lambda: torch.isclose(a, b, rtol, atol, equal_nan).all(), (), {}))

    # -- for native code that wants a number now ------------------------------------------

    def symbolic_item(self, tensor: torch.Tensor) -> Any:
        return self.recorder.symbols.to_symbolic(self.item(tensor))

    def native_truth(self, truth: Any) -> bool:
        """A bool for native code: known, or a decision."""
        if graph_number(truth) is truth:
            return bool(truth)
        return self.recorder.path.decide(self.recorder.symbols.to_symbolic(truth).node.expr)

    def assert_true(self, truth: Any, message: str, error: type = RuntimeError, in_try: bool = False) -> None:
        value = graph_number(truth)
        if isinstance(value, Value):
            self.recorder.check(value, str(message), error.__name__, in_try)
        elif not truth:
            raise error(str(message))

    # -- conversions between kinds of scalars ------------------------------------------------

    def convert_scalar(self, x: Any, kind: str) -> Any:
        """int(x), float(x) or bool(x) of a number, known or not."""
        have, value = kind_of(x), graph_number(x)
        if have == kind:
            return x
        if value is x:
            return type(EXAMPLES[kind])(x)
        return BY_KIND[kind](self.recorder.host(f"{have}.to_{kind}", [value], ScalarType(kind)), self.recorder.span)

    def scalar_as(self, x: RtScalar, dtype: torch.dtype) -> Value:
        """x as to_tensor of that dtype takes it."""
        return self.convert_scalar(x, scalar_kind(dtype).kind).value

    # -- small builders ---------------------------------------------------------------------

    def int_value(self, number: Any) -> Value:
        if isinstance(number, torch.SymInt):
            number = self.recorder.symbols.value_of(number)
        number = graph_number(number)
        return number if isinstance(number, Value) else self.recorder.host("const", [], INT, value=int(number))

    def float_value(self, number: Any) -> Value:
        if isinstance(number, (torch.SymInt, torch.SymFloat)):
            number = self.recorder.symbols.value_of(number)
        if isinstance(number, RtScalar):
            number = self.convert_scalar(number, "float").value
        if not isinstance(number, Value):
            return self.recorder.host("const", [], FLOAT, value=float(number))
        return number if number.type == FLOAT else self.recorder.host("int.to_float", [number], FLOAT)


def size_expression(size: Any) -> Any:
    return size.node.expr if isinstance(size, torch.SymInt) else int(size)


def _nest(flat: list, shape: list[int]) -> list:
    if len(shape) <= 1:
        return flat
    step = len(flat) // shape[0] if shape[0] else 0
    return [_nest(flat[i * step:(i + 1) * step], shape[1:]) for i in range(shape[0])]


# ---- functions of torch that are answered (recording/functions.py) -----------------------------------


def answer(method: Callable) -> Callable:
    @functools.wraps(method)
    def answered(recorder, *args: Any, **kwargs: Any) -> Any:
        return method(recorder.numbers, *args, **kwargs)

    return answered


def number(kind: type) -> Callable:
    def convert(recorder, tensor: torch.Tensor) -> Any:
        return recorder.numbers.convert_scalar(recorder.numbers.item(tensor), kind.__name__)

    return convert


def tolist(recorder, tensor: torch.Tensor) -> Any:
    found = recorder.numbers.tolist(tensor)
    if found is None:
        raise CaptureRefusal("tolist() of a tensor whose extents are known only at run time", kind="tolist.extent")
    return found
