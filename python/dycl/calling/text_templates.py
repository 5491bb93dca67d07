# SPDX-License-Identifier: Apache-2.0
"""Templates of strings that a run makes: of numbers, of strings it chooses among, of lists of strings.

Nothing here formats by what a file says but numbers by a checked specification, and of str's methods only the listed
ones are called, on strings.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
import string
import threading
from typing import Any, Iterator

from ..errors import PackageError
from .templates import Change, Made, Number, Rows, Static, Template

# As the run time formats numbers (src/support/python_str.h).
SPEC = re.compile(r"(?:[ -z|~]?[<>=^])?[+\- ]?0?\d{0,3}[,_]?(?:\.\d{1,2})?[bdeEfFgGoxX%]?")
# Methods that give another text.
CHANGING = frozenset(("capitalize", "casefold", "center", "expandtabs", "ljust", "lower", "lstrip", "removeprefix",
                      "removesuffix", "replace", "rjust", "rstrip", "strip", "swapcase", "title", "upper", "zfill"))
_EXAMPLES: dict[str, Any] = {"int": 7, "float": 1.5, "bool": True}
LONGEST = 1 << 26  # characters of one text
_MOST = 1 << 28  # of all texts of a result
_WIDEST_NUMBER = 1000  # by any specification: a width of three digits, or a float written out
_WIDEST = 1 << 16  # that a method fills up to


class _Left(threading.local):
    """How many characters the texts of the result that this thread makes may still have; None: it makes none."""

    characters: int | None = None


_left = _Left()


@contextlib.contextmanager
def all_texts_bounded() -> Iterator[None]:
    """Around what makes a result: its texts together are bounded, too."""
    before, _left.characters = _left.characters, _MOST
    try:
        yield
    finally:
        _left.characters = before


def _count(length: int) -> None:
    if _left.characters is None:
        return
    _left.characters -= length
    if _left.characters < 0:
        raise PackageError(f"texts of more than {_MOST} characters in one result", section="metadata")


def bounded(length: int) -> None:
    if length > LONGEST:
        raise PackageError(f"a text of {length} characters", section="metadata")


def pieces_of(text: str) -> list[tuple[str, str | None]]:
    """(what stands before, specification) of each `{}` or `{:spec}` of a format; None behind the last. ValueError: it
    asks for more than that."""
    found: list[tuple[str, str | None]] = []
    rest = ""  # a doubled brace ends a piece, too
    for before, name, spec, conversion in string.Formatter().parse(text):
        if name is not None and (name or conversion or not SPEC.fullmatch(spec or "")):
            raise ValueError(f"{{{name}{'!' + conversion if conversion else ''}:{spec}}}")
        rest += before
        if name is not None:
            found.append((rest, spec))
            rest = ""
    return [*found, (rest, None)] if rest else found


@dataclasses.dataclass(frozen=True)
class Text(Template):
    """`items`: what it is made of."""

    items: tuple[Template, ...]
    kind = "text"
    is_open = True

    def parts(self) -> tuple[Template, ...]:
        return self.items

    def map(self, change: Change) -> Template:
        return dataclasses.replace(self, items=tuple(t.map(change) for t in self.items))

    def rebuild(self, leaves: Iterator, made: Made) -> str:
        text = self.joined([t.rebuild(leaves, Made()) for t in self.items])
        _count(len(text))
        return text

    def joined(self, values: list) -> str:
        raise NotImplementedError(type(self))

    def how(self) -> Any:
        """In a package."""
        raise NotImplementedError(type(self))

    def write(self, out: Any) -> list:
        return [self.kind, self.how(), [t.write(out) for t in self.items]]

    @classmethod
    def read(cls, data: list, reader: Any) -> Template:
        reader.length(data, 3)
        items = tuple(map(reader.apart, reader.items(data[2])))
        how = data[1]
        if isinstance(how, str):
            found: Text = Format(items, how)
        else:
            name, *rest = reader.items(how) or [None]
            if name == "choice":
                found = Choice(items, tuple(map(reader.text, rest)))
            elif name == "join" and len(rest) == 1:
                found = Joined(items, reader.text(rest[0]))
            elif name == "method" and rest:
                found = Changed(items, reader.text(rest[0]), tuple(rest[1:]))
            else:
                reader.fail(f"no text is made by {name!r}")
        found.check(reader)
        return found

    def check(self, reader: Any) -> None:
        raise NotImplementedError(type(self))


def _is_text(t: Template) -> bool:
    return isinstance(t, Text) or isinstance(t, Static) and type(t.value) is str


@dataclasses.dataclass(frozen=True)
class Format(Text):
    """Pieces of text and numbers."""

    pattern: str

    def joined(self, values: list) -> str:
        bounded(len(self.pattern) + sum(len(x) if isinstance(x, str) else _WIDEST_NUMBER for x in values))
        return self.pattern.format(*values)

    def how(self) -> Any:
        return self.pattern

    def check(self, reader: Any) -> None:
        try:
            specs = [spec for _, spec in pieces_of(self.pattern) if spec is not None]
            if len(specs) != len(self.items):
                raise ValueError(f"{len(specs)} places for {len(self.items)} values")
            for t, spec in zip(self.items, specs):
                if isinstance(t, Number):
                    format(_EXAMPLES[t.kind], spec)
                elif spec or not _is_text(t):
                    raise ValueError("a place for a number")
        except ValueError as error:
            reader.fail(f"a format of a text: {error}")


@dataclasses.dataclass(frozen=True)
class Choice(Text):
    """One of a table, by its number."""

    texts: tuple[str, ...]

    def joined(self, values: list) -> str:
        if not 0 <= values[0] < len(self.texts):
            raise PackageError(f"text {values[0]} of a table of {len(self.texts)}", section="metadata")
        return self.texts[values[0]]

    def how(self) -> Any:
        return ["choice", *self.texts]

    def check(self, reader: Any) -> None:
        if self.items != (Number("int"),):
            reader.fail("a text is chosen by one number")


@dataclasses.dataclass(frozen=True)
class Joined(Text):
    """separator.join(...) of a list of run-time length."""

    separator: str

    def joined(self, values: list) -> str:
        bounded(sum(map(len, values[0])) + len(self.separator) * len(values[0]))
        return self.separator.join(values[0])

    def how(self) -> Any:
        return ["join", self.separator]

    def check(self, reader: Any) -> None:
        if len(self.items) != 1 or not isinstance(self.items[0], Rows) or not _is_text(self.items[0].element):
            reader.fail("what is joined is a list of texts")


@dataclasses.dataclass(frozen=True)
class Changed(Text):
    """text.method(*arguments)."""

    method: str
    arguments: tuple

    def joined(self, values: list) -> str:
        text: str = values[0]
        if self.method == "replace":
            old, new, *most = self.arguments
            count = text.count(old) if not most or most[0] < 0 else min(text.count(old), most[0])
            bounded(len(text) + count * max(len(new) - len(old), 0))
        elif self.method == "expandtabs":
            bounded(len(text) + text.count("\t") * (self.arguments[0] if self.arguments else 8))
        return getattr(text, self.method)(*self.arguments)

    def how(self) -> Any:
        return ["method", self.method, *self.arguments]

    def check(self, reader: Any) -> None:
        if self.method not in CHANGING:
            reader.fail(f"a text is not changed by {self.method}()")
        if len(self.items) != 1 or not _is_text(self.items[0]):
            reader.fail("what is changed is one text")
        for x in self.arguments:
            if type(x) not in (str, int, type(None)) or type(x) is int and not -_WIDEST <= x <= _WIDEST:
                reader.fail(f"{self.method}({x!r})")
        try:
            getattr("", self.method)(*self.arguments)
            if self.method == "replace" and len(self.arguments) > 2 and type(self.arguments[2]) is not int:
                raise TypeError("a count is a number")
        except (TypeError, ValueError) as error:
            reader.fail(f"{self.method}(): {error}")
