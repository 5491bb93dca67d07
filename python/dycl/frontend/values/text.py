# SPDX-License-Identifier: Apache-2.0
"""Strings known only at run time: pieces of text and numbers, and strings chosen among a table's."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ...calling.exceptions import Spelled
from ...calling.templates import Template
from ..diagnostics import CaptureRefusal
from .escape import Escape
from .scalar import RtScalar, kind_of
from .stand_in import BoundMethod, StandIn, key_refusal, negated, sealed


class Formatted(NamedTuple):
    """A number as format(number, spec) shows it."""

    number: RtScalar
    spec: str


class Chosen:
    """One of the texts of the capture's table, by its number there (values/chosen_text.py)."""

    __slots__ = ("number",)

    def __init__(self, number: Any):
        self.number = number

    @property
    def origin(self) -> Any:
        return getattr(self.number, "origin", None)


class Joined:
    """separator.join(...) of a list of run-time length: its graph lists and the kind of its elements."""

    __slots__ = ("separator", "values", "kind", "origin")

    def __init__(self, separator: str, values: tuple, kind: tuple):
        self.separator, self.values, self.kind, self.origin = separator, values, kind, None


class Changed:
    """text.method(*arguments), computed where the text is rebuilt."""

    __slots__ = ("text", "method", "arguments")

    def __init__(self, text: "RtText", method: str, arguments: tuple):
        self.text, self.method, self.arguments = text, method, arguments

    @property
    def origin(self) -> Any:
        return self.text.origin


def only_number(parts: tuple) -> Any:
    """The part that is not white space, if it is one."""
    found = [p for p in parts if not isinstance(p, str)]
    blank = not any(p.strip() for p in parts if isinstance(p, str))
    return found[0] if len(found) == 1 and blank else None


def rounded_number(parts: tuple) -> tuple | None:
    """float(f"{x:.3f}") is round(x, 3): both are the decimal number nearest to x, of two the even one."""
    part = only_number(parts)
    spec = _FIXED.fullmatch(part.spec) if isinstance(part, Formatted) and part.number.kind == "float" else None
    return None if spec is None else (part.number, int(spec[1]))


_FIXED = re.compile(r"[+\- ]?0?\d*\.(\d+)[fF]")


LATE = (Chosen, Joined, Changed)  # what results and attributes alone can show


class Texts:
    """The texts that runs choose among; those of one capture, kept when it begins anew."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self.numbers: dict[str, int] = {}
        self.late = 0  # how often texts came up when something had been computed of all
        self._choice: tuple = ()

    def choice(self) -> tuple:
        """The table as results hold it."""
        if len(self._choice) != len(self.all):
            self._choice = tuple(self.all)
        return self._choice


class Opaque:
    """A part of a text that cannot be written down while compiling: fit for an exception's message only."""

    __slots__ = ("what", "origin")

    def __init__(self, what: str, origin: Any = None):
        self.what, self.origin = what, origin


