# SPDX-License-Identifier: Apache-2.0
"""Integers inside shapes: torch's symbolic numbers on one side, graph values on the other.

A *declared* symbol is an extent the user named dynamic; it has a hint. Before the first branch a
question about declared symbols alone is decided by the hints and noted in `guards`, which become checks
of the inputs; later it is a question about runtime numbers like any other. Every other symbol stands for a number of
the running program: a runtime scalar (`bind`) or an extent of a tensor (`bind_dim`). A question about those is never
answered here: it goes to `Recorder.decide`. Nothing that one path learns is kept in the ShapeEnv,
because all paths share it.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import sympy
import torch
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StrictMinMaxConstraint

from ..diagnostics import CaptureRefusal
from ..graph.program import FLOAT, INT, Block, Value, dominates
from ..torch_internals import (
    ConstantSource,
    SLoc,
    ValueRanges,
    enable_python_dispatcher,
    int_oo,
    patched,
    shape_config,
    sympy_functions,
)
from ..values.scalar import RtBool, RtFloat, RtInt, RtScalar, graph_number
from .symbolic_expressions import dim_text, guard_text, lower_expression


def _remember_asker(guard_bool):
    def remembered(node, file, line):
        symbols = getattr(node.shape_env, "symbols", None)
        if symbols is None:
            return guard_bool(node, file, line)
        before, symbols._asked_from = symbols._asked_from, file
        try:
            return guard_bool(node, file, line)
        finally:
            symbols._asked_from = before

    return remembered


def _remember_guess(static_answer):
    """torch goes on with a guess where there is no answer (guard_or_false): Symbols must know."""

    def remembered(question):
        answer = static_answer(question)
        symbols = getattr(getattr(question.node, "shape_env", None), "symbols", None)
        if answer is None and symbols is not None:
            known = symbols.known(question.node.expr)
            symbols.guessed |= known is None
            return known
        return answer

    return remembered


def heard() -> Any:
    """Within it torch's questions about symbolic numbers reach the `Symbols` that they are about."""
    return patched(_remember_asker, _remember_guess)


_MOST_PLAIN = 16  # values of a number that torch wants plain


class Extent:
    """An extent known only at run time, and its least value."""

    __slots__ = ("least",)

    def __init__(self, least: int):
        self.least = least


class CaptureShapeEnv(ShapeEnv):
    """A ShapeEnv that asks capture instead of guarding, and never learns from the answer."""

    symbols: "Symbols"

    def evaluate_expr(self, orig_expr, hint=None, fx_node=None, size_oblivious=False, fallback_value=None, *,
                      forcing_spec=False):
        return self.symbols.evaluate(orig_expr, size_oblivious, fallback_value)

    def guard_or_defer_runtime_assert(self, orig_expr, msg, fx_node=None):
        return self.symbols.require(orig_expr, msg)

    def _get_stack_summary(self, is_debug=False, framework_loc=None):
        return _NOWHERE, ""  # for torch's logs alone; looking for it is slow

    def _log_create_unbacked_symbol(self, *args, **kwargs):
        pass


_NOWHERE = SLoc(None, None)


