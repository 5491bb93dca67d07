# SPDX-License-Identifier: Apache-2.0
"""Every path, symbol and `make` target that the documents name exists; their lines are short. Costs a second.

What counts as a path, outside blocks of code:
- a link of markdown, `[text](target)`: from the document's folder; behind `#` a heading of that page;
- a code span without blanks that ends in `/` or in one of SUFFIXES, or that begins with a folder of the root;
- such a name without backticks, if it begins with a folder of the root and ends in one of SUFFIXES;
- the bold name of a folder with which an item of a list begins, `- **passes/** ...`: what the item names may lie in it.

A path is looked for from the repository's root, from the document's folder, and from the folders that BASES gives the
document. `<name>` and `*` stand for anything, `{a,b}` for either; something must fit. `file.py:name` needs a file that
says `name` (`file.py:Class.name`: both). `make x`, also in blocks of code, needs a target x; `python -m a.b` needs that
module, if `a` is a folder of the root. A code span `a.b.c`, with a folder of the root or `dycl` for `a`, needs a module
`a.b` that says `c`, or `a.b.c`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator

import pytest

ROOT = Path(__file__).resolve().parents[1]
_TOP = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "src/README.md")
PAGES = sorted([*(ROOT / name for name in _TOP), *(ROOT / "docs").rglob("*.md")])
FOLDERS = "bench docs include python scripts src tests tools zoo".split()  # of the root; build/ holds what is made
SUFFIXES = (".py", ".h", ".cpp", ".md", ".fbs", ".txt", ".dyir", ".json", ".yml")
PACKAGE, FRONT_END = "python/dycl", "python/dycl/frontend"
BASES = {  # document -> folders that it writes paths from, beside the root and its own
    "ARCHITECTURE.md": (PACKAGE,),
    "CONTRIBUTING.md": (PACKAGE,),
    "docs/recipes.md": (FRONT_END,),
    "docs/passes.md": ("src/passes",),
    "docs/backends/auto.md": ("src/backends/choose",),
    "docs/backends/openvino.md": ("src/backends/openvino",),
    "docs/backends/tvm.md": ("src/backends/tvm",),
    "docs/package_format.md": ("src/runtime",),
}
WRITTEN = ("docs/paper.md", "docs/supported_ops.md")  # by scripts, which break lines as they like
WIDTH = 120
MADE = {  # document -> names of files that DyCL or the reader makes
    "docs/emit.md": ("model.h", "model.cpp", "model_c.h", "model_c.cpp", "CMakeLists.txt", "main.cpp", "Model.h"),
    "docs/deploy.md": ("model_c.h",),
    "CHANGELOG.md": ("model.py:name",),
}
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`((?:[^`\n]|\n(?!\n))+)`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_ENDS = "|".join(map(re.escape, SUFFIXES))
_BARE = re.compile(rf"(?<![\w./`(-])((?:{'|'.join(FOLDERS)})/[\w./*<>-]*?(?:{_ENDS}))(?![\w/])")
_MAKE = re.compile(r"^(?:[A-Z]+=\S+ )*make ((?:[a-z][a-z-]* ?)+)", re.MULTILINE)
_MODULE = re.compile(rf"(?:dycl|{'|'.join(FOLDERS)})(?:\.[A-Za-z_]\w*)+(?:\(\))?")
_ITEM = re.compile(r"^- \*\*([\w/]+/)\*\*", re.MULTILINE)


def targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def looks_like_a_path(name: str) -> bool:
    if not re.fullmatch(r"[\w./*<>{},+-]+(:[\w.]+)?", name) or name.startswith(("-", "/", ".", "build/")):
        return False
    path = name.partition(":")[0]
    return path.endswith(("/", *SUFFIXES)) or path.split("/")[0] in FOLDERS and "/" in path


def _alternatives(path: str) -> list[str]:
    found = re.search(r"\{([^{}]*)\}", path)
    if not found:
        return [path]
    before, after = path[:found.start()], path[found.end():]
    return [one for choice in found[1].split(",") for one in _alternatives(before + choice + after)]


def _fitting(path: str, bases: list[Path]) -> list[Path]:
    pattern = re.sub(r"<[^<>]*>", "*", path)
    for base in bases:
        found = list(base.glob(pattern)) if "*" in pattern else [base / pattern] * (base / pattern).exists()
        if found:
            return found
    return []


def _says(text: str, name: str) -> bool:
    return all(re.search(rf"\b{re.escape(part)}\b", text) for part in name.split("."))


def fault(name: str, bases: list[Path]) -> str:
    """Why `name` is wrong; "" if it is not."""
    path, _, symbol = name.partition(":")
    for one in _alternatives(path):
        found = _fitting(one, bases)
        if not found:
            return f"there is no {one}"
        if one.endswith("/") and not all(p.is_dir() for p in found):
            return f"{one} is no folder"
        if symbol and not any(_says(p.read_text(), symbol) for p in found):
            return f"{one} does not say {symbol}"
    return ""


def module_fault(name: str) -> str:
    """Of "zoo.compare.rounding" or "dycl.load": a module, or a name that the module before it says."""
    first, *rest = name.removesuffix("()").split(".")
    at = ROOT / "python" / "dycl" if first == "dycl" else ROOT / first
    while rest and (at.joinpath(rest[0]).is_dir() or at.joinpath(f"{rest[0]}.py").exists()):
        at = at / rest.pop(0)
    file = at / "__init__.py" if at.is_dir() else at.with_suffix(".py")
    if rest and not (file.exists() and _says(file.read_text(), ".".join(rest))):
        return f"{file.relative_to(ROOT)} does not say {'.'.join(rest)}"
    return ""


def _link_fault(target: str, folder: Path) -> str:
    path, _, anchor = target.partition("#")
    page = folder / path if path else None
    if page is not None and not page.exists():
        return f"there is no {path} to link to"
    if anchor and page is not None and anchor not in headings(page.read_text()):
        return f"{path} has no heading {anchor}"
    return ""


def headings(text: str) -> list[str]:
    """As GitHub makes anchors of them."""
    lines = re.findall(r"^#+ (.*)$", _FENCE.sub("", text), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines]


def _items(text: str) -> Iterator[tuple[str, str]]:
    """(the folder that the item names at its beginning, or "", the text), by items of lists and paragraphs."""
    for part in re.split(r"\n\n|^(?=- )", text, flags=re.MULTILINE):
        found = _ITEM.match(part)
        yield (found[1] if found else ""), part


def faults(text: str, page: Path) -> list[str]:
    name = str(page.relative_to(ROOT))
    bases = [ROOT, page.parent, *(ROOT / base for base in BASES.get(name, ()))]
    made, found = MADE.get(name, ()), []
    prose = _FENCE.sub("", text)
    found += [_link_fault(t, page.parent) for t in _LINK.findall(_SPAN.sub("", prose)) if "://" not in t]
    for folder, part in _items(prose):
        inside = [page.parent / folder] if folder else []
        names = [folder] * bool(folder) + [s for s in _SPAN.findall(part) if looks_like_a_path(s) and s not in made]
        names += _BARE.findall(_LINK.sub(" ", _SPAN.sub(" ", part)))
        found += [fault(one, inside + bases) for one in names]
        found += [module_fault(s) for s in _SPAN.findall(part) if _MODULE.fullmatch(s) and not looks_like_a_path(s)]
    commands = "\n".join([*_SPAN.findall(prose), *_FENCE.findall(text)])
    goals = {goal for command in _MAKE.findall(commands) for goal in command.split()}
    found += [f"make has no target {goal}" for goal in sorted(goals - targets())]
    for module in re.findall(r"python -m ([\w.]+)", commands):
        path = ROOT / module.replace(".", "/")
        there = path.with_suffix(".py").exists() or (path / "__main__.py").exists()
        if module.split(".")[0] in FOLDERS and not there:
            found.append(f"there is no module {module}")
    return [one for one in found if one]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_the_page_names_exists(page):
    wrong = faults(page.read_text(), page)
    assert not wrong, "\n".join(wrong)


def too_long(text: str) -> list[int]:
    """Numbers of the lines that are too long, but for rows of tables and lines of code."""
    blank = _FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)
    return [k for k, line in enumerate(blank.splitlines(), 1) if len(line) > WIDTH and not line.startswith("|")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_are_short(page):
    assert str(page.relative_to(ROOT)) in WRITTEN or too_long(page.read_text()) == []


def test_a_long_line_is_found():
    long = "x" * (WIDTH + 1)
    assert too_long(f"short\n```\n{long}\n```\n| {long} |\n{long}\n") == [6]


@pytest.mark.parametrize("text, wrong", [
    ("See `src/ir/planted.h`.", "there is no src/ir/planted.h"),
    ("See `python/dycl/frontend/opcodes.py`.", "there is no python/dycl/frontend/opcodes.py"),
    ("See `src/planted/`.", "there is no src/planted/"),
    ("See `src/ir/verify.h/`.", "src/ir/verify.h/ is no folder"),
    ("See src/ir/planted.h and what follows.", "there is no src/ir/planted.h"),
    ("See [the IR](docs/planted.md).", "there is no docs/planted.md to link to"),
    ("See [the IR](docs/ir.md#planted).", "docs/ir.md has no heading planted"),
    ("See `src/passes/<pass>/planted`.", "there is no src/passes/<pass>/planted"),
    ("See `tests/{passes,planted}/`.", "there is no tests/planted/"),
    ("See `src/passes/pipeline.cpp:planted`.", "src/passes/pipeline.cpp does not say planted"),
    ("- **planted/** A folder.", "there is no planted/"),
    ("Say `make planted` or `make test`.", "make has no target planted"),
    ("```\nmake planted   # a comment\n```\n", "make has no target planted"),
    ("Say `python -m zoo.planted`.", "there is no module zoo.planted"),
    ("Call `zoo.compare.planted`.", "zoo/compare.py does not say planted"),
    ("Call `dycl.planted()`.", "python/dycl/__init__.py does not say planted"),
])
def test_a_planted_fault_is_found(text, wrong):
    assert faults(text, ROOT / "README.md") == [wrong]


@pytest.mark.parametrize("text", [
    "`src/ir/verify.h`, `src/passes/<pass>.cpp`, `src/passes/pipeline.cpp:kPipeline`, `docs/{ir,emit}.md`",
    "[the IR](docs/ir.md#states), [the web](https://example.com/src/planted.h), `build/planted.h`, `a/b`",
    "- **src/** `passes/pipeline.cpp`\n  and `ir/`",
    "`dycl.load`, `dycl.frontend.capture.capture`, `zoo.compare.difference`, `torch.planted`, `x.dycl`",
    "`make format tidy`, `PYTHON=python3.12 make test`, `make artifact DIR=checkout`",
    "`python -m tests.models.run names`, `python -m json.tool`",
])
def test_what_exists_is_no_fault(text):
    assert faults(text, ROOT / "README.md") == []


def test_short_names_are_those_of_the_documents_own_folders():
    assert faults("`packed.py`", ROOT / "docs/backends/tvm.md") == ["there is no packed.py"]
    assert faults("`compiler/packed.py`, `plan.h`", ROOT / "docs/backends/tvm.md") == []
    assert faults("`compiler/packed.py`", ROOT / "docs/backends/openvino.md") == ["there is no compiler/packed.py"]