@sealed("str", "repr=str", "hash", "eq=comparison eq", "bool=truth")
class RtText(StandIn):
    """parts: strings and runtime scalars in order. Immutable."""

    __slots__ = ("parts", "origin")
    priority = 10

    def __init__(self, parts: tuple):
        self.parts = parts
        self.origin = next((p.number.origin if isinstance(p, Formatted) else p.origin
                            for p in parts if not isinstance(p, str)), None)

    @staticmethod
    def join(pieces: list) -> "str | RtText":
        return "".join(pieces) if all(isinstance(p, str) for p in pieces) else RtText.of(pieces)

    @staticmethod
    def of(pieces: list) -> "RtText":
        """The same, of known pieces too."""
        parts: list = []
        for p in pieces:
            parts.extend(p.parts if isinstance(p, RtText) else (p,))
        return RtText(tuple(parts))

    @property
    def exact(self) -> bool:
        """Strings and numbers as str() shows them alone."""
        return not any(isinstance(p, (Opaque, Formatted, *LATE)) for p in self.parts)

    def integers(self) -> list | None:
        """The numbers in it, if there is nothing else that only a run knows, and they are integers."""
        found = [p for p in self.parts if not isinstance(p, str)]
        return found if all(kind_of(p) == "int" for p in found) else None

    @property
    def writable(self) -> bool:
        """A run can write it down."""
        return not any(isinstance(p, Opaque) for p in self.parts)

    @property
    def chooses(self) -> bool:
        """There are texts in it that a run chooses: it may be returned or kept, not printed or raised."""
        return any(isinstance(p, LATE) for p in self.parts)

    def pattern(self, chosen: bool = False) -> tuple[str, list]:
        """A format with `{}` or `{:spec}` for each runtime scalar (braces doubled), and the scalars;
        `chosen`: chosen texts among them."""
        if self.chooses and not chosen:
            self.refuse("printed or raised")
        text, values = [], []
        for part in self.parts:
            if isinstance(part, (RtScalar, *LATE)):
                text.append("{}")
                values.append(part)
            elif isinstance(part, Formatted):
                text.append("{:" + part.spec + "}")
                values.append(part.number)
            elif isinstance(part, Opaque):
                text.append(f"<{part.what}>")
            else:
                text.append(part.replace("{", "{{").replace("}", "}}"))
        return "".join(text), values

    def refuse(self, what: str) -> None:
        raise CaptureRefusal(f"a string that is chosen at run time is {what}",
                             "return it, or use the number it stands for", kind="escape.str", because=self)

    @property
    def chosen(self) -> bool:
        """It is nothing but one of the texts of the capture's table."""
        return len(self.parts) == 1 and isinstance(self.parts[0], Chosen)

    # ---- what Python does with it ------------------------------------------------------------------

    def example(self, m: Any) -> Any:
        return ""

    def copied(self, m: Any, deep: bool) -> Any:
        return self

    def truth(self, m: Any) -> Any:
        return m.texts.truth(m, self)

    def length(self, m: Any) -> Any:
        return m.texts.length(m, self)

    def unified(self, union: Any, other: Any) -> Any:
        return union.m.texts.unified(union, self, other)

    def get_item(self, m: Any, s: Any, key: Any) -> Any:
        if m.has_runtime(key):
            raise CaptureRefusal("a string known only at run time is indexed by a value known only at run time",
                                 kind="index", because=key)
        if not self.chosen:
            raise Escape(self, "subscript")
        return m.texts.lifted(m, self, lambda text: text[key])

    def among_names(self, m: Any, names: list) -> Any:
        return m.decide_text(self, names)

    def contains(self, m: Any, s: Any, item: Any, negate: bool) -> Any:
        if not self.chosen or type(item) is not str:
            return NotImplemented
        return m.texts.lifted(m, self, lambda text: (item in text) != negate)

    def is_in(self, m: Any, s: Any, container: Any, negate: bool) -> Any:
        if not self.chosen or type(container) is not str:
            return NotImplemented
        return m.texts.lifted(m, self, lambda text: (text in container) != negate)

    def binary(self, m: Any, s: Any, op: str, a: Any, b: Any, inplace: bool) -> Any:
        if op == "add" and isinstance(a, (str, RtText)) and isinstance(b, (str, RtText)):
            return RtText.join([a, b])
        if op == "mul" and a is self and self.chosen and type(b) is int:
            return m.texts.lifted(m, self, lambda text: text * b)
        return NotImplemented

    def attribute(self, m: Any, s: Any, name: str) -> Any:
        if not m.texts.has_method(self, name):
            m.texts.refuse_method(self, name)
        return BoundMethod(self, name)

    def call_method(self, m: Any, s: Any, name: str, args: tuple, kwargs: dict) -> Any:
        return m.texts.call_method(m, self, name, args, kwargs)

    def is_late_key(self) -> bool:
        return True

    def check_key(self, m: Any) -> None:
        if not self.chosen and self.integers() is None:
            raise key_refusal("a string with something other than integers known only at run time as a key", self)

    def equal_key(self, m: Any, a: Any, b: Any) -> Any:
        return isinstance(a, (str, RtText)) and isinstance(b, (str, RtText)) and m.texts.equal(m, a, b)

    def number(self, m: Any) -> Any:
        found = m.texts.number(self)
        return self if found is None else found

    def rounded_number(self) -> tuple | None:
        return rounded_number(self.parts)

    def formatted(self, m: Any, spec: Any, conversion: int) -> Any:
        return m.texts.format_text(m, self, spec, conversion)

    def flattened(self, flattener: Any, path: str) -> Template:
        return flattener.m.texts.flattened(flattener, self, path)

    def shown(self) -> tuple:
        return ("'", self, "'")

    def spelled(self) -> Template:
        return Spelled("text", self.pattern()[0])

    def compare(self, m: Any, s: Any, op: str, a: Any, b: Any) -> Any:
        if op not in ("eq", "ne"):
            raise Escape(self, f"comparison {op}")
        found = self.equal_key(m, a, b)
        return found if op == "eq" else negated(m, found)
