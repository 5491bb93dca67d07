# SPDX-License-Identifier: Apache-2.0
"""Functions of float64 for which the engine has kernels of float32 alone, made of those that it has: exp, log, sin,
cos, tanh, sqrt. Each keeps what 64 bits hold, to a few units in the last place, and gives NaN and infinities where
eager does.

`COMPOSED` names them by the ONNX op that they stand for; the tape looks there (tape.py). `erfc` is for the
conversions that need its small values.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import math
from typing import Any, Callable, Sequence

import torch

_SQRT_HALF = math.sqrt(0.5)
_LOG_TWO = math.log(2.0)
_GREAT = 2.0**28  # from here on 1 + x * x is x * x
_NEARLY_OVERFLOWING = 22.0  # from here on exp(x) + exp(-x) is exp(x)

# Coefficients of Chebyshev's polynomials for (1 + 2x) exp(x^2) erfc(x), x >= 0, in (x - 3.75) / (x + 3.75): computed
# with 50 digits at 60 nodes; what is left out is below 1e-17.
_MIDDLE = 3.75
_TAIL = (
    1.1775789345674017, -0.004590054580646478, -0.08424913336651792, 0.05920993999819189, -0.026658668435305753,
    0.009074997670705265, -0.002413163540417608, 0.0004907758365258086, -6.916973302501207e-05, 4.13902798607301e-06,
    7.74038306619849e-07, -2.1886401049234397e-07, 1.076499946567091e-08, 4.521959811218287e-09,
    -7.754400208831351e-10, -6.318088340886684e-11, 2.86879501093067e-11, 1.9455868545777347e-13,
    -9.65469674843344e-13, 3.25254814814874e-14, 3.3478119482868056e-14, -1.864562880419313e-15,
    -1.2507950530688648e-15, 7.418235256624044e-17, 5.068148904796111e-17)
_ALL = 2**63 - 1  # as the end of a slice
_BEYOND = 30.0  # erfc of more is 0
_SERIES = tuple((-1) ** n * 2 / math.sqrt(math.pi) / (math.factorial(n) * (2 * n + 1)) for n in range(13))


class _Double:
    """A tensor of float64 on the tape, with Python's operators."""

    def __init__(self, t: Any, sym: Any):
        self.t, self.sym = t, sym

    def op(self, name: str, *others: Any, **attrs: Any) -> "_Double":
        return _Double(self.t, self.t.op(name, self.sym, *map(self._operand, others), **attrs))

    def _operand(self, x: Any) -> Any:
        return x.sym if isinstance(x, _Double) else self.t.constant(float(x), torch.float64)

    def number(self, value: float) -> "_Double":
        return _Double(self.t, self._operand(value))

    def __add__(self, other: Any) -> "_Double":
        return self.op("Add", other)

    def __sub__(self, other: Any) -> "_Double":
        return self.op("Sub", other)

    def __mul__(self, other: Any) -> "_Double":
        return self.op("Mul", other)

    def __truediv__(self, other: Any) -> "_Double":
        return self.op("Div", other)

    def __neg__(self) -> "_Double":
        return self.op("Neg")

    def __lt__(self, other: Any) -> "_Double":
        return self.op("Less", other)

    def __gt__(self, other: Any) -> "_Double":
        return self.op("Greater", other)

    def where(self, condition: "_Double", otherwise: Any) -> "_Double":
        return _Double(self.t, self.t.op("Where", condition.sym, self.sym, self._operand(otherwise)))

    def equals(self, other: Any) -> "_Double":
        return self.op("Equal", other)


def _odd(function: Callable[[_Double], _Double]) -> Callable[[_Double], _Double]:
    """A function of x from that of |x|."""

    @functools.wraps(function)
    def whole(x: _Double) -> _Double:
        size = function(x.op("Abs"))
        return x.where(x.equals(0.0), (-size).where(x < 0.0, size))

    return whole


def _tan(x: _Double) -> _Double:
    return x.where(x.equals(0.0), x.op("Sin") / x.op("Cos"))


def _exp_less_one(x: _Double) -> _Double:
    near = x.op("Abs") < 0.5
    tanh = (x.where(near, 0.0) * 0.5).op("Tanh")
    return ((tanh + tanh) / (-tanh + 1.0)).where(near, x.op("Exp") - 1.0)


def _log_of_one_more(x: _Double) -> _Double:
    """The part of x that 1 + x keeps corrects the rounding of the sum."""
    total = x + 1.0
    kept = total - 1.0
    logarithm = total.op("Log")
    corrected = logarithm * (x / kept.where(kept.op("Abs") > 0.0, 1.0))
    return x.where(total.equals(1.0), logarithm.where(x > _GREAT, corrected))


@_odd
def _sinh(x: _Double) -> _Double:
    less = _exp_less_one(x.where(x < _NEARLY_OVERFLOWING, 1.0))
    near = (less + less / (less + 1.0)) * 0.5
    root = (x * 0.5).op("Exp")
    return near.where(x < _NEARLY_OVERFLOWING, root * 0.5 * root)


