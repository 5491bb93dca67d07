# SPDX-License-Identifier: Apache-2.0
"""Numbers: int, float, bool, round, the functions of math and operator."""

from __future__ import annotations

import math
import operator
import types
from typing import Any

import numpy as np
import torch

from ..diagnostics import CaptureRefusal
from ..polyfills import builtins as polyfills
from ..polyfills import numbers as number_polyfills
from ..polyfills.registry import POLYFILLS
from ..semantics import identity, lookup, operators, subscripts
from ..semantics.registry import find, handles
from ..state import signals
from ..state.signals import PUSHED
from ..values import text_with_integers
from ..values.array import RtArray
from ..values.list import RtList
from ..values.native_entries import refuse_own
from ..values.scalar import RtFloat, RtScalar
from ..values.stand_in import type_of
from ..values.text import RtText


@handles(int)
def _int(m, s, args, kwargs):
    return _convert(m, s, args, kwargs, "int", "__int__")


@handles(float)
def _float(m, s, args, kwargs):
    return _convert(m, s, args, kwargs, "float", "__float__")


def _convert(m, s, args, kwargs, kind, method):
    if len(args) != 1 or kwargs:
        return NotImplemented
    x = args[0]
    if isinstance(x, RtArray):
        x = m.tensor_item(x.tensor)
        if not isinstance(x, RtScalar):
            return {"int": int, "float": float}[kind](x)
    if m.is_tensor(x):
        x = m.tensor_number(x)
        if not isinstance(x, RtScalar):
            return {"int": int, "float": float}[kind](x)
    if isinstance(x, RtText) and (number := text_with_integers.number(x)) is not None:
        x = number
    if isinstance(x, RtScalar):
        return m.scalars.to_int(x) if kind == "int" else m.scalars.to_float(x)
    user = lookup.python_method(x, method)
    if user is not None:
        return m.call(s, polyfills.int_by if kind == "int" else polyfills.float_by,
                      (types.MethodType(user, x), type(x).__name__), {})
    if subscripts.asks_index(x) and not hasattr(x, method):
        return m.call(s, number_polyfills.number_at, (x, {"int": int, "float": float}[kind]), {})
    return NotImplemented


@handles(bool)
def _bool(m, s, args, kwargs):
    if len(args) != 1:
        return NotImplemented
    x = args[0]
    if isinstance(x, RtScalar):
        return m.scalars.to_bool(x)
    if isinstance(x, RtList):
        return m.scalars.compare("gt", m.lists.length(x), 0)
    if isinstance(x, RtArray):
        x = x.tensor
    if m.is_tensor(x):
        return m.tensor_truth(x)
    method = lookup.truth_method(m, x)
    if method is not None:
        result = m.call(s, method, (), {})
        if result is PUSHED:
            s.frames[-1].on_return = _push_truth
            return PUSHED
        return _truth_of(m, result)
    return bool(x)


def _push_truth(m, s, value):
    s.frames[-1].stack.append(_truth_of(m, value))


def _truth_of(m, value):
    """Of what __bool__ or __len__ gave."""
    return m.scalars.to_bool(value) if isinstance(value, RtScalar) else bool(value)


@handles(operator.truth)
def _truth(m, s, args, kwargs):
    return _bool(m, s, args, kwargs)


@handles(abs)
def _abs(m, s, args, kwargs):
    x = args[0]
    if isinstance(x, RtScalar):
        return m.scalars.absolute(x)
    if m.is_array(x):
        return m.arrays.function(np.abs, (x,), {})
    if m.is_tensor(x):
        return m.recorder.call(torch.abs, (x,), {})
    user = lookup.python_method(x, "__abs__")
    return m.call(s, user, (x,), {}) if user is not None else NotImplemented


@handles(round)
def _round(m, s, args, kwargs):
    x = args[0]
    if isinstance(x, RtScalar):
        digits = args[1] if len(args) > 1 else kwargs.get("ndigits")
        if digits is None:
            return m.scalars.round(x)
        if type(digits) is not int or not 0 <= digits <= 22:
            raise CaptureRefusal("round() to these digits of a number known only at run time",
                                 kind="escape.round", because=x)
        return m.call(s, number_polyfills.round_to, (x, digits), {}) if isinstance(x, RtFloat) else m.scalars.to_int(x)
    if isinstance(x, RtArray):
        return _rounded_array(m, x, args[1] if len(args) > 1 else kwargs.get("ndigits"))
    if m.is_tensor(x):
        raise TypeError("type Tensor doesn't define __round__ method")
    return NotImplemented


def _rounded_array(m, x: RtArray, digits: Any) -> Any:
    """A numpy scalar without digits gives Python's int, with digits one of its own type."""
    if not x.scalar or x.tensor.dtype == torch.bool:
        raise TypeError(f"type {'numpy.bool' if x.scalar else 'numpy.ndarray'} doesn't define __round__ method")
    if digits is None:
        return m.scalars.round(m.tensor_item(x.tensor))
    if x.tensor.dtype.is_floating_point:
        return m.arrays.function(np.round, (x, digits), {})
    if type(digits) is not int or digits < 0:
        raise CaptureRefusal("round() to these digits of a number known only at run time",
                             kind="escape.round", because=x)
    return x


