# SPDX-License-Identifier: Apache-2.0
"""What the guides tell a reader to type is executed, page by page, in an empty folder.

- ```python title="model.py" is written to that file; other Python blocks of a page are executed one after the other in
  one interpreter; ```sh blocks by bash between them, with .venv/bin on the PATH.
- ```sh slow takes over ten seconds: `make test-long` runs it (DYCL_TEST_LONG=1), `make test` does not.
- Blocks without a language are shown, not executed.

About 5 seconds of processor a page: torch is imported once or twice.
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
PAGES = ["start", "deploy", "guides/early_exit", "guides/decode_loop", "guides/experts", "guides/solver"]
_BLOCK = re.compile(r"^```(\w+)?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

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


def steps_of(page: str) -> list[tuple[str, str, str]]:
    text = (ROOT / "docs" / f"{page}.md").read_text()
    slow = bool(os.environ.get("DYCL_TEST_LONG"))
    steps = []
    for found in _BLOCK.finditer(text):
        place = f"docs/{page}.md:{text[:found.start()].count(chr(10)) + 1}"
        language, told, code = found[1], found[2], found[3]
        title = re.search(r'title="([\w.]+)"', told)
        if title:
            steps.append(("file", title[1], code))
        elif language == "python":
            steps.append(("python", place, code))
        elif language == "sh" and (slow or "slow" not in told):
            steps.append(("sh", place, code))
    return steps


@pytest.mark.parametrize("page", PAGES)
def test_the_page_does_what_it_says(page, tmp_path):
    steps = steps_of(page)
    assert any(kind != "file" for kind, *_ in steps)
    (tmp_path / "steps.json").write_text(json.dumps(steps))
    folder = tmp_path / "reader"
    folder.mkdir()
    env = {**os.environ, "PATH": f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(folder),
           "DYCL_ROOT": str(ROOT), "DYCL_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", DRIVER, tmp_path / "steps.json"], cwd=folder, env=env,
                          capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


def test_every_guide_is_executed():
    guides = {f"guides/{path.stem}" for path in (ROOT / "docs" / "guides").glob("*.md")}
    assert guides <= set(PAGES)