def _cosh(x: _Double) -> _Double:
    size = x.op("Abs")
    root = (size * 0.5).op("Exp")
    return ((size.op("Exp") + (-size).op("Exp")) * 0.5).where(size < _NEARLY_OVERFLOWING, root * 0.5 * root)


@_odd
def _asinh(x: _Double) -> _Double:
    square = x.where(x < _GREAT, 1.0) * x.where(x < _GREAT, 1.0)
    near = _log_of_one_more(x.where(x < _GREAT, 1.0) + square / ((square + 1.0).op("Sqrt") + 1.0))
    return near.where(x < _GREAT, x.op("Log") + _LOG_TWO)


def _acosh(x: _Double) -> _Double:
    more = x.where(x < _GREAT, 1.0) - 1.0
    near = _log_of_one_more(more + (more * 2.0 + more * more).op("Sqrt"))
    return x.number(math.nan).where(x < 1.0, near.where(x < _GREAT, x.op("Log") + _LOG_TWO))


@_odd
def _atanh(x: _Double) -> _Double:
    return _log_of_one_more((x + x) / (-x + 1.0)) * 0.5


@_odd
def _atan(x: _Double) -> _Double:
    """The kernel of float32 gives seven digits; what is missing is the arctangent of something so small that it is
    itself."""
    far = x > 1.0
    small = x.op("Reciprocal").where(far, x)
    about = _Double(x.t, x.t.cast(x.t.op("Atan", x.t.cast(small.sym, torch.float32)), torch.float64))
    sine, cosine = about.op("Sin"), about.op("Cos")
    angle = about + (small * cosine - sine) / (cosine + small * sine)
    return (-angle + math.pi / 2).where(far, angle)


def _asin(x: _Double) -> _Double:
    return _atan(x / ((-x + 1.0) * (x + 1.0)).op("Sqrt"))


def _acos(x: _Double) -> _Double:
    half = _atan(((-x + 1.0) / (x + 1.0)).op("Sqrt"))
    return half + half


def _complement(x: _Double) -> _Double:
    """erfc(x) for x >= 0."""
    x = x.number(_BEYOND).where(x > _BEYOND, x)
    place = (x - _MIDDLE) / (x + _MIDDLE)
    double = place + place
    last, before = double * _TAIL[-1] + _TAIL[-2], double * 0.0 + _TAIL[-1]
    for coefficient in _TAIL[-3:0:-1]:
        last, before = double * last - before + coefficient, last
    sum_ = place * last - before + _TAIL[0]
    return sum_ / (x + x + 1.0) * (-(x * x)).op("Exp")


@_odd
def _erf(x: _Double) -> _Double:
    small = x.where(x < 0.5, 0.0)
    square = small * small
    near = square * _SERIES[-1] + _SERIES[-2]
    for coefficient in _SERIES[-3::-1]:
        near = near * square + coefficient
    return (near * small).where(x < 0.5, -_complement(x) + 1.0)


def erfc(t: Any, x: Any) -> Any:
    x = _Double(t, x)
    size = x.op("Abs")
    tail = _complement(size)
    near = -_erf(x) + 1.0
    far = (-tail + 2.0).where(x < 0.0, tail)
    return near.where(size < 0.5, far).sym


def _softplus(x: _Double) -> _Double:
    positive = x.where(x > 0.0, 0.0)
    return positive + _log_of_one_more((-x.op("Abs")).op("Exp"))


def _gelu(x: _Double, approximate: str = "none") -> _Double:
    if approximate == "tanh":
        inner = (x + x * x * x * 0.044715) * math.sqrt(2.0 / math.pi)
        return x * 0.5 * (inner.op("Tanh") + 1.0)
    half = _Double(x.t, erfc(x.t, (x * -_SQRT_HALF).sym)) * 0.5
    return x * half


def _elu(x: _Double, alpha: float = 1.0) -> _Double:
    return x.where(x > 0.0, _exp_less_one(x.number(0.0).where(x > 0.0, x)) * alpha)


def _leaky_relu(x: _Double, alpha: float = 0.01) -> _Double:
    return x.where(x > 0.0, x * alpha)


def _prelu(x: _Double, slope: _Double) -> _Double:
    return x.where(x > 0.0, x * slope)


def _mish(x: _Double) -> _Double:
    return x * _softplus(x).op("Tanh")


def _hard_sigmoid(x: _Double, alpha: float = 0.2, beta: float = 0.5) -> _Double:
    line = x * alpha + beta
    return line.number(0.0).where(line < 0.0, line.number(1.0).where(line > 1.0, line))


def _hard_swish(x: _Double) -> _Double:
    return x * _hard_sigmoid(x, 1.0 / 6.0, 0.5)


