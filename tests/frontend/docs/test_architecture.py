# SPDX-License-Identifier: Apache-2.0
"""ARCHITECTURE.md shows what the compiler makes today, and its table of layers is that of test_layers.py."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "ARCHITECTURE.md"


def loaded(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


example = loaded(ROOT / "scripts" / "architecture_example.py")
layers = loaded(ROOT / "tests" / "frontend" / "test_layers.py")


@pytest.mark.skipif(not example.TOOL.exists(), reason="the release build is not there")
def test_the_example_is_what_the_compiler_makes():
    page = PAGE.read_text()
    assert example.written(page) == page, "ARCHITECTURE.md is out of date: run scripts/architecture_example.py"


def test_each_part_of_the_example_is_there():
    assert [found[1] for found in example.PART.findall(PAGE.read_text())] == ["model", "graph", "host", "package"]


def rows(page: str) -> dict[str, set[str]]:
    """Package -> what it may import, as the table says. `x`+: x and what x may import."""
    found = dict(re.findall(r"^\| `(\w+)` \| [^|]* \| ([^|]*) \|$", page, re.MULTILINE))
    return {package: _granted(cell) for package, cell in found.items()}


def _granted(cell: str) -> set[str]:
    granted = set(layers.LEAVES) if "leaves" in cell else set()
    for name, plus in re.findall(r"`(\w+)`(\+?)", cell):
        granted |= {name, *(layers.LAYERS[name] if plus else ())}
    return granted


def test_the_table_of_layers_is_the_one_that_is_checked():
    wrong = {package: granted ^ set(layers.LAYERS[package]) for package, granted in rows(PAGE.read_text()).items()
             if granted != set(layers.LAYERS[package])}
    assert not wrong


def test_every_package_is_in_the_table():
    folders = (layers.ROOT, layers.ROOT / "frontend")
    packages = {path.parent.name for folder in folders for path in folder.glob("*/__init__.py")}
    assert packages - {"frontend"} <= rows(PAGE.read_text()).keys()


def sections(page: str) -> dict[str, str]:
    return {part.splitlines()[0]: part for part in re.split(r"^## ", page, flags=re.MULTILINE)[1:]}


def walk(text: str) -> list[tuple[str, str, str]]:
    """The questions of CONTRIBUTING.md: each with a section of ARCHITECTURE.md and the file that it leads to."""
    table = text[text.index("| question | section | file |"):].split("\n\n")[0]
    return [tuple(cell.strip() for cell in row.strip("|").split("|")) for row in table.splitlines()[2:]]


@pytest.mark.parametrize("question, section, file", walk((ROOT / "CONTRIBUTING.md").read_text()))
def test_two_steps_lead_to_the_file(question, section, file):
    part = sections(PAGE.read_text())[section]
    path = file.strip("`")
    assert (ROOT / path).exists() or (layers.ROOT / path).exists()
    assert path in part and question.lower() in " ".join(part.lower().split())


def test_a_planted_import_is_found():
    assert rows("| `values` | data | leaves `graph` |") == {"values": {*layers.LEAVES, "graph"}}
    assert rows("| `semantics` | Python | `recording`+ |")["semantics"] == {"recording", *layers.LAYERS["recording"]}
