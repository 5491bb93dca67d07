# SPDX-License-Identifier: Apache-2.0
"""Results in words: names of their leaves, and how Python would write them."""

from __future__ import annotations

import re
from typing import Iterator

from .nodes import Dict, List, Node, Object, Set, Tuple
from .templates import Argument, Leaf, Live, Reference, Rows, Static, Template
from .text_templates import Text


def leaf_names(template: Template) -> list[str]:
    """What the user calls each computed leaf, in order: the keys and fields on its way ("boxes", "past_0"); "" where
    there are only places."""
    return [re.sub(r"\W", "_", "_".join(path).lstrip("0123456789_")) for path in _leaf_paths(template, ())]


def _leaf_paths(t: Template, path: tuple) -> Iterator[tuple]:
    if isinstance(t, (Leaf, Rows)):
        yield from [path for _ in t.leaves()]
    elif isinstance(t, Node):
        names = t.keys()
        if not isinstance(t, (Dict, Object)):
            names = getattr(t.cls, "_fields", getattr(t.cls, "__match_args__", ())) or names
        for name, part in (*zip(names, t.items), *t.attributes):
            yield from _leaf_paths(part, (*path, str(name)))
    elif isinstance(t, (Argument, Text)):
        for part in t.parts():
            yield from _leaf_paths(part, path)


def in_words(t: Template, leaves: Iterator[str]) -> str:
    """A result as Python would write it, with names for what is computed."""
    if isinstance(t, Argument):
        return in_words(t.inner, leaves)
    if isinstance(t, Static):
        return repr(t.value)
    if isinstance(t, (Live, Reference)):
        return "..."
    if isinstance(t, (Tuple, List, Set, Dict, Object)):
        return _node_in_words(t, [in_words(part, leaves) for part in t.items])
    names = [next(leaves) for _ in t.leaves()]
    return ", ".join(names) if len(names) == 1 else f"({', '.join(names)})"


def _node_in_words(t: Node, items: list[str]) -> str:
    if isinstance(t, Dict):
        return "{" + ", ".join(f"{key!r}: {item}" for key, item in zip(t.names, items)) + "}"
    if isinstance(t, Object):
        return f"{t.cls.__name__}({', '.join(f'{name}={item}' for name, item in zip(t.names, items))})"
    one = "," if t.cls is tuple and len(items) == 1 else ""
    brackets: dict[type, tuple[str, str]] = {tuple: ("(", ")"), list: ("[", "]"), set: ("{", "}")}
    before, after = brackets.get(t.cls, (f"{t.cls.__name__}(", ")"))
    return before + ", ".join(items) + one + after
