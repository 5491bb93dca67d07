# SPDX-License-Identifier: Apache-2.0
"""Values known only at run time, as the abstract machine and native code see them.

A runtime scalar (`RtInt`, `RtFloat`, `RtBool`) stands for a Python number that the compiled program
will compute. Nothing may turn it into a static value behind the machine's back: every protocol by
which native code could look inside (truth, index, hash, str, comparison, arithmetic, buffer) raises
`Escape`, which is a BaseException so that no `except Exception` swallows it. The machine handles the
operations it knows before native code ever sees the object; an `Escape` that reaches it becomes a
fork (truth) or a diagnostic (everything else).
"""

from __future__ import annotations

import functools
import numbers
import operator
import types
from typing import Any

import numpy as np

from ...calling.exceptions import Spelled
from ...calling.templates import Number, Template
from ..diagnostics import CaptureRefusal
from ..graph.program import BOOL, FLOAT, INT, HostNode, Value
from .escape import Escape
from .native_entries import natively
from .stand_in import KINDS, StandIn, as_stand_in, sealed, type_of

SIGNS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
         "pow": "** or pow()", "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "matmul": "@",
         "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


_OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift",
              "matmul", "divmod")


@sealed(*(f"{side}{op}=operator {op}" for op in _OPERATORS for side in ("", "r")),
        *(f"{op}=comparison {op}" for op in ("eq", "ne", "lt", "le", "gt", "ge")),
        *(f"{op}=operator {op}" for op in ("neg", "pos", "abs", "invert")),
        "bool=truth", "repr", "str", "format", "hash", "index", "int", "float", "complex", "len", "iter=iteration",
        "round", "trunc", "floor", "ceil", "bytes", "array=numpy", "reduce=pickle", "reduce_ex=pickle", "copy",
        "getitem=subscript", "contains=containment", "call", "dlpack")
