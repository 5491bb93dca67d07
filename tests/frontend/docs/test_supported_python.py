# SPDX-License-Identifier: Apache-2.0
"""docs/supported_python.md names every class of refusal the front end can give, and no class that it can't."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCES = sorted((ROOT / "python" / "dycl").rglob("*.py"))
DOCUMENT = ROOT / "docs" / "supported_python.md"


def kinds_in_sources() -> set[str]:
    """Values of `kind=` in calls; an f-string counts by its fixed beginning and a star."""
    found = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                not isinstance(node, ast.Call)
                or "Refusal" not in ast.unparse(node.func)
                and "compile_error" not in ast.unparse(node.func).lower().replace("compileerror", "compile_error")
            ):
                continue
            for keyword in node.keywords:
                if keyword.arg != "kind":
                    continue
                for part in ast.walk(keyword.value):
                    if isinstance(part, ast.JoinedStr):
                        found.add(part.values[0].value + "*")
                        break
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        found.add(part.value)
    return found


def kinds_in_document() -> set[str]:
    rows = [line.split("|")[1] for line in DOCUMENT.read_text().splitlines() if line.startswith("| `")]
    return {kind for row in rows for kind in re.findall(r"`([^`]+)`", row)}


def covers(documented: str, kind: str) -> bool:
    return documented == kind or documented.endswith("*") and kind.startswith(documented[:-1])


def test_every_kind_is_documented():
    documented = kinds_in_document()
    missing = sorted(k for k in kinds_in_sources() if not any(covers(d, k) for d in documented))
    assert not missing, missing


def test_every_documented_kind_exists():
    kinds = kinds_in_sources()
    stale = sorted(d for d in kinds_in_document() if not any(covers(d, k) or covers(k, d) for k in kinds))
    assert not stale, stale
