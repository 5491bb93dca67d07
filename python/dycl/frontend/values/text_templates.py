# SPDX-License-Identifier: Apache-2.0
"""Texts known only at run time as results show them."""

from __future__ import annotations

from typing import Any, Callable

from ...calling.templates import Number, Template
from ...calling.text_templates import Changed, Choice, Format, Joined
from . import text as values
from .chosen_text import built
from .list import RtList
from .scalar import BY_KIND

Leaf = Callable[[Any], Template]  # of a number, or of a list of run-time length


def flattened(flattener: Any, text: values.RtText, path: str) -> Template:
    if not text.writable:
        return flattener.refuse(text, path, "text with a tensor, or an unusual format of a number, known only at "
                                            "run time")
    return text_template(flattener.m, text, lambda x: flattener.flatten(x, path))


def element_of_texts(m: Any, kind: tuple) -> Template:
    """Of an element of a list of run-time length (values/list_kinds.py)."""
    nowhere: Any = None
    stand_ins = [BY_KIND[k[0]](nowhere) for k in kind[2]]
    return text_template(m, built(kind[1], stand_ins), lambda x: Number(x.kind))


def text_template(m: Any, text: Any, leaf: Leaf) -> Template:
    pattern, found = text.pattern(chosen=True)
    return Format(tuple(_OF_PARTS.get(type(x), lambda m, x, leaf: leaf(x))(m, x, leaf) for x in found), pattern)


_OF_PARTS: dict[type, Callable[[Any, Any, Leaf], Template]] = {
    values.Chosen: lambda m, x, leaf: Choice((leaf(x.number),), m.assumptions.texts.choice()),
    values.Joined: lambda m, x, leaf: Joined((leaf(RtList(x.values, x.kind, frozenset(), None, True)),), x.separator),
    values.Changed: lambda m, x, leaf: Changed((text_template(m, x.text, leaf),), x.method, x.arguments)}
