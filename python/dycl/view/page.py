# SPDX-License-Identifier: Apache-2.0
"""`dycl view`: a package as one HTML page that loads nothing. What the package holds goes into it as JSON, which the
page's script writes as text only, and into the drawing, which is escaped; the page's policy runs no other script."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from pathlib import Path

from ..errors import InputError
from .drawing import DARK, STYLE, draw
from .graph import Program

_HERE = Path(__file__).parent


def page(described: dict, title: str, profile: dict | None = None) -> str:
    """`described`: of `native().package_to_json`; `profile`: of `dycl profile --json`."""
    if profile is not None:
        _check(profile, described)
    script, style = (_HERE / "page.js").read_text(), (_HERE / "page.css").read_text()
    program = Program(described)
    data = {"program": described, "profile": profile, "nodes": [node.lines for node in program.nodes],
            "kinds": [node.kind for node in program.nodes]}
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{STYLE}{DARK}{style}</style>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
<p id="facts"></p>
<div class="tools">
<input id="search" type="search" placeholder="search  ( / )" aria-label="search blocks, ops, weights and lines">
<span id="found" role="status"></span>
<button id="fit" type="button" title="show the whole graph (0)">fit</button>
<button id="theme" type="button">light or dark</button>
</div>
</header>
<main>
<section id="graph" tabindex="0" aria-label="control-flow graph; arrow keys go along its edges">
{draw(program, style="")}
</section>
<section id="side">
<nav role="tablist"></nav>
<div id="panes"></div>
</section>
</main>
<footer id="player" hidden>
<label for="run">input</label>
<input id="run" type="range" min="0" value="0">
<output id="told" for="run"></output>
</footer>
<script type="application/json" id="data">{_as_json(data)}</script>
<script>{script}</script>
</body>
</html>
"""


def _as_json(data: dict) -> str:
    """Inside <script> only `<` could end it; JSON may write it as an escape."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _check(profile: dict, described: dict) -> None:
    """A profile is a file of the user's: of another package, its numbers mean other blocks."""
    try:
        same = len(profile["decisions"]) == len(described["decisions"])
        sites = sum("site" in op for block in described["blocks"] for op in block["ops"])
        same = same and len(profile["sites"]) == sites and isinstance(profile["runs"], list)
    except (KeyError, TypeError):
        raise InputError("the profile is none; make it with: dycl profile model.dycl --random 20 -o profile.json") \
            from None
    if not same:
        raise InputError("the profile is of another package: it has other decisions or other calls")
