# SPDX-License-Identifier: Apache-2.0
"""A sympy expression of torch's symbolic shapes as host ops of docs/ir.md, and as text in the grammar of its dims: N+1,
(N+1)//2, max(0,N-2)."""

from __future__ import annotations

import sympy

from ..diagnostics import CaptureRefusal
from ..graph.program import BOOL, FLOAT, INT, Value
from ..torch_internals import sympy_functions as F

_RELATIONS = {sympy.Eq: "==", sympy.Ne: "!=", sympy.Lt: "<", sympy.Le: "<=", sympy.Gt: ">", sympy.Ge: ">="}
_COMPARE = {sympy.Eq: "eq", sympy.Ne: "ne", sympy.Lt: "lt", sympy.Le: "le", sympy.Gt: "gt", sympy.Ge: "ge"}
_BINARY = {F.FloorDiv: "int.floordiv", F.CleanDiv: "int.floordiv", F.PythonMod: "int.mod", F.Mod: "int.mod"}
_OPERATIONS = {sympy.Not: ("bool.not", BOOL), F.TruncToInt: ("float.to_int", INT), F.FloorToInt: ("float.floor", INT),
               F.CeilToInt: ("float.ceil", INT), F.RoundToInt: ("float.round", INT), F.ToFloat: ("int.to_float", FLOAT),
               F.IntTrueDiv: ("int.truediv", FLOAT), F.FloatTrueDiv: ("float.truediv", FLOAT)}


def lower_expression(symbols, expr: sympy.Basic) -> Value:
    """`symbols.lower` is called for parts (it caches), `symbols.symbol_value` for leaves."""
    host = symbols.recorder.host
    if expr.is_Integer:
        return host("const", [], INT, value=int(expr))
    if expr in (sympy.true, sympy.false):
        return host("const", [], BOOL, value=bool(expr))
    if expr.is_Float:
        return host("const", [], FLOAT, value=float(expr))
    if isinstance(expr, sympy.Symbol):
        value = symbols.symbol_value(expr)
        return host("bool.to_int", [value], INT) if value.type == BOOL else value
    if isinstance(expr, sympy.Add):
        return _sum(symbols, expr)
    if isinstance(expr, sympy.Mul):
        return _fold(symbols, "mul", expr.args)
    if isinstance(expr, (sympy.Pow, F.PowByNatural)):
        return _power(symbols, expr)
    for kind, op in _BINARY.items():
        if isinstance(expr, kind):
            return host(op, [symbols.lower(a) for a in expr.args], INT)
    if isinstance(expr, (F.Max, F.Min, sympy.Max, sympy.Min)):
        return _fold(symbols, "max" if isinstance(expr, (F.Max, sympy.Max)) else "min", expr.args)
    return _lower_rest(symbols, expr)


def _lower_rest(symbols, expr: sympy.Basic) -> Value:
    host = symbols.recorder.host
    for kind, op in _COMPARE.items():
        if isinstance(expr, kind):
            return _compare(symbols, op, *expr.args)
    for kind, (op, type) in _OPERATIONS.items():
        if isinstance(expr, kind):
            return host(op, [symbols.lower(a) for a in expr.args], type)
    if isinstance(expr, (sympy.And, sympy.Or)):
        return _connective(symbols, expr)
    if isinstance(expr, sympy.Piecewise) and expr.args[-1][1] == sympy.true:
        return _piecewise(symbols, expr)
    if isinstance(expr, F.Where):
        condition, a, b = (symbols.lower(part) for part in expr.args)
        return host("select", [condition, a, b], a.type)
    raise CaptureRefusal(f"arithmetic inside torch that has no host op: {expr}", kind="symbol.arithmetic")


def _connective(symbols, expr: sympy.Basic) -> Value:
    op = "bool.and" if isinstance(expr, sympy.And) else "bool.or"
    value = symbols.lower(expr.args[0])
    for part in expr.args[1:]:
        value = symbols.recorder.host(op, [value, symbols.lower(part)], BOOL)
    return value


def _piecewise(symbols, expr: sympy.Piecewise) -> Value:
    value = symbols.lower(expr.args[-1][0])
    for part, condition in reversed(expr.args[:-1]):
        operands = [symbols.lower(condition), symbols.lower(part), value]
        value = symbols.recorder.host("select", operands, value.type)
    return value


def _sum(symbols, expr: sympy.Add) -> Value:
    """Positive terms first, so that a - b needs no multiplication by -1."""
    plus = [t for t in expr.args if not _negative(t)]
    minus = [-t for t in expr.args if _negative(t)]
    host = symbols.recorder.host
    value = _fold(symbols, "add", plus) if plus else symbols.lower(sympy.Integer(0))
    for term in minus:
        pair = [value, symbols.lower(term)]
        kind = FLOAT if any(v.type == FLOAT for v in pair) else INT
        pair = [v if v.type == kind else host("int.to_float", [v], FLOAT) for v in pair]
        value = host(f"{kind.kind}.sub", pair, kind)
    return value


