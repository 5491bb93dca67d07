# SPDX-License-Identifier: Apache-2.0
"""Expressions over declared symbols as text, in the grammar of docs/ir.md's dims: N+1, (N+1)//2, max(0,N-2)."""

from __future__ import annotations

import sympy

from ..torch_internals import sympy_functions as F

_RELATIONS = {sympy.Eq: "==", sympy.Ne: "!=", sympy.Lt: "<", sympy.Le: "<=", sympy.Gt: ">", sympy.Ge: ">="}


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
