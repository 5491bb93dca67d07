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

from typing import Any, Callable, NoReturn

from ..graph.program import BOOL, FLOAT, INT, Value
from .escape import Escape


def _refuse(how: str) -> Callable[..., NoReturn]:
    def method(self: RtScalar, *args: Any, **kwargs: Any) -> NoReturn:
        raise Escape(self, how)

    return method


class RtScalar:
    """Base of runtime numbers. `value` is the graph value; immutable; shared freely between states."""

    __slots__ = ("value", "origin", "symbolic")
    kind = ""

    def __init__(self, value: Value, origin: Any = None):
        self.value = value
        self.origin = origin  # why it is known only at run time: a Span, or a merge point (for restarts)
        self.symbolic = None  # the torch.SymInt/SymFloat that stands for it in native code, once made

    def __repr__(self) -> str:  # for our own debugging; user code's repr()/str()/format() go through the machine
        raise Escape(self, "repr")

    def again(self) -> "RtScalar":
        """The same number once more, computed by the program a second time: a float is an object of its own."""
        if self.kind != "float":
            return self
        other = type(self)(self.value, self.origin)
        other.symbolic = self.symbolic
        return other

    def describe(self) -> str:
        return f"<runtime {self.kind} %{self.value.id}>"


for _name, _how in {
    "__str__": "str", "__format__": "format", "__hash__": "hash", "__index__": "index", "__int__": "int",
    "__float__": "float", "__complex__": "complex", "__len__": "len", "__iter__": "iteration",
    "__round__": "round", "__trunc__": "trunc", "__floor__": "floor", "__ceil__": "ceil", "__bytes__": "bytes",
    "__array__": "numpy", "__reduce__": "pickle", "__reduce_ex__": "pickle", "__copy__": "copy",
    "__getitem__": "subscript", "__contains__": "containment", "__call__": "call", "__dlpack__": "dlpack",
}.items():
    setattr(RtScalar, _name, _refuse(_how))
for _op in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift",
            "matmul", "divmod"):
    setattr(RtScalar, f"__{_op}__", _refuse(f"operator {_op}"))
    setattr(RtScalar, f"__r{_op}__", _refuse(f"operator {_op}"))
for _op in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(RtScalar, f"__{_op}__", _refuse(f"comparison {_op}"))
for _op in ("neg", "pos", "abs", "invert"):
    setattr(RtScalar, f"__{_op}__", _refuse(f"operator {_op}"))


def _truth(self: RtScalar) -> NoReturn:
    raise Escape(self, "truth")


setattr(RtScalar, "__bool__", _truth)


class RtInt(RtScalar):
    __slots__ = ()
    kind = dycl_number = "int"
    type = INT


class RtFloat(RtScalar):
    __slots__ = ()
    kind = dycl_number = "float"
    type = FLOAT


class RtBool(RtScalar):
    __slots__ = ()
    kind = dycl_number = "bool"
    type = BOOL


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
