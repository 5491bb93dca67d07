# SPDX-License-Identifier: Apache-2.0
"""The control flow of a program for a notebook: drawn by Graphviz where it is installed, else as text."""

from __future__ import annotations

import html
import re
import shutil
import subprocess

_EXIT = re.compile(r"\^([\w.]+)")
_MOST_BLOCKS = 400  # beyond that a picture says nothing
_MOST_SECONDS = 10


def edges(text: str) -> dict[str, tuple[list[str], list[str]]]:
    """block -> (what it does in short, blocks that come next), from the text of a host program."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    body = text.split("\nsubdnn ", 1)[0]
    current: tuple[list[str], list[str]] = ([], [])
    for line in body.splitlines():
        stripped = line.strip()
        if stripped.startswith("^"):
            current = found.setdefault(stripped[1:].partition("(")[0].rstrip(":"), ([], []))
        elif stripped.startswith(("goto ", "branch ", "switch ", "return", "raise ")):
            current[1].extend(_EXIT.findall(stripped))
            current[0].append(stripped.split("(")[0].split("^")[0].rstrip(", ").strip())
        elif "= call " in stripped or stripped.startswith("call "):
            current[0].append(stripped.partition("call ")[2].partition("(")[0])
    return found


def _quoted(text: str) -> str:
    """A string of DOT in which nothing of `text` is read as anything but letters; `text` may come from a file."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def as_dot(blocks: dict[str, tuple[list[str], list[str]]]) -> str:
    """The blocks as numbered nodes: a name stands in labels alone."""
    lines = ["digraph program { node [shape=box fontname=sans fontsize=10]; edge [fontname=sans fontsize=9];"]
    numbers = {name: number for number, name in enumerate(blocks)}
    for name, (does, after) in blocks.items():
        label = "\n".join([name, *does[:6], *(["..."] if len(does) > 6 else [])])
        lines.append(f"b{numbers[name]} [label={_quoted(label)}];")
        arms = ("true", "false") if len(after) == 2 else tuple(map(str, range(len(after))))
        lines += [f"b{numbers[name]} -> b{numbers[target]}" + (f' [label="{arm}"]' if len(after) > 1 else "") + ";"
                  for arm, target in zip(arms, after) if target in numbers]
    return "\n".join([*lines, "}"])


def _drawn(blocks: dict[str, tuple[list[str], list[str]]]) -> str | None:
    dot = shutil.which("dot")
    if dot is None or len(blocks) > _MOST_BLOCKS:
        return None
    try:
        drawn = subprocess.run([dot, "-Tsvg"], input=as_dot(blocks), text=True, capture_output=True,
                               timeout=_MOST_SECONDS)
    except subprocess.TimeoutExpired:
        return None
    start = drawn.stdout.find("<svg")
    return None if drawn.returncode or start < 0 else drawn.stdout[start:]


def as_html(title: str, text: str) -> str:
    heading = f"<pre>{html.escape(title)}</pre>"
    drawn = _drawn(edges(text))
    if drawn is None:
        return f"{heading}<details><summary>control flow</summary><pre>{html.escape(text)}</pre></details>"
    return heading + drawn
