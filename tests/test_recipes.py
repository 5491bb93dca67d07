# SPDX-License-Identifier: Apache-2.0
"""The diffs of docs/recipes.md fit the files as they are. Costs a second.

`@@ path @@` begins the changes of a file, `@@ path (new) @@` a file that must not be there yet. Lines that are kept (a
blank before them) or removed must be lines of the file, in the order in which they stand in the diff.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "recipes.md"
_BLOCK = re.compile(r"^```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^@@ (\S+)( \(new\))? @@$")
RECIPES = ("An instruction of Python", "A library function", "An ATen conversion", "A kind of value",
           "A kind of object", "An IR op", "A pass", "A back end")


def changes(page: str) -> Iterator[tuple[str, bool, list[str]]]:
    """(path, whether it is a new file, the lines of the diff)."""
    for block in _BLOCK.findall(page):
        path, new, lines = "", False, []
        for line in [*block.splitlines(), "@@ end @@"]:
            if found := _FILE.match(line):
                if path:
                    yield path, new, lines
                path, new, lines = found[1], bool(found[2]), []
            else:
                lines.append(line)


def fault(path: str, new: bool, lines: list[str]) -> str:
    """Why the diff does not fit; "" if it does."""
    file = ROOT / path
    if new:
        return f"{path} is not new" if file.exists() else ""
    if not file.exists():
        return f"there is no {path}"
    there, at = [line.strip() for line in file.read_text().splitlines()], 0
    for line in lines:
        if line[:1] not in (" ", "-"):
            continue
        wanted = line[1:].strip()
        if wanted not in there[at:]:
            return f"{path} has no line {wanted!r}" + (" behind those before it" if wanted in there else "")
        at = there.index(wanted, at) + 1
    return ""


CHANGES = list(changes(PAGE.read_text()))


@pytest.mark.parametrize("path, new, lines", CHANGES, ids=[path for path, *_ in CHANGES])
def test_the_diff_fits(path, new, lines):
    assert not fault(path, new, lines)


def test_every_recipe_has_a_diff():
    parts = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    assert tuple(part.splitlines()[0] for part in parts) == RECIPES
    assert all(_BLOCK.search(part) for part in parts)


def test_the_number_of_places_that_know_a_kind_of_value():
    """It is the price of another kind: whoever changes it sees it here."""
    folder = ROOT / "python" / "dycl" / "frontend"
    files = [path for path in folder.rglob("*.py") if re.search(r"\bRtText\b", path.read_text())]
    assert re.search(r"are\s+named in (\d+) files", PAGE.read_text())[1] == str(len(files))


@pytest.mark.parametrize("lines, wrong", [
    ([" REFUSED: dict = {"], ""),
    (["+anything"], ""),
    ([" planted"], "has no line 'planted'"),
    (["-planted"], "has no line 'planted'"),
    ([" def op(*names):", " HANDLERS: dict = {}"], "has no line 'HANDLERS: dict = {}' behind those before it"),
])
def test_a_planted_fault_is_found(lines, wrong):
    path = "python/dycl/frontend/machine/opcode_table.py"
    assert fault(path, False, lines) == (wrong and f"{path} {wrong}")
    assert fault("src/planted.cpp", False, lines) == "there is no src/planted.cpp"
    assert fault(path, True, lines) == f"{path} is not new"
