# SPDX-License-Identifier: Apache-2.0
"""Makes a failing program small: drops statements, then replaces compound ones by their bodies.

Greedy delta debugging over the syntax tree, from the largest pieces to the smallest. A candidate counts
if it fails in the same way (same status, same kind); its inputs are drawn anew, so it must still run.
"""

from __future__ import annotations

import ast
import copy
from typing import Callable

BLOCKS = ("body", "orelse", "finalbody")


def shrink(source: str, still_fails: Callable[[str], bool], attempts: int = 250) -> str:
    """A smaller program for which `still_fails` holds; `source` itself when nothing can go."""
    tree = ast.parse(source)
    best = source
    changed = True
    while changed and attempts > 0:
        changed = False
        for candidate in list(_candidates(tree)):
            if attempts <= 0:
                break
            text = ast.unparse(candidate) + "\n"
            if len(text) >= len(best) and best is not source:
                continue
            attempts -= 1
            try:
                ok = still_fails(text)
            except Exception:
                ok = False
            if ok:
                tree, best, changed = candidate, text, True
                break
    return best


def _candidates(tree: ast.Module):
    """Trees with one piece less, big pieces first."""
    places = []
    for node in ast.walk(tree):
        for name in BLOCKS:
            block = getattr(node, name, None)
            if isinstance(block, list):
                places += [(node, name, i, stmt) for i, stmt in enumerate(block) if isinstance(stmt, ast.stmt)]
    places.sort(key=lambda place: -sum(1 for _ in ast.walk(place[3])))
    for node, name, index, stmt in places:
        if _needed(stmt):
            continue
        yield _edited(tree, node, name, index, [])
        inner = getattr(stmt, "body", None)
        if isinstance(inner, list) and not isinstance(stmt, (ast.FunctionDef, ast.ClassDef)):
            yield _edited(tree, node, name, index, inner)
            if getattr(stmt, "orelse", None):
                yield _edited(tree, node, name, index, stmt.orelse)


def _needed(stmt: ast.stmt) -> bool:
    if isinstance(stmt, (ast.FunctionDef, ast.ClassDef)):
        return stmt.name in ("make", "f", "Net", "forward", "__init__")
    return isinstance(stmt, ast.Assign) and getattr(stmt.targets[0], "id", "") == "SIGNATURE"


def _edited(tree: ast.Module, node: ast.AST, name: str, index: int, replacement: list) -> ast.Module:
    """A copy of the tree in which one statement of one block is replaced."""
    memo: dict = {}
    result = copy.deepcopy(tree, memo)
    block = getattr(memo[id(node)], name)
    block[index:index + 1] = copy.deepcopy(replacement)
    if not block and name == "body":
        block.append(ast.Pass())
    return ast.fix_missing_locations(result)