@handles(pow)
def _pow(m, s, args, kwargs):
    if len(args) == 2 and m.has_runtime(args):
        return operators.binary(m, s, "pow", args[0], args[1], False)
    if len(args) == 3 and m.has_runtime(args):
        if not (type(args[1]) is int and args[1] >= 0):
            raise CaptureRefusal("pow() with a modulus and an exponent that may be negative",
                                 "write (a ** b) % c", kind="pow")
        power = operators.binary(m, s, "pow", args[0], args[1], False)
        return operators.binary(m, s, "mod", power, args[2], False)
    return NotImplemented


@handles(divmod)
def _divmod(m, s, args, kwargs):
    if any(map(m.is_tensor, args)):
        raise TypeError("unsupported operand type(s) for divmod(): "
                        + " and ".join(f"'{type_of(m, x).__name__}'" for x in args))
    if m.has_runtime(args):
        a, b = args
        try:
            return (operators.binary(m, s, "floordiv", a, b, False), operators.binary(m, s, "mod", a, b, False))
        except ZeroDivisionError as error:
            refuse_own(error)
            raise ZeroDivisionError(str(error).replace("floor division by zero", "divmod()")) from None
    return NotImplemented


def _math(name):
    native = getattr(math, name)
    polyfill = POLYFILLS.get(native)

    def call(m, s, args, kwargs):
        if name == "trunc" and any(map(m.is_tensor, args)):
            raise TypeError("type Tensor doesn't define __trunc__ method")
        args = tuple(m.tensor_number(a) if m.is_tensor(a)
                     else m.tensor_item(a.tensor) if m.is_array(a) else a for a in args)
        if any(isinstance(a, RtScalar) for a in args):
            if polyfill is not None and (name != "log" or len(args) == 2):
                return m.call(s, polyfill, args, kwargs)
            result = m.scalars.math_call(name, args)
            if result is NotImplemented:
                raise CaptureRefusal(f"math.{name} of a number known only at run time", kind="math",
                                     because=next(a for a in args if isinstance(a, RtScalar)))
            return result
        return native(*args, **kwargs)

    return call


for _name, _fn in vars(math).items():
    if callable(_fn) and not _name.startswith("_") and find(_fn) is None:  # else it is interpreted
        handles(_fn)(_math(_name))


@handles(math.prod)
def _prod(m, s, args, kwargs):
    if len(args) != 1 or not (isinstance(args[0], RtList) or m.has_runtime(args[0]) or m.has_runtime(kwargs)
                              or not isinstance(args[0], (list, tuple))):
        return math.prod(*args, **kwargs)
    return m.call(s, number_polyfills.prod, args, kwargs)


@handles(operator.index)
def _operator_index(m, s, args, kwargs):
    x = m.tensor_index(args[0]) if len(args) == 1 and m.is_tensor(args[0]) else args[0] if args else None
    if isinstance(x, RtFloat):
        raise TypeError("'float' object cannot be interpreted as an integer")
    if subscripts.asks_index(x):
        return m.call(s, lookup.python_method(x, "__index__"), (x,), {})
    return m.scalars.to_int(x) if isinstance(x, RtScalar) else NotImplemented


_BINARY = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "truediv", "floordiv": "floordiv", "mod": "mod",
           "pow": "pow", "and_": "and", "or_": "or", "xor": "xor", "matmul": "matmul", "lshift": "lshift",
           "rshift": "rshift"}
for _name, _op in _BINARY.items():
    for _function, _inplace in ((getattr(operator, _name), False), (getattr(operator, f"i{_op}"), True)):
        handles(_function)(
            lambda m, s, args, kwargs, _op=_op, _inplace=_inplace: operators.binary(
                m, s, _op, args[0], args[1], _inplace
            )
        )
for _op in ("eq", "ne", "lt", "le", "gt", "ge"):
    handles(getattr(operator, _op))(lambda m, s, args, kwargs, _op=_op: operators.compare(m, s, _op, args[0], args[1]))


@handles(operator.getitem)
def _getitem(m, s, args, kwargs):
    return subscripts.get_item(m, s, *args)


@handles(operator.setitem)
def _setitem(m, s, args, kwargs):
    return signals.as_call(s, subscripts.set_item(m, s, *args))


@handles(operator.delitem)
def _delitem(m, s, args, kwargs):
    return signals.as_call(s, subscripts.delete_item(m, s, *args))


@handles(operator.contains)
def _contains(m, s, args, kwargs):
    return operators.contains(m, s, *args, negate=False)


@handles(operator.is_)
def _is(m, s, args, kwargs):
    return identity.same_object(m, *args)


@handles(operator.is_not)
def _is_not(m, s, args, kwargs):
    return not identity.same_object(m, *args)


@handles(operator.neg)
def _neg(m, s, args, kwargs):
    return operators.unary(m, s, "neg", args[0])


@handles(operator.not_)
def _not(m, s, args, kwargs):
    x = args[0]
    if isinstance(x, RtScalar):
        return m.scalars.unary("not", x)
    return NotImplemented
