# SPDX-License-Identifier: Apache-2.0
"""What scripts/docs.py makes of the pages before MkDocs sees them. `make docs` itself checks links and warnings."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dycl

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
import docs  # noqa: E402


def test_links_lead_to_pages_of_the_site():
    pages = docs.gathered()
    readme = docs.with_links_of_the_site((ROOT / "README.md").read_text(), ROOT / "README.md", pages)
    assert "(architecture.md)" in readme and "![four decisions, each of which may end the chain](gate.svg)" in readme
    guide = docs.with_links_of_the_site("[a](../deploy.md) [b](../../src/README.md) [c](https://x.org) `[d](no.md)`",
                                        ROOT / "docs" / "guides" / "experts.md", pages)
    assert guide.startswith("[a](../deploy.md) b [c](https://x.org)")
    assert docs.with_links_of_the_site("```\n[a](b.md)\n```", ROOT / "README.md", pages) == "```\n[a](b.md)\n```"


def test_lists_and_tables_stand_apart():
    assert docs.with_lists_apart("a:\n- b\n  c\n- d\n\ne\n| f |\n|---|\n") == (
        "a:\n\n- b\n  c\n- d\n\ne\n\n| f |\n|---|\n")
    assert docs.with_lists_apart("```\na\n```\n- b\n") == "```\na\n```\n\n- b\n"
    assert docs.with_lists_apart("```\na\n- b\n```") == "```\na\n- b\n```"


def test_each_page_is_reached_from_the_menu():
    menu = set(re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    pages = {str(place) for place in docs.gathered().values() if place.suffix == ".md"}
    assert menu == pages | {"reference_cli.md", "reference_python.md", "models_table.md"}


def test_the_api_is_that_of_the_code():
    text = docs.python_api()
    for name in dycl.__all__:
        assert f"## dycl.{name}\n" in text, name
    assert "dynamic_args: dict | None = None" in text and "### dycl.CompiledProgram.trace" in text
    assert "Writes the package: one file that runs without Python." in text and "_raised_by" not in text


def test_the_table_has_every_model():
    text = docs.models()
    rows = re.findall(r"<tr><td>(\w+)</td><td>([\w ]+)</td><td>(\w+)", text)
    assert ("skipnet_rnn", "zoo", "equal") in rows and len({name for name, *_ in rows}) > 500


@pytest.mark.parametrize("page, finds", [
    ('<script src="https://unpkg.com/x">', 1), ('<link rel="stylesheet" href="//fonts.x.org/y">', 1),
    ('<img src=https://x.org/a.png>', 1), ('<a href="https://x.org">', 0), ('<script src="assets/a.js">', 0),
])
def test_pages_that_load_something_are_found(tmp_path, page, finds):
    (tmp_path / "a.html").write_text(page)
    assert len(docs.loads(tmp_path)) == finds


WORKER = """addEventListener("message", async told => {
  await importScripts("twice.js");
  postMessage(twice(told.data));
});
"""
ASKS = """const worker = new Worker("assets/worker.js");
worker.addEventListener("message", told => { document.title = `told ${told.data}`; });
worker.postMessage(21);
"""


@pytest.mark.skipif(not shutil.which("chromium"), reason="Chromium is not there")
def test_a_page_opened_as_a_file_searches(tmp_path):
    """Material searches in a worker; without the script that stands in for it, a file gets none. One browser: 2 s."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "worker.js").write_text(WORKER)
    (tmp_path / "twice.js").write_text("function twice(x) { return 2 * x; }")
    (tmp_path / "iframe-worker.js").write_text(docs.SEARCH)
    (tmp_path / "page.html").write_text(f'<body><script src="iframe-worker.js"></script><script>{ASKS}</script></body>')
    done = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000",
                           "--dump-dom", f"file://{tmp_path / 'page.html'}"], text=True, capture_output=True,
                          timeout=120)
    assert "<title>told 42</title>" in done.stdout, done.stdout
