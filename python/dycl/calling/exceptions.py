# SPDX-License-Identifier: Apache-2.0
"""Exceptions that a program raises: from a class's name and a message, which is all that the runtime gives,
back to the object.

`Raised` maps names to classes and remembers how each exception looked while compiling: the format of its message, its
arguments and its attributes. One is found again by its message; where two look alike but differ,
the message is the only argument.
"""

from __future__ import annotations

import copy
import re
from typing import Any, Callable

from ..objects import new_instance

PLAIN = (str, int, float, bool, type(None))
_READ: dict[str, Callable[[str], Any]] = {
    "int": int, "float": float, "bool": {"True": True, "False": False}.__getitem__, "text": str}


class Raised(dict):
    """name -> class; `looks`: (name, format, arguments, attributes) of each exception. An argument is ("static", value)
    or the kind of a run-time value and its own format; an attribute is ["static", value], ["argument", which] or the
    kind and place of a run-time value in the text."""

    def __init__(self, classes: dict | None = None, looks: list | None = None):
        super().__init__(classes or {})
        self.looks: list[tuple] = looks or []

    def exception(self, cls: type, name: str, message: str) -> BaseException:
        found = []
        for look in self.looks:
            read = _read(look, message) if look[0] == name else None
            if read is not None and read not in found:
                found.append(read)
        arguments, attributes = found[0] if len(found) == 1 else ((message,), {})
        if not isinstance(getattr(cls, "__init__", None), type(_read)):  # as Python makes it
            try:
                return cls(*arguments)
            except Exception:
                pass
        error = new_instance(cls)
        error.args = copy.deepcopy(arguments)
        error.__dict__.update(copy.deepcopy(attributes))
        return error

    # ---- in a file ----------------------------------------------------------------------------

    def looks_to_json(self) -> list:
        return [[name, text, [[kind, _written(what)] for kind, what in arguments],
                 {k: [kind, _written(what)] for k, (kind, what) in attributes.items()}]
                for name, text, arguments, attributes in self.looks]

    def take_looks(self, data: list) -> None:
        self.looks = [(name, text, tuple((kind, _from_file(what)) for kind, what in arguments),
                       {k: [kind, _from_file(what)] for k, (kind, what) in attributes.items()})
                      for name, text, arguments, attributes in data]


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


def _from_file(x: Any) -> Any:
    if type(x) is dict:
        return tuple(map(_from_file, x[_TUPLE])) if list(x) == [_TUPLE] else {k: _from_file(v) for k, v in x.items()}
    return [*map(_from_file, x)] if type(x) is list else x


PLACE = re.compile(r"\{(?::[^{}]*)?\}")


def _plain(text: str) -> str:
    """A format without the specifications of its places."""
    return re.sub(r"\{\{|\}\}|\{:[^{}]*\}", lambda found: found[0] if found[0] in ("{{", "}}") else "{}", text)


def _read(look: tuple, message: str) -> tuple[tuple, dict] | None:
    """The arguments and attributes of an exception of that look whose text is `message`."""
    _, text, arguments, attributes = look
    if all(kind == "static" for kind, _ in arguments):
        if text.format() != message:
            return None
        return tuple(value for _, value in arguments), {k: what for k, (_, what) in attributes.items()}
    pieces = _plain(text).replace("{{", "\0").replace("}}", "\1").split("{}")
    matched = re.fullmatch("(.*?)".join(re.escape(p.replace("\0", "{").replace("\1", "}")) for p in pieces),
                           message, re.DOTALL)
    if matched is None:
        return None
    values, made = iter(matched.groups()), []
    try:
        for kind, what in arguments:
            count = 0 if kind == "static" else len(PLACE.findall(what.replace("{{", "").replace("}}", "")))
            made.append(what if kind == "static"
                        else _READ[kind](_plain(what).format(*(next(values) for _ in range(count)))))
        told = {k: what if kind == "static" else made[what] if kind == "argument" else _READ[kind](matched[what + 1])
                for k, (kind, what) in attributes.items()}
    except (ValueError, KeyError):  # no number stands there: another exception's text
        return None
    return tuple(made), told
