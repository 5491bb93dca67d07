# SPDX-License-Identifier: Apache-2.0
"""What the pages tell a reader to type is executed, page by page, in an empty folder.

- ```python title="model.py" is written to that file; other Python blocks of a page are executed one after the other in
  one interpreter; ```sh blocks by bash between them, with .venv/bin on the PATH.
- A block after `<!-- slow -->` takes over ten seconds: `make test-long` runs it (DYCL_TEST_LONG=1), `make test` does
  not. (Words behind the language would make MkDocs take the block for text.)
- A comment `<!-- first, python: ... -->` (or sh) is a step that readers do not see: what a page takes for granted.
- A comment `<!-- not executed: why -->` in the line before a block says why it is not.
- Blocks without a language are shown. None of them may hold a command or Python.
- Pages of ELSEWHERE are executed by other tests.

About 5 seconds of processor a page, since torch is imported once or twice: 54 seconds for twelve pages.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ELSEWHERE = {  # page -> what executes it
    "README.md": "tests/frontend/docs/test_readme.py; `make demo` and `make test` are what CI runs",
    "ARCHITECTURE.md": "scripts/architecture_example.py, by tests/frontend/docs/test_architecture.py",
    "CONTRIBUTING.md": "the build itself",
    "docs/recipes.md": "tests/test_recipes.py applies its diffs",
    **{str(path.relative_to(ROOT)): "tests/test_gallery.py"
       for path in (ROOT / "examples" / "gallery").rglob("README.md")},
}
ALL = sorted(str(path.relative_to(ROOT)) for path in [
    *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md"), ROOT / "src" / "README.md"])
_STEP = re.compile(r"^<!-- first, (?P<hidden>python|sh):\n(?P<first>.*?)^-->$|"
                   r"(?:^<!-- (?:not executed: (?P<why>[^\n]+)|(?P<slow>slow)) -->\n)?"
                   r"^```(?P<language>\w+)?(?P<told>[^\n]*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
_TYPED = re.compile(r"^\s*(?:dycl |dycl-run |make |pip |python3? |cmake |git |import |from \w+ import |\.venv/)",
                    re.MULTILINE)
EXECUTED = ("python", "sh", "cpp")

# Executes the steps of a page: a file to write, code, or a script.
DRIVER = """
import json, subprocess, sys
names = {"__name__": "page"}
for kind, what, text in json.load(open(sys.argv[1])):
    if kind == "file":
        open(what, "w").write(text)
    elif kind == "python":
        exec(compile(text, what, "exec"), names)
    else:
        sys.stdout.flush()
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", text])
        if done.returncode:
            sys.exit(f"{what}: exit code {done.returncode}")
"""


def steps_of(text: str, page: str = "page", slow: bool = False) -> list[tuple[str, str, str]]:
    steps = []
    for found in _STEP.finditer(text):
        place = f"{page}:{text[:found.start()].count(chr(10)) + 1}"
        language, told = found["language"], found["told"] or ""
        title = re.search(r'title="([\w.]+)"', told)
        if found["hidden"]:
            steps.append((found["hidden"], place, found["first"]))
        elif found["why"]:
            continue
        elif title:
            steps.append(("file", title[1], found["code"]))
        elif language in EXECUTED and (slow or not found["slow"]):
            steps.append((language, place, found["code"]))
    return steps


def neither_executed_nor_marked(text: str) -> list[int]:
    """Lines at which something to type stands in a block that nobody executes and that does not say why."""
    return [text[:found.start()].count("\n") + 1 for found in _STEP.finditer(text)
            if not found["hidden"] and not found["why"] and not found["language"] and _TYPED.search(found["code"])]


PAGES = [page for page in ALL if page not in ELSEWHERE and steps_of((ROOT / page).read_text(), slow=True)]


@pytest.mark.parametrize("page", PAGES)
def test_the_page_does_what_it_says(page, tmp_path):
    steps = steps_of((ROOT / page).read_text(), page, bool(os.environ.get("DYCL_TEST_LONG")))
    assert all(kind != "cpp" for kind, *_ in steps), "C++ is not executed here: say why"
    (tmp_path / "steps.json").write_text(json.dumps(steps))
    folder = tmp_path / "reader"
    folder.mkdir()
    env = {**os.environ, "PATH": f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": f"{folder}:{ROOT}",
           "DYCL_ROOT": str(ROOT), "DYCL_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", DRIVER, tmp_path / "steps.json"], cwd=folder, env=env,
                          capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


@pytest.mark.parametrize("page", [page for page in ALL if page not in ELSEWHERE])
def test_what_is_not_executed_says_why(page):
    assert neither_executed_nor_marked((ROOT / page).read_text()) == []


@pytest.mark.parametrize("page", ALL)
def test_fences_are_those_that_every_reader_of_markdown_takes(page):
    fences = re.findall(r"^```([^\n]*)$", (ROOT / page).read_text(), re.MULTILINE)
    assert all(re.fullmatch(r'(\w+( title="[\w.]+")?)?', fence) for fence in fences), fences


def test_the_guides_and_older_pages_are_executed():
    guides = {f"docs/guides/{path.name}" for path in (ROOT / "docs" / "guides").glob("*.md")}
    assert guides | {f"docs/{name}.md" for name in ("start", "deploy", "onnx", "emit", "trust", "zoo")} <= set(PAGES)
    assert set(ELSEWHERE) <= set(ALL)


def test_steps_are_found():
    text = """a
```
dycl view m.dycl
```
<!-- not executed: a reason -->
```
dycl view m.dycl
```
<!-- first, python:
x = 1
-->
```python
y = x
```
<!-- slow -->
```sh
sleep 100
```
"""
    assert steps_of(text) == [("python", "page:9", "x = 1\n"), ("python", "page:12", "y = x\n")]
    assert steps_of(text, slow=True)[-1] == ("sh", "page:15", "sleep 100\n")
    assert neither_executed_nor_marked(text) == [2]
