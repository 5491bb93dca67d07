#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The documentation as a site in build/site: `make docs`. Warnings are errors, and so is a page that loads anything.

Gathers the pages into build/docs_source: docs/, the root's own pages, and three that are made from the code: the
command line (from `--help`), the Python API (from docstrings), a table of the models. Links to files that are no pages
become plain text, for a site has no source tree.
"""

from __future__ import annotations

import dataclasses
import html
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import help_pages

import dycl
import dycl.runtime
import zoo

ROOT = Path(__file__).resolve().parent.parent
SOURCE, SITE = ROOT / "build" / "docs_source", ROOT / "build" / "site"
OF_ROOT = {"README.md": "index.md", "ARCHITECTURE.md": "architecture.md", "CONTRIBUTING.md": "contributing.md",
           "CHANGELOG.md": "changelog.md"}
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_LOADS = re.compile(r"""<(?:script|img|iframe|source)[^>]*\ssrc=["']?(?:https?:)?//|<link[^>]*rel=["']?"""
                    r"""(?:stylesheet|preconnect|preload)[^>]*href=["']?(?:https?:)?//|@import\s+url\(["']?https?:""")

# Rows of a table are filtered by what is typed.
FILTER = """document.querySelectorAll("input[data-filters]").forEach(input => {
  const rows = [...document.querySelectorAll(input.dataset.filters + " tbody tr")];
  const shown = document.getElementById("shown");
  const filter = () => {
    const words = input.value.toLowerCase().split(/\\s+/);
    let count = 0;
    for (const row of rows) {
      row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
      count += !row.hidden;
    }
    shown.textContent = `${count} of ${rows.length}`;
  };
  input.addEventListener("input", filter);
  filter();
});
"""

# Code of 100 columns fits a line, names in tables are not broken.
STYLE = """.md-grid { max-width: 84rem; }
.md-typeset pre > code { font-size: 0.7rem; }
.md-typeset td code { word-break: normal; overflow-wrap: break-word; }
"""

# A page that was opened as a file may not start a worker, and Material searches in one: here it is a hidden frame.
SEARCH = """if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      Object.assign(this.frame, {hidden: true, srcdoc: ""});
      this.ready = new Promise(loaded => { this.frame.onload = loaded; }).then(() => this.begin(url));
      document.body.append(this.frame);
    }
    begin(url) {
      const inside = this.inside = this.frame.contentWindow;
      const load = address => new Promise((loaded, failed) => {
        const script = inside.document.createElement("script");
        Object.assign(script, {src: new URL(address, document.baseURI).href, onload: loaded, onerror: failed});
        inside.document.head.append(script);
      });
      inside.importScripts = (...addresses) => Promise.all(addresses.map(load));
      inside.postMessage = data => {
        const event = new MessageEvent("message", {data});
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      return load(url);
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new this.inside.MessageEvent("message", {data})));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
"""


# ---- pages of the tree ------------------------------------------------------------------------------

def gathered() -> dict[Path, Path]:
    """Page of the tree -> its place in the site."""
    of_docs = {path: path.relative_to(ROOT / "docs") for path in sorted((ROOT / "docs").rglob("*"))
               if path.is_file() and "adr" not in path.parts}
    return {**of_docs, **{ROOT / name: Path(place) for name, place in OF_ROOT.items()}}


def with_links_of_the_site(text: str, page: Path, pages: dict[Path, Path]) -> str:
    """Links lead to pages where they are in the site; what is not there is named alone."""
    def place(found: re.Match) -> str:
        image, shown, target = found[1], found[2], found[3]
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        name, hash_, anchor = target.partition("#")
        path = (page.parent / name).resolve()
        if path not in pages:
            return shown
        depth = len(pages[page].parent.parts)
        return f"{image}[{shown}]({'../' * depth}{pages[path]}{hash_}{anchor})"

    return outside_code(text, lambda part: _LINK.sub(place, part))


def outside_code(text: str, change: Callable[[str], str]) -> str:
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if k % 2 else change(part) for k, part in enumerate(parts))


def with_lists_apart(text: str) -> str:
    """MkDocs wants a blank line before a list or a table, others do not."""
    def apart(part: str) -> str:
        lines: list[str] = []
        part = re.sub(r"\A\n(?=- |1\. |\|)", "\n\n", part)  # what follows a block of code
        for line in part.split("\n"):
            begins = next((kind for kind in ("- ", "1. ", "|") if line.startswith(kind)), None)
            if begins and lines and lines[-1].strip() and not lines[-1].startswith((" ", begins, "- ")):
                lines.append("")
            lines.append(line)
        return "\n".join(lines)

    return outside_code(text, apart)


# ---- pages made from the code ------------------------------------------------------------------------

