# SPDX-License-Identifier: Apache-2.0
"""The control flow of a program for a notebook: drawn where Graphviz is installed, else as text."""

from __future__ import annotations

import itertools
from html import escape

from ..errors import PackageError
from .drawing import draw
from .graph import Program
from .layout import has_dot

_MOST_BLOCKS = 400  # beyond that a picture says nothing
_pictures = itertools.count()  # each has ids of its own


def as_html(title: str, described: dict | None, text: str) -> str:
    """`described`: None for a package that was stripped; `text`: the program, shown where it is not drawn."""
    heading = f"<pre>{escape(title)}</pre>"
    as_text = f"{heading}<details><summary>control flow</summary><pre>{escape(text)}</pre></details>"
    if described is None or not has_dot() or len(described["blocks"]) > _MOST_BLOCKS:
        return as_text
    try:
        return heading + draw(Program(described), prefix=f"dycl{next(_pictures)}-")
    except PackageError:  # Graphviz takes too long, or fails
        return as_text
