# SPDX-License-Identifier: Apache-2.0
"""Python arithmetic on runtime scalars, recorded as host ops with Python's exact meaning.

Operands are runtime scalars or plain numbers. A result whose *type* would depend on the value
(int ** negative int, int overflow into a long) is refused or fails at run time, never approximated.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from ..diagnostics import CaptureRefusal
from ..graph.program import BOOL, FLOAT, INT, ScalarType, Value, dominates
from .scalar import BY_KIND, TURNED, RtBool, RtFloat, RtInt, RtScalar, kind_of

_TO_INT = (0, (("isnan", None, ValueError("cannot convert float NaN to integer")),
               ("isinf", None, OverflowError("cannot convert float infinity to integer"))))
_DOMAIN, _RANGE = ValueError("math domain error"), OverflowError("math range error")
_SHIFT = (1, (("lt", 0, ValueError("negative shift count")),))
# Host ops that may fail, but for divisions and powers: (number of the operand, (test, bound, what is raised)...).
_FAULTS: dict[str, tuple] = {
    "float.to_int": _TO_INT, "float.round": _TO_INT, "float.floor": _TO_INT, "float.ceil": _TO_INT,
    "float.sqrt": (0, (("lt", 0.0, _DOMAIN),)), "float.log1p": (0, (("le", -1.0, _DOMAIN),)),
    **{f"float.{name}": (0, (("le", 0.0, _DOMAIN),)) for name in ("log", "log2", "log10")},
    **{f"float.{name}": (0, (("lt", -1.0, _DOMAIN), ("gt", 1.0, _DOMAIN))) for name in ("asin", "acos")},
    **{f"float.{name}": (0, (("isinf", None, _DOMAIN),)) for name in ("sin", "cos", "tan")},
    **{f"float.{name}": (0, (("gt", 709.782712893384, _RANGE),)) for name in ("exp", "expm1")},
    **{f"float.{name}": (0, (("gt", 710.4758600739439, _RANGE), ("lt", -710.4758600739439, _RANGE)))
       for name in ("sinh", "cosh")},
    "int.shl": _SHIFT, "int.shr": _SHIFT,
}


class Scalars:
    """Records host ops through the recorder; `origin` of results is the present span."""

    def __init__(self, recorder: Any):
        self.recorder = recorder
        self.static_ids: set[int] = set()  # values of plain numbers
        self.merged: dict[int, tuple] = {}  # values that are runtime only because static numbers merged
        self.origins: dict[int, Any] = {}  # where a value first became one of run time
        self._seen: dict = {}  # (op, operands, attrs) -> result, reused where it dominates
        self.machine: Any = None  # asked whether the program could catch a fault

    # -- building blocks -------------------------------------------------------

    def wrap(self, value: Any) -> Any:
        return BY_KIND[value.type.kind](value, self.merged.get(value.id) or self.recorder.span)

    def host(self, op: str, *operands: Value, type: ScalarType, **attrs: Any) -> Any:
        if op in _FAULTS and self.machine is not None and self.machine.in_try():
            self._raise_here(op, operands)
        key = (op, tuple(v.id for v in operands), tuple(attrs.items()))
        seen = self._seen.get(key)
        if seen is not None and seen.value.block is not None and dominates(seen.value.block, self.recorder.block):
            return seen.again()
        value = self.recorder.host(op, list(operands), type, **attrs)
        origins: list = [self.merged.get(v.id) for v in operands if v.id not in self.static_ids]
        if origins and all(origins):
            self.merged[value.id] = origins[0]
        result = self._seen[key] = self.wrap(value)
        if not isinstance(result.origin, tuple):
            result.origin = next((self.origins[v.id] for v in operands if v.id in self.origins), result.origin)
        self.origins[value.id] = result.origin
        return result

    def _raise_here(self, op: str, operands: tuple) -> None:
        """Inside `try` a fault of the op is a branch, so that the program's handlers see it."""
        place, tests = _FAULTS[op]
        x = self.wrap(operands[place])
        for test, bound, error in tests:
            found = self.host(f"float.{test}", x.value, type=BOOL) if bound is None else self.compare(test, x, bound)
            if self.machine.decide(found) and (error is not _RANGE or not self.machine.decide(
                    self.host("float.isinf", x.value, type=BOOL))):
                raise type(error)(*error.args)

    def value(self, x: Any, kind: str | None = None) -> Value:
        """The graph value of a number, converted to `kind` if given (bool -> int -> float)."""
        have = kind_of(x)
        if isinstance(x, RtScalar) and not isinstance(x.origin, tuple):
            self.origins.setdefault(x.value.id, x.origin)
        if not isinstance(x, RtScalar):
            return self._constant(x, have, kind)
        if kind is None or kind == have:
            return x.value
        target = ScalarType(kind)
        if kind == "bool":
            return self.recorder.host(f"{have}.to_bool", [x.value], target)
        if have == "float":
            raise CaptureRefusal("a float where an integer is needed", kind="type")
        if have == "bool" or kind == "float":
            return self.recorder.host(f"{have}.to_{kind}", [x.value], target)
        raise AssertionError((have, kind))

    def _constant(self, x: Any, have: str | None, kind: str | None) -> Value:
        if kind is not None and kind != have:
            x = {"int": int, "float": float, "bool": bool}[kind](x)
        if type(x) is int and not -(2**63) <= x < 2**63:
            raise CaptureRefusal(f"the integer {x} does not fit in 64 bits", kind="int64")
        value = self.recorder.host("const", [], ScalarType(kind or have or ""), value=x)
        self.static_ids.add(value.id)
        return value

    # -- conversions -----------------------------------------------------------

    def to_bool(self, x: RtScalar) -> RtBool:
        return x if isinstance(x, RtBool) else self.wrap(self.value(x, "bool"))

    def to_int(self, x: RtScalar) -> RtInt:
        self.origins.setdefault(x.value.id, x.origin)
        if isinstance(x, RtInt):
            return x
        if isinstance(x, RtFloat):
            return self.host("float.to_int", x.value, type=INT)
        return self.wrap(self.value(x, "int"))

    def to_float(self, x: RtScalar) -> RtFloat:
        return x if isinstance(x, RtFloat) else self.wrap(self.value(x, "float"))

    def extreme(self, name: str, a: Any, b: Any) -> Any:
        """max(a, b) or min(a, b) of two ints or two floats; NotImplemented: of others."""
        kind = kind_of(a)
        if kind not in ("int", "float") or kind_of(b) != kind:
            return NotImplemented
        return self.host(f"{kind}.{name}", self.value(a, kind), self.value(b, kind), type=ScalarType(kind))

    # -- operators ---------------------------------------------------------------

    def binary(self, op: str, a: Any, b: Any) -> Any:
        """op: add sub mul truediv floordiv mod pow and or xor lshift rshift."""
        ka, kb = kind_of(a), kind_of(b)
        if ka is None or kb is None:
            return NotImplemented
        if op in ("and", "or", "xor") and ka == kb == "bool":
            return self.host(f"bool.{op}", self.value(a), self.value(b), type=BOOL)
        if op in ("and", "or", "xor", "lshift", "rshift"):
            if "float" in (ka, kb):
                raise TypeError(f"unsupported operand type(s) for {op}: '{ka}' and '{kb}'")
            name = {"lshift": "shl", "rshift": "shr"}.get(op, op)
            return self.host(f"int.{name}", self.value(a, "int"), self.value(b, "int"), type=INT)
        kind = "float" if "float" in (ka, kb) else "int"
        if op == "truediv" and kind == "int":
            return self.host("int.truediv", self.value(a, "int"), self.value(b, "int"), type=FLOAT)
        if op == "pow":
            return self._power(a, b, kind)
        result = FLOAT if kind == "float" else INT
        return self.host(f"{kind}.{op}", self.value(a, kind), self.value(b, kind), type=result)

    def _power(self, a: Any, b: Any, kind: str) -> Any:
        if kind == "int":
            if isinstance(b, RtScalar):
                raise CaptureRefusal("an integer power with an exponent known only at run time may be an int or a "
                                     "float", "convert first: float(a) ** b", kind="pow", because=b)
            if b >= 0:
                return self.host("int.pow", self.value(a, "int"), self.value(b, "int"), type=INT)
        if isinstance(a, RtScalar) or a < 0:
            if isinstance(b, RtScalar) or not float(b).is_integer():
                # A negative base with a fractional exponent is complex in Python: the host op fails there.
                pass
        return self.host("float.pow", self.value(a, "float"), self.value(b, "float"), type=FLOAT)

    def power_of_ints(self, a: Any, b: Any, negative: bool) -> Any:
        """int ** int whose exponent's sign was decided."""
        if negative:
            return self.host("float.pow", self.value(a, "float"), self.value(b, "float"), type=FLOAT)
        return self.host("int.pow", self.value(a, "int"), self.value(b, "int"), type=INT)

    def compare(self, op: str, a: Any, b: Any) -> Any:
        """op: eq ne lt le gt ge. Comparing with something that is no number is never equal."""
        ka, kb = kind_of(a), kind_of(b)
        if ka is None or kb is None:
            if op == "eq":
                return False
            if op == "ne":
                return True
            return NotImplemented
        if ka == kb == "bool" and op in ("eq", "ne"):
            name = "bool.eq" if op == "eq" else "bool.xor"
            return self.host(name, self.value(a), self.value(b), type=BOOL)
        if {ka, kb} == {"int", "float"}:
            return self._compare_mixed(op, a, b)
        kind = "float" if "float" in (ka, kb) else "int"
        return self.host(f"{kind}.{op}", self.value(a, kind), self.value(b, kind), type=BOOL)

    def _compare_mixed(self, op: str, a: Any, b: Any) -> Any:
        """int against float: Python compares exactly; a double holds every int up to 2**53."""
        if not isinstance(a, RtScalar):
            if not isinstance(b, RtScalar):
                return getattr(operator, op)(a, b)
            return self._compare_mixed(TURNED.get(op, op), b, a)
        if type(b) is float and math.isfinite(b):
            return self._compare_exactly(op, a, b)
        if type(b) is int and not -(2**53) <= b <= 2**53:
            raise CaptureRefusal(f"the integer {b} compared with a float known only at run time",
                                 "compare floats", kind="int64")
        if isinstance(a, RtFloat) and isinstance(b, RtInt):
            return self._compare_mixed(TURNED.get(op, op), b, a)
        if isinstance(a, RtInt) and isinstance(b, RtFloat) and not self._held_by_double(a):
            return self._compare_at_run_time(op, a, b)
        return self.host(f"float.{op}", self.value(a, "float"), self.value(b, "float"), type=BOOL)

    def _held_by_double(self, x: RtInt) -> bool:
        if self.machine is None or self.machine.current is None:
            return False
        least, greatest = self.recorder.path.range_of(x)
        return least is not None and greatest is not None and -(2**53) <= least and greatest <= 2**53

    def _compare_at_run_time(self, op: str, a: RtInt, b: RtFloat) -> Any:
        """Where the rounded int equals the float, the float is a whole number: the ints decide."""
        rounded = self.value(a, "float")
        if op == "ne":
            return self.unary("not", self._compare_at_run_time("eq", a, b))
        # min(x, NaN) is x: what is no number, or too large, is cut off before the conversion, which would fail.
        cut = self.host("float.min", self.value(2.0**63 - 1024), b.value, type=FLOAT)
        cut = self.host("float.max", self.value(-(2.0**63)), cut.value, type=FLOAT)
        whole = self.wrap(self.recorder.host("float.to_int", [cut.value], INT))
        beyond = self.host("float.ge", b.value, self.value(2.0**63), type=BOOL)  # above every int
        near = self.host("float.eq", rounded, b.value, type=BOOL)
        exact = self.host(f"int.{op}", a.value, whole.value, type=BOOL)
        if op in ("lt", "le"):
            exact = self.binary("or", exact, beyond)
        elif op in ("gt", "ge"):
            exact = self.binary("and", exact, self.unary("not", beyond))
        exact = self.binary("and", near, exact)
        if op == "eq":
            return exact
        strictly = self.host(f"float.{op[0]}t", rounded, b.value, type=BOOL)
        return self.binary("or", strictly, exact)

    def _compare_exactly(self, op: str, a: RtScalar, b: float) -> Any:
        """An int with a known float: with the integer that gives the same answer."""
        if not b.is_integer() and op in ("eq", "ne"):
            return op == "ne"
        bound = math.floor(b) if op in ("le", "gt") else math.ceil(b)
        if not -(2**63) <= bound < 2**63:
            return op == "ne" or (op in ("lt", "le")) == (bound > 0) and op != "eq"
        return self.host(f"int.{op}", self.value(a, "int"), self.value(bound, "int"), type=BOOL)

    def unary(self, op: str, x: RtScalar) -> Any:
        """op: neg pos invert not."""
        if op == "not":
            return self.host("bool.not", self.to_bool(x).value, type=BOOL)
        if op == "invert":
            if isinstance(x, RtFloat):
                raise TypeError("bad operand type for unary ~: 'float'")
            return self.host("int.not", self.value(x, "int"), type=INT)
        kind = "float" if isinstance(x, RtFloat) else "int"
        if op == "pos":
            return x if x.kind == kind else self.wrap(self.value(x, kind))
        return self.host(f"{kind}.{op}", self.value(x, kind), type=ScalarType(kind))

    def absolute(self, x: RtScalar) -> RtScalar:
        kind = "float" if isinstance(x, RtFloat) else "int"
        return self.host(f"{kind}.abs", self.value(x, kind), type=ScalarType(kind))

    def round(self, x: RtScalar) -> RtScalar:
        return self.host("float.round", x.value, type=INT) if isinstance(x, RtFloat) else self.to_int(x)

    MATH = {"sqrt", "exp", "log", "log2", "log10", "sin", "cos", "tan", "tanh", "asin", "acos", "atan", "sinh", "cosh",
            "expm1", "log1p", "erf"}
    _OF_ONE = {**dict.fromkeys(MATH, FLOAT), **dict.fromkeys(("isnan", "isinf", "isfinite"), BOOL)}

    def _whole(self, how: str, x: RtScalar) -> RtInt:
        """math.floor, ceil or trunc."""
        if not isinstance(x, RtFloat):
            return self.to_int(x)
        return self.host("float.to_int" if how == "trunc" else f"float.{how}", x.value, type=INT)

    def math_call(self, name: str, args: tuple) -> Any:
        """math.<name> of numbers, at least one of them known only at run time; NotImplemented if unknown."""
        if any(kind_of(a) is None for a in args):
            return NotImplemented
        if name in self._OF_ONE and len(args) == 1:
            return self.host(f"float.{name}", self.value(args[0], "float"), type=self._OF_ONE[name])
        if name in ("floor", "ceil", "trunc") and len(args) == 1:
            return self._whole(name, args[0])
        if name in ("fmod", "pow") and self.machine is not None and self.machine.may_catch(ValueError, OverflowError):
            return NotImplemented  # fails by both operands
        if name in ("atan2", "fmod", "copysign", "hypot") and len(args) == 2:
            return self.host(f"float.{name}", self.value(args[0], "float"), self.value(args[1], "float"), type=FLOAT)
        if name == "fabs":
            return self.host("float.abs", self.value(args[0], "float"), type=FLOAT)
        if name == "pow":
            return self.host("float.pow", self.value(args[0], "float"), self.value(args[1], "float"), type=FLOAT)
        return NotImplemented