class Symbols:
    def __init__(self, recorder):
        self.recorder = recorder
        self.env = CaptureShapeEnv(allow_scalar_outputs=True, allow_dynamic_output_shape_ops=True,
                                   specialize_zero_one=False, duck_shape=False,
                                   prefer_deferred_runtime_asserts_over_guards=True)
        self.env.symbols = self
        self.names: dict[sympy.Symbol, str] = {}  # declared symbol -> the user's name
        self.declared: dict[str, torch.SymInt] = {}
        self.ranges: dict[str, tuple[int, int]] = {}
        self.guards: dict[str, None] = {}  # texts over declared names, in order of discovery
        self.assumed_not_one: list = []  # extents of the present call that only its memory layout depends on
        self.answered = False  # a question of the present call was decided at run time
        self.guessed = False  # ... or was not, and torch goes on as if it were
        # the op at hand is expand: it wants the one extent, or 1, to be the other, and stretches no other tensor
        self.expanding = False
        self._asked_from = ""  # the C++ file that asks the present question
        self._bound: dict[sympy.Symbol, Value] = {}  # symbol -> scalar value
        self._dims: dict[sympy.Symbol, tuple[Any, int]] = {}  # symbol -> (TensorInfo or Value, axis)
        self._lowered: dict[sympy.Basic, Value] = {}
        self._expressions: dict[Value, sympy.Expr] = {}  # int value -> what it is, where known
        self._assumed: dict[Value, tuple] = {}  # bounds of values that have no symbol yet
        self._producers: dict[Value, tuple[str, list[Value]]] = {}
        self._free_symbols: dict[sympy.Basic, frozenset] = {}
        self._texts: dict[sympy.Basic, str] = {}
        self._facts: dict[sympy.Symbol, dict[sympy.Basic, Block]] = {}  # what holds below a block, by symbol

    def any(self) -> bool:
        return bool(self.declared or self.env.unbacked_symint_counter or self.env.unbacked_symfloat_counter)

    @contextlib.contextmanager
    def asking(self, symbolic: bool):
        """While torch computes shapes: it must not keep count of new symbols, and if there are symbolic
        extents it computes in Python (its C++ wants plain integers) without assuming that none is 1."""
        with self.env.ignore_fresh_unbacked_symbols():
            if not symbolic:
                yield
                return
            self.assumed_not_one = []
            with shape_config.patch(backed_size_oblivious=True), enable_python_dispatcher():
                yield

    # -- creation ------------------------------------------------------------------

    def declare(self, name: str, hint: int, low: int = 1, high: int = 2**31 - 1) -> torch.SymInt:
        """The symbol of a dynamic extent; the same name gives the same symbol."""
        if name in self.declared:
            known = self.declared[name].node.hint
            if known != hint:
                raise CaptureRefusal(f"dynamic dim '{name}' is {known} in one example input and {hint} in another",
                                     "give example inputs whose dims of one name agree", kind="dims.example")
            return self.declared[name]
        if not low <= hint <= high:
            raise CaptureRefusal(f"dynamic dim '{name}' is {hint} in the example: it is taken from {low} to {high}",
                                 "give an example within these bounds, or other bounds (ranges)", kind="dims.example")
        constraint = StrictMinMaxConstraint(warn_only=False, vr=ValueRanges(low, high))
        source = ConstantSource(f"dim_{name}")
        symbol = self.env.create_symbol(hint, source, DimDynamic.DYNAMIC, constraint,
                                        positive=True if low > 0 else None, do_not_specialize_zero_one=True)
        self.names[symbol] = name
        self.ranges[name] = (low, high)
        self.declared[name] = self.env.create_symintnode(symbol, hint=hint, source=source)
        return self.declared[name]

    def fresh_dim(self, low: int = 0) -> torch.SymInt:
        with self.env.ignore_fresh_unbacked_symbols():
            dim = self.env.create_unbacked_symint()
        self.env._constrain_range_for_size(dim.node.expr, min=low)
        return dim

    def least(self, x: Any) -> int | None:
        """A lower bound of an integer (static, symbolic or a runtime one); None if there is none."""
        return self._bound_of(x, "lower")

    def greatest(self, x: Any) -> int | None:
        """An upper bound, as `least`."""
        return self._bound_of(x, "upper")

    def range_of(self, value: Value) -> tuple[int | None, int | None]:
        number = RtInt(value, None)
        return (self.least(number), self.greatest(number)) if value.type == INT else (None, None)

    def _bound_of(self, x: Any, side: str) -> int | None:
        if isinstance(x, int):
            return x
        value = graph_number(x)
        expr = x.node.expr if value is x else self._expression_of(value)
        bound = getattr(self.env.bound_sympy(expr), side)
        return int(bound) if bound.is_Integer else None

    def difference(self, a: RtInt, b: RtInt) -> int | None:
        """a - b, where it is the same whatever the inputs are."""
        expr = self._simple(self._expression_of(a.value) - self._expression_of(b.value))
        return int(expr) if expr.is_Integer else None

    def assume_least(self, value: Value, low: int | None) -> None:
        """A lower bound of a block parameter, right on every edge that leads there."""
        if low is not None:
            self.assume_between(value, low, int_oo)

    def assume_between(self, value: Value, low: Any, high: Any) -> None:
        self._expressions.pop(value, None)
        self._assumed[value] = (low, high)

    def bind_dims(self, holder: Any, sizes) -> None:
        """Extents of `holder` (TensorInfo or Value) give a value to symbols that have none yet."""
        for axis, size in enumerate(sizes):
            if isinstance(size, torch.SymInt):
                expr = size.node.expr
                if isinstance(expr, sympy.Symbol) and expr not in self._bound:
                    self._dims.setdefault(expr, (holder, axis))

    def produced(self, value: Value, op: str, operands: list[Value]) -> None:
        """Remembers how an int was computed, so that N+1 is still N+1 when it becomes an extent."""
        if value.type == INT and op in _ARITHMETIC:
            self._producers[value] = (op, operands)

    # -- runtime scalars to torch's symbolic numbers and back ---------------------------

    def to_symbolic(self, x: Any) -> Any:
        """What native code gets for a number; a plain one is itself."""
        if graph_number(x) is x:
            return x
        if x.symbolic is None:
            with self.env.ignore_fresh_unbacked_symbols():
                x.symbolic = self._symbolic_of(x)
        return x.symbolic

    def _symbolic_of(self, x: RtScalar) -> Any:
        if x.value.type == INT:
            expr = self._expression_of(x.value)
            return int(expr) if expr.is_Integer else self.env.create_symintnode(expr, hint=None)
        if x.value.type == FLOAT:
            number = self.env.create_unbacked_symfloat()
            self._bound[number.node.expr] = x.value
            return number
        truth = self.env.create_unbacked_symbool()
        (symbol,) = truth.node.expr.free_symbols
        self._bound[symbol] = x.value
        return truth

    def _expression_of(self, value: Value, depth: int = 0) -> sympy.Expr:
        known = self._expressions.get(value)
        if known is not None:
            return known
        if value in self._assumed:
            return self._symbol_between(value, *self._assumed[value])
        op, operands = self._producers.get(value, (None, []))
        if op == "const":
            expr = sympy.Integer(operands[0])
        elif op is not None and depth < 8:
            parts = [self._expression_of(v, depth + 1) for v in operands]
            expr = self._extreme(op, *parts) if op in ("int.max", "int.min") else _ARITHMETIC[op](*parts)
        else:
            expr = None
        if expr is None:
            expr = self.env.create_unbacked_symint().node.expr
            self._bound[expr] = value
        self._expressions[value] = expr
        return expr

    def _extreme(self, op: str, a: sympy.Expr, b: sympy.Expr) -> sympy.Expr | None:
        """The operand that the ranges say it is."""
        over = self.env.bound_sympy(a - b)
        if over.lower >= 0:
            return a if op == "int.max" else b
        if over.upper <= 0:
            return b if op == "int.max" else a
        return None

    def _symbol_between(self, value: Value, low: Any, high: Any) -> sympy.Symbol:
        with self.env.ignore_fresh_unbacked_symbols():
            symbol = self.env.create_unbacked_symint().node.expr
        self.env.constrain_symbol_range(symbol, low, high)
        self._bound[symbol] = value
        self._expressions[value] = symbol
        return symbol

    def from_symbolic(self, x: Any) -> Any:
        """A SymInt, SymFloat or SymBool as a plain number or a runtime scalar."""
        expr = self._simple(x.node.expr)
        if isinstance(x, torch.SymInt):
            if expr.is_Integer:
                return int(expr)
            return self._scalar(RtInt, expr, x)
        if isinstance(x, torch.SymBool):
            if expr in (sympy.true, sympy.false):
                return bool(expr)
            return self._scalar(RtBool, expr, x)
        if expr.is_number:
            return float(expr)
        return self._scalar(RtFloat, expr, x)

    def _scalar(self, cls, expr, symbolic) -> RtScalar:
        value = self.lower(expr)
        if cls is RtInt:
            self._expressions.setdefault(value, expr)
        scalar = cls(value, self.recorder.span)
        scalar.symbolic = symbolic
        return scalar

    # -- expressions to graph values ------------------------------------------------------

    def value_of(self, x: Any) -> Any:
        """A symbolic number as it stands in a node: a plain number or a Value."""
        expr = self._simple(x.node.expr)
        if expr.is_number:
            return int(expr) if isinstance(x, torch.SymInt) else float(expr)
        if expr in (sympy.true, sympy.false):
            return bool(expr)
        return self.lower(expr)

    def lower(self, expr: sympy.Basic) -> Value:
        known = self._lowered.get(expr)
        if known is not None and dominates(known.block, self.recorder.block):
            return known
        value = lower_expression(self, expr)
        self.recorder.remember(self._lowered, expr, value)
        return value

    def symbol_value(self, symbol: sympy.Symbol) -> Value:
        value = self._bound.get(symbol)
        if value is not None:
            return value
        if symbol in self._dims:
            holder, axis = self._dims[symbol]
            tensor = holder if isinstance(holder, Value) else self.recorder.value_of_info(holder)
            return self.recorder.host("dim", [tensor], INT, axis=axis)
        raise CaptureRefusal(f"an integer of torch's own ({symbol}) that no value of the program gives",
                             kind="symbol.unknown")

    # -- questions ----------------------------------------------------------------------

    def evaluate(self, expr: sympy.Basic, size_oblivious: bool, fallback: Any) -> sympy.Basic:
        """Answers a guard of native code."""
        if expr.is_number or expr in (sympy.true, sympy.false):
            return expr
        static = self._static(expr)
        if static is None and size_oblivious:
            static = self.env._maybe_evaluate_static(expr, size_oblivious=True)
        if static is not None:
            return static
        guess = self._guess(expr, fallback)
        if guess is not None:
            return guess
        boolean = isinstance(expr, (sympy.core.relational.Relational, sympy.logic.boolalg.BooleanFunction))
        if expr.free_symbols <= self.names.keys() and (not boolean or self.unconditional()):
            return self._guard(expr)
        if not boolean:
            return self._one_of_few(expr)
        with self.recorder.unswallowed():
            answer = self.recorder.path.decide(expr)
        self.answered = True
        self._note_fact(expr if answer else sympy.Not(expr))
        return sympy.true if answer else sympy.false

    def _guess(self, expr: sympy.Basic, fallback: Any) -> sympy.Basic | None:
        """What torch goes on with where it does not need the answer; None where it does."""
        with_one = _compares_with_one(expr)
        if with_one and expr.has(sympy_functions.Min):  # the first element, if there is one: 0 or 1
            return None
        if fallback is not None:
            self.guessed = True
            return sympy.sympify(fallback)
        if with_one and self._asked_from.endswith("c10/core/SymInt.h"):
            # Contiguity and broadcasting. Not 1 is right for the shape (what is broadcast is checked to be
            # equal then); whether memory is shared may depend on it, see Recorder.may_share.
            self.assumed_not_one.append(expr.args[0])
            self.guessed = True
            return sympy.false if isinstance(expr, sympy.Eq) else sympy.true
        return None

    def _one_of_few(self, expr: sympy.Basic) -> sympy.Basic:
        """A plain number that torch asks for: an arm for each value it can have, if they are few."""
        with self.recorder.unswallowed():
            low, high = self.recorder.path.range_of(RtInt(self.lower(expr))) if expr.is_integer else (None, None)
            if low is None or high is None or high - low >= _MOST_PLAIN:
                raise CaptureRefusal("torch needs this number when the program is compiled, "
                                     "but it is known only at run time",
                                     "torch takes a plain Python number here", kind="native.number")
            for number in range(low, high):
                answer = self.recorder.path.decide(sympy.Eq(expr, number))
                self.answered = True
                self._note_fact(sympy.Eq(expr, number) if answer else sympy.Ne(expr, number))
                if answer:
                    return sympy.Integer(number)
        return sympy.Integer(high)

    def known(self, expr: sympy.Basic) -> bool | None:
        """For torch's guard_or_false and its kin, which go on without an answer: None unless this path has one, or a
        wrong guess would take x[:1] for as long as x."""
        static = self._static(expr)
        if static is None and _is_clipped(expr):
            static = self.evaluate(expr, False, None)
        return None if static is None else bool(static)

    def follows(self, expr: sympy.Basic) -> bool:
        """Whether it is known to hold on this path."""
        return (expr if expr in (sympy.true, sympy.false) else self._static(expr)) == sympy.true

    def _static(self, expr: sympy.Basic) -> sympy.Basic | None:
        """The answer that follows from ranges and from what was checked or decided on the way here."""
        static = self.env._maybe_evaluate_static(expr)
        if static is None and self._facts:
            block, symbols = self.recorder.block, self._free(expr)
            facts = {fact for symbol in symbols for fact, where in self._facts.get(symbol, {}).items()
                     if self._free(fact) <= symbols and dominates(where, block)}
            if facts:
                static = self.env._maybe_evaluate_static(expr, axioms=tuple(sorted(facts, key=self._text)))
        return static

    def _text(self, expr: sympy.Basic) -> str:
        """str(expr), which sympy takes milliseconds for; facts are put in order at each question."""
        found = self._texts.get(expr)
        if found is None:
            found = self._texts[expr] = str(expr)
        return found

    def _free(self, expr: sympy.Basic) -> frozenset:
        found = self._free_symbols.get(expr)
        if found is None:
            found = self._free_symbols[expr] = frozenset(expr.free_symbols)
        return found

    def _note_fact(self, fact: sympy.Basic) -> None:
        for symbol in self._free(fact):
            self.recorder.remember(self._facts.setdefault(symbol, {}), fact, self.recorder.block)

    def unconditional(self) -> bool:
        """Every run comes here. Elsewhere a guard would refuse inputs that never come here, and the example,
        which may not come here either, says nothing."""
        return self.recorder.block.depth == 0

    def _guard(self, expr: sympy.Basic) -> sympy.Basic:
        concrete = sympy.sympify(expr.xreplace(self.env.backed_var_to_val))
        if concrete == sympy.true:
            fact = expr
        elif concrete == sympy.false:
            fact = sympy.Not(expr)
        else:
            fact = sympy.Eq(expr, concrete)
        self.guards.setdefault(guard_text(fact, self.names), fact)
        self._learn(fact)
        return concrete

    def _learn(self, fact: sympy.Basic) -> None:
        """What is checked of the inputs holds on every path, so the ShapeEnv may know it."""
        self.env._maybe_guard_rel(fact)
        self.env.axioms.update(dict(self.env.get_implications(self.env.simplify(fact))))
        self.env._update_version_counter()

    def require(self, expr: sympy.Basic, message: Any) -> bool:
        """What torch itself checks: a fact that must hold, checked at run time."""
        static = self._static(expr) if expr not in (sympy.true, sympy.false) else expr
        if static is not None:
            # no run that comes here meets it
            self.answered |= not static and expr.free_symbols != set() and not self.guessed
            return bool(static)
        if expr.free_symbols <= self.names.keys() and self.unconditional():
            return bool(self._guard(expr))
        if not all(s in self.names or s in self._bound or s in self._dims for s in expr.free_symbols):
            return True  # a fact about an extent that the running op itself defines
        if (isinstance(expr, sympy.Eq) and _is_first(expr.args[0]) != _is_first(expr.args[1]) and not self.expanding
                and not self._is_empty(expr.args)):
            raise CaptureRefusal("a tensor of run-time length together with its first or last element, "
                                 "taken as a slice that may be empty",
                                 "take the element by an index: x - x[0], not x - x[:1]", kind="native.symbolic")
        condition = self.lower(expr)
        self.recorder.check(condition, self._message(message, expr), "RuntimeError")
        self._note_fact(expr)
        return True

    def _is_empty(self, extents: tuple) -> bool:
        """Of x[:1] it has been decided on this path that there is no such element."""
        first = extents[0] if _is_first(extents[0]) else extents[1]
        return self._static(sympy.Ne(first, 1)) == sympy.true

    def _message(self, message: Any, expr: sympy.Basic) -> str:
        text = str(message() if callable(message) else message or "")
        place = text.rpartition(":")[0].endswith((".py", ".h", ".cpp"))  # torch says only where it checks
        return text if text and not place else f"torch requires {guard_text(expr, self.names)}"

    def require_not_one(self, size: Any) -> None:
        self.require(sympy.Ne(size, 1), "a dim of extent 1 would make two tensors share memory, and one is written")

    def require_equal(self, a: Any, b: Any) -> None:
        a, b = (x.node.expr if isinstance(x, torch.SymInt) else sympy.Integer(x) for x in (a, b))
        if not self.require(sympy.Eq(a, b), "two extents must be equal"):
            raise CaptureRefusal("out= has another shape than the result", "allocate out with the result's shape",
                                 kind="inplace.out")

    def hint(self, size: Any) -> int | None:
        """The example's extent; an arbitrary but fixed one where there is no example."""
        if not isinstance(size, torch.SymInt):
            return int(size)
        expr = size.node.expr.xreplace(self.env.backed_var_to_val)
        return int(expr.xreplace({s: sympy.Integer(4) for s in expr.free_symbols}))

    def _simple(self, expr: sympy.Basic) -> sympy.Basic:
        """Clamps that the ranges make needless are removed: the last of at least one element is one."""
        expr = self.env.replace(expr)
        return self.env.simplify(expr) if expr.has(sympy_functions.Max, sympy_functions.Min) else expr

    # -- types ---------------------------------------------------------------------------

    def dim_type(self, size: Any) -> int | str | None:
        if not isinstance(size, torch.SymInt):
            return int(size)
        expr = self._simple(size.node.expr)
        if expr.is_Integer:
            return int(expr)
        return dim_text(expr, self.names) if expr.free_symbols <= self.names.keys() else None