class RtScalar(StandIn):
    """Base of runtime numbers. `value` is the graph value; immutable; shared freely between states."""

    __slots__ = ("value", "origin", "symbolic")
    kind = ""
    priority = 20

    def __init__(self, value: Value, origin: Any = None):
        self.value = value
        self.origin = origin  # why it is known only at run time: a Span, or a merge point (for restarts)
        self.symbolic = None  # the torch.SymInt/SymFloat that stands for it in native code, once made

    def again(self) -> "RtScalar":
        """The same number once more, computed by the program a second time: a float is an object of its own."""
        if self.kind != "float":
            return self
        other = type(self)(self.value, self.origin)
        other.symbolic = self.symbolic
        return other

    def describe(self) -> str:
        return f"<runtime {self.kind} %{self.value.id}>"

    def example(self, m: Any) -> Any:
        return EXAMPLES[self.kind]

    def small_example(self, m: Any) -> Any:
        return type(EXAMPLES[self.kind])(1)

    def identity(self, m: Any) -> Any:
        raise CaptureRefusal("id() of a number known only at run time", kind="escape.id", because=self)

    def copied(self, m: Any, deep: bool) -> Any:
        return self

    def hint(self, m: Any, name: str) -> None:
        self.value.hint = self.value.hint or name

    def truth(self, m: Any) -> Any:
        return m.scalars.to_bool(self)

    def as_index(self, m: Any, error: str) -> Any:
        return self

    def get_item(self, m: Any, s: Any, key: Any) -> Any:
        # Python's own words: t.squeeze().tolist() of one element is a number
        raise TypeError(f"'{self.kind}' object is not subscriptable")

    def contains(self, m: Any, s: Any, item: Any, negate: bool) -> Any:
        raise Escape(self, "containment")

    def is_in(self, m: Any, s: Any, container: Any, negate: bool) -> Any:
        if not isinstance(container, (dict, set, frozenset)):
            return NotImplemented
        return m.call(s, m.polyfills.not_in if negate else m.polyfills.is_in, (tuple(container), self), {})

    def binary(self, m: Any, s: Any, op: str, a: Any, b: Any, inplace: bool) -> Any:
        if _is_of_numpy(a) or _is_of_numpy(b):
            return m.arrays.binary(op, a, b, inplace)
        a, b = plain_number(a), plain_number(b)
        if kind_of(a) is None or kind_of(b) is None:
            return self._with_other(m, s, op, a, b)
        if op in ("truediv", "floordiv", "mod"):
            _refuse_zero(m, op, a, b)
        elif op == "pow":
            return _power(m, a, b)
        return m.scalars.binary(op, a, b)

    def _with_other(self, m: Any, s: Any, op: str, a: Any, b: Any) -> Any:
        """Beside something that is no number."""
        if op == "mod" and isinstance(a, str):
            return NotImplemented  # a format, which takes numbers
        other = b if a is self else a
        if type(other) in KINDS:
            return super().binary(m, s, op, a, b, False)
        if op == "mul" and isinstance(other, (list, tuple, str)):
            return _repeated(m, s, other, self)
        if not isinstance(other, (str, list, tuple, dict, set, type(None))):
            raise CaptureRefusal(f"the operator {SIGNS[op]} between a number known only at run time and a "
                                 f"{type_of(m, other).__name__}",
                                 "use plain numbers or tensors", kind="type", because=self)
        raise TypeError(f"unsupported operand type(s) for {SIGNS[op]}: '{type_of(m, a).__name__}' and "
                        f"'{type_of(m, b).__name__}'")

    def unary(self, m: Any, s: Any, op: str) -> Any:
        return m.scalars.unary(op, self)

    def is_same(self, m: Any, a: Any, b: Any) -> Any:
        if a is b and self.kind != "int":
            return True
        other = b if a is self else a
        if kind_of(other) is None:
            return NotImplemented
        if self.kind == kind_of(other) == "bool":
            return m.decide(m.scalars.compare("eq", a, b))
        if isinstance(other, RtScalar):
            raise CaptureRefusal("`is` between numbers known only at run time", "use ==", kind="identity", because=a)
        if self.kind == kind_of(other) == "int":
            raise CaptureRefusal("`is` with a number known only at run time", "use ==", kind="identity", because=self)
        return False

    def is_element(self, m: Any, a: Any, b: Any) -> Any:
        return is_same_number(m, a, b)

    def attribute(self, m: Any, s: Any, name: str) -> Any:
        if name == "real" or name == "numerator" and self.kind != "float":
            return self
        if name == "__class__":
            return self.type_of(m)
        method = m.polyfill_of(vars(float if self.kind == "float" else int).get(name))
        if method is not None:
            return types.MethodType(method, self)
        if hasattr(EXAMPLES[self.kind], name):
            raise CaptureRefusal(f"{self.kind}.{name} of a number known only at run time",
                                 kind="escape.attribute", because=self)
        raise AttributeError(f"'{self.kind}' object has no attribute '{name}'")

    def is_late_key(self) -> bool:
        return True

    def equal_key(self, m: Any, a: Any, b: Any) -> Any:
        if kind_of(a) is None or kind_of(b) is None:
            return False
        return m.scalars.compare("eq", a, b)

    def compare(self, m: Any, s: Any, op: str, a: Any, b: Any) -> Any:
        if _is_of_numpy(a) or _is_of_numpy(b):
            return m.arrays.compare(op, a, b)
        a, b = plain_number(a), plain_number(b)
        other = b if a is self else a
        if type(other) in KINDS:
            return m.call(s, getattr(operator, op), (as_stand_in(a), as_stand_in(b)), {})
        if isinstance(other, numbers.Number) and kind_of(other) is None:
            raise CaptureRefusal(f"a number known only at run time compared with a {type(other).__name__}",
                                 "compare it with plain numbers", kind="type", because=self)
        result = m.scalars.compare(op, a, b)
        if result is NotImplemented:
            raise TypeError(f"'{SIGNS[op]}' not supported between instances of '{type_of(m, a).__name__}' and "
                            f"'{type_of(m, b).__name__}'")
        return result

    def converted(self, m: Any, to: type) -> Any:
        return m.scalars.to_int(self) if to is int else m.scalars.to_float(self)

    def absolute(self, m: Any) -> Any:
        return m.scalars.absolute(self)

    def as_operand(self, m: Any) -> Any:
        return self

    def rounded(self, m: Any, digits: Any) -> Any:
        if digits is None:
            return m.scalars.round(self)
        if type(digits) is not int or not 0 <= digits <= 22:
            raise CaptureRefusal("round() to these digits of a number known only at run time",
                                 kind="escape.round", because=self)
        return NotImplemented if self.kind == "float" else m.scalars.to_int(self)

    def formatted(self, m: Any, spec: Any, conversion: int) -> Any:
        return m.texts.format_number(self, spec, conversion)

    def flattened(self, flattener: Any, path: str) -> Template:
        return flattener.leaf(self, self.open_leaf())

    def open_leaf(self) -> Template:
        return Number(self.kind)

    def graph_values(self, m: Any) -> list[Value]:
        return [self.value]

    def as_argument(self, arguments: Any) -> Any:
        arguments.symbolic = True
        return arguments.recorder.symbols.to_symbolic(self)

    def shown(self) -> tuple:
        return (self,)

    def spelled(self) -> Template:
        return Spelled(self.kind, "{}")


class RtInt(RtScalar):
    __slots__ = ()
    kind = dycl_number = "int"
    type = INT

    def is_place(self, m: Any) -> bool:
        return True

    def possible_values(self, m: Any) -> list | None:
        least, greatest = m.facts.of(self, m.current.ranges)
        if least is None or greatest is None or greatest - least >= m.options.max_switch:
            return None
        return list(range(least, greatest + 1))