def _negative(term: sympy.Basic) -> bool:
    coefficient = term.as_coeff_Mul()[0]
    return bool(coefficient.is_number and coefficient < 0)


def _fold(symbols, op: str, parts) -> Value:
    value = symbols.lower(parts[0])
    for part in parts[1:]:
        other = symbols.lower(part)
        if value.type != other.type:
            raise CaptureRefusal("arithmetic inside torch that mixes ints and floats", kind="symbol.arithmetic")
        value = symbols.recorder.host(f"{value.type.kind}.{op}", [value, other], value.type)
    return value


def _power(symbols, expr: sympy.Basic) -> Value:
    base, exponent = expr.args
    if not (exponent.is_Integer and exponent >= 0):
        raise CaptureRefusal(f"arithmetic inside torch that has no host op: {expr}", kind="symbol.arithmetic")
    value = symbols.lower(base)
    if value.type == FLOAT:
        return symbols.recorder.host("float.pow", [value, symbols.lower(sympy.Float(float(exponent)))], FLOAT)
    return symbols.recorder.host("int.pow", [value, symbols.lower(exponent)], INT)


def _compare(symbols, op: str, a: sympy.Basic, b: sympy.Basic) -> Value:
    host = symbols.recorder.host
    if isinstance(a, sympy.Symbol) and b == 1 and op in ("eq", "ne"):
        value = symbols.symbol_value(a)
        if value.type == BOOL:  # torch writes a symbolic bool as Eq(u, 1)
            return value if op == "eq" else host("bool.not", [value], BOOL)
    left, right = symbols.lower(a), symbols.lower(b)
    if left.type != right.type:
        left, right = (host("int.to_float", [v], FLOAT) if v.type == INT else v for v in (left, right))
    return host(f"{left.type.kind}.{op}", [left, right], BOOL)


# ---- as text -----------------------------------------------------------------------------------------


def dim_text(expr: sympy.Basic, names: dict[sympy.Symbol, str]) -> str | None:
    """None if the expression has a part that the grammar lacks."""
    try:
        return _text(expr, names)
    except KeyError:
        return None


def guard_text(expr: sympy.Basic, names: dict[sympy.Symbol, str]) -> str:
    """A condition on the inputs; parts that the grammar lacks are printed as sympy does."""
    for kind, sign in _RELATIONS.items():
        if isinstance(expr, kind):
            left, right = (dim_text(side, names) for side in expr.args)
            if left is not None and right is not None:
                return f"{left} {sign} {right}"
    if isinstance(expr, sympy.Not):
        return f"not ({guard_text(expr.args[0], names)})"
    if isinstance(expr, (sympy.And, sympy.Or)):
        word = " and " if isinstance(expr, sympy.And) else " or "
        return word.join(f"({guard_text(part, names)})" for part in expr.args)
    return str(expr.xreplace({s: sympy.Symbol(n) for s, n in names.items()}))


def _text(expr: sympy.Basic, names: dict[sympy.Symbol, str]) -> str:
    if expr.is_Integer:
        return str(int(expr))
    if isinstance(expr, sympy.Symbol):
        return names[expr]
    if isinstance(expr, sympy.Add):
        parts = [_text(part, names) for part in expr.args]
        return "+".join(parts).replace("+-", "-")
    if isinstance(expr, sympy.Mul):
        return "*".join(_factor(part, names) for part in expr.args)
    if isinstance(expr, sympy.Pow) and expr.exp.is_Integer and 0 < int(expr.exp) < 8:
        return "*".join([_factor(expr.base, names)] * int(expr.exp))
    if isinstance(expr, (F.FloorDiv, F.CleanDiv)):
        return f"{_factor(expr.args[0], names)}//{_factor(expr.args[1], names)}"
    if isinstance(expr, (F.Mod, F.PythonMod)):
        return f"{_factor(expr.args[0], names)}%{_factor(expr.args[1], names)}"
    if isinstance(expr, (F.Max, F.Min, sympy.Max, sympy.Min)):
        name = "max" if isinstance(expr, (F.Max, sympy.Max)) else "min"
        result = _text(expr.args[0], names)
        for part in expr.args[1:]:
            result = f"{name}({result},{_text(part, names)})"
        return result
    raise KeyError(type(expr))


def _factor(expr: sympy.Basic, names: dict[sympy.Symbol, str]) -> str:
    text = _text(expr, names)
    plain = isinstance(expr, (sympy.Symbol, F.Max, F.Min)) or (expr.is_Integer and int(expr) >= 0)
    return text if plain or text.startswith("-") and expr.is_Integer else f"({text})"
