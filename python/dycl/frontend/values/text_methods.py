# SPDX-License-Identifier: Apache-2.0
"""The methods of strings known only at run time; what the interpreter has as `m.texts`."""

from __future__ import annotations

from typing import Any

from . import chosen_text, text_with_integers
from .chosen_text import joined, lifted, truth, unified
from .text import RtText
from .text_equality import equal
from .text_formatting import format_number, format_tensor, format_text, refuse_method, text_method
from .text_templates import flattened
from .text_with_integers import length, number

__all__ = ["call_method", "equal", "flattened", "format_number", "format_tensor", "format_text", "has_method", "joined",
           "length", "lifted", "number", "refuse_method", "truth", "unified"]


def has_method(text: RtText, name: str) -> bool:
    return (name in ("startswith", "endswith") or chosen_text.has_method(text, name)
            or text_with_integers.has_method(text, name))


def call_method(m: Any, text: RtText, name: str, args: tuple, kwargs: dict) -> Any:
    if not text.chosen and text_with_integers.has_method(text, name):
        return text_with_integers.method(m, text, name, args, kwargs)
    if chosen_text.has_method(text, name):
        return chosen_text.method(m, text, name, args, kwargs)
    return text_method(text, name, args)
