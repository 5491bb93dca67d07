# SPDX-License-Identifier: Apache-2.0
"""Exceptions that a program raises: from a class's name and a message, which is all that the runtime gives,
back to the object.

`Raised` maps names to classes and remembers how each exception looked while compiling: the format of its message, its
arguments and its attributes, as templates. One is found again by its message; where two look alike but differ,
the message is the only argument.
"""

from __future__ import annotations

import copy
import dataclasses
from typing import Any, Callable, Iterator, NamedTuple

from ..objects import new_instance
from .templates import Made, Reference, Static, Template
from .text_templates import pieces_of

PLAIN = (str, int, float, bool, type(None))
_READ: dict[str, Callable[[str], Any]] = {
    "int": int, "float": float, "bool": {"True": True, "False": False}.__getitem__, "text": str}


@dataclasses.dataclass(frozen=True)
class Spelled(Template):
    """An argument that is read off the message: a text or number with so many of the message's places in it."""

    kind: str
    pattern: str = ""

    def rebuild(self, leaves: Iterator, made: Made) -> Any:
        pieces = pieces_of(self.pattern)
        found = _READ[self.kind]("".join(before + ("" if spec is None else next(leaves)) for before, spec in pieces))
        made.append(found)
        return found

    def write(self, out: Any) -> list:
        return [self.kind, self.pattern]


@dataclasses.dataclass(frozen=True)
class Shown(Template):
    """An attribute that is a number which stands alone at a place of the message."""

    kind: str
    place: int = 0

    def rebuild(self, leaves: Iterator, made: Made) -> Any:
        return _READ[self.kind](made.given[self.place])

    def write(self, out: Any) -> list:
        return [self.kind, self.place]


class Look(NamedTuple):
    name: str
    pattern: str  # of the message
    arguments: tuple[Template, ...]
    attributes: dict[str, Template]

    def read(self, message: str) -> tuple[tuple, dict] | None:
        """The arguments and attributes of an exception of that look whose text is `message`."""
        shown = _places(pieces_of(self.pattern), message)
        if shown is None:
            return None
        leaves, made = iter(shown), Made(dict(enumerate(shown)))
        try:
            for t in self.arguments:
                before = len(made)
                value = t.rebuild(leaves, made)
                made[before:] = [value]
            return tuple(made), {name: t.rebuild(leaves, made) for name, t in self.attributes.items()}
        except (ValueError, KeyError):  # no number stands there: another exception's text
            return None


def _places(pieces: list[tuple[str, str | None]], message: str) -> list[str] | None:
    """What stands in a message at the places of its format, each as short as can be; None: it is another's."""
    found, start = [], len(pieces[0][0]) if pieces else 0
    if not message.startswith(pieces[0][0] if pieces else ""):
        return None
    befores = [before for before, _ in pieces[1:]]
    if pieces and pieces[-1][1] is not None:  # a place is the last
        befores.append("")
    for k, before in enumerate(befores):
        last = k == len(befores) - 1
        end = max(len(message) - len(before), start) if last else message.find(before, start)
        if end < 0 or not message.startswith(before, end):
            return None
        found.append(message[start:end])
        start = end + len(before)
    return found if start == len(message) else None


class Raised(dict):
    """name -> class; `looks` of each exception."""

    def __init__(self, classes: dict | None = None, looks: list[Look] | None = None):
        super().__init__(classes or {})
        self.looks: list[Look] = looks or []

    def exception(self, cls: type, name: str, message: str) -> BaseException:
        found = []
        for look in self.looks:
            read = look.read(message) if look.name == name else None
            if read is not None and read not in found:
                found.append(read)
            if len(found) > 1:
                break
        arguments, attributes = found[0] if len(found) == 1 else ((message,), {})
        arguments, attributes = copy.deepcopy((arguments, attributes))
        error = None
        if not isinstance(getattr(cls, "__init__", None), type(_places)):  # as Python makes it
            try:
                error = cls(*arguments)
            except Exception:
                pass
        if error is None:
            error = new_instance(cls)
            error.args = arguments
        error.__dict__.update(attributes)
        return error


# ---- in a package ------------------------------------------------------------------------------------

_TUPLE = "()"  # the one key of the dict that stands for a tuple in a file


def is_plain(x: Any) -> bool:
    """As it is after it was in a file."""
    if type(x) is dict:
        return all(type(k) is str and k != _TUPLE and is_plain(v) for k, v in x.items())
    return all(map(is_plain, x)) if type(x) in (list, tuple) else isinstance(x, PLAIN)


def _written(x: Any) -> Any:
    if type(x) is dict:
        return {k: _written(v) for k, v in x.items()}
    if type(x) in (list, tuple):
        items = [_written(v) for v in x]
        return items if type(x) is list else {_TUPLE: items}
    return x


def _from_file(x: Any, reader: Any, depth: int = 0) -> Any:
    if depth > 50:
        reader.fail("an exception that holds too much in too much")
    if type(x) is dict:
        if list(x) == [_TUPLE]:
            return tuple(_from_file(v, reader, depth + 1) for v in reader.items(x[_TUPLE]))
        return {k: _from_file(v, reader, depth + 1) for k, v in x.items()}
    return [_from_file(v, reader, depth + 1) for v in x] if type(x) is list else x


def write_look(look: Look, out: Any) -> list:
    def written(t: Template) -> list:
        if isinstance(t, Reference):
            return ["argument", t.number]
        return ["static", _written(t.value)] if isinstance(t, Static) else t.write(out)

    return [look.name, look.pattern, [written(t) for t in look.arguments],
            {name: written(t) for name, t in look.attributes.items()}]


def read_look(data: Any, reader: Any) -> Look:
    name, pattern, arguments, attributes = reader.items(data, 4)
    places = _count_places(reader.text(pattern), reader)
    found: list[Template] = []
    taken = 0
    for kind, what in reader.pairs(arguments):
        if kind == "static":
            found.append(Static(_from_file(what, reader)))
            continue
        if reader.text(kind) not in _READ:
            reader.fail(f"no argument of an exception is a {kind!r}")
        taken += _count_places(reader.text(what), reader)
        found.append(Spelled(kind, what))
    if taken > places:
        reader.fail("an exception with more values than its text has")

    def attribute(kind: Any, what: Any) -> Template:
        if kind == "static":
            return Static(_from_file(what, reader))
        if kind == "argument":
            return Reference(reader.number(what, 0, len(found) - 1))
        if reader.text(kind) not in _READ:
            reader.fail(f"no attribute of an exception is a {kind!r}")
        return Shown(kind, reader.number(what, 0, places - 1))

    own = {reader.attribute(k): attribute(*reader.items(v, 2)) for k, v in reader.exactly(attributes, dict).items()}
    return Look(reader.text(name), pattern, tuple(found), own)


def _count_places(pattern: str, reader: Any) -> int:
    try:
        return sum(spec is not None for _, spec in pieces_of(pattern))
    except ValueError as error:
        return reader.fail(f"a format of a message: {error}")
