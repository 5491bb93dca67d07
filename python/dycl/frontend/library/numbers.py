# SPDX-License-Identifier: Apache-2.0
"""Numbers: int, float, bool, round, the functions of math and operator."""

from __future__ import annotations

import math
import operator
import types

from ..diagnostics import CaptureRefusal
from ..polyfills import builtins as polyfills
from ..polyfills import numbers as number_polyfills
from ..polyfills.registry import POLYFILLS
from ..semantics import identity, lookup, operators, subscripts
from ..semantics.registry import find, handles
from ..state import signals
from ..state.signals import PUSHED
from ..values.native_entries import refuse_own
from ..values.scalar import kind_of
from ..values.stand_in import index_of, made_stand_in, negated, number_of, stand_in_of, truth_of, type_of


@handles(int)
def _int(m, s, args, kwargs):
    return _convert(m, s, args, kwargs, int, polyfills.int_by)


@handles(float)
def _float(m, s, args, kwargs):
    return _convert(m, s, args, kwargs, float, polyfills.float_by)


def _convert(m, s, args, kwargs, to, polyfill):
    if len(args) != 1 or kwargs:
        return NotImplemented
    x, own = args[0], stand_in_of(args[0])
    found = own.converted(m, to) if own is not None else NotImplemented
    if found is not NotImplemented:
        return found
    rounded = own.rounded_number() if own is not None and to is float else None
    if rounded is not None:
        return m.call(s, number_polyfills.round_to, rounded, {})
    method = f"__{to.__name__}__"
    user = lookup.python_method(x, method)
    if user is not None:
        return m.call(s, polyfill, (types.MethodType(user, x), type(x).__name__), {})
    if subscripts.asks_index(x) and not hasattr(x, method):
        return m.call(s, number_polyfills.number_at, (x, to), {})
    return NotImplemented


@handles(bool)
def _bool(m, s, args, kwargs):
    if len(args) != 1:
        return NotImplemented
    x, own = args[0], stand_in_of(args[0])
    found = own.truth(m) if own is not None else NotImplemented
    if found is not NotImplemented:
        return found
    method = lookup.truth_method(x)
    if method is not None:
        result = m.call(s, method, (), {})
        if result is PUSHED:
            s.frames[-1].on_return = _push_truth
            return PUSHED
        return truth_of(m, result)
    return bool(x)


def _push_truth(m, s, value):
    s.frames[-1].stack.append(truth_of(m, value))


@handles(operator.truth)
def _truth(m, s, args, kwargs):
    return _bool(m, s, args, kwargs)


@handles(abs)
def _abs(m, s, args, kwargs):
    own = stand_in_of(args[0])
    found = own.absolute(m) if own is not None else NotImplemented
    if found is not NotImplemented:
        return found
    user = lookup.python_method(args[0], "__abs__")
    return m.call(s, user, (args[0],), {}) if user is not None else NotImplemented


@handles(round)
def _round(m, s, args, kwargs):
    own, digits = stand_in_of(args[0]), args[1] if len(args) > 1 else kwargs.get("ndigits")
    if own is None:
        return NotImplemented
    found = own.rounded(m, digits)
    return m.call(s, number_polyfills.round_to, (args[0], digits), {}) if found is NotImplemented else found


@handles(pow)
def _pow(m, s, args, kwargs):
    if len(args) == 2 and m.has_runtime(args):
        return operators.binary(m, s, "pow", args[0], args[1], False)
    if len(args) == 3 and m.has_runtime(args) and all(kind_of(number_of(m, x)) is not None for x in args):
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
        if any(kind_of(number_of(m, x)) is None for x in args):
            return m.call(s, number_polyfills.quotient_and_rest, args, {})
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
        args = tuple(number_of(m, a) for a in args)
        unknown = next((a for a in args if kind_of(a) is not None and made_stand_in(a) is not None), None)
        if unknown is not None:
            if polyfill is not None and (name != "log" or len(args) == 2):
                return m.call(s, polyfill, args, kwargs)
            result = m.scalars.math_call(name, args)
            if result is NotImplemented:
                raise CaptureRefusal(f"math.{name} of a number known only at run time", kind="math",
                                     because=unknown)
            return result
        return native(*args, **kwargs)

    return call


for _name, _fn in vars(math).items():
    if callable(_fn) and not _name.startswith("_") and find(_fn) is None:  # else it is interpreted
        handles(_fn)(_math(_name))


@handles(math.prod)
def _prod(m, s, args, kwargs):
    if len(args) != 1 or isinstance(args[0], (list, tuple)) and not m.has_runtime((args[0], kwargs)):
        return math.prod(*args, **kwargs)
    return m.call(s, number_polyfills.prod, args, kwargs)


@handles(operator.index)
def _operator_index(m, s, args, kwargs):
    if len(args) != 1:
        return NotImplemented
    x = args[0]
    if stand_in_of(x) is not None:
        return index_of(m, x)
    return m.call(s, lookup.python_method(x, "__index__"), (x,), {}) if subscripts.asks_index(x) else NotImplemented


def _in_digits(native):
    def call(m, s, args, kwargs):
        if len(args) != 1 or kwargs or stand_in_of(args[0]) is None:
            return NotImplemented
        return m.call(s, POLYFILLS[native], (index_of(m, args[0]),), {})

    return call


for _native in (bin, hex, oct):
    handles(_native)(_in_digits(_native))


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
    own = stand_in_of(args[0])
    found = own.truth(m) if own is not None else NotImplemented
    return NotImplemented if found is NotImplemented else negated(m, found)