class RtFloat(RtScalar):
    __slots__ = ()
    kind = dycl_number = "float"
    type = FLOAT

    def as_index(self, m: Any, error: str) -> Any:
        raise TypeError(error)

    def check_key(self, m: Any) -> None:
        """A NaN is a key of its own, unless it is the same object: nothing that a run can tell."""
        m.recorder.check(m.scalars.compare("eq", self, self).value, "a NaN as a key", "RuntimeError")


class RtBool(RtScalar):
    __slots__ = ()
    kind = dycl_number = "bool"
    type = BOOL

    def possible_values(self, m: Any) -> list | None:
        return [False, True]


BY_KIND = {"int": RtInt, "float": RtFloat, "bool": RtBool}
EXAMPLES = {"int": 0, "float": 0.0, "bool": False}  # of each kind

_RANK = {"bool": 0, "int": 1, "float": 2}


TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def kind_of(x: Any) -> str | None:
    """'bool', 'int' or 'float' of a runtime scalar or a plain number; None for anything else."""
    if isinstance(x, RtScalar):
        return x.kind
    t = type(x)
    if t is bool:
        return "bool"
    if t is int:
        return "int"
    if t is float:
        return "float"
    return None


def graph_number(x: Any) -> Any:
    """A number as the graph has it: its value, or the plain number."""
    return x.value if isinstance(x, RtScalar) else x


def is_merge_born(x: Any) -> bool:
    """A plain number, or one known only at run time because different plain ones met."""
    return not isinstance(x, RtScalar) or isinstance(x.origin, tuple) and x.origin[:1] == ("merge",)


def is_same_number(m: Any, a: Any, b: Any) -> bool:
    """Whether two numbers are one object, which only of a NaN is told from being equal."""
    if a is not b and _may_be_nan(a) and _may_be_nan(b) and not (_is_new(m, a) and _is_new(m, b)):
        refuse_nans(m, *(x for x in (a, b) if isinstance(x, RtFloat)))
    return a is b


def _may_be_nan(x: Any) -> bool:
    return isinstance(x, RtFloat) or isinstance(x, float) and x != x


def _is_new(m: Any, x: Any) -> bool:
    """A float that was computed: an object of its own, not one of several that paths or `max` have chosen from."""
    if not isinstance(x, RtFloat):
        return True
    node = m.recorder.producers.get(x.value)
    return isinstance(node, HostNode) and (node.op == "item" or node.op.startswith("float.")
                                           and node.op not in ("float.max", "float.min"))


def refuse_nans(m: Any, *floats: Any) -> None:
    """Whether two floats are one object matters only if both are NaN, and then the run fails."""
    both = functools.reduce(lambda a, b: m.scalars.binary("and", a, b),
                            (m.scalars.host("float.isnan", x.value, type=BOOL) for x in floats))
    m.recorder.check(m.scalars.unary("not", both).value,
                     "whether two floats that are no numbers are one object is not known in a compiled "
                     "program", "RuntimeError")


def plain_number(x: Any) -> Any:
    """A member of an IntEnum and the like is the number that it is."""
    if type(x) in (int, float, bool) or not isinstance(x, (int, float)):
        return x
    return int(x) if isinstance(x, int) else float(x)


def _is_of_numpy(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic))


def _refuse_zero(m: Any, op: str, a: Any, b: Any) -> None:
    """A divisor that is zero, or may be inside `try`, raises here, with Python's own words."""
    if isinstance(b, RtScalar):
        zero = m.in_try() and m.decide(m.scalars.compare("eq", b, 0))
    else:
        zero = b == 0
    if zero:
        natively(getattr(operator, op), 1.0 if "float" in (kind_of(a), kind_of(b)) else 1, 0)


def _power(m: Any, a: Any, b: Any) -> Any:
    if m.in_try():
        zero, negative = m.scalars.compare("eq", a, 0), m.scalars.compare("lt", b, 0)
        if all(x if isinstance(x, bool) else m.decide(x) for x in (zero, negative)):
            raise ZeroDivisionError("0.0 cannot be raised to a negative power")
    if isinstance(b, RtScalar) and kind_of(b) != "float" and kind_of(a) != "float":  # a negative exponent gives a float
        return m.scalars.power_of_ints(a, b, negative=not m.decide(m.scalars.compare("ge", b, 0)))
    return m.scalars.binary("pow", a, b)


def _repeated(m: Any, s: Any, sequence: Any, count: Any) -> Any:
    """sequence * count: a list of numbers and tensors of run-time length, of other things one arm for each count."""
    if not sequence:
        return m.new_if_mutable(sequence * 0)
    if isinstance(sequence, list) and all(kind_of(x) is not None or isinstance(x, (int, float)) or m.is_tensor(x)
                                          for x in sequence):
        return m.call(s, m.polyfills.repeat_list, (sequence, count), {})
    if not m.decide(m.scalars.compare("gt", count, 0)):
        return m.new_if_mutable(sequence * 0)
    count = m.decide_value(count, range(1, 65), "a repeat count")
    return m.call(s, m.polyfills.plain_binary, ("mul", sequence, count), {})