def _instance_norm(x: _Double, scale: _Double, shift: _Double, epsilon: float = 1e-5) -> _Double:
    t, places = x.t, list(range(2, x.sym.rank))
    along = t.ints([-1, *(1 for _ in places)])
    mean = _Double(t, t.op("ReduceMean", x.sym, t.ints(places)))
    apart = x - mean
    variance = _Double(t, t.op("ReduceMean", (apart * apart).sym, t.ints(places)))
    normal = apart / (variance + epsilon).op("Sqrt")
    return normal * _Double(t, t.op("Reshape", scale.sym, along)) + _Double(t, t.op("Reshape", shift.sym, along))


def _shifted(x: _Double, kernel_shape: Sequence[int], strides: Sequence[int], pads: Sequence[int],
             dilations: Sequence[int]) -> list:
    """What each place of the kernel meets, in the order of its places: a tensor of the result's extents for each."""
    t, n = x.t, len(kernel_shape)
    padded = x.sym
    if any(pads):
        padded = t.op("Pad", padded, t.ints([0, 0, *pads[:n], 0, 0, *pads[n:]]), t.constant(0.0, torch.float64))
    axes, steps = t.ints(list(range(2, 2 + n))), t.ints(list(strides))
    found = []
    for place in itertools.product(*map(range, kernel_shape)):
        starts = [k * d for k, d in zip(place, dilations)]
        rests = [(size - 1 - k) * d for size, k, d in zip(kernel_shape, place, dilations)]
        ends = [-rest if rest else _ALL for rest in rests]
        found.append(t.op("Slice", padded, t.ints(starts), t.ints(ends), axes, steps))
    return found


def _conv(x: _Double, weight: _Double, bias: _Double | None = None, *, kernel_shape: Sequence[int],
          strides: Sequence[int] = (), pads: Sequence[int] = (), dilations: Sequence[int] = (),
          group: int = 1) -> _Double:
    """A product of matrices for each place of the kernel."""
    t, n = x.t, len(kernel_shape)
    inputs = weight.sym.dims[1]
    parts = _shifted(x, kernel_shape, strides or [1] * n, pads or [0] * 2 * n, dilations or [1] * n)
    places = t.op("Reshape", weight.sym, t.ints([group, -1, inputs, math.prod(kernel_shape)]))
    total = None
    for k, part in enumerate(parts):
        matrix = t.op("Gather", places, t.constant(k, torch.int64), axis=3)
        columns = t.op("Reshape", part, t.ints([0, group, inputs, -1]))
        product = t.op("MatMul", matrix, columns)
        total = product if total is None else t.op("Add", total, product)
    extents = t.op("Shape", parts[0])
    shape = t.op("Concat", t.op("Slice", extents, t.ints([0]), t.ints([1])), t.ints([-1]),
                 t.op("Slice", extents, t.ints([2]), t.ints([_ALL])), axis=0)
    result = _Double(t, t.op("Reshape", total, shape))
    return result if bias is None else result + _Double(t, t.op("Reshape", bias.sym, t.ints([-1] + [1] * n)))


def _average_pool(x: _Double, *, kernel_shape: Sequence[int], strides: Sequence[int] = (), pads: Sequence[int] = (),
                  count_include_pad: int = 0) -> _Double:
    n = len(kernel_shape)
    window = (kernel_shape, strides or [1] * n, pads or [0] * 2 * n, [1] * n)

    def sum_of(operand: _Double) -> _Double:
        first, *others = (_Double(x.t, part) for part in _shifted(operand, *window))
        return functools.reduce(_Double.__add__, others, first)

    if count_include_pad or not any(pads):
        return sum_of(x) / float(math.prod(kernel_shape))
    ones = _Double(x.t, x.t.op("Expand", x.number(1.0).sym, x.t.op("Shape", x.sym)))
    return sum_of(x) / sum_of(ones)


COMPOSED: dict[str, Callable] = {
    "Acos": _acos, "Acosh": _acosh, "Asin": _asin, "Asinh": _asinh, "Atan": _atan, "Atanh": _atanh,
    "AveragePool": _average_pool, "Conv": _conv, "Cosh": _cosh, "Elu": _elu, "Erf": _erf, "Gelu": _gelu,
    "HardSigmoid": _hard_sigmoid, "HardSwish": _hard_swish, "InstanceNormalization": _instance_norm,
    "LeakyRelu": _leaky_relu, "Mish": _mish, "PRelu": _prelu, "Sinh": _sinh, "Softplus": _softplus, "Tan": _tan,
}


def composed(t: Any, name: str, operands: list, attrs: dict) -> Any:
    """The op over tensors of float64; None if there is none of them, or none that takes these attributes."""
    function = COMPOSED.get(name)
    if function is None:
        return None
    given = [None if x is None else _Double(t, x) for x in operands]
    try:
        inspect.signature(function).bind(*given, **attrs)
    except TypeError:
        return None
    return function(*given, **attrs).sym