def _is_first(extent: sympy.Basic) -> bool:
    """0 or 1: the extent of x[:1]. Beside another extent eager would stretch it."""
    return isinstance(extent, sympy_functions.Min) and sympy.Integer(1) in extent.args


def _is_clipped(expr: sympy.Basic) -> bool:
    """Whether it asks if there is a first or a last element."""
    return isinstance(expr, (sympy.Eq, sympy.Ne)) and expr.args[1] == 1 and _at_most_one(expr.args[0])


@functools.lru_cache(maxsize=4096)
def _at_most_one(extent: sympy.Basic) -> bool:
    """The extent of x[:1] or x[-1:], whichever way it is written."""
    if _is_first(extent):
        return True
    symbols = extent.free_symbols
    return extent.has(sympy_functions.Max, sympy_functions.Min) and len(symbols) == 1 and all(
        extent.xreplace({symbol: sympy.Integer(n) for symbol in symbols}) == min(n, 1) for n in (0, 1, 2, 3, 1000))


def _compares_with_one(expr: sympy.Basic) -> bool:
    """size == 1, or stride == stride with the size left out, as in 6*N == 6."""
    if not isinstance(expr, (sympy.Eq, sympy.Ne)) or not expr.args[1].is_Integer:
        return False
    left, right = expr.args
    return right == 1 or left.as_coeff_Mul()[0] == right


_ARITHMETIC = {
    "const": None,
    "int.add": lambda a, b: a + b,
    "int.sub": lambda a, b: a - b,
    "int.mul": lambda a, b: a * b,
    "int.neg": lambda a: -a,
    "int.max": None,
    "int.min": None,
    "int.mod": lambda a, b: sympy_functions.PythonMod(a, b) if b.is_Integer and b > 0 else None,
}