def command_line() -> str:
    lines = ["# The command line", "", "What `--help` says of each command. `make install` installs man pages and "
             "completions for bash, zsh and fish, too.", ""]
    for tool in ("dycl", "dycl-run"):
        for page in help_pages.pages(tool):
            lines += [f"## {' '.join([tool, *page.words])}", "", "```", page.text.rstrip(), "```", ""]
    return "\n".join(lines)


def python_api() -> str:
    lines = ["# Python", "", "```", "import dycl            # compile and load: with torch",
             "import dycl.runtime    # load alone: from numpy, without torch", "```", ""]
    for name in sorted(dycl.__all__, key=str.lower):
        lines += described(f"dycl.{name}", getattr(dycl, name))
    lines += described("dycl.runtime.load", dycl.runtime.load) + described("dycl.runtime.Program", dycl.runtime.Program)
    return "\n".join(lines)


def described(name: str, thing: Any) -> list[str]:
    lines = [f"## {name}", ""]
    if not inspect.isclass(thing):
        return lines + _signature(name, thing) + _text(thing)
    bases = [base.__name__ for base in thing.__bases__ if base is not object]
    if bases:
        lines += [f"A kind of {', '.join(f'`{base}`' for base in bases)}.", ""]
    lines += _text(thing)
    if dataclasses.is_dataclass(thing):
        lines += ["```", *(f"{f.name}: {f.type}" for f in dataclasses.fields(thing)), "```", ""]
    for own, member in vars(thing).items():
        if own.startswith("_") and own != "__call__" or not inspect.getdoc(member) and own != "__call__":
            continue
        if isinstance(member, property):
            lines += [f"### {name}.{own}", ""] + _text(member)
        elif inspect.isfunction(member):
            title = name if own == "__call__" else f"{name}.{own}"
            lines += [f"### {title}{'()' if own == '__call__' else ''}", ""] + _signature(title, member) + _text(member)
    return lines


def _signature(name: str, thing: Any) -> list[str]:
    parameters = [p for p in inspect.signature(thing).parameters.values() if p.name != "self"]
    written = [re.sub(r"^(\**\w+: )'([^']*)'", r"\1\2", str(p)) for p in parameters]
    whole = f"{name}({', '.join(written)})"
    if len(whole) > 100:
        whole = f"{name}(\n    " + ",\n    ".join(written) + ")"
    return ["```python", whole, "```", ""]


def _text(thing: Any) -> list[str]:
    """A docstring, whose columns count."""
    text = inspect.getdoc(thing)
    return ["```text", text, "```", ""] if text else []


def models() -> str:
    """The zoo and the public models, to be filtered."""
    rows = [(name, "zoo", "equal", entry.note) for name, entry in zoo.MODELS.items()]
    for line in (ROOT / "tests" / "models" / "expected.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, result = line.partition(" ")
            rows.append((name, "public package", result.strip(), ""))
    head = "<tr><th>model</th><th>from</th><th>result</th><th>what the input decides</th></tr>"
    body = "\n".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return ("# Models\n\nThe [zoo](zoo.md) and the [public models](models.md), with what the last comparison against "
            "eager gave; the zoo is compared in each `make test`.\n\n"
            '<p><input data-filters="#models" type="search" placeholder="filter: name, result, ..." '
            f'aria-label="filter"> <span id="shown"></span></p>\n\n<table id="models">\n<thead>{head}</thead>\n'
            f"<tbody>\n{body}\n</tbody>\n</table>\n")


# ---- the site ------------------------------------------------------------------------------------------

def gather() -> None:
    shutil.rmtree(SOURCE, ignore_errors=True)
    pages = gathered()
    for path, place in pages.items():
        (SOURCE / place).parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            (SOURCE / place).write_text(with_lists_apart(with_links_of_the_site(path.read_text(), path, pages)))
        else:
            shutil.copyfile(path, SOURCE / place)
    for name, text in (("reference_cli.md", command_line()), ("reference_python.md", python_api()),
                       ("models_table.md", models()), ("filter.js", FILTER), ("iframe-worker.js", SEARCH),
                       ("layout.css", STYLE)):
        (SOURCE / name).write_text(text)


def loads(site: Path) -> list[str]:
    """Pages that ask a browser for something from elsewhere."""
    return [f"{path.relative_to(site)}: {found[0][:120]}" for path in sorted(site.rglob("*.html"))
            for found in _LOADS.finditer(path.read_text())]


def main() -> int:
    gather()
    if "--gather" in sys.argv:
        return 0
    done = subprocess.run([ROOT / "build" / "docs" / "bin" / "mkdocs", "build", "--strict", "--quiet", "--config-file",
                           ROOT / "mkdocs.yml"], cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    if done.returncode:
        return done.returncode
    for problem in (found := loads(SITE)):
        print(problem, file=sys.stderr)
    if not found:
        print(f"{SITE.relative_to(ROOT)}/index.html: {len(list(SITE.rglob('*.html')))} pages")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
